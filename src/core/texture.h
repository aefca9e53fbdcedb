/* Texture and surface objects: what a program describes and hands to kernels as a number, and how a
 * kernel's instructions read and write through it. Numbers of types, modes and formats are those of
 * the runtime, which the driver API shares.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_TEXTURE_H
#define WEIR_CORE_TEXTURE_H

#include "core/context.h"
#include "device/kernel.h"
#include "device/texture.h"

enum weir_texture_source {
    WEIR_TEXTURE_ARRAY,
    WEIR_TEXTURE_MIPMAP,
    WEIR_TEXTURE_LINEAR,
    WEIR_TEXTURE_PITCH,
};

struct weir_texture_resource {
    int type; /* enum weir_texture_source */
    uint32_t flags;
    void *memory;                /* or the handle of an array */
    int bits[4];                 /* LINEAR, PITCH: of each channel */
    int format;                  /* their cudaChannelFormatKind */
    size_t bytes;                /* LINEAR */
    size_t width, height, pitch; /* PITCH; width in elements */
};

enum { WEIR_ADDRESS_WRAP, WEIR_ADDRESS_CLAMP, WEIR_ADDRESS_MIRROR, WEIR_ADDRESS_BORDER };

struct weir_texture_sampler {
    int address[3]; /* WEIR_ADDRESS_* */
    bool linear, linear_levels, as_float /* integers as -1 .. 1 */, srgb, normalized, seamless;
    bool small_as_float; /* as_float does not mean integers of 32 bits */
    bool no_trilinear;   /* a hint, kept for those who ask */
    uint32_t anisotropy;
    float border[4], bias, least_level, most_level;
};

struct weir_texture_view {
    int format; /* cudaResourceViewFormat; 0: the resource's */
    size_t width, height, depth;
    uint32_t first_level, last_level, first_layer, last_layer;
};

#define WEIR_TEXTURE_LEVELS 18u

struct weir_texture_level {
    char *memory;
    size_t pitch, slice;
    uint32_t size[3]; /* elements, rows, slices: at least 1 */
};

struct weir_texture {
    struct weir_slot slot; /* first: handle */
    /* It was destroyed, and is what it was: no other took its place yet. */
    _Atomic bool left;
    /* immutable while live */
    bool surface, has_view;
    struct weir_texture_resource resource;
    struct weir_texture_sampler sampler;
    struct weir_texture_view view;
    /* what instructions look at */
    bool gives_float;
    uint8_t channels, channel_bits, format; /* cudaChannelFormatKind */
    uint8_t element_bytes;
    uint8_t srgb_channels; /* the first ones, which are sRGB */
    bool is_3d;            /* slices become fewer from level to level */
    bool is_cube;
    /* Filtered normalised integers: results are multiples of 1 / steps, the largest element, and
     * what an element counts in sums; steps 0: floats. */
    double steps, most, unit;
    uint32_t border[4]; /* words, as a fetch gives them */
    size_t size[3];     /* of an array, as it was made; [0] is 0: of none */
    uint32_t levels;
    struct weir_texture_level level[WEIR_TEXTURE_LEVELS];
};

/* sampler NULL: a surface. Errors: INVALID_VALUE (description, memory), INVALID_RESOURCE_HANDLE (no
 * array), INVALID_CHANNEL_DESCRIPTOR, INVALID_FILTER_SETTING, INVALID_NORM_SETTING, NOT_SUPPORTED
 * (compressed formats), MEMORY_ALLOCATION. Thread: any, as for all below. */
enum weir_err weir_texture_create(const struct weir_texture_resource *resource,
                                  const struct weir_texture_sampler *sampler,
                                  const struct weir_texture_view *view,
                                  unsigned long long *out) WEIR_MUST_CHECK;
/* 0 is no error. Errors: INVALID_VALUE. */
enum weir_err weir_texture_destroy(unsigned long long handle, bool surface) WEIR_MUST_CHECK;
/* The live object. Errors: INVALID_VALUE. */
enum weir_err weir_texture_find(unsigned long long handle, bool surface,
                                const struct weir_texture **out) WEIR_MUST_CHECK;

/* How many elements of a format a texture in linear memory may have at the most. Errors: INVALID_*
 * (no format of a texture). */
enum weir_err weir_texture_linear_most(const struct weir_context *ctx, const int bits[4],
                                       int format, size_t *out) WEIR_MUST_CHECK;

/* services->texture */
void weir_texture_serve(struct weir_block *block, uint32_t lanes, uint32_t code,
                        const uint64_t *handles, const uint32_t *in, uint32_t *out);

/* ---- inside ---- */

/* One lane's request: its words are a row apart. */
struct weir_texture_request {
    struct weir_block *block;
    uint32_t code;
    const uint32_t *in;
    uint32_t *out;
};
#define WEIR_TEXTURE_ROW 32u /* words */
/* Of normalised coordinates' fixed point, as an H200 has it. */
#define WEIR_TEXTURE_UNIT 2097152.0

void weir_texture_sample(const struct weir_texture *t, const struct weir_texture_request *r);
/* A fetch of all lanes at once; false: not one of the simple kind. */
bool weir_texture_sample_warp(const struct weir_texture *t, struct weir_block *block, uint32_t code,
                              const uint32_t *in, uint32_t *out);
void weir_surface_access(const struct weir_texture *t, const struct weir_texture_request *r);
/* Tells the check about an access; kind as services->touch. */
void weir_texture_touch(struct weir_block *block, const void *at, uint32_t bytes, uint32_t kind);
/* Bits of the float that sRGB v stands for. */
uint32_t weir_texture_srgb(uint8_t v);
uint16_t weir_half_of_float(uint32_t bits);
/* A sum of elements as the result of channel k. */
float weir_texture_rounded(const struct weir_texture *t, double v, unsigned k);
uint32_t weir_float_of_half(uint16_t h);

#endif
