// Cooperative groups beyond a warp: tiles of several warps in shared memory, copies, and the reductions of a warp in one instruction.
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
__global__ void k(const int *in, int *out)
{
    __shared__ cg::block_tile_memory<512> memory;
    __shared__ int staged[512];
    auto block = cg::this_thread_block(memory);
    cg::memcpy_async(block, staged, in + blockIdx.x * 512, 512 * sizeof(int));
    cg::wait(block);
    auto tile = cg::tiled_partition<128>(block);
    const int rank = block.thread_rank();
    const int sum = cg::reduce(tile, staged[rank], cg::plus<int>());
    const int most = cg::reduce(tile, staged[rank], cg::greater<int>());
    const int third = tile.shfl(staged[rank], 3);
    const int any = tile.any(staged[rank] == 77);
    int piped;
    __pipeline_memcpy_async(&piped, in + 5, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (tile.thread_rank() == 0) {
        int *o = out + 5 * (blockIdx.x * 4 + tile.meta_group_rank());
        o[0] = sum, o[1] = most, o[2] = third, o[3] = any, o[4] = piped;
    }
}

__global__ void together(const unsigned *in, unsigned *out)
{
    const unsigned v = in[threadIdx.x], mask = threadIdx.x < 32 ? ~0u : 0x0000ffffu;
    if (threadIdx.x >= 48)
        return;
    unsigned *o = out + 8 * threadIdx.x;
    o[0] = __reduce_add_sync(mask, v);
    o[1] = __reduce_min_sync(mask, v);
    o[2] = __reduce_max_sync(mask, v);
    o[3] = (unsigned)__reduce_min_sync(mask, (int)v);
    o[4] = (unsigned)__reduce_max_sync(mask, (int)v);
    o[5] = __reduce_and_sync(mask, v);
    o[6] = __reduce_or_sync(mask, v);
    o[7] = __reduce_xor_sync(mask, v);
}

static int check_together()
{
    unsigned *in, *out;
    int wrong = 0;
    cudaMallocManaged(&in, 64 * sizeof *in);
    cudaMallocManaged(&out, 8 * 64 * sizeof *out);
    for (int i = 0; i < 64; i++)
        in[i] = (i + 1) * 2654435761u;
    together<<<1, 64>>>(in, out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 48; i++) {
        unsigned w[8] = {0, ~0u, 0, 0x7fffffffu, 0x80000000u, ~0u, 0, 0};
        for (int k = i & ~31; k < (i < 32 ? 32 : 48); k++) {
            const unsigned v = in[k];
            w[0] += v, w[5] &= v, w[6] |= v, w[7] ^= v;
            w[1] = v < w[1] ? v : w[1];
            w[2] = v > w[2] ? v : w[2];
            w[3] = (int)v < (int)w[3] ? v : w[3];
            w[4] = (int)v > (int)w[4] ? v : w[4];
        }
        for (int k = 0; k < 8; k++)
            wrong += out[8 * i + k] != w[k];
    }
    return wrong;
}

int main()
{
    int *in, *out, wrong = check_together();
    cudaMallocManaged(&in, 1024 * sizeof(int));
    cudaMallocManaged(&out, 40 * sizeof(int));
    for (int i = 0; i < 1024; i++)
        in[i] = (i * 37) % 1000;
    k<<<2, 512>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    for (int t = 0; t < 8; t++) {
        int sum = 0, most = 0, any = 0;
        for (int i = 128 * t; i < 128 * t + 128; i++)
            sum += in[i], most = in[i] > most ? in[i] : most, any |= in[i] == 77;
        const int *o = out + 5 * t;
        wrong += o[0] != sum || o[1] != most || o[2] != in[128 * t + 3] || o[3] != any || o[4] != in[5];
    }
    printf("RESULT %s\n", wrong ? "FAIL" : "PASS");
}
