/* The arithmetic of the PTX ISA in plain C, on bits. Rounding modes through the C environment;
 * volatile keeps the operations where the mode is set.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "ptx/ops.h"

double f64_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t bits_of_f64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float f32_of(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float x;

    memcpy(&x, &b, sizeof x);
    return x;
}

uint64_t bits_of_f32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool is_nan32(uint64_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000;
}

bool is_nan64(uint64_t bits)
{
    return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

uint64_t flush32(uint64_t bits)
{
    return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits & 0xffffffff;
}

uint64_t saturate32(uint64_t bits)
{
    float x = f32_of(bits);

    if (is_nan32(bits) || !(x > 0))
        return 0; /* NaN, negative values and -0 give +0 */
    return x > 1 ? 0x3f800000 : bits;
}

static int c_mode(enum rounding r)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

    return modes[r];
}

/* Rounding mode, and with ftz the processor's own flushing: a result is flushed when it is below
 * the least normal number after rounding to 24 bits with any exponent, as on a GPU (seen on an
 * H200); to flush what comes out of gradual underflow would be something else. */
static void enter_mode(enum rounding r, bool ftz)
{
    fesetround(c_mode(r));
#if defined(__x86_64__)
    if (ftz)
        _mm_setcsr(_mm_getcsr() | 0x8040);
#else
    (void)ftz;
#endif
}

static void leave_mode(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
    fesetround(FE_TONEAREST);
}

uint64_t arith32(enum arith op, enum rounding r, bool ftz, bool sat, uint64_t a, uint64_t b,
                 uint64_t c)
{
    volatile float x = f32_of(ftz ? flush32(a) : a), y = f32_of(ftz ? flush32(b) : b),
                   z = f32_of(ftz ? flush32(c) : c), d = 0;
    uint64_t bits;

    enter_mode(r, ftz);
    switch (op) {
    case ADD:
        d = x + y;
        break;
    case SUB:
        d = x - y;
        break;
    case MUL:
        d = x * y;
        break;
    case DIV:
        d = x / y;
        break;
    case FMA:
        d = fmaf(x, y, z);
        break;
    case SQRT:
        d = sqrtf(x);
        break;
    }
    leave_mode();
    bits = bits_of_f32(d);
    if (ftz)
        bits = flush32(bits);
    return sat ? saturate32(bits) : bits;
}

uint64_t arith64(enum arith op, enum rounding r, uint64_t a, uint64_t b, uint64_t c)
{
    volatile double x = f64_of(a), y = f64_of(b), z = f64_of(c), d = 0;

    fesetround(c_mode(r));
    switch (op) {
    case ADD:
        d = x + y;
        break;
    case SUB:
        d = x - y;
        break;
    case MUL:
        d = x * y;
        break;
    case DIV:
        d = x / y;
        break;
    case FMA:
        d = fma(x, y, z);
        break;
    case SQRT:
        d = sqrt(x);
        break;
    }
    fesetround(FE_TONEAREST);
    return bits_of_f64(d);
}

uint64_t minmax32(bool max, bool nan, bool ftz, uint64_t a, uint64_t b)
{
    if (ftz) {
        a = flush32(a);
        b = flush32(b);
    }
    if (is_nan32(a) || is_nan32(b)) {
        if (nan || (is_nan32(a) && is_nan32(b)))
            return 0x7fffffff;
        return is_nan32(a) ? b : a;
    }
    if (f32_of(a) == f32_of(b)) /* +0 > -0 */
        return (a >> 31 & 1) == max ? b : a;
    return (f32_of(a) > f32_of(b)) == max ? a : b;
}

uint64_t minmax64(bool max, uint64_t a, uint64_t b)
{
    if (is_nan64(a) || is_nan64(b))
        return is_nan64(a) ? b : a;
    if (f64_of(a) == f64_of(b))
        return (a >> 63 & 1) == max ? b : a;
    return (f64_of(a) > f64_of(b)) == max ? a : b;
}

double to_integral(double x, enum rounding r)
{
    switch (r) {
    case RN:
        return nearbyint(x);
    case RZ:
        return trunc(x);
    case RM:
        return floor(x);
    default:
        return ceil(x);
    }
}

uint64_t to_int(double x, enum rounding r, unsigned bits, bool is_signed, bool wide)
{
    double low = is_signed ? -ldexp(1, (int)bits - 1) : 0,
           high = ldexp(1, is_signed ? (int)bits - 1 : (int)bits);

    if (x != x)
        return wide ? UINT64_C(1) << (bits - 1) : 0;
    x = to_integral(x, r);
    if (x <= low)
        return is_signed ? UINT64_C(1) << (bits - 1) : 0;
    if (x >= high)
        return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

uint64_t int_to_f32(i128 x, enum rounding r)
{
    volatile float d;

    fesetround(c_mode(r));
    if (x < 0) {
        volatile int64_t s = (int64_t)x;

        d = (float)s;
    } else {
        volatile uint64_t u = (uint64_t)x;

        d = (float)u;
    }
    fesetround(FE_TONEAREST);
    return bits_of_f32(d);
}

uint64_t int_to_f64(i128 x, enum rounding r)
{
    /* By hand: the compiler's own sequence for unsigned 64 bits adds two doubles, which is right in
     * one mode only. */
    uint64_t u = (uint64_t)(x < 0 ? -x : x);
    enum rounding m = x < 0 ? (r == RM ? RP : r == RP ? RM : r) : r;
    int shift = 0;
    double d;

    while (u >> 53 >> shift)
        shift++;
    if (shift) {
        uint64_t rest = u & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);

        u >>= shift;
        if ((m == RP && rest) || (m == RN && (rest > half || (rest == half && (u & 1)))))
            u++;
    }
    d = ldexp((double)u, shift);
    return bits_of_f64(x < 0 ? -d : d);
}

uint64_t f64_to_f32(double x, enum rounding r, bool ftz)
{
    volatile double in = x;
    volatile float d;

    enter_mode(r, ftz);
    d = (float)in;
    leave_mode();
    return ftz ? flush32(bits_of_f32(d)) : bits_of_f32(d);
}

/* Formats of 16 bits. */
static double widen(uint64_t bits, int fraction, int exponent)
{
    double sign = bits & 0x8000 ? -1 : 1;
    int e = (int)(bits >> fraction & ((1u << exponent) - 1)), least = 2 - (1 << (exponent - 1));
    double m = (double)(bits & ((1u << fraction) - 1));

    if (e == (1 << exponent) - 1)
        return m != 0 ? NAN : sign * INFINITY;
    return sign * (e ? ldexp(ldexp(1, fraction) + m, e - 1 + least - fraction)
                     : ldexp(m, least - fraction));
}

static uint64_t narrow(double x, enum rounding r, int fraction, int exponent)
{
    uint64_t sign = bits_of_f64(x) >> 63 << 15, infinite = 0x7fff >> fraction << fraction;
    double a = fabs(x), unit, n;
    int e, least = 2 - (1 << (exponent - 1));

    if (x != x)
        return 0x7fff;
    if (r == RM || r == RP) /* towards or away from zero, by the sign */
        r = (r == RP) == (sign == 0) ? RP : RZ;
    if (isinf(x))
        return sign | infinite;
    (void)frexp(a, &e);
    unit = ldexp(1, e - 1 < least ? least - fraction : e - 1 - fraction);
    n = to_integral(a / unit, r); /* exact division by a power of two */
    a = n * unit;
    if (a >= ldexp(1, 2 - least))
        return sign | (r == RZ ? infinite - 1 : infinite);
    if (a < ldexp(1, least))
        return sign | (uint64_t)(a / ldexp(1, least - fraction));
    (void)frexp(a, &e);
    return sign | (uint64_t)(e - least) << fraction |
           (uint64_t)(a / ldexp(1, e - 1 - fraction) - ldexp(1, fraction));
}

double f64_of_half(uint64_t bits)
{
    return widen(bits, 10, 5);
}

double f64_of_bf16(uint64_t bits)
{
    return widen(bits, 7, 8);
}

uint64_t half_of(double x, enum rounding r)
{
    return narrow(x, r, 10, 5);
}

uint64_t bf16_of(double x, enum rounding r)
{
    return narrow(x, r, 7, 8);
}

double odd_sum(double x, double y)
{
    volatile double a = x, b = y, d;
    bool inexact;

    enter_mode(RZ, false);
    feclearexcept(FE_INEXACT);
    d = a + b;
    inexact = fetestexcept(FE_INEXACT);
    leave_mode();
    return inexact ? f64_of(bits_of_f64(d) | 1) : d == 0 ? x + y : d;
}

uint64_t minmax16(bool max, bool nan, uint64_t infinite, uint64_t a, uint64_t b)
{
    bool first = (a & 0x7fff) > infinite, second = (b & 0x7fff) > infinite;
    int x = a & 0x8000 ? -(int)(a & 0x7fff) - 1 : (int)(a & 0x7fff),
        y = b & 0x8000 ? -(int)(b & 0x7fff) - 1 : (int)(b & 0x7fff);

    if (first || second)
        return nan || (first && second) ? 0x7fff : first ? b : a;
    return (x > y) == max ? a : b;
}

bool compare_int(enum cmp c, i128 a, i128 b)
{
    switch (c) {
    case C_EQ:
        return a == b;
    case C_NE:
        return a != b;
    case C_LT:
        return a < b;
    case C_LE:
        return a <= b;
    case C_GT:
        return a > b;
    default:
        return a >= b;
    }
}

bool compare_float(enum cmp c, double a, double b)
{
    bool unordered = a != a || b != b;

    switch (c) {
    case C_EQ:
        return !unordered && a == b;
    case C_NE:
        return !unordered && a != b;
    case C_LT:
        return !unordered && a < b;
    case C_LE:
        return !unordered && a <= b;
    case C_GT:
        return !unordered && a > b;
    case C_GE:
        return !unordered && a >= b;
    case C_EQU:
        return unordered || a == b;
    case C_NEU:
        return unordered || a != b;
    case C_LTU:
        return unordered || a < b;
    case C_LEU:
        return unordered || a <= b;
    case C_GTU:
        return unordered || a > b;
    case C_GEU:
        return unordered || a >= b;
    case C_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

i128 clamp_int(i128 x, unsigned bits, bool is_signed)
{
    i128 one = 1, low = is_signed ? -(one << (bits - 1)) : 0,
         high = (one << (is_signed ? bits - 1 : bits)) - 1;

    return x < low ? low : x > high ? high : x;
}
