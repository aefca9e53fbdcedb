/* Integer, logic, comparison, selection and packing rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/ops.h"

/* Sign or zero extension of raw bits, and width, by PTX type. */
#define I_s8(x)  ((i128)(int8_t)(x))
#define I_s16(x) ((i128)(int16_t)(x))
#define I_s32(x) ((i128)(int32_t)(x))
#define I_s64(x) ((i128)(int64_t)(x))
#define I_u8(x)  ((i128)(uint8_t)(x))
#define I_u16(x) ((i128)(uint16_t)(x))
#define I_u32(x) ((i128)(uint32_t)(x))
#define I_u64(x) ((i128)(uint64_t)(x))
#define I_b16    I_u16
#define I_b32    I_u32
#define I_b64    I_u64
#define W_s16    16
#define W_u16    16
#define W_b16    16
#define W_s32    32
#define W_u32    32
#define W_b32    32
#define W_s64    64
#define W_u64    64
#define W_b64    64

static uint64_t magnitude(i128 x)
{
    return (uint64_t)(x < 0 ? -x : x);
}

static uint64_t shift_left(uint64_t x, uint64_t n, unsigned width)
{
    return n >= width ? 0 : x << n;
}

static uint64_t shift_right(i128 x, uint64_t n, unsigned width)
{
    return (uint64_t)(x >> (n >= width ? width : n));
}

static uint64_t funnel(bool left, bool wrap, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff), n = wrap ? c & 31 : c > 32 ? 32 : c;

    return left ? n == 32 ? a : (both << n) >> 32 : n == 32 ? b : both >> n;
}

static uint64_t pop_count(uint64_t x)
{
    uint64_t n = 0;

    for (; x; x &= x - 1)
        n++;
    return n;
}

static uint64_t leading_zeros(uint64_t x, unsigned width)
{
    uint64_t n = 0;

    while (n < width && !(x >> (width - 1 - n) & 1))
        n++;
    return n;
}

static uint64_t find_top(i128 x, unsigned width, bool is_signed, bool shiftamt)
{
    uint64_t bits = (uint64_t)(is_signed && x < 0 ? ~x : x);

    for (unsigned i = width; i-- > 0;) {
        if (bits >> i & 1)
            return shiftamt ? width - 1 - i : i;
    }
    return 0xffffffff;
}

static uint64_t reverse(uint64_t x, unsigned width)
{
    uint64_t d = 0;

    for (unsigned i = 0; i < width; i++)
        d |= (x >> i & 1) << (width - 1 - i);
    return d;
}

static uint64_t extract_field(uint64_t a, uint64_t b, uint64_t c, unsigned width, bool is_signed)
{
    unsigned pos = b & 0xff, len = c & 0xff,
             last = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    uint64_t fill = is_signed && len ? a >> last & 1 : 0, d = 0;

    for (unsigned i = 0; i < width; i++)
        d |= (i < len && pos + i < width ? a >> (pos + i) & 1 : fill) << i;
    return d;
}

static uint64_t insert_field(uint64_t a, uint64_t b, uint64_t c, uint64_t e, unsigned width)
{
    unsigned pos = c & 0xff, len = e & 0xff;

    for (unsigned i = 0; i < len && pos + i < width; i++)
        b = (b & ~(UINT64_C(1) << (pos + i))) | (a >> i & 1) << (pos + i);
    return b;
}

static uint64_t field_mask(uint64_t a, uint64_t b, bool wrap)
{
    uint64_t pos = wrap ? a & 31 : a > 32 ? 32 : a, len = wrap ? b & 31 : b > 32 ? 32 : b;

    return ((UINT64_C(1) << len) - 1) << pos;
}

static uint64_t extend(uint64_t a, uint64_t b, bool wrap, bool is_signed)
{
    uint64_t n = wrap ? b & 31 : b > 32 ? 32 : b, mask = (UINT64_C(1) << n) - 1;

    if (n == 0)
        return 0;
    return is_signed && (a >> (n - 1) & 1) ? a | ~mask : a & mask;
}

static uint64_t logic3(uint64_t a, uint64_t b, uint64_t c, unsigned lut)
{
    uint64_t d = 0;

    for (unsigned i = 0; i < 32; i++)
        d |= (uint64_t)(lut >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    return d;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff), d = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint64_t s = c >> (4 * i), byte = both >> (8 * (s & 7)) & 0xff;

        if (s & 8)
            byte = byte & 0x80 ? 0xff : 0;
        d |= byte << (8 * i);
    }
    return d;
}

/* The named forms of prmt: the selector of each for c = 0 .. 3. */
static uint64_t permute_mode(uint64_t a, uint64_t b, uint64_t c, const uint16_t selector[4])
{
    return permute(a, b, selector[c & 3]);
}
static uint64_t nth_bit(uint64_t mask, i128 base, i128 offset)
{
    i128 count = offset < 0 ? -offset : offset, step = offset < 0 ? -1 : 1;

    if (offset == 0)
        return mask >> base & 1 ? (uint64_t)base : 0xffffffff;
    for (; base >= 0 && base < 32; base += step) {
        if ((mask >> base & 1) && --count == 0)
            return (uint64_t)base;
    }
    return 0xffffffff;
}

static const uint16_t prmt_f4e[4] = {0x3210, 0x4321, 0x5432, 0x6543};
static const uint16_t prmt_b4e[4] = {0x5670, 0x6701, 0x7012, 0x0123};
static const uint16_t prmt_rc8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
static const uint16_t prmt_ecl[4] = {0x3210, 0x3211, 0x3222, 0x3333};
static const uint16_t prmt_ecr[4] = {0x0000, 0x1110, 0x2210, 0x3210};
static const uint16_t prmt_rc16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

static uint64_t dot4(uint64_t a, uint64_t b, uint64_t c, bool a_signed, bool b_signed)
{
    for (unsigned i = 0; i < 4; i++) {
        i128 x = a_signed ? I_s8(a >> (8 * i)) : I_u8(a >> (8 * i)),
             y = b_signed ? I_s8(b >> (8 * i)) : I_u8(b >> (8 * i));

        c += (uint64_t)(x * y);
    }
    return c;
}

static uint64_t dot2(uint64_t a, uint64_t b, uint64_t c, bool a_signed, bool b_signed, bool high)
{
    b >>= high ? 16 : 0;
    for (unsigned i = 0; i < 2; i++) {
        i128 x = a_signed ? I_s16(a >> (16 * i)) : I_u16(a >> (16 * i));
        i128 y = b_signed ? I_s8(b >> (8 * i)) : I_u8(b >> (8 * i));

        c += (uint64_t)(x * y);
    }
    return c;
}

/* ---- video instructions ---- */

/* A byte, a half or the whole: s is "", "b2", "h1" ... */
static i128 video_part(uint64_t v, const char *s, bool is_signed)
{
    unsigned bits = s[0] == 'b'   ? 8
                    : s[0] == 'h' ? 16
                                  : 32,
             at = s[0] ? (unsigned)(s[1] - '0') * bits : 0;
    i128 x = (i128)(v >> at & ((UINT64_C(1) << bits) - 1));

    return is_signed && x >> (bits - 1) & 1 ? x - ((i128)1 << bits) : x;
}

static i128 video_limit(i128 x, unsigned bits, bool is_signed)
{
    i128 most = is_signed ? ((i128)1 << (bits - 1)) - 1 : ((i128)1 << bits) - 1,
         least = is_signed ? -most - 1 : 0;

    return x < least ? least : x > most ? most : x;
}

/* What becomes of a scalar result: how is "" or the second operation, "b1" ... a place in c. */
static uint64_t video_end(i128 x, bool sat, bool is_signed, const char *how, uint64_t c)
{
    bool place = (how[0] == 'b' || how[0] == 'h') && how[1] <= '9';
    unsigned bits = !place ? 32 : how[0] == 'b' ? 8 : 16;
    uint64_t mask = ((UINT64_C(1) << bits) - 1) << (place ? (unsigned)(how[1] - '0') * bits : 0), r;

    if (sat)
        x = video_limit(x, bits, is_signed);
    r = (uint64_t)x & 0xffffffff;
    c &= 0xffffffff;
    if (place)
        return ((r << __builtin_ctzll(mask)) & mask) | (c & ~mask);
    if (strcmp(how, "add") == 0)
        return (r + c) & 0xffffffff;
    if (strcmp(how, "min") == 0 || strcmp(how, "max") == 0) {
        bool less = is_signed ? I_s32(r) < I_s32(c) : r < c;

        return less == (how[1] == 'i') ? r : c;
    }
    return r;
}

static i128 video_abs(i128 x)
{
    return x < 0 ? -x : x;
}

static i128 video_shift(bool left, bool wrap, i128 a, uint64_t b)
{
    unsigned n = wrap ? b & 31 : b > 32 ? 32 : (unsigned)b;

    return left ? a * ((i128)1 << n) : a >> n;
}

/* Parts of two registers: s picks among those of a, then of b; "" is the operand's own. */
static i128 video_lane(uint64_t a, uint64_t b, const char *s, unsigned parts, unsigned k,
                       bool second, bool is_signed)
{
    unsigned bits = 32 / parts, n = s[0]     ? (unsigned)(s[parts - 1 - k] - '0')
                                    : second ? parts + k
                                             : k;
    uint64_t v = n < parts ? a >> (n * bits) : b >> ((n - parts) * bits);
    i128 x = (i128)(v & ((UINT64_C(1) << bits) - 1));

    return is_signed && x >> (bits - 1) & 1 ? x - ((i128)1 << bits) : x;
}

enum video_op { VADD, VSUB, VABS, VMIN, VMAX, VAVRG, VLT, VNE };

static i128 video_op(enum video_op op, i128 x, i128 y)
{
    switch (op) {
    case VADD:
        return x + y;
    case VSUB:
        return x - y;
    case VABS:
        return video_abs(x - y);
    case VMIN:
        return x < y ? x : y;
    case VMAX:
        return x < y ? y : x;
    case VAVRG:
        return (x + y + (x + y >= 0)) >> 1;
    case VLT:
        return x < y;
    default:
        return x != y;
    }
}

/* mask: parts of the result, else from c; add: their sum with c. */
static uint64_t video_parts(enum video_op op, unsigned parts, bool is_signed, bool sat, bool add,
                            const char *sa, const char *sb, unsigned mask, uint64_t a, uint64_t b,
                            uint64_t c)
{
    unsigned bits = 32 / parts;
    uint64_t d = 0, sum = c, all = (UINT64_C(1) << bits) - 1;

    for (unsigned k = 0; k < parts; k++) {
        i128 r = video_op(op, video_lane(a, b, sa, parts, k, false, is_signed),
                          video_lane(a, b, sb, parts, k, true, is_signed));

        if (sat)
            r = video_limit(r, bits, is_signed);
        sum += mask >> k & 1 ? (uint64_t)r : 0;
        d |= (mask >> k & 1 ? (uint64_t)r & all : c >> (k * bits) & all) << (k * bits);
    }
    return (add ? sum : d) & 0xffffffff;
}

#define OPS_FILE "ptx/ops_int.def"
#define OPS_NAME ops_int
#include "ptx/ops_table.h"
