/* Conversion rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/ops.h"

#define I_s8(x)  ((i128)(int8_t)(x))
#define I_s16(x) ((i128)(int16_t)(x))
#define I_s32(x) ((i128)(int32_t)(x))
#define I_s64(x) ((i128)(int64_t)(x))
#define I_u8(x)  ((i128)(uint8_t)(x))
#define I_u16(x) ((i128)(uint16_t)(x))
#define I_u32(x) ((i128)(uint32_t)(x))
#define I_u64(x) ((i128)(uint64_t)(x))
#define B_s8     8, true
#define B_s16    16, true
#define B_s32    32, true
#define B_s64    64, true
#define B_u8     8, false
#define B_u16    16, false
#define B_u32    32, false
#define B_u64    64, false
#define WIDE_s8  false
#define WIDE_s16 false
#define WIDE_s32 false
#define WIDE_s64 true
#define WIDE_u8  false
#define WIDE_u16 false
#define WIDE_u32 false
#define WIDE_u64 true

static double as_double32(uint64_t bits, bool ftz)
{
    return (double)f32_of(ftz ? flush32(bits) : bits);
}

static uint64_t integral32(uint64_t bits, enum rounding r)
{
    return bits_of_f32((float)to_integral((double)f32_of(bits), r));
}

#define OPS_FILE "ptx/ops_cvt.def"
#define OPS_NAME ops_cvt
#include "ptx/ops_table.h"
