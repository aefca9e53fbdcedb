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
# With a program: its kernels are measured, those in graphs, too, and the table is what plans go by.
[ -x "$BUILD/tests/t_plan_kernels" ] || fail 'the program is missing'
"$WEIR" run --device h200 -- "$WEIR" plan --calibrate -o "$tmp/kernels.profile" -- "$BUILD/tests/t_plan_kernels" >"$tmp/out" 2>"$tmp/err" || fail 'it does not measure a program'
grep -q 'all launched' "$tmp/out" || fail 'the program did not run'
for line in 'linked [0-9.]* 1 # mean of [1-9]' 'linked [0-9.]* 2 # mean of [1-9]' 'looked_up [0-9.]* 1 #' 'asked_for [0-9.]* 1 #' 'with_a_struct [0-9.]* 6 #' \
    'captured [0-9.]* 1 # mean of 9$' 'beside [0-9.]* 1 # mean of 7$' 'beside [0-9.]* 2 # mean of 9$' 'beside [0-9.]* 3 # mean of 2$'; do
    grep -q "^kernel $line" "$tmp/kernels.profile" || fail "no $line"
done
awk '/^kernel/ && $3 < 500 { bad = 1 } END { exit bad }' "$tmp/kernels.profile" || fail 'a kernel takes less than it spins'
grep -q 'weir_' "$tmp/kernels.profile" && fail 'a kernel of the measuring itself is in the table'
grep -q 'within' "$tmp/kernels.profile" && fail 'a kernel in a graph in a graph was measured'
grep -q '^# the kernels of 1 launches of graphs were not measured' "$tmp/kernels.profile" || fail 'the launch that was left out is not told'
"$WEIR" plan --device "$tmp/kernels.profile" --stages h2d=64MiB,kernel=1ms >/dev/null 2>"$tmp/err" || fail 'it is no profile to plan with'
printf 'like h200\nname Mine\nkernel linked 777 1\nkernel looked_up 333\n' >"$tmp/mine.profile"
"$WEIR" trace --clock model --device "$tmp/mine.profile" -o "$tmp/t.weir" "$BUILD/tests/t_plan_kernels" >/dev/null 2>"$tmp/err" &&
    "$WEIR" summary "$tmp/t.weir" >"$tmp/out" || fail 'modelled time by the table'
grep -q '333 us  *333 us  *333 us  *333 us .*looked_up' "$tmp/out" && grep -q '777 us .*linked' "$tmp/out" || fail 'the table does not count under --clock model'
"$WEIR" trace -o "$tmp/t.weir" "$BUILD/tests/t_plan_kernels" >/dev/null 2>"$tmp/err"
"$WEIR" plan --device "$tmp/mine.profile" --kernel with_a_struct=1us@3 "$tmp/t.weir" >"$tmp/out" 2>"$tmp/err" || fail 'a plan by the table'
grep -q 'looked_up .*333.00 us .*as measured' "$tmp/out" && grep -q 'with_a_struct .* 2.00 us .*as given' "$tmp/out" || fail 'the table does not count in a plan'
rm "$tmp/t.weir"
"$WEIR" plan --calibrate -o "$tmp/none" -- true 2>"$tmp/err" && fail 'a GPU where there is none'
"$WEIR" run --device h200 -- "$WEIR" plan --calibrate -o "$tmp/none" -- true 2>"$tmp/err" && fail 'a program without kernels'
grep -q 'no kernel of true was measured' "$tmp/err" || fail 'it does not say that there was no kernel'
"$WEIR" run --device h200 -- "$WEIR" plan --calibrate -o "$tmp/none" -- false 2>"$tmp/err"; [ $? = 1 ] || fail 'the status of the program'
[ -e "$tmp/none" ] && fail 'a profile was written'
"$WEIR" plan --calibrate -- true 2>"$tmp/err"; [ $? = 2 ] || fail 'without -o'
echo 'a profile, and one with kernels'
