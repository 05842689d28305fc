#!/usr/bin/env bash
# Makes a data directory of some utterances of another; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg subset-data-dir "$@"
