/* How compiled code asks for textures and surfaces (weir_kernel_services.texture): what is wanted
 * is a number put together here, what goes in and comes out are rows of 32-bit words, one a lane.
 * Rows of a request, in this order: coordinates (arrays: the layer first), then of
 *   TEX         nothing               TEX_LEVEL  the level of detail (f32)
 *   TEX_GRAD    d/dx, then d/dy, as many as there are coordinates (cubes: 3)
 *   SUST        the elements; 64-bit ones take two rows, the low half first; SURED likewise
 * and of an answer: 4 components, one word for queries, elements for SULD as for SUST.
 * Source: PTX ISA, "Texture Instructions", "Surface Instructions".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DEVICE_TEXTURE_H
#define WEIR_DEVICE_TEXTURE_H

#include <stdint.h>

enum weir_tex_op {
    WEIR_TEX_NONE,
    WEIR_TEX_FETCH,
    WEIR_TEX_LEVEL,
    WEIR_TEX_GRAD,
    WEIR_TEX_GATHER, /* detail: component */
    WEIR_TEX_QUERY,  /* txq, suq; detail: enum weir_tex_query; a level when TEX_HAS_LEVEL */
    WEIR_TEX_SULD,   /* detail: enum weir_tex_bound; likewise SUST */
    WEIR_TEX_SUST,
    WEIR_TEX_SURED, /* detail: bound, and enum weir_tex_red << 2 */
    WEIR_TEX_IS,    /* istypep; detail: 0 texture, 1 sampler, 2 surface */
};

enum weir_tex_geometry {
    WEIR_TEX_1D,
    WEIR_TEX_A1D,
    WEIR_TEX_2D,
    WEIR_TEX_A2D,
    WEIR_TEX_3D,
    WEIR_TEX_CUBE,
    WEIR_TEX_ACUBE,
};

enum weir_tex_query {
    WEIR_TEX_QUERY_WIDTH,
    WEIR_TEX_QUERY_HEIGHT,
    WEIR_TEX_QUERY_DEPTH,
    WEIR_TEX_QUERY_TYPE,
    WEIR_TEX_QUERY_ORDER,
    WEIR_TEX_QUERY_LAYERS,
    WEIR_TEX_QUERY_NORMALIZED,
    WEIR_TEX_QUERY_FILTER,
    WEIR_TEX_QUERY_ADDRESS_0,
    WEIR_TEX_QUERY_ADDRESS_1,
    WEIR_TEX_QUERY_ADDRESS_2,
    WEIR_TEX_QUERY_LEVELS,
    WEIR_TEX_QUERY_SAMPLES,
    WEIR_TEX_QUERY_MEMORY_LAYOUT,
};

enum weir_tex_bound { WEIR_TEX_TRAP, WEIR_TEX_CLAMP, WEIR_TEX_ZERO };

enum weir_tex_red {
    WEIR_TEX_RED_ADD,
    WEIR_TEX_RED_MIN,
    WEIR_TEX_RED_MAX,
    WEIR_TEX_RED_AND,
    WEIR_TEX_RED_OR,
};

/* Results as 32-bit words, as binary16 in their low half, or two of those in a word. */
enum weir_tex_result { WEIR_TEX_WORD, WEIR_TEX_HALF, WEIR_TEX_HALF2 };

#define WEIR_TEX_CODE(op, geometry, detail)                                                        \
    ((uint32_t)(op) | (uint32_t)(geometry) << 4 | (uint32_t)(detail) << 8)
#define WEIR_TEX_OP(code)       ((code)&15u)
#define WEIR_TEX_GEOMETRY(code) ((code) >> 4 & 7u)
#define WEIR_TEX_DETAIL(code)   ((code) >> 8 & 31u)
/* of what is added to it: */
#define WEIR_TEX_FLOAT        (1u << 13) /* coordinates are f32, not s32 */
#define WEIR_TEX_UNIFORM      (1u << 14) /* one handle for all, at [0] */
#define WEIR_TEX_SIGNED       (1u << 15) /* SURED: of signed integers */
#define WEIR_TEX_HAS_LEVEL    (1u << 16)
#define WEIR_TEX_RESULT_AT    17 /* 2 bits: enum weir_tex_result */
#define WEIR_TEX_RESULT(code) ((code) >> WEIR_TEX_RESULT_AT & 3u)
#define WEIR_TEX_SIZE_AT      19 /* 2 bits: log2 of the bytes of a surface's element */
#define WEIR_TEX_SIZE(code)   (1u << ((code) >> WEIR_TEX_SIZE_AT & 3u))
#define WEIR_TEX_COUNT_AT     21 /* 3 bits: elements of a surface access */
#define WEIR_TEX_COUNT(code)  ((code) >> WEIR_TEX_COUNT_AT & 7u)

static inline unsigned weir_tex_is_layered(unsigned geometry)
{
    return geometry == WEIR_TEX_A1D || geometry == WEIR_TEX_A2D || geometry == WEIR_TEX_ACUBE;
}

/* Coordinates without the layer. */
static inline unsigned weir_tex_coordinates(unsigned geometry)
{
    return geometry <= WEIR_TEX_A1D ? 1 : geometry <= WEIR_TEX_A2D ? 2 : 3;
}

#endif
