/* What device code has of the language: the heap and its limit, new and delete, parameters of up to
 * 32 KiB, clocks, sleeping, local arrays, managed and constant variables, millions of barriers,
 * assert, trap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <cassert>
#include <new>
struct item {
    int a;
    double b;
    __device__ item(int x) : a(x), b(x * 0.5) {}
    __device__ ~item() { a = -1; }
};
__global__ void heap(int **keep, int *out)
{
    int t = threadIdx.x;
    int *p = (int *)malloc((t + 1) * sizeof(int));
    for (int i = 0; i <= t; i++)
        p[i] = i * t;
    keep[t] = p;
    item *q = new item(t);
    item *r = new item[1]{item(t)};
    out[t] = q->a + (int)(r[0].b * 2);
    delete q;
    delete[] r;
    free(nullptr);
}
__global__ void use(int **keep, int *out)
{
    int t = threadIdx.x, s = 0;
    for (int i = 0; i <= t; i++)
        s += keep[t][i];
    out[t] = s;
    free(keep[t]);
}
__global__ void exhaust(int *out)
{
    int n = 0;
    void *first = nullptr;
    for (;;) {
        void **p = (void **)malloc(1 << 20);
        if (!p)
            break;
        *p = first;
        first = p;
        n++;
    }
    out[0] = n;
    while (first) {
        void *p = *(void **)first;
        free(first);
        first = p;
    }
    out[1] = malloc((size_t)1 << 40) == nullptr;
}
__global__ void aligned(int *out)
{
    void *p = malloc(3), *q = malloc(40);
    out[threadIdx.x] = ((size_t)p % 16) | ((size_t)q % 16);
    free(p);
    free(q);
}
struct P4 {
    int v[1000];
};
struct P32 {
    int v[8100];
    int last;
};
__global__ void param4(P4 p, int *out)
{
    int s = 0;
    for (int i = threadIdx.x; i < 1000; i += blockDim.x)
        s += p.v[i];
    atomicAdd(out, s);
}
__global__ void param32(const __grid_constant__ P32 p, int *out, int k)
{
    int s = 0;
    for (int i = threadIdx.x; i < 8100; i += blockDim.x)
        s += p.v[i] * k;
    atomicAdd(out, s);
    const int *q = &p.v[0];
    if (threadIdx.x == 0)
        out[1] = q[8100] + q[17];
}
__global__ void param32b(P32 p, int *out)
{
    p.v[threadIdx.x] += 1;
    int s = 0;
    for (int i = 0; i < 8100; i++)
        s += p.v[i];
    out[threadIdx.x] = s;
}
__global__ void clocks(long long *out)
{
    long long a = clock64();
    unsigned c = clock();
    unsigned long long g;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    for (int i = 0; i < 20; i++)
        __nanosleep(1000);
    unsigned long long h;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(h));
    out[0] = clock64() - a;
    out[1] = clock() - c;
    out[2] = h - g;
}
__global__ void spin(long long cycles)
{
    long long a = clock64();
    while (clock64() - a < cycles) {
    }
}
__global__ void asserts(int x)
{
    assert(threadIdx.x != 5 || x == 3);
}
__global__ void trap()
{
    if (threadIdx.x == 3)
        __trap();
}
__global__ void local_array(int *out, int n)
{
    int a[100];
    for (int i = 0; i < 100; i++)
        a[i] = i * threadIdx.x;
    int s = 0, k = n;
    for (int i = 0; i < 100; i++) {
        k = (k * 17 + 3) % 100;
        s += a[k];
    }
    out[threadIdx.x] = s;
}
__device__ __managed__ int managed_value = 7;
__constant__ int table[16];
__global__ void managed()
{
    managed_value += table[3];
}
/* One thread leaves, so that who stands at the barrier is asked for each time. */
__global__ void many_barriers(int *out, int passes)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    for (int i = 0; i < passes; i++) {
        if (threadIdx.x == (i & 1) * 32)
            s++;
        if (threadIdx.x == 40 && i == 5)
            return;
        __syncthreads();
    }
    out[threadIdx.x] = s;
}
int main()
{
    int *out = mem<int>(65536);
    CU(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    size_t h = 0;
    CU(cudaDeviceGetLimit(&h, cudaLimitMallocHeapSize));
    OK(h >= 32 << 20);
    int **keep = mem<int *>(256);
    heap<<<1, 128>>>(keep, out);
    SYNC();
    for (int t = 0; t < 128; t++)
        OK(out[t] == 2 * t);
    use<<<1, 128>>>(keep, out);
    SYNC();
    for (int t = 0; t < 128; t++)
        OK(out[t] == t * t * (t + 1) / 2);
    exhaust<<<1, 1>>>(out); /* an H200 gives 26 of the 32 MiB */
    SYNC();
    OK(out[0] >= 24 && out[0] <= 32 && out[1] == 1);
    exhaust<<<1, 1>>>(out);
    SYNC();
    OK(out[0] >= 24 && out[0] <= 32);
    aligned<<<1, 64>>>(out);
    SYNC();
    for (int t = 0; t < 64; t++)
        OK(out[t] == 0);
    P4 p4;
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += p4.v[i] = i * 3;
    out[0] = 0;
    param4<<<1, 64>>>(p4, out);
    SYNC();
    OK(out[0] == s);
    static P32 p;
    s = 0;
    for (int i = 0; i < 8100; i++)
        s += p.v[i] = i % 77;
    p.last = 99;
    out[0] = 0;
    param32<<<1, 64>>>(p, out, 2);
    SYNC();
    OK(out[0] == 2 * s && out[1] == 99 + 17);
    param32b<<<1, 32>>>(p, out);
    SYNC();
    for (int t = 0; t < 32; t++)
        OK(out[t] == s + 1);
    long long *c = mem<long long>(4);
    clocks<<<1, 1>>>(c);
    SYNC();
    OK(c[0] > 0 && c[1] != 0 && c[2] >= 0);
    spin<<<2, 64>>>(100000);
    SYNC();
    local_array<<<1, 64>>>(out, 5);
    SYNC();
    for (int t = 0; t < 64; t++) {
        int r = 0, k = 5;
        for (int i = 0; i < 100; i++) {
            k = (k * 17 + 3) % 100;
            r += k * t;
        }
        OK(out[t] == r);
    }
    int tb[16];
    for (int i = 0; i < 16; i++)
        tb[i] = i * 10;
    CU(cudaMemcpyToSymbol(table, tb, sizeof tb));
    managed<<<1, 1>>>();
    SYNC();
    OK(managed_value == 37);
    out[33] = out[40] = 0;
    many_barriers<<<1, 64>>>(out, 8400000); /* what counts them has had 23 bits */
    SYNC();
    OK(out[33] == 8400000 && out[40] == 0);
    asserts<<<2, 8>>>(3);
    SYNC();
    trap<<<1, 3>>>();
    SYNC();
    asserts<<<2, 8>>>(4);
    OK(cudaDeviceSynchronize() == cudaErrorAssert);
    OK(cudaMalloc(&c, 8) == cudaErrorAssert);
    return done("language");
}
