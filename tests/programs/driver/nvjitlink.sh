# nvJitLink of the toolkit: its functions are ours, but for what only it can read. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
toolkit=${CUDA_PATH:-/usr/local/cuda}
command -v nvcc >/dev/null && toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
lib=$toolkit/lib64
[ -f "$toolkit/include/nvJitLink.h" ] && [ -f "$lib/libnvJitLink.so" ] && [ -f "$lib/libnvrtc.so" ] ||
    { echo "skipped: no nvJitLink here"; exit 77; }
out=$BUILD/tests/driver
mkdir -p "$out" && cd "$out" || exit 1
mkdir -p include && cp "$toolkit/include/nvrtc.h" "$toolkit/include/nvJitLink.h" include/
${CC:-cc} -I "$SOURCE/include/cuda" -I include -o nvjitlink "$SOURCE/tests/programs/driver/nvjitlink.c" -L "$lib" -lnvrtc \
    -lnvJitLink -L "$BUILD/lib" -l:libcuda.so.1 -Wl,-rpath-link,"$BUILD/lib" -Wl,-rpath,"$lib" || exit 1
got=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run ./nvjitlink 2>&1)
[ "$got" = "$(printf 'linked: ok\nrefused: ok\nlto: ok')" ] && echo ok && exit 0
echo "FAILED: $got"
exit 1
