/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <pthread.h>

#include "base/alloc.h"
#include "core/stream.h"

WEIR_TLS struct weir_thread weir_thread;

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* A thread's default streams end with it; work left in them runs on, and still orders the legacy
 * stream (ORD-010). */
static void thread_exit(void *arg)
{
    struct weir_thread *t = arg;

    for (int i = 0; t->default_streams && i < weir_core.device_count; i++) {
        if (t->default_streams[i])
            weir_stream_retire(t->default_streams[i]);
    }
    weir_free(t->default_streams);
    t->default_streams = NULL;
    t->registered = false;
}

static void make_key(void)
{
    pthread_key_create(&exit_key, thread_exit);
}

enum weir_err weir_thread_default_stream(int device, struct weir_stream **out)
{
    struct weir_thread *t = &weir_thread;
    struct weir_context *ctx = &weir_core.contexts[device];
    struct weir_stream *s = t->default_streams ? t->default_streams[device] : NULL;

    if (WEIR_LIKELY(s && s->epoch == atomic_load_explicit(&ctx->epoch, memory_order_relaxed))) {
        *out = s;
        return WEIR_OK;
    }
    if (!t->registered) {
        pthread_once(&exit_once, make_key);
        if (pthread_setspecific(exit_key, t) != 0)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a thread's default streams");
        t->registered = true;
    }
    if (!t->default_streams) {
        t->default_streams =
            weir_calloc((size_t)weir_core.device_count, sizeof *t->default_streams);
        if (!t->default_streams)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a thread's default streams");
    }
    t->default_streams[device] = NULL; /* one from before cudaDeviceReset was retired by it */
    return weir_stream_create(ctx, WEIR_STREAM_PER_THREAD, 0, 0, &t->default_streams[device]) ==
                   WEIR_OK
               ? (*out = t->default_streams[device], WEIR_OK)
               : WEIR_ERR_MEMORY_ALLOCATION;
}
