/* Texture and surface objects: descriptions that a program hands to kernels by a number. The
 * instructions that read them are codegen's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "runtime/rt.h"

#define OBJECT_SLOT 512u
#define OBJECT_MAX  (1u << 18)

struct object {
    struct weir_slot slot; /* first: handle */
    bool surface, has_view;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
};

_Static_assert(sizeof(struct object) <= OBJECT_SLOT, "slot size of texture objects");

struct cudaChannelFormatDesc weir_rt_CreateChannelDesc(int x, int y, int z, int w,
                                                       enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}

static enum weir_err objects(struct weir_slots **out)
{
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&weir_core.lock);
    if (!weir_core.textures.base)
        err = weir_slots_init(&weir_core.textures, OBJECT_SLOT, OBJECT_MAX);
    weir_lock_release(&weir_core.lock);
    *out = &weir_core.textures;
    return err;
}

static enum weir_err check_memory(const void *ptr, size_t bytes)
{
    struct weir_mem_info info;

    if (!ptr || !weir_mem_find(ptr, &info) || bytes > info.base + info.bytes - (uintptr_t)ptr)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %p under a texture", bytes, ptr);
    return WEIR_OK;
}

static enum weir_err check_resource(const struct cudaResourceDesc *r, bool surface)
{
    struct weir_array *a;

    switch (r->resType) {
    case cudaResourceTypeArray:
        return weir_array_get(r->res.array.array, &a);
    case cudaResourceTypeLinear:
        if (surface)
            break;
        return check_memory(r->res.linear.devPtr, r->res.linear.sizeInBytes);
    case cudaResourceTypePitch2D:
        if (surface || r->res.pitch2D.height == 0)
            break;
        return check_memory(r->res.pitch2D.devPtr,
                            r->res.pitch2D.pitchInBytes * (r->res.pitch2D.height - 1) +
                                r->res.pitch2D.width);
    case cudaResourceTypeMipmappedArray:
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a texture of a mipmapped array");
    default:
        break;
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "resource of type %d", (int)r->resType);
}

static enum weir_err create(const struct cudaResourceDesc *resource,
                            const struct cudaTextureDesc *texture,
                            const struct cudaResourceViewDesc *view, unsigned long long *out)
{
    struct weir_slots *all;
    struct object *o;

    RT_TRY(check_resource(resource, !texture));
    RT_TRY(objects(&all));
    o = weir_slots_take(all);
    if (!o)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many textures");
    o->surface = !texture;
    o->resource = *resource;
    o->texture = texture ? *texture : (struct cudaTextureDesc){0};
    o->has_view = view != NULL;
    o->view = view ? *view : (struct cudaResourceViewDesc){0};
    weir_slot_publish(&o->slot);
    *out = (uintptr_t)o;
    return WEIR_OK;
}

static enum weir_err find(unsigned long long handle, bool surface, struct object **out)
{
    *out = weir_core.textures.base
               ? weir_slots_check(&weir_core.textures, (const void *)(uintptr_t)handle)
               : NULL;
    if (!*out || (*out)->surface != surface)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no such object", handle);
    return WEIR_OK;
}

static enum weir_err destroy(unsigned long long handle, bool surface)
{
    struct object *o;

    if (!handle)
        return WEIR_OK;
    RT_TRY(find(handle, surface, &o));
    if (!weir_slot_kill(&o->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "texture destroyed twice");
    weir_slots_give(&weir_core.textures, o);
    return WEIR_OK;
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
    return destroy(texObject, false);
}

enum weir_err weir_rt_GetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                   cudaTextureObject_t texObject)
{
    struct object *o;

    RT_REQUIRE(pResDesc);
    RT_TRY(find(texObject, false, &o));
    *pResDesc = o->resource;
    return WEIR_OK;
}

enum weir_err weir_rt_GetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                  cudaTextureObject_t texObject)
{
    struct object *o;

    RT_REQUIRE(pTexDesc);
    RT_TRY(find(texObject, false, &o));
    *pTexDesc = o->texture;
    return WEIR_OK;
}

enum weir_err weir_rt_GetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                       cudaTextureObject_t texObject)
{
    struct object *o;

    RT_REQUIRE(pResViewDesc);
    RT_TRY(find(texObject, false, &o));
    if (!o->has_view)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a texture made without a resource view");
    *pResViewDesc = o->view;
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
    return destroy(surfObject, true);
}

enum weir_err weir_rt_GetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                   cudaSurfaceObject_t surfObject)
{
    struct object *o;

    RT_REQUIRE(pResDesc);
    RT_TRY(find(surfObject, true, &o));
    *pResDesc = o->resource;
    return WEIR_OK;
}
