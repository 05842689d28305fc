# shellcheck shell=bash
# Source it for what the steps of GMMs check before any work, and for begin_run, which lets a step go on where a run with
# the same settings and inputs stopped.

need_files() { # <file>...
  local file
  for file in "$@"; do
    [ -f "$file" ] || { echo "$0: $file: no such file" >&2; exit 1; }
  done
}

same_phones() { # <lang> <dir>: was <dir> made with this lang directory?
  if [ -f "$2/phones.txt" ] && ! cmp -s "$1/phones.txt" "$2/phones.txt"; then
    echo "$0: $1/phones.txt and $2/phones.txt differ: $2 was made with another lang directory" >&2
    exit 1
  fi
}

different_dirs() { # <name> <dir> <name> <dir>
  [ ! "$2" -ef "$4" ] || { echo "$0: $1 and $3 are the same directory, $2" >&2; exit 1; }
}

copy_conf() { # <data> <dir>: how the features were made, for pymavg transcribe
  local conf
  for conf in "$1"/conf/*.conf; do
    [ ! -f "$conf" ] || { mkdir -p "$2/conf" && cp "$conf" "$2/conf"; }
  done
}

copy_model() { # <from> <to>: all that makes a system, but no alignments and no speakers' transforms
  local name
  for name in final.mdl final.alimdl tree final.occs cmvn_opts delta_opts splice_opts final.mat full.mat phones.txt; do
    rm -f "${2:?}/$name"
    [ ! -f "$1/$name" ] || cp "$1/$name" "$2"
  done
}

sizes() { # <model> <leaves asked for> <Gaussians asked for>: the sizes reached, beside those asked for where these are far more
  pymavg gmm-info "$1" | awk -v leaves="$2" -v gauss="$3" '
    /^number of pdfs/ {got_leaves = $NF}
    /^number of gaussians/ {got_gauss = $NF}
    END {
      printf "%d leaves and %d Gaussians", got_leaves, got_gauss
      if (got_leaves < 0.8 * leaves || got_gauss < 0.8 * gauss) printf "; asked for %d and %d", leaves, gauss
      if (got_leaves < 0.8 * leaves) printf ", the data hold no more"
    }'
}

begin_run() { # <dir> <result> <settings> <input>...: exits 0 when <dir>/<result> is there already
  local dir=$1 result=$2 settings file
  settings="$0 $3"
  shift 3
  for file in "$@"; do
    settings+=$'\n'"$file $(cksum <"$file")"
    [[ $file != */feats.scp ]] || settings+=$'\n'$(archives_of "$file")
  done
  refuse_foreign "$dir"
  mkdir -p "$dir/log"
  if [ "$(cat "$dir/.settings" 2>/dev/null)" = "$settings" ]; then
    [ ! -f "$dir/$result" ] || { echo "$0: $dir/$result is there already, made with these settings"; exit 0; }
    return 0
  fi
  [ ! -f "$dir/.settings" ] || echo "$0: settings or inputs differ from those $dir was made with: starting anew"
  rm -rf "$dir"/{job.*,*.mdl,*.alimdl,*.acc,*.occs,*.treeacc,*.lda,*.macc,*.mat,*.mllt,*trans.*,tree,questions.int,ali.*.gz} \
    "${dir:?}/$result"
  printf '%s' "$settings" >"$dir/.settings"
}

archives_of() { # <feats.scp>: size and time of its archives, as features made anew often have the same feats.scp
  sed -E 's/^[^[:space:]]+[[:space:]]+//; s/:[0-9]+(\[.*)?$//' "$1" | sort -u |
    while IFS= read -r file; do stat -L -c '%n %s %Y' -- "$file" 2>/dev/null || echo "$file"; done
}

refuse_foreign() { # <dir>: what another step made, such as a model where alignments shall go, is not removed
  local maker=
  [ ! -f "$1/.settings" ] || read -r maker _ <"$1/.settings" || true # its last line has no newline
  if [ -n "$maker" ] && [ "${maker##*/}" != "${0##*/}" ]; then
    echo "$0: $1 was made by $maker: give another directory, or remove it" >&2
    exit 1
  elif [ -z "$maker" ] && [ -f "$1/final.mdl" ]; then
    echo "$0: $1 holds a model that $0 did not make: give another directory, or remove it" >&2
    exit 1
  fi
}
