/* Texture and surface objects: the runtime's descriptions of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/texture.h"

#include "runtime/rt.h"

struct cudaChannelFormatDesc weir_rt_CreateChannelDesc(int x, int y, int z, int w,
                                                       enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}

/* ---- in ---- */

static void read_channels(const struct cudaChannelFormatDesc *d, struct weir_texture_resource *out)
{
    out->bits[0] = d->x;
    out->bits[1] = d->y;
    out->bits[2] = d->z;
    out->bits[3] = d->w;
    out->format = (int)d->f;
}

static void read_resource(const struct cudaResourceDesc *r, struct weir_texture_resource *out)
{
    *out = (struct weir_texture_resource){.type = (int)r->resType, .flags = r->flags};
    switch (r->resType) {
    case cudaResourceTypeArray:
        out->memory = r->res.array.array;
        break;
    case cudaResourceTypeMipmappedArray:
        out->memory = r->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        out->memory = r->res.linear.devPtr;
        out->bytes = r->res.linear.sizeInBytes;
        read_channels(&r->res.linear.desc, out);
        break;
    case cudaResourceTypePitch2D:
        out->memory = r->res.pitch2D.devPtr;
        out->width = r->res.pitch2D.width;
        out->height = r->res.pitch2D.height;
        out->pitch = r->res.pitch2D.pitchInBytes;
        read_channels(&r->res.pitch2D.desc, out);
        break;
    default:
        break;
    }
}

static void read_sampler(const struct cudaTextureDesc *d, struct weir_texture_sampler *out)
{
    *out = (struct weir_texture_sampler){
        .linear = d->filterMode == cudaFilterModeLinear,
        .linear_levels = d->mipmapFilterMode == cudaFilterModeLinear,
        .as_float = d->readMode == cudaReadModeNormalizedFloat,
        .srgb = d->sRGB != 0,
        .normalized = d->normalizedCoords != 0,
        .seamless = d->seamlessCubemap != 0,
        .no_trilinear = d->disableTrilinearOptimization != 0,
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

static void read_view(const struct cudaResourceViewDesc *v, struct weir_texture_view *out)
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

static struct cudaChannelFormatDesc channels(const struct weir_texture_resource *r)
{
    return (struct cudaChannelFormatDesc){r->bits[0], r->bits[1], r->bits[2], r->bits[3],
                                          (enum cudaChannelFormatKind)r->format};
}

static void write_resource(const struct weir_texture_resource *r, struct cudaResourceDesc *out)
{
    *out = (struct cudaResourceDesc){.resType = (enum cudaResourceType)r->type, .flags = r->flags};
    switch (out->resType) {
    case cudaResourceTypeArray:
        out->res.array.array = r->memory;
        break;
    case cudaResourceTypeMipmappedArray:
        out->res.mipmap.mipmap = r->memory;
        break;
    case cudaResourceTypeLinear:
        out->res.linear.devPtr = r->memory;
        out->res.linear.sizeInBytes = r->bytes;
        out->res.linear.desc = channels(r);
        break;
    default:
        out->res.pitch2D.devPtr = r->memory;
        out->res.pitch2D.width = r->width;
        out->res.pitch2D.height = r->height;
        out->res.pitch2D.pitchInBytes = r->pitch;
        out->res.pitch2D.desc = channels(r);
        break;
    }
}

static void write_sampler(const struct weir_texture_sampler *s, struct cudaTextureDesc *out)
{
    *out = (struct cudaTextureDesc){
        .filterMode = s->linear ? cudaFilterModeLinear : cudaFilterModePoint,
        .readMode = s->as_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType,
        .sRGB = s->srgb,
        .normalizedCoords = s->normalized,
        .maxAnisotropy = s->anisotropy,
        .mipmapFilterMode = s->linear_levels ? cudaFilterModeLinear : cudaFilterModePoint,
        .mipmapLevelBias = s->bias,
        .minMipmapLevelClamp = s->least_level,
        .maxMipmapLevelClamp = s->most_level,
        .disableTrilinearOptimization = s->no_trilinear,
        .seamlessCubemap = s->seamless,
    };
    for (int k = 0; k < 3; k++)
        out->addressMode[k] = (enum cudaTextureAddressMode)s->address[k];
    for (int k = 0; k < 4; k++)
        out->borderColor[k] = s->border[k];
}

/* ---- calls ---- */

static enum weir_err create(const struct cudaResourceDesc *resource,
                            const struct cudaTextureDesc *texture,
                            const struct cudaResourceViewDesc *view, unsigned long long *out)
{
    struct weir_texture_resource r;
    struct weir_texture_sampler s;
    struct weir_texture_view v;

    read_resource(resource, &r);
    if (texture)
        read_sampler(texture, &s);
    if (view)
        read_view(view, &v);
    return weir_texture_create(&r, texture ? &s : NULL, view ? &v : NULL, out);
}

enum weir_err weir_rt_CreateTextureObject(cudaTextureObject_t *pTexObject,
                                          const struct cudaResourceDesc *pResDesc,
                                          const struct cudaTextureDesc *pTexDesc,
                                          const struct cudaResourceViewDesc *pResViewDesc)
{
    RT_REQUIRE(pTexObject);
    RT_REQUIRE(pResDesc);
    RT_REQUIRE(pTexDesc);
    return create(pResDesc, pTexDesc, pResViewDesc, pTexObject);
}

enum weir_err weir_rt_DestroyTextureObject(cudaTextureObject_t texObject)
{
    return weir_texture_destroy(texObject, false);
}

enum weir_err weir_rt_GetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                   cudaTextureObject_t texObject)
{
    const struct weir_texture *t;

    RT_REQUIRE(pResDesc);
    RT_TRY(weir_texture_find(texObject, false, &t));
    write_resource(&t->resource, pResDesc);
    return WEIR_OK;
}

enum weir_err weir_rt_GetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                  cudaTextureObject_t texObject)
{
    const struct weir_texture *t;

    RT_REQUIRE(pTexDesc);
    RT_TRY(weir_texture_find(texObject, false, &t));
    write_sampler(&t->sampler, pTexDesc);
    return WEIR_OK;
}

enum weir_err weir_rt_GetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                       cudaTextureObject_t texObject)
{
    const struct weir_texture *t;

    RT_REQUIRE(pResViewDesc);
    RT_TRY(weir_texture_find(texObject, false, &t));
    if (!t->has_view)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a texture made without a resource view");
    *pResViewDesc = (struct cudaResourceViewDesc){
        .format = (enum cudaResourceViewFormat)t->view.format,
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

enum weir_err weir_rt_CreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                          const struct cudaResourceDesc *pResDesc)
{
    RT_REQUIRE(pSurfObject);
    RT_REQUIRE(pResDesc);
    return create(pResDesc, NULL, NULL, pSurfObject);
}

enum weir_err weir_rt_DestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    return weir_texture_destroy(surfObject, true);
}

enum weir_err weir_rt_GetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                   cudaSurfaceObject_t surfObject)
{
    const struct weir_texture *t;

    RT_REQUIRE(pResDesc);
    RT_TRY(weir_texture_find(surfObject, true, &t));
    write_resource(&t->resource, pResDesc);
    return WEIR_OK;
}
