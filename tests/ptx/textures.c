/* Textures and surfaces in PTX: every geometry, format, mode and instruction, with random elements
 * and coordinates, against textures_reference.c. WEIR_JIT_TIER picks the compiler's tier.
 *   t_ptx_textures [SEED [ROUNDS [-w|-c FILE]]] | -p FILE (writes the PTX)
 * -w FILE: keeps what a GPU answered; -c FILE: compares with that (h200/textures_SEED.txt: 4
 * rounds).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "../conform/conform.h"
#include "textures_run.h"

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

    if (t->geometry >= G_CUBE && rnd() % 8)
        return rnd_unit() * 2 - 1;
    if (t->geometry >= G_CUBE) {
        float side = (float)rnd_in(0, 1) * 2 - 1; /* (calls in one expression have no order) */

        return side + 0.01f * rnd_unit();
    }
    return t->desc.normalizedCoords ? x / (float)n : x;
}

/* Coordinates of all lanes into rows 0 ...; the number of rows. */
static int random_places(const struct texture *t, struct place *p, bool whole)
{
    int layered = is_layered(t->geometry), n = coordinates(t->geometry);

    for (int lane = 0; lane < LANES; lane++) {
        p[lane] = (struct place){.whole = whole, .layer = (unsigned)rnd_in(0, t->layers)};
        if (layered)
            kernel_in[0][lane] = p[lane].layer;
        for (int k = 0; k < n; k++) {
            p[lane].x[k] = random_coordinate(t, k);
            p[lane].i[k] = rnd_in(-2, t->level[0].size[k] + 1);
            kernel_in[layered + k][lane] = whole ? (uint32_t)p[lane].i[k] : word_of(p[lane].x[k]);
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
        if (near(kernel_out[k][lane], e->word[k], e->tolerance[k]))
            continue;
        if (conform_failures++ < 20) {
            describe(t, what);
            fprintf(stderr, "  lane %d at %g %g %g layer %u: result %d is %#x (%g), not %#x (%g)\n",
                    lane, (double)p->x[0], (double)p->x[1], (double)p->x[2], p->layer, k,
                    kernel_out[k][lane], (double)float_of(kernel_out[k][lane]), e->word[k],
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
    snprintf(name, sizeof name, "%s_%c_%s", whole ? "whole" : "fetch",
             whole ? "fu"[rnd() & 1] : "fsu"[rnd() % 3], geometry_names[t->geometry]);
    OK(run_kernel(name, each, object));
    answers_row(name);
    check_untouched(name);
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            expect_fetch(t, &p[lane], 0, &e);
            compare(t, name, &p[lane], lane, &e);
        }
}

static void gather_and_compare(const struct texture *t, cudaTextureObject_t object)
{
    struct place p[LANES];
    struct expected e;
    char name[64];

    for (int k = 0; k < GATHERS; k++) {
        if (gathers[k].g != t->geometry)
            continue;
        random_places(t, p, false);
        snprintf(name, sizeof name, "%s_%s", gathers[k].tag, geometry_names[t->geometry]);
        OK(run_kernel(name, k & 1, object));
        answers_row(name);
        for (int lane = 0; lane < LANES; lane++)
            if (runs(lane)) {
                expect_gather(t, &p[lane], gathers[k].component, &e);
                compare(t, name, &p[lane], lane, &e);
            }
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

/* Steps of any kind: what they give is an H200's answer alone. */
static double any_gradient(const struct texture *t, int row, int lane)
{
    int n = coordinates(t->geometry);

    for (int k = 0; k < 2 * n; k++) {
        int exponent = rnd_in(-1, t->levels + 1);

        kernel_in[row + k][lane] =
            word_of(ldexpf(rnd_unit() * 2 - 1, exponent) / (float)t->level[0].size[k % n]);
    }
    return NAN;
}

/* The gradient of a step of 2^lod elements along one axis; cubes are not asked (see test_levels).
 */
static double random_gradient(const struct texture *t, int row, int lane)
{
    int n = coordinates(t->geometry);
    float step[2][3] = {{0}};
    int side = rnd_in(0, 1), exponent = rnd_in(-1, t->levels);

    step[side][rnd_in(0, n - 1)] = ldexpf(1, exponent) / (float)t->level[0].size[0];
    step[!side][0] = 0.25f / (float)t->level[0].size[0];
    for (int k = 0; k < 2 * n; k++)
        kernel_in[row + k][lane] = word_of(step[k / n][k % n]);
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
    bool gradient = g < G_CUBE && rnd() & 1, any = rnd() & 1;
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

        lod[lane] = !gradient ? (double)level
                    : any     ? any_gradient(&t, row, lane)
                              : random_gradient(&t, row, lane);
        if (!gradient)
            kernel_in[row][lane] = word_of(level);
    }
    snprintf(name, sizeof name, "%s_%s", gradient ? "grad" : "level", geometry_names[g]);
    OK(run_kernel(name, g & 1, object));
    answers_row(name);
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane) && !isnan(lod[lane])) {
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
    memset(kernel_in, 0, sizeof kernel_in);
    for (int lane = 0; lane < LANES; lane++) {
        int major = lane % 3, along = (major + 1 + lane / 3 % 2) % 3;

        p[lane] = (struct place){.layer = 0};
        p[lane].x[major] = lane & 8 ? -2.0f : 2.0f;
        p[lane].x[along] = 0.0625f;
        for (int k = 0; k < 3; k++)
            kernel_in[k][lane] = word_of(p[lane].x[k]);
        /* at twice the distance a step is half as long; 8 elements to 1 */
        kernel_in[3 + along][lane] = word_of(ldexpf(2, lane % 4 - 3));
    }
    OK(run_kernel("grad_cube", G_CUBE & 1, object));
    answers_row("grad_cube");
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
        kernel_in[0][lane] = 1;
    OK(run_kernel("query", false, object));
    for (size_t k = 0; k < QUERIES + 1; k++)
        if (kernel_out[k][33] != expected[k]) {
            fprintf(stderr, "query %zu gives %u, not %u\n", k, kernel_out[k][33], expected[k]);
            conform_failures++;
        }
    OK(cudaGetMipmappedArrayLevel(&level, r.res.mipmap.mipmap, 1));
    r.res.array.array = level;
    r.resType = cudaResourceTypeArray;
    OK(cudaCreateSurfaceObject(&surface, &r));
    OK(run_kernel("query", false, surface));
    CHECK(kernel_out[10][0] == 8 && kernel_out[11][0] == 4 && kernel_out[QUERIES][0] == 2);
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
            uint32_t h = kernel_out[k / 2][lane] >> k % 2 * 16 & 0xffff;
            double want = (double)float_of(e.word[k]);

            CHECK(fabs(half_value(h) - want) <= fabs(want) / 2048 + ldexp(1, -25));
            CHECK((kernel_out[2 + k / 2][lane] >> k % 2 * 16 & 0xffff) == h);
        }
        CHECK(kernel_out[4][lane] == 1 && kernel_out[5][lane] == e.word[0]);
    }
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(r.res.array.array));
    free(t.level[0].data);
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

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "-p") == 0) {
        FILE *f = fopen(argv[2], "w");

        return !f || fputs(texture_kernels(), f) < 0 || fclose(f) != 0;
    }
    int rounds = argc > 2 ? atoi(argv[2]) : 12;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

    if (argc > 4 && !answers_open(argv[4], argv[3][1] == 'w'))
        return 2;
    rnd_seed(seed);
    kernels_load();
    for (int round = 0; round < rounds; round++) {
        for (enum geometry g = 0; g < GEOMETRIES; g++) {
            test_array(g);
            test_levels(g);
        }
        test_linear();
        test_pitch();
        test_cube_gradient();
        for (size_t k = 0; k < surface_count; k++)
            test_surface(k, round % 3);
        for (size_t k = 0; k < reduction_count; k++)
            test_reduction(&reductions[k]);
    }
    test_view();
    test_queries();
    test_half();
    test_refusals();
    test_trap(seed & 1);
    conform_failures += surfaces_failed() + runs_failed() + answers_close();
    return CONFORM_END();
}
