#!/usr/bin/env bash
# The Hub5 2001 evaluation data (Switchboard, Switchboard-2 phase 3, Switchboard Cellular), from LDC2002S13.
set -euo pipefail

allow_partial=false
glm=  # rules of scoring, where LDC2002S13 has none: those of Hub5'00 serve

help_message="usage: local/eval2001_data_prep.sh [options] <speech-dir> <data>
e.g.:  local/eval2001_data_prep.sh /corpora/LDC2002S13 data/eval2001
  --glm FILE                   rules of scoring, where <speech-dir> has none, e.g. data/eval2000/glm
  --allow-partial true|false   go on when recordings are missing (default $allow_partial)
<speech-dir> holds hub5e_01.pem and hub5e01.english*.stm anywhere below it. stm and glm are copied for scoring."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg hub5-data --evaluation eval2001 --allow-partial "$allow_partial" ${glm:+--glm "$glm"} "$1" "$1" "$2"
utils/validate_data_dir.sh --no-feats "$2"
