#!/usr/bin/env bash
# The training data of Switchboard-1, from LDC97S62 in any layout and the MS98 transcripts.
set -euo pipefail

transcripts=
docs=
allow_partial=false

help_message="usage: local/swbd1_data_prep.sh [options] <swbd-dir> <data>
e.g.:  local/swbd1_data_prep.sh /corpora/LDC97S62 data/train
  --transcripts DIR            swb_ms98_transcriptions, when it is not in <swbd-dir>
  --docs DIR                   folder with conv.tab, when it is not in <swbd-dir>
  --allow-partial true|false   go on when recordings are missing (default $allow_partial)
The .sph files may lie on several disks below <swbd-dir>; conv.tab, where there is one, gives the speakers."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg swbd-data ${transcripts:+--transcripts "$transcripts"} ${docs:+--docs "$docs"} \
  --allow-partial "$allow_partial" "$1" "$2"
utils/validate_data_dir.sh --no-feats "$2"
