/* Device functions that clang's headers leave to the toolkit: loads and stores with a cache
 * operator, integer dot products, address spaces, the global timer, and float overloads of
 * functions that C++ has no name for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_WEIR_INTRINSICS_H
#define WEIR_CC_WEIR_INTRINSICS_H

/* --- Loads and stores with a cache operator: __ldcg(p), __stwt(p, v) ... --------------------- */

#define WEIR_LOAD(OP, T, PTX, C, R)                                                                \
    static __device__ inline T __ld##OP(const T *p)                                                \
    {                                                                                              \
        R r;                                                                                       \
        __asm__ __volatile__("ld.global." #OP "." PTX " %0, [%1];"                                 \
                             : "=" C(r)                                                            \
                             : "l"(p)                                                              \
                             : "memory");                                                          \
        return (T)r;                                                                               \
    }
#define WEIR_STORE(OP, T, PTX, C, R)                                                               \
    static __device__ inline void __st##OP(T *p, T v)                                              \
    {                                                                                              \
        __asm__ __volatile__("st.global." #OP "." PTX " [%0], %1;"                                 \
                             :                                                                     \
                             : "l"(p), C((R)v)                                                     \
                             : "memory");                                                          \
    }
#define WEIR_LOAD2(OP, T, PTX, C)                                                                  \
    static __device__ inline T __ld##OP(const T *p)                                                \
    {                                                                                              \
        T r;                                                                                       \
        __asm__ __volatile__("ld.global." #OP ".v2." PTX " {%0, %1}, [%2];"                        \
                             : "=" C(r.x), "=" C(r.y)                                              \
                             : "l"(p)                                                              \
                             : "memory");                                                          \
        return r;                                                                                  \
    }
#define WEIR_STORE2(OP, T, PTX, C)                                                                 \
    static __device__ inline void __st##OP(T *p, T v)                                              \
    {                                                                                              \
        __asm__ __volatile__("st.global." #OP ".v2." PTX " [%0], {%1, %2};"                        \
                             :                                                                     \
                             : "l"(p), C(v.x), C(v.y)                                              \
                             : "memory");                                                          \
    }
#define WEIR_LOAD4(OP, T, PTX, C)                                                                  \
    static __device__ inline T __ld##OP(const T *p)                                                \
    {                                                                                              \
        T r;                                                                                       \
        __asm__ __volatile__("ld.global." #OP ".v4." PTX " {%0, %1, %2, %3}, [%4];"                \
                             : "=" C(r.x), "=" C(r.y), "=" C(r.z), "=" C(r.w)                      \
                             : "l"(p)                                                              \
                             : "memory");                                                          \
        return r;                                                                                  \
    }
#define WEIR_STORE4(OP, T, PTX, C)                                                                 \
    static __device__ inline void __st##OP(T *p, T v)                                              \
    {                                                                                              \
        __asm__ __volatile__("st.global." #OP ".v4." PTX " [%0], {%1, %2, %3, %4};"                \
                             :                                                                     \
                             : "l"(p), C(v.x), C(v.y), C(v.z), C(v.w)                              \
                             : "memory");                                                          \
    }

/* Bytes travel in 16-bit registers. */
#define WEIR_CACHED(KIND, OP)                                                                      \
    WEIR_##KIND(OP, char, "s8", "h", short) WEIR_##KIND(OP, signed char, "s8", "h", short)         \
        WEIR_##KIND(OP, unsigned char, "u8", "h", unsigned short) WEIR_##KIND(OP, short, "s16",    \
                                                                              "h", short)          \
            WEIR_##KIND(OP, unsigned short, "u16", "h", unsigned short) WEIR_##KIND(               \
                OP, int, "s32", "r", int) WEIR_##KIND(OP, unsigned int, "u32", "r", unsigned int)  \
                WEIR_##KIND(OP, long, "s64", "l", long) WEIR_##KIND(OP, unsigned long, "u64", "l", \
                                                                    unsigned long)                 \
                    WEIR_##KIND(OP, long long, "s64", "l", long long) WEIR_##KIND(                 \
                        OP, unsigned long long, "u64", "l", unsigned long long)                    \
                        WEIR_##KIND(OP, float, "f32", "f", float) WEIR_##KIND(OP, double, "f64",   \
                                                                              "d", double)         \
                            WEIR_##KIND##2(OP, int2, "s32", "r")WEIR_##KIND##2(                    \
                                OP, uint2, "u32", "r")WEIR_##KIND##2(OP, longlong2, "s64", "l")    \
                                WEIR_##KIND##2(OP, ulonglong2, "u64", "l")WEIR_##KIND##2(          \
                                    OP, float2, "f32", "f")WEIR_##KIND##2(OP, double2, "f64", "d") \
                                    WEIR_##KIND##4(OP, int4, "s32", "r")WEIR_##KIND##4(            \
                                        OP, uint4, "u32", "r")WEIR_##KIND##4(OP, float4, "f32",    \
                                                                             "f")

WEIR_CACHED(LOAD, ca)
WEIR_CACHED(LOAD, cg)
WEIR_CACHED(LOAD, cs)
WEIR_CACHED(LOAD, lu)
WEIR_CACHED(LOAD, cv)
WEIR_CACHED(STORE, wb)
WEIR_CACHED(STORE, cg)
WEIR_CACHED(STORE, cs)
WEIR_CACHED(STORE, wt)

#undef WEIR_CACHED
#undef WEIR_LOAD
#undef WEIR_LOAD2
#undef WEIR_LOAD4
#undef WEIR_STORE
#undef WEIR_STORE2
#undef WEIR_STORE4

/* --- Dot products of bytes and halfwords (sm_61) --------------------------------------------- */

#define WEIR_DOT(NAME, PTX, R, A, B)                                                               \
    static __device__ inline R NAME(A a, B b, R c)                                                 \
    {                                                                                              \
        R r;                                                                                       \
        unsigned int ua, ub;                                                                       \
        __builtin_memcpy(&ua, &a, sizeof ua);                                                      \
        __builtin_memcpy(&ub, &b, sizeof ub);                                                      \
        __asm__(PTX " %0, %1, %2, %3;" : "=r"(r) : "r"(ua), "r"(ub), "r"(c));                      \
        return r;                                                                                  \
    }
WEIR_DOT(__dp4a, "dp4a.s32.s32", int, int, int)
WEIR_DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
WEIR_DOT(__dp4a, "dp4a.s32.s32", int, char4, char4)
WEIR_DOT(__dp4a, "dp4a.u32.u32", unsigned int, uchar4, uchar4)
WEIR_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
WEIR_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
WEIR_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, short2, char4)
WEIR_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, ushort2, uchar4)
WEIR_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
WEIR_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
WEIR_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, short2, char4)
WEIR_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, ushort2, uchar4)
#undef WEIR_DOT

/* --- Programmatic launches (sm_90): the next kernel may start, the kernel before is complete ---
 */

#if __CUDA_ARCH__ >= 900
static __device__ inline void cudaTriggerProgrammaticLaunchCompletion()
{
    __asm__ __volatile__("griddepcontrol.launch_dependents;" : : : "memory");
}
static __device__ inline void cudaGridDependencySynchronize()
{
    __asm__ __volatile__("griddepcontrol.wait;" : : : "memory");
}
#endif

/* --- Address spaces -------------------------------------------------------------------------- */

static __device__ inline unsigned int __isGlobal(const void *p)
{
    return __nvvm_isspacep_global(p);
}
static __device__ inline unsigned int __isConstant(const void *p)
{
    return __nvvm_isspacep_const(p);
}
static __device__ inline unsigned int __isLocal(const void *p)
{
    return __nvvm_isspacep_local(p);
}

static __device__ inline size_t __cvta_generic_to_global(const void *p)
{
    return __nv_cvta_generic_to_global_impl(p);
}
static __device__ inline size_t __cvta_generic_to_shared(const void *p)
{
    return __nv_cvta_generic_to_shared_impl(p);
}
static __device__ inline size_t __cvta_generic_to_constant(const void *p)
{
    return __nv_cvta_generic_to_constant_impl(p);
}
static __device__ inline size_t __cvta_generic_to_local(const void *p)
{
    return __nv_cvta_generic_to_local_impl(p);
}
static __device__ inline void *__cvta_global_to_generic(size_t p)
{
    return __nv_cvta_global_to_generic_impl(p);
}
static __device__ inline void *__cvta_shared_to_generic(size_t p)
{
    return __nv_cvta_shared_to_generic_impl(p);
}
static __device__ inline void *__cvta_constant_to_generic(size_t p)
{
    return __nv_cvta_constant_to_generic_impl(p);
}
static __device__ inline void *__cvta_local_to_generic(size_t p)
{
    return __nv_cvta_local_to_generic_impl(p);
}

/* --- Device forms of C++ names --------------------------------------------------------------- */

static __device__ inline float rsqrt(float x)
{
    return ::rsqrtf(x);
}
static __device__ inline float rcbrt(float x)
{
    return ::rcbrtf(x);
}
static __device__ inline float sinpi(float x)
{
    return ::sinpif(x);
}
static __device__ inline float cospi(float x)
{
    return ::cospif(x);
}
static __device__ inline void sincospi(float x, float *s, float *c)
{
    ::sincospif(x, s, c);
}
static __device__ inline void sincos(float x, float *s, float *c)
{
    ::sincosf(x, s, c);
}
static __device__ inline float exp10(float x)
{
    return ::exp10f(x);
}
static __device__ inline float erfinv(float x)
{
    return ::erfinvf(x);
}
static __device__ inline float erfcinv(float x)
{
    return ::erfcinvf(x);
}
static __device__ inline float erfcx(float x)
{
    return ::erfcxf(x);
}
static __device__ inline float normcdf(float x)
{
    return ::normcdff(x);
}
static __device__ inline float normcdfinv(float x)
{
    return ::normcdfinvf(x);
}

/* clang declares these two and leaves them open. A NaN's payload is not kept. */
static __device__ inline double nan(const char *)
{
    return __builtin_nan("");
}
static __device__ inline float nanf(const char *)
{
    return __builtin_nanf("");
}

/* min and max over CUDA's mixed types: unsigned wins, as in its documentation. Host and device. */
#define WEIR_MIN_MAX(A, B, R)                                                                      \
    static __host__ __device__ inline R min(A a, B b)                                              \
    {                                                                                              \
        return (R)a < (R)b ? (R)a : (R)b;                                                          \
    }                                                                                              \
    static __host__ __device__ inline R max(A a, B b)                                              \
    {                                                                                              \
        return (R)a > (R)b ? (R)a : (R)b;                                                          \
    }
WEIR_MIN_MAX(unsigned int, unsigned int, unsigned int)
WEIR_MIN_MAX(int, unsigned int, unsigned int)
WEIR_MIN_MAX(unsigned int, int, unsigned int)
WEIR_MIN_MAX(long, long, long)
WEIR_MIN_MAX(unsigned long, unsigned long, unsigned long)
WEIR_MIN_MAX(long, unsigned long, unsigned long)
WEIR_MIN_MAX(unsigned long, long, unsigned long)
WEIR_MIN_MAX(long long, long long, long long)
WEIR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WEIR_MIN_MAX(long long, unsigned long long, unsigned long long)
WEIR_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef WEIR_MIN_MAX
static __host__ inline int min(int a, int b)
{
    return a < b ? a : b;
} /* the device's is clang's */
static __host__ inline int max(int a, int b)
{
    return a > b ? a : b;
}
static __host__ __device__ inline float min(float a, float b)
{
    return __builtin_fminf(a, b);
}
static __host__ __device__ inline float max(float a, float b)
{
    return __builtin_fmaxf(a, b);
}
static __host__ __device__ inline double min(double a, double b)
{
    return __builtin_fmin(a, b);
}
static __host__ __device__ inline double max(double a, double b)
{
    return __builtin_fmax(a, b);
}
static __host__ __device__ inline double min(float a, double b)
{
    return __builtin_fmin(a, b);
}
static __host__ __device__ inline double max(float a, double b)
{
    return __builtin_fmax(a, b);
}
static __host__ __device__ inline double min(double a, float b)
{
    return __builtin_fmin(a, b);
}
static __host__ __device__ inline double max(double a, float b)
{
    return __builtin_fmax(a, b);
}

#endif
