#!/usr/bin/env bash
# Isolated digits, from a folder of recordings to a word error rate: the pattern for your own data, in one page.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

dir=                # where data/ and exp/ go
test_speakers=      # hold these speakers out whole; default: the official test set, takes 0 to 4 of every speaker
num_workers=2       # workers whose parameters are averaged
use_gpu=auto
nj=2
seed=1
quick=false         # true: few passes over the data and a small network

help_message="usage: ./run.sh [options] <dir>
 e.g.: ./run.sh --test-speakers \"theo yweweler\" ~/free-spoken-digit-dataset
<dir> holds recordings/{digit}_{speaker}_{take}.wav at 8 kHz, as the Free Spoken Digit Dataset does.
  --test-speakers \"A B\"    hold these speakers out for the test (default: takes 0 to 4 of every speaker)
  --num-workers N          workers whose parameters are averaged (default $num_workers)
  --dir DIR                where data/ and exp/ go (default: this directory)
  --use-gpu auto|yes|no    --nj N    --seed S
  --quick true             few passes and a small network: in a minute one sees that all works
Started again with the same options, it goes on where it stopped; with others, give another --dir."

. ./path.sh
. ./cmd.sh
. utils/parse_options.sh
if [ $# -ne 1 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
recordings=$(cd "$here" && realpath -m -- "$1") # a path is meant from where the user is
dir=${dir:+$(cd "$here" && realpath -m -- "$dir")}
data=${dir:-.}/data exp=${dir:-.}/exp
gmm=(--cmd "$train_cmd") dbn=(--config conf/dbn.conf) dnn=(--config conf/dnn.conf)
if [ "$quick" = true ]; then
  gmm+=(--num-iters 6 --max-iter-inc 5) dbn+=(--hid-dim 64 --rbm-iter 1) dnn+=(--epochs 4)
fi

# 1. Data directories: wav.scp, text, utt2spk, spk2utt. CV data are to be to the training data what the test data are:
#    of other speakers where those of the test are others. (With few speakers left, it takes utterances, and says so.)
prepare_data() {
  local/prepare_data.sh --test-speakers "$test_speakers" "$recordings" "$data"
  utils/subset_data_dir_tr_cv.sh --by "$([ -n "$test_speakers" ] && echo speaker || echo utterance)" --cv-percent 10 \
    "$data/train" "$data/train_tr" "$data/train_cv"
}

# 2. Lexicon, phones, topology; a grammar of one word, every digit equally probable.
prepare_lang() {
  local/prepare_dict.sh "$data/local/dict"
  utils/prepare_lang.sh "$data/local/dict" "<unk>" "$data/local/lang" "$data/lang"
  grep -v '^<' conf/lexicon.txt | cut -d' ' -f1 >"$data/local/digits.txt"
  utils/format_grammar.sh --type single "$data/lang" "$data/local/digits.txt" "$data/lang_test"
}

# 3. Features: MFCC for the GMMs, log-mel energies for the network, which is trained on the data at three speeds.
make_features() {
  utils/data/perturb_data_dir_speed_3way.sh "$data/train_tr" "$data/train_sp"
  for part in train_tr train_sp train_cv test; do
    steps/make_mfcc.sh --nj "$nj" --cmd "$train_cmd" "$data/$part"
    steps/compute_cmvn_stats.sh "$data/$part"
  done
  for part in train_sp train_cv test; do
    utils/copy_data_dir.sh "$data/$part" "$data/fbank/$part"
    steps/make_fbank.sh --nj "$nj" --cmd "$train_cmd" "$data/fbank/$part"
    steps/compute_cmvn_stats.sh "$data/fbank/$part"
  done
}

# 4. Monophones, triphones, alignments.
train_gmms() {
  steps/train_mono.sh "${gmm[@]}" --nj "$nj" "$data/train_tr" "$data/lang" "$exp/mono"
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/train_tr" "$data/lang" "$exp/mono" "$exp/mono_ali"
  steps/train_deltas.sh "${gmm[@]}" 150 1000 "$data/train_tr" "$data/lang" "$exp/mono_ali" "$exp/tri1"
  for part in train_sp train_cv; do
    steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$part" "$data/lang" "$exp/tri1" "$exp/tri1_ali_$part"
  done
}

# 5. The network: RBM pretraining, then natural-gradient SGD with parameter averaging.
train_network() {
  steps/nnet/pretrain_dbn.sh --cmd "$cuda_cmd" "${dbn[@]}" --num-workers "$num_workers" --use-gpu "$use_gpu" \
    --seed "$seed" "$data/fbank/train_sp" "$exp/dnn_pretrain"
  steps/nnet/train.sh --cmd "$cuda_cmd" "${dnn[@]}" --num-workers "$num_workers" --use-gpu "$use_gpu" \
    --seed "$seed" --dbn "$exp/dnn_pretrain/3.dbn" --feature-transform "$exp/dnn_pretrain/final.feature_transform" \
    "$data/fbank/train_sp" "$data/fbank/train_cv" "$data/lang" "$exp/tri1_ali_train_sp" "$exp/tri1_ali_train_cv" \
    "$exp/dnn"
}

# 6. Decode, and score at LM weight 10 without a penalty: with this grammar there is nothing to choose.
decode() {
  local score="--min-lmwt 10 --max-lmwt 10 --word-ins-penalties 0.0"
  for system in mono tri1; do
    utils/mkgraph.sh "$data/lang_test" "$exp/$system" "$exp/$system/graph"
    steps/decode.sh --nj "$nj" --cmd "$decode_cmd" --scoring-opts "$score" \
      "$exp/$system/graph" "$data/test" "$exp/$system/decode_test"
  done
  steps/nnet/decode.sh --nj "$nj" --cmd "$decode_cmd" --scoring-opts "$score" \
    "$exp/tri1/graph" "$data/fbank/test" "$exp/dnn/decode_test"
}

# Each part runs once. What is whole was made with these settings, or the run is refused.
mkdir -p "$exp/.done"
settings="recordings=$recordings test_speakers=$test_speakers num_workers=$num_workers seed=$seed quick=$quick \
conf=$(cat conf/* | cksum)"
made=$(cat "$exp/.done/settings" 2>/dev/null || echo "$settings")
if [ "$made" != "$settings" ]; then
  echo "$0: $exp was made with other settings ($made; now $settings): give another --dir, or remove $data and $exp" >&2
  exit 1
fi
for work in prepare_data prepare_lang make_features train_gmms train_network decode; do
  if [ -f "$exp/.done/$work" ]; then
    echo "$work: done before"
  else
    $work
    echo "$settings" >"$exp/.done/settings"
    touch "$exp/.done/$work"
  fi
done
for system in mono tri1 dnn; do
  printf '%s\t%s\n' "$system" "$(head -n 1 "$exp/$system/decode_test/wer_10_0.0")"
done
