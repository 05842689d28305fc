# Sourced by run.sh: which stages run, which are whole, and what each needs.
# A finished stage leaves $dir/exp/.done/N with the options it ran under; running one again makes all later ones stale.
# shellcheck shell=bash disable=SC2154

stage_options="corpus=$corpus swbd=$swbd eval2000=$eval2000 mini_hours=$mini_hours full_gmm=$full_gmm conf=$conf seed=$seed"
stage_now=

# stage N TITLE: true if stage N is asked for and not whole yet.
stage() {
  stage_now=$1
  [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ] || return 1
  local mark=$dir/exp/.done/$1
  if [ -f "$mark" ] && [ "$(cat "$mark")" = "$stage_options" ]; then
    echo "stage $1 ($2): whole; to run it again: rm $mark"
    return 1
  fi
  local n
  for n in $(seq "$1" 15); do rm -f "$dir/exp/.done/$n"; done
  echo "stage $1 ($2) starts $(date +%H:%M:%S)"
  stage_start=$SECONDS
}

# finish: the stage that runs is whole.
finish() {
  mkdir -p "$dir/exp/.done"
  printf '%s\n' "$stage_options" > "$dir/exp/.done/.$stage_now" && mv "$dir/exp/.done/.$stage_now" "$dir/exp/.done/$stage_now"
  echo "stage $stage_now done in $((SECONDS - stage_start)) s"
}

# need N FILE...: the stage that runs needs what stage N makes.
need() {
  local maker=$1 file
  shift
  for file in "$@"; do
    [ -e "$file" ] && continue
    echo "$0: stage $stage_now needs $file: run stage $maker (./run.sh --stage $maker --stop-stage $maker)" >&2
    exit 1
  done
}

# skip N TITLE: say that a stage that is asked for is not there yet.
skip() {
  if [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ]; then
    echo "stage $1 ($2): skipped; it comes with a later release"
  fi
}
