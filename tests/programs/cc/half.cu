// cuda_fp16.h and cuda_bf16.h: each device operation against the host's, which computes in integers and float; conversions
// in all rounding modes, comparison, pairs, operators, shuffles and atomics.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { COUNT = 1 << 14, RESULTS = 24 };

struct half_names {
    typedef __half one;
    typedef __half2 two;
    static __host__ __device__ one from(float f, int mode)
    {
        return mode == 0   ? __float2half_rn(f)
               : mode == 1 ? __float2half_rz(f)
               : mode == 2 ? __float2half_rd(f)
                           : __float2half_ru(f);
    }
    static __host__ __device__ one from_double(double d) { return __double2half(d); }
    static __host__ __device__ one of(unsigned short b) { return __ushort_as_half(b); }
    static __host__ __device__ int to_int(one h) { return __half2int_rn(h) + 3 * __half2int_rd(h); }
    static __host__ __device__ one from_int(int v) { return __int2half_rn(v); }
};
struct bfloat_names {
    typedef __nv_bfloat16 one;
    typedef __nv_bfloat162 two;
    static __host__ __device__ one from(float f, int mode)
    {
        return mode == 0   ? __float2bfloat16_rn(f)
               : mode == 1 ? __float2bfloat16_rz(f)
               : mode == 2 ? __float2bfloat16_rd(f)
                           : __float2bfloat16_ru(f);
    }
    static __host__ __device__ one from_double(double d) { return __double2bfloat16(d); }
    static __host__ __device__ one of(unsigned short b) { return __ushort_as_bfloat16(b); }
    static __host__ __device__ int to_int(one h)
    {
        return __bfloat162int_rn(h) / 4 + __bfloat162int_rd(h) / 2;
    }
    static __host__ __device__ one from_int(int v) { return __int2bfloat16_rn(v); }
};

/* Everything that one thread computes from three numbers and a float. */
template <class N> static __host__ __device__ void compute(unsigned short *r, unsigned int *in, int i)
{
    typedef typename N::one one;
    typedef typename N::two two;
    const one a = N::of((unsigned short)in[i]), b = N::of((unsigned short)(in[i] >> 16)),
              c = N::of((unsigned short)in[COUNT + i]);
    float f;
    memcpy(&f, &in[COUNT + i], sizeof f);
    two p, q, s;
    p.x = a, p.y = b, q.x = b, q.y = c, s.x = c, s.y = a;
    int k = 0;
    r[k++] = __hadd(a, b).__x;
    r[k++] = __hsub(a, b).__x;
    r[k++] = __hmul(a, b).__x;
    r[k++] = __hdiv(a, b).__x;
    r[k++] = __hfma(a, b, c).__x;
    r[k++] = __hadd_sat(a, b).__x;
    r[k++] = (a + b * c - __habs(-a)).__x;
    r[k++] = __hadd2(p, q).y.__x;
    r[k++] = (p * q).x.__x;
    r[k++] = __hfma2(p, q, s).y.__x;
    r[k++] = __h2div(p, q).x.__x;
    for (int mode = 0; mode < 4; mode++)
        r[k++] = f != f ? 0 : N::from(f, mode).__x;
    r[k++] = f != f ? 0 : N::from_double((double)f * 1.0000001).__x;
    r[k++] = (unsigned short)N::to_int(a);
    r[k++] = N::from_int((int)in[i]).__x;
    r[k++] = (unsigned short)(__hlt(a, b) | __hltu(a, b) << 1 | __hne(a, b) << 2 | (a == b) << 3 |
                              __hbge2(p, q) << 4 | __hisnan(c) << 5 | (__hisinf(c) + 1) << 6);
    r[k++] = __heq2(p, q).x.__x;
    r[k++] = __hmax(a, b).__x;
    r[k++] = __hmin_nan(a, c).__x;
    r[k++] = (unsigned short)__hgt2_mask(p, q);
    r[k++] = __hcmadd(p, q, s).x.__x;
}

template <class N> __global__ void run(unsigned int *in, unsigned short *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    compute<N>(out + i * RESULTS, in, i);
}

template <class N> __global__ void together(typename N::one *sum, typename N::two *pair, int *good)
{
    const typename N::one one = (float)(threadIdx.x & 3);
    typename N::two two;
    two.x = one, two.y = 1.0f;
    atomicAdd(sum, one);
    atomicAdd(pair, two);
    *good &= (float)__shfl_xor_sync(~0u, one, 1) == (float)((threadIdx.x ^ 1) & 3) &&
             (float)__shfl_sync(~0u, two, 2).x == 2.0f && (float)hsqrt(typename N::one(4.0f)) == 2.0f &&
             (float)h2exp2(two).y == 2.0f && (float)hfloor(typename N::one(-1.5f)) == -2.0f;
}

static bool is_nan(const char *kind, unsigned short v)
{
    return (v & 0x7fff) > (kind[0] == 'h' ? 0x7c00 : 0x7f80);
}

template <class N> static bool check(const char *kind)
{
    unsigned int *in, seed = 7;
    unsigned short *out, want[RESULTS];
    int *good, wrong = 0;
    typename N::one *sum;
    typename N::two *pair;
    static const unsigned short special[] = {0, 0x8000, 0x3c00, 0x3f80, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 1, 0x8001, 0x7bff, 0x7f7f, 0x0400, 0x03ff, 0x0080};
    cudaMallocManaged(&in, 2 * COUNT * sizeof *in);
    cudaMallocManaged(&out, COUNT * RESULTS * sizeof *out);
    cudaMallocManaged(&good, sizeof *good);
    cudaMallocManaged(&sum, sizeof *sum);
    cudaMallocManaged(&pair, sizeof *pair);
    for (int i = 0; i < 2 * COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        in[i] = seed ^ seed >> 13;
        if (i % 3 == 0) /* near each other */
            in[i] = (in[i] & 0x83ff83ffu) | 0x38003c00u;
        if (i < 256)
            in[i] = special[i % 16] | (unsigned)special[i / 16] << 16;
    }
    memset(out, 0, COUNT * RESULTS * sizeof *out);
    run<N><<<COUNT / 128, 128>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        printf("%s: %s\n", kind, cudaGetErrorString(cudaGetLastError())), wrong++;
    for (int i = 0; i < COUNT; i++) {
        memset(want, 0, sizeof want);
        compute<N>(want, in, i);
        for (int k = 0; k < RESULTS; k++)
            if (out[i * RESULTS + k] != want[k] && !(is_nan(kind, want[k]) && is_nan(kind, out[i * RESULTS + k])) &&
                wrong++ < 5)
                printf("%s: result %d of %08x %08x: %04x, not %04x\n", kind, k, in[i], in[COUNT + i],
                       out[i * RESULTS + k], want[k]);
    }
    *good = 1;
    *sum = 0.0f;
    pair->x = 0.0f, pair->y = 0.0f;
    together<N><<<1, 32>>>(sum, pair, good);
    cudaDeviceSynchronize();
    if (!*good || (float)*sum != 48.0f || (float)pair->x != 48.0f || (float)pair->y != 32.0f)
        printf("%s: together %d %g %g %g\n", kind, *good, (float)*sum, (float)pair->x, (float)pair->y), wrong++;
    return wrong == 0;
}

int main()
{
    const bool half_good = check<half_names>("half"), bfloat_good = check<bfloat_names>("bfloat16");
    printf("RESULT %s\n", half_good && bfloat_good ? "PASS" : "FAIL");
}
