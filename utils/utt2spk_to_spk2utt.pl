#!/usr/bin/env bash
# Prints spk2utt from utt2spk; --help tells the arguments.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg invert-map "$@"
