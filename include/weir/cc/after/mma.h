/* SPDX-License-Identifier: Apache-2.0 */
#error "weir cc has no matrix instructions (mma.h) yet"
