/* Primary contexts, created contexts, and what a context says about itself. The current context of
 * a thread is in core/thread.h, so that the runtime and this API see the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "core/capture.h"
#include "driver/drv.h"

#define API_VERSION       13000
#define LEAST_PRIORITY    0
#define GREATEST_PRIORITY (-5)
#define STACK_MAX         (512u << 10) /* as cudaDeviceSetLimit */
#define PRINTF_MIN        524288u

static inline CUcontext handle_of(struct weir_context *ctx)
{
    return (CUcontext)ctx;
}

enum weir_err weir_drv_context(CUcontext handle, struct weir_context **out)
{
    *out = handle ? weir_context_check(handle) : NULL;
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "%p is no context", (void *)handle);
}

/* ---- primary contexts ---- */

/* The runtime's use is not counted (WEIR_ACTIVE_RUNTIME): what it has begun stays until it is
 * reset.
 */

static enum weir_err check_flags(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;

    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK || (schedule & (schedule - 1)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "context flags %#x", flags);
    return WEIR_OK;
}

enum weir_err weir_drv_DevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct weir_context *ctx;

    DRV_REQUIRE(pctx);
    DRV_TRY(weir_drv_check_device(dev));
    atomic_fetch_add(&weir_core.contexts[dev].retained, 1);
    if (weir_context_get(dev, &ctx) != WEIR_OK) {
        atomic_fetch_sub(&ctx->retained, 1);
        return weir_context_error(ctx) != WEIR_OK ? weir_context_error(ctx)
                                                  : WEIR_ERR_MEMORY_ALLOCATION;
    }
    *pctx = handle_of(ctx);
    return WEIR_OK;
}

/* What is in it ends; threads to which it is current get CONTEXT_IS_DESTROYED, until it is begun
 * anew. */
enum weir_err weir_drv_DevicePrimaryCtxReset(CUdevice dev)
{
    struct weir_context *ctx;

    DRV_TRY(weir_drv_check_device(dev));
    ctx = &weir_core.contexts[dev];
    DRV_TRY(weir_context_reset(ctx));
    if (weir_context_error(ctx) == WEIR_OK)
        atomic_store(&ctx->active, 0);
    return WEIR_OK;
}

enum weir_err weir_drv_DevicePrimaryCtxRelease(CUdevice dev)
{
    struct weir_context *ctx;
    int held;

    DRV_TRY(weir_drv_check_device(dev));
    ctx = &weir_core.contexts[dev];
    held = atomic_load(&ctx->retained);
    do {
        if (held == 0)
            return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED,
                             "the primary context of device %d is not retained", dev);
    } while (!atomic_compare_exchange_weak(&ctx->retained, &held, held - 1));
    if (held > 1 || atomic_load(&ctx->active) & WEIR_ACTIVE_RUNTIME)
        return WEIR_OK;
    return weir_drv_DevicePrimaryCtxReset(dev);
}

enum weir_err weir_drv_DevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(check_flags(flags));
    atomic_store(&weir_core.contexts[dev].flags, flags);
    return WEIR_OK;
}

enum weir_err weir_drv_DevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    DRV_REQUIRE(flags);
    DRV_REQUIRE(active);
    DRV_TRY(weir_drv_check_device(dev));
    *flags = atomic_load(&weir_core.contexts[dev].flags);
    *active = atomic_load(&weir_core.contexts[dev].active) != 0;
    return WEIR_OK;
}

/* ---- created contexts ---- */

enum weir_err weir_drv_CtxCreateV2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    struct weir_context *ctx;
    enum weir_err err;

    DRV_REQUIRE(pctx);
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(check_flags(flags));
    DRV_TRY(weir_context_create(dev, flags, &ctx));
    err = weir_thread_push_context(ctx->index);
    if (err != WEIR_OK) {
        (void)!weir_context_destroy(ctx); /* created just now */
        return err;
    }
    *pctx = handle_of(ctx);
    return WEIR_OK;
}

static enum weir_err refuse_affinity(const CUexecAffinityParam *params, int count)
{
    if (!count && !params)
        return WEIR_OK;
    weir_log_unsupported("execution affinity of a context", "cuCtxCreate");
    return WEIR_FAIL(WEIR_ERR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity");
}

enum weir_err weir_drv_CtxCreateV3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                   unsigned int flags, CUdevice dev)
{
    DRV_TRY(refuse_affinity(paramsArray, numParams));
    return weir_drv_CtxCreateV2(pctx, flags, dev);
}

enum weir_err weir_drv_CtxCreate(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                 unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams) {
        DRV_TRY(refuse_affinity(ctxCreateParams->execAffinityParams,
                                ctxCreateParams->numExecAffinityParams));
        if (ctxCreateParams->cigParams) {
            weir_log_unsupported("CUDA in graphics", "cuCtxCreate");
            return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "CUDA in graphics");
        }
    }
    return weir_drv_CtxCreateV2(pctx, flags, dev);
}

enum weir_err weir_drv_CtxDestroy(CUcontext ctx)
{
    struct weir_context *c;

    DRV_TRY(weir_drv_context(ctx, &c));
    if (c->index == c->ordinal)
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED,
                         "a primary context is released, not destroyed");
    DRV_TRY(weir_context_destroy(c));
    if (weir_thread.bound && weir_thread.context == c->index)
        weir_thread_pop_context();
    return WEIR_OK;
}

/* ---- the current one ---- */

enum weir_err weir_drv_CtxPushCurrent(CUcontext ctx)
{
    struct weir_context *c;

    DRV_TRY(weir_drv_context(ctx, &c));
    return weir_thread_push_context(c->index);
}

enum weir_err weir_drv_CtxPopCurrent(CUcontext *pctx)
{
    if (!weir_thread.bound)
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "this thread has no current context");
    if (pctx)
        *pctx = handle_of(weir_drv_current());
    weir_thread_pop_context();
    return WEIR_OK;
}

enum weir_err weir_drv_CtxSetCurrent(CUcontext ctx)
{
    struct weir_context *c;

    if (!ctx) {
        if (weir_thread.bound)
            weir_thread_pop_context();
        return WEIR_OK;
    }
    DRV_TRY(weir_drv_context(ctx, &c));
    weir_thread_set_context(c->index);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetCurrent(CUcontext *pctx)
{
    DRV_REQUIRE(pctx);
    *pctx = weir_thread.bound ? handle_of(weir_drv_current()) : NULL;
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetDevice(CUdevice *device)
{
    DRV_REQUIRE(device);
    *device = weir_drv_current()->ordinal;
    return WEIR_OK;
}

/* NULL is the current one. */
static enum weir_err given_or_current(CUcontext handle, struct weir_context **out)
{
    if (handle)
        return weir_drv_context(handle, out);
    if (!weir_thread.bound)
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "this thread has no current context");
    *out = weir_drv_current();
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetDeviceV2(CUdevice *device, CUcontext ctx)
{
    struct weir_context *c;

    DRV_REQUIRE(device);
    DRV_TRY(given_or_current(ctx, &c));
    *device = c->ordinal;
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct weir_context *c;

    DRV_REQUIRE(version);
    DRV_TRY(given_or_current(ctx, &c));
    *version = API_VERSION;
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct weir_context *c;

    DRV_REQUIRE(ctxId);
    DRV_TRY(given_or_current(ctx, &c));
    *ctxId = c->id;
    return WEIR_OK;
}

/* No context is limited to a part of its device (cuDeviceGetExecAffinitySupport). */
enum weir_err weir_drv_CtxGetExecAffinity(CUexecAffinityParam *pExecAffinity,
                                          CUexecAffinityType type)
{
    DRV_REQUIRE(pExecAffinity);
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "affinity of type %d", (int)type);
    return WEIR_FAIL(WEIR_ERR_UNSUPPORTED_EXEC_AFFINITY, "no context has an affinity");
}

enum weir_err weir_drv_CtxSynchronize(void)
{
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_DEVICE_WAIT, NULL, "cuCtxSynchronize"));
    return weir_wait_device(weir_drv_current());
}

enum weir_err weir_drv_CtxSynchronizeV2(CUcontext ctx)
{
    struct weir_context *c;

    DRV_TRY(given_or_current(ctx, &c));
    return atomic_load(&c->active) ? weir_wait_device(c) : WEIR_OK;
}

/* ---- what it says about itself ---- */

enum weir_err weir_drv_CtxGetFlags(unsigned int *flags)
{
    DRV_REQUIRE(flags);
    *flags = atomic_load(&weir_drv_current()->flags) | CU_CTX_MAP_HOST; /* mapping is always on */
    return WEIR_OK;
}

enum weir_err weir_drv_CtxSetFlags(unsigned int flags)
{
    DRV_TRY(check_flags(flags));
    atomic_store(&weir_drv_current()->flags, flags);
    return WEIR_OK;
}

static enum weir_err check_limit(CUlimit limit)
{
    if ((unsigned)limit >= WEIR_LIMIT_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "limit %d", (int)limit);
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)
        return WEIR_FAIL(WEIR_ERR_UNSUPPORTED_LIMIT,
                         "synchronisation depth of kernels that launch kernels");
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetLimit(size_t *pvalue, CUlimit limit)
{
    DRV_REQUIRE(pvalue);
    DRV_TRY(check_limit(limit));
    *pvalue = atomic_load(&weir_drv_current()->limits[limit]);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxSetLimit(CUlimit limit, size_t value)
{
    struct weir_context *ctx = weir_drv_current();

    DRV_TRY(check_limit(limit));
    if (limit == CU_LIMIT_STACK_SIZE && value > STACK_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stack of %zu bytes a thread", value);
    if (limit == CU_LIMIT_PRINTF_FIFO_SIZE && value < PRINTF_MIN)
        value = PRINTF_MIN;
    if (limit == CU_LIMIT_STACK_SIZE && value > atomic_load(&ctx->limits[limit]))
        DRV_TRY(weir_wait_device(ctx)); /* as cudaDeviceSetLimit */
    atomic_store(&ctx->limits[limit], value);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetCacheConfig(CUfunc_cache *pconfig)
{
    DRV_REQUIRE(pconfig);
    *pconfig = (CUfunc_cache)atomic_load(&weir_drv_current()->cache_config);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxSetCacheConfig(CUfunc_cache config)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cache configuration %d", (int)config);
    atomic_store(&weir_drv_current()->cache_config, (uint32_t)config);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    DRV_REQUIRE(pConfig);
    *pConfig = (CUsharedconfig)atomic_load(&weir_drv_current()->shared_config);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxSetSharedMemConfig(CUsharedconfig config)
{
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "shared memory configuration %d", (int)config);
    atomic_store(&weir_drv_current()->shared_config, (uint32_t)config);
    return WEIR_OK;
}
