# probe.cu as nvcc compiles it, line by line against an H200's answers. Lines that differ are those that docs/ptx-fidelity.md
# lists. SPDX-License-Identifier: Apache-2.0
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
# These, and no others: a line that becomes equal leaves the list here and in docs/ptx-fidelity.md.
cat >known <<END
grad (step x, step y in elements
integer coordinates dim 1 mode 0 normalized 0 (x = -2..9)
integer coordinates dim 1 mode 0 normalized 1 (x = -2..9)
integer coordinates dim 1 mode 1 normalized 0 (x = -2..9)
integer coordinates dim 1 mode 1 normalized 1 (x = -2..9)
integer coordinates dim 1 mode 2 normalized 0 (x = -2..9)
integer coordinates dim 1 mode 2 normalized 1 (x = -2..9)
integer coordinates dim 1 mode 3 normalized 0 (x = -2..9)
integer coordinates dim 1 mode 3 normalized 1 (x = -2..9)
linear mode 3 (the same)
END
if ! LC_ALL=C sort -u different | diff known - >bad; then
    echo "FAILED: lines that differ from an H200's (>) and did not, or are equal now (<):"
    cat bad
    exit 1
fi
echo "ok: $(($(wc -l <"$here/h200.txt") - $(wc -l <known))) of $(wc -l <"$here/h200.txt") lines are an H200's"
