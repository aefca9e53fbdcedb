#!/bin/sh
# tsan.sh SOURCES: tsan.c, form by form: of what ThreadSanitizer must tell when the program runs on Weir, and of what not.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -z "${SANITIZE:-}" ] || { echo "skipped: Weir itself is built with a sanitizer"; exit 77; }
[ -x "$BUILD/bin/weir" ] || { echo "skipped: this build has no weir"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/tsan" && cd "$BUILD/tests/tsan" || exit 1
. "$SOURCE/tests/programs/check.sh"
TSAN_OPTIONS="exitcode=66 atexit_sleep_ms=0" && export TSAN_OPTIONS
if newer tsan; then
    echo 'int main(void) { return 0; }' >empty.c
    "$CC" -fsanitize=thread -o empty empty.c 2>empty.err && ./empty 2>>empty.err ||
        { cat empty.err; echo "skipped: no ThreadSanitizer for $CC here"; exit 77; }
    "$CC" -O1 -g -fsanitize=thread -I"$SOURCE/include/cuda" -o tsan "$src/tsan.c" -L"$BUILD/lib" -lcudart -lpthread || die tsan
fi

while read -r form kind; do
    for how in run check; do
        case $kind in
        -) want=0 ;;
        race) want=66 ;; # the sanitizer's
        check) if [ $how = check ]; then want=99; else want=0; fi ;;
        esac
        out=$("$WEIR" $how -- ./tsan "$form" 2>err)
        rc=$?
        if [ $rc -ne $want ] || [ "$out" != done ] || { [ $want = 0 ] && grep -v '^weir: check: no hazard' err; }; then
            printf 'FAILED %s (weir %s): status %s, wanted %s; %s\n%s\n' "$form" "$how" $rc $want "$out" "$(cat err)"
            failed=1
        else
            echo "ok $form ($how) $kind"
        fi
        mv err "$form.$how.err"
    done
done <<EOF
read-early race
wait-stream -
wait-device -
wait-event -
wait-event-early race
ask-event -
ask-stream -
wait-other race
wait-copy -
write-before -
write-late race
call-back -
call-back-early race
many -
streams race
streams-event -
streams-event-early race
legacy -
legacy-beside race
graph-edge -
graph-beside race
graph-early race
graph-again -
graph-then-function -
thread-submits -
thread-waits race
thread-waits-joined -
copies -
pipeline -
pinned-early check
EOF
# The sanitizer's own words name the function and its line.
grep -q 'write of size 4.*' read-early.run.err && grep -q 'add .*tsan.c:' read-early.run.err ||
    { echo 'FAILED: the report does not name the function'; cat read-early.run.err; failed=1; }
exit $failed
