/* The simulator against an NVIDIA H200: what the reference timings say (medians of two runs), with
 * the device's costs from its profile. Sections concurrency, priority, frames; hardware_overlap.c
 * has the chunked experiment.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "core/profile.h"

#define US 1e3
#define MS 1e6

struct weir_plan_machine machine;
const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
bool print_all;

static int checks, failures;

bool check(const char *what, double predicted, double measured, double tolerance)
{
    double off = predicted > measured ? predicted - measured : measured - predicted;
    bool good = off <= tolerance;

    checks++;
    failures += !good;
    if (!good || print_all)
        printf("%s: predicted %.4f measured %.4f (%+.1f%%)%s\n", what, predicted, measured,
               100 * (predicted / measured - 1), good ? "" : "  OUTSIDE");
    return good;
}

void fail(const char *what)
{
    printf("FAILED: %s\n", what);
    failures++;
}

/* ---- programs of one thread ---- */

#define OPS_MAX   40000
#define STEPS_MAX 120000

static struct {
    struct weir_plan_stream streams[256];
    struct weir_plan_op ops[OPS_MAX];
    struct weir_plan_step steps[STEPS_MAX];
    struct weir_plan_time times[OPS_MAX];
    uint32_t op_count, step_count, last_stream, events;
} p;

static void begin(void)
{
    memset(&p, 0, sizeof p);
    for (int i = 0; i < 256; i++)
        p.streams[i].cls = WEIR_STREAM_NONBLOCKING;
    p.last_stream = WEIR_PLAN_NONE;
}

static void step(enum weir_plan_step_kind what, uint32_t a, uint32_t b, double ns)
{
    p.steps[p.step_count++] =
        (struct weir_plan_step){.what = (uint8_t)what, .a = a, .b = b, .ns = ns};
}

static uint32_t submit(uint32_t stream, enum weir_plan_engine engine, double ns, double cost)
{
    p.ops[p.op_count] =
        (struct weir_plan_op){.stream = stream,
                              .kind = engine == WEIR_PLAN_KERNEL ? WEIR_OP_KERNEL : WEIR_OP_COPY,
                              .engine = (uint8_t)engine,
                              .blocks = 1,
                              .ns = ns};
    step(WEIR_PLAN_WORK, 0, 0, cost);
    step(WEIR_PLAN_SUBMIT, p.op_count, 0, 0);
    return p.op_count++;
}

static uint32_t launch(uint32_t stream, double ns, uint32_t blocks, uint32_t threads)
{
    double more = stream == p.last_stream ? 0 : machine.host.submit_switch;
    uint32_t op = submit(stream, WEIR_PLAN_KERNEL, ns, machine.host.submit_kernel + more);

    p.last_stream = stream;
    p.ops[op].blocks = blocks;
    p.ops[op].units = weir_plan_block_units(&machine, threads, 0);
    return op;
}

static uint32_t copy(uint32_t stream, bool out, double bytes)
{
    enum weir_plan_engine engine = out ? WEIR_PLAN_D2H : WEIR_PLAN_H2D;

    return submit(stream, engine, weir_plan_copy_ns(&machine, engine, false, bytes, 0),
                  machine.host.submit_copy);
}

static void sync_all(void)
{
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync);
    step(WEIR_PLAN_SYNC_DEVICE, 0, 0, 0);
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync_return);
}

static void sync_op(uint32_t op)
{
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync);
    step(WEIR_PLAN_SYNC_OP, op, 0, 0);
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync_return);
}

static void record(uint32_t event, uint32_t stream)
{
    step(WEIR_PLAN_WORK, 0, 0, machine.host.record);
    step(WEIR_PLAN_RECORD, event, stream, 0);
    p.events = WEIR_MAX(p.events, event + 1);
}

static void wait(uint32_t event, uint32_t stream)
{
    step(WEIR_PLAN_WORK, 0, 0, machine.host.wait);
    step(WEIR_PLAN_WAIT, event, stream, 0);
}

static void sync_event(uint32_t event)
{
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync);
    step(WEIR_PLAN_SYNC_EVENT, event, 0, 0);
    step(WEIR_PLAN_WORK, 0, 0, machine.host.sync_return);
}

static double run(void)
{
    struct weir_plan_thread thread = {0, p.step_count};
    struct weir_plan_program program = {.streams = p.streams,
                                        .ops = p.ops,
                                        .steps = p.steps,
                                        .threads = &thread,
                                        .stream_count = 256,
                                        .op_count = p.op_count,
                                        .step_count = p.step_count,
                                        .thread_count = 1,
                                        .event_count = p.events,
                                        .group_count = 1,
                                        .device_count = 1};
    struct weir_plan_result r;

    if (!weir_plan_run(&program, &machine.device, &memory, p.times, NULL, &r) || r.stuck) {
        fail("a program does not run");
        exit(1);
    }
    return r.end;
}

/* ---- concurrency: 1 ms kernels of one block ---- */

static void many_streams(uint32_t streams, int each, bool breadth, double measured_ms)
{
    char what[64];

    begin();
    for (uint32_t i = 0; i < streams * (uint32_t)each; i++)
        launch(breadth ? i % streams : i / (uint32_t)each, 1 * MS, 1, 32);
    sync_all();
    snprintf(what, sizeof what, "%d kernels a stream, %u streams, %s", each, streams,
             breadth ? "breadth first" : "stream by stream");
    check(what, run() / MS, measured_ms, 0.1 * measured_ms);
}

static void concurrency(void)
{
    static const struct {
        uint32_t streams;
        double one, four, breadth; /* ms */
    } rows[] = {{1, 1.016, 4.023, 4.040}, {2, 1.021, 4.047, 4.039}, {4, 1.033, 4.089, 0},
                {8, 1.055, 4.180, 4.079}, {16, 1.101, 7.191, 0},    {32, 1.189, 13.23, 4.232},
                {64, 1.384, 25.31, 0},    {128, 1.750, 49.40, 0},   {160, 2.167, 61.44, 0},
                {256, 2.704, 97.61, 0}};
    static const double two_full[] = {1.021, 2.020, 8.036}; /* 1, 2, 8 blocks of 1024 an SM */

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(rows); i++) {
        many_streams(rows[i].streams, 1, false, rows[i].one);
        many_streams(rows[i].streams, 4, false, rows[i].four);
        if (rows[i].breadth > 0)
            many_streams(rows[i].streams, 4, true, rows[i].breadth);
    }
    for (int i = 0; i < 3; i++) {
        uint32_t each = i == 0 ? 1 : i == 1 ? 2 : 8;

        begin();
        for (uint32_t s = 0; s < 2; s++)
            launch(s, (each + 1) / 2 * MS, machine.sms * each, 1024);
        sync_all();
        check("two kernels of 1024 threads a block", run() / MS, two_full[i], 0.1 * two_full[i]);
    }
}

/* ---- priority: a small kernel comes 1.5 ms after large ones ---- */

static void priority(bool many, bool high, double measured_ms)
{
    uint32_t small;

    begin();
    p.streams[1].priority = high ? -5 : 0;
    if (many) {
        for (int i = 0; i < 20; i++)
            launch(0, 0.4 * MS, machine.sms * 4, 1024);
    } else {
        launch(0, 8 * MS, machine.sms * 80, 1024);
    }
    /* sleep_for(1.5 ms), with the kernel's timer slack (prctl(2): 50 us) */
    step(WEIR_PLAN_WORK, 0, 0, 1.55 * MS);
    small = launch(1, 1 * US, 1, 32);
    sync_all();
    run();
    check(many   ? high ? "20 kernels queued, small one of high priority: its start"
                        : "20 kernels queued, small one of the same priority: its start"
          : high ? "one large kernel, small one of high priority: its start"
                 : "one large kernel, small one of the same priority: its start",
          (p.times[small].start - p.times[0].start) / MS, measured_ms, 0.15 * measured_ms);
    check("  all of the large", (p.times[small - 1].end - p.times[0].start) / MS, 8.03, 0.15 * 8);
}

/* ---- frames: 1280 x 720 bytes in, two kernels, out; 1000 of them ---- */

#define FRAMES 1000
#define FRAME  (1280.0 * 720)

/* Both kernels between two events take 17.3 us (stage_alone), less the records and the gap. */
static double kernel_of_frame(void)
{
    return (17.28 * US - 1.3 * US - machine.device.same_ns) / 2;
}

static uint32_t kernels(uint32_t stream)
{
    launch(stream, kernel_of_frame(), 3600, 256);
    return launch(stream, kernel_of_frame(), 3600, 256);
}

static uint32_t frame(uint32_t stream)
{
    copy(stream, false, FRAME);
    kernels(stream);
    return copy(stream, true, FRAME);
}

static uint32_t graph(uint32_t stream)
{
    double ns = kernel_of_frame();

    submit(stream, WEIR_PLAN_H2D, FRAME / machine.rates.h2d, machine.host.graph_launch);
    for (int i = 0; i < 2; i++) {
        uint32_t op = submit(stream, WEIR_PLAN_KERNEL, ns, 0);

        p.ops[op].blocks = 3600;
        p.ops[op].units = 256;
    }
    return submit(stream, WEIR_PLAN_D2H, FRAME / machine.rates.d2h, 0);
}

static void copy_sync(bool out, bool pageable)
{
    uint32_t op = copy(0, out, FRAME);

    if (pageable) /* the same buffer for every frame */
        p.ops[op].ns = weir_plan_copy_ns(&machine, p.ops[op].engine, true, FRAME, FRAME);
    sync_op(op);
}

static void done(const char *what, double measured_ms)
{
    sync_all();
    check(what, run() / MS / FRAMES, measured_ms, 0.15 * measured_ms);
}

static void serial(const char *what, bool pageable, double measured_ms)
{
    begin();
    for (int i = 0; i < FRAMES; i++) {
        copy_sync(false, pageable);
        kernels(0);
        copy_sync(true, pageable);
    }
    done(what, measured_ms);
}

static void one_stream(const char *what, bool as_graph, bool sync_each, double measured_ms)
{
    begin();
    for (int i = 0; i < FRAMES; i++) {
        uint32_t last = as_graph ? graph(0) : frame(0);

        if (sync_each)
            sync_op(last);
    }
    done(what, measured_ms);
}

/* Three slots: waits for its own slot's last frame, or for all after a round. */
static void three_streams(const char *what, bool as_graph, bool own_slot, double measured_ms)
{
    uint32_t last[3] = {0};

    begin();
    for (uint32_t i = 0; i < FRAMES; i++) {
        if (own_slot && i >= 3)
            sync_op(last[i % 3]);
        last[i % 3] = as_graph ? graph(i % 3) : frame(i % 3);
        for (uint32_t k = 0; !own_slot && (i % 3 == 2 || i + 1 == FRAMES) && k <= i % 3; k++)
            sync_op(last[k]);
    }
    done(what, measured_ms);
}

/* A stream a stage, events between; three slots. Events: uploaded k, computed 3 + k, down 6 + k. */
static void stages(const char *what, bool host_waits, double measured_ms)
{
    begin();
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint32_t k = i % 3;

        if (i >= 3 && host_waits)
            sync_event(6 + k);
        if (i >= 3)
            wait(3 + k, 0);
        copy(0, false, FRAME);
        record(k, 0);
        wait(k, 1);
        if (i >= 3)
            wait(6 + k, 1);
        kernels(1);
        record(3 + k, 1);
        wait(3 + k, 2);
        copy(2, true, FRAME);
        record(6 + k, 2);
    }
    done(what, measured_ms);
}

static void frames(void)
{
    serial("frames, synchronous pageable copies", true, 0.2065);
    serial("frames, synchronous pinned copies", false, 0.0681);
    one_stream("frames, one stream, synchronised each", false, true, 0.0634);
    one_stream("frames, one stream, synchronised at the end", false, false, 0.0608);
    three_streams("frames, three streams, synchronised each round", false, false, 0.0375);
    three_streams("frames, three streams, each waits for its slot", false, true, 0.0250);
    stages("frames, a stream a stage, the host waits", true, 0.0246);
    stages("frames, a stream a stage, no host wait", false, 0.0224);
    one_stream("frames, graphs in one stream, synchronised each", true, true, 0.0654);
    one_stream("frames, graphs in one stream, synchronised at the end", true, false, 0.0608);
    three_streams("frames, graphs in three streams, each waits for its slot", true, true, 0.0243);
}

int main(int argc, char **argv)
{
    struct weir_profile profile;

    if (argc < 2)
        return 2;
    print_all = argc > 2;
    if (weir_profile_load("h200", &profile) != WEIR_OK ||
        !weir_plan_machine_init(&machine, &profile))
        return 1;
    concurrency();
    priority(false, false, 8.008);
    priority(false, true, 1.702);
    priority(true, false, 2.010);
    priority(true, true, 1.809);
    frames();
    overlap(argv[1]);
    printf("%d comparisons, %d outside their bounds\n", checks, failures);
    return failures != 0;
}
