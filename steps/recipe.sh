# shellcheck shell=bash
# Sourced by every step: sets the environment of the recipe that it is called in, by the recipe's own path.sh as in Kaldi.

for __link in path.sh steps utils; do
  [ -e "./$__link" ] || {
    echo "$0: no $__link in $PWD: run it from a recipe's directory, such as egs/swbd, which holds path.sh, cmd.sh, steps and utils" >&2
    exit 1
  }
done
unset __link
. ./path.sh
