# NVRTC of the toolkit and the driver API, PTX and what it calls a cubin. SPDX-License-Identifier: Apache-2.0
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
toolkit=${CUDA_PATH:-/usr/local/cuda}
command -v nvcc >/dev/null && toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
lib=$toolkit/lib64
[ -f "$toolkit/include/nvrtc.h" ] && [ -f "$lib/libnvrtc.so" ] || { echo "skipped: no NVRTC here"; exit 77; }
out=$BUILD/tests/driver
mkdir -p "$out" && cd "$out" || exit 1
mkdir -p include && cp "$toolkit/include/nvrtc.h" include/
${CC:-cc} -I "$SOURCE/include/cuda" -I include -o nvrtc "$SOURCE/tests/programs/driver/nvrtc.c" -L "$lib" -lnvrtc \
    -L "$BUILD/lib" -l:libcuda.so.1 -Wl,-rpath-link,"$BUILD/lib" -Wl,-rpath,"$lib" || exit 1
got=$(LD_PRELOAD=$SANITIZER_PRELOAD "$WEIR" run ./nvrtc 2>&1)
[ "$got" = "$(printf 'ptx: ok\ncubin: ok')" ] && echo ok && exit 0
echo "FAILED: $got"
exit 1
