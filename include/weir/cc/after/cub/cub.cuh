/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no CUB: name a copy of it with -I, or compile with nvcc"
