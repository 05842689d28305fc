#!/usr/bin/env bash
# Checks a data directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg validate-data-dir "$@"
