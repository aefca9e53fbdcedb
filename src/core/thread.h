/* What Weir keeps per host thread: current device, last error, pushed launch configurations,
 * default streams. SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_THREAD_H
#define WEIR_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct weir_stream;
struct weir_function;

/* A launch configuration between the <<< >>> and the kernel's stub. */
struct weir_call_config {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    void *stream;
};

/* Nesting: a kernel argument's expression may launch kernels itself. */
#define WEIR_CALL_CONFIG_MAX 4
#define WEIR_FUNCTION_CACHE 32 /* entries, direct mapped by the stub's address */

struct weir_function_cache_entry {
    const void *stub;
    struct weir_function *function;
};

/* All fields: owner thread only. */
struct weir_thread {
    bool ptds;       /* the call in progress came through a _ptsz or _ptds entry */
    bool host_func;  /* runs the program's host functions: calls are refused */
    bool registered; /* the exit handler knows this thread */
    int device;
    enum weir_err last_error;
    uint64_t function_cache_epoch;
    struct weir_stream **default_streams; /* by device, or NULL before the first use */
    int config_count;
    struct weir_call_config configs[WEIR_CALL_CONFIG_MAX];
    struct weir_function_cache_entry function_cache[WEIR_FUNCTION_CACHE];
};

/* In the static TLS block, of which the loader keeps 1664 bytes for all libraries that come with a
 * program under an auditor: libweir.so must stay below 1200. */
_Static_assert(sizeof(struct weir_thread) <= 800, "static TLS is scarce");
extern WEIR_TLS struct weir_thread weir_thread;

/* The calling thread's default stream on `device`, made at the first use. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_thread_default_stream(int device, struct weir_stream **out) WEIR_MUST_CHECK;

#endif
