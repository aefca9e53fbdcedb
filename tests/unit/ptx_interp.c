/* The reference interpreter itself: whole kernels with known answers, and single operations at
 * their edges. What single operations must give was taken from the PTX ISA.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/ptx_interp.h"

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"

static struct weir_ptx_module *parse(const char *text)
{
    struct weir_ptx_error e;
    struct weir_ptx_module *m = NULL;

    if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
        fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.message, text);
    return m;
}

static enum weir_err launch_text(const char *text, struct weir_interp_launch l, FILE *out)
{
    struct weir_ptx_module *m = parse(text);
    struct weir_interp *in;
    enum weir_err err;

    assert_int_equal(weir_interp_create(m, NULL, &in), WEIR_OK);
    if (out)
        weir_interp_output(in, out);
    err = weir_interp_launch(in, weir_ptx_find_function(m, "k"), &l);
    weir_interp_destroy(in);
    weir_ptx_module_destroy(m);
    return err;
}

/* One pointer as parameter. */
static enum weir_err run_text(const char *text, void *data, uint32_t blocks, uint32_t threads,
                              uint64_t seed)
{
    return launch_text(text,
                       (struct weir_interp_launch){
                           {blocks, 1, 1}, {threads, 1, 1}, &data, 1024, seed, 10000000, 0},
                       NULL);
}

static void run_ok(const char *text, void *data, uint32_t blocks, uint32_t threads, uint64_t seed)
{
    if (run_text(text, data, blocks, threads, seed) != WEIR_OK)
        fail_msg("%s", weir_err_message());
}

/* Statements that leave a result in `d` (of .b64) from 64-bit inputs %rd1 .. %rd4 (low halves in
 * %r1 .. %r4). */
static uint64_t evaluate(const char *statements, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t data[5] = {a, b, c, d, 0};
    char text[4096];

    snprintf(text, sizeof text,
             "%s.entry k(.param .u64 p) { .reg .b64 %%rd<9>, d; .reg .b32 %%r<9>, d32; .reg .b16 "
             "%%h<9>; .reg .pred %%p<9>;"
             ".reg .f32 %%f<9>; .reg .f64 %%fd<9>; ld.param.u64 %%rd8, [p];\n"
             "ld.b64 %%rd1, [%%rd8]; ld.b64 %%rd2, [%%rd8+8]; ld.b64 %%rd3, [%%rd8+16]; ld.b64 "
             "%%rd4, [%%rd8+24];\n"
             "cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, %%rd3; "
             "cvt.u32.u64 %%r4, %%rd4;\n"
             "cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2; cvt.u16.u64 %%h3, %%rd3; mov.b32 "
             "%%f1, %%r1; mov.b32 %%f2, %%r2;"
             "mov.b32 %%f3, %%r3; mov.b64 %%fd1, %%rd1; mov.b64 %%fd2, %%rd2; mov.b64 %%fd3, "
             "%%rd3; mov.b64 d, 0; mov.b32 d32, 0;\n"
             "%s\nst.b64 [%%rd8+32], d; }\n",
             HEAD, statements);
    run_ok(text, data, 1, 1, 0);
    return data[4];
}

struct sample {
    const char *statements;
    uint64_t a, b, c, d, result;
};

#define R32(text) text " cvt.u64.u32 d, d32;"

static void integers(void **state)
{
    static const struct sample samples[] = {
        {R32("add.sat.s32 d32, %r1, %r2;"), 0x7fffffff, 1, 0, 0, 0x7fffffff},
        {R32("sub.sat.s32 d32, %r1, %r2;"), 0x80000000, 1, 0, 0, 0x80000000},
        {"add.cc.u32 %r1, %r1, %r2; addc.u32 %r3, %r3, 0; mov.b64 d, {%r1, %r3};", 0xffffffff, 2, 7,
         0, 0x800000001},
        {"sub.cc.u32 %r1, %r1, %r2; subc.u32 %r3, %r3, 0; mov.b64 d, {%r1, %r3};", 1, 2, 7, 0,
         0x6ffffffff},
        {"mad.lo.cc.u32 %r1, %r1, %r2, %r3; madc.hi.u32 %r4, 0, 0, 0; mov.b64 d, {%r1, %r4};",
         0xffffffff, 1, 1, 0, 0x100000000},
        {R32("mul.hi.s32 d32, %r1, %r2;"), 0x80000000, 2, 0, 0, 0xffffffff},
        {"mul.wide.s32 d, %r1, %r2;", 0xffffffff, 5, 0, 0, (uint64_t)-5},
        {"mad.wide.u32 d, %r1, %r2, %rd3;", 0xffffffff, 0xffffffff, 1, 0, 0xfffffffe00000002},
        {"mul.hi.u64 d, %rd1, %rd2;", UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX - 1},
        {"mul.hi.s64 d, %rd1, %rd2;", UINT64_MAX, UINT64_MAX, 0, 0, 0},
        {R32("mul24.hi.u32 d32, %r1, %r2;"), 0xff800000, 0xffffff, 0, 0, 0x7fffff80},
        {R32("mad.hi.sat.s32 d32, %r1, %r2, %r3;"), 0x7fffffff, 0x7fffffff, 0x7fffffff, 0,
         0x7fffffff},
        {"div.s64 d, %rd1, %rd2;", (uint64_t)INT64_MIN, UINT64_MAX, 0, 0, (uint64_t)INT64_MIN},
        {"rem.s64 d, %rd1, %rd2;", (uint64_t)-7, 2, 0, 0, UINT64_MAX},
        {R32("shl.b32 d32, %r1, %r2;"), 0xffffffff, 32, 0, 0, 0},
        {R32("shr.s32 d32, %r1, %r2;"), 0x80000000, 99, 0, 0, 0xffffffff},
        {R32("shr.u32 d32, %r1, %r2;"), 0x80000000, 31, 0, 0, 1},
        {R32("shf.l.wrap.b32 d32, %r1, %r2, %r3;"), 0x80000001, 0x12345678, 36, 0, 0x23456788},
        {R32("shf.r.clamp.b32 d32, %r1, %r2, %r3;"), 0x80000001, 0x12345678, 40, 0, 0x12345678},
        {R32("bfe.s32 d32, %r1, %r2, %r3;"), 0x00000f00, 8, 4, 0, 0xffffffff},
        {R32("bfe.u32 d32, %r1, %r2, %r3;"), 0xf0000000, 28, 20, 0, 0xf},
        {R32("bfe.s32 d32, %r1, %r2, %r3;"), 0x80000000, 40, 3, 0, 0xffffffff},
        {R32("bfi.b32 d32, %r1, %r2, %r3, %r4;"), 0xff, 0, 30, 8, 0xc0000000},
        {R32("bfind.s32 d32, %r1;"), 0xffffffff, 0, 0, 0, 0xffffffff},
        {R32("bfind.shiftamt.u32 d32, %r1;"), 0x100, 0, 0, 0, 23},
        {R32("clz.b64 d32, %rd1;"), 1, 0, 0, 0, 63},
        {R32("popc.b64 d32, %rd1;"), UINT64_MAX, 0, 0, 0, 64},
        {"brev.b64 d, %rd1;", 1, 0, 0, 0, (uint64_t)1 << 63},
        {R32("prmt.b32 d32, %r1, %r2, %r3;"), 0x33221180, 0x77665544, 0x7608, 0, 0x776680ff},
        {R32("prmt.b32.rc16 d32, %r1, %r2, %r3;"), 0x33221100, 0, 1, 0, 0x33223322},
        {R32("lop3.b32 d32, %r1, %r2, %r3, 0x96;"), 0xf0f0f0f0, 0xff00ff00, 0xffff0000, 0,
         0xf0f0f0f0 ^ 0xff00ff00 ^ 0xffff0000},
        {R32("dp4a.s32.u32 d32, %r1, %r2, %r3;"), 0xff010203, 0x01010101, 10, 0, 15},
        {R32("dp2a.hi.u32.u32 d32, %r1, %r2, %r3;"), 0x00020003, 0x05040000, 1, 0,
         1 + 3 * 4 + 2 * 5},
        {R32("sad.s32 d32, %r1, %r2, %r3;"), 0xfffffffe, 3, 100, 0, 105},
        {R32("fns.b32 d32, %r1, %r2, %r3;"), 0x00f0, 0, 3, 0, 6},
        {R32("fns.b32 d32, %r1, %r2, %r3;"), 0x00f0, 31, (uint32_t)-1, 0, 7},
        {R32("min.s32 d32, %r1, %r2;"), 0xffffffff, 1, 0, 0, 0xffffffff},
        {R32("max.u32 d32, %r1, %r2;"), 0xffffffff, 1, 0, 0, 0xffffffff},
        {R32("max.s16x2 d32, %r1, %r2;"), 0xffff0001, 0x0001ffff, 0, 0, 0x00010001},
        {R32("abs.s32 d32, %r1;"), 0x80000000, 0, 0, 0, 0x80000000},
        {R32("cnot.b32 d32, %r1;"), 0, 0, 0, 0, 1},
        {R32("bmsk.clamp.b32 d32, %r1, %r2;"), 4, 8, 0, 0, 0xff0},
        {R32("szext.wrap.s32 d32, %r1, %r2;"), 0x18, 5, 0, 0, 0xfffffff8},
        {R32("slct.s32.s32 d32, %r1, %r2, %r3;"), 1, 2, 0xffffffff, 0, 2},
        {R32("set.lo.u32.u32 d32, %r1, %r2;"), 1, 2, 0, 0, 0xffffffff},
        {"cvt.sat.s8.s32 d, %r1;", 1000, 0, 0, 0, 127},
        {"cvt.s8.s32 d, %r1;", 0xff, 0, 0, 0, UINT64_MAX}, /* sign-extended to the register */
        {"cvt.u8.s32 d, %r1;", 0x1ff, 0, 0, 0, 0xff},
        {"cvt.sat.u16.s64 d, %rd1;", (uint64_t)-5, 0, 0, 0, 0},
        {"ld.s8 d, [%rd8];", 0x80, 0, 0, 0, (uint64_t)-128},
        {"ld.u8 d, [%rd8];", 0x80, 0, 0, 0, 0x80},
        {"setp.lt.s32 %p1|%p2, %r1, %r2; selp.b64 d, 1, 2, %p1; @%p2 add.u64 d, d, 10;", 0xffffffff,
         0, 0, 0, 1},
        {"mov.b32 {%h1, %h2}, %r1; mov.b64 d, {%h2, %h1, %h1, %h2};", 0x11112222, 0, 0, 0,
         0x1111222222221111},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct sample *s = &samples[i];
        uint64_t r = evaluate(s->statements, s->a, s->b, s->c, s->d);

        if (r != s->result)
            fail_msg("%s: %llx, not %llx", s->statements, (unsigned long long)r,
                     (unsigned long long)s->result);
    }
}

#define F32(text) text " mov.b32 d32, %f4; cvt.u64.u32 d, d32;"
#define F64(text) text " mov.b64 d, %fd4;"
#define H(text)   text " cvt.u64.u16 d, %h4;"

static void floats(void **state)
{
    static const struct sample samples[] = {
        {F32("add.rn.f32 %f4, %f1, %f2;"), 0x3f800000, 0x33800000, 0, 0, 0x3f800000},
        {F32("add.rp.f32 %f4, %f1, %f2;"), 0x3f800000, 0x33800000, 0, 0, 0x3f800001},
        {F32("add.rz.f32 %f4, %f1, %f2;"), 0xbf800000, 0xb3800001, 0, 0, 0xbf800000},
        {F32("add.rm.f32 %f4, %f1, %f2;"), 0xbf800000, 0xb3800000, 0, 0, 0xbf800001},
        {F32("add.f32 %f4, %f1, %f2;"), 0x7f800000, 0xff800000, 0, 0, 0x7fffffff},
        {F32("add.f32 %f4, %f1, %f2;"), 0x00000001, 0x00000001, 0, 0, 2},
        {F32("add.ftz.f32 %f4, %f1, %f2;"), 0x00000001, 0x00000001, 0, 0, 0},
        {F32("mul.ftz.f32 %f4, %f1, %f2;"), 0x80800000, 0x3f000000, 0, 0, 0x80000000},
        {F32("mul.sat.f32 %f4, %f1, %f2;"), 0x40000000, 0x40000000, 0, 0, 0x3f800000},
        {F32("mul.sat.f32 %f4, %f1, %f2;"), 0x7fc00000, 0x40000000, 0, 0, 0},
        {F32("fma.rn.f32 %f4, %f1, %f2, %f3;"), 0x3f800001, 0x3f800001, 0xbf800002, 0, 0x28800000},
        {F32("div.rn.f32 %f4, %f1, %f2;"), 0x3f800000, 0x40400000, 0, 0, 0x3eaaaaab},
        {F32("div.rz.f32 %f4, %f1, %f2;"), 0x3f800000, 0x40400000, 0, 0, 0x3eaaaaaa},
        {F32("rcp.rn.f32 %f4, %f1;"), 0, 0, 0, 0, 0x7f800000},
        {F32("sqrt.rp.f32 %f4, %f1;"), 0x40000000, 0, 0, 0, 0x3fb504f4},
        {F32("sqrt.rn.f32 %f4, %f1;"), 0xbf800000, 0, 0, 0, 0x7fffffff},
        {F32("min.f32 %f4, %f1, %f2;"), 0x7fc00000, 0x3f800000, 0, 0, 0x3f800000},
        {F32("min.NaN.f32 %f4, %f1, %f2;"), 0x7fc00000, 0x3f800000, 0, 0, 0x7fffffff},
        {F32("max.f32 %f4, %f1, %f2;"), 0x80000000, 0, 0, 0, 0},
        {F32("min.f32 %f4, %f1, %f2;"), 0, 0x80000000, 0, 0, 0x80000000},
        {F32("max.xorsign.abs.f32 %f4, %f1, %f2;"), 0xc0000000, 0x3f800000, 0, 0, 0xc0000000},
        {F32("abs.ftz.f32 %f4, %f1;"), 0x80000001, 0, 0, 0, 0},
        {F32("neg.f32 %f4, %f1;"), 0x80000001, 0, 0, 0, 1},
        {F32("copysign.f32 %f4, %f1, %f2;"), 0x80000000, 0x40000000, 0, 0, 0xc0000000},
        {F32("ex2.approx.f32 %f4, %f1;"), 0x40400000, 0, 0, 0, 0x41000000},
        {F32("cvt.rni.f32.f32 %f4, %f1;"), 0x40200000, 0, 0, 0, 0x40000000},
        {F32("cvt.rn.f32.u64 %f4, %rd1;"), UINT64_MAX, 0, 0, 0, 0x5f800000},
        {F32("cvt.rz.f32.u64 %f4, %rd1;"), UINT64_MAX, 0, 0, 0, 0x5f7fffff},
        {F32("cvt.rn.f32.s64 %f4, %rd1;"), 0x8000008000000001, 0, 0, 0, 0xdeffffff},
        {F32("cvt.rn.f32.f64 %f4, %fd1;"), 0x3ff0000010000000, 0, 0, 0, 0x3f800000},
        {F32("cvt.rp.f32.f64 %f4, %fd1;"), 0x3ff0000010000000, 0, 0, 0, 0x3f800001},
        {F32("cvt.rn.f32.f64 %f4, %fd1;"), 0x7ff8000000000001, 0, 0, 0, 0x7fc00000},
        {F32("cvt.rn.f32.f64 %f4, %fd1;"), 0x36a0000000000000, 0, 0, 0, 1},
        {F32("cvt.f32.f16 %f4, %h1;"), 0x0001, 0, 0, 0, 0x33800000},
        {F32("cvt.rna.tf32.f32 %f4, %f1;"), 0x3f801000, 0, 0, 0, 0x3f802000},
        {R32("cvt.rzi.s32.f32 d32, %f1;"), 0xc0200000, 0, 0, 0, 0xfffffffe},
        {R32("cvt.rni.s32.f32 d32, %f1;"), 0x40200000, 0, 0, 0, 2},
        {R32("cvt.rmi.s32.f32 d32, %f1;"), 0xbf000000, 0, 0, 0, 0xffffffff},
        {R32("cvt.rzi.u32.f32 d32, %f1;"), 0xbf800000, 0, 0, 0, 0},
        {R32("cvt.rzi.u32.f32 d32, %f1;"), 0x7f800000, 0, 0, 0, 0xffffffff},
        {R32("cvt.rzi.s32.f32 d32, %f1;"), 0x7fc00000, 0, 0, 0, 0},
        {R32("cvt.rzi.s32.f64 d32, %fd1;"), 0x7ff8000000000000, 0, 0, 0, 0x80000000},
        {"cvt.rzi.s64.f32 d, %f1;", 0x7fc00000, 0, 0, 0, 0x8000000000000000},
        {"cvt.rzi.u64.f64 d, %fd1;", 0x43e0000000000000, 0, 0, 0, 0x8000000000000000},
        {"cvt.rzi.s8.f32 d, %f1;", 0xc3800000, 0, 0, 0, (uint64_t)-128},
        {F64("cvt.f64.f32 %fd4, %f1;"), 1, 0, 0, 0, 0x36a0000000000000},
        {F64("cvt.rz.f64.u64 %fd4, %rd1;"), UINT64_MAX, 0, 0, 0, 0x43efffffffffffff},
        {F64("fma.rn.f64 %fd4, %fd1, %fd2, %fd3;"), 0x3ff0000000000001, 0x3ff0000000000001,
         0xbff0000000000002, 0, 0x3970000000000000},
        {F64("add.rm.f64 %fd4, %fd1, %fd2;"), 0x3ff0000000000000, 0xbff0000000000000, 0, 0,
         0x8000000000000000},
        {F64("div.rp.f64 %fd4, %fd1, %fd2;"), 0x3ff0000000000000, 0x4008000000000000, 0, 0,
         0x3fd5555555555556},
        {H("cvt.rn.f16.f32 %h4, %f1;"), 0x477fefff, 0, 0, 0, 0x7bff},
        {H("cvt.rn.f16.f32 %h4, %f1;"), 0x477ff000, 0, 0, 0, 0x7c00},
        {H("cvt.rz.f16.f32 %h4, %f1;"), 0x47800000, 0, 0, 0, 0x7bff},
        {H("cvt.rn.f16.f32 %h4, %f1;"), 0x33000000, 0, 0, 0, 0},
        {H("cvt.rn.f16.f32 %h4, %f1;"), 0x33000001, 0, 0, 0, 1},
        {H("cvt.rn.bf16.f32 %h4, %f1;"), 0x3f808000, 0, 0, 0, 0x3f80},
        {H("cvt.rn.bf16.f32 %h4, %f1;"), 0x3f818000, 0, 0, 0, 0x3f82},
        {H("add.f16 %h4, %h1, %h2;"), 0x3c00, 0x1000, 0, 0, 0x3c00},
        {H("fma.rn.f16 %h4, %h1, %h2, %h3;"), 0x3c01, 0x3c01, 0xbc02, 0, 0x0010},
        {H("mul.f16 %h4, %h1, %h2;"), 0x7c00, 0, 0, 0, 0x7fff},
        {H("sub.f16 %h4, %h1, %h1;"), 0x3c00, 0, 0, 0, 0},
        {H("fma.rn.relu.bf16 %h4, %h1, %h2, %h3;"), 0xbf80, 0x3f80, 0, 0, 0},
        {R32("add.f16x2 d32, %r1, %r2;"), 0x3c004000, 0x3c003c00, 0, 0, 0x40004200},
        {R32("cvt.rn.f16x2.f32 d32, %f1, %f2;"), 0x3f800000, 0x40000000, 0, 0, 0x3c004000},
        {"setp.neu.f32 %p1, %f1, %f1; selp.b64 d, 1, 0, %p1;", 0x7fc00000, 0, 0, 0, 1},
        {"setp.ne.f32 %p1, %f1, %f1; selp.b64 d, 1, 0, %p1;", 0x7fc00000, 0, 0, 0, 0},
        {"setp.eq.ftz.f32 %p1, %f1, %f2; selp.b64 d, 1, 0, %p1;", 1, 0x80000000, 0, 0, 1},
        {"setp.gt.f16x2 %p1|%p2, %r1, %r2; selp.b64 d, 1, 0, %p1; @%p2 add.u64 d, d, 2;",
         0x3c004000, 0x3c003c00, 0, 0, 1},
        {"testp.subnormal.f32 %p1, %f1; selp.b64 d, 1, 0, %p1;", 1, 0, 0, 0, 1},
        {R32("set.eq.f32.f32 d32, %f1, %f2;"), 0x3f800000, 0x3f800000, 0, 0, 0x3f800000},
        {R32("slct.b32.f32 d32, %r1, %r2, %f3;"), 1, 2, 0x80000000, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct sample *s = &samples[i];
        uint64_t r = evaluate(s->statements, s->a, s->b, s->c, s->d);

        if (r != s->result)
            fail_msg("%s: %llx, not %llx", s->statements, (unsigned long long)r,
                     (unsigned long long)s->result);
    }
}

/* Sum of 0 .. 255 by a tree in shared memory, with a guarded half and a barrier a level; under many
 * schedules. */
static void reduction(void **state)
{
    static const char text[] =
        HEAD ".entry k(.param .u64 p) { .shared .align 4 .b32 s[256]; .reg .b32 %r<9>; .reg .b64 "
             "%rd<5>; .reg .pred %p<3>;\n"
             "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; "
             "st.shared.u32 [%r4], %r1;\n"
             "mov.u32 %r5, 128;\nLOOP: bar.sync 0; setp.ge.u32 %p1, %r1, %r5; @%p1 bra SKIP;\n"
             "shl.b32 %r6, %r5, 2; add.u32 %r6, %r4, %r6; ld.shared.u32 %r7, [%r6]; ld.shared.u32 "
             "%r8, [%r4];\n"
             "add.u32 %r8, %r8, %r7; st.shared.u32 [%r4], %r8;\nSKIP: shr.u32 %r5, %r5, 1; "
             "setp.ne.u32 %p2, %r5, 0; @%p2 bra LOOP;\n"
             "setp.ne.u32 %p1, %r1, 0; @%p1 exit; ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x; "
             "mul.wide.u32 %rd2, %r1, 4;\n"
             "add.u64 %rd1, %rd1, %rd2; ld.shared.u32 %r2, [s]; st.global.u32 [%rd1], %r2; }\n";

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        uint32_t out[3] = {0};

        run_ok(text, out, 3, 256, seed);
        for (int i = 0; i < 3; i++)
            assert_int_equal(out[i], 255 * 256 / 2);
    }
}

static void warps(void **state)
{
    static const char text[] = HEAD
        ".entry k(.param .u64 p) { .reg .b32 %r<20>; .reg .b64 %rd<5>; .reg .pred %p<6>;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 32; add.u64 %rd1, "
        "%rd1, %rd2; mov.u32 %r2, %laneid;\n"
        "shfl.sync.bfly.b32 %r3|%p1, %r1, 1, 31, -1; st.u32 [%rd1], %r3;\n"
        "shfl.sync.up.b32 %r3|%p1, %r1, 1, 0, -1; selp.u32 %r4, 100, 0, %p1; add.u32 %r3, %r3, "
        "%r4; st.u32 [%rd1+4], %r3;\n"
        "shfl.sync.idx.b32 %r3, %r1, 3, 0x181f, -1; st.u32 [%rd1+8], %r3;\n" /* segments of 8 */
        "and.b32 %r5, %r2, 3; setp.eq.u32 %p2, %r5, 0; vote.sync.ballot.b32 %r6, %p2, -1; st.u32 "
        "[%rd1+12], %r6;\n"
        "match.any.sync.b32 %r7, %r5, -1; st.u32 [%rd1+16], %r7;\n"
        "redux.sync.max.s32 %r8, %r2, -1; st.u32 [%rd1+20], %r8;\n"
        "@%p2 bra A; mov.u32 %r9, %lanemask_lt; mov.u32 %r10, 0xeeeeeeee; vote.sync.any.pred %p3, "
        "0, %r10; bra B;\n"
        "A: mov.u32 %r10, 0x11111111; vote.sync.all.pred %p3, 1, %r10; B: activemask.b32 %r11; "
        "st.u32 [%rd1+24], %r11;\n"
        "bar.warp.sync -1; elect.sync %r12|%p4, -1; selp.u32 %r13, 1, 0, %p3; st.u32 [%rd1+28], "
        "%r13; }\n";
    uint32_t out[64][8];

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        memset(out, 0, sizeof out);
        run_ok(text, out, 1, 64, seed);
        for (uint32_t i = 0; i < 64; i++) {
            assert_int_equal(out[i][0], i ^ 1);
            assert_int_equal(out[i][1], i % 32 ? i - 1 + 100 : i);
            assert_int_equal(out[i][2], (i & ~7u) + 3);
            assert_int_equal(out[i][3], 0x11111111);
            assert_int_equal(out[i][4], 0x11111111u << (i & 3));
            assert_int_equal(out[i][5], 31);
            assert_true(out[i][6] >> (i & 31) & 1);
            assert_int_equal(out[i][7], i % 4 == 0);
        }
    }
}

static void atomics(void **state)
{
    static const char text[] =
        HEAD ".entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<3>; .reg "
             ".pred %p<3>;\n"
             "ld.param.u64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 2; red.global.max.s32 "
             "[%rd1+4], %r1;\n"
             "atom.inc.u32 %r2, [%rd1+8], 5; atom.global.add.f32 %f1, [%rd1+12], 0.5; red.xor.b64 "
             "[%rd1+16], 1;\n"
             /* a spin lock between the lanes of a warp */
             "LOCK: atom.acquire.gpu.cas.b32 %r3, [%rd1+24], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 "
             "bra LOCK;\n"
             "ld.volatile.u32 %r4, [%rd1+28]; add.u32 %r4, %r4, 1; st.volatile.u32 [%rd1+28], %r4; "
             "atom.release.gpu.exch.b32 %r5, [%rd1+24], 0; }\n";
    union {
        uint32_t w[8];
        float f[8];
    } out;

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        memset(&out, 0, sizeof out);
        run_ok(text, &out, 2, 48, seed);
        assert_int_equal(out.w[0], 192);
        assert_int_equal(out.w[1], 190);
        assert_int_equal(out.w[2], 96 % 6);
        assert_true(out.f[3] == 48.0f);
        assert_int_equal(out.w[4], 0);
        assert_int_equal(out.w[7], 96);
    }
}

static void calls(void **state)
{
    static const char text[] = HEAD
        ".func (.param .b32 r) fib (.param .b32 n);\n.func (.param .b32 r) neg (.param .b32 n) { "
        ".reg .b32 %r; ld.param.b32 %r, [n]; neg.s32 %r, %r; st.param.b32 [r], %r; ret; }\n"
        ".func (.reg .b32 r) add3 (.reg .b32 a, .reg .b32 b, .param .align 4 .b8 c[8]) { .reg .b32 "
        "%r; ld.param.b32 %r, [c+4]; add.u32 r, a, b; add.u32 r, r, %r; ret; }\n"
        ".global .u64 table[2] = {fib, neg};\n"
        ".func (.param .b32 r) fib (.param .b32 n) { .reg .b32 %r<5>; .reg .pred %p; .local .b32 "
        "keep; ld.param.b32 %r1, [n]; setp.lt.s32 %p, %r1, 2; @%p bra BASE;\n"
        "st.local.b32 [keep], %r1; sub.s32 %r2, %r1, 1; { .param .b32 a; .param .b32 b; "
        "st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
        "ld.local.b32 %r1, [keep]; sub.s32 %r2, %r1, 2; { .param .b32 a; .param .b32 b; "
        "st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
        "add.s32 %r1, %r3, %r4; BASE: st.param.b32 [r], %r1; ret; }\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<5>; proto: .callprototype "
        "(.param .b32 _) _ (.param .b32 _);\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; mul.wide.u32 %rd2, %r2, "
        "8; mov.u64 %rd3, table; add.u64 %rd3, %rd3, %rd2; ld.global.u64 %rd3, [%rd3];\n"
        "call (%r3), %rd3, (%r1), proto; { .param .align 4 .b8 c[8]; st.param.b32 [c+4], %r3; call "
        "(%r4), add3, (1000, %r1, c); }\n"
        "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; }\n";
    static const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    int32_t out[12];

    (void)state;
    run_ok(text, out, 1, 12, 0);
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], 1000 + i + (i & 1 ? -i : fib[i]));
}

static void spaces(void **state)
{
    static const char text[] =
        HEAD ".const .b32 c[2] = {5, 6}; .extern .shared .align 16 .b32 dyn[];\n"
             ".entry k(.param .u64 p) { .shared .b32 one; .local .align 8 .b8 stack[16]; .reg .b32 "
             "%r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n"
             "ld.param.u64 %rd1, [p]; mov.u64 %rd2, one; cvta.shared.u64 %rd2, %rd2; st.u32 "
             "[%rd2], 7; ld.shared.u32 %r1, [one]; st.u32 [%rd1], %r1;\n"
             "mov.u64 %rd3, stack; cvta.local.u64 %rd3, %rd3; st.u32 [%rd3+8], 9; ld.local.u32 "
             "%r1, [stack+8]; st.u32 [%rd1+4], %r1;\n"
             "ld.const.u32 %r1, [c+4]; st.u32 [%rd1+8], %r1; st.shared.u32 [dyn+1020], 3; "
             "ld.shared.u32 %r1, [dyn+1020]; st.u32 [%rd1+12], %r1;\n"
             "isspacep.shared %p1, %rd2; isspacep.local %p2, %rd3; isspacep.global %p3, %rd1; "
             "isspacep.global %p4, %rd2;\n"
             "selp.u32 %r1, 1, 0, %p1; @%p2 add.u32 %r1, %r1, 2; @%p3 add.u32 %r1, %r1, 4; @%p4 "
             "add.u32 %r1, %r1, 8; st.u32 [%rd1+16], %r1;\n"
             "cvta.to.shared.u64 %rd4, %rd2; cvt.u32.u64 %r2, %rd4; ld.shared.u32 %r1, [%r2]; "
             "st.u32 [%rd1+20], %r1;\n"
             "mov.u32 %r1, 2; T: .branchtargets A, B, C; brx.idx %r1, T; A: trap; B: trap; C: "
             "st.v2.u32 [%rd1+24], {11, 12}; }\n";
    uint32_t out[8] = {0};

    (void)state;
    run_ok(text, out, 1, 1, 0);
    assert_int_equal(out[0], 7);
    assert_int_equal(out[1], 9);
    assert_int_equal(out[2], 6);
    assert_int_equal(out[3], 3);
    assert_int_equal(out[4], 7);
    assert_int_equal(out[5], 7);
    assert_int_equal(out[6], 11);
    assert_int_equal(out[7], 12);
}

/* Blocks that wait for each other: a barrier of the whole grid made of atomics. */
static void grid_barrier(void **state)
{
    static const char text[] =
        HEAD ".entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p; "
             "ld.param.u64 %rd1, [p];\n"
             "red.release.gpu.global.add.u32 [%rd1], 1; W: ld.acquire.gpu.global.u32 %r1, [%rd1]; "
             "setp.lt.u32 %p, %r1, 6; @%p bra W;\n"
             "red.global.add.u32 [%rd1+4], 1; }\n";
    uint32_t out[2] = {0};

    (void)state;
    run_ok(text, out, 6, 1, 0);
    assert_int_equal(out[1], 6);
}

static void printing(void **state)
{
    static const char text[] = HEAD
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 fmt[24] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 32, 37, "
        "108, 108, 100, 32, 37, 37, 10, 0};\n"
        ".global .align 1 .b8 word[3] = {104, 105, 0};\n"
        ".entry k(.param .u64 p) { .local .align 8 .b8 args[32]; .reg .b64 %rd<5>; .reg .b32 %r; "
        "mov.u64 %rd1, args; cvta.local.u64 %rd2, %rd1;\n"
        "st.local.u32 [args], -3; st.local.f64 [args+8], 1.5; mov.u64 %rd3, word; cvta.global.u64 "
        "%rd3, %rd3; st.local.u64 [args+16], %rd3; st.local.u64 [args+24], 77;\n"
        "mov.u64 %rd4, fmt; cvta.global.u64 %rd4, %rd4; { .param .b64 a; .param .b64 b; .param "
        ".b32 r; st.param.b64 [a], %rd4; st.param.b64 [b], %rd2; call (r), vprintf, (a, b); } }\n";
    char buf[100] = "";
    FILE *f = fmemopen(buf, sizeof buf, "w");
    void *p = NULL;

    (void)state;
    assert_non_null(f);
    assert_int_equal(
        launch_text(text, (struct weir_interp_launch){{1, 1, 1}, {1, 1, 1}, &p, 0, 0, 0, 0}, f),
        WEIR_OK);
    fclose(f);
    assert_string_equal(buf, "-3  1.50 hi 77 %\n");
}

static void failures(void **state)
{
    static const struct {
        const char *body;
        enum weir_err err;
        const char *words;
    } cases[] = {
        {"ld.global.u32 %r1, [16];", WEIR_ERR_ILLEGAL_ADDRESS, "ld.global.u32 (line 5)"},
        {"st.shared.u32 [s+32768], 1;", WEIR_ERR_ILLEGAL_ADDRESS, "st.shared.u32"},
        {"add.u64 %rd1, %rd1, 2; st.u32 [%rd1], 1;", WEIR_ERR_MISALIGNED_ADDRESS, "4 bytes"},
        {"trap;", WEIR_ERR_LAUNCH_FAILURE, "trap"},
        {"W: bra W;", WEIR_ERR_LAUNCH_TIMEOUT, "instructions"},
        {"mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra X; bar.sync 0, 64; X:",
         WEIR_ERR_LAUNCH_FAILURE, "deadlock"},
        {"mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra X; bar.warp.sync 3; X: W: bra W;",
         WEIR_ERR_LAUNCH_TIMEOUT, ""},
        {"bar.warp.sync 1;", WEIR_ERR_LAUNCH_FAILURE, "membership mask"},
        {"wgmma.fence.sync.aligned;", WEIR_ERR_NOT_SUPPORTED, "wgmma.fence.sync.aligned"},
        {"call nobody;", WEIR_ERR_NOT_SUPPORTED, "'nobody'"},
        {"call forever;", WEIR_ERR_LAUNCH_FAILURE, "too deep"},
        {"T: .branchtargets X; brx.idx 5, T; X:", WEIR_ERR_LAUNCH_FAILURE, "targets"},
    };
    uint32_t data[4] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        enum weir_err err;

        snprintf(text, sizeof text,
                 "%s.func nobody; .func forever { call forever; ret; } .entry k(.param .u64 p) { "
                 ".shared .b32 s; .reg .b32 %%r<5>; .reg .b64 %%rd<5>; .reg .pred %%p<3>; "
                 "ld.param.u64 %%rd1, [p];\n%s }\n",
                 HEAD, cases[i].body);
        err = run_text(text, data, 1, 2, 0);
        if (err != cases[i].err || !strstr(weir_err_message(), cases[i].words))
            fail_msg("%s: %d, %s", cases[i].body, err, weir_err_message());
    }
}

static void allowed_ranges(void **state)
{
    static const char text[] = HEAD ".entry k(.param .u64 p) { .reg .b64 %rd<5>; ld.param.u64 "
                                    "%rd1, [p]; st.u32 [%rd1+4], 1; }\n";
    struct weir_ptx_module *m = parse(text);
    uint32_t data[2] = {0};
    void *p = data;
    struct weir_interp_launch l = {{1, 1, 1}, {1, 1, 1}, &p, 0, 0, 0, 0};
    struct weir_interp *in;

    (void)state;
    assert_int_equal(weir_interp_create(m, NULL, &in), WEIR_OK);
    assert_int_equal(weir_interp_allow(in, data, 4), WEIR_OK);
    assert_int_equal(weir_interp_launch(in, weir_ptx_find_function(m, "k"), &l),
                     WEIR_ERR_ILLEGAL_ADDRESS);
    assert_int_equal(data[1], 0);
    assert_int_equal(weir_interp_allow(in, data, 8), WEIR_OK);
    assert_int_equal(weir_interp_launch(in, weir_ptx_find_function(m, "k"), &l), WEIR_OK);
    assert_int_equal(data[1], 1);
    weir_interp_destroy(in);
    weir_ptx_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers), cmocka_unit_test(floats),         cmocka_unit_test(reduction),
        cmocka_unit_test(warps),    cmocka_unit_test(atomics),        cmocka_unit_test(calls),
        cmocka_unit_test(spaces),   cmocka_unit_test(grid_barrier),   cmocka_unit_test(printing),
        cmocka_unit_test(failures), cmocka_unit_test(allowed_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
