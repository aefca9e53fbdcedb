/* All programs up to a bound, in all completion orders, on small sets of streams of all classes: at
 * every state the model must agree with the naive one on what is ready, what is complete, what the
 * host waits for, and which pairs are ordered. Usage: exhaustive [CALLS [lean]]. The whole world is
 * one struct, so that a state is saved and restored by copying it. Rules: ORD-001 to ORD-008,
 * ORD-011, ORD-020 to ORD-024, ORD-026 to ORD-028, ORD-040 to ORD-044.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/naive.h"

enum { STREAMS = 4, OPS = 8, EVENTS = 2, SLABS = 8, SLAB_DEPS = 8, DEPTH = 20 };

struct xop {
    struct weir_model_op op; /* first */
    int id;
};

static struct world {
    struct weir_model m;
    struct weir_model_stream s[STREAMS];
    struct weir_model_event e[EVENTS];
    struct xop ops[OPS];
    struct weir_model_dep slab[SLABS][SLAB_DEPS];
    bool slab_used[SLABS];
    uint32_t model_before[OPS],
        naive_before[OPS]; /* closures at submission, of operations pending then */
    struct naive n;
    struct naive_stream n_streams[STREAMS];
    struct naive_op n_ops[OPS];
    int n_pending[OPS];
    struct naive_event n_e[EVENTS];
    int stream_count, event_count;
} w, saved[DEPTH];

static int depth;
static char trail[512];
static unsigned long long states, programs;
static bool lean; /* records get an operation only where they need one */

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n  after:%s\n", __FILE__, __LINE__, #x, trail);             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *slab_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    CHECK(bytes <= sizeof w.slab[0]);
    for (int i = 0; i < SLABS; i++) {
        if (!w.slab_used[i]) {
            w.slab_used[i] = true;
            return w.slab[i];
        }
    }
    return NULL;
}

static void slab_free(void *ctx, void *p)
{
    (void)ctx;
    for (int i = 0; i < SLABS; i++)
        if (p == w.slab[i])
            w.slab_used[i] = false;
}

static void deliver(struct weir_model_out *out)
{
    struct weir_model_op *next;

    for (struct weir_model_op *op = out->notified; op; op = next) {
        struct weir_model_out more;

        next = op->out_next;
        weir_model_out_init(&more);
        weir_model_resume(op, &more);
        deliver(&more);
    }
    for (struct weir_model_op *op = out->blocked; op; op = next) {
        next = op->out_next;
        CHECK(weir_model_subscribe(op)); /* nothing completes in between here */
    }
}

static int stream_index(const struct weir_model_stream *s)
{
    return (int)(s - w.s);
}

/* Pending operations of the point's stream up to it, with all that the model has before those. */
static uint32_t point_closure(const struct weir_model_point *p)
{
    uint32_t set = 0;

    for (int k = 0; k < w.n.pending_count; k++) {
        int i = w.n.pending[k];

        if (w.ops[i].op.stream == p->stream && w.ops[i].op.seq <= p->seq)
            set |= 1u << i | w.model_before[i];
    }
    return set;
}

static uint32_t pending_set(void)
{
    uint32_t set = 0;

    for (int k = 0; k < w.n.pending_count; k++)
        set |= 1u << w.n.pending[k];
    return set;
}

/* ORD-028: both sides' closures over what is pending, at the submission of op j. */
static void compare_order(int j)
{
    struct weir_model_op *op = &w.ops[j].op;
    struct weir_model_point own = {op->stream, op->seq - 1};
    uint32_t pending = pending_set() & ~(1u << j);

    w.model_before[j] = 0;
    w.naive_before[j] = 0;
    w.model_before[j] = point_closure(&own);
    for (int d = 0; d < op->dep_count; d++)
        w.model_before[j] |= point_closure(&op->deps[d].point);
    for (int i = 0; i < j; i++)
        if (pending >> i & 1 && naive_direct(&w.n, i, j))
            w.naive_before[j] |= 1u << i | w.naive_before[i];
    CHECK((w.model_before[j] & pending) == (w.naive_before[j] & pending));
}

static void compare_targets(const struct weir_model_point *points, size_t count, int stream,
                            int device)
{
    uint32_t model = 0, naive = 0, pending = pending_set();

    CHECK(count <= STREAMS);
    for (size_t k = 0; k < count; k++) {
        CHECK(!weir_model_point_holds(&points[k]));
        model |= point_closure(&points[k]);
    }
    for (int i = 0; i < w.n.op_count; i++)
        if (stream >= 0 ? naive_stream_sync_waits(&w.n, stream, i)
                        : naive_device_sync_waits(&w.n, device, i))
            naive |= 1u << i | w.naive_before[i];
    CHECK((model & pending) == (naive & pending));
}

static void compare_state(void)
{
    struct weir_model_point points[STREAMS];

    states++;
    for (int i = 0; i < w.n.op_count; i++) {
        struct weir_model_op *op = &w.ops[i].op;

        CHECK((op->state == WEIR_OP_COMPLETE) == w.n.ops[i].done);
        CHECK((op->state == WEIR_OP_READY) == naive_ready(&w.n, i));
    }
    for (int e = 0; e < w.event_count; e++)
        CHECK(weir_model_event_is_complete(&w.e[e]) == naive_event_complete(&w.n, &w.n_e[e]));
    for (int s = 0; s < w.stream_count; s++)
        compare_targets(points, weir_model_stream_targets(&w.s[s], points, STREAMS), s, -1);
    for (int d = 0; d < w.m.device_count; d++)
        compare_targets(points, weir_model_device_targets(&w.m, d, points, STREAMS), -1, d);
}

static void note(const char *what, int a, int b)
{
    size_t n = strlen(trail);

    snprintf(trail + n, sizeof trail - n, " %s%d", what, a);
    n = strlen(trail);
    if (b >= 0)
        snprintf(trail + n, sizeof trail - n, "(%d)", b);
}

enum call { CALL_OP, CALL_RECORD, CALL_RECORD_WITH_OP, CALL_WAIT, CALL_KINDS };

/* False: that call is not distinct here (a record without an operation where one is needed). */
static bool do_call(enum call call, int s, int e)
{
    struct weir_model_out out;
    struct weir_model_op *op = &w.ops[w.n.op_count].op;
    struct weir_model_dep dep;
    bool depends;
    int id;

    weir_model_out_init(&out);
    switch (call) {
    case CALL_OP:
        note("op", s, -1);
        id = naive_submit(&w.n, s);
        op->kind = WEIR_OP_KERNEL;
        CHECK(weir_model_submit(&w.s[s], op, &out) == WEIR_MODEL_OK);
        break;
    case CALL_RECORD:
        if (weir_model_record_needs_op(&w.s[s]))
            return false;
        note("record", s, e);
        naive_record(&w.n, &w.n_e[e], s);
        CHECK(weir_model_record(&w.e[e], &w.s[s], NULL, &out) == WEIR_MODEL_OK);
        CHECK(!out.ready && !out.blocked && !out.notified);
        return true;
    case CALL_RECORD_WITH_OP:
        if (lean && !weir_model_record_needs_op(&w.s[s]))
            return false;
        note("recordop", s, e);
        id = naive_submit(&w.n, s);
        naive_record(&w.n, &w.n_e[e], s);
        CHECK(weir_model_record(&w.e[e], &w.s[s], op, &out) == WEIR_MODEL_OK);
        break;
    default:
        note("wait", s, e);
        id = naive_wait(&w.n, s, &w.n_e[e]);
        depends = weir_model_event_wait_dep(&w.e[e], &w.s[s], &dep);
        CHECK((id >= 0) == (depends || weir_model_wait_needs_op(&w.s[s])));
        if (id < 0)
            return true;
        op->kind = WEIR_OP_WAIT;
        CHECK(weir_model_submit_after(&w.s[s], op, &dep, depends ? 1 : 0, &out) == WEIR_MODEL_OK);
    }
    compare_order(id);
    deliver(&out);
    return true;
}

static void explore(int calls)
{
    size_t length = strlen(trail);

    compare_state();
    if (!calls && !w.n.pending_count)
        programs++;
    CHECK(depth < DEPTH);
    memcpy(&saved[depth++], &w, sizeof w);
    for (int c = 0; calls && c < CALL_KINDS; c++) {
        for (int s = 0; s < w.stream_count; s++) {
            for (int e = 0; e < (c == CALL_OP ? 1 : w.event_count); e++) {
                if (do_call((enum call)c, s, e))
                    explore(calls - 1);
                memcpy(&w, &saved[depth - 1], sizeof w);
                trail[length] = 0;
            }
        }
    }
    for (int s = 0; s < w.stream_count; s++) {
        struct weir_model_op *op = w.s[s].head;
        struct weir_model_out out;

        if (!op || op->state != WEIR_OP_READY)
            continue;
        note("done", stream_index(op->stream), -1);
        weir_model_out_init(&out);
        naive_done(&w.n, (int)((struct xop *)op - w.ops));
        weir_model_complete(op, &out);
        deliver(&out);
        explore(calls);
        memcpy(&w, &saved[depth - 1], sizeof w);
        trail[length] = 0;
    }
    depth--;
}

/* One letter a stream: L P B N on device 0, l p b n on device 1. */
static void run(const char *streams, int events, int calls)
{
    static const enum weir_stream_class classes[] = {WEIR_STREAM_LEGACY, WEIR_STREAM_PER_THREAD,
                                                     WEIR_STREAM_BLOCKING, WEIR_STREAM_NONBLOCKING};
    static const enum naive_class naive_classes[] = {NAIVE_LEGACY, NAIVE_PER_THREAD, NAIVE_BLOCKING,
                                                     NAIVE_NONBLOCKING};
    static const struct weir_model_memory memory = {slab_alloc, slab_free, NULL};

    memset(&w, 0, sizeof w);
    w.n = (struct naive){.streams = w.n_streams, .ops = w.n_ops, .pending = w.n_pending};
    weir_model_init(&w.m, strpbrk(streams, "lpbn") ? 2 : 1, &memory);
    w.event_count = events;
    for (; streams[w.stream_count]; w.stream_count++) {
        static const char letters[] = "LPBNlpbn";
        int k = (int)(strchr(letters, streams[w.stream_count]) - letters);

        weir_model_stream_init(&w.m, &w.s[w.stream_count], k / 4, classes[k % 4], 0);
        naive_stream_add(&w.n, k / 4, naive_classes[k % 4]);
    }
    states = programs = 0;
    depth = 0;
    trail[0] = 0;
    snprintf(trail, sizeof trail, " [%s]", streams);
    explore(calls);
    printf("%-5s events %d calls %d: %llu states, %llu runs\n", streams, events, calls, states,
           programs);
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 4;

    lean = argc > 2 && !strcmp(argv[2], "lean");
    run("B", lean ? 1 : 2, calls + 1);
    run("L", 1, calls + 1);
    run("LB", 1, calls);
    run("BN", lean ? 1 : 2, calls);
    run("LBB", 1, calls);
    run("LBN", 1, calls);
    run("PPL", 1, calls);
    if (!lean)
        run("NNL", 1, calls);
    run("LlB", 1, lean ? calls - 1 : calls);
    run("LbN", 1, lean ? calls - 1 : calls);
    run("LBlb", 1, calls - 1);
    run("LBPN", 1, calls - 1);
    return 0;
}
