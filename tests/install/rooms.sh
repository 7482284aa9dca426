#!/usr/bin/env bash
# rooms.sh BUILD: an include that goes upwards does not compile. Each room's own include path is read from the compile
# command of one of its files.
. "$(dirname "$0")/common.sh"

# includes FILE: the -I and -isystem flags that FILE is compiled with.
includes() {
  grep -F "\"command\"" "$build/compile_commands.json" | grep -F " $source/$1\"" | head -1 |
    grep -oE -- '(-I ?|-isystem )[^ "]+'
}
# compiles FILE HEADER: whether HEADER can be included where FILE is.
compiles() {
  local flags
  flags=$(includes "$1")
  [ -n "$flags" ] || fail "$1 is not in compile_commands.json"
  # shellcheck disable=SC2086
  (cd "$work" && echo "#include \"$2\"" | c++ -std=c++20 -fsyntax-only $flags -x c++ - 2>"$work/log")
}
allowed() { compiles "$1" "$2" || { fail "$1 cannot include $2:"; cat "$work/log" >&2; }; }
refused() {
  ! compiles "$1" "$2" || fail "$1 can include $2"
  grep -q "$2: No such file" "$work/log" || fail "$1 fails on $2 for another reason: $(head -1 "$work/log")"
}

kernels=tactics/kernels/registry.cc
allowed $kernels schemas/types/status.h
allowed $kernels tactics/kernels/kernel.h
refused $kernels tactics/select.h
refused $kernels planfmt/catalog.h
refused $kernels builder/ir/graph.h
allowed $kernels planwright/plugin.h
refused $kernels loader/engine.h
planfmt=planfmt/verify.cc
allowed $planfmt planfmt/catalog.h
refused $planfmt tactics/kernels/kernel.h
refused $planfmt loader/engine.h
loader=loader/engine.cc
allowed $loader planfmt/verify.h
allowed $loader tactics/kernels/kernel.h
refused $loader builder/build.h
refused $loader tactics/select.h
tactics=tactics/select.cc
refused $tactics builder/ir/graph.h
refused $tactics loader/engine.h
builder=builder/build.cc
allowed $builder tactics/select.h
refused $builder loader/engine.h
refused $builder apps/common/reporter.h
refused $builder calibrator/samples.h
arrays=calibrator/arrays/npy.cc
allowed $arrays builder/ir/interpret.h
refused $arrays calibrator/samples.h
refused $arrays planfmt/atomic_file.h
calibrator=calibrator/samples.cc
allowed $calibrator builder/ir/graph.h
allowed $calibrator planfmt/atomic_file.h
refused $calibrator builder/build.h
refused $calibrator apps/common/files.h
finish
