/* Measuring a GPU through its driver API (calibrate.h). Every number is the median of repeats; what
 * each measures is said beside the line that it writes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/calibrate.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "plan/measure_ptx.h"
#include "plan/sim.h"

#define MIB            (1u << 20)
#define LARGE          (64 * MIB) /* bytes of a copy whose rate counts */
#define TINY           4096u
#define PAGEABLE_MIB   256 /* the largest pageable copy */
#define STREAMS        32
#define BATCH          100 /* calls in a row */
#define REPEATS        5
#define ROUNDS         15 /* through the sizes of pageable copies */
#define ROUND_PAUSE_US 100000
#define SPIN_NS        200000

typedef uint64_t address;

/* Of the driver API, as every driver since CUDA 4 exports it. */
struct driver {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceTotalMem_v2)(size_t *, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuCtxSynchronize)(void);
    int (*cuMemAlloc_v2)(address *, size_t);
    int (*cuMemAllocHost_v2)(void **, size_t);
    int (*cuMemcpyHtoD_v2)(address, const void *, size_t);
    int (*cuMemcpyDtoH_v2)(void *, address, size_t);
    int (*cuMemcpyHtoDAsync_v2)(address, const void *, size_t, void *);
    int (*cuMemcpyDtoHAsync_v2)(void *, address, size_t, void *);
    int (*cuMemcpyDtoDAsync_v2)(address, address, size_t, void *);
    int (*cuStreamCreate)(void **, unsigned);
    int (*cuStreamSynchronize)(void *);
    int (*cuStreamWaitEvent)(void *, void *, unsigned);
    int (*cuEventCreate)(void **, unsigned);
    int (*cuEventRecord)(void *, void *);
    int (*cuEventElapsedTime)(float *, void *, void *);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
};

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, offsetof(struct driver, name)                                                       \
    }
    FUNCTION(cuInit),
    FUNCTION(cuDeviceGet),
    FUNCTION(cuDeviceGetName),
    FUNCTION(cuDeviceTotalMem_v2),
    FUNCTION(cuDeviceGetAttribute),
    FUNCTION(cuDevicePrimaryCtxRetain),
    FUNCTION(cuCtxSetCurrent),
    FUNCTION(cuCtxSynchronize),
    FUNCTION(cuMemAlloc_v2),
    FUNCTION(cuMemAllocHost_v2),
    FUNCTION(cuMemcpyHtoD_v2),
    FUNCTION(cuMemcpyDtoH_v2),
    FUNCTION(cuMemcpyHtoDAsync_v2),
    FUNCTION(cuMemcpyDtoHAsync_v2),
    FUNCTION(cuMemcpyDtoDAsync_v2),
    FUNCTION(cuStreamCreate),
    FUNCTION(cuStreamSynchronize),
    FUNCTION(cuStreamWaitEvent),
    FUNCTION(cuEventCreate),
    FUNCTION(cuEventRecord),
    FUNCTION(cuEventElapsedTime),
    FUNCTION(cuModuleLoadData),
    FUNCTION(cuModuleGetFunction),
    FUNCTION(cuLaunchKernel),
#undef FUNCTION
};

struct gpu {
    struct driver d;
    int device, error;
    const char *failed; /* the first call that failed; after it nothing is called */
    void *streams[STREAMS], *events[2], *untimed, *nop, *spin;
    address memory, other;
    void *pinned, *pinned_out, *pageable;
    size_t bytes;     /* of a pageable copy */
    double record_ns; /* between two records, nothing between */
};

#define CALL(g, name, ...)                                                                         \
    do {                                                                                           \
        if (!(g)->failed && ((g)->error = (g)->d.name(__VA_ARGS__)) != 0)                          \
            (g)->failed = #name;                                                                   \
    } while (0)

/* ---- measuring ---- */

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* Runs it once to warm up; then the median of what it returns. */
static double median(struct gpu *g, double (*measure)(struct gpu *g))
{
    double v[REPEATS];

    measure(g);
    for (int i = 0; i < REPEATS; i++)
        v[i] = measure(g);
    qsort(v, REPEATS, sizeof *v, by_size);
    return v[REPEATS / 2];
}

static void launch(struct gpu *g, void *kernel, uint64_t ns, int stream)
{
    void *args[] = {&ns};

    CALL(g, cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, g->streams[stream], args, NULL);
}

static void begin(struct gpu *g)
{
    CALL(g, cuCtxSynchronize);
    CALL(g, cuEventRecord, g->events[0], g->streams[0]);
}

/* ns on the device since begin, less the records' own. */
static double end(struct gpu *g)
{
    float ms = 0;

    CALL(g, cuEventRecord, g->events[1], g->streams[0]);
    CALL(g, cuStreamSynchronize, g->streams[0]);
    CALL(g, cuEventElapsedTime, &ms, g->events[0], g->events[1]);
    return WEIR_MAX((double)ms * 1e6 - g->record_ns, 1);
}

static double two_records(struct gpu *g)
{
    begin(g);
    return end(g);
}

static double h2d_large(struct gpu *g)
{
    begin(g);
    CALL(g, cuMemcpyHtoDAsync_v2, g->memory, g->pinned, LARGE, g->streams[0]);
    return end(g);
}

static double d2h_large(struct gpu *g)
{
    begin(g);
    CALL(g, cuMemcpyDtoHAsync_v2, g->pinned, g->memory, LARGE, g->streams[0]);
    return end(g);
}

static double d2h_tiny(struct gpu *g)
{
    begin(g);
    CALL(g, cuMemcpyDtoHAsync_v2, g->pinned, g->memory, TINY, g->streams[0]);
    return end(g);
}

static double on_device(struct gpu *g)
{
    begin(g);
    CALL(g, cuMemcpyDtoDAsync_v2, g->other, g->memory, LARGE, g->streams[0]);
    return end(g);
}

/* The host's time. */
static double both_ways(struct gpu *g)
{
    uint64_t start;

    CALL(g, cuCtxSynchronize);
    start = weir_clock_ns();
    CALL(g, cuMemcpyHtoDAsync_v2, g->memory, g->pinned, LARGE, g->streams[0]);
    CALL(g, cuMemcpyDtoHAsync_v2, g->pinned_out, g->other, LARGE, g->streams[1]);
    CALL(g, cuCtxSynchronize);
    return (double)(weir_clock_ns() - start);
}

/* The host's time, too: it makes these copies. */
static double h2d_pageable(struct gpu *g)
{
    uint64_t start;

    CALL(g, cuCtxSynchronize);
    start = weir_clock_ns();
    CALL(g, cuMemcpyHtoD_v2, g->memory, g->pageable, g->bytes);
    return (double)(weir_clock_ns() - start);
}

static double d2h_pageable(struct gpu *g)
{
    uint64_t start;

    CALL(g, cuCtxSynchronize);
    start = weir_clock_ns();
    CALL(g, cuMemcpyDtoH_v2, g->pageable, g->memory, g->bytes);
    return (double)(weir_clock_ns() - start);
}

/* ns of a call, of BATCH in a row; what they left is waited for outside. */
#define BATCH_OF(name, ...)                                                                        \
    static double name(struct gpu *g)                                                              \
    {                                                                                              \
        uint64_t start;                                                                            \
                                                                                                   \
        CALL(g, cuCtxSynchronize);                                                                 \
        start = weir_clock_ns();                                                                   \
        for (int i = 0; i < BATCH; i++)                                                            \
            __VA_ARGS__;                                                                           \
        start = weir_clock_ns() - start;                                                           \
        CALL(g, cuCtxSynchronize);                                                                 \
        return (double)start / BATCH;                                                              \
    }

BATCH_OF(submit_kernel, launch(g, g->nop, 0, 0))
BATCH_OF(submit_round, launch(g, g->nop, 0, i % STREAMS))
BATCH_OF(submit_copy, CALL(g, cuMemcpyHtoDAsync_v2, g->memory, g->pinned, 4, g->streams[0]))
BATCH_OF(record, CALL(g, cuEventRecord, g->untimed, g->streams[0]))
BATCH_OF(record_timing, CALL(g, cuEventRecord, g->events[0], g->streams[0]))
BATCH_OF(wait, CALL(g, cuStreamWaitEvent, g->streams[1], g->untimed, 0))
BATCH_OF(sync_idle, CALL(g, cuStreamSynchronize, g->streams[0]))

static double launch_and_sync(struct gpu *g)
{
    uint64_t start = weir_clock_ns();

    for (int i = 0; i < BATCH; i++) {
        launch(g, g->nop, 0, 0);
        CALL(g, cuStreamSynchronize, g->streams[0]);
    }
    return (double)(weir_clock_ns() - start) / BATCH;
}

/* ns more than the kernels' own, from one to the next in a stream. */
static double from_kernel_to_kernel(struct gpu *g)
{
    double ns;

    begin(g);
    for (int i = 0; i < 20; i++)
        launch(g, g->spin, SPIN_NS, 0);
    ns = end(g) / 20 - SPIN_NS;
    return WEIR_MAX(ns, 0);
}

/* ns from one engine to the next: copy in, empty kernel, copy out, in one stream. */
static double hand_over(struct gpu *g)
{
    begin(g);
    for (int i = 0; i < 64; i++) {
        CALL(g, cuMemcpyHtoDAsync_v2, g->memory, g->pinned, TINY, g->streams[0]);
        launch(g, g->nop, 0, 0);
        CALL(g, cuMemcpyDtoHAsync_v2, g->pinned_out, g->memory, TINY, g->streams[0]);
    }
    return end(g) / (3 * 64);
}

/* Four kernels a stream, stream by stream, take (1 + 3 streams / queues) kernels' time. */
static double hardware_queues(struct gpu *g)
{
    double rounds;
    uint64_t start;

    CALL(g, cuCtxSynchronize);
    start = weir_clock_ns();
    for (int i = 0; i < 4 * STREAMS; i++)
        launch(g, g->spin, 5 * SPIN_NS, i / 4);
    CALL(g, cuCtxSynchronize);
    rounds = (double)(weir_clock_ns() - start) / (5 * SPIN_NS);
    rounds = WEIR_MAX(rounds - 1, 3);
    return 3.0 * STREAMS / rounds;
}

/* ---- the profile ---- */

/* Profiles hold plain decimals: no exponent, however slow a busy machine is. */
static void put(FILE *to, const char *cost, double value, const char *what)
{
    value = value > 0 ? WEIR_MIN(value, 999999.0) : 0;
    fprintf(to, "cost %-23s %-8.*f # %s\n", cost,
            value < 10     ? 4
            : value < 1000 ? 2
                           : 0,
            value, what);
}

static void put_copies(struct gpu *g, FILE *to)
{
    double in = median(g, h2d_large), out = median(g, d2h_large), both = median(g, both_ways);
    double less = WEIR_MIN(in, out), more = WEIR_MAX(in, out);
    /* Together until the shorter is done, at the share that is asked for; then the longer alone. */
    double share = less / WEIR_MAX(both - (more - less), 1);

    put(to, "h2d-gbps", LARGE / in, "64 MiB pinned");
    put(to, "d2h-gbps", LARGE / out, "64 MiB pinned");
    put(to, "duplex", WEIR_MIN(WEIR_MAX(share, 0.5), 1), "both at a time, beside each alone");
    put(to, "copy-us", median(g, d2h_tiny) * 1e-3, "4 KiB from the device");
    put(to, "device-gbps", 2.0 * LARGE / median(g, on_device), "64 MiB, read and written");
}

/* Pageable memory by the size of the buffer that is used again and again: three sizes are costs
 * (plan/device.h), the others show whether what is between them is as the model takes it. The host
 * copies, and what else it does comes and goes: all sizes in turn, for some seconds. */
static void put_pageable(struct gpu *g, FILE *to)
{
    static const struct {
        unsigned mib;
        const char *h2d, *d2h;
    } sizes[] = {{4, NULL, NULL},   {16, "pageable-small-h2d-gbps", "pageable-small-d2h-gbps"},
                 {32, NULL, NULL},  {64, "pageable-mid-h2d-gbps", "pageable-mid-d2h-gbps"},
                 {128, NULL, NULL}, {PAGEABLE_MIB, "pageable-h2d-gbps", "pageable-d2h-gbps"}};
    double ns[WEIR_ARRAY_SIZE(sizes)][2][ROUNDS];

    for (int r = -1; r < ROUNDS; r++) { /* (the first to warm up) */
        for (size_t i = 0; i < WEIR_ARRAY_SIZE(sizes); i++) {
            g->bytes = (size_t)sizes[i].mib * MIB;
            ns[i][0][r < 0 ? 0 : r] = h2d_pageable(g);
            ns[i][1][r < 0 ? 0 : r] = d2h_pageable(g);
        }
        usleep(ROUND_PAUSE_US);
    }
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(sizes); i++) {
        char what[32];
        double rate[2];

        for (int k = 0; k < 2; k++) {
            qsort(ns[i][k], ROUNDS, sizeof ns[i][k][0], by_size);
            rate[k] = (double)sizes[i].mib * MIB / ns[i][k][ROUNDS / 2];
        }
        snprintf(what, sizeof what, "%u MiB pageable", sizes[i].mib);
        if (sizes[i].h2d) {
            put(to, sizes[i].h2d, rate[0], what);
            put(to, sizes[i].d2h, rate[1], what);
        } else {
            fprintf(to, "# %s: %.2f to the device, %.2f from it\n", what, rate[0], rate[1]);
        }
    }
}

static void put_calls(struct gpu *g, FILE *to)
{
    double kernel = median(g, submit_kernel), whole = median(g, launch_and_sync);
    double round = median(g, submit_round) - kernel;
    double there = WEIR_MAX(whole - kernel, 0) / 2;

    put(to, "submit-kernel-us", kernel * 1e-3, "launches in a row");
    put(to, "submit-switch-us", WEIR_MAX(round, 0) * 1e-3, "more, round 32 streams");
    put(to, "submit-copy-us", median(g, submit_copy) * 1e-3, "pinned copies in a row");
    put(to, "record-us", median(g, record) * 1e-3, "timing disabled");
    put(to, "record-timing-us", median(g, record_timing) * 1e-3, "with timing");
    put(to, "wait-us", median(g, wait) * 1e-3, "cuStreamWaitEvent");
    put(to, "sync-us", median(g, sync_idle) * 1e-3, "idle stream");
    put(to, "launch-us", there * 1e-3, "half of launch and synchronise, less the launch");
    put(to, "sync-return-us", there * 1e-3, "the other half");
}

static void put_order(struct gpu *g, FILE *to)
{
    double same = median(g, from_kernel_to_kernel), over = median(g, hand_over);
    double queues = hardware_queues(g);

    put(to, "same-us", same * 1e-3, "20 kernels of 0.2 ms in a stream");
    put(to, "copy-gap-us", WEIR_MIN(same, over) * 1e-3, "as same-us");
    put(to, "handover-us", over * 1e-3, "copy in, empty kernel, copy out of 4 KiB, 64 times");
    put(to, "hw-queues", (double)(int)(queues + 0.5), "four 1 ms kernels a stream on 32 streams");
}

static void put_attributes(struct gpu *g, FILE *to)
{
    char name[128] = "";
    size_t memory = 0;

    CALL(g, cuDeviceGetName, name, (int)sizeof name - 1, g->device);
    CALL(g, cuDeviceTotalMem_v2, &memory, g->device);
    fprintf(to,
            "# SPDX-License-Identifier: Apache-2.0\n"
            "# %s, measured by weir plan --calibrate; what is not said here is the H200's.\n"
            "like            h200\nname            %s\nmemory          %zu\n",
            name, name, memory);
    for (int id = 1; id < 148 && !g->failed; id++) {
        int value;

        /* (A driver does not know those that came after it, and 92 to 94 were taken back.) */
        if (g->d.cuDeviceGetAttribute(&value, id, g->device) == 0)
            fprintf(to, "attribute %-4d %d\n", id, value);
    }
}

/* ---- beginning ---- */

static bool open_driver(struct gpu *g, char *message)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        snprintf(message, 200, "there is no GPU to measure: %.120s", dlerror());
        return false;
    }
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(functions); i++) {
        void *f = dlsym(library, functions[i].name);

        if (!f) {
            snprintf(message, 200, "libcuda.so.1 has no %s", functions[i].name);
            return false;
        }
        memcpy((char *)&g->d + functions[i].at, &f, sizeof f);
    }
    return true;
}

static void prepare(struct gpu *g)
{
    void *context, *module;

    CALL(g, cuInit, 0);
    CALL(g, cuDeviceGet, &g->device, 0);
    CALL(g, cuDevicePrimaryCtxRetain, &context, g->device);
    CALL(g, cuCtxSetCurrent, context);
    for (int i = 0; i < STREAMS; i++)
        CALL(g, cuStreamCreate, &g->streams[i], 1); /* CU_STREAM_NON_BLOCKING */
    CALL(g, cuEventCreate, &g->events[0], 0);
    CALL(g, cuEventCreate, &g->events[1], 0);
    CALL(g, cuEventCreate, &g->untimed, 2); /* CU_EVENT_DISABLE_TIMING */
    CALL(g, cuMemAlloc_v2, &g->memory, PAGEABLE_MIB * (size_t)MIB);
    CALL(g, cuMemAlloc_v2, &g->other, LARGE);
    CALL(g, cuMemAllocHost_v2, &g->pinned, LARGE);
    CALL(g, cuMemAllocHost_v2, &g->pinned_out, LARGE);
    CALL(g, cuModuleLoadData, &module, WEIR_MEASURE_PTX);
    CALL(g, cuModuleGetFunction, &g->nop, module, WEIR_MEASURE_NOP);
    CALL(g, cuModuleGetFunction, &g->spin, module, WEIR_MEASURE_SPIN);
    if (!g->failed)
        g->record_ns = median(g, two_records);
}

bool weir_plan_calibrate(FILE *to, char *message)
{
    struct gpu g = {0};

    if (!open_driver(&g, message))
        return false;
    g.pageable = weir_alloc(PAGEABLE_MIB * (size_t)MIB);
    if (!g.pageable) {
        snprintf(message, 200, "out of memory");
        return false;
    }
    memset(g.pageable, 1, PAGEABLE_MIB * (size_t)MIB);
    prepare(&g);
    if (!g.failed) {
        put_attributes(&g, to);
        put_copies(&g, to);
        put_pageable(&g, to);
        put_calls(&g, to);
        put_order(&g, to);
    }
    weir_free(g.pageable);
    /* (What the driver gave goes with the process.) */
    if (g.failed)
        snprintf(message, 200, "%s failed: error %d", g.failed, g.error);
    return !g.failed;
}
