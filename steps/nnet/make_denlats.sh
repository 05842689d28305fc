#!/usr/bin/env bash
# Decodes the training data with a unigram grammar of its own words: the denominators of sequence training.
set -euo pipefail

nj=4
cmd=run.pl
stage=0
acwt=0.1         # acoustic scale
beam=13.0
lattice_beam=7.0
max_active=5000
min_active=200
use_gpu=no

help_message="usage: $0 [options] <data> <lang> <src-dir> <denlats-dir>
 e.g.: $0 --nj 8 --acwt 0.0909 data/fbank/train data/lang exp/dnn exp/dnn_denlats
Writes <denlats-dir>/lat.JOB.ark and lat.scp, for steps/nnet/train_mpe.sh; the graph is in <denlats-dir>/dengraph.
<src-dir> is the directory of steps/nnet/train.sh or train_mpe.sh.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --stage $stage (1: the graph is there)   --acwt $acwt   --beam $beam
  --lattice-beam $lattice_beam   --max-active $max_active   --min-active $min_active   --use-gpu $use_gpu"

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
. utils/parse_options.sh
if [ $# -ne 4 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 srcdir=$3 dir=$4

for f in "$data"/{feats.scp,text} "$lang"/{L_disambig.fst,phones.txt,words.txt} \
  "$srcdir"/{final.nnet,final.feature_transform,final.mdl,tree}; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
num_utts=$(awk 'END {print NR}' "$data/feats.scp")
nj=$((nj < num_utts ? nj : num_utts))
mkdir -p "$dir/log"

if [ "$stage" -le 0 ]; then
  awk 'NR == FNR {known[$1]; next} {for (i = 2; i <= NF; i++) if ($i in known) print $i}' \
    "$lang/words.txt" "$data/text" | LC_ALL=C sort -u >"$dir/words"
  pymavg make-lm --order 1 --vocabulary "$dir/words" --skip-key true "$data/text" "$dir/unigram.gz"
  utils/format_lm.sh "$lang" "$dir/unigram.gz" "$lang/words.txt" "$dir/lang"
  utils/mkgraph.sh "$dir/lang" "$srcdir" "$dir/dengraph"
fi

rm -f "$dir"/lat.*
echo "$nj" >"$dir/num_jobs"
$cmd JOB=1:"$nj" "$dir/log/decode_den.JOB.log" \
  pymavg decode-nnet --job JOB --num-jobs "$nj" --acwt "$acwt" --beam "$beam" --lattice-beam "$lattice_beam" \
  --max-active "$max_active" --min-active "$min_active" --use-gpu "$use_gpu" \
  "$dir/dengraph" "$data" "$srcdir" "$dir/lat.JOB.ark"
for n in $(seq "$nj"); do cat "$dir/lat.$n.scp"; done >"$dir/.lat.scp" && mv "$dir/.lat.scp" "$dir/lat.scp"

echo "$0: $(awk 'END {print NR}' "$dir/lat.scp") of $num_utts denominator lattices in $dir"
