/* The exported functions, made from api/driver.def: weir_api_cuNAME for each symbol of
 * libcuda.so.1. What is common to all calls stands here once: may this thread call, is the process
 * started, is there a current context and is it good.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/drv.h"

#include "base/log.h"
#include "base/tsan.h"
#include "base/thread.h"
#include "check/check.h"
#include "core/capture.h"
#include "core/explore.h"
#include "core/inject.h"
#include "runtime/logs.h"
#include "runtime/rt.h" /* shared bodies are of the types that the table says */
#include "trace/record.h"

/* ---- guards ---- */

static inline enum weir_err guard_free(void)
{
    return WEIR_OK;
}

/* cuInit or any call of the runtime starts the process; nothing else here does. */
static inline enum weir_err guard_init(void)
{
    uint32_t state = atomic_load_explicit(&weir_core.state, memory_order_acquire);

    if (WEIR_UNLIKELY(weir_thread.host_func) && weir_check_enabled())
        weir_check_host_func_call();
    if (WEIR_UNLIKELY(weir_thread.host_func))
        return WEIR_FAIL(WEIR_ERR_NOT_PERMITTED, "a CUDA call inside a host function or callback");
    if (WEIR_LIKELY(state == WEIR_CORE_READY))
        return WEIR_OK;
    if (state == WEIR_CORE_NEW)
        return WEIR_FAIL(WEIR_ERR_INITIALIZATION_ERROR, "cuInit has not been called");
    if (state == WEIR_CORE_FAILED)
        return WEIR_FAIL(WEIR_ERR_INITIALIZATION_ERROR, "cuInit has failed");
    return weir_core_start();
}

static inline enum weir_err guard_bound(void)
{
    enum weir_err err = guard_init();

    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    if (WEIR_UNLIKELY(!weir_thread.bound))
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "this thread has no current context");
    if (WEIR_UNLIKELY(!atomic_load_explicit(&weir_drv_current()->active, memory_order_acquire)))
        return WEIR_FAIL(WEIR_ERR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
    return WEIR_OK;
}

static inline enum weir_err guard_ctx(void)
{
    enum weir_err err = guard_bound();

    return WEIR_UNLIKELY(err != WEIR_OK) ? err : weir_context_error(weir_drv_current());
}

/* A call that a capture may forbid (CAP-010). */
static inline enum weir_err guard_unsafe(const char *name)
{
    enum weir_err err = guard_ctx();

    return err == WEIR_OK ? weir_capture_forbid(WEIR_CAPTURE_CALL_UNSAFE, NULL, name) : err;
}

#define GUARD_FREE(name)   guard_free()
#define GUARD_INIT(name)   guard_init()
#define GUARD_BOUND(name)  guard_bound()
#define GUARD_CTX(name)    guard_ctx()
#define GUARD_UNSAFE(name) guard_unsafe(name)

/* ---- results ---- */

CUresult weir_drv_result(enum weir_err err)
{
    switch (err) {
    /* Core speaks the runtime's language: what has no number in the driver API is one of these. */
    case WEIR_ERR_INVALID_CONFIGURATION:
    case WEIR_ERR_INVALID_PITCH_VALUE:
    case WEIR_ERR_INVALID_MEMCPY_DIRECTION:
    case WEIR_ERR_INVALID_HOST_POINTER:
    case WEIR_ERR_INVALID_DEVICE_POINTER:
        return CUDA_ERROR_INVALID_VALUE;
    case WEIR_ERR_INVALID_SYMBOL:
    case WEIR_ERR_INVALID_DEVICE_FUNCTION:
        return CUDA_ERROR_NOT_FOUND;
    default:
        return (CUresult)weir_err_driver_code((int)err);
    }
}

static WEIR_NOINLINE void log_failure(const char *name, CUresult result)
{
    const char *error = "?";

    (void)!weir_drv_GetErrorName(result, &error);
    weir_rt_log_failure(name, error);
}

static CUresult finish(const char *name, enum weir_err err, const void *site)
{
    CUresult result = WEIR_LIKELY(err == WEIR_OK) ? CUDA_SUCCESS : weir_drv_result(err);

    if (WEIR_UNLIKELY(err != WEIR_OK) && weir_check_enabled())
        weir_check_capture_failed(err);
    if (WEIR_UNLIKELY(err != WEIR_OK)) {
        weir_capture_blame(name, site);
        if (err != WEIR_ERR_NOT_READY) /* an answer */
            log_failure(name, result);
    }

    if (WEIR_UNLIKELY(weir_log_level() >= WEIR_LOG_DEBUG)) {
        if (err == WEIR_OK)
            weir_log(WEIR_LOG_DEBUG, "[%u] %s", weir_thread_id(), name);
        else
            weir_log(WEIR_LOG_DEBUG, "[%u] %s: %d: %s", weir_thread_id(), name, (int)result,
                     weir_err_message());
    }
    return result;
}

static CUresult not_supported(const char *name, const void *site)
{
    if (weir_check_enabled())
        weir_check_unsupported(name, site);
    weir_log_unsupported(name, "%s", "");
    return finish(name, WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "%s is not supported yet", name), site);
}

/* ---- wrappers ---- */

#define BODY(symbol, text, guard, per_thread, body, params, args)                                  \
    WEIR_EXPORT CUresult symbol params;                                                            \
    CUresult symbol params                                                                         \
    {                                                                                              \
        static _Atomic uint32_t trace_name;                                                        \
        const bool traced = weir_trace_enabled(), explored = weir_explore_enabled();               \
        const bool unseen = weir_check_tells();                                                    \
        enum weir_err err;                                                                         \
                                                                                                   \
        if (explored)                                                                              \
            weir_explore_enter(text, __builtin_return_address(0));                                 \
        if (traced)                                                                                \
            weir_trace_enter(__builtin_return_address(0));                                         \
        if (weir_check_enabled())                                                                  \
            weir_check_enter(text, __builtin_return_address(0));                                   \
        if (unseen) /* see runtime/check_calls.c */                                                \
            weir_tsan_ignore_begin();                                                              \
        err = GUARD_##guard(text);                                                                 \
        if (weir_inject_enabled() && err == WEIR_OK)                                               \
            err = weir_inject_call(text);                                                          \
        if (WEIR_LIKELY(err == WEIR_OK)) {                                                         \
            const uint64_t before = weir_thread_call_begin(text);                                  \
                                                                                                   \
            weir_thread.ptds = (per_thread);                                                       \
            err = body args;                                                                       \
            weir_thread_call_end(before, err);                                                     \
        }                                                                                          \
        if (unseen)                                                                                \
            weir_tsan_ignore_end();                                                                \
        if (traced)                                                                                \
            weir_trace_leave(text, &trace_name, (int)err);                                         \
        if (explored)                                                                              \
            weir_explore_leave(err == WEIR_ERR_NOT_READY);                                         \
        return finish(text, err, __builtin_return_address(0));                                     \
    }
/* Arguments are not looked at, so their types need not be known here. */
#define BODY_TODO(symbol, text)                                                                    \
    WEIR_EXPORT CUresult symbol(void);                                                             \
    CUresult symbol(void)                                                                          \
    {                                                                                              \
        return not_supported(text, __builtin_return_address(0));                                   \
    }

#define DONE_NONE(symbol, text, guard, body, params, args)                                         \
    BODY(symbol, text, guard, false, body, params, args)
#define DONE_PTSZ(symbol, text, guard, body, params, args)                                         \
    BODY(symbol, text, guard, false, body, params, args)                                           \
    BODY(symbol##_ptsz, text "_ptsz", guard, true, body, params, args)
#define DONE_PTDS(symbol, text, guard, body, params, args)                                         \
    BODY(symbol, text, guard, false, body, params, args)                                           \
    BODY(symbol##_ptds, text "_ptds", guard, true, body, params, args)
#define TODO_NONE(symbol, text) BODY_TODO(symbol, text)
#define TODO_PTSZ(symbol, text) BODY_TODO(symbol, text) BODY_TODO(symbol##_ptsz, text "_ptsz")
#define TODO_PTDS(symbol, text) BODY_TODO(symbol, text) BODY_TODO(symbol##_ptds, text "_ptds")

#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, body, params, args)           \
    DONE_##variant(weir_api_cu##symbol, "cu" #symbol, guard, weir_drv_##body, params, args)
#define WEIR_DRV_SHARED(chapter, guard, variant, host, since, name, symbol, body, params, args)    \
    DONE_##variant(weir_api_cu##symbol, "cu" #symbol, guard, weir_rt_##body, params, args)
#define WEIR_DRV_TODO(chapter, variant, why, since, name, symbol)                                  \
    TODO_##variant(weir_api_cu##symbol, "cu" #symbol)
#include "driver.def"
