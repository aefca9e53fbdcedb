/* SPDX-License-Identifier: Apache-2.0
 * Inputs and checks that every driver of the kernel benchmark shares. */
#include "common.h"
static uint32_t rs;
static inline uint32_t r32(void)
{
    rs ^= rs << 13;
    rs ^= rs >> 17;
    rs ^= rs << 5;
    return rs;
}
void in_floats(float *p, size_t n, unsigned s)
{
    rs = s * 2654435761u + 1;
    for (size_t i = 0; i < n; i++)
        p[i] = (r32() >> 8) * (1.0f / 16777216.0f);
}
void in_bytes(unsigned char *p, size_t n)
{
    rs = 12345;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(r32() >> 11);
}
void in_bodies(float *p, size_t n)
{
    rs = 777;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            p[4 * i + k] = (r32() >> 8) * (2.0f / 16777216.0f) - 1.0f;
        p[4 * i + 3] = (r32() >> 8) * (1.0f / 16777216.0f) + 0.1f;
    }
}
int ck_saxpy(const float *x, const float *y, const float *z, float a)
{
    for (size_t i = 0; i < NSAXPY; i++) {
        double r = (double)a * x[i] + y[i];
        if (fabs(r - z[i]) > 1e-5 * fabs(r) + 1e-6)
            return 0;
    }
    return 1;
}
int ck_heavy(const float *o, const float *v, size_t n, int passes)
{
    for (size_t i = 0; i < n; i += 9973) {
        double r = o[i];
        for (int k = 0; k < 64 * passes; k++)
            r = r * (double)0.999f + (double)0.001f;
        if (fabs(r - v[i]) > 1e-3)
            return 0;
    }
    return 1;
}
int ck_mat(const float *A, const float *B, const float *C)
{
    for (int s = 0; s < 4000; s++) {
        int i = (s * 7919) % NMAT, j = (s * 104729) % NMAT;
        double r = 0;
        for (int k = 0; k < NMAT; k++)
            r += (double)A[i * NMAT + k] * B[k * NMAT + j];
        if (fabs(r - C[i * NMAT + j]) > 1e-4 * fabs(r))
            return 0;
    }
    return 1;
}
int ck_sum(const float *x, size_t n, double g)
{
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += x[i];
    return fabs(r - g) < 1e-3 * fabs(r);
}
static const float GW[5] = {1.f / 16, 4.f / 16, 6.f / 16, 4.f / 16, 1.f / 16};
int ck_blur(const float *in, const float *out)
{
    int fr[3] = {0, 57, 99};
    long bad = 0;
    for (int f = 0; f < 3; f++) {
        const float *a = in + (size_t)fr[f] * BW * BH, *b = out + (size_t)fr[f] * BW * BH;
        for (int y = 0; y < BH; y++)
            for (int x = 0; x < BW; x++) {
                double s = 0;
                for (int j = -2; j <= 2; j++)
                    for (int i = -2; i <= 2; i++) {
                        int yy = y + j < 0     ? 0
                                 : y + j >= BH ? BH - 1
                                               : y + j,
                            xx = x + i < 0     ? 0
                                 : x + i >= BW ? BW - 1
                                               : x + i;
                        s += (double)GW[j + 2] * GW[i + 2] * a[yy * BW + xx];
                    }
                double r = s > 0.5 ? s : 0.0;
                double d = fabs(r - b[y * BW + x]);
                if (d > 1e-4) {
                    if (fabs(s - 0.5) < 1e-4)
                        continue;
                    bad++;
                }
            }
    }
    return bad == 0;
}
int ck_nbody(const float *p, const float *a)
{
    for (int i = 0; i < NBODY; i += 257) {
        double x = 0, y = 0, z = 0;
        for (int j = 0; j < NBODY; j++) {
            double dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1],
                   dz = p[4 * j + 2] - p[4 * i + 2];
            double d = dx * dx + dy * dy + dz * dz + EPS2, k = p[4 * j + 3] / (d * sqrt(d));
            x += dx * k;
            y += dy * k;
            z += dz * k;
        }
        double m = fabs(x) + fabs(y) + fabs(z);
        if (fabs(x - a[4 * i]) + fabs(y - a[4 * i + 1]) + fabs(z - a[4 * i + 2]) > 2e-3 * m + 0.5)
            return 0;
    }
    return 1;
}
int ck_hist(const unsigned char *p, const unsigned *h)
{
    unsigned long r[256] = {0};
    for (size_t i = 0; i < NHIST; i++)
        r[p[i]]++;
    for (int i = 0; i < 256; i++)
        if (r[i] != h[i])
            return 0;
    return 1;
}
int ck_mandel(const int *it)
{
    long bad = 0, tot = 0;
    for (int y = 0; y < MH; y += 7)
        for (int x = 0; x < MW; x += 5) {
            float cx = -2.25f + x * (3.0f / MW), cy = -1.5f + y * (3.0f / MH), zx = 0, zy = 0;
            int n = 0;
            while (n < MIT) {
                float x2 = zx * zx, y2 = zy * zy;
                if (x2 + y2 > 4.0f)
                    break;
                zy = 2.0f * zx * zy + cy;
                zx = x2 - y2 + cx;
                n++;
            }
            tot++;
            if (n != it[y * MW + x])
                bad++;
        }
    return bad * 200 < tot;
}
int only(const char *n)
{
    const char *o = getenv("ONLY");
    if (!o || !*o)
        return 1;
    size_t l = strlen(n);
    for (const char *s = o; *s;) {
        const char *e = strchr(s, ',');
        size_t k = e ? (size_t)(e - s) : strlen(s);
        if (k == l && !strncmp(s, n, l))
            return 1;
        s += k;
        if (*s)
            s++;
    }
    return 0;
}
void report(const char *n, const char *s, double ms, int ok)
{
    printf("%-14s %-14s %10.3f %s\n", n, s, ms, ok < 0 ? "-" : ok ? "ok" : "WRONG");
    fflush(stdout);
}
void bench_run(const char *name, const char *sys, void (*fn)(void *), void *arg, int (*ck)(void *),
               void *cka)
{
    if (!only(name))
        return;
    double t0 = now_ms();
    fn(arg);
    double best = now_ms() - t0;
    fprintf(stderr, "#cold %s %s %.3f\n", name, sys, best);
    best = 1e30;
    int reps = REPS;
    const char *r = getenv("REPS");
    if (r)
        reps = atoi(r);
    for (int i = 0; i < reps; i++) {
        t0 = now_ms();
        fn(arg);
        double t = now_ms() - t0;
        if (t < best)
            best = t;
        if (t > 20000 && i >= 1)
            break;
    }
    report(name, sys, best, ck(cka));
}
