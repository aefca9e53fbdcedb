# Programs of CUDA 12, with kernels, and both versions in one process. SPDX-License-Identifier: Apache-2.0
# Needs CUDA 12's headers, ptxas, libdevice and libcudart.so.12 in a folder of the toolkit's shape (bin, include, lib64, nvvm,
# version.json), named by WEIR_CUDA12; the packages nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12 have them. clang compiles.
[ -d "$WEIR_CUDA12/include" ] || { echo "skipped: WEIR_CUDA12 names no CUDA 12"; exit 77; }
clang=$(command -v clang++-19 || command -v clang++) || { echo "skipped: no clang++"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/cuda12 src=$SOURCE/tests/programs
mkdir -p "$out" && cd "$out" || exit 1
. "$SOURCE/tests/programs/check.sh"
# compile TARGET SOURCE OPTIONS...
compile() {
    target=$1 source=$2
    shift 2
    [ -n "$(find "$target" -newer "$source" 2>/dev/null)" ] ||
        "$clang" -O2 --cuda-path="$WEIR_CUDA12" --cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version -isystem "$WEIR_CUDA12/include" \
            -o "$target" "$source" "$@" -L"$WEIR_CUDA12/lib64" -lcudart -ldl -lpthread || { echo "FAILED: building $target"; exit 1; }
}
compile app "$src/nvcc/app.cu"
compile liblibrary.so "$src/nvcc/app.cu" -DLIBRARY -shared -fPIC
compile versions "$src/cuda12/versions.cu"
# A library whose runtime was renamed by a packaging tool.
if command -v patchelf >/dev/null; then
    cp liblibrary.so librenamed.so && patchelf --replace-needed libcudart.so.12 libcudart-0123abcd.so.12.8.90 librenamed.so
fi
program='program: constructor: 1 device, 1 4'
library='library: constructor: 1 device, 1 4'
check app 0 "$program
program: 0 bad" ./app
check opened 0 "$program
$library
library: 0 bad
program: 0 bad" ./app open ./liblibrary.so
[ ! -f librenamed.so ] || check renamed 0 "$program
$library
library: 0 bad
program: 0 bad" ./app open ./librenamed.so
check versions 0 'runtime 12, guard whole, clock 1, managed 1' ./versions
# With CUDA 13's programs: each in the other's process.
if [ -x ../nvcc/static ] && [ -f ../nvcc/liblibrary.so ]; then
    for form in static shared; do
        check opened-by-13-$form 0 "$program
$library
library: 0 bad
program: 0 bad" ../nvcc/$form open "$PWD/liblibrary.so"
    done
    check opens-13 0 "$program
$library
library: 0 bad
program: 0 bad" ./app open "$BUILD/tests/nvcc/liblibrary.so"
else
    echo "skipped: both versions in one process: programs_nvcc has not run"
fi
rm -f err
exit $failed
