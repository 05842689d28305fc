#!/usr/bin/env bash
# The dictionary of Switchboard-1 in Kaldi's form, from the MS98 dictionary.
set -euo pipefail

transcripts=
extra_lexicon=
g2p=false

help_message="usage: local/swbd1_prepare_dict.sh [options] <swbd-dir> <dict-dir>
e.g.:  local/swbd1_prepare_dict.sh /corpora/LDC97S62 data/local/dict
  --transcripts DIR            swb_ms98_transcriptions, when it is not in <swbd-dir>
  --extra-lexicon FILE         more lines \`word phone phone\`
  --g2p true|false             words that the dictionary lacks are pronounced by their spelling; needs phonetisaurus,
                               a model of the dictionary is trained (default $g2p: they become <unk>)
Makes lexicon.txt, silence_phones.txt (sil spn nsn lau), nonsilence_phones.txt, optional_silence.txt,
extra_questions.txt and acronyms.map."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -ne 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg swbd-dict ${transcripts:+--transcripts "$transcripts"} ${extra_lexicon:+--extra-lexicon "$extra_lexicon"} \
  --g2p "$g2p" "$1" "$2"
