#!/usr/bin/env bash
# Makes the union of data directories; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg combine-data "$@"
