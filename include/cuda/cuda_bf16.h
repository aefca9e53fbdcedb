/* bfloat16: types, conversions and arithmetic, by CUDA's names. The host computes in integer
 * arithmetic and float, the device with PTX's instructions where there are some; every operation is
 * rounded once. C has the types only.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_BF16_H) && !defined(__CUDA_BF16_H__)
#define WEIR_CUDA_BF16_H
#define __CUDA_BF16_H__

#include "vector_types.h"
#include "weir_half_convert.h"

typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} __nv_bfloat16_raw;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} __nv_bfloat162_raw;

#ifndef __cplusplus
typedef __nv_bfloat16_raw __nv_bfloat16;
typedef __nv_bfloat162_raw __nv_bfloat162;
#else

static __host__ __device__ __inline__ unsigned short weir_bfloat_bits(float f)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short h;
    __asm__("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    return weir_bfloat_from(f, WEIR_RN);
#endif
}
static __host__ __device__ __inline__ float weir_bfloat_float(unsigned short h)
{
    return weir_bfloat_to(h);
}

struct __attribute__((aligned(2))) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(const __nv_bfloat16_raw &r) : __x(r.x) {}
    __host__ __device__ __nv_bfloat16(float f) : __x(weir_bfloat_bits(f)) {}
    __host__ __device__ __nv_bfloat16(double d) : __x(weir_bfloat_bits(weir_half_odd(d))) {}
    __host__ __device__ __nv_bfloat16(short v) : __x(weir_bfloat_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __nv_bfloat16(unsigned short v)
        : __x(weir_bfloat_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ __nv_bfloat16(int v) : __x(weir_bfloat_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __nv_bfloat16(unsigned int v)
        : __x(weir_bfloat_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ __nv_bfloat16(long v) : __x(weir_bfloat_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __nv_bfloat16(unsigned long v)
        : __x(weir_bfloat_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ __nv_bfloat16(long long v) : __x(weir_bfloat_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ __nv_bfloat16(unsigned long long v)
        : __x(weir_bfloat_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ operator __nv_bfloat16_raw() const
    {
        __nv_bfloat16_raw r;
        r.x = __x;
        return r;
    }
    __host__ __device__ operator float() const { return weir_bfloat_float(__x); }
    __host__ __device__ explicit operator bool() const { return (__x & 0x7fffu) != 0; }
    __host__ __device__ __nv_bfloat16 &operator=(float f)
    {
        __x = weir_bfloat_bits(f);
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(double f)
    {
        __x = weir_bfloat_bits(weir_half_odd(f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(short f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(unsigned short f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(int f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(unsigned int f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(long f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(unsigned long f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(long long f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __nv_bfloat16 &operator=(unsigned long long f)
    {
        __x = weir_bfloat_bits(weir_half_odd((double)f));
        return *this;
    }
};

struct __attribute__((aligned(4))) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __host__ __device__ __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b)
    {
    }
    __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw &r)
    {
        x.__x = r.x;
        y.__x = r.y;
    }
    __host__ __device__ operator __nv_bfloat162_raw() const
    {
        __nv_bfloat162_raw r;
        r.x = x.__x;
        r.y = y.__x;
        return r;
    }
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define WEIR_HD static __host__ __device__ __inline__

WEIR_HD __nv_bfloat16 weir_bfloat16_of(unsigned short bits)
{
    __nv_bfloat16 h;
    h.__x = bits;
    return h;
}
WEIR_HD __nv_bfloat162 weir_bfloat162_of(__nv_bfloat16 a, __nv_bfloat16 b)
{
    __nv_bfloat162 v;
    v.x = a;
    v.y = b;
    return v;
}

/* --- Conversions --- */

WEIR_HD float __bfloat162float(const __nv_bfloat16 h)
{
    return weir_bfloat_float(h.__x);
}
WEIR_HD __nv_bfloat16 __float2bfloat16(const float f)
{
    return weir_bfloat16_of(weir_bfloat_bits(f));
}
WEIR_HD __nv_bfloat16 __float2bfloat16_rn(const float f)
{
    return weir_bfloat16_of(weir_bfloat_bits(f));
}
WEIR_HD __nv_bfloat16 __float2bfloat16_rz(const float f)
{
    return weir_bfloat16_of(weir_bfloat_from(f, WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __float2bfloat16_rd(const float f)
{
    return weir_bfloat16_of(weir_bfloat_from(f, WEIR_RD));
}
WEIR_HD __nv_bfloat16 __float2bfloat16_ru(const float f)
{
    return weir_bfloat16_of(weir_bfloat_from(f, WEIR_RU));
}
WEIR_HD __nv_bfloat16 __double2bfloat16(const double d)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd(d)));
}
WEIR_HD __nv_bfloat162 __float2bfloat162_rn(const float f)
{
    return weir_bfloat162_of(__float2bfloat16(f), __float2bfloat16(f));
}
WEIR_HD __nv_bfloat162 __floats2bfloat162_rn(const float a, const float b)
{
    return weir_bfloat162_of(__float2bfloat16(a), __float2bfloat16(b));
}
WEIR_HD __nv_bfloat162 __float22bfloat162_rn(const float2 v)
{
    return __floats2bfloat162_rn(v.x, v.y);
}
WEIR_HD float __low2float(const __nv_bfloat162 v)
{
    return weir_bfloat_float(v.x.__x);
}
WEIR_HD float __high2float(const __nv_bfloat162 v)
{
    return weir_bfloat_float(v.y.__x);
}
WEIR_HD float2 __bfloat1622float2(const __nv_bfloat162 v)
{
    float2 r;
    r.x = __low2float(v);
    r.y = __high2float(v);
    return r;
}
WEIR_HD signed char __bfloat162char_rz(const __nv_bfloat16 h)
{
    return (signed char)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, -128.0, 127.0);
}
WEIR_HD unsigned char __bfloat162uchar_rz(const __nv_bfloat16 h)
{
    return (unsigned char)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, 0.0, 255.0);
}
WEIR_HD short __bfloat162short_rn(const __nv_bfloat16 h)
{
    return (short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, -32768.0, 32767.0);
}
WEIR_HD short __bfloat162short_rz(const __nv_bfloat16 h)
{
    return (short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, -32768.0, 32767.0);
}
WEIR_HD short __bfloat162short_rd(const __nv_bfloat16 h)
{
    return (short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, -32768.0, 32767.0);
}
WEIR_HD short __bfloat162short_ru(const __nv_bfloat16 h)
{
    return (short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, -32768.0, 32767.0);
}
WEIR_HD unsigned short __bfloat162ushort_rn(const __nv_bfloat16 h)
{
    return (unsigned short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, 0.0, 65535.0);
}
WEIR_HD unsigned short __bfloat162ushort_rz(const __nv_bfloat16 h)
{
    return (unsigned short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, 0.0, 65535.0);
}
WEIR_HD unsigned short __bfloat162ushort_rd(const __nv_bfloat16 h)
{
    return (unsigned short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, 0.0, 65535.0);
}
WEIR_HD unsigned short __bfloat162ushort_ru(const __nv_bfloat16 h)
{
    return (unsigned short)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, 0.0, 65535.0);
}
WEIR_HD int __bfloat162int_rn(const __nv_bfloat16 h)
{
    return (int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, -2147483648.0, 2147483647.0);
}
WEIR_HD int __bfloat162int_rz(const __nv_bfloat16 h)
{
    return (int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, -2147483648.0, 2147483647.0);
}
WEIR_HD int __bfloat162int_rd(const __nv_bfloat16 h)
{
    return (int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, -2147483648.0, 2147483647.0);
}
WEIR_HD int __bfloat162int_ru(const __nv_bfloat16 h)
{
    return (int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, -2147483648.0, 2147483647.0);
}
WEIR_HD unsigned int __bfloat162uint_rn(const __nv_bfloat16 h)
{
    return (unsigned int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __bfloat162uint_rz(const __nv_bfloat16 h)
{
    return (unsigned int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __bfloat162uint_rd(const __nv_bfloat16 h)
{
    return (unsigned int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __bfloat162uint_ru(const __nv_bfloat16 h)
{
    return (unsigned int)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, 0.0, 4294967295.0);
}
WEIR_HD long long __bfloat162ll_rn(const __nv_bfloat16 h)
{
    return (long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __bfloat162ll_rz(const __nv_bfloat16 h)
{
    return (long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __bfloat162ll_rd(const __nv_bfloat16 h)
{
    return (long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __bfloat162ll_ru(const __nv_bfloat16 h)
{
    return (long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD unsigned long long __bfloat162ull_rn(const __nv_bfloat16 h)
{
    return (unsigned long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RN, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __bfloat162ull_rz(const __nv_bfloat16 h)
{
    return (unsigned long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RZ, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __bfloat162ull_rd(const __nv_bfloat16 h)
{
    return (unsigned long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RD, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __bfloat162ull_ru(const __nv_bfloat16 h)
{
    return (unsigned long long)weir_half_integer(weir_bfloat_float(h.__x), WEIR_RU, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD __nv_bfloat16 __short2bfloat16_rn(const short v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __short2bfloat16_rz(const short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __short2bfloat16_rd(const short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __short2bfloat16_ru(const short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __nv_bfloat16 __ushort2bfloat16_rn(const unsigned short v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __ushort2bfloat16_rz(const unsigned short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __ushort2bfloat16_rd(const unsigned short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __ushort2bfloat16_ru(const unsigned short v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __nv_bfloat16 __int2bfloat16_rn(const int v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __int2bfloat16_rz(const int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __int2bfloat16_rd(const int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __int2bfloat16_ru(const int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __nv_bfloat16 __uint2bfloat16_rn(const unsigned int v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __uint2bfloat16_rz(const unsigned int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __uint2bfloat16_rd(const unsigned int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __uint2bfloat16_ru(const unsigned int v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __nv_bfloat16 __ll2bfloat16_rn(const long long v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __ll2bfloat16_rz(const long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __ll2bfloat16_rd(const long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __ll2bfloat16_ru(const long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __nv_bfloat16 __ull2bfloat16_rn(const unsigned long long v)
{
    return weir_bfloat16_of(weir_bfloat_bits(weir_half_odd((double)v)));
}
WEIR_HD __nv_bfloat16 __ull2bfloat16_rz(const unsigned long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __nv_bfloat16 __ull2bfloat16_rd(const unsigned long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __nv_bfloat16 __ull2bfloat16_ru(const unsigned long long v)
{
    return weir_bfloat16_of(weir_bfloat_from(weir_half_odd((double)v), WEIR_RU));
}

WEIR_HD __nv_bfloat162 __bfloat162bfloat162(const __nv_bfloat16 h)
{
    return weir_bfloat162_of(h, h);
}
WEIR_HD __nv_bfloat162 __halves2bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b)
{
    return weir_bfloat162_of(a, b);
}
WEIR_HD __nv_bfloat16 __low2bfloat16(const __nv_bfloat162 v)
{
    return v.x;
}
WEIR_HD __nv_bfloat16 __high2bfloat16(const __nv_bfloat162 v)
{
    return v.y;
}
WEIR_HD __nv_bfloat162 __low2bfloat162(const __nv_bfloat162 v)
{
    return weir_bfloat162_of(v.x, v.x);
}
WEIR_HD __nv_bfloat162 __high2bfloat162(const __nv_bfloat162 v)
{
    return weir_bfloat162_of(v.y, v.y);
}
WEIR_HD __nv_bfloat162 __lows2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b)
{
    return weir_bfloat162_of(a.x, b.x);
}
WEIR_HD __nv_bfloat162 __highs2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b)
{
    return weir_bfloat162_of(a.y, b.y);
}
WEIR_HD __nv_bfloat162 __lowhigh2highlow(const __nv_bfloat162 v)
{
    return weir_bfloat162_of(v.y, v.x);
}
WEIR_HD __nv_bfloat162 make_bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b)
{
    return weir_bfloat162_of(a, b);
}
WEIR_HD short __bfloat16_as_short(const __nv_bfloat16 h)
{
    return (short)h.__x;
}
WEIR_HD unsigned short __bfloat16_as_ushort(const __nv_bfloat16 h)
{
    return h.__x;
}
WEIR_HD __nv_bfloat16 __short_as_bfloat16(const short v)
{
    return weir_bfloat16_of((unsigned short)v);
}
WEIR_HD __nv_bfloat16 __ushort_as_bfloat16(const unsigned short v)
{
    return weir_bfloat16_of(v);
}

#define CUDART_INF_BF16        __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16        __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_NEG_ZERO_BF16   __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16       __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16        __ushort_as_bfloat16((unsigned short)0x3F80U)

/* --- One operation on bits --- */

WEIR_HD unsigned short weir_bfloat_add(unsigned short a, unsigned short b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned short r;
    __asm__("add.rn.bf16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_bfloat_bits(weir_bfloat_float(a) + weir_bfloat_float(b));
#endif
}
WEIR_HD unsigned int weir_bfloat_add2(unsigned int a, unsigned int b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned int r;
    __asm__("add.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_bfloat_add((unsigned short)(a >> 16), (unsigned short)(b >> 16))
               << 16 |
           weir_bfloat_add((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_bfloat_sub(unsigned short a, unsigned short b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned short r;
    __asm__("sub.rn.bf16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_bfloat_bits(weir_bfloat_float(a) - weir_bfloat_float(b));
#endif
}
WEIR_HD unsigned int weir_bfloat_sub2(unsigned int a, unsigned int b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned int r;
    __asm__("sub.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_bfloat_sub((unsigned short)(a >> 16), (unsigned short)(b >> 16))
               << 16 |
           weir_bfloat_sub((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_bfloat_mul(unsigned short a, unsigned short b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned short r;
    __asm__("mul.rn.bf16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_bfloat_bits(weir_bfloat_float(a) * weir_bfloat_float(b));
#endif
}
WEIR_HD unsigned int weir_bfloat_mul2(unsigned int a, unsigned int b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned int r;
    __asm__("mul.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_bfloat_mul((unsigned short)(a >> 16), (unsigned short)(b >> 16))
               << 16 |
           weir_bfloat_mul((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_bfloat_fma(unsigned short a, unsigned short b, unsigned short c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short r;
    __asm__("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r) : "h"(a), "h"(b), "h"(c));
    return r;
#else /* the product is exact in double */
    return weir_bfloat_bits(weir_half_odd(
        weir_half_fused(weir_bfloat_float(a), weir_bfloat_float(b), weir_bfloat_float(c))));
#endif
}
WEIR_HD unsigned int weir_bfloat_fma2(unsigned int a, unsigned int b, unsigned int c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned int r;
    __asm__("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    return (unsigned int)weir_bfloat_fma((unsigned short)(a >> 16), (unsigned short)(b >> 16),
                                         (unsigned short)(c >> 16))
               << 16 |
           weir_bfloat_fma((unsigned short)a, (unsigned short)b, (unsigned short)c);
#endif
}
#undef WEIR_HD

#define WEIR_H             __nv_bfloat16
#define WEIR_H2            __nv_bfloat162
#define WEIR_BITS(f)       weir_bfloat_bits(f)
#define WEIR_FLOAT(b)      weir_bfloat_float(b)
#define WEIR_FMA(a, b, c)  weir_bfloat_fma(a, b, c)
#define WEIR_FMA2(a, b, c) weir_bfloat_fma2(a, b, c)
#define WEIR_OP(op, a, b)  weir_bfloat_##op(a, b)
#define WEIR_OP2(op, a, b) weir_bfloat_##op##2(a, b)
#include "weir_half.inc"

#endif
#endif
