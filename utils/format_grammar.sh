#!/usr/bin/env bash
# Makes a lang directory whose G.fst is a grammar of equally likely words; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg make-grammar "$@"
