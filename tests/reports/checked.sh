# checked.sh: checked.cu, report by report, under weir check: what it must say of the wrong form, and nothing of the right one.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$SOURCE/tests/reports
mkdir -p "$BUILD/tests/reports/checked" && cd "$BUILD/tests/reports/checked" || exit 1
. "$SOURCE/tests/programs/check.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made
if newer checked; then "$WEIR" cc -O1 -g -lineinfo -o checked "$src/checked.cu" || die checked; fi

run() { # EXPECTED-STATUS ARGUMENTS
    want=$1
    shift
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ${options:-} -- ./checked "$@" >out 2>err
    rc=$?
    [ $rc = "$want" ] || { echo "FAILED $*: status $rc, wanted $want"; cat out err; failed=1; }
}
# wrong REPORT KIND WORDS: both forms
wrong() {
    run 99 "$1"
    if grep -q "^weir: hazard: $2" err && grep -q -- "$3" err && [ "$(grep -c '^weir: hazard' err)" = 1 ]; then
        echo "ok $1"
    else
        echo "FAILED $1: $2, $3"; cat err; failed=1
    fi
    run 0 "$1" right
    if grep -q '^weir: hazard' err; then echo "FAILED $1, the right form"; cat err; failed=1; fi
}
# noted REPORT KIND WORDS: the same of notes
noted() {
    run 0 "$1"
    if grep -q "^weir: note: $2" err && grep -q -- "$3" err; then
        echo "ok $1"
    else
        echo "FAILED $1: $2, $3"; cat err; failed=1
    fi
    run 0 "$1" right
    if grep -q '^weir: note' err; then echo "FAILED $1, the right form"; cat err; failed=1; fi
}

# without ORDER REPORT KIND WORDS: the wrong form is found only where that order does not count
without() {
    run 0 "$2"
    if grep -q '^weir: hazard' err; then echo "FAILED $2: ordered, by $1"; cat err; failed=1; fi
    options="--without $1"
    shift
    wrong "$@"
    options=
}

wrong P12 race 'cudaMemcpy may return before the data is on the device'
wrong P13 race 'neither for the event recorded behind the operation at checked.cu:[0-9]*'
wrong P13-early race 'the event that the host waited for at checked.cu:[0-9]* (P13_step) was recorded at checked.cu:[0-9]* (P13_step), before the operation'
wrong P15 race 'let the second.s stream wait for the event recorded at checked.cu'
wrong P15-pool use-after-free "let the free's stream wait for it"
wrong P17 race "thread [0-9]*'s default stream"
wrong P18 race 'recorded again in another stream at checked.cu:[0-9]* (P18) before anyone waited'
wrong P23 deadlock 'waits for a mutex, held by'
wrong P23-event deadlock 'cudaEventSynchronize at checked.cu:[0-9]* (wait_with_lock)'
wrong P31 capture-broken 'cudaDeviceSynchronize at checked.cu:[0-9]* (wait_for_device)'
wrong P32 capture-broken 'make the capturing stream with cudaStreamNonBlocking'
wrong P41 dead-source 'a variable of a function that has returned'
wrong P37 capture-broken 'cudaMemcpyBatchAsync during a stream capture'
run 99 P37
grep -q '^weir: note: graph-lacks' err && grep -q 'look at what cudaMemcpyBatchAsync returns at checked.cu:' err ||
    { echo 'FAILED P37: what the graph lacks'; cat err; failed=1; }
run 0 P65 # where the attribute is 1 it is right
if grep -q '^weir: hazard' err; then echo 'FAILED P65: nothing is wrong with it'; cat err; failed=1; fi
export WEIR_STRICT=managed
wrong P65 managed-active 'the host has not waited for the kernel of checked.cu:[0-9]* (P65)'
unset WEIR_STRICT
wrong P62 use-after-free 'sum reads'
without legacy P79 race 'sum reads'
without free P79-free race 'sum reads'
wrong P80 race 'sum reads'
wrong P86 capture-broken 'cudaMemPoolSetAttribute during a stream capture'
run 0 P38
noted P28 may-block 'cudaMalloc may wait for the device on hardware, and the kernel of checked.cu:[0-9]* (P28)'
noted P28 may-block 'cudaStreamCreateWithFlags may wait for the device'
noted P45 early-time 'call cudaEventSynchronize for the end event before checked.cu:[0-9]* (P45)'
noted P67 'unsupported-call, 3 times' 'cudaArrayGetPlane at checked.cu:[0-9]* (P67)'
noted P50 clamped-priority 'priority 3 is taken for 0'
options=--notes
noted P44 failed-call 'cudaEventElapsedTime gave cudaErrorInvalidResourceHandle'
exit $failed
