#!/usr/bin/env bash
# Copies a data directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg copy-data-dir "$@"
