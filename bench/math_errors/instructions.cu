/* Errors of the approximate PTX instructions, against double of the host: of f32 every bit pattern
 * (div.approx and div.full: every divisor, each with another dividend), of halves every pattern, of f64 random
 * ones. A line each for docs/ptx-fidelity.md: the largest error in units of the last place, relative
 * and absolute, and the operand where it is. instructions [N [NAME]]: only one in 2^N of the f32
 * patterns; only the instructions whose text has NAME in it.
 * build/bin/weir cc -O2 bench/math_errors/instructions.cu -o instructions; weir run instructions 4
 * (or nvcc, for a GPU's)
 * SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

/* name, instruction with type, exact value, least and largest |operand| that the manual speaks of */
#define UNARY(X)                                                                                   \
    X(rcp, "rcp.approx.f32", 1 / x, 0x1p-126, 0x1p126)                                             \
    X(sqrt, "sqrt.approx.f32", std::sqrt(x), 0x1p-149, 0x1p128)                                    \
    X(rsqrt, "rsqrt.approx.f32", 1 / std::sqrt(x), 0x1p-149, 0x1p128)                              \
    X(sin, "sin.approx.f32", std::sin(x), 0, 6.2831855)                                            \
    X(cos, "cos.approx.f32", std::cos(x), 0, 6.2831855)                                            \
    X(lg2_one, "lg2.approx.f32", std::log2(x), 0.5, 2)                                             \
    X(lg2, "lg2.approx.f32", x > 0.5 && x < 2 ? NAN : std::log2(x), 0x1p-149, 0x1p128)             \
    X(ex2, "ex2.approx.f32", std::exp2(x), 0, 0x1p128)                                             \
    X(ex2_ftz, "ex2.approx.ftz.f32", x < -126 ? NAN : std::exp2(x), 0x1p-126, 0x1p128)             \
    X(tanh, "tanh.approx.f32", std::tanh(x), 0, 0x1p128)

#define HALVES(X)                                                                                  \
    X(ex2_f16, "ex2.approx.f16", std::exp2(x), 10, 5)                                              \
    X(tanh_f16, "tanh.approx.f16", std::tanh(x), 10, 5)                                            \
    X(ex2_bf16, "ex2.approx.ftz.bf16", std::exp2(x), 7, 8)                                         \
    X(tanh_bf16, "tanh.approx.bf16", std::tanh(x), 7, 8)

#define DOUBLES(X)                                                                                 \
    X(rcp_f64, "rcp.approx.ftz.f64", 1 / x)                                                        \
    X(rsqrt_f64, "rsqrt.approx.f64", 1 / std::sqrt(x))                                             \
    X(rsqrt_ftz_f64, "rsqrt.approx.ftz.f64", 1 / std::sqrt(x))

static const uint32_t CHUNK = 1u << 24;

__host__ __device__ static inline uint32_t mix(uint32_t v)
{
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

template <class To, class From> __host__ __device__ static inline To as(From v)
{
    To t;

    memcpy(&t, &v, sizeof t);
    return t;
}

/* Of so many patterns with the same upper bits, one. */
__host__ __device__ static inline uint32_t pattern(uint32_t i, int step)
{
    return i << step | (mix(i) & ((1u << step) - 1));
}

/* A dividend for which the quotient is a normal number, where the divisor is. */
__host__ __device__ static inline float dividend(uint32_t divisor)
{
    uint32_t r = mix(divisor), e = divisor >> 23 & 255;

    e = e < 64 ? e + r % 60 : e > 190 ? e - r % 60 : e - 30 + r % 60;
    return as<float>((r & 0x807fffffu) | (e << 23));
}

__host__ __device__ static inline double random_double(uint32_t i)
{
    return as<double>((uint64_t)mix(i) << 32 | mix(i ^ 0x5bd1e995u));
}

#define INDEX uint32_t i = blockIdx.x * blockDim.x + threadIdx.x
#define KERNEL_F32(name, text, ...)                                                                \
    __global__ void k_##name(uint32_t first, int step, float *out)                                 \
    {                                                                                              \
        INDEX;                                                                                     \
        asm(text " %0, %1;" : "=f"(out[i]) : "f"(as<float>(pattern(first + i, step))));                 \
    }
#define KERNEL_HALF(name, text, ...)                                                               \
    __global__ void k_##name(uint16_t *out)                                                        \
    {                                                                                              \
        INDEX;                                                                                     \
        asm(text " %0, %1;" : "=h"(out[i]) : "h"((uint16_t)i));                                    \
    }                                                                                              \
    __global__ void k_##name##_pair(uint32_t *out)                                                 \
    {                                                                                              \
        INDEX;                                                                                     \
        asm(text "x2 %0, %1;" : "=r"(out[i]) : "r"(i * 2 | (i * 2 + 1) << 16));                    \
    }
#define KERNEL_F64(name, text, ...)                                                                \
    __global__ void k_##name(uint32_t first, double *out)                                          \
    {                                                                                              \
        INDEX;                                                                                     \
        asm(text " %0, %1;" : "=d"(out[i]) : "d"(random_double(first + i)));                       \
    }
#define KERNEL_DIV(name, text)                                                                     \
    __global__ void k_##name(uint32_t first, int step, float *out)                                 \
    {                                                                                              \
        INDEX;                                                                                     \
        uint32_t y = pattern(first + i, step);                                                       \
        asm(text " %0, %1, %2;" : "=f"(out[i]) : "f"(dividend(y)), "f"(as<float>(y)));             \
    }
UNARY(KERNEL_F32)
HALVES(KERNEL_HALF)
DOUBLES(KERNEL_F64)
KERNEL_DIV(div, "div.approx.f32")
KERNEL_DIV(div_full, "div.full.f32")

struct worst {
    double ulp = 0, relative = 0, absolute = 0, at = 0;
    uint64_t special = 0; /* not finite where the exact value is in range, or the other way round */

    void join(const worst &o)
    {
        at = o.ulp > ulp ? o.at : at;
        ulp = std::fmax(ulp, o.ulp);
        relative = std::fmax(relative, o.relative);
        absolute = std::fmax(absolute, o.absolute);
        special += o.special;
    }
};

/* A result of a format with so many bits of fraction and of exponent. */
static void compare(worst &w, double x, double want, double got, int fraction, int exponent)
{
    int least = 2 - (1 << (exponent - 1)), e;
    double error = std::fabs(want - got), unit;

    if (std::isnan(want))
        return;
    if (std::fabs(want) >= std::ldexp(2 - std::ldexp(1, -fraction - 1), -least + 1)) {
        w.special += std::fabs(got) < std::ldexp(1, -least + 1);
        return;
    }
    if (!std::isfinite(got)) {
        w.special++;
        return;
    }
    e = want == 0 ? least : std::max(std::ilogb(want), least);
    unit = std::ldexp(1, e - fraction);
    if (error > w.ulp * unit) {
        w.ulp = error / unit;
        w.at = x;
    }
    w.absolute = std::fmax(w.absolute, error);
    if (std::fabs(want) >= std::ldexp(1, least))
        w.relative = std::fmax(w.relative, error / std::fabs(want));
}

static void say(const char *text, const worst &w)
{
    printf("%-22s %9.4f ulp at %-14.9g relative 2^%.2f, absolute 2^%.2f", text, w.ulp, w.at,
           std::log2(w.relative), std::log2(w.absolute));
    if (w.special)
        printf(", %llu not finite or wrongly so", (unsigned long long)w.special);
    printf("\n");
    fflush(stdout);
}

/* body(worst, i) for all i below n, by all processors. */
template <class Body> static worst over(uint32_t n, Body body)
{
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> all;
    std::mutex lock;
    worst sum;

    for (unsigned t = 0; t < threads; t++)
        all.emplace_back([&, t] {
            worst mine;

            for (uint64_t i = (uint64_t)n * t / threads; i < (uint64_t)n * (t + 1) / threads; i++)
                body(mine, (uint32_t)i);
            std::lock_guard<std::mutex> hold(lock);
            sum.join(mine);
        });
    for (auto &t : all)
        t.join();
    return sum;
}

static float *results;   /* CHUNK of them, pinned */
static const char *only; /* of the text, or null */

template <class Exact>
static void f32(const char *text, void (*kernel)(uint32_t, int, float *), Exact exact, int step,
                double least, double largest)
{
    uint64_t patterns = (1ull << 32) >> step;
    worst w;

    if (only && !strstr(text, only))
        return;
    for (uint64_t first = 0; first < patterns; first += CHUNK) {
        double low = std::fabs(as<float>((uint32_t)(first << step))),
               high = std::fabs(as<float>((uint32_t)((first + CHUNK - 1) << step)));

        if (low > largest || high < least || std::isnan(low))
            continue;
        kernel<<<CHUNK / 256, 256>>>((uint32_t)first, step, results);
        if (cudaDeviceSynchronize())
            exit(1);
        w.join(over(CHUNK, [&](worst &mine, uint32_t i) {
            uint32_t bits = pattern((uint32_t)first + i, step);
            double x = as<float>(bits);

            if (std::fabs(x) >= least && std::fabs(x) <= largest)
                compare(mine, x, exact(bits, x), results[i], 23, 8);
        }));
    }
    say(text, w);
}

static double half(uint32_t bits, int fraction, int exponent)
{
    int e = bits >> fraction & ((1 << exponent) - 1), least = 2 - (1 << (exponent - 1));
    double m = bits & ((1 << fraction) - 1), v;

    if (e == (1 << exponent) - 1)
        v = m ? NAN : INFINITY;
    else
        v = std::ldexp(e ? m + (1 << fraction) : m, (e ? e - 1 : 0) + least - fraction);
    return bits >> 15 & 1 ? -v : v;
}

template <class Exact>
static void halves(const char *text, void (*one)(uint16_t *), void (*pair)(uint32_t *), Exact exact,
                   int fraction, int exponent)
{
    const uint16_t *got = (const uint16_t *)results, *pairs = got + 65536;
    worst w;

    if (only && !strstr(text, only))
        return;
    one<<<256, 256>>>((uint16_t *)results);
    pair<<<128, 256>>>((uint32_t *)(results + 32768));
    if (cudaDeviceSynchronize())
        exit(1);
    for (uint32_t i = 0; i < 65536; i++) {
        double x = half(i, fraction, exponent);
        bool flush = strstr(text, ".ftz") != nullptr;
        double want = exact(x);

        if (flush && std::fabs(want) < std::ldexp(1, 2 - (1 << (exponent - 1))))
            want = NAN;
        compare(w, x, want, half(got[i], fraction, exponent), fraction, exponent);
        if (got[i] != pairs[i])
            w.special++;
    }
    say(text, w);
}

template <class Exact>
static void f64(const char *text, void (*kernel)(uint32_t, double *), Exact exact)
{
    const double *got = (const double *)results;
    worst w;

    if (only && !strstr(text, only))
        return;
    for (uint32_t first = 0; first < 8 * CHUNK; first += CHUNK / 2) {
        kernel<<<CHUNK / 512, 256>>>(first, (double *)results);
        if (cudaDeviceSynchronize())
            exit(1);
        w.join(over(CHUNK / 2, [&](worst &mine, uint32_t i) {
            double x = random_double(first + i), want = exact(x);

            if (std::fabs(x) >= 0x1p-1022 && std::fabs(want) >= 0x1p-1022)
                compare(mine, x, want, got[i], 52, 11);
        }));
    }
    say(text, w);
}

int main(int argc, char **argv)
{
    int step = argc > 1 ? atoi(argv[1]) : 0;

    only = argc > 2 ? argv[2] : nullptr;
    if (step < 0 || step > 8 || cudaMallocHost(&results, CHUNK * sizeof *results))
        return 1;
#define RUN_HALF(name, text, exact, fraction, exponent)                                            \
    halves(                                                                                        \
        text, k_##name, k_##name##_pair, [](double x) -> double { return exact; }, fraction,       \
        exponent);
    HALVES(RUN_HALF)
#define RUN_F32(name, text, exact, least, largest)                                                 \
    f32(                                                                                           \
        text, k_##name, [](uint32_t, double x) -> double { return exact; }, step, least, largest);
    UNARY(RUN_F32)
    f32(
        "div.approx.f32", k_div, [](uint32_t b, double x) { return dividend(b) / x; }, step,
        0x1p-126, 0x1p126);
    f32(
        "div.full.f32", k_div_full, [](uint32_t b, double x) { return dividend(b) / x; }, step,
        0x1p-149, 0x1p128);
#define RUN_F64(name, text, exact) f64(text, k_##name, [](double x) -> double { return exact; });
    DOUBLES(RUN_F64)
    return 0;
}
