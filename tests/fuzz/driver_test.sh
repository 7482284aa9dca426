#!/usr/bin/env bash
# driver_test.sh FAULTY: the driver of the fuzz targets ends with an error on an input with a fault and leaves it behind;
# on inputs without one it leaves nothing. (A hang is found too, after 30 seconds: FAULTY on a file with an "h".)
set -euo pipefail
faulty=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir corpus
printf 'sound' >corpus/a
: >corpus/empty
failed=0
fail() { echo "$*" && failed=1; }

"$faulty" corpus --seconds=0 >log 2>&1 || { cat log && fail "a sound corpus was refused"; }
grep -q '^faulty: 2 inputs.* seed 1$' log || { cat log && fail "no sum"; }
[ ! -e faulty-current ] || fail "an input was left without a fault"

while read -r input message; do
  printf '%s' "$input" >corpus/b
  if "$faulty" corpus --seconds=0 >log 2>&1; then fail "$input: not found"; fi
  grep -q "$message" log || { cat log && fail "$input: not said"; }
  cmp -s corpus/b faulty-current || fail "$input: not left behind"
  grep -q "left in .*/faulty-current" log || { cat log && fail "$input: not named"; }
done <<'EOF'
abort An input aborts
read heap-buffer-overflow
ubsan signed integer overflow
leak An input leaks
throw An input aborts
EOF

printf 'sand' >corpus/b  # an "r" is a bit away from the "s"
if "$faulty" corpus --seconds=60 >log 2>&1; then fail "mutants of sound inputs found nothing"; fi
exit "$failed"
