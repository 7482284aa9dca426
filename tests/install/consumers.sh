#!/usr/bin/env bash
# consumers.sh BUILD: installs the library, builds a C and a C++ program against the installed tree through
# find_package and through pkg-config, and runs them on a small engine. A6: the stripped static C program.
. "$(dirname "$0")/common.sh"
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
# The tree must not depend on where it was installed.
mv "$prefix" "$work/moved"
prefix=$work/moved
"$build/bin/write_small_engine" "$work/small.engine"

expect() { # expect TEXT COMMAND...: runs it, and wants TEXT in what it prints
  local text=$1 output
  shift
  if ! output=$("$@" 2>&1); then fail "$* failed: $output"; fi
  [[ $output == *"$text"* ]] || fail "$* printed '$output', not '$text'"
}

for language in c cpp; do
  cmake -S "$here/consumer_$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    >"$work/log" 2>&1 && cmake --build "$work/$language" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  expect ": 20 10 0 0 1 2" "$work/$language/consumer_$language" "$work/small.engine"
done
expect "refused with 1: input x cannot be 9x4" "$work/cpp/consumer_cpp" "$work/small.engine"
expect ": 20 10 0 0 1 2" "$work/c/consumer_c_static" "$work/small.engine"

# A6: no C++ run time and nothing of the builder in the static program, all kernels in 3 MiB.
strip -o "$work/stripped" "$work/c/consumer_c_static"
bytes=$(stat -c %s "$work/stripped")
[ "$bytes" -le $((3 << 20)) ] || fail "the stripped static program has $bytes bytes, more than 3 MiB"
forbidden=$(nm -C "$work/c/consumer_c_static" | grep -E 'operator (new|delete)|__cxa_throw|google::protobuf|\bonnx::|\bfmt::|\bCLI::' || true)
[ -z "$forbidden" ] || fail "the static program contains $forbidden"
printf 'the stripped static program has %d bytes\n' "$bytes"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name planwright.pc)")
library=$(pkg-config --variable=libdir planwright)
read -r -a flags <<<"$(pkg-config --cflags --libs planwright)"
"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror "$here/consumer_c/main.c" "${flags[@]}" -o "$work/pc_c"
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "$here/consumer_cpp/main.cc" "${flags[@]}" -o "$work/pc_cpp"
for language in c cpp; do
  expect ": 20 10 0 0 1 2" env LD_LIBRARY_PATH="$library" "$work/pc_$language" "$work/small.engine"
done
finish
