#!/usr/bin/env bash
# Mends a data directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg fix-data-dir "$@"
