#!/bin/sh
# explore.sh SOURCES: orders.cu under weir explore: wrong programs fail in some legal order and not in that of their submission,
# right ones in none; a schedule repeats exactly; what a failure hangs on is found and told.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/explore" && cd "$BUILD/tests/explore" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer orders; then "$WEIR" cc -O2 -g -lineinfo -o orders "$src/orders.cu" || die orders; fi
LD_PRELOAD=$SANITIZER_PRELOAD
export LD_PRELOAD
fail() { printf 'FAILED %s\n%s\n' "$1" "$(cat out)"; failed=1; }
# explore NAME STATUS OPTIONS...
explore() {
    name=$1 status=$2
    shift 2
    "$WEIR" explore "$@" >out 2>&1
    rc=$?
    if [ $rc -eq "$status" ]; then echo "ok $name"; else fail "$name: status $rc, wanted $status"; fi
}
says() { grep -q -- "$1" out || fail "it does not say: $1"; }

for form in streams kernel source threads graph; do
    explore "$form" 99 --runs 8 ./orders $form
    says 'failed: exit status 1'
    says 'again: weir run --schedule'
    "$WEIR" run --schedule early ./orders $form || fail "$form in the order of submission"
    explore "$form-ordered" 0 --runs 10 ./orders $form-ordered
    says 'none failed'
done
# Its options may stand behind and between those of weir run.
explore mixed 99 --devices 1 --runs 8 --memory=2G --stop --strict queue-depth=64 --jobs 1 ./orders streams
says 'again: weir run --schedule [a-z-]* --devices 1 --memory=2G --strict queue-depth=64 ./orders streams'
explore mixed-wrong 2 --devices 1 --runs 2 --no-such-option ./orders streams

for form in polls flags host-functions; do
    explore $form 0 --runs 10 ./orders $form
done

for form in unseen carried; do
    explore "$form" 0 --runs 4 ./orders $form
    explore "$form, memory" 99 --runs 4 --same-memory ./orders $form
    says "other contents of memory than the first run's"
    explore "$form-ordered, memory" 0 --runs 8 --same-memory ./orders $form-ordered
done

# What runs at the same time mixes: copies, memsets and kernels run in two parts.
for form in torn-copy torn-rows torn-memset torn-kernel torn-graph; do
    explore "$form" 99 --runs 8 ./orders $form
    says '^run 7 (torn) failed: exit status 1'
    explore "$form-ordered" 0 --runs 9 ./orders $form-ordered
    explore "$form-ordered, checked" 0 --check --strategy torn --runs 1 ./orders $form-ordered
done
explore meeting 0 --strategy torn --runs 2 ./orders meeting # blocks that wait for each other stay together
explore 'torn, minimised' 99 --stop --strategy torn --minimise ./orders torn-memset
says '1\. memset (stream .*orders.cu:'
says 'ran in two parts, the first 8/16 of it on their own'
says '2\. the rest of memset (stream .*orders.cu:'
says 'was delayed until behind copy (stream .*orders.cu:'
spec=$(sed -n "s/.*--schedule '\(holds:[^']*\)'.*/\1/p" out)
"$WEIR" run --schedule "$spec" ./orders torn-memset
[ $? -eq 1 ] || fail "$spec does not repeat it"

# Repeats: the order itself, and other seeds give other ones.
rm -f orders-seen
for spec in random:1 random:2 pct:3:4 late:9 reverse; do
    "$WEIR" run --schedule $spec ./orders order >first || fail "order $spec"
    cat first >>orders-seen
    for i in 1 2 3; do
        "$WEIR" run --schedule $spec ./orders order >out && cmp -s first out || fail "order $spec again: $(cat first), then"
    done
done
[ "$(sort -u orders-seen | wc -l)" -ge 4 ] || { cp orders-seen out; fail 'five schedules, but not four orders'; }
# Threads: who looks at memory with pauses is waited for, until it has looked in vain.
for spec in 'late pauses' 'random:3 pauses' 'random:4 many'; do
    rm -f log first
    for i in 1 2 3; do
        rm -f log
        WEIR_SCHEDULE_LOG=$PWD/log "$WEIR" run --schedule ${spec% *} ./orders ${spec#* } >out 2>&1 || fail "$spec"
        cp log out
        ! grep -q '^inexact' log || fail "$spec: not exact"
        [ -e first ] || cp log first
        cmp -s first log || fail "$spec again"
    done
done
explore same-output 99 --runs 6 --same-output ./orders order
says "output other than the first run's"

# The few decisions that matter, and the schedule made of them.
explore minimise 99 --stop --strategy reverse --minimise ./orders streams
says '^1 of [0-9]* operations'
says 'kernel fill (stream .*orders.cu:'
says 'was delayed until behind kernel copy (stream [0-9]*, \(<<< >>>\|cudaLaunchKernel\) at orders.cu:'
spec=$(sed -n "s/.*--schedule '\(holds:[^']*\)'.*/\1/p" out)
"$WEIR" run --schedule "$spec" ./orders streams
[ $? -eq 1 ] || fail "$spec does not repeat it"
explore 'minimise, the host went on' 99 --stop --strategy reverse --minimise ./orders refill
says 'the host was at cuda[A-Za-z]* at orders.cu:.* by then'
explore minimise-host 99 --stop --strategy late --minimise ./orders source
says 'copy (stream .*orders.cu:'
says "ran before it: the host's code behind cudaMemcpyAsync at orders.cu:"

explore crash 99 --runs 3 ./orders crash
says 'failed: signal 6'
explore hang 99 --runs 1 --strategy reverse --hang 3 ./orders hang
says 'failed: hang'
explore check 99 --runs 1 --check ./orders streams
says 'failed: a finding of the checker'
says 'hazard: race'

# Ranks share the runs; each compares with a first run of its own.
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" explore rank 99 --runs 3 --same-output ./orders order
says '^rank 1: 2 runs'
# By a real mpirun, where there is one: 7 runs, of which each rank makes the first one for itself.
if ! command -v mpirun >/dev/null; then
    echo 'skipped: there is no mpirun'
elif [ -n "${SANITIZE:-}" ]; then
    echo 'skipped: mpirun, under a sanitizer'
else
    # More of them than processors, as Open MPI 4 and 5 are told to allow it.
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 3 "$WEIR" explore --runs 7 --same-output ./orders order >out 2>&1
    [ $? = 99 ] || fail "mpirun: exit status"
    says '^rank 0: 3 runs'
    says '^rank 1: 3 runs'
    says '^rank 2: 3 runs'
fi

explore 'no call' 99 --runs 2 --minimise /bin/false
says '2 failed, in 1 different way; all did, in the order of submission, too'
says 'it fails with every operation as early as it may run'
explore 'no program' 127 --runs 2 ./no-such-program
explore 'no option' 2 --runs 2 --frob ./orders order
says 'unknown option --frob'
explore 'no schedule' 2 --strategy sideways ./orders order
says 'there is no schedule "sideways"'
"$WEIR" run --schedule pct ./orders order >out 2>&1
[ $? -eq 2 ] || fail 'pct without a number'
exit $failed
