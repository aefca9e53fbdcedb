/* The short vectors (char1 .. double4) and dim3. Sizes and alignments are part of the binary
 * interface: kernels get these by value. Two- and four-component vectors are aligned for one
 * access, except that the 32-byte ones keep 16; the _16a and _32a forms say theirs in the name.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_VECTOR_TYPES_H) && !defined(__VECTOR_TYPES_H__)
#define WEIR_CUDA_VECTOR_TYPES_H
#define __VECTOR_TYPES_H__

#include "host_defines.h"

/* clang-format off */
typedef struct char1 { signed char x; } char1;
typedef struct __align__(2) char2 { signed char x, y; } char2;
typedef struct char3 { signed char x, y, z; } char3;
typedef struct __align__(4) char4 { signed char x, y, z, w; } char4;

typedef struct uchar1 { unsigned char x; } uchar1;
typedef struct __align__(2) uchar2 { unsigned char x, y; } uchar2;
typedef struct uchar3 { unsigned char x, y, z; } uchar3;
typedef struct __align__(4) uchar4 { unsigned char x, y, z, w; } uchar4;

typedef struct short1 { short x; } short1;
typedef struct __align__(4) short2 { short x, y; } short2;
typedef struct short3 { short x, y, z; } short3;
typedef struct __align__(8) short4 { short x, y, z, w; } short4;

typedef struct ushort1 { unsigned short x; } ushort1;
typedef struct __align__(4) ushort2 { unsigned short x, y; } ushort2;
typedef struct ushort3 { unsigned short x, y, z; } ushort3;
typedef struct __align__(8) ushort4 { unsigned short x, y, z, w; } ushort4;

typedef struct int1 { int x; } int1;
typedef struct __align__(8) int2 { int x, y; } int2;
typedef struct int3 { int x, y, z; } int3;
typedef struct __align__(16) int4 { int x, y, z, w; } int4;

typedef struct uint1 { unsigned int x; } uint1;
typedef struct __align__(8) uint2 { unsigned int x, y; } uint2;
typedef struct uint3 { unsigned int x, y, z; } uint3;
typedef struct __align__(16) uint4 { unsigned int x, y, z, w; } uint4;

typedef struct long1 { long int x; } long1;
typedef struct __align__(16) long2 { long int x, y; } long2;
typedef struct long3 { long int x, y, z; } long3;
typedef struct __align__(16) long4 { long int x, y, z, w; } long4;
typedef struct __align__(16) long4_16a { long int x, y, z, w; } long4_16a;
typedef struct __align__(32) long4_32a { long int x, y, z, w; } long4_32a;

typedef struct ulong1 { unsigned long int x; } ulong1;
typedef struct __align__(16) ulong2 { unsigned long int x, y; } ulong2;
typedef struct ulong3 { unsigned long int x, y, z; } ulong3;
typedef struct __align__(16) ulong4 { unsigned long int x, y, z, w; } ulong4;
typedef struct __align__(16) ulong4_16a { unsigned long int x, y, z, w; } ulong4_16a;
typedef struct __align__(32) ulong4_32a { unsigned long int x, y, z, w; } ulong4_32a;

typedef struct longlong1 { long long int x; } longlong1;
typedef struct __align__(16) longlong2 { long long int x, y; } longlong2;
typedef struct longlong3 { long long int x, y, z; } longlong3;
typedef struct __align__(16) longlong4 { long long int x, y, z, w; } longlong4;
typedef struct __align__(16) longlong4_16a { long long int x, y, z, w; } longlong4_16a;
typedef struct __align__(32) longlong4_32a { long long int x, y, z, w; } longlong4_32a;

typedef struct ulonglong1 { unsigned long long int x; } ulonglong1;
typedef struct __align__(16) ulonglong2 { unsigned long long int x, y; } ulonglong2;
typedef struct ulonglong3 { unsigned long long int x, y, z; } ulonglong3;
typedef struct __align__(16) ulonglong4 { unsigned long long int x, y, z, w; } ulonglong4;
typedef struct __align__(16) ulonglong4_16a { unsigned long long int x, y, z, w; } ulonglong4_16a;
typedef struct __align__(32) ulonglong4_32a { unsigned long long int x, y, z, w; } ulonglong4_32a;

typedef struct float1 { float x; } float1;
typedef struct __align__(8) float2 { float x, y; } float2;
typedef struct float3 { float x, y, z; } float3;
typedef struct __align__(16) float4 { float x, y, z, w; } float4;

typedef struct double1 { double x; } double1;
typedef struct __align__(16) double2 { double x, y; } double2;
typedef struct double3 { double x, y, z; } double3;
typedef struct __align__(16) double4 { double x, y, z, w; } double4;
typedef struct __align__(16) double4_16a { double x, y, z, w; } double4_16a;
typedef struct __align__(32) double4_32a { double x, y, z, w; } double4_32a;

/* clang-format on */

/* A grid's or a block's shape. In C++ the components that are not given are 1. */
typedef struct dim3 {
    unsigned int x, y, z;
#if defined(__cplusplus) && __cplusplus >= 201103L
    __host__ __device__ constexpr dim3(unsigned int nx = 1, unsigned int ny = 1,
                                       unsigned int nz = 1)
        : x(nx), y(ny), z(nz)
    {
    }
    __host__ __device__ constexpr dim3(uint3 n) : x(n.x), y(n.y), z(n.z) {}
    __host__ __device__ constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
#elif defined(__cplusplus)
    __host__ __device__ dim3(unsigned int nx = 1, unsigned int ny = 1, unsigned int nz = 1)
        : x(nx), y(ny), z(nz)
    {
    }
    __host__ __device__ dim3(uint3 n) : x(n.x), y(n.y), z(n.z) {}
    __host__ __device__ operator uint3() const
    {
        uint3 n = {x, y, z};
        return n;
    }
#endif
} dim3;

#endif
