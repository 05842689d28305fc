#!/usr/bin/env bash
# Pretrains a stack of RBMs (a deep belief network), layer by layer, on several workers whose models are averaged.
set -euo pipefail

cmd=run.pl
num_workers=1  # MPI ranks
mpi_cmd=       # launcher up to the number of ranks, such as "srun --mpi=pmix -n"; default: mpirun
use_gpu=auto
nn_depth=6
hid_dim=2048
rbm_iter=1     # epochs of each RBM; twice as many for the first
pretrain_opts= # further options of pymavg pretrain-dbn
feature_transform='' # nnet1 file; default: estimated on the data
# Options handed to pymavg pretrain-dbn; where nothing is set, its own defaults hold (pymavg pretrain-dbn --help).
passed=(rbm_lrate rbm_lrate_low rbm_l2penalty minibatch_size randomizer_size seed splice cmvn_opts delta_opts
  average_period lr_scaling virtual_workers memory_budget checkpoint_minutes restart)
for name in "${passed[@]}"; do declare "$name="; done

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
help_message="usage: $0 [options] <data> <exp>
 e.g.: $0 --nn-depth 6 --hid-dim 2048 --num-workers 4 data/train exp/pretrain_dbn
Options, with their defaults:
  --nn-depth $nn_depth   --hid-dim $hid_dim   --rbm-iter $rbm_iter   --feature-transform FILE
  --cmd $cmd   --num-workers $num_workers   --mpi-cmd \"COMMAND\"   --use-gpu $use_gpu   --pretrain-opts \"OPTIONS\"
and these of pymavg pretrain-dbn, which explains them with --help:
$(passed_help pretrain-dbn "$@")"
. utils/parse_options.sh
if [ $# -ne 2 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 dir=$2

for f in "$data/feats.scp" "$data/utt2spk" ${feature_transform:+"$feature_transform"}; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
read -r -a opts <<<"$pretrain_opts"
for name in feature_transform "${passed[@]}"; do
  [ -z "${!name}" ] || opts+=("--${name//_/-}=${!name}")
done
mkdir -p "$dir/log"

echo "$0: pretraining in $dir, see $dir/log/pretrain_dbn.log"
$cmd "$dir/log/pretrain_dbn.log" \
  pymavg launch --num-workers "$num_workers" --mpi-cmd "$mpi_cmd" pretrain-dbn --use-gpu "$use_gpu" \
  --nn-depth "$nn_depth" --hid-dim "$hid_dim" --rbm-iter "$rbm_iter" ${opts[@]+"${opts[@]}"} "$data" "$dir" || {
  grep -ah '^ERROR' "$dir/log/pretrain_dbn.log" >&2 || true # the launcher's own words come last
  exit 1
}

grep -aE '^RBM [0-9]+, epoch [0-9]+: lr' "$dir/log/pretrain_dbn.log" | sed 's/; [0-9]* frames.*//' || true
echo "$0: made $dir/$nn_depth.dbn"
