/* SipHash-2-4-128, written from its specification; tests/unit/codegen_cache.c holds published
 * vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/hash128.h"

#include <string.h>

static uint64_t rotl(uint64_t x, unsigned n)
{
    return (x << n) | (x >> (64 - n));
}

static uint64_t load64_le(const unsigned char *p)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < 8; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static void rounds(uint64_t v[4], int n)
{
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[0] = rotl(v[0], 32);
        v[2] += v[3];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[2] = rotl(v[2], 32);
    }
}

static void word(struct weir_hash128 *h, uint64_t m)
{
    h->v[3] ^= m;
    rounds(h->v, 2);
    h->v[0] ^= m;
}

void weir_hash128_init_key(struct weir_hash128 *h, const unsigned char key[16])
{
    uint64_t k0 = load64_le(key), k1 = load64_le(key + 8);

    memset(h, 0, sizeof *h);
    h->v[0] = k0 ^ UINT64_C(0x736f6d6570736575);
    h->v[1] = k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
    h->v[2] = k0 ^ UINT64_C(0x6c7967656e657261);
    h->v[3] = k1 ^ UINT64_C(0x7465646279746573);
}

void weir_hash128_init(struct weir_hash128 *h)
{
    static const unsigned char key[17] = "weir kernel keys";

    weir_hash128_init_key(h, key);
}

void weir_hash128_add(struct weir_hash128 *h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    size_t have = (size_t)(h->bytes % 8);

    if (bytes == 0)
        return;
    h->bytes += bytes;
    if (have) {
        size_t take = bytes < 8 - have ? bytes : 8 - have;

        memcpy(h->tail + have, p, take);
        if (have + take < 8)
            return;
        word(h, load64_le(h->tail));
        p += take;
        bytes -= take;
    }
    for (; bytes >= 8; p += 8, bytes -= 8)
        word(h, load64_le(p));
    memcpy(h->tail, p, bytes);
}

void weir_hash128_add_field(struct weir_hash128 *h, const void *data, size_t bytes)
{
    uint64_t n = bytes;

    weir_hash128_add(h, &n, sizeof n);
    weir_hash128_add(h, data, bytes);
}

void weir_hash128_finish(struct weir_hash128 *h, uint64_t out[2])
{
    size_t have = (size_t)(h->bytes % 8);

    memset(h->tail + have, 0, 8 - have);
    word(h, load64_le(h->tail) | (h->bytes << 56));
    h->v[2] ^= 0xee;
    rounds(h->v, 4);
    out[0] = h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
    h->v[1] ^= 0xdd;
    rounds(h->v, 4);
    out[1] = h->v[0] ^ h->v[1] ^ h->v[2] ^ h->v[3];
}
