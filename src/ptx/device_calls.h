/* Calls of CUDA's runtime by kernels: which there are, and how their arguments come to the launch's
 * services (device/kernel.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PTX_DEVICE_CALLS_H
#define WEIR_PTX_DEVICE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weir_device_call {
#define WEIR_DEVICE_CALL(id, name, arguments, result) WEIR_DEVICE_##id,
#include "ptx/device_calls.def"
#undef WEIR_DEVICE_CALL
    WEIR_DEVICE_CALLS
};

struct weir_ptx_device_call {
    const char *name;      /* as programs write it, without "cuda" */
    const char *arguments; /* letters of device_calls.def */
    char result;           /* one of them */
};

/* enum weir_device_call of a declared function, by its name in PTX; -1: it is none. */
int weir_ptx_device_call(const char *name);
/* Of the call; never NULL. */
const struct weir_ptx_device_call *weir_ptx_device_call_info(enum weir_device_call call);
/* An argument's pieces: how many, and the bytes of each. */
uint32_t weir_ptx_device_call_pieces(char argument, uint32_t *bytes);

/* Rows of 32 words that a call's arguments take, at most: a long word takes two, as 32 of 64 bits.
 */
#define WEIR_DEVICE_CALL_ROWS 17

#endif
