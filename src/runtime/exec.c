/* Execution control: launches, function attributes, host functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "core/capture.h"
#include "core/launch.h"
#include "runtime/exec.h"

static struct weir_launch_config make_config(dim3 grid, dim3 block, size_t shared, bool cooperative)
{
    return (struct weir_launch_config){
        .grid = {grid.x, grid.y, grid.z},
        .block = {block.x, block.y, block.z},
        .dynamic_shared_bytes = shared,
        .cooperative = cooperative,
    };
}

static enum weir_err launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                            cudaStream_t stream, bool cooperative)
{
    struct weir_launch_config config = make_config(grid, block, shared, cooperative);
    struct weir_function *f;
    struct weir_stream *s;

    RT_TRY(weir_function_find(func, &f));
    RT_TRY(weir_stream_get(stream, &s));
    return weir_launch_kernel(f, s, &config, args);
}

enum weir_err weir_rt_LaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                   size_t sharedMem, cudaStream_t stream)
{
    return launch(func, gridDim, blockDim, args, sharedMem, stream, false);
}

enum weir_err weir_rt_internal_LaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                            void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream, false);
}

enum weir_err weir_rt_LaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                              void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch(func, gridDim, blockDim, args, sharedMem, stream, true);
}

static enum weir_err check_event(cudaEvent_t handle, int flags, bool capturing, cudaEvent_t *out)
{
    struct weir_event *e;

    RT_TRY(weir_event_get(handle, &e));
    if (flags == cudaEventRecordExternal && !capturing)
        return WEIR_FAIL(WEIR_ERR_ILLEGAL_STATE, "cudaEventRecordExternal outside a capture");
    if (flags & ~cudaEventRecordExternal)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a launch's event", (unsigned)flags);
    if (flags || !(e->flags & WEIR_EVENT_DISABLE_TIMING) || (e->flags & WEIR_EVENT_INTERPROCESS))
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED,
                         "an event with timing, or of several processes, as a launch's");
    *out = handle;
    return WEIR_OK;
}

enum weir_err weir_rt_launch_attribute(const cudaLaunchAttribute *a,
                                       struct weir_launch_config *config,
                                       struct weir_rt_launch_events *events)
{
    switch (a->id) {
    case cudaLaunchAttributeCooperative:
        config->cooperative = a->val.cooperative != 0;
        return WEIR_OK;
    case cudaLaunchAttributeClusterDimension:
        config->cluster[0] = a->val.clusterDim.x;
        config->cluster[1] = a->val.clusterDim.y;
        config->cluster[2] = a->val.clusterDim.z;
        if (config->cluster[0] && config->cluster[1] && config->cluster[2])
            return WEIR_OK;
        return WEIR_FAIL(WEIR_ERR_INVALID_CLUSTER_SIZE, "cluster of %u x %u x %u blocks",
                         a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z);
    case cudaLaunchAttributeProgrammaticStreamSerialization: /* core/dependent.h */
        config->programmatic = a->val.programmaticStreamSerializationAllowed != 0;
        return WEIR_OK;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
    case cudaLaunchAttributeNvlinkUtilCentricScheduling:
        return WEIR_OK;
    case cudaLaunchAttributeMemSyncDomain:
        if (a->val.memSyncDomain != cudaLaunchMemSyncDomainDefault &&
            a->val.memSyncDomain != cudaLaunchMemSyncDomainRemote)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory synchronisation domain %d",
                             (int)a->val.memSyncDomain);
        return WEIR_OK;
    case cudaLaunchAttributeProgrammaticEvent:
        events->at_block_start = a->val.programmaticEvent.triggerAtBlockStart != 0;
        return check_event(a->val.programmaticEvent.event, a->val.programmaticEvent.flags,
                           events->capturing, &events->programmatic);
    case cudaLaunchAttributeLaunchCompletionEvent:
        return check_event(a->val.launchCompletionEvent.event, a->val.launchCompletionEvent.flags,
                           events->capturing, &events->completion);
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
        weir_log_unsupported("cudaLaunchAttributeDeviceUpdatableKernelNode", "launch attribute");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "a kernel node that a device may update");
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "launch attribute %d", (int)a->id);
    }
}

static enum weir_err record(struct weir_stream *s, cudaEvent_t handle, enum weir_launch_event event,
                            bool capturing)
{
    struct weir_event *e;

    if (!handle)
        return WEIR_OK;
    RT_TRY(weir_event_get(handle, &e));
    return capturing ? weir_capture_record_launch(s, e, event) : weir_event_record(e, s, false);
}

/* Those whose place is in front of the kernel, or behind it; in a capture all are behind, and what
 * waits for them gets edges with data (GRA-004). */
static enum weir_err record_side(struct weir_stream *s, const struct weir_rt_launch_events *events,
                                 bool in_front)
{
    enum weir_launch_event programmatic =
        events->at_block_start ? WEIR_LAUNCH_PROGRAMMATIC_AT_START : WEIR_LAUNCH_PROGRAMMATIC;
    bool first =
        !events->capturing && weir_model_launch_event_rule(WEIR_LAUNCH_COMPLETION).in_front;
    bool second = !events->capturing && weir_model_launch_event_rule(programmatic).in_front;

    if (first == in_front)
        RT_TRY(record(s, events->completion, WEIR_LAUNCH_COMPLETION, events->capturing));
    return second == in_front ? record(s, events->programmatic, programmatic, events->capturing)
                              : WEIR_OK;
}

enum weir_err weir_rt_launch_with_events(struct weir_function *f, struct weir_stream *s,
                                         const struct weir_launch_config *c, void **args,
                                         const struct weir_rt_launch_events *events)
{
    if (!events->completion && !events->programmatic)
        return weir_launch_kernel(f, s, c, args);
    RT_TRY(record_side(s, events, true));
    RT_TRY(weir_launch_kernel(f, s, c, args));
    return record_side(s, events, false);
}

enum weir_err weir_rt_LaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                      void **args)
{
    struct weir_rt_launch_events events = {0};
    struct weir_launch_config c;
    struct weir_function *f;
    struct weir_stream *s;

    RT_REQUIRE(config);
    c = make_config(config->gridDim, config->blockDim, config->dynamicSmemBytes, false);
    if (config->numAttrs && !config->attrs)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u launch attributes at NULL", config->numAttrs);
    RT_TRY(weir_stream_get(config->stream, &s));
    events.capturing = weir_capture_is(s);
    for (unsigned i = 0; i < config->numAttrs; i++)
        RT_TRY(weir_rt_launch_attribute(&config->attrs[i], &c, &events));
    RT_TRY(weir_function_find(func, &f));
    return weir_rt_launch_with_events(f, s, &c, args, &events);
}

enum weir_err weir_rt_LaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    struct weir_stream *s;

    RT_REQUIRE(fn);
    RT_TRY(weir_stream_get(stream, &s));
    return weir_launch_host_func(s, fn, userData);
}

/* ---- functions ---- */

static enum weir_err find_image(const void *func, struct weir_function **f,
                                struct weir_context **ctx, struct weir_function_image **image)
{
    RT_TRY(weir_function_find(func, f));
    RT_TRY(weir_context_current(ctx));
    return weir_function_image(*f, *ctx, image);
}

int weir_rt_required_cluster(const struct weir_function_image *image, int axis)
{
    return image->info.cluster[0] ? (int)image->info.cluster[axis]
                                  : atomic_load(&image->required_cluster[axis]);
}

enum weir_err weir_rt_FuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_REQUIRE(attr);
    RT_TRY(find_image(func, &f, &ctx, &image));
    memset(attr, 0, sizeof *attr);
    attr->sharedSizeBytes = image->info.static_shared_bytes;
    attr->constSizeBytes = image->info.const_bytes;
    attr->localSizeBytes = image->info.local_bytes;
    attr->maxThreadsPerBlock = image->info.max_threads;
    attr->numRegs = image->info.registers;
    attr->ptxVersion = image->info.sm;
    attr->binaryVersion = ctx->profile->major * 10 + ctx->profile->minor;
    attr->maxDynamicSharedSizeBytes = atomic_load(&image->max_dynamic_shared);
    attr->preferredShmemCarveout = atomic_load(&image->carveout);
    attr->clusterDimMustBeSet =
        image->info.explicit_cluster && image->info.cluster[0] == 0; /* by the launch */
    attr->requiredClusterWidth = weir_rt_required_cluster(image, 0);
    attr->requiredClusterHeight = weir_rt_required_cluster(image, 1);
    attr->requiredClusterDepth = weir_rt_required_cluster(image, 2);
    attr->nonPortableClusterSizeAllowed = atomic_load(&image->nonportable_cluster);
    attr->clusterSchedulingPolicyPreference = atomic_load(&image->cluster_policy);
    return WEIR_OK;
}

enum weir_err weir_rt_function_attribute_set(struct weir_context *ctx,
                                             struct weir_function_image *image, int attr, int value,
                                             const char *call)
{
    int optin = 0;

    switch (attr) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        weir_context_attribute(ctx, WEIR_ATTR_MAX_SHARED_OPTIN, &optin);
        if (value < 0 || value > optin - (int)image->info.static_shared_bytes)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "%d bytes of dynamic shared memory, at most %d", value,
                             optin - (int)image->info.static_shared_bytes);
        atomic_store(&image->max_dynamic_shared, value);
        return WEIR_OK;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "carve-out of %d per cent", value);
        atomic_store(&image->carveout, value);
        return WEIR_OK;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
        if (value < 0 || image->info.cluster[0]) /* those of the kernel itself cannot change */
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%s: cluster of %d blocks", call, value);
        atomic_store(&image->required_cluster[attr - cudaFuncAttributeRequiredClusterWidth], value);
        return WEIR_OK;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        atomic_store(&image->nonportable_cluster, value != 0);
        return WEIR_OK;
    case cudaFuncAttributeClusterSchedulingPolicyPreference: /* a hint */
        if (value < cudaClusterSchedulingPolicyDefault ||
            value > cudaClusterSchedulingPolicyLoadBalancing)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cluster scheduling policy %d", value);
        atomic_store(&image->cluster_policy, value);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "function attribute %d", attr);
    }
}

enum weir_err weir_rt_FuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_TRY(find_image(func, &f, &ctx, &image));
    return weir_rt_function_attribute_set(ctx, image, (int)attr, value, "cudaFuncSetAttribute");
}

enum weir_err weir_rt_KernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
                                                  int value, int device)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_TRY(weir_function_find(kernel, &f));
    RT_TRY(weir_context_get(device, &ctx));
    RT_TRY(weir_function_image(f, ctx, &image));
    return weir_rt_function_attribute_set(ctx, image, (int)attr, value, "cudaFuncSetAttribute");
}

enum weir_err weir_rt_FuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    if ((unsigned)cacheConfig > cudaFuncCachePreferEqual)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cache configuration %d", (int)cacheConfig);
    RT_TRY(find_image(func, &f, &ctx, &image));
    atomic_store(&image->cache_config, (int)cacheConfig); /* a hint */
    return WEIR_OK;
}

enum weir_err weir_rt_FuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    struct weir_function *f;

    if ((unsigned)config > cudaSharedMemBankSizeEightByte)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "shared memory configuration %d", (int)config);
    return weir_function_find(func, &f); /* banks are a hint, gone since capability 5.0 */
}

enum weir_err weir_rt_FuncGetName(const char **name, const void *func)
{
    struct weir_function *f;

    RT_REQUIRE(name);
    RT_TRY(weir_function_find(func, &f));
    *name = f->name;
    return WEIR_OK;
}

enum weir_err weir_rt_FuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                       size_t *paramSize)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_REQUIRE(paramOffset);
    RT_TRY(find_image(func, &f, &ctx, &image));
    if (paramIndex >= image->info.param_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "parameter %zu of %u", paramIndex,
                         image->info.param_count);
    *paramOffset = image->param_offsets[paramIndex];
    if (paramSize)
        *paramSize = image->param_bytes[paramIndex];
    return WEIR_OK;
}

enum weir_err weir_rt_GetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    struct weir_function *f;

    RT_REQUIRE(functionPtr);
    RT_TRY(weir_function_find(symbolPtr, &f));
    RT_TRY(weir_function_handle(f));
    *functionPtr = (cudaFunction_t)f;
    return WEIR_OK;
}

enum weir_err weir_rt_GetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    struct weir_function *f;

    RT_REQUIRE(kernelPtr);
    RT_TRY(weir_function_find(entryFuncAddr, &f));
    RT_TRY(weir_function_handle(f));
    *kernelPtr = (cudaKernel_t)f;
    return WEIR_OK;
}

enum weir_err weir_rt_internal_GetKernel(cudaKernel_t *kernel, const void *hostFun)
{
    return weir_rt_GetKernel(kernel, hostFun);
}
