/* Cost of the engines alone, without model and runtime: submit, launch and wait, blocks, copies;
 * and of the window's allocations. Prints `name value unit`, best of several rounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "device/device.h"
#include "memory/memory.h"

enum { KERNELS = 10000, ROUNDS = 7 };

static _Atomic uint32_t over;

static void kernel_done(struct weir_work *work, enum weir_err status)
{
    (void)work;
    (void)status;
    atomic_fetch_add_explicit(&over, 1, memory_order_release);
}

static uint32_t empty_block(struct weir_block *b)
{
    (void)b;
    return WEIR_BLOCK_DONE;
}

static uint32_t light_block(struct weir_block *b)
{
    uint32_t *p = (uint32_t *)b->shared;

    for (uint32_t i = 0; i < 64; i++)
        p[i] += b->ctaid[0];
    return WEIR_BLOCK_DONE;
}

static const struct weir_kernel_code empty_code = {.run = empty_block, .name = "empty"};
static const struct weir_kernel_code light_code = {
    .run = light_block, .name = "light", .static_shared_bytes = 256};

static void kernel_init(struct weir_kernel_work *k, const struct weir_kernel_code *code,
                        uint32_t blocks)
{
    memset(k, 0, sizeof *k);
    k->work.engine = WEIR_ENGINE_COMPUTE;
    k->work.done = kernel_done;
    k->code = code;
    for (int i = 0; i < 3; i++)
        k->launch.grid[i] = k->launch.block[i] = 1;
    k->launch.grid[0] = blocks;
}

static void wait_all(uint32_t count)
{
    while (atomic_load_explicit(&over, memory_order_acquire) < count)
        usleep(20);
}

static void print(const char *name, double value, const char *unit)
{
    printf("%-34s %10.2f %s\n", name, value, unit);
}

/* A burst: the host's time per call, and the device's per kernel. */
static void bench_burst(struct weir_device *dev)
{
    struct weir_kernel_work *k = malloc(KERNELS * sizeof *k);
    double submit = 1e9, whole = 1e9;

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t start, submitted;

        atomic_store(&over, 0);
        for (int i = 0; i < KERNELS; i++)
            kernel_init(&k[i], &empty_code, 1);
        start = weir_clock_ns();
        for (int i = 0; i < KERNELS; i++)
            weir_device_submit(dev, &k[i].work);
        submitted = weir_clock_ns();
        wait_all(KERNELS);
        submit = WEIR_MIN(submit, (double)(submitted - start) / KERNELS);
        whole = WEIR_MIN(whole, (double)(weir_clock_ns() - start) / KERNELS);
    }
    print("submit_empty_kernel", submit, "ns");
    print("burst_per_empty_kernel", whole, "ns");
    free(k);
}

static void bench_launch_wait(struct weir_device *dev, const char *name, uint64_t gap_ns)
{
    struct weir_kernel_work k;
    double best = 1e9;
    int n = gap_ns ? 200 : 5000;

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t spent = 0;

        for (int i = 0; i < n; i++) {
            uint64_t start;

            kernel_init(&k, &empty_code, 1);
            atomic_store(&over, 0);
            if (gap_ns)
                usleep((useconds_t)(gap_ns / 1000));
            start = weir_clock_ns();
            weir_device_submit(dev, &k.work);
            weir_device_help(dev, &k.work, NULL);
            while (!atomic_load_explicit(&over, memory_order_acquire))
                weir_cpu_relax();
            spent += weir_clock_ns() - start;
        }
        best = WEIR_MIN(best, (double)spent / n);
    }
    print(name, best, "ns");
}

static void bench_blocks(struct weir_device *dev, const char *name,
                         const struct weir_kernel_code *code, uint32_t blocks)
{
    struct weir_kernel_work k;
    double best = 1e18;

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t start;

        kernel_init(&k, code, blocks);
        atomic_store(&over, 0);
        start = weir_clock_ns();
        weir_device_submit(dev, &k.work);
        while (weir_device_help(dev, &k.work, NULL))
            ;
        while (!atomic_load_explicit(&over, memory_order_acquire))
            weir_cpu_relax();
        best = WEIR_MIN(best, (double)(weir_clock_ns() - start) / blocks);
    }
    print(name, best, "ns");
}

static void bench_copy(struct weir_device *dev, const char *name, size_t bytes, bool helped)
{
    void *src, *dst;
    double best = 1e18;

    if (weir_mem_alloc(WEIR_MEM_KIND_PINNED, 0, bytes, 0, NULL, &src) != WEIR_OK ||
        weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, bytes, 0, NULL, &dst) != WEIR_OK)
        return;
    memset(src, 1, bytes);
    memset(dst, 1, bytes);
    for (int r = 0; r < ROUNDS * (bytes < 1 << 20 ? 1000 : 1); r++) {
        struct weir_copy_work c = {
            .work = {.engine = WEIR_ENGINE_H2D, .done = kernel_done},
            .src = src,
            .dst = dst,
            .width = bytes,
            .height = 1,
            .depth = 1,
        };
        uint64_t start = weir_clock_ns();

        atomic_store(&over, 0);
        if (helped) {
            weir_device_submit_helped(dev, &c.work);
            weir_device_help(dev, &c.work, NULL);
        } else {
            weir_device_submit(dev, &c.work);
        }
        while (!atomic_load_explicit(&over, memory_order_acquire))
            weir_cpu_relax();
        best = WEIR_MIN(best, (double)(weir_clock_ns() - start));
    }
    if (bytes < 1 << 20)
        print(name, best, "ns");
    else
        print(name, (double)bytes / best, "GB/s");
    if (weir_mem_free(WEIR_MEM_KIND_PINNED, src) != WEIR_OK ||
        weir_mem_free(WEIR_MEM_KIND_DEVICE, dst) != WEIR_OK)
        print("free failed", 0, "");
}

static void bench_alloc(const char *name, int live)
{
    enum { N = 20000 };
    void **p = calloc((size_t)live + 1, sizeof *p), *q;
    struct weir_mem_info info;
    uint64_t start, found = 0;

    for (int i = 0; i < live; i++)
        if (weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 1000, 0, NULL, &p[i]) != WEIR_OK)
            return;
    start = weir_clock_ns();
    for (int i = 0; i < N; i++)
        if (weir_mem_alloc(WEIR_MEM_KIND_DEVICE, 0, 1000, 0, NULL, &q) != WEIR_OK ||
            weir_mem_free(WEIR_MEM_KIND_DEVICE, q) != WEIR_OK)
            return;
    print(name, (double)(weir_clock_ns() - start) / N, "ns");
    if (live) {
        start = weir_clock_ns();
        for (int i = 0; i < 50 * N; i++)
            found += weir_mem_find((char *)p[i % live] + 500, &info);
        print("find_pointer", (double)(weir_clock_ns() - start) / N / 50, "ns");
    }
    for (int i = 0; i < live; i++)
        if (weir_mem_free(WEIR_MEM_KIND_DEVICE, p[i]) != WEIR_OK)
            return;
    free(p);
    if (live && found != 50 * N)
        print("find_pointer failed", (double)found, "");
}

int main(void)
{
    const struct weir_mem_config memory = {.device_count = 1, .device_bytes = (size_t)4 << 30};
    const struct weir_device_config config = {.help = true, .name = "bench"};
    struct weir_device *dev;

    if (weir_mem_init(&memory) != WEIR_OK || weir_device_create(&config, &dev) != WEIR_OK)
        return 1;
    bench_burst(dev);
    bench_launch_wait(dev, "launch_wait", 0);
    bench_launch_wait(dev, "launch_wait_after_200us_idle", 200000);
    bench_blocks(dev, "block_empty_of_1000000", &empty_code, 1000000);
    bench_blocks(dev, "block_light_of_65536", &light_code, 65536);
    bench_copy(dev, "copy_wait_4KiB", 4096, false);
    bench_copy(dev, "copy_helped_4KiB", 4096, true);
    bench_copy(dev, "copy_16MiB", (size_t)16 << 20, false);
    bench_copy(dev, "copy_256MiB", (size_t)256 << 20, false);
    bench_alloc("alloc_free_1000B", 0);
    bench_alloc("alloc_free_1000B_20000_live", 20000);
    weir_device_destroy(dev);
    weir_mem_finish();
    return 0;
}
