/* Makes containers as nvcc does, for `weir cc` and for the tests: an entry per PTX text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <lz4hc.h>
#include <zstd.h>

#include "base/alloc.h"
#include "fatbin/fatbin_int.h"

#define ZSTD_LEVEL 9

static void put_u16(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}

static void put_u32(unsigned char *p, uint32_t v)
{
    put_u16(p, v & 0xffff);
    put_u16(p + 2, v >> 16);
}

static void put_u64(unsigned char *p, uint64_t v)
{
    put_u32(p, (uint32_t)v);
    put_u32(p + 4, (uint32_t)(v >> 32));
}

static size_t header_bytes(const struct weir_fatbin_input *in)
{
    return WEIR_ALIGN_UP(ENTRY_HEADER_MIN + (in->name ? strlen(in->name) + 1 : 0), 8);
}

static size_t payload_bound(const struct weir_fatbin_input *in, enum weir_fatbin_packing packing)
{
    size_t n = in->bytes;

    if (packing == WEIR_FATBIN_LZ4)
        n = (size_t)LZ4_compressBound((int)in->bytes);
    else if (packing == WEIR_FATBIN_ZSTD)
        n = ZSTD_compressBound(in->bytes);
    return WEIR_ALIGN_UP(n + 1, 8); /* plain text keeps one zero byte at least */
}

/* ".version 8.7" of the text into major and minor; 0.0 when there is none. */
static void ptx_version(const struct weir_fatbin_input *in, uint32_t *major, uint32_t *minor)
{
    static const char key[] = ".version";
    const char *at = memmem(in->ptx, in->bytes, key, sizeof key - 1), *end = in->ptx + in->bytes;
    uint32_t *part = major;

    *major = *minor = 0;
    if (at == NULL)
        return;
    for (at += sizeof key - 1; at < end && (*at == ' ' || *at == '\t'); at++)
        ;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && part == major)); at++) {
        if (*at == '.')
            part = minor;
        else if (*part < 1000)
            *part = *part * 10 + (uint32_t)(*at - '0');
    }
}

/* Bytes written at `to`; 0 when the compressor failed. */
static size_t pack(const struct weir_fatbin_input *in, enum weir_fatbin_packing packing,
                   unsigned char *to, size_t room)
{
    size_t n;

    switch (packing) {
    case WEIR_FATBIN_LZ4:
        return (size_t)LZ4_compress_HC(in->ptx, (char *)to, (int)in->bytes, (int)room,
                                       LZ4HC_CLEVEL_DEFAULT);
    case WEIR_FATBIN_ZSTD:
        n = ZSTD_compress(to, room, in->ptx, in->bytes, ZSTD_LEVEL);
        return ZSTD_isError(n) ? 0 : n;
    default:
        memcpy(to, in->ptx, in->bytes);
        return in->bytes + 1;
    }
}

/* Writes one entry into zeroed memory at `to`; its bytes, 0 on failure. */
static size_t put_entry(const struct weir_fatbin_input *in, enum weir_fatbin_packing packing,
                        unsigned char *to)
{
    size_t header = header_bytes(in),
           packed = pack(in, packing, to + header, payload_bound(in, packing)), padded;
    uint64_t flags = ENTRY_FLAG_64BIT | ENTRY_FLAG_LINUX;
    uint32_t major, minor;

    if (packed == 0)
        return 0;
    padded = WEIR_ALIGN_UP(packed, 8);
    memset(to + header + packed, 0, padded - packed);
    put_u16(to, WEIR_FATBIN_PTX);
    put_u16(to + 2, ENTRY_VERSION);
    put_u32(to + 4, (uint32_t)header);
    put_u64(to + 8, padded);
    if (packing != WEIR_FATBIN_PLAIN) {
        flags |= packing == WEIR_FATBIN_LZ4 ? ENTRY_FLAG_LZ4 : ENTRY_FLAG_ZSTD;
        put_u32(to + 16, (uint32_t)packed);
        put_u64(to + 56, in->bytes);
    }
    ptx_version(in, &major, &minor);
    put_u16(to + 24, minor);
    put_u16(to + 26, major);
    put_u32(to + 28, in->sm);
    if (in->name != NULL) {
        put_u32(to + 32, ENTRY_HEADER_MIN);
        put_u32(to + 36, (uint32_t)strlen(in->name));
        memcpy(to + ENTRY_HEADER_MIN, in->name, strlen(in->name));
    }
    put_u64(to + 40, flags);
    return header + padded;
}

enum weir_err weir_fatbin_build(const struct weir_fatbin_input *inputs, size_t count,
                                enum weir_fatbin_packing packing, unsigned char **out,
                                size_t *out_bytes)
{
    size_t room = CONTAINER_HEADER, at = CONTAINER_HEADER;
    unsigned char *p;

    *out = NULL;
    *out_bytes = 0;
    if (packing >= WEIR_FATBIN_UNKNOWN)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "fat binary: unknown packing %d", (int)packing);
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].bytes == 0 || inputs[i].bytes > LZ4_MAX_INPUT_SIZE ||
            inputs[i].bytes > ENTRY_PLAIN_MAX ||
            (inputs[i].name && strlen(inputs[i].name) > PATH_MAX))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "fat binary: PTX text %zu has an impossible size", i);
        room += header_bytes(&inputs[i]) + payload_bound(&inputs[i], packing);
    }
    p = weir_calloc(1, room);
    if (p == NULL)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a fat binary of %zu bytes",
                         room);
    for (size_t i = 0; i < count; i++) {
        size_t n = put_entry(&inputs[i], packing, p + at);

        if (n == 0) {
            weir_free(p);
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "PTX text %zu could not be compressed", i);
        }
        at += n;
    }
    put_u32(p, CONTAINER_MAGIC);
    put_u16(p + 4, CONTAINER_VERSION);
    put_u16(p + 6, CONTAINER_HEADER);
    put_u64(p + 8, at - CONTAINER_HEADER);
    *out = p;
    *out_bytes = at;
    return WEIR_OK;
}
