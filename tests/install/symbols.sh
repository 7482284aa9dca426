#!/usr/bin/env bash
# symbols.sh BUILD: what the shared library exports and needs.
. "$(dirname "$0")/common.sh"
library=$build/lib/libplanwright.so
nm -D --defined-only "$library" | awk '{print $3}' | sort >"$work/exported"
if ! diff "$here/public_symbols.txt" "$work/exported" >"$work/diff"; then
  fail "the exported symbols differ from tests/install/public_symbols.txt (<: listed, >: exported):"
  cat "$work/diff" >&2
fi
# Only these, so neither libstdc++ nor anything of the builder.
ldd "$library" | awk '{print $1}' | sed -E 's|.*/||' | grep -vE '^(linux-vdso\.so\.1|libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2)$' \
  >"$work/needed" && fail "the library needs $(cat "$work/needed")"
# No allocation that throws, no exceptions, no way out of the process, nothing that prints or loads code.
nm -D --undefined-only "$library" | awk '{print $2}' | sed 's/@.*//' >"$work/undefined"
for symbol in abort exit _exit __assert_fail printf puts fprintf getenv dlopen socket connect system; do
  grep -qx "$symbol" "$work/undefined" && fail "the library calls $symbol"
done
grep -E '^(_Zn|_Zd|__cxa_(throw|begin|rethrow|allocate)|_ZSt|_Unwind)' "$work/undefined" >"$work/cxx" &&
  fail "the library needs the C++ run time: $(cat "$work/cxx")"
finish
