# shellcheck shell=bash
# Source it for begin_run, which lets a step go on where a run with the same settings and inputs stopped.

begin_run() { # <dir> <result> <settings> <input>...: exits 0 when <dir>/<result> is there already
  local dir=$1 result=$2 settings file
  settings="$0 $3"
  shift 3
  for file in "$@"; do settings+=$'\n'"$file $(cksum <"$file")"; done
  mkdir -p "$dir/log"
  if [ "$(cat "$dir/.settings" 2>/dev/null)" = "$settings" ]; then
    [ ! -f "$dir/$result" ] || { echo "$0: $dir/$result is there already, made with these settings"; exit 0; }
    return 0
  fi
  [ ! -f "$dir/.settings" ] || echo "$0: settings or inputs differ from those $dir was made with: starting anew"
  rm -rf "$dir"/{job.*,*.mdl,*.acc,*.occs,*.treeacc,tree,questions.int,ali.*.gz,.settings} "${dir:?}/$result"
  printf '%s' "$settings" >"$dir/.settings"
}
