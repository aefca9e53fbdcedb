// Separately compiled device code, one unit of two: functions, variables, constants and managed variables of the other
// unit, a static one of the same name in both, host references to them.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

extern __device__ int counter;
extern __constant__ float table[4];
extern __managed__ int shared_by_all;
__device__ int twice(int);
static __device__ int own = 1;
void add_own(int *);

__global__ void use(int *p)
{
    *p = twice(*p) + counter + own;
    shared_by_all += 2;
    p[1] = (int)table[2];
}

int main()
{
    int *p, before, seen;
    cudaMallocManaged(&p, 2 * sizeof *p);
    *p = 20;
    use<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    before = *p;
    add_own(p);
    shared_by_all++;
    cudaMemcpyFromSymbol(&seen, counter, sizeof seen);
    printf("%d %d %d %d %d, %s\n", before, *p, shared_by_all, seen, p[1], cudaGetErrorString(cudaGetLastError()));
    printf("RESULT %s\n", before == 46 && *p == 49 && shared_by_all == 103 && seen == 5 && p[1] == 7 ? "PASS" : "FAIL");
}
