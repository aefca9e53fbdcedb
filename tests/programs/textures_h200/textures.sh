# probe.cu as nvcc compiles it, line by line against an H200's answers. Lines that differ must be those that docs/ptx-fidelity.md
# gives a reason for. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
here=$SOURCE/tests/programs/textures_h200 out=$BUILD/tests/textures_h200
mkdir -p "$out" && cd "$out" || exit 1
[ -n "$(find probe -newer "$here/probe.cu" 2>/dev/null)" ] ||
    nvcc -O1 -arch=sm_80 -std=c++17 -o probe "$here/probe.cu" || { echo "FAILED: nvcc"; exit 1; }
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run --device h200 ./probe >got 2>err || { cat err; echo "FAILED: status $?"; exit 1; }
[ "$(wc -l <got)" -ge 120 ] || { echo "FAILED: $(wc -l <got) lines"; exit 1; }
# In both, by what is before the values; creation's and views' lines by their order.
key='{ k = $0; if (k ~ /^blend/) sub(/ texels.*/, "", k); else sub(/:.*/, "", k); print k }'
diff "$here/h200.txt" got | sed -n 's/^< //p' | awk "$key" | sort -u >different
cat >allowed <<END
^blend kind 0 dim 2$
^blend kind [123] dim 2$
^blend kind 2 dim 1$
^blend kind 3 dim 1$
^blend kind 4 dim [12]$
^point_normalized mode [02]
^linear mode 3
^srgb$
^integer coordinates dim 1
^grad
^cube filter 1
^view format
^linear too large$
END
if grep -v -f allowed different >bad; then
    echo "FAILED: other than an H200:"
    cat bad
    exit 1
fi
echo "ok: $(($(wc -l <"$here/h200.txt") - $(diff "$here/h200.txt" got | grep -c '^<'))) of $(wc -l <"$here/h200.txt") lines are an H200's"
