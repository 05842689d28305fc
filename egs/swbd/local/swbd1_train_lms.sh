#!/usr/bin/env bash
# The language model of Switchboard-1: n-grams with modified Kneser-Ney smoothing, from the training transcripts alone, and
# with --fisher-text another one, mixed with that of Fisher's transcripts.
set -euo pipefail

order=3
dev_text=
fisher_text=
prune=1e-8

help_message="usage: local/swbd1_train_lms.sh [options] <text> <lexicon> <dir>
e.g.:  local/swbd1_train_lms.sh --dev-text data/train_dev/text data/train_nodev/text data/local/dict/lexicon.txt data/local/lm
  --order N                    greatest length of an n-gram (default $order)
  --dev-text FILE              a held-out data/*/text, whose perplexity is printed and kept in <dir>/perplexity
  --fisher-text FILE           sentences, one a line; the mixture's weights are the best ones on --dev-text
  --prune P                    the mixture loses n-grams that matter less than P (default $prune; 0: none)
<text> is a data/*/text; the vocabulary is the lexicon's. Makes <dir>/sw1.o${order}g.kn.gz in ARPA format, with Fisher
<dir>/sw1_fsh.o${order}g.kn.gz, too."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 3 ]; then
  echo "$help_message" >&2
  exit 1
fi
text=$1 lexicon=$2 dir=$3
for file in "$text" "$lexicon" ${dev_text:+"$dev_text"} ${fisher_text:+"$fisher_text"}; do
  if [ ! -f "$file" ]; then
    echo "$0: no such file $file" >&2
    exit 1
  fi
done

if [ -n "$fisher_text" ] && [ -z "$dev_text" ]; then
  echo "$0: --fisher-text needs --dev-text, which decides the weights of the mixture" >&2
  exit 1
fi

lm=$dir/sw1.o${order}g.kn.gz
mkdir -p "$dir"
awk '$1 != "!sil" && $1 != "<unk>" { print $1 }' "$lexicon" | LC_ALL=C sort -u >"$dir/wordlist"
pymavg make-lm --order "$order" --vocabulary "$dir/wordlist" --skip-key true "$text" "$lm"
if [ -n "$dev_text" ]; then
  pymavg perplexity --skip-key true "$lm" "$dev_text" | tee "$dir/perplexity"
fi
echo "$0: made $lm"

if [ -n "$fisher_text" ]; then
  mixed=$dir/sw1_fsh.o${order}g.kn.gz
  pymavg make-lm --order "$order" --vocabulary "$dir/wordlist" "$fisher_text" "$dir/fsh.o${order}g.kn.gz"
  pymavg interpolate-lm --held-out "$dev_text" --skip-key true "$lm" "$dir/fsh.o${order}g.kn.gz" "$dir/.mixed.gz" |
    sed "s:$dir/.mixed.gz:the mixture:" | tee -a "$dir/perplexity"
  pymavg prune-lm --threshold "$prune" "$dir/.mixed.gz" "$mixed"
  rm "$dir/.mixed.gz"
  pymavg perplexity --skip-key true "$mixed" "$dev_text" | tee -a "$dir/perplexity"
  echo "$0: made $mixed"
fi
