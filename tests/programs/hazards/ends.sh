#!/bin/sh
# ends.sh SOURCES: ends.cu under weir check and weir explore: however a process ends, what was found in it is told once, and makes
# the exit status; a process without a finding ends as it would without Weir.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/ends" && cd "$BUILD/tests/ends" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer ends; then "$WEIR" cc -O1 -g -o ends "$src/ends.cu" -lpthread || die ends; fi
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:handle_segv=0:handle_abort=0"
export TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}handle_segv=0:handle_abort=0"
fail() { printf 'FAILED %s\n' "$*"; cat err; failed=1; }

# ends FORM STATUS: of the clean one; the other one is 99 and has one report
ends() {
    form=$1
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ./ends "$form" clean >out 2>err
    rc=$?
    [ $rc -eq "$2" ] || fail "$form: status $rc, wanted $2"
    grep -q hazard: err && fail "$form: a finding"
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --json report.json --sarif report.sarif ./ends "$form" race >out 2>err
    rc=$?
    [ $rc -eq 99 ] || fail "$form with a race: status $rc"
    [ "$(grep -c 'weir: hazard: race' err)" = 1 ] || fail "$form: not one finding"
    grep -q 'kernel fill.*at ends.cu:[0-9]* (work)' err || fail "$form: not told where"
    if [ "$form" != kill ]; then
        grep -q '"verdict": "hazard"' report.json* || fail "$form: report.json"
        grep -q '"ruleId": *"race"' report.sarif* || fail "$form: report.sarif"
    fi
    rm -f report.json* report.sarif*
    echo "ok $form"
}

# ThreadSanitizer puts signals off, and who comes to a handler of ours while it is at work waits for itself.
if [ "${SANITIZE:-}" = thread ]; then
    for form in exit _exit _Exit quick_exit vfork execvp; do ends $form 4; done
    ends child 0
    exit $failed
fi

ends exit 4
ends _exit 4
ends _Exit 4
ends quick_exit 4
ends abort 134
ends interrupt 130
ends fault 139
ends handler 3
ends ignored 4
ends vfork 4
ends execl 4
ends execle 4
ends execvp 4
ends kill 137
grep -q 'process [0-9]* ended before it could report: 1 found until then, 1 of them told above' err || fail "kill does not say why"
ends child 0
ends child-killed 0
ends child-becomes 0
ends child-after 0
for round in 1 2 3; do ends busy 143; done

# A signal that comes from outside, to the launcher.
for what in race clean; do
    rm -f out
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check ./ends waits $what >out 2>err &
    pid=$!
    until grep -q waits out 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    "$WEIR" where $pid 2>&1 | grep -q '^no cycle found' || fail "weir where of weir check"
    kill -TERM $pid
    wait $pid
    rc=$?
    [ $what = race ] && want=99 || want=143
    [ $rc -eq $want ] || fail "a signal to weir check, $what: status $rc"
done
echo "ok signal"

# weir explore counts them as well.
for form in _exit abort child kill; do
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" explore --check --runs 1 ./ends $form race >err 2>&1
    [ $? -eq 99 ] && grep -q 'failed: a finding of the checker' err || fail "explore $form"
done
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" explore --check --runs 2 ./ends child clean >err 2>&1 || fail "explore child clean"
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" explore --minimise --check --runs 1 ./ends _exit race >err 2>&1
grep -q 'places matter\|decision' err || fail "explore --minimise of a program that ends by _exit"
# Lines in a file of their own, by its name and then by the build id's; and no library for networks is loaded for them: its end
# would not wait for a draft.
if command -v objcopy >/dev/null; then
    mkdir -p split/.debug && objcopy --only-keep-debug ends split/.debug/lines && objcopy --strip-all --remove-section=.gnu_debuglink ends split/ends &&
        (cd split && objcopy --add-gnu-debuglink=.debug/lines ends) || fail "objcopy"
    LD_DEBUG=files LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check split/ends exit race >out 2>err
    grep -q 'kernel fill.*at ends.cu:[0-9]' err || fail "lines in another file"
    grep -q 'file=libdebuginfod' err && fail "a library for networks"
    printf x >>split/.debug/lines
    LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check split/ends exit race >out 2>err
    grep -q 'ends.cu' err && fail "lines of another build"
    rm -rf split
    echo "ok lines in another file"
fi
exit $failed
