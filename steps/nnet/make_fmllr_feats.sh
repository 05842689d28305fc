#!/usr/bin/env bash
# Stores features as a GMM sees them, adapted to the speaker where transforms are given, to train a network on.
set -euo pipefail

nj=4
cmd=run.pl
transform_dir=        # with fMLLR transforms trans.JOB of the speakers: <gmm-dir> for training data, else a decode directory
raw_transform_dir=    # of Kaldi: named only to be refused in plain words
root=                 # directory that relative paths in <source-data> start from
compress=false        # 8 bits per number

help_message="usage: $0 [options] <target-data> <source-data> <gmm-dir> <log-dir> <feature-dir>
 e.g.: $0 --transform-dir exp/tri3_ali data-fmllr/train data/train exp/tri3_ali exp/make_fmllr/train fmllr
       $0 --transform-dir exp/tri3/decode data-fmllr/test data/test exp/tri3 exp/make_fmllr/test fmllr
The kind of features is found by Kaldi's rules in <gmm-dir>: final.mat with splice_opts (LDA), else deltas; cmvn_opts.
Without --transform-dir they are not adapted. <target-data> gets feats.scp and no cmvn.scp: nothing is left to normalise.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --transform-dir DIR   --root DIR   --compress $compress"

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
. utils/parse_options.sh
if [ $# -ne 5 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
if [ -n "$raw_transform_dir" ]; then
  echo "$0: --raw-transform-dir is not supported: fMLLR before splicing is not estimated here; --transform-dir is" >&2
  exit 1
fi
target=$1 data=$2 gmmdir=$3 logdir=$4 featdir=$5

for f in "$data/feats.scp" "$data/utt2spk" "$gmmdir/final.mdl"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
[ ! "$target" -ef "$data" ] || { echo "$0: <target-data> and <source-data> are the same directory, $data" >&2; exit 1; }
mkdir -p "$logdir" "$featdir"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
num_utts=$(awk 'END {print NR}' "$data/feats.scp")
nj=$((nj < num_utts ? nj : num_utts))
name=$(basename "$target")
prefix=$(cd "$featdir" && pwd)/feats_fmllr_$name

utils/copy_data_dir.sh "$data" "$target"
rm -f "$target"/{feats.scp,cmvn.scp,vad.scp,utt2num_frames}
$cmd JOB=1:"$nj" "$logdir/make_fmllr_feats_$name.JOB.log" \
  pymavg transform-feats --job JOB --num-jobs "$nj" --compress "$compress" \
  ${transform_dir:+--transform-dir "$transform_dir"} ${root:+--root "$root"} "$data" "$gmmdir" "$prefix.JOB"
pymavg collect-feats "$target" "$prefix" "$nj"
mkdir -p "$target/conf"
echo "# features of $data as $gmmdir sees them${transform_dir:+, adapted by $transform_dir}" >"$target/conf/fmllr.conf"

echo "$0: features of $data by $gmmdir${transform_dir:+ and $transform_dir} are in $target"
