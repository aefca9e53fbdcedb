/* Texture and surface objects: the driver API's descriptions of them. The objects are the runtime's
 * too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/texture.h"

#include "driver/format.h"

/* ---- in ---- */

static enum weir_err read_resource(const CUDA_RESOURCE_DESC *r, struct weir_texture_resource *out)
{
    *out = (struct weir_texture_resource){.type = (int)r->resType, .flags = r->flags};
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->memory = r->res.array.hArray;
        return WEIR_OK;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->memory = r->res.mipmap.hMipmappedArray;
        return WEIR_OK;
    case CU_RESOURCE_TYPE_LINEAR:
        out->memory = weir_drv_pointer(r->res.linear.devPtr);
        out->bytes = r->res.linear.sizeInBytes;
        return weir_drv_format_read(r->res.linear.format, r->res.linear.numChannels, out->bits,
                                    &out->format);
    case CU_RESOURCE_TYPE_PITCH2D:
        out->memory = weir_drv_pointer(r->res.pitch2D.devPtr);
        out->width = r->res.pitch2D.width;
        out->height = r->res.pitch2D.height;
        out->pitch = r->res.pitch2D.pitchInBytes;
        return weir_drv_format_read(r->res.pitch2D.format, r->res.pitch2D.numChannels, out->bits,
                                    &out->format);
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "resource of type %d", (int)r->resType);
    }
}

/* Integers of 8 and 16 bits become floats unless told otherwise; those of 32 bits never do. */
static void read_sampler(const CUDA_TEXTURE_DESC *d, struct weir_texture_sampler *out)
{
    *out = (struct weir_texture_sampler){
        .linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR,
        .linear_levels = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR,
        .as_float = !(d->flags & CU_TRSF_READ_AS_INTEGER),
        .small_as_float = true,
        .srgb = d->flags & CU_TRSF_SRGB,
        .normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES,
        .seamless = d->flags & CU_TRSF_SEAMLESS_CUBEMAP,
        .no_trilinear = d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION,
        .anisotropy = d->maxAnisotropy,
        .bias = d->mipmapLevelBias,
        .least_level = d->minMipmapLevelClamp,
        .most_level = d->maxMipmapLevelClamp,
    };
    for (int k = 0; k < 3; k++)
        out->address[k] = (int)d->addressMode[k];
    for (int k = 0; k < 4; k++)
        out->border[k] = d->borderColor[k];
}

static void read_view(const CUDA_RESOURCE_VIEW_DESC *v, struct weir_texture_view *out)
{
    *out = (struct weir_texture_view){
        .format = (int)v->format,
        .width = v->width,
        .height = v->height,
        .depth = v->depth,
        .first_level = v->firstMipmapLevel,
        .last_level = v->lastMipmapLevel,
        .first_layer = v->firstLayer,
        .last_layer = v->lastLayer,
    };
}

/* ---- out ---- */

static void write_resource(const struct weir_texture_resource *r, CUDA_RESOURCE_DESC *out)
{
    unsigned channels;
    CUarray_format format = weir_drv_format_of(r->bits, r->format, &channels);

    *out = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)r->type, .flags = r->flags};
    switch (out->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->res.array.hArray = r->memory;
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->res.mipmap.hMipmappedArray = r->memory;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        out->res.linear.devPtr = (CUdeviceptr)(uintptr_t)r->memory;
        out->res.linear.format = format;
        out->res.linear.numChannels = channels;
        out->res.linear.sizeInBytes = r->bytes;
        break;
    default:
        out->res.pitch2D.devPtr = (CUdeviceptr)(uintptr_t)r->memory;
        out->res.pitch2D.format = format;
        out->res.pitch2D.numChannels = channels;
        out->res.pitch2D.width = r->width;
        out->res.pitch2D.height = r->height;
        out->res.pitch2D.pitchInBytes = r->pitch;
        break;
    }
}

static void write_sampler(const struct weir_texture_sampler *s, CUDA_TEXTURE_DESC *out)
{
    *out = (CUDA_TEXTURE_DESC){
        .filterMode = s->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .flags = (s->as_float ? 0 : CU_TRSF_READ_AS_INTEGER) | (s->srgb ? CU_TRSF_SRGB : 0) |
                 (s->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
                 (s->seamless ? CU_TRSF_SEAMLESS_CUBEMAP : 0) |
                 (s->no_trilinear ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0),
        .maxAnisotropy = s->anisotropy,
        .mipmapFilterMode = s->linear_levels ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
        .mipmapLevelBias = s->bias,
        .minMipmapLevelClamp = s->least_level,
        .maxMipmapLevelClamp = s->most_level,
    };
    for (int k = 0; k < 3; k++)
        out->addressMode[k] = (CUaddress_mode)s->address[k];
    for (int k = 0; k < 4; k++)
        out->borderColor[k] = s->border[k];
}

/* ---- calls ---- */

/* The driver API has no words for what is wrong with a format. */
static enum weir_err create(const struct weir_texture_resource *r,
                            const struct weir_texture_sampler *s, const struct weir_texture_view *v,
                            unsigned long long *out)
{
    enum weir_err err = weir_texture_create(r, s, v, out);

    return err == WEIR_ERR_INVALID_CHANNEL_DESCRIPTOR || err == WEIR_ERR_INVALID_FILTER_SETTING ||
                   err == WEIR_ERR_INVALID_NORM_SETTING
               ? WEIR_ERR_INVALID_VALUE
               : err;
}

enum weir_err weir_drv_TexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                       const CUDA_TEXTURE_DESC *pTexDesc,
                                       const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct weir_texture_resource r;
    struct weir_texture_sampler s;
    struct weir_texture_view v;

    DRV_REQUIRE(pTexObject);
    DRV_REQUIRE(pResDesc);
    DRV_REQUIRE(pTexDesc);
    DRV_TRY(read_resource(pResDesc, &r));
    read_sampler(pTexDesc, &s);
    if (pResViewDesc)
        read_view(pResViewDesc, &v);
    return create(&r, &s, pResViewDesc ? &v : NULL, pTexObject);
}

enum weir_err weir_drv_TexObjectDestroy(CUtexObject texObject)
{
    return weir_texture_destroy(texObject, false);
}

enum weir_err weir_drv_TexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    const struct weir_texture *t;

    DRV_REQUIRE(pResDesc);
    DRV_TRY(weir_texture_find(texObject, false, &t));
    write_resource(&t->resource, pResDesc);
    return WEIR_OK;
}

enum weir_err weir_drv_TexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                                    CUtexObject texObject)
{
    const struct weir_texture *t;

    DRV_REQUIRE(pResViewDesc);
    DRV_TRY(weir_texture_find(texObject, false, &t));
    if (!t->has_view)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a texture made without a resource view");
    *pResViewDesc = (CUDA_RESOURCE_VIEW_DESC){
        .format = (CUresourceViewFormat)t->view.format,
        .width = t->view.width,
        .height = t->view.height,
        .depth = t->view.depth,
        .firstMipmapLevel = t->view.first_level,
        .lastMipmapLevel = t->view.last_level,
        .firstLayer = t->view.first_layer,
        .lastLayer = t->view.last_layer,
    };
    return WEIR_OK;
}

enum weir_err weir_drv_TexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    const struct weir_texture *t;

    DRV_REQUIRE(pTexDesc);
    DRV_TRY(weir_texture_find(texObject, false, &t));
    write_sampler(&t->sampler, pTexDesc);
    return WEIR_OK;
}

enum weir_err weir_drv_SurfObjectCreate(CUsurfObject *pSurfObject,
                                        const CUDA_RESOURCE_DESC *pResDesc)
{
    struct weir_texture_resource r;

    DRV_REQUIRE(pSurfObject);
    DRV_REQUIRE(pResDesc);
    DRV_TRY(read_resource(pResDesc, &r));
    return create(&r, NULL, NULL, pSurfObject);
}

enum weir_err weir_drv_SurfObjectDestroy(CUsurfObject surfObject)
{
    return weir_texture_destroy(surfObject, true);
}

enum weir_err weir_drv_SurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc,
                                                 CUsurfObject surfObject)
{
    const struct weir_texture *t;

    DRV_REQUIRE(pResDesc);
    DRV_TRY(weir_texture_find(surfObject, true, &t));
    write_resource(&t->resource, pResDesc);
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                        CUarray_format format, unsigned numChannels,
                                                        CUdevice dev)
{
    int bits[4] = {0}, kind;

    DRV_REQUIRE(maxWidthInElements);
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(weir_drv_format_read(format, numChannels, bits, &kind));
    return weir_texture_linear_most(&weir_core.contexts[dev], bits, kind, maxWidthInElements);
}
