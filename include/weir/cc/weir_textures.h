/* Textures and surfaces are not there yet: their functions say so where they are called.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CC_WEIR_TEXTURES_H
#define WEIR_CC_WEIR_TEXTURES_H

#define WEIR_NOT_YET __attribute__((unavailable("weir cc has no textures and surfaces yet")))
#define WEIR_TEXTURE(name)                                                                         \
    template <class T, class... Places>                                                            \
    __device__ T name(cudaTextureObject_t texture, Places... places) WEIR_NOT_YET;                 \
    template <class T, class... Places>                                                            \
    __device__ void name(T *to, cudaTextureObject_t texture, Places... places) WEIR_NOT_YET;
#define WEIR_SURFACE(name)                                                                         \
    template <class T, class... Places>                                                            \
    __device__ T name##read(cudaSurfaceObject_t surface, Places... places) WEIR_NOT_YET;           \
    template <class T, class... Places>                                                            \
    __device__ void name##read(T *to, cudaSurfaceObject_t surface, Places... places) WEIR_NOT_YET; \
    template <class T, class... Places>                                                            \
    __device__ void name##write(T value, cudaSurfaceObject_t surface, Places... places)            \
        WEIR_NOT_YET;

WEIR_TEXTURE(tex1Dfetch)
WEIR_TEXTURE(tex1D)
WEIR_TEXTURE(tex2D)
WEIR_TEXTURE(tex3D)
WEIR_TEXTURE(texCubemap)
WEIR_TEXTURE(tex1DLayered)
WEIR_TEXTURE(tex2DLayered)
WEIR_TEXTURE(texCubemapLayered)
WEIR_TEXTURE(tex1DLod)
WEIR_TEXTURE(tex2DLod)
WEIR_TEXTURE(tex3DLod)
WEIR_TEXTURE(tex2DLayeredLod)
WEIR_TEXTURE(tex1DGrad)
WEIR_TEXTURE(tex2DGrad)
WEIR_TEXTURE(tex3DGrad)
WEIR_TEXTURE(tex2Dgather)
WEIR_SURFACE(surf1D)
WEIR_SURFACE(surf2D)
WEIR_SURFACE(surf3D)
WEIR_SURFACE(surf1DLayered)
WEIR_SURFACE(surf2DLayered)
WEIR_SURFACE(surfCubemap)
#undef WEIR_TEXTURE
#undef WEIR_SURFACE
#undef WEIR_NOT_YET

#endif
