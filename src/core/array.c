/* See array.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"

#include "base/log.h"
#include "core/mipmap.h"

#define FLAG_SURFACE 0x02u
#define FLAG_GATHER  0x08u
#define FLAG_COLOR   0x20u
#define LAYERS_MAX   2048u /* of an array; cubes count their faces */
#define ARRAY_SLOT   256u
#define ARRAY_MAX    (1u << 18)

_Static_assert(sizeof(struct weir_array) <= ARRAY_SLOT, "slot size of arrays");

static enum weir_err check_format(const struct weir_array_config *c, size_t *element_bytes)
{
    int total = 0, count = 0;

    for (int i = 0; i < 4; i++) {
        int bits = c->bits[i];

        if ((bits != 0 && bits != 8 && bits != 16 && bits != 32) ||
            (bits && i && bits != c->bits[0]) || (bits && i != count))
            return WEIR_FAIL(WEIR_ERR_INVALID_CHANNEL_DESCRIPTOR, "channels of %d, %d, %d, %d bits",
                             c->bits[0], c->bits[1], c->bits[2], c->bits[3]);
        total += bits;
        count += bits != 0;
    }
    if (count == 0 || count == 3 || c->format < 0 || c->format > 2)
        return WEIR_FAIL(WEIR_ERR_INVALID_CHANNEL_DESCRIPTOR, "%d channels of format %d", count,
                         c->format);
    *element_bytes = (size_t)total / 8;
    return WEIR_OK;
}

static size_t limit(const struct weir_context *ctx, int id)
{
    int value = 0;

    weir_context_attribute(ctx, id, &value);
    return (size_t)value;
}

static enum weir_err check_extent(const struct weir_context *ctx, const struct weir_array_config *c)
{
    bool layered = c->flags & WEIR_ARRAY_LAYERED, cube = c->flags & WEIR_ARRAY_CUBE;
    bool good;

    if (cube)
        good = c->width && c->width == c->height && c->width <= limit(ctx, WEIR_ATTR_TEXTURE_2D) &&
               (layered ? c->depth && c->depth % 6 == 0 && c->depth <= LAYERS_MAX : c->depth == 6);
    else if (layered)
        good = c->width && c->depth && c->depth <= LAYERS_MAX &&
               c->width <= limit(ctx, c->height ? WEIR_ATTR_TEXTURE_2D : WEIR_ATTR_TEXTURE_1D) &&
               c->height <= limit(ctx, WEIR_ATTR_TEXTURE_2D + 1);
    else if (c->depth)
        good = c->width && c->height && c->width <= limit(ctx, WEIR_ATTR_TEXTURE_3D) &&
               c->height <= limit(ctx, WEIR_ATTR_TEXTURE_3D + 1) &&
               c->depth <= limit(ctx, WEIR_ATTR_TEXTURE_3D + 2);
    else if (c->height)
        good = c->width && c->width <= limit(ctx, WEIR_ATTR_TEXTURE_2D) &&
               c->height <= limit(ctx, WEIR_ATTR_TEXTURE_2D + 1);
    else
        good = c->width && c->width <= limit(ctx, WEIR_ATTR_TEXTURE_1D);
    return good ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "array of %zu x %zu x %zu", c->width, c->height,
                            c->depth);
}

static enum weir_err slots(struct weir_slots **out)
{
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&weir_core.lock);
    if (!weir_core.arrays.base)
        err = weir_slots_init(&weir_core.arrays, ARRAY_SLOT, ARRAY_MAX);
    weir_lock_release(&weir_core.lock);
    *out = &weir_core.arrays;
    return err;
}

static enum weir_err fill(struct weir_array *a, struct weir_context *ctx,
                          const struct weir_array_config *c, size_t element_bytes)
{
    size_t bytes;
    void *memory;
    enum weir_err err;

    a->config = *c;
    a->device = ctx->ordinal;
    a->element_bytes = element_bytes;
    a->row_bytes = c->width * element_bytes;
    a->pitch = WEIR_ALIGN_UP(a->row_bytes, (size_t)64);
    a->rows = WEIR_MAX(c->height, 1);
    a->slices = WEIR_MAX(c->depth, 1);
    a->slice = a->pitch * a->rows;
    if (WEIR_MUL_OVERFLOWS(a->slice, a->slices, &bytes))
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "an array larger than the address space");
    /* Owned by itself: cudaFree must not take it. */
    err = weir_mem_alloc(WEIR_MEM_KIND_DEVICE, ctx->ordinal, bytes, 0, a, &memory);
    a->memory = memory;
    return err;
}

enum weir_err weir_array_create(struct weir_context *ctx, const struct weir_array_config *c,
                                struct weir_array **out)
{
    size_t element_bytes = 0;
    struct weir_slots *all;
    struct weir_array *a;
    enum weir_err err = check_format(c, &element_bytes);

    if (err == WEIR_OK)
        err = check_extent(ctx, c);
    if (err == WEIR_OK && c->flags & FLAG_GATHER &&
        (c->flags & (WEIR_ARRAY_LAYERED | WEIR_ARRAY_CUBE) || !c->height || c->depth))
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "texture gather of an array that is not 2D");
    if (err == WEIR_OK && c->flags & ~(FLAG_SURFACE | FLAG_GATHER | FLAG_COLOR |
                                       WEIR_ARRAY_LAYERED | WEIR_ARRAY_CUBE)) {
        weir_log_unsupported("sparse and deferred arrays", "cudaMallocArray");
        err = WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "array flags %#x", c->flags);
    }
    if (err == WEIR_OK)
        err = slots(&all);
    if (err != WEIR_OK)
        return err;
    a = weir_slots_take(all);
    if (!a)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many arrays");
    err = fill(a, ctx, c, element_bytes);
    if (err != WEIR_OK) {
        weir_slots_give(all, a);
        return err;
    }
    weir_slot_publish(&a->slot);
    *out = a;
    return WEIR_OK;
}

enum weir_err weir_array_free(const void *handle)
{
    struct weir_array *a;
    enum weir_err err = weir_array_get(handle, &a);

    if (err == WEIR_OK && weir_mipmap_has(a))
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a level of a mipmapped array");
    if (err == WEIR_OK && weir_model_call_rule(WEIR_CALL_FREE_ARRAY).waits_for_device)
        err = weir_context_wait_device(a->device);
    return err == WEIR_OK ? weir_array_destroy(a) : err;
}

enum weir_err weir_array_destroy(struct weir_array *a)
{
    enum weir_err err;

    if (!weir_slot_kill(&a->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "array freed twice");
    err = weir_mem_free(WEIR_MEM_KIND_DEVICE, a->memory);
    weir_slots_give(&weir_core.arrays, a);
    return err;
}

enum weir_err weir_array_get(const void *handle, struct weir_array **out)
{
    *out = weir_core.arrays.base ? weir_slots_check(&weir_core.arrays, handle) : NULL;
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no array, or a freed one",
                            handle);
}

void weir_array_reset_device(int device)
{
    if (!weir_core.arrays.base)
        return;
    for (uint32_t i = 0, used = weir_slots_used(&weir_core.arrays); i < used; i++) {
        struct weir_array *a = weir_slots_at(&weir_core.arrays, i);

        if (atomic_load(&a->slot.live) == WEIR_SLOT_LIVE && a->device == device)
            (void)!weir_array_destroy(a); /* it was live */
    }
}

static bool fits(size_t at, size_t count, size_t room)
{
    return at <= room && count <= room - at;
}

enum weir_err weir_array_place(const struct weir_array *a, size_t x, size_t y, size_t z,
                               size_t width, size_t height, size_t depth, char **out)
{
    if (!fits(x, width, a->row_bytes) || !fits(y, height, a->rows) || !fits(z, depth, a->slices))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "%zu bytes x %zu x %zu at %zu, %zu, %zu leave an array of %zu bytes x "
                         "%zu x %zu",
                         width, height, depth, x, y, z, a->row_bytes, a->rows, a->slices);
    *out = a->memory + z * a->slice + y * a->pitch + x;
    return WEIR_OK;
}

bool weir_array_find(const void *p, struct weir_array **out, size_t at[3])
{
    if (!weir_core.arrays.base)
        return false;
    for (uint32_t i = 0, used = weir_slots_used(&weir_core.arrays); i < used; i++) {
        struct weir_array *a = weir_slots_at(&weir_core.arrays, i);
        size_t offset = (uintptr_t)p - (uintptr_t)a->memory;

        if (atomic_load(&a->slot.live) != WEIR_SLOT_LIVE || offset >= a->slice * a->slices)
            continue;
        at[2] = offset / a->slice;
        at[1] = offset % a->slice / a->pitch;
        at[0] = offset % a->slice % a->pitch;
        *out = a;
        return true;
    }
    return false;
}
