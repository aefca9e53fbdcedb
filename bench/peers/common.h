/* SPDX-License-Identifier: Apache-2.0
 * common.h - inputs, timing and checks shared by every kernel bench (own code). */
#ifndef COMMON_H
#define COMMON_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define NSAXPY (16u << 20)
#define NHEAVY (64u << 20)
#define NMAT   1024
#define NRED   (16u << 20)
#define BW     1280
#define BH     720
#define BF     100
#define NBODY  16384
#define NHIST  (64u << 20)
#define MW     2048
#define MH     2048
#define MIT    256
#define REPS   5
#define EPS2   0.01f
static inline double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
/* inputs */
void in_floats(float *p, size_t n, unsigned seed); /* uniform [0,1) */
void in_bytes(unsigned char *p, size_t n);
void in_bodies(float *p4, size_t n); /* x,y,z,mass */
/* checks: 1 = right */
int ck_saxpy(const float *x, const float *y, const float *z, float a);
int ck_heavy(const float *orig_first, const float *out, size_t n, int passes);
int ck_mat(const float *A, const float *B, const float *C);
int ck_sum(const float *x, size_t n, double got);
int ck_blur(const float *in, const float *out); /* checks frames 0,57,99 */
int ck_nbody(const float *p4, const float *acc3stride4);
int ck_hist(const unsigned char *p, const unsigned *h);
int ck_mandel(const int *it);
int only(const char *name); /* filter by env ONLY=a,b */
void report(const char *name, const char *sys, double ms, int ok);
void bench_run(const char *name, const char *sys, void (*fn)(void *), void *arg, int (*ck)(void *),
               void *ckarg);
#ifdef __cplusplus
}
#endif
#endif
