/* Cost of the model alone: submit and complete an operation, links of a chain over two streams by
 * events, legacy operations among many streams, many waiters on one stream. Prints `name value
 * unit`, best of five.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/model.h"

enum { OPS = 10000, STREAMS = 512 };

static struct weir_model model;
static struct weir_model_stream streams[STREAMS], legacy;
static struct weir_model_op ops[4 * OPS];
static struct weir_model_event events[2];

static double now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

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

/* Runs everything that can run, as core does with operations that run in place. */
static void drain(struct weir_model_out *out)
{
    while (out->ready || out->notified || out->blocked) {
        struct weir_model_op *ready = out->ready, *notified = out->notified,
                             *blocked = out->blocked, *next;

        weir_model_out_init(out);
        for (; blocked; blocked = next) {
            next = blocked->out_next;
            if (!weir_model_subscribe(blocked))
                weir_model_resume(blocked, out);
        }
        for (; notified; notified = next) {
            next = notified->out_next;
            weir_model_resume(notified, out);
        }
        for (; ready; ready = next) {
            next = ready->out_next;
            weir_model_complete(ready, out);
        }
    }
}

static int submit_complete(struct weir_model_stream *s)
{
    struct weir_model_out out;

    for (int i = 0; i < OPS; i++) {
        weir_model_out_init(&out);
        weir_model_submit(s, &ops[i % 64], &out); /* a pool gives back what was freed last */
        weir_model_out_init(&out);
        weir_model_complete(&ops[i % 64], &out);
    }
    return OPS;
}

static int one(void)
{
    return submit_complete(&streams[0]);
}

static int one_nonblocking(void)
{
    return submit_complete(&streams[1]);
}

/* All queued first, then run: the deep queue does not fit the nearest cache. */
static int queued(void)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    for (int i = 0; i < OPS; i++)
        weir_model_submit(&streams[0], &ops[i], &out);
    drain(&out);
    return OPS;
}

/* A kernel, a record (an operation or not), a wait in the other stream; the first stream is held
 * until all is queued. */
static int chain(bool record_op)
{
    struct weir_model_out out;
    struct weir_model_op *op = ops, *hold = op++;

    weir_model_out_init(&out);
    weir_model_submit(&streams[0], hold, &out);
    weir_model_out_init(&out);
    for (int i = 0; i < OPS; i++) {
        struct weir_model_stream *s = &streams[i & 1], *t = &streams[~i & 1];
        struct weir_model_dep dep;

        weir_model_submit(s, op++, &out);
        weir_model_record(&events[i & 1], s, record_op ? op++ : NULL, &out);
        if (weir_model_event_wait_dep(&events[i & 1], t, &dep))
            weir_model_submit_after(t, op++, &dep, 1, &out);
    }
    weir_model_complete(hold, &out);
    drain(&out);
    if (!weir_model_stream_is_idle(&streams[0]) || !weir_model_stream_is_idle(&streams[1]))
        abort();
    return OPS;
}

static int chain_op(void)
{
    return chain(true);
}

static int chain_bare(void)
{
    return chain(false);
}

/* A fork to all streams and a join in the legacy stream. */
static int legacy_fork_join(void)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    for (int i = 1; i < 64; i++)
        weir_model_submit(&streams[i], &ops[i], &out);
    weir_model_submit(&legacy, &ops[0], &out);
    drain(&out);
    return 64;
}

/* Every stream waits for its own record in stream 0, submitted newest first: waiters arrive in the
 * worst order. */
static int many_waiters(void)
{
    static struct weir_model_dep deps[STREAMS];
    struct weir_model_out out, blocked;
    struct weir_model_op *op = ops, *hold = op++;

    weir_model_out_init(&out);
    weir_model_submit(&streams[0], hold, &out);
    for (int i = 1; i < STREAMS; i++) {
        weir_model_record(&events[0], &streams[0], op++, &out);
        weir_model_event_wait_dep(&events[0], &streams[i], &deps[i]);
    }
    weir_model_out_init(&blocked);
    for (int i = STREAMS - 1; i > 0; i--)
        weir_model_submit_after(&streams[i], op++, &deps[i], 1, &blocked);
    weir_model_out_init(&out);
    for (struct weir_model_op *b = blocked.blocked, *next; b; b = next) {
        next = b->out_next;
        weir_model_subscribe(b);
    }
    weir_model_complete(hold, &out);
    drain(&out);
    return STREAMS - 1;
}

static void bench(const char *name, int (*run)(void))
{
    double best = 1e30;

    for (int round = 0; round < 5; round++) {
        double start = now_ns(), ns;
        int n = 0;

        while (n < 50 * OPS)
            n += run();
        ns = (now_ns() - start) / n;
        if (ns < best)
            best = ns;
    }
    printf("%s %.1f ns\n", name, best);
}

int main(void)
{
    static const struct weir_model_memory memory = {mem_alloc, mem_free, NULL};

    weir_model_init(&model, 1, &memory);
    weir_model_stream_init(&model, &legacy, 0, WEIR_STREAM_LEGACY, 0);
    for (int i = 0; i < STREAMS; i++)
        weir_model_stream_init(&model, &streams[i], 0,
                               i == 1 ? WEIR_STREAM_NONBLOCKING : WEIR_STREAM_BLOCKING, 0);
    bench("model_submit_complete", one);
    bench("model_submit_complete_nonblocking", one_nonblocking);
    bench("model_queued_10000", queued);
    bench("model_chain_link", chain_op);
    bench("model_chain_link_record_without_op", chain_bare);
    bench("model_legacy_fork_join_64", legacy_fork_join);
    bench("model_waiter_of_511", many_waiters);
    return 0;
}
