/* A CUDA runtime in miniature, as static as libcudart_static.a: what it returns shows that it, and not Weir, was called.
 * It has every shape of function that patching must handle: with and without ENDBR64, 3 bytes with no room behind, one
 * that is an alias, and one whose name only looks like CUDA's.
 * SPDX-License-Identifier: Apache-2.0 */
    .text
    .macro FUNCTION name
    .globl \name
    .type \name, @function
\name:
    .endm
    .macro END name
    .size \name, . - \name
    .endm

    .p2align 4
FUNCTION cudaMalloc
    endbr64
    movl $1, %eax
    nop
    ret
END cudaMalloc
    .p2align 4
FUNCTION cudaGetDeviceCount /* 5 bytes exactly in front of the next: no room for ENDBR64 */
    xorl %eax, %eax
    incl %eax
    ret
END cudaGetDeviceCount
FUNCTION cudaSetDevice /* 3 bytes */
    xorl %eax, %eax
    ret
END cudaSetDevice
FUNCTION cudaGetDevice /* 3 bytes, and 9 free behind */
    xorl %eax, %eax
    ret
    .skip 9, 0x90
END cudaGetDevice
FUNCTION cudaDeviceSynchronize /* 3 bytes between two that have room */
    xorl %eax, %eax
    ret
END cudaDeviceSynchronize
FUNCTION cudaFree
    .globl cudaFreeAlias
    .type cudaFreeAlias, @function
cudaFreeAlias:
    endbr64
    pushq %rbp
    movq %rsp, %rbp
    movl $1, %eax
    .skip 40, 0x90
    popq %rbp
    ret
END cudaFree
    .p2align 4
FUNCTION cudaMemAdvise
    movl $1, %eax
    ret
    .p2align 4
END cudaMemAdvise
FUNCTION cudaHelper /* the program's own */
    movl $7, %eax
    ret
    .p2align 4
END cudaHelper
#ifdef CUDA12
FUNCTION cudaGetDeviceProperties_v2
    movl $1, %eax
    ret
    .p2align 4
END cudaGetDeviceProperties_v2
#endif
    .section .nv_fatbin, "a"
    .quad 0
    .section .note.GNU-stack, "", @progbits
