#!/usr/bin/env bash
# Copies a data directory at another speed; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../../path.sh"
exec pymavg perturb-data-dir-speed "$@"
