/* The simulator: small programs whose times can be worked out on paper.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "plan/pipeline.h"

#define MS 1e6

static const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
static const struct weir_plan_host no_cost;

/* Two items, each through copy 0.2, compute 0.6, copy 0.2, in a stream each. */
static double two_items(struct weir_plan_device d, double fill)
{
    struct weir_plan_pipeline p = {.stages = {{WEIR_PLAN_H2D, 0.2 * MS, 0},
                                              {WEIR_PLAN_KERNEL, 0.6 * MS, fill},
                                              {WEIR_PLAN_D2H, 0.2 * MS, 0}},
                                   .stage_count = 3,
                                   .chunks = 2,
                                   .streams = 2,
                                   .full_size = true};

    return weir_plan_pipeline_run(&p, &d, &no_cost, &memory);
}

static void assert_ms(double ns, double ms)
{
    if (ns < ms * MS * 0.99999 || ns > ms * MS * 1.00001)
        fail_msg("%f ms instead of %f", ns / MS, ms);
}

static void test_two_streams(void **state)
{
    (void)state;
    assert_ms(two_items((struct weir_plan_device){0}, 0), 1.0);
    assert_ms(two_items((struct weir_plan_device){.copy_engines = 2}, 0), 1.2);
    assert_ms(two_items((struct weir_plan_device){.copy_engines = 2, .units = 100}, 0.5), 1.2);
    assert_ms(two_items((struct weir_plan_device){.copy_engines = 2, .units = 100}, 1), 1.6);
    assert_ms(
        two_items((struct weir_plan_device){.copy_engines = 2, .units = 100, .share = true}, 1),
        1.6);
    /* One engine: the second item's copy in, then the first one's copy out. */
    assert_ms(two_items((struct weir_plan_device){.copy_engines = 1}, 0), 1.2);
}

/* What a program of kernels takes: streams in order of submission, a kernel each. */
struct kernels {
    struct weir_plan_stream streams[64];
    struct weir_plan_op ops[256];
    struct weir_plan_step steps[256];
    struct weir_plan_time times[256];
    uint32_t count;
    uint32_t *edges; /* NULL, or how many were told, and the last one's two operations */
};

static void note_edge(void *context, uint32_t op, uint32_t on, unsigned rule, bool guaranteed)
{
    uint32_t *seen = context;

    (void)guaranteed;
    assert_true(rule != 0);
    seen[0]++;
    seen[1] = op;
    seen[2] = on;
}

static void launch(struct kernels *k, uint32_t stream, double ms, uint32_t blocks, uint32_t units)
{
    k->ops[k->count] = (struct weir_plan_op){.stream = stream,
                                             .kind = WEIR_OP_KERNEL,
                                             .engine = WEIR_PLAN_KERNEL,
                                             .blocks = blocks,
                                             .units = units,
                                             .ns = ms * MS};
    k->steps[k->count] = (struct weir_plan_step){.what = WEIR_PLAN_SUBMIT, .a = k->count};
    k->count++;
}

static double run(struct kernels *k, struct weir_plan_device d)
{
    struct weir_plan_thread thread = {0, k->count};
    struct weir_plan_program p = {.streams = k->streams,
                                  .ops = k->ops,
                                  .steps = k->steps,
                                  .threads = &thread,
                                  .stream_count = 64,
                                  .op_count = k->count,
                                  .step_count = k->count,
                                  .thread_count = 1,
                                  .group_count = 1,
                                  .device_count = 1,
                                  .tell_edge = k->edges ? note_edge : NULL,
                                  .tell_context = k->edges};
    struct weir_plan_result r;

    assert_true(weir_plan_run(&p, &d, &memory, k->times, NULL, &r));
    assert_false(r.stuck);
    return r.end;
}

static void init(struct kernels *k)
{
    memset(k, 0, sizeof *k);
    for (int i = 0; i < 64; i++)
        k->streams[i].cls = WEIR_STREAM_NONBLOCKING;
}

/* Four 1 ms kernels a stream: 8 queues hold them up stream by stream, and not the other way. */
static void test_queues(void **state)
{
    struct kernels k;

    (void)state;
    init(&k);
    for (uint32_t i = 0; i < 128; i++)
        launch(&k, i / 4, 1, 1, 1);
    assert_ms(run(&k, (struct weir_plan_device){.units = 1000, .hw_queues = 8}), 13);
    assert_ms(run(&k, (struct weir_plan_device){.units = 1000}), 4);
    init(&k);
    for (uint32_t i = 0; i < 128; i++)
        launch(&k, i % 32, 1, 1, 1);
    assert_ms(run(&k, (struct weir_plan_device){.units = 1000, .hw_queues = 8}), 4);
}

static void test_kernels_at_a_time(void **state)
{
    struct kernels k;

    (void)state;
    init(&k);
    for (uint32_t i = 0; i < 64; i++)
        launch(&k, i, 1, 1, 1);
    assert_ms(run(&k, (struct weir_plan_device){.units = 1000, .kernels_max = 16}), 4);
}

/* A kernel of 4 rounds of blocks; a small one behind it waits for the last round to have begun, and
 * for room; with priority it takes the first room there is. */
static void test_priority(void **state)
{
    struct kernels k;

    (void)state;
    for (int high = 0; high < 2; high++) {
        init(&k);
        k.streams[1].priority = high ? -5 : 0;
        launch(&k, 0, 4, 400, 10);
        launch(&k, 1, 0.5, 1, 10);
        run(&k, (struct weir_plan_device){.units = 1000});
        assert_ms(k.times[1].start, high ? 1 : 4);
        assert_int_equal(k.times[1].why, WEIR_PLAN_WHY_ENGINE);
        assert_int_equal(k.times[1].why_op, 0);
    }
}

/* Events, waits of streams and of the host; a wait on what is never recorded is none. */
static void test_events(void **state)
{
    struct weir_plan_stream streams[2] = {{.cls = WEIR_STREAM_NONBLOCKING},
                                          {.cls = WEIR_STREAM_NONBLOCKING}};
    struct weir_plan_op ops[3] = {
        {.stream = 0, .kind = WEIR_OP_COPY, .engine = WEIR_PLAN_H2D, .ns = 1 * MS},
        {.stream = 1, .kind = WEIR_OP_KERNEL, .engine = WEIR_PLAN_KERNEL, .ns = 2 * MS},
        {.stream = 0, .kind = WEIR_OP_COPY, .engine = WEIR_PLAN_D2H, .ns = 1 * MS}};
    struct weir_plan_step steps[] = {
        {.what = WEIR_PLAN_SUBMIT, .a = 0},         {.what = WEIR_PLAN_RECORD, .a = 0, .b = 0},
        {.what = WEIR_PLAN_WAIT, .a = 0, .b = 1},   {.what = WEIR_PLAN_SUBMIT, .a = 1},
        {.what = WEIR_PLAN_RECORD, .a = 1, .b = 1}, {.what = WEIR_PLAN_SYNC_EVENT, .a = 1},
        {.what = WEIR_PLAN_SYNC_EVENT, .a = 2},     {.what = WEIR_PLAN_WORK, .ns = 1 * MS},
        {.what = WEIR_PLAN_SUBMIT, .a = 2},         {.what = WEIR_PLAN_SYNC_STREAM, .a = 0}};
    struct weir_plan_thread thread = {0, 10};
    struct weir_plan_program p = {.streams = streams,
                                  .ops = ops,
                                  .steps = steps,
                                  .threads = &thread,
                                  .stream_count = 2,
                                  .op_count = 3,
                                  .step_count = 10,
                                  .thread_count = 1,
                                  .event_count = 3,
                                  .group_count = 1,
                                  .device_count = 1};
    struct weir_plan_device d = {.copy_engines = 2, .handover_ns = 0.25 * MS};
    struct weir_plan_time t[3];
    double ends[10];
    struct weir_plan_result r;

    (void)state;
    assert_true(weir_plan_run(&p, &d, &memory, t, ends, &r));
    assert_ms(t[1].start, 1.25);
    assert_int_equal(t[1].why, WEIR_PLAN_WHY_ORDER);
    assert_int_equal(t[1].why_op, 0);
    assert_ms(ends[5], 3.25);
    assert_ms(t[2].start, 4.25);
    assert_int_equal(t[2].why, WEIR_PLAN_WHY_HOST);
    assert_int_equal(t[2].why_op, 1);
    assert_ms(r.end, 5.25);
    assert_ms(r.busy[WEIR_PLAN_KERNEL], 2);
}

/* Both directions at once go slower; one copy engine goes on with its stream. */
/* Behind the operation that runs a stream takes so many more (ORD-085). */
static void test_depth(void **state)
{
    struct kernels k;

    (void)state;
    init(&k);
    for (int i = 0; i < 6; i++)
        launch(&k, 0, 1, 1, 1);
    launch(&k, 1, 1, 1, 1);
    assert_ms(run(&k, (struct weir_plan_device){.units = 8}), 6);
    assert_ms(k.times[6].start, 0);
    /* The seventh launch's turn comes when the first three of six are over. */
    assert_ms(run(&k, (struct weir_plan_device){.units = 8, .queue_depth = 2}), 6);
    assert_ms(k.times[6].start, 3);
}

/* Edges are those of the model's time: to what has not ended. */
static void test_edges(void **state)
{
    uint32_t seen[3] = {0};
    struct kernels k;

    (void)state;
    init(&k);
    k.streams[0].cls = WEIR_STREAM_LEGACY;
    k.streams[1].cls = WEIR_STREAM_BLOCKING;
    launch(&k, 1, 1, 1, 1);
    launch(&k, 0, 1, 1, 1);
    k.edges = seen;
    assert_ms(run(&k, (struct weir_plan_device){.units = 8}), 2);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 1);
    assert_int_equal(seen[2], 0);
}

static void test_copies(void **state)
{
    struct weir_plan_pipeline p = {
        .stages = {{WEIR_PLAN_H2D, 1 * MS, 0}, {WEIR_PLAN_D2H, 1 * MS, 0}},
        .stage_count = 2,
        .chunks = 2,
        .streams = 2,
        .full_size = true};
    struct weir_plan_device d = {.copy_engines = 2, .duplex = 0.8};
    enum weir_plan_limit limit;

    (void)state;
    /* in, then in and out for 1.25, then out */
    assert_ms(weir_plan_pipeline_run(&p, &d, &no_cost, &memory), 3.25);
    assert_ms(weir_plan_pipeline_bound(&p, &d, &limit), 2.5);
    assert_int_equal(limit, WEIR_PLAN_LIMIT_DUPLEX);
    p.chunks = 4;
    p.breadth = true;
    p.stages[1].ns = 0.5 * MS;
    d.duplex = 0;
    /* in turn: 0 1 2 3, so the streams' copies out begin after 3 and 4 */
    assert_ms(weir_plan_pipeline_run(&p, &d, &no_cost, &memory), 5);
    d.sticky = true;
    /* 0 2 1 3: after 2 and 4 */
    assert_ms(weir_plan_pipeline_run(&p, &d, &no_cost, &memory), 5);
    p.stages[1].ns = 1 * MS;
    assert_ms(weir_plan_pipeline_run(&p, &d, &no_cost, &memory), 6);
    d.sticky = false;
    assert_ms(weir_plan_pipeline_run(&p, &d, &no_cost, &memory), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_streams),
                                       cmocka_unit_test(test_queues),
                                       cmocka_unit_test(test_kernels_at_a_time),
                                       cmocka_unit_test(test_priority),
                                       cmocka_unit_test(test_events),
                                       cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_copies)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
