#!/usr/bin/env bash
# Make Kaldi's dictionary directory for the ten digits.
set -euo pipefail
help_message="usage: local/prepare_dict.sh <dict-dir>
e.g.: local/prepare_dict.sh data/local/dict"
. ./path.sh
. utils/parse_options.sh
[ $# -eq 1 ] || { echo "$help_message" >&2; exit 1; }
dict=$1

mkdir -p "$dict"
{ echo "!SIL sil"; cat conf/lexicon.txt; } > "$dict/lexicon.txt"
printf '%s\n' sil spn > "$dict/silence_phones.txt"
echo sil > "$dict/optional_silence.txt"
cut -d' ' -f2- conf/lexicon.txt | tail -n +2 | tr ' ' '\n' | sort -u > "$dict/nonsilence_phones.txt"
: > "$dict/extra_questions.txt"
