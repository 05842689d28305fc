# Sourced by run.sh: stage 13, what may follow the DNN. --realign true trains it once more on its own alignments, --smbr
# true the last one further by sMBR, as Kaldi's local/nnet/run_dnn.sh: one iteration, new lattices, the rest.
# shellcheck shell=bash disable=SC2154,SC2034  # variables of run.sh and of conf/

dnn=dnn
[ "$realign" = false ] || dnn=dnn_realigned
nnet_lang=$lang
[ "$full_gmm" = false ] || nnet_lang=${lang}_prons

# again NAME: train the network exp/NAME on alignments by exp/dnn, from the same pretrained layers.
again() {
  local part
  for part in "$dnn_train" train_dev; do
    steps/nnet/align.sh --nj "$nj" --cmd "$train_cmd" "$nnet_data/$part" "$nnet_lang" "$exp/dnn" "$exp/dnn_ali_$part"
  done
  train_dnn "$exp/dnn_ali_$dnn_train" "$exp/dnn_ali_train_dev" "$exp/$1"
}

# sequence_round FROM TO ITERATIONS: alignments and lattices by exp/FROM, and training from there.
sequence_round() {
  steps/nnet/align.sh --nj "$nj" --cmd "$train_cmd" --acwt "$smbr_acwt" \
    "$nnet_data/$train" "$nnet_lang" "$exp/$1" "$exp/$1_ali"
  [ "$exp/$1_denlats/lat.scp" -nt "$exp/$1/final.nnet" ] || # whole already
    steps/nnet/make_denlats.sh --nj "$nj" --cmd "$decode_cmd" --acwt "$smbr_acwt" "${denlat_opts[@]}" \
      "$nnet_data/$train" "$nnet_lang" "$exp/$1" "$exp/$1_denlats"
  steps/nnet/train_mpe.sh --cmd "$cuda_cmd" --num-workers "$num_workers" --use-gpu "$use_gpu" --seed "$seed" \
    --acwt "$smbr_acwt" --learn-rate "$smbr_learn_rate" --average-frames "$smbr_average_frames" --num-iters "$3" \
    "$nnet_data/$train" "$nnet_lang" "$exp/$1" "$exp/$1_ali" "$exp/$1_denlats" "$exp/$2"
}

# sequence_training: from the network exp/$dnn to exp/${dnn}_smbr.
sequence_training() {
  if [ "$smbr_new_lattices" = true ]; then
    sequence_round "$dnn" "${dnn}_smbr_1" 1
    sequence_round "${dnn}_smbr_1" "${dnn}_smbr" $((smbr_iters - 1))
  else
    sequence_round "$dnn" "${dnn}_smbr" "$smbr_iters"
  fi
}

# networks: the names of those to be decoded and scored.
networks() {
  local name
  echo dnn
  for name in dnn_realigned dnn_smbr dnn_realigned_smbr; do
    [ ! -f "$exp/$name/final.nnet" ] || echo "$name"
  done
}

if [ "$smbr$realign" = falsefalse ]; then
  skip 13 "sMBR" "--smbr false"
elif stage 13 "after the DNN: realignment $realign, sMBR $smbr"; then
  need 12 "$exp/dnn/final.nnet"
  [ "$realign" = false ] || again dnn_realigned
  [ "$smbr" = false ] || sequence_training
  finish
fi
