#!/usr/bin/env bash
# Installs what Planwright builds on, once: Debian packages, a Python environment in build/deps/python with wheels of
# the versions in python_versions.txt, and the ONNX C++ library from onnx's sources in build/deps/onnx. Each part is
# skipped when it is there already, so a second run takes a moment and needs no network.
#
#   cmake/setup.sh build     what building and running needs
#   cmake/setup.sh test      and what the tests need besides
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-build}
deps=build/deps
mkdir -p "$deps"

say() { printf '== %s\n' "$*"; }

packages=(g++ cmake ninja-build pkg-config python3 python3-venv flatbuffers-compiler libflatbuffers-dev protobuf-compiler
  libprotobuf-dev libfmt-dev libcli11-dev libhwy-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev libgtest-dev libgmock-dev libbenchmark-dev
  fonts-dejavu-core fonts-liberation fonts-wqy-zenhei)
wheels=(onnx numpy pillow)
if [ "$level" = test ]; then
  packages+=(clang libclang-rt-14-dev)
  wheels+=(onnxruntime scikit-learn skl2onnx lightgbm onnxmltools)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "installing Debian packages: ${missing[*]}"
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

versions=cmake/python_versions.txt
stamp="$deps/wheels.$level" wanted="${wheels[*]} $(cksum <"$versions")"
if [ ! -x "$deps/python/bin/python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  say "installing Python packages: ${wheels[*]}"
  [ -x "$deps/python/bin/python" ] || python3 -m venv "$deps/python"
  "$deps/python/bin/python" -m pip install --quiet --disable-pip-version-check -c "$versions" "${wheels[@]}"
  printf '%s' "$wanted" > "$stamp"
fi

if [ ! -f "$deps/onnx/libonnx.a" ]; then
  say "building the ONNX library (about 3 minutes)"
  site=$(cd "$deps"/python/lib/python3*/site-packages && pwd)
  cmake -S cmake/onnx -B "$deps/onnx" -G Ninja -DCMAKE_BUILD_TYPE=Release -DONNX_WHEEL_ROOT="$site" >/dev/null
  cmake --build "$deps/onnx" > "$deps/onnx.log" 2>&1 || { tail -n 30 "$deps/onnx.log"; exit 1; }
fi
