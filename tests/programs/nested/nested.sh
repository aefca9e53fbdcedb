# Kernels that launch kernels, beside what an H200 answered. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/nested src=$SOURCE/tests/programs/nested
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made

# 8.0 and later in one PTX; the device is an H200.
newer probes && { "$SOURCE/tests/support/nvcc" -rdc=true -cudart static -gencode arch=compute_80,code=compute_80 -o probes "$src/probes.cu" || die probes; }
# Not here: what may run beside what, which is no promise; what ends the context. On that GPU a memset in a kernel sets zeros
# whatever the value (docs/ptx-status.md), and the program was built for 9.0.
names=$(./probes | grep -vE '^beside_|traps|illegal|error_texts')
want() { grep -E "^($(echo $* | tr ' ' '|')):" "$src/h200.txt"; }
wanted=$(want $names | sed -e 's/^\(memset_value: .* left\) 0 0/\1 3 3/' -e 's/^\(function_calls: .*\) 90 90/\1 80 90/')
check probes 0 "$wanted" ./probes $names

check error_texts 0 "$(sed -n '/^error_texts/,/ end /p' "$src/h200.txt")" ./probes error_texts
for name in child_traps child_illegal tail_illegal; do
    message="kernel \(trap_now\|illegal\): cudaError" check $name 0 "$(want $name)" ./probes $name
done

# One worker: a kernel's launches run when its block has ended, or before.
WEIR_WORKERS=1 check one-worker 0 "$(want quick pending_forget tail_of_tail tails_in_order)" ./probes pending_forget tails_in_order tail_of_tail quick

# The checker: what is inside a grid is the grid's.
check_order='writes_before late_write memcpy_chain many_lanes quick next_waits_tail'
sorted=$(want $check_order | sort)
got=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ./probes $check_order 2>err | sort)
if [ "$got" = "$sorted" ] && ! grep -qE 'race|finding [0-9]' err; then
    echo "ok check"
else
    printf 'FAILED check\n%s\n%s\n' "$got" "$(cat err)"
    failed=1
fi

# What children do is their outermost grid's to what is outside; what looks at a run.
newer ordered && { "$SOURCE/tests/support/nvcc" -rdc=true -cudart static -gencode arch=compute_80,code=compute_80 -o ordered "$src/ordered.cu" || die ordered; }
# looks NAME STATUS SAID COMMAND...
looks() {
    name=$1 status=$2 said=$3
    shift 3
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" "$@" >err 2>&1
    rc=$?
    if [ $rc -eq "$status" ] && grep -q "$said" err; then
        echo "ok $name"
    else
        printf 'FAILED %s: status %s\n%s\n' "$name" $rc "$(cat err)"
        failed=1
    fi
}
check small 0 'small: 1' ./ordered small
check box 0 'box: 0 wrong, 0 0 21 12 1 1' ./ordered box
check own 0 'own: 0 1111 7' ./ordered own
looks race 99 'kernel writes_by_children writes' check ./ordered races
looks waits 0 'no hazard' check ./ordered waits
# A sanitizer keeps what is freed.
[ -n "${SANITIZE:-}" ] || looks many 0 'no hazard' check ./ordered many
looks explore 99 'exit status 1' explore --stop --strategy reverse --runs 2 ./ordered first
# A trace says which kernel launched what.
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" trace -o own.weir ./ordered own >err 2>&1 && "$WEIR" export --format json own.weir -o own.json >>err 2>&1
launched=$(awk '/^{"kind"/ { name[n++] = $0 } /"launched_by"/ { by = $0; sub(/.*"launched_by": /, "", by); print name[by + 0] }' own.json)
case $launched in
*'"own_memory"'*) echo "ok launched-by" ;;
*) printf 'FAILED launched-by: %s\n%s\n' "$launched" "$(cat err own.json)"; failed=1 ;;
esac
rm -f err own.weir own.json
exit $failed
