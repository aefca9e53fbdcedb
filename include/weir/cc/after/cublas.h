/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no cuBLAS (cublas.h): it is a library of NVIDIA's"
