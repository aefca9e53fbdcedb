/* Execution control: functions and kernels, launches, host functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/exec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

enum weir_err weir_drv_function(const void *handle, struct weir_function **f)
{
    if (!handle)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "a function that is NULL");
    return weir_function_find(handle, f);
}

enum weir_err weir_drv_image(const void *handle, struct weir_context **ctx,
                             struct weir_function_image **image)
{
    struct weir_function *f;

    DRV_TRY(weir_drv_function(handle, &f));
    *ctx = f->module->home;
    if (!*ctx)
        DRV_TRY(weir_context_current(ctx));
    return weir_function_image(f, *ctx, image);
}

/* ---- attributes ---- */

static enum weir_err get_attribute(int *pi, CUfunction_attribute attrib,
                                   const struct weir_context *ctx,
                                   const struct weir_function_image *image)
{
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *pi = image->info.max_threads;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *pi = (int)image->info.static_shared_bytes;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *pi = (int)image->info.const_bytes;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *pi = (int)image->info.local_bytes;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *pi = image->info.registers;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *pi = image->info.sm;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *pi = ctx->profile->major * 10 + ctx->profile->minor;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *pi = atomic_load(&image->max_dynamic_shared);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *pi = atomic_load(&image->carveout);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *pi = 0;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "function attribute %d", (int)attrib);
    }
}

static enum weir_err set_attribute(CUfunction_attribute attrib, int value, struct weir_context *ctx,
                                   struct weir_function_image *image)
{
    int optin = 0, room;

    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        weir_context_attribute(ctx, WEIR_ATTR_MAX_SHARED_OPTIN, &optin);
        room = optin - (int)image->info.static_shared_bytes;
        if (value < 0 || value > room)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "%d bytes of dynamic shared memory, at most %d", value, room);
        atomic_store(&image->max_dynamic_shared, value);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "carve-out of %d per cent", value);
        atomic_store(&image->carveout, value);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value == 0)
            return WEIR_OK;
        weir_log_unsupported("clusters of blocks", "cuFuncSetAttribute %d", (int)attrib);
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "clusters of blocks");
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "function attribute %d", (int)attrib);
    }
}

enum weir_err weir_drv_FuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_REQUIRE(pi);
    DRV_TRY(weir_drv_image(hfunc, &ctx, &image));
    return get_attribute(pi, attrib, ctx, image);
}

enum weir_err weir_drv_FuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(weir_drv_image(hfunc, &ctx, &image));
    return set_attribute(attrib, value, ctx, image);
}

/* A kernel's attributes are a device's: its primary context stands for it. */
static enum weir_err kernel_image(CUkernel kernel, CUdevice dev, struct weir_context **ctx,
                                  struct weir_function_image **image)
{
    struct weir_function *f;

    DRV_TRY(weir_drv_function(kernel, &f));
    DRV_TRY(weir_drv_check_device(dev));
    *ctx = weir_drv_current();
    if (!weir_thread.bound || (*ctx)->ordinal != dev)
        DRV_TRY(weir_context_get(dev, ctx));
    return weir_function_image(f, *ctx, image);
}

enum weir_err weir_drv_KernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                          CUdevice dev)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_REQUIRE(pi);
    DRV_TRY(kernel_image(kernel, dev, &ctx, &image));
    return get_attribute(pi, attrib, ctx, image);
}

enum weir_err weir_drv_KernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                          CUdevice dev)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(kernel_image(kernel, dev, &ctx, &image));
    return set_attribute(attrib, val, ctx, image);
}

static enum weir_err set_cache(struct weir_function_image *image, CUfunc_cache config)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cache configuration %d", (int)config);
    atomic_store(&image->cache_config, (int)config); /* a hint */
    return WEIR_OK;
}

enum weir_err weir_drv_KernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(kernel_image(kernel, dev, &ctx, &image));
    return set_cache(image, config);
}

enum weir_err weir_drv_FuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(weir_drv_image(hfunc, &ctx, &image));
    return set_cache(image, config);
}

enum weir_err weir_drv_FuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct weir_function *f;

    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "shared memory configuration %d", (int)config);
    return weir_drv_function(hfunc, &f); /* banks are a hint, gone since capability 5.0 */
}

enum weir_err weir_drv_FuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct weir_function *f;

    DRV_REQUIRE(hmod);
    DRV_TRY(weir_drv_function(hfunc, &f));
    *hmod = (CUmodule)f->module;
    return WEIR_OK;
}

enum weir_err weir_drv_FuncGetName(const char **name, CUfunction hfunc)
{
    struct weir_function *f;

    DRV_REQUIRE(name);
    DRV_TRY(weir_drv_function(hfunc, &f));
    *name = f->name;
    return WEIR_OK;
}

static enum weir_err param_info(const struct weir_function_image *image, size_t index,
                                size_t *offset, size_t *size)
{
    DRV_REQUIRE(offset);
    if (index >= image->info.param_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "parameter %zu of %u", index,
                         image->info.param_count);
    *offset = image->param_offsets[index];
    if (size)
        *size = image->param_bytes[index];
    return WEIR_OK;
}

enum weir_err weir_drv_FuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                        size_t *paramSize)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(weir_drv_image(func, &ctx, &image));
    return param_info(image, paramIndex, paramOffset, paramSize);
}

enum weir_err weir_drv_KernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                          size_t *paramSize)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_TRY(
        kernel_image(kernel, weir_thread.bound ? weir_drv_current()->ordinal : 0, &ctx, &image));
    return param_info(image, paramIndex, paramOffset, paramSize);
}

enum weir_err weir_drv_FuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    _Atomic(struct weir_function_image *) *images;
    struct weir_function *f;

    DRV_REQUIRE(state);
    DRV_TRY(weir_drv_function(function, &f));
    images = atomic_load(&f->images);
    *state = images && weir_thread.bound && atomic_load(&images[weir_thread.context])
                 ? CU_FUNCTION_LOADING_STATE_LOADED
                 : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return WEIR_OK;
}

enum weir_err weir_drv_FuncLoad(CUfunction function)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    return weir_drv_image(function, &ctx, &image);
}

/* ---- launches ---- */

#define ARGS_INLINE 32

/* `extra` as documented: keys and values up to CU_LAUNCH_PARAM_END. */
static enum weir_err read_extra(void *const *extra, const char **buffer, size_t *bytes)
{
    bool have_bytes = false;

    *buffer = NULL;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            *buffer = extra[1];
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1]) {
            *bytes = *(const size_t *)extra[1];
            have_bytes = true;
        } else {
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch option %p", *extra);
        }
    }
    if (!*buffer || !have_bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a buffer of arguments without place or size");
    return WEIR_OK;
}

static enum weir_err launch_buffer(struct weir_function *f, struct weir_stream *s,
                                   const struct weir_launch_config *config, void *const *extra)
{
    void *stack[ARGS_INLINE], **args = stack;
    struct weir_function_image *image;
    const char *buffer;
    size_t bytes = 0;
    enum weir_err err;

    DRV_TRY(read_extra(extra, &buffer, &bytes));
    DRV_TRY(weir_function_image(f, s->ctx, &image));
    if (bytes < image->info.param_bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%zu bytes of arguments, %s has %zu", bytes,
                         f->name, image->info.param_bytes);
    if (image->info.param_count > ARGS_INLINE)
        args = weir_calloc(image->info.param_count, sizeof *args);
    if (!args)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "arguments of %s", f->name);
    for (uint32_t i = 0; i < image->info.param_count; i++)
        args[i] = (void *)(uintptr_t)(buffer + image->param_offsets[i]);
    err = weir_launch_kernel(f, s, config, args);
    if (args != stack)
        weir_free(args);
    return err;
}

static enum weir_err record(CUevent event, CUstream stream)
{
    struct weir_stream *s;
    struct weir_event *e;

    if (!event)
        return WEIR_OK;
    DRV_TRY(weir_event_get(event, &e));
    DRV_TRY(weir_stream_get(stream, &s));
    return weir_event_record(e, s, false);
}

static enum weir_err launch(CUfunction handle, CUstream stream,
                            const struct weir_launch_config *config, void **params, void **extra)
{
    struct weir_function *f;
    struct weir_stream *s;

    DRV_TRY(weir_drv_function(handle, &f));
    DRV_TRY(weir_stream_get(stream, &s));
    if (f->module->home && f->module->home != s->ctx)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                         "function %s and the stream are of two contexts", f->name);
    if (params && extra)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "arguments of %s given in two ways", f->name);
    return extra ? launch_buffer(f, s, config, extra) : weir_launch_kernel(f, s, config, params);
}

enum weir_err weir_drv_LaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                    unsigned int gridDimZ, unsigned int blockDimX,
                                    unsigned int blockDimY, unsigned int blockDimZ,
                                    unsigned int sharedMemBytes, CUstream hStream,
                                    void **kernelParams, void **extra)
{
    const struct weir_launch_config c = {.grid = {gridDimX, gridDimY, gridDimZ},
                                         .block = {blockDimX, blockDimY, blockDimZ},
                                         .dynamic_shared_bytes = sharedMemBytes};

    return launch(f, hStream, &c, kernelParams, extra);
}

enum weir_err weir_drv_LaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                               unsigned int gridDimY, unsigned int gridDimZ,
                                               unsigned int blockDimX, unsigned int blockDimY,
                                               unsigned int blockDimZ, unsigned int sharedMemBytes,
                                               CUstream hStream, void **kernelParams)
{
    const struct weir_launch_config c = {.grid = {gridDimX, gridDimY, gridDimZ},
                                         .block = {blockDimX, blockDimY, blockDimZ},
                                         .dynamic_shared_bytes = sharedMemBytes,
                                         .cooperative = true};

    return launch(f, hStream, &c, kernelParams, NULL);
}

/* What the attributes of a launch ask for beside the configuration. */
struct launch_events {
    CUevent programmatic, completion;
};

static enum weir_err check_event(CUevent handle, int flags, CUevent *out)
{
    struct weir_event *e;

    DRV_TRY(weir_event_get(handle, &e));
    if (flags == CU_EVENT_RECORD_EXTERNAL)
        return WEIR_FAIL(WEIR_ERR_ILLEGAL_STATE, "CU_EVENT_RECORD_EXTERNAL outside a capture");
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a launch's event", (unsigned)flags);
    if (!(e->flags & WEIR_EVENT_DISABLE_TIMING) || (e->flags & WEIR_EVENT_INTERPROCESS))
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                         "an event with timing, or of several processes, as a launch's");
    *out = handle;
    return WEIR_OK;
}

/* As the runtime's: what only hints is ignored, what changes the launch is refused by name. */
static enum weir_err apply_attribute(const CUlaunchAttribute *a, struct weir_launch_config *config,
                                     struct launch_events *events)
{
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        config->cooperative = a->value.cooperative != 0;
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (a->value.clusterDim.x == 1 && a->value.clusterDim.y == 1 && a->value.clusterDim.z == 1)
            return WEIR_OK;
        return WEIR_FAIL(WEIR_ERR_INVALID_CLUSTER_SIZE, "cluster of %u x %u x %u blocks",
                         a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z);
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        if (a->value.memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT &&
            a->value.memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory synchronisation domain %d",
                             (int)a->value.memSyncDomain);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        return check_event(a->value.programmaticEvent.event, a->value.programmaticEvent.flags,
                           &events->programmatic);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return check_event(a->value.launchCompletionEvent.event,
                           a->value.launchCompletionEvent.flags, &events->completion);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        weir_log_unsupported("CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE",
                             "launch attribute");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a kernel node that a device may update");
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch attribute %d", (int)a->id);
    }
}

enum weir_err weir_drv_LaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                      void **kernelParams, void **extra)
{
    struct launch_events events = {0};
    struct weir_launch_config c;

    DRV_REQUIRE(config);
    c = (struct weir_launch_config){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared_bytes = config->sharedMemBytes,
    };
    if (config->numAttrs && !config->attrs)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u launch attributes at NULL", config->numAttrs);
    for (unsigned i = 0; i < config->numAttrs; i++)
        DRV_TRY(apply_attribute(&config->attrs[i], &c, &events));
    /* A launch completion event says that the kernel has begun; a programmatic one is complete when
     * the kernel is (oracle pdl_event_attr, runtime/exec.c). */
    DRV_TRY(record(events.completion, config->hStream));
    DRV_TRY(launch(f, config->hStream, &c, kernelParams, extra));
    return record(events.programmatic, config->hStream);
}

enum weir_err weir_drv_LaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct weir_stream *s;

    DRV_REQUIRE(fn);
    DRV_TRY(weir_stream_get(hStream, &s));
    return weir_launch_host_func(s, fn, userData);
}
