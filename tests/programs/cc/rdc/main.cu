// Separately compiled device code, one unit of two: functions, variables, constants and managed variables of the other
// unit, a static one of the same name in both, host references to them, a static kernel, and a kernel of the other unit
// that this one launches.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

extern __device__ int counter;
extern __constant__ float table[4];
extern __managed__ int shared_by_all;
__device__ int twice(int);
static __device__ int own = 1;
static __constant__ int plus[2];
__global__ void add(int *);
void add_own(int *);

__global__ void use(int *p)
{
    *p = twice(*p) + counter + own;
    shared_by_all += 2;
    p[1] = (int)table[2];
}

static __global__ void more(int *p)
{
    p[2] += plus[1];
}

int main()
{
    const int amounts[2] = {100, 200};
    int *p, before, seen;
    cudaMallocManaged(&p, 3 * sizeof *p);
    cudaMemcpyToSymbol(plus, amounts, sizeof amounts);
    p[2] = 1;
    more<<<1, 1>>>(p);
#ifdef OTHER_COMPILER /* which names the host's side of a kernel otherwise */
    add_own(p + 2);
#else
    add<<<1, 1>>>(p + 2);
#endif
    *p = 20;
    use<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    before = *p;
    add_own(p);
    shared_by_all++;
    cudaMemcpyFromSymbol(&seen, counter, sizeof seen);
    printf("%d %d %d %d %d %d, %s\n", before, *p, shared_by_all, seen, p[1], p[2], cudaGetErrorString(cudaGetLastError()));
    printf("RESULT %s\n",
           before == 46 && *p == 49 && shared_by_all == 103 && seen == 5 && p[1] == 7 && p[2] == 204 ? "PASS" : "FAIL");
}
