#!/bin/sh
# dependent.sh SOURCES: dependent.cu, form by form, under weir check: a race, or nothing; and what the report says of it.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards" && cd "$BUILD/tests/hazards" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer dependent; then "$WEIR" cc -O2 -g -lineinfo -arch=sm_90 -o dependent "$src/dependent.cu" || die dependent; fi

while read -r form want; do
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check --device h200 -- ./dependent "$form" 2>dependent.err)
    status=$?
    got=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' dependent.err | sort -u | paste -sd, -)
    [ "$want" = - ] && wanted=0 || wanted=99
    if [ "${got:--}" = "$want" ] && [ $status -eq $wanted ] && [ "$out" = done ]; then
        echo "ok $form $got"
    else
        printf 'FAILED %s: found "%s", wanted "%s"; status %s; %s\n%s\n' "$form" "$got" "$want" $status "$out" "$(cat dependent.err)"
        failed=1
    fi
    [ "$want" = - ] || grep -q 'cudaGridDependencySynchronize' dependent.err || { echo "FAILED $form: no change is said"; failed=1; }
done <<END
waits -
waits-last race
never-waits race
plain -
own-memory -
record-between race
memset-between -
synchronised -
chain race
chain-waits -
graph-waits -
graph-waits-last race
graph-never-waits race
graph-plain -
graph-chain race
graph-chain-waits -
END
exit $failed
