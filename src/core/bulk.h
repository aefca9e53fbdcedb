/* services->bulk: bulk copies of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_BULK_H
#define WEIR_CORE_BULK_H

#include "device/kernel.h"

void weir_bulk_serve(struct weir_block *block, uint32_t lanes, uint32_t code, const uint64_t *rows);
/* The barrier object at that address has got so many bytes of its transactions. */
void weir_bulk_complete(uint64_t at, uint64_t bytes);

#endif
