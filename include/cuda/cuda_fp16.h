/* Half precision (binary16): types, conversions and arithmetic, by CUDA's names. The host computes
 * in integer arithmetic and float, the device with PTX's instructions where there are some; every
 * operation is rounded once. C has the types only.
 * SPDX-License-Identifier: Apache-2.0 */
#if !defined(WEIR_CUDA_FP16_H) && !defined(__CUDA_FP16_H__)
#define WEIR_CUDA_FP16_H
#define __CUDA_FP16_H__

#include "vector_types.h"
#include "weir_half_convert.h"

typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} __half_raw;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} __half2_raw;

#ifndef __cplusplus
typedef __half_raw __half;
typedef __half2_raw __half2;
#else

static __host__ __device__ __inline__ unsigned short weir_half_bits(float f)
{
#ifdef __CUDA_ARCH__
    unsigned short h;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    return weir_half_from(f, WEIR_RN);
#endif
}
static __host__ __device__ __inline__ float weir_half_float(unsigned short h)
{
#ifdef __CUDA_ARCH__
    float f;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    return weir_half_to(h);
#endif
}

struct __attribute__((aligned(2))) __half {
    unsigned short __x;

    __half() = default;
    __host__ __device__ __half(const __half_raw &r) : __x(r.x) {}
    __host__ __device__ __half(float f) : __x(weir_half_bits(f)) {}
    __host__ __device__ __half(double d) : __x(weir_half_bits(weir_half_odd(d))) {}
    __host__ __device__ __half(short v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(unsigned short v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(int v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(unsigned int v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(long v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(unsigned long v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(long long v) : __x(weir_half_bits(weir_half_odd((double)v))) {}
    __host__ __device__ __half(unsigned long long v) : __x(weir_half_bits(weir_half_odd((double)v)))
    {
    }
    __host__ __device__ operator __half_raw() const
    {
        __half_raw r;
        r.x = __x;
        return r;
    }
    __host__ __device__ operator float() const { return weir_half_float(__x); }
    __host__ __device__ explicit operator bool() const { return (__x & 0x7fffu) != 0; }
    __host__ __device__ __half &operator=(float f)
    {
        __x = weir_half_bits(f);
        return *this;
    }
    __host__ __device__ __half &operator=(double f)
    {
        __x = weir_half_bits(weir_half_odd(f));
        return *this;
    }
    __host__ __device__ __half &operator=(short f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(unsigned short f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(int f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(unsigned int f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(long f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(unsigned long f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(long long f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
    __host__ __device__ __half &operator=(unsigned long long f)
    {
        __x = weir_half_bits(weir_half_odd((double)f));
        return *this;
    }
};

struct __attribute__((aligned(4))) __half2 {
    __half x, y;

    __half2() = default;
    __host__ __device__ __half2(const __half &a, const __half &b) : x(a), y(b) {}
    __host__ __device__ __half2(const __half2_raw &r)
    {
        x.__x = r.x;
        y.__x = r.y;
    }
    __host__ __device__ operator __half2_raw() const
    {
        __half2_raw r;
        r.x = x.__x;
        r.y = y.__x;
        return r;
    }
};

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define WEIR_HD static __host__ __device__ __inline__

WEIR_HD __half weir_half_of(unsigned short bits)
{
    __half h;
    h.__x = bits;
    return h;
}
WEIR_HD __half2 weir_half2_of(__half a, __half b)
{
    __half2 v;
    v.x = a;
    v.y = b;
    return v;
}

/* --- Conversions --- */

WEIR_HD float __half2float(const __half h)
{
    return weir_half_float(h.__x);
}
WEIR_HD __half __float2half(const float f)
{
    return weir_half_of(weir_half_bits(f));
}
WEIR_HD __half __float2half_rn(const float f)
{
    return weir_half_of(weir_half_bits(f));
}
WEIR_HD __half __float2half_rz(const float f)
{
    return weir_half_of(weir_half_from(f, WEIR_RZ));
}
WEIR_HD __half __float2half_rd(const float f)
{
    return weir_half_of(weir_half_from(f, WEIR_RD));
}
WEIR_HD __half __float2half_ru(const float f)
{
    return weir_half_of(weir_half_from(f, WEIR_RU));
}
WEIR_HD __half __double2half(const double d)
{
    return weir_half_of(weir_half_bits(weir_half_odd(d)));
}
WEIR_HD __half2 __float2half2_rn(const float f)
{
    return weir_half2_of(__float2half(f), __float2half(f));
}
WEIR_HD __half2 __floats2half2_rn(const float a, const float b)
{
    return weir_half2_of(__float2half(a), __float2half(b));
}
WEIR_HD __half2 __float22half2_rn(const float2 v)
{
    return __floats2half2_rn(v.x, v.y);
}
WEIR_HD float __low2float(const __half2 v)
{
    return weir_half_float(v.x.__x);
}
WEIR_HD float __high2float(const __half2 v)
{
    return weir_half_float(v.y.__x);
}
WEIR_HD float2 __half22float2(const __half2 v)
{
    float2 r;
    r.x = __low2float(v);
    r.y = __high2float(v);
    return r;
}
WEIR_HD signed char __half2char_rz(const __half h)
{
    return (signed char)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, -128.0, 127.0);
}
WEIR_HD unsigned char __half2uchar_rz(const __half h)
{
    return (unsigned char)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, 0.0, 255.0);
}
WEIR_HD short __half2short_rn(const __half h)
{
    return (short)weir_half_integer(weir_half_float(h.__x), WEIR_RN, -32768.0, 32767.0);
}
WEIR_HD short __half2short_rz(const __half h)
{
    return (short)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, -32768.0, 32767.0);
}
WEIR_HD short __half2short_rd(const __half h)
{
    return (short)weir_half_integer(weir_half_float(h.__x), WEIR_RD, -32768.0, 32767.0);
}
WEIR_HD short __half2short_ru(const __half h)
{
    return (short)weir_half_integer(weir_half_float(h.__x), WEIR_RU, -32768.0, 32767.0);
}
WEIR_HD unsigned short __half2ushort_rn(const __half h)
{
    return (unsigned short)weir_half_integer(weir_half_float(h.__x), WEIR_RN, 0.0, 65535.0);
}
WEIR_HD unsigned short __half2ushort_rz(const __half h)
{
    return (unsigned short)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, 0.0, 65535.0);
}
WEIR_HD unsigned short __half2ushort_rd(const __half h)
{
    return (unsigned short)weir_half_integer(weir_half_float(h.__x), WEIR_RD, 0.0, 65535.0);
}
WEIR_HD unsigned short __half2ushort_ru(const __half h)
{
    return (unsigned short)weir_half_integer(weir_half_float(h.__x), WEIR_RU, 0.0, 65535.0);
}
WEIR_HD int __half2int_rn(const __half h)
{
    return (int)weir_half_integer(weir_half_float(h.__x), WEIR_RN, -2147483648.0, 2147483647.0);
}
WEIR_HD int __half2int_rz(const __half h)
{
    return (int)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, -2147483648.0, 2147483647.0);
}
WEIR_HD int __half2int_rd(const __half h)
{
    return (int)weir_half_integer(weir_half_float(h.__x), WEIR_RD, -2147483648.0, 2147483647.0);
}
WEIR_HD int __half2int_ru(const __half h)
{
    return (int)weir_half_integer(weir_half_float(h.__x), WEIR_RU, -2147483648.0, 2147483647.0);
}
WEIR_HD unsigned int __half2uint_rn(const __half h)
{
    return (unsigned int)weir_half_integer(weir_half_float(h.__x), WEIR_RN, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __half2uint_rz(const __half h)
{
    return (unsigned int)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __half2uint_rd(const __half h)
{
    return (unsigned int)weir_half_integer(weir_half_float(h.__x), WEIR_RD, 0.0, 4294967295.0);
}
WEIR_HD unsigned int __half2uint_ru(const __half h)
{
    return (unsigned int)weir_half_integer(weir_half_float(h.__x), WEIR_RU, 0.0, 4294967295.0);
}
WEIR_HD long long __half2ll_rn(const __half h)
{
    return (long long)weir_half_integer(weir_half_float(h.__x), WEIR_RN, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __half2ll_rz(const __half h)
{
    return (long long)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __half2ll_rd(const __half h)
{
    return (long long)weir_half_integer(weir_half_float(h.__x), WEIR_RD, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD long long __half2ll_ru(const __half h)
{
    return (long long)weir_half_integer(weir_half_float(h.__x), WEIR_RU, -9223372036854775808.0,
                                        9223372036854774784.0);
}
WEIR_HD unsigned long long __half2ull_rn(const __half h)
{
    return (unsigned long long)weir_half_integer(weir_half_float(h.__x), WEIR_RN, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __half2ull_rz(const __half h)
{
    return (unsigned long long)weir_half_integer(weir_half_float(h.__x), WEIR_RZ, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __half2ull_rd(const __half h)
{
    return (unsigned long long)weir_half_integer(weir_half_float(h.__x), WEIR_RD, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD unsigned long long __half2ull_ru(const __half h)
{
    return (unsigned long long)weir_half_integer(weir_half_float(h.__x), WEIR_RU, 0.0,
                                                 18446744073709549568.0);
}
WEIR_HD __half __short2half_rn(const short v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __short2half_rz(const short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __short2half_rd(const short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __short2half_ru(const short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __half __ushort2half_rn(const unsigned short v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __ushort2half_rz(const unsigned short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __ushort2half_rd(const unsigned short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __ushort2half_ru(const unsigned short v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __half __int2half_rn(const int v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __int2half_rz(const int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __int2half_rd(const int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __int2half_ru(const int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __half __uint2half_rn(const unsigned int v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __uint2half_rz(const unsigned int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __uint2half_rd(const unsigned int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __uint2half_ru(const unsigned int v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __half __ll2half_rn(const long long v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __ll2half_rz(const long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __ll2half_rd(const long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __ll2half_ru(const long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}
WEIR_HD __half __ull2half_rn(const unsigned long long v)
{
    return weir_half_of(weir_half_bits(weir_half_odd((double)v)));
}
WEIR_HD __half __ull2half_rz(const unsigned long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RZ));
}
WEIR_HD __half __ull2half_rd(const unsigned long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RD));
}
WEIR_HD __half __ull2half_ru(const unsigned long long v)
{
    return weir_half_of(weir_half_from(weir_half_odd((double)v), WEIR_RU));
}

WEIR_HD __half2 __half2half2(const __half h)
{
    return weir_half2_of(h, h);
}
WEIR_HD __half2 __halves2half2(const __half a, const __half b)
{
    return weir_half2_of(a, b);
}
WEIR_HD __half __low2half(const __half2 v)
{
    return v.x;
}
WEIR_HD __half __high2half(const __half2 v)
{
    return v.y;
}
WEIR_HD __half2 __low2half2(const __half2 v)
{
    return weir_half2_of(v.x, v.x);
}
WEIR_HD __half2 __high2half2(const __half2 v)
{
    return weir_half2_of(v.y, v.y);
}
WEIR_HD __half2 __lows2half2(const __half2 a, const __half2 b)
{
    return weir_half2_of(a.x, b.x);
}
WEIR_HD __half2 __highs2half2(const __half2 a, const __half2 b)
{
    return weir_half2_of(a.y, b.y);
}
WEIR_HD __half2 __lowhigh2highlow(const __half2 v)
{
    return weir_half2_of(v.y, v.x);
}
WEIR_HD __half2 make_half2(const __half a, const __half b)
{
    return weir_half2_of(a, b);
}
WEIR_HD short __half_as_short(const __half h)
{
    return (short)h.__x;
}
WEIR_HD unsigned short __half_as_ushort(const __half h)
{
    return h.__x;
}
WEIR_HD __half __short_as_half(const short v)
{
    return weir_half_of((unsigned short)v);
}
WEIR_HD __half __ushort_as_half(const unsigned short v)
{
    return weir_half_of(v);
}

#define CUDART_INF_FP16        __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16        __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16   __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16       __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16        __ushort_as_half((unsigned short)0x3C00U)

/* --- One operation on bits --- */

WEIR_HD unsigned short weir_half_add(unsigned short a, unsigned short b)
{
#ifdef __CUDA_ARCH__
    unsigned short r;
    __asm__("add.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_half_bits(weir_half_float(a) + weir_half_float(b));
#endif
}
WEIR_HD unsigned int weir_half_add2(unsigned int a, unsigned int b)
{
#ifdef __CUDA_ARCH__
    unsigned int r;
    __asm__("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_half_add((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 |
           weir_half_add((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_half_sub(unsigned short a, unsigned short b)
{
#ifdef __CUDA_ARCH__
    unsigned short r;
    __asm__("sub.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_half_bits(weir_half_float(a) - weir_half_float(b));
#endif
}
WEIR_HD unsigned int weir_half_sub2(unsigned int a, unsigned int b)
{
#ifdef __CUDA_ARCH__
    unsigned int r;
    __asm__("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_half_sub((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 |
           weir_half_sub((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_half_mul(unsigned short a, unsigned short b)
{
#ifdef __CUDA_ARCH__
    unsigned short r;
    __asm__("mul.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
    return r;
#else /* the sum or product of such numbers, rounded to float first, rounds as at once */
    return weir_half_bits(weir_half_float(a) * weir_half_float(b));
#endif
}
WEIR_HD unsigned int weir_half_mul2(unsigned int a, unsigned int b)
{
#ifdef __CUDA_ARCH__
    unsigned int r;
    __asm__("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return (unsigned int)weir_half_mul((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 |
           weir_half_mul((unsigned short)a, (unsigned short)b);
#endif
}
WEIR_HD unsigned short weir_half_fma(unsigned short a, unsigned short b, unsigned short c)
{
#ifdef __CUDA_ARCH__
    unsigned short r;
    __asm__("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r) : "h"(a), "h"(b), "h"(c));
    return r;
#else /* the product is exact in double */
    return weir_half_bits(
        weir_half_odd(weir_half_fused(weir_half_float(a), weir_half_float(b), weir_half_float(c))));
#endif
}
WEIR_HD unsigned int weir_half_fma2(unsigned int a, unsigned int b, unsigned int c)
{
#ifdef __CUDA_ARCH__
    unsigned int r;
    __asm__("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    return (unsigned int)weir_half_fma((unsigned short)(a >> 16), (unsigned short)(b >> 16),
                                       (unsigned short)(c >> 16))
               << 16 |
           weir_half_fma((unsigned short)a, (unsigned short)b, (unsigned short)c);
#endif
}
#undef WEIR_HD

#define WEIR_H             __half
#define WEIR_H2            __half2
#define WEIR_BITS(f)       weir_half_bits(f)
#define WEIR_FLOAT(b)      weir_half_float(b)
#define WEIR_FMA(a, b, c)  weir_half_fma(a, b, c)
#define WEIR_FMA2(a, b, c) weir_half_fma2(a, b, c)
#define WEIR_OP(op, a, b)  weir_half_##op(a, b)
#define WEIR_OP2(op, a, b) weir_half_##op##2(a, b)
#include "weir_half.inc"

#endif
#endif
