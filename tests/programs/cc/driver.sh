#!/bin/sh
# The driver weir cc by itself, without running anything: what it makes of options, and what it refuses by name.
# SPDX-License-Identifier: Apache-2.0
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
fail() { echo "driver: $*"; bad=1; }
# expect TEXT COMMAND...: the command fails and says TEXT; accept: it succeeds.
expect() {
    text=$1
    shift
    if "$@" >out 2>&1; then fail "succeeded: $*"; fi
    grep -qF -- "$text" out || { fail "\"$text\" not said by: $*"; cat out; }
}
accept() { "$@" >out 2>&1 || { fail "failed: $*"; cat out; }; }
has() { grep -qE -- "$1" "$2" || { fail "no \"$1\" in $2"; }; }

cat >k.cu <<'END'
__constant__ float factor;
__global__ void k(float *p) { extern __shared__ float s[]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads();
    p[threadIdx.x] = sinf(s[0]) * factor; }
int main() { k<<<1, 32, 128>>>(nullptr); return cudaDeviceSynchronize(); }
END
accept "$WEIR" cc --version
accept "$WEIR" cc -ptx k.cu
has '^\.target sm_89' k.ptx
has '^\.version 7\.8' k.ptx
has '\.visible \.entry _Z1kPf' k.ptx
accept "$WEIR" cc -ptx -arch=sm_70 -lineinfo k.cu -o l.ptx
has '^\.target sm_70' l.ptx
has '\.loc' l.ptx
accept "$WEIR" cc -c -O2 -g -std=c++17 -Xcompiler -Wall,-Wextra,-Werror -I. -DX=1 k.cu -o k.o
nm -u k.o >names
has 'cudaLaunchKernel$' names
has '__cudaRegisterFatBinary$' names
accept "$WEIR" cc -c --default-stream per-thread -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 k.cu
nm -u k.o >names
has 'cudaLaunchKernel_ptsz$' names
printf '#include <cuda_runtime.h>\nint main(void) { return cudaStreamQuery(0); }\n' >c.c
accept "$WEIR" cc -c --default-stream=per-thread -std=c17 c.c
nm -u c.o >names
has 'cudaStreamQuery_ptsz$' names
accept "$WEIR" cc --dryrun -shared -fPIC k.cu c.c -L. -lm -lcudart -Xptxas -v -o lib.so
has '/weir/cuda/lib64 .* -lm -lcudart -o lib.so' out
[ "$(grep -o -- ' -lcudart' out | wc -l)" = 1 ] || fail '-lcudart is passed on'

cat >g.cu <<'END'
#define NOW(x) asm volatile("mov.u64 %0, %globaltimer;" : "=l"(x))
__global__ void k(unsigned long long *p) { unsigned a; NOW(*p); asm volatile("mov.u32 %0, %%smid;" : "=r"(a)); *p += a;
    asm volatile("exit;"); }
int main() { const char *s = R"(asm("%lane" : ))"; return s[0] + '"'; }
END
accept "$WEIR" cc -ptx g.cu
has 'mov\.u64 .*%globaltimer' g.ptx
has 'mov\.u32 .*%smid' g.ptx
accept "$WEIR" cc -c -MD -MF g.d g.cu -o g.o
has '^g\.o: g\.cu' g.d
accept "$WEIR" cc -c -MD -MF k.d k.cu -o k.o
has '^k\.o: k\.cu' k.d

accept "$WEIR" cc -fatbin -arch=sm_80 k.cu
[ "$(od -An -tx4 -N4 k.fatbin | tr -d ' ')" = ba55ed50 ] || fail 'k.fatbin is no fat binary'
# dependencies, in the ways of make, ninja and CMake
printf '#include "inner.h"\n__global__ void k(int *p) { *p = INNER; }\nint main() {}\n' >d.cu
mkdir -p inc out.d && echo '#define INNER 3' >inc/inner.h
accept "$WEIR" cc -M -I inc d.cu
has '^d\.o: d\.cu' out
has 'inc/inner\.h' out
accept "$WEIR" cc -MM -I inc -MT name -o d.mm d.cu
has '^name: d\.cu' d.mm
accept "$WEIR" cc -forward-unknown-to-host-compiler -I inc -x cu -c d.cu -MD -MT sub/d.cu.o -MF x.d -o out.d/d.o
has '^sub/d\.cu\.o:' x.d
[ "$(grep -c : x.d)" = 1 ] || fail 'a second target in x.d'
accept "$WEIR" cc -isystem inc -odir out.d -dc -MD d.cu
has 'inc/inner\.h' out.d/d.d
accept "$WEIR" cc -E -I inc d.cu -o d.ii
has 'p = 3;' d.ii
# words from files and from the environment
echo '-I inc "-DA=1 2" -c' >words
accept "$WEIR" cc @words d.cu -o r.o
accept "$WEIR" cc --options-file words --dryrun d.cu
has "'-DA=1 2'" out
accept env NVCC_PREPEND_FLAGS=-Iinc NVCC_APPEND_FLAGS='-DLAST -c' "$WEIR" cc --dryrun d.cu
has ' -DLAST ' out
accept "$WEIR" cc -I inc d.cu -c -o r.o -Xptxas=-v,-O3 -Xcudafe --display_error_number -maxrregcount=32 -t4 --threads 2 -m64 \
    -cudart=static --expt-relaxed-constexpr -extended-lambda -lineinfo -res-usage -Werror all-warnings -ccbin /usr/bin/g++ -O2 \
    -gencode 'arch=compute_86,code=[compute_86,sm_86]' -std=c++20 --diag-suppress=177 -w -noprof -Xfatbin -compress-all
accept "$WEIR" cc -ptx -I inc -arch=sm_52 d.cu
has 'sm_52 is compiled as compute_60' out
echo '__global__ void k(float *p) { p[0] = p[1] / p[2]; }' >q.cu
accept "$WEIR" cc -ptx q.cu
has 'div\.rn\.f32' q.ptx
accept "$WEIR" cc -ptx -prec-div=false -ftz=true q.cu
has 'div\.full\.ftz\.f32' q.ptx
accept "$WEIR" cc -ptx --use_fast_math q.cu
has 'div\.approx\.ftz\.f32' q.ptx
# managed variables in text whose values and blocks have names
accept "$WEIR" cc -c -g -Xcompiler -fsanitize=address "$SOURCE/tests/programs/cc/managed.cu" -o m.o
# messages speak of the user's file, and of no header of ours
printf '__global__ void k(int *p) {\n    *p = min(*p, "x");\n    undeclared(__shfl_sync(1, "a", 2));\n}\n' >e.cu
expect 'e.cu:2:10: error: no matching function' "$WEIR" cc -c e.cu
if grep -qE 'weir_|__clang|/include/' out; then fail 'internal lines in a message'; cat out; fi

expect 'nofile.cu: there is no such file' "$WEIR" cc -c nofile.cu
expect 'no input files' "$WEIR" cc
expect 'option -cubin is not supported' "$WEIR" cc -cubin k.cu
expect 'unknown option -Zz' "$WEIR" cc -Zz k.cu
expect 'there are sm_50 to sm_121' "$WEIR" cc -arch=sm_20 k.cu
expect 'needs a value' "$WEIR" cc k.cu -o
expect 'several files' "$WEIR" cc -c k.cu c.c -o x.o
echo '__managed__ int m; int *p = &m; int main() {}' >m.cu
expect 'managed variable m is not a constant' "$WEIR" cc -c m.cu
echo '__device__ int f(int); __global__ void k(int *p) { *p = f(*p); }' >f.cu
expect 'which is not defined here' "$WEIR" cc -c f.cu
echo '#include <thrust/sort.h>' >s.cu
expect 'weir cc has no Thrust' "$WEIR" cc -c s.cu
echo '#include <cuda/std/array>' >s.cu
expect 'weir cc has no <cuda/...> and <cuda/std/...> headers' "$WEIR" cc -c s.cu
[ $bad = 0 ] && echo 'driver: right'
exit $bad
