#!/usr/bin/env bash
# Aligns a data directory with a GMM adapted to each speaker by fMLLR.
set -euo pipefail

nj=4
cmd=run.pl
beam=10
retry_beam=40
boost_silence=1.0
fmllr_update_type=full # full, diag, offset, none
silence_weight=0.0     # of frames of silence in fMLLR
max_failed=0.2         # share of a job's utterances that may fail

help_message="usage: $0 [options] <data> <lang> <src> <ali-dir>
 e.g.: $0 --nj 8 data/train data/lang exp/tri4 exp/tri4_ali
Makes <ali-dir>/ali.JOB.gz and trans.JOB. Started again with the same settings and inputs, it finds the work done.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --beam $beam   --retry-beam $retry_beam   --boost-silence $boost_silence
  --fmllr-update-type $fmllr_update_type   --silence-weight $silence_weight   --max-failed $max_failed"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
. steps/gmm/align.sh
if [ $# -ne 4 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
begin_alignment "$fmllr_update_type $silence_weight" "$@"

align_jobs gmm-align-fmllr --fmllr-update-type "$fmllr_update_type" --silence-weight "$silence_weight"
echo "$0: aligned $data with $srcdir into $dir"
