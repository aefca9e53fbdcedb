/* Runs every mathematical function of CUDA on the device, random and special arguments, and prints the largest errors as a
 * table (docs/ptx-fidelity.md). `run` builds and starts it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "reference.h"

static int count = 1 << 16;
static uint64_t seed = 88172645463325252ull;

static uint64_t next_random()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static const double special[] = {0.0,  -0.0, 1.0,   -1.0,  INFINITY,  -INFINITY, NAN,   0.5,    -0.5,     2.0,   3.0,
                                 -2.0, 25.0, 100.0, 8.0,   0x1p-149,  0x1p-1074, 1e-320, 1e300,  0x1p-126, -1e30, 2.5};
static const int specials = sizeof special / sizeof *special;

template <class T> static T argument(int i, int which)
{
    static const double width[] = {0, 2, 20, 4, 200, 1600, 1e6, 1e-3, 40};
    if (i < specials * specials)
        return (T)special[which ? i / specials : i % specials];
    if (i % 9 == 0) {
        const uint64_t bits = next_random();
        T value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return (T)(((double)(next_random() >> 11) * 0x1p-53 - 0.5) * width[(which ? i + i / 9 : i) % 9]);
}

#define KERNELS(fn, expression_f, expression_d)                                                     \
    __global__ void k_##fn(int n, const float *a, float *out)                                       \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {  \
            const float x = a[i], y = a[n + i], z = a[2 * n + i], w = a[3 * n + i];                \
            (void)y, (void)z, (void)w;                                                             \
            out[i] = expression_f;                                                                 \
        }                                                                                          \
    }                                                                                              \
    __global__ void k_##fn(int n, const double *a, double *out)                                     \
    {                                                                                              \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {  \
            const double x = a[i], y = a[n + i], z = a[2 * n + i], w = a[3 * n + i];               \
            (void)y, (void)z, (void)w;                                                             \
            out[i] = expression_d;                                                                 \
        }                                                                                          \
    }
#define ONE(fn, bf, bd, source)   KERNELS(fn, fn##f(x), fn(x))
#define TWO(fn, bf, bd, source)   KERNELS(fn, fn##f(x, y), fn(x, y))
#define THREE(fn, bf, bd, source) KERNELS(fn, fn##f(x, y, z), fn(x, y, z))
#define FOUR(fn, bf, bd, source)  KERNELS(fn, fn##f(x, y, z, w), fn(x, y, z, w))
#define ORDER(fn, bf, bd, source) KERNELS(fn, fn##f((int)w, x), fn((int)w, x))
#include "functions.def"
#undef ONE
#undef TWO
#undef THREE
#undef FOUR
#undef ORDER

struct worst {
    double ulp, absolute, v[4], got;
};

/* Where the documentation speaks of an absolute error, or of none, ulps are not counted. */
static bool counts(const char *name, const double *v)
{
    const bool bessel = !strcmp(name, "j0") || !strcmp(name, "j1") || !strcmp(name, "y0") || !strcmp(name, "y1");
    if (bessel)
        return !(std::fabs(v[0]) >= 8);
    if (!strcmp(name, "lgamma"))
        return !(v[0] > -23.0001 && v[0] < -2.2637);
    return strcmp(name, "jn") && strcmp(name, "yn");
}

template <class T> static worst measure(const char *name, void (*kernel)(int, const T *, T *))
{
    std::vector<T> a(4 * count), out(count);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < count; i++)
            a[k * count + i] = k == 3 && (!strcmp(name, "jn") || !strcmp(name, "yn")) ? (T)(next_random() % 129)
                                                                                      : argument<T>(i, k);
    if (!strcmp(name, "jn") || !strcmp(name, "yn"))
        for (int i = 0; i < count; i++) /* the reference is slow far out */
            a[i] = std::fabs(a[i]) > 1000 ? (T)(i % 1000) + (T)0.5 : a[i];
    T *device;
    if (cudaMalloc(&device, 5 * count * sizeof(T)) ||
        cudaMemcpy(device, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice))
        exit(1);
    kernel<<<64, 128>>>(count, device, device + 4 * count);
    if (cudaMemcpy(out.data(), device + 4 * count, count * sizeof(T), cudaMemcpyDeviceToHost)) {
        fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
    cudaFree(device);
    worst most = {};
    for (int i = 0; i < count; i++) {
        const double v[4] = {a[i], a[count + i], a[2 * count + i], a[3 * count + i]};
        double absolute;
        const bool f = sizeof(T) == 4;
        const double ulp = weir_reference_error(name, v, out[i], f ? 24 : 53, f ? -149 : -1074, f ? FLT_MAX : DBL_MAX, &absolute);
        if (absolute > most.absolute && (strcmp(name, "yn") || v[0] > 1.5 * v[3]) &&
            ((strcmp(name, "y0") && strcmp(name, "y1")) || v[0] >= 8))
            most.absolute = absolute;
        if ((ulp >= 1e9 || counts(name, v)) && ulp > most.ulp) {
            most.ulp = ulp;
            memcpy(most.v, v, sizeof v);
            most.got = out[i];
        }
    }
    return most;
}

static void print(const char *name, bool is_float, const worst &w, double bound)
{
    if (bound < 0)
        printf(" abs %.1e | |", w.absolute);
    else
        printf(" %.2f | %g |", w.ulp, bound);
    if (w.ulp >= 1e9 || (bound >= 0 && w.ulp > bound + 0.5))
        fprintf(stderr, "%s%s: %g ulp, documented %g: at %a %a %a %a: %a\n", name, is_float ? "f" : "", w.ulp, bound, w.v[0], w.v[1],
                w.v[2], w.v[3], w.got);
}

template <class F, class D> static void row(const char *name, F f, D d, double bf, double bd, const char *source)
{
    printf("| `%s` | %s |", name, source);
    print(name, true, measure<float>(name, f), bf);
    print(name, false, measure<double>(name, d), bd);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *only = argc > 2 ? argv[2] : nullptr;
    if (argc > 1)
        count = atoi(argv[1]);
    printf("| function | source | float: ulp | documented | double: ulp | documented |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
#define ROW(f, bf, bd, source)                                                                     \
    if (!only || !strcmp(only, #f))                                                                \
        row(#f, (void (*)(int, const float *, float *))k_##f, (void (*)(int, const double *, double *))k_##f, bf, bd, source);
#define ONE   ROW
#define TWO   ROW
#define THREE ROW
#define FOUR  ROW
#define ORDER ROW
#include "functions.def"
}
