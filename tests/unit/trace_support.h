/* A small trace, written by the recorder itself in a child process: a copy, a kernel and a copy in
 * one stream, a second stream that waits for the kernel by an event, a host that waits for it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_TRACE_SUPPORT_H
#define TESTS_UNIT_TRACE_SUPPORT_H

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/model.h"
#include "trace/record.h"
#include "weir/trace.h"

enum { STREAM_A = 42, STREAM_B = 43, MEM_DEVICE_KIND = 1, MEM_PINNED_KIND = 2 };

static _Atomic uint32_t name_memcpy, name_launch, name_sync, name_kernel;

static inline void trace_copy(uint64_t seq, int engine, uint64_t bytes)
{
    struct weir_trace_id id = {.stream = STREAM_A, .seq = seq};
    struct weir_trace_copy c = {
        .engine = engine,
        .src_class = engine == WEIR_TRACE_ENGINE_H2D ? WEIR_TRACE_PINNED : WEIR_TRACE_DEVICE_MEMORY,
        .dst_class =
            engine == WEIR_TRACE_ENGINE_H2D ? WEIR_TRACE_DEVICE_MEMORY : WEIR_TRACE_PAGEABLE,
        .bytes = bytes,
        .src = (const void *)0x10000,
        .dst = (const void *)0x20000,
        .src_span = bytes,
        .dst_span = bytes};

    weir_trace_enter(__builtin_return_address(0));
    weir_trace_op_copy(&id, &c);
    weir_trace_leave("cudaMemcpyAsync", &name_memcpy, 0);
}

static inline void trace_kernel(uint64_t stream, uint64_t seq)
{
    struct weir_trace_id id = {.stream = stream, .seq = seq};
    uint64_t pointers[] = {0x20000, 0x30000};
    struct weir_trace_kernel k = {.name = "_Z7advancePKjPjii",
                                  .name_id = &name_kernel,
                                  .grid = (uint32_t[]){7, 2, 1},
                                  .block = (uint32_t[]){128, 1, 1},
                                  .shared_bytes = 99,
                                  .pointers = pointers,
                                  .pointer_count = 2};

    weir_trace_enter(__builtin_return_address(0));
    weir_trace_op_kernel(&id, &k);
    weir_trace_leave("cudaLaunchKernel", &name_launch, 0);
}

static inline void trace_program(void)
{
    struct weir_trace_edge edge = {.stream = STREAM_A, .seq = 2, .rule = 21, .strength = 0};
    struct weir_trace_id wait = {.stream = STREAM_B, .seq = 1, .edges = &edge, .edge_count = 1};
    uint64_t t;

    weir_trace_process("/bin/test", 1ull << 33, 6);
    weir_trace_environment("CUDA_LAUNCH_BLOCKING=1");
    weir_trace_device(0, 0, "Test device", 4, 2, 0x10000);
    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    weir_trace_stream(STREAM_B, 0, 0, WEIR_STREAM_BLOCKING, -1, NULL);
    weir_trace_alloc(MEM_DEVICE_KIND, 0, (const void *)0x20000, 4096);
    weir_trace_nvtx_begin((struct weir_trace_text){"dom", 3}, (struct weir_trace_text){"step", 4},
                          0xff102030, 0);
    trace_copy(1, WEIR_TRACE_ENGINE_H2D, 4096);
    trace_kernel(STREAM_A, 2);
    trace_copy(3, WEIR_TRACE_ENGINE_D2H, 2048);
    weir_trace_event_record(5, STREAM_A, 2, 0);
    weir_trace_event_wait(5, STREAM_B, STREAM_A, 2);
    weir_trace_op_other(&wait, WEIR_OP_WAIT);
    trace_kernel(STREAM_B, 2);
    weir_trace_enter(__builtin_return_address(0));
    weir_trace_sync(WEIR_TRACE_SYNC_STREAM, STREAM_B, 0);
    t = weir_clock_ns();
    weir_trace_done(STREAM_A, 1, t + 1000, t + 11000, WEIR_TRACE_ENGINE_H2D, 0);
    weir_trace_done(STREAM_A, 2, t + 12000, t + 52000, WEIR_TRACE_ENGINE_KERNEL, 0);
    weir_trace_done(STREAM_A, 3, t + 53000, t + 60000, WEIR_TRACE_ENGINE_D2H, 0);
    weir_trace_done(STREAM_B, 2, t + 70000, t + 90000, WEIR_TRACE_ENGINE_KERNEL, 0);
    weir_trace_waited(STREAM_B, 2, t, t + 95000);
    weir_trace_leave("cudaStreamSynchronize", &name_sync, 0);
    weir_trace_nvtx_end((struct weir_trace_text){"dom", 3}, 0);
    weir_trace_free((const void *)0x20000);
}

/* Runs `program` while a trace is written to path, in a child that ends by `ending`. */
static inline void trace_in_child(const char *path, void (*program)(void), void (*ending)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        weir_trace_start(path, false);
        program();
        ending();
        _exit(0);
    }
    waitpid(pid, &status, 0);
}

static inline char *trace_path(char out[64])
{
    int fd;

    strcpy(out, "/tmp/weir-test-trace-XXXXXX");
    fd = mkstemp(out);
    if (fd >= 0)
        close(fd);
    return out;
}

#endif
