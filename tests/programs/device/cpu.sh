#!/bin/sh
# cpu.sh: WEIR_JIT_CPU: code without AVX-512 where that is asked for, kept apart in the cache; another name is told.
# SPDX-License-Identifier: Apache-2.0
set -u
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
work=$BUILD/tests/device_cpu
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
"$WEIR" cc -O2 "$SOURCE/examples/hello.cu" -o hello >cc.log 2>&1 || { echo "skipped: weir cc: $(tail -1 cc.log)"; exit 77; }
unset WEIR_CACHE
export WEIR_CACHE_DIR=$work/cache WEIR_JIT_TIER=best
failed=0
entries() { find cache -type f | wc -l; }
run() { LD_PRELOAD=$SANITIZER_PRELOAD WEIR_JIT_CPU=$1 "$WEIR" run ./hello >out 2>err || { echo "FAILED $1: $(cat err)"; failed=1; }; }

run x86-64-v3
one=$(entries)
[ ! -s err ] && [ "$one" -gt 0 ] || { echo "FAILED x86-64-v3: $one entries, $(cat err)"; failed=1; }
run x86-64-v3
[ "$(entries)" = "$one" ] || { echo "FAILED: the second run was not served by the cache"; failed=1; }
run pentium
grep -q 'not supported: WEIR_JIT_CPU: pentium (only x86-64-v3 can be asked for)' err || { echo "FAILED pentium: $(cat err)"; failed=1; }
[ "$(entries)" -gt "$one" ] || { echo "FAILED: code for this processor came from the other entry"; failed=1; }
exit $failed
