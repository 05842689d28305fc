#!/usr/bin/env bash
# Trains a triphone GMM on features with deltas, from the alignments of another system.
set -euo pipefail

. "$(dirname "$0")/gmm/triphones.sh" # options and functions of all triphone trainings
norm_vars=false
cmvn_opts=            # as --norm-vars=true; default: from --norm-vars
delta_opts=

help_message="usage: $0 [options] <num-leaves> <tot-gauss> <data> <lang> <ali-dir> <exp>
 e.g.: $0 2000 10000 data/train data/lang exp/mono_ali exp/tri1
$(triphone_help)
  --norm-vars $norm_vars   --cmvn-opts \"OPTS\"   --delta-opts \"OPTS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
begin_triphones "$norm_vars $cmvn_opts $delta_opts" "$@"
echo "${cmvn_opts:---norm-vars=$norm_vars}" >"$dir/cmvn_opts"
echo "$delta_opts" >"$dir/delta_opts"

if ! started -3; then
  $cmd JOB=1:"$nj" "$dir/log/features.JOB.log" pymavg gmm-feats "$sdata/JOB" "$dir" "$dir/job.JOB"
fi
grow_tree
train_passes none ""
echo "$0: trained the triphone system $dir: $(sizes "$dir/final.mdl" "$num_leaves" "$tot_gauss")"
