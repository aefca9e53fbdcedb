/* Floating-point rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "ptx/ops.h"

static double d32(uint64_t bits, bool ftz)
{
    return (double)f32_of(ftz ? flush32(bits) : bits);
}

/* Bits of the double that an approximate instruction is compared with. */
static uint64_t near(double x)
{
    return bits_of_f64(x);
}

static bool within(uint64_t bits, double low, double high)
{
    double x = fabs((double)f32_of(bits));

    return x >= low && x <= high;
}

enum class { FINITE, INFINITE, NUMBER, NOTANUMBER, NORMAL, SUBNORMAL };

static bool is_class(enum class c, double x, double least_normal)
{
    switch (c) {
    case FINITE:
        return isfinite(x);
    case INFINITE:
        return isinf(x);
    case NUMBER:
        return !isnan(x);
    case NOTANUMBER:
        return isnan(x);
    case NORMAL: /* zero counts */
        return isfinite(x) && (x == 0 || fabs(x) >= least_normal);
    default:
        return x != 0 && fabs(x) < least_normal;
    }
}

/* The magnitude with the sign of another value; NaN stays as it is. */
static uint64_t signed_by(uint64_t x, uint64_t sign)
{
    return is_nan32(x) ? x : (x & 0x7fffffff) | (sign & 0x80000000);
}

#define OPS_FILE "ptx/ops_float.def"
#define OPS_NAME ops_float
#include "ptx/ops_table.h"
