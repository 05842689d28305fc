#!/usr/bin/env bash
# Makes data/train and data/test from recordings/{digit}_{speaker}_{take}.wav.
set -euo pipefail

test_speakers=
help_message="usage: $0 [options] <dir> <data>
 e.g.: $0 --test-speakers \"theo yweweler\" free-spoken-digit-dataset data
  --test-speakers \"A B\"    hold these speakers out (default: takes 0 to 4 of every speaker are the test set)"

. ./path.sh
. utils/parse_options.sh
if [ $# -ne 2 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
recordings=$1/recordings
data=$2

fail() {
  echo "$0: $*" >&2
  exit 1
}
compgen -G "$recordings/*.wav" >/dev/null || fail "no .wav in $recordings: <dir> is the folder that holds recordings/"
recordings=$(cd "$recordings" && pwd)

names=(zero one two three four five six seven eight nine)
for part in train test; do
  mkdir -p "$data/$part"
  for table in wav.scp text utt2spk; do : >"$data/$part/$table"; done
done
declare -A speakers=()
for wav in "$recordings"/*.wav; do
  [[ ${wav##*/} =~ ^([0-9])_([^_]+)_([0-9]+)\.wav$ ]] || fail "$wav: expected {digit}_{speaker}_{take}.wav"
  digit=${BASH_REMATCH[1]} speaker=${BASH_REMATCH[2]} take=$((10#${BASH_REMATCH[3]}))
  speakers[$speaker]=yes
  part="train"
  if [ -n "$test_speakers" ]; then
    [[ " $test_speakers " != *" $speaker "* ]] || part="test"
  elif [ "$take" -lt 5 ]; then
    part="test"
  fi
  printf -v utt '%s-%s-%02d' "$speaker" "$digit" "$take" # the speaker first, so that both sort alike
  echo "$utt $wav" >>"$data/$part/wav.scp"
  echo "$utt ${names[$digit]}" >>"$data/$part/text"
  echo "$utt $speaker" >>"$data/$part/utt2spk"
done
for speaker in $test_speakers; do
  [ -n "${speakers[$speaker]:-}" ] || fail "--test-speakers: no recording of '$speaker'; there are: ${!speakers[*]}"
done
for part in train test; do
  [ -s "$data/$part/utt2spk" ] || fail "no recording is left for data/$part; see --test-speakers in $0 --help"
  utils/fix_data_dir.sh "$data/$part" # sorts, and makes spk2utt
  utils/validate_data_dir.sh --no-feats "$data/$part"
done
