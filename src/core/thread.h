/* What Weir keeps per host thread: current device, last error, pushed launch configurations,
 * default streams.
 * SPDX-License-Identifier: Apache-2.0 */
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

#define WEIR_CALL_CONFIG_MAX                                                                       \
    16 /* nesting: a kernel argument's expression may launch kernels itself */
#define WEIR_FUNCTION_CACHE 64 /* entries, direct mapped by the stub's address */

struct weir_function_cache_entry {
    const void *stub;
    struct weir_function *function;
};

/* What needs room: made at the first use, freed when the thread ends. Owner thread only. */
struct weir_thread_more {
    struct weir_stream **default_streams; /* by device, or NULL before the first use */
    uint64_t function_cache_epoch;
    int config_count;
    struct weir_call_config configs[WEIR_CALL_CONFIG_MAX];
    struct weir_function_cache_entry function_cache[WEIR_FUNCTION_CACHE];
};

/* Small, because a library that the loader brings in late gets little of the static thread-local
 * memory that the quick access needs. Owner thread only. */
struct weir_thread {
    bool ptds;      /* the call in progress came through a _ptsz or _ptds entry */
    bool host_func; /* runs the program's host functions: calls are refused */
    int device;
    enum weir_err last_error;
    struct weir_thread_more *more; /* weir_thread_get_more */
};

/* Under an auditor the loader keeps 1664 bytes of static TLS for all libraries of a program. */
_Static_assert(sizeof(struct weir_thread) <= 64, "static TLS is scarce");
extern WEIR_TLS struct weir_thread weir_thread;

/* NULL when out of memory. */
struct weir_thread_more *weir_thread_make_more(void);
static inline struct weir_thread_more *weir_thread_get_more(void)
{
    return WEIR_LIKELY(weir_thread.more != NULL) ? weir_thread.more : weir_thread_make_more();
}

/* The calling thread's default stream on `device`, made at the first use. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_thread_default_stream(int device, struct weir_stream **out) WEIR_MUST_CHECK;

#endif
