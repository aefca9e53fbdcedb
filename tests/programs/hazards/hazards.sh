#!/bin/sh
# hazards.sh SOURCES: hazards.cu, form by form, under weir check: the kind that must be found, or nothing; the exit status; and
# that the report names the lines. --light agrees where kernels do not share an allocation.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards" && cd "$BUILD/tests/hazards" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer hazards; then "$WEIR" cc -O2 -g -lineinfo -o hazards "$src/hazards.cu" || die hazards; fi

verdict() { # FORM KIND [OPTION]: KIND - is nothing
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ${3:-} -- ./hazards "$1" 2>err)
    rc=$?
    kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | sort -u | tr '\n' ' ')
    if [ "$2" = - ]; then want= status=0; else want="$2 " status=99; fi
    if [ "$kinds" != "$want" ] || [ $rc -ne $status ] || [ "$out" != done ]; then
        printf 'FAILED %s %s: found "%s", wanted "%s"; status %s; %s\n%s\n' "$1" "${3:-}" "$kinds" "$want" $rc "$out" "$(cat err)"
        failed=1
    else
        echo "ok $1 ${3:-} $kinds"
    fi
}

while read -r form kind; do
    verdict "$form" "$kind"
done <<EOF
raw race
raw-event -
waw race
waw-event -
among-short race
among-short-event -
covered race
covered-event -
covered-elsewhere race
covered-elsewhere-event -
early-record race
recorded-again-late race
recorded-again -
never-recorded race
halves-overlap race
halves -
small-copies-overlap race
small-copies -
shorts-overlap race
shorts -
doubles-overlap race
doubles -
interleaved-same race
interleaved -
atomic-plain race
atomics -
columns-overlap race
columns -
legacy-nonblocking race
legacy -
memset-nonblocking race
pageable-nonblocking race
pageable-waits -
sync-other race
sync -
alloc-unordered use-before-alloc
alloc-unordered-late use-before-alloc
alloc-unordered-value use-before-alloc
pool-late -
free-unordered use-after-free
pool -
pool-reuse -
pool-taken-up -
freed-early lifetime
freed -
pieces-early race
pieces -
host-calls callback-api
host-func -
graph-unordered race
graph -
child-graphs-unordered race
child-graphs -
event-nodes-ignored race
event-nodes -
record-node-beside race
record-node -
wait-node-beside race
wait-node -
record-node-host-beside race
record-node-host -
event-nodes-no-chain race
event-nodes-chain -
values-ignored race
values -
values-early race
values-late -
values-late-host -
values-kernel -
values-rounds -
values-host -
values-graph -
values-polled -
values-many race
mapped-twice-unordered race
mapped-twice -
mapped-twice-apart -
mapped-once -
mapped-moves-and-back race
mapped-moves -
EOF
verdict values-many-open -
grep -q 'not everything was looked at: too many waits for values' err || { echo "FAILED: values-many-open: it is not said"; cat err; failed=1; }
# With few addresses, so that they are soon taken up again. (Sanitizers need many themselves.)
[ -n "${SANITIZE:-}" ] || (ulimit -v 67108864 && verdict freed-taken-up lifetime && [ "$failed" = 0 ]) || failed=1
for form in raw waw legacy-nonblocking; do verdict $form race --light; done
for form in raw-event columns graph pool; do verdict $form - --light; done
# The places: both launches and the allocation.
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check -- ./hazards raw >/dev/null 2>err
for what in 'kernel fill writes' 'kernel copy reads' 'hazards.cu:'; do
    grep -q "$what" err || { echo "FAILED: the report does not say: $what"; cat err; failed=1; }
done
# Mapped memory by the call that made it.
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check -- ./hazards mapped-twice-unordered >/dev/null 2>err
grep -qE 'bytes: +0 to [0-9]* of 2097152, cuMemCreate at hazards.cu:[0-9]' err ||
    { echo 'FAILED: the report does not say what is mapped'; cat err; failed=1; }
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --exit-code 7 -- ./hazards raw >/dev/null 2>&1
[ $? = 7 ] || { echo "FAILED: --exit-code"; failed=1; }
exit $failed
