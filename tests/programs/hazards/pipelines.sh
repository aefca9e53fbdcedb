#!/bin/sh
# pipelines.sh SOURCES: pipelines.cu, form by form, under weir check: the kind that must be found, and nothing in its right twin.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -x "$BUILD/bin/weir" ] && [ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
"$WEIR" cc --version >/dev/null 2>&1 || { echo "skipped: this build has no weir cc"; exit 77; }
src=$1
mkdir -p "$BUILD/tests/hazards_pipelines" && cd "$BUILD/tests/hazards_pipelines" || exit 1
. "$SOURCE/tests/programs/check.sh"
if newer pipelines; then "$WEIR" cc -std=c++17 -O2 -g -lineinfo -o pipelines "$src/pipelines.cu" -lpthread || die pipelines; fi

verdict() { # FORM KIND: KIND - is nothing
    out=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" check -- ./pipelines "$1" 2>err)
    rc=$?
    kinds=$(sed -n 's/^weir: hazard: \([a-z-]*\).*/\1/p' err | sort -u | tr '\n' ' ')
    if [ "$2" = - ]; then want= status=0; else want="$2 " status=99; fi
    if [ "$kinds" != "$want" ] || [ $rc -ne $status ] || [ "$out" != done ]; then
        printf 'FAILED %s: found "%s", wanted "%s"; status %s; %s\n%s\n' "$1" "$kinds" "$want" $rc "$out" "$(cat err)"
        failed=1
    else
        echo "ok $1 $kinds"
    fi
}

while read -r form kind; do
    verdict "$form" "$kind"
    verdict "right-$form" -
done <<EOF
refill race
results race
prefetched race
captured dead-source
one-event race
shared-buffer race
other-slot race
off-by-one race
scratch race
prepared race
asked-once race
EOF
exit $failed
