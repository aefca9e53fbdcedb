# probe.cu as nvcc compiles it, line by line against an H200's answers. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
here=$SOURCE/tests/programs/textures_h200 out=$BUILD/tests/textures_h200
mkdir -p "$out" && cd "$out" || exit 1
[ -n "$(find probe -newer "$here/probe.cu" 2>/dev/null)" ] ||
    "$SOURCE/tests/support/nvcc" -O1 -arch=sm_80 -std=c++17 -o probe "$here/probe.cu" || { echo "FAILED: nvcc"; exit 1; }
LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run --device h200 ./probe >got 2>err || { cat err; echo "FAILED: status $?"; exit 1; }
[ "$(wc -l <got)" -ge 120 ] || { echo "FAILED: $(wc -l <got) lines"; exit 1; }
diff "$here/h200.txt" got >different || { echo "FAILED: lines that differ from an H200's (<):"; cut -c1-400 different; exit 1; }
echo "ok: $(wc -l <got) lines are an H200's"
