#!/usr/bin/env bash
# Checks a dictionary directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg validate-dict-dir "$@"
