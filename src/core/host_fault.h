/* Faults of the program on pages that are closed because an operation uses them (check/guard.h):
 * the access is judged, then made with the page open, by a single step of the instruction.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_HOST_FAULT_H
#define WEIR_CORE_HOST_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on pinned and managed memory is watched. Once, when it has its twin; the handler of
 * fault.h is in place before the first operation. */
void weir_host_fault_start(void);

/* For the fault handler: true when the fault was such a one, and the instruction is to be tried
 * again. Async-signal-safe in so far as the thread holds no lock of the checker. */
bool weir_host_fault(void *siginfo, void *ucontext);

/* How many bytes the instruction at `code` reads or writes in memory (its operand, not what a
 * prefix repeats); 1 when that is not known, or depends on registers. Reads at most 15 bytes.
 * host_insn.c */
size_t weir_host_insn_bytes(const uint8_t *code);

#endif
