/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no Thrust: name a copy of it with -I, or compile with nvcc"
