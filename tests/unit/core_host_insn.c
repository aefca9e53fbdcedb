/* Tests of core/host_insn: what instructions access, as an assembler encoded them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/host_fault.h"

static const struct {
    const char *text;
    unsigned bytes;
    uint8_t code[15];
} table[] = {
    {"movb (%rax),%cl", 1, {0x8a, 0x08}},
    {"movw %cx,(%rax)", 2, {0x66, 0x89, 0x08}},
    {"movl $-1,(%rax,%rcx,4)", 4, {0xc7, 0x04, 0x88, 0xff, 0xff, 0xff, 0xff}},
    {"movq (%r8),%r9", 8, {0x4d, 0x8b, 0x08}},
    {"addq $1,8(%rax)", 8, {0x48, 0x83, 0x40, 0x08, 0x01}},
    {"cmpb $3,(%rax)", 1, {0x80, 0x38, 0x03}},
    {"movzbl (%rax),%ecx", 1, {0x0f, 0xb6, 0x08}},
    {"movzwl (%rax),%ecx", 2, {0x0f, 0xb7, 0x08}},
    {"movslq (%rax),%rcx", 4, {0x48, 0x63, 0x08}},
    {"movss (%rax),%xmm0", 4, {0xf3, 0x0f, 0x10, 0x00}},
    {"movsd %xmm0,(%rax)", 8, {0xf2, 0x0f, 0x11, 0x00}},
    {"movups (%rax),%xmm1", 16, {0x0f, 0x10, 0x08}},
    {"movdqu %xmm1,(%rax)", 16, {0xf3, 0x0f, 0x7f, 0x08}},
    {"vmovdqu (%rax),%ymm1", 32, {0xc5, 0xfe, 0x6f, 0x08}},
    {"vmovups %zmm1,(%rax)", 64, {0x62, 0xf1, 0x7c, 0x48, 0x11, 0x08}},
    {"vmovdqu64 (%rax),%zmm1{%k1}{z}", 1, {0x62, 0xf1, 0xfe, 0xc9, 0x6f, 0x08}},
    {"vpaddd (%rax),%ymm1,%ymm2", 32, {0xc5, 0xf5, 0xfe, 0x10}},
    {"vaddps (%rax){1to16},%zmm1,%zmm2", 4, {0x62, 0xf1, 0x74, 0x58, 0x58, 0x10}},
    {"vmovss (%rax),%xmm0", 4, {0xc5, 0xfa, 0x10, 0x00}},
    {"addsd (%rax),%xmm0", 8, {0xf2, 0x0f, 0x58, 0x00}},
    {"cvtsi2sdl (%rax),%xmm0", 4, {0xf2, 0x0f, 0x2a, 0x00}},
    {"rep stosb", 1, {0xf3, 0xaa}},
    {"rep movsq", 8, {0xf3, 0x48, 0xa5}},
    {"lock xaddl %ecx,(%rax)", 4, {0xf0, 0x0f, 0xc1, 0x08}},
    {"lock cmpxchg16b (%rax)", 16, {0xf0, 0x48, 0x0f, 0xc7, 0x08}},
    {"fldl (%rax)", 8, {0xdd, 0x00}},
    {"fstpt (%rax)", 10, {0xdb, 0x38}},
    {"movq %xmm0,(%rax)", 8, {0x66, 0x0f, 0xd6, 0x00}},
    {"movntdq %xmm0,(%rax)", 16, {0x66, 0x0f, 0xe7, 0x00}},
    {"cmovel (%rax),%ecx", 4, {0x0f, 0x44, 0x08}},
    {"pushq (%rax)", 8, {0xff, 0x30}},
    {"paddd (%rax),%xmm3", 16, {0x66, 0x0f, 0xfe, 0x18}},
    {"incl (%rax)", 4, {0xff, 0x00}},
    {"vpgatherdd %ymm1,(%rax,%ymm2,4),%ymm3", 1, {0xc4, 0xe2, 0x75, 0x90, 0x1c, 0x90}},
};

static void test_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (weir_host_insn_bytes(table[i].code) != table[i].bytes)
            print_error("%s\n", table[i].text);
        assert_int_equal(weir_host_insn_bytes(table[i].code), table[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
