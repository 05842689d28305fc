#!/usr/bin/env bash
# From the Switchboard corpus to the word error rate: parallel DNN training by model averaging (arXiv 1507.01239).
#
#   ./run.sh                                           # the default corpus `mini`, made from two Debian packages
#   ./run.sh --stage 12 --stop-stage 12                # one stage
#   ./run.sh --corpus ldc --swbd DIR --eval2000 "DIR DIR" --num-workers 16 --use-gpu yes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

stage=0
stop_stage=15
corpus=mini        # mini | ldc
swbd=              # LDC97S62
transcripts=       # swb_ms98_transcriptions, where they are not in it
eval2000=          # LDC2002S09 and LDC2002T43, in one string
eval2001=          # LDC2002S13: a further evaluation set
rt03=              # LDC2007S10: a further evaluation set
allow_partial=false # true: go on when recordings of a corpus are missing
fisher=            # LDC2004T19 and LDC2005T19: more text for the language model
gmm_feats=         # features of the GMMs: mfcc, plp, mfcc_pitch, plp_pitch; default: the conf's
conf=              # sizes of everything; default conf/$corpus.conf
dir=.              # where corpus/, data/ and exp/ go
mini_hours=        # hours of training speech of a smaller mini corpus
num_workers=2      # N of the paper: workers whose parameters are averaged
use_gpu=auto       # auto | yes | no
full_gmm=          # true: tri2, tri3, tri4, fMLLR features; default: true for ldc
realign=false      # true: a second DNN, on alignments by the first
smbr=              # true: sequence training; default: as full_gmm
nj=                # jobs of the data-parallel steps; default: one for each core
seed=1

help_message="usage: ./run.sh [options]
From the corpus to the word error rate; every stage says what it needs, skips what is whole, and can be run alone.
  --stage N --stop-stage M     run stages N to M (default $stage to $stop_stage)
  --corpus mini|ldc            the default corpus, or Switchboard itself: --swbd DIR --eval2000 \"DIR DIR\"
  --transcripts DIR            swb_ms98_transcriptions, where they are not in the folder of --swbd
  --eval2001 DIR --rt03 DIR    further evaluation sets (LDC2002S13, LDC2007S10)
  --allow-partial true|false   go on when recordings of a corpus are missing (default $allow_partial)
  --fisher \"DIR DIR\"           more text for the language model (LDC2004T19, LDC2005T19)
  --dir DIR                    where corpus/, data/ and exp/ go (default: this directory)
  --mini-hours H               a smaller mini corpus with H hours of training speech
  --num-workers N              workers whose parameters are averaged (default $num_workers)
  --use-gpu auto|yes|no        (default $use_gpu)
  --full-gmm true|false        stages 7-9, too, and fMLLR features for the DNN (default: true for ldc, false for mini)
  --gmm-feats KIND             features of the GMMs: mfcc | plp | mfcc_pitch | plp_pitch (default: the conf's)
  --realign true|false         stage 13: a second DNN, trained on alignments by the first (default $realign)
  --smbr true|false            stage 13: sequence training of the DNN (default: as --full-gmm)
  --conf FILE                  model sizes (default conf/CORPUS.conf)
  --nj N --seed S
stages: 0 corpus; 1 data preparation, dictionary; 2 lang, language model, G; 3 evaluation data; 4 features, CMVN, subsets;
  5 monophone; 6 tri1 (deltas); 7 tri2; 8 tri3 (LDA+MLLT); 9 tri4 (SAT); 10 features for the DNN, train/CV split;
  11 RBM pretraining; 12 DNN, NG-SGD with averaging; 13 sMBR; 14 decode; 15 score, RESULTS.md, report.html"

invocation="./run.sh $*"
. ./path.sh
. ./cmd.sh
. utils/parse_options.sh
least() { # the smaller one of two numbers
  echo $(($1 < $2 ? $1 : $2))
}
refuse() {
  echo "$0: $1 (--help explains)" >&2
  exit 1
}
[ $# -eq 0 ] || refuse "unexpected argument '$1'"

conf=${conf:-conf/$corpus.conf}
case $corpus in
  mini) full_gmm=${full_gmm:-false} ;;
  ldc)
    full_gmm=${full_gmm:-true}
    [ -n "$swbd" ] && [ -n "$eval2000" ] ||
      refuse "--corpus ldc needs --swbd DIR (LDC97S62) and --eval2000 \"DIR DIR\" (LDC2002S09, LDC2002T43)"
    ;;
  *) refuse "--corpus $corpus: expected mini or ldc" ;;
esac
nj=${nj:-$(nproc)}
[[ $full_gmm =~ ^(true|false)$ ]] || refuse "--full-gmm $full_gmm: expected true or false"
smbr=${smbr:-$full_gmm}
[[ $smbr =~ ^(true|false)$ ]] || refuse "--smbr $smbr: expected true or false"
[[ $use_gpu =~ ^(auto|yes|no)$ ]] || refuse "--use-gpu $use_gpu: expected auto, yes or no"
[ "$stage" -ge 0 ] && [ "$stage" -le 15 ] && [ "$stage" -le "$stop_stage" ] ||
  refuse "--stage $stage --stop-stage $stop_stage: a stage of 0 to 15 expected, not above the last one"
[ -f "$conf" ] || refuse "--conf $conf: no such file"
. local/stages.sh
mono_shortest="" early_utts="" early_repeats="" max_repeats="" # subsets of stage 4 that a conf may ask for
speed_perturb=false gmm_opts=()
# shellcheck source=egs/swbd/conf/mini.conf
. "$conf"

if [ "$corpus" = mini ]; then
  swbd=$dir/corpus/LDC97S62
  eval_dirs=("$dir/corpus/LDC2002S09" "$dir/corpus/LDC2002T43")
else
  read -r -a eval_dirs <<< "$eval2000"
  [ ${#eval_dirs[@]} -eq 2 ] || refuse "--eval2000 '$eval2000': two directories expected"
fi
data=$dir/data
exp=$dir/exp
lang=$data/lang
lang_test=$data/lang_sw1_tg
lang_fsh=$data/lang_sw1_fsh_fg # for rescoring, with --fisher
train=train_nodev # all of the training data, but for utterances that are repeated very often
[ -z "$max_repeats" ] || train=train_nodup
train_early=$train # a part of it, for the first systems
[ -z "$early_utts" ] || train_early=train_early_nodup
dnn_train=$train # for the DNN, where the conf asks for it, also at 0.9 and 1.1 times the speed
[ "$speed_perturb" = false ] || dnn_train=${train}_sp
eval_sets=(eval2000 ${eval2001:+eval2001} ${rt03:+rt03})
swbd_opts=(${transcripts:+--transcripts "$transcripts"})
partial=(--allow-partial "$allow_partial")
if [ "$full_gmm" = true ]; then # the DNN sees tri4's features, and its targets are tri4's
  gmm=tri4 systems=(mono tri1 tri2 tri3) nnet_data=$data/fmllr nnet_cmvn=(--cmvn-opts "")
else
  gmm=tri1 systems=(mono tri1) nnet_data=$data/fbank nnet_cmvn=()
fi

# features PART: those of the GMMs.
features() {
  "steps/make_$gmm_feats.sh" --nj "$nj" --cmd "$train_cmd" "$data/$1" "$exp/make_$gmm_feats/$1" "$dir/$gmm_feats"
  steps/compute_cmvn_stats.sh "$data/$1" "$exp/make_$gmm_feats/$1" "$dir/$gmm_feats"
}

if stage 0 "corpus $corpus"; then
  if [ "$corpus" = mini ]; then
    local/make_mini_corpus.py ${mini_hours:+--mini-hours "$mini_hours"} "$dir/corpus"
  else
    local/check_ldc.sh "${partial[@]}" "${swbd_opts[@]}" "$swbd" "$eval2000"
  fi
  finish
fi

if stage 1 "data preparation, dictionary"; then
  need 0 "$swbd"
  local/swbd1_prepare_dict.sh "${swbd_opts[@]}" "$swbd" "$data/local/dict"
  local/swbd1_data_prep.sh "${partial[@]}" "${swbd_opts[@]}" "$swbd" "$data/train"
  # The development part chooses LM weight and penalty: nothing is trained on it, the language model neither.
  utils/subset_data_dir_tr_cv.sh --by conversation --cv-percent "$dev_percent" \
    "$data/train" "$data/train_nodev" "$data/train_dev"
  finish
fi

if stage 2 "lang, language model, G"; then
  need 1 "$data/train_nodev/text" "$data/local/dict/lexicon.txt"
  if [ -n "$fisher" ]; then
    read -r -a fisher_dirs <<< "$fisher"
    local/fisher_data_prep.sh "${fisher_dirs[@]}" "$data/local/fisher"
    local/swbd1_train_lms.sh --order 4 --dev-text "$data/train_dev/text" --fisher-text "$data/local/fisher/text" \
      "$data/train_nodev/text" "$data/local/dict/lexicon.txt" "$data/local/lm_fsh"
  elif [ "$corpus" = ldc ]; then
    echo "$0: skipped: no --fisher: the language model is that of the training transcripts alone"
  fi
  utils/prepare_lang.sh "$data/local/dict" "<unk>" "$data/local/lang" "$lang"
  local/swbd1_train_lms.sh --order "$lm_order" --dev-text "$data/train_dev/text" \
    "$data/train_nodev/text" "$data/local/dict/lexicon.txt" "$data/local/lm"
  utils/format_lm.sh "$lang" "$data/local/lm/sw1.o${lm_order}g.kn.gz" "$data/local/dict/lexicon.txt" "$lang_test"
  [ -z "$fisher" ] ||
    utils/format_lm.sh "$lang" "$data/local/lm_fsh/sw1_fsh.o4g.kn.gz" "$data/local/dict/lexicon.txt" "$lang_fsh"
  finish
fi

if stage 3 "evaluation data"; then
  need 0 "${eval_dirs[@]}"
  local/eval2000_data_prep.sh "${partial[@]}" "${eval_dirs[0]}" "${eval_dirs[1]}" "$data/eval2000"
  [ -z "$eval2001" ] || local/eval2001_data_prep.sh "${partial[@]}" --glm "$data/eval2000/glm" "$eval2001" "$data/eval2001"
  [ -z "$rt03" ] || local/rt03_data_prep.sh "${partial[@]}" "$rt03" "$data/rt03"
  finish
fi

if stage 4 "features, CMVN, subsets"; then
  need 1 "$data/train_nodev/wav.scp"
  need 3 "$data/eval2000/wav.scp"
  for part in train_nodev train_dev "${eval_sets[@]}"; do
    features "$part"
  done
  have=$(awk 'END {print NR}' "$data/train_nodev/utt2spk") # a small corpus may have fewer
  mono_opts=(--shortest "$data/train_nodev")
  if [ -n "$mono_shortest" ]; then # not only the very shortest, which are mostly uh-huh
    utils/subset_data_dir.sh --shortest "$data/train_nodev" "$(least "$have" "$mono_shortest")" "$data/train_shortest"
    mono_opts=("$data/train_shortest")
    have=$(least "$have" "$mono_shortest")
  fi
  utils/subset_data_dir.sh "${mono_opts[@]}" "$(least "$have" "$mono_utts")" "$data/train_short"
  if [ -n "$early_utts" ]; then
    have=$(awk 'END {print NR}' "$data/train_nodev/utt2spk")
    utils/subset_data_dir.sh --first "$data/train_nodev" "$(least "$have" "$early_utts")" "$data/train_early"
    utils/data/remove_dup_utts.sh "$early_repeats" "$data/train_early" "$data/train_early_nodup"
  fi
  [ -z "$max_repeats" ] || utils/data/remove_dup_utts.sh "$max_repeats" "$data/train_nodev" "$data/train_nodup"
  finish
fi

if stage 5 "monophone"; then
  need 4 "$data/train_short/cmvn.scp"
  need 2 "$lang/L.fst"
  steps/train_mono.sh --nj "$nj" --cmd "$train_cmd" --totgauss "$mono_gauss" "${gmm_opts[@]}" "$data/train_short" "$lang" "$exp/mono"
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$train_early" "$lang" "$exp/mono" "$exp/mono_ali"
  finish
fi

if stage 6 "tri1 (deltas)"; then
  need 5 "$exp/mono_ali/ali.1.gz"
  steps/train_deltas.sh --cmd "$train_cmd" "${gmm_opts[@]}" "$tri1_leaves" "$tri1_gauss" \
    "$data/$train_early" "$lang" "$exp/mono_ali" "$exp/tri1"
  finish
fi

# perturb_speed: make $dnn_train, with what its alignments need; $train has its features already.
perturb_speed() {
  [ "$speed_perturb" = true ] || return 0
  local speed parts=("$data/$train")
  for speed in 0.9 1.1; do
    utils/data/perturb_data_dir_speed.sh "$speed" "$data/$train" "$data/$dnn_train$speed"
    features "$dnn_train$speed"
    parts+=("$data/$dnn_train$speed")
  done
  utils/combine_data.sh "$data/$dnn_train" "${parts[@]}"
}

# unperturbed: the part of the DNN's training data that is $train itself; pretraining needs no more.
unperturbed() {
  [ "$speed_perturb" = false ] ||
    utils/subset_data_dir.sh --utt-list "$data/$train/utt2spk" "$nnet_data/$dnn_train" "$nnet_data/$train"
}

if [ "$full_gmm" = true ]; then
  . local/full_gmm.sh # stages 7 to 10
else
  skip 7 "tri2" "--full-gmm false"
  skip 8 "tri3 (LDA+MLLT)" "--full-gmm false"
  skip 9 "tri4 (SAT)" "--full-gmm false"
fi

if [ "$full_gmm" = false ] && stage 10 "features for the DNN, train/CV split"; then
  need 6 "$exp/tri1/final.mdl"
  perturb_speed
  for part in "$dnn_train" train_dev "${eval_sets[@]}"; do
    utils/copy_data_dir.sh "$data/$part" "$data/fbank/$part"
    steps/make_fbank.sh --nj "$nj" --cmd "$train_cmd" --fbank-config conf/fbank.conf \
      "$data/fbank/$part" "$exp/make_fbank/$part" "$dir/fbank"
    steps/compute_cmvn_stats.sh "$data/fbank/$part" "$exp/make_fbank/$part" "$dir/fbank"
  done
  for part in "$dnn_train" train_dev; do
    steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$part" "$lang" "$exp/tri1" "$exp/tri1_ali_$part"
  done
  unperturbed
  finish
fi

if stage 11 "RBM pretraining"; then
  need 10 "$nnet_data/$train/feats.scp"
  steps/nnet/pretrain_dbn.sh --cmd "$cuda_cmd" --num-workers "$num_workers" --use-gpu "$use_gpu" --seed "$seed" \
    --config "$dbn_conf" "${nnet_cmvn[@]}" --nn-depth "$dnn_depth" --hid-dim "$dnn_dim" \
    "$nnet_data/$train" "$exp/dnn_pretrain"
  finish
fi

# train_dnn ALI ALI-CV EXP: the network of stage 12.
train_dnn() {
  steps/nnet/train.sh --cmd "$cuda_cmd" --num-workers "$num_workers" --use-gpu "$use_gpu" --seed "$seed" \
    --config "$dnn_conf" --hid-layers 0 --dbn "$exp/dnn_pretrain/$dnn_depth.dbn" \
    --feature-transform "$exp/dnn_pretrain/final.feature_transform" \
    "$nnet_data/$dnn_train" "$nnet_data/train_dev" "$lang" "$1" "$2" "$3"
}

if stage 12 "DNN, NG-SGD with averaging over $num_workers workers"; then
  need 11 "$exp/dnn_pretrain/$dnn_depth.dbn"
  need 10 "$exp/${gmm}_ali_train_dev/ali.1.gz"
  train_dnn "$exp/${gmm}_ali_$dnn_train" "$exp/${gmm}_ali_train_dev" "$exp/dnn"
  finish
fi

. local/after_dnn.sh # stage 13

if stage 14 "decode"; then
  need 12 "$exp/dnn/final.nnet"
  for system in "${systems[@]}"; do # tri4 is decoded in stage 10, for the DNN's features
    utils/mkgraph.sh "$lang_test" "$exp/$system" "$exp/$system/graph_sw1_tg"
    for part in train_dev "${eval_sets[@]}"; do
      steps/decode.sh --nj "$nj" --cmd "$decode_cmd" "${decode_opts[@]}" --skip-scoring true \
        "$exp/$system/graph_sw1_tg" "$data/$part" "$exp/$system/decode_${part}_sw1_tg"
    done
  done
  for system in $(networks); do
    for part in train_dev "${eval_sets[@]}"; do
      steps/nnet/decode.sh --nj "$nj" --cmd "$decode_cmd" "${dnn_decode_opts[@]}" --skip-scoring true \
        "$exp/$gmm/graph_sw1_tg" "$nnet_data/$part" "$exp/$system/decode_${part}_sw1_tg"
      [ -z "$fisher" ] || steps/lmrescore.sh --cmd "$decode_cmd" --skip-scoring true "$lang_test" "$lang_fsh" \
        "$data/$part" "$exp/$system/decode_${part}_sw1_tg" "$exp/$system/decode_${part}_sw1_fsh_fg"
    done
  done
  finish
fi

# score SYSTEM LM: LM weight and penalty are chosen on the development set.
score() {
  local part
  need 14 "$exp/$1/decode_eval2000_$2/lat.1.gz"
  local/score.sh --cmd "$decode_cmd" "$data/train_dev" "$lang_test" "$exp/$1/decode_train_dev_$2"
  for part in "${eval_sets[@]}"; do
    local/score.sh --cmd "$decode_cmd" --lmwt-from "$exp/$1/decode_train_dev_$2" \
      "$data/$part" "$lang_test" "$exp/$1/decode_${part}_$2"
  done
}

if stage 15 "score, RESULTS.md, report"; then
  [ "$gmm" = tri1 ] || systems+=("$gmm")
  for system in "${systems[@]}" $(networks); do score "$system" sw1_tg; done
  [ -z "$fisher" ] || for system in $(networks); do score "$system" sw1_fsh_fg; done
  finish
fi
if [ "$stop_stage" -ge 15 ]; then
  [ "$corpus" = ldc ] && published=true || published=false
  for part in "${eval_sets[@]:1}"; do local/show_wer.sh --data "$part" "$exp"; done
  local/show_wer.sh --results "$dir/RESULTS.md" --command "$invocation" --published "$published" "$exp"
  pymavg report --output "$exp/report.html" --title "Corpus $corpus" --command "$invocation" "$exp" > /dev/null
  echo "report: $exp/report.html"
fi
