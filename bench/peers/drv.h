/* SPDX-License-Identifier: Apache-2.0
 * drv.h - driver shared by the CUDA-dialect systems. Includer defines LAUNCH(k,gx,gy,bx,by,...),
 * SYNC(), DMALLOC, SYS */
#include "common.h"
static float *hX, *dX, *dY, *dZ, *dV, *hV0, *hV, *hA, *hB, *dA, *dB, *dC, *hFI, *dFI, *dFO, *hP,
    *dP, *dACC, *dPart, *hPart;
static unsigned char *hHB, *dHB;
static unsigned *dH;
static int *dIT;
static int passes;
static double RS;
static void f_saxpy(void *)
{
    LAUNCH(k_saxpy, NSAXPY / 256, 1, 256, 1, dX, dY, dZ, 2.5f, (int)NSAXPY);
    SYNC();
}
static void f_heavy(void *)
{
    passes++;
    LAUNCH(k_heavy, NHEAVY / 256, 1, 256, 1, dV, (int)NHEAVY);
    SYNC();
}
static void f_t16(void *)
{
    LAUNCH(k_mat_tiled16, NMAT / 16, NMAT / 16, 16, 16, dA, dB, dC, (int)NMAT);
    SYNC();
}
static void f_t32(void *)
{
    LAUNCH(k_mat_tiled32, NMAT / 32, NMAT / 32, 32, 32, dA, dB, dC, (int)NMAT);
    SYNC();
}
static void f_nv(void *)
{
    LAUNCH(k_mat_naive, NMAT / 16, NMAT / 16, 16, 16, dA, dB, dC, (int)NMAT);
    SYNC();
}
static void sumpart()
{
    double r = 0;
    for (int i = 0; i < (int)(NRED / 256); i++)
        r += dPart[i];
    RS = r;
}
static void f_red(void *)
{
    LAUNCH(k_reduce, NRED / 256, 1, 256, 1, dX, dPart, (int)NRED);
    SYNC();
    sumpart();
}
static void f_blur(void *)
{
    for (int f = 0; f < BF; f++) {
        LAUNCH(k_blur, BW / 16, BH / 16, 16, 16, dFI + (size_t)f * BW * BH,
               dFO + (size_t)f * BW * BH, BW, BH);
    }
    SYNC();
}
static void f_nb(void *)
{
    LAUNCH(k_nbody, NBODY / 256, 1, 256, 1, (const float4 *)dP, (float4 *)dACC, (int)NBODY);
    SYNC();
}
static void f_hist(void *)
{
    memset(dH, 0, 1024);
    LAUNCH(k_hist, 1024, 1, 256, 1, dHB, dH, (int)NHIST);
    SYNC();
}
static void f_man(void *)
{
    LAUNCH(k_mandel, MW / 16, MH / 16, 16, 16, dIT, MW, MH);
    SYNC();
}
static int c1(void *)
{
    return ck_saxpy(dX, dY, dZ, 2.5f);
}
static int c2(void *)
{
    return ck_heavy(hV0, dV, NHEAVY, passes);
}
static int c3(void *)
{
    return ck_mat(dA, dB, dC);
}
static int c5(void *)
{
    return ck_sum(dX, NRED, RS);
}
static int c6(void *)
{
    return ck_blur(dFI, dFO);
}
static int c7(void *)
{
    return ck_nbody(dP, dACC);
}
static int c8(void *)
{
    return ck_hist(dHB, dH);
}
static int c9(void *)
{
    return ck_mandel(dIT);
}
/* on these CPU systems device pointers are host pointers, so inputs are written in place */
template <class T> static T *al(size_t n)
{
    void *p = 0;
    DMALLOC(&p, n * sizeof(T));
    memset(p, 0, n * sizeof(T));
    return (T *)p;
}
static int run_all()
{
    const char *S = SYS;
    dX = al<float>(NSAXPY);
    dY = al<float>(NSAXPY);
    dZ = al<float>(NSAXPY);
    dPart = al<float>(NRED / 256);
    in_floats(dX, NSAXPY, 1);
    in_floats(dY, NSAXPY, 2);
    bench_run("saxpy", S, f_saxpy, 0, c1, 0);
    bench_run("reduce", S, f_red, 0, c5, 0);
#ifdef WARP32
    bench_run(
        "shfl_reduce", S,
        [](void *) {
            LAUNCH(k_shfl, NRED / 256, 1, 256, 1, dX, dPart, (int)NRED);
            SYNC();
            sumpart();
        },
        0, c5, 0);
#endif
    if (only("heavy")) {
        dV = al<float>(NHEAVY);
        hV0 = (float *)malloc(NHEAVY * 4ul);
        in_floats(hV0, NHEAVY, 3);
        memcpy(dV, hV0, NHEAVY * 4ul);
        bench_run("heavy", S, f_heavy, 0, c2, 0);
        free(hV0);
    }
    dA = al<float>(NMAT * NMAT);
    dB = al<float>(NMAT * NMAT);
    dC = al<float>(NMAT * NMAT);
    in_floats(dA, NMAT * NMAT, 4);
    in_floats(dB, NMAT * NMAT, 5);
    bench_run("mat_tiled16", S, f_t16, 0, c3, 0);
    memset(dC, 0, NMAT * NMAT * 4);
    bench_run("mat_tiled32", S, f_t32, 0, c3, 0);
    memset(dC, 0, NMAT * NMAT * 4);
    bench_run("mat_naive", S, f_nv, 0, c3, 0);
    if (only("blur")) {
        dFI = al<float>((size_t)BW * BH * BF);
        dFO = al<float>((size_t)BW * BH * BF);
        in_floats(dFI, (size_t)BW * BH * BF, 6);
        bench_run("blur", S, f_blur, 0, c6, 0);
    }
    dP = al<float>(4 * NBODY);
    dACC = al<float>(4 * NBODY);
    in_bodies(dP, NBODY);
    bench_run("nbody", S, f_nb, 0, c7, 0);
    if (only("hist")) {
        dHB = al<unsigned char>(NHIST);
        dH = al<unsigned>(256);
        in_bytes(dHB, NHIST);
        bench_run("hist", S, f_hist, 0, c8, 0);
    }
    dIT = al<int>(MW * MH);
    bench_run("mandel", S, f_man, 0, c9, 0);
    return 0;
}
