# shellcheck shell=bash disable=SC2034,SC2154
# Source it for what the trainings of triphones have in common. It sets the options' defaults; its functions work on the
# variables of the step that sources it.

. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

cmd=run.pl
stage=-5              # -5: features, adaptation; -3: tree statistics; -2: tree; -1: first model, graphs; N > 0: pass N
num_iters=35
max_iter_inc=25       # last pass that adds Gaussians
realign_iters="10 20 30"
beam=10
retry_beam=40
boost_silence=1.0
power=0.25            # of a pdf's frames, for its share of the Gaussians
cluster_thresh=-1     # for merging leaves; -1: the gain of the last split
context_opts=         # as --context-width=5 --central-position=2
max_missing=0.1       # share of the utterances that may be without alignment
transform=()          # options that transform the features in <dir>/job.JOB

triphone_help() {
  echo "Runs as many jobs as <ali-dir> has. Started again with the same settings, it goes on where it stopped.
Options, with their defaults:
  --cmd $cmd   --stage $stage   --num-iters $num_iters   --max-iter-inc $max_iter_inc   --realign-iters \"$realign_iters\"
  --beam $beam   --retry-beam $retry_beam   --boost-silence $boost_silence   --power $power
  --cluster-thresh $cluster_thresh   --context-opts \"OPTS\"   --max-missing $max_missing"
}

begin_triphones() { # <settings> <num-leaves> <tot-gauss> <data> <lang> <ali-dir> <exp>
  local settings=$1
  num_leaves=$2 tot_gauss=$3 data=$4 lang=$5 alidir=$6 dir=$7
  need_files "$data/feats.scp" "$data/text" "$lang/L.fst" "$lang/topo" "$lang/phones/roots.int" "$alidir/final.mdl" \
    "$alidir/ali.1.gz" "$alidir/num_jobs"
  if ! [[ $num_leaves =~ ^[1-9][0-9]*$ && $tot_gauss =~ ^[1-9][0-9]*$ ]]; then
    echo "$0: <num-leaves> and <tot-gauss> are whole numbers, got '$num_leaves' and '$tot_gauss'" >&2
    exit 1
  fi
  same_phones "$lang" "$alidir"
  different_dirs "<exp>" "$dir" "<ali-dir>" "$alidir"
  export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
  nj=$(utils/split_data.sh "$data" "$(cat "$alidir/num_jobs")")
  sdata=$data/split$nj
  silence=$(cat "$lang/phones/silence.csl")
  begin_run "$dir" final.mdl "$nj $num_iters $max_iter_inc $realign_iters $beam $retry_beam $boost_silence $power \
$cluster_thresh $settings $context_opts $max_missing $num_leaves $tot_gauss" "$data/feats.scp" "$data/text" \
    "$lang/L.fst" "$lang/topo" "$lang/phones/roots.int" "$alidir/final.mdl" "$alidir"/ali.*.gz
  echo "$nj" >"$dir/num_jobs"
  cp "$lang/phones.txt" "$dir"
  copy_conf "$data" "$dir"
}

started() { [ "$stage" -gt "$1" ] || compgen -G "$dir/[1-9]*.mdl" >/dev/null; }

grow_tree() { # from the features in <dir>/job.JOB to <dir>/1.mdl
  local context central
  read -r -a context <<<"$context_opts"
  central=$(grep -oE 'central-position[= ][0-9]+' <<<"$context_opts" | grep -oE '[0-9]+' || echo 1)
  if ! started -3; then
    $cmd JOB=1:"$nj" "$dir/log/acc_tree.JOB.log" \
      pymavg acc-tree-stats ${context[@]+"${context[@]}"} "${transform[@]}" --max-missing "$max_missing" "$lang" "$alidir" \
      "$dir/job.JOB" JOB "$dir/JOB.treeacc"
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
      pymavg convert-ali --max-missing "$max_missing" "$alidir" "$dir/0.mdl" "$dir/tree" "$dir/job.JOB" JOB \
      "$dir/ali.JOB.gz"
    $cmd JOB=1:"$nj" "$dir/log/graphs.JOB.log" \
      pymavg gmm-graphs "$lang" "$sdata/JOB" "$dir/tree" "$dir/0.mdl" "$dir/job.JOB"
    rm -f "$dir"/*.treeacc
    mv "$dir/0.mdl" "$dir/1.mdl" # from here on a new start goes on with the passes
  fi
}

train_passes() { # <adapt> <adapt-iters> [<option of passes.sh>...]
  local adapt=$1 adapt_iters=$2
  shift 2
  steps/gmm/passes.sh --nj "$nj" --cmd "$cmd" --num-iters "$num_iters" --max-iter-inc "$max_iter_inc" \
    --realign-iters "$realign_iters" --initial-beam "$beam" --beam "$beam" --retry-beam "$retry_beam" \
    --boost-silence "$boost_silence" --power "$power" --adapt "$adapt" --adapt-iters "$adapt_iters" "$@" \
    "$lang" "$num_leaves" "$tot_gauss" "$dir"
}
