#!/usr/bin/env bash
# Checks a lang directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg validate-lang "$@"
