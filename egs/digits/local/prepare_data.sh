#!/usr/bin/env bash
# Make data/train and data/test from recordings/{digit}_{speaker}_{take}.wav.
set -euo pipefail
test_speakers=
help_message="usage: local/prepare_data.sh [options] <dir> <data-dir>
e.g.: local/prepare_data.sh --test-speakers \"theo yweweler\" free-spoken-digit-dataset data
  --test-speakers \"A B\"    hold these speakers out (default: takes 0 to 4 of every speaker are the test set)"
. ./path.sh
. utils/parse_options.sh
[ $# -eq 2 ] || { echo "$help_message" >&2; exit 1; }
names=(zero one two three four five six seven eight nine)
recordings=$(cd "$1" && pwd)/recordings
data=$2

for part in train test; do
  mkdir -p "$data/$part"
  : > "$data/$part/wav.scp"
  : > "$data/$part/text"
  : > "$data/$part/utt2spk"
done
for wav in "$recordings"/*.wav; do
  [ -e "$wav" ] || { echo "$0: no .wav in $recordings: give the folder that holds recordings/" >&2; exit 1; }
  IFS=_ read -r digit speaker take <<< "$(basename "$wav" .wav)"
  if ! [[ $digit =~ ^[0-9]$ && -n $speaker && $take =~ ^[0-9]+$ ]]; then
    echo "$0: $wav: expected {digit}_{speaker}_{take}.wav" >&2
    exit 1
  fi
  part="train"
  if [ -n "$test_speakers" ]; then
    [[ " $test_speakers " = *" $speaker "* ]] && part="test"
  elif [ "$take" -lt 5 ]; then
    part="test"
  fi
  utt=$(printf '%s-%s-%02d' "$speaker" "$digit" "$((10#$take))")
  echo "$utt $wav" >> "$data/$part/wav.scp"
  echo "$utt ${names[$digit]}" >> "$data/$part/text"
  echo "$utt $speaker" >> "$data/$part/utt2spk"
done
for part in train test; do
  utils/fix_data_dir.sh "$data/$part"
  utils/validate_data_dir.sh --no-feats "$data/$part"
done
