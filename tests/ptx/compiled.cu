// Kernels that nvcc compiles when the test runs (compiled.c): its output on the compiler library against the reference
// interpreter, bit for bit. All have one signature; each thread reads IN words and writes OUT words of its own.
// Names: x_ exact; f_ and d_ approximate, floats and doubles, compared with a tolerance.
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

#define IN  16
#define OUT 8
#define KERNEL(name) extern "C" __global__ void name(unsigned *o, const unsigned *in, unsigned n)
#define SELF                                                                                                          \
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;                                                               \
    const unsigned *i = in + (size_t)t * IN;                                                                          \
    o += (size_t)t * OUT;                                                                                             \
    (void)i;                                                                                                          \
    (void)n

static __device__ long long wide(unsigned lo, unsigned hi) { return (long long)((unsigned long long)hi << 32 | lo); }
static __device__ void put(unsigned *o, long long v) { o[0] = (unsigned)v, o[1] = (unsigned)(v >> 32); }
static __device__ void put(unsigned *o, double v) { put(o, __double_as_longlong(v)); }

KERNEL(x_integers)
{
    SELF;
    int a = (int)i[0], b = (int)i[1];
    o[0] = (unsigned)(a * b + (a >> (b & 31)));
    o[1] = b ? (unsigned)(a / b) : 0;
    o[2] = i[1] ? i[0] % i[1] : 0;
    o[3] = __umulhi(i[0], i[1]) ^ (unsigned)__mulhi(a, b);
    o[4] = __popc(i[2]) + __clz((int)i[3]) + __ffs((int)i[4]) + __brev(i[5]);
    o[5] = __byte_perm(i[0], i[1], i[2] & 0x7777) + __funnelshift_l(i[0], i[1], i[2]) + __funnelshift_rc(i[0], i[1], i[3]);
    o[6] = (unsigned)__dp4a(a, b, (int)i[2]) + __usad(i[0], i[1], i[2]) + (unsigned)__sad(a, b, 3u);
    o[7] = (unsigned)__mul24(a, b) + __umul24(i[2], i[3]) + (unsigned)abs(a) + (unsigned)min(a, b) + max(i[4], i[5]);
}

KERNEL(x_wide_integers)
{
    SELF;
    long long a = wide(i[0], i[1]), b = wide(i[2], i[3] & 0xffff);
    put(o, b ? a / b : a);
    put(o + 2, b ? (long long)((unsigned long long)a % (unsigned long long)b) : b);
    put(o + 4, __mul64hi(a, b) + (a << (i[4] & 63)) + (a >> (i[5] & 63)));
    put(o + 6, a * b + __popcll((unsigned long long)a) + __clzll(b) + (long long)__brevll((unsigned long long)a));
}

KERNEL(x_small_types)
{
    SELF;
    const unsigned char *c = (const unsigned char *)i;
    const short *s = (const short *)i;
    signed char x = (signed char)(c[0] + c[1] * c[2]);
    unsigned short y = (unsigned short)(s[2] * s[3]);
    char4 q = *(const char4 *)(i + 3);
    ushort2 u = *(const ushort2 *)(i + 4);
    o[0] = (unsigned)(int)x;
    o[1] = y;
    o[2] = (unsigned)(q.x * q.y - q.z + q.w);
    ((unsigned short *)o)[6] = (unsigned short)(u.x / (u.y | 1));
    ((short *)o)[7] = (short)(s[10] % (s[11] | 1));
    ((unsigned char *)o)[16] = (unsigned char)(c[30] >> (c[31] & 7));
    ((bool *)o)[17] = c[40] > c[41];
    ((char2 *)o)[9] = make_char2((char)-c[42], (char)~c[43]);
    o[5] = __vadd4(i[0], i[1]) ^ __vmaxs2(i[2], i[3]) ^ __vcmpgtu4(i[4], i[5]);
    o[6] = __vabsdiffs4(i[6], i[7]) ^ __vsubss2(i[8], i[9]) ^ __vavgu4(i[10], i[11]);
    o[7] = 0;
}

KERNEL(x_floats)
{
    SELF;
    float a = __uint_as_float(i[0]), b = __uint_as_float(i[1]), c = __uint_as_float(i[2]);
    o[0] = __float_as_uint(a * b + c) & 0x7fffffff;
    o[1] = __float_as_uint(__fadd_rz(a, b) + __fmul_ru(b, c) + __fmaf_rd(a, b, c)) & 0x7fffffff;
    o[2] = __float_as_uint(a / b) & 0x7fffffff;
    o[3] = __float_as_uint(sqrtf(fabsf(c))) + __float_as_uint(__fdiv_ru(b, c));
    o[4] = __float_as_uint(fminf(a, b) + fmaxf(b, c)) & 0x7fffffff;
    o[5] = (unsigned)__float2int_rn(a) + __float2uint_rz(b) + (unsigned)__float2int_ru(c) + (unsigned)(int)floorf(a);
    o[6] = __float_as_uint(__int2float_rd((int)i[3]) + __uint2float_rn(i[4])) + __float_as_uint(__saturatef(b));
    o[7] = (a < b) + 2 * (b >= c) + 4 * (a != c) + 8 * isnan(a) + 16 * isinf(b) + 32 * signbit(c);
}

KERNEL(x_doubles)
{
    SELF;
    double a = __longlong_as_double(wide(i[0], i[1])), b = __longlong_as_double(wide(i[2], i[3]));
    double c = __longlong_as_double(wide(i[4], i[5]));
    put(o, __dadd_ru(__dmul_rd(a, b), c) == 0 ? 0 : fma(a, b, c) > 1 ? 1 : -1ll);
    put(o + 2, isnan(a / b) ? 0.0 : a / b);
    put(o + 4, (long long)__double2ll_rn(a) + __double2int_rz(b) + (long long)__double2ull_ru(c));
    put(o + 6, __ll2double_rz(wide(i[6], i[7])) + (double)i[8] + (float)(int)i[9]);
}

KERNEL(x_halves)
{
    SELF;
    __half2 a = *(const __half2 *)i, b = *(const __half2 *)(i + 1), c = *(const __half2 *)(i + 2);
    __half2 r[5] = {__hadd2(a, b), __hfma2(a, b, c), __hmul2(a, c), __hmax2(a, b), __hneg2(c)};
    for (int k = 0; k < 5; k++)
        o[k] = *(unsigned *)&r[k];
    o[5] = __float_as_uint(__low2float(a) + __high2float(b));
    o[6] = __half_as_ushort(__float2half_rn(__uint_as_float(i[3]))) + __half_as_ushort(__int2half_rz((int)i[4] >> 12));
    o[7] = (unsigned)__hgt(__low2half(a), __low2half(b)) + 2 * (unsigned)__hbeq2(a, a);
}

KERNEL(x_switch)
{
    SELF;
    unsigned v = i[1];
    for (unsigned k = 0; k < (i[2] & 15); k++) {
        switch ((i[0] + k) % 9) {
        case 0: v += 7; break;
        case 1: v *= 5; // falls through
        case 2: v ^= i[3]; break;
        case 3: v = v / 3; continue;
        case 4: v = __brev(v); break;
        case 5: if (v & 1) goto out; v <<= 1; break;
        case 6: v -= k; break;
        case 7: v = ~v; break;
        default: v = __popc(v); break;
        }
        v += i[4 + (k & 7)];
    }
out:
    o[0] = v;
}

KERNEL(x_loops)
{
    SELF;
    unsigned x = i[0] | 1, steps = 0, low = ~0u;
    while (x != 1 && steps < 300) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        low = min(low, x);
        if (steps > 20 && (x & 0xff) == 0x55)
            break;
        steps++;
    }
    o[0] = steps;
    o[1] = x;
    o[2] = low;
    unsigned sorted[IN]; // local memory, data-dependent indices
    for (int k = 0; k < IN; k++)
        sorted[k] = i[k];
    for (int k = 1; k < IN; k++)
        for (int m = k; m > 0 && sorted[m - 1] > sorted[m]; m--) {
            unsigned tmp = sorted[m];
            sorted[m] = sorted[m - 1];
            sorted[m - 1] = tmp;
        }
    o[3] = sorted[0];
    o[4] = sorted[i[1] % IN];
    o[5] = sorted[IN - 1];
}

KERNEL(x_shared_scan)
{
    SELF;
    __shared__ unsigned s[2][128];
    unsigned at = 0;
    s[0][threadIdx.x] = i[0] & 0xffff;
    for (unsigned d = 1; d < 128; d <<= 1) {
        __syncthreads();
        s[at ^ 1][threadIdx.x] = s[at][threadIdx.x] + (threadIdx.x >= d ? s[at][threadIdx.x - d] : 0);
        at ^= 1;
    }
    __syncthreads();
    o[0] = s[at][threadIdx.x];
    o[1] = s[at][127 - threadIdx.x];
    o[2] = (unsigned)__syncthreads_count((int)(i[1] & 1)) + 1000u * (unsigned)__syncthreads_or(i[2] == 7) + (unsigned)__syncthreads_and(1);
}

KERNEL(x_warps)
{
    SELF;
    unsigned v = i[0], lane = threadIdx.x & 31;
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    o[0] = v;
    o[1] = __shfl_up_sync(~0u, i[1], i[2] & 3 ? 1 : 1) + __shfl_down_sync(~0u, i[1], 2, 8) + __shfl_sync(~0u, i[2], (int)(i[3] & 31), 16);
    o[2] = __ballot_sync(~0u, i[4] & 1);
    o[3] = __match_any_sync(~0u, i[5] & 3);
    o[4] = __reduce_add_sync(~0u, i[6]) + __reduce_xor_sync(~0u, i[7]);
    int all;
    o[5] = __match_all_sync(~0u, i[8] & 0, &all);
    o[5] += (unsigned)all;
    if (lane & 1) // half of the warp only
        o[6] = __shfl_sync(0xaaaaaaaau, i[9], (int)(lane ^ 2)) + (unsigned)__any_sync(0xaaaaaaaau, i[10] & 1);
    else
        o[6] = __shfl_sync(0x55555555u, i[11], (int)(lane ^ 4));
    o[7] = (unsigned)__double2int_rz(__shfl_xor_sync(~0u, (double)i[12], 3) / 3.0);
}

KERNEL(x_atomics)
{
    SELF;
    __shared__ unsigned bins[16], lock, order, most;
    __shared__ unsigned long long sum;
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        lock = order = most = 0, sum = 0;
    __syncthreads();
    atomicAdd(&bins[i[0] & 15], 1);
    atomicAdd(&sum, (unsigned long long)i[1] << 8);
    bool done = false; // a lock that lanes of one warp fight for
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            *(volatile unsigned *)&order = *(volatile unsigned *)&order + (i[2] & 7);
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    atomicMax(&most, i[3] & 0xff);
    __syncthreads();
    o[0] = bins[threadIdx.x & 15];
    o[1] = (unsigned)(sum >> 4);
    o[2] = order;
    o[3] = most;
}

static __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static __device__ __noinline__ unsigned op_add(unsigned a, unsigned b) { return a + b; }
static __device__ __noinline__ unsigned op_mix(unsigned a, unsigned b) { return a * 31 ^ b; }
static __device__ __noinline__ unsigned op_loop(unsigned a, unsigned b)
{
    while (b & 15)
        a = a * 3 + b--;
    return a;
}
typedef unsigned (*operation)(unsigned, unsigned);
static __device__ operation operations[3] = {op_add, op_mix, op_loop};
struct big {
    unsigned w[6];
};
static __device__ __noinline__ big rotate(big b, int by)
{
    big r;
    for (int k = 0; k < 6; k++)
        r.w[k] = b.w[(k + by) % 6];
    return r;
}

KERNEL(x_recursion)
{
    SELF;
    o[0] = ackermann(i[0] & 1, i[1] & 3);
}

KERNEL(x_calls)
{
    SELF;
    big b = {{i[0], i[1], i[2], i[3], i[4], i[5]}};
    o[1] = operations[i[2] % 3](i[3], i[4]);
    b = rotate(b, (int)(i[6] & 3));
    o[2] = b.w[0] ^ b.w[5];
    o[3] = b.w[i[7] % 6];
}

__constant__ unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ unsigned table[4] = {100, 200, 300, 400};
__device__ const unsigned *pointers[2] = {table + 1, table + 2};

KERNEL(x_memory)
{
    SELF;
    uint4 v = ((const uint4 *)i)[1];
    o[0] = primes[i[0] & 7] * table[i[1] & 3] + *pointers[i[2] & 1];
    ((uint2 *)o)[1] = make_uint2(v.x ^ v.w, v.y + v.z);
    o[1] = __ldg(i + (i[3] & 15));
    const unsigned *p = i[4] & 1 ? i : primes; // generic: either space
    o[4] = p[i[5] & 7];
    __shared__ unsigned s[128];
    s[threadIdx.x ^ 5] = i[6];
    __syncthreads();
    unsigned local[4] = {i[7], i[8], i[9], i[10]};
    unsigned *q = i[11] & 1 ? s : local; // shared or local
    o[5] = q[i[12] & 3];
    o[6] = (unsigned)__isShared(q) + 2u * (unsigned)__isGlobal(i) + 4u * (unsigned)__isLocal(q) + 8u * (unsigned)__isConstant(primes);
    memcpy(o + 7, (const char *)i + (i[13] & 7), 1);
}

KERNEL(x_groups)
{
    SELF;
    cg::thread_block_tile<8> t8 = cg::tiled_partition<8>(cg::this_thread_block());
    o[0] = cg::reduce(t8, i[0], cg::plus<unsigned>());
    o[1] = cg::reduce(t8, i[1], cg::greater<unsigned>());
    o[2] = t8.shfl_down(i[2], 1) + t8.ballot(i[3] & 1) + t8.thread_rank();
    if (i[4] & 1) {
        cg::coalesced_group c = cg::coalesced_threads();
        o[3] = c.size() >= 1 ? 1u : 0u;
    }
}

KERNEL(x_early_exit)
{
    SELF;
    __shared__ unsigned s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    if (i[0] & 1)
        return;
    atomicAdd(&s, 1);
    __syncthreads();
    o[0] = s;
}

KERNEL(f_math)
{
    SELF;
    float a = (float)(int)i[0] * 1e-8f, b = (float)(i[1] >> 8) * 1e-6f + 0.01f;
    float r[8] = {sinf(a), expf(a), logf(b), powf(b, a), tanhf(a), __fdividef(a, b), rsqrtf(b), __expf(a) + __logf(b)};
    for (int k = 0; k < 8; k++)
        o[k] = __float_as_uint(r[k]);
}

KERNEL(f_fast)
{
    SELF;
    float a = (float)(int)i[0] * 1e-9f, b = (float)(i[1] >> 8) * 1e-6f + 0.01f;
    o[0] = __float_as_uint(__sinf(a));
    o[1] = __float_as_uint(__cosf(a));
    o[2] = __float_as_uint(exp2f(a));
    o[3] = __float_as_uint(log2f(b));
    o[4] = __float_as_uint(cbrtf(b));
    o[5] = __float_as_uint(erff(a));
    o[6] = __float_as_uint(lgammaf(b));
    o[7] = __float_as_uint(fmodf(b, 0.37f));
}

KERNEL(d_math)
{
    SELF;
    double a = (double)(int)i[0] * 1e-8, b = (double)i[1] * 1e-6 + 0.01;
    put(o, sin(a) + exp(a) * log(b));
    put(o + 2, pow(b, a));
    put(o + 4, tanh(a) + erf(a) + cbrt(b));
    put(o + 6, fmod(b, 0.37) + atan2(a, b) + rsqrt(b));
}

static __device__ unsigned mix(unsigned s, unsigned v)
{
    return s * 31 + v;
}

KERNEL(x_simd_sums)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)c;
    o[0] = mix(mix(__vadd4(a, b), __vadd2(a, b)), __vsub4(a, b));
    o[1] = mix(mix(__vabsdiffu4(a, b), __vabsdiffs4(a, b)), __vabsdiffu2(a, b));
    o[2] = mix(mix(__vsadu4(a, b), __vsads4(a, b)), __vsadu2(a, b));
    o[3] = mix(mix(__vaddss4(a, b), __vaddus4(a, b)), __vaddss2(a, b));
    o[4] = mix(mix(__vsubss4(a, b), __vsubus4(a, b)), __vsubss2(a, b));
    o[5] = mix(mix(__vabs4(a), __vabsss4(a)), __vneg4(a));
    o[6] = mix(mix(__vnegss4(a), __vavgu4(a, b)), __vavgs4(a, b));
    o[7] = mix(__vhaddu4(a, b), __vavgs2(a, b));
}

KERNEL(x_simd_compares)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)c;
    o[0] = mix(__vcmpeq4(a, b), __vcmpgtu4(a, b));
    o[1] = mix(__vcmpges4(a, b), __vcmpltu2(a, b));
    o[2] = mix(__vseteq4(a, b), __vsetgtu4(a, b));
    o[3] = mix(__vsetles2(a, b), __vmaxu4(a, b));
    o[4] = mix(__vmaxs4(a, b), __vminu2(a, b));
    o[5] = mix(__vmins2(a, b), __vmins4(a, b));
    o[6] = mix(mix(__dp4a((int)a, (int)b, (int)c), __dp4a(a, b, c)),
               mix(__dp2a_lo((int)a, (int)b, (int)c), __dp2a_hi(a, b, c)));
    o[7] = mix(__byte_perm(a, b, c), __funnelshift_lc(a, b, c));
}

KERNEL(x_conversions)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)c;
    long long L = ((long long)a << 32) | b;
    unsigned long long U = (unsigned long long)L;
    double d = __longlong_as_double(L);
    float f = __uint_as_float(a);
    o[0] = mix(__double2hiint(__ll2double_rz(L)), __double2loint(__ull2double_ru(U)));
    o[1] = mix(__double2loint(__ll2double_rd(L)), __double2loint(__ull2double_rz(U)));
    o[2] = mix(__float_as_uint(__ll2float_rz(L)), __float_as_uint(__int2float_ru(a)));
    o[3] = mix(__float_as_uint(__ull2float_ru(U)), __float_as_uint(__uint2float_rd(a)));
    o[4] = mix(__float_as_uint(__double2float_rd(d)), __float2int_ru(f));
    o[5] = mix((unsigned)__float2ull_rd(f), (unsigned)__double2ll_rd(d));
    o[6] = mix(__double2uint_rz(d), __double2int_rn(d));
    o[7] = mix((unsigned)(__float2ll_rn(f) >> 32), __float_as_uint(__int2float_rz(a)));
}

KERNEL(x_to_halves)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)c;
    long long L = ((long long)(int)a << (c & 31)) | b;
    float f = __uint_as_float(a);
    int s = (int)a >> (c & 31);
    o[0] = mix(__half_as_ushort(__int2half_rz(s)), __half_as_ushort(__int2half_ru(s)));
    o[1] = mix(__half_as_ushort(__ll2half_rd(L >> (c & 63))), __half_as_ushort(__float2half_rz(f)));
    o[2] = mix(__half_as_ushort(__float2half_ru(f)),
               __half_as_ushort(__ushort2half_rz((unsigned short)a)));
    o[3] = mix(__half_as_ushort(__uint2half_rd((unsigned)s)),
               __half_as_ushort(
                   __float2half_rd(__uint_as_float((a & 0x807fffff) | ((b % 40 + 95) << 23)))));
    o[4] = mix(__half_as_ushort(
                   __float2half_rz(__uint_as_float((a & 0x807fffff) | ((b % 40 + 95) << 23)))),
               __half_as_ushort(
                   __float2half_ru(__uint_as_float((a & 0x807fffff) | ((b % 40 + 95) << 23)))));
    o[5] = mix(__bfloat16_as_ushort(__float2bfloat16_rz(f)),
               __bfloat16_as_ushort(__float2bfloat16_ru(f)));
    o[6] = mix(__bfloat16_as_ushort(__float2bfloat16_rn(f)),
               __bfloat16_as_ushort(__int2bfloat16_rz(s)));
    o[7] = mix(mix(__half2int_rz(__ushort_as_half((unsigned short)a)),
                   __half2uint_rd(__ushort_as_half((unsigned short)b))),
               (unsigned)__half2ll_ru(__ushort_as_half((unsigned short)c)));
}

KERNEL(x_half_pairs)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)c;
    __half2 p = *(const __half2 *)i, q = *(const __half2 *)(i + 1), r;
    r = __hadd2_sat(p, q);
    o[0] = *(unsigned *)&r;
    r = __hgt2(p, q);
    o[1] = mix(*(unsigned *)&r, __hbeq2(p, q));
    o[2] = __hltu2_mask(p, q);
    r = __hmin2(p, q);
    o[3] = *(unsigned *)&r;
    r = __hmax2_nan(p, q);
    o[4] = *(unsigned *)&r;
    r = __hfma2_relu(p, q, p);
    o[5] = *(unsigned *)&r;
    r = __float22half2_rn(make_float2(__uint_as_float(a), __uint_as_float(b)));
    o[6] = *(unsigned *)&r;
    r = __heq2(p, q);
    o[7] = mix(*(unsigned *)&r, __hbgtu2(p, q));
}

typedef unsigned (*binary)(unsigned, unsigned);
static __device__ __noinline__ unsigned first_of(unsigned x, unsigned y) { return x + y * 3; }
static __device__ __noinline__ unsigned second_of(unsigned x, unsigned y) { return (x ^ y) >> 1; }
static __device__ __noinline__ unsigned looped(unsigned x, unsigned y)
{
    unsigned s = x;
    for (unsigned k = 0; k < (y & 7); k++)
        s = s * 5 + k;
    return s;
}
__device__ binary choices[3] = {first_of, second_of, looped};

KERNEL(x_pointers)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    binary f = a & 1 ? first_of : looped;
    o[0] = choices[a % 3](b, c);
    o[1] = choices[threadIdx.x % 3](a, b);
    o[2] = choices[blockIdx.x % 3](a, c);
    o[3] = f(c, a);
    o[4] = f(o[0], b);
}

struct form {
    __device__ virtual unsigned area(unsigned s) const = 0;
    __device__ virtual ~form() {}
};
struct square : form {
    unsigned k;
    __device__ square(unsigned x) : k(x) {}
    __device__ unsigned area(unsigned s) const override { return s * s + k; }
};
struct circle : form {
    unsigned k;
    __device__ circle(unsigned x) : k(x) {}
    __device__ unsigned area(unsigned s) const override { return s * 3 - k; }
};

KERNEL(x_virtual)
{
    SELF;
    square s(i[0]);
    circle c(i[1]);
    const form *f = i[2] & 1 ? (const form *)&s : (const form *)&c;
    o[0] = f->area(i[2]);
    o[1] = f->area(7);
}

KERNEL(x_pipeline)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)a;
    (void)b;
    (void)c;
    __shared__ __align__(16) unsigned s[128 * 4], u[128], w[128][4];
    __pipeline_memcpy_async(&s[4 * threadIdx.x], i + 4, 16);
    __pipeline_memcpy_async(&u[127 - threadIdx.x], i + 9, 4);
    __pipeline_commit();
    __pipeline_memcpy_async(w[threadIdx.x], in + IN * ((t * 7) % 384), 16, (a & 1) * 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    o[0] = s[threadIdx.x];
    o[1] = u[threadIdx.x];
    o[2] = w[threadIdx.x ^ 1][0];
    o[3] = w[threadIdx.x ^ 3][3];
    o[4] = w[threadIdx.x][2];
}

KERNEL(x_half_atomics)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)a;
    (void)b;
    (void)c;
    __half *H = (__half *)(o);
    o[0] = a & 0x7bff7bff;
    o[1] = b & 0x7b7f7b7f;
    o[2] = i[3];
    o[3] = i[4];
    __half2 q = *(const __half2 *)(i + 5);
    __nv_bfloat16 z = *(const __nv_bfloat16 *)(i + 6);
    __half r = atomicAdd(H + 1, *(const __half *)(i + 7));
    o[4] = __half_as_ushort(r);
    __half2 r2 = atomicAdd((__half2 *)o, q);
    o[5] = *(unsigned *)&r2;
    __nv_bfloat16 rb = atomicAdd((__nv_bfloat16 *)(o + 1), z);
    o[6] = __bfloat16_as_ushort(rb);
    o[7] = __float_as_uint(atomicAdd((float *)(o + 2), __uint_as_float(i[8])));
    atomicAdd((float *)(o + 3), __uint_as_float(i[9]));
}

KERNEL(x_shared_atomics)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    (void)a;
    (void)b;
    (void)c;
    __shared__ float s[128];
    __shared__ __half2 p[128];
    s[threadIdx.x] = __uint_as_float(a);
    p[threadIdx.x] = *(const __half2 *)(i + 1);
    __syncthreads();
    float f = atomicAdd(&s[(threadIdx.x + 1) & 127], __uint_as_float(c));
    __half2 g = atomicAdd(&p[threadIdx.x ^ 5], *(const __half2 *)(i + 3));
    __syncthreads();
    o[0] = __float_as_uint(s[threadIdx.x]);
    o[1] = *(unsigned *)&p[threadIdx.x];
    o[2] = __float_as_uint(f);
    o[3] = *(unsigned *)&g;
}

/* ---- functions that call themselves ---- */

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ unsigned nested(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? nested(m - 1, 1) : nested(m - 1, nested(m, n - 1));
}

__device__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

struct mixed {
    double d[3];
    unsigned u;
    unsigned char c;
};

/* Local variables, parameters in memory, predicates and 64-bit registers across the call. */
__device__ __noinline__ mixed unwind(mixed m, unsigned n, const unsigned *i)
{
    unsigned local[4] = {n, i[n & 15], m.u, 7};
    bool odd = i[(n + 1) & 15] & 1;
    double x = m.d[n % 3] + local[n & 3];
    if (n == 0)
        return m;
    m.d[n % 3] = x * 0.5;
    m.u = m.u * 31 + local[m.u & 3];
    m.c += (unsigned char)n;
    mixed r = unwind(m, n - 1, i);
    r.u += odd ? local[(n + 1) & 3] : 1;
    r.d[2] += x;
    return r;
}

KERNEL(x_recursion_mixed)
{
    SELF;
    unsigned a = i[0], b = i[1], c = i[2];
    o[0] = fibonacci(a % 9);
    o[1] = nested(b % 3, c % 3);
    o[2] = is_even(a % 12);
    mixed m = {{1, 2, 3}, b, (unsigned char)c};
    m = unwind(m, c % 7, i);
    o[3] = m.u;
    o[4] = m.c;
    o[5] = (unsigned)(m.d[0] + m.d[1] * 3);
    o[6] = (unsigned)m.d[2];
    if (a & 1)
        o[7] = fibonacci(b % 6) + nested(1, a % 4);
}

/* Through pointers: a tree of operations in an array. */
typedef unsigned (*node_function)(const unsigned *tree, unsigned at, unsigned depth);
__device__ unsigned node_leaf(const unsigned *tree, unsigned at, unsigned) { return tree[at & 15]; }
__device__ unsigned node_sum(const unsigned *tree, unsigned at, unsigned depth);
__device__ unsigned node_choose(const unsigned *tree, unsigned at, unsigned depth);
__device__ node_function node_functions[4] = {node_leaf, node_sum, node_choose, node_sum};

__device__ unsigned node_eval(const unsigned *tree, unsigned at, unsigned depth)
{
    return node_functions[depth == 0 ? 0 : tree[at & 15] >> 8 & 3](tree, at, depth);
}

__device__ unsigned node_sum(const unsigned *tree, unsigned at, unsigned depth)
{
    return node_eval(tree, at * 2 + 1, depth - 1) + 3 * node_eval(tree, at * 2 + 2, depth - 1);
}

__device__ unsigned node_choose(const unsigned *tree, unsigned at, unsigned depth)
{
    unsigned w = __ballot_sync(__activemask(), 1) != 0;
    return node_eval(tree, at * 2 + 1 + (tree[at & 15] & 1), depth - 1) + w;
}

KERNEL(x_recursion_pointers)
{
    SELF;
    o[0] = node_eval(i, i[0] & 15, 5);
    o[1] = node_eval(i, i[1] & 15, 3);
}

/* A barrier inside; all threads go equally deep. */
__device__ __noinline__ unsigned meet(unsigned *s, unsigned n)
{
    __syncthreads();
    unsigned v = s[threadIdx.x ^ n];
    __syncthreads();
    s[threadIdx.x] = v + n;
    return n == 0 ? v : meet(s, n - 1) * 5 + v;
}

KERNEL(x_recursion_barrier)
{
    SELF;
    __shared__ unsigned s[128];
    s[threadIdx.x] = i[0];
    o[0] = meet(s, 4);
}

KERNEL(x_alloca)
{
    SELF;
    unsigned sum = 0;
    for (unsigned k = 0; k < 3; k++) {
        unsigned m = (i[k] & 15) + 1;
        unsigned *p = (unsigned *)__builtin_alloca(m * sizeof *p);
        for (unsigned j = 0; j < m; j++)
            p[j] = i[j & 15] + k;
        for (unsigned j = 0; j < m; j++)
            sum = sum * 3 + p[m - 1 - j];
    }
    o[0] = sum;
}

/* Calls through pointers inside each other: every level has a signature of its own. */
#define LEVEL(n, params, next, mix)                                                                \
    __device__ unsigned level##n##a params { return next + (mix); }                                \
    __device__ unsigned level##n##b params { return next * 3 ^ (mix); }
typedef unsigned (*level1)(unsigned);
typedef unsigned (*level2)(unsigned, unsigned);
typedef unsigned (*level3)(unsigned, unsigned, unsigned);
typedef unsigned (*level4)(unsigned, unsigned, unsigned, unsigned);
typedef unsigned (*level5)(unsigned, unsigned, unsigned, unsigned, unsigned);
LEVEL(1, (unsigned a), (a >> 3), a)
__device__ level1 levels1[2] = {level1a, level1b};
LEVEL(2, (unsigned a, unsigned b), levels1[a & 1](b + 1), b)
__device__ level2 levels2[2] = {level2a, level2b};
LEVEL(3, (unsigned a, unsigned b, unsigned c), levels2[b & 1](c, a * 7), c)
__device__ level3 levels3[2] = {level3a, level3b};
LEVEL(4, (unsigned a, unsigned b, unsigned c, unsigned d), levels3[c & 1](d, a, b), d)
__device__ level4 levels4[2] = {level4a, level4b};
LEVEL(5, (unsigned a, unsigned b, unsigned c, unsigned d, unsigned e), levels4[d & 1](e, a, b, c), e)
__device__ level5 levels5[2] = {level5a, level5b};

KERNEL(x_nested_pointers)
{
    SELF;
    o[0] = levels5[i[0] & 1](i[1], i[2], i[3], i[4], i[5]);
    if (i[6] & 1)
        o[1] = levels4[i[0] & 1](i[5], i[4], i[3], i[7]);
}

/* Division reads the carry of a subtraction by an addition. */
KERNEL(x_int128)
{
    SELF;
    unsigned __int128 a = 0, b = 0;
    for (int k = 0; k < 4; k++)
        a = a << 32 | i[k];
    for (unsigned k = 4; k < 5 + (i[9] & 3); k++)
        b = b << 32 | i[k];
    b |= 1;
    unsigned __int128 q = a / b, r = a % b;
    for (int k = 0; k < 4; k++) {
        o[k] = (unsigned)(q >> (32 * k));
        o[4 + k] = (unsigned)(r >> (32 * k));
    }
}
