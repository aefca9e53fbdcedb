/* Copies to shared memory by libcu++ and cooperative groups, waited for and not: FORM or FORM-no-wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <stdio.h>
#include <string.h>

namespace cg = cooperative_groups;

enum { THREADS = 128, STEPS = 4 };

/* A pipeline of each thread's own, two stages. */
template <bool WAITS> __global__ void stages(const int4 *in, int4 *out)
{
    __shared__ int4 s[2][THREADS];
    auto pipeline = cuda::make_pipeline();
    int i = threadIdx.x;

    pipeline.producer_acquire();
    cuda::memcpy_async(&s[0][i], &in[i], sizeof(int4), pipeline);
    pipeline.producer_commit();
    for (int k = 0; k < STEPS; k++) {
        pipeline.producer_acquire();
        if (k + 1 < STEPS)
            cuda::memcpy_async(&s[(k + 1) & 1][i], &in[(k + 1) * THREADS + i], sizeof(int4),
                               pipeline);
        pipeline.producer_commit();
        if (WAITS)
            cuda::pipeline_consumer_wait_prior<1>(pipeline);
        __syncthreads();
        out[k * THREADS + i] = s[k & 1][i ^ 32];
        __syncthreads();
        if (WAITS)
            pipeline.consumer_release();
    }
}

template <bool WAITS> __global__ void block_pipeline(const int4 *in, int4 *out)
{
    __shared__ int4 s[THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);

    pipeline.producer_acquire();
    cuda::memcpy_async(block, s, in, cuda::aligned_size_t<16>(sizeof s), pipeline);
    pipeline.producer_commit();
    if (WAITS)
        pipeline.consumer_wait();
    out[threadIdx.x] = s[threadIdx.x ^ 32];
    if (WAITS)
        pipeline.consumer_release();
}

template <bool WAITS> __global__ void barrier(const int4 *in, int4 *out)
{
    __shared__ int4 s[THREADS];
    __shared__ cuda::barrier<cuda::thread_scope_block> b;

    if (threadIdx.x == 0)
        init(&b, THREADS);
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &in[threadIdx.x], sizeof(int4), b);
    if (WAITS)
        b.arrive_and_wait();
    else
        (void)b.arrive();
    out[threadIdx.x] = s[threadIdx.x ^ 32];
}

template <bool WAITS> __global__ void group(const int4 *in, int4 *out)
{
    __shared__ int4 s[THREADS];
    auto block = cg::this_thread_block();

    cg::memcpy_async(block, s, in, sizeof s);
    if (WAITS)
        cg::wait(block);
    out[threadIdx.x] = s[threadIdx.x ^ 32];
}

static const struct form {
    const char *name;
    void (*kernel)(const int4 *in, int4 *out);
    int steps;
} forms[] = {
    {"stages", stages<true>, STEPS},
    {"stages-no-wait", stages<false>, STEPS},
    {"block", block_pipeline<true>, 1},
    {"block-no-wait", block_pipeline<false>, 1},
    {"barrier", barrier<true>, 1},
    {"barrier-no-wait", barrier<false>, 1},
    {"group", group<true>, 1},
    {"group-no-wait", group<false>, 1},
};

static int run(const struct form *f)
{
    int4 *in, *out;
    int wrong = 0;

    cudaMallocManaged(&in, STEPS * THREADS * sizeof *in);
    cudaMallocManaged(&out, STEPS * THREADS * sizeof *out);
    for (int i = 0; i < STEPS * THREADS; i++)
        in[i] = make_int4(i + 1, 0, 0, 0);
    f->kernel<<<1, THREADS>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    for (int i = 0; i < f->steps * THREADS; i++)
        wrong += out[i].x != in[i ^ 32].x;
    puts(wrong ? "wrong" : "right");
    return 0;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;

    for (int i = 1; i < argc; i++)
        for (const struct form &f : forms)
            if (strcmp(f.name, argv[i]) == 0)
                bad |= run(&f);
    return bad;
}
