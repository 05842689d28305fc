#!/usr/bin/env bash
# The language model of Switchboard-1: n-grams with modified Kneser-Ney smoothing, from the training transcripts alone.
set -euo pipefail

order=3
dev_text=

help_message="usage: local/swbd1_train_lms.sh [options] <text> <lexicon> <dir>
e.g.:  local/swbd1_train_lms.sh --dev-text data/train_dev/text data/train_nodev/text data/local/dict/lexicon.txt data/local/lm
  --order N                    greatest length of an n-gram (default $order)
  --dev-text FILE              a held-out data/*/text, whose perplexity is printed and kept in <dir>/perplexity
<text> is a data/*/text; the vocabulary is the lexicon's. Makes <dir>/sw1.o${order}g.kn.gz in ARPA format."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 3 ]; then
  echo "$help_message" >&2
  exit 1
fi
text=$1 lexicon=$2 dir=$3
for file in "$text" "$lexicon" ${dev_text:+"$dev_text"}; do
  if [ ! -f "$file" ]; then
    echo "$0: no such file $file" >&2
    exit 1
  fi
done

lm=$dir/sw1.o${order}g.kn.gz
mkdir -p "$dir"
awk '$1 != "!sil" && $1 != "<unk>" { print $1 }' "$lexicon" | LC_ALL=C sort -u >"$dir/wordlist"
pymavg make-lm --order "$order" --vocabulary "$dir/wordlist" --skip-key true "$text" "$lm"
if [ -n "$dev_text" ]; then
  pymavg perplexity --skip-key true "$lm" "$dev_text" | tee "$dir/perplexity"
fi
echo "$0: made $lm"
