#!/usr/bin/env bash
# Makes Kaldi's dictionary directory from conf/lexicon.txt.
set -euo pipefail

help_message="usage: $0 <dict-dir>
 e.g.: $0 data/local/dict"

. ./path.sh
. utils/parse_options.sh
if [ $# -ne 1 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
dict=$1

mkdir -p "$dict"
{ echo "!SIL sil"; cat conf/lexicon.txt; } >"$dict/lexicon.txt"
printf '%s\n' sil spn >"$dict/silence_phones.txt" # silence, and sounds that are no word
echo sil >"$dict/optional_silence.txt"
grep -v '^<' conf/lexicon.txt | cut -d' ' -f2- | tr ' ' '\n' | sort -u >"$dict/nonsilence_phones.txt"
: >"$dict/extra_questions.txt"
utils/validate_dict_dir.sh "$dict"
