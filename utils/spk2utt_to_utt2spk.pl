#!/usr/bin/env bash
# Prints utt2spk from spk2utt; --help tells the arguments.
set -euo pipefail
. "$(dirname "$0")/../path.sh"
exec pymavg invert-map --many-to-one "$@"
