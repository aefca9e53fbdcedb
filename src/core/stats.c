/* SPDX-License-Identifier: Apache-2.0 */
#include "core/inject.h"
#include "core/stats.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/core.h"
#include "core/pages.h"
#include "memory/memory.h"

static const char *const engine_names[WEIR_ENGINE_COUNT] = {
    [WEIR_ENGINE_COMPUTE] = "kernels",        [WEIR_ENGINE_H2D] = "copies host-device",
    [WEIR_ENGINE_D2H] = "copies device-host", [WEIR_ENGINE_D2D] = "copies on device, memset",
    [WEIR_ENGINE_HOST] = "host functions",
};

static const char *const pair_names[WEIR_OVERLAP_COUNT] = {
    [WEIR_OVERLAP_H2D_KERNEL] = "H2D copy and kernel",
    [WEIR_OVERLAP_D2H_KERNEL] = "D2H copy and kernel",
    [WEIR_OVERLAP_H2D_D2H] = "H2D and D2H copy",
    [WEIR_OVERLAP_KERNEL_KERNEL] = "kernel and kernel",
    [WEIR_OVERLAP_HOST_DEVICE] = "host and device",
};

static const char *const sync_names[WEIR_SYNC_COUNT] = {
    [WEIR_SYNC_FREE] = "freeing memory waits for the device",
    [WEIR_SYNC_COPY] = "synchronous copies and memsets",
    [WEIR_SYNC_PAGEABLE_COPY] = "asynchronous copies of pageable memory",
    [WEIR_SYNC_MANAGED_COPY] = "asynchronous copies of managed memory",
    [WEIR_SYNC_HOST_COPY] = "asynchronous copies from host to host",
    [WEIR_SYNC_STAGING_FULL] = "no staging memory left for a pageable source",
    [WEIR_SYNC_QUEUE_FULL] = "a stream's queue was full",
    [WEIR_SYNC_LAZY_LOAD] = "a kernel was loaded at its first use",
};

static double ms(uint64_t ns)
{
    return (double)ns * 1e-6;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_bytes(FILE *f, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1024.0 && u + 1 < WEIR_ARRAY_SIZE(units)) {
        v /= 1024.0;
        u++;
    }
    fprintf(f, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static void print_engines(FILE *f, const struct weir_device_stats *s, uint64_t span)
{
    fprintf(f, "  %-28s %10s %14s %12s %8s\n", "engine", "count", "bytes", "busy ms", "busy");
    for (int e = 0; e < WEIR_ENGINE_COUNT; e++) {
        fprintf(f, "  %-28s %10" PRIu64 " %14" PRIu64 " %12.3f %7.1f%%\n", engine_names[e],
                s->engines[e].count, s->engines[e].bytes, ms(s->engines[e].busy_ns),
                share(s->engines[e].busy_ns, span));
    }
}

static void print_overlap(FILE *f, const struct weir_device_stats *s, uint64_t span)
{
    fprintf(f, "  %-28s %12s %8s\n", "at the same time", "ms", "share");
    for (int p = 0; p < WEIR_OVERLAP_COUNT; p++)
        fprintf(f, "  %-28s %12.3f %7.1f%%\n", pair_names[p], ms(s->overlap_ns[p]),
                share(s->overlap_ns[p], span));
    if (s->copy_ns)
        fprintf(f, "  copy time behind kernels     %12.3f %7.1f%% of %.3f ms\n",
                ms(s->copy_hidden_ns), share(s->copy_hidden_ns, s->copy_ns), ms(s->copy_ns));
}

static void print_syncs(FILE *f, struct weir_context *ctx)
{
    bool any = false;

    for (int i = 0; i < WEIR_SYNC_COUNT; i++) {
        uint64_t count = atomic_load(&ctx->implicit[i].count);

        if (!count)
            continue;
        if (!any)
            fprintf(f, "  the host waited without asking for it:\n");
        any = true;
        fprintf(f, "    %-46s %8" PRIu64 " times %12.3f ms\n", sync_names[i], count,
                ms(atomic_load(&ctx->implicit[i].ns)));
    }
}

static void print_device(FILE *f, struct weir_context *ctx)
{
    struct weir_device_stats s;
    struct weir_mem_stats mem;
    uint64_t span;

    weir_device_stats(ctx->engines, &s);
    weir_mem_stats(ctx->ordinal, &mem);
    span = s.last_ns > s.first_ns ? s.last_ns - s.first_ns : 0;
    fprintf(f, "device %d: %s, first to last work %.3f ms\n", ctx->ordinal,
            ctx->profile->device_name, ms(span));
    print_engines(f, &s, span);
    print_overlap(f, &s, span);
    fprintf(f, "  event records %" PRIu64 ", waits on events %" PRIu64 "\n",
            atomic_load(&ctx->records), atomic_load(&ctx->waits));
    fprintf(f, "  peak memory: device ");
    print_bytes(f, mem.device_peak);
    fprintf(f, ", pinned ");
    print_bytes(f, mem.pinned_peak);
    fprintf(f, ", managed ");
    print_bytes(f, mem.managed_peak);
    fprintf(f, "\n");
    print_syncs(f, ctx);
}

void weir_stats_print(void)
{
    const char *path = weir_core.config.stats_file;
    int fd = path && *path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
                           : dup(STDERR_FILENO);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!f) {
        if (fd >= 0)
            close(fd);
        weir_log(WEIR_LOG_ERROR, "cannot write the statistics");
        return;
    }
    fprintf(f, "weir: statistics of process %d, %.3f ms since the first CUDA call\n", (int)getpid(),
            ms(weir_clock_ns() - weir_core.start_ns));
    for (int i = 0; i < weir_core.device_count; i++) {
        if (weir_core.contexts[i].engines)
            print_device(f, &weir_core.contexts[i]);
    }
    weir_pages_print(f);
    weir_inject_print(f);
    fclose(f);
}
