/* Bits of 16-bit floating-point numbers from and to float and double, in every rounding mode, in
 * plain integer arithmetic: for the host, and for what PTX has no instruction for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_WEIR_HALF_CONVERT_H
#define WEIR_CUDA_WEIR_HALF_CONVERT_H

#include "host_defines.h"

#ifdef __cplusplus

enum weir_half_mode { WEIR_RN, WEIR_RZ, WEIR_RD, WEIR_RU };

static __host__ __device__ __inline__ unsigned int weir_half_float_bits(float f)
{
    unsigned int u;
    __builtin_memcpy(&u, &f, sizeof u);
    return u;
}
static __host__ __device__ __inline__ float weir_half_bits_float(unsigned int u)
{
    float f;
    __builtin_memcpy(&f, &u, sizeof f);
    return f;
}

/* One more in the last place? `rest` of a place that is worth 2 * half. */
static __host__ __device__ __inline__ unsigned int weir_half_up(weir_half_mode mode, bool negative,
                                                                unsigned int q, unsigned int rest,
                                                                unsigned int half)
{
    if (!rest)
        return 0;
    switch (mode) {
    case WEIR_RN:
        return rest > half || (rest == half && (q & 1));
    case WEIR_RD:
        return negative;
    case WEIR_RU:
        return !negative;
    default:
        return 0;
    }
}

/* binary16 */
static __host__ __device__ __inline__ unsigned short weir_half_from(float f, weir_half_mode mode)
{
    const unsigned int u = weir_half_float_bits(f), a = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;
    unsigned int q, rest, half;
    if (a > 0x7f800000u)
        return 0x7fffu;
    if (a == 0x7f800000u)
        return (unsigned short)(sign | 0x7c00u);
    if (a >= 0x47800000u) /* 65536 */
        return (unsigned short)(sign | (mode == WEIR_RN || (mode == WEIR_RD && sign) ||
                                                (mode == WEIR_RU && !sign)
                                            ? 0x7c00u
                                            : 0x7bffu));
    if (a >= 0x38800000u) { /* 2^-14: normal */
        q = (a - 0x38000000u) >> 13;
        rest = a & 0x1fffu;
        half = 0x1000u;
    } else {
        const unsigned int m = a >> 23 ? (a & 0x7fffffu) | 0x800000u : a << 1,
                           shift = 126u - (a >> 23);
        q = shift < 25u ? m >> shift : 0u;
        rest = shift < 25u ? m & ((1u << shift) - 1u) : m != 0u;
        half = shift < 25u ? 1u << (shift - 1u) : shift == 25u ? 2u : 4u;
        if (shift == 25u) { /* less than the least, and only just below its half or above */
            rest = m > 0x1000000u ? 3u : m == 0x1000000u ? 2u : m != 0u;
        }
    }
    return (unsigned short)(sign | (q + weir_half_up(mode, sign != 0, q, rest, half)));
}

static __host__ __device__ __inline__ float weir_half_to(unsigned short h)
{
    const unsigned int sign = (h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
    if (e == 31u)
        return weir_half_bits_float(m ? 0x7fffffffu : sign | 0x7f800000u);
    if (e)
        return weir_half_bits_float(sign | (e + 112u) << 23 | m << 13);
    const float f = (float)m * 5.9604644775390625e-8f; /* 2^-24 */
    return sign ? -f : f;
}

/* bfloat16 */
static __host__ __device__ __inline__ unsigned short weir_bfloat_from(float f, weir_half_mode mode)
{
    const unsigned int u = weir_half_float_bits(f), q = u >> 16;
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffu;
    return (unsigned short)(q + weir_half_up(mode, u >> 31 != 0, q, u & 0xffffu, 0x8000u));
}
static __host__ __device__ __inline__ float weir_bfloat_to(unsigned short b)
{
    return weir_half_bits_float((unsigned int)b << 16);
}

/* To float with what is lost noted in the last bit, so that a second rounding is like a single one.
 */
static __host__ __device__ __inline__ float weir_half_odd(double d)
{
    const float f = (float)d;
    const double back = (double)f;
    unsigned int u = weir_half_float_bits(f);
    if (back == d || d != d || (u & 1u))
        return f;
    if ((u & 0x7fffffffu) == 0x7f800000u) /* overflowed: the greatest number, which is odd */
        return weir_half_bits_float(u - 1u);
    /* towards the exact value, to an odd neighbour */
    const bool larger = (d > 0 ? back < d : back > d) || (u & 0x7fffffffu) == 0u;
    u = larger ? u + 1u : u - 1u;
    if ((u & 0x7fffffffu) == 1u && d < 0)
        u |= 0x80000000u;
    return weir_half_bits_float(u);
}

/* a * b + c, where the product is exact in double: to double with what is lost noted in the last
 * bit. */
static __host__ __device__ __inline__ double weir_half_fused(float a, float b, float c)
{
    const double p = (double)a * b, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);
    unsigned long long u;
    if (!(e > 0.0 || e < 0.0) || s - s != 0.0)
        return s;
    __builtin_memcpy(&u, &s, sizeof u);
    if (!(u & 1u))
        u = (e > 0.0) == (s > 0.0) ? u + 1u : u - 1u;
    double r;
    __builtin_memcpy(&r, &u, sizeof r);
    return r;
}

/* Rounded to an integer and kept within [least, most]; NaN gives 0. */
static __host__ __device__ __inline__ double weir_half_integer(float f, weir_half_mode mode,
                                                               double least, double most)
{
    if (f != f)
        return 0.0;
    const double d = (double)f;
    double t;
    if (d >= 9.0e15 || d <= -9.0e15)
        t = d;
    else {
        t = (double)(long long)d;
        const double rest = d - t, a = rest < 0 ? -rest : rest;
        if (mode == WEIR_RU && rest > 0)
            t += 1;
        else if (mode == WEIR_RD && rest < 0)
            t -= 1;
        else if (mode == WEIR_RN && (a > 0.5 || (a == 0.5 && (long long)t % 2 != 0)))
            t += rest < 0 ? -1 : 1;
    }
    return t < least ? least : t > most ? most : t;
}

#endif
#endif
