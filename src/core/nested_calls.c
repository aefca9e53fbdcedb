/* CUDA's runtime, called by kernels: lane by lane, in their order. What a call returns goes to the
 * lane; what it writes goes where the lane may write.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/context.h"
#include "core/copy.h"
#include "core/module.h"
#include "core/nested_int.h"
#include "core/services.h"
#include "memory/memory.h"
#include "ptx/device_calls.h"

#define ARGUMENTS_MAX 12

/* One lane's call. */
struct call {
    struct weir_block *block;
    uint32_t lane;
    uint64_t a[ARGUMENTS_MAX]; /* words and long words, structures in their pieces */
    uint64_t result;
};

static struct weir_context *context_of(const struct call *c)
{
    return c->block->launch->owner;
}

static uint64_t block_index(const struct weir_block *b)
{
    const uint32_t *grid = b->launch->grid;

    return b->ctaid[0] + (uint64_t)grid[0] * (b->ctaid[1] + (uint64_t)grid[1] * b->ctaid[2]);
}

/* ---- errors: each thread has its own ---- */

static uint64_t thread_key(const struct call *c)
{
    return ((block_index(c->block) << 10) | (c->block->warp * 32 + c->lane)) + 1;
}

static void set_error(const struct call *c, enum weir_err err)
{
    struct weir_nest *n = weir_nested_of(c->block, true);

    if (!n)
        return;
    weir_lock_acquire(&n->lock);
    if (!weir_map_put(&n->errors, thread_key(c), (void *)(uintptr_t)err))
        weir_log(WEIR_LOG_WARN, "no memory for a kernel's error");
    weir_lock_release(&n->lock);
}

static enum weir_err last_error(const struct call *c, bool take)
{
    struct weir_nest *n = weir_nested_of(c->block, false);
    uint64_t key = thread_key(c);
    void *err;

    if (!n)
        return WEIR_OK;
    weir_lock_acquire(&n->lock);
    err = take ? weir_map_remove(&n->errors, key) : weir_map_get(&n->errors, key);
    weir_lock_release(&n->lock);
    return (enum weir_err)(uintptr_t)err;
}

/* ---- what calls write ---- */

static enum weir_err write_to(const struct call *c, uint64_t address, const void *value,
                              size_t bytes)
{
    void *to = (void *)(uintptr_t)address;

    if (!address || !weir_mem_kernel_may_touch(to, bytes, (int)c->block->launch->device))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#" PRIx64 " cannot be written", address);
    memcpy(to, value, bytes);
    return WEIR_OK;
}

static enum weir_err write_int(const struct call *c, uint64_t address, int value)
{
    return write_to(c, address, &value, sizeof value);
}

static enum weir_err write_long(const struct call *c, uint64_t address, uint64_t value)
{
    return write_to(c, address, &value, sizeof value);
}

/* ---- launches ---- */

static enum weir_err find_kernel(const struct call *c, uint64_t address, struct weir_function **f,
                                 struct weir_function_image **image)
{
    struct weir_nest *n = weir_nested_of(c->block, true);

    if (!n)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a launch by a kernel");
    return weir_function_of_address(n->function->module, n->ctx, n->image->cg, address, f, image);
}

static void set_shape(struct weir_launch_config *config, const uint64_t *a)
{
    for (int i = 0; i < 3; i++) {
        config->grid[i] = (uint32_t)a[i];
        config->block[i] = (uint32_t)a[3 + i];
    }
    config->dynamic_shared_bytes = a[6];
}

/* The shape of a launch is told as another error than to the host. */
static enum weir_err check_launch(const struct call *c, struct weir_nested_params *p)
{
    enum weir_err err = weir_launch_check(p->function, context_of(c), &p->config, true, &p->image);

    return err == WEIR_ERR_INVALID_VALUE ? WEIR_ERR_INVALID_CONFIGURATION : err;
}

static enum weir_err take_params(struct call *c, size_t bytes, struct weir_nested_params **out)
{
    struct weir_nest *n = weir_nested_of(c->block, true);
    struct weir_nested_params *p = n ? weir_nested_params_take(n->ctx, WEIR_MAX(bytes, 1u)) : NULL;
    bool ok;

    if (!p)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of arguments", bytes);
    weir_lock_acquire(&n->lock);
    ok = weir_map_put(&n->params, p->address, p);
    weir_lock_release(&n->lock);
    if (!ok) {
        weir_nested_params_give(n->ctx, p);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of arguments", bytes);
    }
    *out = p;
    c->result = p->address;
    return WEIR_OK;
}

static enum weir_err get_parameter_buffer(struct call *c)
{
    struct weir_nested_params *p;

    return take_params(c, c->a[1], &p);
}

/* The shape is looked at by the launch. */
static enum weir_err get_parameter_buffer_v2(struct call *c)
{
    struct weir_function_image *image;
    struct weir_nested_params *p;
    struct weir_function *f;
    enum weir_err err = find_kernel(c, c->a[0], &f, &image);

    if (err == WEIR_OK)
        err = take_params(c, image->info.param_bytes, &p);
    if (err != WEIR_OK)
        return err;
    p->function = f;
    p->image = image;
    p->config = (struct weir_launch_config){.cooperative = false};
    set_shape(&p->config, c->a + 1);
    return WEIR_OK;
}

/* The buffer is the caller's no more, also when the launch fails. */
static enum weir_err launch(struct call *c, uint64_t buffer, uint64_t stream,
                            enum weir_err (*fill)(struct call *c, struct weir_nested_params *p))
{
    struct weir_nest *n = weir_nested_of(c->block, true);
    struct weir_nested_params *p = NULL;
    enum weir_err err;

    if (n) {
        weir_lock_acquire(&n->lock);
        p = weir_map_remove(&n->params, buffer);
        weir_lock_release(&n->lock);
    }
    if (!p)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#" PRIx64 " is no parameter buffer", buffer);
    err = fill ? fill(c, p) : WEIR_OK;
    if (err == WEIR_OK && p->function && p->bytes < p->image->info.param_bytes)
        err = WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a parameter buffer of %u bytes for %zu", p->bytes,
                        (size_t)p->image->info.param_bytes);
    if (err == WEIR_OK)
        err = p->function ? check_launch(c, p)
                          : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no kernel to launch");
    if (err == WEIR_OK) {
        const struct weir_nested_work w = {
            .kind = WEIR_OP_KERNEL,
            .kernel = {p->function, p->image, p->config, (const void *)(uintptr_t)p->address}};

        err = weir_nested_submit(n, block_index(c->block), &w, stream);
    }
    weir_nested_params_give(n->ctx, p);
    return err;
}

static enum weir_err launch_device_v2(struct call *c)
{
    return c->a[0] ? launch(c, c->a[0], c->a[1], NULL)
                   : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no parameter buffer");
}

static enum weir_err fill_params(struct call *c, struct weir_nested_params *p)
{
    p->config = (struct weir_launch_config){.cooperative = false};
    set_shape(&p->config, c->a + 2);
    return find_kernel(c, c->a[0], &p->function, &p->image);
}

/* A kernel without arguments needs no buffer. */
static enum weir_err launch_device(struct call *c)
{
    struct weir_nested_params *p;
    uint64_t buffer = c->a[1];

    if (!buffer) {
        enum weir_err err = take_params(c, 1, &p);

        if (err != WEIR_OK)
            return err;
        buffer = p->address;
    }
    return launch(c, buffer, c->a[9], fill_params);
}

/* ---- streams and events ---- */

#define STREAM_NON_BLOCKING  1u
#define EVENT_BLOCKING_SYNC  1u
#define EVENT_DISABLE_TIMING 2u

static enum weir_err nest_of(const struct call *c, struct weir_nest **n)
{
    *n = weir_nested_of(c->block, true);
    return *n ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "what a kernel launches");
}

/* Makes what `create` does and tells the lane its handle. */
static enum weir_err create(const struct call *c,
                            enum weir_err (*make)(struct weir_nest *n, uint64_t *handle))
{
    struct weir_nest *n;
    uint64_t handle = 0;
    enum weir_err err = write_long(c, c->a[0], 0);

    if (err == WEIR_OK)
        err = nest_of(c, &n);
    if (err == WEIR_OK)
        err = make(n, &handle);
    return err == WEIR_OK ? write_long(c, c->a[0], handle) : err;
}

/* What takes a handle, in a[0]. */
static enum weir_err with_handle(const struct call *c,
                                 enum weir_err (*what)(struct weir_nest *n, uint64_t handle))
{
    struct weir_nest *n;
    enum weir_err err = nest_of(c, &n);

    return err == WEIR_OK ? what(n, c->a[0]) : err;
}

/* What concerns an event and a stream. */
static enum weir_err with_event(const struct call *c, uint64_t event, uint64_t stream,
                                enum weir_err (*what)(struct weir_nest *n, uint64_t block,
                                                      uint64_t event, uint64_t stream))
{
    struct weir_nest *n;
    enum weir_err err = nest_of(c, &n);

    return err == WEIR_OK ? what(n, block_index(c->block), event, stream) : err;
}

static enum weir_err stream_create_with_flags(struct call *c)
{
    if (c->a[1] & ~(uint64_t)STREAM_NON_BLOCKING)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#" PRIx64 " of a stream", c->a[1]);
    return create(c, weir_nested_stream_create);
}

static enum weir_err stream_destroy(struct call *c)
{
    return with_handle(c, weir_nested_stream_destroy);
}

static enum weir_err stream_wait_event(struct call *c)
{
    return with_event(c, c->a[1], c->a[0], weir_nested_event_wait);
}

static enum weir_err event_create_with_flags(struct call *c)
{
    if (!(c->a[1] & EVENT_DISABLE_TIMING) ||
        c->a[1] & ~(uint64_t)(EVENT_DISABLE_TIMING | EVENT_BLOCKING_SYNC))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#" PRIx64 " of an event", c->a[1]);
    return create(c, weir_nested_event_create);
}

static enum weir_err event_record(struct call *c)
{
    return with_event(c, c->a[0], c->a[1], weir_nested_event_record);
}

static enum weir_err event_destroy(struct call *c)
{
    return with_handle(c, weir_nested_event_destroy);
}

/* ---- copies and memsets ---- */

static enum weir_err submit(const struct call *c, const struct weir_nested_work *w, uint64_t stream)
{
    struct weir_nest *n;
    enum weir_err err = nest_of(c, &n);

    return err == WEIR_OK ? weir_nested_submit(n, block_index(c->block), w, stream) : err;
}

/* Null, and what a thread or block has for itself, which may be gone when the work runs: an H200
 * refuses both at the call. */
static bool may_be_given(const struct call *c, const void *p)
{
    struct weir_mem_info info;

    if (!p)
        return false;
    return !weir_mem_find(p, &info) || info.kind != WEIR_MEM_KIND_INTERNAL ||
           info.owner == &context_of(c)->heap_used;
}

static enum weir_err copy(const struct call *c, uint64_t kind, const struct weir_copy *what,
                          uint64_t stream)
{
    const struct weir_nested_work w = {.kind = WEIR_OP_COPY, .copy = *what};

    if (kind != WEIR_COPY_D2D && kind != WEIR_COPY_DEFAULT)
        return WEIR_FAIL(WEIR_ERR_INVALID_MEMCPY_DIRECTION, "copy kind %" PRIu64, kind);
    if (what->src_pitch < what->width || what->dst_pitch < what->width)
        return WEIR_FAIL(WEIR_ERR_INVALID_PITCH_VALUE, "rows of %zu bytes, %zu and %zu apart",
                         what->width, what->src_pitch, what->dst_pitch);
    if (!what->width || !what->height || !what->depth)
        return WEIR_OK;
    if (!may_be_given(c, what->dst) || !may_be_given(c, what->src))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p to %p: null, or of this block alone",
                         what->src, what->dst);
    return submit(c, &w, stream);
}

static enum weir_err memcpy_async(struct call *c)
{
    const struct weir_copy what = {.dst = (void *)(uintptr_t)c->a[0],
                                   .src = (const void *)(uintptr_t)c->a[1],
                                   .width = c->a[2],
                                   .height = 1,
                                   .depth = 1,
                                   .src_pitch = c->a[2],
                                   .dst_pitch = c->a[2],
                                   .async = true};

    return copy(c, c->a[3], &what, c->a[4]);
}

static enum weir_err memcpy_2d_async(struct call *c)
{
    const struct weir_copy what = {.dst = (void *)(uintptr_t)c->a[0],
                                   .dst_pitch = c->a[1],
                                   .src = (const void *)(uintptr_t)c->a[2],
                                   .src_pitch = c->a[3],
                                   .width = c->a[4],
                                   .height = c->a[5],
                                   .depth = 1,
                                   .async = true};

    return copy(c, c->a[6], &what, c->a[7]);
}

/* CUDA's struct cudaMemcpy3DParms. */
struct box_side {
    uint64_t array, pos[3], ptr, pitch, width, height;
};
struct box {
    struct box_side src, dst;
    uint64_t extent[3];
    uint32_t kind;
};

static uint64_t corner(const struct box_side *s)
{
    return s->ptr ? s->ptr + s->pos[0] + s->pitch * (s->pos[1] + s->height * s->pos[2]) : 0;
}

static enum weir_err memcpy_3d_async(struct call *c)
{
    const void *from = (const void *)(uintptr_t)c->a[0];
    struct weir_copy what = {.async = true};
    struct box b;

    if (!from || !weir_mem_kernel_may_touch(from, sizeof b, (int)c->block->launch->device))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no parameters at %p", from);
    memcpy(&b, from, sizeof b);
    if (b.src.array || b.dst.array) {
        weir_log_unsupported("cudaMemcpy3DAsync of an array", "in a kernel");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "an array, copied by a kernel");
    }
    what.src = (const void *)(uintptr_t)corner(&b.src);
    what.src_pitch = b.src.pitch;
    what.src_slice = b.src.pitch * b.src.height;
    what.dst = (void *)(uintptr_t)corner(&b.dst);
    what.dst_pitch = b.dst.pitch;
    what.dst_slice = b.dst.pitch * b.dst.height;
    what.width = b.extent[0];
    what.height = b.extent[1];
    what.depth = b.extent[2];
    return copy(c, b.kind, &what, c->a[1]);
}

static enum weir_err fill(const struct call *c, const struct weir_fill *what, uint64_t stream)
{
    const struct weir_nested_work w = {.kind = WEIR_OP_MEMSET, .fill = *what};

    if (what->pitch < what->width)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "rows of %zu bytes, %zu apart", what->width,
                         what->pitch);
    if (!what->width || !what->height || !what->depth)
        return WEIR_OK;
    if (!may_be_given(c, what->dst))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p: null, or of this block alone", what->dst);
    return submit(c, &w, stream);
}

static enum weir_err memset_async(struct call *c)
{
    const struct weir_fill what = {.dst = (void *)(uintptr_t)c->a[0],
                                   .value = (uint8_t)c->a[1],
                                   .element_bytes = 1,
                                   .width = c->a[2],
                                   .height = 1,
                                   .depth = 1,
                                   .pitch = c->a[2],
                                   .slice = c->a[2],
                                   .async = true};

    return fill(c, &what, c->a[3]);
}

static enum weir_err memset_2d_async(struct call *c)
{
    const struct weir_fill what = {.dst = (void *)(uintptr_t)c->a[0],
                                   .pitch = c->a[1],
                                   .value = (uint8_t)c->a[2],
                                   .element_bytes = 1,
                                   .width = c->a[3],
                                   .height = c->a[4],
                                   .depth = 1,
                                   .slice = c->a[1] * c->a[4],
                                   .async = true};

    return fill(c, &what, c->a[5]);
}

/* cudaPitchedPtr, value, cudaExtent. */
static enum weir_err memset_3d_async(struct call *c)
{
    const struct weir_fill what = {.dst = (void *)(uintptr_t)c->a[0],
                                   .pitch = c->a[1],
                                   .slice = c->a[1] * c->a[3],
                                   .value = (uint8_t)c->a[4],
                                   .element_bytes = 1,
                                   .width = c->a[5],
                                   .height = c->a[6],
                                   .depth = c->a[7],
                                   .async = true};

    return fill(c, &what, c->a[8]);
}

/* ---- the heap ---- */

static enum weir_err heap_malloc(struct call *c)
{
    void *p;

    if (!c->a[1])
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no bytes");
    p = weir_heap_alloc(context_of(c), c->a[1]);
    return p ? write_long(c, c->a[0], (uint64_t)(uintptr_t)p)
             : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%" PRIu64 " bytes of the heap", c->a[1]);
}

static enum weir_err heap_free(struct call *c)
{
    if (c->a[0] && !weir_heap_free(context_of(c), c->a[0]))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#" PRIx64 " is not of the heap", c->a[0]);
    return WEIR_OK;
}

/* ---- what a kernel asks ---- */

#define RUNTIME_VERSION 6000 /* as measured */
#define UNKNOWN_ERROR   "unrecognized error code"

static enum weir_err get_last_error(struct call *c)
{
    c->result = (uint64_t)last_error(c, true);
    return WEIR_OK;
}

static enum weir_err peek_at_last_error(struct call *c)
{
    c->result = (uint64_t)last_error(c, false);
    return WEIR_OK;
}

static enum weir_err get_device(struct call *c)
{
    return write_int(c, c->a[0], context_of(c)->ordinal);
}

static enum weir_err get_device_count(struct call *c)
{
    return write_int(c, c->a[0], weir_core.device_count);
}

static enum weir_err get_error_name(struct call *c)
{
    const char *text = weir_err_name((int)c->a[0]);

    return weir_nested_text(context_of(c), text ? text : UNKNOWN_ERROR, &c->result);
}

static enum weir_err get_error_string(struct call *c)
{
    const char *text = weir_err_text((int)c->a[0]);

    return weir_nested_text(context_of(c), text ? text : UNKNOWN_ERROR, &c->result);
}

static enum weir_err device_get_attribute(struct call *c)
{
    int value = 0;

    if (c->a[2] >= (uint64_t)weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %" PRIu64, c->a[2]);
    if (!weir_context_attribute(&weir_core.contexts[c->a[2]], (int)c->a[1], &value))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device attribute %" PRIu64, c->a[1]);
    return write_int(c, c->a[0], value);
}

/* The only call that leaves the last error as it was (as measured). */
static enum weir_err device_get_limit(struct call *c)
{
    enum weir_err err;

    if (c->a[1] >= WEIR_LIMIT_COUNT) {
        c->result = WEIR_ERR_INVALID_VALUE;
        return WEIR_OK;
    }
    if (c->a[1] == WEIR_LIMIT_SYNC_DEPTH) {
        err = write_long(c, c->a[0], UINT64_MAX);
        c->result = WEIR_ERR_UNSUPPORTED_LIMIT;
        return err;
    }
    return write_long(c, c->a[0], atomic_load(&context_of(c)->limits[c->a[1]]));
}

static enum weir_err device_get_cache_config(struct call *c)
{
    return write_int(c, c->a[0], (int)atomic_load(&context_of(c)->cache_config));
}

static enum weir_err device_get_shared_mem_config(struct call *c)
{
    return write_int(c, c->a[0], (int)atomic_load(&context_of(c)->shared_config));
}

static enum weir_err runtime_get_version(struct call *c)
{
    return write_int(c, c->a[0], RUNTIME_VERSION);
}

/* The beginning of cudaFuncAttributes, which is all that is written (as measured). */
struct function_attributes {
    uint64_t shared_bytes, const_bytes, local_bytes;
    int32_t max_threads, registers, ptx_version, binary_version;
};

static enum weir_err func_get_attributes(struct call *c)
{
    const struct weir_profile *profile = context_of(c)->profile;
    struct weir_function_image *image;
    struct function_attributes a;
    struct weir_function *f;
    enum weir_err err = find_kernel(c, c->a[1], &f, &image);

    if (err != WEIR_OK)
        return err;
    a = (struct function_attributes){.shared_bytes = image->info.static_shared_bytes,
                                     .const_bytes = image->info.const_bytes,
                                     .local_bytes = image->info.local_bytes,
                                     .max_threads = image->info.max_threads,
                                     .registers = image->info.registers,
                                     .ptx_version = image->info.sm,
                                     .binary_version = profile->major * 10 + profile->minor};
    return write_to(c, c->a[0], &a, sizeof a);
}

static enum weir_err occupancy(struct call *c)
{
    struct weir_function_image *image;
    struct weir_function *f;
    enum weir_err err = find_kernel(c, c->a[1], &f, &image);

    if (err != WEIR_OK)
        return err;
    if ((int32_t)c->a[2] <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "blocks of no threads");
    return write_int(c, c->a[0],
                     weir_occupancy_blocks(context_of(c), image, (int)c->a[2], c->a[3]));
}

typedef enum weir_err (*call_fn)(struct call *c);

static const call_fn calls[WEIR_DEVICE_CALLS] = {
    [WEIR_DEVICE_GET_PARAMETER_BUFFER] = get_parameter_buffer,
    [WEIR_DEVICE_GET_PARAMETER_BUFFER_V2] = get_parameter_buffer_v2,
    [WEIR_DEVICE_LAUNCH_DEVICE] = launch_device,
    [WEIR_DEVICE_LAUNCH_DEVICE_V2] = launch_device_v2,
    [WEIR_DEVICE_GET_LAST_ERROR] = get_last_error,
    [WEIR_DEVICE_PEEK_AT_LAST_ERROR] = peek_at_last_error,
    [WEIR_DEVICE_GET_ERROR_NAME] = get_error_name,
    [WEIR_DEVICE_GET_ERROR_STRING] = get_error_string,
    [WEIR_DEVICE_STREAM_CREATE_WITH_FLAGS] = stream_create_with_flags,
    [WEIR_DEVICE_STREAM_DESTROY] = stream_destroy,
    [WEIR_DEVICE_STREAM_WAIT_EVENT] = stream_wait_event,
    [WEIR_DEVICE_EVENT_CREATE_WITH_FLAGS] = event_create_with_flags,
    [WEIR_DEVICE_EVENT_RECORD] = event_record,
    [WEIR_DEVICE_EVENT_RECORD_WITH_FLAGS] = event_record,
    [WEIR_DEVICE_EVENT_DESTROY] = event_destroy,
    [WEIR_DEVICE_MEMCPY_ASYNC] = memcpy_async,
    [WEIR_DEVICE_MEMCPY_2D_ASYNC] = memcpy_2d_async,
    [WEIR_DEVICE_MEMCPY_3D_ASYNC] = memcpy_3d_async,
    [WEIR_DEVICE_MEMSET_ASYNC] = memset_async,
    [WEIR_DEVICE_MEMSET_2D_ASYNC] = memset_2d_async,
    [WEIR_DEVICE_MEMSET_3D_ASYNC] = memset_3d_async,
    [WEIR_DEVICE_MALLOC] = heap_malloc,
    [WEIR_DEVICE_FREE] = heap_free,
    [WEIR_DEVICE_DEVICE_GET_ATTRIBUTE] = device_get_attribute,
    [WEIR_DEVICE_DEVICE_GET_LIMIT] = device_get_limit,
    [WEIR_DEVICE_DEVICE_GET_CACHE_CONFIG] = device_get_cache_config,
    [WEIR_DEVICE_DEVICE_GET_SHARED_MEM_CONFIG] = device_get_shared_mem_config,
    [WEIR_DEVICE_RUNTIME_GET_VERSION] = runtime_get_version,
    [WEIR_DEVICE_FUNC_GET_ATTRIBUTES] = func_get_attributes,
    [WEIR_DEVICE_OCCUPANCY] = occupancy,
    [WEIR_DEVICE_OCCUPANCY_WITH_FLAGS] = occupancy,
    [WEIR_DEVICE_GET_DEVICE] = get_device,
    [WEIR_DEVICE_GET_DEVICE_COUNT] = get_device_count,
};

/* ---- the service ---- */

/* The lane's arguments; each has rows of 32 words, or of 32 long ones. */
static void unpack(struct call *c, const char *arguments, const uint32_t *rows)
{
    unsigned n = 0;

    for (; *arguments; arguments++) {
        uint32_t bytes, pieces = weir_ptx_device_call_pieces(*arguments, &bytes);

        for (; pieces && n < ARGUMENTS_MAX; pieces--, rows += 8 * bytes) {
            c->a[n] = 0;
            memcpy(&c->a[n++], rows + c->lane * (bytes / 4), bytes); /* little-endian */
        }
    }
}

void weir_nested_call(struct weir_block *block, uint32_t lanes, uint32_t which,
                      const uint32_t *rows, void *results)
{
    const struct weir_ptx_device_call *info = weir_ptx_device_call_info(which);

    for (uint32_t lane = 0; lane < 32; lane++) {
        struct call c = {.block = block, .lane = lane};
        enum weir_err err;

        if (!(lanes >> lane & 1))
            continue;
        unpack(&c, info->arguments, rows);
        err = calls[which](&c);
        if (err != WEIR_OK) {
            weir_log(WEIR_LOG_INFO, "kernel: cuda%s: %s (%s)", info->name, weir_err_name(err),
                     weir_err_message());
            set_error(&c, err);
        }
        if (info->result == 'l')
            ((uint64_t *)results)[lane] = c.result;
        else
            ((uint32_t *)results)[lane] = (uint32_t)(err != WEIR_OK ? (uint64_t)err : c.result);
    }
}
