#!/usr/bin/env bash
# The transcripts of Fisher English (LDC2004T19, LDC2005T19) as text for the language model, in Switchboard's spelling.
set -euo pipefail

help_message="usage: local/fisher_data_prep.sh <fisher-dir>... <dir>
e.g.:  local/fisher_data_prep.sh /corpora/LDC2004T19 /corpora/LDC2005T19 data/local/fisher
Makes <dir>/text, one sentence a line, without names of utterances. One part of the corpus alone will do."

. ./path.sh
. utils/parse_options.sh
echo "$0 $*"
if [ $# -lt 2 ]; then
  echo "$help_message" >&2
  exit 1
fi

pymavg fisher-text "$@"
