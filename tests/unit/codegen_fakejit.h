/* What the fake compiler library shows to the test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_CODEGEN_FAKEJIT_H
#define WEIR_TESTS_CODEGEN_FAKEJIT_H

#include <stdatomic.h>

struct fakejit {
    _Atomic int compiles[2]; /* by tier */
    _Atomic int running, delay_us, fail_memory;
    _Atomic int hold_best; /* compilations of the better tier do not end meanwhile */
};

#endif
