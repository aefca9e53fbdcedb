/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no cuBLAS (cublas_v2.h): it is a library of NVIDIA's"
