/* A thread's chunk of the file, which it alone writes (file.h); the pages are the file's, so what a
 * killed program wrote is there. A chunk of a thread that has ended goes on with the next new
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/thread.h"
#include "trace/file.h"
#include "trace/record.h"

_Atomic bool weir_trace_on;

static struct {
    struct weir_lock lock; /* all below */
    struct weir_trace_buffer *idle;
    struct weir_strmap strings;
    struct weir_map sites;
    uint32_t last_string, last_site;
    pthread_key_t key;
    bool has_key;
} state = {.lock = WEIR_LOCK_INIT(LEAF)};

WEIR_TLS struct weir_trace_buffer *weir_trace_own;

/* ---- chunks ---- */

static struct weir_trace_chunk_header *header_of(struct weir_trace_buffer *b)
{
    return (struct weir_trace_chunk_header *)b->chunk;
}

static void put_thread(struct weir_trace_buffer *b)
{
    unsigned char *p = weir_trace_begin(b, WEIR_TRACE_THREAD);
    char name[16] = "";

    pthread_getname_np(pthread_self(), name, sizeof name);
    p = weir_trace_put_u(p, weir_thread_id());
    memcpy(p, name, strlen(name));
    weir_trace_close(b, p + strlen(name));
    b->call_slot = 0;
}

static bool next_chunk(struct weir_trace_buffer *b)
{
    struct weir_trace_chunk_header *h;

    if (b->chunk)
        weir_trace_chunk_give(b->chunk);
    b->chunk = weir_trace_chunk_take();
    b->ends = b->chunk ? WEIR_TRACE_CHUNK_ENDS : 0;
    if (!b->chunk)
        return false;
    h = header_of(b);
    h->base_ns = b->last_ns = weir_clock_ns();
    b->last_address = 0;
    memset(b->launched, 0, sizeof b->launched);
    memset(b->ran, 0, sizeof b->ran);
    for (size_t i = 0; i < WEIR_TRACE_KERNEL_SLOTS; i++)
        b->shapes[i].name = b->shapes[i].call_name = 0;
    b->call_pos = b->launch_end = 0;
    b->has_ran = false;
    b->pos = sizeof *h;
    __atomic_store_n(&h->magic, WEIR_TRACE_CHUNK_MAGIC, __ATOMIC_RELEASE);
    put_thread(b);
    b->busy = true; /* weir_trace_close in put_thread ended it */
    return true;
}

/* ---- threads ---- */

static void thread_exit(void *arg)
{
    struct weir_trace_buffer *b = arg;

    weir_trace_own = NULL;
    weir_lock_acquire(&state.lock);
    b->next = state.idle;
    state.idle = b;
    weir_lock_release(&state.lock);
}

static struct weir_trace_buffer *make_buffer(void)
{
    struct weir_trace_buffer *b;

    weir_lock_acquire(&state.lock);
    if (!state.has_key)
        state.has_key = pthread_key_create(&state.key, thread_exit) == 0;
    b = state.idle;
    if (b)
        state.idle = b->next;
    weir_lock_release(&state.lock);
    if (!b)
        b = weir_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->call_ns = 0;
    b->launch_site = 0;
    b->held = false;
    weir_trace_own = b;
    if (state.has_key)
        pthread_setspecific(state.key, b);
    if (b->chunk && b->pos + WEIR_TRACE_RECORD_MAX < WEIR_TRACE_CHUNK_BYTES)
        put_thread(b); /* the chunk of a thread that has ended goes on with this one */
    return b;
}

struct weir_trace_buffer *weir_trace_open_slow(void)
{
    struct weir_trace_buffer *b = weir_trace_own;

    if (WEIR_UNLIKELY(!b) && !(b = make_buffer()))
        return NULL;
    if (WEIR_UNLIKELY(b->busy)) {
        b->lost++;
        b->ends = 0;
        return NULL;
    }
    b->busy = true;
    if (b->held)
        weir_trace_put_held(b);
    if (WEIR_UNLIKELY(!b->chunk || b->pos + WEIR_TRACE_RECORD_MAX > WEIR_TRACE_CHUNK_BYTES) &&
        !next_chunk(b)) {
        b->busy = false;
        return NULL;
    }
    b->ends = WEIR_TRACE_CHUNK_ENDS;
    atomic_signal_fence(memory_order_seq_cst); /* a handler's 0 stays */
    if (WEIR_UNLIKELY(b->lost)) {
        unsigned char *p = weir_trace_begin(b, WEIR_TRACE_LOST);

        p = weir_trace_put_u(p, b->lost);
        b->lost = 0;
        weir_trace_close(b, p);
        b->busy = true;
    }
    return b;
}

void weir_trace_room_slow(struct weir_trace_buffer *b)
{
    next_chunk(b);
}

void weir_trace_close_long(struct weir_trace_buffer *b, unsigned char *end)
{
    unsigned char *start = (unsigned char *)b->chunk + b->pos;
    size_t bytes = (size_t)(end - start) - 2;

    memmove(start + 3, start + 2, bytes);
    start[2] = (unsigned char)(bytes >> 7);
    start[1] = (unsigned char)(bytes | 0x80);
    weir_trace_publish(b, end + 1);
}

uint64_t weir_trace_now(void)
{
    struct weir_trace_buffer *b = weir_trace_own;
    uint64_t now;

    if (WEIR_UNLIKELY(!b || b->busy))
        return weir_clock_ns();
    b->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    now = weir_trace_clock_ns(&b->clock);
    atomic_signal_fence(memory_order_seq_cst);
    b->busy = false;
    return now;
}

/* ---- strings and places in code ---- */

uint32_t weir_trace_string(struct weir_trace_buffer *b, const char *text, size_t bytes)
{
    unsigned char *p;
    uint32_t id;
    char *copy;

    bytes = WEIR_MIN(bytes, WEIR_TRACE_STRING_MAX);
    weir_lock_acquire(&state.lock);
    id = (uint32_t)(uintptr_t)weir_strmap_get(&state.strings, text, bytes);
    if (!id && (copy = weir_alloc(bytes + 1)) != NULL) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
        if (weir_strmap_put(&state.strings, copy, bytes,
                            (void *)(uintptr_t)(state.last_string + 1)))
            id = ++state.last_string;
        else
            weir_free(copy);
    } else {
        weir_lock_release(&state.lock);
        return id;
    }
    weir_lock_release(&state.lock);
    if (!id || (b->pos + bytes + WEIR_TRACE_RECORD_MAX > WEIR_TRACE_CHUNK_BYTES && !next_chunk(b)))
        return 0;
    p = weir_trace_begin(b, WEIR_TRACE_STRING);
    p = weir_trace_put_u(p, id);
    memcpy(p, text, bytes);
    weir_trace_close(b, p + bytes);
    b->busy = true;
    if (b->pos + WEIR_TRACE_RECORD_MAX > WEIR_TRACE_CHUNK_BYTES && !next_chunk(b))
        return 0;
    return id;
}

/* The object and the address in its file: what an address means after the process is gone.
 * _dl_find_object takes no lock: another thread may be inside dlopen. */
static uint32_t add_site(struct weir_trace_buffer *b, const void *address)
{
    struct dl_find_object found;
    uint64_t offset = (uint64_t)(uintptr_t)address;
    uint32_t module = 0, id = 0;
    unsigned char *p;

    if (_dl_find_object((void *)(uintptr_t)address, &found) == 0 && found.dlfo_link_map) {
        const char *name = found.dlfo_link_map->l_name;
        char path[4096];

        if (!realpath(name && *name ? name : "/proc/self/exe", path))
            path[0] = '\0';
        module = weir_trace_string(b, path, strlen(path));
        offset -= (uint64_t)found.dlfo_link_map->l_addr;
    }
    if (!b->chunk)
        return 0;
    weir_lock_acquire(&state.lock);
    if (weir_map_put(&state.sites, (uint64_t)(uintptr_t)address,
                     (void *)(uintptr_t)(state.last_site + 1)))
        id = ++state.last_site;
    weir_lock_release(&state.lock);
    if (!id)
        return 0;
    p = weir_trace_begin(b, WEIR_TRACE_SITE);
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_u(p, module);
    p = weir_trace_put_u(p, offset);
    weir_trace_close(b, p);
    b->busy = true;
    return b->pos + WEIR_TRACE_RECORD_MAX > WEIR_TRACE_CHUNK_BYTES && !next_chunk(b) ? 0 : id;
}

uint32_t weir_trace_site_slow(struct weir_trace_buffer *b, const void *address)
{
    uintptr_t a = (uintptr_t)address;
    size_t slot = weir_trace_site_slot(a);
    uint32_t id;

    weir_lock_acquire(&state.lock);
    id = (uint32_t)(uintptr_t)weir_map_get(&state.sites, a);
    weir_lock_release(&state.lock);
    if (!id)
        id = add_site(b, address);
    if (id) {
        b->sites[slot].address = a;
        b->sites[slot].id = id;
    }
    return id;
}

/* ---- beginning and end ---- */

/* The child's chunk would be the parent's. */
static void fork_child(void)
{
    atomic_store(&weir_trace_on, false);
}

bool weir_trace_at_once;

void weir_trace_start(const char *path, bool at_once)
{
    weir_trace_at_once = at_once;
    weir_trace_file_name(path);
    weir_trace_clock_begin();
    if (pthread_atfork(NULL, NULL, fork_child) == 0)
        atomic_store(&weir_trace_on, true);
}

bool weir_trace_own_path(char out[32])
{
    return atomic_load(&weir_trace_on) && weir_trace_file_own_path(out);
}

void weir_trace_stop(void)
{
    if (atomic_exchange(&weir_trace_on, false))
        weir_trace_file_end();
}
