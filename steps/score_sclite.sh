#!/usr/bin/env bash
# Scores a decode directory: a sweep over LM weights and word insertion penalties, all in one process.
set -euo pipefail

cmd=run.pl
stage=0
min_lmwt=5
max_lmwt=20
word_ins_penalties=0.0,0.5,1.0
lmwt_from=             # scored decode directory of the development set, which chooses LM weight and penalty
scorer=auto            # auto | sclite | plain
allow_missing=false    # go on where a speaker has no lattices at all
model=                 # final.mdl; default: the one in the directory that <decode-dir> lies in

help_message="usage: $0 [options] <data> <lang-or-graph-dir> <decode-dir>
 e.g.: $0 data/dev data/lang exp/tri1/decode_dev
       $0 --lmwt-from exp/tri1/decode_dev data/eval2000 data/lang exp/tri1/decode_eval2000
With stm and glm in <data> and sclite installed, sclite counts the errors, else <data>/text is the reference of a plain
count. Writes <decode-dir>/score_LMWT_PENALTY/ (or wer_LMWT_PENALTY) and <decode-dir>/scoring/{wer.txt,sweep.tsv}.
Options, with their defaults:
  --cmd $cmd   --stage $stage (1: only print the result again)   --min-lmwt $min_lmwt   --max-lmwt $max_lmwt
  --word-ins-penalties $word_ins_penalties   --lmwt-from DIR   --scorer $scorer (auto, sclite, plain)
  --allow-missing $allow_missing   --model FILE"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1
lang=$2
dir=$3
model=${model:-$(dirname "$dir")/final.mdl}

for f in "$data/text" "$lang/words.txt" "$dir/lat.1.gz" "$model"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
mkdir -p "$dir/scoring/log"

if [ "$stage" -le 0 ]; then
  $cmd "$dir/scoring/log/score.log" \
    pymavg score --min-lmwt "$min_lmwt" --max-lmwt "$max_lmwt" --word-ins-penalties "$word_ins_penalties" \
    --lmwt-from "$lmwt_from" --scorer "$scorer" --allow-missing "$allow_missing" --model "$model" \
    "$data" "$lang" "$dir"
  grep -ah '^WARNING' "$dir/scoring/log/score.log" >&2 || true
fi
cat "$dir/scoring/wer.txt"
