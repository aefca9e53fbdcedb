// Our own kernels for the parser's test: what compilers make of ordinary CUDA, in many shapes.
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

__constant__ float weights[16] = {1, 2, 3};
__device__ int counter = 3;
__device__ int *counter_at = &counter;
__managed__ int shared_with_host = 7;
struct __attribute__((packed)) odd {
    char c;
    int *p;
};
__device__ odd packed = {1, &counter};

typedef float (*unary)(float);
__device__ __noinline__ float plus_one(float x) { return x + 1; }
__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ unary table[2] = {plus_one, twice};

__global__ void atomics(int *i, unsigned long long *u, float *f, double *d)
{
    __shared__ int s[32];
    s[threadIdx.x & 31] = i[0];
    __syncthreads();
    i[1] = atomicAdd(i, 1) + atomicCAS(i, 1, 2) + atomicExch(&s[3], 4) + atomicMax(i + 2, -1) + atomicMin(i + 3, 9);
    atomicInc((unsigned *)i + 4, 10);
    atomicDec((unsigned *)i + 5, 10);
    atomicAnd(i + 6, 3);
    atomicOr(i + 7, 3);
    atomicXor(i + 8, 3);
    u[0] = atomicAdd(u, 5ull) + atomicMax(u + 1, 7ull) + atomicCAS(u + 2, 1ull, 2ull);
    atomicAdd(f, 1.0f);
    atomicAdd(d, 1.0);
    atomicAdd_block(i + 9, 1);
    atomicAdd_system(i + 10, 1);
    __threadfence();
    __threadfence_system();
    __threadfence_block();
}

__global__ void warps(int *o)
{
    unsigned mask = __activemask();
    int v = o[threadIdx.x];
    v += __shfl_xor_sync(mask, v, 16) + __shfl_up_sync(mask, v, 1) + __shfl_down_sync(mask, v, 2) + __shfl_sync(mask, v, 3);
    v += __ballot_sync(mask, v > 3) + __any_sync(mask, v) + __all_sync(mask, v);
    v += __match_any_sync(mask, v) + __popc(v) + __clz(v) + __ffs(v) + __brev(v) + __byte_perm(v, v, 0x1234);
#if __CUDA_ARCH__ >= 800
    v += __reduce_add_sync(mask, v);
#endif
    v += __funnelshift_l(v, v, 3) + __dp4a(v, v, v) + __sad(v, 2, 3) + __mulhi(v, 5);
    __syncwarp(mask);
    v += __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
    o[threadIdx.x] = v + (int)clock64() + (int)clock();
}

__global__ void groups(int *o)
{
    extern __shared__ int dynamic[];
    cg::thread_block b = cg::this_thread_block();
    cg::thread_block_tile<32> t = cg::tiled_partition<32>(b);
    dynamic[b.thread_rank()] = o[b.thread_rank()];
    b.sync();
    o[b.thread_rank()] = cg::reduce(t, dynamic[b.size() - 1 - b.thread_rank()], cg::plus<int>());
    cg::this_grid().sync();
    cg::coalesced_group c = cg::coalesced_threads();
    o[0] = (int)c.size();
}

__global__ void choose(int *o, int n)
{
    int v = o[threadIdx.x];
    switch (n) {
    case 0: v += 1; break;
    case 1: v *= 7; break;
    case 2: v ^= 9; break;
    case 3: v -= 99; break;
    case 4: v /= 3; break;
    case 5: v <<= 3; break;
    case 6: v = ~v; break;
    case 7: v %= 5; break;
    default: v = -v;
    }
    o[threadIdx.x] = v;
}

__global__ void math(double *d, float *f, long long *l)
{
    d[0] = sin(d[1]) + pow(d[2], d[3]) + sqrt(d[4]) / d[5] + fmod(d[6], d[7]) + exp(d[8]) + log(d[9]) + erf(d[10]);
    f[0] = sinf(f[1]) + __sinf(f[2]) + powf(f[3], f[4]) + __fdividef(f[5], f[6]) + rsqrtf(f[7]) + fmaf(f[1], f[2], f[3]);
    f[1] = __fadd_rz(f[0], 1.f) + __fmul_ru(f[2], 3.f) + __fdiv_rd(f[3], 5.f) + __expf(f[4]) + tanhf(f[5]);
    l[0] = (long long)d[11] + (int)f[8] + __double2uint_rz(d[12]) + l[1] / l[2] + l[3] % 10 + (l[4] >> 3);
    d[13] = (double)l[5] + (float)l[6] + __int2double_rn((int)l[7]) + __hiloint2double(3, 4);
}

__global__ void halves(__half *h, __half2 *h2, float *f)
{
    h[0] = __hadd(h[1], h[2]);
    h2[0] = __hfma2(h2[1], h2[2], h2[3]);
    f[0] = __half2float(h[3]);
    h[4] = __float2half(f[1]);
    h[5] = __int2half_rn((int)f[2]);
}

__global__ void print_it(int n, double d, const char *s)
{
    printf("%d %f %s\n", n, d, s);
    if (n < 0)
        __trap();
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void pointers(float *f, int n, float4 *v)
{
    f[0] = table[n & 1](f[1]) + weights[n & 15] + fibonacci(n) + *counter_at + *packed.p;
    float4 a = v[0];
    v[1] = make_float4(a.w, a.z, a.y, a.x);
    float local[20];
    for (int i = 0; i < 20; i++)
        local[i] = f[i * n];
    f[2] = local[n] + __ldg(f + 3) + atomicAdd(&shared_with_host, 1);
}

template <typename T, int N> __global__ void unrolled(T *o, const T *i)
{
    __shared__ T tile[N][N + 1];
    tile[threadIdx.y][threadIdx.x] = i[blockIdx.x * N + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++)
        o[k] += tile[k][threadIdx.x];
}
template __global__ void unrolled<float, 16>(float *, const float *);
template __global__ void unrolled<double, 8>(double *, const double *);
template __global__ void unrolled<unsigned char, 32>(unsigned char *, const unsigned char *);

__global__ void __launch_bounds__(256, 2) assembly(unsigned *o, unsigned *p)
{
    asm volatile("{\n\t.reg .pred q;\n\tLAB_WAIT:\n\tld.acquire.gpu.global.u32 %0, [%1];\n\tsetp.eq.u32 q, %0, 0;\n\t@q bra LAB_WAIT;\n\t}"
                 : "=r"(o[0]) : "l"(p) : "memory");
    asm volatile("{.reg .pred q; LAB_WAIT: setp.eq.u32 q, %0, 0; @q bra LAB_WAIT; /* again */ }" ::"r"(o[1]));
    asm("mov.u32 %0, %%laneid;" : "=r"(o[2])); // a special register
    asm("vadd.u32.u32.u32.sat %0, %1.b0, %1.h1;" : "=r"(o[3]) : "r"(o[4]));
}
