// C++17 in device code: virtual functions and placement new, generic and host-device lambdas,
// structured bindings, fold expressions, std::array, tuple, pair, optional, limits and <cmath> by
// --expt-relaxed-constexpr, grid constants, static shared memory in templates, variables of every
// linkage, printf, assert and malloc.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <tuple>
#include <type_traits>
#include <limits>
#include <cmath>
#include <algorithm>
#include <utility>
#include <cstdio>
#include <cstdint>
#include <cassert>
#include <new>
#include <numeric>
#include <functional>
#include <optional>
#include <complex>
#include <math_constants.h>
#include <vector_types.h>
#include <vector_functions.h>
#include <device_functions.h>

struct Base {
    __host__ __device__ virtual int f(int) const = 0;
    __host__ __device__ virtual ~Base() {}
};
struct D1 : Base {
    int a;
    __host__ __device__ D1(int a) : a(a) {}
    __host__ __device__ int f(int x) const override { return a * x; }
};
struct D2 : Base {
    __host__ __device__ int f(int x) const override { return x - 7; }
};
__global__ void virt(int *out)
{
    alignas(16) char room[64];
    Base *b = threadIdx.x & 1 ? (Base *)new (room) D1(3) : (Base *)new (room) D2;
    out[threadIdx.x] = b->f(threadIdx.x);
    b->~Base();
    Base *h = new D1(5);
    out[threadIdx.x] += h->f(1);
    delete h;
}
constexpr int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
template <class T, int N> __global__ void stat(T *out)
{
    __shared__ T s[N];
    extern __shared__ unsigned char dyn[];
    T *d = reinterpret_cast<T *>(dyn);
    s[threadIdx.x] = T(threadIdx.x);
    d[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = s[N - 1 - threadIdx.x] * d[(threadIdx.x + 1) % N];
}
__global__ void __launch_bounds__(128, 2)
    lib(float *out, const __grid_constant__ std::array<int, 4> arr, const float *__restrict__ in)
{
    std::array<int, 4> a = arr;
    auto t = std::make_tuple(1, 2.5f, 'c');
    auto [x, y, z] = t;
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < 4; i++)
        sum += a[i] + std::get<1>(t);
    if constexpr (std::is_same_v<decltype(x), int>)
        sum += std::numeric_limits<float>::max() > 1 ? 1 : 0;
    sum += std::max(1, 3) + std::min(2.f, 1.f) + std::sqrt(4.f) + std::abs(-2.5f) +
           std::pow(2.f, 3) + std::fabs(-1.0) + std::floor(1.5f) + std::isnan(sum) +
           std::clamp(5, 0, 3);
    std::pair<int, float> p{1, 2.f};
    sum += p.first + p.second;
    static_assert(fib(10) == 55);
    constexpr int f10 = fib(10);
    sum += f10 + (float)CUDART_PI_F + (CUDART_INF_F > 1) + std::move(x) +
           std::numeric_limits<int>::lowest() / -2147483647;
    std::optional<int> o = 4;
    sum += *o + (o.has_value() ? 1 : 0);
    out[threadIdx.x] = sum + in[0];
}
template <class F> __global__ void call(F f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        f(i);
}
struct P {
    float a;
    int b;
};
__constant__ P cps[3] = {{1, 2}, {3, 4}, {5, 6}};
__device__ P one = {7, 8};
static __device__ int sta[2] = {1, 2};
inline __device__ int inl = 9;
__global__ void vars(float *o)
{
    o[0] = cps[2].a + cps[1].b + one.a + sta[1] + inl;
    assert(o[0] > 0);
    int *m = (int *)malloc(16);
    m[0] = 3;
    o[1] = m[0];
    free(m);
    printf("hello %d %s %g\n", 3, "x", 1.5);
}
enum class E : uint8_t { A, B };
template <typename... A> __device__ int sum(A... a)
{
    return (a + ...);
}
__global__ void vari(int *o)
{
    o[0] = sum(1, 2, 3) + (int)E::B;
    auto l = [&](auto v) { return v + 1; };
    o[1] = l(4);
    int (*fp)(int) = [](int v) { return v * 2; };
    o[2] = fp(4);
}
int main()
{
    int *o;
    float *fo;
    cudaMallocManaged(&o, 4096);
    cudaMallocManaged(&fo, 4096);
    fo[512] = 0;
    virt<<<1, 32>>>(o);
    cudaDeviceSynchronize();
    bool ok = o[0] == -2 && o[1] == 8 && o[3] == 14;
    printf("virt %d %d %d %d\n", o[0], o[1], o[3], ok);
    stat<float, 32><<<1, 32, 128>>>(fo);
    cudaDeviceSynchronize();
    printf("%g %g\n", fo[0], fo[31]);
    ok &= fo[0] == 62;
    lib<<<1, 32>>>(fo, std::array<int, 4>{1, 2, 3, 4}, fo + 512);
    cudaDeviceSynchronize();
    printf("lib %g\n", fo[3]);
    call<<<1, 32>>>([=] __device__(int i) { o[i] = i * 3; }, 32);
    cudaDeviceSynchronize();
    ok &= o[5] == 15;
    int k = 4;
    call<<<1, 32>>>([=] __host__ __device__(int i) { o[i] = i * k; }, 32);
    cudaDeviceSynchronize();
    ok &= o[5] == 20;
    vars<<<1, 1>>>(fo);
    cudaDeviceSynchronize();
    printf("%g %g\n", fo[0], fo[1]);
    ok &= fo[0] == 27 && fo[1] == 3;
    vari<<<1, 1>>>(o);
    cudaDeviceSynchronize();
    ok &= o[0] == 7 && o[1] == 5 && o[2] == 8;
    ok &= cudaGetLastError() == cudaSuccess;
    printf("RESULT %s\n", ok ? "PASS" : "FAIL");
}
