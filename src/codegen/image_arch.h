/* What the loader needs to know of one processor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_IMAGE_ARCH_H
#define WEIR_CODEGEN_IMAGE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which address of the symbol a relocation wants. */
enum weir_image_want {
    WEIR_IMAGE_WANT_NOTHING, /* no-op relocation */
    WEIR_IMAGE_WANT_ADDRESS, /* its own */
    WEIR_IMAGE_WANT_CALL,    /* its own, or that of a stub when out of reach */
    WEIR_IMAGE_WANT_GOT,     /* of the table slot that holds its address */
    WEIR_IMAGE_WANT_REFUSE,  /* not a type that the compiler makes */
};

struct weir_image_arch {
    uint16_t machine; /* e_machine */
    size_t stub_bytes;
    enum weir_image_want (*want)(uint32_t type);
    /* Width in bytes of the place. */
    size_t (*width)(uint32_t type);
    /* Writes `value` (symbol + addend) for the place at run-time address `place`; `out` is where it
     * is written now. False when it does not fit. */
    bool (*apply)(uint32_t type, unsigned char *out, uint64_t place, uint64_t value);
    /* Writes a jump through the 8-byte slot at `slot`; the stub runs at `place`. */
    bool (*stub)(unsigned char *out, uint64_t place, uint64_t slot);
};

extern const struct weir_image_arch weir_image_x86_64;

#endif
