#!/usr/bin/env bash
# The Hub5 2000 evaluation data, from LDC2002S09 (speech) and LDC2002T43 (transcripts, scoring rules).
set -euo pipefail

allow_partial=false

help_message="usage: local/eval2000_data_prep.sh [options] <speech-dir> <transcripts-dir> <data>
e.g.:  local/eval2000_data_prep.sh /corpora/LDC2002S09 /corpora/LDC2002T43 data/eval2000
  --allow-partial true|false   go on when recordings are missing (default $allow_partial)
<transcripts-dir> may hold reference/ or 2000_hub5_eng_eval_tr/reference/. stm and glm are copied for scoring."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 3 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg hub5-data --allow-partial "$allow_partial" "$1" "$2" "$3"
utils/validate_data_dir.sh --no-feats "$3"
