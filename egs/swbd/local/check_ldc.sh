#!/usr/bin/env bash
# Are the LDC's disks whole? Said before any work is done.
set -euo pipefail

transcripts=
allow_partial=false

help_message="usage: local/check_ldc.sh [options] <swbd-dir> <eval2000-dirs>
e.g.:  local/check_ldc.sh /corpora/LDC97S62 \"/corpora/LDC2002S09 /corpora/LDC2002T43\"
  --transcripts DIR            swb_ms98_transcriptions, when it is not in <swbd-dir>
  --allow-partial true|false   go on when recordings are missing (default $allow_partial)"

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi
read -r -a eval_dirs <<<"$2"
if [ ${#eval_dirs[@]} -ne 2 ]; then
  echo "$0: '$2' names ${#eval_dirs[@]} directories; expected two: LDC2002S09 (speech), LDC2002T43 (transcripts)" >&2
  exit 1
fi

pymavg check-ldc ${transcripts:+--transcripts "$transcripts"} --allow-partial "$allow_partial" \
  "$1" "${eval_dirs[0]}" "${eval_dirs[1]}"
