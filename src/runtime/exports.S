/* libcudart.so.13: CUDA's names, each a jump to Weir's function in libweir.so. Made from api/runtime.def.
 * SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)
#define STUB(name)                                                                                  \
    .globl name; .type name, @function; .balign 16; name: .cfi_startproc; endbr64;                  \
    jmp *weir_api_##name@GOTPCREL(%rip); .cfi_endproc; .size name, .-name;
#elif defined(__aarch64__)
#define STUB(name)                                                                                  \
    .globl name; .type name, %function; .balign 16; name: .cfi_startproc; bti c;                    \
    adrp x16, :got:weir_api_##name; ldr x16, [x16, :got_lo12:weir_api_##name]; br x16;              \
    .cfi_endproc; .size name, .-name;
#else
#error "no stubs for this processor"
#endif

#define ROWS_NONE(name) STUB(name)
#define ROWS_PTSZ(name) STUB(name) STUB(name##_ptsz)
#define ROWS_PTDS(name) STUB(name) STUB(name##_ptds)

#define WEIR_API(chapter, status, guard, variant, name, params, args)     ROWS_##variant(cuda##name)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args) ROWS_##variant(cuda##name)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)     ROWS_##variant(__cuda##name)
#define WEIR_API_REGISTER(status, ret, name, params, args)                ROWS_NONE(__cuda##name)

    .text
#include "runtime.def"
    .section .note.GNU-stack, "", %progbits
