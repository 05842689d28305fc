#!/usr/bin/env bash
# Isolated digits, from a folder of recordings to a word error rate: the pattern for your own data, in one page.
# usage: ./run.sh [options] <dir>          <dir> holds recordings/{digit}_{speaker}_{take}.wav
#                                          (a copy of the Free Spoken Digit Dataset, 8 kHz)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

dir=.               # where data/ and exp/ go
test_speakers=      # hold these speakers out whole; default: the official test set, takes 0 to 4 of every speaker
num_workers=2       # workers whose parameters are averaged
use_gpu=auto        # auto | yes | no
nj=2
seed=1
help_message="usage: ./run.sh [options] <dir>
<dir> holds recordings/{digit}_{speaker}_{take}.wav, as the Free Spoken Digit Dataset does.
  --test-speakers \"A B\"    hold these speakers out for the test (default: takes 0 to 4 of every speaker)
  --num-workers N          workers whose parameters are averaged (default $num_workers)
  --dir DIR                where data/ and exp/ go (default: this directory)
  --use-gpu auto|yes|no    --nj N    --seed S"
. ./path.sh
. ./cmd.sh
. utils/parse_options.sh
[ $# -eq 1 ] || { echo "$help_message" >&2; exit 1; }

data=$dir/data exp=$dir/exp

# 1. Data directories: wav.scp, text, utt2spk, spk2utt.
local/prepare_data.sh --test-speakers "$test_speakers" "$1" "$data"

# 2. Lexicon, phones, topology; a grammar in which every digit is equally probable.
local/prepare_dict.sh "$data/local/dict"
utils/prepare_lang.sh "$data/local/dict" "<unk>" "$data/local/lang" "$data/lang"
utils/format_grammar.sh --type single --words "$(tail -n +2 conf/lexicon.txt | cut -d' ' -f1 | xargs)" "$data/lang" "$data/lang_test"

# 3. Features: MFCC for the GMMs, log-mel energies for the network. CV data by speaker where there are enough of them.
utils/subset_data_dir_tr_cv.sh --by speaker --cv-percent 10 "$data/train" "$data/train_tr" "$data/train_cv"
for part in train_tr train_cv test; do
  utils/copy_data_dir.sh "$data/$part" "$data/fbank/$part"
  steps/make_mfcc.sh --nj "$nj" --cmd "$train_cmd" "$data/$part"
  steps/compute_cmvn_stats.sh "$data/$part"
  steps/make_fbank.sh --nj "$nj" --cmd "$train_cmd" "$data/fbank/$part"
  steps/compute_cmvn_stats.sh "$data/fbank/$part"
done

# 4. Monophones, triphones, alignments.
steps/train_mono.sh --nj "$nj" --cmd "$train_cmd" --totgauss 400 "$data/train_tr" "$data/lang" "$exp/mono"
steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/train_tr" "$data/lang" "$exp/mono" "$exp/mono_ali"
steps/train_deltas.sh --cmd "$train_cmd" 150 1000 "$data/train_tr" "$data/lang" "$exp/mono_ali" "$exp/tri1"
for part in train_tr train_cv; do
  steps/align_si.sh --nj "$nj" --cmd "$train_cmd" "$data/$part" "$data/lang" "$exp/tri1" "$exp/tri1_ali_$part"
done

# 5. The network: RBM pretraining, then natural-gradient SGD with parameter averaging.
steps/nnet/pretrain_dbn.sh --cmd "$cuda_cmd" --config conf/dbn.conf --num-workers "$num_workers" --use-gpu "$use_gpu" \
  --seed "$seed" "$data/fbank/train_tr" "$exp/dnn_pretrain"
steps/nnet/train.sh --cmd "$cuda_cmd" --config conf/dnn.conf --num-workers "$num_workers" --use-gpu "$use_gpu" \
  --seed "$seed" --dbn "$exp/dnn_pretrain/final.dbn" --feature-transform "$exp/dnn_pretrain/final.feature_transform" \
  "$data/fbank/train_tr" "$data/fbank/train_cv" "$data/lang" "$exp/tri1_ali_train_tr" "$exp/tri1_ali_train_cv" "$exp/dnn"

# 6. Decode and score at LM weight 10, no penalty.
for system in mono tri1; do
  utils/mkgraph.sh "$data/lang_test" "$exp/$system" "$exp/$system/graph"
  steps/decode.sh --nj "$nj" --cmd "$decode_cmd" "$exp/$system/graph" "$data/test" "$exp/$system/decode_test"
done
steps/nnet/decode.sh --nj "$nj" --cmd "$decode_cmd" "$exp/tri1/graph" "$data/fbank/test" "$exp/dnn/decode_test"
for system in mono tri1 dnn; do
  printf '%s\t%s\n' "$system" "$(cat "$exp/$system/decode_test/wer_10_0.0")"
done
