/* What differs between CUDA 12 and 13, called through CUDA 12's own headers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstring>

int main()
{
    struct {
        cudaDeviceProp prop;
        unsigned char guard[64];
    } p;
    int version = 0, clock = 0, whole = 1;
    void *m = NULL;
    cudaPointerAttributes a;

    memset(&p, 0x5a, sizeof p);
    if (cudaRuntimeGetVersion(&version) || cudaGetDeviceProperties(&p.prop, 0) ||
        cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0))
        return 1;
    for (unsigned char g : p.guard)
        whole &= g == 0x5a;
    if (cudaMallocManaged(&m, 100) || cudaMemAdvise(m, 100, cudaMemAdviseSetReadMostly, 0) ||
        cudaMemPrefetchAsync(m, 100, 0, 0) || cudaMemPrefetchAsync(m, 100, cudaCpuDeviceId, 0) ||
        cudaPointerGetAttributes(&a, m) || cudaThreadSynchronize())
        return 2;
    printf("runtime %d, guard %s, clock %d, managed %d\n", version / 1000,
           whole ? "whole" : "written", p.prop.clockRate == clock, a.type == cudaMemoryTypeManaged);
    return 0;
}
