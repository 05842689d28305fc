#!/usr/bin/env bash
# Copies a dictionary directory and adds probabilities of pronunciations and silence; --help tells the options.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg dict-dir-add-pronprobs "$@"
