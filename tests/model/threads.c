/* The model under threads, with the locks that model.h asks for: host threads submit to shared
 * streams, engine threads run what is ready. Every operation remembers, at its submission, the
 * points that the rules put before it; when it starts all of them must hold. Built with
 * ThreadSanitizer it also proves that the named shards are enough. Usage: threads [OPERATIONS].
 * Rules: ORD-001, ORD-003, ORD-004, ORD-005, ORD-010, ORD-021.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "support/random.h"

enum {
    HOSTS = 3,
    ENGINES = 2,
    SHARED = 9,
    STREAMS = SHARED + HOSTS + 1,
    EVENTS = 8,
    OPS_PER_HOST = 256
};

struct top {
    struct weir_model_op op; /* first */
    struct weir_model_point must[STREAMS + 1];
    int must_count;
    struct host *host;
    struct top *next; /* free list, ready queue */
};

struct host {
    pthread_t thread;
    unsigned index;
    uint64_t rng;
    struct top ops[OPS_PER_HOST];
    struct top *free; /* under free_lock */
    pthread_mutex_t free_lock;
    pthread_cond_t freed;
};

static struct weir_model model;
static struct weir_model_stream streams[STREAMS]; /* the last is the legacy one */
static pthread_mutex_t stream_locks[STREAMS], list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct weir_model_event events[EVENTS];
static pthread_mutex_t event_locks[EVENTS];
static struct host hosts[HOSTS];
static struct top *ready, **ready_tail = &ready;
static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready_cond = PTHREAD_COND_INITIALIZER;
static bool stop;
static _Atomic long failures;
static long per_host = 20000;

static struct weir_model_stream *const legacy = &streams[STREAMS - 1];

static void *mem_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void mem_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static void lock(const struct weir_model_stream *s)
{
    pthread_mutex_lock(&stream_locks[s - streams]);
}

static void unlock(const struct weir_model_stream *s)
{
    pthread_mutex_unlock(&stream_locks[s - streams]);
}

/* The order that model.h names: the device's list, its streams in list order, legacy last. */
static void lock_for(const struct weir_model_stream *s)
{
    if (!weir_model_needs_all(s)) {
        lock(s);
        return;
    }
    pthread_mutex_lock(&list_lock);
    for (const struct weir_model_stream *t = model.devices[0].streams; t; t = t->device_next)
        lock(t);
    lock(legacy);
}

static void unlock_for(const struct weir_model_stream *s)
{
    if (!weir_model_needs_all(s)) {
        unlock(s);
        return;
    }
    unlock(legacy);
    for (const struct weir_model_stream *t = model.devices[0].streams; t; t = t->device_next)
        unlock(t);
    pthread_mutex_unlock(&list_lock);
}

static void enqueue(struct top *t)
{
    pthread_mutex_lock(&ready_lock);
    t->next = NULL;
    *ready_tail = t;
    ready_tail = &t->next;
    pthread_cond_signal(&ready_cond);
    pthread_mutex_unlock(&ready_lock);
}

static void deliver(struct weir_model_out *out)
{
    while (out->ready || out->blocked || out->notified) {
        struct weir_model_op *r = out->ready, *b = out->blocked, *n = out->notified, *next, *op;

        weir_model_out_init(out);
        for (; (op = b); b = next) {
            const struct weir_model_stream *s = op->deps[op->dep_pos].point.stream;
            bool waits;

            next = op->out_next; /* once subscribed it is not ours any more */
            lock(s);
            waits = weir_model_subscribe(op);
            unlock(s);
            if (waits)
                continue;
            lock(op->stream);
            weir_model_resume(op, out);
            unlock(op->stream);
        }
        for (; (op = n); n = next) {
            const struct weir_model_stream *s = op->stream;

            next = op->out_next;
            lock(s);
            weir_model_resume(op, out);
            unlock(s);
        }
        for (; (op = r); r = next) {
            next = op->out_next;
            enqueue((struct top *)op);
        }
    }
}

static void run(struct top *t)
{
    struct weir_model_stream *s = t->op.stream;
    struct host *h = t->host;
    struct weir_model_out out;

    for (int i = 0; i < t->must_count; i++)
        if (!weir_model_point_holds(&t->must[i]))
            failures++;
    weir_model_out_init(&out);
    lock(s);
    weir_model_complete(&t->op, &out);
    unlock(s);
    pthread_mutex_lock(&h->free_lock);
    t->next = h->free;
    h->free = t;
    pthread_cond_signal(&h->freed);
    pthread_mutex_unlock(&h->free_lock);
    deliver(&out);
}

static void *engine(void *arg)
{
    (void)arg;
    for (;;) {
        struct top *t;

        pthread_mutex_lock(&ready_lock);
        while (!ready && !stop)
            pthread_cond_wait(&ready_cond, &ready_lock);
        t = ready;
        if (t) {
            ready = t->next;
            if (!ready)
                ready_tail = &ready;
        }
        pthread_mutex_unlock(&ready_lock);
        if (!t)
            return NULL;
        run(t);
    }
}

static uint32_t rnd(struct host *h, uint32_t below)
{
    return random_next(&h->rng) % below;
}

static struct top *new_op(struct host *h)
{
    struct top *t;

    pthread_mutex_lock(&h->free_lock);
    while (!h->free)
        pthread_cond_wait(&h->freed, &h->free_lock);
    t = h->free;
    h->free = t->next;
    pthread_mutex_unlock(&h->free_lock);
    t->must_count = 0;
    return t;
}

static void must(struct top *t, struct weir_model_stream *s)
{
    t->must[t->must_count++] = (struct weir_model_point){s, atomic_load(&s->last)};
}

/* Under the locks of the submission: what the rules put before it. */
static void note_rules(struct top *t, struct weir_model_stream *s)
{
    must(t, s); /* ORD-001 */
    if (s == legacy) {
        for (int i = 0; i < STREAMS - 1; i++)
            if (streams[i].cls != WEIR_STREAM_NONBLOCKING)
                must(t, &streams[i]); /* ORD-003 */
    } else if (s->cls != WEIR_STREAM_NONBLOCKING) {
        must(t, legacy); /* ORD-004 */
    }
}

static struct weir_model_stream *any_stream(struct host *h)
{
    return rnd(h, 40) == 0 ? legacy : &streams[rnd(h, SHARED)];
}

static void submit(struct host *h)
{
    struct weir_model_stream *s = any_stream(h);
    struct top *t = new_op(h);
    struct weir_model_out out;

    weir_model_out_init(&out);
    t->op.kind = WEIR_OP_KERNEL;
    lock_for(s);
    note_rules(t, s);
    if (weir_model_submit(s, &t->op, &out) != WEIR_MODEL_OK)
        abort();
    unlock_for(s);
    deliver(&out);
}

static void record(struct host *h)
{
    struct weir_model_stream *s = any_stream(h);
    uint32_t e = rnd(h, EVENTS);
    struct top *t = new_op(h);
    struct weir_model_out out;

    weir_model_out_init(&out);
    lock_for(s);
    note_rules(t, s);
    pthread_mutex_lock(&event_locks[e]);
    if (weir_model_record(&events[e], s, &t->op, &out) != WEIR_MODEL_OK)
        abort();
    pthread_mutex_unlock(&event_locks[e]);
    unlock_for(s);
    deliver(&out);
}

static void wait(struct host *h)
{
    struct weir_model_stream *s = any_stream(h);
    uint32_t e = rnd(h, EVENTS);
    struct weir_model_dep dep;
    struct weir_model_out out;
    struct top *t;
    bool depends;

    pthread_mutex_lock(&event_locks[e]);
    depends = weir_model_event_wait_dep(&events[e], s, &dep);
    pthread_mutex_unlock(&event_locks[e]);
    if (!depends)
        return;
    t = new_op(h);
    weir_model_out_init(&out);
    t->op.kind = WEIR_OP_WAIT;
    lock_for(s);
    note_rules(t, s);
    t->must[t->must_count++] = dep.point; /* ORD-021 */
    if (weir_model_submit_after(s, &t->op, &dep, 1, &out) != WEIR_MODEL_OK)
        abort();
    unlock_for(s);
    deliver(&out);
}

/* Without any lock of a stream, as a host thread would. */
static void ask(struct host *h)
{
    struct weir_model_point points[STREAMS + 1];
    struct weir_model_stream *s = any_stream(h);

    pthread_mutex_lock(&list_lock);
    if (weir_model_stream_targets(s, points, STREAMS + 1) > STREAMS)
        failures++;
    if (weir_model_device_targets(&model, 0, points, STREAMS + 1) > STREAMS)
        failures++;
    pthread_mutex_unlock(&list_lock);
}

/* Each host has a stream of its own that comes, works, and goes while it works (ORD-009, ORD-010).
 */
static void come_and_go(struct host *h)
{
    struct weir_model_stream *s = &streams[SHARED + h->index];
    struct weir_model_out out;
    struct top *t;

    if (!weir_model_stream_is_idle(s))
        return;
    pthread_mutex_lock(&list_lock);
    weir_model_stream_init(&model, s, 0, WEIR_STREAM_BLOCKING, 0);
    pthread_mutex_unlock(&list_lock);
    t = new_op(h);
    weir_model_out_init(&out);
    t->op.kind = WEIR_OP_KERNEL;
    lock(s);
    note_rules(t, s);
    if (weir_model_submit(s, &t->op, &out) != WEIR_MODEL_OK)
        abort();
    unlock(s);
    deliver(&out);
    pthread_mutex_lock(&list_lock);
    lock(s);
    weir_model_stream_finish(s);
    unlock(s);
    pthread_mutex_unlock(&list_lock);
}

static void *host(void *arg)
{
    struct host *h = arg;

    for (long i = 0; i < per_host; i++) {
        switch (rnd(h, 8)) {
        case 0:
            record(h);
            break;
        case 1:
        case 2:
            wait(h);
            break;
        case 3:
            ask(h);
            come_and_go(h);
            break;
        default:
            submit(h);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct weir_model_memory memory = {mem_alloc, mem_free, NULL};
    static const enum weir_stream_class classes[] = {WEIR_STREAM_BLOCKING, WEIR_STREAM_PER_THREAD,
                                                     WEIR_STREAM_NONBLOCKING};
    pthread_t engines[ENGINES];

    if (argc > 1)
        per_host = atol(argv[1]);
    weir_model_init(&model, 1, &memory);
    for (int i = 0; i < STREAMS; i++)
        pthread_mutex_init(&stream_locks[i], NULL);
    for (int i = 0; i < EVENTS; i++)
        pthread_mutex_init(&event_locks[i], NULL);
    weir_model_stream_init(&model, legacy, 0, WEIR_STREAM_LEGACY, 0);
    for (int i = 0; i < SHARED; i++)
        weir_model_stream_init(&model, &streams[i], 0, classes[i % 3], 0);
    for (int i = 0; i < ENGINES; i++)
        pthread_create(&engines[i], NULL, engine, NULL);
    for (unsigned i = 0; i < HOSTS; i++) {
        struct host *h = &hosts[i];

        h->index = i;
        h->rng = i + 1;
        pthread_mutex_init(&h->free_lock, NULL);
        pthread_cond_init(&h->freed, NULL);
        for (int k = 0; k < OPS_PER_HOST; k++) {
            h->ops[k].host = h;
            h->ops[k].next = h->free;
            h->free = &h->ops[k];
        }
        pthread_create(&h->thread, NULL, host, h);
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        pthread_join(hosts[i].thread, NULL);
        for (int k = 0; k < OPS_PER_HOST; k++) /* all back: everything ran */
            (void)new_op(&hosts[i]);
    }
    pthread_mutex_lock(&ready_lock);
    stop = true;
    pthread_cond_broadcast(&ready_cond);
    pthread_mutex_unlock(&ready_lock);
    for (int i = 0; i < ENGINES; i++)
        pthread_join(engines[i], NULL);
    printf("%ld calls by %d threads, %ld failures\n", per_host * HOSTS, HOSTS, (long)failures);
    return failures ? 1 : 0;
}
