/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no cuFFT (cufft.h): it is a library of NVIDIA's"
