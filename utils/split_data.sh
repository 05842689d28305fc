#!/usr/bin/env bash
# Splits a data directory into jobs; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg split-data "$@"
