#!/usr/bin/env bash
# Trains a monophone GMM from a flat start.
set -euo pipefail

nj=4
cmd=run.pl
stage=-4              # -4: features and graphs, 0: first alignment, N > 0: pass N
num_iters=40
max_iter_inc=30       # last pass that adds Gaussians
totgauss=1000
realign_iters="1 2 3 4 5 6 7 8 9 10 12 14 16 18 20 23 26 29 32 35 38"
initial_beam=6        # of the first pass
regular_beam=10
retry_beam=40
boost_silence=1.0
power=0.25            # of a pdf's frames, for its share of the Gaussians
norm_vars=false
cmvn_opts=            # as --norm-vars=true; default: from --norm-vars
delta_opts=

help_message="usage: $0 [options] <data> <lang> <exp>
 e.g.: $0 --nj 4 data/train_10k data/lang exp/mono
Started again with the same settings, it goes on where it stopped.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --stage $stage   --num-iters $num_iters   --max-iter-inc $max_iter_inc   --totgauss $totgauss
  --realign-iters \"$realign_iters\"
  --initial-beam $initial_beam   --regular-beam $regular_beam   --retry-beam $retry_beam
  --boost-silence $boost_silence   --power $power   --norm-vars $norm_vars   --cmvn-opts \"OPTS\"   --delta-opts \"OPTS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
. steps/gmm/begin.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 dir=$3

for f in "$data/feats.scp" "$data/text" "$lang/L.fst" "$lang/topo" "$lang/phones/sets.int"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
nj=$(utils/split_data.sh "$data" "$nj")
sdata=$data/split$nj
begin_run "$dir" final.mdl "$nj $num_iters $max_iter_inc $totgauss $realign_iters $initial_beam $regular_beam \
$retry_beam $boost_silence $power $norm_vars $cmvn_opts $delta_opts" "$data/feats.scp" "$data/text" "$lang/L.fst" "$lang/topo"
echo "$nj" >"$dir/num_jobs"
echo "${cmvn_opts:---norm-vars=$norm_vars}" >"$dir/cmvn_opts"
echo "$delta_opts" >"$dir/delta_opts"
cp "$lang/phones.txt" "$dir"
copy_conf "$data" "$dir"

started() { [ "$stage" -gt "$1" ] || compgen -G "$dir/[1-9]*.mdl" >/dev/null; }
if ! started -1; then
  $cmd "$dir/log/init.log" pymavg gmm-init-mono "$lang" "$data" "$dir"
  $cmd JOB=1:"$nj" "$dir/log/features.JOB.log" pymavg gmm-feats "$sdata/JOB" "$dir" "$dir/job.JOB"
  $cmd JOB=1:"$nj" "$dir/log/graphs.JOB.log" \
    pymavg gmm-graphs "$lang" "$sdata/JOB" "$dir/tree" "$dir/0.mdl" "$dir/job.JOB"
fi
num_gauss=$(pymavg gmm-info "$(compgen -G "$dir/[0-9]*.mdl" | head -n 1)" | awk '/number of pdfs/ {print $NF}')
if ! started 0; then
  $cmd JOB=1:"$nj" "$dir/log/pass.0.JOB.log" \
    pymavg gmm-pass --align equal "$dir/0.mdl" "$dir/job.JOB" "$dir/ali.JOB.gz" "$dir/0.JOB.acc"
  $cmd "$dir/log/update.0.log" \
    pymavg gmm-est --min-gaussian-occupancy 3 "$dir/0.mdl" "$dir"/0.*.acc "$dir/1.mdl"
  rm -f "$dir"/0.*.acc "$dir/0.mdl"
fi
steps/gmm/passes.sh --nj "$nj" --cmd "$cmd" --num-iters "$num_iters" --max-iter-inc "$max_iter_inc" \
  --realign-iters "$realign_iters" --initial-beam "$initial_beam" --beam "$regular_beam" --retry-beam "$retry_beam" \
  --boost-silence "$boost_silence" --power "$power" "$lang" "$num_gauss" "$totgauss" "$dir"
echo "$0: trained the monophone system $dir: $(sizes "$dir/final.mdl" "$num_gauss" "$totgauss")"
