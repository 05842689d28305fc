#!/usr/bin/env bash
# The job runner of this name; `--help` explains it. The work is done by pymavg/jobs.
set -euo pipefail
self=$(readlink -f -- "${BASH_SOURCE[0]}")
PYTHONPATH="${self%/utils/*}${PYTHONPATH:+:$PYTHONPATH}" exec python3 -m pymavg.jobs "${self##*/}" "$@"
