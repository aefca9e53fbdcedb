# --counts: what kernels count is exact for bytes, linear in a loop's rounds, the same from both compilers, and what weir plan takes their
# time from.
# SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/weir/devlib.bc" ] && [ -f "$BUILD/lib/libcudart.so.13" ] || { echo "skipped: this build has no weir cc"; exit 77; }
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds'; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; cat "$tmp/numbers" 2>/dev/null; exit 1; }
"$WEIR" cc -O2 "$SOURCE/tests/plan/counts.cu" -o "$tmp/counts" || fail 'compile'
# numbers TIER FORM OPTIONS...: a line a kernel, instructions and bytes; FORM: '' or graph
numbers() {
    tier=$1 form=$2
    shift 2
    WEIR_JIT_TIER=$tier "$WEIR" trace -o "$tmp/t$form.weir" "$@" "$tmp/counts" $form >/dev/null || fail "$tier does not run"
    "$WEIR" export --format json "$tmp/t$form.weir" | sed -n 's/.*"instructions": \([0-9]*\), "requested": \([0-9]*\).*/\1 \2/p'
}
numbers quick '' --counts >"$tmp/numbers"
numbers best '' --counts >"$tmp/best"
cmp -s "$tmp/numbers" "$tmp/best" || fail 'the two compilers count differently'
awk 'NR == 1 { first = $1 } NR == 2 { step = $1 - first } $1 != first + (NR - 1) * step || $2 != 8000 { exit 1 }
    END { exit !(NR == 4 && step >= 10 * 32 && first >= step) }' "$tmp/numbers" || { cat "$tmp/numbers"; fail "other numbers"; }
"$WEIR" plan --device h200 "$tmp/t.weir" >"$tmp/plan" || fail 'plan'
grep -q '^  loop .* 4, as counted$' "$tmp/plan" || fail 'the plan does not take the counted time'
# Nodes of a graph count alike, at every launch, and take their time from it: 10 to 40 rounds, twice.
numbers quick graph --counts | sort >"$tmp/nodes"
cat "$tmp/numbers" "$tmp/numbers" | sort | cmp -s - "$tmp/nodes" || { cat "$tmp/nodes"; fail 'nodes count differently'; }
"$WEIR" plan --device h200 "$tmp/tgraph.weir" >"$tmp/plan" || fail 'plan of the graph'
grep -q '^  loop .* 8, as counted$' "$tmp/plan" || fail "the plan does not take the nodes' counted time"
[ -z "$(numbers best '')" ] || fail 'it counts unasked'
echo 'counts'
