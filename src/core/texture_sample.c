/* What a texture fetch gives. The rules are those of the CUDA programming guide's appendix "Texture
 * Fetching": with N elements, a normalised coordinate x becomes N x; the nearest element is
 * floor(x); linear filtering takes elements floor(x - 0.5) and the next one with weights 1 - a and
 * a, a the rest in 8 bits behind the point (9 bits, so that 1 is exact). What is not documented is
 * as an H200 has it: a is rounded to nearest; floats are added exactly and rounded once, ties away
 * from zero, halves to halves after what is below 2^-14 of the largest one's first bit was cut off
 * each, slice by slice, sRGB in the same way with 2^-7; all weights are whole 256ths: the whole is
 * split between two levels, each part along z, then along x, then along y, the second one's share
 * of a part rounded and the first one's what is left; normalised integers' sums become multiples of
 * 1/65535 or 1/32767; integers are mixed between levels alone; sRGB is a table; normalised
 * coordinates are cut to fixed point; integer coordinates beyond an array, and all of a 1D array,
 * give 0; a 1D array's border is mixed in along y, too. Wrap and mirror are for normalised
 * coordinates; without, they clamp. What was measured: tests/programs/textures_h200, and
 * tests/ptx/h200/textures_*.txt.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "core/texture.h"
#include "device/device.h"

#define ROW          WEIR_TEXTURE_ROW
#define FORMAT_FLOAT 2
#define COORD_MAX    1.0e9 /* beyond every texture; fits int32_t */
#define COORD_UNIT   WEIR_TEXTURE_UNIT

/* ---- numbers ---- */

uint32_t weir_float_of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, m = h & 0x3ff;

    if (exponent == 31)
        return sign | 0x7f800000 | m << 13;
    if (exponent)
        return sign | (exponent + 112) << 23 | m << 13;
    if (!m)
        return sign;
    unsigned shift = (unsigned)__builtin_clz(m) - 21; /* until bit 10 is set */
    return sign | (113 - shift) << 23 | (m << shift & 0x3ff) << 13;
}

uint16_t weir_half_of_float(uint32_t bits)
{
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t a = bits & 0x7fffffff, m, rest, half;
    int shift;

    if (a > 0x7f800000)
        return 0x7fff;
    if (a >= 0x47800000)
        return sign | 0x7c00;
    if (a < 0x33000000) /* less than half of the smallest */
        return sign;
    shift = a >= 0x38800000 ? 13 : 126 - (int)(a >> 23);
    m = a >= 0x38800000 ? a - 0x38000000 : (a & 0x7fffff) | 0x800000;
    rest = m & (uint32_t)weir_bits_low((unsigned)shift);
    half = 1u << (shift - 1);
    m >>= shift;
    return (uint16_t)(sign | (m + (rest > half || (rest == half && m & 1))));
}

static inline float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* ---- elements ---- */

/* Words of an element as a fetch gives them: integers extended, or bits of floats. */
static inline uint32_t channel(const struct weir_texture *t, const char *p, unsigned k)
{
    bool norm = t->sampler.as_float, is_signed = t->format == 0;

    if (t->channel_bits == 8) {
        uint8_t v;

        memcpy(&v, p + k, 1);
        if (!norm)
            return is_signed ? (uint32_t)(int8_t)v : v;
        if (is_signed)
            return bits_of(fmaxf((float)(int8_t)v / 127.0f, -1.0f));
        return k < t->srgb_channels ? weir_texture_srgb(v) : bits_of((float)v / 255.0f);
    }
    if (t->channel_bits == 16) {
        uint16_t v;

        memcpy(&v, p + 2 * k, 2);
        if (t->format == FORMAT_FLOAT)
            return weir_float_of_half(v);
        if (!norm)
            return is_signed ? (uint32_t)(int16_t)v : v;
        return bits_of(is_signed ? fmaxf((float)(int16_t)v / 32767.0f, -1.0f)
                                 : (float)v / 65535.0f);
    }
    uint32_t v;

    memcpy(&v, p + 4 * k, 4);
    return v;
}

static inline bool is_in_steps(const struct weir_texture *t, unsigned k)
{
    return t->steps > 0 && k >= t->srgb_channels;
}

static inline bool is_half(const struct weir_texture *t)
{
    return t->format == FORMAT_FLOAT && t->channel_bits == 16;
}

/* A channel for sums: in units of 1 / steps, or the float. */
static double amount(const struct weir_texture *t, const char *p, unsigned k)
{
    int8_t b;
    int16_t s;

    if (!is_in_steps(t, k))
        return (double)as_float(channel(t, p, k));
    if (t->channel_bits == 8) {
        memcpy(&b, p + k, 1);
        return t->format ? (uint8_t)b * t->unit : b;
    }
    memcpy(&s, p + 2 * k, 2);
    return t->format ? (uint16_t)s : WEIR_MAX(s, -32767);
}

static double amount_of_word(const struct weir_texture *t, uint32_t word, unsigned k)
{
    double v = (double)as_float(word);

    return is_in_steps(t, k) ? rint(v * t->most) * t->unit : v;
}

/* To a multiple of 2^-shift of v's own first bit, or of `least` where that is coarser; ties away
 * from zero. */
static double to_bits(double v, unsigned shift, double least)
{
    const uint64_t half = (uint64_t)1 << (51 - shift);
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    bits = (bits + half) & ~(2 * half - 1);
    if (fabs(v) < least * (double)((uint64_t)1 << shift))
        return copysign(floor(fabs(v) / least + 0.5) * least, v);
    memcpy(&v, &bits, sizeof bits);
    return v;
}

/* Filtered normalised integers are of 16 bits, whatever the elements have. Signed ones of 8 bits
 * are n + n / 127.5, where only the first 12 bits of n count for the second part; -128 is added as
 * it is. */
float weir_texture_rounded(const struct weir_texture *t, double v, unsigned k)
{
    if (!is_in_steps(t, k))
        return (float)(is_half(t) || k < t->srgb_channels ? to_bits(v, 10, 0x1p-24)
                                                          : to_bits(v, 23, 0x1p-149));
    if (t->format == 0 && t->channel_bits == 8) {
        int32_t n = (int32_t)(v * 256);

        return (float)fmax((n + (((n >> 4) * 257 + 1024) >> 11)) / t->steps, -1);
    }
    return (float)(floor(v + 0.5) / t->steps);
}

/* Of halves only multiples of this are added, and of sRGB; largest: a magnitude, neither 0 nor
 * infinite. */
static double unit_of_sum(const struct weir_texture *t, double largest)
{
    uint64_t bits;

    memcpy(&bits, &largest, sizeof bits);
    if (!is_half(t))
        bits += (uint64_t)(256 - 244) << 45; /* 244/256 counts as 1 does, as measured */
    bits &= 0x7ff0000000000000;
    memcpy(&largest, &bits, sizeof bits);
    return largest * (is_half(t) ? 0x1p-14 : 0x1p-7);
}

/* What is to be added: elements with their weights. Two levels have eight corners each, of which a
 * cube's may be three elements. */
struct mix {
    unsigned count, groups, begin[5]; /* a group: the elements of one level and one slice */
    struct {
        double weight, v[4];
    } item[16];
};

/* The sum of a group. */
static double sum_of_some(const struct weir_texture *t, const struct mix *m, unsigned k,
                          unsigned first, unsigned end)
{
    bool cuts = is_half(t) || k < t->srgb_channels;
    double largest = 0, sum = 0, unit;

    for (unsigned n = first; n < end && cuts; n++)
        largest = WEIR_MAX(largest, fabs(m->item[n].v[k]));
    cuts = largest > 0 && isfinite(largest);
    unit = cuts ? unit_of_sum(t, largest) : 1;
    for (unsigned n = first; n < end; n++) {
        double v = m->item[n].v[k];

        sum += m->item[n].weight * (cuts ? trunc(v / unit) * unit : v);
    }
    return sum;
}

static double sum_of(const struct weir_texture *t, const struct mix *m, unsigned k)
{
    double sum = 0;

    for (unsigned g = 0; g < m->groups; g++)
        sum += sum_of_some(t, m, k, m->begin[g], g + 1 < m->groups ? m->begin[g + 1] : m->count);
    return sum;
}

/* ---- places ---- */

#define OUTSIDE (-1)

/* Two neighbours along one axis, and the weight of the second in 256ths. */
struct axis {
    int32_t at[2];  /* OUTSIDE: the border */
    int32_t raw[2]; /* before the address mode */
    uint32_t weight;
};

static int32_t addressed(int32_t i, int32_t n, int mode)
{
    if (WEIR_LIKELY((uint32_t)i < (uint32_t)n))
        return i;
    switch (mode) {
    case WEIR_ADDRESS_WRAP:
        i %= n;
        return i < 0 ? i + n : i;
    case WEIR_ADDRESS_MIRROR:
        i %= 2 * n;
        i = i < 0 ? i + 2 * n : i;
        return i < n ? i : 2 * n - 1 - i;
    case WEIR_ADDRESS_BORDER:
        return OUTSIDE;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

static double bounded(double x)
{
    return x > -COORD_MAX ? x < COORD_MAX ? x : COORD_MAX : isnan(x) ? 0 : -COORD_MAX;
}

/* Repeated textures: large coordinates keep their place in the period. */
static double in_period(double x, int mode)
{
    double period = mode == WEIR_ADDRESS_MIRROR ? 2 : 1;

    if (mode != WEIR_ADDRESS_WRAP && mode != WEIR_ADDRESS_MIRROR)
        return x;
    return isfinite(x) ? x - period * floor(x / period) : 0;
}

/* Normalised coordinates are cut to fixed point. */
static double fixed(double x)
{
    return floor(x * COORD_UNIT) / COORD_UNIT;
}

/* two: the request looks at both neighbours, as a gather and a filter do. */
static void set_axis(struct axis *a, double x, uint32_t size, int mode, bool two)
{
    int32_t n = (int32_t)size;
    double floor_x;

    x = bounded(two ? x - 0.5 : x);
    if (two) /* the weight's rounding may bring the next two */
        x = floor(x * 256 + 0.5) / 256;
    floor_x = floor(x);
    a->raw[0] = (int32_t)floor_x;
    a->at[0] = addressed(a->raw[0], n, mode);
    a->weight = 0;
    if (!two)
        return;
    a->weight = (uint32_t)((x - floor_x) * 256);
    a->raw[1] = a->raw[0] + 1;
    a->at[1] = addressed(a->raw[1], n, mode);
}

/* ---- one level ---- */

/* What is fetched at one level: the axes, and the slice where that is no axis. */
struct spot {
    const struct weir_texture *t;
    const struct weir_texture_level *level;
    struct weir_block *block;
    struct axis axis[3];
    unsigned axes;
    size_t slice;
    uint32_t share; /* of the level, in 256ths */
    int face;       /* of seamless cubes, else -1 */
    bool whole;
};

static const char *element_at(const struct spot *s, size_t x, size_t y, size_t z)
{
    const struct weir_texture_level *l = s->level;
    size_t slice = WEIR_MIN(z, (size_t)l->size[2] - 1);
    const char *p = l->memory + slice * l->slice + y * l->pitch + x * s->t->element_bytes;

    weir_texture_touch(s->block, p, s->t->element_bytes, 0);
    return p;
}

/* Cubes: which face a direction meets, and where (-1 .. 1). */
static int cube_face(const double *v, double *u, double *w)
{
    double x = fabs(v[0]), y = fabs(v[1]), z = fabs(v[2]);
    int face;
    double m;

    if (x >= y && x >= z) {
        face = v[0] < 0;
        m = x;
        *u = face ? v[2] : -v[2];
        *w = -v[1];
    } else if (y >= z) {
        face = 2 + (v[1] < 0);
        m = y;
        *u = v[0];
        *w = face == 3 ? -v[2] : v[2];
    } else {
        face = 4 + (v[2] < 0);
        m = z;
        *u = face == 5 ? -v[0] : v[0];
        *w = -v[1];
    }
    m = m > 0 ? m : 1;
    *u /= m;
    *w /= m;
    return face;
}

/* The direction of place u, w of a face: the inverse. */
static void cube_direction(int face, double u, double w, double *v)
{
    double sign = face & 1 ? -1 : 1;

    switch (face >> 1) {
    case 0:
        v[0] = sign;
        v[1] = -w;
        v[2] = -u * sign;
        break;
    case 1:
        v[0] = u;
        v[1] = sign;
        v[2] = w * sign;
        break;
    default:
        v[0] = u * sign;
        v[1] = -w;
        v[2] = sign;
        break;
    }
}

/* An element beyond one edge of a face lies on the next face. */
static const char *across(const struct spot *s, int32_t x, int32_t y)
{
    double n = s->level->size[0], v[3], u, w;
    int face;

    cube_direction(s->face, 2 * (x + 0.5) / n - 1, 2 * (y + 0.5) / n - 1, v);
    face = cube_face(v, &u, &w);
    u = bounded((u + 1) / 2 * n);
    w = bounded((w + 1) / 2 * n);
    return element_at(s, (size_t)WEIR_MIN(u, n - 1), (size_t)WEIR_MIN(w, n - 1),
                      s->slice - (size_t)s->face + (size_t)face);
}

static const char *corner(const struct spot *s, unsigned bits)
{
    size_t at[3] = {0, 0, s->slice};

    if (s->face >= 0) {
        int32_t x = s->axis[0].raw[bits & 1], y = s->axis[1].raw[bits >> 1 & 1];
        int32_t n = (int32_t)s->level->size[0];

        if (x < 0 || y < 0 || x >= n || y >= n)
            return across(s, x, y);
    }
    for (unsigned k = 0; k < s->axes; k++) {
        int32_t i = s->axis[k].at[bits >> k & 1];

        if (i == OUTSIDE)
            return NULL;
        at[k] = (size_t)i;
    }
    return element_at(s, at[0], at[1], at[2]);
}

/* Beyond two edges at once a cube has no element: the mean of the other three stands there. */
static bool is_cube_corner(const struct spot *s, unsigned bits)
{
    int32_t x = s->axis[0].raw[bits & 1], y = s->axis[1].raw[bits >> 1 & 1];
    int32_t n = (int32_t)s->level->size[0];

    return s->face >= 0 && (x < 0 || x >= n) && (y < 0 || y >= n);
}

static uint32_t border(const struct weir_texture *t, unsigned k)
{
    return t->resource.type == WEIR_TEXTURE_LINEAR ? 0 : t->border[k];
}

static void nearest(const struct spot *s, uint32_t *words)
{
    const char *p = corner(s, 0);

    for (unsigned k = 0; k < 4; k++)
        words[k] = k >= s->t->channels ? 0
                   : p                 ? channel(s->t, p, k)
                   : s->whole          ? 0
                                       : border(s->t, k);
}

/* weight: in 256ths */
static void add(const struct spot *s, unsigned bits, double weight, struct mix *m)
{
    const char *p = weight != 0 ? corner(s, bits) : NULL;

    if (weight == 0)
        return;
    m->item[m->count].weight = weight / 256;
    for (unsigned k = 0; k < s->t->channels; k++)
        m->item[m->count].v[k] = p ? amount(s->t, p, k) : amount_of_word(s->t, border(s->t, k), k);
    m->count++;
}

/* The weight of a cube's corner goes to its neighbours, in whole 256ths: a third, rounded, to each
 * of those beside it, the rest to the one opposite. */
static void add_around(const struct spot *s, unsigned lost, double weight, struct mix *m)
{
    double third = floor(weight / 3 + 0.5);

    add(s, lost ^ 1, third, m);
    add(s, lost ^ 2, third, m);
    add(s, lost ^ 3, weight - 2 * third, m);
}

/* A share split along one axis: the second element's part is rounded, the first one has the rest.
 */
static uint32_t part(uint32_t share, const struct axis *a, uint32_t half, bool second)
{
    uint32_t upper = (share * a->weight + half) >> 8;

    return second ? upper : share - upper;
}

/* In 256ths; bits: 1 the second along x, 2 along y, 4 along z. */
static double weight_of(const struct spot *s, unsigned bits)
{
    uint32_t w = s->share;

    if (s->axes == 3)
        w = part(w, &s->axis[2], 127, bits & 4);
    w = part(w, &s->axis[0], 128, bits & 1);
    return s->axes == 1 ? w : part(w, &s->axis[1], 127 + (bits & 1), bits & 2);
}

static void weighted(const struct spot *s, struct mix *m)
{
    for (unsigned bits = 0; bits < 1u << s->axes; bits++) {
        double weight = weight_of(s, bits);

        if (!(bits & 3))
            m->begin[m->groups++] = m->count;
        if (weight != 0 && is_cube_corner(s, bits))
            add_around(s, bits, weight, m);
        else
            add(s, bits, weight, m);
    }
}

/* ---- requests ---- */

/* A request's coordinates as numbers, the slice and the face they name. */
struct place {
    double x[3];            /* cubes: u, w of the face, normalised to 0 .. 1 */
    bool normalized, whole; /* whole: integers, no filtering */
    unsigned axes;
    uint32_t layer;
    int face;
};

static void read_place(const struct weir_texture *t, const struct weir_texture_request *r,
                       struct place *p)
{
    uint32_t geometry = WEIR_TEX_GEOMETRY(r->code);
    bool layered = weir_tex_is_layered(geometry), cube = geometry >= WEIR_TEX_CUBE;
    const uint32_t *in = r->in + (layered ? ROW : 0);

    p->axes = weir_tex_coordinates(geometry);
    p->whole = !(r->code & WEIR_TEX_FLOAT);
    p->normalized = t->sampler.normalized && !p->whole;
    p->layer = layered ? r->in[0] : 0;
    p->face = -1;
    for (unsigned k = 0; k < p->axes; k++)
        p->x[k] = p->whole ? (double)(int32_t)in[k * ROW] : (double)as_float(in[k * ROW]);
    if (!cube)
        return;
    p->face = cube_face(p->x, &p->x[0], &p->x[1]);
    p->x[0] = (p->x[0] + 1) / 2;
    p->x[1] = (p->x[1] + 1) / 2;
    p->axes = 2;
    p->normalized = true;
}

/* A 1D array is filtered as a row of a 2D one, at y 0: half of the weight is above it, which shows
 * where the mode of y is the border. */
static void add_border_row(struct spot *s, uint32_t geometry)
{
    if (geometry != WEIR_TEX_1D || s->t->sampler.address[1] != WEIR_ADDRESS_BORDER)
        return;
    s->axis[1] = (struct axis){.at = {OUTSIDE, 0}, .raw = {-1, 0}, .weight = 128};
    s->axes = 2;
}

/* Integer coordinates find nothing in a 1D array, nor in a layer that is not there. */
static bool is_nothing(const struct weir_texture *t, uint32_t geometry, const struct place *p,
                       uint32_t slices)
{
    if (!p->whole || t->resource.type == WEIR_TEXTURE_LINEAR)
        return false;
    return geometry == WEIR_TEX_1D || (weir_tex_is_layered(geometry) && p->layer >= slices);
}

/* Whether two neighbours along axis k that are one element count as one: at every edge, but levels
 * become one element wide, which is not noticed where they are wrapped around; along z at the edges
 * of clamped ones alone. */
static bool is_noticed(const struct weir_texture *t, unsigned k, int mode)
{
    if (k == 2)
        return mode == WEIR_ADDRESS_CLAMP;
    return mode != WEIR_ADDRESS_BORDER && (mode != WEIR_ADDRESS_WRAP || t->level[0].size[k] == 1);
}

static void set_spot(struct spot *s, const struct weir_texture *t,
                     const struct weir_texture_request *r, const struct place *p, uint32_t level,
                     bool linear)
{
    uint32_t slices;

    s->t = t;
    s->level = &t->level[level];
    s->block = r->block;
    s->axes = p->axes;
    s->share = 256;
    s->whole = p->whole;
    slices = s->level->size[2];
    s->face = p->face >= 0 && t->sampler.seamless ? p->face : -1;
    if (p->face >= 0)
        s->slice = WEIR_MIN((size_t)p->layer, (size_t)(WEIR_MAX(slices, 6u) / 6 - 1)) * 6 +
                   (size_t)p->face;
    else
        s->slice = WEIR_MIN(p->layer, slices - 1);
    for (unsigned k = 0; k < p->axes; k++) {
        int mode = t->sampler.address[k];
        double x = p->x[k];

        if (t->resource.type == WEIR_TEXTURE_LINEAR || p->whole)
            mode = WEIR_ADDRESS_BORDER;
        else if (!p->normalized && mode != WEIR_ADDRESS_BORDER)
            mode = WEIR_ADDRESS_CLAMP;
        if (p->normalized)
            x = (p->face >= 0 ? x : fixed(in_period(x, mode))) * s->level->size[k];
        set_axis(&s->axis[k], x, s->level->size[k], mode, linear);
        if (linear && s->face < 0 && s->axis[k].at[0] == s->axis[k].at[1] && is_noticed(t, k, mode))
            s->axis[k].weight = 0; /* which shows where three weights are rounded together */
    }
    if (is_nothing(t, WEIR_TEX_GEOMETRY(r->code), p, slices))
        s->axis[0].at[0] = OUTSIDE;
    if (linear)
        add_border_row(s, WEIR_TEX_GEOMETRY(r->code));
}

static void nearest_at(const struct weir_texture *t, const struct weir_texture_request *r,
                       const struct place *p, uint32_t level, uint32_t *words)
{
    struct spot s;

    set_spot(&s, t, r, p, level, false);
    nearest(&s, words);
}

static int64_t integer_of(const struct weir_texture *t, uint32_t word)
{
    return t->format == 0 ? (int64_t)(int32_t)word : (int64_t)word;
}

/* A sum of integers in 256ths; small ones are rounded, half up. */
static uint32_t integer_word(const struct weir_texture *t, int64_t sum)
{
    return (uint32_t)((sum + (t->channel_bits < 32 ? 128 : 0)) >> 8);
}

/* Integers of two levels; share: of the second, in 256ths. */
static void mix_integers(const struct weir_texture *t, const struct weir_texture_request *r,
                         const struct place *p, uint32_t level, uint32_t share, uint32_t *words)
{
    uint32_t next[4];

    nearest_at(t, r, p, level, next);
    for (unsigned k = 0; k < t->channels; k++)
        words[k] = integer_word(t, integer_of(t, words[k]) * (int64_t)(256 - share) +
                                       integer_of(t, next[k]) * (int64_t)share);
}

/* Adds what one level gives, which counts so many 256ths. */
static void add_level(const struct weir_texture *t, const struct weir_texture_request *r,
                      const struct place *p, uint32_t level, uint32_t share, struct mix *m)
{
    bool linear = t->sampler.linear && !p->whole && t->resource.type != WEIR_TEXTURE_LINEAR;
    uint32_t words[4];
    struct spot s;

    set_spot(&s, t, r, p, level, linear);
    s.share = share;
    if (linear) {
        weighted(&s, m);
        return;
    }
    nearest(&s, words);
    for (unsigned k = 0; k < t->channels; k++)
        m->item[m->count].v[k] = amount_of_word(t, words[k], k);
    m->begin[m->groups++] = m->count;
    m->item[m->count++].weight = share / 256.0;
}

/* The results of one lane, in the form that the instruction asks for. */
static void give(const struct weir_texture *t, const struct weir_texture_request *r,
                 const uint32_t *words)
{
    uint32_t v[4];

    switch (WEIR_TEX_RESULT(r->code)) {
    case WEIR_TEX_WORD:
        for (unsigned k = 0; k < 4; k++)
            r->out[k * ROW] = words[k];
        return;
    default:
        for (unsigned k = 0; k < 4; k++)
            v[k] = t->gives_float ? weir_half_of_float(words[k]) : words[k] & 0xffff;
        if (WEIR_TEX_RESULT(r->code) == WEIR_TEX_HALF2) {
            r->out[0] = v[0] | v[1] << 16;
            r->out[ROW] = v[2] | v[3] << 16;
            return;
        }
        for (unsigned k = 0; k < 4; k++)
            r->out[k * ROW] = v[k];
        return;
    }
}

/* ---- levels of detail ---- */

/* d(u)/d(v) of the face's coordinates; like cube_face with the face known. */
static void cube_slope(int face, const double *v, const double *dv, double *slope)
{
    static const struct {
        uint8_t u, w, m;
        int8_t su, sw, sm;
    } axes[6] = {{2, 1, 0, -1, -1, 1}, {2, 1, 0, 1, -1, -1}, {0, 2, 1, 1, 1, 1},
                 {0, 2, 1, 1, -1, -1}, {0, 1, 2, 1, -1, 1},  {0, 1, 2, -1, -1, -1}};
    double m = v[axes[face].m] * axes[face].sm, dm = dv[axes[face].m] * axes[face].sm;
    double u = v[axes[face].u] * axes[face].su, du = dv[axes[face].u] * axes[face].su;
    double w = v[axes[face].w] * axes[face].sw, dw = dv[axes[face].w] * axes[face].sw;

    m = m > 0 ? m : 1;
    slope[0] = (du * m - u * dm) / (m * m) / 2;
    slope[1] = (dw * m - w * dm) / (m * m) / 2;
}

/* log2 in 256ths of 1 to 2, by the eight bits behind the point. */
static const uint8_t detail_of_mantissa[256] = {
    0,   2,   4,   5,   6,   8,   9,   11,  12,  13,  15,  16,  18,  19,  20,  22,  23,  24,  26,
    27,  28,  30,  31,  32,  34,  35,  36,  38,  39,  40,  42,  43,  44,  45,  47,  48,  49,  50,
    52,  53,  54,  55,  57,  58,  59,  60,  62,  63,  64,  65,  66,  68,  69,  70,  71,  72,  74,
    75,  76,  77,  78,  79,  81,  82,  83,  84,  85,  86,  88,  89,  90,  91,  92,  93,  94,  95,
    97,  98,  99,  100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116,
    117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136,
    137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154,
    155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172,
    173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188,
    189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205,
    205, 206, 207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218, 219, 220,
    221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232, 233, 233, 234, 235,
    236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248, 249,
    250, 251, 251, 252, 253, 253, 254, 255, 255,
};

static double log2_of_step(double length)
{
    int exponent;
    double m = frexp(length, &exponent); /* 0.5 <= m < 1 */

    return exponent - 1 + detail_of_mantissa[(unsigned)((m * 2 - 1) * 256)] / 256.0;
}

/* The first ten bits. */
static double ten_bits(double v)
{
    int exponent;
    double m = frexp(v, &exponent);

    return ldexp(trunc(m * 1024), exponent - 10);
}

/* 11 / scale of ten bits of v, rounded to an eighth of their last one's 11 times. */
static double eleven(double v, double scale)
{
    int exponent;
    double m = frexp(v, &exponent);

    return ldexp(floor((11 * trunc(m * 1024) + 4) / 8) * 8 / scale, exponent - 10);
}

/* The length of a step, about: its longest part, 11/32 of the next one, 1/4 of the least. */
static double length_of(const double *d, unsigned axes)
{
    double x = fabs(d[0]), y = axes > 1 ? fabs(d[1]) : 0, z = axes > 2 ? fabs(d[2]) : 0;
    double low = fmin(x, y), high = fmax(x, y), mid = fmin(high, z);

    return ten_bits(fmax(high, z)) + eleven(fmax(low, mid), 32) + ten_bits(fmin(low, mid)) / 4;
}

/* How far two steps reach: the longer one, or 11/16 of their sum or difference. */
static double reach_of(const double *a, const double *b, unsigned axes)
{
    double sum[3] = {0}, difference[3] = {0};

    for (unsigned k = 0; k < axes; k++) {
        sum[k] = eleven(fabs(a[k] + b[k]), 16);
        difference[k] = eleven(fabs(a[k] - b[k]), 16);
    }
    return fmax(fmax(length_of(a, axes), length_of(b, axes)),
                fmax(length_of(sum, axes), length_of(difference, axes)));
}

/* log2 of how many elements of the largest level a step covers. */
static double detail_of_gradient(const struct weir_texture *t, const struct weir_texture_request *r,
                                 const struct place *p)
{
    uint32_t geometry = WEIR_TEX_GEOMETRY(r->code);
    unsigned n = weir_tex_coordinates(geometry);
    const uint32_t *at = r->in + (weir_tex_is_layered(geometry) ? ROW : 0),
                   *d = at + (size_t)n * ROW;
    double step[2][3] = {{0}}, reach;

    for (unsigned side = 0; side < 2; side++, d += (size_t)n * ROW) {
        double v[3], dv[3];

        for (unsigned k = 0; k < n; k++) {
            v[k] = (double)as_float(at[k * ROW]);
            dv[k] = (double)as_float(d[k * ROW]);
        }
        if (p->face >= 0)
            cube_slope(p->face, v, dv, dv);
        for (unsigned k = 0; k < p->axes; k++)
            step[side][k] = ten_bits(dv[k] * (p->normalized ? t->level[0].size[k] : 1));
    }
    reach = reach_of(step[0], step[1], p->axes);
    return reach > 0 ? log2_of_step(reach) : -1000;
}

/* Levels are told apart by 256ths. */
static double cut(double level)
{
    return trunc(level * 256) / 256;
}

static double detail(const struct weir_texture *t, const struct weir_texture_request *r,
                     const struct place *p)
{
    const struct weir_texture_sampler *s = &t->sampler;
    unsigned rows = weir_tex_coordinates(WEIR_TEX_GEOMETRY(r->code)) +
                    weir_tex_is_layered(WEIR_TEX_GEOMETRY(r->code));
    double lod = 0;

    switch (WEIR_TEX_OP(r->code)) {
    case WEIR_TEX_LEVEL:
        lod = p->whole ? (double)(int32_t)r->in[rows * ROW] : (double)as_float(r->in[rows * ROW]);
        lod = cut(lod) + cut((double)s->bias);
        break;
    case WEIR_TEX_GRAD:
        lod = detail_of_gradient(t, r, p) + cut((double)s->bias);
        break;
    default:
        break;
    }
    lod = isnan(lod) ? 0 : lod;
    lod = WEIR_MAX(WEIR_MIN(lod, cut((double)s->most_level)), cut((double)s->least_level));
    return WEIR_MIN(WEIR_MAX(lod, 0.0), (double)(t->levels - 1));
}

/* Channel k where a cube has no element: of the other three, as add_around() weighs them. */
static uint32_t gathered_around(const struct spot *s, unsigned lost, unsigned k)
{
    const struct weir_texture *t = s->t;
    struct mix m;
    int64_t sum = 0;

    if (t->gives_float) {
        m.count = m.begin[0] = 0;
        m.groups = 1;
        add_around(s, lost, 256, &m);
        return bits_of(weir_texture_rounded(t, sum_of(t, &m, k), k));
    }
    for (unsigned n = 1; n < 4; n++)
        sum += integer_of(t, channel(t, corner(s, lost ^ n), k)) * (n < 3 ? 85 : 86);
    return integer_word(t, sum);
}

static uint32_t gathered(const struct spot *s, unsigned bits, unsigned k)
{
    const struct weir_texture *t = s->t;
    const char *e;

    if (is_cube_corner(s, bits))
        return gathered_around(s, bits, k);
    e = corner(s, bits);
    if (is_in_steps(t, k)) /* as of sums */
        return bits_of(
            weir_texture_rounded(t, e ? amount(t, e, k) : amount_of_word(t, border(t, k), k), k));
    return e ? channel(t, e, k) : border(t, k);
}

static void gather(const struct weir_texture *t, const struct weir_texture_request *r,
                   const struct place *p)
{
    static const uint8_t corners[4] = {2, 3, 1, 0}; /* from below on the left, against the clock */
    unsigned k = WEIR_TEX_DETAIL(r->code);
    uint32_t words[4] = {0};
    struct spot s;

    set_spot(&s, t, r, p, 0, true);
    for (unsigned n = 0; n < 4 && k < t->channels; n++)
        words[n] = gathered(&s, corners[n], k);
    give(t, r, words);
}

void weir_texture_sample(const struct weir_texture *t, const struct weir_texture_request *r)
{
    uint32_t words[4], level, next = 0;
    bool by_weight;
    double lod;
    struct mix m;
    struct place p;

    read_place(t, r, &p);
    if (WEIR_TEX_OP(r->code) == WEIR_TEX_GATHER) {
        gather(t, r, &p);
        return;
    }
    lod = t->levels > 1 ? detail(t, r, &p) : 0;
    level = (uint32_t)(t->sampler.linear_levels ? lod : lod + 0.5);
    by_weight = t->sampler.linear && !p.whole && t->resource.type != WEIR_TEXTURE_LINEAR;
    if (t->sampler.linear_levels && lod > level)
        next = (uint32_t)((lod - level) * 256);
    if (!t->gives_float || (!by_weight && (!t->sampler.linear_levels || t->levels == 1))) {
        nearest_at(t, r, &p, level, words);
        if (next)
            mix_integers(t, r, &p, level + 1, next, words);
        give(t, r, words);
        return;
    }
    m.count = m.groups = 0;
    add_level(t, r, &p, level, 256 - next, &m);
    if (next)
        add_level(t, r, &p, WEIR_MIN(level + 1, t->levels - 1), next, &m);
    for (unsigned k = 0; k < 4; k++)
        words[k] = k < t->channels ? bits_of(weir_texture_rounded(t, sum_of(t, &m, k), k)) : 0;
    give(t, r, words);
}
