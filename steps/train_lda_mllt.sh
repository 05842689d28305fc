#!/usr/bin/env bash
# Trains a triphone GMM on spliced features projected by LDA and turned by MLLT, from the alignments of another system.
set -euo pipefail

. "$(dirname "$0")/gmm/triphones.sh" # options and functions of all triphone trainings
dim=40                # dimensions that LDA keeps
mllt_iters="2 4 6 12" # passes that estimate MLLT
norm_vars=false
cmvn_opts=            # as --norm-vars=true; default: from --norm-vars
splice_opts=          # as --left-context=3 --right-context=3

help_message="usage: $0 [options] <num-leaves> <tot-gauss> <data> <lang> <ali-dir> <exp>
 e.g.: $0 6000 140000 data/train data/lang exp/tri2_ali exp/tri3
Makes <exp>/final.mat beside the model. $(triphone_help)
  --dim $dim   --mllt-iters \"$mllt_iters\"   --norm-vars $norm_vars   --cmvn-opts \"OPTS\"   --splice-opts \"OPTS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
begin_triphones "$dim $mllt_iters $norm_vars $cmvn_opts $splice_opts" "$@"
echo "${cmvn_opts:---norm-vars=$norm_vars}" >"$dir/cmvn_opts"
echo "$splice_opts" >"$dir/splice_opts"

if ! started -5; then
  $cmd JOB=1:"$nj" "$dir/log/acc_lda.JOB.log" \
    pymavg acc-lda --silence-phones "$silence" --max-missing "$max_missing" "$alidir" "$sdata/JOB" "$dir" JOB \
    "$dir/JOB.lda"
  $cmd "$dir/log/est_lda.log" \
    pymavg est-lda --dim "$dim" --write-full-matrix "$dir/full.mat" "$dir"/*.lda "$dir/0.mat"
  rm -f "$dir"/*.lda
  cp "$dir/0.mat" "$dir/final.mat" # until the last pass puts MLLT into it; the jobs' features stay LDA's
fi
if ! started -4; then
  $cmd JOB=1:"$nj" "$dir/log/features.JOB.log" pymavg gmm-feats "$sdata/JOB" "$dir" "$dir/job.JOB"
fi
grow_tree
train_passes mllt "$mllt_iters"
echo "$0: trained the LDA+MLLT system $dir: $(sizes "$dir/final.mdl" "$num_leaves" "$tot_gauss")"
