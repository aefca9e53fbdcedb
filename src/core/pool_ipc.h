/* Inside core: pools that other processes share, by the file behind their memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_POOL_IPC_H
#define WEIR_CORE_POOL_IPC_H

#include "core/pool_arena.h"

/* Gives a pool without memory a file, from which its arenas come. Errors: OPERATING_SYSTEM. */
enum weir_err weir_pool_make_file_locked(struct weir_pool *p) WEIR_MUST_CHECK;

#endif
