#!/bin/sh
# `weir run --fidelity` names each launched kernel once, and its approximate instructions; at the end, all forms by what they
# give; without it nothing is said.
# SPDX-License-Identifier: Apache-2.0
set -eu
command -v clang-19 >/dev/null || { echo 'skipped: weir cc needs clang-19'; exit 77; }
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; the program has no sanitizer'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$WEIR" cc -O2 "$1" -o "$work/two"
"$WEIR" run "$work/two" >"$work/silent" 2>&1
[ ! -s "$work/silent" ] || { echo 'not silent without --fidelity:'; cat "$work/silent"; exit 1; }
"$WEIR" run --fidelity "$work/two" and-one-more 2>"$work/said"
cat "$work/said"
[ "$(grep -c 'fidelity: kernel' "$work/said")" = 3 ]
grep -q 'kernel _Z5exactPi: [0-9]* instructions exact$' "$work/said"
grep -q 'kernel _Z7refusedPi: [0-9]* instructions exact, refused: fma.rn.oob.f16 x1$' "$work/said"
grep 'kernel _Z11approximatePf' "$work/said" | grep 'sin.approx.f32 x1' | grep 'div.approx.f32 x1' | grep -q 'cos.approx.f32 x1'
# The whole program, once, behind the kernels; each form in the list that it belongs to.
[ "$(grep -c "fidelity: the program's 3 kernels:" "$work/said")" = 1 ]
grep -q 'fidelity: exact: [0-9]* forms, [0-9]* instructions$' "$work/said"
grep -q "fidelity: within the manual's bound: 3 forms, 3 instructions\$" "$work/said"
tail -2 "$work/said" | head -1 | grep -q 'fidelity: refused: 1 forms, 1 instructions$'
tail -1 "$work/said" | grep -q 'fidelity:    *fma.rn.oob.f16 x1$'
sed -n "/within the manual's bound: 3 forms/,/refused/p" "$work/said" | grep -q 'cos.approx.f32 x1  div.approx.f32 x1  sin.approx.f32 x1$'
sed -n '/fidelity: exact/,/within the manual/p' "$work/said" | grep -q ' ret x[0-9]'
kernels=$(($(sed -n 's/.*kernel _Z[^:]*: \([0-9]*\) instructions exact.*/\1/p' "$work/said" | paste -sd+ -)))
grep -q "fidelity: exact: [0-9]* forms, $kernels instructions\$" "$work/said"
