#!/usr/bin/env bash
# The passes of EM that all GMM trainings have in common: align now and then, accumulate, update, mix up.
set -euo pipefail

nj=4
cmd=run.pl
first=1               # number of the first model, <dir>/FIRST.mdl
num_iters=35          # passes, the last of which gives the final model
max_iter_inc=25       # last pass that adds Gaussians
realign_iters=""      # passes that align
initial_beam=10       # of pass 1
beam=10
retry_beam=40
boost_silence=1.0
power=0.25
adapt=none            # mllt, fmllr: transforms of the features are estimated on the way (adaptation.sh)
adapt_iters=""        # passes that do so
fmllr_opts=""         # of gmm-est-fmllr
sdata=""              # split data directory, whose utt2spk fmllr needs

help_message="usage: $0 [options] <lang> <num-gauss> <tot-gauss> <dir>
 e.g.: $0 --nj 4 --realign-iters \"10 20 30\" data/lang 1000 10000 exp/tri1
Needs <dir>/FIRST.mdl and <dir>/job.JOB, with --adapt fmllr <dir>/0.trans.JOB; goes on after the last model that is
there. Makes <dir>/final.mdl and final.occs, with --adapt mllt final.mat, with fmllr final.alimdl and trans.JOB.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --first $first   --num-iters $num_iters   --max-iter-inc $max_iter_inc
  --realign-iters \"N N …\"   --initial-beam $initial_beam   --beam $beam   --retry-beam $retry_beam
  --boost-silence $boost_silence   --power $power
  --adapt $adapt   --adapt-iters \"N N …\"   --fmllr-opts \"OPTIONS\"   --sdata DIR"

. "$(dirname "$0")/../recipe.sh"
. utils/parse_options.sh
. steps/gmm/adaptation.sh
if [ $# -ne 4 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
lang=$1 num_gauss=$2 tot_gauss=$3 dir=$4

silence=$(cat "$lang/phones/silence.csl")
inc=$(((tot_gauss - num_gauss) / max_iter_inc))
begin=$first
while [ -f "$dir/$((begin + 1)).mdl" ] || { [ ! -f "$dir/$begin.mdl" ] && [ "$begin" -lt "$num_iters" ]; }; do
  begin=$((begin + 1))
done
[ -f "$dir/$begin.mdl" ] || { echo "$0: $dir/$first.mdl: no such file" >&2; exit 1; }

for ((x = begin; x < num_iters; x++)); do
  align=none
  [[ " $realign_iters " != *" $x "* ]] || align=viterbi
  if [ "$x" -eq 1 ]; then beam_now=$initial_beam; else beam_now=$beam; fi
  steps=$((x - 1 < max_iter_inc ? x - 1 : max_iter_inc))
  adapt_features "$x"
  $cmd JOB=1:"$nj" "$dir/log/pass.$x.JOB.log" \
    pymavg gmm-pass "${transform[@]}" --align $align --beam "$beam_now" --retry-beam "$retry_beam" \
    --boost-silence "$boost_silence" --silence-phones "$silence" "$model" "$dir/job.JOB" "$dir/ali.JOB.gz" \
    "$dir/$x.JOB.acc"
  $cmd "$dir/log/update.$x.log" \
    pymavg gmm-est --mix-up $((num_gauss + steps * inc)) --power "$power" --seed "$x" \
    --write-occs "$dir/$((x + 1)).occs" "$model" "$dir/$x".*.acc "$dir/$((x + 1)).mdl"
  rm -f "$dir/$x".*.acc "$dir/$x.mdl" "$model" "$dir/$x.occs"
done
finish_"$adapt" "$dir/$num_iters.mdl"
cp "$dir/$num_iters.occs" "$dir/final.occs" # the move below is what ends the training: until then all can be done again
mv "$dir/$num_iters.mdl" "$dir/final.mdl"
rm -rf "$dir"/job.* "$dir"/[0-9]*.trans.* "$dir"/[0-9]*.mllt "$dir/$num_iters.occs"
grep -ah '^gmm-est' "$dir/log/update.$((num_iters - 1)).log" | tail -n 1
