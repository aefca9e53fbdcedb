/* What the threads of one kernel do to each other, right and wrong, by name: what weir check --kernel-races must say of each is
 * in kernel_races.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace cg = cooperative_groups;

enum { TILE = 16, N = 64, THREADS = 256, BLOCKS = 8 };

/* ---- tiles of a matrix product ---- */

template <bool BEFORE, bool AFTER> __global__ void product(const float *a, const float *b, float *c)
{
    __shared__ float x[TILE][TILE], y[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;

    for (int k = 0; k < N; k += TILE) {
        x[threadIdx.y][threadIdx.x] = a[row * N + k + threadIdx.x]; /* tile */
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * N + col];
        if (BEFORE)
            __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += x[threadIdx.y][i] * y[i][threadIdx.x]; /* product */
        if (AFTER)
            __syncthreads();
    }
    c[row * N + col] = sum;
}

/* ---- sums of a block ---- */

template <bool LAST> __global__ void tree(const float *in, float *out)
{
    __shared__ float s[THREADS];

    s[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    for (int n = THREADS / 2; n > 0; n /= 2) {
        if (threadIdx.x < n)
            s[threadIdx.x] += s[threadIdx.x + n]; /* step */
        if (LAST || n > 1)
            __syncthreads();
    }
    if (threadIdx.x == (LAST ? 32 : 33))
        out[blockIdx.x] = s[0]; /* result */
}

__global__ void tree_unordered(const float *in, float *out)
{
    __shared__ float s[THREADS];

    s[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    for (int n = THREADS / 2; n > 0; n /= 2)
        if (threadIdx.x < n)
            s[threadIdx.x] += s[threadIdx.x + n]; /* unordered */
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}

/* The last warp goes on alone. */
enum { WARP_SYNC, WARP_VOLATILE, WARP_NOTHING, WARP_SHUFFLE };
template <int HOW> __global__ void warp_tree(const float *in, float *out)
{
    __shared__ float s[THREADS];
    int i = threadIdx.x;

    s[i] = in[blockIdx.x * THREADS + i];
    __syncthreads();
    for (int n = THREADS / 2; n >= 32; n /= 2) {
        if (i < n)
            s[i] += s[i + n];
        __syncthreads();
    }
    if (i >= 32)
        return;
    if (HOW == WARP_SHUFFLE) {
        float v = s[i];

        for (int n = 16; n > 0; n /= 2)
            v += __shfl_down_sync(0xffffffff, v, n);
        if (i == 0)
            out[blockIdx.x] = v;
        return;
    }
    for (int n = 16; n > 0; n /= 2) {
        float v;

        if (HOW == WARP_VOLATILE) {
            ((volatile float *)s)[i] += ((volatile float *)s)[i + n];
            continue;
        }
        v = s[i] + s[i + n]; /* lane */
        if (HOW == WARP_SYNC)
            __syncwarp();
        s[i] = v; /* own */
        if (HOW == WARP_SYNC)
            __syncwarp();
    }
    if (i == 0)
        out[blockIdx.x] = s[0];
}

/* ---- counts ---- */

enum { BINS = 64 };
template <bool ATOMIC, bool CLEARED> __global__ void histogram(const unsigned *in, unsigned *out)
{
    __shared__ unsigned bins[BINS];

    if (threadIdx.x < BINS)
        bins[threadIdx.x] = 0; /* clear */
    if (CLEARED)
        __syncthreads();
    for (int i = 0; i < 4; i++) {
        unsigned v = in[(blockIdx.x * 4 + i) * THREADS + threadIdx.x] % BINS;

        if (ATOMIC)
            atomicAdd(&bins[v], 1); /* count */
        else
            bins[v]++; /* increment */
    }
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

/* One thread sets what all count in, the others do not wait for it; or all count before it is read. */
enum { COUNT_RIGHT, COUNT_UNSET, COUNT_WARP, COUNT_EARLY };
template <int HOW> __global__ void count(const unsigned *in, unsigned *out)
{
    __shared__ unsigned odd;

    if (threadIdx.x == 0)
        odd = 0; /* set */
    if (HOW == COUNT_WARP)
        __syncwarp();
    else if (HOW != COUNT_UNSET)
        __syncthreads();
    if (in[threadIdx.x] & 1)
        atomicAdd(&odd, 1); /* add */
    if (HOW != COUNT_EARLY)
        __syncthreads();
    if (threadIdx.x % 32 == 0)
        out[blockIdx.x * 32 + threadIdx.x / 32] = odd; /* early */
}

/* Who would not change the bound leaves it alone; an addition by compare-and-swap. */
template <bool GLOBAL> __global__ void bound(const unsigned *in, unsigned *out)
{
    __shared__ unsigned most, sum;
    unsigned v = in[blockIdx.x * THREADS + threadIdx.x] >> 8, old, seen;
    unsigned *m = GLOBAL ? out : &most, *s = GLOBAL ? out + 1 : &sum;

    if (!GLOBAL && threadIdx.x == 0)
        most = sum = 0;
    __syncthreads();
    if (v > *m)
        atomicMax(m, v);
    old = *s;
    do {
        seen = old;
        old = atomicCAS(s, seen, seen + v);
    } while (old != seen);
    __syncthreads();
    if (threadIdx.x == 0)
        out[2 + blockIdx.x] = GLOBAL ? 0 : most + sum;
}

/* Others still lower what a thread reads. */
__global__ void relax(const unsigned *in, unsigned *out)
{
    unsigned i = (blockIdx.x * THREADS + threadIdx.x) % 64;

    atomicMin(&out[(i * 7 + 1) % 64], out[i] + in[i] % 9); /* relax */
}

/* The lowest lane of those that read writes. */
__global__ void lowest_lane(unsigned *out)
{
    __shared__ unsigned s[32];

    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = s[0];
    if (threadIdx.x == 0)
        s[0] = 77; /* lowest */
    __syncwarp();
    out[32 + threadIdx.x] = s[0];
}

/* Shared memory of a size that the launch gives. */
__global__ void dynamic_size(unsigned *out)
{
    extern __shared__ unsigned more[];

    more[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = more[threadIdx.x / 32 * 32 ? 2 : threadIdx.x]; /* dynamic */
}

__global__ void total_plain(const unsigned *in, unsigned *out)
{
    *out = *out + in[threadIdx.x + blockIdx.x * THREADS]; /* total */
}

/* All threads say the same: nobody minds who is last. */
__global__ void flag(const unsigned *in, unsigned *out)
{
    __shared__ int any;

    any = 0;
    __syncthreads();
    if (in[threadIdx.x] & 1)
        any = 1;
    __syncthreads();
    if (any)
        *out = 1;
}

/* ---- blocks ---- */

/* A scan in one pass: each block waits for the one before. */
__device__ volatile unsigned ready[BLOCKS];
__device__ unsigned prefix[BLOCKS], next_block;

__global__ void look_back(const unsigned *in, unsigned *out)
{
    __shared__ unsigned s[THREADS], before, me;

    if (threadIdx.x == 0)
        me = atomicAdd(&next_block, 1);
    __syncthreads();
    s[threadIdx.x] = in[me * THREADS + threadIdx.x];
    __syncthreads();
    for (int n = 1; n < THREADS; n *= 2) {
        unsigned v = threadIdx.x >= n ? s[threadIdx.x - n] : 0;

        __syncthreads();
        s[threadIdx.x] += v;
        __syncthreads();
    }
    if (threadIdx.x == THREADS - 1) {
        unsigned sum = 0;

        if (me > 0) {
            while (!ready[me - 1])
                ;
            __threadfence();
            sum = prefix[me - 1];
        }
        before = sum;
        prefix[me] = sum + s[threadIdx.x];
        __threadfence();
        ready[me] = 1;
    }
    __syncthreads();
    out[me * THREADS + threadIdx.x] = before + s[threadIdx.x];
}

/* The last block adds up what all have left. */
__device__ unsigned arrived;
__global__ void last_block(const float *in, float *part, float *out)
{
    __shared__ bool last;

    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;

        for (int i = 0; i < gridDim.x; i++)
            sum += part[i];
        *out = sum;
    }
}

/* Each block reads what its neighbour writes. */
__global__ void neighbour(float *x)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    float v = i + THREADS < BLOCKS * THREADS ? x[i + THREADS] : 0; /* neighbour */

    x[i] = v + 1; /* mine */
}

__global__ void grid_steps(float *x, float *y)
{
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * THREADS + threadIdx.x;

    for (int k = 0; k < 3; k++) {
        y[i] = x[(i + THREADS) % (BLOCKS * THREADS)] + 1;
        grid.sync();
        x[i] = y[(i + 1) % (BLOCKS * THREADS)];
        grid.sync();
    }
}

/* ---- critical sections ---- */

__device__ int lock_word;
__global__ void spin(unsigned *out)
{
    __shared__ int lock, sum;

    if (threadIdx.x == 0)
        lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        __threadfence_block();
        sum = sum + 1;
        __threadfence_block();
        lock = 0;
        while (atomicCAS(&lock_word, 0, 1) != 0)
            ;
        __threadfence();
        *out = *out + 1;
        __threadfence();
        atomicExch(&lock_word, 0);
    }
}

/* ---- named barriers ---- */

/* Warps 0 and 1 give to warps 2 and 3, on barriers of their own. */
template <bool WAITS>
__global__ void give_and_take(const unsigned *in, unsigned *out, int steps)
{
    __shared__ unsigned box[64];
    unsigned i = threadIdx.x % 64;

    for (int k = 0; k < steps; k++) {
        if (threadIdx.x < 64) {
            if (k > 0)
                asm volatile("bar.sync 2, 128;" ::: "memory");
            box[i] = in[k * 64 + i]; /* give */
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            if (WAITS)
                asm volatile("bar.sync 1, 128;" ::: "memory");
            else
                asm volatile("bar.arrive 1, 128;" ::: "memory");
            out[k * 64 + i] = box[63 - i]; /* take */
            if (k + 1 < steps)
                asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}

/* ---- barriers that not all come to ---- */

__global__ void half_warp(unsigned *out)
{
    __shared__ unsigned s[THREADS];

    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16)
        __syncthreads(); /* some */
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void half_block(unsigned *out)
{
    __shared__ unsigned s[THREADS];

    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 128)
        __syncthreads(); /* half */
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void early_return(unsigned *out, int n)
{
    __shared__ unsigned s[THREADS];

    if (threadIdx.x >= n)
        return;
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}

__global__ void two_kinds(unsigned *out)
{
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 128;" ::: "memory"); /* other */
    else
        __syncthreads();
    out[threadIdx.x] = 1;
}

/* ---- asynchronous copies ---- */

__device__ void fetch(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory"); /* fetch */
}

__device__ void end_group()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LEFT> __device__ void wait_groups()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Two buffers: one is filled while the other is used. */
enum { ASYNC_RIGHT, ASYNC_NO_WAIT, ASYNC_SHORT_WAIT, ASYNC_NO_BARRIER, ASYNC_TOO_EARLY };
template <int HOW> __global__ void buffers(const float4 *in, float4 *out, int steps)
{
    __shared__ float4 s[2][THREADS];
    int i = threadIdx.x;

    fetch(&s[0][i], &in[i]);
    end_group();
    for (int k = 0; k < steps; k++) {
        if (k + 1 < steps)
            fetch(&s[(k + 1) & 1][i], &in[(k + 1) * THREADS + i]);
        end_group();
        if (HOW == ASYNC_SHORT_WAIT)
            wait_groups<2>();
        else if (HOW != ASYNC_NO_WAIT)
            wait_groups<1>();
        if (HOW != ASYNC_NO_BARRIER)
            __syncthreads();
        out[k * THREADS + i] = s[k & 1][i ^ 32]; /* use */
        if (HOW != ASYNC_TOO_EARLY)
            __syncthreads();
    }
}

/* Who fetched waits at the barrier object for what all have fetched. */
template <bool WAITS> __global__ void objects(const float4 *in, float4 *out)
{
    __shared__ float4 s[THREADS];
    __shared__ unsigned long long object;
    unsigned at = (unsigned)__cvta_generic_to_shared(&object), done = !WAITS;
    int i = threadIdx.x;

    if (i == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(THREADS) : "memory");
    __syncthreads();
    fetch(&s[i], &in[i]);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
    while (!done)
        asm volatile("{ .reg .pred p; .reg .b64 t;\n"
                     "  mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                     "  selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    out[i] = s[i ^ 32]; /* object */
}

/* One thread has a range copied, all wait at the barrier object; then the range is filled again. */
template <bool WAITS> __global__ void bulk(const float4 *in, float4 *out)
{
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(16) float4 s[THREADS];
    __shared__ __align__(8) unsigned long long object;
    unsigned at = (unsigned)__cvta_generic_to_shared(&object);
    int i = threadIdx.x;

    if (i == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        unsigned done = !WAITS;

        if (i == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at),
                         "r"((unsigned)sizeof s)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1], %2, [%3];" ::"r"((unsigned)__cvta_generic_to_shared(s)),
                         "l"(in + k * THREADS), "r"((unsigned)sizeof s), "r"(at)
                         : "memory");
        }
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "  mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                         "  selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(at), "r"(k & 1)
                         : "memory");
        out[k * THREADS + i] = s[i ^ 32]; /* bulk */
        __syncthreads();
    }
#endif
}

/* ---- the program ---- */

static void *device_bytes(size_t bytes)
{
    void *p;

    cudaMalloc(&p, bytes);
    cudaMemset(p, 0, bytes);
    return p;
}

static void *numbers(size_t count)
{
    unsigned *host = (unsigned *)malloc(count * 4);
    void *p = device_bytes(count * 4);

    for (size_t i = 0; i < count; i++)
        host[i] = (unsigned)(i * 2654435761u >> 5);
    cudaMemcpy(p, host, count * 4, cudaMemcpyHostToDevice);
    free(host);
    return p;
}

static bool is(const char *name, const char *form)
{
    return strcmp(name, form) == 0;
}

/* What was copied through shared memory: steps of THREADS, of which each thread takes another's. */
static void compare(const float4 *in, const float4 *out, int steps)
{
    int wrong = 0;
    float4 *a = (float4 *)malloc(2 * steps * THREADS * sizeof *a), *b = a + steps * THREADS;

    cudaMemcpy(a, in, steps * THREADS * sizeof *a, cudaMemcpyDeviceToHost);
    cudaMemcpy(b, out, steps * THREADS * sizeof *b, cudaMemcpyDeviceToHost);
    for (int k = 0; k < steps * THREADS; k++)
        wrong += memcmp(&a[k ^ 32], &b[k], sizeof *a) != 0;
    printf("%s\n", wrong ? "wrong" : "right");
    free(a);
}

static int run(const char *form)
{
    int steps = 0;

    float *in = (float *)numbers(65536), *out = (float *)device_bytes(65536 * 4);
    float *more = (float *)numbers(65536);
    unsigned *uin = (unsigned *)in, *uout = (unsigned *)out;
    dim3 tile(TILE, TILE), tiles(N / TILE, N / TILE);
    bool known = true;

    if (is(form, "product"))
        product<true, true><<<tiles, tile>>>(in, more, out);
    else if (is(form, "product-before"))
        product<false, true><<<tiles, tile>>>(in, more, out);
    else if (is(form, "product-after"))
        product<true, false><<<tiles, tile>>>(in, more, out);
    else if (is(form, "tree"))
        tree<true><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "tree-last"))
        tree<false><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "tree-unordered"))
        tree_unordered<<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "warp-sync"))
        warp_tree<WARP_SYNC><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "warp-volatile"))
        warp_tree<WARP_VOLATILE><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "warp-shuffle"))
        warp_tree<WARP_SHUFFLE><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "warp-nothing"))
        warp_tree<WARP_NOTHING><<<BLOCKS, THREADS>>>(in, out);
    else if (is(form, "histogram"))
        histogram<true, true><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "histogram-clear"))
        histogram<true, false><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "histogram-plain"))
        histogram<false, true><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "count"))
        count<COUNT_RIGHT><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "count-unset"))
        count<COUNT_UNSET><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "count-warp"))
        count<COUNT_WARP><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "count-early"))
        count<COUNT_EARLY><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "bound"))
        bound<false><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "bound-global"))
        bound<true><<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "relax"))
        relax<<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "lowest-lane"))
        lowest_lane<<<1, 32>>>(uout);
    else if (is(form, "dynamic"))
        dynamic_size<<<1, THREADS, THREADS * sizeof(unsigned)>>>(uout);
    else if (is(form, "total-block"))
        total_plain<<<1, THREADS>>>(uin, uout);
    else if (is(form, "total-blocks"))
        total_plain<<<BLOCKS, 1>>>(uin, uout);
    else if (is(form, "flag"))
        flag<<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "look-back"))
        look_back<<<BLOCKS, THREADS>>>(uin, uout);
    else if (is(form, "last-block"))
        last_block<<<BLOCKS, THREADS>>>(in, more, out);
    else if (is(form, "neighbour"))
        neighbour<<<BLOCKS, THREADS>>>(in);
    else if (is(form, "grid")) {
        void *args[] = {&in, &out};

        cudaLaunchCooperativeKernel(grid_steps, BLOCKS, THREADS, args, 0, 0);
    } else if (is(form, "spin"))
        spin<<<BLOCKS, THREADS>>>(uout);
    else if (is(form, "named"))
        give_and_take<true><<<2, 128>>>(uin, uout, 4);
    else if (is(form, "named-no-wait"))
        give_and_take<false><<<2, 128>>>(uin, uout, 1);
    else if (is(form, "half-warp"))
        half_warp<<<2, THREADS>>>(uout);
    else if (is(form, "half-block"))
        half_block<<<2, THREADS>>>(uout);
    else if (is(form, "early-return"))
        early_return<<<1, THREADS>>>(uout, 200);
    else if (is(form, "two-kinds"))
        two_kinds<<<1, 128>>>(uout);
    else if (is(form, "async"))
        buffers<ASYNC_RIGHT><<<1, THREADS>>>((float4 *)in, (float4 *)out, steps = 8);
    else if (is(form, "async-no-wait"))
        buffers<ASYNC_NO_WAIT><<<1, THREADS>>>((float4 *)in, (float4 *)out, steps = 8);
    else if (is(form, "async-short-wait"))
        buffers<ASYNC_SHORT_WAIT><<<1, THREADS>>>((float4 *)in, (float4 *)out, steps = 8);
    else if (is(form, "async-no-barrier"))
        buffers<ASYNC_NO_BARRIER><<<1, THREADS>>>((float4 *)in, (float4 *)out, 8);
    else if (is(form, "async-too-early"))
        buffers<ASYNC_TOO_EARLY><<<1, THREADS>>>((float4 *)in, (float4 *)out, 8);
    else if (is(form, "object"))
        steps = 1, objects<true><<<1, THREADS>>>((float4 *)in, (float4 *)out);
    else if (is(form, "object-no-wait"))
        objects<false><<<1, THREADS>>>((float4 *)in, (float4 *)out);
    else if (is(form, "bulk"))
        steps = 3, bulk<true><<<1, THREADS>>>((float4 *)in, (float4 *)out);
    else if (is(form, "bulk-no-wait"))
        steps = 3, bulk<false><<<1, THREADS>>>((float4 *)in, (float4 *)out);
    else
        known = false;
    if (!known) {
        printf("no form is called \"%s\"\n", form);
        return 2;
    }
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    if (steps)
        compare((float4 *)in, (float4 *)out, steps);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;

    for (int i = 1; i < argc; i++)
        bad |= run(argv[i]);
    return bad;
}
