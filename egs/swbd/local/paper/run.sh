#!/usr/bin/env bash
# The paper's ablations in small: every row of its tables as one conf file, trained on virtual workers of one process.
#
#   local/paper/run.sh                  # from egs/swbd, after run.sh --stop-stage 10; or `make paper`
#   local/paper/run.sh --size full      # the paper's own sizes, on the real corpus
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

stage=0
stop_stage=5
size=mini          # mini | mini_deep | full: conf/paper/SIZE.size
paper=exp/paper    # where everything goes
gmm=exp/tri1       # alignments of the CV part in GMM_ali_train_dev; graph of GMM
ali=               # alignments of the training part; default: GMM_ali_train_nodev_sp, or GMM_ali_train_nodev
data=data/fbank
lang=data/lang
lang_test=data/lang_sw1_tg
confs=             # names of the rows; default: all of conf/paper
nj=                # rows at once, one thread each; default: one for each core
sweep=false        # true: try learning rates (stage 2)
results=RESULTS.md # its second part is written; an empty string writes none

help_message="usage: local/paper/run.sh [options]
The paper's ablations; rows that are whole are skipped, one that was stopped goes on.
Options, with their defaults:
  --stage $stage   --stop-stage $stop_stage   --size mini|mini_deep|full   --paper $paper   --gmm $gmm   --ali DIR
  --data $data   --lang $lang   --lang-test $lang_test   --confs \"NAME NAME\"   --nj N   --sweep true|false   --results $results
stages: 0 frames; 1 RBM pretraining; 2 learning rates, one worker, seed 0 (with --sweep true); 3 rows; 4 decode;
  5 results.tsv and the second part of RESULTS.md"

invocation="local/paper/run.sh $*"
. ./path.sh
. ./cmd.sh
. utils/parse_options.sh
refuse() {
  echo "$0: $1 (--help explains)" >&2
  exit 1
}
[ $# -eq 0 ] || refuse "unexpected argument '$1'"
conf=conf/paper/$size.size
[ -f "$conf" ] || refuse "--size $size: expected mini, mini_deep or full"
nj=${nj:-$(nproc)}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each row
value() { sed -n "s/^$1=\([^ #]*\).*/\1/p" "$2" | tail -n 1; } # NAME, conf file
read -r -a names <<<"$confs"
if [ ${#names[@]} -eq 0 ]; then
  for f in conf/paper/*.conf; do names+=("$(basename "$f" .conf)"); done
fi
for name in "${names[@]}"; do
  [ -f "conf/paper/$name.conf" ] || refuse "--confs: conf/paper/$name.conf: no such file"
done
if [ -z "$ali" ]; then # where the DNN is trained at three speeds, its alignments hold the unperturbed utterances, too
  ali=${gmm}_ali_train_nodev_sp
  [ -d "$ali" ] || ali=${gmm}_ali_train_nodev
fi
for f in "$data"/{train_nodev,train_dev,eval2000}/feats.scp {"$ali","${gmm}_ali_train_dev"}/ali.1.gz; do
  [ -f "$f" ] || { echo "$0: $f: no such file; first ./run.sh --stop-stage 10" >&2; exit 1; }
done
mkdir -p "$paper"
stage() { [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ] && echo "$0: stage $1 ($2) starts $(date +%H:%M:%S)"; }
# all_at_once FUNCTION: run it for each line of words on standard input, one after a failure, too; fail in the end
all_at_once() {
  export paper gmm ali data lang lang_test conf decode_cmd
  export -f row decode
  xargs -r -P "$nj" -L 1 bash -c 'set -euo pipefail; "$@" || { echo "failed: $*" >&2; exit 1; }' bash "$1"
}
row() { # NAME SEED DIR [OPTIONS]
  local name=$1 seed=$2 dir=$3
  shift 3
  local/paper/row.sh --config "$conf" --config "conf/paper/$name.conf" --seed "$seed" "$@" \
    --paper "$paper" --gmm "$gmm" --ali "$ali" --data "$data" --lang "$lang" "$dir"
}
decode() { # DIR PART [OPTIONS for scoring]
  local dir=$1 part=$2
  shift 2
  [ ! -f "$dir/decode_$part/scoring/wer.txt" ] || return 0
  steps/nnet/decode.sh --nj 1 --beam "$beam" --lattice-beam 2.0 --max-active "$max_active" \
    --prior-floor "$prior_floor" --skip-scoring true \
    "$gmm/graph_sw1_tg" "$data/$part" "$dir/decode_$part" > /dev/null
  local/score.sh "$@" "$data/$part" "$lang_test" "$dir/decode_$part" > "$dir/decode_$part/score.log"
  rm -f "$dir/decode_$part"/lat.*.gz
}
part() { # NAME, name of the part, utterances
  local have
  have=$(awk 'END {print NR}' "$data/$1/utt2spk")
  utils/subset_data_dir.sh "$data/$1" $((have < $3 ? have : $3)) "$paper/$2"
}
seeds_of() { # NAME: how many seeds it is trained with
  if [ "$(value claims "conf/paper/$1.conf")" = true ]; then value seeds "$conf"; else echo 1; fi
}
each_row() { # lines NAME SEED, the first seed of all rows first, the claims' rows before the others
  local seed name claims
  for ((seed = 0; seed < $(value seeds "$conf"); seed++)); do
    for claims in true ''; do
      for name in "${names[@]}"; do
        [ "$seed" -lt "$(seeds_of "$name")" ] && [ "$(value claims "conf/paper/$name.conf")" = "$claims" ] || continue
        echo "$name $seed"
      done
    done
  done
}

if stage 0 "frames"; then
  part train_nodev train "$(value train_utts "$conf")"
  part train_dev cv "$(value cv_utts "$conf")"
  awk '{n += $2} END {print n}' "$paper/train/utt2num_frames" > "$paper/num_frames"
fi

if stage 1 "RBM pretraining"; then
  steps/nnet/pretrain_dbn.sh --seed 0 --use-gpu "$(value use_gpu "$conf")" --nn-depth "$(value depth "$conf")" \
    --hid-dim "$(value dim "$conf")" --rbm-iter "$(value rbm_iter "$conf")" \
    --cmvn-opts "--norm-means=true --norm-vars=true" "$paper/train" "$paper/dbn"
fi

if [ "$sweep" = true ] && stage 2 "learning rates"; then
  for optimizer in ngsgd sgd; do
    for rate in $(value "try_$optimizer" "$conf" | tr , ' '); do
      echo "${optimizer}_1 0 $paper/sweep/${optimizer}_$rate --rate-$optimizer $rate"
    done
  done | all_at_once row
fi

if stage 3 "rows"; then
  each_row | awk -v d="$paper" '{print $1, $2, d "/" $1 "/" $2}' | all_at_once row
fi

if [ "$(value decode_seeds "$conf")" -gt 0 ] && stage 4 "decode"; then
  beam=$(value beam "$conf") max_active=$(value max_active "$conf") prior_floor=$(value prior_floor "$conf")
  export beam max_active prior_floor
  [ -f "$gmm/graph_sw1_tg/HCLG.fst" ] || utils/mkgraph.sh "$lang_test" "$gmm" "$gmm/graph_sw1_tg"
  # LM weight and penalty are chosen once, for the plain system, on the development set.
  decode "$paper/ngsgd_1/0" train_dev
  each_row | while read -r name seed; do
    [ "$(value claims "conf/paper/$name.conf")" != true ] || [ "$seed" -ge "$(value decode_seeds "$conf")" ] ||
      echo "$paper/$name/$seed eval2000 --lmwt-from $paper/ngsgd_1/0/decode_train_dev --min-lmwt 10 --max-lmwt 10" \
        "--word-ins-penalties 0.0"
  done | all_at_once decode
fi

if stage 5 "results"; then
  notes=conf/paper/notes_$size.md
  [ -f "$notes" ] || notes=
  pymavg paper-results ${notes:+--notes "$notes"} ${results:+--markdown "$results"} --command "$invocation" "$paper"
fi
