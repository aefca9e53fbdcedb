/* Texture and surface objects in device code: CUDA's functions over the PTX instructions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_WEIR_TEXTURES_H
#define WEIR_CC_WEIR_TEXTURES_H

/* ---- elements ---- */

/* The four words that a fetch gives. */
struct __weir_words {
    unsigned v[4];
};

template <class C> static __device__ inline C __weir_channel(unsigned v)
{
    return (C)v;
}
template <> __device__ inline float __weir_channel<float>(unsigned v)
{
    return __int_as_float((int)v);
}

template <class T> struct __weir_texel {
    static __device__ inline T from(const __weir_words &w) { return __weir_channel<T>(w.v[0]); }
};

#define WEIR_TEXEL(C, NAME)                                                                        \
    template <> struct __weir_texel<NAME##1> {                                                     \
        static __device__ inline NAME##1 from(const __weir_words &w)                               \
        {                                                                                          \
            return make_##NAME##1(__weir_channel<C>(w.v[0]));                                      \
        }                                                                                          \
    };                                                                                             \
    template <> struct __weir_texel<NAME##2> {                                                     \
        static __device__ inline NAME##2 from(const __weir_words &w)                               \
        {                                                                                          \
            return make_##NAME##2(__weir_channel<C>(w.v[0]), __weir_channel<C>(w.v[1]));           \
        }                                                                                          \
    };                                                                                             \
    template <> struct __weir_texel<NAME##4> {                                                     \
        static __device__ inline NAME##4 from(const __weir_words &w)                               \
        {                                                                                          \
            return make_##NAME##4(__weir_channel<C>(w.v[0]), __weir_channel<C>(w.v[1]),            \
                                  __weir_channel<C>(w.v[2]), __weir_channel<C>(w.v[3]));           \
        }                                                                                          \
    };
WEIR_TEXEL(signed char, char)
WEIR_TEXEL(unsigned char, uchar)
WEIR_TEXEL(short, short)
WEIR_TEXEL(unsigned short, ushort)
WEIR_TEXEL(int, int)
WEIR_TEXEL(unsigned, uint)
WEIR_TEXEL(float, float)
#undef WEIR_TEXEL

/* ---- fetches ---- */

/* A function that gives the element, one that stores it, and for what is resident: everything is.
 * CODE: the instruction and its inputs, the object being %4. */
#define WEIR_UNPACK(...) __VA_ARGS__
#define WEIR_FETCH(NAME, PARAMS, ARGS, PTX, INPUTS)                                                \
    static __device__ inline __weir_words __weir_##NAME(cudaTextureObject_t o, WEIR_UNPACK PARAMS) \
    {                                                                                              \
        __weir_words w;                                                                            \
        __asm__ __volatile__(PTX                                                                   \
                             : "=r"(w.v[0]), "=r"(w.v[1]), "=r"(w.v[2]), "=r"(w.v[3])              \
                             : "l"(o), WEIR_UNPACK INPUTS);                                        \
        return w;                                                                                  \
    }                                                                                              \
    template <class T> static __device__ inline T NAME(cudaTextureObject_t o, WEIR_UNPACK PARAMS)  \
    {                                                                                              \
        return __weir_texel<T>::from(__weir_##NAME(o, WEIR_UNPACK ARGS));                          \
    }                                                                                              \
    template <class T>                                                                             \
    static __device__ inline void NAME(T *to, cudaTextureObject_t o, WEIR_UNPACK PARAMS)           \
    {                                                                                              \
        *to = __weir_texel<T>::from(__weir_##NAME(o, WEIR_UNPACK ARGS));                           \
    }                                                                                              \
    template <class T>                                                                             \
    static __device__ inline T NAME(cudaTextureObject_t o, WEIR_UNPACK PARAMS, bool *resident)     \
    {                                                                                              \
        *resident = true;                                                                          \
        return __weir_texel<T>::from(__weir_##NAME(o, WEIR_UNPACK ARGS));                          \
    }

#define WEIR_TEX(FORM, PLACE) FORM ".v4.u32.f32 {%0, %1, %2, %3}, [%4, " PLACE "]"
#define WEIR_1                "{%5}"
#define WEIR_2                "{%5, %6}"
#define WEIR_3                "{%5, %6, %7, %7}"
#define WEIR_L2               "{%5, %6, %7, %7}"
#define WEIR_L3               "{%5, %6, %7, %8}"

WEIR_FETCH(tex1Dfetch, (int x), (x), "tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];", ("r"(x)))
WEIR_FETCH(tex1D, (float x), (x), WEIR_TEX("tex.1d", WEIR_1) ";", ("f"(x)))
WEIR_FETCH(tex1DLod, (float x, float level), (x, level), WEIR_TEX("tex.level.1d", WEIR_1) ", %6;",
           ("f"(x), "f"(level)))
WEIR_FETCH(tex1DGrad, (float x, float dx, float dy), (x, dx, dy),
           WEIR_TEX("tex.grad.1d", WEIR_1) ", {%6}, {%7};", ("f"(x), "f"(dx), "f"(dy)))
WEIR_FETCH(tex2D, (float x, float y), (x, y), WEIR_TEX("tex.2d", WEIR_2) ";", ("f"(x), "f"(y)))
WEIR_FETCH(tex2DLod, (float x, float y, float level), (x, y, level),
           WEIR_TEX("tex.level.2d", WEIR_2) ", %7;", ("f"(x), "f"(y), "f"(level)))
WEIR_FETCH(tex2DGrad, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy),
           WEIR_TEX("tex.grad.2d", WEIR_2) ", {%7, %8}, {%9, %10};",
           ("f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y)))
WEIR_FETCH(tex3D, (float x, float y, float z), (x, y, z), WEIR_TEX("tex.3d", WEIR_3) ";",
           ("f"(x), "f"(y), "f"(z)))
WEIR_FETCH(tex3DLod, (float x, float y, float z, float level), (x, y, z, level),
           WEIR_TEX("tex.level.3d", WEIR_3) ", %8;", ("f"(x), "f"(y), "f"(z), "f"(level)))
WEIR_FETCH(tex3DGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
           WEIR_TEX("tex.grad.3d", WEIR_3) ", {%8, %9, %10, %10}, {%11, %12, %13, %13};",
           ("f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y),
            "f"(dy.z)))
WEIR_FETCH(tex1DLayered, (float x, int layer), (x, layer), WEIR_TEX("tex.a1d", WEIR_2) ";",
           ("r"(layer), "f"(x)))
WEIR_FETCH(tex1DLayeredLod, (float x, int layer, float level), (x, layer, level),
           WEIR_TEX("tex.level.a1d", WEIR_2) ", %7;", ("r"(layer), "f"(x), "f"(level)))
WEIR_FETCH(tex1DLayeredGrad, (float x, int layer, float dx, float dy), (x, layer, dx, dy),
           WEIR_TEX("tex.grad.a1d", WEIR_2) ", {%7}, {%8};", ("r"(layer), "f"(x), "f"(dx), "f"(dy)))
WEIR_FETCH(tex2DLayered, (float x, float y, int layer), (x, y, layer),
           WEIR_TEX("tex.a2d", WEIR_L2) ";", ("r"(layer), "f"(x), "f"(y)))
WEIR_FETCH(tex2DLayeredLod, (float x, float y, int layer, float level), (x, y, layer, level),
           WEIR_TEX("tex.level.a2d", WEIR_L2) ", %8;", ("r"(layer), "f"(x), "f"(y), "f"(level)))
WEIR_FETCH(tex2DLayeredGrad, (float x, float y, int layer, float2 dx, float2 dy),
           (x, y, layer, dx, dy), WEIR_TEX("tex.grad.a2d", WEIR_L2) ", {%8, %9}, {%10, %11};",
           ("r"(layer), "f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y)))
WEIR_FETCH(texCubemap, (float x, float y, float z), (x, y, z), WEIR_TEX("tex.cube", WEIR_3) ";",
           ("f"(x), "f"(y), "f"(z)))
WEIR_FETCH(texCubemapLod, (float x, float y, float z, float level), (x, y, z, level),
           WEIR_TEX("tex.level.cube", WEIR_3) ", %8;", ("f"(x), "f"(y), "f"(z), "f"(level)))
WEIR_FETCH(texCubemapGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy),
           WEIR_TEX("tex.grad.cube", WEIR_3) ", {%8, %9, %10, %10}, {%11, %12, %13, %13};",
           ("f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y),
            "f"(dy.z)))
WEIR_FETCH(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer),
           WEIR_TEX("tex.acube", WEIR_L3) ";", ("r"(layer), "f"(x), "f"(y), "f"(z)))
WEIR_FETCH(texCubemapLayeredLod, (float x, float y, float z, int layer, float level),
           (x, y, z, layer, level), WEIR_TEX("tex.level.acube", WEIR_L3) ", %9;",
           ("r"(layer), "f"(x), "f"(y), "f"(z), "f"(level)))
WEIR_FETCH(texCubemapLayeredGrad, (float x, float y, float z, int layer, float4 dx, float4 dy),
           (x, y, z, layer, dx, dy),
           WEIR_TEX("tex.grad.acube", WEIR_L3) ", {%9, %10, %11, %11}, {%12, %13, %14, %14};",
           ("r"(layer), "f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x),
            "f"(dy.y), "f"(dy.z)))

WEIR_FETCH(__weir_gather_r, (float x, float y), (x, y), WEIR_TEX("tld4.r.2d", WEIR_2) ";",
           ("f"(x), "f"(y)))
WEIR_FETCH(__weir_gather_g, (float x, float y), (x, y), WEIR_TEX("tld4.g.2d", WEIR_2) ";",
           ("f"(x), "f"(y)))
WEIR_FETCH(__weir_gather_b, (float x, float y), (x, y), WEIR_TEX("tld4.b.2d", WEIR_2) ";",
           ("f"(x), "f"(y)))
WEIR_FETCH(__weir_gather_a, (float x, float y), (x, y), WEIR_TEX("tld4.a.2d", WEIR_2) ";",
           ("f"(x), "f"(y)))

template <class T>
static __device__ inline T tex2Dgather(cudaTextureObject_t o, float x, float y, int comp = 0)
{
    return comp == 1   ? __weir_gather_g<T>(o, x, y)
           : comp == 2 ? __weir_gather_b<T>(o, x, y)
           : comp == 3 ? __weir_gather_a<T>(o, x, y)
                       : __weir_gather_r<T>(o, x, y);
}
template <class T>
static __device__ inline void tex2Dgather(T *to, cudaTextureObject_t o, float x, float y,
                                          int comp = 0)
{
    *to = tex2Dgather<T>(o, x, y, comp);
}
#undef WEIR_FETCH
#undef WEIR_TEX
#undef WEIR_1
#undef WEIR_2
#undef WEIR_3
#undef WEIR_L2
#undef WEIR_L3

/* ---- surfaces ---- */

/* Bytes of an element, by their number: the channels do not matter. */
template <unsigned long N> struct __weir_bytes;
template <> struct __weir_bytes<1> {
    short v;
};
template <> struct __weir_bytes<2> {
    short v;
};
template <> struct __weir_bytes<4> {
    int v;
};
template <> struct __weir_bytes<8> {
    int x, y;
};
template <> struct __weir_bytes<16> {
    int x, y, z, w;
};

/* One mode: %0 ... are the element's registers, the object and the place follow. P1, P2, P4: the
 * place behind that many registers. */
#define WEIR_SURFACE_MODE(NAME, GEOMETRY, PARAMS, MODE, P1, P2, P4, INPUTS)                        \
    static __device__ inline void __weir_##NAME##MODE##_read(                                      \
        __weir_bytes<1> &b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                             \
    {                                                                                              \
        __asm__ __volatile__("suld.b." GEOMETRY ".b8." #MODE " {%0}, [%1, " P1 "];"                \
                             : "=h"(b.v)                                                           \
                             : "l"(o), WEIR_UNPACK INPUTS                                          \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_read(                                      \
        __weir_bytes<2> &b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                             \
    {                                                                                              \
        __asm__ __volatile__("suld.b." GEOMETRY ".b16." #MODE " {%0}, [%1, " P1 "];"               \
                             : "=h"(b.v)                                                           \
                             : "l"(o), WEIR_UNPACK INPUTS                                          \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_read(                                      \
        __weir_bytes<4> &b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                             \
    {                                                                                              \
        __asm__ __volatile__("suld.b." GEOMETRY ".b32." #MODE " {%0}, [%1, " P1 "];"               \
                             : "=r"(b.v)                                                           \
                             : "l"(o), WEIR_UNPACK INPUTS                                          \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_read(                                      \
        __weir_bytes<8> &b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                             \
    {                                                                                              \
        __asm__ __volatile__("suld.b." GEOMETRY ".v2.b32." #MODE " {%0, %1}, [%2, " P2 "];"        \
                             : "=r"(b.x), "=r"(b.y)                                                \
                             : "l"(o), WEIR_UNPACK INPUTS                                          \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_read(                                      \
        __weir_bytes<16> &b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                            \
    {                                                                                              \
        __asm__ __volatile__("suld.b." GEOMETRY ".v4.b32." #MODE " {%0, %1, %2, %3}, [%4, " P4     \
                             "];"                                                                  \
                             : "=r"(b.x), "=r"(b.y), "=r"(b.z), "=r"(b.w)                          \
                             : "l"(o), WEIR_UNPACK INPUTS                                          \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_write(                                     \
        __weir_bytes<1> b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                              \
    {                                                                                              \
        __asm__ __volatile__("sust.b." GEOMETRY ".b8." #MODE " [%1, " P1 "], {%0};"                \
                             :                                                                     \
                             : "h"(b.v), "l"(o), WEIR_UNPACK INPUTS                                \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_write(                                     \
        __weir_bytes<2> b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                              \
    {                                                                                              \
        __asm__ __volatile__("sust.b." GEOMETRY ".b16." #MODE " [%1, " P1 "], {%0};"               \
                             :                                                                     \
                             : "h"(b.v), "l"(o), WEIR_UNPACK INPUTS                                \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_write(                                     \
        __weir_bytes<4> b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                              \
    {                                                                                              \
        __asm__ __volatile__("sust.b." GEOMETRY ".b32." #MODE " [%1, " P1 "], {%0};"               \
                             :                                                                     \
                             : "r"(b.v), "l"(o), WEIR_UNPACK INPUTS                                \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_write(                                     \
        __weir_bytes<8> b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                              \
    {                                                                                              \
        __asm__ __volatile__("sust.b." GEOMETRY ".v2.b32." #MODE " [%2, " P2 "], {%0, %1};"        \
                             :                                                                     \
                             : "r"(b.x), "r"(b.y), "l"(o), WEIR_UNPACK INPUTS                      \
                             : "memory");                                                          \
    }                                                                                              \
    static __device__ inline void __weir_##NAME##MODE##_write(                                     \
        __weir_bytes<16> b, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS)                             \
    {                                                                                              \
        __asm__ __volatile__("sust.b." GEOMETRY ".v4.b32." #MODE " [%4, " P4                       \
                             "], {%0, %1, %2, %3};"                                                \
                             :                                                                     \
                             : "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w), "l"(o), WEIR_UNPACK INPUTS  \
                             : "memory");                                                          \
    }

#define WEIR_SURFACE(NAME, GEOMETRY, PARAMS, ARGS, P1, P2, P4, INPUTS)                             \
    WEIR_SURFACE_MODE(NAME, GEOMETRY, PARAMS, trap, P1, P2, P4, INPUTS)                            \
    WEIR_SURFACE_MODE(NAME, GEOMETRY, PARAMS, clamp, P1, P2, P4, INPUTS)                           \
    WEIR_SURFACE_MODE(NAME, GEOMETRY, PARAMS, zero, P1, P2, P4, INPUTS)                            \
    template <class T>                                                                             \
    static __device__ inline T NAME##read(cudaSurfaceObject_t o, WEIR_UNPACK PARAMS,               \
                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)     \
    {                                                                                              \
        __weir_bytes<sizeof(T)> b;                                                                 \
        T value;                                                                                   \
        if (mode == cudaBoundaryModeClamp)                                                         \
            __weir_##NAME##clamp_read(b, o, WEIR_UNPACK ARGS);                                     \
        else if (mode == cudaBoundaryModeZero)                                                     \
            __weir_##NAME##zero_read(b, o, WEIR_UNPACK ARGS);                                      \
        else                                                                                       \
            __weir_##NAME##trap_read(b, o, WEIR_UNPACK ARGS);                                      \
        __builtin_memcpy(&value, &b, sizeof(T));                                                   \
        return value;                                                                              \
    }                                                                                              \
    template <class T>                                                                             \
    static __device__ inline void NAME##read(T *to, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS,     \
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)  \
    {                                                                                              \
        *to = NAME##read<T>(o, WEIR_UNPACK ARGS, mode);                                            \
    }                                                                                              \
    template <class T>                                                                             \
    static __device__ inline void NAME##write(T value, cudaSurfaceObject_t o, WEIR_UNPACK PARAMS,  \
                                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    {                                                                                              \
        __weir_bytes<sizeof(T)> b = {};                                                            \
        __builtin_memcpy(&b, &value, sizeof(T));                                                   \
        if (mode == cudaBoundaryModeClamp)                                                         \
            __weir_##NAME##clamp_write(b, o, WEIR_UNPACK ARGS);                                    \
        else if (mode == cudaBoundaryModeZero)                                                     \
            __weir_##NAME##zero_write(b, o, WEIR_UNPACK ARGS);                                     \
        else                                                                                       \
            __weir_##NAME##trap_write(b, o, WEIR_UNPACK ARGS);                                     \
    }

WEIR_SURFACE(surf1D, "1d", (int x), (x), "{%2}", "{%3}", "{%5}", ("r"(x)))
WEIR_SURFACE(surf2D, "2d", (int x, int y), (x, y), "{%2, %3}", "{%3, %4}", "{%5, %6}",
             ("r"(x), "r"(y)))
WEIR_SURFACE(surf3D, "3d", (int x, int y, int z), (x, y, z), "{%2, %3, %4, %4}", "{%3, %4, %5, %5}",
             "{%5, %6, %7, %7}", ("r"(x), "r"(y), "r"(z)))
WEIR_SURFACE(surf1DLayered, "a1d", (int x, int layer), (x, layer), "{%2, %3}", "{%3, %4}",
             "{%5, %6}", ("r"(layer), "r"(x)))
WEIR_SURFACE(surf2DLayered, "a2d", (int x, int y, int layer), (x, y, layer), "{%2, %3, %4, %4}",
             "{%3, %4, %5, %5}", "{%5, %6, %7, %7}", ("r"(layer), "r"(x), "r"(y)))
WEIR_SURFACE(surfCubemap, "a2d", (int x, int y, int face), (x, y, face), "{%2, %3, %4, %4}",
             "{%3, %4, %5, %5}", "{%5, %6, %7, %7}", ("r"(face), "r"(x), "r"(y)))
WEIR_SURFACE(surfCubemapLayered, "a2d", (int x, int y, int face), (x, y, face), "{%2, %3, %4, %4}",
             "{%3, %4, %5, %5}", "{%5, %6, %7, %7}", ("r"(face), "r"(x), "r"(y)))
#undef WEIR_SURFACE
#undef WEIR_SURFACE_MODE
#undef WEIR_UNPACK

#endif
