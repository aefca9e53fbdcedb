# The video and overlap examples: their bad forms get the right advice, as the only finding, and their good forms get none.
# SPDX-License-Identifier: Apache-2.0
[ -z "${SANITIZE:-}" ] || { echo 'skipped: covered by the plain builds; a sanitizer changes what costs time'; exit 77; }
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
for e in overlap video; do
    pipe=
    [ $e = video ] && pipe=$(echo "$SOURCE"/src/pipe/*.c)
    "$WEIR" cc -O3 -I"$SOURCE/include" "$SOURCE/examples/$e.cu" $pipe -o $e || fail "compile $e"
done
./overlap --rounds 1 --megabytes 4 >/dev/null 2>&1 # (fills the cache of compiled kernels, so that loading is short)
# expect KINDS PROGRAM ARGS: exactly these findings, in this order. overlap chooses its kernels' length by the clock, or
# as it is told; here they take what is said (a pass of 16 MiB takes 0.3 ms in each direction).
expect() {
    want=$1
    shift
    rm -f t.weir
    trace_counts t.weir "./$@" >run 2>&1 || { cat run; fail "$* does not run"; }
    "$WEIR" advise --json t.weir >out.json || fail "advise of $*, as measured"
    advise_by_model --kernel advance=0.7ms@16384 --json t.weir >out.json || fail "advise of $*"
    got=$(awk '/"notes": \[/ { exit } match($0, /"kind": "[a-z-]*"/) { print substr($0, RSTART + 9, RLENGTH - 10) }' out.json | tr '\n' ' ')
    echo "$*: $got"
    [ "$got" = "$want${want:+ }" ] || { cat out.json; fail "$*: not exactly: ${want:-nothing}"; }
}
expect pageable-sync overlap --steps 64 --pageable --megabytes 16 --rounds 3
expect single-stream overlap --steps 64 --streams 1 --megabytes 16 --rounds 3
expect pipeline-depth overlap --steps 64 --chunks 1 --megabytes 16 --rounds 3
expect '' overlap --steps 64 --megabytes 16 --rounds 3 --at-least 0
expect pageable-sync video --form serial-pageable --frames 24
expect pipeline-depth video --form serial-pinned --frames 24
for form in slot chain pipe pipe-split pipe-graph; do
    expect '' video --form $form --frames 24
done
# On another device it is the same advice, for a kernel that takes as long as the copies there.
"$WEIR" trace -o t.weir ./overlap --steps 64 --streams 1 --megabytes 16 --rounds 3 --at-least 0 >/dev/null
"$WEIR" advise --device h200 --kernel advance=2ms --json t.weir >out.json || fail 'advise --device'
grep -q '"device": "NVIDIA H200"' out.json || fail 'the device is named'
"$WEIR" advise --device nothing t.weir 2>/dev/null && fail 'a device that there is not'
"$WEIR" advise --kernel advance=2ms t.weir 2>/dev/null && fail '--kernel without --device'
echo ok
