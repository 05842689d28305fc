#!/usr/bin/env bash
# Divides a data directory into training and CV; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg subset-data-dir-tr-cv "$@"
