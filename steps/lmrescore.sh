#!/usr/bin/env bash
# Rescores the lattices of a decode directory with another language model, then scores them.
set -euo pipefail

cmd=run.pl
stage=0
skip_scoring=false
scoring_opts=     # options for local/score.sh

help_message="usage: $0 [options] <old-lang> <new-lang> <data> <old-decode-dir> <new-decode-dir>
 e.g.: $0 data/lang_tg data/lang_fg data/test exp/dnn/decode_test_tg exp/dnn/decode_test_fg
<old-lang> is that of the graph, <new-lang> has the G.fst of another back-off model with the same words.txt, both from
utils/format_lm.sh. Costs of the old model are taken off, those of the new one put on: no const-arpa is needed.
Options, with their defaults:
  --cmd $cmd   --stage $stage (1: score only)   --skip-scoring $skip_scoring   --scoring-opts \"OPTIONS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 5 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
old_lang=$1 new_lang=$2 data=$3 olddir=$4 dir=$5

for f in "$old_lang"/{G.fst,words.txt} "$new_lang"/{G.fst,words.txt} "$data/text" "$olddir/lat.1.gz"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
if [ "$(realpath -m "$olddir")" = "$(realpath -m "$dir")" ]; then
  echo "$0: $dir is the directory of the old lattices; choose another one" >&2
  exit 1
fi
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
nj=$(cat "$olddir/num_jobs")
mkdir -p "$dir/log"

if [ "$stage" -le 0 ]; then
  rm -f "$dir"/lat.*.gz
  echo "$nj" >"$dir/num_jobs"
  $cmd JOB=1:"$nj" "$dir/log/rescore.JOB.log" \
    pymavg lattice-lmrescore "$old_lang" "$new_lang" "$olddir/lat.JOB.gz" "$dir/lat.JOB.gz"
fi

[ "$skip_scoring" != false ] || score_lattices "$new_lang"
echo "$0: rescored $olddir with $new_lang into $dir"
