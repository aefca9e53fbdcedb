/* The smallest whole program: allocate, copy in, launch, copy out. Kernels print too; the order of the blocks is nobody's
 * promise, so the check is on the data.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

__global__ void greet(const int *in, int *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * in[i];
    if (threadIdx.x == 0)
        printf("hello from block %d of %d\n", (int)blockIdx.x, (int)gridDim.x);
}

int main()
{
    const int blocks = 2, threads = 64, n = blocks * threads;
    int host[n], *in, *out;
    for (int i = 0; i < n; i++)
        host[i] = i;

    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    greet<<<blocks, threads>>>(in, out);
    CHECK(cudaGetLastError()); /* was the launch itself accepted? */
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)); /* waits for the kernel */
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));

    for (int i = 0; i < n; i++)
        if (host[i] != i * i) {
            printf("RESULT FAIL element %d is %d\n", i, host[i]);
            return 1;
        }
    printf("RESULT PASS squares of 0..%d\n", n - 1);
    return 0;
}
