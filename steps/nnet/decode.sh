#!/usr/bin/env bash
# Decodes a data directory with a neural network into lattices, then scores them.
set -euo pipefail

nj=4
cmd=run.pl
stage=0
srcdir=               # directory of the network; default: the one that <decode-dir> lies in
nnet='' feature_transform='' class_frame_counts='' model='' # files to take instead of <srcdir>'s
acwt=0.1              # acoustic scale
beam=13.0
lattice_beam=8.0
max_active=7000
min_active=200
prior_scale=1.0       # factor on the log-priors, which are subtracted
prior_floor=0.0000000001 # a class with a smaller share of the training frames is never recognised
use_gpu=no
skip_scoring=false
scoring_opts=         # options for local/score.sh

help_message="usage: $0 [options] <graph-dir> <data> <decode-dir>
 e.g.: $0 --nj 8 exp/tri1/graph data/fbank/test exp/dnn/decode_test
Writes <decode-dir>/lat.JOB.gz. final.nnet, final.feature_transform, ali_train_pdf.counts and final.mdl are looked for
in the directory that <decode-dir> lies in.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --stage $stage (1: score only)   --srcdir DIR
  --nnet FILE   --feature-transform FILE   --class-frame-counts FILE   --model FILE
  --acwt $acwt   --beam $beam   --lattice-beam $lattice_beam   --max-active $max_active   --min-active $min_active
  --prior-scale $prior_scale   --prior-floor $prior_floor   --use-gpu $use_gpu   --skip-scoring $skip_scoring
  --scoring-opts \"OPTIONS\""

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
. utils/parse_options.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
graph=$1
data=$2
dir=$3
srcdir=${srcdir:-$(dirname "$dir")}

for f in "$graph/HCLG.fst" "$graph/words.txt" "$data/feats.scp" "${nnet:-$srcdir/final.nnet}" \
  "${feature_transform:-$srcdir/final.feature_transform}" "${model:-$srcdir/final.mdl}" \
  "${class_frame_counts:-$srcdir/ali_train_pdf.counts}"; do
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
    pymavg decode-nnet --job JOB --num-jobs "$nj" --acwt "$acwt" --beam "$beam" --lattice-beam "$lattice_beam" \
    --max-active "$max_active" --min-active "$min_active" --prior-scale "$prior_scale" --prior-floor "$prior_floor" \
    --use-gpu "$use_gpu" --nnet "$nnet" --feature-transform "$feature_transform" \
    --class-frame-counts "$class_frame_counts" --model "$model" "$graph" "$data" "$srcdir" "$dir/lat.JOB.gz"
fi

[ "$skip_scoring" != false ] || score_lattices "$graph"
echo "$0: decoded $data into $dir"
