/* Fetches of a whole warp at once, where that is simple: one object without levels, no cube, words
 * as results. The same arithmetic as texture_sample.c's, with lanes in loops that the compiler
 * makes vectors of; lanes that are not asked for are computed, too.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "core/texture.h"

#define LANES        32
#define FORMAT_FLOAT 2
#define COORD_MAX    1.0e9
#define OFFSET_MAX   ((size_t)1 << 31)

/* One axis: elements beside each place, and the second one's weight. */
struct axis {
    int32_t at[2][LANES];
    int32_t inside[2][LANES]; /* all bits, or none */
    double weight[LANES];
};

struct warp {
    const struct weir_texture *t;
    uint32_t *out;
    bool linear, whole, borders; /* borders: some axis has outsides */
    unsigned axes;
    struct axis axis[3];
    int32_t slice[LANES];
};

/* ---- places ---- */

static void read_whole(const uint32_t *in, double *x)
{
    for (unsigned k = 0; k < LANES; k++)
        x[k] = (double)(int32_t)in[k];
}

static void read_float(const uint32_t *in, double *x)
{
    float f[LANES];

    memcpy(f, in, sizeof f);
    for (unsigned k = 0; k < LANES; k++)
        x[k] = (double)f[k];
}

static void scale(double *x, double size)
{
    for (unsigned k = 0; k < LANES; k++)
        x[k] = floor(x[k] * WEIR_TEXTURE_UNIT) / WEIR_TEXTURE_UNIT * size;
}

static void wrap(double *x)
{
    for (unsigned k = 0; k < LANES; k++) {
        double y = x[k] - floor(x[k]);

        x[k] = y == y ? y : 0; /* infinite ones, and NaN */
    }
}

/* To the elements at and behind x - 0.5, or at x; indices bounded, not yet in range. */
static void split(struct axis *a, const double *x, bool linear)
{
    for (unsigned k = 0; k < LANES; k++) {
        double y = linear ? floor((x[k] - 0.5) * 256 + 0.5) / 256 : x[k], whole;

        y = y == y ? y : 0;
        y = y < COORD_MAX ? y : COORD_MAX;
        y = y > -COORD_MAX ? y : -COORD_MAX;
        whole = floor(y);
        a->at[0][k] = (int32_t)whole;
        a->weight[k] = y - whole;
    }
}

static void bring_in(struct axis *a, unsigned which, int32_t n, bool wraps)
{
    for (unsigned k = 0; k < LANES; k++) {
        int32_t i = a->at[which][k], c;

        a->inside[which][k] = -(int32_t)((uint32_t)i < (uint32_t)n);
        c = wraps ? (i < 0 ? i + n : i >= n ? i - n : i) : i;
        c = c < 0 ? 0 : c;
        a->at[which][k] = c < n ? c : n - 1;
    }
}

/* Both neighbours are the same (texture_sample.c). */
static void drop_weights(struct axis *a)
{
    for (unsigned k = 0; k < LANES; k++)
        a->weight[k] = a->at[0][k] == a->at[1][k] ? 0 : a->weight[k];
}

static void set_axis(struct warp *w, unsigned k, const uint32_t *in, bool whole, int mode,
                     bool normalized)
{
    struct axis *a = &w->axis[k];
    int32_t n = (int32_t)w->t->level[0].size[k];
    double x[LANES];

    if (whole)
        read_whole(in, x);
    else
        read_float(in, x);
    if (normalized && mode == WEIR_ADDRESS_WRAP)
        wrap(x);
    if (normalized)
        scale(x, n);
    split(a, x, w->linear);
    if (w->linear) {
        for (unsigned lane = 0; lane < LANES; lane++)
            a->at[1][lane] = a->at[0][lane] + 1;
        bring_in(a, 1, n, mode == WEIR_ADDRESS_WRAP);
    }
    bring_in(a, 0, n, mode == WEIR_ADDRESS_WRAP);
    if (w->linear && (k < 2 ? mode != WEIR_ADDRESS_BORDER : mode == WEIR_ADDRESS_CLAMP))
        drop_weights(a);
    w->borders |= mode == WEIR_ADDRESS_BORDER;
}

/* ---- elements ---- */

static void offsets(const struct warp *w, unsigned bits, int32_t *out)
{
    const struct weir_texture_level *l = &w->t->level[0];
    int32_t size = w->t->element_bytes, pitch = (int32_t)l->pitch, slice = (int32_t)l->slice;
    const int32_t *x = w->axis[0].at[bits & 1], *y = w->axis[1].at[bits >> 1 & 1],
                  *z = w->axes == 3 ? w->axis[2].at[bits >> 2 & 1] : w->slice;

    for (unsigned k = 0; k < LANES; k++)
        out[k] = x[k] * size + (w->axes > 1 ? y[k] * pitch : 0) + z[k] * slice;
}

static void words_at(const char *base, const int32_t *offset, uint32_t *out)
{
    const int32_t *p = (const int32_t *)(const void *)base;

    for (unsigned k = 0; k < LANES; k++)
        out[k] = (uint32_t)p[offset[k] >> 2];
}

static void bytes_of(const uint32_t *words, unsigned byte, bool is_signed, uint32_t *out)
{
    for (unsigned k = 0; k < LANES; k++) {
        uint32_t v = words[k] >> 8 * byte & 255;

        out[k] = is_signed ? (uint32_t)(int32_t)(int8_t)v : v;
    }
}

static void to_unit(uint32_t *words, float most, bool is_signed)
{
    float f[LANES];

    for (unsigned k = 0; k < LANES; k++) {
        f[k] = (float)(int32_t)words[k] / most;
        f[k] = is_signed && f[k] < -1 ? -1.0f : f[k];
    }
    memcpy(words, f, sizeof f);
}

static void at_least(uint32_t *words, int32_t least)
{
    for (unsigned k = 0; k < LANES; k++)
        words[k] = (int32_t)words[k] < least ? (uint32_t)least : words[k];
}

static void small_at(const struct weir_texture *t, const char *base, const int32_t *offset,
                     uint32_t *out)
{
    for (unsigned k = 0; k < LANES; k++) {
        const char *p = base + offset[k];

        if (t->channel_bits == 8) {
            uint8_t v = *(const uint8_t *)p;

            out[k] = t->format == 0 ? (uint32_t)(int8_t)v : v;
        } else {
            uint16_t v;

            memcpy(&v, p, 2);
            out[k] = t->format == FORMAT_FLOAT ? weir_float_of_half(v)
                     : t->format == 0          ? (uint32_t)(int16_t)v
                                               : v;
        }
    }
}

/* Channel c of every lane's element: integers, or floats. */
static void whole_channel(const struct weir_texture *t, const int32_t *offset, unsigned c,
                          uint32_t *out)
{
    const char *base = t->level[0].memory;

    if (t->channel_bits == 32) {
        words_at(base + 4 * c, offset, out);
        return;
    }
    if (t->channel_bits == 8 && t->channels == 4) {
        words_at(base, offset, out);
        bytes_of(out, c, t->format == 0, out);
    } else {
        small_at(t, base + c * t->channel_bits / 8, offset, out);
    }
    if (t->steps > 0 && t->format == 0 && t->channel_bits == 16)
        at_least(out, -32767); /* the least stands for -1, too */
}

static void normalise(const struct weir_texture *t, uint32_t *words)
{
    if (t->sampler.as_float && t->format != FORMAT_FLOAT)
        to_unit(words, (float)weir_bits_low(t->channel_bits - (t->format == 0)), t->format == 0);
}

/* As a fetch of the nearest gives it. */
static void channel(const struct weir_texture *t, const int32_t *offset, unsigned c, uint32_t *out)
{
    whole_channel(t, offset, c, out);
    normalise(t, out);
}

static void use_border(const struct warp *w, unsigned bits, uint32_t border, uint32_t *out)
{
    for (unsigned a = 0; a < w->axes; a++) {
        const int32_t *inside = w->axis[a].inside[bits >> a & 1];

        for (unsigned k = 0; k < LANES; k++)
            out[k] = inside[k] ? out[k] : border;
    }
}

/* ---- results ---- */

static uint32_t border_of(const struct weir_texture *t, unsigned c)
{
    return t->resource.type == WEIR_TEXTURE_LINEAR ? 0 : t->border[c];
}

/* The same for sums of whole numbers. */
static uint32_t border_units(const struct weir_texture *t, unsigned c)
{
    uint32_t word = border_of(t, c);
    float f;

    if (t->steps <= 0)
        return word;
    memcpy(&f, &word, sizeof f);
    return (uint32_t)(int32_t)rint((double)f * t->most);
}

/* An axis that is no border must not count as outside. */
static void mend_inside(struct warp *w, const int *modes)
{
    for (unsigned a = 0; a < w->axes && w->borders; a++)
        if (modes[a] != WEIR_ADDRESS_BORDER)
            memset(w->axis[a].inside, 0xff, sizeof w->axis[a].inside);
}

static void nearest(const struct warp *w)
{
    int32_t offset[LANES];

    offsets(w, 0, offset);
    for (unsigned c = 0; c < 4; c++) {
        uint32_t *out = w->out + (size_t)c * LANES;

        if (c >= w->t->channels) {
            memset(out, 0, LANES * sizeof *out);
            continue;
        }
        channel(w->t, offset, c, out);
        if (w->borders)
            use_border(w, 0, w->whole ? 0 : border_of(w->t, c), out);
    }
}

/* Shares split along one axis (texture_sample.c). */
static void split_shares(double *share, const struct axis *a, unsigned half, bool second)
{
    for (unsigned k = 0; k < LANES; k++) {
        double upper = floor(share[k] * a->weight[k] * 256 + half / 256.0) / 256;

        share[k] = second ? upper : share[k] - upper;
    }
}

static void weights(const struct warp *w, unsigned bits, double *out)
{
    const struct axis *x = &w->axis[0];

    for (unsigned k = 0; k < LANES; k++)
        out[k] = w->axes == 3 ? (bits & 4 ? w->axis[2].weight[k] : 1 - w->axis[2].weight[k]) : 1;
    if (w->axes == 3)
        split_shares(out, x, 128, bits & 1);
    else
        for (unsigned k = 0; k < LANES; k++)
            out[k] = bits & 1 ? x->weight[k] : 1 - x->weight[k];
    if (w->axes > 1)
        split_shares(out, &w->axis[1], 127 + (bits & 1), bits & 2);
}

/* units: of whole numbers; 0: words are floats */
static void add(const double *weight, const uint32_t *words, double unit, double *sum)
{
    float f[LANES];
    double v[LANES];

    memcpy(f, words, sizeof f);
    for (unsigned k = 0; k < LANES; k++)
        v[k] = unit > 0 ? (double)(int32_t)words[k] * unit : (double)f[k];
    for (unsigned k = 0; k < LANES; k++) {
        double part = weight[k] * v[k];

        sum[k] += weight[k] != 0 ? part : 0;
    }
}

static void round_sum(const struct weir_texture *t, const double *sum, unsigned c, uint32_t *out)
{
    float f[LANES];

    for (unsigned k = 0; k < LANES; k++)
        f[k] = weir_texture_rounded(t, sum[k], c);
    memcpy(out, f, sizeof f);
}

static void weighted(const struct warp *w)
{
    unsigned channels = w->t->channels;
    double sum[4][LANES], weight[LANES];
    uint32_t words[LANES];
    int32_t offset[LANES];

    memset(sum, 0, channels * sizeof sum[0]);
    for (unsigned bits = 0; bits < 1u << w->axes; bits++) {
        weights(w, bits, weight);
        offsets(w, bits, offset);
        for (unsigned c = 0; c < channels; c++) {
            whole_channel(w->t, offset, c, words);
            if (w->borders)
                use_border(w, bits, border_units(w->t, c), words);
            add(weight, words, w->t->unit, sum[c]);
        }
    }
    for (unsigned c = 0; c < channels; c++)
        round_sum(w->t, sum[c], c, w->out + (size_t)c * LANES);
    for (unsigned c = channels; c < 4; c++)
        memset(w->out + (size_t)c * LANES, 0, LANES * sizeof *w->out);
}

static bool is_simple(const struct weir_texture *t, const struct weir_block *block, uint32_t code)
{
    uint32_t op = WEIR_TEX_OP(code), geometry = WEIR_TEX_GEOMETRY(code);

    return (op == WEIR_TEX_FETCH || op == WEIR_TEX_LEVEL || op == WEIR_TEX_GRAD) &&
           geometry < WEIR_TEX_CUBE && t->levels == 1 && !t->srgb_channels &&
           WEIR_TEX_RESULT(code) == WEIR_TEX_WORD && !block->launch->touches &&
           t->level[0].slice * t->level[0].size[2] < OFFSET_MAX;
}

static void set_slice(struct warp *w, const uint32_t *layer)
{
    uint32_t last = w->t->level[0].size[2] - 1;

    for (unsigned k = 0; k < LANES; k++)
        w->slice[k] = layer ? (int32_t)WEIR_MIN(layer[k], last) : 0;
}

bool weir_texture_sample_warp(const struct weir_texture *t, struct weir_block *block, uint32_t code,
                              const uint32_t *in, uint32_t *out)
{
    uint32_t geometry = WEIR_TEX_GEOMETRY(code);
    bool whole = !(code & WEIR_TEX_FLOAT), layered = weir_tex_is_layered(geometry);
    bool flat = t->resource.type == WEIR_TEXTURE_LINEAR;
    struct warp w; /* large: not cleared */
    bool normalized = t->sampler.normalized && !whole;
    int modes[3];

    if (!is_simple(t, block, code) || (geometry == WEIR_TEX_1D && !flat && whole))
        return false;
    w.t = t;
    w.out = out;
    w.borders = false;
    w.whole = whole;
    w.axes = weir_tex_coordinates(geometry);
    w.linear = t->sampler.linear && t->gives_float && !whole && !flat;
    if ((whole && layered) || (w.linear && t->format == FORMAT_FLOAT && t->channel_bits == 16) ||
        (w.linear && geometry == WEIR_TEX_1D && t->sampler.address[1] == WEIR_ADDRESS_BORDER))
        return false; /* rare: texture_sample.c */
    for (unsigned k = 0; k < w.axes; k++) {
        int mode = t->sampler.address[k];

        modes[k] = flat || whole                                ? WEIR_ADDRESS_BORDER
                   : !normalized && mode != WEIR_ADDRESS_BORDER ? WEIR_ADDRESS_CLAMP
                                                                : mode;
        if (modes[k] == WEIR_ADDRESS_MIRROR)
            return false;
    }
    set_slice(&w, layered ? in : NULL);
    for (unsigned k = 0; k < w.axes; k++)
        set_axis(&w, k, in + (size_t)(k + layered) * LANES, whole, modes[k], normalized);
    mend_inside(&w, modes);
    if (w.linear)
        weighted(&w);
    else
        nearest(&w);
    return true;
}
