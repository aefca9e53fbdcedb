/* Layout of the container, as found by experiment on the output of nvcc 13 (options
 * -compress-mode, -gencode, -lineinfo, -G, -rdc). Little endian; offsets in bytes.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   wrapper      0 u32   magic 0x466243b1
 *                4 u32   version: 1; 2 = linked from separate units
 *                8 u64   pointer to the container
 *               16 u64   pointer to the name; version 2: to the list of the units' containers
 *   container    0 u32   magic 0xBA55ED50
 *                4 u16   version 1
 *                6 u16   header bytes, 16
 *                8 u64   bytes of all entries
 *   entry        0 u16   kind
 *                2 u16   version 0x0101
 *                4 u32   header bytes
 *                8 u64   payload bytes, padded to 8
 *               16 u32   packed bytes, 0 when plain
 *               20 u32   offset of the option text's place, 0 = none
 *               24 u16   minor, then   26 u16   major version (PTX: of the ISA)
 *               28 u32   sm: 75, 90, 100
 *               32 u32   name offset
 *               36 u32   name bytes
 *               40 u64   flags
 *               48 u64   0
 *               56 u64   bytes unpacked, 0 when plain
 *               64       name, options, padding; then the payload */
#ifndef WEIR_FATBIN_FATBIN_INT_H
#define WEIR_FATBIN_FATBIN_INT_H

#include <stdbool.h>
#include <string.h>

#include "fatbin/fatbin.h"

#define WRAPPER_MAGIC       0x466243b1u
#define CONTAINER_MAGIC     0xBA55ED50u
#define CONTAINER_VERSION   1
#define CONTAINER_HEADER    16
#define ENTRY_VERSION       0x0101
#define ENTRY_HEADER_MIN    64
#define ENTRY_HEADER_MAX    (1u << 20)
#define ENTRY_FLAG_64BIT    0x1ull
#define ENTRY_FLAG_LINUX    0x10ull
#define ENTRY_FLAG_OLD_PACK 0x1000ull /* compressors of CUDA 7 and before: not read */
#define ENTRY_FLAG_LZ4      0x2000ull
#define ENTRY_FLAG_ZSTD     0x8000ull
#define ENTRY_FLAG_ARCH     0x100000ull  /* sm_XXa */
#define ENTRY_FLAG_FAMILY   0x200000ull  /* sm_XXf */
#define ENTRY_PLAIN_MAX     (1ull << 30) /* a larger claim is taken for damage */

/* Containers are bytes of unknown alignment. */
static inline uint16_t get_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

static inline uint64_t get_u64(const unsigned char *p)
{
    return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

#endif
