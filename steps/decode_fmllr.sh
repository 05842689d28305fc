#!/usr/bin/env bash
# Decodes a data directory with a GMM adapted to each speaker by fMLLR into lattices, then scores them.
set -euo pipefail

nj=4
cmd=run.pl
stage=0               # 0: first pass, 1: adapted pass, 2: score only
srcdir=               # model directory; default: the one that <decode-dir> lies in
si_dir=               # decode directory of a first pass; default: <decode-dir>.si, which is made
first_beam=10.0       # of the first pass
first_max_active=2000
acwt=0.083333         # acoustic scale
beam=13.0
lattice_beam=6.0
max_active=7000
min_active=200
silence_weight=0.01   # of frames of silence in fMLLR
fmllr_update_type=full
skip_scoring=false
scoring_opts=         # options for local/score.sh

help_message="usage: $0 [options] <graph-dir> <data> <decode-dir>
 e.g.: $0 --nj 8 exp/tri4/graph data/test exp/tri4/decode_test
The first pass uses final.alimdl where there is one; its lattices give each speaker a transform, the search with it and
final.mdl a better one, which the final lattices are scored with. Writes <decode-dir>/lat.JOB.gz and trans.JOB.
Options, with their defaults:
  --nj $nj   --cmd $cmd   --stage $stage (1: adapted pass, 2: score only)   --srcdir DIR   --si-dir DIR
  --first-beam $first_beam   --first-max-active $first_max_active   --acwt $acwt   --beam $beam   --lattice-beam $lattice_beam
  --max-active $max_active   --min-active $min_active   --silence-weight $silence_weight   --fmllr-update-type $fmllr_update_type
  --skip-scoring $skip_scoring   --scoring-opts \"OPTIONS\""

echo "$0 $*"
. "$(dirname "$0")/recipe.sh"
. utils/parse_options.sh
. steps/gmm/begin.sh
if [ $# -ne 3 ]; then
  printf '%s\n' "$help_message" >&2
  exit 1
fi
graph=$1 data=$2 dir=$3
srcdir=${srcdir:-$(dirname "$dir")}

need_files "$graph/HCLG.fst" "$graph/words.txt" "$graph/phones/silence.csl" "$data/feats.scp" "$srcdir/final.mdl"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
model=$srcdir/final.alimdl
[ -f "$model" ] || model=$srcdir/final.mdl

if [ -z "$si_dir" ]; then
  si_dir=$dir.si
  if [ "$stage" -le 0 ]; then
    steps/decode.sh --nj "$nj" --cmd "$cmd" --srcdir "$srcdir" --model "$model" --acwt "$acwt" --beam "$first_beam" \
      --lattice-beam "$lattice_beam" --max-active "$first_max_active" --min-active "$min_active" --skip-scoring true \
      "$graph" "$data" "$si_dir"
  fi
fi

if [ "$stage" -le 1 ]; then
  nj=$(utils/split_data.sh "$data" "$nj")
  mkdir -p "$dir/log"
  rm -f "$dir"/lat.*.gz "$dir"/trans.*
  echo "$nj" >"$dir/num_jobs"
  $cmd JOB=1:"$nj" "$dir/log/decode.JOB.log" \
    pymavg decode-gmm-fmllr --acwt "$acwt" --beam "$beam" --lattice-beam "$lattice_beam" --max-active "$max_active" \
    --min-active "$min_active" --fmllr-update-type "$fmllr_update_type" --silence-weight "$silence_weight" \
    --silence-phones "$(cat "$graph/phones/silence.csl")" \
    "$graph" "$data/split$nj/JOB" "$srcdir" "$si_dir" "$dir/lat.JOB.gz" "$dir/trans.JOB"
fi

[ "$skip_scoring" != false ] || score_lattices "$graph"
echo "$0: decoded $data into $dir"
