# weir plan --calibrate measures what libcuda.so.1 gives; here that is Weir's own. What it writes is a profile that plans and runs.
# SPDX-License-Identifier: Apache-2.0
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds'; exit 77; }
[ -f "$BUILD/lib/libcuda.so.1" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo 'skipped: this build has no libcuda or no compiler'; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*"; cat "$tmp"/*; exit 1; }
"$WEIR" run --device rtx4090 -- "$WEIR" plan --calibrate -o "$tmp/my.profile" 2>"$tmp/err" || fail 'it does not measure'
grep -q '^name *NVIDIA GeForce RTX 4090' "$tmp/my.profile" || fail 'the name'
grep -q '^attribute 16 *128' "$tmp/my.profile" || fail 'the attributes'
[ "$(grep -c '^cost ' "$tmp/my.profile")" = 24 ] || fail 'the costs'
grep '^cost ' "$tmp/my.profile" | grep -qv '^cost [a-z0-9-]* *[0-9]*\.*[0-9]* *#' && fail 'a cost that is no plain decimal'
"$WEIR" plan --device "$tmp/my.profile" --stages h2d=64MiB,kernel=1ms,d2h=64MiB --chunks 1..4 >"$tmp/out" 2>&1 || fail 'it is no profile to plan with'
grep -q 'GeForce RTX 4090, pinned' "$tmp/out" || fail 'another device was planned'
"$WEIR" run --device "$tmp/my.profile" -- true || fail 'it is no profile to run with'
echo 'a profile'
