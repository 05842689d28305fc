#!/usr/bin/env bash
# The RT-03 evaluation data, its English conversations on the telephone, from LDC2007S10.
set -euo pipefail

allow_partial=false

help_message="usage: local/rt03_data_prep.sh [options] <rt03-dir> <data>
e.g.:  local/rt03_data_prep.sh /corpora/LDC2007S10 data/rt03
  --allow-partial true|false   go on when recordings are missing (default $allow_partial)
<rt03-dir> holds data/audio/eval03/english/cts, data/references/eval03/english/cts and data/trans_rules. The segments
are those of the stm files; stm and glm are copied for scoring."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg hub5-data --evaluation rt03 --allow-partial "$allow_partial" "$1" "$1" "$2"
utils/validate_data_dir.sh --no-feats "$2"
