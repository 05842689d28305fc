# shellcheck shell=bash disable=SC2034,SC2154
# Source it for how passes.sh adapts features to the model. Transforms are files of their own, by the pass that estimated
# them, so that the features of a pass follow from its number: <dir>/N.mllt, one for all, or <dir>/N.trans.JOB.

transforms_of() { # <pass>: sets `transform` to the options that transform the features after this pass's estimation
  local iter last=0
  for iter in $adapt_iters; do
    if [ "$iter" -le "$1" ] && [ "$iter" -gt "$last" ]; then last=$iter; fi
  done
  transform=()
  if [ "$adapt" = mllt ] && [ "$last" -gt 0 ]; then
    transform=(--transform "$dir/$last.mllt")
  elif [ "$adapt" = fmllr ]; then
    transform=(--transform "$dir/$last.trans.JOB" --utt2spk "$sdata/JOB/utt2spk")
  fi
}

adapt_features() { # <pass>: estimates new transforms where it is due; sets `transform`, and `model` for the pass
  local x=$1
  model=$dir/$x.mdl
  transforms_of $((x - 1))
  if [[ " $adapt_iters " = *" $x "* ]]; then estimate_"$adapt"; fi
  transforms_of "$x"
}

estimate_none() { :; }

estimate_mllt() { # the new space has its own model, in which the means are moved
  model=$dir/$x.moved.mdl
  [ ! -f "$dir/$x.mllt" ] || return 0
  $cmd JOB=1:"$nj" "$dir/log/acc_mllt.$x.JOB.log" \
    pymavg gmm-acc-mllt "${transform[@]}" --silence-phones "$silence" "$dir/$x.mdl" "$dir/job.JOB" "$dir/ali.JOB.gz" \
    "$dir/$x.JOB.macc"
  $cmd "$dir/log/est_mllt.$x.log" \
    pymavg gmm-est-mllt ${transform[1]:+--before "${transform[1]}"} "$dir/$x.mdl" "$dir/$x".*.macc "$model" "$dir/$x.mllt"
  rm -f "$dir/$x".*.macc
}

estimate_fmllr() {
  local options
  read -r -a options <<<"$fmllr_opts"
  $cmd JOB=1:"$nj" "$dir/log/fmllr.$x.JOB.log" \
    pymavg gmm-est-fmllr ${options[@]+"${options[@]}"} "${transform[@]}" --silence-phones "$silence" "$dir/$x.mdl" \
    "$dir/job.JOB" "$dir/ali.JOB.gz" "$dir/$x.trans.JOB"
}

finish_none() { :; }

finish_mllt() { # <last model>: LDA and MLLT become one matrix
  transforms_of "$num_iters"
  [ -z "${transform[1]:-}" ] || pymavg compose-transforms "${transform[1]}" "$dir/0.mat" "$dir/final.mat"
}

finish_fmllr() { # <last model>: the same Gaussians for features without fMLLR; transforms get their final names
  local job
  transforms_of "$num_iters"
  $cmd JOB=1:"$nj" "$dir/log/pass.alimdl.JOB.log" \
    pymavg gmm-pass "${transform[@]}" --two-feats true "$1" "$dir/job.JOB" "$dir/ali.JOB.gz" "$dir/alimdl.JOB.acc"
  $cmd "$dir/log/update.alimdl.log" \
    pymavg gmm-est --remove-low-count-gaussians false "$1" "$dir"/alimdl.*.acc "$dir/final.alimdl"
  rm -f "$dir"/alimdl.*.acc
  for ((job = 1; job <= nj; job++)); do cp "${transform[1]/%JOB/$job}" "$dir/trans.$job"; done
}
