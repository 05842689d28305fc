#!/usr/bin/env bash
# Counts pronunciations, and silence around words, in alignments.
set -euo pipefail

cmd=run.pl

help_message="usage: $0 [options] <data> <lang> <ali-dir>
 e.g.: $0 data/train data/lang exp/tri3_ali
Writes pron_counts_nowb.txt, sil_counts_nowb.txt and pron_bigram_counts_nowb.txt into <ali-dir>.
Options, with their defaults:
  --cmd $cmd"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
. steps/gmm/begin.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1 lang=$2 dir=$3

need_files "$data/text" "$lang/words.txt" "$dir/final.mdl" "$dir/ali.1.gz"
same_phones "$lang" "$dir"
$cmd "$dir/log/get_prons.log" pymavg get-prons "$data" "$lang" "$dir"
grep -ah '^get-prons' "$dir/log/get_prons.log"
