/* Barrier objects of libcu++ (mbarrier in shared memory, atomics elsewhere): phases, producers and
 * consumers, drops, completions, asynchronous copies, pipelines, latches, semaphores.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void phases(int *out, int rounds)
{
    __shared__ block_barrier b;
    __shared__ int v[256];
    int t = threadIdx.x, n = blockDim.x;
    if (t == 0)
        init(&b, n);
    __syncthreads();
    v[t] = t;
    int sum = 0;
    for (int r = 0; r < rounds; r++) {
        b.arrive_and_wait();
        int x = v[(t + 1) % n];
        auto tok = b.arrive();
        sum += r;
        b.wait(std::move(tok));
        v[t] = x + 1;
    }
    b.arrive_and_wait();
    out[blockIdx.x * n + t] = v[t] + sum;
}
__global__ void producer(const int *in, int *out, int n)
{
    __shared__ block_barrier ready[2], filled[2];
    __shared__ int buf[2][128];
    auto block = cg::this_thread_block();
    if (threadIdx.x < 2) {
        init(&ready[threadIdx.x], block.size());
        init(&filled[threadIdx.x], block.size());
    }
    block.sync();
    if (threadIdx.x < 128) { // producer warps
        for (int i = 0; i < n; i++) {
            ready[i % 2].arrive_and_wait();
            buf[i % 2][threadIdx.x] = in[i * 128 + threadIdx.x];
            (void)filled[i % 2].arrive();
        }
    } else {
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        int t = threadIdx.x - 128;
        for (int i = 0; i < n; i++) {
            filled[i % 2].arrive_and_wait();
            out[i * 128 + t] = buf[i % 2][127 - t] * 2;
            (void)ready[i % 2].arrive();
        }
    }
}
__global__ void drop(int *out)
{
    __shared__ block_barrier b;
    __shared__ int c[8];
    if (threadIdx.x == 0)
        init(&b, blockDim.x);
    if (threadIdx.x < 8)
        c[threadIdx.x] = 0;
    __syncthreads();
    for (int r = 0; r < 4; r++) {
        atomicAdd(&c[r], 1);
        if ((int)threadIdx.x / 32 == r) {
            b.arrive_and_drop();
            return;
        }
        b.arrive_and_wait();
        if (threadIdx.x == 159)
            out[r] = c[r];
    }
}
struct completion {
    int *n;
    __device__ void operator()() { (*n)++; }
};
__global__ void with_completion(int *out)
{
    using B = cuda::barrier<cuda::thread_scope_block, completion>;
    __shared__ alignas(B) char s[sizeof(B)];
    __shared__ int n;
    B *b = (B *)s;
    if (threadIdx.x == 0) {
        n = 0;
        new (b) B(blockDim.x, completion{&n});
    }
    __syncthreads();
    for (int r = 0; r < 5; r++)
        b->arrive_and_wait();
    if (threadIdx.x == 0)
        *out = n;
}
__device__ cuda::barrier<cuda::thread_scope_device> *gb;
__global__ void make(void *p, int n)
{
    gb = new (p) cuda::barrier<cuda::thread_scope_device>(n);
}
__global__ void across(int *v, int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    v[t] = t * 3;
    gb->arrive_and_wait();
    out[t] = v[n - 1 - t];
}
__global__ void copies(const int *in, int *out)
{
    extern __shared__ int s[];
    __shared__ block_barrier b;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&b, block.size());
    block.sync();
    cuda::memcpy_async(block, s, in + blockIdx.x * 256, cuda::aligned_size_t<16>(1024), b);
    b.arrive_and_wait();
    int x = s[255 - threadIdx.x];
    block.sync();
    cg::memcpy_async(block, s, in, sizeof(int) * 256);
    cg::wait(block);
    x += s[threadIdx.x];
    block.sync();
    cuda::memcpy_async(&s[threadIdx.x], &in[threadIdx.x + 3], sizeof(int), b);
    b.arrive_and_wait();
    out[blockIdx.x * 256 + threadIdx.x] = x + s[(threadIdx.x + 1) % 256];
}
template <int stages> __global__ void piped(const int *in, int *out, int n)
{
    __shared__ int s[stages][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> st;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &st);
    int sum = 0, f = 0;
    for (int c = 0; c < n; c++) {
        for (; f < n && f < c + stages; f++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[f % stages], in + f * 256, 1024, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[c % stages][(threadIdx.x + c) % 256];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
__global__ void roles(const int *in, int *out, int n)
{
    __shared__ int s[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &st, (size_t)128);
    int t = threadIdx.x;
    if (t < 128) {
        for (int i = 0; i < n; i++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[i % 2][t], &in[i * 128 + t], 4, pipe);
            pipe.producer_commit();
        }
    } else {
        for (int i = 0; i < n; i++) {
            pipe.consumer_wait();
            out[i * 128 + t - 128] = s[i % 2][(t + 1) % 128] + 7;
            pipe.consumer_release();
        }
    }
}
__global__ void thread_pipe(const int4 *in, int4 *out)
{
    __shared__ int4 s[128];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&s[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
    pipe.consumer_release();
}
__global__ void latches(int *out)
{
    __shared__ alignas(cuda::latch<cuda::thread_scope_block>) char
        sl[sizeof(cuda::latch<cuda::thread_scope_block>)];
    auto *l = (cuda::latch<cuda::thread_scope_block> *)sl;
    __shared__ int v;
    if (threadIdx.x == 0) {
        v = 0;
        new (l) cuda::latch<cuda::thread_scope_block>(64);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        atomicAdd(&v, 1);
        l->count_down();
    } else {
        l->wait();
        out[threadIdx.x - 64] = v;
    }
}
__device__ cuda::counting_semaphore<cuda::thread_scope_device, 4> sem(4);
__device__ cuda::binary_semaphore<cuda::thread_scope_device> bin(1);
__global__ void semaphores(int *out, int *count)
{
    sem.acquire();
    int n = atomicAdd(&out[0], 1) + 1;
    atomicMax(&out[1], n);
    atomicSub(&out[0], 1);
    sem.release();
    bin.acquire();
    (*count)++;
    __threadfence();
    bin.release();
}
__global__ void tries(int *out)
{
    __shared__ block_barrier b;
    if (threadIdx.x == 0)
        init(&b, 2);
    __syncthreads();
    if (threadIdx.x == 0) {
        auto t = b.arrive();
        out[0] = b.try_wait_for(std::move(t), cuda::std::chrono::nanoseconds(1000));
        (void)b.arrive();
        b.wait_parity(false);
        out[1] = b.try_wait_parity_for(true, cuda::std::chrono::nanoseconds(500));
    }
}
int main()
{
    int *in = mem<int>(65536), *out = mem<int>(65536);
    for (int i = 0; i < 65536; i++)
        in[i] = i * 7 + 3;
    phases<<<3, 256>>>(out, 5);
    SYNC();
    for (int i = 0; i < 768; i++)
        OK(out[i] == (i % 256 + 5) % 256 + 5 + 10);
    phases<<<2, 100>>>(out, 3);
    SYNC();
    for (int i = 0; i < 200; i++)
        OK(out[i] == (i % 100 + 3) % 100 + 3 + 3);
    producer<<<1, 256>>>(in, out, 9);
    SYNC();
    for (int i = 0; i < 9 * 128; i++)
        OK(out[i] == in[i / 128 * 128 + 127 - i % 128] * 2);
    drop<<<1, 160>>>(out);
    SYNC();
    for (int r = 0; r < 4; r++)
        OK(out[r] == 160 - 32 * r);
    with_completion<<<1, 96>>>(out);
    SYNC();
    OK(out[0] == 5);
    void *p = mem<char>(256);
    make<<<1, 1>>>(p, 512);
    across<<<4, 128>>>(out, out + 1024);
    SYNC();
    for (int i = 0; i < 512; i++)
        OK(out[1024 + i] == (511 - i) * 3);
    copies<<<4, 256, 1024>>>(in, out);
    SYNC();
    for (int i = 0; i < 1024; i++)
        OK(out[i] == in[i / 256 * 256 + 255 - i % 256] + in[i % 256] + in[(i + 1) % 256 + 3]);
    piped<2><<<1, 256>>>(in, out, 11);
    SYNC();
    for (int t = 0; t < 256; t++) {
        int s = 0;
        for (int c = 0; c < 11; c++)
            s += in[c * 256 + (t + c) % 256];
        OK(out[t] == s);
    }
    piped<4><<<1, 256>>>(in, out, 11);
    SYNC();
    for (int t = 0; t < 256; t++) {
        int s = 0;
        for (int c = 0; c < 11; c++)
            s += in[c * 256 + (t + c) % 256];
        OK(out[t] == s);
    }
    roles<<<1, 256>>>(in, out, 6);
    SYNC();
    for (int i = 0; i < 6 * 128; i++)
        OK(out[i] == in[i / 128 * 128 + (i + 129) % 128] + 7);
    thread_pipe<<<1, 128>>>((int4 *)in, (int4 *)out);
    SYNC();
    for (int i = 0; i < 512; i++)
        OK(out[i] == in[(127 - i / 4) * 4 + i % 4]);
    latches<<<1, 128>>>(out);
    SYNC();
    for (int i = 0; i < 64; i++)
        OK(out[i] == 64);
    memset(out, 0, 64);
    semaphores<<<16, 40>>>(out, out + 4);
    SYNC();
    OK(out[0] == 0);
    OK(out[1] >= 1 && out[1] <= 4);
    OK(out[4] == 640);
    tries<<<1, 1>>>(out);
    SYNC();
    OK(out[0] == 0 && out[1] == 0);
    return done("barrier");
}
