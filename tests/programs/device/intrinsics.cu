/* Intrinsics as headers make instructions of them: cache operations and properties, address spaces,
 * warps, SIMD within a register, 128-bit integers; and parts of the standard library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <cuda/annotated_ptr>
#include <cuda/std/array>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/complex>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/span>
#include <cuComplex.h>
#define KERNEL(n, ...) __global__ void n(__VA_ARGS__)
KERNEL(caches, const int *in, int *out)
{
    int t = threadIdx.x;
    int a = __ldg(in + t) + __ldca(in + t) + __ldcg(in + t) + __ldcs(in + t) + __ldlu(in + t) +
            __ldcv(in + t);
    int4 v = __ldg((const int4 *)in + t / 4);
    int2 w = __ldcs((const int2 *)in + t / 2);
    __stwb(out + t, a);
    __stcg(out + 64 + t, v.x + v.y + v.z + v.w);
    __stcs(out + 128 + t, w.x - w.y);
    __stwt(out + 192 + t, 7);
    short s = __ldg((const short *)in + t);
    double d = __ldcg((const double *)in + t);
    out[256 + t] = s;
    out[320 + t] = (int)(d == d);
}
KERNEL(properties, int *in, int *out)
{
    int t = threadIdx.x;
    cuda::annotated_ptr<const int, cuda::access_property::streaming> a(in);
    cuda::annotated_ptr<int, cuda::access_property::persisting> b(out);
    b[t] = a[t] + 1;
    int *g = cuda::associate_access_property(in, cuda::access_property::global{});
    cuda::access_property p(in, 1024, 4096, cuda::access_property::persisting{},
                            cuda::access_property::streaming{});
    cuda::annotated_ptr<int, cuda::access_property> c(in, p);
    b[64 + t] = c[t] + g[t];
    cuda::access_property q(cuda::access_property::persisting{}, 0.5f);
    cuda::annotated_ptr<int, cuda::access_property> e(in, q);
    b[128 + t] = e[t];
    cuda::apply_access_property((volatile void *)in, 256, cuda::access_property::persisting{});
    if (t == 0)
        cuda::discard_memory((volatile void *)(out + 1024), 128);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
    asm volatile("prefetch.L1 [%0];" ::"l"(in));
}
__constant__ int cst[4] = {1, 2, 3, 4};
KERNEL(spaces, int *out, const __grid_constant__ int4 param)
{
    __shared__ int s[4];
    int l[4] = {(int)threadIdx.x, 1, 2, 3};
    int t = threadIdx.x;
    volatile int *vl = l;
    s[t % 4] = vl[t % 4];
    out[t * 8] = __isGlobal(out) + 2 * __isShared(s) + 4 * __isLocal((void *)vl) +
                 8 * __isConstant(cst) + 16 * __isGridConstant(&param);
    out[t * 8 + 1] = __isGlobal(s) + 2 * __isShared(out) + 4 * __isLocal(out) +
                     8 * __isConstant(out) + 16 * __isGridConstant(out);
    unsigned sh = (unsigned)__cvta_generic_to_shared(s);
    int *back = (int *)__cvta_shared_to_generic(sh);
    out[t * 8 + 2] = back == s;
    out[t * 8 + 3] = *(int *)__cvta_global_to_generic(__cvta_generic_to_global(&out[t * 8 + 2]));
    out[t * 8 + 4] = *(int *)__cvta_constant_to_generic(__cvta_generic_to_constant(&cst[t % 4]));
    out[t * 8 + 5] = *(int *)__cvta_local_to_generic(__cvta_generic_to_local((void *)&l[1]));
    out[t * 8 + 6] = ((const int *)__cvta_grid_constant_to_generic(
        __cvta_generic_to_grid_constant(&param)))[t % 4];
}
KERNEL(warps, int *out)
{
    int t = threadIdx.x;
    out[t * 16] = __reduce_add_sync(~0u, t);
    out[t * 16 + 1] = __reduce_min_sync(~0u, -t);
    out[t * 16 + 2] = __reduce_max_sync(~0u, t * 3 % 32);
    out[t * 16 + 3] = __reduce_and_sync(~0u, t | 64);
    out[t * 16 + 4] = __reduce_or_sync(~0u, t);
    out[t * 16 + 5] = __reduce_xor_sync(~0u, t * t);
    out[t * 16 + 6] = __match_any_sync(~0u, t % 5);
    int p;
    out[t * 16 + 7] = __match_all_sync(~0u, 5, &p) + p;
    out[t * 16 + 8] = __activemask();
    out[t * 16 + 9] = __fns(0x11110000u, 0, t % 5);
    out[t * 16 + 10] = __syncthreads_count(t % 3 == 0);
    out[t * 16 + 11] = __syncthreads_and(t >= 0) + 2 * __syncthreads_or(t == 40);
    out[t * 16 + 12] = __shfl_sync(~0u, t, 33);
    out[t * 16 + 13] = (int)__shfl_xor_sync(~0u, (double)t, 1);
    out[t * 16 + 14] = __ballot_sync(~0u, t & 1);
    out[t * 16 + 15] = (int)__shfl_down_sync(~0u, (long long)t << 33 >> 33, 2, 8);
}
KERNEL(simd, const unsigned *in, unsigned *out)
{
    int t = threadIdx.x;
    unsigned a = in[t], b = in[t + 1], r = 0;
    r += __vadd4(a, b);
    r = r * 31 + __vsub2(a, b);
    r = r * 31 + __vaddss4(a, b);
    r = r * 31 + __vaddus2(a, b);
    r = r * 31 + __vsubss2(a, b);
    r = r * 31 + __vavgu4(a, b);
    r = r * 31 + __vavgs2(a, b);
    r = r * 31 + __vabsdiffs4(a, b);
    r = r * 31 + __vabs4(a);
    r = r * 31 + __vcmpeq4(a, b);
    r = r * 31 + __vcmpgts2(a, b);
    r = r * 31 + __vmaxs4(a, b);
    r = r * 31 + __vminu2(a, b);
    r = r * 31 + __vsetltu4(a, b);
    r = r * 31 + __vneg4(a);
    r = r * 31 + __vsadu4(a, b);
    r = r * 31 + __vhaddu4(a, b);
    r = r * 31 + __viaddmax_s32_relu(a, b, 5);
    r = r * 31 + __vimax3_s16x2(a, b, 77);
    bool which;
    r = r * 31 + __vibmax_s32(a, b, &which) + which;
    out[t] = r;
    int d = __dp4a((int)a, (int)b, 3) + __dp2a_lo((int)a, (int)b, 4) +
            __dp2a_hi((unsigned)a, (unsigned)b, 5u);
    out[64 + t] =
        d + __funnelshift_lc(a, b, t) + __funnelshift_rc(a, b, t) + __funnelshift_r(a, b, t + 20) +
        __byte_perm(a, b, 0x5140 + t % 8) + __brev(a) + __clzll(((long long)a << 32) | b) +
        __ffsll(b) + __popcll(((long long)a << 32) | b) + __umulhi(a, b) +
        (unsigned)__mul64hi((long long)a << 30, (long long)b << 20) + __uhadd(a, b) +
        __urhadd(a, b) + __rhadd((int)a, (int)b) + __sad((int)a, (int)b, 1u) + __usad(a, b, 2u);
    unsigned v;
    asm("vadd.s32.u32.s32.sat.max %0, %1.b1, %2.h1, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(7));
    out[128 + t] = v;
}
KERNEL(wide, const unsigned long long *in, unsigned long long *out)
{
    int t = threadIdx.x;
    unsigned __int128 a = ((unsigned __int128)in[t] << 64) | in[t + 1],
                      b = ((unsigned __int128)in[t + 2] << 64 >> 60) | 3;
    auto q = a / b, r = a % b, m = a * b;
    __int128 s = (__int128)a >> 70;
    out[t * 4] = (unsigned long long)q ^ (unsigned long long)(q >> 64);
    out[t * 4 + 1] = (unsigned long long)r ^ (unsigned long long)(r >> 64);
    out[t * 4 + 2] = (unsigned long long)m ^ (unsigned long long)(m >> 64);
    out[t * 4 + 3] = (unsigned long long)s;
}
KERNEL(stdlib, float *out)
{
    int t = threadIdx.x;
    cuda::std::array<int, 4> a{{1, 2, 3, t}};
    cuda::std::optional<int> o;
    if (t & 1)
        o = t;
    auto tp = cuda::std::make_tuple(t, 2.5f, 'c');
    cuda::std::complex<float> z(t, 1), w = z * z + cuda::std::conj(z);
    cuFloatComplex c = cuCmulf(make_cuFloatComplex(t, 2), make_cuFloatComplex(1, -1));
    cuda::std::span<int, 4> sp(a);
    int s = 0;
    for (int x : sp)
        s += x;
    out[t * 6] = s + o.value_or(-1);
    out[t * 6 + 1] = cuda::std::get<1>(tp) + cuda::std::get<0>(tp);
    out[t * 6 + 2] = w.real();
    out[t * 6 + 3] = w.imag();
    out[t * 6 + 4] = cuCrealf(c) * 100 + cuCimagf(c);
    out[t * 6 + 5] = cuda::std::bit_cast<float>(0x3f800000 + t) + cuda::std::popcount((unsigned)t) +
                     cuda::std::countl_zero((unsigned)t | 1);
}
int main()
{
    int *in = mem<int>(4096), *out = mem<int>(8192);
    for (int i = 0; i < 4096; i++)
        in[i] = (i * 2654435761u) >> 3;
    caches<<<1, 64>>>(in, out);
    SYNC();
    for (int t = 0; t < 64; t++) {
        OK(out[t] == (int)(6u * (unsigned)in[t]));
        OK(out[192 + t] == 7);
        OK(out[256 + t] == ((short *)in)[t]);
    }
    properties<<<1, 64>>>(in, out);
    SYNC();
    for (int t = 0; t < 64; t++) {
        OK(out[t] == in[t] + 1);
        OK(out[64 + t] == in[t] + in[t]);
        OK(out[128 + t] == in[t]);
    }
    spaces<<<1, 32>>>(out, make_int4(9, 8, 7, 6));
    SYNC();
    for (int t = 0; t < 32; t++) {
        OK(out[t * 8] == 31);
        OK(out[t * 8 + 1] == 0);
        OK(out[t * 8 + 2] == 1 && out[t * 8 + 3] == 1);
        OK(out[t * 8 + 4] == t % 4 + 1);
        OK(out[t * 8 + 5] == 1);
        OK(out[t * 8 + 6] == 9 - t % 4);
    }
    warps<<<1, 64>>>(out);
    SYNC();
    for (int t = 0; t < 64; t++) {
        int *o = out + t * 16, b = t & ~31, s = 0, x = 0, ba = 0, m = 0;
        for (int k = b; k < b + 32; k++) {
            s += k;
            x ^= k * k;
            m |= (k % 5 == t % 5) << (k & 31);
            ba |= (k & 1) << (k & 31);
        }
        OK(o[0] == s && o[1] == -(b + 31) && o[4] == (b | 31) && o[5] == x && o[6] == m &&
           o[7] == 0 && o[8] == -1 && o[10] == 22 && o[11] == 3 && o[12] == b + 1 &&
           o[13] == (t ^ 1) && o[14] == ba);
        OK(o[9] == (t % 5 == 0 ? -1 : 12 + 4 * (t % 5)));
        OK(o[15] == (t % 8 < 6 ? t + 2 : t));
    }
    simd<<<1, 64>>>((unsigned *)in, (unsigned *)out);
    SYNC();
    for (int t = 0; t < 64; t++) {
        unsigned a = in[t], b = in[t + 1];
        long long v = (long long)(a >> 8 & 255) + (short)(b >> 16);
        OK(out[128 + t] == (v > 7 ? v : 7));
    }
    unsigned long long *wi = mem<unsigned long long>(128), *wo = mem<unsigned long long>(512);
    for (int i = 0; i < 128; i++)
        wi[i] = i * 0x9e3779b97f4a7c15ull;
    wide<<<1, 64>>>(wi, wo);
    SYNC();
    for (int t = 0; t < 64; t++) {
        unsigned __int128 a = ((unsigned __int128)wi[t] << 64) | wi[t + 1],
                          b = ((unsigned __int128)wi[t + 2] << 64 >> 60) | 3;
        auto q = a / b, r = a % b, m = a * b;
        OK(wo[t * 4] == ((unsigned long long)q ^ (unsigned long long)(q >> 64)));
        OK(wo[t * 4 + 1] == ((unsigned long long)r ^ (unsigned long long)(r >> 64)));
        OK(wo[t * 4 + 2] == ((unsigned long long)m ^ (unsigned long long)(m >> 64)));
        OK(wo[t * 4 + 3] == (unsigned long long)((__int128)a >> 70));
    }
    float *f = mem<float>(512);
    stdlib<<<1, 64>>>(f);
    SYNC();
    for (int t = 0; t < 64; t++) {
        OK(f[t * 6] == 6 + t + (t & 1 ? t : -1));
        OK(f[t * 6 + 1] == t + 2.5f);
        OK(f[t * 6 + 2] == t * t - 1.f + t);
        OK(f[t * 6 + 3] == 2.f * t - 1);
        OK(f[t * 6 + 4] == (t + 2.f) * 100 + (2.f - t));
    }
    return done("intrinsics");
}
