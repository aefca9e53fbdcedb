#!/bin/sh
# misuse.sh SOURCES: misuse.cu, form by form, under weir check: hazards and notes by kind, the exit status, and words that the
# report must have; then the report's other forms.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/misuse" && cd "$BUILD/tests/misuse" || exit 1
. "$SOURCE/tests/programs/check.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made
if newer misuse; then "$WEIR" cc -O1 -g -lineinfo -o misuse "$src/misuse.cu" || die misuse; fi
fail() { echo "FAILED $*"; cat err; failed=1; }

# verdict FORM HAZARDS NOTES [OPTIONS]: kinds with commas between, - is none
verdict() {
    form=$1 hazards=$2 notes=$3
    shift 3
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check "$@" -- ./misuse "$form" 2>err)
    rc=$?
    got=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | sort -u | paste -sd, -)
    told=$(sed -n 's/^weir: note: \([a-z-]*\).*/\1/p' err | sort -u | paste -sd, -)
    [ "$hazards" = - ] && status=0 || status=99
    if [ "${got:--}" = "$hazards" ] && [ "${told:--}" = "$notes" ] && [ $rc -eq $status ] && [ "$out" = done ]; then
        echo "ok $form $* $got $told"
    else
        fail "$form $*: hazards $got, wanted $hazards; notes $told, wanted $notes; status $rc; $out"
    fi
}
says() { grep -q -- "$1" err || fail "$form does not say: $1"; }

verdict noop-wait - noop-wait
verdict noop-first - -
verdict lost-record race lost-record
says 'another stream at misuse.cu:[0-9]* (barrier) before anyone waited'
verdict kept-records - -
verdict late-wait race -
says 'only at misuse.cu:[0-9]* (late_wait), after the second was submitted'
verdict not-waited race -
says "let the second's stream wait for the event recorded at misuse.cu:[0-9]* (not_waited)"
verdict unneeded-wait - -
verdict unneeded-wait - unneeded-wait --notes
verdict capture-sync capture-broken -
says 'cudaDeviceSynchronize during a stream capture: cudaErrorStreamCaptureUnsupported'
says 'the capture that began; cudaStreamBeginCapture at misuse.cu'
verdict capture-unjoined capture-broken -
says 'record an event behind the last work'
verdict capture - -
verdict capture-beside - not-captured
verdict launch-unchecked unchecked-error -
says 'failed with cudaErrorInvalidValue'
verdict launch-checked - -
verdict stale-error - stale-error
says 'cudaGetLastError at misuse.cu:[0-9]* (stale_error) returns cudaErrorMemoryAllocation of cudaMalloc at misuse.cu'
verdict error-taken - -
verdict error-left - error-left
verdict fault failed-operation,out-of-bounds -
says 'kernel fill'
says 'cudaStreamSynchronize at misuse.cu:[0-9]* (fault) is not to blame'
verdict dead-stream dead-handle -
verdict dead-event dead-handle -
verdict dead-graph dead-handle -
verdict capture - - --leaks
verdict leak leak - --leaks
says '8192 bytes of device memory'
says '4096 bytes of pinned memory'
says 'stream never destroyed'
says 'event never destroyed'
verdict leak - -
verdict habits - -
for policy in default-stream blocking-stream legacy-sync device-sync stream-sync sync-copy pageable-async alloc managed host-func; do
    verdict habits forbidden-$policy - --forbid $policy
done
verdict capture - - --forbid default-stream,blocking-stream,legacy-sync,device-sync,sync-copy,pageable-async,managed,host-func

verdict source-read - -
verdict free-orders - -
verdict free-orders race - --without free
verdict legacy-orders - -
verdict legacy-orders race - --without legacy
verdict pool-freed-early lifetime -
verdict pool-freed-late - -

# By way of another process.
if newer foreign; then "$WEIR" cc -O1 -g -o foreign "$src/foreign.cu" || die foreign; fi
for form in stream host; do
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ./foreign $form >out 2>err
    [ $? -eq 0 ] && [ "$(cat out)" = done ] && ! grep -q hazard: err || fail "foreign $form"
    says 'note: foreign-event'
done

# The callers; suppressions, by what --print-suppressions writes and otherwise; those that nothing needed.
verdict race race - --print-suppressions
says 'called from misuse.cu:[0-9]* (outer)'
says 'called from misuse.cu:[0-9]* (race)'
sed -n 's/^weir:   silence: //p' err >silence
[ "$(wc -l <silence)" = 1 ] || fail "race: suppressions: $(cat silence)"
verdict race - - --suppress silence
printf '# a comment\nkind=race function=outer file=*misuse.cu\nkind=leak\n' >silence
verdict race - - --suppress silence
says '1 suppressed'
says 'nothing was found that line 3 suppresses: kind=leak'
echo 'kernel=other*' >silence
verdict race race - --suppress silence
echo 'what=this' >silence
"$WEIR" check --suppress silence -- ./misuse race >/dev/null 2>err
[ $? = 2 ] || fail "a wrong suppression is taken"
"$WEIR" check --forbid luck -- ./misuse race >/dev/null 2>err
[ $? = 2 ] || fail "a policy that is none is taken"

# For machines.
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --format github --json report.json --sarif report.sarif -- ./misuse race >/dev/null 2>err
form=github
says '^::error file=.*misuse.cu,line=[0-9]*,title=weir check%3A race::'
if command -v python3 >/dev/null; then
    python3 "$src/report.py" report.json report.sarif || fail "report.json or report.sarif"
fi
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --json report.json -- sh -c './misuse noop-wait; ./misuse race' >/dev/null 2>err
[ -s report.json ] && ls report.json.* >/dev/null 2>&1 || fail "two processes, one report"
rm -f report.json.*
exit $failed
