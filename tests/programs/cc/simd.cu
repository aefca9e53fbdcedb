// The SIMD intrinsics on halfwords and bytes, each against a loop over its lanes on the host.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

enum { COUNT = 4096 };

template <int BITS, bool SIGNED> static int lane(unsigned v, int i)
{
    const unsigned u = v >> (i * BITS) & ((1u << BITS) - 1);
    return SIGNED && u >> (BITS - 1) ? (int)u - (1 << BITS) : (int)u;
}

template <int BITS, bool SIGNED> static int clamp(int v)
{
    const int most = SIGNED ? (1 << (BITS - 1)) - 1 : (1 << BITS) - 1, least = SIGNED ? -most - 1 : 0;
    return v > most ? most : v < least ? least : v;
}

template <int BITS, bool SIGNED, class F> static unsigned by_lanes(unsigned a, unsigned b, F f)
{
    unsigned r = 0;
    for (int i = 0; i < 32 / BITS; i++)
        r |= ((unsigned)f(lane<BITS, SIGNED>(a, i), lane<BITS, SIGNED>(b, i)) & ((1u << BITS) - 1)) << (i * BITS);
    return r;
}

static unsigned *inputs, *outputs;
static bool good = true;

template <class K, class R> static void compare(const char *name, K kernel, R reference)
{
    kernel<<<COUNT / 128, 128>>>(inputs, outputs);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
        good = false;
        return;
    }
    for (int i = 0; i < COUNT; i++) {
        const unsigned a = inputs[i], b = inputs[COUNT + i], want = reference(a, b);
        if (outputs[i] != want) {
            printf("%s(%08x, %08x): %08x, not %08x\n", name, a, b, outputs[i], want);
            good = false;
            return;
        }
    }
}

#define KERNEL2(f)                                                                                 \
    static __global__ void k_##f(const unsigned *in, unsigned *out)                                \
    {                                                                                              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
        out[i] = __##f(in[i], in[COUNT + i]);                                                      \
    }
#define KERNEL1(f)                                                                                 \
    static __global__ void k_##f(const unsigned *in, unsigned *out)                                \
    {                                                                                              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
        out[i] = __##f(in[i]);                                                                     \
    }
/* X(name, arity, is the reference signed, expression in x and y, BITS, S) */
#define TABLE(X, N, B)                                                                             \
    X(vabs##N, 1, true, B, x < 0 ? -x : x)                                                         \
    X(vneg##N, 1, true, B, -x)                                                                     \
    X(vabsss##N, 1, true, B, (clamp<B, true>(x < 0 ? -x : x)))                                     \
    X(vnegss##N, 1, true, B, (clamp<B, true>(-x)))                                                 \
    X(vadd##N, 2, false, B, x + y)                                                                 \
    X(vsub##N, 2, false, B, x - y)                                                                 \
    X(vaddss##N, 2, true, B, (clamp<B, true>(x + y)))                                              \
    X(vaddus##N, 2, false, B, (clamp<B, false>(x + y)))                                            \
    X(vsubss##N, 2, true, B, (clamp<B, true>(x - y)))                                              \
    X(vsubus##N, 2, false, B, (clamp<B, false>(x - y)))                                            \
    X(vabsdiffs##N, 2, true, B, abs(x - y))                                                        \
    X(vabsdiffu##N, 2, false, B, abs(x - y))                                                       \
    X(vavgu##N, 2, false, B, (x + y + 1) / 2)                                                      \
    X(vhaddu##N, 2, false, B, (x + y) / 2)                                                         \
    X(vmaxs##N, 2, true, B, x > y ? x : y)                                                         \
    X(vmaxu##N, 2, false, B, x > y ? x : y)                                                        \
    X(vmins##N, 2, true, B, x < y ? x : y)                                                         \
    X(vminu##N, 2, false, B, x < y ? x : y)                                                        \
    X(vcmpeq##N, 2, true, B, x == y ? -1 : 0)                                                      \
    X(vcmpgts##N, 2, true, B, x > y ? -1 : 0)                                                      \
    X(vcmpgtu##N, 2, false, B, x > y ? -1 : 0)                                                     \
    X(vcmples##N, 2, true, B, x <= y ? -1 : 0)                                                     \
    X(vcmpleu##N, 2, false, B, x <= y ? -1 : 0)                                                    \
    X(vsetne##N, 2, true, B, x != y)                                                               \
    X(vsetges##N, 2, true, B, x >= y)                                                              \
    X(vsetltu##N, 2, false, B, x < y)

#define MAKE(f, arity, sign, bits, expression) KERNEL##arity(f)
TABLE(MAKE, 2, 16)
TABLE(MAKE, 4, 8)
KERNEL2(vsads2)
KERNEL2(vsadu4)

template <int BITS, bool SIGNED> static unsigned sad(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (int i = 0; i < 32 / BITS; i++)
        sum += abs(lane<BITS, SIGNED>(a, i) - lane<BITS, SIGNED>(b, i));
    return sum;
}

int main()
{
    static const unsigned special[] = {0, ~0u, 0x80008000u, 0x7fff7fffu, 0x80808080u, 0x7f7f7f7fu, 0x01010101u, 0x00ff8001u};
    unsigned seed = 1;
    cudaMallocManaged(&inputs, 2 * COUNT * sizeof *inputs);
    cudaMallocManaged(&outputs, COUNT * sizeof *outputs);
    for (int i = 0; i < 2 * COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        inputs[i] = i % COUNT < 64 ? special[i < COUNT ? i % 8 : i % COUNT / 8] : seed ^ seed >> 15;
    }
#define COMPARE(f, arity, sign, bits, expression)                                                  \
    compare(#f, k_##f, [](unsigned a, unsigned b) {                                                \
        return by_lanes<bits, sign>(a, b, [](int x, int y) -> int { (void)y; return expression; }); \
    });
    TABLE(COMPARE, 2, 16)
    TABLE(COMPARE, 4, 8)
    compare("vsads2", k_vsads2, [](unsigned a, unsigned b) { return sad<16, true>(a, b); });
    compare("vsadu4", k_vsadu4, [](unsigned a, unsigned b) { return sad<8, false>(a, b); });
    printf("RESULT %s\n", good ? "PASS" : "FAIL");
}
