/* Wrapper, container and entries: finds and checks, copies nothing. Choosing is select.c, unpacking
 * unpack.c, making build.c; the layout stands in fatbin_int.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fatbin/fatbin_int.h"

/* Bytes of the entry at `at` (header and payload), 0 when it does not fit into `left`. */
static uint64_t entry_bytes(const unsigned char *at, uint64_t left)
{
    uint64_t header, payload;

    if (left < ENTRY_HEADER_MIN)
        return 0;
    header = get_u32(at + 4);
    payload = get_u64(at + 8);
    if (header < ENTRY_HEADER_MIN || header > ENTRY_HEADER_MAX || header > left)
        return 0;
    if (payload > left - header)
        return 0;
    return header + payload;
}

enum weir_err weir_fatbin_open(const void *data, size_t max_bytes, struct weir_fatbin *out)
{
    const unsigned char *p = data;
    uint64_t body, at = 0;
    uint32_t count = 0;

    memset(out, 0, sizeof *out);
    if (p == NULL)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: no data");
    if (max_bytes < CONTAINER_HEADER || get_u32(p) != CONTAINER_MAGIC)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: no container (wrong magic)");
    if (get_u16(p + 4) != CONTAINER_VERSION || get_u16(p + 6) != CONTAINER_HEADER)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                         "fat binary: container version %u with a header of %u bytes",
                         get_u16(p + 4), get_u16(p + 6));
    body = get_u64(p + 8);
    if (body > (uint64_t)PTRDIFF_MAX ||
        (max_bytes != SIZE_MAX && body > max_bytes - CONTAINER_HEADER))
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                         "fat binary: %llu bytes of entries are more than there is",
                         (unsigned long long)body);
    while (at < body) {
        uint64_t bytes = entry_bytes(p + CONTAINER_HEADER + at, body - at);

        if (bytes == 0 || count == UINT32_MAX)
            return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: entry %u is damaged",
                             count);
        at += bytes;
        count++;
    }
    out->data = p;
    out->bytes = CONTAINER_HEADER + body;
    out->entry_count = count;
    return WEIR_OK;
}

enum weir_err weir_fatbin_unit(const void *wrapper, uint32_t n, struct weir_fatbin *out)
{
    const unsigned char *w = wrapper;
    const void *const *units;

    memset(out, 0, sizeof *out);
    if (w == NULL || get_u32(w) != WRAPPER_MAGIC)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: no wrapper (wrong magic)");
    if (get_u32(w + 4) != 2)
        return WEIR_OK;
    memcpy(&units, w + 16, sizeof units); /* ends with a null pointer */
    for (uint32_t i = 0; units != NULL && units[i] != NULL; i++) {
        if (i == n)
            return weir_fatbin_open(units[i], SIZE_MAX, out);
    }
    return WEIR_OK;
}

enum weir_err weir_fatbin_from_wrapper(const void *wrapper, struct weir_fatbin *out)
{
    const unsigned char *w = wrapper;
    struct weir_fatbin unit;
    enum weir_err err;
    uint32_t units = 0;
    const void *data;

    memset(out, 0, sizeof *out);
    if (w == NULL || get_u32(w) != WRAPPER_MAGIC)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: no wrapper (wrong magic)");
    if (get_u32(w + 4) != 1 && get_u32(w + 4) != 2)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: wrapper version %u",
                         get_u32(w + 4));
    memcpy(&data, w + 8, sizeof data);
    for (;; units++) {
        if ((err = weir_fatbin_unit(wrapper, units, &unit)) != WEIR_OK)
            return err;
        if (unit.data == NULL)
            break;
    }
    err = weir_fatbin_open(data, SIZE_MAX, out);
    out->unit_count = units;
    return err;
}

/* Name, packing and sizes of the entry whose header and payload are known to lie inside the
 * container. */
static enum weir_err entry_read(const unsigned char *p, uint32_t n, struct weir_fatbin_entry *out)
{
    uint64_t header = get_u32(p + 4), payload = get_u64(p + 8), name_at = get_u32(p + 32),
             name_bytes = get_u32(p + 36);

    out->kind = get_u16(p);
    out->sm = get_u32(p + 28);
    out->flags = get_u64(p + 40);
    out->sm_suffix = out->flags & ENTRY_FLAG_ARCH ? 'a' : out->flags & ENTRY_FLAG_FAMILY ? 'f' : 0;
    out->data = p + header;
    if (name_bytes != 0) {
        if (name_at < ENTRY_HEADER_MIN || name_at > header || name_bytes > header - name_at)
            return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                             "fat binary: the name of entry %u lies outside it", n);
        out->name = (const char *)p + name_at;
        out->name_bytes = (uint32_t)name_bytes;
    }
    switch (out->flags & (ENTRY_FLAG_OLD_PACK | ENTRY_FLAG_LZ4 | ENTRY_FLAG_ZSTD)) {
    case 0:
        out->packing = WEIR_FATBIN_PLAIN;
        break;
    case ENTRY_FLAG_LZ4:
        out->packing = WEIR_FATBIN_LZ4;
        break;
    case ENTRY_FLAG_ZSTD:
        out->packing = WEIR_FATBIN_ZSTD;
        break;
    default:
        out->packing = WEIR_FATBIN_UNKNOWN;
        break;
    }
    if (out->packing == WEIR_FATBIN_PLAIN) {
        out->packed_bytes = out->plain_bytes = payload;
        return WEIR_OK;
    }
    out->packed_bytes = get_u32(p + 16);
    out->plain_bytes = get_u64(p + 56);
    if (out->packed_bytes > payload || out->plain_bytes > ENTRY_PLAIN_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                         "fat binary: entry %u says %llu bytes packed and %llu unpacked", n,
                         (unsigned long long)out->packed_bytes,
                         (unsigned long long)out->plain_bytes);
    return WEIR_OK;
}

enum weir_err weir_fatbin_entry(const struct weir_fatbin *fb, uint32_t n,
                                struct weir_fatbin_entry *out)
{
    uint64_t at = CONTAINER_HEADER;

    memset(out, 0, sizeof *out);
    if (n >= fb->entry_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: no entry %u of %u", n,
                         fb->entry_count);
    for (uint32_t i = 0; i <= n; i++) {
        uint64_t bytes = entry_bytes(fb->data + at, fb->bytes - at);

        if (bytes == 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: entry %u is damaged", i);
        if (i == n)
            break;
        at += bytes;
    }
    return entry_read(fb->data + at, n, out);
}
