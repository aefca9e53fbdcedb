/* libcudart.so.13 and (with -DCUDA12) libcudart.so.12: CUDA's names, each a jump to Weir's function in libweir.so. Made from
 * api/runtime.def.
 * SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)
#define STUB_TO(name, target)                                                                                  \
    .globl name; .type name, @function; .balign 16; name: .cfi_startproc; endbr64;                  \
    jmp *target@GOTPCREL(%rip); .cfi_endproc; .size name, .-name;
#elif defined(__aarch64__)
#define STUB_TO(name, target)                                                                                  \
    .globl name; .type name, %function; .balign 16; name: .cfi_startproc; bti c;                    \
    adrp x16, :got:target; ldr x16, [x16, :got_lo12:target]; br x16;              \
    .cfi_endproc; .size name, .-name;
#else
#error "no stubs for this processor"
#endif

#ifdef CUDA12
/* Names of 12 that are not those of 13 come first, and hide the row of 13. */
#define STUB(name)   .ifndef hidden_##name; STUB_TO(name, weir_api_##name) .endif;
#define STUB12(name) .set hidden_##name, 1; STUB_TO(name, weir_api12_##name)
#define ROWS12_NONE(name) STUB12(name)
#define ROWS12_PTSZ(name) STUB12(name) STUB12(name##_ptsz)
#define WEIR_API_12(chapter, status, guard, variant, name, params, args) ROWS12_##variant(cuda##name)
#define WEIR_API_12_SAME(chapter, variant, name, other)          ROWS12_##variant(cuda##name)
#define WEIR_API_13(symbol)                                              .set hidden_##symbol, 1;
#define WEIR_API(...)
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
    .text
#include "runtime.def"
#undef WEIR_API_12
#undef WEIR_API_12_SAME
#undef WEIR_API_13
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#else
#define STUB(name) STUB_TO(name, weir_api_##name)
#endif

#define ROWS_NONE(name) STUB(name)
#define ROWS_PTSZ(name) STUB(name) STUB(name##_ptsz)
#define ROWS_PTDS(name) STUB(name) STUB(name##_ptds)

#define WEIR_API(chapter, status, guard, variant, host, name, params, args)     ROWS_##variant(cuda##name)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args) ROWS_##variant(cuda##name)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)     ROWS_##variant(__cuda##name)
#define WEIR_API_REGISTER(status, ret, name, params, args)                ROWS_NONE(__cuda##name)

    .text
#include "runtime.def"
    .section .note.GNU-stack, "", %progbits
