#!/usr/bin/env bash
# Copies a data directory at the speeds 0.9, 1.0 and 1.1; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../../path.sh"
exec pymavg perturb-data-dir-speed-3way "$@"
