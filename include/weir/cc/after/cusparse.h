/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no cuSPARSE (cusparse.h): it is a library of NVIDIA's"
