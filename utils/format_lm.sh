#!/usr/bin/env bash
# Makes a lang directory with G.fst from a language model; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg format-lm "$@"
