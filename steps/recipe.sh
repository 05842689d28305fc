# shellcheck shell=bash disable=SC2154  # variables of the step
# Sourced by every step: sets the environment of the recipe that it is called in, by the recipe's own path.sh as in Kaldi.

for __link in path.sh steps utils; do
  [ -e "./$__link" ] || {
    echo "$0: no $__link in $PWD: run it from a recipe's directory, such as egs/swbd, which holds path.sh, cmd.sh, steps and utils" >&2
    exit 1
  }
done
unset __link
. ./path.sh

# passed_help TOOL ARGUMENT...: the options in `passed`, which the step hands on to pymavg TOOL, for the step's help. pymavg
# knows their defaults; it is asked only where help is wanted by the step's ARGUMENTs.
passed_help() {
  local tool=$1
  shift
  case " $* " in
    "  " | *" --help "* | *" -h "*) pymavg "$tool" --show-defaults "${passed[*]}" ;;
    *) printf -- '--%s ' "${passed[@]//_/-}" | fold -s -w 118 | sed 's/^/  /' ;;
  esac
}

# score_lattices LANG: what decoding ends with, by the recipe's local/score.sh and the step's own options.
score_lattices() {
  local opts
  read -r -a opts <<<"$scoring_opts"
  [ -x local/score.sh ] || {
    echo "$0: local/score.sh: not there; take egs/digits/local/score.sh, or go without: --skip-scoring true" >&2
    exit 1
  }
  local/score.sh --cmd "$cmd" ${opts[@]+"${opts[@]}"} "$data" "$1" "$dir"
}
