/* What the programs here share: checks that count, and memory of both sides.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <cuda_runtime.h>
static int bad;
#define OK(c)                                                                                      \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            printf("BAD %s:%d: %s\n", __FILE__, __LINE__, #c);                                     \
            bad++;                                                                                 \
        }                                                                                          \
    } while (0)
#define CU(c)                                                                                      \
    do {                                                                                           \
        cudaError_t e_ = (c);                                                                      \
        if (e_) {                                                                                  \
            printf("BAD %s:%d: %s: %s\n", __FILE__, __LINE__, #c, cudaGetErrorName(e_));           \
            bad++;                                                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define SYNC() CU(cudaDeviceSynchronize())
template <class T> T *mem(size_t n)
{
    T *p;
    CU(cudaMallocManaged(&p, n * sizeof(T)));
    memset((void *)p, 0, n * sizeof(T));
    return p;
}
static int done(const char *name)
{
    printf("%s: %d bad\n", name, bad);
    return bad != 0;
}
