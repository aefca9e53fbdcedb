/* The ten kernels of bench/peers in device memory, each launched some times: what they cost under `weir check`, and what
 * the checker does beside them. Prints `name wall_ms cpu_ms` (the cheapest launch, CPU time of the whole process) and the
 * process's peak memory in KiB beside the bytes of its buffers.
 *   kernels [NAME]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cost.h"

#define RSQRT(x) rsqrtf(x)
#define WARP32
#define SHFL_DOWN(v, o) __shfl_down_sync(0xffffffffu, v, o)
#include "../peers/kernels.cuh"

#ifndef LAUNCHES
#define LAUNCHES 7
#endif
#ifndef WARM_SECONDS
#define WARM_SECONDS 4
#endif
#define LINE     (16u << 20)
#define SIDE     1024u
#define BODIES   16384u
#define WIDTH    1280u
#define HEIGHT   720u
#define FRAMES   16u

static size_t buffer_bytes;

template <class T> static T *buffer(size_t count)
{
    void *p;

    if (cudaMalloc(&p, count * sizeof(T)) != cudaSuccess || cudaMemset(p, 0x3d, count * sizeof(T)) != cudaSuccess) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    buffer_bytes += count * sizeof(T);
    return (T *)p;
}

template <class F> static void measure(const char *only, const char *name, F launch)
{
    if (only && strcmp(only, name) != 0)
        return;
    /* the first ones wait for the better tier of the code, which takes long on a busy machine */
    launch();
    cudaDeviceSynchronize();
    for (double until = seconds(CLOCK_MONOTONIC) + WARM_SECONDS; seconds(CLOCK_MONOTONIC) < until;) {
        launch();
        cudaDeviceSynchronize();
    }
    print_cost(name, LAUNCHES, launch);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    float *x = buffer<float>(LINE), *y = buffer<float>(LINE), *z = buffer<float>(LINE), *part = buffer<float>(LINE / 256);
    float *a = buffer<float>(SIDE * SIDE), *b = buffer<float>(SIDE * SIDE), *c = buffer<float>(SIDE * SIDE);
    float *in = buffer<float>((size_t)WIDTH * HEIGHT * FRAMES), *out = buffer<float>((size_t)WIDTH * HEIGHT * FRAMES);
    float4 *p = buffer<float4>(BODIES), *acc = buffer<float4>(BODIES);
    unsigned *h = buffer<unsigned>(256);
    int *it = buffer<int>(2048 * 2048);
    dim3 square(16, 16), square32(32, 32);
    struct rusage r;

    measure(only, "saxpy", [&] { k_saxpy<<<LINE / 256, 256>>>(x, y, z, 2.5f, LINE); });
    measure(only, "heavy", [&] { k_heavy<<<LINE / 256, 256>>>(x, LINE); });
    measure(only, "mat_tiled16", [&] { k_mat_tiled16<<<dim3(SIDE / 16, SIDE / 16), square>>>(a, b, c, SIDE); });
    measure(only, "mat_tiled32", [&] { k_mat_tiled32<<<dim3(SIDE / 32, SIDE / 32), square32>>>(a, b, c, SIDE); });
    measure(only, "mat_naive", [&] { k_mat_naive<<<dim3(SIDE / 16, SIDE / 16), square>>>(a, b, c, SIDE); });
    measure(only, "reduce", [&] { k_reduce<<<LINE / 256, 256>>>(x, part, LINE); });
    measure(only, "shfl_reduce", [&] { k_shfl<<<LINE / 256, 256>>>(x, part, LINE); });
    measure(only, "blur", [&] {
        for (unsigned f = 0; f < FRAMES; f++)
            k_blur<<<dim3(WIDTH / 16, HEIGHT / 16), square>>>(in + (size_t)f * WIDTH * HEIGHT,
                                                              out + (size_t)f * WIDTH * HEIGHT, WIDTH, HEIGHT);
    });
    measure(only, "nbody", [&] { k_nbody<<<BODIES / 256, 256>>>(p, acc, BODIES); });
    measure(only, "hist", [&] { k_hist<<<1024, 256>>>((const unsigned char *)x, h, LINE * 4); });
    measure(only, "mandel", [&] { k_mandel<<<dim3(128, 128), square>>>(it, 2048, 2048); });
    getrusage(RUSAGE_SELF, &r);
    printf("#memory      %10ld %10zu\n", r.ru_maxrss, buffer_bytes >> 10);
    return 0;
}
