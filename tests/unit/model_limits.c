/* Limits: a stream's depth (ORD-085), staging memory (ORD-086), queues that streams share
 * (ORD-090), the last against a naive reading of the rule under random orders.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model_fix.h"

#include "model/limits.h"

static void depth(void **state)
{
    struct weir_model_stream s = {0};
    struct weir_model_point until;

    (void)state;
    for (uint64_t depth = 1; depth < 6; depth++) {
        for (uint64_t completed = 0; completed < 8; completed++) {
            for (uint64_t last = completed; last < completed + 12; last++) {
                uint64_t left = last - completed;
                bool full;

                atomic_store(&s.completed, completed);
                atomic_store(&s.last, last);
                full = weir_model_is_full(&s, depth, &until);
                /* one runs, `depth` stand behind it */
                assert_int_equal(full, left >= depth + 1);
                if (full) /* and when that is complete there is room for exactly one */
                    assert_int_equal(last - until.seq, depth);
            }
        }
    }
    assert_true(weir_model_takes_place(WEIR_OP_KERNEL));
    assert_true(weir_model_takes_place(WEIR_OP_RECORD));
    assert_false(weir_model_takes_place(WEIR_OP_WAIT));
    assert_false(weir_model_takes_place(WEIR_OP_HOST_FUNC));
}

static void staging(void **state)
{
    struct weir_staging_rule r = weir_model_staging_rule(1, WEIR_MODEL_STAGED_MAX);

    (void)state;
    assert_true(r.pool == WEIR_STAGING_SMALL && r.charge == 33 && r.limit == 4068000);
    r = weir_model_staging_rule(65536, WEIR_MODEL_STAGED_MAX);
    assert_true(r.pool == WEIR_STAGING_SMALL && r.charge == 65568);
    r = weir_model_staging_rule(65537, WEIR_MODEL_STAGED_MAX);
    assert_true(r.pool == WEIR_STAGING_LARGE && r.charge == 1 << 20 &&
                r.limit == WEIR_MODEL_STAGED_MAX);
    r = weir_model_staging_rule((1 << 20) + 1, WEIR_MODEL_STAGED_MAX);
    assert_true(r.charge == 2 << 20);
    r = weir_model_staging_rule(100, 1 << 20);
    assert_true(r.limit > 1 << 20 && r.limit < 4068000);
}

/* ---- queues ---- */

#define STREAMS 6
#define QUEUES  2
#define OPS     400

/* An operation and its gate, as core submits them (submit.c). */
struct pair {
    struct weir_model_op gate, op;
    int queue, stream;
    bool gated, started, complete;
};

static struct fix fix; /* its allocator */
static struct weir_model model;
static struct weir_model_stream streams[STREAMS];
static struct weir_model_queue queues[QUEUES];
static struct pair pairs[OPS];
static int pair_count;

static struct pair *pair_of(struct weir_model_op *op)
{
    size_t i = (size_t)((char *)op - (char *)pairs) / sizeof *pairs;

    return &pairs[i];
}

/* Runs the messages; gates and waits complete in place, operations have started. */
static void pump(struct weir_model_out *out)
{
    while (out->ready || out->blocked || out->notified) {
        struct weir_model_op *op;

        if (out->ready) {
            op = out->ready;
            out->ready = op->out_next;
            if (!out->ready)
                out->ready_tail = &out->ready;
            if (op->kind == WEIR_OP_MARKER || op->kind == WEIR_OP_WAIT) {
                if (op->kind == WEIR_OP_WAIT)
                    pair_of(op)->started = pair_of(op)->complete = true;
                weir_model_complete(op, out);
            } else {
                pair_of(op)->started = true;
            }
        } else if (out->blocked) {
            op = out->blocked;
            out->blocked = op->out_next;
            if (!out->blocked)
                out->blocked_tail = &out->blocked;
            if (!weir_model_subscribe(op))
                weir_model_resume(op, out);
        } else {
            op = out->notified;
            out->notified = op->out_next;
            if (!out->notified)
                out->notified_tail = &out->notified;
            weir_model_resume(op, out);
        }
    }
}

static void submit(int stream, enum weir_op_kind kind, const struct weir_model_dep *wait)
{
    struct pair *p = &pairs[pair_count++];
    struct weir_model_dep deps[2];
    struct weir_model_out out;
    size_t count = 0;

    *p = (struct pair){.queue = stream % QUEUES, .stream = stream};
    weir_model_out_init(&out);
    if (wait)
        deps[count++] = *wait;
    count += weir_model_queue_next(&queues[p->queue], &streams[stream], &deps[count]);
    p->op.kind = (uint8_t)kind;
    p->gate.kind = WEIR_OP_MARKER;
    p->gated = kind != WEIR_OP_WAIT;
    assert_int_equal(
        weir_model_submit_after(&streams[stream], p->gated ? &p->gate : &p->op, deps, count, &out),
        WEIR_MODEL_OK);
    if (p->gated)
        assert_int_equal(weir_model_submit(&streams[stream], &p->op, &out), WEIR_MODEL_OK);
    pump(&out);
}

static void complete_one(unsigned choice)
{
    struct weir_model_out out;

    for (int i = 0; i < pair_count; i++) {
        struct pair *p = &pairs[(choice + (unsigned)i) % (unsigned)pair_count];

        if (!p->started || p->complete)
            continue;
        weir_model_out_init(&out);
        p->complete = true;
        weir_model_complete(&p->op, &out);
        pump(&out);
        return;
    }
}

/* ORD-001 and ORD-090, read plainly. */
static void check(void)
{
    for (int i = 0; i < pair_count; i++) {
        bool may = true;

        for (int k = 0; k < i; k++) {
            if (pairs[k].stream == pairs[i].stream && !pairs[k].complete)
                may = false;
            if (pairs[k].queue == pairs[i].queue && !pairs[k].started)
                may = false;
        }
        if (pairs[i].started)
            assert_true(may);
        else if (pairs[i].op.kind != WEIR_OP_WAIT)
            assert_false(may); /* and nothing else holds it up */
    }
}

static void shared_queues(void **state)
{
    uint64_t random = 12345;

    (void)state;
    for (int round = 0; round < 20; round++) {
        memset(streams, 0, sizeof streams);
        memset(queues, 0, sizeof queues);
        pair_count = 0;
        weir_model_init(&model, 1, &(struct weir_model_memory){fix_alloc, fix_free, &fix});
        for (int i = 0; i < STREAMS; i++)
            weir_model_stream_init(&model, &streams[i], 0, WEIR_STREAM_NONBLOCKING, 0);
        while (pair_count < OPS / 4) {
            unsigned r;

            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            r = (unsigned)(random >> 33);
            if (r % 3 == 0 && pair_count) {
                complete_one(r / 3);
            } else if (r % 7 == 0) {
                int other = (int)(r / 7 % STREAMS);
                struct weir_model_dep wait = {
                    {&streams[other], atomic_load(&streams[other].last)}, WEIR_GUARANTEED, 21};

                submit((int)(r / 64 % STREAMS), WEIR_OP_WAIT, &wait);
            } else {
                submit((int)(r / 64 % STREAMS), WEIR_OP_KERNEL, NULL);
            }
            check();
        }
        for (int i = 0; i < pair_count; i++) { /* nothing is stuck */
            complete_one((unsigned)i);
            check();
        }
        for (int i = 0; i < pair_count; i++)
            assert_true(pairs[i].complete);
    }
}

static void host_rule(void **state)
{
    struct weir_call_rule r = weir_model_call_rule(WEIR_CALL_LAZY_LOAD);

    (void)state;
    assert_true(r.waits_for_device && r.strength == WEIR_OBSERVED && r.rule == 91); /* ORD-091 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth),
        cmocka_unit_test(staging),
        cmocka_unit_test(shared_queues),
        cmocka_unit_test(host_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
