/* 128-bit hash for cache keys and content checks: SipHash-2-4 with the 128-bit output (Aumasson and
 * Bernstein), under a fixed key. Not for secrets; strong enough that different kernels never share
 * a key in practice.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_HASH128_H
#define WEIR_CODEGEN_HASH128_H

#include <stddef.h>
#include <stdint.h>

struct weir_hash128 {
    uint64_t v[4];
    uint64_t bytes;        /* taken so far */
    unsigned char tail[8]; /* the last bytes % 8 */
};

void weir_hash128_init(struct weir_hash128 *h);
/* The same with an explicit 16-byte key (tests against the published vectors). */
void weir_hash128_init_key(struct weir_hash128 *h, const unsigned char key[16]);
void weir_hash128_add(struct weir_hash128 *h, const void *data, size_t bytes);
/* Adds length and bytes, so that neighbours cannot run into each other. */
void weir_hash128_add_field(struct weir_hash128 *h, const void *data, size_t bytes);
void weir_hash128_finish(struct weir_hash128 *h, uint64_t out[2]);

#endif
