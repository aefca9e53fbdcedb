/* Enumerations that device code uses.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_DEVICE_TYPES_H) && !defined(__DEVICE_TYPES_H__)
#define WEIR_CUDA_DEVICE_TYPES_H
#define __DEVICE_TYPES_H__

enum cudaRoundMode {
    cudaRoundNearest = 0,
    cudaRoundZero = 1,
    cudaRoundPosInf = 2,
    cudaRoundMinInf = 3
};

#endif
