/* Which parameters a kernel only reads through.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/reads.h"
#include "support/ptx_text.h"

#define HEAD                                                                                       \
    ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .global .align 4 "                   \
    ".attribute(.managed) .u32 m;\n.func g(.param .b64 p) { ret; }\n"                              \
    ".entry k(.param .u64 a, .param .u64 b, .param .align 8 .b8 c[16]) {\n"                        \
    ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<40>; .reg .pred %p<3>; .local .b64 l[2];\n"   \
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c+8];\n"                  \
    "cvta.to.global.u64 %rd1, %rd1;\n"

static uint64_t reads(const char *body)
{
    char text[2048];
    struct weir_ptx_error e;
    struct weir_ptx_module *m = NULL;
    uint64_t bits;

    snprintf(text, sizeof text, "%s%s ret; }\n", HEAD, body);
    if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
        fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.message, text);
    bits = weir_ptx_reads(weir_ptx_find_function(m, "k")) & 7;
    weir_ptx_module_destroy(m);
    return bits;
}

static void loads(void **state)
{
    (void)state;
    assert_int_equal(reads(""), 7);
    assert_int_equal(
        reads("ld.global.u32 %r1, [%rd1]; add.u64 %rd4, %rd2, 64; ld.u32 %r2, [%rd4];"), 7);
    assert_int_equal(reads("prefetch.global.L2 [%rd1]; ldu.global.u32 %r1, [%rd1+4];"), 7);
    /* what is loaded is another address */
    assert_int_equal(reads("ld.global.u64 %rd4, [%rd1]; st.u32 [%rd4], 1;"), 7);
    assert_int_equal(
        reads("ld.global.u32 %r1, [%rd1]; mad.wide.u32 %rd4, %r1, 4, %rd2; st.u32 [%rd4], 1;"), 5);
}

static void stores(void **state)
{
    (void)state;
    assert_int_equal(reads("st.global.u32 [%rd1+4], 1;"), 6);
    assert_int_equal(reads("mov.u64 %rd4, %rd2; add.u64 %rd4, %rd4, 4; st.u32 [%rd4], 1;"), 5);
    assert_int_equal(reads("st.u32 [%rd3], 1;"), 3);
    assert_int_equal(reads("red.global.add.u32 [%rd1], 1;"), 6);
    assert_int_equal(reads("atom.add.u32 %r1, [%rd2], 1;"), 5);
    assert_int_equal(reads("selp.b64 %rd4, %rd1, %rd2, %p1; st.u32 [%rd4], 1;"), 4);
    /* in a loop the address comes from behind */
    assert_int_equal(reads("mov.u64 %rd5, 0; L: st.u32 [%rd5], 1; mov.u64 %rd5, %rd4; mov.u64 "
                           "%rd4, %rd1; @%p1 bra L;"),
                     6);
}

static void escapes(void **state)
{
    (void)state;
    assert_int_equal(reads("st.local.u64 [l], %rd1;"), 6);
    assert_int_equal(reads("st.global.u64 [%rd1], %rd2;"), 4);
    assert_int_equal(reads("{ .param .b64 q; st.param.b64 [q], %rd2; call g, (q); }"), 5);
    /* a parameter by its place */
    assert_int_equal(reads("mov.b64 %rd4, b; ld.param.u64 %rd5, [%rd4]; st.u32 [%rd5], 1;"), 5);
}

static bool more(const char *body)
{
    char text[2048];
    struct weir_ptx_error e;
    struct weir_ptx_module *m = NULL;
    bool got;

    snprintf(text, sizeof text, "%s%s ret; }\n", HEAD, body);
    if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
        fail_msg("%d:%d: %s in\n%s", e.line, e.column, e.message, text);
    got = weir_ptx_reaches_more(weir_ptx_find_function(m, "k"));
    weir_ptx_module_destroy(m);
    return got;
}

static void what_no_parameter_points_to(void **state)
{
    (void)state;
    assert_false(more(""));
    assert_false(more("st.global.u32 [%rd1], 1; ld.u32 %r1, [%rd2]; st.u32 [%rd3], %r1;"));
    assert_false(more("ld.u32 %r1, [%rd1]; mad.wide.u32 %rd4, %r1, 4, %rd2; st.u32 [%rd4], 1;"));
    assert_false(more("ld.u64 %rd4, [%rd1]; st.u64 [%rd2], %rd4;"));
    assert_true(more("ld.u64 %rd4, [%rd1]; st.u32 [%rd4], 1;"));
    assert_true(more("ld.u64 %rd4, [%rd1]; add.u64 %rd5, %rd4, 8; ld.u32 %r1, [%rd5];"));
    assert_true(more("mov.u64 %rd5, %rd2; L: ld.u32 %r1, [%rd5]; mov.u64 %rd5, %rd4; ld.u64 %rd4, "
                     "[%rd1]; @%p1 bra L;"));
    assert_true(more("atom.exch.b64 %rd4, [%rd1], 0; st.u32 [%rd4], 1;"));
    assert_true(more("{ .param .b64 q; st.param.b64 [q], %rd2; call g, (q); }"));
    assert_true(more("st.global.u32 [m], 1;"));
    assert_true(more("mov.u64 %rd4, m; st.global.u32 [%rd4], 1;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),
        cmocka_unit_test(stores),
        cmocka_unit_test(escapes),
        cmocka_unit_test(what_no_parameter_points_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
