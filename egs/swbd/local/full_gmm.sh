# Sourced by run.sh with --full-gmm true: stages 7 to 10, the GMM systems of Kaldi's s5c beyond tri1, and features of the
# last one, adapted to the speakers, for the DNN.
# shellcheck shell=bash disable=SC2154

if stage 7 "tri2 (deltas again)"; then
  need 6 "$exp/tri1/final.mdl"
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$train_early" "$lang" "$exp/tri1" "$exp/tri1_ali"
  steps/train_deltas.sh --cmd "$train_cmd" "$tri2_leaves" "$tri2_gauss" \
    "$data/$train_early" "$lang" "$exp/tri1_ali" "$exp/tri2"
  finish
fi

if stage 8 "tri3 (LDA+MLLT), probabilities of pronunciations and silence"; then
  need 7 "$exp/tri2/final.mdl"
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$train" "$lang" "$exp/tri2" "$exp/tri2_ali"
  steps/train_lda_mllt.sh --cmd "$train_cmd" "$tri3_leaves" "$tri3_gauss" \
    "$data/$train" "$lang" "$exp/tri2_ali" "$exp/tri3"
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$train" "$lang" "$exp/tri3" "$exp/tri3_ali"
  steps/get_prons.sh --cmd "$train_cmd" "$data/$train" "$lang" "$exp/tri3_ali"
  utils/dict_dir_add_pronprobs.sh --max-normalize true "$data/local/dict" \
    "$exp/tri3_ali"/{pron,sil,pron_bigram}_counts_nowb.txt "$data/local/dict_prons"
  utils/prepare_lang.sh "$data/local/dict_prons" "<unk>" "$data/local/lang_prons" "${lang}_prons"
  utils/format_lm.sh "${lang}_prons" "$data/local/lm/sw1.o${lm_order}g.kn.gz" "$data/local/dict_prons/lexiconp.txt" \
    "${lang_test}_prons"
  finish
fi

if stage 9 "tri4 (SAT)"; then
  need 8 "$exp/tri3_ali/ali.1.gz" "${lang}_prons/L.fst"
  steps/train_sat.sh --cmd "$train_cmd" "$tri4_leaves" "$tri4_gauss" \
    "$data/$train" "${lang}_prons" "$exp/tri3_ali" "$exp/tri4"
  finish
fi

if stage 10 "fMLLR features for the DNN, alignments"; then
  need 9 "$exp/tri4/final.alimdl"
  perturb_speed
  for part in "$dnn_train" train_dev; do
    steps/align_fmllr.sh --nj "$nj" --cmd "$train_cmd" "$data/$part" "${lang}_prons" "$exp/tri4" "$exp/tri4_ali_$part"
  done
  utils/mkgraph.sh "${lang_test}_prons" "$exp/tri4" "$exp/tri4/graph_sw1_tg"
  for part in "$dnn_train" train_dev "${eval_sets[@]}"; do
    transforms=$exp/tri4_ali_$part
    if [ "$part" != "$dnn_train" ]; then # transforms of what is recognised come from recognition
      transforms=$exp/tri4/decode_${part}_sw1_tg
      steps/decode_fmllr.sh --nj "$nj" --cmd "$decode_cmd" "${decode_opts[@]}" --skip-scoring true \
        "$exp/tri4/graph_sw1_tg" "$data/$part" "$transforms"
    fi
    steps/nnet/make_fmllr_feats.sh --nj "$nj" --cmd "$train_cmd" --transform-dir "$transforms" \
      "$data/fmllr/$part" "$data/$part" "$exp/tri4" "$exp/make_fmllr/$part" "$dir/fmllr"
  done
  unperturbed
  finish
fi
