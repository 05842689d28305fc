#!/usr/bin/env bash
# Trains a triphone GMM on features with deltas, from the alignments of another system.
set -euo pipefail

cmd=run.pl
stage=-3              # -3: features, tree statistics; -2: tree; -1: graphs; N > 0: pass N
num_iters=35
max_iter_inc=25       # last pass that adds Gaussians
realign_iters="10 20 30"
beam=10
retry_beam=40
boost_silence=1.0
power=0.25            # of a pdf's frames, for its share of the Gaussians
cluster_thresh=-1     # for merging leaves; -1: the gain of the last split
norm_vars=false
cmvn_opts=            # as --norm-vars=true; default: from --norm-vars
delta_opts=
context_opts=         # as --context-width=5 --central-position=2
max_missing=0.1       # share of the utterances that may be without alignment

help_message="usage: $0 [options] <num-leaves> <tot-gauss> <data> <lang> <ali-dir> <exp>
 e.g.: $0 2000 10000 data/train data/lang exp/mono_ali exp/tri1
Runs as many jobs as <ali-dir> has. Started again with the same settings, it goes on where it stopped.
Options, with their defaults:
  --cmd $cmd   --stage $stage   --num-iters $num_iters   --max-iter-inc $max_iter_inc   --realign-iters \"$realign_iters\"
  --beam $beam   --retry-beam $retry_beam   --boost-silence $boost_silence   --power $power
  --cluster-thresh $cluster_thresh   --norm-vars $norm_vars   --cmvn-opts \"OPTS\"   --delta-opts \"OPTS\"
  --context-opts \"OPTS\"   --max-missing $max_missing"

echo "$0 $*"
. ./path.sh
. utils/parse_options.sh
. steps/gmm/begin.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
num_leaves=$1 tot_gauss=$2 data=$3 lang=$4 alidir=$5 dir=$6

for f in "$data/feats.scp" "$data/text" "$lang/L.fst" "$lang/topo" "$lang/phones/roots.int" "$alidir/final.mdl" \
  "$alidir/ali.1.gz" "$alidir/num_jobs"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
if ! [[ $num_leaves =~ ^[1-9][0-9]*$ && $tot_gauss =~ ^[1-9][0-9]*$ ]]; then
  echo "$0: <num-leaves> and <tot-gauss> are whole numbers, got '$num_leaves' and '$tot_gauss'" >&2
  exit 1
fi
if [ -f "$alidir/phones.txt" ] && ! cmp -s "$lang/phones.txt" "$alidir/phones.txt"; then
  echo "$0: $lang/phones.txt and $alidir/phones.txt differ: $alidir was made with another lang directory" >&2
  exit 1
fi
[ ! "$dir" -ef "$alidir" ] || { echo "$0: <exp> and <ali-dir> are the same directory, $dir" >&2; exit 1; }
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
nj=$(utils/split_data.sh "$data" "$(cat "$alidir/num_jobs")")
sdata=$data/split$nj
begin_run "$dir" final.mdl "$nj $num_iters $max_iter_inc $realign_iters $beam $retry_beam $boost_silence $power \
$cluster_thresh $norm_vars $cmvn_opts $delta_opts $context_opts $max_missing $num_leaves $tot_gauss" \
  "$data/feats.scp" "$data/text" "$lang/L.fst" "$lang/topo" "$lang/phones/roots.int" "$alidir/final.mdl" "$alidir"/ali.*.gz
echo "$nj" >"$dir/num_jobs"
echo "${cmvn_opts:---norm-vars=$norm_vars}" >"$dir/cmvn_opts"
echo "$delta_opts" >"$dir/delta_opts"
cp "$lang/phones.txt" "$dir"
read -r -a context <<<"$context_opts"
central=$(grep -oE 'central-position[= ][0-9]+' <<<"$context_opts" | grep -oE '[0-9]+' || echo 1)

started() { [ "$stage" -gt "$1" ] || compgen -G "$dir/[1-9]*.mdl" >/dev/null; }
if ! started -3; then
  $cmd JOB=1:"$nj" "$dir/log/features.JOB.log" pymavg gmm-feats "$sdata/JOB" "$dir" "$dir/job.JOB"
  $cmd JOB=1:"$nj" "$dir/log/acc_tree.JOB.log" \
    pymavg acc-tree-stats ${context[@]+"${context[@]}"} --max-missing "$max_missing" "$lang" "$alidir" "$dir/job.JOB" \
    JOB "$dir/JOB.treeacc"
fi
if ! started -2; then
  $cmd "$dir/log/questions.log" \
    pymavg cluster-phones --central-position "$central" "$lang" "$dir"/*.treeacc "$dir/questions.int"
  $cmd "$dir/log/build_tree.log" \
    pymavg build-tree --max-leaves "$num_leaves" --cluster-thresh "$cluster_thresh" --central-position "$central" \
    "$lang" "$dir/questions.int" "$dir"/*.treeacc "$dir/tree"
  grep -ah '^build-tree' "$dir/log/build_tree.log"
fi
if ! started -1; then
  $cmd "$dir/log/init_model.log" \
    pymavg gmm-init-model --mix-up "$num_leaves" --power "$power" "$lang" "$dir/tree" "$dir"/*.treeacc "$dir/0.mdl"
  $cmd JOB=1:"$nj" "$dir/log/convert.JOB.log" \
    pymavg convert-ali --max-missing "$max_missing" "$alidir" "$dir/0.mdl" "$dir/tree" "$dir/job.JOB" JOB "$dir/ali.JOB.gz"
  $cmd JOB=1:"$nj" "$dir/log/graphs.JOB.log" \
    pymavg gmm-graphs "$lang" "$sdata/JOB" "$dir/tree" "$dir/0.mdl" "$dir/job.JOB"
  rm -f "$dir"/*.treeacc
  mv "$dir/0.mdl" "$dir/1.mdl" # from here on a new start goes on with the passes
fi
steps/gmm/passes.sh --nj "$nj" --cmd "$cmd" --num-iters "$num_iters" --max-iter-inc "$max_iter_inc" \
  --realign-iters "$realign_iters" --initial-beam "$beam" --beam "$beam" --retry-beam "$retry_beam" \
  --boost-silence "$boost_silence" --power "$power" "$lang" "$num_leaves" "$tot_gauss" "$dir"
echo "$0: trained the triphone system $dir"
