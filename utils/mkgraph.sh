#!/usr/bin/env bash
# Makes the decoding graph of a model; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg mkgraph "$@"
