/* References of 113 bits for device.cu: libquadmath's functions, and series and identities of our
 * own where it has none.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <quadmath.h>
#include <string.h>

#include "reference.h"

typedef __float128 quad;

static quad sinpi(quad x)
{
    const quad r = fmodq(x, 2), a = fabsq(r);
    const quad v = a == floorq(a)         ? 0
                   : a < 0.5Q || a > 1.5Q ? sinq(M_PIq * (a < 0.5Q ? a : a - 2))
                                          : sinq(M_PIq * (1 - a));
    return x < 0 ? -v : v;
}

static quad cospi(quad x)
{
    const quad a = fmodq(fabsq(x), 2);
    if (a == 0.5Q || a == 1.5Q)
        return 0;
    return a <= 0.25Q || a >= 1.75Q ? cosq(M_PIq * (a <= 1 ? a : a - 2))
           : a > 0.75Q && a < 1.25Q ? -cosq(M_PIq * (a - 1))
           : a < 1                  ? sinq(M_PIq * (0.5Q - a))
                                    : sinq(M_PIq * (a - 1.5Q));
}

static quad bessel_i(int order, quad x)
{
    const quad a = fabsq(x);
    if (a > 720)
        return isnanq(x) ? x : order && x < 0 ? -HUGE_VALQ : HUGE_VALQ;
    const quad t = a * a / 4;
    quad term = order ? a / 2 : 1, sum = term;
    for (int k = 1; k < 3000 && term > sum * 1e-36Q; k++) {
        term *= t / ((quad)k * (k + order));
        sum += term;
    }
    return order && signbitq(x) ? -sum : sum;
}

/* exp(x^2) erfc(x): the continued fraction far out, where erfc runs out of exponents. */
static quad erfcx(quad x)
{
    if (x < 50)
        return expq(x * x) * erfcq(x);
    quad f = 0;
    for (int k = 60; k > 0; k--)
        f = k / 2.0Q / (x + f);
    return 1 / (sqrtq(M_PIq) * (x + f));
}

/* By Newton from the double's neighbourhood; on the logarithm in the tail. */
static quad erfcinv(quad y)
{
    if (!(y > 0 && y < 2))
        return y == 0 ? HUGE_VALQ : y == 2 ? -HUGE_VALQ : nanq("");
    const quad tail = y > 1 ? 2 - y : y;
    quad x = tail > 0.5Q ? (1 - tail) * sqrtq(M_PIq) / 2
                         : sqrtq(-logq(tail * sqrtq(M_PIq) * sqrtq(-logq(tail))));
    for (int i = 0; i < 60; i++) {
        const quad step = tail > 0.1Q
                              ? (erfcq(x) - tail) / (M_2_SQRTPIq * expq(-x * x))
                              : (logq(erfcx(x)) - x * x - logq(tail)) / (M_2_SQRTPIq / erfcx(x));
        x += step;
        if (fabsq(step) < 1e-32Q * fabsq(x))
            break;
    }
    return y > 1 ? -x : x;
}

static quad erfinv(quad y)
{
    quad x = y * sqrtq(M_PIq) / 2;
    if (fabsq(y) > 0.5Q)
        return y < 0 ? -erfcinv(1 + y) : erfcinv(1 - y);
    for (int i = 0; i < 30; i++)
        x -= (erfq(x) - y) / (M_2_SQRTPIq * expq(-x * x));
    return y == 0 ? y : x;
}

static quad norm(int n, const double *v)
{
    quad sum = 0;
    for (int i = 0; i < n; i++) {
        if (isinf(v[i]))
            return HUGE_VALQ;
        sum += (quad)v[i] * v[i];
    }
    return sqrtq(sum);
}

quad weir_reference(const char *name, const double *v)
{
    const quad x = v[0], y = v[1], z = v[2];
    const int order = (int)v[3];
#define IS(text) (!strcmp(name, text))
#define BY1(f)                                                                                     \
    if (IS(#f))                                                                                    \
        return f##q(x);
#define BY2(f)                                                                                     \
    if (IS(#f))                                                                                    \
        return f##q(x, y);
    /* clang-format off */
    BY1(acos) BY1(acosh) BY1(asin) BY1(asinh) BY1(atan) BY1(atanh) BY1(cbrt) BY1(ceil) BY1(cos)
    BY1(cosh) BY1(erf) BY1(erfc) BY1(exp) BY1(exp2) BY1(expm1) BY1(fabs) BY1(floor) BY1(j0) BY1(j1)
    BY1(lgamma) BY1(log) BY1(log10) BY1(log1p) BY1(log2) BY1(nearbyint) BY1(rint) BY1(round)
    BY1(sin) BY1(sinh) BY1(sqrt) BY1(tan) BY1(tanh) BY1(tgamma) BY1(trunc) BY1(y0) BY1(y1)
    BY2(atan2) BY2(copysign) BY2(fdim) BY2(fmax) BY2(fmin) BY2(fmod) BY2(hypot) BY2(pow)
    BY2(remainder)
        /* clang-format on */
        if (IS("cospi")) return cospi(x);
    if (IS("sinpi"))
        return sinpi(x);
    if (IS("cyl_bessel_i0"))
        return bessel_i(0, x);
    if (IS("cyl_bessel_i1"))
        return bessel_i(1, x);
    if (IS("erfcinv"))
        return erfcinv(x);
    if (IS("erfcx"))
        return erfcx(x);
    if (IS("erfinv"))
        return erfinv(x);
    if (IS("exp10"))
        return powq(10, x);
    if (IS("fma"))
        return fmaq(x, y, z);
    if (IS("jn"))
        return jnq(order, x);
    if (IS("yn"))
        return ynq(order, x);
    if (IS("logb"))
        return x == 0 ? -HUGE_VALQ : isinfq(x) ? HUGE_VALQ : isnanq(x) ? x : ilogbq(x);
    if (IS("norm3d"))
        return norm(3, v);
    if (IS("norm4d"))
        return norm(4, v);
    if (IS("rnorm3d"))
        return 1 / norm(3, v);
    if (IS("rnorm4d"))
        return 1 / norm(4, v);
    if (IS("rhypot"))
        return 1 / norm(2, v);
    if (IS("normcdf"))
        return erfcq(-x * M_SQRT1_2q) / 2;
    if (IS("normcdfinv"))
        return -M_SQRT2q * erfcinv(2 * x);
    if (IS("rcbrt"))
        return 1 / cbrtq(x);
    if (IS("rsqrt"))
        return 1 / sqrtq(x);
    return nanq("");
}

/* Distance in units of the last place, of the format with `digits` binary digits and least exponent
 * `least`. */
double weir_reference_error(const char *name, const double *v, double got, int digits, int least,
                            double most, double *absolute)
{
    const quad want = weir_reference(name, v);
    int exponent;
    *absolute = 0;
    if (isnanq(want) || got != got)
        return isnanq(want) && got != got ? 0 : 1e9;
    if (isinfq(want) || fabsq(want) > (quad)most)
        return __builtin_isinf(got) ? ((got < 0) == (want < 0) ? 0 : 1e9)
               : !isinfq(want) && __builtin_fabs(got) >= 0.999999 * most ? 1
                                                                         : 1e9;
    if (__builtin_isinf(got))
        return fabsq(want) > 0.999999Q * most ? 1 : 1e9;
    frexpq(want, &exponent);
    const int place = exponent - digits < least ? least : exponent - digits;
    *absolute = (double)fabsq((quad)got - want);
    return (double)ldexpq(fabsq((quad)got - want), -place);
}
