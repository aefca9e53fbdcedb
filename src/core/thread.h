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
#define WEIR_CONTEXT_STACK  64
#define WEIR_FUNCTION_CACHE 64 /* entries, direct mapped by the stub's address */

struct weir_function_cache_entry {
    const void *stub;
    struct weir_function *function;
};

/* What needs room: made at the first use, freed when the thread ends. Owner thread only. */
struct weir_thread_more {
    struct weir_default_stream {
        struct weir_stream *stream;
        uint64_t epoch;  /* of the context when it was made */
    } * default_streams; /* by context, or NULL before the first use */
    uint64_t function_cache_epoch;
    int config_count;
    int stack_count; /* contexts below the current one (cuCtxPushCurrent) */
    int16_t stack[WEIR_CONTEXT_STACK];
    struct weir_call_config configs[WEIR_CALL_CONFIG_MAX];
    struct weir_function_cache_entry function_cache[WEIR_FUNCTION_CACHE];
};

/* Small, because a library that the loader brings in late gets little of the static thread-local
 * memory that the quick access needs. Owner thread only. */
struct weir_thread {
    bool ptds;            /* the call in progress came through a _ptsz or _ptds entry */
    bool host_func;       /* runs the program's host functions: calls are refused */
    uint8_t capture_mode; /* enum weir_capture_mode: what other threads' captures forbid to it */
    uint32_t number;      /* of the thread, once a capture asked */
    bool bound;           /* has a current context as the driver API sees it */
    int16_t context; /* place of the current context; while none is bound, the one that the runtime
                        will bind */
    int16_t device;  /* the runtime's choice (cudaSetDevice) */
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

/* Makes a context (by its place) the thread's current one: in place of the current one, or above
 * it. Push fails when the stack is full (MEMORY_ALLOCATION). */
void weir_thread_set_context(int context);
enum weir_err weir_thread_push_context(int context) WEIR_MUST_CHECK;
/* The one below becomes current; none: the thread is unbound. */
void weir_thread_pop_context(void);

/* The calling thread's default stream in a context, made at the first use. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_thread_default_stream(int context, struct weir_stream **out) WEIR_MUST_CHECK;

#endif
