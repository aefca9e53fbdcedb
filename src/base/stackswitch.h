/* Stacks of Weir's own: run a function on one, and leave it from anywhere below, also from a signal
 * handler. The only place that knows the processor's registers; another processor needs
 * stackswitch_ARCH.S and the context part of the .c. With a sanitizer each stack is a fiber to it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_STACKSWITCH_H
#define WEIR_BASE_STACKSWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct weir_stack {
    void *return_sp; /* of the running weir_stack_call; first member: the assembly reads it */
    char *low;       /* lowest usable byte */
    size_t bytes;
    char *map; /* guard pages and stack */
    size_t map_bytes;
    void *fiber; /* TSan's */
};

/* Reserves a stack (pages on demand) with unmapped guard pages below. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_stack_create(struct weir_stack *s, size_t bytes) WEIR_MUST_CHECK;
/* Zeroed memory is accepted. Not while the stack is in use. */
void weir_stack_destroy(struct weir_stack *s);

/* Calls run(arg) on the stack. 0 when it returned, else the value that weir_stack_leave was given.
 * Callee-saved registers, MXCSR and the x87 control word are as before in both cases. Thread: any,
 * one at a time; not nested on one stack. */
uint32_t weir_stack_call(struct weir_stack *s, void (*run)(void *arg), void *arg);

/* Ends the running weir_stack_call from code on that stack; the frames between are dropped. value
 * != 0. */
WEIR_NORETURN void weir_stack_leave(struct weir_stack *s, uint32_t value);
/* The same out of a signal handler that interrupted code on that stack: returning from the handler
 * then continues behind weir_stack_call. ucontext: the handler's third argument. Async-signal-safe.
 */
void weir_stack_leave_context(struct weir_stack *s, void *ucontext, uint32_t value);

/* True when the address is in the guard pages: the stack has overflown. Async-signal-safe. */
bool weir_stack_is_guard(const struct weir_stack *s, uintptr_t addr);

/* The floating-point control word (x86: MXCSR): flushing and rounding of the calling thread. */
uint32_t weir_fp_control_get(void);
void weir_fp_control_set(uint32_t value);

#endif
