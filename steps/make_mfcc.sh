#!/usr/bin/env bash
# Computes features of a data directory: what, is in the name that it is called by (make_mfcc.sh, make_fbank.sh,
# make_plp.sh; make_plp_pitch.sh and its like append pitch).
set -euo pipefail

type=${0##*/make_}
type=${type%.sh}
base=${type%_pitch}
nj=4
cmd=run.pl
declare "${base}_config=conf/$base.conf"
compress=true         # 8 bits per number
allow_downsample=false # of recordings at a higher rate than the conf's
allow_upsample=false   # of those at a lower rate
max_loss=0.05         # part of the utterances that may be too short for features
pitch_help=
if [ "$type" != "$base" ]; then
  pitch_config=conf/pitch.conf
  pitch_postprocess_config=
  paste_length_tolerance=2 # frames that pitch may be longer or shorter
  pitch_help="
  --pitch-config $pitch_config   --pitch-postprocess-config FILE   --paste-length-tolerance $paste_length_tolerance"
fi

help_message="usage: $0 [options] <data> [<log-dir> [<$type-dir>]]
 e.g.: $0 --nj 8 data/train exp/make_$type/train $type
Writes feats.scp, utt2num_frames and utt2dur into <data>, and the archives into <$type-dir> (default <data>/data).
Options, with their defaults:
  --nj $nj   --cmd $cmd   --$base-config conf/$base.conf$pitch_help
  --compress true   --allow-downsample false   --allow-upsample false   --max-loss $max_loss"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -lt 1 ] || [ $# -gt 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1
logdir=${2:-$data/log}
featdir=${3:-$data/data}
name=$(basename "$data")
config=${base}_config
config=${!config}
pitch_opts=()
if [ "$type" != "$base" ]; then
  pitch_opts=(--pitch-config "$pitch_config" --paste-length-tolerance "$paste_length_tolerance"
    ${pitch_postprocess_config:+--pitch-postprocess-config "$pitch_postprocess_config"})
fi

for f in "$data/wav.scp" "$data/utt2spk" "$config" ${pitch_config:+"$pitch_config"}; do
  [ -f "$f" ] || { echo "$0: $f: no such file" >&2; exit 1; }
done
mkdir -p "$logdir" "$featdir" "$data/conf"
prefix=$(cd "$featdir" && pwd)/raw_${type}_$name

num_utts=$(awk 'END {print NR}' "$data/utt2spk")
if [ "$num_utts" -eq 0 ]; then
  echo "$0: $data/utt2spk: is empty; lines '<utterance> <speaker>' expected" >&2
  exit 1
elif [ "$nj" -gt "$num_utts" ]; then
  echo "$0: $num_utts utterances, so $num_utts jobs instead of $nj"
  nj=$num_utts
fi
for f in feats.scp cmvn.scp; do # no table of before may point into archives that are written anew
  if [ -f "$data/$f" ]; then
    mkdir -p "$data/.backup"
    mv "$data/$f" "$data/.backup/$f"
  fi
done

$cmd JOB=1:"$nj" "$logdir/make_${type}_$name.JOB.log" \
  pymavg make-feats --type "$base" --config "$config" "${pitch_opts[@]}" --job JOB --num-jobs "$nj" \
  --compress "$compress" --allow-downsample "$allow_downsample" --allow-upsample "$allow_upsample" "$data" "$prefix.JOB"
pymavg collect-feats --max-loss "$max_loss" "$data" "$prefix" "$nj"
for conf in mfcc fbank plp pitch pitch_process fmllr; do # of the features of before; pymavg transcribe reads these
  [ "$data/conf/$conf.conf" -ef "$config" ] || rm -f "$data/conf/$conf.conf"
done
cp "$config" "$data/conf/$base.conf"
if [ "$type" != "$base" ]; then
  cp "$pitch_config" "$data/conf/pitch.conf"
  [ -z "$pitch_postprocess_config" ] || cp "$pitch_postprocess_config" "$data/conf/pitch_process.conf"
fi

echo "$0: made features of $data, $(wc -l <"$data/feats.scp") utterances"
