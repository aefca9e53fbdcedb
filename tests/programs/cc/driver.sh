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
has 'libcudart\.so\.13' out
has ' -lm ' out
if grep -q -- '-lcudart' out; then fail '-lcudart is passed on'; fi

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

expect 'no input files' "$WEIR" cc
expect '-rdc=true is not supported' "$WEIR" cc -rdc=true k.cu
expect 'unknown option -Zz' "$WEIR" cc -Zz k.cu
expect 'without suffix' "$WEIR" cc -arch=sm_90a k.cu
expect 'needs a value' "$WEIR" cc k.cu -o
expect 'several files' "$WEIR" cc -c k.cu c.c -o x.o
echo '__managed__ int m; int main() {}' >m.cu
expect 'does not support __managed__' "$WEIR" cc -c m.cu
echo '__device__ int f(int); __global__ void k(int *p) { *p = f(*p); }' >f.cu
expect 'which is not defined here' "$WEIR" cc -c f.cu
echo '__global__ void k(double *p) { *p = j0(*p); }' >j.cu
expect "calls j0, which Weir's device library does not have" "$WEIR" cc -c j.cu
[ $bad = 0 ] && echo 'driver: right'
exit $bad
