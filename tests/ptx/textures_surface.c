/* Surfaces: loads, stores, reductions, and what is beyond an edge.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../conform/conform.h"
#include "textures_run.h"

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
                kernel_in[layered + k][lane] = (uint32_t)(k == 0 ? i * bytes : i);
            else if (used)
                kernel_in[0][lane] = (uint32_t)i;
            there &= i >= 0 && i <= last;
            c[k] = i > last || (i < 0 && k == 2 && layered) ? last : i < 0 ? 0 : i;
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

void test_surface(size_t which, int bound)
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
            uint64_t got = pair ? kernel_out[2 * k][lane] | (uint64_t)kernel_out[2 * k + 1][lane]
                                                                << 32
                                : kernel_out[k][lane];

            if (got != want && conform_failures++ < 20)
                fprintf(stderr, "%s: lane %d at %d %d %d, element %d: %#llx, not %#llx\n", name,
                        lane, (int)kernel_in[0][lane], (int)kernel_in[1][lane],
                        (int)kernel_in[2][lane], k, (unsigned long long)got,
                        (unsigned long long)want);
        }
    name[2] = 's';
    name[3] = 't';
    row = surface_places(&s, s.element, bound, at);
    for (int k = 0; k < 4; k++)
        for (int lane = 0; lane < LANES; lane++)
            kernel_in[row + k][lane] =
                0x01010101u * (uint32_t)(k + 7); /* the same from all lanes */
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

void test_reduction(const struct reduction *r)
{
    bool wide = r->type[1] == '6';
    int at[LANES], row, bytes = wide ? 8 : 4;
    struct surface s;
    char name[64];

    surface_make(&s, r->g, 32, wide ? 2 : 1);
    row = surface_places(&s, s.element, 1, at);
    for (int lane = 0; lane < LANES; lane++) {
        kernel_in[row][lane] = rnd() << 1;
        kernel_in[row + 1][lane] = rnd() << 1;
    }
    snprintf(name, sizeof name, "sured_%s_%s", r->op, r->type);
    OK(run_kernel(name, false, s.object));
    for (int lane = 0; lane < LANES; lane++)
        if (runs(lane)) {
            uint64_t b =
                kernel_in[row][lane] | (wide ? (uint64_t)kernel_in[row + 1][lane] << 32 : 0);
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

/* The kernel ends: what it wanted is not there. The last of all: the device stays failed. */
void test_trap(bool no_object)
{
    struct surface s;
    int at[LANES];

    surface_make(&s, G_2D, 32, 4);
    surface_places(&s, s.element, 0, at);
    kernel_in[1][7] = (uint32_t)s.size[1];
    EXPECT(run_kernel("suld_2d_32_4_trap", false, no_object ? 0x1234000 : s.object),
           cudaErrorIllegalAddress);
    free(s.host);
    free(s.got);
}

int surfaces_failed(void)
{
    return conform_failures;
}
