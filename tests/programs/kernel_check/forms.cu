/* Every form of access that a kernel has: one kernel touches some bytes in this form, in one stream, and in a second stream
 * another one writes all the other bytes around them: nothing is to be found. `forms race` also writes one byte of the first
 * one's, which is to be found for each. So what is noted is neither too little nor too much. A name instead runs one form.
 * SPDX-License-Identifier: Apache-2.0 */
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ok.h"

enum { BYTES = 3 * 4096 + 640, THREADS = 64 };

typedef unsigned char byte;

__device__ unsigned index_of()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* `out` takes what is read, so that the reads stay. The bytes from `at` on that they touch: `touched` below. */
__device__ unsigned all_of(const int4 &v) { return v.x + v.y + v.z + v.w; }
__device__ unsigned all_of(const int2 &v) { return v.x + v.y; }
__device__ unsigned all_of(long long v) { return (unsigned)(v ^ v >> 32); }

template <class T> __global__ void load(const byte *p, unsigned at, unsigned *out)
{
    T v = ((const T *)(p + at))[index_of()];

    out[index_of()] = all_of(v);
}

template <class T> __global__ void store(byte *p, unsigned at)
{
    T v = {};

    ((T *)(p + at))[index_of()] = v;
}

template <class T> __global__ void load_strided(const byte *p, unsigned at, unsigned *out)
{
    out[index_of()] = (unsigned)*(const T *)(p + at + 24 * index_of());
}

template <class T> __global__ void store_strided(byte *p, unsigned at)
{
    *(T *)(p + at + 24 * index_of()) = 1;
}

__global__ void load_uniform(const byte *p, unsigned at, unsigned *out)
{
    out[index_of()] = *(const unsigned *)(p + at);
}

__global__ void store_uniform(byte *p, unsigned at)
{
    *(unsigned *)(p + at) = 1;
}

/* Lanes in an order that nobody can guess; the bytes are those of load<unsigned>. */
__device__ unsigned mixed(unsigned i)
{
    return (i * 37 + 11) % (2 * THREADS);
}

__global__ void gather(const byte *p, unsigned at, unsigned *out)
{
    out[index_of()] = ((const unsigned *)(p + at))[mixed(index_of())];
}

__global__ void scatter(byte *p, unsigned at)
{
    ((unsigned *)(p + at))[mixed(index_of())] = 1;
}

__global__ void half_masked(byte *p, unsigned at)
{
    if (threadIdx.x % 3 == 0)
        ((unsigned *)(p + at))[index_of()] = 1;
}

/* An index that is clamped: guessed to be affine, and is not at the border. */
__global__ void clamped(const byte *p, unsigned at, unsigned *out)
{
    int i = (int)index_of() - 5;

    i = i < 0 ? 0 : i;
    out[index_of()] = ((const unsigned *)(p + at))[i];
}

__global__ void loop(const byte *p, unsigned at, unsigned *out, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += ((const unsigned *)(p + at))[i];
    out[index_of()] = sum;
}

__global__ void update(byte *p, unsigned at)
{
    atomicAdd((unsigned *)(p + at) + index_of(), 1u);
}

__global__ void update_wide(byte *p, unsigned at)
{
    atomicCAS((unsigned long long *)(p + at) + index_of(), 0ull, 1ull);
}

__global__ void load_ordered(const byte *p, unsigned at, unsigned *out)
{
    out[index_of()] = ((volatile const unsigned *)(p + at))[index_of()];
}

__global__ void store_ordered(byte *p, unsigned at)
{
    ((volatile unsigned *)(p + at))[index_of()] = 1;
}

__global__ void generic(byte *p, unsigned at, unsigned *out, int which)
{
    __shared__ unsigned own[THREADS];
    unsigned *q = which ? own : (unsigned *)(p + at);

    own[threadIdx.x] = 1;
    q[threadIdx.x] += 1;
    out[index_of()] = q[threadIdx.x];
}

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
template <int N> __global__ void copy_async(const byte *p, unsigned at, unsigned *out)
{
    __shared__ __align__(16) byte own[16 * THREADS];

#ifdef __CUDA_ARCH__
    unsigned to = (unsigned)__cvta_generic_to_shared(own + N * threadIdx.x);
    const byte *from = p + at + N * index_of();

    if (N == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#endif
    __syncthreads();
    out[index_of()] = own[N * threadIdx.x];
}

/* The size of the source is smaller: the rest is not read. */
__global__ void copy_part(const byte *p, unsigned at, unsigned *out)
{
    __shared__ __align__(16) byte own[16 * THREADS];

#ifdef __CUDA_ARCH__
    unsigned to = (unsigned)__cvta_generic_to_shared(own + 16 * threadIdx.x);
    const byte *from = p + at + 16 * index_of();
    unsigned n = threadIdx.x % 2 ? 16 : 0;

    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(n));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#endif
    __syncthreads();
    out[index_of()] = own[16 * threadIdx.x];
}
#endif

/* A tile of 16 x 16 halves in rows of 24 elements. */
__global__ void tile_load(const byte *p, unsigned at, unsigned *out)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;

    load_matrix_sync(a, (const __half *)(p + at), 24);
    out[index_of()] = (unsigned)__half2float(a.x[0]);
}

__global__ void tile_store(byte *p, unsigned at)
{
    using namespace nvcuda::wmma;
    fragment<accumulator, 16, 16, 16, float> c;

    fill_fragment(c, 1.0f);
    store_matrix_sync((float *)(p + at), c, 24, mem_row_major);
}

/* Writes every byte of which the map says 0. */
__global__ void others(byte *p, const byte *map, unsigned bytes)
{
    for (unsigned i = index_of(); i < bytes; i += gridDim.x * blockDim.x)
        if (!map[i])
            p[i] = 2;
}

static byte *map;

static void touched(unsigned at, unsigned bytes)
{
    memset(map + at, 1, bytes);
}

static void every(unsigned at, unsigned step, unsigned bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        touched(at + step * i, bytes);
}

struct form {
    const char *name;
    void (*run)(byte *p, unsigned *out, cudaStream_t s);
};

/* Places that begin nowhere in particular, and cross a page. */
#define AT     (4096 - 100)
#define AT16   (4096 - 16 * 5)
#define LOADS(kernel, at, ...)  kernel<<<1, THREADS, 0, s>>>(p, at, out, ##__VA_ARGS__)
#define STORES(kernel, at, ...) kernel<<<1, THREADS, 0, s>>>(p, at, ##__VA_ARGS__)
#define FORM(name, body) {name, [](byte *p, unsigned *out, cudaStream_t s) { (void)out; body; }}

static const struct form forms[] = {
    FORM("load8", (every(AT, 1, 1, 64), LOADS(load<byte>, AT))),
    FORM("load16", (every(AT, 2, 2, 64), LOADS(load<short>, AT))),
    FORM("load32", (every(AT, 4, 4, 64), LOADS(load<int>, AT))),
    FORM("load64", (every(AT16, 8, 8, 64), LOADS(load<long long>, AT16))),
    FORM("load2x32", (every(AT16, 8, 8, 64), LOADS(load<int2>, AT16))),
    FORM("load4x32", (every(AT16, 16, 16, 64), LOADS(load<int4>, AT16))),
    FORM("store8", (every(AT, 1, 1, 64), STORES(store<byte>, AT))),
    FORM("store16", (every(AT, 2, 2, 64), STORES(store<short>, AT))),
    FORM("store32", (every(AT, 4, 4, 64), STORES(store<int>, AT))),
    FORM("store64", (every(AT16, 8, 8, 64), STORES(store<long long>, AT16))),
    FORM("store2x32", (every(AT16, 8, 8, 64), STORES(store<int2>, AT16))),
    FORM("store4x32", (every(AT16, 16, 16, 64), STORES(store<int4>, AT16))),
    FORM("load-strided", (every(AT, 24, 4, 64), LOADS(load_strided<int>, AT))),
    FORM("load-strided8", (every(AT, 24, 1, 64), LOADS(load_strided<byte>, AT))),
    FORM("store-strided", (every(AT, 24, 4, 64), STORES(store_strided<int>, AT))),
    FORM("load-uniform", (touched(AT, 4), LOADS(load_uniform, AT))),
    FORM("store-uniform", (touched(AT, 4), STORES(store_uniform, AT))),
    FORM("gather", (([] { for (unsigned i = 0; i < THREADS; i++) touched(AT + 4 * ((i * 37 + 11) % (2 * THREADS)), 4); }()),
                    LOADS(gather, AT))),
    FORM("scatter", (([] { for (unsigned i = 0; i < THREADS; i++) touched(AT + 4 * ((i * 37 + 11) % (2 * THREADS)), 4); }()),
                     STORES(scatter, AT))),
    FORM("half-masked", (every(AT, 12, 4, 22), STORES(half_masked, AT))),
    FORM("clamped", (touched(AT, 4 * 59), LOADS(clamped, AT))),
    FORM("loop", (touched(AT, 4 * 200), LOADS(loop, AT, 200))),
    FORM("atomic32", (touched(AT, 4 * 64), STORES(update, AT))),
    FORM("atomic64", (touched(AT16, 8 * 64), STORES(update_wide, AT16))),
    FORM("load-ordered", (touched(AT, 4 * 64), LOADS(load_ordered, AT))),
    FORM("store-ordered", (touched(AT, 4 * 64), STORES(store_ordered, AT))),
    FORM("generic", (touched(AT, 4 * 64), LOADS(generic, AT, 0))),
    FORM("copy-async4", (touched(AT, 4 * 64), LOADS(copy_async<4>, AT))),
    FORM("copy-async16", (touched(AT16, 16 * 64), LOADS(copy_async<16>, AT16))),
    FORM("copy-part", (every(AT16 + 16, 32, 16, 32), LOADS(copy_part, AT16))),
    FORM("tile-load", (every(4096 - 96, 48, 32, 16), tile_load<<<1, 32, 0, s>>>(p, 4096 - 96, out))),
    FORM("tile-store", (every(4096 - 96, 96, 64, 16), tile_store<<<1, 32, 0, s>>>(p, 4096 - 96))),
};

static void run(const struct form *f, bool race)
{
    cudaStream_t s, t;
    byte *p, *on_device;
    unsigned *out, at = 0;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    OK(cudaMalloc(&p, BYTES));
    OK(cudaMalloc(&on_device, BYTES));
    OK(cudaMalloc(&out, THREADS * sizeof *out));
    OK(cudaMemset(p, 0, BYTES));
    OK(cudaDeviceSynchronize());
    memset(map, 0, BYTES);
    f->run(p, out, s);
    if (race) { /* the last one */
        for (unsigned i = 0; i < BYTES; i++)
            at = map[i] ? i : at;
        map[at] = 0;
    }
    OK(cudaMemcpy(on_device, map, BYTES, cudaMemcpyHostToDevice));
    OK(cudaStreamSynchronize(0)); /* of which neither s nor t knows */
    others<<<4, 128, 0, t>>>(p, on_device, BYTES);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(p));
    OK(cudaFree(on_device));
    OK(cudaFree(out));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(t));
}

int main(int argc, char **argv)
{
    map = (byte *)malloc(BYTES);
    bool race = argc > 1 && strcmp(argv[argc - 1], "race") == 0;
    for (const struct form &f : forms) {
        if (argc > 1 + race && strcmp(argv[1], f.name) != 0)
            continue;
        printf("%s\n", f.name);
        run(&f, race);
    }
    return 0;
}
