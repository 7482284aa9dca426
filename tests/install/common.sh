# Sourced by the install tests: their arguments, a folder of their own, and how they fail.
set -euo pipefail
export LC_ALL=C
build=$1 # the build folder
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$source/tests/install
work=$(mktemp -d "${TMPDIR:-/tmp}/planwright-install-XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}
# The object files of kernels below a folder, relative to the kernels' CMakeFiles, without those of sources that are
# gone: a build folder keeps them after a rename.
kernel_objects() {
  local folder=$build/tactics/kernels/CMakeFiles object inside
  find "$folder/$1" -name '*.o' | while read -r object; do
    inside=${object#*.dir/}
    [ -f "$source/tactics/kernels/${inside%.o}" ] && echo "$object" || true
  done
}
# The last line of a test.
finish() { exit $((failures > 0)); }
