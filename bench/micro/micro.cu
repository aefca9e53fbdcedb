/* What one instruction of a kind costs a warp: a loop with it against the same loop without, ns a
 * warp (of 32 threads, blocks of 256, as many blocks as fill all workers), the lowest of some
 * rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>

enum op {
    NOTHING,
    BARRIER,
    SHUFFLE,
    VOTE,
    UNIFORM_BRANCH,
    DIVERGENT_BRANCH,
    ADD_APART,
    ADD_SAME,
    ADD_SPREAD,
    ADD_RESULT,
    OPS
};

static const char *const names[OPS] = {"the loop alone",
                                       "barrier (__syncthreads)",
                                       "shuffle (__shfl_xor_sync)",
                                       "vote (__ballot_sync)",
                                       "branch that a warp takes together",
                                       "branch that parts the lanes",
                                       "atomicAdd, shared, a word a lane",
                                       "atomicAdd, shared, one word for all",
                                       "atomicAdd, shared, words of 256 by chance",
                                       "the same, its result is used"};

template <int OP> __global__ void kernel(unsigned *out, int n, unsigned seed)
{
    __shared__ unsigned s[256];
    unsigned t = threadIdx.x, sum = 0, x = t * 2654435761u + seed;

    s[t] = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        unsigned y = (x + i) * 1664525u; /* not what the next pass waits for */
        sum ^= y;
        if (OP == BARRIER)
            __syncthreads();
        if (OP == SHUFFLE)
            sum += __shfl_xor_sync(~0u, y, i & 31);
        if (OP == VOTE)
            sum += __ballot_sync(~0u, y >> 31);
        if (OP == UNIFORM_BRANCH && (i & seed))
            out[t] = y;
        if (OP == DIVERGENT_BRANCH) {
            if (y >> 31)
                s[t] = y;
            else
                s[t ^ 32] = i;
        }
        if (OP == ADD_APART)
            atomicAdd(&s[t], y);
        if (OP == ADD_SAME)
            atomicAdd(&s[0], y);
        if (OP == ADD_SPREAD)
            atomicAdd(&s[y >> 24], 1u);
        if (OP == ADD_RESULT)
            sum += atomicAdd(&s[y >> 24], 1u);
    }
    out[blockIdx.x * 256 + t] = sum + s[t];
}

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static const int blocks = 64, passes = 2000, rounds = 15;
static unsigned *out;

template <int OP> static double best_ns()
{
    double best = 0;

    for (int r = 0; r < rounds; r++) {
        double t = now_ns();
        kernel<OP><<<blocks, 256>>>(out, passes, 0x80000000u);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return -1;
        t = now_ns() - t;
        if (r == 0 || t < best)
            best = t;
    }
    return best;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 1;
    double per = (double)workers / ((double)blocks * 8 * passes);
    double ns[OPS];

    if (cudaMalloc(&out, blocks * 256 * sizeof *out) != cudaSuccess)
        return 1;
    ns[NOTHING] = best_ns<NOTHING>();
    ns[BARRIER] = best_ns<BARRIER>();
    ns[SHUFFLE] = best_ns<SHUFFLE>();
    ns[VOTE] = best_ns<VOTE>();
    ns[UNIFORM_BRANCH] = best_ns<UNIFORM_BRANCH>();
    ns[DIVERGENT_BRANCH] = best_ns<DIVERGENT_BRANCH>();
    ns[ADD_APART] = best_ns<ADD_APART>();
    ns[ADD_SAME] = best_ns<ADD_SAME>();
    ns[ADD_SPREAD] = best_ns<ADD_SPREAD>();
    ns[ADD_RESULT] = best_ns<ADD_RESULT>();
    for (int k = 0; k < OPS; k++)
        printf("%-44s %7.2f ns\n", names[k], (ns[k] - (k ? ns[NOTHING] : 0)) * per);
    return cudaFree(out) != cudaSuccess;
}
