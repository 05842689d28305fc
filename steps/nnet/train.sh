#!/usr/bin/env bash
# Trains a DNN on the alignments of another system, by NG-SGD on several workers whose models are averaged.
set -euo pipefail

cmd=run.pl
num_workers=1  # MPI ranks
mpi_cmd=       # launcher up to the number of ranks, such as "srun --mpi=pmix -n"; default: mpirun
use_gpu=auto
train_opts=    # further options of pymavg train
dbn=''         # nnet1 file of pretrained layers
nnet_init=''   # nnet1 file of a whole network
# Options handed to pymavg train; where nothing is set, its own defaults hold (pymavg train --help).
passed=(feature_transform splice cmvn_opts delta_opts hid_layers hid_dim labels num_tgt frame_weights objective_function
  optimizer learn_rate minibatch_size momentum
  l1_penalty l2_penalty randomizer_size seed schedule max_iters min_iters keep_lr_iters start_halving_impr
  end_halving_impr halving_factor epochs final_factor lr_scaling average_period reduce_type block_momentum
  virtual_workers max_change_mode memory_budget checkpoint_minutes restart explain
  max_missing length_tolerance on_divergence allow_change) # the last four are remedies that its errors name
for name in "${passed[@]}"; do declare "$name="; done

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
help_message="usage: $0 [options] <data-train> <data-cv> <lang> <ali-train> <ali-cv> <exp>
 e.g.: $0 --dbn exp/pretrain_dbn/6.dbn --hid-layers 0 --num-workers 4 \\
         data/train_tr90 data/train_cv10 data/lang exp/tri4_ali exp/tri4_ali exp/dnn
Options, with their defaults:
  --cmd $cmd   --num-workers $num_workers   --mpi-cmd \"COMMAND\"   --use-gpu $use_gpu   --dbn FILE
  --nnet-init FILE   --train-opts \"OPTIONS\"
and these of pymavg train, which explains them with --help:
$(passed_help train "$@")"
. utils/parse_options.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 data_cv=$2 lang=$3 ali=$4 ali_cv=$5 dir=$6

for f in "$data/feats.scp" "$data_cv/feats.scp" "$lang/phones.txt" "$ali/final.mdl" "$ali/ali.1.gz" \
  "$ali_cv/final.mdl" "$ali_cv/ali.1.gz" ${dbn:+"$dbn"} ${nnet_init:+"$nnet_init"}; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
if [ -f "$ali/phones.txt" ] && ! cmp -s "$lang/phones.txt" "$ali/phones.txt"; then
  echo "$0: $lang/phones.txt and $ali/phones.txt differ: $ali was made with another lang directory" >&2
  exit 1
fi
read -r -a opts <<<"$train_opts"
for name in dbn nnet_init "${passed[@]}"; do
  [ -z "${!name}" ] || opts+=("--${name//_/-}=${!name}")
done
mkdir -p "$dir/log"

echo "$0: training in $dir, see $dir/log/train.log"
$cmd "$dir/log/train.log" \
  pymavg launch --num-workers "$num_workers" --mpi-cmd "$mpi_cmd" train --use-gpu "$use_gpu" ${opts[@]+"${opts[@]}"} \
  "$data" "$data_cv" "$ali" "$ali_cv" "$dir" || {
  grep -ah '^ERROR' "$dir/log/train.log" >&2 || true # the launcher's own words come last
  exit 1
}

grep -aE '^epoch [0-9]+: lr' "$dir/log/train.log" | sed 's/;.*//' || true
echo "$0: $(tail -n 100 "$dir/log/train.log" | grep -aE 'final.nnet: |already trained' | tail -n 1)"
