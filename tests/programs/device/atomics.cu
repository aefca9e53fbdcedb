/* Atomics of libcu++ in all widths, scopes and orders, and the classic functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <cuda::thread_scope S, class T> __device__ void ops(T *base, T *log)
{
    cuda::atomic_ref<T, S> a(base[0]), b(base[1]), c(base[2]), d(base[3]), e(base[4]), f(base[5]),
        g(base[6]), h(base[7]);
    a.fetch_add(1);
    b.fetch_sub(1, cuda::memory_order_relaxed);
    T one = (T)((T)1 << (threadIdx.x % (sizeof(T) * 8 - 1)));
    c.fetch_or(one, cuda::memory_order_acquire);
    d.fetch_and((T)~one, cuda::memory_order_release);
    e.fetch_xor(one, cuda::memory_order_acq_rel);
    f.fetch_max((T)threadIdx.x);
    g.fetch_min((T)(T(100) - (T)threadIdx.x));
    T old = h.load(cuda::memory_order_relaxed);
    while (!h.compare_exchange_weak(old, (T)(old + 3), cuda::memory_order_seq_cst,
                                    cuda::memory_order_acquire)) {
    }
    T x = h.exchange((T)(h.load(cuda::memory_order_acquire)), cuda::memory_order_acq_rel);
    (void)x;
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, S);
    log[threadIdx.x] = a.load();
}
template <cuda::thread_scope S, class T> __global__ void all(T *v, T *log)
{
    ops<S>(v, log);
}
template <cuda::thread_scope S, class T> __global__ void all_shared(T *v, T *log)
{
    __shared__ T s[8];
    if (threadIdx.x < 8)
        s[threadIdx.x] = v[threadIdx.x];
    __syncthreads();
    ops<S>(s, log);
    __syncthreads();
    if (threadIdx.x < 8)
        v[threadIdx.x] = s[threadIdx.x];
}
template <class T, class K> void run(K k, bool h)
{
    T *v = mem<T>(8), *log = mem<T>(256);
    T m = sizeof(T) == 1 ? 0x7f : (T) ~(T)0;
    v[3] = (T) ~(T)0;
    v[6] = (T)100;
    const int n = 96;
    k<<<1, n>>>(v, log);
    SYNC();
    OK(v[0] == (T)n);
    OK(v[1] == (T)-n);
    T o = 0, x = 0;
    for (int t = 0; t < n; t++) {
        T one = (T)((T)1 << (t % (sizeof(T) * 8 - 1)));
        o |= one;
        x ^= one;
    }
    OK(v[2] == o);
    OK(v[3] == (T)~o);
    OK(v[4] == x);
    OK(v[5] == (T)(n - 1));
    OK(v[6] == (T)(100 - (n - 1)));
    (void)h;
    (void)m;
}
template <cuda::thread_scope S> void types()
{
    run<int>(all<S, int>, true);
    run<unsigned>(all<S, unsigned>, true);
    run<long long>(all<S, long long>, true);
    run<unsigned long long>(all<S, unsigned long long>, true);
    run<short>(all<S, short>, true);
    run<unsigned char>(all<S, unsigned char>, true);
    run<signed char>(all<S, signed char>, true);
    run<unsigned short>(all_shared<S, unsigned short>, true);
    run<int>(all_shared<S, int>, true);
    run<long long>(all_shared<S, long long>, true);
    run<unsigned char>(all_shared<S, unsigned char>, true);
}
__global__ void floats(float *f, double *d, __half *h, __half2 *h2, __nv_bfloat16 *b,
                       __nv_bfloat162 *b2)
{
    cuda::atomic_ref<float, cuda::thread_scope_device>(f[0]).fetch_add(0.5f);
    cuda::atomic_ref<double, cuda::thread_scope_device>(d[0]).fetch_add(0.25);
    cuda::atomic_ref<float, cuda::thread_scope_device>(f[1]).fetch_max((float)threadIdx.x);
    atomicAdd(&h[0], __float2half(1.0f));
    atomicAdd(&h2[1], __floats2half2_rn(1.0f, 2.0f));
    atomicAdd(&b[0], __float2bfloat16(1.0f));
    atomicAdd(&b2[1], __floats2bfloat162_rn(1.0f, 2.0f));
    atomicAdd_system(&f[2], 1.0f);
    atomicAdd_block(&f[3], 1.0f);
}
struct pair {
    unsigned long long a;
};
struct small {
    unsigned char a, b;
};
__global__ void structs(cuda::atomic<small, cuda::thread_scope_device> *s,
                        cuda::std::atomic<float> *f, cuda::std::atomic_flag *flag, int *n)
{
    small o = s->load();
    while (
        !s->compare_exchange_strong(o, small{(unsigned char)(o.a + 1), (unsigned char)(o.b + 2)})) {
    }
    f->fetch_add(1.0f);
    while (flag->test_and_set()) {
    }
    *n = *n + 1;
    __threadfence();
    flag->clear();
}
__global__ void classic(int *v, unsigned *u, unsigned long long *q, float *f, double *d)
{
    int t = threadIdx.x;
    atomicAdd(&v[0], t);
    atomicSub(&v[1], t);
    atomicExch(&v[2], 7);
    atomicMin(&v[3], -t);
    atomicMax(&v[4], t);
    atomicInc(&u[0], 10);
    atomicDec(&u[1], 10);
    atomicCAS(&v[5], 0, 5);
    atomicAnd(&v[6], ~(1 << t % 31));
    atomicOr(&v[7], 1 << t % 31);
    atomicXor(&v[8], 1 << t % 31);
    atomicMin((long long *)&q[0], -(long long)t);
    atomicMax(&q[1], (unsigned long long)t << 40);
    atomicAdd(&q[2], 1ull << 33);
    atomicExch(&f[0], 2.0f);
    atomicAdd(&d[0], 1.5);
    atomicCAS((unsigned short *)&u[3], 0, 9);
    atomicAdd_system(&v[9], 1);
    atomicAdd_block(&v[10], 1);
    atomicOr(&q[3], 1ull << t % 63);
    atomicAnd(&q[4], ~(1ull << t % 63));
    atomicXor(&q[5], 1ull << t % 63);
    atomicExch(&q[6], 5ull);
    atomicCAS(&q[7], 0ull, 1ull << 50);
}
__global__ void wait_notify(cuda::atomic<int, cuda::thread_scope_device> *a, int *out)
{
    if (blockIdx.x == 0) {
        a->wait(0);
        out[threadIdx.x] = a->load();
    } else if (threadIdx.x == 0) {
        a->store(42);
        a->notify_all();
    }
}
/* A flag and what it announces in one vector: the other block never sees one without the other. */
__global__ void pairs(ulonglong2 *wide, uint2 *narrow, int *torn)
{
    const unsigned last = 100000;
    ulonglong2 *w = wide + threadIdx.x;
    uint2 *n = narrow + threadIdx.x;
    if (blockIdx.x == 0) {
        for (unsigned i = 1; i <= last; i++) {
            asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(w),
                         "l"((unsigned long long)i), "l"(i * 7ull)
                         : "memory");
            asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(n), "r"(i), "r"(i * 7)
                         : "memory");
        }
        return;
    }
    for (unsigned seen = 0; seen < last;) {
        unsigned long long a, b;
        unsigned c, d;
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(a), "=l"(b)
                     : "l"(w)
                     : "memory");
        asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];"
                     : "=r"(c), "=r"(d)
                     : "l"(n)
                     : "memory");
        if (b != a * 7 || d != c * 7)
            atomicAdd(torn, 1);
        seen = c;
    }
}
int main()
{
    types<cuda::thread_scope_system>();
    types<cuda::thread_scope_device>();
    types<cuda::thread_scope_block>();
    float *f = mem<float>(8);
    double *d = mem<double>(8);
    __half *h = mem<__half>(8);
    __nv_bfloat16 *b = mem<__nv_bfloat16>(8);
    floats<<<2, 50>>>(f, d, h, (__half2 *)h, b, (__nv_bfloat162 *)b);
    SYNC();
    OK(f[0] == 50 && d[0] == 25 && f[1] == 49 && f[2] == 100 && f[3] == 100);
    OK(__half2float(h[0]) == 100 && __half2float(h[1]) == 0 && __half2float(h[2]) == 100 &&
       __half2float(h[3]) == 200);
    OK(__bfloat162float(b[0]) == 100 && __bfloat162float(b[1]) == 0 &&
       __bfloat162float(b[2]) == 100 && __bfloat162float(b[3]) == 200);
    auto *s = mem<cuda::atomic<small, cuda::thread_scope_device>>(1);
    auto *cf = mem<cuda::std::atomic<float>>(1);
    auto *fl = mem<cuda::std::atomic_flag>(1);
    int *n = mem<int>(1);
    structs<<<4, 33>>>(s, cf, fl, n);
    SYNC();
    OK(s->load().a == 132 && s->load().b == (unsigned char)264 && cf->load() == 132 && *n == 132);
    int *v = mem<int>(32);
    unsigned *u = mem<unsigned>(8);
    unsigned long long *q = mem<unsigned long long>(8);
    f[0] = 0;
    d[0] = 0;
    v[6] = -1;
    q[4] = ~0ull;
    classic<<<1, 64>>>(v, u, q, f, d);
    SYNC();
    OK(v[0] == 2016 && v[1] == -2016 && v[2] == 7 && v[3] == -63 && v[4] == 63 && u[0] == 64 % 11 &&
       u[1] == (unsigned)(11 - 64 % 11) % 11 && v[5] == 5 && v[9] == 64 && v[10] == 64);
    int o = 0, x = 0;
    unsigned long long o2 = 0, x2 = 0;
    for (int t = 0; t < 64; t++) {
        o |= 1 << t % 31;
        x ^= 1 << t % 31;
        o2 |= 1ull << t % 63;
        x2 ^= 1ull << t % 63;
    }
    OK(v[6] == ~o && v[7] == o && v[8] == x);
    OK((long long)q[0] == -63 && q[1] == 63ull << 40 && q[2] == 64ull << 33 && f[0] == 2 &&
       d[0] == 96 && u[3] == 9);
    OK(q[3] == o2 && q[4] == ~o2 && q[5] == x2 && q[6] == 5 && q[7] == 1ull << 50);
    auto *w = mem<cuda::atomic<int, cuda::thread_scope_device>>(1);
    wait_notify<<<2, 32>>>(w, v);
    SYNC();
    for (int i = 0; i < 32; i++)
        OK(v[i] == 42);
    ulonglong2 *wide;
    uint2 *narrow;
    CU(cudaMalloc(&wide, 32 * sizeof *wide));
    CU(cudaMalloc(&narrow, 32 * sizeof *narrow));
    CU(cudaMemset(wide, 0, 32 * sizeof *wide));
    CU(cudaMemset(narrow, 0, 32 * sizeof *narrow));
    int *torn = mem<int>(1);
    *torn = 0;
    pairs<<<2, 32>>>(wide, narrow, torn);
    SYNC();
    OK(*torn == 0);
    return done("atomics");
}
