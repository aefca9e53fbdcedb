/* Structs of CUDA 12 that differ from those of 13, for the rows WEIR_API_12 of api/runtime.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_CUDA12_H
#define WEIR_RUNTIME_CUDA12_H

#include "cuda/cuda_runtime_api.h"

struct weir_rt_12_device_prop {
#define WEIR_PROP12(type, member)              type member;
#define WEIR_PROP12_ARRAY(type, member, count) type member[count];
#define WEIR_PROP12_OLD(member, id)            int member;
#include "properties12.def"
#undef WEIR_PROP12
#undef WEIR_PROP12_ARRAY
#undef WEIR_PROP12_OLD
    int reserved[63];
};
_Static_assert(sizeof(struct weir_rt_12_device_prop) == 1032, "CUDA 12's cudaDeviceProp");

/* 13's has reserved members behind these. */
struct weir_rt_12_pointer_attributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
_Static_assert(sizeof(struct weir_rt_12_pointer_attributes) == 24,
               "CUDA 12's cudaPointerAttributes");

struct weir_rt_12_resource_desc {
    enum cudaResourceType resType;
    union {
        void *handle; /* array, mipmap: all there is */
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
_Static_assert(sizeof(struct weir_rt_12_resource_desc) == 64, "CUDA 12's cudaResourceDesc");

struct weir_rt_12_resource_view_desc {
    enum cudaResourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
_Static_assert(sizeof(struct weir_rt_12_resource_view_desc) == 48,
               "CUDA 12's cudaResourceViewDesc");

#endif
