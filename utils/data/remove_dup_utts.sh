#!/usr/bin/env bash
# Makes a data directory in which no transcription comes much more often than a number; --help tells the arguments.
set -euo pipefail
. "$(dirname "$0")/../../path.sh"
exec pymavg remove-dup-utts "$@"
