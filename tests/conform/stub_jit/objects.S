/* The prepared objects, as data. SPDX-License-Identifier: Apache-2.0 */
#define OBJECT(name)                                                                                \
    .globl stub_##name; .globl stub_##name##_end; .balign 16;                                       \
    stub_##name: .incbin OBJECT_##name; stub_##name##_end: .byte 0;

    .section .rodata
OBJECT(empty)
OBJECT(store)
OBJECT(count)
OBJECT(spin)
OBJECT(trap)
OBJECT(hold)
OBJECT(bounded)
OBJECT(turn)
    .section .note.GNU-stack, "", %progbits
