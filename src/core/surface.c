/* Surfaces: loads, stores and reductions of an array's bytes by a kernel. x counts bytes, y rows, z
 * slices or layers. Source: PTX ISA, suld, sust, sured: what is outside is clamped, is nothing
 * (.zero), or ends the kernel (.trap); a layer's number has no sign, so that -1 is clamped to the
 * last, as of textures.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/texture.h"
#include "device/device.h"

#define ROW WEIR_TEXTURE_ROW

/* An H200 calls it so. */
static void trap(const struct weir_texture_request *r, const char *at)
{
    r->block->error_address = (uint64_t)(uintptr_t)at;
    weir_device_block_fail(r->block, WEIR_ERR_ILLEGAL_ADDRESS, 0);
}

/* Coordinate c of an object that has `size`, `step` bytes each from `base`; false: nothing is
 * there. */
static bool place(const struct weir_texture_request *r, uint32_t bound, uint32_t size, int32_t c,
                  const char *base, size_t step, size_t *out)
{
    if (c >= 0 && (uint32_t)c < size) {
        *out = (size_t)c;
        return true;
    }
    if (bound == WEIR_TEX_TRAP)
        trap(r, base + (int64_t)c * (int64_t)step);
    *out = c < 0 ? 0 : size - 1;
    return bound == WEIR_TEX_CLAMP;
}

/* The bytes that the lane means, or NULL. */
static char *address(const struct weir_texture *t, const struct weir_texture_request *r,
                     uint32_t bytes)
{
    const struct weir_texture_level *level = &t->level[0];
    uint32_t geometry = WEIR_TEX_GEOMETRY(r->code), bound = WEIR_TEX_DETAIL(r->code) & 3;
    bool layered = weir_tex_is_layered(geometry);
    unsigned count = weir_tex_coordinates(geometry);
    uint32_t row = level->size[0] * t->element_bytes;
    const uint32_t *in = r->in + (layered ? ROW : 0);
    size_t at[3] = {0};
    bool there = bytes <= row;

    if (!there && bound == WEIR_TEX_TRAP)
        trap(r, level->memory + row);
    there = there && place(r, bound, row - bytes + 1, (int32_t)in[0], level->memory, 1, &at[0]);
    for (unsigned k = 1; k < count && there; k++)
        there = place(r, bound, level->size[k], (int32_t)in[k * ROW], level->memory,
                      k == 1 ? level->pitch : level->slice, &at[k]);
    if (there && layered)
        there = place(r, bound, level->size[2], (int32_t)WEIR_MIN(r->in[0], (uint32_t)INT32_MAX),
                      level->memory, level->slice, &at[2]);
    if (!there)
        return NULL;
    return level->memory + at[2] * level->slice + at[1] * level->pitch +
           (at[0] & ~(size_t)(bytes - 1));
}

static unsigned coordinate_rows(uint32_t code)
{
    unsigned geometry = WEIR_TEX_GEOMETRY(code);

    return weir_tex_coordinates(geometry) + weir_tex_is_layered(geometry);
}

/* The elements of one lane between memory's order and rows of words. */
static void load(const struct weir_texture_request *r, const char *from, uint32_t size,
                 uint32_t count)
{
    uint32_t *out = r->out;

    for (uint32_t k = 0; k < count; k++, out += size == 8 ? 2 * ROW : ROW) {
        uint64_t v = 0;

        if (from)
            memcpy(&v, from + (size_t)k * size, size);
        out[0] = (uint32_t)v;
        if (size == 8)
            out[ROW] = (uint32_t)(v >> 32);
    }
}

static uint64_t word(const uint32_t *in, uint32_t size)
{
    return size == 8 ? in[0] | (uint64_t)in[ROW] << 32 : in[0];
}

static void store(const struct weir_texture_request *r, char *to, uint32_t size, uint32_t count)
{
    const uint32_t *in = r->in + (size_t)coordinate_rows(r->code) * ROW;

    for (uint32_t k = 0; k < count; k++, in += size == 8 ? 2 * ROW : ROW) {
        uint64_t v = word(in, size);

        memcpy(to + (size_t)k * size, &v, size);
    }
}

static uint64_t reduced(uint32_t code, uint64_t a, uint64_t b)
{
    bool is_signed = code & WEIR_TEX_SIGNED, wide = WEIR_TEX_SIZE(code) == 8;
    int64_t sa = wide ? (int64_t)a : (int32_t)a, sb = wide ? (int64_t)b : (int32_t)b;
    bool less = is_signed ? sa < sb : a < b;

    switch (WEIR_TEX_DETAIL(code) >> 2) {
    case WEIR_TEX_RED_ADD:
        return a + b;
    case WEIR_TEX_RED_MIN:
        return less ? a : b;
    case WEIR_TEX_RED_MAX:
        return less ? b : a;
    case WEIR_TEX_RED_AND:
        return a & b;
    default:
        return a | b;
    }
}

static void reduce(const struct weir_texture_request *r, char *at, uint32_t size)
{
    uint64_t b = word(r->in + (size_t)coordinate_rows(r->code) * ROW, size);

    if (size == 8) {
        uint64_t *p = (uint64_t *)(void *)at, old = __atomic_load_n(p, __ATOMIC_RELAXED);

        while (!__atomic_compare_exchange_n(p, &old, reduced(r->code, old, b), true,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
    } else {
        uint32_t *p = (uint32_t *)(void *)at, old = __atomic_load_n(p, __ATOMIC_RELAXED);

        while (!__atomic_compare_exchange_n(p, &old, (uint32_t)reduced(r->code, old, b), true,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
    }
}

void weir_surface_access(const struct weir_texture *t, const struct weir_texture_request *r)
{
    uint32_t op = WEIR_TEX_OP(r->code), size = WEIR_TEX_SIZE(r->code),
             count = WEIR_TEX_COUNT(r->code);
    char *at = address(t, r, size * count);

    if (at)
        weir_texture_touch(r->block, at, size * count,
                           op == WEIR_TEX_SULD   ? 0
                           : op == WEIR_TEX_SUST ? 1
                                                 : 2);
    if (op == WEIR_TEX_SULD)
        load(r, at, size, count);
    else if (at && op == WEIR_TEX_SUST)
        store(r, at, size, count);
    else if (at)
        reduce(r, at, size);
}
