/* What Weir keeps per host thread: current device, last error, pushed launch configurations,
 * default streams.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_THREAD_H
#define WEIR_CORE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/list.h"

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

struct weir_model_stream;

/* What a thread waits for inside a call. Written by the thread alone; others may look (where.c).
 * atomic: relaxed, but `stream`: release, acquire. */
struct weir_thread_wait {
    _Atomic uint64_t since_ns, seq;
    _Atomic(struct weir_model_stream *) stream; /* NULL: waits for no stream */
    _Atomic uint8_t why; /* enum weir_implicit_sync, and one; 0: it was asked to */
};

/* What needs room: made at the first use, freed when the thread ends. Owner thread only, but for
 * `wait`, and what the list's lock guards. */
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
    struct weir_list link;         /* of all threads; the list's lock */
    const struct weir_thread *own; /* the thread's struct below */
    uint32_t id;                   /* the kernel's */
    struct weir_thread_wait wait;
};

#define WEIR_CALL_NONE (UINT64_C(1) << 63) /* no address of a program's has this bit */

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
    /* atomic, relaxed: others may look (where.c) */
    /* In a call: the API function's name, of static life. Else WEIR_CALL_NONE and how many have
     * ended, but for those that said "not ready". One word, so that a call costs two stores. */
    _Atomic uint64_t call;
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

/* Around the body of every API function: `before` is what begin gave. */
static inline uint64_t weir_thread_call_begin(const char *name)
{
    uint64_t before = atomic_load_explicit(&weir_thread.call, memory_order_relaxed);

    atomic_store_explicit(&weir_thread.call, (uint64_t)(uintptr_t)name, memory_order_relaxed);
    return before;
}
static inline void weir_thread_call_end(uint64_t before, enum weir_err err)
{
    atomic_store_explicit(&weir_thread.call,
                          (before + (err != WEIR_ERR_NOT_READY)) | WEIR_CALL_NONE,
                          memory_order_relaxed);
}

/* Around a wait of the calling thread for a stream. */
void weir_thread_wait_begin(struct weir_model_stream *stream, uint64_t seq);
void weir_thread_wait_end(void);
/* False: the calling thread waits for a point that has come, and helps nobody any more. */
bool weir_thread_still_waits(void);
/* Why the calling thread is about to wait without having been asked to: enum weir_implicit_sync,
 * and one; 0: no more. */
void weir_thread_wait_why(unsigned why);
/* The clock during it; the first of a wait counts. */
void weir_thread_wait_since(uint64_t now_ns);

/* Calls visit for every thread that has a `more`, under the list's lock. Thread: any, holding no
 * LEAF lock. False: the list was locked for so long that something must be wrong. */
bool weir_thread_each(void (*visit)(void *arg, const struct weir_thread_more *more), void *arg);
/* In a child after fork: the other threads are not here. */
void weir_thread_forked(void);

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
