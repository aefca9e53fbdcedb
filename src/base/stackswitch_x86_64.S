/* uint32_t weir_stack_switch(struct weir_stack *s, void *top, void (*run)(void *), void *arg)
 * void weir_stack_switch_back(struct weir_stack *s, uint32_t value)
 * Stack pointer of the caller is kept in s->return_sp (offset 0); everything callee-saved stands on the caller's stack, so
 * coming back needs nothing but that pointer. rbp is the frame's base for unwinding while the other stack runs.
 * SPDX-License-Identifier: Apache-2.0 */
    .text
    .globl weir_stack_switch
    .hidden weir_stack_switch
    .type weir_stack_switch, @function
    .p2align 4
weir_stack_switch:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rdi, %rbx
    movq %rsi, %rsp
    movq %rcx, %rdi
    callq *%rdx
    movq (%rbx), %rsp
    xorl %eax, %eax
    jmp .Lback
    .globl weir_stack_switch_back
    .hidden weir_stack_switch_back
    .type weir_stack_switch_back, @function
/* rdi: the stack, esi: what weir_stack_switch returns. Reached by a call, and from signal handlers: in the middle of
 * anything, so that all control words are put back. Who returned has kept x87's, as calls do. */
weir_stack_switch_back:
    movq (%rdi), %rsp
    movl %esi, %eax
    cld
    fldcw 4(%rsp)
.Lback:
    ldmxcsr (%rsp)
    addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa %rsp, 8
    retq
    .cfi_endproc
    .size weir_stack_switch, . - weir_stack_switch
    .section .note.GNU-stack,"",@progbits
