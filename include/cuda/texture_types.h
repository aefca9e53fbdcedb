/* Texture objects: the handle, and how a program describes sampling.
 * SPDX-License-Identifier: Apache-2.0 */
/* The second name is the toolkit's own: programs ask for it, and its headers may come first. */
#if !defined(WEIR_CUDA_TEXTURE_TYPES_H) && !defined(__TEXTURE_TYPES_H__)
#define WEIR_CUDA_TEXTURE_TYPES_H
#define __TEXTURE_TYPES_H__

#define cudaTextureType1D             0x01
#define cudaTextureType2D             0x02
#define cudaTextureType3D             0x03
#define cudaTextureTypeCubemap        0x0c
#define cudaTextureType1DLayered      0xf1
#define cudaTextureType2DLayered      0xf2
#define cudaTextureTypeCubemapLayered 0xfc

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};

enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };

enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias;
    float minMipmapLevelClamp;
    float maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    int seamlessCubemap;
};

typedef unsigned long long cudaTextureObject_t;

#endif
