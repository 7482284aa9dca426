#!/usr/bin/env bash
# run_targets.sh BUILD: everything that `cmake --install` copies from the build folder is made by what ./run builds, so
# that a newcomer can install right after it.
. "$(dirname "$0")/common.sh"
read -r -a targets <<<"$(sed -nE 's/^cmake --build build\/release --target ([a-z_ ]+).*/\1/p' "$source/run")"
[ "${#targets[@]}" -gt 0 ] || fail "./run builds no targets"
ninja -C "$build" -t commands "${targets[@]}" | tr ' ' '\n' | sort -u >"$work/made"
find "$build" -name cmake_install.cmake -not -path '*/_deps/*' -exec grep -hoE "\"$build/(bin|lib)/[^\"]+\"" {} + |
  tr -d '"' | sed "s|^$build/||" | sort -u >"$work/installed"
[ "$(wc -l <"$work/installed")" -ge 4 ] || fail "only these are installed: $(cat "$work/installed")"
while read -r file; do
  grep -qx "$file" "$work/made" || fail "./run does not build $file, which is installed"
done <"$work/installed"
finish
