# Separately compiled device code, in every form that nvcc gives it. SPDX-License-Identifier: Apache-2.0
nvcc --version >/dev/null 2>&1 || { echo "skipped: no nvcc on PATH"; exit 77; }
[ -f "$BUILD/lib/libweir-jit.so" ] || { echo "skipped: this build has no libweir-jit.so"; exit 77; }
out=$BUILD/tests/rdc src=$SOURCE/tests/programs/rdc
mkdir -p "$out" && cd "$out" || exit 1
cuda=$(dirname "$(command -v nvcc)")/..
. "$SOURCE/tests/programs/check.sh"

newer whole && { "$SOURCE/tests/support/nvcc" -O2 -rdc=true -arch=sm_80 -o whole "$src/a.cu" "$src/b.cu" || die whole; }
check whole 0 '0 failures' ./whole

# In steps: -dc, -dlink, and the host's compiler links; the runtime is the shared one.
if newer steps; then
    arch='-gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90,code=compute_90'
    "$SOURCE/tests/support/nvcc" -O2 $arch -dc -o a.o "$src/a.cu" && "$SOURCE/tests/support/nvcc" -O2 $arch -dc -o b.o "$src/b.cu" &&
        "$SOURCE/tests/support/nvcc" $arch -dlink -o linked.o a.o b.o &&
        g++ -o steps a.o b.o linked.o -L"$cuda/lib64" -lcudart -Wl,-rpath,"$cuda/lib64" || die steps
fi
check steps 0 '0 failures' ./steps

# One unit in a static library.
if newer library; then
    "$SOURCE/tests/support/nvcc" -arch=sm_80 -lib -o libb.a b.o && "$SOURCE/tests/support/nvcc" -arch=sm_80 -o library a.o -L. -lb || die library
fi
check library 0 '0 failures' ./library

# A shared library and the program, each linked for itself, with the same names in both. (nvcc's own names are global
# and equal too: the library has to bind its own.)
if newer two; then
    "$SOURCE/tests/support/nvcc" -O2 -rdc=true -arch=sm_80 -Xcompiler -fPIC -shared -Xlinker -Bsymbolic -Dmain=library_main -o libboth.so "$src/a.cu" "$src/b.cu" &&
        printf '#include <cstdio>\n#include "%s/a.cu"\nint library_main(); struct m { ~m() { library_main(); } } after;\n' \
            "$src" >two.cu &&
        "$SOURCE/tests/support/nvcc" -O2 -rdc=true -arch=sm_80 -I"$src" -o two two.cu "$src/b.cu" -L. -lboth -Xlinker -rpath='$ORIGIN' || die two
fi
check two 0 '0 failures
0 failures' ./two

# Machine code alone.
newer refused && { "$SOURCE/tests/support/nvcc" -gencode arch=compute_80,code=sm_80 -o refused "$src/refused.cu" || die refused; }
newer refused-rdc && { "$SOURCE/tests/support/nvcc" -gencode arch=compute_80,code=sm_80 -rdc=true -o refused-rdc "$src/refused.cu" || die refused-rdc; }
nothing='malloc: cudaSuccess
first launch: cudaErrorNoKernelImageForDevice
second launch: cudaErrorNoKernelImageForDevice
synchronize: cudaSuccess
memset: cudaSuccess'
message='no PTX.*machine code sm_80.*-gencode' check machine-code 0 "$nothing" ./refused
message='no PTX.*machine code sm_80.*-gencode' check machine-code-rdc 0 "$nothing" ./refused-rdc
message='kernel bad: undefined symbol not_defined_anywhere' check undefined 0 'malloc: cudaSuccess
load: cudaSuccess
kernel: cudaSuccess
kernel: cudaSuccess
good: cudaSuccess
bad: cudaErrorInvalidPtx
unload: cudaSuccess
synchronize: cudaSuccess
memset: cudaSuccess' ./refused text

# A unit without PTX beside one that has it: a kernel of the one is refused, with the reason.
if newer partly; then
    "$SOURCE/tests/support/nvcc" -gencode arch=compute_80,code=sm_80 -dc -o refused.o "$src/refused.cu" && "$SOURCE/tests/support/nvcc" -arch=sm_80 -dc -Dmain=other_main -o nested.o "$src/nested.cu" &&
        "$SOURCE/tests/support/nvcc" -arch=sm_80 -o partly refused.o nested.o || die partly
fi
message='no such kernel in its module.*unit 1 of its program: no PTX.*-gencode' check partly 0 "$nothing" ./partly

# CUDA's device runtime is such a unit: what is here of it is Weir's (tests/programs/nested), the rest is refused by name.
newer nested && { "$SOURCE/tests/support/nvcc" -rdc=true -arch=sm_80 -o nested "$src/nested.cu" || die nested; }
message="relaunchP.*: kernel calls CUDA's runtime on the device: cudaGraphLaunch" check nested 0 'parent: cudaSuccess
value 5
ask: cudaSuccess
value 1
relaunch: cudaErrorNotSupported' ./nested

# Debug builds have all shared memory at module scope: a kernel has its own.
newer debug && { "$SOURCE/tests/support/nvcc" -G -rdc=true -arch=sm_80 -o debug "$src/shared.cu" || die debug; }
check debug 0 'shared: 32768 32768 256, 0 bad' ./debug

# As CMake does it.
if cmake --version >/dev/null 2>&1; then
    if newer cmake/program; then
        mkdir -p cmake-source && cat >cmake-source/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(separable LANGUAGES CXX CUDA)
set(CMAKE_CUDA_ARCHITECTURES 80)
add_library(b STATIC $src/b.cu)
add_executable(program $src/a.cu)
set_target_properties(b program PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_link_libraries(program PRIVATE b)
END
        { cmake -S cmake-source -B cmake && cmake --build cmake; } >cmake.log 2>&1 || { cat cmake.log; die cmake; }
    fi
    check cmake 0 '0 failures' cmake/program
fi
rm -f err
exit $failed
