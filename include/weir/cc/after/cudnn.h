/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no cuDNN (cudnn.h): it is a library of NVIDIA's"
