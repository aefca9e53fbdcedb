/* From an entry to text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <lz4.h>
#include <zstd.h>

#include "base/alloc.h"
#include "fatbin/fatbin_int.h"

/* Both decoders are given the exact size: more or less than the header says is damage. */
static bool decode(const struct weir_fatbin_entry *e, char *text)
{
    if (e->packing == WEIR_FATBIN_PLAIN) {
        memcpy(text, e->data, e->plain_bytes);
        return true;
    }
    if (e->packing == WEIR_FATBIN_LZ4) {
        int got = LZ4_decompress_safe((const char *)e->data, text, (int)e->packed_bytes,
                                      (int)e->plain_bytes);

        return got >= 0 && (uint64_t)got == e->plain_bytes;
    }
    return ZSTD_decompress(text, e->plain_bytes, e->data, e->packed_bytes) == e->plain_bytes;
}

/* False when the sizes cannot be true, before memory is taken for them. */
static bool sizes_are_sane(const struct weir_fatbin_entry *e)
{
    if (e->plain_bytes > ENTRY_PLAIN_MAX || e->packed_bytes > ENTRY_PLAIN_MAX)
        return false;
    if (e->packing == WEIR_FATBIN_LZ4)
        return e->plain_bytes / 255 <=
               e->packed_bytes; /* the format packs no better than 255 to 1 */
    if (e->packing == WEIR_FATBIN_ZSTD)
        return ZSTD_getFrameContentSize(e->data, e->packed_bytes) == e->plain_bytes;
    return true;
}

enum weir_err weir_fatbin_unpack(const struct weir_fatbin_entry *entry, char **text, size_t *bytes)
{
    size_t n = entry->plain_bytes;
    char *t;

    *text = NULL;
    *bytes = 0;
    if (entry->packing >= WEIR_FATBIN_UNKNOWN)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                         "fat binary: unknown compression (flags 0x%llx)",
                         (unsigned long long)entry->flags);
    if (!sizes_are_sane(entry))
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "fat binary: damaged entry (wrong sizes)");
    t = weir_alloc(n + 1);
    if (t == NULL)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for %zu bytes of PTX", n);
    if (!decode(entry, t)) {
        weir_free(t);
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE,
                         "fat binary: damaged entry (cannot be unpacked)");
    }
    while (n > 0 && t[n - 1] == '\0') /* padding of plain entries */
        n--;
    t[n] = '\0';
    *text = t;
    *bytes = n;
    return WEIR_OK;
}
