#!/usr/bin/env bash
# Trains a speaker-adapted triphone GMM (SAT): on features that fMLLR brings from each speaker to the model.
set -euo pipefail

. "$(dirname "$0")/gmm/triphones.sh" # options and functions of all triphone trainings
power=0.2
fmllr_iters="2 4 6 12" # passes that estimate fMLLR
fmllr_update_type=full # full, diag, offset, none
silence_weight=0.0     # of frames of silence in fMLLR

help_message="usage: $0 [options] <num-leaves> <tot-gauss> <data> <lang> <ali-dir> <exp>
 e.g.: $0 11500 200000 data/train data/lang exp/tri3_ali exp/tri4
The features are those of <ali-dir>: LDA+MLLT where it has final.mat, else deltas. Its trans.JOB, where there are any, are
the transforms to start from. Makes <exp>/trans.JOB, and final.alimdl: the same model for features without fMLLR.
$(triphone_help)
  --fmllr-iters \"$fmllr_iters\"   --fmllr-update-type $fmllr_update_type   --silence-weight $silence_weight"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -ne 6 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
given=$(cat "$5"/*.mat "$5"/trans.* 2>/dev/null | cksum || true) # some of them may not be there
begin_triphones "$fmllr_iters $fmllr_update_type $silence_weight $given" "$@"
for f in cmvn_opts delta_opts splice_opts final.mat full.mat; do
  [ ! -f "$alidir/$f" ] || cp "$alidir/$f" "$dir"
done
fmllr_opts="--fmllr-update-type $fmllr_update_type --silence-weight $silence_weight"
read -r -a fmllr <<<"$fmllr_opts"

if ! started -5; then
  $cmd JOB=1:"$nj" "$dir/log/features.JOB.log" pymavg gmm-feats "$sdata/JOB" "$dir" "$dir/job.JOB"
fi
if ! started -4; then
  if [ -f "$alidir/trans.1" ]; then
    cat "$alidir"/trans.* >"$dir/0.trans.all" # whatever its number of jobs, each job finds its speakers
    for ((job = 1; job <= nj; job++)); do cp "$dir/0.trans.all" "$dir/0.trans.$job"; done
    rm "$dir/0.trans.all"
  else
    $cmd JOB=1:"$nj" "$dir/log/fmllr.0.JOB.log" \
      pymavg gmm-est-fmllr "${fmllr[@]}" --silence-phones "$silence" --utt2spk "$sdata/JOB/utt2spk" \
      --max-missing "$max_missing" "$alidir/final.mdl" "$dir/job.JOB" "$alidir" "$dir/0.trans.JOB"
  fi
fi
transform=(--transform "$dir/0.trans.JOB" --utt2spk "$sdata/JOB/utt2spk")
grow_tree
train_passes fmllr "$fmllr_iters" --fmllr-opts "$fmllr_opts" --sdata "$sdata"
echo "$0: trained the speaker-adapted system $dir: $(sizes "$dir/final.mdl" "$num_leaves" "$tot_gauss")"
