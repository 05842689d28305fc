# Sourced by run.sh: which stages run, which are whole, and what each needs.
# A finished stage leaves $dir/exp/.done/N with the settings it read; running one again makes all later ones stale.
# shellcheck shell=bash disable=SC2154,SC2034  # variables of run.sh; variables read by name

stage_now=
corpus_dirs="$swbd $eval2000 ${transcripts:-}" # as given: for mini, run.sh fills them in

# reads N: the variables that what stage N makes depends on; a name in .conf is a file of settings.
reads() {
  case $1 in
    0) echo corpus mini_hours corpus_dirs ;;
    1) echo dev_percent ;;
    2) echo lm_order fisher ;;
    3) echo eval2001 rt03 ;;
    4) features_read; echo mono_utts; if_given mono_shortest early_utts early_repeats max_repeats ;;
    5) echo mono_gauss; if_given gmm_opts ;;
    6) echo tri1_leaves tri1_gauss; if_given gmm_opts ;;
    7 | 8 | 9) echo "tri$(($1 - 5))_leaves tri$(($1 - 5))_gauss" ;;
    10) echo speed_perturb; if [ "${full_gmm:-}" = true ]; then echo full_gmm decode_opts; else echo conf/fbank.conf; fi ;;
    11) echo num_workers seed dnn_depth dnn_dim "$dbn_conf" ;;
    12) echo num_workers seed "$dnn_conf" ;;
    13) echo realign smbr num_workers seed smbr_{iters,new_lattices,acwt,learn_rate,average_frames} denlat_opts ;;
    14) echo decode_opts dnn_decode_opts ;;
  esac
}

# if_given NAME...: those of the variables that are not empty.
if_given() {
  local name
  for name in "$@"; do [ -z "${!name:-}" ] || echo "$name"; done
}

# features_read: the kind of the GMMs' features where it is not MFCC, and the files with their settings.
features_read() {
  local kind=${gmm_feats:-mfcc}
  [ "$kind" = mfcc ] || echo gmm_feats
  echo "conf/${kind%_pitch}.conf"
  [[ $kind != *_pitch ]] || echo conf/pitch.conf
}

# settings N: what stage N reads, one name=value a line.
settings() {
  local name
  for name in $(reads "$1"); do
    if [[ $name == *.conf ]]; then
      sed -E 's/[[:space:]]*#.*//; s/^--//; /^$/d' "$name"
    elif [ -n "${!name+set}" ]; then # a variable that this version of run.sh does not know is none
      local -n value=$name
      echo "$name=${value[*]}"
    fi
  done
}

# made_whole N: what stage N makes and never makes again by itself, or would leave stale.
made_whole() {
  [[ ! $1 =~ ^1[01]$ ]] || printf ' %s' "$dir/exp/dnn_pretrain"
  [[ ! $1 =~ ^1[012]$ ]] || printf ' %s' "$dir/exp/dnn"
  local old
  [[ ! $1 =~ ^1[0-3]$ ]] || for old in "$dir"/exp/dnn_*smbr* "$dir"/exp/dnn_*realigned; do
    [ ! -d "$old" ] || printf ' %s' "$old"
  done
}

# unchanged N [TITLE]: refuse to go on if stage N is whole and was made with other settings.
unchanged() {
  local mark=$dir/exp/.done/$1 differ
  [ -f "$mark" ] || return 0
  differ=$(diff "$mark" <(settings "$1") | sed -n 's/^< /was /p; s/^> /now /p' | paste -sd, | sed 's/,/, /g')
  [ -z "$differ" ] || refuse "stage $1${2:+ ($2)} was made with other settings ($differ); \
give the old ones or another --dir, or remove what is old: rm -r $mark$(made_whole "$1")"
}

# stage N TITLE: true if stage N is asked for and not whole yet; an error if it was made with other settings.
stage() {
  stage_now=$1
  [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ] || return 1
  local mark=$dir/exp/.done/$1 n
  unchanged "$1" "$2"
  if [ -f "$mark" ]; then
    echo "stage $1 ($2): whole; to run it again: rm $mark"
    return 1
  fi
  for n in $(seq "$1" "$stop_stage"); do unchanged "$n"; done # not to be found out after hours of the stages before
  for n in $(seq "$1" 15); do rm -f "$dir/exp/.done/$n"; done
  echo "stage $1 ($2) starts $(date +%H:%M:%S)"
  stage_start=$SECONDS
}

# finish: the stage that runs is whole.
finish() {
  mkdir -p "$dir/exp/.done"
  settings "$stage_now" >"$dir/exp/.done/.$stage_now" && mv "$dir/exp/.done/.$stage_now" "$dir/exp/.done/$stage_now"
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

# skip N TITLE WHY: say that a stage that is asked for is left out.
skip() {
  if [ "$stage" -le "$1" ] && [ "$stop_stage" -ge "$1" ]; then
    echo "stage $1 ($2): skipped; $3"
  fi
}
