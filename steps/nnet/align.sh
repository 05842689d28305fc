#!/usr/bin/env bash
# Aligns transcripts with a DNN, as targets for another training.
set -euo pipefail

nj=4
cmd=run.pl
acwt=0.1       # acoustic scale
beam=10.0
retry_beam=40.0
max_failed=0.1 # largest share of utterances that may fail
use_gpu=no

help_message="usage: $0 [options] <data> <lang> <src-dir> <ali-dir>
 e.g.: $0 --nj 8 data/fbank/train data/lang exp/dnn exp/dnn_ali
Writes <ali-dir>/ali.JOB.gz, final.mdl, tree. <src-dir> is the directory of steps/nnet/train.sh.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --acwt $acwt   --beam $beam   --retry-beam $retry_beam   --max-failed $max_failed
  --use-gpu $use_gpu"

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
. utils/parse_options.sh
if [ $# -ne 4 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 srcdir=$3 dir=$4

for f in "$data"/{feats.scp,text} "$lang"/{L.fst,phones.txt,words.txt} \
  "$srcdir"/{final.nnet,final.feature_transform,ali_train_pdf.counts,final.mdl,tree}; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
num_utts=$(awk 'END {print NR}' "$data/feats.scp")
nj=$((nj < num_utts ? nj : num_utts))
mkdir -p "$dir/log"
for f in final.mdl tree cmvn_opts delta_opts phones.txt; do
  [ ! -f "$srcdir/$f" ] || cp "$srcdir/$f" "$dir/$f"
done

rm -f "$dir"/ali.*.gz
echo "$nj" >"$dir/num_jobs"
$cmd JOB=1:"$nj" "$dir/log/align.JOB.log" \
  pymavg align-nnet --job JOB --num-jobs "$nj" --acoustic-scale "$acwt" --beam "$beam" --retry-beam "$retry_beam" \
  --max-failed "$max_failed" --use-gpu "$use_gpu" "$data" "$lang" "$srcdir" "$dir/ali.JOB.gz"

echo "$0: aligned $data with $srcdir, alignments in $dir"
