/* The slot pipeline's behaviour, one promise of weir/pipe.h a test. "Work" is copies on the device,
 * so that no compiler is needed; gates are host functions that wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels.h"
#include "weir/pipe.h"

enum { BYTES = 4096, MANY = 200 };

/* What one test's pipeline does and has seen. */
struct seen {
    weir_pipe *pipe;
    weir_pipe_config config;
    _Atomic int gate;                /* 0: launches wait for it */
    _Atomic int drains, told, dones; /* how many */
    int order[MANY + 16];            /* what done was told, in its order */
    int status[MANY + 16];           /* by the item's value */
    int device[MANY + 16];
    _Atomic int launches;
    int values[MANY + 16];
    int fail_fill, fail_launch, fail_drain; /* values of items; -1: none */
    int gated;                              /* launches wait at the gate */
    int uncapturable;
    int nested_submit, nested_flush,
        nested_destroy; /* what they returned in a drain; -1: not tried */
    char said[512];
    cudaKernel_t trap;
};

static int value_of(const weir_pipe_item *item)
{
    return *(const int *)item->data;
}

static int fill(void *user, weir_pipe_item *item)
{
    struct seen *s = user;
    memset(item->in, value_of(item) & 255, item->in_bytes);
    return value_of(item) == s->fail_fill ? 5 : 0;
}

static void wait_at_gate(void *user)
{
    while (!atomic_load(&((struct seen *)user)->gate))
        ;
}

static int launch(void *user, weir_pipe_item *item)
{
    struct seen *s = user;
    cudaError_t e = cudaSuccess;

    atomic_fetch_add(&s->launches, 1);
    if (s->trap && value_of(item) == s->fail_launch)
        return (int)cudaLaunchKernel((const void *)s->trap, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL,
                                     0, item->stream);
    if (s->uncapturable)
        e = cudaStreamSynchronize(item->stream);
    if (e == cudaSuccess && s->gated)
        e = cudaLaunchHostFunc(item->stream, wait_at_gate, s);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(item->dev_out, item->dev_in, BYTES, cudaMemcpyDeviceToDevice,
                            item->stream);
    if (e == cudaSuccess && value_of(item) == s->fail_launch)
        return 6;
    return (int)e;
}

static int drain(void *user, weir_pipe_item *item)
{
    struct seen *s = user;
    const unsigned char *out = item->out;

    atomic_fetch_add(&s->drains, 1);
    if (s->nested_flush == -2) {
        s->nested_flush = (int)weir_pipe_flush(s->pipe);
        s->nested_destroy = (int)weir_pipe_destroy(s->pipe);
        s->nested_submit = (int)weir_pipe_submit(s->pipe, item->data);
    }
    if (value_of(item) == s->fail_drain)
        return 7;
    for (size_t i = 0; i < item->out_bytes; i++)
        if (out[i] != (value_of(item) & 255))
            return 8;
    return 0;
}

static void done(void *user, const weir_pipe_item *item, const weir_pipe_outcome *outcome)
{
    struct seen *s = user;
    const int value = value_of(item);

    s->device[value] = item->device;
    s->status[value] = (int)outcome->status * 100 + (outcome->code < 100 ? outcome->code : 99);
    s->order[atomic_fetch_add(&s->told, 1)] = value;
    atomic_fetch_add(&s->dones, 1);
}

static void said(void *user, const char *text)
{
    struct seen *s = user;
    snprintf(s->said, sizeof(s->said), "%s", text);
}

static struct seen *setup(void)
{
    struct seen *s = calloc(1, sizeof(*s));
    weir_pipe_config *c = &s->config;

    weir_pipe_config_init(c);
    c->in_bytes = c->out_bytes = BYTES;
    c->user = s;
    c->fill = fill;
    c->launch = launch;
    c->drain = drain;
    c->done = done;
    c->log = said;
    s->fail_fill = s->fail_launch = s->fail_drain = s->nested_submit = -1;
    s->nested_flush = s->nested_destroy = -1;
    atomic_store(&s->gate, 1);
    for (int i = 0; i < MANY + 16; i++)
        s->values[i] = i, s->status[i] = -1;
    return s;
}

static void start(struct seen *s)
{
    assert_int_equal(weir_pipe_create(&s->config, &s->pipe), WEIR_PIPE_OK);
}

static void stop(struct seen *s)
{
    assert_int_equal(weir_pipe_destroy(s->pipe), WEIR_PIPE_OK);
    free(s);
}

static void submit_all(struct seen *s, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(weir_pipe_submit(s->pipe, &s->values[i]), WEIR_PIPE_OK);
}

static enum weir_pipe_status submit_within(struct seen *s, int i, unsigned lane, int64_t timeout_ns)
{
    const weir_pipe_request request = {&s->values[i], lane, 0, timeout_ns};
    return weir_pipe_submit_request(s->pipe, &request, NULL);
}

/* Every order, stream set-up, number of threads, and graphs or none: the same results. */
static void test_ways(void **state)
{
    (void)state;
    for (int way = 0; way < 3 * 2 * 3 * 2 * 2; way++) {
        struct seen *s = setup();
        weir_pipe_stats stats;
        s->config.order = (enum weir_pipe_order)(way % 3);
        s->config.streams = (enum weir_pipe_streams)(way / 3 % 2);
        s->config.workers = (unsigned[]){0, 1, 4}[way / 6 % 3];
        s->config.producers = way / 18 % 2 ? 2 : 0;
        s->config.graph = way / 36;
        start(s);
        submit_all(s, 40);
        assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
        assert_int_equal(atomic_load(&s->dones), 40);
        assert_int_equal(atomic_load(&s->drains), 40);
        for (int i = 0; i < 40; i++) {
            assert_int_equal(s->status[i], 0);
            if (s->config.order != WEIR_PIPE_UNORDERED)
                assert_int_equal(s->order[i], i);
        }
        weir_pipe_stats_get(s->pipe, &stats);
        assert_int_equal(stats.accepted, 40);
        assert_int_equal(stats.completed, 40);
        assert_true(stats.occupancy > 0 && stats.occupancy <= s->config.slots);
        assert_true(stats.latency_ns[0] > 0 && stats.latency_ns[0] <= stats.latency_ns[4]);
        assert_true(stats.items_per_second > 0);
        stop(s);
    }
}

static void *open_later(void *user)
{
    struct seen *s = user;
    weir_pipe_stats stats = {0};
    do { /* until a submission waits */
        weir_pipe_stats_get(s->pipe, &stats);
        struct timespec nap = {0, 2000000};
        nanosleep(&nap, NULL);
    } while (stats.refused < 2);
    atomic_store(&s->gate, 1);
    return NULL;
}

static void test_bounded(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers < 2; workers++) {
        struct seen *s = setup();
        weir_pipe_stats stats;
        pthread_t opener;
        s->gated = 1;
        s->config.workers = workers;
        atomic_store(&s->gate, 0);
        start(s);
        submit_all(s, 3);
        assert_int_equal(submit_within(s, 3, 0, 0), WEIR_PIPE_FULL);
        assert_int_equal(submit_within(s, 3, 0, 1000000), WEIR_PIPE_TIMED_OUT);
        pthread_create(&opener, NULL, open_later, s);
        assert_int_equal(submit_within(s, 3, 0, -1), WEIR_PIPE_OK);
        pthread_join(opener, NULL);
        assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
        weir_pipe_stats_get(s->pipe, &stats);
        assert_int_equal(stats.refused, 2);
        assert_true(stats.waits[WEIR_PIPE_CAUSE_DEVICE] >= 2);
        assert_int_equal(submit_within(s, 4, 1, -1), WEIR_PIPE_INVALID); /* no such lane */
        stop(s);
    }
}

/* An item's error is its own. */
static void test_errors(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        struct seen *s = setup();
        weir_pipe_stats stats;
        s->config.order = (enum weir_pipe_order)(way % 3);
        s->config.streams = (enum weir_pipe_streams)(way / 3);
        s->fail_fill = 3, s->fail_launch = 5, s->fail_drain = 9;
        start(s);
        submit_all(s, 20);
        assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
        for (int i = 0; i < 20; i++)
            assert_int_equal(s->status[i], i == 3   ? 100 * WEIR_PIPE_FILL + 5
                                           : i == 5 ? 100 * WEIR_PIPE_LAUNCH + 6
                                           : i == 9 ? 100 * WEIR_PIPE_DRAIN + 7
                                                    : 0);
        assert_int_equal(atomic_load(&s->drains), 18);
        weir_pipe_stats_get(s->pipe, &stats);
        assert_int_equal(stats.failed, 3);
        stop(s);
    }
}

static void *submit_blocked(void *user)
{
    struct seen *s = user;
    return (void *)(intptr_t)submit_within(s, 3, 0, -1);
}

static void test_cancel(void **state)
{
    struct seen *s = setup();
    pthread_t blocked;
    void *result;
    weir_pipe_stats stats;

    (void)state;
    s->gated = 1;
    atomic_store(&s->gate, 0);
    start(s);
    submit_all(s, 3);
    pthread_create(&blocked, NULL, submit_blocked, s);
    /* Whether it waits already cannot be seen from outside: cancel until it is back. */
    do {
        weir_pipe_cancel(s->pipe);
    } while (pthread_tryjoin_np(blocked, &result));
    assert_int_equal((intptr_t)result, WEIR_PIPE_CANCELLED);
    atomic_store(&s->gate, 1);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s->status[i], 100 * WEIR_PIPE_CANCELLED);
    assert_int_equal(s->status[3], -1);
    assert_int_equal(atomic_load(&s->drains), 0);
    assert_int_equal(weir_pipe_submit(s->pipe, &s->values[4]), WEIR_PIPE_OK); /* goes on */
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    assert_int_equal(s->status[4], 0);
    atomic_store(&s->gate, 0);
    assert_int_equal(weir_pipe_submit(s->pipe, &s->values[5]), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_submit(s->pipe, &s->values[6]), WEIR_PIPE_OK);
    weir_pipe_cancel_item(s->pipe, 0, 5); /* item 3 was not accepted: value 6 has number 5 */
    atomic_store(&s->gate, 1);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    assert_int_equal(s->status[5], 0);
    assert_int_equal(s->status[6], 100 * WEIR_PIPE_CANCELLED);
    weir_pipe_stats_get(s->pipe, &stats);
    assert_int_equal(stats.cancelled, 4);
    stop(s);
}

/* Accepted items end before destroy returns. */
static void test_destroy_drains(void **state)
{
    struct seen *s = setup();
    (void)state;
    s->config.workers = 0;
    start(s);
    submit_all(s, 3);
    assert_int_equal(weir_pipe_destroy(s->pipe), WEIR_PIPE_OK);
    assert_int_equal(atomic_load(&s->dones), 3);
    assert_int_equal(s->status[2], 0);
    free(s);
    assert_int_equal(weir_pipe_destroy(NULL), WEIR_PIPE_OK);
}

static void test_in_callbacks(void **state)
{
    struct seen *s = setup();
    (void)state;
    s->config.slots = 1;
    s->nested_flush = -2;
    start(s);
    submit_all(s, 1);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    assert_int_equal(s->nested_flush, WEIR_PIPE_INVALID);
    assert_int_equal(s->nested_destroy, WEIR_PIPE_INVALID);
    assert_int_equal(s->nested_submit, WEIR_PIPE_FULL);
    stop(s);
}

/* The urgent lane has slots of its own: a full bulk lane does not stop it. */
static void test_lanes(void **state)
{
    struct seen *s = setup();

    (void)state;
    s->config.lanes = 2;
    s->config.slots = 2;
    s->config.workers = 4;
    s->gated = 1;
    atomic_store(&s->gate, 0);
    start(s);
    assert_int_equal(submit_within(s, 0, 0, 0), WEIR_PIPE_OK);
    assert_int_equal(submit_within(s, 1, 0, 0), WEIR_PIPE_OK);
    assert_int_equal(submit_within(s, 2, 0, 0), WEIR_PIPE_FULL);
    s->gated = 0;
    assert_int_equal(submit_within(s, 3, 1, 0), WEIR_PIPE_OK);
    while (!atomic_load(&s->dones))
        ;
    assert_int_equal(s->order[0], 3);
    atomic_store(&s->gate, 1);
    stop(s);
}

static void test_devices(void **state)
{
    struct seen *s = setup();
    weir_pipe_stats stats;
    int now;

    (void)state;
    s->config.device_count = 2;
    s->config.devices[0] = 1;
    s->config.devices[1] = 0;
    start(s);
    submit_all(s, MANY);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(s->order[i], i);
        assert_int_equal(s->status[i], 0);
    }
    weir_pipe_stats_get(s->pipe, &stats);
    assert_int_equal(stats.device_items[0] + stats.device_items[1], MANY);
    assert_true(stats.device_items[0] > 0 && stats.device_items[1] > 0);
    assert_int_equal(cudaGetDevice(&now), cudaSuccess);
    assert_int_equal(now, 0);
    stop(s);
}

/* Through both devices, by peer copies. */
static void test_stages(void **state)
{
    struct seen *s = setup();

    (void)state;
    s->config.launch = NULL;
    s->config.stage_count = 3;
    for (int i = 0; i < 3; i++)
        s->config.stages[i] = (weir_pipe_stage){i & 1, BYTES, BYTES, 0, launch};
    s->fail_launch = 4;
    start(s);
    submit_all(s, 30);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    for (int i = 0; i < 30; i++)
        assert_int_equal(s->status[i], i == 4 ? 100 * WEIR_PIPE_LAUNCH + 6 : 0);
    assert_int_equal(atomic_load(&s->launches), 29 * 3 + 1);
    stop(s);
}

static enum weir_pipe_status submit_shape(struct seen *s, int i, uint64_t shape)
{
    const weir_pipe_request request = {&s->values[i], 0, shape, -1};
    return weir_pipe_submit_request(s->pipe, &request, NULL);
}

static int fill_recapture(void *user, weir_pipe_item *item)
{
    item->recapture = value_of(item) == 8;
    return fill(user, item);
}

/* Waits for `count` items, which all succeed. */
static void flush_right(struct seen *s, int count, weir_pipe_stats *stats)
{
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(s->status[i], 0);
    weir_pipe_stats_get(s->pipe, stats);
}

static void test_graph(void **state)
{
    struct seen *s = setup();
    weir_pipe_stats stats;

    (void)state;
    s->config.graph = 1;
    s->config.slots = 1;
    s->config.padding = WEIR_PIPE_PAD_UP;
    s->config.bucket_count = 2;
    s->config.buckets[0] = 4;
    s->config.buckets[1] = 8;
    s->config.fill = fill_recapture;
    start(s);
    for (int i = 0; i < 9; i++) /* 3, 5, 7 ... : both buckets, then value 8 captures anew */
        assert_int_equal(submit_shape(s, i, i == 0 ? 3 : 5 + (uint64_t)i % 4), WEIR_PIPE_OK);
    assert_int_equal(submit_shape(s, 9, 9), WEIR_PIPE_OK); /* above all buckets */
    flush_right(s, 10, &stats);
    assert_int_equal(stats.captures, 2);
    assert_int_equal(stats.updates, 1);
    assert_int_equal(stats.replays, 6);
    assert_int_equal(stats.fallbacks, 1);
    assert_int_equal(atomic_load(&s->launches), 4);
    stop(s);
}

static int own_upload(void *user, weir_pipe_item *item)
{
    (void)user;
    return (int)cudaMemcpyAsync(item->dev_in, item->in, item->in_bytes, cudaMemcpyHostToDevice,
                                item->stream);
}

/* In streams that items share a part of an item is a graph: launch, and an upload of the program's
 * own; the library's copies are no graphs. */
static void test_graph_split(void **state)
{
    struct seen *s = setup();
    weir_pipe_stats stats;

    (void)state;
    s->config.graph = 1;
    s->config.streams = WEIR_PIPE_STREAMS_SPLIT;
    s->config.compute_streams = 2;
    s->config.slots = 2;
    s->config.fill = fill_recapture;
    s->config.upload = own_upload;
    s->fail_launch = 5; /* a replay does not ask launch */
    start(s);
    submit_all(s, 20);
    flush_right(s, 20, &stats);
    assert_int_equal(stats.captures, 2 * 2);
    assert_int_equal(stats.updates, 2);
    assert_int_equal(stats.replays, 2 * 17);
    assert_int_equal(stats.fallbacks, 0);
    assert_int_equal(atomic_load(&s->launches), 3);
    stop(s);
}

/* From device to device a graph is one stage's. */
static void test_graph_stages(void **state)
{
    struct seen *s = setup();
    weir_pipe_stats stats;

    (void)state;
    s->config.graph = 1;
    s->config.slots = 2;
    s->config.launch = NULL;
    s->config.stage_count = 3;
    for (int i = 0; i < 3; i++)
        s->config.stages[i] = (weir_pipe_stage){i & 1, BYTES, BYTES, 0, launch};
    start(s);
    submit_all(s, 20);
    flush_right(s, 20, &stats);
    assert_int_equal(stats.captures, 2 * 3);
    assert_int_equal(stats.replays, 18 * 3);
    assert_int_equal(atomic_load(&s->launches), 2 * 3);
    stop(s);
}

/* What cannot be captured goes without, and leaves no stream behind that captures. */
static void test_graph_falls_back(void **state)
{
    (void)state;
    for (int split = 0; split < 2; split++) {
        struct seen *s = setup();
        weir_pipe_stats stats;

        s->config.graph = 1;
        s->config.slots = 1;
        s->config.streams = (enum weir_pipe_streams)split;
        s->uncapturable = 1;
        start(s);
        submit_all(s, 5);
        assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
        for (int i = 0; i < 5; i++)
            assert_int_equal(s->status[i], 0);
        weir_pipe_stats_get(s->pipe, &stats);
        assert_int_equal(stats.captures, 0);
        assert_int_equal(stats.fallbacks, 5);
        assert_int_equal(atomic_load(&s->launches), 6);
        assert_non_null(strstr(s->said, "without a graph"));
        stop(s);
    }
}

static void test_tune(void **state)
{
    struct seen *s = setup();
    weir_pipe_stats stats;
    char text[1024];

    (void)state;
    s->config.slots = 6;
    s->config.tune_items = 20;
    start(s);
    assert_int_equal(weir_pipe_tune_text(s->pipe, text, sizeof(text)), 0);
    submit_all(s, 160);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_OK);
    assert_true(weir_pipe_tune_text(s->pipe, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, " 1 slot, a stream for each slot: "));
    assert_non_null(strstr(text, "slots, a stream for each stage: "));
    assert_non_null(strstr(text, "alone: upload "));
    assert_non_null(strstr(text, "chosen: "));
    assert_non_null(strstr(text, "because"));
    weir_pipe_stats_get(s->pipe, &stats);
    assert_in_range(stats.slots, 1, 6);
    for (int i = 0; i < 160; i++)
        assert_int_equal(s->order[i], i);
    stop(s);
}

static void refuse(void (*change)(weir_pipe_config *), const char *why)
{
    struct seen *s = setup();
    change(&s->config);
    assert_int_equal(weir_pipe_create(&s->config, &s->pipe), WEIR_PIPE_INVALID);
    assert_null(s->pipe);
    assert_non_null(strstr(s->said, why));
    free(s);
}

static void no_slots(weir_pipe_config *c)
{
    c->slots = 0;
}
static void no_launch(weir_pipe_config *c)
{
    c->launch = NULL;
}
static void descending(weir_pipe_config *c)
{
    c->padding = WEIR_PIPE_PAD_UP;
    c->bucket_count = 2;
    c->buckets[0] = 2, c->buckets[1] = 1;
}
static void small(weir_pipe_config *c)
{
    c->dev_in_bytes = 1;
}
static void split_stages(weir_pipe_config *c)
{
    c->stage_count = 2;
    for (int i = 0; i < 2; i++)
        c->stages[i] = (weir_pipe_stage){i, BYTES, BYTES, 0, launch};
    c->streams = WEIR_PIPE_STREAMS_SPLIT;
}

static void test_config(void **state)
{
    struct seen *s = setup();

    (void)state;
    refuse(no_slots, "slots");
    refuse(no_launch, "no launch");
    refuse(descending, "ascending");
    refuse(small, "dev_in_bytes");
    refuse(split_stages, "stages");
    s->config.size--;
    assert_int_equal(weir_pipe_create(&s->config, &s->pipe), WEIR_PIPE_INVALID);
    s->config.size++;
    s->config.dev_scratch_bytes = (size_t)1 << 60; /* more than there is */
    assert_int_equal(weir_pipe_create(&s->config, &s->pipe), WEIR_PIPE_CUDA);
    assert_null(s->pipe);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_non_null(strstr(s->said, "slots of"));
    free(s);
    assert_string_equal(weir_pipe_status_name(WEIR_PIPE_TIMED_OUT), "timed out");
    assert_string_equal(weir_pipe_status_name((enum weir_pipe_status)99), "unknown");
}

/* The device is of no use afterwards: the last test. */
static void test_broken(void **state)
{
    struct seen *s = setup();
    cudaLibrary_t library;
    int i, reported;

    (void)state;
    assert_int_equal(cudaLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0),
                     cudaSuccess);
    assert_int_equal(cudaLibraryGetKernel(&s->trap, library, "trap"), cudaSuccess);
    s->fail_launch = 5;
    start(s);
    for (i = 0; i < MANY; i++)
        if (weir_pipe_submit(s->pipe, &s->values[i]) != WEIR_PIPE_OK)
            break;
    assert_in_range(i, 6, MANY - 1);
    assert_int_equal(weir_pipe_submit(s->pipe, &s->values[i]), WEIR_PIPE_BROKEN);
    assert_int_equal(weir_pipe_flush(s->pipe), WEIR_PIPE_BROKEN);
    reported = atomic_load(&s->dones);
    assert_int_equal(reported, i); /* every accepted one, in order */
    for (int k = 0; k < i; k++) {
        assert_int_equal(s->order[k], k);
        assert_true(s->status[k] == 0 || s->status[k] / 100 == WEIR_PIPE_BROKEN);
    }
    assert_int_equal(s->status[5] / 100, WEIR_PIPE_BROKEN);
    assert_non_null(strstr(s->said, "no more items are taken"));
    assert_int_equal(weir_pipe_destroy(s->pipe), WEIR_PIPE_BROKEN);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_destroy_drains),
        cmocka_unit_test(test_in_callbacks),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_graph_split),
        cmocka_unit_test(test_graph_stages),
        cmocka_unit_test(test_graph_falls_back),
        cmocka_unit_test(test_tune),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
