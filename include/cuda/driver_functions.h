/* Makers of the three small structs of 3D copies.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_DRIVER_FUNCTIONS_H) && !defined(__DRIVER_FUNCTIONS_H__)
#define WEIR_CUDA_DRIVER_FUNCTIONS_H
#define __DRIVER_FUNCTIONS_H__

#include "driver_types.h"

static __inline__ __host__ struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch,
                                                                     size_t xsize, size_t ysize)
{
    struct cudaPitchedPtr p;
    p.ptr = ptr, p.pitch = pitch, p.xsize = xsize, p.ysize = ysize;
    return p;
}

static __inline__ __host__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos p;
    p.x = x, p.y = y, p.z = z;
    return p;
}

static __inline__ __host__ struct cudaExtent make_cudaExtent(size_t width, size_t height,
                                                             size_t depth)
{
    struct cudaExtent e;
    e.width = width, e.height = height, e.depth = depth;
    return e;
}

#endif
