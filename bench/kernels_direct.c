/* The ten kernels of the public comparison, compiled from a PTX file and run without runtime or
 * engines: what the compiler itself gives. The PTX is made at build time when an nvcc is there.
 * Prints: name, milliseconds (minimum), ok, compile times of both tiers.
 *   kernels_direct FILE.ptx [NAME ...]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/codegen_lower_harness.h"

#define N_LINE (16u << 20)
#define N_MAT  1024u
#define N_BODY 16384u
#define FRAMES 100u
#define WIDTH  1280u
#define HEIGHT 720u
#define SIDE   2048u

static uint32_t seed;
static uint32_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static float *floats(struct harness *h, size_t n, uint32_t s)
{
    float *p = harness_alloc(h, n * sizeof *p);
    seed = s * 2654435761u + 1;
    for (size_t i = 0; i < n; i++)
        p[i] = (float)(next_random() >> 8) * (1.0f / 16777216.0f);
    return p;
}

struct bench {
    struct harness h;
    const char *name;
    uint32_t grid[3], block[3];
    unsigned char params[64];
    size_t param_bytes;
    int reps;
};

static void param(struct bench *b, const void *v, size_t bytes)
{
    b->param_bytes = (b->param_bytes + bytes - 1) / bytes * bytes;
    memcpy(b->params + b->param_bytes, v, bytes);
    b->param_bytes += bytes;
}

/* Milliseconds of the best of the runs, or a negative number. */
static double measure(struct bench *b, double *quick, double *best)
{
    struct harness_kernel k;
    b->h.tier = WEIR_JIT_QUICK;
    if (!harness_compile(&b->h, b->name, b->block, &k))
        return -1;
    *quick = b->h.compile_ms;
    harness_free_kernel(&k);
    b->h.tier = getenv("QUICK") ? WEIR_JIT_QUICK : WEIR_JIT_BEST;
    if (!harness_compile(&b->h, b->name, b->block, &k))
        return -1;
    *best = b->h.compile_ms;
    double min = 1e30;
    for (int r = 0; r < b->reps; r++) {
        if (!harness_run(&b->h, &k, b->grid, 0, b->params, b->param_bytes))
            return -1;
        if (b->h.run_ms < min)
            min = b->h.run_ms;
    }
    harness_free_kernel(&k);
    return min;
}

static bool near(double a, double b, double rel, double abs)
{
    return fabs(a - b) <= rel * fabs(b) + abs;
}

static void finish(struct bench *b, double ms, double quick, double best, bool ok)
{
    if (ms < 0)
        printf("%-14s %s (error %u line %u address %llx)\n", b->name, b->h.message, b->h.error,
               b->h.error_line, (unsigned long long)b->h.error_address);
    else
        printf("%-14s %9.3f ms %s  compile %.1f / %.1f ms, object %zu\n", b->name, ms,
               ok ? "ok" : "WRONG", quick, best, b->h.object_bytes);
    fflush(stdout);
}

#define SHAPE(gx, gy, bx, by)                                                                      \
    do {                                                                                           \
        b->grid[0] = (gx), b->grid[1] = (gy), b->grid[2] = 1;                                      \
        b->block[0] = (bx), b->block[1] = (by), b->block[2] = 1;                                   \
    } while (0)
#define P(v) param(b, &(v), sizeof(v))

static void saxpy(struct bench *b)
{
    float *x = floats(&b->h, N_LINE, 1), *y = floats(&b->h, N_LINE, 2),
          *z = harness_alloc(&b->h, N_LINE * 4), a = 2.5f;
    int n = (int)N_LINE;
    double q, t;
    SHAPE(N_LINE / 256, 1, 256, 1);
    P(x), P(y), P(z), P(a), P(n);
    double ms = measure(b, &q, &t);
    bool ok = true;
    for (size_t i = 0; i < N_LINE; i++)
        ok &= z[i] == fmaf(x[i], a, y[i]);
    finish(b, ms, q, t, ok);
}

static void heavy(struct bench *b)
{
    size_t n = 64u << 20;
    float *v = floats(&b->h, n, 3), first = v[12345];
    int ni = (int)n;
    double q, t;
    SHAPE((uint32_t)(n / 256), 1, 256, 1);
    P(v), P(ni);
    double ms = measure(b, &q, &t);
    for (int k = 0; k < 64 * b->reps; k++)
        first = fmaf(first, 0.999f, 0.001f);
    finish(b, ms, q, t, first == v[12345]);
}

static void matmul(struct bench *b, unsigned tile)
{
    float *a = floats(&b->h, N_MAT * N_MAT, 4), *m = floats(&b->h, N_MAT * N_MAT, 5);
    float *c = harness_alloc(&b->h, N_MAT * N_MAT * 4);
    int n = (int)N_MAT;
    double q, t;
    SHAPE(N_MAT / tile, N_MAT / tile, tile, tile);
    P(a), P(m), P(c), P(n);
    double ms = measure(b, &q, &t);
    bool ok = true;
    for (unsigned s = 0; s < 4000; s++) {
        unsigned i = s * 7919 % N_MAT, j = s * 104729 % N_MAT;
        double r = 0;
        for (unsigned k = 0; k < N_MAT; k++)
            r += (double)a[i * N_MAT + k] * m[k * N_MAT + j];
        ok &= near(c[i * N_MAT + j], r, 1e-4, 0);
    }
    finish(b, ms, q, t, ok);
}

static void reduce(struct bench *b)
{
    float *x = floats(&b->h, N_LINE, 6), *part = harness_alloc(&b->h, N_LINE / 256 * 4);
    int n = (int)N_LINE;
    double q, t, want = 0, got = 0;
    SHAPE(N_LINE / 256, 1, 256, 1);
    P(x), P(part), P(n);
    double ms = measure(b, &q, &t);
    for (size_t i = 0; i < N_LINE; i++)
        want += x[i];
    for (size_t i = 0; i < N_LINE / 256; i++)
        got += part[i];
    finish(b, ms, q, t, near(got, want, 1e-5, 0));
}

static double blurred(const float *in, int x, int y)
{
    static const float g[5] = {1.f / 16, 4.f / 16, 6.f / 16, 4.f / 16, 1.f / 16};
    double s = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            int yy = y + j < 0 ? 0 : y + j >= (int)HEIGHT ? (int)HEIGHT - 1 : y + j;
            int xx = x + i < 0 ? 0 : x + i >= (int)WIDTH ? (int)WIDTH - 1 : x + i;
            s += (double)g[j + 2] * g[i + 2] * in[yy * (int)WIDTH + xx];
        }
    return s;
}

static void blur(struct bench *b)
{
    size_t pixels = (size_t)WIDTH * HEIGHT;
    float *in = floats(&b->h, pixels * FRAMES, 7), *out = harness_alloc(&b->h, pixels * FRAMES * 4);
    int w = (int)WIDTH, hh = (int)HEIGHT;
    double q, t, total = 0, best = 1e30;
    struct harness_kernel k;
    SHAPE(WIDTH / 32, HEIGHT / 8, 32, 8);
    b->h.tier = WEIR_JIT_QUICK;
    if (!harness_compile(&b->h, b->name, b->block, &k)) {
        finish(b, -1, 0, 0, false);
        return;
    }
    q = b->h.compile_ms;
    harness_free_kernel(&k);
    b->h.tier = WEIR_JIT_BEST;
    if (!harness_compile(&b->h, b->name, b->block, &k)) {
        finish(b, -1, 0, 0, false);
        return;
    }
    t = b->h.compile_ms;
    for (int r = 0; r < b->reps; r++) {
        total = 0;
        for (unsigned f = 0; f < FRAMES; f++) {
            float *pi = in + f * pixels, *po = out + f * pixels;
            b->param_bytes = 0;
            P(pi), P(po), P(w), P(hh);
            if (!harness_run(&b->h, &k, b->grid, 0, b->params, b->param_bytes)) {
                finish(b, -1, 0, 0, false);
                return;
            }
            total += b->h.run_ms;
        }
        if (total < best)
            best = total;
    }
    harness_free_kernel(&k);
    bool ok = true;
    for (unsigned f = 0; f < FRAMES; f += 49)
        for (int y = 0; y < hh; y++)
            for (int x = 0; x < w; x++) {
                double s = blurred(in + f * pixels, x, y),
                       got = out[f * pixels + (size_t)y * WIDTH + (size_t)x];
                if (fabs(s - 0.5) > 1e-4)
                    ok &= near(got, s > 0.5 ? s : 0, 0, 1e-4);
            }
    finish(b, best, q, t, ok);
}

static void nbody(struct bench *b)
{
    float *p = harness_alloc(&b->h, N_BODY * 16), *acc = harness_alloc(&b->h, N_BODY * 16);
    int n = (int)N_BODY;
    double q, t;
    seed = 777;
    for (size_t i = 0; i < N_BODY; i++) {
        for (int k = 0; k < 3; k++)
            p[4 * i + (size_t)k] = (float)(next_random() >> 8) * (2.0f / 16777216.0f) - 1.0f;
        p[4 * i + 3] = (float)(next_random() >> 8) * (1.0f / 16777216.0f) + 0.1f;
    }
    SHAPE(N_BODY / 256, 1, 256, 1);
    P(p), P(acc), P(n);
    double ms = measure(b, &q, &t);
    bool ok = true;
    for (unsigned i = 0; i < N_BODY; i += 257) {
        double x = 0, y = 0, z = 0;
        for (unsigned j = 0; j < N_BODY; j++) {
            double dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1],
                   dz = p[4 * j + 2] - p[4 * i + 2];
            double d = dx * dx + dy * dy + dz * dz + 0.01f, k = p[4 * j + 3] / (d * sqrt(d));
            x += dx * k, y += dy * k, z += dz * k;
        }
        ok &= fabs(x - acc[4 * i]) + fabs(y - acc[4 * i + 1]) + fabs(z - acc[4 * i + 2]) <=
              2e-3 * (fabs(x) + fabs(y) + fabs(z)) + 0.5;
    }
    finish(b, ms, q, t, ok);
}

static void histogram(struct bench *b)
{
    size_t n = 64u << 20;
    unsigned char *p = harness_alloc(&b->h, n);
    uint32_t *hist = harness_alloc(&b->h, 1024), want[256] = {0};
    int ni = (int)n;
    double q, t;
    seed = 12345;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(next_random() >> 11);
    SHAPE(256, 1, 256, 1);
    P(p), P(hist), P(ni);
    double ms = measure(b, &q, &t);
    for (size_t i = 0; i < n; i++)
        want[p[i]] += (uint32_t)b->reps;
    finish(b, ms, q, t, memcmp(hist, want, sizeof want) == 0);
}

static void mandel(struct bench *b)
{
    int *it = harness_alloc(&b->h, SIDE * SIDE * 4), w = (int)SIDE, hh = (int)SIDE;
    double q, t;
    long bad = 0, total = 0;
    SHAPE(SIDE / 32, SIDE / 8, 32, 8);
    P(it), P(w), P(hh);
    double ms = measure(b, &q, &t);
    for (unsigned y = 0; y < SIDE; y += 7)
        for (unsigned x = 0; x < SIDE; x += 5) {
            float cx = -2.25f + (float)x * (3.0f / SIDE), cy = -1.5f + (float)y * (3.0f / SIDE),
                  zx = 0, zy = 0;
            int n = 0;
            for (; n < 256; n++) {
                float x2 = zx * zx, y2 = zy * zy;
                if (x2 + y2 > 4.0f)
                    break;
                zy = 2.0f * zx * zy + cy;
                zx = x2 - y2 + cx;
            }
            total++;
            bad += n != it[y * SIDE + x];
        }
    finish(b, ms, q, t, bad * 200 < total);
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*bytes + 1);
    if (fread(p, 1, *bytes, f) != *bytes)
        exit(1);
    p[*bytes] = 0;
    fclose(f);
    return p;
}

static void run(struct bench *b)
{
    const char *n = b->name;
    if (strcmp(n, "k_saxpy") == 0)
        saxpy(b);
    else if (strcmp(n, "k_heavy") == 0)
        heavy(b);
    else if (strcmp(n, "k_mat_tiled16") == 0 || strcmp(n, "k_mat_naive") == 0)
        matmul(b, 16);
    else if (strcmp(n, "k_mat_tiled32") == 0)
        matmul(b, 32);
    else if (strcmp(n, "k_reduce") == 0 || strcmp(n, "k_shfl") == 0)
        reduce(b);
    else if (strcmp(n, "k_blur") == 0)
        blur(b);
    else if (strcmp(n, "k_nbody") == 0)
        nbody(b);
    else if (strcmp(n, "k_hist") == 0)
        histogram(b);
    else
        mandel(b);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"k_saxpy",     "k_heavy",  "k_mat_tiled16", "k_mat_tiled32",
                                      "k_mat_naive", "k_reduce", "k_blur",        "k_nbody",
                                      "k_hist",      "k_mandel", "k_shfl"};
    size_t bytes = 0;
    char *ptx = argc > 1 ? read_file(argv[1], &bytes) : NULL;
    if (!ptx) {
        fprintf(stderr, "usage: kernels_direct FILE.ptx [NAME ...]\n");
        return 2;
    }
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        bool wanted = argc == 2;
        for (int a = 2; a < argc; a++)
            wanted |= strcmp(argv[a], all[k]) == 0;
        if (!wanted)
            continue;
        struct bench b = {.name = all[k], .reps = getenv("REPS") ? atoi(getenv("REPS")) : 3};
        b.h.threads = getenv("THREADS") ? atoi(getenv("THREADS")) : 2;
        if (!harness_start(&b.h, (size_t)2 << 30, ptx, bytes)) {
            fprintf(stderr, "%s\n", b.h.message);
            return 1;
        }
        run(&b);
        harness_stop(&b.h);
    }
    free(ptx);
    return 0;
}
