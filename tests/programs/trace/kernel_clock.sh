# weir run --clock model: clock64, globaltimer and %smid are the modelled GPU's, agree with its events, and are the same each time.
# SPDX-License-Identifier: Apache-2.0
. "$SOURCE/tests/programs/trace/build.sh"
cd "$tmp" || exit 1
"$WEIR" cc -O2 "$here/kernel_clock.cu" -o clock || fail 'compile'
by_model() { LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run --clock model --device ./small.profile ./clock; }
by_model >one || { cat one; fail 'times'; }
cat one
by_model >two || fail 'once more'
cmp one two || { diff one two; fail 'the same program, other times'; }
CUDA_LAUNCH_BLOCKING=1 by_model >two || { cat two; fail 'each launch waits'; }
WEIR_JIT_TIER=best WEIR_CACHE=off by_model >two || fail 'compiled better'
cmp one two || { diff one two; fail 'the two compilers tell other times'; }
echo ok
