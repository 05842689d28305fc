#!/usr/bin/env bash
# Shows the word error rates of all systems; with --results FILE it writes them to FILE as well (RESULTS.md).
set -euo pipefail

data=eval2000
results=          # e.g. RESULTS.md
command=./run.sh  # what made the results
published=false   # set what others reached on Switchboard beside them

help_message="usage: $0 [options] [<exp-dir>]
 e.g.: $0 --results RESULTS.md exp
Prints one tab-separated line for each system and part of the evaluation set: system, part, WER in % at the LM weight
and penalty chosen on the development set, errors, words of the reference, decode directory.
Options, with their defaults:
  --data $data   --results FILE   --command \"$command\"   --published $published"

. ./path.sh
. utils/parse_options.sh
if [ $# -gt 1 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
pymavg results-table --data "$data" ${results:+--markdown "$results"} --command "$command" \
  --published "$published" "${1:-exp}"
