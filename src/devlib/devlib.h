/* What the parts of the device library share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVLIB_DEVLIB_H
#define WEIR_DEVLIB_DEVLIB_H

#define DEV extern "C"
typedef unsigned int uint;
typedef long long ll;
typedef unsigned long long ull;

/* Rounded once each: no contraction in this library (-ffp-contract=off). */
struct two {
    double hi, lo;
};

/* a + b = hi + lo exactly, whichever is larger. */
static inline two sum_of(double a, double b)
{
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

static inline two square_of(double a)
{
    const double p = a * a;
    return {p, __builtin_fma(a, a, -p)};
}

template <int N> static inline double polynomial(const double (&c)[N], double x)
{
    double r = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; i--)
        r = __builtin_fma(r, x, c[i]);
    return r;
}

/* 2^n as a double, n in the range of normal numbers. */
static inline double power_of_two_d(int n)
{
    const ull b = (ull)(n + 1023) << 52;
    double r;
    __builtin_memcpy(&r, &b, sizeof r);
    return r;
}

/* m * 2^n with one rounding also when the result is denormal or overflows: |n| < 2200. */
static inline double scaled_d(double m, int n)
{
    const int a = n / 3, b = (n - a) / 2;
    return m * power_of_two_d(a) * power_of_two_d(b) * power_of_two_d(n - a - b);
}

#endif
