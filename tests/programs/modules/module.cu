/* One file that becomes several modules of one process: the program's (-DNUMBER=0) and those of
 * libraries. All use the same names for kernels and variables; each must see its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>

#include "module.h"

/* A template: where the program exports it, all modules register one and the same stub. */
template <class T> __global__ void common(T *out)
{
    *out += T(1);
}

static int failures;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t check_err = (call);                                                            \
        if (check_err != cudaSuccess) {                                                            \
            printf("module %d: %s: line %d: %s\n", NUMBER, #call, __LINE__,                        \
                   cudaGetErrorName(check_err));                                                   \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)
#define EXPECT(what, got, wanted)                                                                  \
    do {                                                                                           \
        long long expect_got = (got), expect_wanted = (wanted);                                    \
        if (expect_got != expect_wanted) {                                                         \
            printf("module %d: %s: %lld, wanted %lld\n", NUMBER, what, expect_got, expect_wanted); \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static __constant__ int own_constant[2] = {NUMBER, 100 + NUMBER};
static __device__ int own_counter = 1000 * NUMBER;
static __managed__ int own_managed[3] = {7, NUMBER, 9};

static __global__ void work(int *out)
{
    *out = own_constant[1];
    own_counter += 1;
    own_managed[1] += 10;
}

static __global__ void spin(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
    own_counter += own_constant[1];
}

/* CUDA calls in a destructor, after main or inside dlclose. */
struct owner {
    int *memory = NULL;
    ~owner()
    {
        if (memory)
            CHECK(cudaFree(memory));
    }
};
static owner kept;

/* CUDA calls in a constructor, before main or inside dlopen. */
static __attribute__((constructor)) void construct(void)
{
    int in = 41 + NUMBER, out = 0;
    void *p = NULL;

    CHECK(cudaMalloc(&p, 4));
    CHECK(cudaMemcpy(p, &in, 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(p));
    EXPECT("constructor", out, in);
}

extern "C" EXPORT int CONCAT(module_run_, NUMBER)(void)
{
    int value = 0, *out;
    cudaStream_t s;

    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&out, 4));
    EXPECT("managed at first", own_managed[1], NUMBER);
    work<<<1, 1, 0, s>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(&value, out, 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    EXPECT("constant", value, 100 + NUMBER);
    CHECK(cudaMemcpyFromSymbol(&value, own_counter, 4));
    EXPECT("counter", value, 1000 * NUMBER + 1);
    EXPECT("managed", own_managed[1], NUMBER + 10);
    own_managed[1] = 50; /* the host writes, the kernel adds */
    work<<<1, 1, 0, s>>>(out);
    CHECK(cudaStreamSynchronize(s));
    EXPECT("managed after the host", own_managed[1], 60);
    common<<<1, 1, 0, s>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(&value, out, 4, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    EXPECT("common", value, 101 + NUMBER);
    own_managed[1] = NUMBER;
    value = 1000 * NUMBER;
    CHECK(cudaMemcpyToSymbol(own_counter, &value, 4));
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(s));
    return failures;
}

/* Submits work and does not wait: the library may be closed next. */
extern "C" EXPORT int CONCAT(module_leave_, NUMBER)(void)
{
    if (!kept.memory)
        CHECK(cudaMalloc(&kept.memory, 1000));
    spin<<<1, 1>>>(300000);
    spin<<<1, 1>>>(300000);
    CHECK(cudaGetLastError());
    return failures;
}
