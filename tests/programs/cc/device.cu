/* The device side of CUDA C++, function by function, against the host's arithmetic: shuffles, votes, atomics, bits,
 * rounding modes, conversions, cached accesses, cooperative groups, constants, calls. Also compiles with nvcc.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <vector>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "../../../examples/common.h"

namespace cg = cooperative_groups;
typedef unsigned long long ull;

static int failures;

/* Runs a kernel that writes `per_thread` values a thread, returns them all. */
template <class T, class Kernel> static std::vector<T> collect(Kernel kernel, int blocks, int threads, int per_thread)
{
    std::vector<T> host((size_t)blocks * threads * per_thread);
    T *device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemset(device, 0, host.size() * sizeof(T)));
    kernel<<<blocks, threads>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    return host;
}

template <class T> static bool same(T a, T b)
{
    return !memcmp(&a, &b, sizeof a) || (a != a && b != b);
}

template <class T> static void expect(const char *what, int thread, T got, T want)
{
    if (same(got, want))
        return;
    if (failures++ < 40)
        printf("%s, thread %d: %.17g, expected %.17g\n", what, thread, (double)got, (double)want);
}

/* --- Shuffles -------------------------------------------------------------------------------- */

template <class T> __device__ __host__ T value_of(int lane)
{
    return (T)(lane * 1000003ll + 7) / (T)4;
}

template <class T, int Width> __global__ void shuffles(T *out)
{
    const int lane = threadIdx.x % 32;
    const T v = value_of<T>(lane);
    T *mine = out + 4 * threadIdx.x;
    mine[0] = __shfl_sync(0xffffffffu, v, lane * 5 + 3, Width);
    mine[1] = __shfl_up_sync(0xffffffffu, v, 3, Width);
    mine[2] = __shfl_down_sync(0xffffffffu, v, 2, Width);
    mine[3] = __shfl_xor_sync(0xffffffffu, v, 5, Width);
}

template <class T, int Width> static void check_shuffles(const char *what)
{
    const std::vector<T> out = collect<T>(shuffles<T, Width>, 1, 64, 4);
    for (int i = 0; i < 64; i++) {
        const int lane = i % 32, base = lane & ~(Width - 1), at = lane & (Width - 1);
        expect(what, i, out[4 * i], value_of<T>(base + ((lane * 5 + 3) & (Width - 1))));
        expect(what, i, out[4 * i + 1], value_of<T>(at >= 3 ? lane - 3 : lane));
        expect(what, i, out[4 * i + 2], value_of<T>(at + 2 < Width ? lane + 2 : lane));
        const int other = lane ^ 5;
        expect(what, i, out[4 * i + 3], value_of<T>((other & ~(Width - 1)) > base ? lane : other));
    }
}

/* --- Votes ----------------------------------------------------------------------------------- */

__global__ void votes(unsigned *out)
{
    const int lane = threadIdx.x % 32;
    unsigned *mine = out + 8 * threadIdx.x;
    mine[0] = __ballot_sync(~0u, lane % 3 == 0);
    mine[1] = (unsigned)__all_sync(~0u, lane >= 0);
    mine[2] = (unsigned)__any_sync(~0u, lane == 40);
    mine[3] = __match_any_sync(~0u, lane / 5);
    int uniform;
    mine[4] = __match_all_sync(~0u, lane & 64, &uniform);
    mine[5] = (unsigned)uniform;
    if (lane % 2)
        mine[6] = __ballot_sync(0xaaaaaaaau, lane > 15);
    mine[7] = (unsigned)__syncthreads_count(threadIdx.x < 20);
}

static void check_votes()
{
    const std::vector<unsigned> out = collect<unsigned>(votes, 1, 64, 8);
    unsigned thirds = 0;
    for (int lane = 0; lane < 32; lane += 3)
        thirds |= 1u << lane;
    for (int i = 0; i < 64; i++) {
        const unsigned *mine = &out[8 * i];
        const int lane = i % 32, group = lane / 5;
        unsigned match = 0;
        for (int l = 0; l < 32; l++)
            match |= (unsigned)(l / 5 == group) << l;
        expect("ballot", i, mine[0], thirds);
        expect("all", i, mine[1] != 0, true);
        expect("any", i, mine[2], 0u);
        expect("match_any", i, mine[3], match);
        expect("match_all", i, mine[4], ~0u);
        expect("match_all predicate", i, mine[5] != 0, true);
        expect("ballot of half a warp", i, mine[6], lane % 2 ? 0xaaaa0000u : 0u);
        expect("syncthreads_count", i, mine[7], 20u);
    }
}

/* --- Atomics --------------------------------------------------------------------------------- */

struct totals {
    int add, sub, min, max, exch;
    unsigned uadd, umax, inc, dec, bits_and, bits_or, bits_xor, cas;
    ull add64, max64, min64, or64, cas64;
    float addf;
    double addd;
    int block, system, shared;
};

__global__ void atomics(totals *t)
{
    __shared__ int in_block;
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (threadIdx.x == 0)
        in_block = 0;
    __syncthreads();
    atomicAdd(&t->add, i);
    atomicSub(&t->sub, i);
    atomicMin(&t->min, -i);
    atomicMax(&t->max, i);
    atomicExch(&t->exch, 5);
    atomicAdd(&t->uadd, 0x80000001u);
    atomicMax(&t->umax, 0xfffffff0u + (unsigned)i % 8);
    atomicInc(&t->inc, 100u);
    atomicDec(&t->dec, 1000u);
    atomicAnd(&t->bits_and, ~(1u << i % 32));
    atomicOr(&t->bits_or, 1u << i % 16);
    atomicXor(&t->bits_xor, (unsigned)i);
    atomicAdd(&t->add64, 0x100000001ull);
    atomicMax(&t->max64, (ull)i << 33);
    atomicMin(&t->min64, ~(ull)i);
    atomicOr(&t->or64, 1ull << i % 64);
    atomicAdd(&t->addf, 0.5f);
    atomicAdd(&t->addd, 0.25);
    atomicAdd_block(&t->block, 1);
    atomicAdd_system(&t->system, 2);
    atomicAdd(&in_block, 1);
    unsigned old = t->cas, seen;
    do {
        seen = old;
        old = atomicCAS(&t->cas, seen, seen + 3);
    } while (old != seen);
    ull old64 = t->cas64, seen64;
    do {
        seen64 = old64;
        old64 = atomicCAS(&t->cas64, seen64, seen64 * 3 + 1);
    } while (old64 != seen64);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&t->shared, in_block);
}

static void check_atomics()
{
    totals start = {}, *device, t;
    start.bits_and = ~0u;
    start.min64 = ~0ull;
    CHECK(cudaMalloc(&device, sizeof *device));
    CHECK(cudaMemcpy(device, &start, sizeof start, cudaMemcpyHostToDevice));
    const int blocks = 4, threads = 64, n = blocks * threads;
    atomics<<<blocks, threads>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&t, device, sizeof t, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    totals w = start;
    for (int i = 0; i < n; i++) {
        w.add += i, w.sub -= i, w.min = std::min(w.min, -i), w.max = std::max(w.max, i), w.exch = 5;
        w.uadd += 0x80000001u, w.umax = std::max(w.umax, 0xfffffff0u + (unsigned)i % 8);
        w.inc = w.inc >= 100 ? 0 : w.inc + 1, w.dec = w.dec == 0 || w.dec > 1000 ? 1000 : w.dec - 1;
        w.bits_and &= ~(1u << i % 32), w.bits_or |= 1u << i % 16, w.bits_xor ^= (unsigned)i;
        w.add64 += 0x100000001ull, w.max64 = std::max(w.max64, (ull)i << 33), w.min64 = std::min(w.min64, ~(ull)i);
        w.or64 |= 1ull << i % 64, w.addf += 0.5f, w.addd += 0.25, w.block++, w.system += 2, w.shared++;
        w.cas += 3, w.cas64 = w.cas64 * 3 + 1;
    }
#define FIELD(f) expect("atomic " #f, 0, t.f, w.f);
    FIELD(add) FIELD(sub) FIELD(min) FIELD(max) FIELD(exch) FIELD(uadd) FIELD(umax) FIELD(inc) FIELD(dec)
    FIELD(bits_and) FIELD(bits_or) FIELD(bits_xor) FIELD(cas) FIELD(add64) FIELD(max64) FIELD(min64) FIELD(or64)
    FIELD(cas64) FIELD(addf) FIELD(addd) FIELD(block) FIELD(system) FIELD(shared)
#undef FIELD
}

/* --- Integers -------------------------------------------------------------------------------- */

__device__ __host__ inline unsigned scramble(unsigned i)
{
    i = i * 0x9e3779b9u + 0x7f4a7c15u;
    i ^= i >> 15;
    i *= 0x2c1b3c6du;
    return i ^ i >> 12;
}

enum { INTEGER_RESULTS = 25 };

__global__ void integers(unsigned *out)
{
    const unsigned a = threadIdx.x == 0 ? 0 : scramble(threadIdx.x), b = scramble(a + 1), c = scramble(b);
    const ull wide = (ull)a << 32 | b;
    unsigned *r = out + INTEGER_RESULTS * threadIdx.x;
    *r++ = (unsigned)__popc(a);
    *r++ = (unsigned)__clz((int)a);
    *r++ = (unsigned)__ffs((int)a);
    *r++ = __brev(a);
    *r++ = (unsigned)__popcll(wide);
    *r++ = (unsigned)__clzll((long long)wide);
    *r++ = (unsigned)__ffsll((long long)wide);
    *r++ = (unsigned)(__brevll(wide) >> 32);
    *r++ = __byte_perm(a, b, c);
    *r++ = __funnelshift_l(a, b, c);
    *r++ = __funnelshift_r(a, b, c);
    *r++ = __funnelshift_lc(a, b, c % 70);
    *r++ = __funnelshift_rc(a, b, c % 70);
    *r++ = (unsigned)__mulhi((int)a, (int)b);
    *r++ = __umulhi(a, b);
    *r++ = (unsigned)__mul24((int)a, (int)b);
    *r++ = __umul24(a, b);
    *r++ = (unsigned)(__umul64hi(wide, wide) >> 32);
    *r++ = __sad((int)a, (int)b, c);
    *r++ = __usad(a, b, c);
    *r++ = (unsigned)__hadd((int)a, (int)b);
    *r++ = __uhadd(a, b);
    *r++ = (unsigned)__rhadd((int)a, (int)b);
    *r++ = (unsigned)__dp4a((int)a, (int)b, (int)c);
    *r++ = __dp4a(a, b, c);
}

static unsigned byte_of(unsigned a, unsigned b, unsigned n)
{
    return (unsigned)(((ull)b << 32 | a) >> 8 * (n & 7)) & 255;
}

static void check_integers()
{
    const int n = 256;
    const std::vector<unsigned> out = collect<unsigned>(integers, 1, n, INTEGER_RESULTS);
    for (int i = 0; i < n; i++) {
        const unsigned a = i == 0 ? 0 : scramble((unsigned)i), b = scramble(a + 1), c = scramble(b);
        const ull wide = (ull)a << 32 | b, both = (ull)b << 32 | a;
        const unsigned *r = &out[INTEGER_RESULTS * i];
        ull reversed = 0;
        for (int k = 0; k < 64; k++)
            reversed |= (wide >> k & 1) << (63 - k);
        unsigned brev = 0, perm = 0;
        int dots = (int)c;
        unsigned dotu = c;
        for (int k = 0; k < 32; k++)
            brev |= (a >> k & 1) << (31 - k);
        for (int k = 0; k < 4; k++) {
            perm |= byte_of(a, b, c >> 4 * k) << 8 * k;
            dots += (int)(int8_t)(a >> 8 * k) * (int8_t)(b >> 8 * k);
            dotu += (a >> 8 * k & 255) * (b >> 8 * k & 255);
        }
        const unsigned s = c & 31, sc = std::min(c % 70, 32u);
        expect("popc", i, *r++, (unsigned)__builtin_popcount(a));
        expect("clz", i, *r++, a ? (unsigned)__builtin_clz(a) : 32u);
        expect("ffs", i, *r++, (unsigned)__builtin_ffs((int)a));
        expect("brev", i, *r++, brev);
        expect("popcll", i, *r++, (unsigned)__builtin_popcountll(wide));
        expect("clzll", i, *r++, wide ? (unsigned)__builtin_clzll(wide) : 64u);
        expect("ffsll", i, *r++, (unsigned)__builtin_ffsll((long long)wide));
        expect("brevll", i, *r++, (unsigned)(reversed >> 32));
        expect("byte_perm", i, *r++, perm);
        expect("funnelshift_l", i, *r++, (unsigned)(both << s >> 32));
        expect("funnelshift_r", i, *r++, (unsigned)(both >> s));
        expect("funnelshift_lc", i, *r++, sc == 32 ? a : (unsigned)(both << sc >> 32));
        expect("funnelshift_rc", i, *r++, sc == 32 ? b : (unsigned)(both >> sc));
        expect("mulhi", i, *r++, (unsigned)((long long)(int)a * (int)b >> 32));
        expect("umulhi", i, *r++, (unsigned)((ull)a * b >> 32));
        expect("mul24", i, *r++, (unsigned)((int)(a << 8) >> 8) * (unsigned)((int)(b << 8) >> 8));
        expect("umul24", i, *r++, (a & 0xffffff) * (b & 0xffffff));
        expect("umul64hi", i, *r++, (unsigned)((unsigned __int128)wide * wide >> 96));
        expect("sad", i, *r++, (unsigned)std::abs((long long)(int)a - (int)b) + c);
        expect("usad", i, *r++, (a > b ? a - b : b - a) + c);
        expect("hadd", i, *r++, (unsigned)(((long long)(int)a + (int)b) >> 1));
        expect("uhadd", i, *r++, (unsigned)(((ull)a + b) >> 1));
        expect("rhadd", i, *r++, (unsigned)(((long long)(int)a + (int)b + 1) >> 1));
        expect("dp4a", i, *r++, (unsigned)dots);
        expect("dp4a unsigned", i, *r++, dotu);
    }
}

/* --- Rounding modes and conversions ---------------------------------------------------------- */

__device__ __host__ inline float float_of(unsigned i)
{
    const float table[] = {0.0f, -0.0f, 1.0f, -1.5f, 2.5f, 1e10f, -1e10f, 3e38f, 1e-40f, 0.1f, 16777217.0f, -0.5f};
    if (i < 12)
        return table[i];
    return ((float)scramble(i) - 2147483648.0f) * (i % 3 == 0 ? 1e-9f : i % 3 == 1 ? 1e-3f : 3.0f);
}

enum { ROUNDED = 9 };

template <class T> struct four {
    T v[4]; /* rn, rz, rd, ru */
};

template <class T> __device__ four<T> make_four(T a, T b, T c, T d)
{
    four<T> r = {{a, b, c, d}};
    return r;
}

#define EACH_MODE(f) make_four(f(rn), f(rz), f(rd), f(ru))

__global__ void rounded(four<double> *out)
{
    const float x = float_of(threadIdx.x), y = float_of(threadIdx.x * 7 + 1), z = float_of(threadIdx.x * 5 + 2);
    four<double> *r = out + ROUNDED * threadIdx.x;
#define F(m) (double)__fadd_##m(x, y)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__fmul_##m(x, y)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__fdiv_##m(x, y)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__fsqrt_##m(fabsf(x))
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__fmaf_##m(x, y, z)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) __dadd_##m((double)x, (double)y * 1e-10)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__double2float_##m((double)x * 1.000000123)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__float2int_##m(x)
    *r++ = EACH_MODE(F);
#undef F
#define F(m) (double)__int2float_##m(__float2int_rz(x) * 3 + 1)
    *r++ = EACH_MODE(F);
#undef F
}

/* A float that is out of an int's range becomes the nearest int. */
static double to_int(float x)
{
    const double r = nearbyint((double)x);
    return std::isnan(r) || r == 0 /* an int has no -0 */ ? 0 : std::min(std::max(r, -2147483648.0), 2147483647.0);
}

static void check_rounded()
{
    const int n = 128;
    static const char *const mode_name[] = {"rn", "rz", "rd", "ru"};
    static const int mode[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const std::vector<four<double>> out = collect<four<double>>(rounded, 1, n, ROUNDED);
    for (int i = 0; i < n; i++)
        for (int m = 0; m < 4; m++) {
            volatile float x = float_of((unsigned)i), y = float_of((unsigned)i * 7 + 1), z = float_of((unsigned)i * 5 + 2);
            volatile double dx = x, dy = (double)y * 1e-10, scaled = (double)x * 1.000000123;
            const four<double> *r = &out[ROUNDED * i];
            const int whole = (int)((unsigned)(int)to_int(truncf(x)) * 3u + 1u);
            volatile float f[5], converted, from_int;
            volatile double d, whole_x;
            fesetround(mode[m]);
            f[0] = x + y, f[1] = x * y, f[2] = x / y, f[3] = sqrtf(fabsf(x)), f[4] = fmaf(x, y, z);
            d = dx + dy, converted = (float)scaled, whole_x = to_int(x), from_int = (float)whole;
            fesetround(FE_TONEAREST);
            static const char *const name[] = {"add", "mul", "div", "sqrt", "fma"};
            for (int k = 0; k < 5; k++) {
                char what[32];
                snprintf(what, sizeof what, "f%s_%s", name[k], mode_name[m]);
                expect(what, i, (r++)->v[m], (double)f[k]);
            }
            expect(mode_name[m], i, (r++)->v[m], (double)d);
            expect(mode_name[m], i, (r++)->v[m], (double)converted);
            expect(mode_name[m], i, (r++)->v[m], (double)whole_x);
            expect(mode_name[m], i, (r++)->v[m], (double)from_int);
        }
}

/* --- Memory: constants, cache operators, vectors, dynamic shared memory, structs by value ----- */

__constant__ float weights[8];
__device__ int table[64];
__device__ uint4 quads[4];

struct argument {
    char tag;
    double scale;
    short step[3];
};

__device__ __noinline__ int collatz(int n)
{
    int steps = 0;
    for (; n > 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

template <int Scale, class T> __device__ __noinline__ T scaled(T v)
{
    return v * Scale;
}

enum { MEMORY_RESULTS = 9 };

__global__ void memory(argument a, double *out)
{
    extern __shared__ double dynamic[];
    const int i = threadIdx.x;
    dynamic[i] = i;
    __syncthreads();
    double *r = out + MEMORY_RESULTS * i;
    *r++ = weights[i % 8];
    *r++ = __ldg(&table[i]) + __ldcg(&table[i]) + __ldcs(&table[i]) + __ldcv(&table[i]);
    const uint4 q = __ldcg(&quads[i % 4]);
    *r++ = q.x + q.y * 2.0 + q.z * 3.0 + q.w * 4.0;
    *r++ = dynamic[blockDim.x - 1 - i];
    *r++ = a.scale * a.step[i % 3] + a.tag;
    *r++ = collatz(i + 1);
    *r++ = scaled<3>(i * 0.5) + scaled<2>(i);
    __stcg(r++, 0.5 + i);
    __stwt(r++, max(i, 20) + min(2.5f, 1.0f * i) + max(-1ll, (long long)-i) + max(3u, 2u));
}

static void check_memory()
{
    float w[8];
    int t[64];
    uint4 q[4];
    for (int i = 0; i < 64; i++) {
        w[i % 8] = 0.25f * (i % 8);
        t[i] = i * i;
        q[i % 4] = make_uint4(i % 4, 10, 20, 30);
    }
    CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
    CHECK(cudaMemcpyToSymbol(table, t, sizeof t));
    CHECK(cudaMemcpyToSymbol(quads, q, sizeof q));
    const argument a = {'x', 1.5, {-1, 2, 3}};
    const int n = 64;
    std::vector<double> out(n * MEMORY_RESULTS);
    double *device;
    CHECK(cudaMalloc(&device, out.size() * sizeof(double)));
    memory<<<1, n, n * sizeof(double)>>>(a, device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < n; i++) {
        const double *r = &out[MEMORY_RESULTS * i];
        expect("constant", i, *r++, (double)w[i % 8]);
        expect("cached loads", i, *r++, 4.0 * t[i]);
        expect("vector load", i, *r++, i % 4 + 20.0 + 60.0 + 120.0);
        expect("dynamic shared", i, *r++, (double)(n - 1 - i));
        expect("struct argument", i, *r++, 1.5 * a.step[i % 3] + 'x');
        int steps = 0;
        for (int v = i + 1; v > 1; steps++)
            v = v % 2 ? 3 * v + 1 : v / 2;
        expect("loop in a call", i, *r++, (double)steps);
        expect("templates", i, *r++, 1.5 * i + 2 * i);
        expect("cached store", i, *r++, 0.5 + i);
        expect("min and max", i, *r++,
               (double)(std::max(i, 20) + std::min(2.5f, 1.0f * i) + (float)std::max(-1, -i) + 3.0f));
    }
}

/* --- Cooperative groups ---------------------------------------------------------------------- */

enum { GROUP_RESULTS = 8 };

__global__ void groups(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int *r = out + GROUP_RESULTS * cg::this_grid().thread_rank();
    const int i = (int)block.thread_rank();
    *r++ = cg::reduce(tile, i, cg::plus<int>());
    *r++ = cg::reduce(tile, i, cg::greater<int>());
    *r++ = cg::inclusive_scan(tile, i);
    *r++ = cg::exclusive_scan(tile, i);
    *r++ = (int)tile.ballot(i % 2) + tile.shfl_xor(i, 1) * 1000;
    *r++ = (int)(tile.meta_group_rank() * 100 + tile.meta_group_size());
    if (i % 32 % 3 == 0) {
        cg::coalesced_group some = cg::coalesced_threads();
        *r = (int)(some.size() * 100 + some.thread_rank()) + 10000 * some.shfl(i % 32, 2);
    }
    r++;
    block.sync();
    *r++ = (int)(block.size() + block.group_index().x);
}

static void check_groups()
{
    const int blocks = 2, threads = 64;
    const std::vector<int> out = collect<int>(groups, blocks, threads, GROUP_RESULTS);
    for (int g = 0; g < blocks * threads; g++) {
        const int *r = &out[GROUP_RESULTS * g], i = g % threads, first = i & ~7;
        int sum = 0;
        for (int k = first; k <= i; k++)
            sum += k;
        expect("reduce plus", g, *r++, 8 * first + 28);
        expect("reduce greater", g, *r++, first + 7);
        expect("inclusive_scan", g, *r++, sum);
        expect("exclusive_scan", g, *r++, sum - i);
        expect("ballot, shfl_xor", g, *r++, 0xaa + (i ^ 1) * 1000);
        expect("meta group", g, *r++, i / 8 * 100 + threads / 8);
        expect("coalesced", g, *r++, i % 32 % 3 == 0 ? 11 * 100 + i % 32 / 3 + 10000 * 6 : 0);
        expect("block", g, *r++, threads + g / threads);
    }
}

/* --- Barriers: values that live across them, in nested loops; static beside dynamic shared memory */

__global__ void sort_pairs(unsigned *data, unsigned length)
{
    extern __shared__ unsigned s[];
    __shared__ bool swapped[3];
    const unsigned i = threadIdx.x;
    s[i] = data[i], s[i + blockDim.x] = data[i + blockDim.x];
    if (i < 3)
        swapped[i] = false;
    for (unsigned size = 2; size <= length; size <<= 1) {
        /* Chosen before the barriers of the inner loop, used behind them. */
        const bool up = (i & (size / 2)) == 0 || size == length;
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            const unsigned at = 2 * i - (i & (stride - 1)), a = s[at], b = s[at + stride];
            if ((a > b) == up) {
                s[at] = b, s[at + stride] = a;
                swapped[2] = true;
            }
        }
    }
    __syncthreads();
    data[i] = swapped[2] ? s[i] : 0, data[i + blockDim.x] = s[i + blockDim.x];
}

static void check_barriers()
{
    const int n = 512;
    std::vector<unsigned> host(n), sorted;
    for (int i = 0; i < n; i++)
        host[i] = scramble((unsigned)i);
    sorted = host;
    std::sort(sorted.begin(), sorted.end());
    unsigned *device;
    CHECK(cudaMalloc(&device, n * sizeof *device));
    CHECK(cudaMemcpy(device, host.data(), n * sizeof *device, cudaMemcpyHostToDevice));
    sort_pairs<<<1, n / 2, n * sizeof *device>>>(device, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), device, n * sizeof *device, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < n; i++)
        expect("sorted across barriers", i, host[i], sorted[i]);
}

int main()
{
    check_barriers();
    check_shuffles<int, 32>("shuffle int");
    check_shuffles<unsigned, 16>("shuffle unsigned, width 16");
    check_shuffles<float, 8>("shuffle float, width 8");
    check_shuffles<double, 32>("shuffle double");
    check_shuffles<long long, 4>("shuffle long long, width 4");
    check_votes();
    check_atomics();
    check_integers();
    check_rounded();
    check_memory();
    check_groups();
    printf("RESULT %s %d failures\n", failures ? "FAIL" : "PASS", failures);
    return failures != 0;
}
