/* SPDX-License-Identifier: Apache-2.0
 * native.c - plain C + OpenMP versions, written as a C programmer would. */
#include "common.h"
#ifndef SYS
#define SYS "native"
#endif
static float *X, *Y, *Z, *V, *V0, *A, *B, *C, *FI, *FO, *P, *ACC;
static unsigned char *HB;
static unsigned HH[256];
static int *IT;
static double RS;
static int passes;
static void saxpy(void *u)
{
    float a = 2.5f;
    const float *restrict x = X, *restrict y = Y;
    float *restrict z = Z;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < NSAXPY; i++)
        z[i] = a * x[i] + y[i];
}
static void heavy(void *u)
{
    passes++;
    float *restrict v = V;
    /* inner loop over 64 independent elements so that the dependent chain vectorises and pipelines
     */
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < NHEAVY; b += 128) {
        float t[128];
        for (int i = 0; i < 128; i++)
            t[i] = v[b + i];
        for (int k = 0; k < 64; k++)
            for (int i = 0; i < 128; i++)
                t[i] = t[i] * 0.999f + 0.001f;
        for (int i = 0; i < 128; i++)
            v[b + i] = t[i];
    }
}
static void heavy_plain(void *u)
{
    passes++;
    float *restrict v = V;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < NHEAVY; i++) {
        float t = v[i];
        for (int k = 0; k < 64; k++)
            t = t * 0.999f + 0.001f;
        v[i] = t;
    }
}
static void mat_naive(void *u)
{
    const float *restrict a = A, *restrict b = B;
    float *restrict c = C;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < NMAT; i++) {
        float *restrict ci = c + (size_t)i * NMAT;
        for (int j = 0; j < NMAT; j++)
            ci[j] = 0;
        for (int k = 0; k < NMAT; k++) {
            float aik = a[i * NMAT + k];
            const float *restrict bk = b + (size_t)k * NMAT;
            for (int j = 0; j < NMAT; j++)
                ci[j] += aik * bk[j];
        }
    }
}
static void mat_ijk(void *u)
{
    const float *restrict a = A, *restrict b = B;
    float *restrict c = C;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < NMAT; i++)
        for (int j = 0; j < NMAT; j++) {
            float s = 0;
            for (int k = 0; k < NMAT; k++)
                s += a[i * NMAT + k] * b[k * NMAT + j];
            c[i * NMAT + j] = s;
        }
}
static void mat_tiled(void *u)
{
    const float *restrict a = A, *restrict b = B;
    float *restrict c = C;
    enum { TI = 8, TJ = 64 }; /* register block 8x64, K inner */
#pragma omp parallel for collapse(2) schedule(static)
    for (int j0 = 0; j0 < NMAT; j0 += TJ)
        for (int i0 = 0; i0 < NMAT; i0 += TI) {
            float s[TI][TJ];
            memset(s, 0, sizeof s);
            for (int k = 0; k < NMAT; k++)
                for (int i = 0; i < TI; i++) {
                    float q = a[(i0 + i) * NMAT + k];
                    const float *bb = b + (size_t)k * NMAT + j0;
#pragma omp simd
                    for (int j = 0; j < TJ; j++)
                        s[i][j] += q * bb[j];
                }
            for (int i = 0; i < TI; i++)
                for (int j = 0; j < TJ; j++)
                    c[(size_t)(i0 + i) * NMAT + j0 + j] = s[i][j];
        }
}
static void reduce(void *u)
{
    const float *restrict x = X;
    double r = 0;
#pragma omp parallel for reduction(+ : r) schedule(static)
    for (size_t b = 0; b < NRED; b += 4096) {
        float s = 0;
#pragma omp simd reduction(+ : s)
        for (int i = 0; i < 4096; i++)
            s += x[b + i];
        r += s;
    }
    RS = r;
}
static void blur(void *u)
{
    static const float w[5] = {1.f / 16, 4.f / 16, 6.f / 16, 4.f / 16, 1.f / 16};
    for (int f = 0; f < BF; f++) {
        const float *restrict in = FI + (size_t)f * BW * BH;
        float *restrict out = FO + (size_t)f * BW * BH;
#pragma omp parallel for schedule(static)
        for (int y = 0; y < BH; y++) {
            const float *r[5];
            for (int j = 0; j < 5; j++) {
                int yy = y + j - 2;
                if (yy < 0)
                    yy = 0;
                if (yy >= BH)
                    yy = BH - 1;
                r[j] = in + (size_t)yy * BW;
            }
            for (int x = 0; x < BW; x++) {
                if (x == 2)
                    x = BW - 2;
                float s = 0;
                for (int j = 0; j < 5; j++)
                    for (int i = 0; i < 5; i++) {
                        int xx = x + i - 2;
                        if (xx < 0)
                            xx = 0;
                        if (xx >= BW)
                            xx = BW - 1;
                        s += w[j] * w[i] * r[j][xx];
                    }
                out[(size_t)y * BW + x] = s > 0.5f ? s : 0.f;
            }
            float *restrict o = out + (size_t)y * BW;
#pragma omp simd
            for (int x = 2; x < BW - 2; x++) {
                float s = 0;
                for (int j = 0; j < 5; j++)
                    for (int i = 0; i < 5; i++)
                        s += w[j] * w[i] * r[j][x + i - 2];
                o[x] = s > 0.5f ? s : 0.f;
            }
        }
    }
}
static void nbody(void *u)
{
    const float *restrict p = P;
    float *restrict acc = ACC;
    static float px[NBODY], py[NBODY], pz[NBODY], pm[NBODY];
    for (int i = 0; i < NBODY; i++) {
        px[i] = p[4 * i];
        py[i] = p[4 * i + 1];
        pz[i] = p[4 * i + 2];
        pm[i] = p[4 * i + 3];
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < NBODY; i++) {
        float x = px[i], y = py[i], z = pz[i], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < NBODY; j++) {
            float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z,
                  d = dx * dx + dy * dy + dz * dz + EPS2, inv = 1.0f / sqrtf(d),
                  k = pm[j] * inv * inv * inv;
            ax += dx * k;
            ay += dy * k;
            az += dz * k;
        }
        acc[4 * i] = ax;
        acc[4 * i + 1] = ay;
        acc[4 * i + 2] = az;
        acc[4 * i + 3] = 0;
    }
}
static void hist(void *u)
{
    memset(HH, 0, sizeof HH);
#pragma omp parallel
    {
        unsigned h[4][256];
        memset(h, 0, sizeof h);
#pragma omp for schedule(static)
        for (size_t i = 0; i < NHIST; i += 4) {
            h[0][HB[i]]++;
            h[1][HB[i + 1]]++;
            h[2][HB[i + 2]]++;
            h[3][HB[i + 3]]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; i++)
            HH[i] += h[0][i] + h[1][i] + h[2][i] + h[3][i];
    }
}
static void mandel(void *u)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int y = 0; y < MH; y++)
        for (int x = 0; x < MW; x++) {
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
            IT[y * MW + x] = n;
        }
}
static void mandel_v(void *u)
{ /* hand-blocked so the compiler can vectorise: 16 pixels per group */
#pragma omp parallel for schedule(dynamic, 8)
    for (int y = 0; y < MH; y++) {
        float cy = -1.5f + y * (3.0f / MH);
        for (int x = 0; x < MW; x += 32) {
            float cx[32], zx[32], zy[32];
            int n[32];
            for (int l = 0; l < 32; l++) {
                cx[l] = -2.25f + (x + l) * (3.0f / MW);
                zx[l] = zy[l] = 0;
                n[l] = 0;
            }
            for (int k = 0; k < MIT; k++) {
                int any = 0;
#pragma omp simd reduction(+ : any)
                for (int l = 0; l < 32; l++) {
                    float x2 = zx[l] * zx[l], y2 = zy[l] * zy[l];
                    int live = (x2 + y2 <= 4.0f);
                    float ny = 2.0f * zx[l] * zy[l] + cy, nx = x2 - y2 + cx[l];
                    zy[l] = live ? ny : zy[l];
                    zx[l] = live ? nx : zx[l];
                    n[l] += live;
                    any += live;
                }
                if (!any)
                    break;
            }
            for (int l = 0; l < 32; l++)
                IT[y * MW + x + l] = n[l];
        }
    }
}
static int c1(void *u)
{
    return ck_saxpy(X, Y, Z, 2.5f);
}
static int c2(void *u)
{
    return ck_heavy(V0, V, NHEAVY, passes);
}
static int c3(void *u)
{
    return ck_mat(A, B, C);
}
static int c5(void *u)
{
    return ck_sum(X, NRED, RS);
}
static int c6(void *u)
{
    return ck_blur(FI, FO);
}
static int c7(void *u)
{
    return ck_nbody(P, ACC);
}
static int c8(void *u)
{
    return ck_hist(HB, HH);
}
static int c9(void *u)
{
    return ck_mandel(IT);
}
#define AL(T, n) (T *)aligned_alloc(4096, (((size_t)(n) * sizeof(T)) + 4095) & ~4095ul)
int main(void)
{
    const char *S = SYS;
    X = AL(float, NSAXPY);
    Y = AL(float, NSAXPY);
    Z = AL(float, NSAXPY);
    in_floats(X, NSAXPY, 1);
    in_floats(Y, NSAXPY, 2);
    memset(Z, 0, NSAXPY * 4ul);
    bench_run("saxpy", S, saxpy, 0, c1, 0);
    bench_run("reduce", S, reduce, 0, c5, 0);
    if (only("heavy") || only("heavy_plain")) {
        V = AL(float, NHEAVY);
        V0 = AL(float, NHEAVY);
        in_floats(V0, NHEAVY, 3);
        memcpy(V, V0, NHEAVY * 4ul);
        passes = 0;
        bench_run("heavy", S, heavy, 0, c2, 0);
        memcpy(V, V0, NHEAVY * 4ul);
        passes = 0;
        bench_run("heavy_plain", S, heavy_plain, 0, c2, 0);
        free(V);
        free(V0);
    }
    A = AL(float, NMAT *NMAT);
    B = AL(float, NMAT *NMAT);
    C = AL(float, NMAT *NMAT);
    in_floats(A, NMAT * NMAT, 4);
    in_floats(B, NMAT * NMAT, 5);
    bench_run("mat_tiled", S, mat_tiled, 0, c3, 0);
    memset(C, 0, NMAT * NMAT * 4);
    bench_run("mat_naive", S, mat_naive, 0, c3, 0);
    memset(C, 0, NMAT * NMAT * 4);
    bench_run("mat_naive_ijk", S, mat_ijk, 0, c3, 0);
    if (only("blur")) {
        FI = AL(float, (size_t)BW *BH *BF);
        FO = AL(float, (size_t)BW *BH *BF);
        in_floats(FI, (size_t)BW * BH * BF, 6);
        memset(FO, 0, (size_t)BW * BH * BF * 4);
        bench_run("blur", S, blur, 0, c6, 0);
        free(FI);
        free(FO);
    }
    P = AL(float, 4 * NBODY);
    ACC = AL(float, 4 * NBODY);
    in_bodies(P, NBODY);
    bench_run("nbody", S, nbody, 0, c7, 0);
    HB = AL(unsigned char, NHIST);
    in_bytes(HB, NHIST);
    bench_run("hist", S, hist, 0, c8, 0);
    IT = AL(int, MW *MH);
    bench_run("mandel", S, mandel, 0, c9, 0);
    bench_run("mandel_simd", S, mandel_v, 0, c9, 0);
    return 0;
}
