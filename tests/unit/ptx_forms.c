/* Every kind of operand and instruction form: what the parser makes of it, and that printing gives
 * it back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/ptx_text.h"

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"
#define REGS                                                                                       \
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .u32 %u<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>;"       \
    ".reg .b16 %h<9>; .reg .pred %p<9>; .reg .b128 %q<2>; .reg .v4 .f32 %v; .reg .s32 %s<9>;"      \
    ".reg .s64 %sd<3>; .reg .f16 %hf<3>;\n"
#define GLOBALS                                                                                    \
    ".global .u32 gv; .shared .align 8 .b8 sm[64]; .const .f32 cv; .extern .shared .b8 dyn[];\n"   \
    ".func (.param .b32 r) callee (.param .b64 a, .param .b32 b);\n.func plain;\n"                 \
    ".global .texref tx;\n"

static struct weir_ptx_module *parse(const char *text)
{
    struct weir_ptx_error e;
    struct weir_ptx_module *m = NULL;

    if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
        fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.message, text);
    return m;
}

/* A kernel of these statements, checked to survive printing. */
static struct weir_ptx_module *body(const char *statements)
{
    size_t n = strlen(statements) + 2048;
    char *text = malloc(n), *again;
    struct weir_ptx_module *m, *first, *second;
    const char *d;

    assert_non_null(text);
    snprintf(text, n,
             "%s%s.visible .entry k(.param .u64 kp, .param .align 4 .b8 ks[12]) {\n%s%s\n}\n", HEAD,
             GLOBALS, REGS, statements);
    m = parse(text);
    first = parse(text);
    again = ptx_text_of_module(first);
    second = parse(again);
    d = ptx_text_difference(first, second);
    if (d)
        fail_msg("printed differently: %s\n%s", d, again);
    weir_ptx_module_destroy(first);
    weir_ptx_module_destroy(second);
    free(again);
    free(text);
    return m;
}

static const struct weir_ptx_inst *inst(const struct weir_ptx_module *m, size_t n)
{
    const struct weir_ptx_function *f = weir_ptx_find_function(m, "k");

    assert_non_null(f);
    assert_true(n < f->inst_count);
    return &f->insts[n];
}

static const char *reg_name(const struct weir_ptx_module *m, int32_t reg)
{
    const struct weir_ptx_function *f = weir_ptx_find_function(m, "k");

    assert_true(reg >= 0 && (size_t)reg < f->reg_count);
    return f->regs[reg].name;
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"7", 7},
        {"-7", -7},
        {"0x1F", 31},
        {"0X1f", 31},
        {"0b101", 5},
        {"017", 15},
        {"12U", 12},
        {"0xFFU", 255},
        {"WARP_SZ", 32},
        {"(1+2)*3", 9},
        {"~0", -1},
        {"!0", 1},
        {"!5", 0},
        {"1<<4|1", 17},
        {"10%4", 2},
        {"-7/2", -3},
        {"-7%2", -1},
        {"7&3^1", 2},
        {"3>2", 1},
        {"2>=3", 0},
        {"1?5:6", 5},
        {"0?5:6", 6},
        {"1&&0", 0},
        {"1||0", 1},
        {"-1>>1", -1},
        {"(.u64)-1>>63", 1},
        {"-1U>>63", 1},
        {"(.s64)-1>>63", -1},
        {"1==1", 1},
        {"1!=1", 0},
        {"1<2", 1},
        {"2<=1", 0},
        {"18446744073709551615", -1},
        {"0", 0},
        {"WARP_SZ*2", 64},
        {"-WARP_SZ", -32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[120];
        struct weir_ptx_module *m;

        snprintf(text, sizeof text, "mov.u64 %%rd1, %s;", cases[i].text);
        m = body(text);
        assert_int_equal(inst(m, 0)->operands[1].kind, WEIR_PTX_OPERAND_INT);
        if (inst(m, 0)->operands[1].imm != cases[i].value)
            fail_msg("%s gives %lld", cases[i].text, (long long)inst(m, 0)->operands[1].imm);
        weir_ptx_module_destroy(m);
    }
}

static void floats(void **state)
{
    struct weir_ptx_module *m = body(
        "add.f32 %f1, %f2, 0f3F800000; add.f32 %f1, %f2, 1.5; add.f32 %f1, %f2, 0d3FF0000000000000;"
        "add.f64 %fd1, %fd2, 0d3FF0000000000000; add.f64 %fd1, %fd2, 0f3F800000; add.f64 %fd1, "
        "%fd2, 2.5e1;"
        "mov.b32 %r1, 0f40000000; mov.b64 %rd1, 0d4000000000000000; mov.f32 %f1, -1.0;"
        "mov.f32 %f1, 0f7fc01234; mov.f64 %fd1, 1.0/4.0; mov.f32 %f1, 0F80000000;");

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(inst(m, (size_t)i)->operands[2].kind, WEIR_PTX_OPERAND_F32);
    assert_int_equal(inst(m, 0)->operands[2].imm, 0x3f800000);
    assert_int_equal(inst(m, 1)->operands[2].imm, 0x3fc00000);
    assert_int_equal(inst(m, 2)->operands[2].imm, 0x3f800000);
    for (int i = 3; i < 6; i++)
        assert_int_equal(inst(m, (size_t)i)->operands[2].kind, WEIR_PTX_OPERAND_F64);
    assert_int_equal(inst(m, 4)->operands[2].imm, 0x3ff0000000000000);
    assert_int_equal(inst(m, 5)->operands[2].imm, 0x4039000000000000);
    assert_int_equal(inst(m, 6)->operands[1].kind, WEIR_PTX_OPERAND_F32);
    assert_int_equal(inst(m, 7)->operands[1].kind, WEIR_PTX_OPERAND_F64);
    assert_int_equal(inst(m, 8)->operands[1].imm, 0xbf800000);
    assert_int_equal(inst(m, 9)->operands[1].imm, 0x7fc01234); /* the payload stays */
    assert_int_equal(inst(m, 10)->operands[1].imm, 0x3fd0000000000000);
    assert_int_equal(inst(m, 11)->operands[1].imm, 0x80000000);
    weir_ptx_module_destroy(m);
}

static void addresses(void **state)
{
    struct weir_ptx_module *m = body(
        "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r1, [%rd1+8]; ld.global.u32 %r1, [%rd1+-8]; "
        "ld.global.u32 %r1, [%rd1-8];"
        "ld.global.u32 %r1, [gv]; ld.global.u32 %r1, [gv+4]; ld.u32 %r1, [16]; ld.shared.u32 %r1, "
        "[%r2+4];"
        "ld.param.u64 %rd1, [kp]; ld.param.b8 %h1, [ks+3]; ld.shared.b32 %r1, [sm + 0x10]; "
        "st.shared.u8 [dyn], %r1;"
        "ld.shared::cta.b32 %r1, [sm]; ld.shared::cluster.b32 %r1, [sm]; ld.const.f32 %f1, [cv];"
        "ld.global.u32 %r1, [ %rd1 + (2+2)*4 ];");
    static const int64_t offsets[] = {0, 8, -8, -8, 0, 4, 16, 4, 0, 3, 16, 0, 0, 0, 0, 16};
    static const uint8_t spaces[] = {
        WEIR_PTX_GLOBAL, WEIR_PTX_GLOBAL,         WEIR_PTX_GLOBAL,  WEIR_PTX_GLOBAL,
        WEIR_PTX_GLOBAL, WEIR_PTX_GLOBAL,         WEIR_PTX_GENERIC, WEIR_PTX_SHARED,
        WEIR_PTX_PARAM,  WEIR_PTX_PARAM,          WEIR_PTX_SHARED,  WEIR_PTX_SHARED,
        WEIR_PTX_SHARED, WEIR_PTX_SHARED_CLUSTER, WEIR_PTX_CONST,   WEIR_PTX_GLOBAL};

    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        const struct weir_ptx_inst *x = inst(m, i);
        const struct weir_ptx_operand *o = &x->operands[x->opcode == WEIR_PTX_OP_st ? 0 : 1];

        assert_int_equal(o->kind, WEIR_PTX_OPERAND_ADDRESS);
        assert_int_equal(o->imm, offsets[i]);
        assert_int_equal(x->space, spaces[i]);
        assert_int_equal(x->dest_count, x->opcode == WEIR_PTX_OP_st ? 0 : 1);
        assert_int_equal(x->sub, WEIR_PTX_SUB_NONE);
    }
    assert_string_equal(reg_name(m, inst(m, 0)->operands[1].reg), "%rd1");
    assert_int_equal(inst(m, 4)->operands[1].reg, -1);
    assert_ptr_equal(inst(m, 4)->operands[1].var, weir_ptx_find_var(m, "gv"));
    assert_int_equal(inst(m, 9)->operands[1].var->role, WEIR_PTX_VAR_PARAM);
    assert_int_equal(inst(m, 9)->operands[1].var->offset, 8);
    weir_ptx_module_destroy(m);
}

static void vectors(void **state)
{
    struct weir_ptx_module *m =
        body("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]; st.global.v2.u32 [%rd1], {%r1, 5}; "
             "mov.b64 %rd1, {%r1, %r2};"
             "mov.b64 {%r1, _}, %rd1; mov.b32 {%h1, %h2}, %r1; ld.global.v4.f32 %v, [%rd1]; "
             "add.f32 %f1, %v.x, %v.w;"
             "mov.f32 %v.y, %f1; mov.b128 %q1, {%rd1, %rd2}; mov.b32 %r1, {%h1, 0}; ld.v2.b64 "
             "{%rd1, _}, [%rd2];"
             "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];"
             "st.global.v4.f32 [%rd1], %v; mov.v4.f32 %v, %v;");

    (void)state;
    assert_int_equal(inst(m, 0)->vec, 4);
    assert_int_equal(inst(m, 0)->operands[0].kind, WEIR_PTX_OPERAND_VECTOR);
    assert_int_equal(inst(m, 0)->operands[0].count, 4);
    assert_string_equal(reg_name(m, inst(m, 0)->operands[0].elements[2].reg), "%f3");
    assert_int_equal(inst(m, 1)->operands[1].elements[1].imm, 5);
    assert_int_equal(inst(m, 3)->operands[0].elements[1].kind, WEIR_PTX_OPERAND_SINK);
    assert_int_equal(inst(m, 5)->operands[0].kind, WEIR_PTX_OPERAND_REG);
    assert_int_equal(inst(m, 5)->operands[0].count, 0);
    assert_int_equal(inst(m, 6)->operands[2].element, 3);
    assert_int_equal(inst(m, 6)->operands[2].count, 1);
    /* a value of 128 bits is two registers: two moves */
    assert_int_equal(inst(m, 8)->type[0], WEIR_PTX_B64);
    assert_string_equal(reg_name(m, inst(m, 8)->operands[0].reg), "%q1");
    assert_string_equal(reg_name(m, inst(m, 9)->operands[0].reg), "%q1$high");
    assert_string_equal(reg_name(m, inst(m, 9)->operands[1].reg), "%rd2");
    assert_true(inst(m, 12)->nc);
    assert_int_equal(inst(m, 12)->sub, WEIR_PTX_SUB_NONE);
    weir_ptx_module_destroy(m);
}

static void special_registers(void **state)
{
    struct weir_ptx_module *m = body(
        "mov.u32 %r1, %tid.x; mov.u32 %r1, %ctaid.z; mov.u64 %rd1, %clock64; mov.u32 %r1, "
        "%lanemask_lt;"
        "mov.u32 %r1, %envreg31; mov.u32 %r1, %pm3; mov.u64 %rd1, %pm7_64; mov.u32 %r1, "
        "%reserved_smem_offset_cap;"
        "cvt.u64.u32 %rd1, %ntid.y; mov.u64 %rd1, %globaltimer; mov.pred %p1, %is_explicit_cluster;"
        "mov.u32 %r1, %cluster_ctaid.x; setp.eq.u32 %p1, %laneid, 0; mov.u16 %h1, %tid.x; add.u32 "
        "%r1, %tid.x, 1;"
        "mov.u32 %r1, %dynamic_smem_size; mov.u32 %r1, %total_smem_size;");

    (void)state;
    assert_int_equal(inst(m, 0)->operands[1].kind, WEIR_PTX_OPERAND_SREG);
    assert_int_equal(inst(m, 0)->operands[1].sreg, WEIR_PTX_SREG_tid);
    assert_int_equal(inst(m, 0)->operands[1].element, 0);
    assert_int_equal(inst(m, 1)->operands[1].element, 2);
    assert_int_equal(inst(m, 2)->operands[1].sreg, WEIR_PTX_SREG_clock64);
    assert_int_equal(inst(m, 4)->operands[1].sreg, WEIR_PTX_SREG_envreg);
    assert_int_equal(inst(m, 4)->operands[1].element, 31);
    assert_int_equal(inst(m, 5)->operands[1].sreg, WEIR_PTX_SREG_pm);
    assert_int_equal(inst(m, 6)->operands[1].sreg, WEIR_PTX_SREG_pm_64);
    assert_int_equal(inst(m, 7)->operands[1].element, 2);
    assert_int_equal(inst(m, 8)->operands[1].element, 1);
    assert_int_equal(inst(m, 12)->operands[1].sreg, WEIR_PTX_SREG_laneid);
    weir_ptx_module_destroy(m);
}

static void predicates(void **state)
{
    struct weir_ptx_module *m = body(
        "@%p1 mov.u32 %r1, 1; @!%p2 mov.u32 %r1, 2; @ ! %p3 bra L; setp.lt.s32 %p1|%p2, %r1, %r2;"
        "setp.geu.and.f32 %p1, %f1, %f2, !%p3; setp.lo.u32 %p1, %r1, 5; setp.num.f64 %p1|_, %fd1, "
        "%fd2;"
        "selp.b32 %r1, %r2, 3, %p4; and.pred %p1, %p2, !%p3; not.pred %p1, %p2; mov.pred %p1, 1;"
        "set.gt.u32.f32 %r1, %f1, %f2; set.eq.or.f32.s32 %f1, %r1, %r2, %p1; L: ret;");

    (void)state;
    assert_string_equal(reg_name(m, inst(m, 0)->guard), "%p1");
    assert_false(inst(m, 0)->guard_negated);
    assert_true(inst(m, 1)->guard_negated);
    assert_true(inst(m, 2)->guard_negated);
    assert_int_equal(inst(m, 2)->operands[0].kind, WEIR_PTX_OPERAND_LABEL);
    assert_int_equal(inst(m, 2)->operands[0].label->inst, 13);
    assert_string_equal(reg_name(m, inst(m, 3)->operands[0].pred_reg), "%p2");
    assert_int_equal(inst(m, 3)->cmp, WEIR_PTX_LT);
    assert_int_equal(inst(m, 4)->cmp, WEIR_PTX_GEU);
    assert_int_equal(inst(m, 4)->boolop, WEIR_PTX_BOOL_AND);
    assert_true(inst(m, 4)->operands[3].negated);
    assert_int_equal(inst(m, 5)->cmp, WEIR_PTX_LO);
    assert_int_equal(inst(m, 6)->operands[0].pred_reg, -2);
    assert_int_equal(inst(m, 8)->sub, WEIR_PTX_SUB_NONE);
    assert_int_equal(inst(m, 9)->guard, -1);
    assert_int_equal(inst(m, 12)->boolop, WEIR_PTX_BOOL_OR);
    assert_int_equal(inst(m, 12)->type[0], WEIR_PTX_F32);
    assert_int_equal(inst(m, 12)->type[1], WEIR_PTX_S32);
    weir_ptx_module_destroy(m);
}

static void modifiers(void **state)
{
    struct weir_ptx_module *m =
        body("mul.wide.s32 %rd1, %r1, %r2; mul.hi.u32 %r1, %r2, %r3; mad.lo.s32 %r1, %r2, %r3, "
             "%r4; fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;"
             "cvt.rzi.s32.f32 %r1, %f1; cvt.sat.u8.s32 %r1, %r2; div.approx.f32 %f1, %f2, %f3; "
             "div.full.f32 %f1, %f2, %f3;"
             "div.rn.f64 %fd1, %fd2, %fd3; add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, %r3; "
             "shf.l.wrap.b32 %r1, %r2, %r3, %r4;"
             "shf.r.clamp.b32 %r1, %r2, %r3, 7; bfind.shiftamt.u32 %r1, %r2; prmt.b32.f4e %r1, "
             "%r2, %r3, %r4;"
             "testp.subnormal.f32 %p1, %f1; max.NaN.f32 %f1, %f2, %f3; min.xorsign.abs.f32 %f1, "
             "%f2, %f3;"
             "cvta.to.global.u64 %rd1, %rd2; cvta.shared.u64 %rd1, sm; isspacep.shared %p1, %rd1; "
             "membar.gl; membar.sys;"
             "fence.acq_rel.gpu; fence.sc.cta; fence.proxy.async; ld.volatile.global.u32 %r1, "
             "[%rd1]; ld.acquire.sys.global.u32 %r1, [%rd1];"
             "st.release.gpu.global.u32 [%rd1], %r1; lop3.b32 %r1, %r2, %r3, %r4, 0x80; "
             "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x1, %p2;"
             "dp4a.u32.s32 %r1, %r2, %r3, %r4; sub.sat.s32 %r1, %r2, %r3; "
             "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"
             "add.rn.f16x2 %r1, %r2, %r3; cvt.rn.f16x2.f32 %r1, %f1, %f2; sad.u32 %r1, %r2, %r3, "
             "%r4; slct.s32.f32 %r1, %r2, %r3, %f1;"
             "ex2.approx.ftz.f32 %f1, %f2; rsqrt.approx.f64 %fd1, %fd2; bfe.s64 %rd1, %rd2, %r1, "
             "4; bfi.b32 %r1, %r2, %r3, 4, %r4;"
             "brev.b64 %rd1, %rd2; clz.b64 %r1, %rd2; popc.b32 %r1, %r2; fns.b32 %r1, %r2, 0, 1; "
             "nanosleep.u32 100; trap; brkpt; exit;");

    (void)state;
    assert_int_equal(inst(m, 0)->sub, WEIR_PTX_WIDE);
    assert_int_equal(inst(m, 1)->sub, WEIR_PTX_HI_);
    assert_int_equal(inst(m, 2)->sub, WEIR_PTX_LO_);
    assert_true(inst(m, 3)->ftz && inst(m, 3)->sat);
    assert_int_equal(inst(m, 3)->rounding, WEIR_PTX_RN);
    assert_int_equal(inst(m, 4)->rounding, WEIR_PTX_RZI);
    assert_int_equal(inst(m, 4)->type[0], WEIR_PTX_S32);
    assert_int_equal(inst(m, 4)->type[1], WEIR_PTX_F32);
    assert_int_equal(inst(m, 5)->type[0], WEIR_PTX_U8);
    assert_true(inst(m, 6)->approx && inst(m, 6)->sub == WEIR_PTX_SUB_APPROX);
    assert_true(inst(m, 7)->full && inst(m, 7)->sub == WEIR_PTX_SUB_FULL);
    assert_true(inst(m, 9)->cc && inst(m, 10)->cc);
    assert_true(inst(m, 11)->wrap && inst(m, 11)->sub == WEIR_PTX_SUB_L);
    assert_true(inst(m, 12)->clamp && inst(m, 12)->sub == WEIR_PTX_SUB_R);
    assert_true(inst(m, 13)->shiftamt);
    assert_int_equal(inst(m, 14)->sub, WEIR_PTX_SUB_F4E);
    assert_int_equal(inst(m, 15)->sub, WEIR_PTX_SUB_SUBNORMAL);
    assert_true(inst(m, 16)->nan);
    assert_true(inst(m, 17)->xorsign && inst(m, 17)->abs);
    assert_int_equal(inst(m, 18)->sub, WEIR_PTX_SUB_TO);
    assert_int_equal(inst(m, 18)->space, WEIR_PTX_GLOBAL);
    assert_int_equal(inst(m, 19)->operands[1].kind, WEIR_PTX_OPERAND_VAR);
    assert_int_equal(inst(m, 21)->sub, WEIR_PTX_SUB_GL);
    assert_int_equal(inst(m, 21)->scope, WEIR_PTX_SCOPE_GPU);
    assert_int_equal(inst(m, 22)->sub, WEIR_PTX_SUB_SYS);
    assert_int_equal(inst(m, 23)->sem, WEIR_PTX_ACQ_REL);
    assert_int_equal(inst(m, 23)->sub, WEIR_PTX_SUB_NONE);
    assert_int_equal(inst(m, 24)->sem, WEIR_PTX_SC);
    assert_int_equal(inst(m, 24)->scope, WEIR_PTX_SCOPE_CTA);
    assert_int_equal(inst(m, 25)->sub, WEIR_PTX_SUB_OTHER);
    assert_int_equal(inst(m, 26)->sem, WEIR_PTX_VOLATILE);
    assert_int_equal(inst(m, 27)->scope, WEIR_PTX_SCOPE_SYS);
    assert_int_equal(inst(m, 30)->boolop, WEIR_PTX_BOOL_OR);
    assert_true(inst(m, 33)->satfinite);
    assert_int_equal(inst(m, 33)->sub, WEIR_PTX_SUB_NONE);
    weir_ptx_module_destroy(m);
}

static void warps_and_atomics(void **state)
{
    struct weir_ptx_module *m = body(
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1; shfl.sync.idx.b32 %r1, %r2, %r3, 0x1f, %r4; "
        "shfl.up.b32 %r1, %r2, 1, 0;"
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.any.pred %p1, !%p2, %r1; vote.all.pred %p1, "
        "%p2; vote.sync.uni.pred %p1, %p2, -1;"
        "match.any.sync.b32 %r1, %r2, -1; match.all.sync.b64 %r1|%p1, %rd1, -1; activemask.b32 "
        "%r1; redux.sync.add.s32 %r1, %r2, -1;"
        "bar.sync 0; barrier.sync.aligned 1, 64; bar.arrive 1, 64; bar.red.popc.u32 %r1, 0, %p1; "
        "bar.red.and.pred %p1, 0, 32, !%p2;"
        "bar.warp.sync 0xffffffff; barrier.cluster.arrive.release.aligned; atom.global.add.u32 "
        "%r1, [%rd1], 1; atom.cas.b64 %rd1, [%rd2], %rd3, %rd4;"
        "atom.acq_rel.sys.shared.exch.b32 %r1, [sm], 5; red.global.add.f32 [%rd1], %f1; "
        "atom.add.noftz.f16x2 %r1, [%rd1], %r2;"
        "atom.global.min.s64 _, [%rd1], %rd2; red.relaxed.cta.shared.or.b32 [%r1], 4; elect.sync "
        "_|%p1, -1; barrier.cta.sync 0;"
        "red.async.relaxed.cluster.global.add.u32 [%rd1], %r1; cp.async.ca.shared.global [%rd1], "
        "[%rd2], 16; cp.async.wait_group 0;"
        "mbarrier.init.shared.b64 [sm], 32; mbarrier.arrive.shared.b64 %rd1, [sm]; "
        "mbarrier.arrive.shared.b64 _, [sm];"
        "tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [tx, {%r1, %r2}]; "
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1], 16;"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
        "{%r5,%r6}, {%f1,%f2,%f3,%f4};"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd1, "
        "{%r1, %r2}], [sm];"
        "vadd.u32.u32.s32.sat %r1, %r2.b0, %r3.h1; prefetch.global.L2 [%rd1]; griddepcontrol.wait; "
        "setmaxnreg.inc.sync.aligned.u32 232;"
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3]; ld.global.L2::cache_hint.b32 "
        "%r1, [%rd1], %rd2;");

    (void)state;
    assert_true(inst(m, 0)->async_sync && inst(m, 0)->sub == WEIR_PTX_SUB_BFLY);
    assert_string_equal(reg_name(m, inst(m, 0)->operands[0].pred_reg), "%p1");
    assert_int_equal(inst(m, 3)->sub, WEIR_PTX_SUB_BALLOT);
    assert_int_equal(inst(m, 6)->sub, WEIR_PTX_SUB_UNI);
    assert_false(inst(m, 6)->uni);
    assert_int_equal(inst(m, 8)->sub, WEIR_PTX_SUB_ALL);
    assert_int_equal(inst(m, 10)->sub, WEIR_PTX_SUB_ADD);
    assert_int_equal(inst(m, 11)->sub, WEIR_PTX_SUB_SYNC);
    assert_false(inst(m, 11)->async_sync);
    assert_int_equal(inst(m, 12)->sub, WEIR_PTX_SUB_SYNC);
    assert_true(inst(m, 12)->aligned);
    assert_int_equal(inst(m, 13)->sub, WEIR_PTX_SUB_ARRIVE);
    assert_int_equal(inst(m, 14)->sub, WEIR_PTX_SUB_RED);
    assert_int_equal(inst(m, 14)->sub2, WEIR_PTX_SUB_POPC);
    assert_int_equal(inst(m, 14)->dest_count, 1);
    assert_int_equal(inst(m, 15)->sub2, WEIR_PTX_SUB_AND);
    assert_int_equal(inst(m, 16)->sub, WEIR_PTX_SUB_WARP);
    assert_true(inst(m, 16)->async_sync);
    assert_int_equal(inst(m, 17)->sub, WEIR_PTX_SUB_OTHER);
    assert_int_equal(inst(m, 18)->sem, WEIR_PTX_RELAXED);
    assert_int_equal(inst(m, 18)->scope, WEIR_PTX_SCOPE_GPU);
    assert_int_equal(inst(m, 19)->sub, WEIR_PTX_SUB_CAS);
    assert_int_equal(inst(m, 20)->sem, WEIR_PTX_ACQ_REL);
    assert_int_equal(inst(m, 20)->scope, WEIR_PTX_SCOPE_SYS);
    assert_true(inst(m, 22)->noftz);
    assert_int_equal(inst(m, 24)->sub, WEIR_PTX_SUB_OR);
    assert_int_equal(inst(m, 25)->operands[0].kind, WEIR_PTX_OPERAND_SINK);
    assert_true(inst(m, 25)->operands[0].pred_reg >= 0);
    assert_int_equal(inst(m, 26)->sub, WEIR_PTX_SUB_SYNC);
    assert_int_equal(inst(m, 28)->dest_count, 0);
    assert_int_equal(inst(m, 30)->dest_count, 0);
    assert_int_equal(inst(m, 31)->dest_count, 1);
    assert_int_equal(inst(m, 32)->dest_count, 1);
    assert_int_equal(inst(m, 33)->operands[1].count, 1); /* the coordinates */
    assert_int_equal(inst(m, 34)->operands[0].count, 8);
    assert_int_equal(inst(m, 35)->sub, WEIR_PTX_SUB_OTHER);
    assert_int_equal(inst(m, 37)->operands[1].imm, 'b' | '0' << 8);
    assert_int_equal(inst(m, 38)->sub, WEIR_PTX_SUB_NONE);
    assert_true(inst(m, 42)->cache_hint);
    weir_ptx_module_destroy(m);
}

static void calls(void **state)
{
    struct weir_ptx_module *m = body(
        "{ .param .b64 param0; .param .b32 param1; .param .b32 retval0; st.param.b64 [param0+0], "
        "%rd1;\n"
        "call.uni (retval0), callee, (param0, param1); ld.param.b32 %r1, [retval0+0]; }\n"
        "{ .param .b32 param0; call (%r1), callee, (%rd1, 5); } call plain; call.uni plain, ();\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn;\n"
        "targets: .calltargets callee;\n"
        "mov.u64 %rd1, callee; call (%r1), %rd1, (%rd2, %r2), proto; call (%r1), %rd1, (%rd2, "
        "%r2), targets;");
    const struct weir_ptx_call *c = inst(m, 1)->call;

    (void)state;
    assert_non_null(c);
    assert_ptr_equal(c->callee, weir_ptx_find_function(m, "callee"));
    assert_int_equal(c->arg_count, 2);
    assert_int_equal(c->ret_count, 1);
    assert_int_equal(c->args[0].kind, WEIR_PTX_OPERAND_VAR);
    assert_int_equal(c->args[0].var->role, WEIR_PTX_VAR_BODY);
    assert_int_equal(inst(m, 3)->call->args[1].imm, 5);
    assert_int_equal(inst(m, 4)->call->arg_count, 0);
    assert_int_equal(inst(m, 6)->operands[1].kind, WEIR_PTX_OPERAND_FUNCTION);
    assert_null(inst(m, 7)->call->callee);
    assert_non_null(inst(m, 7)->call->proto);
    assert_int_equal(inst(m, 7)->call->proto->param_count, 2);
    assert_int_equal(inst(m, 8)->call->target_count, 1);
    weir_ptx_module_destroy(m);
}

static void labels(void **state)
{
    struct weir_ptx_module *m =
        body("A: bra A; { A: bra A; bra B; { bra A; bra C; } C: } B: bra.uni A; \n"
             "T: .branchtargets A, B, X<2>; brx.idx %r1, T; X0: ret; X1 : exit; @%p1 bra X1; END:");
    static const uint32_t targets[] = {0, 1, 5, 1, 5, 0};

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        assert_int_equal(inst(m, i)->operands[0].label->inst, targets[i]);
    assert_true(inst(m, 5)->uni);
    assert_int_equal(inst(m, 6)->operands[1].kind, WEIR_PTX_OPERAND_TABLE);
    assert_int_equal(inst(m, 6)->operands[1].table->count, 4);
    assert_int_equal(inst(m, 6)->operands[1].table->labels[2]->inst, 7);
    assert_int_equal(inst(m, 6)->operands[1].table->labels[3]->inst, 8);
    weir_ptx_module_destroy(m);
}

static void scopes(void **state)
{
    struct weir_ptx_module *m = body("{ .reg .b32 %r1; .reg .f32 %f<2>; mov.b32 %r1, 1; mov.b32 "
                                     "%r2, 2; mov.f32 %f8, 1.0; { .reg .b64 %r<4>; mov.b64 %r3, 1;"
                                     " mov.b32 %r8, 3; } mov.b32 %r1, 4; } mov.b32 %r1, 5;");
    const struct weir_ptx_function *f = weir_ptx_find_function(m, "k");

    (void)state;
    assert_int_not_equal(inst(m, 0)->operands[0].reg, inst(m, 6)->operands[0].reg);
    assert_int_equal(inst(m, 0)->operands[0].reg, inst(m, 5)->operands[0].reg);
    assert_int_equal(f->regs[inst(m, 3)->operands[0].reg].type, WEIR_PTX_B64);
    assert_int_equal(f->regs[inst(m, 4)->operands[0].reg].type, WEIR_PTX_B32);
    weir_ptx_module_destroy(m);
}

static void messages(void **state)
{
    struct weir_ptx_module *m =
        body("@!%p1 add.rn.ftz.f32 %f1, %f2, 1.0;\nwgmma.fence.sync.aligned;");
    char buf[100], small[8];
    size_t n;

    (void)state;
    n = weir_ptx_print_inst(weir_ptx_find_function(m, "k"), inst(m, 0), buf, sizeof buf);
    assert_string_equal(buf, "@!%p1 add.rn.ftz.f32 %f1, %f2, 0f3F800000;");
    assert_int_equal(n, strlen(buf));
    assert_int_equal(
        weir_ptx_print_inst(weir_ptx_find_function(m, "k"), inst(m, 0), small, sizeof small), n);
    assert_string_equal(small, "@!%p1 a");
    weir_ptx_inst_name(inst(m, 1), buf, sizeof buf);
    assert_string_equal(buf, "wgmma.fence.sync.aligned (line 11)");
    weir_ptx_module_destroy(m);
}

/* Every opcode of the table is found under its own name, so the search by first letter misses none.
 */
static void all_opcodes(void **state)
{
    (void)state;
    for (int op = 0; op < WEIR_PTX_OP_COUNT; op++) {
        const char *name = weir_ptx_opcode_name((enum weir_ptx_opcode)op);
        char text[64];
        struct weir_ptx_module *m;

        if (op == WEIR_PTX_OP_call || op == WEIR_PTX_OP_bra)
            continue;
        snprintf(text, sizeof text, "%s.no_such_form;", name); /* sub OTHER: no check of operands */
        m = body(text);
        assert_int_equal(inst(m, 0)->opcode, op);
        assert_int_equal(inst(m, 0)->sub, WEIR_PTX_SUB_OTHER);
        assert_string_equal(inst(m, 0)->suffix, ".no_such_form");
        weir_ptx_module_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(floats),
        cmocka_unit_test(addresses),
        cmocka_unit_test(vectors),
        cmocka_unit_test(special_registers),
        cmocka_unit_test(predicates),
        cmocka_unit_test(modifiers),
        cmocka_unit_test(warps_and_atomics),
        cmocka_unit_test(calls),
        cmocka_unit_test(labels),
        cmocka_unit_test(scopes),
        cmocka_unit_test(messages),
        cmocka_unit_test(all_opcodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
