/* Writing and reading traces: what goes in comes out; crashes, damage, many threads, no room.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/map.h"
#include "trace/file.h"
#include "trace/format.h"
#include "trace/writer.h"
#include "unit/trace_support.h"

static void end_well(void)
{
    weir_trace_stop();
}

static void end_killed(void)
{
    kill(getpid(), SIGKILL);
}

static struct weir_trace_file *traced(void (*program)(void), void (*ending)(void))
{
    struct weir_trace_file *f;
    const char *message = NULL;
    char path[64];

    trace_in_child(trace_path(path), program, ending);
    f = weir_trace_file_read(path, &message);
    unlink(path);
    if (!f)
        fail_msg("%s", message);
    return f;
}

static void check_ops(const struct weir_trace_file *f)
{
    const struct weir_trace_op *kernel, *wait, *second;
    char name[64];

    assert_int_equal(f->streams_count, 2);
    assert_string_equal(weir_trace_stream_name(f, 0, name), "stream 42");
    assert_int_equal(f->streams[1].priority, -1);
    assert_int_equal(f->ops_count, 5);
    assert_string_equal(f->ops[0].name, "H2D pinned");
    assert_int_equal(f->ops[0].bytes, 4096);
    kernel = &f->ops[1];
    assert_string_equal(kernel->name, "advance");
    assert_int_equal(kernel->u.kernel.grid[1], 2);
    assert_int_equal(kernel->u.kernel.block[0], 128);
    assert_int_equal(kernel->u.kernel.shared_bytes, 99);
    assert_int_equal(kernel->pointer_count, 2);
    assert_int_equal(f->pointers[kernel->pointer_first + 1], 0x30000);
    assert_int_equal(kernel->why, WEIR_TRACE_WHY_STREAM);
    assert_int_equal(kernel->why_op, 0);
    assert_int_equal(kernel->end_ns - kernel->start_ns, 40000);
    assert_string_equal(f->ops[2].name, "D2H pageable");
    wait = &f->ops[3];
    assert_int_equal(wait->kind, WEIR_TRACE_OP_WAIT);
    assert_int_equal(wait->why, WEIR_TRACE_WHY_EDGE);
    assert_int_equal(wait->why_op, 1);
    assert_int_equal(wait->why_rule, 21);
    assert_true(wait->done);
    assert_int_equal(wait->end_ns, kernel->end_ns);
    second = &f->ops[4];
    assert_int_equal(second->ready_ns, kernel->end_ns);
    assert_int_equal(second->prev, 3);
}

static void check_rest(const struct weir_trace_file *f)
{
    const struct weir_trace_call *sync;

    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->lost, 0);
    assert_int_equal(f->calls_count, 5);
    assert_string_equal(f->calls[0].name, "cudaMemcpyAsync");
    assert_int_equal(f->calls[0].op_count, 1);
    assert_int_equal(f->call_ops[f->calls[1].op_first], 1);
    assert_int_not_equal(f->calls[0].site, WEIR_TRACE_NONE);
    sync = &f->calls[4];
    assert_string_equal(sync->name, "cudaStreamSynchronize");
    assert_int_equal(sync->waited_ns, 95000);
    assert_int_equal(sync->sync_count, 1);
    assert_int_equal(f->syncs[sync->sync_first].stream, 1);
    assert_int_equal(f->waits_count, 1);
    assert_int_equal(f->waits[0].op, 4);
    assert_int_equal(f->records_count, 1);
    assert_int_equal(f->event_waits_count, 1);
    assert_int_equal(f->event_waits[0].in_stream, 1);
    assert_int_equal(f->ranges_count, 1);
    assert_string_equal(f->ranges[0].text, "step");
    assert_string_equal(f->ranges[0].domain, "dom");
    assert_true(f->ranges[0].end_ns > f->ranges[0].begin_ns);
    assert_int_equal(f->allocations_count, 1);
    assert_true(f->allocations[0].end_ns >= f->allocations[0].begin_ns);
    assert_int_equal(f->devices_count, 1);
    assert_string_equal(f->devices[0].name, "Test device");
}

/* What version 2 added. */
static void newer_program(void)
{
    static _Atomic uint32_t launch, query, node_name;
    struct weir_trace_id graph = {.stream = STREAM_A, .seq = 1};
    struct weir_trace_node node = {.engine = WEIR_TRACE_ENGINE_KERNEL,
                                   .name = "_Z4nodePi",
                                   .name_id = &node_name,
                                   .blocks = 3,
                                   .threads = 32,
                                   .instructions = 1234567,
                                   .requested = 890,
                                   .pointers = (const uint64_t[]){0x60000, 0x50000},
                                   .pointer_count = 2};
    uint64_t t;

    weir_trace_process("/bin/test", 1ull << 33, 6);
    weir_trace_environment("CUDA_LAUNCH_BLOCKING=1");
    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    weir_trace_enter(__builtin_return_address(0));
    t = weir_clock_ns();
    weir_trace_load(WEIR_TRACE_LOAD_MODULE, "", t, t + 5000);
    weir_trace_peer(0, 1, true);
    weir_trace_host_write((const void *)0x70000, 4096);
    weir_trace_op_other(&graph, WEIR_OP_GRAPH);
    weir_trace_leave("cudaGraphLaunch", &launch, 0);
    node.start_ns = t + 6000;
    node.end_ns = t + 7000;
    weir_trace_graph_node(STREAM_A, 1, &node);
    weir_trace_load(WEIR_TRACE_LOAD_KERNEL, "_Z4nodePi", t + 100, t + 200);
    node = (struct weir_trace_node){.engine = WEIR_TRACE_NODE_MEMORY,
                                    .allocates = true,
                                    .bytes = 777,
                                    .start_ns = t + 6000,
                                    .end_ns = t + 6000};
    weir_trace_graph_node(STREAM_A, 1, &node);
    weir_trace_done(STREAM_A, 1, t + 6000, t + 7000, WEIR_TRACE_ENGINE_KERNEL, 0);
    weir_trace_enter(__builtin_return_address(0));
    weir_trace_query(WEIR_TRACE_QUERY_EVENT, 9, false);
    weir_trace_leave("cudaEventQuery", &query, 600);
}

static void launch_small(uint64_t seq)
{
    static _Atomic uint32_t launch, name;
    static const uint32_t one[3] = {1, 1, 1};
    static const struct weir_trace_kernel kernel = {
        .name = "_Z4workPi", .name_id = &name, .grid = one, .block = one};
    struct weir_trace_id id = {.stream = STREAM_A, .seq = seq};

    weir_trace_enter(__builtin_return_address(0));
    weir_trace_op_kernel(&id, &kernel);
    weir_trace_leave("cudaLaunchKernel", &launch, 0);
}

/* A kernel with the largest record that there is of what it touched, and one that touched nothing.
 */
static void touching_program(void)
{
    struct weir_trace_touched t[2 * WEIR_TRACE_TOUCHED_MAX];

    for (size_t i = 0; i < 2 * WEIR_TRACE_TOUCHED_MAX; i++)
        t[i] = (struct weir_trace_touched){i % 2 ? 1 : 1ull << 62, (1ull << 61) - i, i % 2};
    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        launch_small(seq);
        weir_trace_touched(STREAM_A, seq, t, seq == 1 ? 2 * WEIR_TRACE_TOUCHED_MAX : 0);
    }
    weir_trace_touched(STREAM_A, 77, t, 1); /* of no operation */
}

static void test_touched(void **state)
{
    struct weir_trace_file *f = traced(touching_program, end_well);

    (void)state;
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->lost, 0);
    assert_int_equal(f->ops_count, 2);
    assert_true(f->ops[0].touched_known && f->ops[1].touched_known);
    assert_int_equal(f->ops[1].touched_count, 0);
    assert_int_equal(f->ops[0].touched_count, 2 * WEIR_TRACE_TOUCHED_MAX);
    for (uint32_t i = 0; i < f->ops[0].touched_count; i++) {
        const struct weir_trace_touch *t = &f->touched[f->ops[0].touched_first + i];

        assert_true(t->address == (i % 2 ? 1 : 1ull << 62) && t->bytes == (1ull << 61) - i);
        assert_int_equal(t->writes, i % 2);
    }
    weir_trace_file_free(f);
}

/* ---- what version 3 leaves out ---- */

/* Kernel i of the next program: each differs from one before it in one thing, or in none. */
static struct weir_trace_kernel again_kernel(int i, uint64_t pointers[2], uint32_t grid[3])
{
    static _Atomic uint32_t ids[3];
    static const char *const names[3] = {"_Z3onePi", "_Z3twoPi", "_Z5threePi"};
    static const uint32_t block[3] = {32, 2, 1};
    const int name = i % 11 == 0 ? 2 : i % 5 == 0;

    grid[0] = i % 7 == 0 ? 9 : 3;
    grid[1] = grid[2] = 1;
    pointers[0] = i % 6 == 0 ? 0x5000 : 0x4000;
    pointers[1] = 0x9000;
    return (struct weir_trace_kernel){.name = names[name],
                                      .name_id = &ids[name],
                                      .grid = grid,
                                      .block = block,
                                      .shared_bytes = i % 8 == 0 ? 128 : 64,
                                      .pointers = pointers,
                                      .pointer_count = i % 9 == 0 ? 1 : 2};
}

enum { AGAIN_KERNELS = 3000 };

static uint64_t again_stream(int i)
{
    return i % 4 == 0 ? STREAM_B + 16 : i % 3 == 0 ? STREAM_B : STREAM_A;
}

static void again_program(void)
{
    static _Atomic uint32_t other;
    uint64_t seq[64] = {0}, pointers[2];
    uint32_t grid[3];

    for (uint64_t i = 0; i < 20; i++)
        weir_trace_stream(STREAM_A + i, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (int i = 0; i < AGAIN_KERNELS; i++) {
        const struct weir_trace_kernel k = again_kernel(i, pointers, grid);
        struct weir_trace_edge edge = {.stream = STREAM_A, .seq = 1, .rule = 21};
        const uint64_t stream = again_stream(i), number = ++seq[stream % 64];
        struct weir_trace_id id = {
            .stream = stream, .seq = number, .edges = &edge, .edge_count = i % 13 == 1};
        uint64_t t;

        weir_trace_enter(i % 14 == 0 ? (const void *)again_kernel : __builtin_return_address(0));
        t = weir_clock_ns();
        weir_trace_op_kernel(&id, &k);
        if (i % 10 == 0)
            weir_trace_query(WEIR_TRACE_QUERY_EVENT, 9, true);
        if (i % 12 == 0)
            weir_trace_leave("cudaLaunchKernelExC", &other, 0);
        else
            weir_trace_leave("cudaLaunchKernel", &name_launch, i % 19 == 0 ? 7 : 0);
        weir_trace_done(stream, number, t + 50000, t + 50000 + (uint64_t)i, 0, i % 17 == 0);
    }
}

static void test_again(void **state)
{
    struct weir_trace_file *f = traced(again_program, end_killed);
    uint64_t seq[64] = {0}, pointers[2];
    size_t pointer_count = 0;
    static const char *const names[3] = {"one", "two", "three"};
    uint32_t grid[3];

    (void)state;
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->ops_count, AGAIN_KERNELS);
    for (int i = 0; i < AGAIN_KERNELS; i++) {
        const struct weir_trace_kernel k = again_kernel(i, pointers, grid);
        const struct weir_trace_op *op = &f->ops[i];

        assert_string_equal(op->name, names[i % 11 == 0 ? 2 : i % 5 == 0]);
        assert_int_equal(f->streams[op->stream].id, again_stream(i));
        assert_int_equal(op->seq, ++seq[again_stream(i) % 64]);
        assert_memory_equal(op->u.kernel.grid, grid, sizeof grid);
        assert_int_equal(op->u.kernel.block[1], 2);
        assert_int_equal(op->u.kernel.shared_bytes, k.shared_bytes);
        assert_int_equal(op->pointer_count, k.pointer_count);
        assert_memory_equal(&f->pointers[op->pointer_first], pointers, k.pointer_count * 8);
        pointer_count += k.pointer_count;
        assert_int_equal(op->dep_count, i % 13 == 1);
        assert_true(op->done);
        assert_int_equal(op->end_ns - op->start_ns, i);
        assert_int_equal(op->status, i % 17 == 0);
        assert_int_equal(f->call_ops[f->calls[op->call].op_first], i);
        assert_true(op->submit_ns == f->calls[op->call].begin_ns);
        assert_string_equal(f->calls[op->call].name,
                            i % 12 == 0 ? "cudaLaunchKernelExC" : "cudaLaunchKernel");
        assert_int_equal(f->calls[op->call].err, i % 12 != 0 && i % 19 == 0 ? 7 : 0);
        assert_int_equal(f->calls[op->call].site == f->calls[f->ops[0].call].site, i % 14 == 0);
        assert_int_equal(f->calls[op->call].op_count, 1);
    }
    assert_int_equal(f->calls_count, AGAIN_KERNELS);
    assert_int_equal(f->queries_count, AGAIN_KERNELS / 10);
    assert_int_equal(f->pointers_count, pointer_count);
    weir_trace_file_free(f);
}

/* Kernels that begin when the one before ended, but for some; of two streams whose numbers share a
 * place in the chunk's table. */
enum { BEHIND_KERNELS = 400 };

static void behind_program(void)
{
    uint64_t seq[2] = {0}, t = weir_clock_ns();

    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    weir_trace_stream(STREAM_A + 16, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (uint64_t i = 0; i < BEHIND_KERNELS; i++) {
        const uint64_t stream = STREAM_A + 16 * (i % 50 > 40);
        struct weir_trace_id id = {.stream = stream, .seq = ++seq[stream != STREAM_A]};

        weir_trace_op_other(&id, WEIR_OP_GRAPH);
        t += i % 20 == 3 ? 5 : 0;
        weir_trace_done(stream, id.seq, t, t + i, 0, 0);
        t += i;
        if (i % 30 == 7) /* its time comes between */
            weir_trace_free((const void *)0x100);
    }
}

static void test_behind(void **state)
{
    struct weir_trace_file *f = traced(behind_program, end_killed);
    uint64_t end = 0;

    (void)state;
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->ops_count, BEHIND_KERNELS);
    for (uint64_t i = 0; i < BEHIND_KERNELS; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        assert_true(op->done);
        assert_int_equal(op->end_ns - op->start_ns, i);
        assert_int_equal(f->streams[op->stream].id, STREAM_A + 16 * (i % 50 > 40));
        if (i)
            assert_int_equal(op->start_ns - end, i % 20 == 3 ? 5 : 0);
        end = op->end_ns;
    }
    weir_trace_file_free(f);
}

/* Killed inside the fourth launch, whose record may be its call's. */
static void cut_program(void)
{
    static _Atomic uint32_t name;
    static const uint32_t one[3] = {1, 1, 1};
    static const struct weir_trace_kernel kernel = {
        .name = "_Z4workPi", .name_id = &name, .grid = one, .block = one};

    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        struct weir_trace_id id = {.stream = STREAM_A, .seq = seq};

        weir_trace_enter((const void *)cut_program);
        weir_trace_op_kernel(&id, &kernel);
        if (seq < 4)
            weir_trace_leave("cudaLaunchKernel", &name_launch, 0);
    }
}

static void cut_program_at_once(void)
{
    weir_trace_at_once = true;
    cut_program();
}

/* Here the call goes on with something else. */
static void cut_program_waits(void)
{
    cut_program();
    weir_trace_sync(WEIR_TRACE_SYNC_STREAM, STREAM_A, 0);
}

static void test_cut(void **state)
{
    static void (*const programs[])(void) = {cut_program, cut_program_at_once, cut_program_waits};

    (void)state;
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(programs); i++) {
        struct weir_trace_file *f = traced(programs[i], end_killed);

        assert_int_equal(f->damaged_chunks, 0);
        assert_int_equal(f->calls_count, 3);
        assert_int_equal(f->ops_count, i ? 4 : 3);
        assert_int_equal(f->ops[f->ops_count - 1].seq, i ? 4 : 3);
        weir_trace_file_free(f);
    }
}

static void nested_program(void)
{
    struct weir_trace_id parent = {.stream = STREAM_A, .seq = 2}, lost = {.stream = 99, .seq = 1};

    weir_trace_stream(STREAM_B, 0, 0, WEIR_STREAM_NONBLOCKING, 0, &parent); /* before its records */
    weir_trace_stream(STREAM_B + 1, 0, 0, WEIR_STREAM_NONBLOCKING, 0, &lost);
    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (uint64_t seq = 1; seq <= 3; seq++)
        launch_small(seq);
}

static void test_nested(void **state)
{
    struct weir_trace_file *f = traced(nested_program, end_well);

    (void)state;
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->streams_count, 3);
    assert_int_equal(f->streams[2].parent, WEIR_TRACE_NONE);
    assert_int_equal(f->streams[2].parent_seq, 0);
    assert_true(f->streams[0].parent < f->ops_count);
    assert_int_equal(f->ops[f->streams[0].parent].seq, 2);
    assert_int_equal(f->ops[f->streams[0].parent].stream, 2);
    assert_int_equal(f->streams[1].parent, WEIR_TRACE_NONE);
    assert_int_equal(f->streams[1].parent_stream, 99);
    weir_trace_file_free(f);
}

static const struct weir_trace_op *op_of_kind(const struct weir_trace_file *f, unsigned kind)
{
    for (size_t i = 0; i < f->ops_count; i++) {
        if (f->ops[i].kind == kind)
            return &f->ops[i];
    }
    fail_msg("no operation of kind %u", kind);
    return NULL;
}

static void test_newer(void **state)
{
    const struct weir_trace_op *node;
    struct weir_trace_file *f = traced(newer_program, end_killed);

    (void)state;
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->version, 4);
    assert_string_equal(f->program, "/bin/test");
    assert_int_equal(f->memory_bytes, 1ull << 33);
    assert_int_equal(f->processors, 6);
    assert_int_equal(f->environment_count, 1);
    assert_string_equal(f->environment[0], "CUDA_LAUNCH_BLOCKING=1");
    assert_int_equal(f->loads_count, 2);
    assert_int_equal(f->loads[0].what, WEIR_TRACE_LOADS_MODULE);
    assert_int_equal(f->loads[0].end_ns - f->loads[0].begin_ns, 5000);
    assert_string_equal(f->calls[f->loads[0].call].name, "cudaGraphLaunch");
    assert_string_equal(f->loads[1].name, "_Z4nodePi");
    assert_int_equal(f->peers_count, 1);
    assert_true(f->peers[0].on);
    assert_int_equal(f->peers[0].peer, 1);
    assert_int_equal(f->host_writes_count, 1);
    assert_int_equal(f->host_writes[0].address, 0x70000);
    assert_string_equal(f->calls[f->host_writes[0].call].name, "cudaGraphLaunch");
    assert_int_equal(f->queries_count, 1);
    assert_false(f->queries[0].ready);
    assert_int_equal(f->queries[0].id, 9);
    assert_string_equal(f->calls[f->queries[0].call].name, "cudaEventQuery");
    node = op_of_kind(f, WEIR_TRACE_OP_KERNEL);
    assert_int_equal(node->u.kernel.grid[0], 3);
    assert_int_equal(node->instructions, 1234567);
    assert_int_equal(node->requested, 890);
    assert_int_equal(node->pointer_count, 2);
    assert_int_equal(f->pointers[node->pointer_first + 1], 0x50000);
    assert_int_equal(op_of_kind(f, WEIR_TRACE_OP_ALLOC)->bytes, 777);
    assert_int_equal(op_of_kind(f, WEIR_TRACE_OP_ALLOC)->engine, WEIR_TRACE_ENGINE_NONE);
    weir_trace_file_free(f);
}

static void test_round_trip(void **state)
{
    struct weir_trace_file *f = traced(trace_program, end_well);

    (void)state;
    check_ops(f);
    check_rest(f);
    weir_trace_file_free(f);
}

static void test_killed(void **state)
{
    struct weir_trace_file *f = traced(trace_program, end_killed);

    (void)state;
    check_ops(f);
    check_rest(f);
    weir_trace_file_free(f);
}

/* ---- many ---- */

enum { THREADS = 6, LAUNCHES = 8000 };

static void *launch_many(void *arg)
{
    uint64_t stream = 100 + (uint64_t)(uintptr_t)arg;

    weir_trace_stream(stream, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    for (uint64_t i = 1; i <= LAUNCHES; i++) {
        uint64_t t = weir_clock_ns();

        trace_kernel(stream, i);
        weir_trace_done(stream, i, t, t + 10, WEIR_TRACE_ENGINE_KERNEL, 0);
    }
    return NULL;
}

static void many_threads(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, launch_many, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Launches are as close as can be: most have no look at the clock of their own when they end. */
static void check_calls(const struct weir_trace_file *f)
{
    uint64_t end[THREADS + 1] = {0};
    size_t took = 0;

    assert_in_range(f->threads_count, 1, THREADS + 1);
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];

        assert_true(c->begin_ns >= end[c->thread]);
        end[c->thread] = c->end_ns;
        took += c->end_ns > c->begin_ns;
    }
    assert_true(took > f->calls_count / 2);
}

static void test_threads(void **state)
{
    struct weir_trace_file *f = traced(many_threads, end_well);
    size_t done = 0;

    (void)state;
    assert_int_equal(f->ops_count, THREADS * LAUNCHES);
    assert_int_equal(f->calls_count, THREADS * LAUNCHES);
    assert_int_equal(f->damaged_chunks, 0);
    for (size_t i = 0; i < f->ops_count; i++) {
        done += f->ops[i].done;
        assert_int_not_equal(f->ops[i].call, WEIR_TRACE_NONE);
    }
    assert_int_equal(done, THREADS * LAUNCHES);
    for (size_t i = 1; i < f->ops_count; i++)
        assert_true(f->ops[i].submit_ns >= f->ops[i - 1].submit_ns);
    /* All that an operation leaves behind: launch, call and completion. */
    assert_true(f->record_bytes / f->ops_count <= 24);
    check_calls(f);
    weir_trace_file_free(f);
}

static void many_threads_kept(void)
{
    weir_trace_keeper_cpus = 1;
    many_threads();
    /* (All chunks that it may have ready are there.) */
    for (int i = 0; i < 10; i++)
        usleep(1000);
}

/* With a thread that has chunks ready: each thread's stand in the order in which it wrote them, and
 * none that nobody took is left in the file. */
static void test_keeper(void **state)
{
    uint64_t last[THREADS] = {0};
    struct weir_trace_file *f;
    const char *message;
    char path[64];
    uint32_t magic;
    struct stat st;
    FILE *bytes;

    (void)state;
    trace_in_child(trace_path(path), many_threads_kept, end_well);
    assert_int_equal(stat(path, &st), 0);
    assert_non_null(bytes = fopen(path, "rb"));
    assert_true(st.st_size > 8 * (off_t)WEIR_TRACE_CHUNK_BYTES);
    for (off_t at = st.st_size % (off_t)WEIR_TRACE_CHUNK_BYTES; at < st.st_size;
         at += (off_t)WEIR_TRACE_CHUNK_BYTES) {
        assert_int_equal(fseeko(bytes, at, SEEK_SET), 0);
        assert_int_equal(fread(&magic, sizeof magic, 1, bytes), 1);
        assert_int_equal(magic, WEIR_TRACE_CHUNK_MAGIC);
    }
    fclose(bytes);
    f = weir_trace_file_read(path, &message);
    unlink(path);
    assert_non_null(f);
    assert_int_equal(f->ops_count, THREADS * LAUNCHES);
    assert_int_equal(f->damaged_chunks, 0);
    for (size_t i = 0; i < f->ops_count; i++) { /* by the time of submission */
        uint64_t *seq = &last[f->streams[f->ops[i].stream].id - 100];

        assert_true(f->ops[i].done);
        assert_int_equal(f->ops[i].seq, *seq + 1);
        *seq = f->ops[i].seq;
    }
    weir_trace_file_free(f);
}

static void kept_and_killed(void)
{
    weir_trace_keeper_cpus = 1;
    launch_many((void *)1);
    kill(getpid(), SIGKILL);
}

/* All that was written is there, and what the thread had ready is no damage. */
static void test_keeper_killed(void **state)
{
    struct weir_trace_file *f = traced(kept_and_killed, end_killed);

    (void)state;
    assert_int_equal(f->ops_count, LAUNCHES);
    assert_int_equal(f->damaged_chunks, 0);
    assert_int_equal(f->ops[LAUNCHES - 1].done, 1);
    weir_trace_file_free(f);
}

static void one_after_the_other(void)
{
    for (uintptr_t i = 0; i < 100; i++) {
        pthread_t t;

        pthread_create(&t, NULL, launch_many, (void *)i);
        pthread_join(t, NULL);
        if (i % 10 == 9)
            trace_copy(i, WEIR_TRACE_ENGINE_H2D, 1); /* stream 42 is not known: left out */
    }
}

/* Chunks of threads that have ended go on with new ones: no file of 100 chunks for 100 threads. */
static void test_threads_end(void **state)
{
    struct weir_trace_file *f;
    const char *message;
    struct stat st;
    char path[64];

    (void)state;
    trace_in_child(trace_path(path), one_after_the_other, end_well);
    assert_int_equal(stat(path, &st), 0);
    f = weir_trace_file_read(path, &message);
    unlink(path);
    assert_non_null(f);
    assert_int_equal(f->ops_count, 100 * LAUNCHES);
    assert_true((uint64_t)st.st_size < f->record_bytes + f->record_bytes / 4 + (1 << 20));
    weir_trace_file_free(f);
}

/* ---- no room ---- */

static void little_room(void)
{
    struct rlimit limit = {400 << 10, 400 << 10};

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    many_threads();
}

static void test_no_room(void **state)
{
    struct weir_trace_file *f = traced(little_room, end_well);

    (void)state;
    assert_in_range(f->ops_count, 1, THREADS * LAUNCHES - 1);
    assert_int_equal(f->damaged_chunks, 0);
    weir_trace_file_free(f);
}

/* ---- damage ---- */

static unsigned char *read_all(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    unsigned char *p = malloc(1 << 20);

    *bytes = f && p ? fread(p, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    return p;
}

static uint64_t damage_of(const unsigned char *p, size_t bytes)
{
    const char *message;
    struct weir_trace_file *f = weir_trace_file_parse(p, bytes, &message);
    uint64_t damaged;

    assert_non_null(f);
    damaged = f->damaged_chunks;
    weir_trace_file_free(f);
    return damaged;
}

/* A full chunk's checksum, of this version and of those before. */
static void check_sealed(unsigned char *file, size_t bytes)
{
    struct weir_trace_file_header *h = (struct weir_trace_file_header *)file;
    struct weir_trace_chunk_header *chunk =
        (struct weir_trace_chunk_header *)(file + h->header_bytes);

    chunk->state = WEIR_TRACE_CHUNK_SEALED;
    chunk->checksum = weir_hash_lanes(chunk + 1, chunk->used, 1);
    assert_int_equal(damage_of(file, bytes), 0);
    h->version = 2;
    assert_int_equal(damage_of(file, bytes), 1);
    chunk->checksum = weir_hash_bytes(chunk + 1, chunk->used, 1);
    assert_int_equal(damage_of(file, bytes), 0);
    h->version = WEIR_TRACE_VERSION;
    assert_int_equal(damage_of(file, bytes), 1);
    chunk->state = WEIR_TRACE_CHUNK_OPEN;
}

static void test_damage(void **state)
{
    const char *message = NULL;
    unsigned char *p;
    char path[64];
    size_t bytes;

    (void)state;
    trace_in_child(trace_path(path), trace_program, end_killed);
    p = read_all(path, &bytes);
    unlink(path);
    assert_true(bytes > 5000);
    /* Cut anywhere it is read, or refused with a reason. */
    for (size_t cut = 0; cut < 4096 + 600; cut += 7) {
        struct weir_trace_file *f = weir_trace_file_parse(p, cut, &message);

        assert_true(f || message);
        weir_trace_file_free(f);
    }
    for (size_t at = 0; at < 600; at++) {
        struct weir_trace_file *f;

        p[4096 + at] ^= 0x5a;
        f = weir_trace_file_parse(p, bytes, &message);
        assert_true(f || message);
        weir_trace_file_free(f);
        p[4096 + at] ^= 0x5a;
    }
    check_sealed(p, bytes);
    p[0] ^= 1;
    assert_null(weir_trace_file_parse(p, bytes, &message));
    assert_string_equal(message, "not a trace");
    p[0] ^= 1;
    p[8]++;
    assert_null(weir_trace_file_parse(p, bytes, &message));
    assert_string_equal(message, "a trace of another version");
    free(p);
}

/* ---- graphs ---- */

static void launch_graph(void)
{
    struct weir_trace_id id = {.stream = STREAM_A, .seq = 1};
    /* 0 and 1 lead to 2, which orders only, and that to 43 that are not there and to 3. */
    uint32_t two = 2, next[44];
    const struct weir_trace_touched places[3] = {{0x30000, 0, false}, {0x40000, 0, false}};
    const struct weir_trace_touched copied[2] = {{0x30000, 64, false}, {0x90000, 64, true}};
    uint64_t t = weir_clock_ns();

    memset(next, 0xff, sizeof next);
    next[43] = 0x20000003;
    for (uint32_t i = 0; i < 4; i++) {
        struct weir_trace_instance_node n = {.instance = 7,
                                             .number = i,
                                             .what = i < 2    ? WEIR_TRACE_INSTANCE_KERNEL
                                                     : i == 2 ? WEIR_TRACE_INSTANCE_ORDERS
                                                              : WEIR_TRACE_INSTANCE_COPY,
                                             .places = i < 2 ? places : copied,
                                             .place_count = i == 2 ? 0 : 2,
                                             .next = i < 2 ? &two : next,
                                             .mask = 0x1fffffff,
                                             .next_count = i < 2    ? 1
                                                           : i == 2 ? 44
                                                                    : 0};

        weir_trace_instance_node(&n);
    }
    weir_trace_instance(STREAM_A, 1, 7);
    weir_trace_stream(STREAM_A, 0, 0, WEIR_STREAM_NONBLOCKING, 0, NULL);
    weir_trace_enter(__builtin_return_address(0));
    weir_trace_op_other(&id, WEIR_OP_GRAPH);
    weir_trace_leave("cudaGraphLaunch", &name_launch, 0);
    for (uint64_t i = 0; i < 3; i++) { /* the second beside the first, the third behind both */
        struct weir_trace_node n = {.name = i < 2 ? "_Z4leafv" : NULL,
                                    .name_id = &name_kernel,
                                    .engine =
                                        i < 2 ? WEIR_TRACE_ENGINE_KERNEL : WEIR_TRACE_ENGINE_D2H,
                                    .src_class = WEIR_TRACE_DEVICE_MEMORY,
                                    .dst_class = WEIR_TRACE_PINNED,
                                    .blocks = 5,
                                    .number = i < 2 ? (uint32_t)i + 1 : 4,
                                    .start_ns = t + 1000 + i * 1000,
                                    .end_ns = t + 2500 + i * 1000};

        weir_trace_graph_node(STREAM_A, 1, &n);
    }
}

static void test_graph(void **state)
{
    struct weir_trace_file *f = traced(launch_graph, end_well);
    char name[64];

    (void)state;
    assert_int_equal(f->ops_count, 4);
    assert_int_equal(f->ops[0].kind, WEIR_TRACE_OP_GRAPH);
    assert_true(f->ops[0].done);
    assert_int_equal(f->ops[0].end_ns - f->ops[0].start_ns, 3500);
    assert_int_equal(f->ops[0].graph, WEIR_TRACE_NONE);
    for (int i = 1; i < 4; i++)
        assert_int_equal(f->ops[i].graph, 0);
    assert_string_equal(f->ops[1].name, "leaf");
    assert_string_equal(f->ops[3].name, "D2H pinned");
    assert_int_equal(f->ops[2].u.kernel.grid[0], 5);
    assert_int_equal(f->ops[0].instance, 7);
    assert_int_equal(f->ops[1].dep_count, 0);
    assert_int_equal(f->ops[2].dep_count, 0);
    assert_int_equal(f->ops[3].dep_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(f->deps[f->ops[3].dep_first + i].rule, WEIR_TRACE_GRAPH_EDGE);
        assert_int_equal(
            f->deps[f->ops[3].dep_first + i].op + f->deps[f->ops[3].dep_first + 1 - i].op, 3);
    }
    assert_int_equal(f->ops[3].why, WEIR_TRACE_WHY_EDGE);
    assert_int_equal(f->ops[3].why_op, 2); /* which ended last */
    assert_int_equal(f->ops[3].ready_ns, f->ops[3].start_ns);
    assert_int_equal(f->ops[2].why, f->ops[0].why);
    assert_int_equal(f->ops[2].pointer_count, 2);
    assert_int_equal(f->pointers[f->ops[2].pointer_first + 1], 0x40000);
    assert_int_equal(f->ops[3].u.copy.src, 0x30000);
    assert_int_equal(f->ops[3].u.copy.dst_span, 64);
    /* Rows of their own, and never two at a time on one. */
    assert_int_equal(f->streams_count, 3);
    assert_int_not_equal(f->ops[1].stream, f->ops[2].stream);
    assert_int_equal(f->ops[1].stream, f->ops[3].stream);
    assert_string_equal(weir_trace_stream_name(f, f->ops[1].stream, name), "graphs of 42");
    assert_string_equal(weir_trace_stream_name(f, f->ops[2].stream, name), "graphs of 42 (2)");
    weir_trace_file_free(f);
}

/* ---- sites ---- */

static void test_sites(void **state)
{
    struct weir_trace_file *f = traced(trace_program, end_well);
    bool found = false;

    (void)state;
    weir_trace_file_resolve(f);
    for (size_t i = 0; i < f->sites_count; i++)
        found = found || strstr(f->sites[i].text, "trace_program") ||
                strstr(f->sites[i].text, "trace_in_child") || strstr(f->sites[i].text, "traced") ||
                strstr(f->sites[i].text, "test_sites");
    assert_true(f->sites_count > 0);
    assert_true(found);
    weir_trace_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_newer),
        cmocka_unit_test(test_touched),    cmocka_unit_test(test_nested),
        cmocka_unit_test(test_again),      cmocka_unit_test(test_behind),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_threads_end),
        cmocka_unit_test(test_keeper),     cmocka_unit_test(test_keeper_killed),
        cmocka_unit_test(test_no_room),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_sites),      cmocka_unit_test(test_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
