#!/usr/bin/env bash
# readme.sh BUILD: the examples of README.md compile as they stand against an installed tree, and run.
. "$(dirname "$0")/common.sh"
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

# block LANGUAGE: the first fenced block of that language.
block() { awk -v fence="\`\`\`$1" '$0 == "```" && inside {exit} inside {print} $0 == fence {inside = 1}' "$source/README.md"; }
mkdir "$work/app"
block c >"$work/app/main.c"
block cmake >"$work/app/CMakeLists.txt"
block cpp >"$work/fragment.cc"
for file in app/main.c app/CMakeLists.txt fragment.cc; do [ -s "$work/$file" ] || fail "README.md has no block for $file"; done

# expect_missing PROGRAM: runs it where there is no model.engine, and wants the library's words.
expect_missing() {
  local output
  if output=$(cd "$work" && "$@" 2>&1); then fail "$1 ran without an engine"; fi
  [[ $output == *model.engine* ]] || fail "$1 printed '$output'"
}

cmake -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/app/build" >>"$work/log" 2>&1 || { cat "$work/log"; fail "the CMake example does not build"; }
expect_missing "$work/app/build/app"

# The command that the README gives for pkg-config.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name planwright.pc)")
command=$(grep -oE 'cc main\.c .*pkg-config.*' "$source/README.md" | head -1)
(cd "$work/app" && eval "$command") || fail "README's '$command' fails"
expect_missing "$work/app/app"

{
  printf '#include <planwright/planwright.hpp>\n#include <vector>\n'
  printf 'void run(const std::vector<float>& input, std::vector<float>& output) {\n'
  cat "$work/fragment.cc"
  printf '}\n'
} >"$work/fragment_whole.cc"
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$work/fragment_whole.cc" ||
  fail "README's C++ fragment does not compile"

# The example of a plugin, by the command that it gives.
cp "$source/docs/examples/window_mean.c" "$work/app/"
command=$(grep -oE 'cc .*window_mean\.c .*pkg-config.*' "$work/app/window_mean.c" | head -1)
(cd "$work/app" && eval "$command" && [ -s window_mean.so ]) || fail "the example's '$command' fails"
"${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$prefix/include" "$work/app/window_mean.c" ||
  fail "the example of a plugin has warnings"

for program in buildengine runengine; do
  "$prefix/bin/$program" --version | grep "^$program " >/dev/null || fail "the installed $program does not start"
done

# Every flag is described, and the tactic sources are those there are.
for program in buildengine runengine; do
  for flag in $("$prefix/bin/$program" --help | grep -oE '^ +(-h,)?--[A-Za-z]+(,--[A-Za-z]+)*' | grep -oE -- '--[A-Za-z]+'); do
    grep -qE -- "$flag([^A-Za-z]|\$)" "$source/README.md" || fail "README.md does not mention $program's $flag"
  done
done
sources() { tr ',' '\n' | sed 's/[` ]//g' | grep -vx reference | sort; }
grep -F -- '| `--tacticSources=' "$source/README.md" | sed -E 's/.*off and on: ([^;]*);.*/\1/' | sources >"$work/told"
{ "$prefix/bin/buildengine" --onnx=x --saveEngine=y --tacticSources=-nothing 2>&1 || true; } |
  sed -nE 's/.*there are: //p' | sources >"$work/had"
diff "$work/told" "$work/had" >"$work/diff" || fail "README.md's tactic sources differ (<: told, >: there): $(cat "$work/diff")"
finish
