/* Host threads for where.c: which call each is in, and for those that sleep in the kernel whom they
 * wait for, as far as the process may see that of itself: a mutex of the C library keeps its
 * owner's id behind the word that waiters sleep on, and who joins a thread sleeps on a word that
 * holds its id.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/thread.h"
#include "core/where_int.h"

#define MUTEX_OWNER_OFFSET 8 /* of pthread_mutex_t: lock word, recursion count, owner's id */
#define FUTEX_TID_MASK     0x3fffffffu

/* ---- /proc ---- */

static size_t read_file(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, room - 1) : -1;

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static void name_of(uint32_t id, char *out, size_t room)
{
    char path[64], comm[32];

    snprintf(path, sizeof path, "/proc/self/task/%u/comm", id);
    comm[read_file(path, comm, sizeof comm)] = 0;
    comm[strcspn(comm, "\n")] = 0;
    if (id == (uint32_t)getpid())
        snprintf(out, room, "main thread %u", id);
    else
        snprintf(out, room, "thread %u", id);
}

static bool is_thread_here(uint32_t id)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%u", id);
    return id && access(path, F_OK) == 0;
}

/* A word of this process that may not be there any more. */
static bool read_word(uint64_t address, uint32_t *out)
{
    struct iovec to = {out, sizeof *out}, from = {(void *)(uintptr_t)address, sizeof *out};

    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *out;
}

/* Fills what the kernel says of a thread that sleeps on a futex word. */
static void look_asleep(struct where_thread *t)
{
    char path[64], text[256], *at, *rest;
    uint32_t word = 0, owner = 0;

    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", t->id);
    if (!read_file(path, text, sizeof text) || strtol(text, &at, 10) != SYS_futex || at == text)
        return;
    t->futex = strtoull(at, &rest, 16);
    t->asleep = true;
    (void)strtoull(rest, &rest, 16); /* what is to be done, and the value */
    (void)strtoull(rest, &rest, 16);
    t->timed = strtoull(rest, NULL, 16) != 0;
    if (!read_word(t->futex, &word))
        return;
    if (word & FUTEX_TID_MASK && (word & FUTEX_TID_MASK) != t->id &&
        is_thread_here(word & FUTEX_TID_MASK)) {
        t->owner = word & FUTEX_TID_MASK; /* pthread_join, and mutexes that inherit priority */
        t->joins = word == t->owner;
        return;
    }
    /* 2: locked, with waiters */
    if (word == 2 && read_word(t->futex + MUTEX_OWNER_OFFSET, &owner) && owner != t->id &&
        is_thread_here(owner))
        t->owner = owner;
}

/* ---- threads ---- */

static struct where_thread *add(struct where *w, uint32_t id)
{
    struct where_thread *t;

    if (w->thread_count == WHERE_THREADS)
        return NULL;
    t = &w->threads[w->thread_count++];
    *t = (struct where_thread){.id = id, .host_of = WHERE_NONE};
    name_of(id, t->name, sizeof t->name);
    return t;
}

static void visit(void *arg, const struct weir_thread_more *more)
{
    uint64_t call = atomic_load_explicit(&more->own->call, memory_order_relaxed);
    struct weir_model_stream *s = atomic_load_explicit(&more->wait.stream, memory_order_acquire);
    struct where_thread *t;

    if (call & WEIR_CALL_NONE)
        call = 0;
    if ((!call && !s) || !(t = add(arg, more->id)))
        return;
    t->call = (const char *)(uintptr_t)call;
    t->stream = s;
    t->why = s ? atomic_load_explicit(&more->wait.why, memory_order_relaxed) : 0;
    t->seq = atomic_load_explicit(&more->wait.seq, memory_order_relaxed);
    t->since_ns = s ? atomic_load_explicit(&more->wait.since_ns, memory_order_relaxed) : 0;
}

int weir_where_thread_index(struct where *w, uint32_t id)
{
    struct where_thread *t;

    for (size_t i = 0; i < w->thread_count; i++) {
        if (w->threads[i].id == id)
            return (int)i;
    }
    t = add(w, id);
    if (!t)
        return WHERE_NONE;
    look_asleep(t);
    return (int)(w->thread_count - 1);
}

static void add_host_threads(struct where *w)
{
    for (int i = 0; i < weir_core.device_count; i++) {
        struct weir_context *ctx = &weir_core.contexts[i];
        struct where_thread *t;
        uint64_t since;
        uint32_t id;

        if (!atomic_load_explicit(&ctx->active, memory_order_acquire) ||
            !weir_device_view_host(ctx->engines, &id, &since) || !(t = add(w, id)))
            continue;
        t->host_of = i;
        t->since_ns = since;
    }
}

void weir_where_threads(struct where *w)
{
    weir_thread_each(visit, w);
    add_host_threads(w);
    for (size_t i = 0; i < w->thread_count; i++)
        if (!w->threads[i].stream) /* else it sleeps in Weir */
            look_asleep(&w->threads[i]);
}
