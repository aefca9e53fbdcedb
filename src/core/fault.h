/* Faults of kernels (SIGSEGV, SIGBUS, SIGFPE, SIGILL) reach Weir first; what is not a kernel's goes
 * to whoever had the signal before, as the program asked for it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_FAULT_H
#define WEIR_CORE_FAULT_H

#include "base/err.h"

/* Installs the handler: through the preload library's weir_signals_claim when the process has it
 * (it keeps Weir first when the program installs handlers later), else by sigaction. Once per
 * process. Errors: OPERATING_SYSTEM. */
enum weir_err weir_fault_install(void) WEIR_MUST_CHECK;

#endif
