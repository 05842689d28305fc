# shellcheck shell=bash disable=SC2154
# Source it for what alignment with and without fMLLR have in common; it uses the variables of the step that sources it.

. steps/gmm/begin.sh

begin_alignment() { # <settings> <data> <lang> <src> <ali-dir>
  local files settings=$1
  data=$2 lang=$3 srcdir=$4 dir=$5
  files=("$data/feats.scp" "$data/text" "$lang/L.fst" "$srcdir/final.mdl")
  need_files "${files[@]}" "$srcdir/tree"
  same_phones "$lang" "$srcdir"
  different_dirs "<ali-dir>" "$dir" "<src>" "$srcdir"
  export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 # one core for each job
  nj=$(utils/split_data.sh "$data" "$nj")
  for f in final.mat final.alimdl; do
    [ ! -f "$srcdir/$f" ] || files+=("$srcdir/$f")
  done
  begin_run "$dir" .aligned "$nj $beam $retry_beam $boost_silence $max_failed${settings:+ $settings}" "${files[@]}"
  copy_model "$srcdir" "$dir"
  echo "$nj" >"$dir/num_jobs"
}

align_jobs() { # <tool> [<option>...]
  local tool=$1 transforms=()
  shift
  [ "$tool" = gmm-align ] || transforms=("$dir/trans.JOB")
  $cmd JOB=1:"$nj" "$dir/log/align.JOB.log" \
    pymavg "$tool" --beam "$beam" --retry-beam "$retry_beam" --boost-silence "$boost_silence" \
    --silence-phones "$(cat "$lang/phones/silence.csl")" --max-failed "$max_failed" "$@" \
    "$lang" "$data/split$nj/JOB" "$dir" "$dir/ali.JOB.gz" ${transforms[@]+"${transforms[@]}"}
  touch "$dir/.aligned"
  grep -ah "^$tool" "$dir"/log/align.*.log
}
