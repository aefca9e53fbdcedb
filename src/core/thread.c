/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <pthread.h>

#include "base/alloc.h"
#include "core/stream.h"

WEIR_TLS struct weir_thread weir_thread;

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* A thread's default streams end with it; work left in them runs on, and still orders the legacy
 * stream (ORD-010). The destructor may run again when a later one of the program's calls CUDA. */
static void thread_exit(void *arg)
{
    struct weir_thread_more *more = arg;

    weir_thread.more = NULL;
    for (int i = 0; more->default_streams && i < weir_core.device_count; i++) {
        if (more->default_streams[i])
            weir_stream_retire(more->default_streams[i]);
    }
    weir_free(more->default_streams);
    weir_free(more);
}

static void make_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
}

struct weir_thread_more *weir_thread_make_more(void)
{
    struct weir_thread_more *more = weir_calloc(1, sizeof *more);

    if (!more)
        return NULL;
    pthread_once(&exit_once, make_key);
    if (pthread_setspecific(exit_key, more) != 0) {
        weir_free(more);
        return NULL;
    }
    weir_thread.more = more;
    return more;
}

enum weir_err weir_thread_default_stream(int device, struct weir_stream **out)
{
    struct weir_thread_more *more = weir_thread_get_more();
    struct weir_context *ctx = &weir_core.contexts[device];
    struct weir_stream *s = more && more->default_streams ? more->default_streams[device] : NULL;

    if (WEIR_LIKELY(s && s->epoch == atomic_load_explicit(&ctx->epoch, memory_order_relaxed))) {
        *out = s;
        return WEIR_OK;
    }
    if (more && !more->default_streams)
        more->default_streams =
            weir_calloc((size_t)weir_core.device_count, sizeof *more->default_streams);
    if (!more || !more->default_streams)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a thread's default streams");
    more->default_streams[device] = NULL; /* one of before cudaDeviceReset was retired by it */
    if (weir_stream_create(ctx, WEIR_STREAM_PER_THREAD, 0, 0, &more->default_streams[device]) !=
        WEIR_OK)
        return WEIR_ERR_MEMORY_ALLOCATION;
    *out = more->default_streams[device];
    return WEIR_OK;
}
