#!/usr/bin/env bash
# Trains one row of the paper's tables with one seed: local/paper/run.sh calls it for each of conf/paper/*.conf.
set -euo pipefail

# The row, in the paper's own numbers
workers=1              # N
optimizer=ngsgd        # ngsgd | sgd
init=rbm               # rbm | random
minibatch=1024         # frames; the size divides it
period=10              # minibatches between two averages; the size divides it
schedule=exponential   # exponential | newbob
reduce_type=allreduce  # allreduce | butterfly | ring
lr_scaling=linear      # the learning rate times N | none
rate_factor=1.0        # on the learning rate of the size
extra=''               # further options of pymavg train
# The size
minibatch_divisor=1.0
period_divisor=1.0
# shellcheck disable=SC2034
rate_ngsgd=0.32 rate_sgd=0.0004 # learning rates of one worker, found by local/paper/run.sh --sweep true
change_limit=pre-lr    # --max-change-mode
depth=6
dim=2048
epochs=15
final_factor=0.01
train_opts=''          # further options of pymavg train
ranks=false            # true: the workers are MPI ranks; false: virtual workers of one process
use_gpu=no
# Read by local/paper/run.sh from the same files
# shellcheck disable=SC2034
claims=false train_utts=1 cv_utts=1 rbm_iter=1 seeds=3 decode_seeds=1 beam=13.0 max_active=7000 \
  prior_floor=0.0000000001 try_ngsgd='' try_sgd=''
# The run
seed=0
gmm=exp/tri1           # alignments of the CV part in GMM_ali_train_dev
ali=exp/tri1_ali_train_nodev_sp # alignments of the training part
data=data/fbank
lang=data/lang
paper=exp/paper        # with the pretrained layers and the frames to train on

help_message="usage: $0 [options] <dir>
 e.g.: $0 --config conf/paper/mini.size --config conf/paper/ngsgd_16.conf --seed 1 exp/paper/ngsgd_16/1
Trains with pymavg train and classifies the frames of the CV part: <dir>/final.nnet, <dir>/frames.tsv, <dir>/row.tsv.
A row that is whole is left as it is; one that was stopped goes on.
Options of the row, in the paper's numbers:
  --workers N   --optimizer ngsgd|sgd   --init rbm|random   --minibatch FRAMES   --period MINIBATCHES
  --schedule exponential|newbob   --reduce-type allreduce|butterfly|ring   --lr-scaling linear|none
  --rate-factor F   --extra \"OPTIONS\"
of the size:
  --minibatch-divisor D   --period-divisor D   --rate-ngsgd R   --rate-sgd R   --change-limit pre-lr|post-lr   --depth L
  --dim D   --epochs E   --final-factor F   --train-opts \"OPTIONS\"
  --ranks true|false   --use-gpu G
of the run:
  --seed S   --gmm DIR   --ali DIR   --data DIR   --lang DIR   --paper DIR"

. ./path.sh
. utils/parse_options.sh
if [ $# -ne 1 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
dir=$1
[ ! -f "$dir/row.tsv" ] || exit 0

scaled() { awk -v n="$1" -v d="$2" 'BEGIN {s = int(n / d + 0.5); print s < 1 ? 1 : s}'; }
minibatch_size=$(scaled "$minibatch" "$minibatch_divisor")
average_period=$(scaled "$period" "$period_divisor")
rate=rate_$optimizer
learn_rate=$(awk -v r="${!rate}" -v f="$rate_factor" 'BEGIN {print r * f}')

opts=(--virtual-workers "$workers")
[ "$ranks" = false ] || opts=(--num-workers "$workers")
case $init in
  rbm) opts+=(--dbn "$paper/dbn/$depth.dbn" --hid-layers 0 --feature-transform "$paper/dbn/final.feature_transform") ;;
  random) opts+=(--hid-layers "$depth" --hid-dim "$dim" --feature-transform "$paper/dbn/final.feature_transform") ;;
  *) echo "$0: --init $init: expected rbm or random" >&2; exit 1 ;;
esac
case $schedule in
  exponential) opts+=(--epochs "$epochs" --final-factor "$final_factor") ;;
  newbob) opts+=(--max-iters "$((2 * epochs))") more='--newbob-measure=accuracy' ;;
  *) echo "$0: --schedule $schedule: expected exponential or newbob" >&2; exit 1 ;;
esac

mkdir -p "$dir"
TIMEFORMAT=%U # seconds of CPU, whatever else the machine does
{ time steps/nnet/train.sh --use-gpu "$use_gpu" --seed "$seed" --optimizer "$optimizer" --learn-rate "$learn_rate" \
  --max-change-mode "$change_limit" --minibatch-size "$minibatch_size" --average-period "$average_period" \
  --schedule "$schedule" --reduce-type "$reduce_type" --lr-scaling "$lr_scaling" "${opts[@]}" \
  --cmvn-opts "$(cat "$paper/dbn/cmvn_opts")" --train-opts "--on-divergence=halve ${more:-} $train_opts $extra" \
  "$paper/train" "$paper/cv" "$lang" "$ali" "${gmm}_ali_train_dev" "$dir" > "$dir/row.log" 2>&3; } \
  3>&2 2> "$dir/cpu_seconds"
pymavg score-frames "$data/train_dev" "${gmm}_ali_train_dev" "$dir" "$dir/frames.tsv"
rm -rf "$dir/nnet" # the models of all epochs

averages=$(awk -v f="$(cat "$paper/num_frames")" -v n="$workers" -v b="$minibatch_size" -v p="$average_period" \
  'BEGIN {print n == 1 ? 0 : int(f / n / b / p)}')
printf '%s\t%s\n' workers "$workers" optimizer "$optimizer" init "$init" period "$period" average_period "$average_period" \
  minibatch "$minibatch" minibatch_size "$minibatch_size" schedule "$schedule" reduce_type "$reduce_type" \
  learn_rate "$learn_rate" lr_scaling "$lr_scaling" extra "$extra" averages "$averages" \
  cpu_seconds "$(cat "$dir/cpu_seconds")" \
  diverged "$(grep -c ' diverged in epoch ' "$dir/log/train.log" || true)" > "$dir/.row.tsv.tmp"
mv "$dir/.row.tsv.tmp" "$dir/row.tsv"
