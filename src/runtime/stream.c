/* Stream management.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/managed.h"
#include "core/capture.h"
#include "core/launch.h"
#include "memory/memory.h"
#include "runtime/rt.h"

#include "check/check.h"

#define GREATEST_PRIORITY (-5)

enum weir_err weir_rt_StreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                               int priority)
{
    struct weir_context *ctx;
    struct weir_stream *s;

    RT_REQUIRE(pStream);
    if (flags & ~(unsigned)cudaStreamNonBlocking)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream flags %#x", flags);
    RT_TRY(weir_context_current(&ctx));
    if (weir_check_enabled() && (priority > 0 || priority < GREATEST_PRIORITY))
        weir_check_clamped(priority, priority > 0 ? 0 : GREATEST_PRIORITY);
    priority = priority > 0 ? 0 : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
    RT_TRY(weir_stream_create(ctx, flags ? WEIR_STREAM_NONBLOCKING : WEIR_STREAM_BLOCKING, flags,
                              priority, &s));
    *pStream = (cudaStream_t)s;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return weir_rt_StreamCreateWithPriority(pStream, flags, 0);
}

enum weir_err weir_rt_StreamCreate(cudaStream_t *pStream)
{
    return weir_rt_StreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

enum weir_err weir_rt_StreamDestroy(cudaStream_t stream)
{
    struct weir_stream *s;

    if ((uintptr_t)stream <= 2)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "a default stream cannot be destroyed");
    RT_TRY(weir_stream_get(stream, &s));
    if (!weir_slot_kill(&s->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "stream destroyed twice");
    weir_stream_retire(s);
    return WEIR_OK;
}

enum weir_err weir_rt_StreamSynchronize(cudaStream_t stream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_STREAM_WAIT, s, "cudaStreamSynchronize"));
    return weir_wait_stream(s);
}

enum weir_err weir_rt_StreamQuery(cudaStream_t stream)
{
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_STREAM_WAIT, s, "cudaStreamQuery"));
    return weir_query_stream(s);
}

enum weir_err weir_rt_StreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    struct weir_stream *s;
    struct weir_event *e;

    RT_TRY(weir_stream_get(stream, &s));
    RT_TRY(weir_event_get(event, &e));
    if (flags & ~(unsigned)cudaEventWaitExternal)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_event_wait(e, s, flags == cudaEventWaitExternal);
}

/* Function pointers pass through core as plain pointers. */
union callback {
    cudaStreamCallback_t fn;
    void *object;
};

static void invoke_callback(void *fn, void *handle, enum weir_err status, void *user)
{
    union callback c = {.object = fn};

    c.fn((cudaStream_t)handle, (cudaError_t)status, user);
}

enum weir_err weir_rt_StreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                        void *userData, unsigned int flags)
{
    union callback c = {.fn = callback};
    struct weir_stream *s;

    RT_REQUIRE(callback);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(weir_stream_get(stream, &s));
    return weir_launch_callback(s, stream, invoke_callback, c.object, userData);
}

/* ---- what a stream says about itself ---- */

enum weir_err weir_rt_StreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    struct weir_stream *s;

    RT_REQUIRE(flags);
    if (weir_context_error(
            &weir_core.contexts[weir_thread.context])) /* as measured: sticky_illegal */
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "a stream of a device that failed");
    RT_TRY(weir_stream_get(hStream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaStreamGetFlags"));
    *flags = s->flags;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamGetPriority(cudaStream_t hStream, int *priority)
{
    struct weir_stream *s;

    RT_REQUIRE(priority);
    RT_TRY(weir_stream_get(hStream, &s));
    *priority = s->priority;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    struct weir_stream *s;

    RT_REQUIRE(streamId);
    RT_TRY(weir_stream_get(hStream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaStreamGetId"));
    *streamId = s->id;
    return WEIR_OK;
}

enum weir_err weir_rt_StreamGetDevice(cudaStream_t hStream, int *device)
{
    struct weir_stream *s;

    RT_REQUIRE(device);
    RT_TRY(weir_stream_get(hStream, &s));
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaStreamGetDevice"));
    *device = s->ctx->ordinal;
    return WEIR_OK;
}

/* ---- attributes ---- */

enum weir_err weir_rt_StreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                         cudaLaunchAttributeValue *value_out)
{
    struct weir_stream *s;

    RT_REQUIRE(value_out);
    RT_TRY(weir_stream_get(hStream, &s));
    memset(value_out, 0, sizeof *value_out);
    switch (attr) {
    case cudaLaunchAttributePriority:
        value_out->priority = s->priority;
        return WEIR_OK;
    case cudaLaunchAttributeSynchronizationPolicy:
        value_out->syncPolicy = (enum cudaSynchronizationPolicy)atomic_load(&s->sync_policy);
        return WEIR_OK;
    case cudaLaunchAttributeAccessPolicyWindow:
        weir_lock_acquire(&s->lock);
        memcpy(&value_out->accessPolicyWindow, s->policy_window, sizeof s->policy_window);
        weir_lock_release(&s->lock);
        return WEIR_OK;
    case cudaLaunchAttributeMemSyncDomain:
        value_out->memSyncDomain = (cudaLaunchMemSyncDomain)s->sync_domain;
        return WEIR_OK;
    case cudaLaunchAttributeMemSyncDomainMap:
        memcpy(&value_out->memSyncDomainMap, &s->sync_domain_map,
               sizeof value_out->memSyncDomainMap);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream attribute %d", (int)attr);
    }
}

enum weir_err weir_rt_StreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                         const cudaLaunchAttributeValue *value)
{
    struct weir_stream *s;
    int priority;

    RT_REQUIRE(value);
    RT_TRY(weir_stream_get(hStream, &s));
    switch (attr) {
    case cudaLaunchAttributePriority:
        priority = value->priority;
        s->priority = priority > 0                   ? 0
                      : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                                                     : priority;
        return WEIR_OK;
    case cudaLaunchAttributeSynchronizationPolicy: /* how a waiter waits is Weir's own affair; the
                                                      value is kept */
        atomic_store(&s->sync_policy, (int)value->syncPolicy);
        return WEIR_OK;
    case cudaLaunchAttributeAccessPolicyWindow: /* hints about caches, kept */
        weir_lock_acquire(&s->lock);
        memcpy(s->policy_window, &value->accessPolicyWindow, sizeof s->policy_window);
        weir_lock_release(&s->lock);
        return WEIR_OK;
    case cudaLaunchAttributeMemSyncDomain:
        s->sync_domain = (uint32_t)value->memSyncDomain;
        return WEIR_OK;
    case cudaLaunchAttributeMemSyncDomainMap:
        memcpy(&s->sync_domain_map, &value->memSyncDomainMap, sizeof value->memSyncDomainMap);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream attribute %d", (int)attr);
    }
}

_Static_assert(sizeof(struct cudaAccessPolicyWindow) == WEIR_POLICY_WINDOW_BYTES,
               "kept bytes of an access policy window");

enum weir_err weir_rt_StreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    unsigned char window[WEIR_POLICY_WINDOW_BYTES];
    struct weir_stream *d, *s;

    RT_TRY(weir_stream_get(dst, &d));
    RT_TRY(weir_stream_get(src, &s));
    if (d->ctx != s->ctx)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "streams of two devices");
    if (d == s)
        return WEIR_OK;
    d->priority = s->priority;
    atomic_store(&d->sync_policy, atomic_load(&s->sync_policy));
    d->sync_domain = s->sync_domain;
    d->sync_domain_map = s->sync_domain_map;
    memcpy(window, s->policy_window, sizeof window);
    memcpy(d->policy_window, window, sizeof window);
    return WEIR_OK;
}

enum weir_err weir_rt_CtxResetPersistingL2Cache(void)
{
    return WEIR_OK; /* nothing persists in the host's caches by request */
}

/* ---- managed memory ---- */

/* Managed memory is always coherent here, whatever it is attached to: only the arguments are
 * checked. */
enum weir_err weir_rt_StreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                           unsigned int flags)
{
    struct weir_mem_info info;
    struct weir_stream *s;

    RT_TRY(weir_stream_get(stream, &s));
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (flags == cudaMemAttachSingle && s->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory of the legacy stream alone");
    if (!weir_mem_find(devPtr, &info) || info.kind != WEIR_MEM_KIND_MANAGED ||
        info.base != (uintptr_t)devPtr || (length && length != info.bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%p is not the beginning of managed memory",
                         devPtr);
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cudaStreamAttachMemAsync"));
    weir_managed_attach(devPtr, flags, s);
    return WEIR_OK;
}
