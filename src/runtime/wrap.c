/* The exported functions, made from api/runtime.def: weir_api_cudaNAME for each symbol of
 * libcudart.so.13, weir_api12_cudaNAME for each of libcudart.so.12 that is not the same. What is
 * common to all calls stands here once: may this thread call, is the process started, is the device
 * good, what is the last error. The bodies are in the files named after the documentation's
 * chapters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include "base/log.h"
#include "core/capture.h"
#include "core/core.h"
#include "core/explore.h"
#include "core/inject.h"
#include "check/check.h"
#include "runtime/api.h"
#include "runtime/logs.h"
#include "trace/record.h"

/* ---- guards ---- */

static WEIR_NOINLINE enum weir_err refuse_host_func(void)
{
    if (weir_check_enabled())
        weir_check_host_func_call();
    return WEIR_FAIL(WEIR_ERR_NOT_PERMITTED, "a CUDA call inside a host function or callback");
}

static inline enum weir_err guard_free(void)
{
    return WEIR_OK;
}

static WEIR_ALWAYS_INLINE enum weir_err guard_light(void)
{
    if (WEIR_UNLIKELY(weir_thread.host_func))
        return refuse_host_func();
    return weir_core_enter();
}

static WEIR_NOINLINE enum weir_err guard_call_slow(void)
{
    struct weir_context *ctx;
    enum weir_err err = weir_context_current(&ctx);

    if (err == WEIR_OK)
        atomic_fetch_or(&ctx->active, WEIR_ACTIVE_RUNTIME);
    return err;
}

/* The fast path is four loads: thread, process, device active, device's error. In every wrapper: a
 * call of it would cost more than it does. */
static WEIR_ALWAYS_INLINE enum weir_err guard_call(void)
{
    const struct weir_context *ctx;
    enum weir_err err = guard_light();

    if (WEIR_UNLIKELY(err != WEIR_OK))
        return err;
    ctx = &weir_core.contexts[weir_thread.context];
    weir_thread.bound = true; /* what the runtime uses is current for the driver API, too */
    if (WEIR_LIKELY(
            (atomic_load_explicit(&ctx->active, memory_order_acquire) & WEIR_ACTIVE_RUNTIME) &&
            weir_context_error(ctx) == WEIR_OK))
        return WEIR_OK;
    return guard_call_slow();
}

/* A call that a capture may forbid (CAP-010). */
static inline enum weir_err guard_unsafe(const char *name)
{
    enum weir_err err = guard_call();

    return err == WEIR_OK ? weir_capture_forbid(WEIR_CAPTURE_CALL_UNSAFE, NULL, name) : err;
}

#define GUARD_FREE(name)   guard_free()
#define GUARD_LIGHT(name)  guard_light()
#define GUARD_CALL(name)   guard_call()
#define GUARD_UNSAFE(name) guard_unsafe(name)

/* Usually NULL: one load and a branch that is not taken. */
static _Atomic(const struct weir_api_hook *) hook;

const struct weir_api_hook *weir_api_set_hook(const struct weir_api_hook *new_hook)
{
    return atomic_exchange(&hook, new_hook); /* pairs with the loads below */
}

static WEIR_ALWAYS_INLINE const struct weir_api_hook *hook_enter(enum weir_api_id id,
                                                                 const void *site)
{
    const struct weir_api_hook *h = atomic_load_explicit(&hook, memory_order_acquire);

    if (WEIR_UNLIKELY(h))
        h->enter(id, site);
    return h;
}

static WEIR_ALWAYS_INLINE void hook_leave(const struct weir_api_hook *h, enum weir_api_id id,
                                          enum weir_err err)
{
    if (WEIR_UNLIKELY(h) && h->leave)
        h->leave(id, (int)err);
}

/* cudaErrorNotReady is an answer, not an error: it does not become the last one (oracle
 * stream_query). */
static WEIR_NOINLINE void note_failure(enum weir_err err, const char *call, const void *site)
{
    if (weir_check_enabled())
        weir_check_call_failed(err);
    if (err == WEIR_ERR_NOT_READY)
        return;
    weir_capture_blame(call, site);
    weir_thread.last_error = err;
    weir_rt_log_failure(call, weir_rt_GetErrorName((cudaError_t)err));
}

static inline cudaError_t finish(enum weir_err err, const char *call, const void *site)
{
    if (WEIR_UNLIKELY(err != WEIR_OK))
        note_failure(err, call, site);
    return (cudaError_t)err;
}

static cudaError_t not_supported(const char *name, const void *site)
{
    if (weir_check_enabled())
        weir_check_unsupported(name, site);
    weir_log_unsupported(name, "%s", "");
    return finish(WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "%s is not supported yet", name), name, site);
}

/* ---- wrappers ---- */

/* The public headers must say the same as the table. */
#define CHECK_DONE(name, ret, params)                                                              \
    _Static_assert(_Generic(&cuda##name, ret(*) params : 1, default : 0),                          \
                   "cuda" #name " differs from its prototype");
#define CHECK_TODO(name, ret, params)

#define BODY(symbol, text, id, guard, per_thread, name, params, args)                              \
    WEIR_EXPORT cudaError_t symbol params;                                                         \
    cudaError_t symbol params                                                                      \
    {                                                                                              \
        const struct weir_api_hook *h = hook_enter(id, __builtin_return_address(0));               \
        enum weir_err err = GUARD_##guard(text);                                                   \
        if (weir_inject_enabled() && err == WEIR_OK)                                               \
            err = weir_inject_call(text);                                                          \
        if (WEIR_LIKELY(err == WEIR_OK)) {                                                         \
            const uint64_t before = weir_thread_call_begin(text);                                  \
                                                                                                   \
            weir_thread.ptds = (per_thread);                                                       \
            err = weir_rt_##name args;                                                             \
            weir_thread_call_end(before, err);                                                     \
        }                                                                                          \
        hook_leave(h, id, err);                                                                    \
        return finish(err, text, __builtin_return_address(0));                                     \
    }
#define BODY_VALUE(symbol, ret, name, params, args)                                                \
    WEIR_EXPORT ret symbol params;                                                                 \
    ret symbol params                                                                              \
    {                                                                                              \
        if (weir_check_enabled())                                                                  \
            weir_check_enter("cuda" #name, __builtin_return_address(0));                           \
        return weir_rt_##name args;                                                                \
    }
#define BODY_VOID(symbol, name, params, args)                                                      \
    WEIR_EXPORT void symbol params;                                                                \
    void symbol params                                                                             \
    {                                                                                              \
        weir_rt_##name args;                                                                       \
    }
/* Arguments are not looked at, so their types need not be known here. */
#define BODY_TODO(symbol, text)                                                                    \
    WEIR_EXPORT cudaError_t symbol(void);                                                          \
    cudaError_t symbol(void)                                                                       \
    {                                                                                              \
        return not_supported(text, __builtin_return_address(0));                                   \
    }

#define DONE_NONE(symbol, text, id, guard, name, params, args)                                     \
    BODY(symbol, text, id, guard, false, name, params, args)
#define DONE_PTSZ(symbol, text, id, guard, name, params, args)                                     \
    BODY(symbol, text, id, guard, false, name, params, args)                                       \
    BODY(symbol##_ptsz, text, id##_ptsz, guard, true, name, params, args)
#define DONE_PTDS(symbol, text, id, guard, name, params, args)                                     \
    BODY(symbol, text, id, guard, false, name, params, args)                                       \
    BODY(symbol##_ptds, text, id##_ptds, guard, true, name, params, args)
#define TODO_NONE(symbol, text) BODY_TODO(symbol, text)
#define TODO_PTSZ(symbol, text) BODY_TODO(symbol, text) BODY_TODO(symbol##_ptsz, text "_ptsz")
#define TODO_PTDS(symbol, text) BODY_TODO(symbol, text) BODY_TODO(symbol##_ptds, text "_ptds")

#define ROW_DONE(symbol, text, id, guard, variant, name, params, args)                             \
    DONE_##variant(symbol, text, id, guard, name, params, args)
#define ROW_TODO(symbol, text, id, guard, variant, name, params, args) TODO_##variant(symbol, text)

#define WEIR_API(chapter, status, guard, variant, host, name, params, args)                        \
    CHECK_##status(name, cudaError_t, params)                                                      \
        ROW_##status(weir_api_cuda##name, "cuda" #name, WEIR_API_ID_cuda##name, guard, variant,    \
                     name, params, args)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args)                          \
    CHECK_##status(name, ret, params) BODY_VALUE(weir_api_cuda##name, ret, name, params, args)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)                              \
    ROW_##status(weir_api___cuda##name, "__cuda" #name, WEIR_API_ID___cuda##name, guard, variant,  \
                 internal_##name, params, args)

#define REGISTER_void(name, params, args)                                                          \
    BODY_VOID(weir_api___cuda##name, internal_##name, params, args)
#define REGISTER_char(name, params, args)                                                          \
    BODY_VALUE(weir_api___cuda##name, char, internal_##name, params, args)
/* __cudaPushCallConfiguration: the <<< >>> stands where it is called, not where the kernel's stub
 * launches. */
#define REGISTER_unsigned(name, params, args)                                                      \
    WEIR_EXPORT unsigned weir_api___cuda##name params;                                             \
    unsigned weir_api___cuda##name params                                                          \
    {                                                                                              \
        if (weir_trace_enabled())                                                                  \
            weir_trace_launch_site(__builtin_return_address(0));                                   \
        if (weir_check_enabled())                                                                  \
            weir_check_launch_site(__builtin_return_address(0));                                   \
        if (weir_explore_enabled())                                                                \
            weir_explore_launch_site(__builtin_return_address(0));                                 \
        return weir_rt_internal_##name args;                                                       \
    }
#define REGISTER_binary(name, params, args)                                                        \
    BODY_VALUE(weir_api___cuda##name, binary, internal_##name, params, args)
#define WEIR_API_REGISTER(status, ret, name, params, args) REGISTER_##ret(name, params, args)

/* ---- CUDA 12 ---- */

#define ALIAS(symbol, of)     WEIR_EXPORT extern __typeof__(of) symbol __attribute__((alias(#of)));
#define SAME_NONE(symbol, of) ALIAS(symbol, of)
#define SAME_PTSZ(symbol, of) ALIAS(symbol, of) ALIAS(symbol##_ptsz, of##_ptsz)

#define WEIR_API_12(chapter, status, guard, variant, name, params, args)                           \
    ROW_##status(weir_api12_cuda##name, "cuda" #name " of CUDA 12", WEIR_API_ID_12_cuda##name,     \
                 guard, variant, 12_##name, params, args)
#define WEIR_API_12_SAME(chapter, variant, name, other)                                            \
    SAME_##variant(weir_api12_cuda##name, weir_api_cuda##other)
#define WEIR_API_13(symbol)

#include "runtime.def"
