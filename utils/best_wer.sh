#!/usr/bin/env bash
# Prints the line of the lowest WER among lines on standard input; usage:
#   grep WER exp/tri1/decode/wer_* | utils/best_wer.sh
#   grep Sum exp/tri1/decode/score_*/eval2000.ctm.filt.sys | utils/best_wer.sh
# Lines are `FILE:%WER 12.3 [ … ]`, or sclite's `FILE: | Sum/Avg | #snt #wrd | corr sub del ins err s.err |`.
set -euo pipefail
if [ "${1:-}" = --help ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0"
  exit 0
fi
[ $# -eq 0 ] || { echo "$0: no argument '$1'; lines are read from standard input (see $0 --help)" >&2; exit 1; }

awk '
  /%WER/ {
    wer = $0
    sub(/.*%WER */, "", wer)
    split(wer, field, " ")
    keep(field[1], $0)
  }
  /Sum/ {
    count = split($0, column, "|")
    gsub(/^ +/, "", column[4])
    split(column[4], field, / +/)
    keep(field[5], sprintf("%%WER %s | %s | %s", field[5], column[3], column[4] "| " column[1]))
  }
  function keep(wer, line) {
    if (wer ~ /^[0-9.]+$/ && (best == "" || wer + 0 < best + 0)) { best = wer; shown = line }
  }
  END {
    if (best == "") { print "best_wer.sh: no WER in the lines read" > "/dev/stderr"; exit 1 }
    print shown
  }'
