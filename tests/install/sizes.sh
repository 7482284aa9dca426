#!/usr/bin/env bash
# sizes.sh BUILD: each family of kernels keeps within its budget of code and constants, all tiers together.
. "$(dirname "$0")/common.sh"
# "family bytes" for every object of the static library that is a kernel's.
kernel_objects . | xargs size |
  awk '$6 ~ /\.o$/ {name = $6
    if (name ~ /\/reference\//) family = "reference"
    else if (name ~ /\.tier\.cc\.o$/) {family = name; sub(/.*\//, "", family); sub(/\.tier\.cc\.o$/, "", family)}
    else if (name ~ /\/half_[a-z0-9_]*\.cc\.o$/) family = "half"
    else if (name ~ /\/byte_[a-z0-9_]*\.cc\.o$/) family = "byte_tile"
    else if (name ~ /\/block_pieces[a-z0-9_]*\.cc\.o$/) family = "block_pieces"
    else if (name ~ /\/conv_transpose[a-z0-9_]*\.cc\.o$/) family = "conv_transpose"
    else family = "common"
    bytes[family] += $1 + $2}
    END {for (family in bytes) print family, bytes[family]}' | sort >"$work/sizes"
while read -r family bytes; do
  budget=$(awk -v family="$family" '$1 == "default" && !found || $1 == family {budget = $2 * 1024}
    $1 == family {found = 1} END {print budget}' "$here/size_budgets.txt")
  [ "$bytes" -le "$budget" ] || fail "family $family has $bytes bytes, its budget is $budget"
  printf '%-24s %8d bytes of %8d\n' "$family" "$bytes" "$budget"
done <"$work/sizes"
finish
