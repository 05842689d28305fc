#!/usr/bin/env bash
# How this recipe scores: steps/score_sclite.sh, which see.
exec steps/score_sclite.sh "$@"
