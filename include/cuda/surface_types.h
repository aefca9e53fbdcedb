/* Surface objects: the handle, and the modes of out-of-range accesses.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_SURFACE_TYPES_H) && !defined(__SURFACE_TYPES_H__)
#define WEIR_CUDA_SURFACE_TYPES_H
#define __SURFACE_TYPES_H__

#define cudaSurfaceType1D             0x01
#define cudaSurfaceType2D             0x02
#define cudaSurfaceType3D             0x03
#define cudaSurfaceTypeCubemap        0x0c
#define cudaSurfaceType1DLayered      0xf1
#define cudaSurfaceType2DLayered      0xf2
#define cudaSurfaceTypeCubemapLayered 0xfc

enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2
};

enum cudaSurfaceFormatMode { cudaFormatModeForced = 0, cudaFormatModeAuto = 1 };

typedef unsigned long long cudaSurfaceObject_t;

#endif
