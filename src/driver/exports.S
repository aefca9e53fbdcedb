/* libcuda.so.1: CUDA's names, each a jump to Weir's function in libweir.so. Made from api/driver.def.
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

#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, body, params, args) ROWS_##variant(cu##symbol)
#define WEIR_DRV_TODO(chapter, variant, why, since, name, symbol)                       ROWS_##variant(cu##symbol)

    .text
#include "driver.def"
    .section .note.GNU-stack, "", %progbits
