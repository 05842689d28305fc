#!/usr/bin/env bash
# Makes a lang directory from a dictionary directory; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg prepare-lang "$@"
