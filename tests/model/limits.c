/* Limits and strict modes against the naive model, in random programs on streams of all classes: a
 * stream's depth (ORD-085), staging memory (ORD-086), queues that streams share (ORD-090), loading
 * that synchronises (ORD-091). Operations go in behind gates as core submits them. Usage: limits
 * [SEED].
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limits.h"
#include "model/model.h"
#include "model/naive.h"
#include "support/random.h"

enum { DEVICES = 2, STREAMS = 10, QUEUES = 2, OPS = 400, DEPTH = 6, ROUNDS = 60, COPIES = 200 };

/* An operation and the gate that stands for its start. */
struct pair {
    struct weir_model_op gate, op;
    int naive;
    bool started;
};

static struct {
    struct weir_model m;
    struct weir_model_stream s[STREAMS];
    struct weir_model_queue queues[DEVICES][QUEUES];
    struct pair pairs[OPS];
    int count;
    struct naive n;
    struct naive_stream streams[STREAMS];
    struct naive_op ops[OPS];
    int pending[OPS];
    uint64_t rng;
    long waits, full, held, staged, refused;
} t;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s (operation %d)\n", __FILE__, __LINE__, #x, t.count);        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static void *test_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

static void test_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static struct pair *pair_of(struct weir_model_op *op)
{
    return &t.pairs[((char *)op - (char *)t.pairs) / (ptrdiff_t)sizeof t.pairs[0]];
}

/* ---- running ---- */

static void ready(struct weir_model_op *op, struct weir_model_out *out)
{
    struct pair *p = pair_of(op);

    if (op == &p->gate) {
        weir_model_complete(op, out);
        return;
    }
    CHECK(naive_may_start(&t.n, p->naive));
    p->started = t.n.ops[p->naive].begun = true;
    if (op->kind == WEIR_OP_WAIT) { /* has begun when it is over */
        naive_done(&t.n, p->naive);
        weir_model_complete(op, out);
    }
}

static void pump(struct weir_model_out *out)
{
    while (out->ready || out->blocked || out->notified) {
        struct weir_model_op **list = out->ready     ? &out->ready
                                      : out->blocked ? &out->blocked
                                                     : &out->notified;
        struct weir_model_op *op = *list;
        bool runs = list == &out->ready;

        *list = op->out_next;
        if (!out->ready)
            out->ready_tail = &out->ready;
        if (!out->blocked)
            out->blocked_tail = &out->blocked;
        if (!out->notified)
            out->notified_tail = &out->notified;
        if (runs)
            ready(op, out);
        else if (list == &out->notified || !weir_model_subscribe(op))
            weir_model_resume(op, out);
    }
}

/* Everything has started that may. */
static void compare(void)
{
    for (int i = 0; i < t.count; i++) {
        const struct pair *p = &t.pairs[i];

        CHECK(p->started || !naive_may_start(&t.n, p->naive));
        t.held += !p->started && naive_ready(&t.n, p->naive);
    }
}

static bool complete_one(void)
{
    for (int i = 0, from = (int)rnd((uint32_t)t.count); i < t.count; i++) {
        struct pair *p = &t.pairs[(from + i) % t.count];
        struct weir_model_out out;

        if (!p->started || t.n.ops[p->naive].done)
            continue;
        weir_model_out_init(&out);
        naive_done(&t.n, p->naive);
        weir_model_complete(&p->op, &out);
        pump(&out);
        return true;
    }
    return false;
}

/* ---- calls ---- */

static void submit(int s, enum weir_op_kind kind, const struct weir_model_dep *wait)
{
    struct pair *p = &t.pairs[t.count++];
    struct weir_model_queue *q = &t.queues[t.s[s].device][s % QUEUES];
    struct weir_model_dep deps[2];
    struct weir_model_out out;
    bool queued = kind != WEIR_OP_HOST_FUNC;
    size_t count = 0;

    CHECK(weir_model_takes_queue(kind) == queued);
    weir_model_out_init(&out);
    p->op.kind = (uint8_t)kind;
    p->gate.kind = WEIR_OP_MARKER;
    p->naive = kind == WEIR_OP_WAIT ? t.n.op_count - 1 : naive_submit(&t.n, s);
    if (wait)
        deps[count++] = *wait;
    if (queued) {
        naive_enqueue(&t.n, p->naive, 1 + t.s[s].device * QUEUES + s % QUEUES);
        count += weir_model_queue_next(q, &t.s[s], &deps[count]);
    }
    if (queued && kind != WEIR_OP_WAIT) {
        CHECK(weir_model_submit_after(&t.s[s], &p->gate, deps, count, &out) == WEIR_MODEL_OK);
        count = 0;
    }
    CHECK(weir_model_submit_after(&t.s[s], &p->op, deps, count, &out) == WEIR_MODEL_OK);
    pump(&out);
}

static void call_wait(int s)
{
    int other = (int)rnd(STREAMS);
    struct weir_model_event e = {0};
    struct weir_model_dep dep;
    struct naive_event ne;
    bool depends;

    if (weir_model_record_needs_op(&t.s[other]))
        return; /* records are other tests' */
    CHECK(weir_model_record(&e, &t.s[other], NULL, NULL) == WEIR_MODEL_OK);
    naive_record(&t.n, &ne, other);
    depends = weir_model_event_wait_dep(&e, &t.s[s], &dep);
    if (!depends && !weir_model_wait_needs_op(&t.s[s]))
        return;
    CHECK(naive_wait(&t.n, s, &ne) >= 0);
    submit(s, WEIR_OP_WAIT, depends ? &dep : NULL);
    t.waits++;
}

/* ORD-085, of operations without gates: they would count as well. */
static bool has_room(int s, enum weir_op_kind kind)
{
    struct weir_model_point until;
    bool beyond = !weir_model_takes_place(kind), full;

    full = !beyond && weir_model_is_full(&t.s[s], DEPTH, &until);
    CHECK(full == naive_is_full(&t.n, s, DEPTH, beyond));
    if (full) { /* when that is complete there is one place */
        CHECK(!weir_model_point_holds(&until) && atomic_load(&t.s[s].last) - until.seq == DEPTH);
        t.full++;
    }
    return !full;
}

/* ORD-091: what the host waits for at the first use of a kernel. */
static void call_load(void)
{
    int device = (int)rnd(DEVICES);
    struct weir_call_rule rule = weir_model_call_rule(WEIR_CALL_LAZY_LOAD);
    struct weir_model_point points[STREAMS + 1];
    size_t count = weir_model_device_targets(&t.m, device, points, STREAMS + 1), pending = 0;

    CHECK(rule.waits_for_device && rule.strength == WEIR_OBSERVED && rule.rule == 91);
    CHECK(count <= STREAMS);
    for (int i = 0; i < t.n.op_count; i++) {
        int s = t.n.ops[i].stream;
        bool listed = false;

        for (size_t k = 0; k < count; k++)
            listed = listed || points[k].stream == &t.s[s];
        if (naive_load_waits(&t.n, device, i)) {
            CHECK(listed);
            pending++;
        }
    }
    CHECK((count > 0) == (pending > 0));
    CHECK(!weir_model_call_rule(WEIR_CALL_MODULE_LOAD).waits_for_device); /* ORD-083 */
}

static void begin(void)
{
    static const struct weir_model_memory memory = {test_alloc, test_free, NULL};
    static const enum weir_stream_class classes[] = {WEIR_STREAM_NONBLOCKING, WEIR_STREAM_BLOCKING,
                                                     WEIR_STREAM_PER_THREAD};
    static const enum naive_class naive[] = {NAIVE_NONBLOCKING, NAIVE_BLOCKING, NAIVE_PER_THREAD};

    memset(t.s, 0, sizeof t.s);
    memset(t.queues, 0, sizeof t.queues);
    memset(t.pairs, 0, sizeof t.pairs);
    t.n = (struct naive){.streams = t.streams, .ops = t.ops, .pending = t.pending};
    t.count = 0;
    weir_model_init(&t.m, DEVICES, &memory);
    for (int s = 0; s < STREAMS; s++) {
        int c = (int)rnd(3), device = s % DEVICES;
        bool legacy = s < DEVICES;

        weir_model_stream_init(&t.m, &t.s[s], device, legacy ? WEIR_STREAM_LEGACY : classes[c], 0);
        naive_stream_add(&t.n, device, legacy ? NAIVE_LEGACY : naive[c]);
    }
}

/* ORD-090, ORD-091 */
static void shared_queues(void)
{
    begin();
    while (t.count < OPS - 1) {
        int s = rnd(20) ? DEVICES + (int)rnd(STREAMS - DEVICES) : (int)rnd(DEVICES);
        uint32_t k = rnd(10);

        if (k < 4)
            submit(s, k ? WEIR_OP_KERNEL : WEIR_OP_HOST_FUNC, NULL);
        else if (k < 6)
            call_wait(s);
        else if (k == 6)
            call_load();
        else if (t.count)
            complete_one();
        compare();
    }
    while (complete_one())
        compare();
    CHECK(t.n.pending_count == 0);
}

/* ORD-085 */
static void depth(void)
{
    static const enum weir_op_kind kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY,      WEIR_OP_MEMSET,
                                              WEIR_OP_GRAPH,  WEIR_OP_HOST_FUNC, WEIR_OP_CALLBACK,
                                              WEIR_OP_ALLOC,  WEIR_OP_FREE};

    begin();
    while (t.count < OPS) {
        int s = DEVICES + (int)rnd(STREAMS - DEVICES);
        enum weir_op_kind kind = kinds[rnd(8)];
        struct pair *p = &t.pairs[t.count];
        struct weir_model_out out;

        CHECK(weir_model_takes_place(kind) ==
              (kind != WEIR_OP_HOST_FUNC && kind != WEIR_OP_CALLBACK && kind != WEIR_OP_ALLOC &&
               kind != WEIR_OP_FREE));
        if (rnd(4) == 0 || !has_room(s, kind)) {
            if (t.count)
                complete_one();
            continue;
        }
        t.count++;
        p->op.kind = (uint8_t)kind;
        p->naive = naive_submit(&t.n, s);
        weir_model_out_init(&out);
        CHECK(weir_model_submit(&t.s[s], &p->op, &out) == WEIR_MODEL_OK);
        pump(&out);
    }
    CHECK(!weir_model_takes_place(WEIR_OP_WAIT));
    while (complete_one())
        ;
}

/* ORD-086, as core keeps the counts (copy.c). */
static void staging(void)
{
    struct naive_staging naive = {0};
    size_t used[WEIR_STAGING_COUNT] = {0};
    long taken[COPIES];
    int count = 0;

    for (int i = 0; i < 4000; i++) {
        long bytes = rnd(3) ? 1 + (long)rnd(65600) : 1 + (long)rnd(3 << 20);
        struct weir_staging_rule r;

        if (count == COPIES || (count && rnd(300) == 0)) {
            for (int k = (int)rnd((uint32_t)count); k >= 0; k--) {
                r = weir_model_staging_rule((size_t)taken[--count], WEIR_MODEL_STAGED_MAX);
                used[r.pool] -= r.charge;
                naive_unstage(&naive, taken[count]);
            }
            continue;
        }
        r = weir_model_staging_rule((size_t)bytes, WEIR_MODEL_STAGED_MAX);
        CHECK((used[r.pool] + r.charge <= r.limit) == naive_stage(&naive, bytes));
        if (used[r.pool] + r.charge > r.limit) {
            t.refused++;
            continue;
        }
        used[r.pool] += r.charge;
        taken[count++] = bytes;
        t.staged++;
    }
}

int main(int argc, char **argv)
{
    t.rng = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    for (int i = 0; i < ROUNDS; i++) {
        shared_queues();
        depth();
        staging();
    }
    CHECK(t.waits && t.full && t.held && t.staged && t.refused);
    printf("%ld waits, %ld times full, %ld times held by a queue, %ld sources staged, %ld not\n",
           t.waits, t.full, t.held, t.staged, t.refused);
    return 0;
}
