// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cuda_runtime.h>

void fill(int *p, int n, int factor);

int main()
{
    const int n = 1000;
    int *p, right = 0;
    if (cudaMallocManaged(&p, n * sizeof *p) != cudaSuccess)
        return 1;
    fill(p, n, 3);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    for (int i = 0; i < n; i++)
        right += p[i] == 3 * i;
    std::printf("RESULT %s\n", right == n ? "PASS" : "FAIL");
}
