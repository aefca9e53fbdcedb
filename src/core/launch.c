/* From a launch call to an operation. The hot path: function and stream are known, limits are
 * constants of the profile, arguments are copied into the operation. Compiling is the engine's
 * (prepare), so the call stays asynchronous.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/launch.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/capture.h"
#include "core/check.h"
#include "core/clock.h"
#include "core/dependent.h"
#include "core/inject.h"
#include "core/module_code.h"
#include "core/nested.h"
#include "core/pages.h"
#include "core/services.h"
#include "core/submit.h"
#include "core/touch.h"
#include "core/trace.h"
#include "memory/memory.h"

/* ---- checks ---- */

#define GRID_X_MAX   2147483647u
#define GRID_YZ_MAX  65535u
#define BLOCK_XY_MAX 1024u
#define BLOCK_Z_MAX  64u

#define GRID_WORKSPACE_BYTES 64

/* These limits are the same for every capability that Weir offers (profile attributes 2 to 7). */
static bool shape_is_valid(const struct weir_launch_config *c, int max_threads)
{
    uint64_t threads = (uint64_t)c->block[0] * c->block[1] * c->block[2];

    return c->grid[0] - 1u < GRID_X_MAX && c->grid[1] - 1u < GRID_YZ_MAX &&
           c->grid[2] - 1u < GRID_YZ_MAX && c->block[0] - 1u < BLOCK_XY_MAX &&
           c->block[1] - 1u < BLOCK_XY_MAX && c->block[2] - 1u < BLOCK_Z_MAX &&
           threads <= (uint64_t)max_threads;
}

static enum weir_err check_cooperative(const struct weir_context *ctx,
                                       const struct weir_function_image *image,
                                       const struct weir_launch_config *c)
{
    int threads = (int)(c->block[0] * c->block[1] * c->block[2]);
    uint64_t blocks = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
    uint64_t room = (uint64_t)weir_occupancy_blocks(ctx, image, threads, c->dynamic_shared_bytes) *
                    (uint64_t)ctx->sm_count;

    if (blocks > room)
        return WEIR_FAIL(WEIR_ERR_COOPERATIVE_LAUNCH_TOO_LARGE, "%llu blocks, %llu fit",
                         (unsigned long long)blocks, (unsigned long long)room);
    return WEIR_OK;
}

/* ---- clusters ---- */

#define CLUSTER_PORTABLE 8 /* blocks, on every device that has clusters (programming guide) */
#define CLUSTER_MOST     16

bool weir_launch_cluster(const struct weir_function_image *image,
                         const struct weir_launch_config *c, uint32_t cluster[3])
{
    const uint32_t *from = c->cluster[0] ? c->cluster : image->info.cluster;

    for (int i = 0; i < 3; i++) {
        uint32_t set = (uint32_t)atomic_load_explicit(
            &((struct weir_function_image *)(uintptr_t)image)->required_cluster[i],
            memory_order_relaxed);

        cluster[i] = from[0] ? WEIR_MAX(from[i], 1u) : WEIR_MAX(set, 1u);
    }
    return cluster[0] * cluster[1] * cluster[2] > 1;
}

int weir_cluster_limit(const struct weir_context *ctx, const struct weir_function_image *image,
                       bool nonportable_too)
{
    int has = 0, most = CLUSTER_PORTABLE;

    weir_context_attribute(ctx, WEIR_ATTR_CLUSTER_LAUNCH, &has);
    if (!has)
        return 0;
    if (nonportable_too || atomic_load(&image->nonportable_cluster))
        most = CLUSTER_MOST;
    return image->info.max_cluster ? WEIR_MIN(most, (int)image->info.max_cluster) : most;
}

static WEIR_NOINLINE enum weir_err check_cluster(const struct weir_context *ctx,
                                                 const struct weir_function_image *image,
                                                 const struct weir_launch_config *c)
{
    uint32_t n[3];
    bool fits = true;

    if (!weir_launch_cluster(image, c, n))
        return WEIR_OK;
    for (int i = 0; i < 3; i++)
        fits &= c->grid[i] % n[i] == 0 &&
                (!c->cluster[0] || !image->info.cluster[0] || n[i] == image->info.cluster[i]);
    if (!fits || n[0] > CLUSTER_MOST || n[1] > CLUSTER_MOST || n[2] > CLUSTER_MOST ||
        (int)(n[0] * n[1] * n[2]) > weir_cluster_limit(ctx, image, false))
        return WEIR_FAIL(WEIR_ERR_INVALID_CLUSTER_SIZE,
                         "clusters of %ux%ux%u blocks in a grid of %ux%ux%u, at most %d blocks",
                         n[0], n[1], n[2], c->grid[0], c->grid[1], c->grid[2],
                         weir_cluster_limit(ctx, image, false));
    return WEIR_OK;
}

/* Names of the runtime that CUDA links to programs which launch kernels from kernels. */
static bool is_device_runtime(const char *name)
{
    return strncmp(name, "__cudaCDP", 9) == 0 || strncmp(name, "cuda", 4) == 0;
}

static enum weir_err fail_unresolved(const struct weir_function *f, const char *symbol)
{
    char what[300];

    if (is_device_runtime(symbol)) {
        weir_log_unsupported(f->name, "kernel calls CUDA's runtime on the device: %s", symbol);
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "kernel %s calls %s", f->name, symbol);
    }
    snprintf(what, sizeof what, "undefined symbol %.200s: no unit of its module defines it",
             symbol);
    return weir_module_fail_missing(f->module, WEIR_ERR_INVALID_PTX, f->name, what);
}

static inline enum weir_err check(const struct weir_function *f, const struct weir_context *ctx,
                                  const struct weir_function_image *image,
                                  const struct weir_launch_config *c, bool has_args)
{
    const char *unsupported;

    if (WEIR_UNLIKELY(!shape_is_valid(c, image->info.max_threads)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch of %s: grid %ux%ux%u, block %ux%ux%u",
                         f->name, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
                         c->block[2]);
    if (WEIR_UNLIKELY(
            c->dynamic_shared_bytes >
            (size_t)atomic_load_explicit(&image->max_dynamic_shared, memory_order_relaxed)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch of %s: %zu bytes of dynamic shared memory",
                         f->name, c->dynamic_shared_bytes);
    if (WEIR_UNLIKELY(!has_args && image->info.param_count))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch of %s: no arguments", f->name);
    if (WEIR_UNLIKELY(image->info.unresolved))
        return fail_unresolved(f, image->info.unresolved);
    unsupported = weir_cg_kernel_unsupported(image->kernel);
    if (WEIR_UNLIKELY(unsupported)) {
        weir_log_unsupported(unsupported, "in kernel %s", f->name);
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "kernel %s uses %s", f->name, unsupported);
    }
    if (WEIR_UNLIKELY(c->cluster[0] || image->info.cluster[0] ||
                      atomic_load_explicit(&image->required_cluster[0], memory_order_relaxed))) {
        enum weir_err err = check_cluster(ctx, image, c);

        if (err != WEIR_OK)
            return err;
    }
    return WEIR_UNLIKELY(c->cooperative) ? check_cooperative(ctx, image, c) : WEIR_OK;
}

enum weir_err weir_launch_check(struct weir_function *f, struct weir_context *ctx,
                                const struct weir_launch_config *config, bool has_args,
                                struct weir_function_image **image)
{
    enum weir_err err = weir_function_image(f, ctx, image);

    return err != WEIR_OK ? err : check(f, ctx, *image, config, has_args);
}

/* ---- kernels ---- */

/* On a worker, before the first block. */
static enum weir_err prepare(struct weir_kernel_work *work)
{
    struct weir_kernel_op *op = work->work.owner;
    enum weir_err err =
        weir_core_trace_code(op->function, op->image, work->launch.block, &work->code);

    if (err != WEIR_OK) {
        weir_log(WEIR_LOG_ERROR, "kernel %s: %s: %s", op->function->name, weir_err_name(err),
                 weir_err_message());
        return err;
    }
    work->launch.module_data = work->code->module_data;
    if (WEIR_UNLIKELY(work->code->reads_clock))
        weir_core_clock_begin(work, &op->op);
    if (WEIR_UNLIKELY(work->launch.touches))
        weir_touches_open(&work->launch, weir_nested_checked(&op->op));
    weir_pages_kernel_begin(weir_stream_of(op->op.m.stream)->ctx->ordinal);
    return WEIR_OK;
}

/* In its place for a launch that fails on demand. */
static enum weir_err prepare_failing(struct weir_kernel_work *work)
{
    struct weir_kernel_op *op = work->work.owner;

    return WEIR_FAIL((enum weir_err)op->early_status, "on demand: kernel %s", op->function->name);
}

void weir_launch_fill(struct weir_launch *l, struct weir_context *ctx,
                      const struct weir_function_image *image, const struct weir_launch_config *c)
{
    uintptr_t window_base;
    size_t window_bytes;

    memcpy(l->grid, c->grid, sizeof l->grid);
    memcpy(l->block, c->block, sizeof l->block);
    l->dynamic_shared_bytes = (uint32_t)c->dynamic_shared_bytes;
    l->services = &weir_kernel_services;
    l->module_data = NULL;
    weir_mem_window_of(ctx->ordinal, &window_base, &window_bytes);
    l->window_base = window_base;
    l->window_bytes = window_bytes;
    l->twin_base = weir_mem_twin.base;
    l->twin_bytes = weir_mem_twin.bytes;
    l->twin_shift = weir_mem_twin.shift;
    l->device = (uint32_t)ctx->ordinal;
    l->sm_count = (uint32_t)ctx->sm_count;
    l->owner = ctx;
    l->touches = NULL;
    l->clock = NULL;
    l->touched = 0;
    l->untouched = NULL;
    (void)weir_launch_cluster(image, c, l->cluster);
    l->explicit_cluster = c->cluster[0] || image->info.explicit_cluster;
}

static void init_work(struct weir_work *work, struct weir_stream *s, enum weir_engine engine,
                      struct weir_op *op)
{
    work->engine = (uint8_t)engine;
    work->priority = (int8_t)s->priority;
    work->done = weir_op_done;
    work->owner = op;
    work->node = false;
    work->ready_ns = work->start_ns = work->end_ns = 0;
}

enum weir_err weir_launch_workspace(const struct weir_context *ctx,
                                    const struct weir_launch_config *c, void **out)
{
    *out = NULL;
    if (WEIR_LIKELY(!c->cooperative))
        return WEIR_OK;
    return weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, ctx->ordinal, GRID_WORKSPACE_BYTES, 0, NULL, out);
}

/* *taken: s captures, and has the launch as a node. */
static WEIR_NOINLINE enum weir_err capture_kernel(struct weir_function *f, struct weir_stream *s,
                                                  const struct weir_launch_config *config,
                                                  void *const *args, bool *taken)
{
    struct weir_node_params p = {
        .kind = WEIR_NODE_KERNEL,
        .kernel = {.function = f, .config = *config, .args = args, .packed = args ? NULL : ""}};
    enum weir_err err = weir_capture_take(s, &p, config->programmatic, "a kernel launch", taken);

    if (*taken && err == WEIR_ERR_INVALID_VALUE)
        weir_capture_bad_launch(s);
    return err;
}

static enum weir_op_size size_for(size_t param_bytes)
{
    return param_bytes <= WEIR_SMALL_PARAMS    ? WEIR_OP_SMALL
           : param_bytes <= WEIR_MEDIUM_PARAMS ? WEIR_OP_MEDIUM
                                               : WEIR_OP_LARGE;
}

/* What op keeps of the configuration, which was checked: blocks and clusters are small. */
static void set_shape(struct weir_kernel_op *op, const struct weir_launch_config *c)
{
    for (int i = 0; i < 3; i++) {
        op->grid[i] = c->grid[i];
        op->block[i] = (uint16_t)c->block[i];
        op->cluster[i] = (uint8_t)c->cluster[i];
    }
    op->dynamic_shared_bytes = (uint32_t)c->dynamic_shared_bytes;
    op->cooperative = c->cooperative;
}

static struct weir_launch_config config_of(const struct weir_kernel_op *op)
{
    struct weir_launch_config c = {.dynamic_shared_bytes = op->dynamic_shared_bytes,
                                   .cooperative = op->cooperative,
                                   .programmatic = (op->op.m.early & WEIR_EARLY_ASKS) != 0};

    for (int i = 0; i < 3; i++) {
        c.grid[i] = op->grid[i];
        c.block[i] = op->block[i];
        c.cluster[i] = op->cluster[i];
    }
    return c;
}

#define GRID_IDS                                                                                   \
    64 /* that a job takes at a time: threads would share the counter at each launch               \
        */

static uint64_t next_grid_id(struct weir_job *job)
{
    if (job->grid_id == job->grid_end) {
        job->grid_id =
            atomic_fetch_add_explicit(&weir_core.next_grid_id, GRID_IDS, memory_order_relaxed);
        job->grid_end = job->grid_id + GRID_IDS;
    }
    return job->grid_id++;
}

void weir_kernel_op_fill(struct weir_kernel_op *op, struct weir_job *job)
{
    struct weir_stream *s = weir_stream_of(op->op.m.stream);
    struct weir_launch_config c = config_of(op);
    struct weir_kernel_work *w = &job->kernel;
    void *touches = w->launch.touches; /* the kernel's before, which has touched nothing */

    init_work(&w->work, s, WEIR_ENGINE_COMPUTE, &op->op);
    w->prepare = WEIR_UNLIKELY(op->early_status != WEIR_OK) ? prepare_failing : prepare;
    weir_launch_fill(&w->launch, s->ctx, op->image, &c);
    w->needs = weir_launch_needs(s->ctx, op->image, &c);
    /* When it is there, nobody need prepare it (a trace wants to see that). */
    w->code = WEIR_UNLIKELY(op->early_status != WEIR_OK)
                  ? NULL
                  : weir_cg_kernel_code_peek(op->image->kernel, c.block);
    if (w->code)
        w->launch.module_data = w->code->module_data;
    w->launch.grid_id = next_grid_id(job);
    w->launch.params = weir_kernel_op_params(op);
    w->launch.param_bytes = (uint32_t)op->image->info.param_bytes;
    w->launch.grid_workspace = op->has_heap ? (uint64_t)(uintptr_t)op->heap.workspace : 0;
    if (weir_check_enabled() && (w->launch.touches = touches ? touches : weir_touches_begin()))
        w->code = NULL; /* what blocks need to note accesses is taken when they begin */
    if (WEIR_UNLIKELY(w->code && w->code->reads_clock))
        w->code = NULL; /* so is the time */
    w->triggered = weir_dependent_triggered;
    w->begun = NULL;
    w->first_block = w->end_block = 0;
    atomic_store_explicit(&w->nested, NULL, memory_order_relaxed);
    if (weir_trace_enabled()) {
        atomic_store_explicit(&w->instructions, 0, memory_order_relaxed);
        atomic_store_explicit(&w->bytes, 0, memory_order_relaxed);
    }
}

bool weir_kernel_op_open(struct weir_kernel_op *op, struct weir_job *job)
{
    struct weir_kernel_work *w = &job->kernel;
    const struct weir_kernel_code *code;

    if (WEIR_LIKELY(!w->launch.touches))
        return w->code != NULL;
    if (op->early_status != WEIR_OK)
        return false;
    code = weir_cg_kernel_code_peek(op->image->kernel, w->launch.block);
    if (!code || code->reads_clock || code->launches)
        return false;
    w->code = code;
    w->launch.module_data = code->module_data;
    weir_touches_open(&w->launch, weir_nested_checked(&op->op));
    return true;
}

static void copy_args(unsigned char *params, const struct weir_function_image *image,
                      void *const *args)
{
    for (uint32_t i = 0; i < image->info.param_count; i++)
        memcpy(params + image->param_offsets[i], args[i], image->param_bytes[i]);
}

/* args, or (NULL) what they make: params as the kernel sees them. */
static inline enum weir_err append(struct weir_function *f, struct weir_function_image *image,
                                   struct weir_stream *s, const struct weir_launch_config *config,
                                   void *const *args, const void *packed, bool tail)
{
    struct weir_kernel_op *op;
    unsigned char *params, *heap = NULL;
    void *workspace;
    enum weir_err err;

    if (WEIR_UNLIKELY(image->info.param_bytes > WEIR_LARGE_PARAMS || config->cooperative)) {
        heap = weir_alloc_aligned(64, WEIR_ALIGN_UP(image->info.param_bytes + 1, 64));
        if (!heap)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "arguments of %s", f->name);
    }
    err = weir_launch_workspace(s->ctx, config, &workspace);
    if (WEIR_UNLIKELY(err != WEIR_OK)) {
        weir_free(heap);
        return err;
    }
    op = (struct weir_kernel_op *)weir_submit_begin(
        s, WEIR_OP_KERNEL, heap ? WEIR_OP_SMALL : size_for(image->info.param_bytes));
    if (WEIR_UNLIKELY(!op)) {
        weir_free(heap);
        if (workspace)
            (void)!weir_mem_free(WEIR_MEM_KIND_INTERNAL, workspace); /* allocated just now */
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "launch of %s", f->name);
    }
    params = heap ? heap : op->params;
    if (WEIR_UNLIKELY(packed != NULL))
        memcpy(params, packed, image->info.param_bytes);
    else
        copy_args(params, image, args);
    op->function = f;
    op->image = image;
    op->has_heap = heap != NULL;
    op->tail = tail;
    if (WEIR_UNLIKELY(heap != NULL)) {
        op->heap.params = heap;
        op->heap.workspace = workspace;
    }
    set_shape(op, config);
    atomic_store_explicit(&op->op.m.early, config->programmatic ? WEIR_EARLY_ASKS : 0,
                          memory_order_relaxed);
    op->early_status = WEIR_OK;
    if (weir_inject_enabled())
        op->early_status = (uint16_t)weir_inject_kernel(f->name);
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}

enum weir_err weir_launch_append(struct weir_function *f, struct weir_function_image *image,
                                 struct weir_stream *s, const struct weir_launch_config *config,
                                 bool tail, const void *params)
{
    return append(f, image, s, config, NULL, params, tail);
}

enum weir_err weir_launch_kernel(struct weir_function *f, struct weir_stream *s,
                                 const struct weir_launch_config *config, void *const *args)
{
    struct weir_function_image *image;
    enum weir_err err;

    if (weir_capture_any()) {
        bool taken;

        err = capture_kernel(f, s, config, args, &taken);
        if (err != WEIR_OK || taken)
            return err;
    }
    err = weir_function_image(f, s->ctx, &image);
    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    err = check(f, s->ctx, image, config, args != NULL);
    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    err = append(f, image, s, config, args, NULL, false);
    if (WEIR_UNLIKELY(config->programmatic) && err == WEIR_OK)
        weir_dependent_look(s);
    if (WEIR_UNLIKELY(weir_core.config.launch_blocking) && err == WEIR_OK)
        return weir_wait_stream(s);
    return err;
}

/* ---- host functions ---- */

void weir_host_func_run(struct weir_context *ctx, void (*fn)(void *), void *user)
{
    weir_thread.host_func = true; /* calls are refused on this thread (oracle hostfunc_inside) */
    atomic_fetch_add_explicit(&ctx->host_funcs, 1, memory_order_relaxed);
    fn(user);
    weir_thread.host_func = false;
}

static void run_host_func(struct weir_host_work *work)
{
    struct weir_host_op *op = work->work.owner;
    union {
        void *object;
        void (*fn)(void *);
    } f = {.object = op->fn};
    struct weir_check_func checked = {0};

    if (weir_check_follows())
        weir_check_host_func(&checked, weir_core_check_of(&op->op), NULL);
    weir_host_func_run(weir_op_ctx(&op->op), f.fn, op->user);
    weir_check_host_func_end(&checked);
}

static void run_callback(struct weir_host_work *work)
{
    struct weir_host_op *op = work->work.owner;
    struct weir_check_func checked = {0};

    if (weir_check_follows())
        weir_check_host_func(&checked, weir_core_check_of(&op->op), NULL);
    weir_thread.host_func = true;
    atomic_fetch_add_explicit(&weir_op_ctx(&op->op)->host_funcs, 1, memory_order_relaxed);
    op->invoke(op->fn, op->stream, weir_context_error(weir_op_ctx(&op->op)), op->user);
    weir_thread.host_func = false;
    weir_check_host_func_end(&checked);
}

static struct weir_host_op *begin_host(struct weir_stream *s, enum weir_op_kind kind, void *fn,
                                       void *user, void (*run)(struct weir_host_work *))
{
    struct weir_host_op *op = (struct weir_host_op *)weir_submit_begin(
        s, kind, kind == WEIR_OP_CALLBACK ? WEIR_OP_MEDIUM : WEIR_OP_SMALL);

    if (!op)
        return NULL;
    init_work(&op->work.work, s, WEIR_ENGINE_HOST, &op->op);
    op->work.run = run;
    op->fn = fn;
    op->user = user;
    return op;
}

enum weir_err weir_launch_host_func(struct weir_stream *s, void (*fn)(void *), void *user)
{
    union {
        void (*fn)(void *);
        void *object;
    } f = {.fn = fn};
    struct weir_host_op *op;

    if (weir_capture_any()) {
        struct weir_node_params p = {.kind = WEIR_NODE_HOST, .host = {fn, user}};
        bool taken;
        enum weir_err err = weir_capture_take(s, &p, false, "cudaLaunchHostFunc", &taken);

        if (err != WEIR_OK || taken)
            return err;
    }
    op = begin_host(s, WEIR_OP_HOST_FUNC, f.object, user, run_host_func);
    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a host function");
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}

enum weir_err weir_launch_callback(struct weir_stream *s, void *handle,
                                   weir_callback_invoker invoke, void *fn, void *user)
{
    struct weir_host_op *op;
    enum weir_err err = weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaStreamAddCallback");

    if (err == WEIR_OK)
        err = weir_capture_forbid(WEIR_CAPTURE_CALL_LEGACY_WORK, s, "cudaStreamAddCallback");
    if (err != WEIR_OK)
        return err;
    op = begin_host(s, WEIR_OP_CALLBACK, fn, user, run_callback);
    if (!op)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a callback");
    op->stream = handle;
    op->invoke = invoke;
    return weir_submit_end(s, &op->op, NULL, 0, NULL, NULL);
}

/* ---- occupancy ---- */

static int attribute(const struct weir_context *ctx, int id)
{
    int value = 0;

    weir_context_attribute(ctx, id, &value);
    return value;
}

static int registers_of_warp(const struct weir_profile *p, const struct weir_function_image *image)
{
    return (int)WEIR_ALIGN_UP(WEIR_ALIGN_UP(WEIR_MAX(image->info.registers, 1), p->register_unit) *
                                  32,
                              p->warp_register_unit);
}

/* Blocks that threads, block slots and registers allow; shared memory is left out. */
static int blocks_without_shared(const struct weir_context *ctx,
                                 const struct weir_function_image *image, int threads)
{
    const struct weir_profile *p = ctx->profile;
    int warps = (threads + 31) / 32, blocks = attribute(ctx, WEIR_ATTR_MAX_BLOCKS_PER_SM);
    int warp_registers = registers_of_warp(p, image);

    if (threads > image->info.max_threads)
        return 0;
    blocks = WEIR_MIN(blocks, attribute(ctx, WEIR_ATTR_MAX_THREADS_PER_SM) / (warps * 32));
    return WEIR_MIN(blocks,
                    attribute(ctx, WEIR_ATTR_MAX_REGISTERS_PER_SM) / warp_registers / warps);
}

static size_t shared_of_block(const struct weir_context *ctx, size_t bytes)
{
    return WEIR_ALIGN_UP(bytes + (size_t)attribute(ctx, WEIR_ATTR_RESERVED_SHARED),
                         (size_t)ctx->profile->shared_unit);
}

struct weir_block_needs weir_launch_needs(const struct weir_context *ctx,
                                          const struct weir_function_image *image,
                                          const struct weir_launch_config *c)
{
    uint32_t warps = (c->block[0] * c->block[1] * c->block[2] + 31) / 32;

    if (WEIR_LIKELY(!ctx->profile->sm_count))
        return (struct weir_block_needs){0};
    return (struct weir_block_needs){
        .threads = warps * 32,
        .registers = warps * (uint32_t)registers_of_warp(ctx->profile, image),
        .shared = (uint32_t)shared_of_block(ctx, image->info.static_shared_bytes +
                                                     c->dynamic_shared_bytes),
    };
}

int weir_occupancy_blocks(const struct weir_context *ctx, const struct weir_function_image *image,
                          int threads, size_t dynamic_shared)
{
    size_t per_sm = (size_t)attribute(ctx, WEIR_ATTR_MAX_SHARED_PER_SM);
    size_t per_block = shared_of_block(ctx, image->info.static_shared_bytes + dynamic_shared);
    int blocks = blocks_without_shared(ctx, image, threads);

    if (dynamic_shared >
        (size_t)atomic_load_explicit(&image->max_dynamic_shared, memory_order_relaxed))
        return 0;
    return (int)WEIR_MIN((size_t)blocks, per_sm / per_block);
}

size_t weir_occupancy_shared(const struct weir_context *ctx,
                             const struct weir_function_image *image, int blocks, int threads)
{
    size_t per_sm = (size_t)attribute(ctx, WEIR_ATTR_MAX_SHARED_PER_SM);
    size_t limit = (size_t)atomic_load_explicit(&image->max_dynamic_shared, memory_order_relaxed);
    size_t reserved =
        (size_t)attribute(ctx, WEIR_ATTR_RESERVED_SHARED) + image->info.static_shared_bytes;
    size_t room;

    if (blocks <= 0 || blocks > blocks_without_shared(ctx, image, threads))
        return 0;
    room = per_sm / (size_t)blocks & ~((size_t)ctx->profile->shared_unit - 1);
    return room <= reserved ? 0 : WEIR_MIN(room - reserved, limit);
}

/* Blocks of a cluster lie on SMs of one group; groups are not modelled, all SMs are one. */
enum weir_err weir_occupancy_clusters(const struct weir_context *ctx,
                                      const struct weir_function_image *image,
                                      const struct weir_launch_config *c, int *clusters)
{
    int threads = (int)(c->block[0] * c->block[1] * c->block[2]);
    uint32_t n[3];
    enum weir_err err = check_cluster(ctx, image, c);

    if (err != WEIR_OK)
        return err;
    (void)weir_launch_cluster(image, c, n);
    *clusters = weir_occupancy_blocks(ctx, image, threads, c->dynamic_shared_bytes) *
                ctx->sm_count / (int)(n[0] * n[1] * n[2]);
    return WEIR_OK;
}

int weir_occupancy_cluster_size(const struct weir_context *ctx,
                                const struct weir_function_image *image,
                                const struct weir_launch_config *c)
{
    int threads = (int)(c->block[0] * c->block[1] * c->block[2]);
    int room = weir_occupancy_blocks(ctx, image, threads, c->dynamic_shared_bytes) * ctx->sm_count;
    int size = weir_cluster_limit(ctx, image, false);

    while (size > 1 && size > room)
        size /= 2;
    return room > 0 ? size : 0;
}
