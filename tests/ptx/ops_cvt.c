/* Conversion rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

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

/* ---- 8-bit floats: by trying all codes ---- */

static double small_value(bool e4, unsigned code)
{
    unsigned m = e4 ? code & 7 : code & 3, e = e4 ? code >> 3 & 15 : code >> 2 & 31;
    double unit = e4 ? 0x1p-9 : 0x1p-16, x = e ? (double)(m + (e4 ? 8 : 4)) : (double)m;

    for (; e > 1; e--)
        x *= 2;
    return x * unit;
}

static uint64_t small_of(bool e4, bool relu, double x)
{
    unsigned best = 0, most = e4 ? 0x7e : 0x7b;
    double left = HUGE_VAL, mag = fabs(x);

    if (isnan(x))
        return 0x7f;
    if (relu && signbit(x))
        return 0;
    mag = fmin(mag, small_value(e4, most));
    for (unsigned c = 0; c <= most; c++) {
        double d = fabs(mag - small_value(e4, c));

        if (d < left || (d == left && c % 2 == 0)) {
            left = d;
            best = c;
        }
    }
    return best | (signbit(x) ? 0x80 : 0);
}

static uint64_t small_pair(bool e4, bool relu, double a, double b)
{
    return small_of(e4, relu, a) << 8 | small_of(e4, relu, b);
}

static uint64_t half_of_small(bool e4, bool relu, uint64_t c)
{
    unsigned m = c & 0x7f;
    bool nan = e4 ? m == 0x7f : m > 0x7c;

    if (nan)
        return 0x7fff;
    if (relu && c & 0x80)
        return 0;
    return (!e4 && m == 0x7c ? 0x7c00 : half_of(small_value(e4, m), RN)) | (c & 0x80) << 8;
}

static uint64_t halves_of_small(bool e4, bool relu, uint64_t c)
{
    return half_of_small(e4, relu, c >> 8 & 0xff) << 16 | half_of_small(e4, relu, c & 0xff);
}

/* ---- tf32: the two neighbours with 13 low bits of zero, and which one is nearer ---- */

/* NaNs as an H200 has them: canonical but for the 13 bits, or, of .rna, cut off; .satfinite rounds
 * them like numbers and steps back from all that is not finite. */

static uint64_t tf32_of(uint64_t a, enum rounding r, bool away, bool relu, bool satfinite)
{
    uint32_t low = (uint32_t)a & ~0x1fffu, rest = (uint32_t)a & 0x1fff, d = low;
    bool up = rest > 0x1000 || (rest == 0x1000 && (away || low & 0x2000));

    if (is_nan32(a) && !away)
        return 0x7fffe000;
    if (is_nan32(a) && !satfinite)
        return low;
    if (relu && a >> 31 & 1)
        return 0;
    if (r == RN && up)
        d = low + 0x2000;
    if (satfinite && (d & 0x7f800000) == 0x7f800000)
        d -= 0x2000;
    return d;
}

/* ---- cvt.pack ---- */

static uint64_t packed(unsigned bits, bool is_signed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t all = (UINT64_C(1) << bits) - 1;
    uint64_t hi = (uint64_t)clamp_int(I_s32(a), bits, is_signed) & all,
             lo = (uint64_t)clamp_int(I_s32(b), bits, is_signed) & all;

    return (hi << bits | lo | (bits < 16 ? c << (2 * bits) : 0)) & 0xffffffff;
}

#define OPS_FILE "ptx/ops_cvt.def"
#define OPS_NAME ops_cvt
#include "ptx/ops_table.h"
