#!/usr/bin/env bash
# The dictionary of Switchboard-1 in Kaldi's form, from the MS98 dictionary.
set -euo pipefail

transcripts=

help_message="usage: local/swbd1_prepare_dict.sh [options] <swbd-dir> <dict-dir>
e.g.:  local/swbd1_prepare_dict.sh /corpora/LDC97S62 data/local/dict
  --transcripts DIR            swb_ms98_transcriptions, when it is not in <swbd-dir>
Makes lexicon.txt, silence_phones.txt (sil spn nsn lau), nonsilence_phones.txt, optional_silence.txt,
extra_questions.txt and acronyms.map."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg swbd-dict ${transcripts:+--transcripts "$transcripts"} "$1" "$2"
