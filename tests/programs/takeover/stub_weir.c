/* Stands in for libweir.so in the tests of the taking over alone: functions that answer with their
 * own number.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#define ANSWER(name, number)                                                                       \
    __attribute__((visibility("default"))) int weir_api_##name(void);                              \
    int weir_api_##name(void)                                                                      \
    {                                                                                              \
        return number;                                                                             \
    }

ANSWER(cudaMalloc, 101)
ANSWER(cudaGetDeviceCount, 102)
ANSWER(cudaSetDevice, 103)
ANSWER(cudaGetDevice, 104)
ANSWER(cudaDeviceSynchronize, 105)
ANSWER(cudaFree, 106)
ANSWER(cudaMemAdvise, 107)

/* For objects of CUDA 12, whose function has other parameters. */
__attribute__((visibility("default"))) int weir_api12_cudaMemAdvise(void);
int weir_api12_cudaMemAdvise(void)
{
    return 112;
}
