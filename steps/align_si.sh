#!/usr/bin/env bash
# Aligns a data directory with a GMM, without adaptation to speakers.
set -euo pipefail

nj=4
cmd=run.pl
beam=10
retry_beam=40
boost_silence=1.0
max_failed=0.2        # share of a job's utterances that may fail

help_message="usage: $0 [options] <data> <lang> <src> <ali-dir>
 e.g.: $0 --nj 8 data/train data/lang exp/tri1 exp/tri1_ali
Started again with the same settings and inputs, it finds the work done.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --beam $beam   --retry-beam $retry_beam   --boost-silence $boost_silence
  --max-failed $max_failed"

echo "$0 $*"
. ./path.sh
. utils/parse_options.sh
. steps/gmm/begin.sh
if [ $# -ne 4 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 srcdir=$3 dir=$4

for f in "$data/feats.scp" "$data/text" "$lang/L.fst" "$srcdir/final.mdl" "$srcdir/tree"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
if [ -f "$srcdir/phones.txt" ] && ! cmp -s "$lang/phones.txt" "$srcdir/phones.txt"; then
  echo "$0: $lang/phones.txt and $srcdir/phones.txt differ: $srcdir was made with another lang directory" >&2
  exit 1
fi
[ ! "$dir" -ef "$srcdir" ] || { echo "$0: <ali-dir> and <src> are the same directory, $dir" >&2; exit 1; }
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
nj=$(utils/split_data.sh "$data" "$nj")
begin_run "$dir" .aligned "$nj $beam $retry_beam $boost_silence $max_failed" \
  "$data/feats.scp" "$data/text" "$lang/L.fst" "$srcdir/final.mdl"
for f in final.mdl tree final.occs cmvn_opts delta_opts splice_opts final.mat phones.txt; do
  rm -f "${dir:?}/$f"
  [ ! -f "$srcdir/$f" ] || cp "$srcdir/$f" "$dir"
done
echo "$nj" >"$dir/num_jobs"

$cmd JOB=1:"$nj" "$dir/log/align.JOB.log" \
  pymavg gmm-align --beam "$beam" --retry-beam "$retry_beam" --boost-silence "$boost_silence" \
  --silence-phones "$(cat "$lang/phones/silence.csl")" --max-failed "$max_failed" \
  "$lang" "$data/split$nj/JOB" "$dir" "$dir/ali.JOB.gz"
touch "$dir/.aligned"
grep -ah '^gmm-align' "$dir"/log/align.*.log
echo "$0: aligned $data with $srcdir into $dir"
