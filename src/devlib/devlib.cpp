/* The device library of `weir cc`: the functions that clang's CUDA headers call for mathematics
 * and number formats (the names __nv_* are theirs). Compiled once at build time to LLVM bitcode,
 * with Debian's libclc (built for NVPTX) linked in for the elementary functions; every name of
 * libclc becomes internal, so that a program's own `clamp` or `mix` can not meet it. What PTX
 * has an instruction for is that instruction. Measured errors: docs/ptx-fidelity.md.
 * SPDX-License-Identifier: Apache-2.0 */

#include "devlib.h"

/* --- Elementary functions from libclc ---------------------------------------------------------- */

/* OpenCL C mangles its overloads as C++ does: sin(float) is _Z3sinf. */
#define CLC1D(name, mangled)                                                                       \
    DEV double clc_##name(double) __asm__(mangled "d");                                            \
    DEV double __nv_##name(double x) { return clc_##name(x); }
#define CLC1(name, mangled)                                                                        \
    CLC1D(name, mangled)                                                                           \
    DEV float clc_##name##f(float) __asm__(mangled "f");                                           \
    DEV float __nv_##name##f(float x) { return clc_##name##f(x); }
#define CLC2D(name, mangled)                                                                       \
    DEV double clc_##name(double, double) __asm__(mangled "dd");                                   \
    DEV double __nv_##name(double x, double y) { return clc_##name(x, y); }
#define CLC2(name, mangled)                                                                        \
    CLC2D(name, mangled)                                                                           \
    DEV float clc_##name##f(float, float) __asm__(mangled "ff");                                   \
    DEV float __nv_##name##f(float x, float y) { return clc_##name##f(x, y); }

#define CLC1F(name, mangled)                                                                       \
    DEV float clc_##name##f(float) __asm__(mangled "f");                                           \
    DEV float __nv_##name##f(float x) { return clc_##name##f(x); }
#define CLC2F(name, mangled)                                                                       \
    DEV float clc_##name##f(float, float) __asm__(mangled "ff");                                   \
    DEV float __nv_##name##f(float x, float y) { return clc_##name##f(x, y); }

CLC1(acos, "_Z4acos")
CLC1(acosh, "_Z5acosh")
CLC1(asin, "_Z4asin")
CLC1(asinh, "_Z5asinh")
CLC1(atan, "_Z4atan")
CLC1(atanh, "_Z5atanh")
CLC1(cbrt, "_Z4cbrt")
CLC1(cos, "_Z3cos")
CLC1D(cospi, "_Z5cospi")
CLC1(erf, "_Z3erf")
CLC1D(erfc, "_Z4erfc")
CLC1(exp10, "_Z5exp10")
CLC1D(exp2, "_Z4exp2")
CLC1F(expm1, "_Z5expm1")
CLC1(log10, "_Z5log10")
CLC1(log1p, "_Z5log1p")
CLC1(log2, "_Z4log2")
CLC1(logb, "_Z4logb")
CLC1(sin, "_Z3sin")
CLC1D(sinpi, "_Z5sinpi")
CLC1(tan, "_Z3tan")
CLC1(tanh, "_Z4tanh")
CLC2(atan2, "_Z5atan2")
CLC2(fdim, "_Z4fdim")
CLC2D(fmod, "_Z4fmod")
CLC2F(hypot, "_Z5hypot")
CLC2(nextafter, "_Z9nextafter")
CLC2(pow, "_Z3pow")
CLC2D(remainder, "_Z9remainder")

DEV float clc_erfcf(float) __asm__("_Z4erfcf");
DEV double clc_lgamma(double) __asm__("_Z6lgammad");
DEV int clc_ilogbf(float) __asm__("_Z5ilogbf");
DEV int clc_ilogb(double) __asm__("_Z5ilogbd");
DEV float clc_pownf(float, int) __asm__("_Z4pownfi");
DEV double clc_pown(double, int) __asm__("_Z4powndi");
DEV float clc_frexpf(float, int *) __asm__("_Z5frexpfPi");
DEV double clc_frexp(double, int *) __asm__("_Z5frexpdPi");
DEV double clc_remquo(double, double, int *) __asm__("_Z6remquoddPi");

DEV int __nv_ilogbf(float x) { return clc_ilogbf(x); }
DEV int __nv_ilogb(double x) { return clc_ilogb(x); }
DEV float __nv_powif(float x, int n) { return clc_pownf(x, n); }
DEV double __nv_powi(double x, int n) { return clc_pown(x, n); }
DEV float __nv_frexpf(float x, int *e) { return clc_frexpf(x, e); }
DEV double __nv_frexp(double x, int *e) { return clc_frexp(x, e); }
DEV double __nv_remquo(double x, double y, int *q) { return clc_remquo(x, y, q); }

DEV void __nv_sincosf(float x, float *s, float *c) { *s = clc_sinf(x), *c = clc_cosf(x); }
DEV void __nv_sincos(double x, double *s, double *c) { *s = clc_sin(x), *c = clc_cos(x); }
DEV void __nv_sincospif(float x, float *s, float *c) { *s = (float)clc_sinpi((double)x), *c = (float)clc_cospi((double)x); }
DEV void __nv_sincospi(double x, double *s, double *c) { *s = clc_sinpi(x), *c = clc_cospi(x); }

/* libclc's float forms flush denormal results here. The remainders are exact, so double gives the same bits. */
DEV float __nv_fmodf(float x, float y) { return (float)clc_fmod((double)x, (double)y); }
DEV float __nv_remainderf(float x, float y) { return (float)clc_remainder((double)x, (double)y); }
DEV float __nv_remquof(float x, float y, int *q) { return (float)clc_remquo((double)x, (double)y, q); }
DEV float __nv_erfcf(float x) { return x > 0.5f ? (float)clc_erfc((double)x) : clc_erfcf(x); }

static inline float power_of_two(int n)
{
    const unsigned b = (unsigned)(n + 127) << 23;
    float r;
    __builtin_memcpy(&r, &b, sizeof r);
    return r;
}

/* m * 2^n, one rounding also when the result is denormal: the first factor leaves m normal. */
static inline float scaled(float m, float n)
{
    const int whole = (int)n, half = whole / 2;
    return m * power_of_two(half) * power_of_two(whole - half);
}

/* x = n * ln 2 + r with |r| <= 0.35; e^r by a polynomial of degree 6 (Chebyshev interpolation of the remainder). */
DEV float __nv_expf(float x)
{
    const float t = __builtin_fminf(__builtin_fmaxf(x, -150.0f), 150.0f);
    const float n = __builtin_rintf(t * 1.44269504f);
    const float r = __builtin_fmaf(n, 1.90465421e-09f, __builtin_fmaf(n, -0.693147182f, t));
    float q = __builtin_fmaf(r, 0.00139261775f, 0.00836317418f);
    q = __builtin_fmaf(q, r, 0.0416665547f);
    q = __builtin_fmaf(q, r, 0.16666577f);
    q = __builtin_fmaf(q, r, 0.5f);
    const float e = __builtin_fmaf(r * r, q, r) + 1.0f;
    return x != x ? x : scaled(e, n);
}

DEV float __nv_exp2f(float x)
{
    const float t = __builtin_fminf(__builtin_fmaxf(x, -200.0f), 200.0f);
    const float n = __builtin_rintf(t), r = t - n;
    float q = __builtin_fmaf(r, 1.52973237e-05f, 0.000154614447f);
    q = __builtin_fmaf(q, r, 0.00133335024f);
    q = __builtin_fmaf(q, r, 0.00961805668f);
    q = __builtin_fmaf(q, r, 0.0555041088f);
    q = __builtin_fmaf(q, r, 0.240226509f);
    q = __builtin_fmaf(q, r, 0.693147181f);
    return x != x ? x : scaled(__builtin_fmaf(q, r, 1.0f), n);
}

DEV double __nv_lgamma(double x) { return __builtin_isinf(x) ? __builtin_inf() : clc_lgamma(x); }
DEV float __nv_lgammaf(float x) { return (float)__nv_lgamma((double)x); }

/* --- One instruction, or nearly ---------------------------------------------------------------- */

#define BUILTIN1(name)                                                                             \
    DEV float __nv_##name##f(float x) { return __builtin_##name##f(x); }                           \
    DEV double __nv_##name(double x) { return __builtin_##name(x); }
#define BUILTIN2(name)                                                                             \
    DEV float __nv_##name##f(float x, float y) { return __builtin_##name##f(x, y); }               \
    DEV double __nv_##name(double x, double y) { return __builtin_##name(x, y); }

BUILTIN1(ceil)
BUILTIN1(fabs)
BUILTIN1(floor)
BUILTIN1(nearbyint)
BUILTIN1(rint)
BUILTIN1(round)
BUILTIN1(trunc)
BUILTIN2(copysign)
BUILTIN2(fmax)
BUILTIN2(fmin)

DEV float __nv_sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
DEV double __nv_sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
DEV float __nv_rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
DEV float __nv_fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
DEV double __nv_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
DEV float __nv_saturatef(float x) { return __nvvm_saturate_f(x); }
DEV float __nv_nanf(const signed char *) { return __builtin_nanf(""); }
DEV double __nv_nan(const signed char *) { return __builtin_nan(""); }

DEV float __nv_modff(float x, float *whole)
{
    const float t = __builtin_truncf(x);
    *whole = t;
    return __builtin_copysignf(__builtin_isinf(x) ? 0.0f : x - t, x);
}
DEV double __nv_modf(double x, double *whole)
{
    const double t = __builtin_trunc(x);
    *whole = t;
    return __builtin_copysign(__builtin_isinf(x) ? 0.0 : x - t, x);
}

DEV ll __nv_llrintf(float x) { return __nvvm_f2ll_rn(x); }
DEV ll __nv_llrint(double x) { return __nvvm_d2ll_rn(x); }
DEV ll __nv_llroundf(float x) { return __nvvm_f2ll_rz(__builtin_roundf(x)); }
DEV ll __nv_llround(double x) { return __nvvm_d2ll_rz(__builtin_round(x)); }

DEV int __nv_isnanf(float x) { return __builtin_isnan(x); }
DEV int __nv_isnand(double x) { return __builtin_isnan(x); }
DEV int __nv_isinff(float x) { return __builtin_isinf(x); }
DEV int __nv_isinfd(double x) { return __builtin_isinf(x); }
DEV int __nv_finitef(float x) { return __builtin_isfinite(x); }
DEV int __nv_isfinited(double x) { return __builtin_isfinite(x); }

/* --- Bits -------------------------------------------------------------------------------------- */

template <class To, class From> static inline To bits(From v)
{
    To r;
    static_assert(sizeof(To) == sizeof(From), "same size");
    __builtin_memcpy(&r, &v, sizeof r);
    return r;
}

DEV int __nv_float_as_int(float x) { return bits<int>(x); }
DEV uint __nv_float_as_uint(float x) { return bits<uint>(x); }
DEV float __nv_int_as_float(int x) { return bits<float>(x); }
DEV float __nv_uint_as_float(uint x) { return bits<float>(x); }
DEV ll __nv_double_as_longlong(double x) { return bits<ll>(x); }
DEV double __nv_longlong_as_double(ll x) { return bits<double>(x); }
DEV int __nv_double2hiint(double x) { return (int)(bits<ull>(x) >> 32); }
DEV int __nv_double2loint(double x) { return (int)bits<ull>(x); }
DEV double __nv_hiloint2double(int hi, int lo) { return bits<double>((ull)(uint)hi << 32 | (uint)lo); }
DEV int __nv_signbitf(float x) { return bits<uint>(x) >> 31; }
DEV int __nv_signbitd(double x) { return (int)(bits<ull>(x) >> 63); }

DEV uint __nv_brev(uint x) { return __builtin_bitreverse32(x); }
DEV ull __nv_brevll(ull x) { return __builtin_bitreverse64(x); }
DEV int __nv_clz(int x) { return x ? __builtin_clz((uint)x) : 32; }
DEV int __nv_clzll(ll x) { return x ? __builtin_clzll((ull)x) : 64; }
DEV int __nv_ffs(int x) { return x ? __builtin_ctz((uint)x) + 1 : 0; }
DEV int __nv_ffsll(ll x) { return x ? __builtin_ctzll((ull)x) + 1 : 0; }
DEV int __nv_popc(uint x) { return __builtin_popcount(x); }
DEV int __nv_popcll(ull x) { return __builtin_popcountll(x); }
DEV uint __nv_byte_perm(uint a, uint b, uint s)
{
    uint r;
    __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s & 0x7777u));
    return r;
}

/* --- Integers ---------------------------------------------------------------------------------- */

DEV int __nv_abs(int x) { return x < 0 ? (int)(0u - (uint)x) : x; }
DEV ll __nv_llabs(ll x) { return x < 0 ? (ll)(0ull - (ull)x) : x; }
DEV int __nv_max(int a, int b) { return a > b ? a : b; }
DEV int __nv_min(int a, int b) { return a < b ? a : b; }
DEV uint __nv_umax(uint a, uint b) { return a > b ? a : b; }
DEV uint __nv_umin(uint a, uint b) { return a < b ? a : b; }
DEV ll __nv_llmax(ll a, ll b) { return a > b ? a : b; }
DEV ll __nv_llmin(ll a, ll b) { return a < b ? a : b; }
DEV ull __nv_ullmax(ull a, ull b) { return a > b ? a : b; }
DEV ull __nv_ullmin(ull a, ull b) { return a < b ? a : b; }
DEV int __nv_mul24(int a, int b) { return (int)((uint)(a << 8 >> 8) * (uint)(b << 8 >> 8)); }
DEV uint __nv_umul24(uint a, uint b) { return (a & 0xffffffu) * (b & 0xffffffu); }
DEV int __nv_mulhi(int a, int b) { return (int)((ll)a * b >> 32); }
DEV uint __nv_umulhi(uint a, uint b) { return (uint)((ull)a * b >> 32); }
DEV ll __nv_mul64hi(ll a, ll b) { return __nvvm_mulhi_ll(a, b); }
DEV ull __nv_umul64hi(ull a, ull b) { return __nvvm_mulhi_ull(a, b); }
DEV int __nv_hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
DEV uint __nv_uhadd(uint a, uint b) { return (a & b) + ((a ^ b) >> 1); }
DEV int __nv_rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
DEV uint __nv_urhadd(uint a, uint b) { return (a | b) - ((a ^ b) >> 1); }
DEV uint __nv_sad(int a, int b, uint c) { return (a > b ? (uint)a - (uint)b : (uint)b - (uint)a) + c; }
DEV uint __nv_usad(uint a, uint b, uint c) { return (a > b ? a - b : b - a) + c; }

/* --- Arithmetic with a rounding mode: never contracted, never reordered ------------------------ */

/* rd and ru are PTX's rm (towards minus) and rp (towards plus). */
#define MODES(X) X(rn, rn) X(rz, rz) X(rd, rm) X(ru, rp)

#define ARITH(ours, ptx)                                                                           \
    DEV float __nv_fadd_##ours(float x, float y) { return __nvvm_add_##ptx##_f(x, y); }            \
    DEV float __nv_fsub_##ours(float x, float y) { return __nvvm_add_##ptx##_f(x, -y); }           \
    DEV float __nv_fmul_##ours(float x, float y) { return __nvvm_mul_##ptx##_f(x, y); }            \
    DEV float __nv_fdiv_##ours(float x, float y) { return __nvvm_div_##ptx##_f(x, y); }            \
    DEV float __nv_frcp_##ours(float x) { return __nvvm_rcp_##ptx##_f(x); }                        \
    DEV float __nv_fsqrt_##ours(float x) { return __nvvm_sqrt_##ptx##_f(x); }                      \
    DEV float __nv_fmaf_##ours(float x, float y, float z) { return __nvvm_fma_##ptx##_f(x, y, z); } \
    DEV float __nv_fmaf_ieee_##ours(float x, float y, float z)                                     \
    {                                                                                              \
        return __nvvm_fma_##ptx##_f(x, y, z);                                                      \
    }                                                                                              \
    DEV double __nv_dadd_##ours(double x, double y) { return __nvvm_add_##ptx##_d(x, y); }         \
    DEV double __nv_dsub_##ours(double x, double y) { return __nvvm_add_##ptx##_d(x, -y); }        \
    DEV double __nv_dmul_##ours(double x, double y) { return __nvvm_mul_##ptx##_d(x, y); }         \
    DEV double __nv_ddiv_##ours(double x, double y) { return __nvvm_div_##ptx##_d(x, y); }         \
    DEV double __nv_drcp_##ours(double x) { return __nvvm_rcp_##ptx##_d(x); }                      \
    DEV double __nv_dsqrt_##ours(double x) { return __nvvm_sqrt_##ptx##_d(x); }                    \
    DEV double __nv_fma_##ours(double x, double y, double z) { return __nvvm_fma_##ptx##_d(x, y, z); }
MODES(ARITH)

#define CONVERT(ours, ptx)                                                                         \
    DEV int __nv_float2int_##ours(float x) { return __nvvm_f2i_##ptx(x); }                         \
    DEV uint __nv_float2uint_##ours(float x) { return __nvvm_f2ui_##ptx(x); }                      \
    DEV ll __nv_float2ll_##ours(float x) { return __nvvm_f2ll_##ptx(x); }                          \
    DEV ull __nv_float2ull_##ours(float x) { return __nvvm_f2ull_##ptx(x); }                       \
    DEV int __nv_double2int_##ours(double x) { return __nvvm_d2i_##ptx(x); }                       \
    DEV uint __nv_double2uint_##ours(double x) { return __nvvm_d2ui_##ptx(x); }                    \
    DEV ll __nv_double2ll_##ours(double x) { return __nvvm_d2ll_##ptx(x); }                        \
    DEV ull __nv_double2ull_##ours(double x) { return __nvvm_d2ull_##ptx(x); }                     \
    DEV float __nv_double2float_##ours(double x) { return __nvvm_d2f_##ptx(x); }
MODES(CONVERT)

/* As instructions: LLVM 19 takes its own intrinsics of the rz forms for the rounding to nearest. */
#define FROM_INT(name, T, in, R, out, types)                                                       \
    DEV R __nv_##name##_rn(T x) { return (R)x; }                                                   \
    FROM_INT_MODE(name##_rz, T, in, R, out, "rz." types)                                           \
    FROM_INT_MODE(name##_rd, T, in, R, out, "rm." types)                                           \
    FROM_INT_MODE(name##_ru, T, in, R, out, "rp." types)
#define FROM_INT_MODE(name, T, in, R, out, suffix)                                                 \
    DEV R __nv_##name(T x)                                                                         \
    {                                                                                              \
        R v;                                                                                       \
        __asm__("cvt." suffix " %0, %1;" : out(v) : in(x));                                        \
        return v;                                                                                  \
    }
FROM_INT(int2float, int, "r", float, "=f", "f32.s32")
FROM_INT(uint2float, uint, "r", float, "=f", "f32.u32")
FROM_INT(ll2float, ll, "l", float, "=f", "f32.s64")
FROM_INT(ull2float, ull, "l", float, "=f", "f32.u64")
FROM_INT(ll2double, ll, "l", double, "=d", "f64.s64")
FROM_INT(ull2double, ull, "l", double, "=d", "f64.u64")

DEV double __nv_int2double_rn(int x) { return x; }
DEV double __nv_uint2double_rn(uint x) { return x; }
DEV float __nv_frsqrt_rn(float x) { return (float)(1.0 / __nvvm_sqrt_rn_d((double)x)); }
DEV double __nv_rcp64h(double x) { return bits<double>(bits<ull>(1.0 / x) & 0xffffffff00000000ull); }
DEV unsigned short __nv_float2half_rn(float x) { return (unsigned short)__nvvm_f2h_rn(x); }
DEV float __nv_half2float(unsigned short x) { return (float)bits<_Float16>(x); }

/* --- Fast forms: the approximate instructions -------------------------------------------------- */

static const float log2_of_e = 1.4426950408889634f, ln_2 = 0.69314718055994531f;
static const float log2_of_10 = 3.3219280948873623f, log10_of_2 = 0.30102999566398120f;

DEV float __nv_fast_sinf(float x) { return __nvvm_sin_approx_f(x); }
DEV float __nv_fast_cosf(float x) { return __nvvm_cos_approx_f(x); }
DEV void __nv_fast_sincosf(float x, float *s, float *c)
{
    *s = __nvvm_sin_approx_f(x), *c = __nvvm_cos_approx_f(x);
}
DEV float __nv_fast_fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
DEV float __nv_fast_tanf(float x)
{
    return __nvvm_div_approx_f(__nvvm_sin_approx_f(x), __nvvm_cos_approx_f(x));
}
DEV float __nv_fast_expf(float x) { return __nvvm_ex2_approx_f(x * log2_of_e); }
DEV float __nv_fast_exp10f(float x) { return __nvvm_ex2_approx_f(x * log2_of_10); }
DEV float __nv_fast_logf(float x) { return __nvvm_lg2_approx_f(x) * ln_2; }
DEV float __nv_fast_log2f(float x) { return __nvvm_lg2_approx_f(x); }
DEV float __nv_fast_log10f(float x) { return __nvvm_lg2_approx_f(x) * log10_of_2; }
DEV float __nv_fast_powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }

/* --- Composed ---------------------------------------------------------------------------------- */

#include "elementary.inc"

/* The float forms have room in double: neither overflow nor a second rounding that shows. An infinite component makes
 * the norm infinite, whatever the others are. */
static inline double norm_of(double sum, bool infinite)
{
    return infinite ? __builtin_inf() : __nvvm_sqrt_rn_d(sum);
}
static inline double norm4(float x, float y, float z, float w)
{
    const double a = x, b = y, c = z, d = w;
    return norm_of(__builtin_fma(a, a, __builtin_fma(b, b, __builtin_fma(c, c, d * d))),
                   __builtin_isinf(x) || __builtin_isinf(y) || __builtin_isinf(z) || __builtin_isinf(w));
}
static inline double norm_n(int n, const float *v)
{
    double sum = 0.0;
    bool infinite = false;
    for (int i = 0; i < n; i++) {
        sum = __builtin_fma((double)v[i], (double)v[i], sum);
        infinite |= __builtin_isinf(v[i]);
    }
    return norm_of(sum, infinite);
}
DEV float __nv_rhypotf(float x, float y) { return (float)(1.0 / norm4(x, y, 0.0f, 0.0f)); }
DEV float __nv_norm3df(float x, float y, float z) { return (float)norm4(x, y, z, 0.0f); }
DEV float __nv_norm4df(float x, float y, float z, float w) { return (float)norm4(x, y, z, w); }
DEV float __nv_rnorm3df(float x, float y, float z) { return (float)(1.0 / norm4(x, y, z, 0.0f)); }
DEV float __nv_rnorm4df(float x, float y, float z, float w) { return (float)(1.0 / norm4(x, y, z, w)); }
DEV float __nv_normf(int n, const float *v) { return (float)norm_n(n, v); }
DEV float __nv_rnormf(int n, const float *v) { return (float)(1.0 / norm_n(n, v)); }

/* exp(x * x) * erfc(x). The square is carried in two parts, since exp magnifies its error; where erfc runs out of
 * exponents the asymptotic series is exact to the last bit. */
DEV double __nv_erfcx(double x)
{
    const double one_by_sqrt_pi = 0.56418958354775628695;
    if (x > 25.0) {
        const double r = 1.0 / (2.0 * x * x);
        const double series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r * (1.0 - 11.0 * r)))));
        return one_by_sqrt_pi / x * series;
    }
    const double hi = x * x, lo = __builtin_fma(x, x, -hi);
    const double e = __nv_exp(hi);
    return __builtin_isinf(e) ? e : __builtin_fma(e, lo, e) * clc_erfc(x);
}
DEV float __nv_erfcxf(float x) { return (float)__nv_erfcx((double)x); }

/* 0 <= a <= 0.5: Halley steps on erf itself, since near zero the complement has lost the digits. */
static inline double erfinv_middle(double a)
{
    double x = 0.88622692545275801365 * a * (1.0 + 0.26179938779914943654 * a * a);
    for (int i = 0; i < 3; i++) {
        const double error = clc_erf(x) - a;
        const double slope = 1.12837916709551257390 * __nv_exp(-x * x);
        x -= error / (slope + x * error);
    }
    return x;
}

/* The start is good to 5e-4 (Abramowitz and Stegun, 26.2.23); each Halley step triples the right digits. */
DEV double __nv_erfcinv(double y)
{
    if (!(y > 0.0 && y < 2.0))
        return y == 0.0 ? __builtin_inf() : y == 2.0 ? -__builtin_inf() : __builtin_nan("");
    if (y >= 0.5 && y <= 1.5)
        return __builtin_copysign(erfinv_middle(__builtin_fabs(1.0 - y)), 1.0 - y);
    const double tail = y > 1.0 ? 2.0 - y : y;
    const double t = __nvvm_sqrt_rn_d(1.38629436111989061883 - 2.0 * __nv_log(tail));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    x *= 0.70710678118654752440;
    if (tail < 1e-10) {
        /* Newton on the logarithm: erfc itself runs out of exponents. */
        const double wanted = __nv_log(tail);
        for (int i = 0; i < 3; i++) {
            const double e = __nv_erfcx(x);
            x += (__nv_log(e) - x * x - wanted) * 0.88622692545275801365 * e;
        }
        return y > 1.0 ? -x : x;
    }
    for (int i = 0; i < 3; i++) {
        const double error = clc_erfc(x) - tail;
        const double slope = 1.12837916709551257390 * __nv_exp(-x * x);
        x += error / (slope - x * error);
    }
    return y > 1.0 ? -x : x;
}
DEV float __nv_erfcinvf(float y) { return (float)__nv_erfcinv((double)y); }
DEV double __nv_erfinv(double y)
{
    const double a = __builtin_fabs(y);
    if (!(a <= 1.0))
        return __builtin_nan("");
    if (a > 0.5)
        return __builtin_copysign(__nv_erfcinv(1.0 - a), y);
    return __builtin_copysign(erfinv_middle(a), y);
}
DEV float __nv_erfinvf(float y) { return (float)__nv_erfinv((double)y); }

DEV double __nv_normcdf(double x)
{
    /* x / sqrt(2) in two parts: erfc's tail magnifies the error of its argument. */
    const double h = 0.70710678118654752440, l = -4.8336466567264567e-17;
    const double hi = -x * h, lo = __builtin_fma(-x, h, -hi) - x * l;
    const double v = clc_erfc(hi);
    return 0.5 * (hi > 0.0 && hi < 28.0 ? __builtin_fma(-2.0 * hi * v, lo, v) : v);
}
DEV float __nv_normcdff(float x) { return (float)__nv_normcdf((double)x); }
DEV double __nv_normcdfinv(double p) { return -1.41421356237309504880 * __nv_erfcinv(2.0 * p); }
DEV float __nv_normcdfinvf(float p) { return (float)__nv_normcdfinv((double)p); }

#include "bessel.inc"
#include "simd.inc"

/* --- What vtables name for functions that are not there ---------------------------------------- */

DEV void __cxa_pure_virtual() { __builtin_trap(); }
DEV void __cxa_deleted_virtual() { __builtin_trap(); }
