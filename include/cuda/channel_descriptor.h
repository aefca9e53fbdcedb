/* cudaCreateChannelDesc<T>(): the channel description of an element type, C++ only.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_CHANNEL_DESCRIPTOR_H) && !defined(__CHANNEL_DESCRIPTOR_H__)
#define WEIR_CUDA_CHANNEL_DESCRIPTOR_H
#define __CHANNEL_DESCRIPTOR_H__

#include "cuda_runtime_api.h"
#include "vector_types.h"

#ifdef __cplusplus

/* A type without a specialisation has no channels. */
template <class T> inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define WEIR_CUDA_CHANNELS(T, COUNT, KIND)                                                         \
    template <> inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc<T>()                   \
    {                                                                                              \
        const int bits = (int)(8 * sizeof(T) / COUNT);                                             \
        return cudaCreateChannelDesc(bits, COUNT > 1 ? bits : 0, COUNT > 2 ? bits : 0,             \
                                     COUNT > 3 ? bits : 0, cudaChannelFormatKind##KIND);           \
    }
#define WEIR_CUDA_CHANNELS_ALL(T, SCALAR, KIND)                                                    \
    WEIR_CUDA_CHANNELS(SCALAR, 1, KIND)                                                            \
    WEIR_CUDA_CHANNELS(T##1, 1, KIND)                                                              \
    WEIR_CUDA_CHANNELS(T##2, 2, KIND)                                                              \
    WEIR_CUDA_CHANNELS(T##4, 4, KIND)

WEIR_CUDA_CHANNELS(char, 1, Signed)
WEIR_CUDA_CHANNELS_ALL(char, signed char, Signed)
WEIR_CUDA_CHANNELS_ALL(uchar, unsigned char, Unsigned)
WEIR_CUDA_CHANNELS_ALL(short, short, Signed)
WEIR_CUDA_CHANNELS_ALL(ushort, unsigned short, Unsigned)
WEIR_CUDA_CHANNELS_ALL(int, int, Signed)
WEIR_CUDA_CHANNELS_ALL(uint, unsigned int, Unsigned)
WEIR_CUDA_CHANNELS_ALL(float, float, Float)

#undef WEIR_CUDA_CHANNELS_ALL
#undef WEIR_CUDA_CHANNELS

#define WEIR_CUDA_CHANNELS_HALF(NAME, Y, ZW)                                                       \
    static inline __host__ cudaChannelFormatDesc cudaCreateChannelDesc##NAME()                     \
    {                                                                                              \
        return cudaCreateChannelDesc(16, Y, ZW, ZW, cudaChannelFormatKindFloat);                   \
    }
WEIR_CUDA_CHANNELS_HALF(Half, 0, 0)
WEIR_CUDA_CHANNELS_HALF(Half1, 0, 0)
WEIR_CUDA_CHANNELS_HALF(Half2, 16, 0)
WEIR_CUDA_CHANNELS_HALF(Half4, 16, 16)
#undef WEIR_CUDA_CHANNELS_HALF

#endif
#endif
