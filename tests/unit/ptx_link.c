/* Linking of units: which definition stays, what is private, what contradicts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/link.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define MAX  4

static struct weir_ptx_error error;

static enum weir_err link_texts(struct weir_ptx_module **out, ...)
{
    static char names[MAX][16];
    struct weir_ptx_unit units[MAX];
    size_t n = 0;
    const char *text;
    va_list ap;

    va_start(ap, out);
    while ((text = va_arg(ap, const char *)) != NULL) {
        char full[4096];

        snprintf(full, sizeof full, "%s%s", HEAD, text);
        snprintf(names[n], sizeof names[n], "u%zu.cu", n);
        units[n].name = names[n];
        if (weir_ptx_parse(full, strlen(full), &units[n].module, &error) != WEIR_OK)
            fail_msg("unit %zu: line %d: %s", n, error.line, error.message);
        n++;
    }
    va_end(ap);
    return weir_ptx_link(units, n, out, &error);
}

#define LINK(...) link_texts(__VA_ARGS__, (const char *)NULL)

/* What unit text's call number n goes to. */
static const struct weir_ptx_function *callee(const struct weir_ptx_function *f, size_t n)
{
    for (size_t i = 0; i < f->inst_count; i++) {
        if (f->insts[i].call && n-- == 0)
            return f->insts[i].call->callee;
    }
    fail_msg("%s has no such call", f->name);
    return NULL;
}

static const struct weir_ptx_var *address_of(const struct weir_ptx_function *f)
{
    for (size_t i = 0; i < f->inst_count; i++) {
        for (unsigned k = 0; k < f->insts[i].operand_count; k++) {
            if (f->insts[i].operands[k].var)
                return f->insts[i].operands[k].var;
        }
    }
    fail_msg("%s names no variable", f->name);
    return NULL;
}

static void test_extern(void **state)
{
    struct weir_ptx_module *m;
    const struct weir_ptx_function *k, *f;
    const struct weir_ptx_var *table;

    (void)state;
    assert_int_equal(LINK(&m,
                          ".extern .func (.param .b32 r) f(.param .b32 a);\n"
                          ".extern .global .align 4 .u32 x;\n"
                          ".visible .global .align 8 .u64 table[2] = {f, x};\n"
                          ".visible .entry k() { .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                          " mov.u64 %d1, x; ld.global.u32 %r1, [x+4];\n"
                          " { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;\n"
                          " call.uni (r), f, (a); } ret; }",
                          ".visible .global .align 4 .u32 x = 7;\n"
                          ".visible .func (.param .b32 r) f(.param .b32 a) { ret; }"),
                     WEIR_OK);
    assert_int_equal(m->unit_count, 2);
    k = weir_ptx_find_function(m, "k");
    f = weir_ptx_find_function(m, "f");
    table = weir_ptx_find_var(m, "table");
    assert_false(f->is_extern);
    assert_ptr_equal(f->module, m);
    assert_ptr_equal(callee(k, 0), f);
    assert_ptr_equal(address_of(k), weir_ptx_find_var(m, "x"));
    assert_non_null(address_of(k)->init);
    assert_ptr_equal(table->relocs[0].function, f);
    assert_ptr_equal(table->relocs[1].var, address_of(k));
    assert_int_equal(m->function_count, 2); /* declarations that were resolved are gone */
    assert_int_equal(m->var_count, 2);
    for (size_t i = 0; i < m->var_count; i++)
        assert_int_equal(m->vars[i]->index, i);
    for (size_t i = 0; i < m->function_count; i++)
        assert_int_equal(m->functions[i]->index, i);
    weir_ptx_module_destroy(m);
}

static void test_private(void **state)
{
#define PRIVATE(name, value)                                                                       \
    ".global .align 4 .u32 v = " value ";\n"                                                       \
    ".shared .align 16 .b8 s[24];\n"                                                               \
    ".func h() { ret; }\n.entry own() { ret; }\n"                                                  \
    ".visible .entry " name "() { .reg .b64 %d<2>; mov.u64 %d1, v; call.uni h; ret; }"
    struct weir_ptx_module *m;
    const struct weir_ptx_function *a, *b;

    (void)state;
    assert_int_equal(LINK(&m, PRIVATE("a", "1"), PRIVATE("b", "2")), WEIR_OK);
    a = weir_ptx_find_function(m, "a");
    b = weir_ptx_find_function(m, "b");
    assert_ptr_not_equal(callee(a, 0), callee(b, 0));
    assert_int_equal(address_of(a)->init[0], 1);
    assert_int_equal(address_of(b)->init[0], 2);
    assert_int_equal(m->function_count, 6);
    assert_int_equal(m->shared_bytes, 32 + 24);
    /* the first one answers to the name */
    assert_ptr_equal(weir_ptx_find_var(m, "v"), address_of(a));
    weir_ptx_module_destroy(m);

    /* a private one never stands in for a shared one of its name */
    assert_int_equal(LINK(&m, ".func f() { ret; }\n.visible .entry a() { call.uni f; ret; }",
                          ".extern .func f();\n.visible .entry b() { call.uni f; ret; }",
                          ".visible .func f() { exit; }"),
                     WEIR_OK);
    a = weir_ptx_find_function(m, "a");
    b = weir_ptx_find_function(m, "b");
    assert_false(callee(a, 0)->is_visible);
    assert_true(callee(b, 0)->is_visible);
    assert_ptr_equal(weir_ptx_find_function(m, "f"), callee(b, 0));
    weir_ptx_module_destroy(m);
}

static void test_weak(void **state)
{
    static const char weak[] = ".weak .func f() { ret; }\n.weak .global .align 4 .u32 x = 3;\n"
                               ".weak .entry t() { .reg .b64 %d<2>; mov.u64 %d1, x; ret; }\n"
                               ".visible .entry use() { call.uni f; ret; }";
    struct weir_ptx_module *m;

    (void)state;
    assert_int_equal(LINK(&m, weak, ".weak .func f() { exit; }\n.weak .entry t() { ret; }"),
                     WEIR_OK);
    assert_int_equal(m->function_count, 3);
    assert_int_equal(weir_ptx_find_function(m, "t")->inst_count, 2); /* the first */
    weir_ptx_module_destroy(m);

    assert_int_equal(
        LINK(&m, weak, ".visible .func f() { exit; }\n.visible .global .align 4 .u32 x = 9;"),
        WEIR_OK);
    assert_ptr_equal(callee(weir_ptx_find_function(m, "use"), 0), weir_ptx_find_function(m, "f"));
    assert_true(weir_ptx_find_function(m, "f")->is_visible);
    assert_int_equal(address_of(weir_ptx_find_function(m, "t"))->init[0], 9);
    weir_ptx_module_destroy(m);

    assert_int_equal(LINK(&m, ".common .global .align 4 .b8 c[8];",
                          ".common .global .align 4 .b8 c[32];",
                          ".extern .global .align 4 .b8 c[];\n"
                          ".visible .entry k() { .reg .b64 %d<2>; mov.u64 %d1, c; ret; }"),
                     WEIR_OK);
    assert_int_equal(address_of(weir_ptx_find_function(m, "k"))->bytes, 32);
    assert_int_equal(m->var_count, 1);
    weir_ptx_module_destroy(m);
}

static void test_undefined(void **state)
{
    struct weir_ptx_module *m;

    (void)state;
    assert_int_equal(LINK(&m, ".extern .func f();\n.visible .entry k() { call.uni f; ret; }",
                          ".extern .func f();\n.extern .shared .align 4 .b8 dynamic[];\n"
                          ".visible .entry b() { call.uni f; ret; }",
                          ".extern .shared .align 8 .b8 dynamic[];"),
                     WEIR_OK);
    assert_true(callee(weir_ptx_find_function(m, "k"), 0)->is_extern);
    assert_ptr_equal(callee(weir_ptx_find_function(m, "k"), 0),
                     callee(weir_ptx_find_function(m, "b"), 0));
    weir_ptx_module_destroy(m);
}

static void test_alias(void **state)
{
    struct weir_ptx_module *m;
    const struct weir_ptx_function *f;

    (void)state;
    assert_int_equal(LINK(&m,
                          ".extern .func other();\n.visible .entry k() { call.uni other; ret; }",
                          ".weak .func f();\n.visible .func other();\n"
                          ".weak .func f() { ret; }\n.alias other, f;",
                          ".visible .func f() { exit; }"),
                     WEIR_OK);
    f = weir_ptx_find_function(m, "f");
    assert_true(f->is_visible);
    assert_ptr_equal(callee(weir_ptx_find_function(m, "k"), 0), f);
    assert_ptr_equal(weir_ptx_find_function(m, "other"), f);
    weir_ptx_module_destroy(m);

    assert_int_equal(LINK(&m,
                          ".visible .func a();\n.weak .func b() { ret; }\n.alias a, b;\n"
                          ".visible .entry k() { call.uni a; ret; }",
                          ".visible .func b();\n.weak .func a() { ret; }\n.alias b, a;"),
                     WEIR_ERR_INVALID_PTX);
    assert_null(m);
}

static void expect(enum weir_err err, const char *words)
{
    assert_int_equal(err, WEIR_ERR_INVALID_PTX);
    if (!strstr(error.message, words) || !strstr(error.message, "u0.cu") ||
        !strstr(error.message, "u1.cu"))
        fail_msg("\"%s\" does not say \"%s\" and both units", error.message, words);
}

static void test_contradictions(void **state)
{
    struct weir_ptx_module *m;

    (void)state;
    expect(LINK(&m, ".visible .func f() { ret; }", ".visible .func f() { ret; }"),
           "two definitions of function f");
    expect(LINK(&m, ".visible .global .u32 x;", ".visible .global .u32 x;"),
           "two definitions of variable x");
    expect(LINK(&m, ".visible .global .u32 x;", ".extern .const .u32 x;"),
           "different kinds of memory for variable x");
    expect(LINK(&m, ".extern .global .u64 x[3];", ".visible .global .u64 x[2];"),
           "different sizes of variable x");
    expect(LINK(&m, ".extern .func f(.param .b32 a);", ".visible .func f(.param .b64 a) { ret; }"),
           "different parameters of function f");
    expect(LINK(&m, ".extern .global .u32 x;", ".visible .func x() { ret; }"), "both called x");
    expect(LINK(&m, ".extern .func x();", ".visible .global .u32 x;"), "both called x");
    assert_null(m);
}

static void test_places(void **state)
{
    struct weir_ptx_module *m;
    const struct weir_ptx_inst *i;

    (void)state;
    assert_int_equal(LINK(&m, ".file 1 \"a.cu\"\n.visible .entry a() {\n.loc 1 5 0\nret; }",
                          ".file 1 \"b.cu\"\n.visible .entry b() {\n.loc 1 6 0\nret; }"),
                     WEIR_OK);
    i = &weir_ptx_find_function(m, "b")->insts[0];
    assert_int_equal(i->source_line, 6);
    assert_string_equal(m->files[i->file], "b.cu");
    weir_ptx_module_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extern), cmocka_unit_test(test_private),
        cmocka_unit_test(test_weak),   cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_alias),  cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
