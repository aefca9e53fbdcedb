/* Making, finding and freeing texture and surface objects; see texture.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/texture.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "core/array.h"
#include "core/mipmap.h"
#include "core/touch.h"
#include "device/device.h"
#include "memory/memory.h"

#define TEXTURE_SLOT  2048u
#define TEXTURE_MAX   (1u << 17)
#define FORMAT_SIGNED 0
#define FORMAT_FLOAT  2
#define HALF_MAX      65504.0f
#define FORMAT_KINDS  3

#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum weir_err try_err = (call);                                                            \
                                                                                                   \
        if (try_err != WEIR_OK)                                                                    \
            return try_err;                                                                        \
    } while (0)

#define VIEW_FORMATS 24 /* those behind are compressed */

_Static_assert(sizeof(struct weir_texture) <= TEXTURE_SLOT, "slot size of textures");

static enum weir_err slots(struct weir_slots **out)
{
    enum weir_err err = WEIR_OK;

    weir_lock_acquire(&weir_core.lock);
    if (!weir_core.textures.base)
        err = weir_slots_init(&weir_core.textures, TEXTURE_SLOT, TEXTURE_MAX);
    weir_lock_release(&weir_core.lock);
    *out = &weir_core.textures;
    return err;
}

/* ---- formats ---- */

static enum weir_err set_format(struct weir_texture *t, const int *bits, int format)
{
    unsigned count = 0;

    while (count < 4 && bits[count])
        count++;
    for (unsigned k = 0; k < 4; k++)
        if (bits[k] != (k < count ? bits[0] : 0))
            count = 0;
    if ((count != 1 && count != 2 && count != 4) ||
        (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) || format < 0 || format >= FORMAT_KINDS ||
        (format == FORMAT_FLOAT && bits[0] == 8))
        return WEIR_FAIL(WEIR_ERR_INVALID_CHANNEL_DESCRIPTOR,
                         "channels of %d, %d, %d, %d bits of kind %d", bits[0], bits[1], bits[2],
                         bits[3], format);
    t->channels = (uint8_t)count;
    t->channel_bits = (uint8_t)bits[0];
    t->format = (uint8_t)format;
    t->element_bytes = (uint8_t)(count * (unsigned)bits[0] / 8);
    return WEIR_OK;
}

/* Views count by kind: unsigned and signed of 8, 16, 32 bits, half, float; of 1, 2 or 4 channels.
 */
static enum weir_err set_view_format(struct weir_texture *t, int view)
{
    static const struct {
        int bits, format;
    } kinds[VIEW_FORMATS / 3] = {{8, 1},  {8, 0},  {16, 1}, {16, 0},
                                 {32, 1}, {32, 0}, {16, 2}, {32, 2}};
    uint8_t bytes = t->element_bytes;
    int count, bits[4] = {0};

    if (view > VIEW_FORMATS) {
        weir_log_unsupported("textures of block-compressed formats", "cudaCreateTextureObject");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a view of format %d", view);
    }
    if (view < 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a view of format %d", view);
    count = 1 << (view - 1) % 3;
    for (int k = 0; k < count; k++)
        bits[k] = kinds[(view - 1) / 3].bits;
    TRY(set_format(t, bits, kinds[(view - 1) / 3].format));
    return t->element_bytes == bytes
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a view whose elements have another size");
}

/* ---- where it lies ---- */

static void set_level(struct weir_texture_level *level, const struct weir_array *a)
{
    level->memory = a->memory;
    level->pitch = a->pitch;
    level->slice = a->slice;
    level->size[0] = (uint32_t)a->config.width;
    level->size[1] = (uint32_t)a->rows;
    level->size[2] = (uint32_t)a->slices;
}

static enum weir_err use_array(struct weir_texture *t, const struct weir_array *a)
{
    TRY(set_format(t, a->config.bits, a->config.format));
    t->is_3d = !(a->config.flags & (WEIR_ARRAY_LAYERED | WEIR_ARRAY_CUBE)) && a->config.depth;
    t->is_cube = a->config.flags & WEIR_ARRAY_CUBE;
    if (t->levels == 0) {
        t->size[0] = a->config.width;
        t->size[1] = a->config.height;
        t->size[2] = a->config.depth;
    }
    set_level(&t->level[t->levels++], a);
    return WEIR_OK;
}

static enum weir_err use_mipmap(struct weir_texture *t, const void *handle)
{
    struct weir_array *a;
    int device;

    TRY(weir_mipmap_device(handle, &device));
    for (unsigned k = 0; k < WEIR_TEXTURE_LEVELS && weir_mipmap_level(handle, k, &a) == WEIR_OK;
         k++)
        TRY(use_array(t, a));
    return WEIR_OK;
}

#define ATTR_ALIGNMENT       14
#define ATTR_PITCH_ALIGNMENT 51
#define ATTR_1D_LINEAR       69 /* then 70 to 72: width, height, pitch of PITCH */

static size_t attribute(const struct weir_context *ctx, int id, size_t otherwise)
{
    int value = 0;

    return weir_context_attribute(ctx, id, &value) && value > 0 ? (size_t)value : otherwise;
}

static enum weir_err check_memory(const void *ptr, size_t bytes)
{
    struct weir_mem_info info;
    struct weir_context *ctx;
    size_t alignment;

    TRY(weir_context_current(&ctx));
    alignment = attribute(ctx, ATTR_ALIGNMENT, 512);
    if (!ptr || !weir_mem_find(ptr, &info) || bytes > info.base + info.bytes - (uintptr_t)ptr)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes at %p under a texture", bytes, ptr);
    if ((uintptr_t)ptr % alignment)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "a texture at %p: its memory must be aligned to %zu bytes", ptr,
                         alignment);
    return WEIR_OK;
}

enum weir_err weir_texture_linear_most(const struct weir_context *ctx, const int bits[4],
                                       int format, size_t *out)
{
    struct weir_texture t = {0};

    TRY(set_format(&t, bits, format));
    *out = attribute(ctx, ATTR_1D_LINEAR, 1u << 27);
    return WEIR_OK;
}

static enum weir_err use_linear(struct weir_texture *t, const struct weir_texture_resource *r)
{
    struct weir_context *ctx;
    size_t width;

    TRY(weir_context_current(&ctx));
    TRY(set_format(t, r->bits, r->format));
    TRY(check_memory(r->memory, 1)); /* that it ends in time is not looked at by an H200 */
    width = r->bytes / t->element_bytes;
    if (width == 0 || width > attribute(ctx, ATTR_1D_LINEAR, 1u << 27))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a texture of %zu elements", width);
    t->levels = 1;
    t->level[0] =
        (struct weir_texture_level){r->memory, r->bytes, r->bytes, {(uint32_t)width, 1, 1}};
    return WEIR_OK;
}

static enum weir_err use_pitch(struct weir_texture *t, const struct weir_texture_resource *r)
{
    struct weir_context *ctx;
    size_t row;

    TRY(weir_context_current(&ctx));
    TRY(set_format(t, r->bits, r->format));
    if (r->width == 0 || r->height == 0 || r->width > attribute(ctx, ATTR_1D_LINEAR + 1, 65000) ||
        r->height > attribute(ctx, ATTR_1D_LINEAR + 2, 65000) ||
        r->pitch > attribute(ctx, ATTR_1D_LINEAR + 3, (size_t)1 << 20))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a texture of %zu x %zu, rows %zu bytes apart",
                         r->width, r->height, r->pitch);
    row = r->width * t->element_bytes;
    if (row > r->pitch || r->pitch % attribute(ctx, ATTR_PITCH_ALIGNMENT, 32))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "rows of %zu bytes, %zu apart", row, r->pitch);
    TRY(check_memory(r->memory, r->pitch * (r->height - 1) + row));
    t->levels = 1;
    t->level[0] = (struct weir_texture_level){
        r->memory, r->pitch, r->pitch * r->height, {(uint32_t)r->width, (uint32_t)r->height, 1}};
    return WEIR_OK;
}

static enum weir_err use_resource(struct weir_texture *t, const struct weir_texture_resource *r)
{
    struct weir_array *a;

    t->levels = 0;
    t->size[0] = 0;
    t->is_3d = t->is_cube = false;
    if (r->type == WEIR_TEXTURE_ARRAY) {
        TRY(weir_array_get(r->memory, &a));
        return use_array(t, a);
    }
    if (!t->surface) {
        if (r->type == WEIR_TEXTURE_MIPMAP)
            return use_mipmap(t, r->memory);
        if (r->type == WEIR_TEXTURE_LINEAR)
            return use_linear(t, r);
        if (r->type == WEIR_TEXTURE_PITCH)
            return use_pitch(t, r);
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a %s of a resource of type %d",
                     t->surface ? "surface" : "texture", r->type);
}

/* A part of the levels and layers, perhaps with elements read another way. Its size is the
 * resource's (CUDA_RESOURCE_VIEW_DESC); depth, too, as an H200 has it. */
static enum weir_err use_view(struct weir_texture *t, const struct weir_texture_view *v)
{
    uint32_t layers = t->level[0].size[2];

    if (v->format)
        TRY(set_view_format(t, v->format));
    if (t->size[0] && (v->width != t->size[0] || v->height != t->size[1] || v->depth != t->size[2]))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a view of %zu x %zu x %zu of %zu x %zu x %zu",
                         v->width, v->height, v->depth, t->size[0], t->size[1], t->size[2]);
    if (v->first_level > v->last_level || v->last_level >= t->levels ||
        (!t->is_3d && (v->first_layer > v->last_layer || v->last_layer >= layers)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "levels %u to %u and layers %u to %u of %u levels and %u layers",
                         v->first_level, v->last_level, v->first_layer, v->last_layer, t->levels,
                         layers);
    t->levels = v->last_level - v->first_level + 1;
    for (uint32_t k = 0; k < t->levels; k++) {
        struct weir_texture_level *level = &t->level[k];

        *level = t->level[k + v->first_level];
        if (t->is_3d)
            continue;
        level->memory += v->first_layer * level->slice;
        level->size[2] = v->last_layer - v->first_layer + 1;
    }
    return WEIR_OK;
}

static enum weir_err check_sampler(const struct weir_texture *t)
{
    const struct weir_texture_sampler *s = &t->sampler;

    if (s->as_float && t->format != FORMAT_FLOAT && t->channel_bits == 32)
        return WEIR_FAIL(WEIR_ERR_INVALID_NORM_SETTING,
                         "integers of 32 bits cannot be read as normalised floats");
    if (s->linear && !t->gives_float && t->resource.type != WEIR_TEXTURE_LINEAR)
        return WEIR_FAIL(WEIR_ERR_INVALID_FILTER_SETTING,
                         "linear filtering of elements that are read as integers");
    if (t->resource.type == WEIR_TEXTURE_MIPMAP && !s->normalized)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "a mipmapped texture without normalised coordinates");
    if (s->seamless && !t->is_cube)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a seamless cubemap of a resource that is none");
    for (int k = 0; k < 3; k++)
        if (s->address[k] < WEIR_ADDRESS_WRAP || s->address[k] > WEIR_ADDRESS_BORDER)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "address mode %d", s->address[k]);
    return WEIR_OK;
}

/* The byte that stands for a linear 0 .. 1: the inverse of weir_texture_srgb, by the curve. */
static uint8_t srgb_of(float linear)
{
    float v = linear <= 0.0031308f ? linear * 12.92f : 1.055f * powf(linear, 1 / 2.4f) - 0.055f;

    return (uint8_t)(v * 255 + 0.5f);
}

/* The border's colour in the elements' format, as measured (tests/ptx/textures_h200.txt): clamped
 * and rounded, half towards zero; integers take the low bits of the float. Sent to
 * sRGB and back where the elements are sRGB. */
static uint32_t border_word(const struct weir_texture *t, unsigned k)
{
    float most = (float)weir_bits_low(t->channel_bits - (t->format == FORMAT_SIGNED)), v;
    float colour = t->sampler.border[k];
    uint32_t bits, low = (uint32_t)weir_bits_low(t->channel_bits);

    memcpy(&bits, &colour, sizeof bits);
    if (t->channel_bits == 32)
        return bits;
    if (t->format == FORMAT_FLOAT) {
        colour = fminf(fmaxf(colour, -HALF_MAX), HALF_MAX);
        memcpy(&bits, &colour, sizeof bits);
        return weir_float_of_half(weir_half_of_float(bits));
    }
    if (!t->sampler.as_float) {
        bits &= low;
        return t->format == FORMAT_SIGNED && bits >> (t->channel_bits - 1) ? bits | ~low : bits;
    }
    v = fminf(fmaxf(colour, t->format == FORMAT_SIGNED ? -1 : 0), 1) * most; /* half is half here */
    if (k < t->srgb_channels)
        return weir_texture_srgb(srgb_of(v / most));
    colour = copysignf(ceilf(fabsf(v) - 0.5f), v) / most + 0.0f;
    memcpy(&bits, &colour, sizeof bits);
    return bits;
}

/* As an H200 has it: 16 bits, whatever the elements have; but signed ones of 8 bits are added as
 * they are. */
static void set_steps(struct weir_texture *t)
{
    bool is_signed = t->format == FORMAT_SIGNED;

    t->steps = t->unit = 0;
    t->srgb_channels = 0;
    if (t->format == FORMAT_FLOAT || !t->sampler.as_float)
        return;
    if (t->sampler.srgb && t->channel_bits == 8 && !is_signed)
        t->srgb_channels = t->channels == 2 ? 1 : 3;
    t->steps = is_signed ? 32767 : 65535;
    t->most = (double)weir_bits_low(t->channel_bits - is_signed);
    t->unit = is_signed ? 1 : t->steps / t->most;
}

static enum weir_err fill(struct weir_texture *t, const struct weir_texture_resource *resource,
                          const struct weir_texture_sampler *sampler,
                          const struct weir_texture_view *view)
{
    t->surface = !sampler;
    t->resource = *resource;
    t->sampler = sampler ? *sampler : (struct weir_texture_sampler){.linear = false};
    t->has_view = view != NULL;
    t->view = view ? *view : (struct weir_texture_view){.format = 0};
    TRY(use_resource(t, resource));
    if (view)
        TRY(use_view(t, view));
    if (t->sampler.small_as_float && t->channel_bits == 32)
        t->sampler.as_float = false;
    t->gives_float = t->format == FORMAT_FLOAT || t->sampler.as_float;
    set_steps(t);
    for (unsigned k = 0; k < 4; k++)
        t->border[k] = border_word(t, k);
    return sampler ? check_sampler(t) : WEIR_OK;
}

enum weir_err weir_texture_create(const struct weir_texture_resource *resource,
                                  const struct weir_texture_sampler *sampler,
                                  const struct weir_texture_view *view, unsigned long long *out)
{
    struct weir_slots *all;
    struct weir_texture *t;
    enum weir_err err;

    TRY(slots(&all));
    t = weir_slots_take(all);
    if (!t)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "too many textures");
    atomic_store(&t->left, false);
    err = fill(t, resource, sampler, view);
    if (err != WEIR_OK) {
        weir_slots_give(all, t);
        return err;
    }
    weir_slot_publish(&t->slot);
    *out = (uintptr_t)t;
    return WEIR_OK;
}

static struct weir_texture *live(unsigned long long handle)
{
    return weir_core.textures.base
               ? weir_slots_check(&weir_core.textures, (const void *)(uintptr_t)handle)
               : NULL;
}

enum weir_err weir_texture_find(unsigned long long handle, bool surface,
                                const struct weir_texture **out)
{
    *out = live(handle);
    if (!*out || (*out)->surface != surface)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no such object", handle);
    return WEIR_OK;
}

enum weir_err weir_texture_destroy(unsigned long long handle, bool surface)
{
    const struct weir_texture *found;
    struct weir_texture *t;

    if (!handle)
        return WEIR_OK;
    TRY(weir_texture_find(handle, surface, &found));
    t = live(handle);
    if (!t || !weir_slot_kill(&t->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "texture destroyed twice");
    atomic_store(&t->left, true);
    weir_slots_give(&weir_core.textures, t);
    return WEIR_OK;
}

/* ---- kernels ---- */

void weir_texture_touch(struct weir_block *block, const void *at, uint32_t bytes, uint32_t kind)
{
    if (WEIR_UNLIKELY(block->launch->touches != NULL))
        weir_touch(block, 1, bytes | kind << 16, (uint64_t)(uintptr_t)at, 0);
}

static void query(const struct weir_texture *t, const struct weir_texture_request *r)
{
    const struct weir_texture_sampler *s = &t->sampler;
    uint32_t at = r->code & WEIR_TEX_HAS_LEVEL ? WEIR_MIN(r->in[0], t->levels - 1) : 0;
    const struct weir_texture_level *level = &t->level[at];
    uint32_t v = 0;

    switch (WEIR_TEX_DETAIL(r->code)) {
    case WEIR_TEX_QUERY_WIDTH:
        v = level->size[0];
        break;
    case WEIR_TEX_QUERY_HEIGHT:
        v = level->size[1];
        break;
    case WEIR_TEX_QUERY_DEPTH:
        v = t->is_3d ? level->size[2] : 1;
        break;
    case WEIR_TEX_QUERY_LAYERS:
        v = t->is_3d ? 1 : level->size[2];
        break;
    case WEIR_TEX_QUERY_TYPE: /* CUarray_format */
        v = t->format == FORMAT_FLOAT ? t->channel_bits
                                      : (t->format == 1 ? 1u : 8u) + t->channel_bits / 16u;
        break;
    case WEIR_TEX_QUERY_ORDER:
        v = t->channels;
        break;
    case WEIR_TEX_QUERY_NORMALIZED:
        v = s->normalized;
        break;
    case WEIR_TEX_QUERY_FILTER:
        v = s->linear;
        break;
    case WEIR_TEX_QUERY_ADDRESS_0:
    case WEIR_TEX_QUERY_ADDRESS_1:
    case WEIR_TEX_QUERY_ADDRESS_2:
        v = (uint32_t)s->address[WEIR_TEX_DETAIL(r->code) - WEIR_TEX_QUERY_ADDRESS_0];
        break;
    case WEIR_TEX_QUERY_LEVELS:
        v = t->levels;
        break;
    case WEIR_TEX_QUERY_SAMPLES:
        v = 1;
        break;
    default:
        break;
    }
    r->out[0] = v;
}

/* Kernels that were launched before may use what is destroyed: as on hardware, it stays what it was
 * until another takes its place, which is late (handle.h). */
static const struct weir_texture *usable(unsigned long long handle)
{
    struct weir_texture *t = live(handle);

    if (t || !weir_core.textures.base)
        return t;
    t = weir_slots_find(&weir_core.textures, (const void *)(uintptr_t)handle);
    return t && atomic_load(&t->left) ? t : NULL;
}

/* The object that a lane means; one of another kind, or none, ends the block. */
static const struct weir_texture *object_of(struct weir_block *block, uint64_t handle, uint32_t op)
{
    bool any = op == WEIR_TEX_QUERY || op == WEIR_TEX_IS;
    bool surface = op == WEIR_TEX_SULD || op == WEIR_TEX_SUST || op == WEIR_TEX_SURED;
    const struct weir_texture *t = op == WEIR_TEX_IS ? live(handle) : usable(handle);

    if (op != WEIR_TEX_IS && (!t || (!any && t->surface != surface))) {
        block->error_address = handle;
        weir_device_block_fail(block, WEIR_ERR_ILLEGAL_ADDRESS, 0);
    }
    return t;
}

static void serve_lane(const struct weir_texture *t, uint32_t op,
                       const struct weir_texture_request *r)
{
    switch (op) {
    case WEIR_TEX_SULD:
    case WEIR_TEX_SUST:
    case WEIR_TEX_SURED:
        weir_surface_access(t, r);
        break;
    case WEIR_TEX_QUERY:
        query(t, r);
        break;
    case WEIR_TEX_IS: {
        uint32_t kind = WEIR_TEX_DETAIL(r->code);

        r->out[0] = t && (kind == 0 ? !t->surface : kind == 2 && t->surface);
        break;
    }
    default:
        weir_texture_sample(t, r);
        break;
    }
}

void weir_texture_serve(struct weir_block *block, uint32_t lanes, uint32_t code,
                        const uint64_t *handles, const uint32_t *in, uint32_t *out)
{
    bool uniform = code & WEIR_TEX_UNIFORM;
    uint32_t op = WEIR_TEX_OP(code);
    const struct weir_texture *t = NULL;

    if (uniform && lanes)
        t = object_of(block, handles[0], op);
    if (t && lanes & (lanes - 1) && weir_texture_sample_warp(t, block, code, in, out))
        return;
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        struct weir_texture_request r = {block, code, in + lane, out + lane};

        if (!uniform)
            t = object_of(block, handles[lane], op);
        serve_lane(t, op, &r);
    }
}
