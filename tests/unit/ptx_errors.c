/* Texts that must be refused, with the place and a word of the message. The place is line:column.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ptx/ptx.h"

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"

struct refusal {
    const char *text;
    int line, column; /* 0: not checked */
    const char *words;
};

static void refuse(const struct refusal *c, const char *before, const char *after)
{
    size_t n = strlen(before) + strlen(c->text) + strlen(after) + 1;
    char *text = malloc(n);
    struct weir_ptx_error e;
    struct weir_ptx_module *m = (struct weir_ptx_module *)1;

    assert_non_null(text);
    snprintf(text, n, "%s%s%s", before, c->text, after);
    if (weir_ptx_parse(text, n - 1, &m, &e) == WEIR_OK)
        fail_msg("accepted: %s", c->text);
    assert_null(m);
    if (!strstr(e.message, c->words))
        fail_msg("'%s' gives '%s', not '%s'", c->text, e.message, c->words);
    if (c->line && (e.line != c->line || e.column != c->column))
        fail_msg("'%s' at %d:%d, not %d:%d", c->text, e.line, e.column, c->line, c->column);
    free(text);
}

/* Instructions that came after the module's version or target; each is accepted one later. */
static void in_older_modules(void **state)
{
    static const struct {
        const char *before, *since, *text, *words;
    } cases[] = {
        {".version 6.1\n.target sm_70\n", ".version 6.2\n.target sm_70\n", "activemask.b32 %r1;",
         "activemask needs .version 6.2 or later, the module says 6.1"},
        {".version 7.0\n.target sm_75\n", ".version 7.0\n.target sm_80\n",
         "redux.sync.add.s32 %r1, %r2, -1;",
         "redux needs .target sm_80 or higher, the module says sm_75"},
        {".version 6.5\n.target sm_80\n", ".version 7.0\n.target sm_80\n",
         "cp.async.ca.shared.global [%r1], [%rd1], 4;",
         "cp needs .version 7.0 or later, the module says 6.5"},
        {".version 7.8\n.target sm_80\n", ".version 7.8\n.target sm_90\n", "griddepcontrol.wait;",
         "griddepcontrol needs .target sm_90 or higher, the module says sm_80"},
        {".version 7.0\n.target sm_70\n", ".version 7.0\n.target sm_75\n",
         "tanh.approx.f32 %f1, %f1;", "tanh needs .target sm_75"},
    };
    char text[512];

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const struct refusal c = {cases[k].text, 4, 1, cases[k].words};
        static const char kernel[] = ".entry k() { .reg .b32 %r<3>; .reg .b64 %rd<2>; "
                                     ".reg .f32 %f<2>;\n";
        struct weir_ptx_error e;
        struct weir_ptx_module *m;

        snprintf(text, sizeof text, "%s%s", cases[k].before, kernel);
        refuse(&c, text, "\nret; }");
        snprintf(text, sizeof text, "%s%s%s\nret; }", cases[k].since, kernel, cases[k].text);
        if (weir_ptx_parse(text, strlen(text), &m, &e) != WEIR_OK)
            fail_msg("refused: %s: %s", cases[k].text, e.message);
        weir_ptx_module_destroy(m);
    }
}

static void in_module(void **state)
{
    static const struct refusal cases[] = {
        {".global .u32 x", 0, 0, "';' expected"},
        {".global .u32 x; .global .u32 x;", 4, 31, "defined twice"},
        {".global x;", 0, 0, "type expected"},
        {".global .u99 x;", 4, 9, "'.u99' in a declaration"},
        {".global .pred x;", 0, 0, "predicates"},
        {".global .align 3 .u32 x;", 0, 0, "power of two"},
        {".global .u32 x[0];", 0, 0, "no elements"},
        {".global .u32 x[];", 0, 0, "no size"},
        {".global .u32 x[2][];", 0, 0, "first dimension"},
        {".global .u32 x[1000000000000][1000000000000];", 0, 0, "too large"},
        {".global .u32 x[2] = {1, 2, 3};", 0, 0, "more initial values"},
        {".global .u32 x[2] = {{1}};", 0, 0, "more braces"},
        {".global .u32 x = {1, 2};", 0, 0, ""},
        {".global .u32 x = 1.5;", 0, 0, "floating-point value"},
        {".global .u16 x = y;", 0, 0, "address needs"},
        {".global .u64 x = y;\n", 4, 18, "'y' in an initial value is not defined"},
        {".global .u8 x[2] = {0xF0(y)};", 0, 0, "mask"},
        {".shared .u32 x = 3;", 0, 0, "initial values"},
        {".global .u32 x = 1/0;", 0, 0, "divided by zero"},
        {".global .u32 x = 99999999999999999999;", 4, 18, "64 bits"},
        {".global .f32 x = 0f123;", 0, 0, "8 hexadecimal digits"},
        {".global .u32 x = 08;", 0, 0, "in a number"},
        {".global .u32 x = 0x;", 0, 0, "digits expected"},
        {".entry k { ret; } .entry k { ret; }", 0, 0, "defined twice"},
        {".func f (.param .b32 a); .func f (.param .b64 a) { ret; }", 0, 0, "declared differently"},
        {".extern .global .u32 x; .global .u64 x;", 0, 0, "declared differently"},
        {".entry k { ret;", 0, 0, "without its end"},
        {".entry k { { ret; }", 0, 0, "without its end"},
        {".nonsense x;", 4, 1, "unknown directive '.nonsense'"},
        {"hello", 4, 1, "directive expected"},
        {".entry k (.param .b32 a, .param .b32 a) { ret; }", 0, 0, "defined twice"},
        {".entry k () .weird { }", 0, 0, "'.weird'"},
        {".section .debug { .b8 1", 0, 0, "section without its end"},
        {".file 99999999 \"a\"", 0, 0, "out of range"},
        {".file 1 \"abc\n", 0, 0, "string without its end"},
        {".alias a, b;", 0, 0, "no function"},
        {".func a; .func b; .alias a, b;", 0, 0, ".alias needs"},
        {".address_size 32", 0, 0, "32-bit"},
        {".target banana", 0, 0, "unknown target"},
        {".target sm_80x", 0, 0, "unknown target"},
        {".global .u32 x = "
         "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
         0, 0, "too deep"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i], HEAD, "");
}

static void in_headers(void **state)
{
    static const struct refusal cases[] = {
        {"", 1, 1, "begins with .version"},
        {".target sm_80", 1, 1, "begins with .version"},
        {".version 8", 0, 0, "a version such as"},
        {".version 8.5\n.global .u32 x;", 0, 0, ".target must stand"},
        {"\x7f"
         "ELF",
         0, 0, "directive expected"},
    };
    struct weir_ptx_error e;
    struct weir_ptx_module *m;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i], "", "");
    assert_int_equal(weir_ptx_parse(".version 10.1", 13, &m, &e), WEIR_ERR_UNSUPPORTED_PTX_VERSION);
    assert_int_equal(weir_ptx_parse(".version 8.1", 12, &m, &e), WEIR_OK);
    weir_ptx_module_destroy(m);
}

static void in_bodies(void **state)
{
    static const struct refusal cases[] = {
        {"frobnicate.u32 %r1, %r2;", 8, 1, "unknown instruction 'frobnicate.u32'"},
        {"  add.s32 %r1, %r2;", 8, 3, "3 operands are needed, found 2"},
        {"add.s32 %r1, %r2, %r3, %r4;", 0, 0, "3 operands"},
        {"add.s32 %rd1, %rd2, %rd3;", 0, 0, "operand 1 ('%rd1') has type .b64, .s32 is needed"},
        {"add.s32 %r1, %r2, %f1;", 0, 0, "operand 3"},
        {"add.f32 %f1, %f2, %u1;", 0, 0, "operand 3"},
        {"add.f32 %f1, %f2, 1;", 0, 0, "wrong kind"},
        {"add.s32 %r1, %r2, 1.0;", 0, 0, "wrong kind"},
        {"add.s32 %r1, %r2, 0f00000000;", 0, 0, "wrong kind"},
        {"add.s32 5, %r2, %r3;", 0, 0, "must be a register"},
        {"add.s32 _, %r2, %r3;", 0, 0, "'_'"},
        {"add.s32 %r1, %nope, 1;", 8, 14, "'%nope' is not defined"},
        {"add.s32 %r1, %r9, 1;", 0, 0, "'%r9' is not defined"},
        {"add.s32 %r1, %r2, {%r1, %r2};", 0, 0, ""},
        {"add %r1, %r2, %r3;", 0, 0, "type is missing"},
        {"add..s32 %r1, %r2, %r3;", 0, 0, "empty modifier"},
        {"add.s32 %r1 %r2, %r3;", 8, 13, "';' expected"},
        {"@%r1 bra L; L:", 0, 0, "guard '%r1' is no predicate"},
        {"@%nope bra L; L:", 0, 0, "not a register"},
        {"@%p1 L:", 0, 0, ""},
        {"bra NOWHERE;", 8, 5, "label 'NOWHERE' is not defined"},
        {"bra IN; { IN: }", 0, 0, "label 'IN' is not defined"},
        {"L: L:", 0, 0, "defined twice"},
        {".reg .b32 %r1;", 0, 0, "defined twice"},
        {".reg .b32 %r<3>;", 0, 0, "defined twice"},
        {".reg .b32 %x<0>;", 0, 0, "number of registers"},
        {".reg .b32 %x<99999999>;", 0, 0, "number of registers"},
        {"ld.global.u32 %f1, [%rd1];", 0, 0, "operand 1"},
        {"ld.global.u32 %h1, [%rd1];", 0, 0, "operand 1"},
        {"ld.global.f32 %fd1, [%rd1];", 0, 0, "operand 1"},
        {"ld.global.u32 %r1, %rd1;", 0, 0, "address in brackets"},
        {"ld.global.u32 %r1, [%r2];", 0, 0, "64-bit integer"},
        {"ld.shared.u32 %r1, [gv];", 0, 0, "another state space"},
        {"ld.global.v2.u32 %r1, [%rd1];", 0, 0, "must be a vector"},
        {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", 0, 0, "number of elements"},
        {"ld.global.u32 {%r1, %r2}, [%rd1];", 0, 0, "number of elements"},
        {"st.global.f32 [%rd1], 5;", 0, 0, "wrong kind"},
        {"st.global.u32 [%rd1], _;", 0, 0, "'_'"},
        {"mov.b64 %rd1, {%r1, %h1};", 0, 0, "add up"},
        {"mov.u64 %rd1, {%r1, %r2};", 0, 0, ".bN type"},
        {"mov.u32 %r1, %clock64.x;", 0, 0, "no vector"},
        {"mov.u32 %r1, %tid.q;", 0, 0, ""},
        {"mov.f32 %f1, %tid.x;", 0, 0, "special register"},
        {"mov.u64 %rd1, %tid.x;", 0, 0, "special register"},
        {"cvt.f32.s32 %f1, %r1;", 0, 0, "rounding"},
        {"cvt.s32.f32 %r1, %f1;", 0, 0, "rounding"},
        {"cvt.rn.f32.s32 %fd1, %r1;", 0, 0, "operand 1"},
        {"div.f32 %f1, %f2, %f3;", 0, 0, "rounding"},
        {"mul.s32 %r1, %r2, %r3;", 0, 0, "modifier"},
        {"mul.wide.s64 %rd1, %rd2, %rd3;", 0, 0, ".wide"},
        {"mul.wide.s32 %r1, %r2, %r3;", 0, 0, "operand 1"},
        {"setp.s32 %p1, %r1, %r2;", 0, 0, "comparison is missing"},
        {"setp.ltu.s32 %p1, %r1, %r2;", 0, 0, "floating-point operands"},
        {"setp.lo.f32 %p1, %f1, %f2;", 0, 0, "needs integers"},
        {"setp.eq.s32 %r1, %r1, %r2;", 0, 0, "must be a predicate"},
        {"setp.eq.s32 %p1|%r1, %r1, %r2;", 0, 0, "must be a predicate"},
        {"setp.eq.and.s32 %p1, %r1, %r2;", 0, 0, "4 operands"},
        {"add.s32 %r1|%p1, %r2, %r3;", 0, 0, "second destination"},
        {"selp.u32 %f1, %f2, %f3, %p1;", 0, 0, "operand 1"},
        {"add.pred %p1, %p2, %p3;", 0, 0, "predicates"},
        {"add.s32 %r1, !%r2, 1;", 0, 0, "'!' needs a predicate"},
        {"shl.b64 %rd1, %rd2, %rd3;", 0, 0, "operand 3"},
        {"shf.l.b32 %r1, %r2, %r3, %r4;", 0, 0, ".clamp or .wrap"},
        {"lop3.b32 %r1, %r2, %r3, %r4, %r5;", 0, 0, "integer constant"},
        {"atom.global.u32 %r1, [%rd1], 1;", 0, 0, "modifier"},
        {"atom.global.cas.b32 %r1, [%rd1], 1;", 0, 0, "operands are needed"},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31;", 0, 0, "5 operands"},
        {"bar.sync;", 0, 0, "1 or 2 operands"},
        {"bar 0;", 0, 0, ".sync"},
        {"bar.arrive 0;", 0, 0, "2 operands"},
        {"bar.red.and.pred %p1, 0, %r1;", 0, 0, "must be a predicate"},
        {"call nobody;", 0, 0, "'nobody' is not defined"},
        {"call (%r1), callee, (%rd1);", 0, 0, "2 parameters, the call 1"},
        {"call callee, (%rd1, %r1);", 0, 0, "1 results, the call 0"},
        {"call (%r1), callee, (%f1, %r1);", 0, 0, "parameter 1 does not fit"},
        {"call %rd1;", 0, 0, ".callprototype"},
        {"call %r1, (), proto; ", 0, 0, ""},
        {"call k2;", 0, 0, "kernel"},
        {"brx.idx %r1, L; L:", 0, 0, ""},
        {"T: .branchtargets Q; ret;", 0, 0, "label 'Q' is not defined"},
        {".reg .texref %t;", 0, 0, "cannot have this type"},
        {".entry x { }", 0, 0, "inside a function"},
        {"ld.global.u32 %r1, [%rd1", 0, 0, "']' expected"},
        {"ld.global.u32 %r1, [callee];", 0, 0, "an address must be"},
        {"mov.u32 %r1, ;", 0, 0, "constant expected"},
        {"mov.u32 %r1, \x01;", 0, 0, "constant expected"},
        {"?", 8, 1, "unexpected '?'"},
        {".loc 1 2", 0, 0, ""},
        {"wgmma.x {%r1, {%r2}}, [[%rd1]];", 0, 0, ""},
    };
    static const char before[] =
        HEAD ".global .u32 gv;\n.func (.param .b32 r) callee (.param .b64 a, .param .b32 "
             "b);\n.entry k2 { ret; }\n.entry k {"
             ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .u32 %u<9>; .reg .b64 %rd<9>; .reg .f64 "
             "%fd<9>; .reg .b16 %h<9>; .reg .pred %p<9>;\n";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i], before, "\n ret; }\n");
}

static void deep_nesting(void **state)
{
    char text[4096] = HEAD ".entry k {";

    (void)state;
    for (int i = 0; i < 100; i++)
        strcat(text, "{");
    refuse(&(struct refusal){text, 0, 0, "nested scopes"}, "", "");
    strcpy(text, HEAD ".entry k { .reg .b32 %r; wgmma.x ");
    for (int i = 0; i < 100; i++)
        strcat(text, "{");
    refuse(&(struct refusal){text, 0, 0, "too deep"}, "", "");
    strcpy(text, HEAD ".global .u32 x = ");
    for (int i = 0; i < 100; i++)
        strcat(text, "1?");
    refuse(&(struct refusal){text, 0, 0, "too deep"}, "", "");
    strcpy(text, HEAD ".global .u32 x = ");
    for (int i = 0; i < 100; i++)
        strcat(text, "-");
    refuse(&(struct refusal){text, 0, 0, "too deep"}, "", "");
}

/* A few characters must not make gigabytes. */
static void floods(void **state)
{
    static const struct refusal cases[] = {
        {".entry k { .reg .b32 %a<1000000>; .reg .b32 %b<1000000>; }", 0, 0,
         "registers in a function"},
        {".entry k { .local .b8 a[2000000000]; }", 0, 0, "bytes of .local memory"},
        {".global .b8 a[1000000000000] = {1};", 0, 0, ""},
        {".entry k { T: .branchtargets L<65536>, M<65536>; }", 0, 0, "branch targets"},
    };
    char *many = malloc(200000);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i], HEAD, "");
    assert_non_null(many);
    strcpy(many, HEAD ".entry k { .reg .b32 %r; wgmma.x {%r");
    for (size_t n = strlen(many); n < 199000; n += 3)
        memcpy(many + n, ",%r", 4);
    refuse(&(struct refusal){many, 0, 0, "elements"}, "", "");
    free(many);
}

/* Every allocation may fail: an error, nothing leaks (the sanitizer build looks). */
static void out_of_memory(void **state)
{
    static const char text[] = HEAD ".global .u32 x[3] = {1, 2, 3}; .global .u64 p[2] = {x, x};\n"
                                    ".entry k (.param .u64 a) { .reg .b32 %r<5>; .reg .pred %p; L: "
                                    "add.s32 %r1, %r2, %r3; @%p bra L; ret; }\n";
    long n = 1;

    (void)state;
    for (;; n++) {
        struct weir_ptx_module *m = NULL;
        struct weir_ptx_error e;
        enum weir_err err;

        weir_alloc_fail_after(n);
        err = weir_ptx_parse(text, sizeof text - 1, &m, &e);
        weir_alloc_fail_after(0);
        if (err == WEIR_OK) {
            weir_ptx_module_destroy(m);
            break;
        }
        assert_int_equal(err, WEIR_ERR_MEMORY_ALLOCATION);
        assert_null(m);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_headers),       cmocka_unit_test(in_module),
        cmocka_unit_test(in_older_modules), cmocka_unit_test(in_bodies),
        cmocka_unit_test(deep_nesting),     cmocka_unit_test(floods),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
