/* Fat binaries: the container that holds a program's device code. Reads the wrapper (magic
 * 0x466243b1), the container (0xBA55ED50) and its entries; picks and unpacks PTX. Input is not
 * trusted: every offset is checked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_FATBIN_FATBIN_H
#define WEIR_FATBIN_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum weir_fatbin_kind {
    WEIR_FATBIN_PTX = 1,
    WEIR_FATBIN_ELF = 2,
    WEIR_FATBIN_LTO = 8 /* compiler's code for -dlto */
};
enum weir_fatbin_packing {
    WEIR_FATBIN_PLAIN,
    WEIR_FATBIN_LZ4,
    WEIR_FATBIN_ZSTD,
    WEIR_FATBIN_UNKNOWN
};

struct weir_fatbin_entry {
    uint16_t kind; /* enum weir_fatbin_kind, or another number as found */
    uint16_t packing;
    uint32_t sm;    /* e.g. 90 */
    char sm_suffix; /* 'a', 'f' (architecture or family specific) or 0 */
    uint64_t flags;
    const unsigned char *data; /* inside the caller's container */
    uint64_t packed_bytes, plain_bytes;
    const char *name; /* identifier (source file) or NULL; not terminated beyond name_bytes */
    uint32_t name_bytes;
};

struct weir_fatbin {
    const unsigned char *data; /* the container */
    uint64_t bytes; /* header + all entries, taken from the header and checked against max_bytes */
    uint32_t entry_count;
    uint32_t unit_count; /* of a wrapper's program: separately compiled units, 0 when it has none */
};

/* The container of the wrapper struct that __cudaRegisterFatBinary gets, and how many units its
 * program was linked from. Errors: INVALID_KERNEL_IMAGE. */
enum weir_err weir_fatbin_from_wrapper(const void *wrapper,
                                       struct weir_fatbin *out) WEIR_MUST_CHECK;
/* Unit n of a program that was linked from separately compiled ones (-rdc=true): its wrapper has
 * the version 2 and a list of the units' containers, ended by NULL. The wrapper's own container
 * holds linked machine code only, and the PTX stands unlinked in the units: who loads the program
 * selects in each unit and links (ptx/link.h). out->data is NULL for an n past the last, and always
 * for a wrapper of version 1. Errors: INVALID_KERNEL_IMAGE. */
enum weir_err weir_fatbin_unit(const void *wrapper, uint32_t n,
                               struct weir_fatbin *out) WEIR_MUST_CHECK;
/* A container; max_bytes SIZE_MAX when unknown (then the header's own size is trusted). Errors:
 * INVALID_KERNEL_IMAGE. */
enum weir_err weir_fatbin_open(const void *data, size_t max_bytes,
                               struct weir_fatbin *out) WEIR_MUST_CHECK;
/* The n-th entry. Errors: INVALID_KERNEL_IMAGE when damaged. */
enum weir_err weir_fatbin_entry(const struct weir_fatbin *fb, uint32_t n,
                                struct weir_fatbin_entry *out) WEIR_MUST_CHECK;
/* The PTX entry of the highest sm that is <= `sm`; one with suffix 'a' only for that very sm, one
 * with 'f' only inside its family. Errors: NO_KERNEL_IMAGE_FOR_DEVICE; the message
 * (weir_err_message) lists what there is and the -gencode to add. */
enum weir_err weir_fatbin_select(const struct weir_fatbin *fb, uint32_t sm,
                                 struct weir_fatbin_entry *out) WEIR_MUST_CHECK;
/* Unpacked, zero-terminated text, from weir_alloc; the caller frees. Errors: INVALID_KERNEL_IMAGE,
 * MEMORY_ALLOCATION. */
enum weir_err weir_fatbin_unpack(const struct weir_fatbin_entry *entry, char **text,
                                 size_t *bytes) WEIR_MUST_CHECK;

/* Builds a container of one or more PTX texts (`weir cc`, tests). packing PLAIN, LZ4 or ZSTD. */
struct weir_fatbin_input {
    const char *ptx;
    size_t bytes;
    uint32_t sm;
    const char *name;
};
enum weir_err weir_fatbin_build(const struct weir_fatbin_input *inputs, size_t count,
                                enum weir_fatbin_packing packing, unsigned char **out,
                                size_t *out_bytes) WEIR_MUST_CHECK;

#endif
