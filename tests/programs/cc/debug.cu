// Compiled with -G -g by the test: structures, calls and shared memory in device code that is hardly optimised.
// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>

namespace cg = cooperative_groups;

struct pair {
    char tag;
    double value;
};

static __device__ __noinline__ pair make(char tag, double value)
{
    return pair{tag, value};
}

__global__ void sums(const double *in, double *out)
{
    __shared__ pair parts[8];
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    const double sum = cg::reduce(tile, in[block.thread_rank()], cg::plus<double>());
    if (tile.thread_rank() == 0)
        parts[tile.meta_group_rank()] = make('x', sum);
    block.sync();
    double all = 0;
    for (int i = 0; i < 8; i++)
        all += parts[i].tag == 'x' ? parts[i].value : 1e9;
    out[block.thread_rank()] = all;
}

int main()
{
    double *in, *out;
    bool good = true;
    cudaMallocManaged(&in, 256 * sizeof *in);
    cudaMallocManaged(&out, 256 * sizeof *out);
    for (int i = 0; i < 256; i++)
        in[i] = i;
    sums<<<1, 256>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    for (int i = 0; i < 256; i++)
        good &= out[i] == 255 * 256 / 2;
    printf("RESULT %s\n", good ? "PASS" : "FAIL");
}
