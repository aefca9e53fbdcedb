/* Textures and surfaces in PTX: every geometry, format, mode and instruction, with random elements
 * and coordinates, against textures_reference.c. WEIR_JIT_TIER picks the compiler's tier.
 *   t_ptx_textures [SEED [ROUNDS]]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>

#include "../conform/conform.h"
#include "textures.h"
#include "../support/random.h"

#define LANES 64 /* two warps */
#define ROWS  16

static uint64_t random_state;

static uint32_t rnd(void)
{
    return random_next(&random_state);
}

static int rnd_in(int lo, int hi)
{
    return lo + (int)(rnd() % (uint32_t)(hi - lo + 1));
}

static float rnd_unit(void)
{
    return (float)(rnd() & 0xffff) / 65536.0f;
}

/* ---- kernels ---- */

static const char *const geometry_names[GEOMETRIES] = {"1d", "a1d",  "2d",   "a2d",
                                                       "3d", "cube", "acube"};

static bool is_layered(enum geometry g)
{
    return g == G_A1D || g == G_A2D || g == G_ACUBE;
}

static int coordinates(enum geometry g)
{
    return g <= G_A1D ? 1 : g <= G_A2D ? 2 : 3;
}

static char text[1 << 17];
static size_t text_used;

static void put(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    text_used += (size_t)vsnprintf(text + text_used, sizeof text - text_used, format, ap);
    va_end(ap);
}

/* Every lane but each fifth loads `rows` words, does the instruction, stores `results` words. The
 * object comes as a parameter, or from an array with one of each lane. */
static void begin_kernel(const char *name, bool each, int rows)
{
    put(".visible .entry %s_%s(.param .u64 object, .param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<4>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<24>;\n"
        ".reg .f32 %%f<8>;\n"
        "ld.param.u64 %%rd1, [object];\nld.param.u64 %%rd2, [in];\nld.param.u64 %%rd3, [out];\n"
        "mov.u32 %%r39, %%tid.x;\nrem.u32 %%r38, %%r39, 5;\nsetp.eq.u32 %%p1, %%r38, 4;\n"
        "@%%p1 bra done;\nmul.wide.u32 %%rd4, %%r39, 4;\nadd.u64 %%rd2, %%rd2, %%rd4;\n"
        "add.u64 %%rd3, %%rd3, %%rd4;\n",
        name, each ? "each" : "one");
    if (each)
        put("mul.wide.u32 %%rd4, %%r39, 8;\nadd.u64 %%rd1, %%rd1, %%rd4;\n"
            "ld.global.u64 %%rd1, [%%rd1];\n");
    for (int k = 0; k < rows; k++)
        put("ld.global.b32 %%r%d, [%%rd2+%d];\n", k, k * LANES * 4);
}

static void end_kernel(int first, int results)
{
    for (int k = 0; k < results; k++)
        put("st.global.b32 [%%rd3+%d], %%r%d;\n", k * LANES * 4, first + k);
    put("done:\nret;\n}\n");
}

/* {%r0, %r1, ...}: three coordinates are a vector of four */
static void put_vector(int first, int count)
{
    put("{");
    for (int k = 0; k < (count == 3 ? 4 : count); k++)
        put("%s%%r%d", k ? ", " : "", first + (k < count ? k : 0));
    put("}");
}

static void put_fetch(const char *op, enum geometry g, const char *types, const char *tag,
                      const char *more, bool each)
{
    int n = coordinates(g) + is_layered(g), d = coordinates(g);
    int rows = n + (*more == 'l' ? 1 : *more == 'g' ? 2 * d : 0);
    char name[64];

    snprintf(name, sizeof name, "%s_%s", tag, geometry_names[g]);
    begin_kernel(name, each, rows);
    put("%s.%s.v4.%s {%%r30, %%r31, %%r32, %%r33}, [%%rd1, ", op, geometry_names[g], types);
    put_vector(0, n);
    put("]");
    if (*more == 'l')
        put(", %%r%d", n);
    if (*more == 'g') {
        put(", ");
        put_vector(n, d);
        put(", ");
        put_vector(n + d, d);
    }
    put(";\n");
    end_kernel(30, 4);
}

static void put_fetches(void)
{
    static const char components[] = "rgba";

    for (enum geometry g = 0; g < GEOMETRIES; g++) {
        for (int each = 0; each < 2; each++)
            put_fetch("tex", g, g & 1 ? "u32.f32" : "f32.f32", "fetch", "", each);
        put_fetch("tex.level", g, "f32.f32", "level", "l", g & 1);
        put_fetch("tex.grad", g, "s32.f32", "grad", "g", g & 1);
        if (g < G_CUBE)
            put_fetch("tex", g, "u32.s32", "whole", "", !(g & 1));
    }
    for (int k = 0; k < 4; k++) {
        char op[8] = "tld4.r", tag[8] = "tld4r";

        op[5] = tag[4] = components[k];
        put_fetch(op, k == 3 ? G_CUBE : k == 1 ? G_A2D : G_2D, "f32.f32", tag, "", k & 1);
    }
    begin_kernel("half", false, 2); /* results as f16 and as pairs; a predicate of residency */
    put("tex.2d.v4.f16.f32 {%%h1, %%h2, %%h3, %%h4}, [%%rd1, {%%r0, %%r1}];\n"
        "tex.2d.v2.f16x2.f32 {%%r32, %%r33}, [%%rd1, {%%r0, %%r1}];\n"
        "mov.b32 %%r30, {%%h1, %%h2};\nmov.b32 %%r31, {%%h3, %%h4};\n"
        "tex.2d.v4.f32.f32 {%%f1, _, _, _}|%%p2, [%%rd1, {%%r0, %%r1}];\n"
        "selp.b32 %%r34, 1, 0, %%p2;\nmov.b32 %%r35, %%f1;\n");
    end_kernel(30, 6);
}

static const char *const bound_names[] = {"trap", "clamp", "zero"};

/* suld_2d_8_clamp and so on: bits of the element, vector 1 */
static void put_surface(enum geometry g, int bits, int count, int bound)
{
    int n = coordinates(g) + is_layered(g), words = bits == 64 ? 2 * count : count;
    const char *reg = bits == 64 ? "%rd" : bits == 32 ? "%r" : "%h";
    char name[64], vector[16] = "", list[64] = "";
    size_t used = 0;

    if (count > 1)
        snprintf(vector, sizeof vector, ".v%d", count);
    for (int k = 0; k < count; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%d", k ? ", " : "", reg,
                                 bits == 64   ? 10 + k
                                 : bits == 32 ? 20 + k
                                              : 1 + k);
    snprintf(name, sizeof name, "suld_%s_%d_%d_%s", geometry_names[g], bits, count,
             bound_names[bound]);
    begin_kernel(name, bits & 8, n);
    put("suld.b.%s%s.b%d.%s {%s}, [%%rd1, ", geometry_names[g], vector, bits, bound_names[bound],
        list);
    put_vector(0, n);
    put("];\n");
    for (int k = 0; k < count; k++) {
        if (bits == 64)
            put("mov.b64 {%%r%d, %%r%d}, %%rd%d;\n", 20 + 2 * k, 21 + 2 * k, 10 + k);
        else if (bits < 32)
            put("cvt.u32.u16 %%r%d, %%h%d;\n", 20 + k, 1 + k);
    }
    end_kernel(20, words);
    name[2] = 's';
    name[3] = 't';
    begin_kernel(name, bits & 16, n + words);
    for (int k = 0; k < count; k++) {
        if (bits == 64)
            put("mov.b64 %%rd%d, {%%r%d, %%r%d};\n", 10 + k, n + 2 * k, n + 2 * k + 1);
        else if (bits == 32)
            put("mov.b32 %%r%d, %%r%d;\n", 20 + k, n + k);
        else
            put("cvt.u16.u32 %%h%d, %%r%d;\n", 1 + k, n + k);
    }
    put("sust.b.%s%s.b%d.%s [%%rd1, ", geometry_names[g], vector, bits, bound_names[bound]);
    put_vector(0, n);
    put("], {%s};\n", list);
    end_kernel(0, 0);
}

struct reduction {
    const char *op, *type;
    enum geometry g;
};
static const struct reduction reductions[] = {
    {"add", "u32", G_1D}, {"min", "s32", G_2D}, {"max", "u32", G_2D}, {"and", "b32", G_3D},
    {"or", "b32", G_1D},  {"min", "u32", G_2D}, {"add", "u64", G_2D}, {"max", "s64", G_1D},
    {"min", "u64", G_3D}, {"max", "s32", G_1D},
};
#define REDUCTIONS (sizeof reductions / sizeof reductions[0])

static void put_reduction(const struct reduction *r)
{
    int n = coordinates(r->g) + is_layered(r->g);
    bool wide = r->type[1] == '6';
    char name[64];

    snprintf(name, sizeof name, "sured_%s_%s", r->op, r->type);
    begin_kernel(name, false, n + 1 + wide);
    if (wide)
        put("mov.b64 %%rd10, {%%r%d, %%r%d};\n", n, n + 1);
    put("sured.b.%s.%s.%s.clamp [%%rd1, ", r->op, geometry_names[r->g], r->type);
    put_vector(0, n);
    put("], %s%d;\n", wide ? "%rd" : "%r", wide ? 10 : n);
    end_kernel(0, 0);
}

static const struct {
    enum geometry g;
    int bits, count;
} surfaces[] = {{G_1D, 32, 1},  {G_2D, 8, 1},  {G_2D, 32, 4},  {G_3D, 16, 2},
                {G_A1D, 64, 1}, {G_A2D, 8, 4}, {G_2D, 64, 2},  {G_A2D, 32, 2},
                {G_3D, 8, 2},   {G_1D, 16, 4}, {G_A1D, 16, 1}, {G_3D, 32, 1}};
#define SURFACES (sizeof surfaces / sizeof surfaces[0])

static const char *const queries[] = {
    "txq.width",         "txq.height",      "txq.depth",       "txq.normalized_coords",
    "txq.filter_mode",   "txq.addr_mode_0", "txq.addr_mode_2", "txq.num_mipmap_levels",
    "txq.array_size",    "txq.num_samples", "suq.width",       "suq.height",
    "txq.channel_order", "txq.level.width",
};
#define QUERIES (sizeof queries / sizeof queries[0])

static void put_queries(void)
{
    begin_kernel("query", false, 1); /* row 0: the level */
    for (size_t k = 0; k < QUERIES; k++)
        put("%s.b32 %%r%zu, [%%rd1]%s;\n", queries[k], 10 + k,
            strstr(queries[k], "level.") ? ", %r0" : "");
    put("istypep.texref %%p1, %%rd1;\nistypep.surfref %%p2, %%rd1;\n"
        "istypep.samplerref %%p3, %%rd1;\nselp.b32 %%r24, 1, 0, %%p1;\n"
        "selp.b32 %%r25, 2, 0, %%p2;\nselp.b32 %%r26, 4, 0, %%p3;\n"
        "or.b32 %%r24, %%r24, %%r25;\nor.b32 %%r24, %%r24, %%r26;\n");
    end_kernel(10, (int)QUERIES + 1);
}

static cudaLibrary_t library;

static void load(void)
{
    put(".version 8.1\n.target sm_60\n.address_size 64\n");
    put_fetches();
    for (size_t k = 0; k < SURFACES; k++)
        for (int bound = 0; bound < 3; bound++)
            put_surface(surfaces[k].g, surfaces[k].bits, surfaces[k].count, bound);
    for (size_t k = 0; k < REDUCTIONS; k++)
        put_reduction(&reductions[k]);
    put_queries();
    CHECK(text_used < sizeof text);
    OK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
}

/* ---- runs ---- */

static uint32_t in[ROWS][LANES], out[ROWS][LANES];
static uint32_t *d_in, *d_out;
static unsigned long long *d_handles;

static cudaError_t run_kernel(const char *name, bool each, unsigned long long handle)
{
    unsigned long long handles[LANES], object = each ? (uintptr_t)d_handles : handle;
    void *params[3] = {&object, &d_in, &d_out};
    char full[96];
    cudaKernel_t k;
    cudaError_t err;

    snprintf(full, sizeof full, "%s_%s", name, each ? "each" : "one");
    err = cudaLibraryGetKernel(&k, library, full);
    if (err != cudaSuccess) {
        fprintf(stderr, "no kernel %s\n", full);
        return err;
    }
    for (int lane = 0; lane < LANES; lane++)
        handles[lane] = handle;
    memset(out, 0xa5, sizeof out);
    OK(cudaMemcpy(d_handles, handles, sizeof handles, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_out, out, sizeof out, cudaMemcpyHostToDevice));
    OK(cudaLaunchKernel((const void *)k, (dim3){1, 1, 1}, (dim3){LANES, 1, 1}, params, 0, NULL));
    err = cudaDeviceSynchronize();
    if (err == cudaSuccess)
        OK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    return err;
}

static bool runs(int lane)
{
    return lane % 5 != 4;
}

static void check_untouched(const char *name)
{
    for (int lane = 0; lane < LANES; lane++)
        if (!runs(lane) && out[0][lane] != 0xa5a5a5a5) {
            fprintf(stderr, "%s: lane %d ran\n", name, lane);
            conform_failures++;
        }
}

/* ---- textures ---- */

static uint32_t word_of(float f)
{
    uint32_t w;

    memcpy(&w, &f, sizeof w);
    return w;
}

static float float_of(uint32_t w)
{
    float f;

    memcpy(&f, &w, sizeof f);
    return f;
}

static void fill_level(const struct texture *t, struct level *l)
{
    size_t n = (size_t)l->size[0] * (size_t)l->size[1] * (size_t)l->size[2] * (size_t)t->channels;

    l->data = malloc(n * (size_t)t->bits / 8);
    for (size_t k = 0; k < n; k++) {
        uint32_t v = rnd();

        if (t->kind == cudaChannelFormatKindFloat && t->bits == 32)
            v = word_of((rnd_unit() - 0.5f) * 100);
        else if (t->kind == cudaChannelFormatKindFloat)
            v = (v & 0x83ff) | (uint32_t)rnd_in(0, 20) << 10; /* subnormal ones too */
        else if (t->bits == 32)
            v = v << 1 ^ rnd();
        memcpy(l->data + k * (size_t)t->bits / 8, &v, (size_t)t->bits / 8);
    }
}

static struct cudaChannelFormatDesc channels_of(const struct texture *t)
{
    int n = t->channels, b = t->bits;

    return cudaCreateChannelDesc(b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, t->kind);
}

static void copy_level(const struct texture *t, const struct level *l, cudaArray_t a)
{
    size_t row = (size_t)l->size[0] * (size_t)t->channels * (size_t)t->bits / 8;
    struct cudaMemcpy3DParms p = {
        .srcPtr = {l->data, row, (size_t)l->size[0], (size_t)l->size[1]},
        .dstArray = a,
        .extent = {(size_t)l->size[0], (size_t)l->size[1], (size_t)l->size[2]},
        .kind = cudaMemcpyHostToDevice,
    };

    OK(cudaMemcpy3D(&p));
}

static unsigned array_flags(enum geometry g)
{
    return (is_layered(g) ? cudaArrayLayered : 0) | (g >= G_CUBE ? cudaArrayCubemap : 0) |
           (g == G_2D ? cudaArrayTextureGather : 0);
}

static void random_description(struct texture *t)
{
    static const int widths[] = {8, 16, 32};
    struct cudaTextureDesc *d = &t->desc;
    bool small;

    t->channels = 1 << rnd_in(0, 2);
    t->kind = (enum cudaChannelFormatKind)rnd_in(0, 2);
    t->bits = t->kind == cudaChannelFormatKindFloat ? rnd_in(1, 2) * 16 : widths[rnd_in(0, 2)];
    small = t->kind != cudaChannelFormatKindFloat && t->bits < 32;
    memset(d, 0, sizeof *d);
    for (int k = 0; k < 3; k++)
        d->addressMode[k] = (enum cudaTextureAddressMode)rnd_in(0, 3);
    d->readMode = small && rnd() % 3 ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    if (t->kind == cudaChannelFormatKindFloat || d->readMode == cudaReadModeNormalizedFloat)
        d->filterMode = (enum cudaTextureFilterMode)rnd_in(0, 1);
    d->sRGB = t->kind == cudaChannelFormatKindUnsigned && t->bits == 8 &&
              d->readMode == cudaReadModeNormalizedFloat && rnd() % 3 == 0;
    d->normalizedCoords = rnd_in(0, 1);
    d->seamlessCubemap = t->geometry >= G_CUBE ? rnd_in(0, 1) : 0;
    for (int k = 0; k < 4; k++)
        d->borderColor[k] = (float)rnd_in(-4, 4) * 0.25f;
}

static void random_size(struct texture *t)
{
    int *size = t->level[0].size;
    enum geometry g = t->geometry;

    t->layers = is_layered(g) ? rnd_in(1, 3) : 1;
    size[0] = rnd_in(1, 9);
    size[1] = g >= G_CUBE ? size[0] : coordinates(g) > 1 ? rnd_in(1, 7) : 1;
    size[2] = g == G_3D ? rnd_in(1, 5) : g >= G_CUBE ? 6 * t->layers : t->layers;
}

static cudaArray_t make_array(struct texture *t)
{
    struct cudaChannelFormatDesc d = channels_of(t);
    const int *size = t->level[0].size;
    struct cudaExtent e = {(size_t)size[0], coordinates(t->geometry) > 1 ? (size_t)size[1] : 0,
                           t->geometry == G_2D || t->geometry == G_1D ? 0 : (size_t)size[2]};
    cudaArray_t a = NULL;

    OK(cudaMalloc3DArray(&a, &d, e, array_flags(t->geometry)));
    fill_level(t, &t->level[0]);
    copy_level(t, &t->level[0], a);
    return a;
}

static float random_coordinate(const struct texture *t, int axis)
{
    int n = t->level[0].size[axis];
    float x = rnd() % 4 ? rnd_unit() * (float)(n + 4) - 2
                        : (float)rnd_in(-3 * n, 6 * n) * 0.5f + 0.015625f;

    if (t->geometry >= G_CUBE)
        return rnd() % 8 ? rnd_unit() * 2 - 1 : (float)rnd_in(0, 1) * 2 - 1 + 0.01f * rnd_unit();
    return t->desc.normalizedCoords ? x / (float)n : x;
}

/* Coordinates of all lanes into rows 0 ...; the number of rows. */
static int random_places(const struct texture *t, struct place *p, bool whole)
{
    int layered = is_layered(t->geometry), n = coordinates(t->geometry);

    for (int lane = 0; lane < LANES; lane++) {
        p[lane] = (struct place){.whole = whole, .layer = (unsigned)rnd_in(0, t->layers)};
        if (layered)
            in[0][lane] = p[lane].layer;
        for (int k = 0; k < n; k++) {
            p[lane].x[k] = random_coordinate(t, k);
            p[lane].i[k] = rnd_in(-2, t->level[0].size[k] + 1);
            in[layered + k][lane] = whole ? (uint32_t)p[lane].i[k] : word_of(p[lane].x[k]);
        }
    }
    return layered + n;
}

static bool near(uint32_t got, uint32_t want, double tolerance)
{
    double g = (double)float_of(got), w = (double)float_of(want);

    return got == want || tolerance >= 1e30 ||
           (tolerance > 0 && fabs(g - w) <= tolerance * fmax(fabs(w), 100)) ||
           (g == 0 && w == 0 && tolerance > 0);
}

static void describe(const struct texture *t, const char *what)
{
    const struct cudaTextureDesc *d = &t->desc;

    fprintf(stderr,
            "%s: %d x %d bits of kind %d, %d x %d x %d, %d levels, modes %d %d %d, filter "
            "%d %d, read %d, normalized %d, srgb %d, seamless %d\n",
            what, t->channels, t->bits, (int)t->kind, t->level[0].size[0], t->level[0].size[1],
            t->level[0].size[2], t->levels, (int)d->addressMode[0], (int)d->addressMode[1],
            (int)d->addressMode[2], (int)d->filterMode, (int)d->mipmapFilterMode, (int)d->readMode,
            d->normalizedCoords, d->sRGB, d->seamlessCubemap);
}

static void compare(const struct texture *t, const char *what, const struct place *p, int lane,
                    const struct expected *e)
{
    for (int k = 0; k < 4; k++) {
        if (near(out[k][lane], e->word[k], e->tolerance[k]))
            continue;
        if (conform_failures++ < 20) {
            describe(t, what);
            fprintf(stderr, "  lane %d at %g %g %g layer %u: result %d is %#x (%g), not %#x (%g)\n",
                    lane, (double)p->x[0], (double)p->x[1], (double)p->x[2], p->layer, k,
                    out[k][lane], (double)float_of(out[k][lane]), e->word[k],
                    (double)float_of(e->word[k]));
        }
        return;
    }
}

static cudaTextureObject_t make_texture(const struct texture *t, const struct cudaResourceDesc *r)
{
    cudaTextureObject_t object = 0;
    cudaError_t err = cudaCreateTextureObject(&object, r, &t->desc, NULL);

    if (err != cudaSuccess)
        describe(t, cudaGetErrorName(err));
    OK(err);
    return object;
}

static void fetch_and_compare(const struct texture *t, cudaTextureObject_t object, bool whole,
                              bool each)
{
    struct place p[LANES];
    struct expected e;
    char name[64];

    random_places(t, p, whole);
    snprintf(name, sizeof name, "%s_%s", whole ? "whole" : "fetch", geometry_names[t->geometry]);
    OK(run_kernel(name, each, object));
    check_untouched(name);
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            expect_fetch(t, &p[lane], 0, &e);
            compare(t, name, &p[lane], lane, &e);
        }
}

static void gather_and_compare(const struct texture *t, cudaTextureObject_t object)
{
    static const char *const names[] = {"tld4r_2d", "tld4g_a2d", "tld4b_2d", "tld4a_cube"};
    int component = t->geometry == G_CUBE ? 3 : t->geometry == G_A2D ? 1 : rnd_in(0, 1) * 2;
    struct place p[LANES];
    struct expected e;

    random_places(t, p, false);
    OK(run_kernel(names[component], component & 1, object));
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            expect_gather(t, &p[lane], component, &e);
            compare(t, names[component], &p[lane], lane, &e);
        }
}

static void test_array(enum geometry g)
{
    struct texture t = {.geometry = g, .levels = 1};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    cudaTextureObject_t object;

    random_description(&t);
    random_size(&t);
    r.res.array.array = make_array(&t);
    object = make_texture(&t, &r);
    fetch_and_compare(&t, object, false, rnd() & 1);
    if (g < G_CUBE)
        fetch_and_compare(&t, object, true, !(g & 1));
    if (g == G_2D || g == G_A2D || g == G_CUBE)
        gather_and_compare(&t, object);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(r.res.array.array));
    free(t.level[0].data);
}

static void test_linear(void)
{
    struct texture t = {.geometry = G_1D, .levels = 1, .layers = 1, .flat = true};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeLinear};
    cudaTextureObject_t object;
    size_t bytes;

    random_description(&t);
    t.desc.normalizedCoords = 0;
    t.level[0].size[0] = rnd_in(1, 50);
    t.level[0].size[1] = t.level[0].size[2] = 1;
    fill_level(&t, &t.level[0]);
    bytes = (size_t)(t.level[0].size[0] * t.channels * t.bits / 8);
    OK(cudaMalloc(&r.res.linear.devPtr, bytes));
    OK(cudaMemcpy(r.res.linear.devPtr, t.level[0].data, bytes, cudaMemcpyHostToDevice));
    r.res.linear.desc = channels_of(&t);
    r.res.linear.sizeInBytes = bytes;
    object = make_texture(&t, &r);
    fetch_and_compare(&t, object, true, true);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(r.res.linear.devPtr));
    free(t.level[0].data);
}

static void test_pitch(void)
{
    struct texture t = {.geometry = G_2D, .levels = 1, .layers = 1};
    struct cudaResourceDesc r = {.resType = cudaResourceTypePitch2D};
    cudaTextureObject_t object;
    size_t row;

    random_description(&t);
    random_size(&t);
    fill_level(&t, &t.level[0]);
    row = (size_t)(t.level[0].size[0] * t.channels * t.bits / 8);
    r.res.pitch2D.width = (size_t)t.level[0].size[0];
    r.res.pitch2D.height = (size_t)t.level[0].size[1];
    OK(cudaMallocPitch(&r.res.pitch2D.devPtr, &r.res.pitch2D.pitchInBytes, row,
                       r.res.pitch2D.height));
    OK(cudaMemcpy2D(r.res.pitch2D.devPtr, r.res.pitch2D.pitchInBytes, t.level[0].data, row, row,
                    r.res.pitch2D.height, cudaMemcpyHostToDevice));
    r.res.pitch2D.desc = channels_of(&t);
    object = make_texture(&t, &r);
    fetch_and_compare(&t, object, false, rnd() & 1);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(r.res.pitch2D.devPtr));
    free(t.level[0].data);
}

/* ---- levels ---- */

static cudaMipmappedArray_t make_levels(struct texture *t)
{
    struct cudaChannelFormatDesc d = channels_of(t);
    struct cudaExtent e = {
        (size_t)t->level[0].size[0], coordinates(t->geometry) > 1 ? (size_t)t->level[0].size[1] : 0,
        t->geometry == G_2D || t->geometry == G_1D ? 0 : (size_t)t->level[0].size[2]};
    cudaMipmappedArray_t m = NULL;
    cudaArray_t a;

    OK(cudaMallocMipmappedArray(&m, &d, e, (unsigned)t->levels, array_flags(t->geometry)));
    for (int k = 0; k < t->levels; k++) {
        struct level *l = &t->level[k];

        for (int s = 0; s < 3 && k; s++)
            l->size[s] = s == 2 && t->geometry != G_3D ? l[-1].size[s]
                         : l[-1].size[s] > 1           ? l[-1].size[s] / 2
                                                       : 1;
        fill_level(t, l);
        OK(cudaGetMipmappedArrayLevel(&a, m, (unsigned)k));
        copy_level(t, l, a);
    }
    return m;
}

/* The gradient of a step of 2^lod elements along one axis; cubes are not asked (see test_levels).
 */
static double random_gradient(const struct texture *t, int row, int lane)
{
    int n = coordinates(t->geometry);
    float step[2][3] = {{0}};
    int side = rnd_in(0, 1);

    step[side][rnd_in(0, n - 1)] = ldexpf(1, rnd_in(-1, t->levels)) / (float)t->level[0].size[0];
    step[!side][0] = 0.25f / (float)t->level[0].size[0];
    for (int k = 0; k < 2 * n; k++)
        in[row + k][lane] = word_of(step[k / n][k % n]);
    return expect_lod(t, step[0], step[1], n);
}

static void test_levels(enum geometry g)
{
    struct texture t = {.geometry = g, .levels = rnd_in(2, LEVELS_MAX)};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeMipmappedArray};
    double lod[LANES];
    struct place p[LANES];
    struct expected e;
    cudaTextureObject_t object;
    bool gradient = g < G_CUBE && rnd() & 1;
    char name[64];
    int row;

    random_description(&t);
    random_size(&t);
    t.desc.normalizedCoords = 1;
    t.desc.mipmapFilterMode = (enum cudaTextureFilterMode)rnd_in(0, 1);
    t.desc.mipmapLevelBias = (float)rnd_in(-2, 2) * 0.25f;
    t.desc.minMipmapLevelClamp = (float)rnd_in(0, 2) * 0.5f;
    t.desc.maxMipmapLevelClamp = (float)rnd_in(2, 8) * 0.5f;
    t.level[0].size[0] = 8 + rnd_in(0, 3);
    t.level[0].size[1] = g >= G_CUBE ? t.level[0].size[0] : t.level[0].size[1];
    if (gradient) /* equal sides: steps are powers of two in elements */
        for (int k = 1; k < coordinates(g); k++)
            t.level[0].size[k] = t.level[0].size[0];
    r.res.mipmap.mipmap = make_levels(&t);
    object = make_texture(&t, &r);
    row = random_places(&t, p, false);
    for (int lane = 0; lane < LANES; lane++) {
        float level = (float)rnd_in(-4, 16) * 0.25f + 0.0625f;

        lod[lane] = gradient ? random_gradient(&t, row, lane) : (double)level;
        if (!gradient)
            in[row][lane] = word_of(level);
    }
    snprintf(name, sizeof name, "%s_%s", gradient ? "grad" : "level", geometry_names[g]);
    OK(run_kernel(name, g & 1, object));
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            expect_fetch(&t, &p[lane], lod[lane], &e);
            for (int k = 0; k < 4 && gradient; k++) /* a logarithm's last bit may move a weight */
                e.tolerance[k] = e.tolerance[k] > 0 ? 0.01 : 0;
            compare(&t, name, &p[lane], lane, &e);
        }
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeMipmappedArray(r.res.mipmap.mipmap));
    for (int k = 0; k < t.levels; k++)
        free(t.level[k].data);
}

/* A step on a cube's face: along its middle, so that the face's coordinates move as the direction
 * does; half of the face's width is 1. */
static void test_cube_gradient(void)
{
    struct texture t = {.geometry = G_CUBE, .levels = 4};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeMipmappedArray};
    cudaTextureObject_t object;
    struct place p[LANES];
    struct expected e;

    random_description(&t);
    random_size(&t);
    t.desc.maxMipmapLevelClamp = 3;
    t.desc.normalizedCoords = 1;
    t.level[0].size[0] = t.level[0].size[1] = 16;
    r.res.mipmap.mipmap = make_levels(&t);
    object = make_texture(&t, &r);
    memset(in, 0, sizeof in);
    for (int lane = 0; lane < LANES; lane++) {
        int major = lane % 3, along = (major + 1 + lane / 3 % 2) % 3;

        p[lane] = (struct place){.layer = 0};
        p[lane].x[major] = lane & 8 ? -2.0f : 2.0f;
        p[lane].x[along] = 0.0625f;
        for (int k = 0; k < 3; k++)
            in[k][lane] = word_of(p[lane].x[k]);
        /* at twice the distance a step is half as long; 8 elements to 1 */
        in[3 + along][lane] = word_of(ldexpf(2, lane % 4 - 3));
    }
    OK(run_kernel("grad_cube", G_CUBE & 1, object));
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            expect_fetch(&t, &p[lane], lane % 4, &e);
            compare(&t, "grad_cube", &p[lane], lane, &e);
        }
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeMipmappedArray(r.res.mipmap.mipmap));
    for (int k = 0; k < t.levels; k++)
        free(t.level[k].data);
}

/* ---- views, queries, half results ---- */

static void test_view(void)
{
    struct texture t = {.geometry = G_A2D, .levels = 1, .channels = 4, .bits = 8, .layers = 4};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    struct cudaResourceViewDesc v = {.format = cudaResViewFormatSignedShort2,
                                     .width = 5,
                                     .height = 3,
                                     .depth = 4,
                                     .firstLayer = 1,
                                     .lastLayer = 2},
                                told;
    cudaTextureObject_t object;

    t.kind = cudaChannelFormatKindUnsigned;
    memcpy(t.level[0].size, (int[3]){5, 3, 4}, sizeof t.level[0].size);
    t.desc.addressMode[0] = t.desc.addressMode[1] = cudaAddressModeClamp;
    r.res.array.array = make_array(&t);
    OK(cudaCreateTextureObject(&object, &r, &t.desc, &v));
    OK(cudaGetTextureObjectResourceViewDesc(&told, object));
    CHECK(told.format == v.format && told.firstLayer == 1 && told.lastLayer == 2);
    t.channels = 2; /* the same bytes, read otherwise; layers 1 and 2 of 4 */
    t.bits = 16;
    t.kind = cudaChannelFormatKindSigned;
    t.layers = 2;
    t.level[0].data += 5 * 3 * 4;
    fetch_and_compare(&t, object, false, true);
    t.level[0].data -= 5 * 3 * 4;
    OK(cudaDestroyTextureObject(object));
    v.depth = 0; /* an H200 wants all three */
    EXPECT(cudaCreateTextureObject(&object, &r, &t.desc, &v), cudaErrorInvalidValue);
    v.depth = 4;
    v.width = 6;
    EXPECT(cudaCreateTextureObject(&object, &r, &t.desc, &v), cudaErrorInvalidValue);
    v.width = 5;
    v.format = cudaResViewFormatFloat4;
    EXPECT(cudaCreateTextureObject(&object, &r, &t.desc, &v), cudaErrorInvalidValue);
    v.format = cudaResViewFormatUnsignedBlockCompressed1;
    EXPECT(cudaCreateTextureObject(&object, &r, &t.desc, &v), cudaErrorNotSupported);
    OK(cudaFreeArray(r.res.array.array));
    free(t.level[0].data);
}

static void test_queries(void)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
    struct cudaTextureDesc desc = {
        .normalizedCoords = 1,
        .filterMode = cudaFilterModeLinear,
        .addressMode = {cudaAddressModeMirror, cudaAddressModeClamp, cudaAddressModeBorder}};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeMipmappedArray};
    static const uint32_t expected[] = {16, 8, 4, 1, 1, 2, 3, 3, 1, 1, 16, 8, 2, 8, 1};
    cudaTextureObject_t object;
    cudaSurfaceObject_t surface;
    cudaArray_t level;

    OK(cudaMallocMipmappedArray(&r.res.mipmap.mipmap, &d, (struct cudaExtent){16, 8, 4}, 3,
                                cudaArraySurfaceLoadStore));
    OK(cudaCreateTextureObject(&object, &r, &desc, NULL));
    for (int lane = 0; lane < LANES; lane++)
        in[0][lane] = 1;
    OK(run_kernel("query", false, object));
    for (size_t k = 0; k < QUERIES + 1; k++)
        if (out[k][33] != expected[k]) {
            fprintf(stderr, "query %zu gives %u, not %u\n", k, out[k][33], expected[k]);
            conform_failures++;
        }
    OK(cudaGetMipmappedArrayLevel(&level, r.res.mipmap.mipmap, 1));
    r.res.array.array = level;
    r.resType = cudaResourceTypeArray;
    OK(cudaCreateSurfaceObject(&surface, &r));
    OK(run_kernel("query", false, surface));
    CHECK(out[10][0] == 8 && out[11][0] == 4 && out[QUERIES][0] == 2);
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(object));
}

static double half_value(uint32_t h)
{
    int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
    double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
}

static void test_half(void)
{
    struct texture t = {.geometry = G_2D, .levels = 1, .channels = 4, .bits = 32, .layers = 1};
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    cudaTextureObject_t object;
    struct place p[LANES];
    struct expected e;

    t.kind = cudaChannelFormatKindFloat;
    memcpy(t.level[0].size, (int[3]){6, 4, 1}, sizeof t.level[0].size);
    r.res.array.array = make_array(&t);
    object = make_texture(&t, &r);
    random_places(&t, p, false);
    OK(run_kernel("half", false, object));
    for (int lane = 0; lane < LANES; lane++) {
        if (!runs(lane))
            continue;
        expect_fetch(&t, &p[lane], 0, &e);
        for (int k = 0; k < 4; k++) {
            uint32_t h = out[k / 2][lane] >> k % 2 * 16 & 0xffff;
            double want = (double)float_of(e.word[k]);

            CHECK(fabs(half_value(h) - want) <= fabs(want) / 2048 + ldexp(1, -25));
            CHECK((out[2 + k / 2][lane] >> k % 2 * 16 & 0xffff) == h);
        }
        CHECK(out[4][lane] == 1 && out[5][lane] == e.word[0]);
    }
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(r.res.array.array));
    free(t.level[0].data);
}

/* ---- surfaces ---- */

struct surface {
    cudaArray_t array;
    cudaSurfaceObject_t object;
    int size[3], element, bytes; /* bytes: of all */
    unsigned char *host, *got;
    enum geometry g;
};

static void surface_copy(struct surface *s, void *host, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p = {
        .kind = kind, .extent = {(size_t)s->size[0], (size_t)s->size[1], (size_t)s->size[2]}};
    struct cudaPitchedPtr q = {host, (size_t)(s->size[0] * s->element), (size_t)s->size[0],
                               (size_t)s->size[1]};

    if (kind == cudaMemcpyHostToDevice) {
        p.srcPtr = q;
        p.dstArray = s->array;
    } else {
        p.dstPtr = q;
        p.srcArray = s->array;
    }
    OK(cudaMemcpy3D(&p));
}

static void surface_make(struct surface *s, enum geometry g, int bits, int channels)
{
    int b = bits;
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(b, channels > 1 ? b : 0, channels > 2 ? b : 0, channels > 2 ? b : 0,
                              cudaChannelFormatKindUnsigned);
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    int n = coordinates(g);

    s->g = g;
    s->size[0] = rnd_in(2, 9);
    s->size[1] = n > 1 ? rnd_in(2, 5) : 1;
    s->size[2] = g == G_3D || is_layered(g) ? rnd_in(2, 4) : 1;
    s->element = bits / 8 * channels;
    s->bytes = s->size[0] * s->size[1] * s->size[2] * s->element;
    s->host = malloc((size_t)s->bytes);
    s->got = malloc((size_t)s->bytes);
    for (int k = 0; k < s->bytes; k++)
        s->host[k] = (unsigned char)rnd();
    OK(cudaMalloc3DArray(&s->array, &d,
                         (struct cudaExtent){(size_t)s->size[0], n > 1 ? (size_t)s->size[1] : 0,
                                             s->size[2] > 1 ? (size_t)s->size[2] : 0},
                         cudaArraySurfaceLoadStore | (is_layered(g) ? cudaArrayLayered : 0)));
    surface_copy(s, s->host, cudaMemcpyHostToDevice);
    r.res.array.array = s->array;
    OK(cudaCreateSurfaceObject(&s->object, &r));
}

static void surface_free(struct surface *s)
{
    OK(cudaDestroySurfaceObject(s->object));
    OK(cudaFreeArray(s->array));
    free(s->host);
    free(s->got);
}

/* Random places; where each is in the host's copy, or -1. inside: no lane beyond an edge. */
static int surface_places(const struct surface *s, int bytes, int bound, int *at)
{
    int n = coordinates(s->g), layered = is_layered(s->g);

    for (int lane = 0; lane < LANES; lane++) {
        int c[3] = {0}, beyond = bound == 0 ? 0 : 1;
        bool there = true;

        for (int k = 0; k < 3; k++) {
            bool used = k < n || (k == 2 && layered);
            int last = s->size[k] - 1, i = used ? rnd_in(-beyond, last + beyond) : 0;

            if (k < n)
                in[layered + k][lane] = (uint32_t)(k == 0 ? i * bytes : i);
            else if (used)
                in[0][lane] = (uint32_t)i;
            there &= i >= 0 && i <= last;
            c[k] = i < 0 ? 0 : i > last ? last : i;
        }
        at[lane] = there || bound == 1
                       ? ((c[2] * s->size[1] + c[1]) * s->size[0] + c[0]) * s->element
                       : -1;
    }
    return n + layered;
}

static uint64_t element_of(const unsigned char *from, int k, int bytes)
{
    uint64_t v = 0;

    memcpy(&v, from + k * bytes, (size_t)bytes);
    return v;
}

static void test_surface(size_t which, int bound)
{
    int bits = surfaces[which].bits, count = surfaces[which].count, bytes = bits / 8, at[LANES],
        row;
    bool pair = bits == 64; /* elements of 64 bits: two channels of 32 */
    struct surface s;
    char name[64];

    surface_make(&s, surfaces[which].g, pair ? 32 : bits, pair ? 2 * count : count);
    snprintf(name, sizeof name, "suld_%s_%d_%d_%s", geometry_names[s.g], bits, count,
             bound_names[bound]);
    surface_places(&s, s.element, bound, at);
    OK(run_kernel(name, bits & 8, s.object));
    check_untouched(name);
    for (int lane = 0; lane < LANES; lane++)
        for (int k = 0; k < count && runs(lane); k++) {
            uint64_t want = at[lane] < 0 ? 0 : element_of(s.host + at[lane], k, bytes);
            uint64_t got =
                pair ? out[2 * k][lane] | (uint64_t)out[2 * k + 1][lane] << 32 : out[k][lane];

            CHECK(got == want);
        }
    name[2] = 's';
    name[3] = 't';
    row = surface_places(&s, s.element, bound, at);
    for (int k = 0; k < 4; k++)
        for (int lane = 0; lane < LANES; lane++)
            in[row + k][lane] = 0x01010101u * (uint32_t)(k + 7); /* the same from all lanes */
    OK(run_kernel(name, bits & 16, s.object));
    for (int lane = 0; lane < LANES; lane++)
        for (int k = 0; k < count && runs(lane) && at[lane] >= 0; k++)
            memset(s.host + at[lane] + k * bytes, pair ? 0 : k + 7, (size_t)bytes);
    for (int lane = 0; lane < LANES && pair; lane++)
        for (int k = 0; k < 2 * count && runs(lane) && at[lane] >= 0; k++)
            memset(s.host + at[lane] + k * 4, k + 7, 4);
    surface_copy(&s, s.got, cudaMemcpyDeviceToHost);
    if (memcmp(s.got, s.host, (size_t)s.bytes) != 0) {
        fprintf(stderr, "%s stored otherwise\n", name);
        conform_failures++;
    }
    surface_free(&s);
}

static uint64_t reduced(const struct reduction *r, uint64_t a, uint64_t b)
{
    bool wide = r->type[1] == '6', is_signed = r->type[0] == 's';
    int64_t sa = wide ? (int64_t)a : (int32_t)a, sb = wide ? (int64_t)b : (int32_t)b;

    switch (r->op[1]) {
    case 'd':
        return a + b;
    case 'i':
        return (is_signed ? sb < sa : b < a) ? b : a;
    case 'a':
        return (is_signed ? sb > sa : b > a) ? b : a;
    case 'n':
        return a & b;
    default:
        return a | b;
    }
}

static void test_reduction(const struct reduction *r)
{
    bool wide = r->type[1] == '6';
    int at[LANES], row, bytes = wide ? 8 : 4;
    struct surface s;
    char name[64];

    surface_make(&s, r->g, 32, wide ? 2 : 1);
    row = surface_places(&s, s.element, 1, at);
    for (int lane = 0; lane < LANES; lane++) {
        in[row][lane] = rnd() << 1;
        in[row + 1][lane] = rnd() << 1;
    }
    snprintf(name, sizeof name, "sured_%s_%s", r->op, r->type);
    OK(run_kernel(name, false, s.object));
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            uint64_t b = in[row][lane] | (wide ? (uint64_t)in[row + 1][lane] << 32 : 0);
            uint64_t v = reduced(r, element_of(s.host + at[lane], 0, bytes), b);

            memcpy(s.host + at[lane], &v, (size_t)bytes);
        }
    surface_copy(&s, s.got, cudaMemcpyDeviceToHost);
    if (memcmp(s.got, s.host, (size_t)s.bytes) != 0) {
        fprintf(stderr, "%s left something else\n", name);
        conform_failures++;
    }
    surface_free(&s);
}

/* ---- what is wrong ---- */

static void test_refusals(void)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaResourceDesc r = {.resType = cudaResourceTypeArray};
    struct cudaTextureDesc desc = {.filterMode = cudaFilterModeLinear};
    cudaTextureObject_t object;
    char *memory;

    OK(cudaMallocArray(&r.res.array.array, &d, 4, 4, 0));
    EXPECT(cudaCreateTextureObject(&object, &r, &desc, NULL), cudaErrorInvalidFilterSetting);
    desc = (struct cudaTextureDesc){.readMode = cudaReadModeNormalizedFloat};
    EXPECT(cudaCreateTextureObject(&object, &r, &desc, NULL), cudaErrorInvalidNormSetting);
    OK(cudaFreeArray(r.res.array.array));
    OK(cudaMalloc((void **)&memory, 4096));
    r = (struct cudaResourceDesc){.resType = cudaResourceTypeLinear};
    r.res.linear.devPtr = memory + 4; /* not aligned */
    r.res.linear.sizeInBytes = 64;
    r.res.linear.desc = d;
    desc = (struct cudaTextureDesc){.readMode = cudaReadModeElementType};
    EXPECT(cudaCreateTextureObject(&object, &r, &desc, NULL), cudaErrorInvalidValue);
    r.res.linear.devPtr = memory;
    r.res.linear.sizeInBytes = 8192; /* larger than the memory: an H200 does not look */
    OK(cudaCreateTextureObject(&object, &r, &desc, NULL));
    OK(cudaDestroyTextureObject(object));
    OK(cudaFree(memory));
}

/* The kernel ends: what it wanted is not there. The last of all: the device stays failed. */
static void test_trap(bool no_object)
{
    struct surface s;
    int at[LANES];

    surface_make(&s, G_2D, 32, 4);
    surface_places(&s, s.element, 0, at);
    in[1][7] = (uint32_t)s.size[1];
    EXPECT(run_kernel("suld_2d_32_4_trap", false, no_object ? 0x1234000 : s.object),
           no_object ? cudaErrorIllegalAddress : cudaErrorLaunchFailure);
    free(s.host);
    free(s.got);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 12;

    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    load();
    OK(cudaMalloc((void **)&d_in, sizeof in));
    OK(cudaMalloc((void **)&d_out, sizeof out));
    OK(cudaMalloc((void **)&d_handles, LANES * sizeof *d_handles));
    for (int round = 0; round < rounds; round++) {
        for (enum geometry g = 0; g < GEOMETRIES; g++) {
            test_array(g);
            test_levels(g);
        }
        test_linear();
        test_pitch();
        test_cube_gradient();
        for (size_t k = 0; k < SURFACES; k++)
            test_surface(k, round % 3);
        for (size_t k = 0; k < REDUCTIONS; k++)
            test_reduction(&reductions[k]);
    }
    test_view();
    test_queries();
    test_half();
    test_refusals();
    test_trap(random_state & 1);
    return CONFORM_END();
}
