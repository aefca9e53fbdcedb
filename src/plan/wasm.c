/* The simulator for the page of `weir plan --html`: compiled to WebAssembly, not part of the
 * library. The page writes the numbers of weir_plan_wasm_input, runs, and reads those of
 * weir_plan_wasm_output and _times; web/plan.js names the places.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/pipeline.h"

#define CHUNKS_MAX 256
#define OPS_MAX    (CHUNKS_MAX * WEIR_PLAN_STAGES)
#define HEAP       (8u << 20)

#define EXPORT(name) __attribute__((export_name(#name)))

enum input {
    IN_CHUNKS,
    IN_STREAMS,
    IN_BREADTH,
    IN_PAGEABLE,
    IN_COPY_ENGINES,
    IN_UNITS,
    IN_HW_QUEUES,
    IN_KERNELS,
    IN_DUPLEX,
    IN_LAUNCH,
    IN_SAME,
    IN_HANDOVER,
    IN_COPY_GAP,
    IN_SUBMIT_KERNEL,
    IN_SUBMIT_SWITCH,
    IN_SUBMIT_COPY,
    IN_SUBMIT_HOST_FUNC,
    IN_SYNC,
    IN_SYNC_RETURN,
    IN_STAGES,
    IN_STAGE, /* three numbers a stage: engine, ns, fill */
    IN_COUNT = IN_STAGE + 3 * WEIR_PLAN_STAGES
};

enum output { OUT_LENGTH, OUT_BOUND, OUT_LIMIT, OUT_OPS, OUT_STEPS, OUT_BUSY /* an engine each */ };

/* One page, one thread, one run at a time. */
static double input[IN_COUNT], output[OUT_BUSY + WEIR_PLAN_ENGINES];
static double times[OPS_MAX][6]; /* stream, engine, start, end, why, the operation it followed */
static double host[OPS_MAX * 4 + 8][2]; /* what the host did: begin, end; -: it waited */
static _Alignas(16) unsigned char heap[HEAP];
static size_t used;

/* Everything is freed at once, before the next run. */
static void *take(void *ctx, size_t bytes)
{
    void *p = heap + used;

    (void)ctx;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > HEAP - used)
        return NULL;
    used += bytes;
    return p;
}

static void give(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

static uint32_t number(enum input i, uint32_t least, uint32_t most)
{
    return input[i] >= most ? most : input[i] > least ? (uint32_t)input[i] : least;
}

static void read_input(struct weir_plan_pipeline *p, struct weir_plan_device *d,
                       struct weir_plan_host *h)
{
    *p = (struct weir_plan_pipeline){.chunks = number(IN_CHUNKS, 1, CHUNKS_MAX),
                                     .streams = number(IN_STREAMS, 1, 64),
                                     .breadth = input[IN_BREADTH] > 0,
                                     .pageable = input[IN_PAGEABLE] > 0,
                                     .stage_count = number(IN_STAGES, 1, WEIR_PLAN_STAGES)};
    *d = (struct weir_plan_device){.copy_engines = number(IN_COPY_ENGINES, 0, 2),
                                   .units = number(IN_UNITS, 0, 1u << 30),
                                   .hw_queues = number(IN_HW_QUEUES, 0, 1024),
                                   .kernels_max = number(IN_KERNELS, 0, 1u << 20),
                                   .sticky = true,
                                   .duplex = input[IN_DUPLEX],
                                   .launch_ns = input[IN_LAUNCH],
                                   .same_ns = input[IN_SAME],
                                   .handover_ns = input[IN_HANDOVER],
                                   .copy_gap_ns = input[IN_COPY_GAP]};
    *h = (struct weir_plan_host){.submit_kernel = input[IN_SUBMIT_KERNEL],
                                 .submit_switch = input[IN_SUBMIT_SWITCH],
                                 .submit_copy = input[IN_SUBMIT_COPY],
                                 .submit_host_func = input[IN_SUBMIT_HOST_FUNC],
                                 .sync = input[IN_SYNC],
                                 .sync_return = input[IN_SYNC_RETURN]};
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const double *s = &input[IN_STAGE + 3 * i];

        p->stages[i].engine = (uint8_t)(s[0] > 0 && s[0] < WEIR_PLAN_ENGINES ? s[0] : 0);
        p->stages[i].ns = s[1];
        p->stages[i].fill = s[2];
    }
}

EXPORT(weir_plan_wasm_input) double *weir_plan_wasm_input(void);
EXPORT(weir_plan_wasm_output) double *weir_plan_wasm_output(void);
EXPORT(weir_plan_wasm_times) double *weir_plan_wasm_times(void);
EXPORT(weir_plan_wasm_host) double *weir_plan_wasm_host(void);
EXPORT(weir_plan_wasm_length) double weir_plan_wasm_length(uint32_t chunks, uint32_t streams);
EXPORT(weir_plan_wasm_run) int weir_plan_wasm_run(void);

double *weir_plan_wasm_input(void)
{
    return input;
}

double *weir_plan_wasm_output(void)
{
    return output;
}

double *weir_plan_wasm_times(void)
{
    return times[0];
}

double *weir_plan_wasm_host(void)
{
    return host[0];
}

/* The length of the input's pipeline with other chunks and streams; < 0: too large. */
double weir_plan_wasm_length(uint32_t chunks, uint32_t streams)
{
    const struct weir_model_memory memory = {take, give, NULL};
    struct weir_plan_pipeline p;
    struct weir_plan_device d;
    struct weir_plan_host h;

    used = 0;
    read_input(&p, &d, &h);
    p.chunks = chunks < 1 ? 1 : chunks > CHUNKS_MAX ? CHUNKS_MAX : chunks;
    p.streams = streams < 1 ? 1 : streams > 64 ? 64 : streams;
    return weir_plan_pipeline_run(&p, &d, &h, &memory);
}

static void tell_ops(const struct weir_plan_program *p, const struct weir_plan_time *t)
{
    for (uint32_t i = 0; i < p->op_count; i++) {
        times[i][0] = p->ops[i].stream;
        times[i][1] = p->ops[i].engine;
        times[i][2] = t[i].start;
        times[i][3] = t[i].end;
        times[i][4] = t[i].why;
        times[i][5] = t[i].why_op == WEIR_PLAN_NONE ? -1 : t[i].why_op;
    }
    output[OUT_OPS] = p->op_count;
}

static void tell_host(const struct weir_plan_program *p, const double *ends)
{
    uint32_t n = 0;
    double last = 0;

    for (uint32_t i = 0; i < p->step_count; i++) {
        bool waits = p->steps[i].what > WEIR_PLAN_WAIT;

        if (ends[i] > last) {
            host[n][0] = waits ? -last - 1 : last; /* (a wait at 0 must differ, too) */
            host[n++][1] = ends[i];
        }
        last = ends[i];
    }
    output[OUT_STEPS] = n;
}

/* 1; 0: too large. */
int weir_plan_wasm_run(void)
{
    const struct weir_model_memory memory = {take, give, NULL};
    struct weir_plan_pipeline p;
    struct weir_plan_device d;
    struct weir_plan_host h;
    struct weir_plan_made made;
    struct weir_plan_result r;
    enum weir_plan_limit limit = WEIR_PLAN_LIMIT_KERNELS;
    struct weir_plan_time *t;
    double *ends;

    used = 0;
    read_input(&p, &d, &h);
    if (!weir_plan_pipeline_make(&p, &d, &h, &memory, &made))
        return 0;
    t = take(NULL, made.program.op_count * sizeof *t);
    ends = take(NULL, made.program.step_count * sizeof *ends);
    if (!t || !ends || !weir_plan_run(&made.program, &d, &memory, t, ends, &r))
        return 0;
    output[OUT_LENGTH] = r.end;
    output[OUT_BOUND] = weir_plan_pipeline_bound(&p, &d, &limit);
    output[OUT_LIMIT] = limit;
    for (int e = 0; e < WEIR_PLAN_ENGINES; e++)
        output[OUT_BUSY + e] = r.busy[e];
    tell_ops(&made.program, t);
    tell_host(&made.program, ends);
    return 1;
}
