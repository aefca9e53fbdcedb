/* Errors of the approximate PTX instructions of f32, against double: over all mantissas of some
 * exponents and over random bit patterns. A line each for docs/ptx-fidelity.md: the largest error
 * in units of the last place, relative and absolute.
 * build/bin/weir cc -O2 bench/math_errors/instructions.cu -o instructions; weir run instructions
 * SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define UNARY(X)                                                                                   \
    X(rcp, "rcp.approx.f32", 1 / x, 1e-37, 1e37)                                                   \
    X(sqrt, "sqrt.approx.f32", std::sqrt(x), 1e-38, 3e38)                                          \
    X(rsqrt, "rsqrt.approx.f32", 1 / std::sqrt(x), 1e-38, 3e38)                                    \
    X(sin, "sin.approx.f32", std::sin(x), 1e-38, 6.2831)                                           \
    X(cos, "cos.approx.f32", std::cos(x), 1e-38, 6.2831)                                           \
    X(lg2, "lg2.approx.f32", std::log2(x), 1e-38, 3e38)                                            \
    X(ex2, "ex2.approx.f32", std::exp2(x), -126, 127.99)                                           \
    X(tanh, "tanh.approx.f32", std::tanh(x), -20, 20)

#define KERNEL(name, text, exact, low, high)                                                       \
    __global__ void k_##name(const float *in, float *out, int n)                                   \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        float r;                                                                                   \
        if (i >= n)                                                                                \
            return;                                                                                \
        asm(text " %0, %1;" : "=f"(r) : "f"(in[i]));                                               \
        out[i] = r;                                                                                \
    }                                                                                              \
    static double e_##name(double x)                                                               \
    {                                                                                              \
        return exact;                                                                              \
    }
UNARY(KERNEL)

__global__ void k_div(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float r;

    if (i >= n)
        return;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(in[i ^ 1]), "f"(in[i]));
    out[i] = r;
}

struct row {
    const char *text;
    void (*kernel)(const float *, float *, int);
    double (*exact)(double);
    double low, high;
};

static const row rows[] = {
#define ROW(name, text, exact, low, high) {text, k_##name, e_##name, low, high},
    UNARY(ROW)};

static std::vector<float> arguments(double low, double high)
{
    std::vector<float> x;
    uint32_t r = 1;

    for (int exponent = -3; exponent <= 3; exponent++)
        for (uint32_t m = 0; m < 1u << 23; m += 8)
            x.push_back(std::ldexp(1 + m / 8388608.0f, exponent));
    for (int k = 0; k < 1 << 23; k++) {
        float f;

        r = r * 1664525 + 1013904223;
        memcpy(&f, &r, 4);
        x.push_back(f);
    }
    for (auto &f : x)
        if (!((double)f >= low && (double)f <= high))
            f = 1;
    return x;
}

static void say(const char *text, const std::vector<float> &x, const std::vector<float> &got,
                double (*exact)(double))
{
    double ulp = 0, relative = 0, absolute = 0;

    for (size_t i = 0; i < x.size(); i++) {
        double want = exact ? exact(x[i]) : (double)x[i ^ 1] / (double)x[i];
        double error = std::fabs(want - (double)got[i]);

        if (!std::isfinite(want) || std::fabs(want) < 0x1p-126 || std::fabs(want) > 0x1.fffffep127)
            continue;
        ulp = std::fmax(ulp, error / std::ldexp(1, std::ilogb(want) - 23));
        relative = std::fmax(relative, error / std::fabs(want));
        absolute = std::fmax(absolute, error);
    }
    printf("%-18s %8.2f ulp, relative 2^%.1f, absolute 2^%.1f\n", text, ulp, std::log2(relative),
           std::log2(absolute));
}

int main()
{
    for (size_t k = 0; k <= sizeof rows / sizeof rows[0]; k++) {
        bool div = k == sizeof rows / sizeof rows[0];
        std::vector<float> x = arguments(div ? 1e-37 : rows[k].low, div ? 1e37 : rows[k].high);
        std::vector<float> got(x.size());
        int n = (int)x.size();
        float *in, *out;

        if (cudaMalloc(&in, n * 4) || cudaMalloc(&out, n * 4) ||
            cudaMemcpy(in, x.data(), n * 4, cudaMemcpyHostToDevice))
            return 1;
        (div ? k_div : rows[k].kernel)<<<(n + 255) / 256, 256>>>(in, out, n);
        if (cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost))
            return 1;
        say(div ? "div.approx.f32" : rows[k].text, x, got, div ? nullptr : rows[k].exact);
        cudaFree(in);
        cudaFree(out);
    }
    return 0;
}
