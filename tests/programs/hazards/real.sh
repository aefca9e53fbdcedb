#!/bin/sh
# real.sh SOURCES: real.cu and bodies.cu under weir check: each form as it should be has no finding, and each that forgets something the
# one that it should.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards_real" && cd "$BUILD/tests/hazards_real" || exit 1
. "$SOURCE/tests/programs/check.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # they leave behind what they made
for program in real bodies; do
    ! newer $program || "$WEIR" cc -std=c++17 -O2 -g -lineinfo -arch=sm_90 -o $program "$src/$program.cu" -lpthread || die $program
done

verdict() { # WANTED DEVICES PROGRAM FORM [forgets]: kinds of hazards
    want=$1 devices=$2
    shift 2
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --device h200 --devices "$devices" -- ./"$@" 2>err)
    rc=$?
    kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | sort -u | tr '\n' ' ')
    if [ -n "$want" ]; then status=99; else status=0; fi
    if [ "$kinds" != "$want" ] || [ $rc -ne $status ] || [ "$out" != done ]; then
        printf 'FAILED %s: found "%s", wanted "%s"; status %s; %s\n%s\n' "$*" "$kinds" "$want" $rc "$out" "$(cat err)"
        failed=1
    else
        echo "ok $* $kinds"
    fi
}

for program in real bodies; do
    LD_PRELOAD=$SANITIZER_PRELOAD ./$program | while read -r form devices; do echo "$program $form ${devices:-1}"; done
done >forms
[ "$(wc -l <forms)" -ge 34 ] || { echo "FAILED: forms"; failed=1; }
while read -r program form devices; do
    case $form in
    pool) kind='race use-after-free ' ;;
    torn-down | vector) kind='lifetime ' ;;
    *) kind='race ' ;;
    esac
    # Under a sanitizer free is seen by nobody else; ThreadSanitizer's own reports are not looked at here.
    [ -n "${SANITIZE:-}" ] && [ "$form" = vector ] && continue
    verdict '' "$devices" "$program" "$form"
    verdict "$kind" "$devices" "$program" "$form" forgets
done <forms
exit $failed
