/* Declarations: linkage, variables with initial values, parameters, functions, layout, debug
 * directives.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/ptx_text.h"

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"

static struct weir_ptx_module *parse(const char *text)
{
    struct weir_ptx_error e;
    struct weir_ptx_module *m = NULL;

    if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
        fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.message, text);
    return m;
}

static const struct weir_ptx_var *var(const struct weir_ptx_module *m, const char *name)
{
    const struct weir_ptx_var *v = weir_ptx_find_var(m, name);

    if (!v)
        fail_msg("no variable %s", name);
    return v;
}

static void header(void **state)
{
    struct weir_ptx_module *m =
        parse("// comment\n/* and\nanother */ .version 7.4\n.target sm_80, debug\n");

    (void)state;
    assert_int_equal(m->version, 74);
    assert_int_equal(m->target_sm, 80);
    assert_int_equal(m->target_suffix, 0);
    assert_true(m->debug);
    assert_int_equal(m->address_bits, 64);
    weir_ptx_module_destroy(m);
    m = parse(".version 9.0 .target sm_100f .address_size 64");
    assert_int_equal(m->version, 90);
    assert_int_equal(m->target_sm, 100);
    assert_int_equal(m->target_suffix, 'f');
    weir_ptx_module_destroy(m);
}

static void zero_bytes_at_the_end(void **state)
{
    static const char text[] = HEAD ".global .u32 x;\0\0\0";
    struct weir_ptx_module *m;
    struct weir_ptx_error e;

    (void)state;
    assert_int_equal(weir_ptx_parse(text, sizeof text, &m, &e), WEIR_OK);
    weir_ptx_module_destroy(m);
}

static void variables(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".visible .global .align 16 .b8 a[100];\n.extern .global .u32 e;\n.weak .const "
                   ".f64 w = 0d4000000000000000;\n"
                   ".common .global .u64 c;\n.global .attribute(.managed) .align 4 .u32 mg = "
                   "7;\n.global .v4 .f32 v = {1.0, 2.0, 0f40400000};\n"
                   ".global .s16 m2[2][3] = {{1, 2}, {-1}};\n.global .s16 open[] = {1, 2, "
                   "3};\n.global .u8 flat[2][2] = {1, 2, 3, 4};\n"
                   ".global .u32 p, q = 5, r[2];\n.const .b32 z[4] = {0, 0};\n.shared .align 8 .b8 "
                   "s1[3]; .shared .u64 s2;\n"
                   ".extern .shared .align 16 .b8 dyn[];\n.global .b32 bits = 0f3F800000;\n.global "
                   ".f32 fi = 3;\n.global .attribute(.unified(1, 2)) .u32 un;\n");
    static const int16_t m2[6] = {1, 2, 0, -1, 0, 0};
    static const float v[4] = {1, 2, 3, 0};

    (void)state;
    assert_true(var(m, "a")->is_visible);
    assert_int_equal(var(m, "a")->align, 16);
    assert_int_equal(var(m, "a")->bytes, 100);
    assert_int_equal(var(m, "a")->count, 100);
    assert_null(var(m, "a")->init);
    assert_true(var(m, "e")->is_extern);
    assert_true(var(m, "w")->is_weak);
    assert_int_equal(var(m, "w")->space, WEIR_PTX_CONST);
    assert_int_equal(*(const uint64_t *)(const void *)var(m, "w")->init, 0x4000000000000000);
    assert_true(var(m, "c")->is_common);
    assert_true(var(m, "mg")->is_managed);
    assert_int_equal(*(const uint32_t *)(const void *)var(m, "mg")->init, 7);
    assert_int_equal(var(m, "v")->bytes, 16);
    assert_int_equal(var(m, "v")->align, 16);
    assert_memory_equal(var(m, "v")->init, v, sizeof v);
    assert_memory_equal(var(m, "m2")->init, m2, sizeof m2);
    assert_int_equal(var(m, "open")->bytes, 6);
    assert_int_equal(var(m, "open")->count, 3);
    assert_memory_equal(var(m, "flat")->init, "\1\2\3\4", 4);
    assert_int_equal(var(m, "r")->bytes, 8);
    assert_null(var(m, "z")->init); /* all zero */
    assert_int_equal(var(m, "s1")->offset, 0);
    assert_int_equal(var(m, "s2")->offset, 8);
    assert_int_equal(m->shared_bytes, 16);
    assert_int_equal(var(m, "dyn")->bytes, 0);
    assert_int_equal(*(const uint32_t *)(const void *)var(m, "bits")->init, 0x3f800000);
    assert_int_equal(*(const uint32_t *)(const void *)var(m, "fi")->init, 0x40400000);
    for (size_t i = 0; i < m->var_count; i++) {
        assert_int_equal(m->vars[i]->index, i);
        assert_int_equal(m->vars[i]->role, WEIR_PTX_VAR_MODULE);
    }
    weir_ptx_module_destroy(m);
}

static void addresses_in_initial_values(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".global .u32 x;\n.global .u64 p1 = x;\n.global .u64 p2[3] = {generic(x), x+4, "
                   "generic(x)+8};\n"
                   ".global .u64 later = func;\n.func func;\n"
                   ".global .u8 packed[10] = {1, 0xFF(generic(x)), 0xFF00(generic(x)), "
                   "0xFF0000(generic(x)), 0xFF000000(generic(x)),"
                   "0xFF00000000(generic(x)), 0xFF0000000000(generic(x)), "
                   "0xFF000000000000(generic(x)), 0xFF00000000000000(generic(x)), 2};\n"
                   ".global .u8 one[2] = {0xFF(x), 0xFF00(x)};\n");
    const struct weir_ptx_reloc *r;

    (void)state;
    assert_int_equal(var(m, "p1")->reloc_count, 1);
    assert_ptr_equal(var(m, "p1")->relocs[0].var, var(m, "x"));
    assert_false(var(m, "p1")->relocs[0].generic);
    assert_int_equal(var(m, "p1")->relocs[0].bytes, 8);
    r = var(m, "p2")->relocs;
    assert_int_equal(var(m, "p2")->reloc_count, 3);
    assert_true(r[0].generic && r[0].addend == 0 && r[0].offset == 0);
    assert_true(!r[1].generic && r[1].addend == 4 && r[1].offset == 8);
    assert_true(r[2].generic && r[2].addend == 8 && r[2].offset == 16);
    assert_ptr_equal(var(m, "later")->relocs[0].function, weir_ptx_find_function(m, "func"));
    assert_int_equal(var(m, "packed")->reloc_count, 1);
    assert_int_equal(var(m, "packed")->relocs[0].offset, 1);
    assert_int_equal(var(m, "packed")->relocs[0].bytes, 8);
    assert_int_equal(var(m, "packed")->init[9], 2);
    assert_int_equal(var(m, "one")->reloc_count, 2);
    assert_int_equal(var(m, "one")->relocs[1].bytes, 1);
    assert_int_equal(var(m, "one")->relocs[1].shift, 8);
    weir_ptx_module_destroy(m);
}

static void extern_then_defined(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".extern .global .u32 x;\n.func f { .reg .b32 %r; ld.global.u32 %r, [x]; "
                   "}\n.visible .global .u32 x = 3;\n");
    const struct weir_ptx_function *f = weir_ptx_find_function(m, "f");

    (void)state;
    assert_int_equal(m->var_count, 1);
    assert_false(var(m, "x")->is_extern);
    assert_non_null(var(m, "x")->init);
    assert_ptr_equal(f->insts[0].operands[1].var, var(m, "x"));
    weir_ptx_module_destroy(m);
}

static void kernels(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".visible .entry k (.param .u64 .ptr .global .align 8 a, .param .u32 b, .param "
                   ".align 16 .b8 s[20], .param .u64 .ptr .align 1 c)\n"
                   ".maxntid 128, 2, 1 .minnctapersm 3 .maxnreg 64 .reqnctapercluster 2, 1, 1 "
                   ".pragma \"x\"; { ret; }\n"
                   ".weak .entry k2 () .reqntid 32 { ret; }\n.entry k3 { }\n");
    const struct weir_ptx_function *k = weir_ptx_find_function(m, "k");

    (void)state;
    assert_true(k->is_entry && k->is_visible && !k->is_extern);
    assert_int_equal(k->param_count, 4);
    assert_true(k->params[0]->is_ptr);
    assert_int_equal(k->params[0]->ptr_space, WEIR_PTX_GLOBAL);
    assert_int_equal(k->params[0]->ptr_align, 8);
    assert_ptr_equal(k->params[0]->function, k);
    assert_int_equal(k->params[1]->offset, 8);
    assert_int_equal(k->params[2]->offset, 16);
    assert_int_equal(k->params[3]->offset, 40);
    assert_int_equal(k->params[3]->ptr_space, WEIR_PTX_GENERIC);
    assert_int_equal(k->param_bytes, 48);
    assert_int_equal(k->maxntid[0], 128);
    assert_int_equal(k->maxntid[1], 2);
    assert_int_equal(k->maxntid[2], 1);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 64);
    assert_int_equal(k->reqnctapercluster[0], 2);
    assert_true(weir_ptx_find_function(m, "k2")->is_weak);
    assert_int_equal(weir_ptx_find_function(m, "k2")->reqntid[0], 32);
    assert_int_equal(weir_ptx_find_function(m, "k2")->reqntid[1], 1);
    assert_int_equal(weir_ptx_find_function(m, "k3")->inst_count, 0);
    weir_ptx_module_destroy(m);
}

static void functions(void **state)
{
    struct weir_ptx_module *m = parse(
        HEAD
        ".extern .func variadic (.param .b64 a, .param .b8 rest[]);\n.func (.param .b32 r) f "
        "(.param .b64 a, .param .align 8 .b8 b[16]);\n"
        ".visible .func (.reg .u32 r) regs (.reg .u32 a, .reg .f64 b) { add.u32 r, a, 1; ret; }\n"
        ".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 b[16]) .noreturn {\n"
        ".reg .u32 %x; .param .b64 c; .param .b8 d[4]; call (%x), regs, (%x, 1.0); st.param.b32 "
        "[r], %x;\n"
        "call variadic, (c, d); ret; }\n.func after;\n");
    const struct weir_ptx_function *f = weir_ptx_find_function(m, "f"),
                                   *regs = weir_ptx_find_function(m, "regs");

    (void)state;
    assert_false(f->is_entry || f->is_extern);
    assert_true(f->noreturn);
    assert_int_equal(f->params[1]->offset, 8);
    assert_int_equal(f->param_bytes, 24);
    assert_int_equal(f->rets[0]->role, WEIR_PTX_VAR_RET);
    assert_ptr_equal(f->params[0]->function, f);
    assert_ptr_equal(f->insts[1].operands[0].var, f->rets[0]);
    assert_int_equal(f->insts[0].call->args[1].kind, WEIR_PTX_OPERAND_F64);
    assert_int_equal(f->insts[0].call->args[1].imm, 0x3ff0000000000000);
    assert_int_equal(regs->rets[0]->reg_index, 0);
    assert_int_equal(regs->params[0]->reg_index, 1);
    assert_int_equal(regs->params[1]->reg_index, 2);
    assert_int_equal(regs->insts[0].operands[0].reg, 0);
    assert_int_equal(regs->insts[0].operands[1].reg, 1);
    assert_int_equal(m->function_count, 4);
    for (size_t i = 0; i < m->function_count; i++)
        assert_int_equal(m->functions[i]->index, i);
    weir_ptx_module_destroy(m);
}

static void frames(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".entry k { .local .align 16 .b8 depot[24]; .local .u64 more; .shared .u32 s; "
                   ".shared .align 32 .b8 t[8];\n"
                   "{ .param .b64 param0; .param .b32 param1; { .param .align 16 .b8 inner[16]; } "
                   "} { .param .b32 param0; .param .b32 x; } ret; }\n");
    const struct weir_ptx_function *k = weir_ptx_find_function(m, "k");

    (void)state;
    assert_int_equal(k->var_count, 9);
    assert_int_equal(k->local_bytes, 32);
    assert_int_equal(k->vars[1]->offset, 24);
    assert_int_equal(k->shared_bytes, 40);
    assert_int_equal(k->vars[3]->offset, 32);
    assert_int_equal(k->vars[5]->offset, 8);
    assert_int_equal(k->vars[6]->offset, 16);
    assert_int_equal(k->vars[7]->offset, 0); /* the first scope's frame is reused */
    assert_int_equal(k->call_param_bytes, 32);
    for (size_t i = 0; i < k->var_count; i++) {
        assert_int_equal(k->vars[i]->index, i);
        assert_int_equal(k->vars[i]->role, WEIR_PTX_VAR_BODY);
        assert_ptr_equal(k->vars[i]->function, k);
    }
    weir_ptx_module_destroy(m);
}

static void debug_directives(void **state)
{
    struct weir_ptx_module *m = parse(
        HEAD ".entry k {\n.loc 1 12 5\nret;\n.loc 2 30 1, function_name $info0, inlined_at 1 13 "
             "2\nret;\n"
             ".loc 1 14 1, function_name info+8, inlined_at 1 2 3\n.pragma \"nounroll\";\nret; }\n"
             ".file 1 \"a.cu\"\n.file 2 \"/x/b \\\"q\\\".h\", 123, 456\n"
             ".section .debug_abbrev\n{\n.b8 1 // not a } brace\n.b32 label+4\n$x:\n}\n.section "
             ".debug_str { }\n");
    const struct weir_ptx_function *k = weir_ptx_find_function(m, "k");

    (void)state;
    assert_int_equal(k->insts[0].file, 1);
    assert_int_equal(k->insts[0].source_line, 12);
    assert_int_equal(k->insts[0].line, 6);
    assert_int_equal(k->insts[1].file, 1); /* where the header's function was called */
    assert_int_equal(k->insts[1].source_line, 13);
    assert_int_equal(k->insts[2].source_line, 14);
    assert_int_equal(m->file_count, 3);
    assert_string_equal(m->files[1], "a.cu");
    weir_ptx_module_destroy(m);
}

static void variables_inside_bodies(void **state)
{
    struct weir_ptx_module *m = parse(
        HEAD ".entry a { .global .u32 hidden = 5; .reg .b64 %rd; mov.u64 %rd, hidden; }\n"
             ".entry b { .const .u32 hidden = 6; .reg .b32 %r; ld.const.u32 %r, [hidden]; }\n");

    (void)state;
    assert_int_equal(m->var_count, 2);
    assert_null(weir_ptx_find_var(m, "hidden"));
    assert_ptr_equal(weir_ptx_find_function(m, "a")->insts[0].operands[1].var, m->vars[0]);
    assert_ptr_equal(weir_ptx_find_function(m, "b")->insts[0].operands[1].var, m->vars[1]);
    weir_ptx_module_destroy(m);
}

static void aliases(void **state)
{
    struct weir_ptx_module *m =
        parse(HEAD ".func (.param .b32 r) a (.param .b32 x);\n.func (.param .b32 r) b (.param .b32 "
                   "x) { ret; }\n"
                   ".global .u64 table = a;\n.entry k { .reg .b32 %r; .reg .b64 %rd; call (%r), a, "
                   "(%r); mov.u64 %rd, a; }\n.alias a, b;\n");
    const struct weir_ptx_function *k = weir_ptx_find_function(m, "k"),
                                   *b = weir_ptx_find_function(m, "b");

    (void)state;
    assert_ptr_equal(weir_ptx_find_function(m, "a"), b);
    assert_ptr_equal(k->insts[0].call->callee, b);
    assert_ptr_equal(k->insts[1].operands[1].function, b);
    assert_ptr_equal(var(m, "table")->relocs[0].function, b);
    weir_ptx_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header),
        cmocka_unit_test(zero_bytes_at_the_end),
        cmocka_unit_test(variables),
        cmocka_unit_test(addresses_in_initial_values),
        cmocka_unit_test(extern_then_defined),
        cmocka_unit_test(kernels),
        cmocka_unit_test(functions),
        cmocka_unit_test(frames),
        cmocka_unit_test(debug_directives),
        cmocka_unit_test(variables_inside_bodies),
        cmocka_unit_test(aliases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
