#!/usr/bin/env bash
# Computes the statistics for mean and variance normalisation of each speaker of a data directory.
set -euo pipefail

cmd=run.pl
fake=false # write statistics that change nothing

help_message="usage: $0 [options] <data> [<log-dir> [<cmvn-dir>]]
 e.g.: $0 data/train exp/make_mfcc/train mfcc
Writes cmvn.scp into <data>, and the archive into <cmvn-dir> (default <data>/data).
Options, with their defaults:
  --cmd $cmd   --fake $fake"

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
if [ $# -lt 1 ] || [ $# -gt 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
data=$1
logdir=${2:-$data/log}
cmvndir=${3:-$data/data}
name=$(basename "$data")

for f in "$data/feats.scp" "$data/utt2spk"; do
  [ -f "$f" ] || { echo "$0: $f: no such file; run steps/make_mfcc.sh or make_fbank.sh first" >&2; exit 1; }
done
mkdir -p "$logdir" "$cmvndir"
prefix=$(cd "$cmvndir" && pwd)/cmvn_$name

$cmd "$logdir/cmvn_$name.log" pymavg compute-cmvn-stats --fake "$fake" "$data" "$prefix.ark" "$prefix.scp"
cp "$prefix.scp" "$data/.cmvn.scp.$$"
mv "$data/.cmvn.scp.$$" "$data/cmvn.scp"

echo "$0: made $data/cmvn.scp, $(wc -l <"$data/cmvn.scp") speakers"
