/* SPDX-License-Identifier: Apache-2.0
 * ocl.c - OpenCL driver for PoCL (own code) */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include "common.h"
static cl_context ctx;
static cl_command_queue q;
static cl_program pr;
static const char *S;
#define CK(x)                                                                                      \
    do {                                                                                           \
        cl_int e_ = (x);                                                                           \
        if (e_) {                                                                                  \
            fprintf(stderr, "cl error %d line %d\n", e_, __LINE__);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
static cl_kernel K(const char *n)
{
    cl_int e;
    cl_kernel k = clCreateKernel(pr, n, &e);
    CK(e);
    return k;
}
static cl_mem M(size_t n, void *h)
{
    cl_int e;
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE | (h ? CL_MEM_USE_HOST_PTR : 0), n, h, &e);
    CK(e);
    return m;
}
static void A(cl_kernel k, int i, size_t s, const void *p)
{
    CK(clSetKernelArg(k, i, s, p));
}
static void L(cl_kernel k, int d, size_t gx, size_t gy, size_t lx, size_t ly)
{
    size_t g[2] = {gx, gy}, l[2] = {lx, ly};
    CK(clEnqueueNDRangeKernel(q, k, d, 0, g, l, 0, 0, 0));
}
static void F(void)
{
    CK(clFinish(q));
}
static float *x, *y, *z, *v, *v0, *a, *b, *c, *fi, *fo, *p, *acc, *part;
static unsigned char *hb;
static unsigned *hh;
static int *it;
static int passes;
static double RS;
static cl_mem mx, my, mz, mv, ma, mb, mc, mfi, mfo, mp, macc, mpart, mhb, mhh, mit;
static cl_kernel ks, kh, k16, k32, kn, kr, kb, knb, khs, km;
static void f_s(void *u)
{
    L(ks, 1, NSAXPY, 1, 256, 1);
    F();
}
static void f_h(void *u)
{
    passes++;
    L(kh, 1, NHEAVY, 1, 256, 1);
    F();
}
static void f_16(void *u)
{
    L(k16, 2, NMAT, NMAT, 16, 16);
    F();
}
static void f_32(void *u)
{
    L(k32, 2, NMAT, NMAT, 32, 32);
    F();
}
static void f_n(void *u)
{
    L(kn, 2, NMAT, NMAT, 16, 16);
    F();
}
static void f_r(void *u)
{
    L(kr, 1, NRED, 1, 256, 1);
    F();
    double r = 0;
    for (unsigned i = 0; i < NRED / 256; i++)
        r += part[i];
    RS = r;
}
static void f_b(void *u)
{
    for (int f = 0; f < BF; f++) {
        int off = f * BW * BH;
        A(kb, 4, 4, &off);
        L(kb, 2, BW, BH, 16, 16);
    }
    F();
}
static void f_nb(void *u)
{
    L(knb, 1, NBODY, 1, 256, 1);
    F();
}
static void f_hs(void *u)
{
    memset(hh, 0, 1024);
    L(khs, 1, 1024 * 256, 1, 256, 1);
    F();
}
static void f_m(void *u)
{
    L(km, 2, MW, MH, 16, 16);
    F();
}
static int c1(void *u)
{
    return ck_saxpy(x, y, z, 2.5f);
}
static int c2(void *u)
{
    return ck_heavy(v0, v, NHEAVY, passes);
}
static int c3(void *u)
{
    int r = ck_mat(a, b, c);
    memset(c, 0, NMAT * NMAT * 4);
    return r;
}
static int c5(void *u)
{
    return ck_sum(x, NRED, RS);
}
static int c6(void *u)
{
    return ck_blur(fi, fo);
}
static int c7(void *u)
{
    return ck_nbody(p, acc);
}
static int c8(void *u)
{
    return ck_hist(hb, hh);
}
static int c9(void *u)
{
    return ck_mandel(it);
}
static void *al(size_t n)
{
    void *r = aligned_alloc(4096, (n + 4095) & ~4095ul);
    memset(r, 0, n);
    return r;
}
int main(int argc, char **argv)
{
    S = argc > 1 ? argv[1] : "pocl";
    const char *opt = argc > 2 ? argv[2] : "";
    cl_platform_id pl;
    cl_device_id d;
    cl_int e;
    CK(clGetPlatformIDs(1, &pl, 0));
    CK(clGetDeviceIDs(pl, CL_DEVICE_TYPE_ALL, 1, &d, 0));
    ctx = clCreateContext(0, 1, &d, 0, 0, &e);
    CK(e);
    q = clCreateCommandQueueWithProperties(ctx, d, 0, &e);
    CK(e);
    FILE *f = fopen("kernels.cl", "r");
    static char src[65536];
    size_t n = fread(src, 1, 65535, f);
    fclose(f);
    const char *sp = src;
    pr = clCreateProgramWithSource(ctx, 1, &sp, &n, &e);
    CK(e);
    double t = now_ms();
    CK(clBuildProgram(pr, 1, &d, opt, 0, 0));
    fprintf(stderr, "#build %s %.1f ms\n", S, now_ms() - t);
    ks = K("k_saxpy");
    kh = K("k_heavy");
    k16 = K("k_mat_tiled16");
    k32 = K("k_mat_tiled32");
    kn = K("k_mat_naive");
    kr = K("k_reduce");
    kb = K("k_blur");
    knb = K("k_nbody");
    khs = K("k_hist");
    km = K("k_mandel");
    x = al(NSAXPY * 4ul);
    y = al(NSAXPY * 4ul);
    z = al(NSAXPY * 4ul);
    part = al(NRED / 256 * 4);
    in_floats(x, NSAXPY, 1);
    in_floats(y, NSAXPY, 2);
    mx = M(NSAXPY * 4ul, x);
    my = M(NSAXPY * 4ul, y);
    mz = M(NSAXPY * 4ul, z);
    mpart = M(NRED / 256 * 4, part);
    float al_ = 2.5f;
    int ni = NSAXPY;
    A(ks, 0, 8, &mx);
    A(ks, 1, 8, &my);
    A(ks, 2, 8, &mz);
    A(ks, 3, 4, &al_);
    A(ks, 4, 4, &ni);
    bench_run("saxpy", S, f_s, 0, c1, 0);
    A(kr, 0, 8, &mx);
    A(kr, 1, 8, &mpart);
    A(kr, 2, 4, &ni);
    bench_run("reduce", S, f_r, 0, c5, 0);
    if (only("heavy")) {
        v = al(NHEAVY * 4ul);
        v0 = al(NHEAVY * 4ul);
        in_floats(v0, NHEAVY, 3);
        memcpy(v, v0, NHEAVY * 4ul);
        mv = M(NHEAVY * 4ul, v);
        ni = NHEAVY;
        A(kh, 0, 8, &mv);
        A(kh, 1, 4, &ni);
        bench_run("heavy", S, f_h, 0, c2, 0);
    }
    a = al(NMAT * NMAT * 4);
    b = al(NMAT * NMAT * 4);
    c = al(NMAT * NMAT * 4);
    in_floats(a, NMAT * NMAT, 4);
    in_floats(b, NMAT * NMAT, 5);
    ma = M(NMAT * NMAT * 4, a);
    mb = M(NMAT * NMAT * 4, b);
    mc = M(NMAT * NMAT * 4, c);
    ni = NMAT;
    cl_kernel kk[3] = {k16, k32, kn};
    for (int i = 0; i < 3; i++) {
        A(kk[i], 0, 8, &ma);
        A(kk[i], 1, 8, &mb);
        A(kk[i], 2, 8, &mc);
        A(kk[i], 3, 4, &ni);
    }
    bench_run("mat_tiled16", S, f_16, 0, c3, 0);
    bench_run("mat_tiled32", S, f_32, 0, c3, 0);
    bench_run("mat_naive", S, f_n, 0, c3, 0);
    if (only("blur")) {
        size_t fb = (size_t)BW * BH * BF * 4;
        fi = al(fb);
        fo = al(fb);
        in_floats(fi, fb / 4, 6);
        mfi = M(fb, fi);
        mfo = M(fb, fo);
        int w = BW, h = BH;
        A(kb, 0, 8, &mfi);
        A(kb, 1, 8, &mfo);
        A(kb, 2, 4, &w);
        A(kb, 3, 4, &h);
        bench_run("blur", S, f_b, 0, c6, 0);
    }
    p = al(NBODY * 16);
    acc = al(NBODY * 16);
    in_bodies(p, NBODY);
    mp = M(NBODY * 16, p);
    macc = M(NBODY * 16, acc);
    ni = NBODY;
    A(knb, 0, 8, &mp);
    A(knb, 1, 8, &macc);
    A(knb, 2, 4, &ni);
    bench_run("nbody", S, f_nb, 0, c7, 0);
    if (only("hist")) {
        hb = al(NHIST);
        hh = al(1024);
        in_bytes(hb, NHIST);
        mhb = M(NHIST, hb);
        mhh = M(1024, hh);
        ni = NHIST;
        A(khs, 0, 8, &mhb);
        A(khs, 1, 8, &mhh);
        A(khs, 2, 4, &ni);
        bench_run("hist", S, f_hs, 0, c8, 0);
    }
    it = al(MW * MH * 4);
    mit = M(MW * MH * 4, it);
    int w = MW, h = MH;
    A(km, 0, 8, &mit);
    A(km, 1, 4, &w);
    A(km, 2, 4, &h);
    bench_run("mandel", S, f_m, 0, c9, 0);
    return 0;
}
