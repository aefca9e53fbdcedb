/* Enumerations that device code uses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_DEVICE_TYPES_H
#define WEIR_CUDA_DEVICE_TYPES_H
#define __DEVICE_TYPES_H__ /* programs ask whether this header was there */

enum cudaRoundMode {
    cudaRoundNearest = 0,
    cudaRoundZero = 1,
    cudaRoundPosInf = 2,
    cudaRoundMinInf = 3
};

#endif
