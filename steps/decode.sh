#!/usr/bin/env bash
# Decodes a data directory with a GMM into lattices, then scores them.
set -euo pipefail

nj=4
cmd=run.pl
stage=0
srcdir=               # model directory; default: the one that <decode-dir> lies in
model=                # model file; default: <src-dir>/final.mdl
acwt=0.083333         # acoustic scale
beam=13.0
lattice_beam=6.0
max_active=7000
min_active=200
transform_dir=        # with fMLLR transforms trans.JOB
skip_scoring=false
scoring_opts=         # options for local/score.sh

help_message="usage: $0 [options] <graph-dir> <data> <decode-dir>
 e.g.: $0 --nj 8 exp/tri1/graph data/test exp/tri1/decode_test
Writes <decode-dir>/lat.JOB.gz. The model, final.mdl, is looked for in the directory that <decode-dir> lies in.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --stage $stage (1: score only)   --srcdir DIR   --model FILE
  --acwt $acwt   --beam $beam   --lattice-beam $lattice_beam   --max-active $max_active   --min-active $min_active
  --transform-dir DIR   --skip-scoring $skip_scoring   --scoring-opts \"OPTIONS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
graph=$1
data=$2
dir=$3
srcdir=${srcdir:-$(dirname "$dir")}
model=${model:-$srcdir/final.mdl}

for f in "$graph/HCLG.fst" "$graph/words.txt" "$data/feats.scp" "$model"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
num_utts=$(awk 'END {print NR}' "$data/feats.scp")
nj=$((nj < num_utts ? nj : num_utts))
mkdir -p "$dir/log"

if [ "$stage" -le 0 ]; then
  rm -f "$dir"/lat.*.gz
  echo "$nj" >"$dir/num_jobs"
  $cmd JOB=1:"$nj" "$dir/log/decode.JOB.log" \
    pymavg decode-gmm --job JOB --num-jobs "$nj" --acwt "$acwt" --beam "$beam" --lattice-beam "$lattice_beam" \
    --max-active "$max_active" --min-active "$min_active" --model "$model" ${transform_dir:+--transform-dir "$transform_dir"} \
    "$graph" "$data" "$srcdir" "$dir/lat.JOB.gz"
fi

[ "$skip_scoring" != false ] || score_lattices "$graph"
echo "$0: decoded $data into $dir"
