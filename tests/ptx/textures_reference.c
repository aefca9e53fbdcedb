/* See textures.h. Nothing is shared with the product: elements are found one by one, by the rule of
 * each mode, and faces of cubes meet by whole-number positions on the cube's surface.
 * SPDX-License-Identifier: Apache-2.0 */
#include "textures.h"

#include <math.h>
#include <string.h>

static float half_value(unsigned h)
{
    double v;
    int e = (int)(h >> 10 & 31), m = (int)(h & 1023);

    if (e == 31)
        v = m ? NAN : INFINITY;
    else
        v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return (float)(h & 0x8000 ? -v : v);
}

static bool gives_float(const struct texture *t)
{
    return t->kind == cudaChannelFormatKindFloat || t->desc.readMode == cudaReadModeNormalizedFloat;
}

static uint32_t float_word(double v)
{
    float f = (float)v;
    uint32_t w;

    memcpy(&w, &f, sizeof w);
    return w;
}

static double word_float(uint32_t w)
{
    float f;

    memcpy(&f, &w, sizeof f);
    return (double)f;
}

/* 13 of the 256 values are a step off the curve. */
#define SRGB_TOLERANCE (0x1p-7 / 100)

/* To a multiple of 2^-14, or to 8 significant bits where that is coarser (as an H200 does). */
static double linear_of_srgb(double c)
{
    double v = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    int e;

    frexp(v, &e); /* v = m 2^e, 0.5 <= m < 1 */
    e = e - 8 > -14 ? e - 8 : -14;
    return ldexp(nearbyint(ldexp(v, -e)), e);
}

static bool is_srgb(const struct texture *t, int c)
{
    return t->desc.sRGB && t->bits == 8 && t->kind == cudaChannelFormatKindUnsigned &&
           c < (t->channels == 2 ? 1 : 3);
}

/* The border's colour in the texture's format, as an H200 has it. */
static uint32_t border_colour(const struct texture *t, int c)
{
    float colour = t->desc.borderColor[c];
    bool is_signed = t->kind == cudaChannelFormatKindSigned;
    double most = ldexp(1, t->bits - is_signed) - 1, v;
    uint32_t word;

    if (t->bits == 32 || t->kind == cudaChannelFormatKindFloat) /* the tests' are exact in f16 */
        return float_word((double)colour);
    if (t->desc.readMode != cudaReadModeNormalizedFloat) {
        memcpy(&word, &colour, sizeof word);
        word &= (uint32_t)ldexp(1, t->bits) - 1;
        return is_signed && word > most ? word - (uint32_t)ldexp(1, t->bits) : word;
    }
    v = fmin(fmax((double)colour, is_signed ? -1 : 0), 1) * most;
    if (is_srgb(t, c)) { /* to a byte of sRGB, and back */
        v /= most;
        v = v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
        return float_word(linear_of_srgb(floor(v * most + 0.5) / most));
    }
    v = v - trunc(v) > 0.5 ? trunc(v) + 1 : v - trunc(v) < -0.5 ? trunc(v) - 1 : trunc(v);
    return float_word(v / most + 0.0);
}

static uint32_t element(const struct texture *t, const struct level *l, const int *at, int c)
{
    size_t bytes = (size_t)t->bits / 8, index;
    bool is_signed = t->kind == cudaChannelFormatKindSigned;
    uint32_t raw = 0;
    int64_t value;
    double most;

    index =
        ((size_t)at[2] * (size_t)l->size[1] + (size_t)at[1]) * (size_t)l->size[0] + (size_t)at[0];
    memcpy(&raw, l->data + (index * (size_t)t->channels + (size_t)c) * bytes, bytes);
    if (t->kind == cudaChannelFormatKindFloat)
        return t->bits == 16 ? float_word((double)half_value(raw)) : raw;
    value = raw;
    if (is_signed && t->bits < 32 && raw >> (t->bits - 1))
        value -= (int64_t)1 << t->bits;
    if (t->desc.readMode != cudaReadModeNormalizedFloat)
        return (uint32_t)value;
    most = ldexp(1, t->bits - is_signed) - 1;
    if (is_srgb(t, c))
        return float_word(linear_of_srgb((double)value / most));
    /* of 8 bits the least counts in sums as it is; results are no less than -1 */
    return float_word(t->bits == 8 ? (double)value / most : fmax((double)value / most, -1));
}

/* -1: the border. */
static int by_mode(int i, int n, enum cudaTextureAddressMode mode, bool normalized)
{
    if (!normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
        mode = cudaAddressModeClamp;
    switch (mode) {
    case cudaAddressModeWrap:
        while (i < 0)
            i += n;
        return i % n;
    case cudaAddressModeMirror:
        while (i < 0 || i >= n)
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
        return i;
    case cudaAddressModeBorder:
        return i < 0 || i >= n ? -1 : i;
    default:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

/* ---- cubes ---- */

static const struct face {
    int major, sign, s, s_sign, t, t_sign;
} faces[6] = {
    {0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
    {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1},
};

static int face_of(const float *v, double *s, double *t)
{
    double x = fabs((double)v[0]), y = fabs((double)v[1]), z = fabs((double)v[2]), m;
    int major = x >= y && x >= z ? 0 : y >= z ? 1 : 2, f = major * 2 + (v[major] < 0);

    m = fabs((double)v[major]);
    *s = ((double)v[faces[f].s] * faces[f].s_sign / m + 1) / 2;
    *t = ((double)v[faces[f].t] * faces[f].t_sign / m + 1) / 2;
    return f;
}

/* Element (i, j) of a face, one of them perhaps one beyond an edge, on the cube's surface: whole
 * numbers, the faces at +-n. */
static void fold(int n, int *face, int *i, int *j)
{
    const struct face *f = &faces[*face];
    int p[3];

    p[f->major] = f->sign * n;
    p[f->s] = (2 * *i + 1 - n) * f->s_sign;
    p[f->t] = (2 * *j + 1 - n) * f->t_sign;
    for (int k = 0; k < 3; k++)
        if (p[k] > n || p[k] < -n) {
            p[f->major] = f->sign * (n - 1);
            p[k] = p[k] > 0 ? n : -n;
        }
    for (int k = 0; k < 6; k++)
        if (p[faces[k].major] == faces[k].sign * n) {
            *face = k;
            *i = (p[faces[k].s] * faces[k].s_sign + n - 1) / 2;
            *j = (p[faces[k].t] * faces[k].t_sign + n - 1) / 2;
        }
}

/* ---- one level ---- */

struct spot {
    const struct texture *t;
    const struct level *l;
    double u[3]; /* in elements */
    int axes, slice, face;
    bool normalized, whole, no_layer;
};

static void set_spot(struct spot *s, const struct texture *t, const struct place *p, int level)
{
    bool cube = t->geometry >= G_CUBE;
    double c[3] = {0};
    unsigned layer;

    *s = (struct spot){.t = t, .l = &t->level[level], .face = -1};
    s->whole = p->whole;
    s->axes = t->geometry <= G_A1D ? 1 : t->geometry == G_3D ? 3 : 2;
    s->normalized = (t->desc.normalizedCoords && !p->whole) || cube;
    for (int k = 0; k < s->axes; k++)
        c[k] = p->whole ? p->i[k] : (double)p->x[k];
    if (cube)
        s->face = face_of(p->x, &c[0], &c[1]);
    for (int k = 0; k < s->axes; k++)
        s->u[k] = !s->normalized ? c[k]
                  : cube         ? c[k] * s->l->size[k]
                                 : ldexp(floor(ldexp(c[k], 21)), -21) * s->l->size[k];
    s->no_layer = p->layer >= (unsigned)t->layers && (t->geometry == G_A1D || t->geometry == G_A2D);
    layer = p->layer < (unsigned)t->layers ? p->layer : (unsigned)t->layers - 1;
    s->slice = t->geometry == G_3D ? 0 : cube ? (int)layer * 6 : (int)layer;
}

static uint32_t at(const struct spot *s, int i, int j, int k, int c)
{
    const struct texture *t = s->t;
    int place[3] = {i, j, k};
    if (s->whole && !t->flat && (t->geometry == G_1D || s->no_layer))
        return 0; /* as an H200 has it */
    if (s->face >= 0) {
        int n = s->l->size[0], face = s->face;

        if (t->desc.seamlessCubemap && (i < 0 || i >= n || j < 0 || j >= n))
            fold(n, &face, &i, &j);
        place[0] = by_mode(i, n, t->desc.addressMode[0], true);
        place[1] = by_mode(j, n, t->desc.addressMode[1], true);
        if (place[0] < 0 || place[1] < 0)
            return border_colour(t, c);
        place[2] = s->slice + face;
        return element(t, s->l, place, c);
    }
    for (int a = 0; a < s->axes; a++) {
        place[a] = by_mode(place[a], s->l->size[a],
                           t->flat || s->whole ? cudaAddressModeBorder : t->desc.addressMode[a],
                           s->normalized);
        if (place[a] < 0)
            return t->flat || s->whole ? 0 : border_colour(t, c);
    }
    for (int a = s->axes; a < 3; a++)
        place[a] = a == 2 ? s->slice : 0;
    return element(t, s->l, place, c);
}

static bool is_lost_corner(const struct spot *s, int i, int j)
{
    int n = s->l->size[0];

    return s->face >= 0 && s->t->desc.seamlessCubemap && (i < 0 || i >= n) && (j < 0 || j >= n);
}

/* Weights in whole 256ths, as measured: what a level counts is split along z, the parts along x,
 * those along y. Second ones are rounded to nearest, first ones are what is left; what is exactly
 * between two goes up along x, and along y of the second ones along x. */
static double share(double whole, double a, bool up, bool second)
{
    double part = up ? floor(whole * a + 0.5) : ceil(whole * a - 0.5);

    return second ? part : whole - part;
}

static void split(double whole, int axes, const double *a, double *w)
{
    for (int corner = 0; corner < 8; corner++) {
        double z = axes == 3 ? share(whole, a[2], false, corner & 4) : whole;
        double x = share(z, a[0], true, corner & 1);

        w[corner] = share(x, a[1], corner & 1, corner & 2);
    }
}

/* To the nearest number with so many bits, not below 2^least; ties away from zero. */
static double to_bits(double v, int bits, int least)
{
    int e;

    if (v == 0)
        return v;
    frexp(v, &e);
    e = e - bits > least ? e - bits : least;
    return ldexp(round(ldexp(v, -e)), e);
}

static bool is_half(const struct texture *t)
{
    return t->kind == cudaChannelFormatKindFloat && t->bits == 16;
}

/* Halves of one slice count in units of 2^-14 of the largest one's first bit. */
static double cut(double v, double largest)
{
    int e;

    if (largest == 0)
        return v;
    frexp(largest, &e);
    return ldexp(trunc(ldexp(v, 15 - e)), e - 15);
}

/* whole: the level's weight in 256ths. */
static double filtered(const struct spot *s, int c, double whole)
{
    double weights[8], values[8] = {0}, largest[2] = {0};
    int base[3] = {0}, n = 1 << s->axes;
    double a[3] = {0}, sum = 0;
    bool border;

    for (int k = 0; k < s->axes; k++) {
        double x = floor((s->u[k] - 0.5) * 256 + 0.5) / 256;
        enum cudaTextureAddressMode mode = s->t->desc.addressMode[k];

        base[k] = (int)floor(x);
        a[k] = x - base[k];
        /* the same element twice: at an edge, or where there is but one from the first level on */
        if ((s->face < 0 || !s->t->desc.seamlessCubemap) && mode != cudaAddressModeBorder &&
            by_mode(base[k], s->l->size[k], mode, s->normalized) ==
                by_mode(base[k] + 1, s->l->size[k], mode, s->normalized) &&
            (k == 2 ? !s->normalized || mode == cudaAddressModeClamp
                    : !s->normalized || mode != cudaAddressModeWrap || s->t->level[0].size[k] == 1))
            a[k] = 0;
    }
    /* a 1D array is a row at y 0, half a row below the border, which shows in that mode alone */
    border = s->t->geometry == G_1D && s->t->desc.addressMode[1] == cudaAddressModeBorder;
    if (border)
        a[1] = 0.5;
    split(whole, s->axes, a, weights);
    for (int corner = 0; corner < 4; corner++) {
        double lost = weights[corner], third = floor(lost / 3 + 0.5);

        if (!is_lost_corner(s, base[0] + (corner & 1), base[1] + (corner >> 1)))
            continue;
        /* thirds in whole 256ths; the one across the corner gets what is left */
        weights[corner ^ 1] += third;
        weights[corner ^ 2] += third;
        weights[corner ^ 3] += lost - 2 * third;
        weights[corner] = 0;
    }
    for (int corner = 0; corner < (border ? 4 : n); corner++) {
        int d[3] = {corner & 1, corner >> 1 & 1, corner >> 2 & 1};
        double w = weights[corner], v = 0;

        if (w == 0)
            continue;
        if (border && d[1] == 0)
            v = word_float(border_colour(s->t, c));
        else
            v = word_float(at(s, base[0] + d[0], base[1] + (border ? 0 : d[1]), base[2] + d[2], c));
        values[corner] = v;
        largest[d[2]] = fmax(largest[d[2]], fabs(v));
    }
    for (int corner = 0; corner < 8; corner++)
        if (values[corner] != 0)
            sum += weights[corner] / 256 *
                   (is_half(s->t) ? cut(values[corner], largest[corner >> 2]) : values[corner]);
    return sum;
}

static uint32_t nearest(const struct spot *s, int c)
{
    uint32_t word = at(s, (int)floor(s->u[0]), (int)floor(s->u[1]), (int)floor(s->u[2]), c);
    bool least = s->t->kind == cudaChannelFormatKindSigned && gives_float(s->t);

    return least && word_float(word) < -1 ? float_word(-1) : word;
}

static double value_at_level(const struct texture *t, const struct place *p, int level,
                             double whole, int c)
{
    struct spot s;

    set_spot(&s, t, p, level);
    return t->desc.filterMode == cudaFilterModeLinear && !p->whole && !t->flat
               ? filtered(&s, c, whole)
               : word_float(nearest(&s, c)) * whole / 256;
}

/* Filtered normalised integers are of 16 bits; signed ones of 8 bits were added as they are. */
static double in_steps(const struct texture *t, double v)
{
    double n;

    if (t->kind == cudaChannelFormatKindFloat)
        return is_half(t) ? to_bits(v, 11, -24) : to_bits(v, 24, -149);
    if (t->kind == cudaChannelFormatKindUnsigned || t->bits == 16) {
        double steps = t->kind == cudaChannelFormatKindUnsigned ? 65535 : 32767;

        return floor((rint(v * steps * 256) + 128) / 256) / steps; /* whole 256ths */
    }
    n = rint(v * 127 * 256);
    return fmax((n + floor((floor(n / 16) * 257 + 1024) / 2048)) / 32767, -1);
}

/* A sum of integers in 256ths, as an H200 has it. */
static uint32_t integer_word(const struct texture *t, double sum)
{
    return (uint32_t)(int64_t)floor(sum / 256 + (t->bits < 32 ? 0.5 : 0));
}

static double integer_of(const struct texture *t, uint32_t word)
{
    return t->kind == cudaChannelFormatKindSigned ? (double)(int32_t)word : (double)word;
}

/* Integers are not filtered, but mixed between two levels. */
static uint32_t integer_of_levels(const struct texture *t, const struct place *p, double lod, int c)
{
    bool mixed = t->desc.mipmapFilterMode == cudaFilterModeLinear;
    int first = (int)floor(mixed ? lod : lod + 0.5);
    double part = mixed ? floor((lod - first) * 256) : 0;
    struct spot s;
    uint32_t word;

    set_spot(&s, t, p, first);
    word = nearest(&s, c);
    if (part <= 0)
        return word;
    set_spot(&s, t, p, first + 1);
    return integer_word(t,
                        integer_of(t, word) * (256 - part) + integer_of(t, nearest(&s, c)) * part);
}

/* ---- whole fetches ---- */

void expect_fetch(const struct texture *t, const struct place *p, double lod, struct expected *e)
{
    double first, part, v;

    memset(e, 0, sizeof *e);
    lod += (double)t->desc.mipmapLevelBias;
    lod = fmin(fmax(lod, (double)t->desc.minMipmapLevelClamp), (double)t->desc.maxMipmapLevelClamp);
    lod = t->levels > 1 ? fmin(fmax(lod, 0), t->levels - 1) : 0;
    first = t->desc.mipmapFilterMode == cudaFilterModeLinear ? floor(lod) : floor(lod + 0.5);
    for (int c = 0; c < t->channels; c++) {
        if (!gives_float(t)) {
            e->word[c] = integer_of_levels(t, p, lod, c);
            continue;
        }
        e->tolerance[c] =
            (t->desc.filterMode == cudaFilterModeLinear && !p->whole && !t->flat) ||
                    (t->levels > 1 && t->desc.mipmapFilterMode == cudaFilterModeLinear)
                ? 1e-9
                : 0;
        part = t->desc.mipmapFilterMode == cudaFilterModeLinear ? fmax(lod - first, 0) * 256 : 0;
        v = value_at_level(t, p, (int)first, 256 - part, c);
        if (part > 0)
            v += value_at_level(t, p, (int)first + 1 < t->levels ? (int)first + 1 : (int)first,
                                part, c);
        if (t->desc.sRGB)
            e->tolerance[c] = SRGB_TOLERANCE;
        else if (e->tolerance[c] > 0) /* of 100: a sum that is a tie but for its last bit */
            v = in_steps(t, v);
        e->word[c] = float_word(v);
    }
}

/* Where a cube has no element: 85 256ths of those beside it, 86 of the one across. */
static uint32_t around(const struct spot *s, int x, int y, int other_x, int other_y, int c)
{
    uint32_t words[3] = {at(s, other_x, y, 0, c), at(s, x, other_y, 0, c),
                         at(s, other_x, other_y, 0, c)};
    double sum = 0, largest = 0;

    for (int k = 0; k < 3; k++)
        largest = fmax(largest, fabs(word_float(words[k])));
    for (int k = 0; k < 3; k++) {
        double v = !gives_float(s->t) ? integer_of(s->t, words[k])
                   : is_half(s->t)    ? cut(word_float(words[k]), largest)
                                      : word_float(words[k]);

        sum += v * (k < 2 ? 85 : 86);
    }
    return gives_float(s->t) ? float_word(sum / 256) : integer_word(s->t, sum);
}

void expect_gather(const struct texture *t, const struct place *p, int component,
                   struct expected *e)
{
    static const int dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
    struct spot s;
    int i, j;

    memset(e, 0, sizeof *e);
    if (component >= t->channels)
        return;
    set_spot(&s, t, p, 0);
    i = (int)floor(floor((s.u[0] - 0.5) * 256 + 0.5) / 256);
    j = (int)floor(floor((s.u[1] - 0.5) * 256 + 0.5) / 256);
    for (int k = 0; k < 4; k++) {
        int x = i + dx[k], y = j + dy[k];

        if (is_lost_corner(&s, x, y))
            e->word[k] = around(&s, x, y, i + i + 1 - x, j + j + 1 - y, component);
        else
            e->word[k] = at(&s, x, y, 0, component);
        if (gives_float(t)) { /* like sums */
            e->word[k] = float_word(in_steps(t, word_float(e->word[k])));
            e->tolerance[k] = 1e-9;
        }
        if (t->desc.sRGB)
            e->tolerance[k] = SRGB_TOLERANCE;
    }
}

double expect_lod(const struct texture *t, const float *dx, const float *dy, int axes)
{
    double x = 0, y = 0;

    for (int k = 0; k < axes; k++) {
        x += pow((double)dx[k] * t->level[0].size[k], 2);
        y += pow((double)dy[k] * t->level[0].size[k], 2);
    }
    return log2(sqrt(fmax(x, y)));
}
