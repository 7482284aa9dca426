#!/usr/bin/env bash
# tiers.sh BUILD: the object files of each instruction set tier export one table a family, share nothing with another
# tier, and hold nothing that the linker could merge with another's (weak symbols).
. "$(dirname "$0")/common.sh"
families=$(sed -n 's/^PW_FAMILY(\(.*\))/\1/p' "$source/tactics/kernels/tables.inc")
for tier in baseline avx2 avx512; do
  kernel_objects "planwright_kernels_$tier.dir" | grep '\.tier\.cc\.o$' >"$work/objects"
  [ -s "$work/objects" ] || fail "tier $tier has no object files"
  while read -r object; do
    nm -C "$object" >"$work/symbols"
    awk '$2 ~ /^[VvWwu]$/' "$work/symbols" | grep -v '^ *w __gcov' >"$work/weak" &&
      fail "$object has weak symbols: $(head -3 "$work/weak")"
    awk '$2 ~ /^[TDRB]$/ {sub(/^[^ ]+ [^ ]+ /, ""); print}' "$work/symbols" |
      grep -vE "^planwright::([a-z0-9_]+_table_$tier\$|tier_$tier::)" >"$work/foreign" &&
      fail "$object exports what is not of its tier: $(head -3 "$work/foreign")"
    grep -oE " [RD] planwright::[a-z0-9_]+_table_$tier\$" "$work/symbols" >>"$work/tables_$tier" || true
  done <"$work/objects"
  for family in $families; do
    count=$(grep -c "::${family}_table_$tier\$" "$work/tables_$tier" || true)
    [ "$count" = 1 ] || fail "family $family has $count tables in tier $tier"
  done
done
finish
