/* Random programs of 10^5 operations on many streams of two devices: submissions, events, copies
 * between devices, streams that come, go and are reused, allocations that fail, completions and
 * messages between streams in random order. The naive model runs beside; every few steps what is
 * ready, what is complete, what the host waits for and the order of some pending pairs are
 * compared. Kernels trigger, begin early and end before their turn; memory is freed in streams and
 * asked for in others. Usage: random [SEED
 * [OPERATIONS]]. Rules: ORD-001 to ORD-012, ORD-020 to ORD-028, ORD-031, ORD-032, ORD-040 to
 * ORD-044, ORD-050 to ORD-053.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/dependent.h"
#include "model/model.h"
#include "model/naive.h"
#include "model/reuse.h"
#include "support/random.h"

enum {
    DEVICES = 2,
    STREAMS = 48,
    EVENTS = 24,
    FREES = 16,
    WAITS = 64,
    MAX_PENDING = 400,
    SLOTS = 2048,
    MAX_POINTS = 128
};

struct rop {
    struct weir_model_op op; /* first */
    int naive;               /* its operation in the naive model, -1: a marker of the model's own */
    struct rop *next_free;
};

static struct {
    struct weir_model m;
    struct weir_model_stream s[STREAMS]; /* the first DEVICES are the legacy ones */
    int naive_stream[STREAMS];           /* -1: not in use */
    struct weir_model_event e[EVENTS];
    struct naive_event ne[EVENTS];
    struct weir_model_event freed[FREES]; /* as the places of frees */
    struct naive_event nfreed[FREES];
    weir_seq birth[STREAMS]; /* what the struct had counted when its stream was made */
    struct weir_model_follows follows[STREAMS];
    struct naive_event waits[STREAMS][WAITS]; /* the newest of each stream waited for */
    int wait_count[STREAMS];
    struct rop slots[SLOTS], *free;
    struct naive n;
    struct rop **of_naive; /* while pending */
    /* messages under way: an order of delivery is chosen at random, as threads would */
    struct weir_model_op *blocked[SLOTS], *notified[SLOTS], *ready[SLOTS];
    int blocked_count, notified_count, ready_count;
    struct weir_model_op *early[SLOTS]; /* begun, and their turn has not come */
    int early_count;
    uint64_t rng;
    long live, failed, refused, checks, early_begun, early_ended;
    bool may_fail;
} t;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s (operation %d)\n", __FILE__, __LINE__, #x, t.n.op_count);   \
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
    if (t.may_fail && rnd(4) == 0) {
        t.failed++;
        return NULL;
    }
    t.live++;
    return malloc(bytes);
}

static void test_free(void *ctx, void *p)
{
    (void)ctx;
    t.live--;
    free(p);
}

/* ---- messages ---- */

/* The turn of a kernel that began early has come. */
static void take_turn(struct weir_model_op *op)
{
    unsigned early = weir_model_turn(op);
    int k = 0;

    CHECK(!!early == t.n.ops[((struct rop *)op)->naive].begun);
    if (!early)
        return;
    CHECK(!!(early & WEIR_MOMENT_ENDED) == t.n.ops[((struct rop *)op)->naive].ended);
    while (t.early[k] != op)
        k++;
    t.early[k] = t.early[--t.early_count];
}

static void take(struct weir_model_out *out)
{
    for (struct weir_model_op *op = out->blocked; op; op = op->out_next)
        t.blocked[t.blocked_count++] = op;
    for (struct weir_model_op *op = out->notified; op; op = op->out_next)
        t.notified[t.notified_count++] = op;
    for (struct weir_model_op *op = out->ready; op; op = op->out_next) {
        CHECK(op->state == WEIR_OP_READY);
        if (op->kind == WEIR_OP_KERNEL)
            take_turn(op);
        t.ready[t.ready_count++] = op;
    }
}

static struct weir_model_op *pick(struct weir_model_op **list, int *count)
{
    int k = (int)rnd((uint32_t)*count);
    struct weir_model_op *op = list[k];

    list[k] = list[--*count];
    return op;
}

static void complete(struct weir_model_op *op)
{
    struct rop *r = (struct rop *)op;
    struct weir_model_out out;

    weir_model_out_init(&out);
    if (r->naive >= 0) {
        CHECK(naive_ready(&t.n, r->naive));
        CHECK(op->kind != WEIR_OP_KERNEL || !weir_model_end_early(op));
        naive_done(&t.n, r->naive);
        t.of_naive[r->naive] = NULL;
    }
    weir_model_complete(op, &out);
    take(&out);
    memset(r, 0xee, sizeof *r); /* nobody may look at it again */
    r->next_free = t.free;
    t.free = r;
}

static void step_message(void)
{
    struct weir_model_out out;

    weir_model_out_init(&out);
    if (t.notified_count && (!t.blocked_count || rnd(2))) {
        weir_model_resume(pick(t.notified, &t.notified_count), &out);
    } else if (t.blocked_count) {
        struct weir_model_op *op = pick(t.blocked, &t.blocked_count);

        if (!weir_model_subscribe(op))
            weir_model_resume(op, &out);
    }
    take(&out);
}

/* All messages delivered, the model's own markers run: now `ready` is exact. */
static void settle(void)
{
    bool again = true;

    while (again) {
        again = false;
        while (t.blocked_count || t.notified_count)
            step_message();
        for (int k = 0; k < t.ready_count; k++) {
            struct weir_model_op *op = t.ready[k];

            if (((struct rop *)op)->naive >= 0)
                continue;
            t.ready[k] = t.ready[--t.ready_count];
            complete(op);
            again = true;
            break;
        }
    }
}

/* ---- comparison ---- */

static int by_pending(int naive_op)
{
    int lo = 0, hi = t.n.pending_count - 1;

    while (lo <= hi) {
        int mid = (lo + hi) / 2;

        if (t.n.pending[mid] == naive_op)
            return mid;
        if (t.n.pending[mid] < naive_op)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return -1;
}

static void model_before(const struct weir_model_op *op, bool *set);

/* Marks what the model has at or before the point: the stream's queue is its pending operations in
 * order. */
static void mark_point(const struct weir_model_point *p, bool *set)
{
    const struct weir_model_op *newest = NULL;

    if (weir_model_point_holds(p))
        return;
    for (const struct weir_model_op *op = p->stream->head; op && op->seq <= p->seq; op = op->next)
        newest = op;
    CHECK(newest);
    if (((const struct rop *)newest)->naive >= 0) {
        int k = by_pending(((const struct rop *)newest)->naive);

        if (set[k])
            return;
        set[k] = true;
    }
    model_before(newest, set);
}

static void model_before(const struct weir_model_op *op, bool *set)
{
    struct weir_model_point own = {op->stream, op->seq - 1};

    mark_point(&own, set);
    for (int d = 0; d < op->dep_count; d++)
        mark_point(&op->deps[d].point, set);
}

static void naive_before(int k, bool *set)
{
    for (int i = k - 1; i >= 0; i--) {
        if (!set[i] && naive_direct(&t.n, t.n.pending[i], t.n.pending[k])) {
            set[i] = true;
            naive_before(i, set);
        }
    }
}

static void compare_points(const struct weir_model_point *points, size_t count, int stream,
                           int device)
{
    bool model[MAX_PENDING + 8] = {0}, naive[MAX_PENDING + 8] = {0};

    CHECK(count <= MAX_POINTS);
    for (size_t k = 0; k < count; k++)
        mark_point(&points[k], model);
    for (int k = 0; k < t.n.pending_count; k++) {
        int i = t.n.pending[k];

        if (stream >= 0 ? naive_stream_sync_waits(&t.n, stream, i)
                        : naive_device_sync_waits(&t.n, device, i)) {
            naive[k] = true;
            naive_before(k, naive);
        }
    }
    CHECK(!memcmp(model, naive, sizeof model));
}

static void compare_reuse(int s)
{
    bool follow = rnd(2), opportunistic = rnd(2), few = t.wait_count[s] <= WEIR_MODEL_FOLLOWS;
    struct naive_waits waits = {t.waits[s], t.wait_count[s]};
    int ns = t.naive_stream[s], e = (int)rnd(EVENTS);

    for (int f = 0; f < FREES; f++) {
        const struct weir_model_point *point = &t.freed[f].point;
        const struct naive_event *nf = &t.nfreed[f];
        struct weir_model_synced synced[] = {{.stream = &t.s[s], .follows = &t.follows[s]},
                                             {.point = &t.e[e].point},
                                             {.device = (int)rnd(DEVICES)}};
        enum weir_reuse r =
            weir_model_reuse(point, &t.s[s], (struct weir_reuse_policy){follow, opportunistic});
        bool may = r == WEIR_REUSE_YES ||
                   (r == WEIR_REUSE_IF_FOLLOWED && weir_model_follows_has(&t.follows[s], point));
        bool naive, settled;

        if (!t.freed[f].recorded)
            continue;
        naive = naive_may_reuse(&t.n, nf, ns, &waits, follow, opportunistic);
        CHECK(may == naive || (!may && !few)); /* of many streams it may have forgotten one */
        settled = weir_model_synced_covers(&synced[0], point);
        naive = naive_settles(&t.n, nf, ns, &waits, NULL, -1);
        CHECK(settled == naive || (!settled && !few));
        if (t.e[e].recorded)
            CHECK(weir_model_synced_covers(&synced[1], point) ==
                  naive_settles(&t.n, nf, -1, NULL, &t.ne[e], -1));
        CHECK(weir_model_synced_covers(&synced[2], point) ==
              naive_settles(&t.n, nf, -1, NULL, NULL, synced[2].device));
    }
}

static void compare_early(void)
{
    for (int s = 0; s < STREAMS; s++) {
        const struct weir_model_op *op;

        if (t.naive_stream[s] < 0)
            continue;
        op = weir_model_early_next(&t.s[s]);
        CHECK((op ? ((const struct rop *)op)->naive : -1) == naive_early(&t.n, t.naive_stream[s]));
    }
    for (int k = 0; k < t.early_count; k++) {
        struct weir_model_point point = weir_model_waits_inside(t.early[k]);

        CHECK(weir_model_point_holds(&point) ==
              naive_wait_is_over(&t.n, ((const struct rop *)t.early[k])->naive));
    }
}

static void compare(void)
{
    struct weir_model_point points[MAX_POINTS];
    int s = (int)rnd(STREAMS), d = (int)rnd(DEVICES);

    settle();
    t.checks++;
    compare_early();
    if (t.naive_stream[s] >= 0)
        compare_reuse(s);
    for (int k = 0; k < t.n.pending_count; k++) {
        int i = t.n.pending[k];

        CHECK((t.of_naive[i]->op.state == WEIR_OP_READY) == naive_ready(&t.n, i));
    }
    for (int e = 0; e < EVENTS; e++)
        CHECK(weir_model_event_is_complete(&t.e[e]) == naive_event_complete(&t.n, &t.ne[e]));
    if (t.naive_stream[s] >= 0)
        compare_points(points, weir_model_stream_targets(&t.s[s], points, MAX_POINTS),
                       t.naive_stream[s], -1);
    compare_points(points, weir_model_device_targets(&t.m, d, points, MAX_POINTS), -1, d);
    for (int i = 0; i < 4 && t.n.pending_count; i++) {
        bool model[MAX_PENDING + 8] = {0}, naive[MAX_PENDING + 8] = {0};
        int k = (int)rnd((uint32_t)t.n.pending_count);

        model_before(&t.of_naive[t.n.pending[k]]->op, model);
        naive_before(k, naive);
        CHECK(!memcmp(model, naive, sizeof model));
    }
}

/* ---- calls ---- */

static struct rop *slot(int naive)
{
    struct rop *r = t.free;

    t.free = r->next_free;
    memset(r, 0xdd, sizeof *r); /* submit sets every field but kind */
    r->op.kind = WEIR_OP_KERNEL;
    r->naive = naive;
    return r;
}

static void give_back(struct rop *r)
{
    r->next_free = t.free;
    t.free = r;
}

static int random_stream(void)
{
    int s;

    if (rnd(40) == 0) /* legacy submissions couple everything: few, or nothing else is seen */
        return (int)rnd(DEVICES);
    do
        s = DEVICES + (int)rnd(STREAMS - DEVICES);
    while (t.naive_stream[s] < 0);
    return s;
}

static void accepted(struct rop *r, int naive)
{
    r->naive = naive;
    t.of_naive[naive] = r;
}

static void call_submit(void)
{
    int s = random_stream();
    struct rop *r = slot(-1);
    bool asks = rnd(3) > 0;
    struct weir_model_out out;

    r->op.early = asks ? WEIR_EARLY_ASKS : 0;
    if (rnd(8) == 0)
        r->op.kind = WEIR_OP_COPY;
    weir_model_out_init(&out);
    if (weir_model_submit(&t.s[s], &r->op, &out) == WEIR_MODEL_OK) {
        accepted(r, r->op.kind == WEIR_OP_KERNEL ? naive_launch(&t.n, t.naive_stream[s], asks)
                                                 : naive_submit(&t.n, t.naive_stream[s]));
    } else {
        t.refused++;
        give_back(r);
    }
    take(&out);
}

/* ---- kernels between their begin and their end ---- */

static void trigger(struct weir_model_op *op)
{
    struct naive_op *o = &t.n.ops[((struct rop *)op)->naive];

    if (op->kind != WEIR_OP_KERNEL)
        return;
    weir_model_trigger(op);
    o->begun = o->triggered = true;
}

static void begin_early(void)
{
    int s = random_stream();
    struct weir_model_op *op = weir_model_early_next(&t.s[s]);

    CHECK((op ? ((const struct rop *)op)->naive : -1) == naive_early(&t.n, t.naive_stream[s]));
    if (!op)
        return;
    weir_model_begin_early(op);
    t.n.ops[((struct rop *)op)->naive].begun = true;
    t.early[t.early_count++] = op;
    t.early_begun++;
}

static void end_early(struct weir_model_op *op)
{
    struct naive_op *o = &t.n.ops[((struct rop *)op)->naive];

    CHECK(weir_model_end_early(op));
    o->ended = true;
    t.early_ended++;
}

static void step_kernel(void)
{
    uint32_t k = rnd(8);

    if (k < 3 && t.ready_count)
        trigger(t.ready[rnd((uint32_t)t.ready_count)]);
    else if (k == 3 && t.early_count)
        trigger(t.early[rnd((uint32_t)t.early_count)]);
    else if (k == 4 && t.early_count)
        end_early(t.early[rnd((uint32_t)t.early_count)]);
    else
        begin_early();
}

static void forget_waits(int s)
{
    t.follows[s] = (struct weir_model_follows){0};
    t.wait_count[s] = 0;
}

/* s has waited for e. */
static void has_waited(int s, int e)
{
    int k = 0;

    if (!t.e[e].recorded || t.ne[e].stream == t.naive_stream[s])
        return;
    weir_model_follows_add(&t.follows[s], &t.s[s], &t.e[e].point);
    while (k < t.wait_count[s] && t.waits[s][k].stream != t.ne[e].stream)
        k++;
    if (k == WAITS) {
        forget_waits(s);
        return;
    }
    if (k == t.wait_count[s])
        t.waits[s][t.wait_count[s]++] = t.ne[e];
    else if (t.waits[s][k].time < t.ne[e].time)
        t.waits[s][k] = t.ne[e];
}

/* One operation behind several events, as a graph launch may be: in the naive model one wait after
 * the other. */
static void call_wait(void)
{
    int s = random_stream(), e = (int)rnd(EVENTS);
    struct weir_model_dep dep;
    struct weir_model_out out;
    struct rop *r;
    bool depends = weir_model_event_wait_dep(&t.e[e], &t.s[s], &dep);
    bool nothing = naive_event_complete(&t.n, &t.ne[e]) || t.ne[e].stream == t.naive_stream[s];

    CHECK(depends == !nothing);
    if (!depends && !weir_model_wait_needs_op(&t.s[s])) {
        has_waited(s, e);
        return;
    }
    r = slot(-1);
    r->op.kind = WEIR_OP_WAIT;
    weir_model_out_init(&out);
    if (weir_model_submit_after(&t.s[s], &r->op, &dep, depends ? 1 : 0, &out) == WEIR_MODEL_OK) {
        accepted(r, naive_wait(&t.n, t.naive_stream[s], &t.ne[e]));
        has_waited(s, e);
    } else {
        t.refused++;
        give_back(r);
    }
    take(&out);
}

static void call_record(struct weir_model_event *events, struct naive_event *naive, int e)
{
    int s = random_stream();
    struct weir_model_out out;
    struct rop *r = NULL;

    weir_model_out_init(&out);
    if (weir_model_record_needs_op(&t.s[s]) || rnd(2))
        r = slot(-1);
    if (weir_model_record(&events[e], &t.s[s], r ? &r->op : NULL, &out) == WEIR_MODEL_OK) {
        if (r)
            accepted(r, naive_submit(&t.n, t.naive_stream[s]));
        naive_record(&t.n, &naive[e], t.naive_stream[s]);
        /* A free with nothing in front of it in its stream is a point of the struct's last owner.
         */
        if (events == t.freed)
            events[e].recorded = events[e].point.seq > t.birth[s];
    } else {
        t.refused++;
        give_back(r);
    }
    take(&out);
}

static void call_peer(void)
{
    int d = (int)rnd(DEVICES);
    struct rop *r = slot(-1), *before = slot(-1), *after = slot(-1);
    struct weir_model_out out;

    r->op.kind = WEIR_OP_COPY;
    before->op.kind = after->op.kind = WEIR_OP_MARKER;
    weir_model_out_init(&out);
    if (weir_model_submit_peer(&t.s[d], &r->op, &t.s[1 - d], &before->op, &after->op, &out) ==
        WEIR_MODEL_OK) {
        accepted(r, naive_submit_peer(&t.n, t.naive_stream[d], 1 - d));
    } else {
        t.refused++;
        CHECK(!out.ready && !out.blocked && !out.notified);
        give_back(after);
        give_back(before);
        give_back(r);
    }
    take(&out);
}

static void stream_create(int s)
{
    static const enum weir_stream_class classes[] = {WEIR_STREAM_PER_THREAD, WEIR_STREAM_BLOCKING,
                                                     WEIR_STREAM_NONBLOCKING};
    static const enum naive_class naive_classes[] = {NAIVE_PER_THREAD, NAIVE_BLOCKING,
                                                     NAIVE_NONBLOCKING};
    int c = (int)rnd(3), d = s % DEVICES; /* a struct stays with its device */

    weir_model_stream_init(&t.m, &t.s[s], d, classes[c], -(int)rnd(6));
    forget_waits(s);
    t.birth[s] = atomic_load(&t.s[s].last);
    t.naive_stream[s] = naive_stream_add(&t.n, d, naive_classes[c]);
}

static void call_create_or_destroy(void)
{
    int s = DEVICES + (int)rnd(STREAMS - DEVICES);

    if (t.naive_stream[s] < 0) {
        if (weir_model_stream_is_idle(&t.s[s]))
            stream_create(s);
    } else if (s >= DEVICES + 4) { /* some always stay */
        weir_model_stream_finish(&t.s[s]);
        for (int f = 0; f < FREES; f++) /* its struct may stand for another stream soon */
            t.freed[f].recorded = t.freed[f].recorded && t.freed[f].point.stream != &t.s[s];
        t.naive_stream[s] = -1;
    }
}

static void step(void)
{
    uint32_t k = rnd(100);

    if (t.n.pending_count < MAX_PENDING && k < 30)
        call_submit();
    else if (t.n.pending_count < MAX_PENDING && k < 42)
        call_wait();
    else if (t.n.pending_count < MAX_PENDING && k < 50)
        call_record(t.e, t.ne, (int)rnd(EVENTS));
    else if (t.n.pending_count < MAX_PENDING && k < 52)
        call_record(t.freed, t.nfreed, (int)rnd(FREES));
    else if (k < 54)
        call_create_or_destroy();
    else if (t.n.pending_count < MAX_PENDING && k == 54 && rnd(4) == 0)
        call_peer();
    else if (k < 66)
        step_kernel();
    else if (k < 82)
        step_message();
    else if (t.ready_count)
        complete(pick(t.ready, &t.ready_count));
}

int main(int argc, char **argv)
{
    static const struct weir_model_memory memory = {test_alloc, test_free, NULL};
    int limit = argc > 2 ? atoi(argv[2]) : 100000;

    t.rng = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    t.n.ops = malloc(sizeof *t.n.ops * ((size_t)limit + 8));
    t.n.pending = malloc(sizeof *t.n.pending * (MAX_PENDING + 8));
    t.n.streams = malloc(sizeof *t.n.streams * ((size_t)limit + STREAMS));
    t.of_naive = calloc((size_t)limit + 8, sizeof *t.of_naive);
    for (int i = 0; i < SLOTS; i++)
        give_back(&t.slots[i]);
    weir_model_init(&t.m, DEVICES, &memory);
    for (int d = 0; d < DEVICES; d++) {
        weir_model_stream_init(&t.m, &t.s[d], d, WEIR_STREAM_LEGACY, 0);
        t.naive_stream[d] = naive_stream_add(&t.n, d, NAIVE_LEGACY);
    }
    for (int s = DEVICES; s < STREAMS; s++)
        stream_create(s);
    t.may_fail = true;
    for (long i = 0; t.n.op_count < limit; i++) {
        step();
        if (i % 128 == 0)
            compare();
    }
    while (t.n.pending_count) {
        settle();
        complete(pick(t.ready, &t.ready_count));
    }
    settle();
    CHECK(!t.live && t.failed && t.refused && !t.early_count);
    for (int s = 0; s < STREAMS; s++)
        CHECK(weir_model_stream_is_idle(&t.s[s]) && !t.s[s].head && !t.s[s].waiters);
    CHECK(t.early_begun > limit / 200 && t.early_ended > limit / 1000);
    printf("%d operations, %d streams, %ld comparisons, %ld allocations refused, %ld kernels began "
           "early, %ld ended early\n",
           t.n.op_count, t.n.stream_count, t.checks, t.failed, t.early_begun, t.early_ended);
    free(t.of_naive);
    free(t.n.streams);
    free(t.n.pending);
    free(t.n.ops);
    return 0;
}
