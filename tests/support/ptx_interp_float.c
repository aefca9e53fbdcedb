/* Floating point of the interpreter. Directed rounding through the C environment (compiled with
 * -frounding-math), small formats by rounding an odd-rounded double, NaNs canonical as the ISA
 * says for f32 and smaller.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "support/ptx_interp_int.h"

struct format {
    unsigned mant, exp;
};

static struct format format_of(enum weir_ptx_type t)
{
    switch (t) {
    case WEIR_PTX_F16:
    case WEIR_PTX_F16X2:
        return (struct format){10, 5};
    case WEIR_PTX_BF16:
    case WEIR_PTX_BF16X2:
        return (struct format){7, 8};
    case WEIR_PTX_F32:
        return (struct format){23, 8};
    default:
        return (struct format){52, 11};
    }
}

static unsigned format_bits(struct format f)
{
    return 1 + f.mant + f.exp;
}

static uint64_t infinity_bits(struct format f)
{
    return (((uint64_t)1 << f.exp) - 1) << f.mant;
}

static uint64_t magnitude(uint64_t v, struct format f)
{
    return v & (((uint64_t)1 << (f.mant + f.exp)) - 1);
}

static uint64_t sign_of(uint64_t v, struct format f)
{
    return v & ((uint64_t)1 << (f.mant + f.exp));
}

bool interp_float_is_nan(uint64_t v, enum weir_ptx_type type)
{
    struct format f = format_of(type);

    return magnitude(v, f) > infinity_bits(f);
}

uint64_t interp_float_canonical(uint64_t v, enum weir_ptx_type type)
{
    struct format f = format_of(type);

    if (f.mant == 52 || magnitude(v, f) <= infinity_bits(f))
        return v;
    return ((uint64_t)1 << (f.mant + f.exp)) - 1; /* 0x7fffffff, 0x7fff */
}

uint64_t interp_float_flush(uint64_t v, enum weir_ptx_type type)
{
    struct format f = format_of(type);

    return magnitude(v, f) >> f.mant == 0 ? sign_of(v, f) : v;
}

double interp_float_to_double(uint64_t v, enum weir_ptx_type type)
{
    struct format f = format_of(type);
    uint64_t m = magnitude(v, f);
    int bias = (1 << (f.exp - 1)) - 1, e = (int)(m >> f.mant);
    uint64_t frac = m & (((uint64_t)1 << f.mant) - 1);
    double x;

    if (f.mant == 52) {
        memcpy(&x, &v, sizeof x);
        return x;
    }
    if (m >= infinity_bits(f))
        x = m == infinity_bits(f) ? HUGE_VAL : (double)NAN;
    else if (e == 0)
        x = ldexp((double)frac, 1 - bias - (int)f.mant);
    else
        x = ldexp((double)(frac | (uint64_t)1 << f.mant), e - bias - (int)f.mant);
    return sign_of(v, f) ? -x : x;
}

/* Should |x| = whole + rest (0 <= rest < 1, in units of the last place) be rounded away from zero?
 */
static bool rounds_up(uint64_t whole, double rest, bool negative, enum weir_ptx_rounding r)
{
    switch (r) {
    case WEIR_PTX_RZ:
        return false;
    case WEIR_PTX_RM:
        return negative && rest > 0;
    case WEIR_PTX_RP:
        return !negative && rest > 0;
    case WEIR_PTX_RNA:
        return rest >= 0.5;
    default:
        return rest > 0.5 || (rest == 0.5 && (whole & 1));
    }
}

static uint64_t round_to(struct format f, double x, enum weir_ptx_rounding r, bool satfinite)
{
    bool negative = signbit(x) != 0;
    uint64_t sign = negative ? (uint64_t)1 << (f.mant + f.exp) : 0, v, whole;
    int e, emin = 2 - (1 << (f.exp - 1)), unit;
    double scaled;

    if (isnan(x))
        return ((uint64_t)1 << (f.mant + f.exp)) - 1;
    if (isinf(x))
        return sign | (infinity_bits(f) - satfinite);
    if (x == 0)
        return sign;
    frexp(x, &e);
    e = e - 1 < emin ? emin : e - 1;
    unit = e - (int)f.mant;
    scaled = ldexp(fabs(x), -unit); /* exact: a power of two */
    whole = (uint64_t)scaled;
    whole += rounds_up(whole, scaled - (double)whole, negative, r);
    v = ((uint64_t)(e - emin) << f.mant) + whole;
    if (v >= infinity_bits(f)) {
        bool stays = satfinite || r == WEIR_PTX_RZ || (r == WEIR_PTX_RM && !negative) ||
                     (r == WEIR_PTX_RP && negative);

        v = infinity_bits(f) - stays;
    }
    return sign | v;
}

uint64_t interp_float_from_double(double x, enum weir_ptx_type type, enum weir_ptx_rounding r,
                                  bool satfinite)
{
    struct format f = format_of(type);
    uint64_t v;

    if (f.mant != 52)
        return round_to(f, x, r, satfinite);
    memcpy(&v, &x, sizeof v);
    return v;
}

double interp_float_to_odd(long double x)
{
    volatile long double y = x;
    volatile double d;
    uint64_t v;
    double out;
    int mode = fegetround();

    fesetround(FE_TOWARDZERO);
    d = (double)y;
    fesetround(mode);
    out = d;
    if (isfinite(out) && (long double)out != x) {
        memcpy(&v, &out, sizeof v);
        v |= 1;
        memcpy(&out, &v, sizeof v);
    }
    return out;
}

static int c_rounding(enum weir_ptx_rounding r)
{
    switch (r) {
    case WEIR_PTX_RZ:
        return FE_TOWARDZERO;
    case WEIR_PTX_RM:
        return FE_DOWNWARD;
    case WEIR_PTX_RP:
        return FE_UPWARD;
    default:
        return FE_TONEAREST;
    }
}

enum fop { FOP_ADD, FOP_SUB, FOP_MUL, FOP_FMA, FOP_DIV, FOP_SQRT };

static float as_f32(uint64_t v)
{
    uint32_t w = (uint32_t)v;
    float f;

    memcpy(&f, &w, sizeof f);
    return f;
}

static double as_f64(uint64_t v)
{
    double d;

    memcpy(&d, &v, sizeof d);
    return d;
}

static uint64_t f32_bits(float f)
{
    uint32_t w;

    memcpy(&w, &f, sizeof w);
    return w;
}

static uint64_t f64_bits(double d)
{
    uint64_t w;

    memcpy(&w, &d, sizeof w);
    return w;
}

static uint64_t op_f32(enum fop op, uint64_t x, uint64_t y, uint64_t z)
{
    volatile float a = as_f32(x), b = as_f32(y), c = as_f32(z), r = 0;

    switch (op) {
    case FOP_ADD:
        r = a + b;
        break;
    case FOP_SUB:
        r = a - b;
        break;
    case FOP_MUL:
        r = a * b;
        break;
    case FOP_FMA:
        r = fmaf(a, b, c);
        break;
    case FOP_DIV:
        r = a / b;
        break;
    case FOP_SQRT:
        r = sqrtf(a);
        break;
    }
    return f32_bits(r);
}

static uint64_t op_f64(enum fop op, uint64_t x, uint64_t y, uint64_t z)
{
    volatile double a = as_f64(x), b = as_f64(y), c = as_f64(z), r = 0;

    switch (op) {
    case FOP_ADD:
        r = a + b;
        break;
    case FOP_SUB:
        r = a - b;
        break;
    case FOP_MUL:
        r = a * b;
        break;
    case FOP_FMA:
        r = fma(a, b, c);
        break;
    case FOP_DIV:
        r = a / b;
        break;
    case FOP_SQRT:
        r = sqrt(a);
        break;
    }
    return f64_bits(r);
}

/* The operation rounded to odd in double: rounding that again to a smaller format is right.
 * Products of two such values are exact in double; fma and sums use the sticky bit of rounding
 * toward zero. */
static double operate_to_odd(enum fop op, enum weir_ptx_type type, uint64_t x, uint64_t y,
                             uint64_t z)
{
    volatile double a = interp_float_to_double(x, type), b = interp_float_to_double(y, type),
                    c = interp_float_to_double(z, type), r = 0;
    double odd;
    int inexact;

    feclearexcept(FE_INEXACT);
    fesetround(FE_TOWARDZERO);
    switch (op) {
    case FOP_ADD:
        r = a + b;
        break;
    case FOP_SUB:
        r = a - b;
        break;
    case FOP_MUL:
        r = a * b;
        break;
    case FOP_FMA:
        r = fma(a, b, c);
        break;
    case FOP_DIV:
        r = a / b;
        break;
    case FOP_SQRT:
        r = sqrt(a);
        break;
    }
    inexact = fetestexcept(FE_INEXACT);
    fesetround(FE_TONEAREST);
    odd = r;
    if (op != FOP_DIV && odd == 0 && !inexact) {
        /* the sign of an exact zero depends on the rounding mode: ask again */
        volatile double again = op == FOP_ADD   ? a + b
                                : op == FOP_SUB ? a - b
                                : op == FOP_FMA ? fma(a, b, c)
                                                : odd;

        odd = again;
    }
    if (inexact && isfinite(odd)) {
        uint64_t v = f64_bits(odd) | 1;

        odd = as_f64(v);
    }
    return odd;
}

static uint64_t saturate(uint64_t v, enum weir_ptx_type type)
{
    double x = interp_float_to_double(v, type);

    if (isnan(x) || x <= 0)
        return 0;
    return x >= 1 ? interp_float_from_double(1.0, type, WEIR_PTX_RN, false) : v;
}

static uint64_t relu(uint64_t v, enum weir_ptx_type type)
{
    struct format f = format_of(type);

    return !interp_float_is_nan(v, type) && sign_of(v, f) ? 0 : v;
}

/* Would x, rounded to f32's precision with an unbounded exponent, be below the least normal? GPUs
 * flush exactly those (measured): a value that only rounding in the subnormal range makes normal is
 * flushed, too. */
static bool is_tiny(double x, enum weir_ptx_rounding r)
{
    struct format wide = {23, 11};

    return magnitude(round_to(wide, x, r, false), wide) < (uint64_t)(1023 - 126) << 23;
}

/* One scalar operation with all its modifiers. */
static uint64_t operate(const struct weir_ptx_inst *i, enum fop op, enum weir_ptx_type type,
                        const uint64_t *v)
{
    uint64_t a = v[0], b = v[1], c = v[2], r;
    bool tiny = false;

    if (i->ftz) {
        a = interp_float_flush(a, type);
        b = interp_float_flush(b, type);
        c = interp_float_flush(c, type);
    }
    if (type == WEIR_PTX_F32 || type == WEIR_PTX_F64) {
        tiny = i->ftz &&
               is_tiny(operate_to_odd(op, type, a, b, c), (enum weir_ptx_rounding)i->rounding);
        fesetround(c_rounding((enum weir_ptx_rounding)i->rounding));
        r = type == WEIR_PTX_F32 ? op_f32(op, a, b, c) : op_f64(op, a, b, c);
        fesetround(FE_TONEAREST);
    } else {
        r = interp_float_from_double(operate_to_odd(op, type, a, b, c), type, WEIR_PTX_RN, false);
    }
    r = interp_float_canonical(r, type);
    if (tiny)
        r = sign_of(r, format_of(type));
    if (i->ftz)
        r = interp_float_flush(r, type);
    if (i->sat)
        r = saturate(r, type);
    return i->relu ? relu(r, type) : r;
}

static enum weir_ptx_type part_of(enum weir_ptx_type t)
{
    return t == WEIR_PTX_F16X2 ? WEIR_PTX_F16 : t == WEIR_PTX_BF16X2 ? WEIR_PTX_BF16 : WEIR_PTX_F32;
}

static bool is_pair(enum weir_ptx_type t)
{
    return t == WEIR_PTX_F16X2 || t == WEIR_PTX_BF16X2 || t == WEIR_PTX_F32X2;
}

uint64_t interp_float_add(enum weir_ptx_type type, uint64_t a, uint64_t b, bool ftz)
{
    struct weir_ptx_inst plain = {.ftz = ftz, .rounding = WEIR_PTX_RN};
    uint64_t v[3] = {a, b, 0};

    if (is_pair(type)) {
        unsigned w = weir_ptx_type_bits(type) / 2;

        return interp_float_add(part_of(type), interp_mask_bits(a, w), interp_mask_bits(b, w),
                                ftz) |
               interp_float_add(part_of(type), a >> w, b >> w, ftz) << w;
    }
    return operate(&plain, FOP_ADD, type, v);
}

uint64_t interp_float_minmax(const struct weir_ptx_inst *i, enum weir_ptx_type type, bool max,
                             uint64_t a, uint64_t b)
{
    struct format f = format_of(type);
    uint64_t nan = ((uint64_t)1 << (f.mant + f.exp)) - 1, sign = sign_of(a, f) ^ sign_of(b, f), r;
    double x, y;

    if (type == WEIR_PTX_F64)
        nan = 0x7ff8000000000000;
    if (i->ftz) {
        a = interp_float_flush(a, type);
        b = interp_float_flush(b, type);
    }
    if (i->xorsign) {
        a = magnitude(a, f);
        b = magnitude(b, f);
    }
    if (interp_float_is_nan(a, type) || interp_float_is_nan(b, type)) {
        if (i->nan || (interp_float_is_nan(a, type) && interp_float_is_nan(b, type)))
            return nan;
        r = interp_float_is_nan(a, type) ? b : a;
        return i->xorsign ? r | sign : r;
    }
    x = interp_float_to_double(a, type);
    y = interp_float_to_double(b, type);
    if (x == y) /* -0 is less than +0 */
        r = (sign_of(a, f) != 0) == max ? b : a;
    else
        r = (x > y) == max ? a : b;
    if (i->xorsign)
        r |= sign;
    return i->relu ? relu(r, type) : r;
}

/* ---- approximate instructions: the correctly rounded value; results may differ within the
 * documented error ---- */

/* What a GPU finds in angles that are too large to be reduced, and in subnormal ones: zero. */
static double angle(double x)
{
    return fabs(x) >= 0x1p-126 && fabs(x) < 0x1p22 ? x : x * 0;
}

static uint64_t approximate(const struct weir_ptx_inst *i, enum weir_ptx_type type, uint64_t v)
{
    double x = interp_float_to_double(i->ftz ? interp_float_flush(v, type) : v, type), r;
    uint64_t out;

    switch (i->opcode) {
    case WEIR_PTX_OP_sin:
        r = sin(angle(x));
        break;
    case WEIR_PTX_OP_cos:
        r = cos(angle(x));
        break;
    case WEIR_PTX_OP_ex2:
        r = exp2(x);
        break;
    case WEIR_PTX_OP_lg2:
        r = log2(x);
        break;
    case WEIR_PTX_OP_tanh:
        r = tanh(x);
        break;
    case WEIR_PTX_OP_rsqrt:
        r = 1 / sqrt(x);
        break;
    case WEIR_PTX_OP_sqrt:
        r = sqrt(x);
        break;
    default:
        r = 1 / x;
        break; /* rcp */
    }
    if (type == WEIR_PTX_F64 && !i->ftz)
        return f64_bits(r);
    if (type == WEIR_PTX_F64) /* .ftz.f64: the upper half of the result */
        return f64_bits(r) & 0xffffffff00000000;
    out = interp_float_canonical(interp_float_from_double(r, type, WEIR_PTX_RN, false), type);
    return i->ftz ? interp_float_flush(out, type) : out;
}

static bool is_approximate(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_sin:
    case WEIR_PTX_OP_cos:
    case WEIR_PTX_OP_ex2:
    case WEIR_PTX_OP_lg2:
    case WEIR_PTX_OP_tanh:
    case WEIR_PTX_OP_rsqrt:
        return true;
    case WEIR_PTX_OP_sqrt:
    case WEIR_PTX_OP_rcp:
        return i->approx;
    default:
        return false;
    }
}

static uint64_t sign_operation(const struct weir_ptx_inst *i, enum weir_ptx_type type,
                               const uint64_t *v)
{
    struct format f = format_of(type);
    uint64_t a = i->ftz ? interp_float_flush(v[0], type) : v[0],
             top = (uint64_t)1 << (f.mant + f.exp);

    /* halves are made canonical, the others' NaNs only lose or change their sign (seen on an H200)
     */
    if (i->opcode != WEIR_PTX_OP_copysign && format_bits(f) == 16 && interp_float_is_nan(a, type))
        return interp_float_canonical(a, type);
    switch (i->opcode) {
    case WEIR_PTX_OP_abs:
        return a & ~top;
    case WEIR_PTX_OP_neg:
        return a ^ top;
    default:
        return magnitude(v[1], f) | sign_of(v[0], f); /* copysign */
    }
}

/* Scalar of one instruction; *known false when it is none of these. */
static uint64_t scalar(const struct weir_ptx_inst *i, enum weir_ptx_type type, uint64_t *v,
                       bool *known)
{
    struct format f = format_of(type);

    if (is_approximate(i))
        return approximate(i, type, v[0]);
    switch (i->opcode) {
    case WEIR_PTX_OP_add:
        return operate(i, FOP_ADD, type, v);
    case WEIR_PTX_OP_sub:
        return operate(i, FOP_SUB, type, v);
    case WEIR_PTX_OP_mul:
        return operate(i, FOP_MUL, type, v);
    case WEIR_PTX_OP_fma:
    case WEIR_PTX_OP_mad:
        return operate(i, FOP_FMA, type, v);
    case WEIR_PTX_OP_div:
        return operate(i, FOP_DIV, type, v);
    case WEIR_PTX_OP_sqrt:
        return operate(i, FOP_SQRT, type, v);
    case WEIR_PTX_OP_rcp:
        v[1] = v[0];
        v[0] = interp_float_from_double(1.0, type, WEIR_PTX_RN, false);
        return operate(i, FOP_DIV, type, v);
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max: {
        uint64_t r = interp_float_minmax(i, type, i->opcode == WEIR_PTX_OP_max, v[0], v[1]);

        if (i->operand_count == 4)
            r = interp_float_minmax(i, type, i->opcode == WEIR_PTX_OP_max, r, v[2]);
        return r;
    }
    case WEIR_PTX_OP_abs:
    case WEIR_PTX_OP_neg:
    case WEIR_PTX_OP_copysign:
        return interp_mask_bits(sign_operation(i, type, v), format_bits(f));
    default:
        *known = false;
        return 0;
    }
}

bool interp_float(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    uint64_t v[3] = {0}, r;
    bool known = true;

    if (i->type[1] != WEIR_PTX_NONE || i->operand_count < 2 || i->operand_count > 4)
        return interp_unsupported(t, i);
    for (unsigned n = 1; n < i->operand_count; n++)
        v[n - 1] = interp_read_operand(t, &i->operands[n], type).lo;
    if (is_pair(type)) {
        unsigned w = weir_ptx_type_bits(type) / 2;
        uint64_t low[3], high[3];

        for (int k = 0; k < 3; k++) {
            low[k] = interp_mask_bits(v[k], w);
            high[k] = interp_mask_bits(v[k] >> w, w);
        }
        r = scalar(i, part_of(type), low, &known) | scalar(i, part_of(type), high, &known) << w;
    } else {
        r = scalar(i, type, v, &known);
    }
    if (!known)
        return interp_unsupported(t, i);
    interp_write_operand(t, &i->operands[0], (struct bits){r, 0}, type);
    return true;
}

/* ---- conversions ---- */

static double round_integral(double x, enum weir_ptx_rounding r)
{
    switch (r) {
    case WEIR_PTX_RNI:
    case WEIR_PTX_RN:
        return rint(x); /* the environment rounds to nearest even */
    case WEIR_PTX_RMI:
    case WEIR_PTX_RM:
        return floor(x);
    case WEIR_PTX_RPI:
    case WEIR_PTX_RP:
        return ceil(x);
    default:
        return trunc(x);
    }
}

static bool is_floating(enum weir_ptx_type t)
{
    return t == WEIR_PTX_F16 || t == WEIR_PTX_BF16 || t == WEIR_PTX_F32 || t == WEIR_PTX_F64;
}

static uint64_t clamp_to_int(double x, enum weir_ptx_type d)
{
    unsigned w = weir_ptx_type_bits(d);
    bool s = weir_ptx_type_is_signed(d);
    double high = ldexp(1.0, (int)w - s), low = s ? -ldexp(1.0, (int)w - 1) : 0;

    if (x >= high)
        return interp_mask_bits(s ? ((uint64_t)1 << (w - 1)) - 1 : UINT64_MAX, w);
    if (x <= low)
        return s ? (uint64_t)1 << (w - 1) : 0;
    return interp_mask_bits(s ? (uint64_t)(int64_t)x : (uint64_t)x, w);
}

static uint64_t float_to_int(const struct weir_ptx_inst *i, uint64_t v)
{
    enum weir_ptx_type d = (enum weir_ptx_type)i->type[0], s = (enum weir_ptx_type)i->type[1];
    double x =
        interp_float_to_double(i->ftz && s == WEIR_PTX_F32 ? interp_float_flush(v, s) : v, s);

    if (isnan(x)) /* PTX ISA 9.0, cvt: 0, or the top bit when 64 bits are on either side */
        return s == WEIR_PTX_F64 || weir_ptx_type_bits(d) == 64
                   ? (uint64_t)1 << (weir_ptx_type_bits(d) - 1)
                   : 0;
    return clamp_to_int(round_integral(x, (enum weir_ptx_rounding)i->rounding), d);
}

static uint64_t int_to_float(const struct weir_ptx_inst *i, uint64_t v)
{
    enum weir_ptx_type d = (enum weir_ptx_type)i->type[0], s = (enum weir_ptx_type)i->type[1];
    bool is_signed = weir_ptx_type_is_signed(s);
    long double x =
        is_signed ? (long double)interp_sign_extend(v, weir_ptx_type_bits(s)) : (long double)v;

    if (d == WEIR_PTX_F64) {
        volatile long double y = x;
        volatile double r;

        fesetround(c_rounding((enum weir_ptx_rounding)i->rounding));
        r = (double)y;
        fesetround(FE_TONEAREST);
        return f64_bits(r);
    }
    v = interp_float_from_double(interp_float_to_odd(x), d, (enum weir_ptx_rounding)i->rounding,
                                 false);
    return i->sat ? saturate(v, d) : v;
}

static uint64_t float_to_float(const struct weir_ptx_inst *i, enum weir_ptx_type d,
                               enum weir_ptx_type s, uint64_t v)
{
    enum weir_ptx_rounding r = (enum weir_ptx_rounding)i->rounding;
    uint64_t out;

    if (i->ftz && s == WEIR_PTX_F32)
        v = interp_float_flush(v, s);
    if (r >= WEIR_PTX_RNI)
        out = interp_float_from_double(round_integral(interp_float_to_double(v, s), r), d,
                                       WEIR_PTX_RN, i->satfinite);
    else if (d == s)
        out = interp_float_canonical(v, d);
    else if (d == WEIR_PTX_F32 && s == WEIR_PTX_BF16 && !i->sat)
        out = v << 16; /* NaNs, too, as an H200 has it */
    else if (d == WEIR_PTX_F32 && s == WEIR_PTX_F64 && isnan(interp_float_to_double(v, s)) &&
             !i->sat)
        out = (v >> 32 & 0x80000000) | 0x7fc00000 | (v >> 29 & 0x7fffff); /* as an H200 has it */
    else
        out = interp_float_from_double(interp_float_to_double(v, s), d, r, i->satfinite);
    if (i->ftz && d == WEIR_PTX_F32 && r < WEIR_PTX_RNI && d != s &&
        is_tiny(interp_float_to_double(v, s), r))
        out = sign_of(out, format_of(d));
    if (i->ftz && d == WEIR_PTX_F32)
        out = interp_float_flush(out, d);
    if (i->sat)
        out = saturate(out, d);
    return i->relu ? relu(out, d) : out;
}

static uint64_t int_to_int(const struct weir_ptx_inst *i, uint64_t v)
{
    enum weir_ptx_type d = (enum weir_ptx_type)i->type[0], s = (enum weir_ptx_type)i->type[1];
    unsigned w = weir_ptx_type_bits(d);
    bool ss = weir_ptx_type_is_signed(s), ds = weir_ptx_type_is_signed(d);
    int64_t x = ss ? interp_sign_extend(v, weir_ptx_type_bits(s)) : (int64_t)v;

    if (!i->sat)
        return interp_mask_bits((uint64_t)x, w);
    if (ss && x < 0) {
        if (!ds)
            return 0;
        return x < interp_sign_extend((uint64_t)1 << (w - 1), w) ? (uint64_t)1 << (w - 1)
                                                                 : interp_mask_bits((uint64_t)x, w);
    }
    return WEIR_MIN((uint64_t)x, interp_mask_bits(UINT64_MAX, w - ds));
}

/* tf32: f32 with 10 bits of fraction, kept in the upper bits */
static uint64_t to_tf32(const struct weir_ptx_inst *i, uint64_t v)
{
    uint64_t m = v & 0x7fffffff;

    if (m > 0x7f800000 && i->rounding != WEIR_PTX_RNA)
        return 0x7fffe000; /* as an H200 has it */
    if (i->rounding == WEIR_PTX_RNA && (m < 0x7f800000 || i->satfinite))
        m += 0x1000;
    else if (m < 0x7f800000 && i->rounding != WEIR_PTX_RZ)
        m += 0xfff + ((m >> 13) & 1);
    if (i->satfinite && m >= 0x7f800000)
        m -= 0x2000;
    v = (v & 0x80000000) | (m & 0x7fffe000);
    return i->relu ? relu(v, WEIR_PTX_F32) : v;
}

bool interp_cvt(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type d = (enum weir_ptx_type)i->type[0], s = (enum weir_ptx_type)i->type[1];
    uint64_t a = interp_read_operand(t, &i->operands[1], s).lo, r;

    if ((d == WEIR_PTX_F16X2 || d == WEIR_PTX_BF16X2) && s == WEIR_PTX_F32 &&
        i->operand_count == 3 && i->rounding != WEIR_PTX_RS) {
        uint64_t b = interp_read_operand(t, &i->operands[2], s).lo;

        r = float_to_float(i, part_of(d), s, a) << 16 | float_to_float(i, part_of(d), s, b);
    } else if (i->operand_count != 2 || i->rounding == WEIR_PTX_RS) {
        return interp_unsupported(t, i);
    } else if (d == WEIR_PTX_TF32 && s == WEIR_PTX_F32) {
        r = to_tf32(i, a);
    } else if (is_floating(d) && is_floating(s)) {
        r = float_to_float(i, d, s, a);
    } else if (is_floating(d) && weir_ptx_type_bits(s) <= 64 && !weir_ptx_type_is_float(s)) {
        r = int_to_float(i, a);
    } else if (is_floating(s) && !weir_ptx_type_is_float(d)) {
        r = float_to_int(i, a);
    } else if (!weir_ptx_type_is_float(d) && !weir_ptx_type_is_float(s)) {
        r = int_to_int(i, a);
    } else {
        return interp_unsupported(t, i);
    }
    interp_write_operand(t, &i->operands[0], (struct bits){r, 0}, d);
    return true;
}
