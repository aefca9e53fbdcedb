/* Execution control: functions and kernels, launches, host functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/exec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/capture.h"
#include "runtime/exec.h"

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
        *pi = 0;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *pi = image->info.explicit_cluster && image->info.cluster[0] == 0;
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *pi =
            weir_rt_required_cluster(image, (int)attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *pi = atomic_load(&image->nonportable_cluster);
        return WEIR_OK;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *pi = atomic_load(&image->cluster_policy);
        return WEIR_OK;
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
    return weir_rt_function_attribute_set(ctx, image, (int)attrib, value, "cuFuncSetAttribute");
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
    return weir_rt_function_attribute_set(ctx, image, (int)attrib, val, "cuFuncSetAttribute");
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

static enum weir_err start(struct weir_function *f, struct weir_stream *s,
                           const struct weir_launch_config *config, void **args,
                           const struct weir_rt_launch_events *events)
{
    return events ? weir_rt_launch_with_events(f, s, config, args, events)
                  : weir_launch_kernel(f, s, config, args);
}

static enum weir_err launch_buffer(struct weir_function *f, struct weir_stream *s,
                                   const struct weir_launch_config *config, void *const *extra,
                                   const struct weir_rt_launch_events *events)
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
    err = start(f, s, config, args, events);
    if (args != stack)
        weir_free(args);
    return err;
}

static enum weir_err launch(CUfunction handle, CUstream stream,
                            const struct weir_launch_config *config, void **params, void **extra,
                            const struct weir_rt_launch_events *events)
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
    return extra ? launch_buffer(f, s, config, extra, events) : start(f, s, config, params, events);
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

    return launch(f, hStream, &c, kernelParams, extra, NULL);
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

    return launch(f, hStream, &c, kernelParams, NULL, NULL);
}

_Static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute) &&
                   offsetof(CUlaunchAttribute, value) == offsetof(cudaLaunchAttribute, val),
               "launch attributes have another form than the runtime's");

/* A policy of synchronisation is a stream's; here it is ignored. */
static enum weir_err apply_attribute(const CUlaunchAttribute *a, struct weir_launch_config *config,
                                     struct weir_rt_launch_events *events)
{
    if (a->id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        return WEIR_OK;
    return weir_rt_launch_attribute((const cudaLaunchAttribute *)a, config, events);
}

enum weir_err weir_drv_LaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                      void **kernelParams, void **extra)
{
    struct weir_rt_launch_events events = {0};
    struct weir_launch_config c;
    struct weir_stream *s;

    DRV_REQUIRE(config);
    c = (struct weir_launch_config){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared_bytes = config->sharedMemBytes,
    };
    if (config->numAttrs && !config->attrs)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u launch attributes at NULL", config->numAttrs);
    DRV_TRY(weir_stream_get(config->hStream, &s));
    events.capturing = weir_capture_is(s);
    for (unsigned i = 0; i < config->numAttrs; i++)
        DRV_TRY(apply_attribute(&config->attrs[i], &c, &events));
    return launch(f, config->hStream, &c, kernelParams, extra, &events);
}

enum weir_err weir_drv_LaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
    struct weir_stream *s;

    DRV_REQUIRE(fn);
    DRV_TRY(weir_stream_get(hStream, &s));
    return weir_launch_host_func(s, fn, userData);
}
