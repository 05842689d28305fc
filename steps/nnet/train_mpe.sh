#!/usr/bin/env bash
# Trains a DNN further by a sequence criterion (sMBR, MPFE; MMI as train_mmi.sh) on several workers, models averaged.
set -euo pipefail

cmd=run.pl
num_workers=1   # MPI ranks
mpi_cmd=        # launcher up to the number of ranks, such as "srun --mpi=pmix -n"; default: mpirun
use_gpu=auto
train_opts=     # further options of pymavg train-sequence
do_smbr=true    # Kaldi's name: false means --criterion mpfe
criterion=      # smbr, mpfe or mmi
num_iters=4
acwt=0.1        # acoustic scale
lmwt=1.0        # scale of graph costs
learn_rate=0.00001
halving_factor=1.0
momentum=0.0
one_silence_class=true
drop_frames=true
seed=777
# Options handed to pymavg train-sequence; where nothing is set, its own defaults hold (pymavg train-sequence --help).
passed=(average_period average_frames virtual_workers lr_scaling max_frames on_divergence reduce_type restart)
for name in "${passed[@]}"; do declare "$name="; done

echo "$0 $*"
. "$(dirname "$0")/../recipe.sh"
case $0 in # one script under Kaldi's two names
  *train_mmi.sh) by=mmi own="" ;;
  *) by=smbr own=$'\n  --criterion smbr|mpfe|mmi   '"--do-smbr $do_smbr (false: mpfe)   --one-silence-class $one_silence_class" ;;
esac
help_message="usage: $0 [options] <data> <lang> <src-dir> <ali> <denlats> <exp>
 e.g.: $0 --num-workers 4 data/fbank/train data/lang exp/dnn exp/dnn_ali exp/dnn_denlats exp/dnn_$by
<ali> comes from steps/nnet/align.sh, <denlats> from steps/nnet/make_denlats.sh, both with <src-dir>.
Options, with their defaults:
  --cmd $cmd   --num-workers $num_workers   --mpi-cmd \"COMMAND\"   --use-gpu $use_gpu   --train-opts \"OPTIONS\"$own
  --num-iters $num_iters   --acwt $acwt   --lmwt $lmwt   --drop-frames $drop_frames (mmi)
  --learn-rate $learn_rate (of one worker)   --halving-factor $halving_factor   --momentum $momentum   --seed $seed
and these of pymavg train-sequence, which explains them with --help:
$(passed_help train-sequence "$@")"
. utils/parse_options.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 srcdir=$3 ali=$4 denlats=$5 dir=$6

for f in "$data/feats.scp" "$lang/words.txt" "$srcdir"/{final.nnet,final.feature_transform,final.mdl} \
  "$ali"/{final.mdl,ali.1.gz} "$denlats/lat.scp"; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
[ "$by:$do_smbr" != smbr:false ] || by=mpfe
criterion=${criterion:-$by}
read -r -a opts <<<"$train_opts"
for name in "${passed[@]}"; do
  [ -z "${!name}" ] || opts+=("--${name//_/-}=${!name}")
done
mkdir -p "$dir/log"

echo "$0: $criterion training in $dir, see $dir/log/train_sequence.log"
$cmd "$dir/log/train_sequence.log" \
  pymavg launch --num-workers "$num_workers" --mpi-cmd "$mpi_cmd" train-sequence --use-gpu "$use_gpu" \
  --criterion "$criterion" --num-iters "$num_iters" --acwt "$acwt" --lmwt "$lmwt" --learn-rate "$learn_rate" \
  --halving-factor "$halving_factor" --momentum "$momentum" --one-silence-class "$one_silence_class" \
  --drop-frames "$drop_frames" --seed "$seed" ${opts[@]+"${opts[@]}"} \
  "$data" "$lang" "$srcdir" "$ali" "$denlats" "$dir" || {
  grep -ah '^ERROR' "$dir/log/train_sequence.log" >&2 || true # the launcher's own words come last
  exit 1
}

grep -aE '^iteration [0-9]+: lr' "$dir/log/train_sequence.log" | sed 's/;.*//' || true
echo "$0: $(tail -n 100 "$dir/log/train_sequence.log" | grep -aE 'final.nnet: |already trained' | tail -n 1)"
