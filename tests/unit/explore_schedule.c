/* Tests of explore/schedule: random programs (streams of every class, two devices, events) whose
 * operations run in the order that a schedule picks. Every pick is ready by the naive model, every
 * wait ends, the same schedule picks the same again, and a run written down as holds is repeated by
 * them. Texts of schedules that are none are refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "explore/schedule.h"
#include "model/naive.h"
#include "support/random.h"

enum { STREAMS = 8, EVENTS = 6, OPS = 160, STEPS = 60 };

struct rop {
    struct weir_model_op op; /* first */
    int naive;
    struct weir_schedule_op seen;
};

struct step {
    struct weir_schedule_id id;
    uint32_t first; /* of what ran in two parts: sixteenths, at the first */
    uint64_t call;
};

static struct {
    struct weir_model m;
    struct weir_model_stream s[STREAMS]; /* 0 and 1: the legacy ones of two devices */
    struct weir_model_event e[EVENTS];
    struct naive n;
    struct naive_stream naive_streams[STREAMS];
    struct naive_op naive_ops[OPS];
    int naive_pending[OPS];
    struct naive_event ne[EVENTS];
    struct rop ops[OPS];
    struct rop *ready[OPS];
    int op_count, ready_count;
    uint32_t of_stream[STREAMS];
    uint64_t rng, call;
    struct weir_schedule *schedule;
    struct step ran[2 * OPS];
    int ran_count;
} t;

static uint32_t rnd(uint32_t below)
{
    return random_next(&t.rng) % below;
}

static void take(struct weir_model_out *out)
{
    for (;;) {
        struct weir_model_op *op;

        if ((op = out->ready)) {
            out->ready = op->out_next;
            t.ready[t.ready_count++] = (struct rop *)op;
            continue;
        }
        if ((op = out->notified)) {
            struct weir_model_out more;

            out->notified = op->out_next;
            weir_model_out_init(&more);
            weir_model_resume(op, &more);
            take(&more);
            continue;
        }
        if (!(op = out->blocked))
            return;
        out->blocked = op->out_next;
        if (!weir_model_subscribe(op)) {
            struct weir_model_out more;

            weir_model_out_init(&more);
            weir_model_resume(op, &more);
            take(&more);
        }
    }
}

static void complete(struct rop *r)
{
    struct weir_model_out out;

    if (r->naive >= 0) {
        assert_true(naive_ready(&t.n, r->naive));
        naive_done(&t.n, r->naive);
    }
    weir_model_out_init(&out);
    weir_model_complete(&r->op, &out);
    take(&out);
}

/* Waits and markers run at once, as in core. */
static void run_in_place(void)
{
    for (int i = 0; i < t.ready_count;) {
        struct rop *r = t.ready[i];

        if (r->op.kind != WEIR_OP_WAIT) {
            i++;
            continue;
        }
        t.ready[i] = t.ready[--t.ready_count];
        complete(r);
        i = 0;
    }
}

/* False: nothing is ready, or the host goes first. */
static bool step(bool host)
{
    struct weir_schedule_op ops[OPS];
    uint32_t first;
    struct rop *r;
    int i;

    run_in_place();
    if (!t.ready_count)
        return false;
    for (i = 0; i < t.ready_count; i++)
        ops[i] = t.ready[i]->seen;
    i = weir_schedule_pick(t.schedule, ops, (size_t)t.ready_count, t.call, host);
    if (i < 0) {
        assert_true(host);
        return false;
    }
    assert_true(i < t.ready_count);
    r = t.ready[i];
    first = weir_schedule_first_part(t.schedule, &r->seen);
    assert_in_range(first, 1, WEIR_SCHEDULE_WHOLE);
    assert_true(weir_schedule_ran(t.schedule, r->seen.id));
    t.ran[t.ran_count++] =
        (struct step){r->seen.id, first < WEIR_SCHEDULE_WHOLE ? first : 0, t.call};
    if (first < WEIR_SCHEDULE_WHOLE) {
        assert_true(r->seen.parts && !r->seen.id.part);
        r->seen.id.part = 1;
        return true;
    }
    /* The list is in the order of submission, as core gives it. */
    memmove(t.ready + i, t.ready + i + 1, (size_t)(--t.ready_count - i) * sizeof t.ready[0]);
    complete(r);
    run_in_place();
    for (i = 1; i < t.ready_count; i++)
        for (int k = i; k > 0 && t.ready[k]->seen.order < t.ready[k - 1]->seen.order; k--) {
            struct rop *swap = t.ready[k];

            t.ready[k] = t.ready[k - 1];
            t.ready[k - 1] = swap;
        }
    return true;
}

static struct rop *next_op(int stream, uint8_t kind)
{
    struct rop *r = &t.ops[t.op_count++];

    memset(r, 0, sizeof *r);
    r->op.kind = kind;
    r->naive = -1;
    r->seen = (struct weir_schedule_op){
        .id = {.stream = (uint32_t)stream + 1, .op = ++t.of_stream[stream]},
        .order = (uint64_t)t.op_count << 32,
        .kind = kind,
        .parts = kind == WEIR_OP_KERNEL || kind == WEIR_OP_COPY};
    return r;
}

static void submit(int stream)
{
    static const uint8_t kinds[] = {WEIR_OP_KERNEL, WEIR_OP_COPY, WEIR_OP_HOST_FUNC};
    struct rop *r = next_op(stream, kinds[rnd(3)]);
    struct weir_model_out out;

    weir_model_out_init(&out);
    r->naive = naive_submit(&t.n, stream);
    assert_int_equal(weir_model_submit(&t.s[stream], &r->op, &out), WEIR_MODEL_OK);
    take(&out);
}

static void record_or_wait(int stream)
{
    int e = (int)rnd(EVENTS);
    struct weir_model_dep dep;
    struct weir_model_out out;
    struct rop *r;

    weir_model_out_init(&out);
    if (rnd(2)) {
        r = next_op(stream, WEIR_OP_WAIT); /* a record with an operation; it runs in place */
        r->naive = naive_submit(&t.n, stream);
        assert_int_equal(weir_model_record(&t.e[e], &t.s[stream], &r->op, &out), WEIR_MODEL_OK);
        r->op.kind = WEIR_OP_WAIT;
        naive_record(&t.n, &t.ne[e], stream);
    } else if (weir_model_event_wait_dep(&t.e[e], &t.s[stream], &dep) ||
               weir_model_wait_needs_op(&t.s[stream])) {
        bool depends = weir_model_event_wait_dep(&t.e[e], &t.s[stream], &dep);

        r = next_op(stream, WEIR_OP_WAIT);
        r->naive = depends ? naive_wait(&t.n, stream, &t.ne[e]) : naive_submit(&t.n, stream);
        assert_int_equal(weir_model_submit_after(&t.s[stream], &r->op, &dep, depends, &out),
                         WEIR_MODEL_OK);
    }
    take(&out);
}

static void sync_stream(int stream)
{
    while (!weir_model_stream_is_idle(&t.s[stream])) {
        const struct weir_model_stream *needed = &t.s[stream];

        while (needed->head && needed->head->state == WEIR_OP_BLOCKED)
            needed = needed->head->deps[needed->head->dep_pos].point.stream;
        for (int i = 0; i < t.ready_count; i++)
            t.ready[i]->seen.needed = t.ready[i]->op.stream == needed;
        if (!step(false))
            break;
    }
    assert_true(weir_model_stream_is_idle(&t.s[stream]));
}

static void init(uint64_t seed, const char *spec)
{
    static const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    static const enum weir_stream_class classes[STREAMS] = {
        WEIR_STREAM_LEGACY,     WEIR_STREAM_LEGACY,      WEIR_STREAM_BLOCKING,
        WEIR_STREAM_PER_THREAD, WEIR_STREAM_NONBLOCKING, WEIR_STREAM_NONBLOCKING,
        WEIR_STREAM_BLOCKING,   WEIR_STREAM_NONBLOCKING};
    static const enum naive_class same[] = {
        [WEIR_STREAM_LEGACY] = NAIVE_LEGACY,
        [WEIR_STREAM_PER_THREAD] = NAIVE_PER_THREAD,
        [WEIR_STREAM_BLOCKING] = NAIVE_BLOCKING,
        [WEIR_STREAM_NONBLOCKING] = NAIVE_NONBLOCKING,
    };

    memset(&t, 0, sizeof t);
    t.rng = seed;
    t.n =
        (struct naive){.streams = t.naive_streams, .ops = t.naive_ops, .pending = t.naive_pending};
    weir_model_init(&t.m, 2, &memory);
    t.m.guaranteed_only = true;
    for (int i = 0; i < STREAMS; i++) {
        int device = i == 1 || i >= 6;

        weir_model_stream_init(&t.m, &t.s[i], device, classes[i], 0);
        assert_int_equal(naive_stream_add(&t.n, device, same[classes[i]]), i);
    }
    assert_int_equal(weir_schedule_create(spec, &t.schedule), WEIR_OK);
}

/* A program of its own for each seed, whatever the schedule. */
static void run(uint64_t seed, const char *spec)
{
    init(seed, spec);
    for (int i = 0; i < STEPS; i++) {
        int stream = rnd(10) == 0 ? (int)rnd(2) : 2 + (int)rnd(STREAMS - 2);

        t.call++;
        switch (rnd(8)) {
        case 0:
            sync_stream(stream);
            break;
        case 1:
        case 2:
            record_or_wait(stream);
            break;
        default:
            submit(stream);
            break;
        }
        while (step(true))
            ;
    }
    t.call++;
    for (int i = 0; i < STREAMS; i++)
        sync_stream(i);
    assert_int_equal(t.n.pending_count, 0);
    weir_schedule_destroy(t.schedule);
}

static const char *const specs[] = {
    "early",        "late",         "reverse",       "late-copies",
    "early-copies", "late-kernels", "random:1",      "early-kernels",
    "random:2",     "pct:1:3",      "pct:3:17",      "pct:8:4",
    "late:5",       "reverse:6",    "late-copies:7", "holds:0:3.1@9,5.2>4.1",
    "12",           "torn",         "torn:3",
};

static void every_pick_is_legal(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++)
        for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
            run(seed * 7919, specs[i]);
}

static void repeats(void **state)
{
    static struct step first[2 * OPS];

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
            int count;

            run(seed, specs[i]);
            count = t.ran_count;
            memcpy(first, t.ran, sizeof first);
            run(seed, specs[i]);
            assert_int_equal(t.ran_count, count);
            assert_memory_equal(first, t.ran, sizeof first);
        }
    }
}

static void holds_repeat(void **state)
{
    static struct step first[2 * OPS];
    static char text[OPS * 400];

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
            int n, count;

            run(seed, specs[i]);
            count = t.ran_count;
            memcpy(first, t.ran, sizeof first);
            n = sprintf(text, "holds:0");
            for (int k = 0; k < count; k++) {
                char a[WEIR_SCHEDULE_ID_TEXT], b[WEIR_SCHEDULE_ID_TEXT];

                weir_schedule_id_text(first[k].id, a);
                n += sprintf(text + n, "%c%s@%llu", k ? ',' : ':', a,
                             (unsigned long long)first[k].call);
                if (first[k].first)
                    n += sprintf(text + n, ",%s=%u", a, first[k].first);
                if (k)
                    n += sprintf(text + n, ",%s>%s", a, weir_schedule_id_text(first[k - 1].id, b));
            }
            run(seed, text);
            assert_int_equal(t.ran_count, count);
            assert_memory_equal(first, t.ran, sizeof first);
        }
    }
}

/* Seeds reach different orders, and late is not early. */
static void orders_differ(void **state)
{
    static struct step first[2 * OPS];
    int different = 0;

    (void)state;
    run(5, "early");
    memcpy(first, t.ran, sizeof first);
    run(5, "late");
    assert_memory_not_equal(first, t.ran, sizeof first);
    run(5, "random:1");
    memcpy(first, t.ran, sizeof first);
    for (int i = 2; i < 12; i++) {
        char spec[32];

        snprintf(spec, sizeof spec, "random:%d", i);
        run(5, spec);
        different += memcmp(first, t.ran, sizeof first) != 0;
    }
    assert_true(different >= 8);
}

static void texts(void **state)
{
    static const char *const wrong[] = {"",
                                        "sideways",
                                        "random:",
                                        "random:x",
                                        "pct",
                                        "pct:0",
                                        "pct:99",
                                        "early:1:2",
                                        "holds:0:1",
                                        "holds:0:1@2",
                                        "holds:0:1.2@0",
                                        "holds:0:1.2>3",
                                        "-1",
                                        "holds:0:1.2=0",
                                        "holds:0:1.2=16",
                                        "holds:0:1.2/1=3",
                                        "holds:0:1.2/2@3",
                                        "torn:x"};
    struct weir_schedule *s;
    struct weir_schedule_id id;
    char text[WEIR_SCHEDULE_ID_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(weir_schedule_create(wrong[i], &s), WEIR_ERR_INVALID_VALUE);
    assert_ptr_equal(weir_schedule_id_parse("x", &id), NULL);
    assert_string_equal(weir_schedule_id_parse("4.31.2.7@", &id), "@");
    assert_string_equal(weir_schedule_id_text(id, text), "4.31.2.7");
    assert_string_equal(weir_schedule_id_parse("4.31,", &id), ",");
    assert_string_equal(weir_schedule_id_text(id, text), "4.31");
    assert_string_equal(weir_schedule_id_parse("4.31/1>4.2", &id), ">4.2");
    assert_string_equal(weir_schedule_id_text(id, text), "4.31/1");
}

/* What was asked which operation runs next: `order` of it, or 0 for the host. */
static uint64_t pick(struct weir_schedule *s, const struct weir_schedule_op *ops, size_t count,
                     bool host)
{
    int i = weir_schedule_pick(s, ops, count, 1, host);

    return i < 0 ? 0 : ops[i].order;
}

/* Each adversary does as it is named, with a copy, a kernel and a memset that may all run. */
static void names_say_what(void **state)
{
    static const struct weir_schedule_op ops[] = {
        {.id = {.stream = 1, .op = 1}, .order = 1, .kind = WEIR_OP_COPY},
        {.id = {.stream = 2, .op = 1}, .order = 2, .kind = WEIR_OP_KERNEL},
        {.id = {.stream = 3, .op = 1}, .order = 3, .kind = WEIR_OP_MEMSET, .needed = true},
        {.id = {.stream = 4, .op = 1}, .order = 4, .kind = WEIR_OP_COPY},
        {.id = {.stream = 5, .op = 1}, .order = 5, .kind = WEIR_OP_KERNEL},
    };
    static const struct {
        const char *spec;
        uint64_t all, copies, kernels, waits; /* the first of them, when the host may go on; waits:
                                                 of all, when it may not */
    } wanted[] = {
        {"early", 1, 1, 2, 1},         {"late", 0, 0, 0, 3},         {"reverse", 0, 0, 0, 5},
        {"late-copies", 2, 0, 2, 2},   {"early-copies", 1, 1, 0, 1}, {"late-kernels", 1, 1, 0, 1},
        {"early-kernels", 2, 0, 2, 2}, {"torn", 1, 1, 2, 1},
    };
    const struct weir_schedule_op copies[] = {ops[0], ops[3]}, kernels[] = {ops[1], ops[4]};

    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct weir_schedule *s;

        assert_int_equal(weir_schedule_create(wanted[i].spec, &s), WEIR_OK);
        assert_int_equal(pick(s, ops, 5, true), wanted[i].all);
        assert_int_equal(pick(s, copies, 2, true), wanted[i].copies);
        assert_int_equal(pick(s, kernels, 2, true), wanted[i].kernels);
        assert_int_equal(pick(s, ops, 5, false), wanted[i].waits);
        weir_schedule_destroy(s);
    }
}

/* torn: halves; what is left of them only when the host waits, the newest first. */
static void torn_halves(void **state)
{
    struct weir_schedule_op ops[] = {
        {.id = {.stream = 1, .op = 1}, .order = 1, .kind = WEIR_OP_COPY, .parts = true},
        {.id = {.stream = 2, .op = 1}, .order = 2, .kind = WEIR_OP_KERNEL, .parts = true},
        {.id = {.stream = 3, .op = 1}, .order = 3, .kind = WEIR_OP_HOST_FUNC},
    };
    struct weir_schedule *s;

    (void)state;
    assert_int_equal(weir_schedule_create("torn", &s), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weir_schedule_first_part(s, &ops[i]), WEIR_SCHEDULE_WHOLE / 2);
        ops[i].id.part = 1;
        assert_int_equal(weir_schedule_first_part(s, &ops[i]), WEIR_SCHEDULE_WHOLE);
    }
    assert_int_equal(weir_schedule_first_part(s, &ops[2]), WEIR_SCHEDULE_WHOLE);
    assert_int_equal(pick(s, ops, 2, true), 0);
    assert_int_equal(pick(s, ops, 2, false), 2);
    assert_int_equal(pick(s, ops, 3, false), 3);
    weir_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pick_is_legal),
        cmocka_unit_test(repeats),
        cmocka_unit_test(holds_repeat),
        cmocka_unit_test(orders_differ),
        cmocka_unit_test(texts),
        cmocka_unit_test(names_say_what),
        cmocka_unit_test(torn_halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
