/* What every fuzzer offers; libFuzzer or replay.c calls it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_FUZZ_H
#define WEIR_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
