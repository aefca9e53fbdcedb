/* Stream management.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/managed.h"
#include "core/capture.h"
#include "core/launch.h"
#include "driver/drv.h"
#include "memory/memory.h"

#define GREATEST_PRIORITY (-5)

static int clamp_priority(int priority)
{
    return priority > 0 ? 0 : WEIR_MAX(priority, GREATEST_PRIORITY);
}

enum weir_err weir_drv_StreamCreateWithPriority(CUstream *phStream, unsigned int flags,
                                                int priority)
{
    struct weir_stream *s;

    DRV_REQUIRE(phStream);
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream flags %#x", flags);
    DRV_TRY(weir_stream_create(weir_drv_current(),
                               flags ? WEIR_STREAM_NONBLOCKING : WEIR_STREAM_BLOCKING, flags,
                               clamp_priority(priority), &s));
    *phStream = (CUstream)s;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamCreate(CUstream *phStream, unsigned int Flags)
{
    return weir_drv_StreamCreateWithPriority(phStream, Flags, 0);
}

enum weir_err weir_drv_StreamDestroy(CUstream hStream)
{
    struct weir_stream *s;

    if ((uintptr_t)hStream <= 2)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "a default stream cannot be destroyed");
    DRV_TRY(weir_stream_get(hStream, &s));
    if (!weir_slot_kill(&s->slot))
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "stream destroyed twice");
    weir_stream_retire(s);
    return WEIR_OK;
}

enum weir_err weir_drv_StreamSynchronize(CUstream hStream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_STREAM_WAIT, s, "cuStreamSynchronize"));
    return weir_wait_stream(s);
}

enum weir_err weir_drv_StreamQuery(CUstream hStream)
{
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_STREAM_WAIT, s, "cuStreamQuery"));
    return weir_query_stream(s);
}

enum weir_err weir_drv_StreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct weir_stream *s;
    struct weir_event *e;

    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_event_get(hEvent, &e));
    if (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    return weir_event_wait(e, s, Flags == CU_EVENT_WAIT_EXTERNAL);
}

/* Function pointers pass through core as plain pointers. */
union callback {
    CUstreamCallback fn;
    void *object;
};

static void invoke_callback(void *fn, void *handle, enum weir_err status, void *user)
{
    union callback c = {.object = fn};

    c.fn((CUstream)handle, status == WEIR_OK ? CUDA_SUCCESS : weir_drv_result(status), user);
}

enum weir_err weir_drv_StreamAddCallback(CUstream hStream, CUstreamCallback callback,
                                         void *userData, unsigned int flags)
{
    union callback c = {.fn = callback};
    struct weir_stream *s;

    DRV_REQUIRE(callback);
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    DRV_TRY(weir_stream_get(hStream, &s));
    return weir_launch_callback(s, hStream, invoke_callback, c.object, userData);
}

/* ---- what a stream says about itself ---- */

enum weir_err weir_drv_StreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct weir_stream *s;

    DRV_REQUIRE(flags);
    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cuStreamGetFlags"));
    *flags = s->flags;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct weir_stream *s;

    DRV_REQUIRE(streamId);
    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cuStreamGetId"));
    *streamId = s->id;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct weir_stream *s;

    DRV_REQUIRE(device);
    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cuStreamGetDevice"));
    *device = s->ctx->ordinal;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct weir_stream *s;

    DRV_REQUIRE(pctx);
    DRV_TRY(weir_stream_get(hStream, &s));
    *pctx = (CUcontext)s->ctx;
    return WEIR_OK;
}

enum weir_err weir_drv_StreamGetCtxV2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    DRV_TRY(weir_drv_StreamGetCtx(hStream, pCtx));
    if (pGreenCtx)
        *pGreenCtx = NULL; /* there are none */
    return WEIR_OK;
}

/* ---- attributes ---- */

enum weir_err weir_drv_StreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                          CUstreamAttrValue *value_out)
{
    struct weir_stream *s;

    DRV_REQUIRE(value_out);
    DRV_TRY(weir_stream_get(hStream, &s));
    memset(value_out, 0, sizeof *value_out);
    switch (attr) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value_out->priority = s->priority;
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value_out->syncPolicy = (CUsynchronizationPolicy)atomic_load(&s->sync_policy);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        weir_lock_acquire(&s->lock);
        memcpy(&value_out->accessPolicyWindow, s->policy_window, sizeof s->policy_window);
        weir_lock_release(&s->lock);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value_out->memSyncDomain = (CUlaunchMemSyncDomain)s->sync_domain;
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        memcpy(&value_out->memSyncDomainMap, &s->sync_domain_map,
               sizeof value_out->memSyncDomainMap);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream attribute %d", (int)attr);
    }
}

enum weir_err weir_drv_StreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                          const CUstreamAttrValue *value)
{
    struct weir_stream *s;

    DRV_REQUIRE(value);
    DRV_TRY(weir_stream_get(hStream, &s));
    switch (attr) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        s->priority = clamp_priority(value->priority);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        atomic_store(&s->sync_policy, (int)value->syncPolicy);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* hints about caches, kept */
        weir_lock_acquire(&s->lock);
        memcpy(s->policy_window, &value->accessPolicyWindow, sizeof s->policy_window);
        weir_lock_release(&s->lock);
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        s->sync_domain = (uint32_t)value->memSyncDomain;
        return WEIR_OK;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        memcpy(&s->sync_domain_map, &value->memSyncDomainMap, sizeof value->memSyncDomainMap);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stream attribute %d", (int)attr);
    }
}

_Static_assert(sizeof(CUaccessPolicyWindow) == WEIR_POLICY_WINDOW_BYTES,
               "kept bytes of an access policy window");

enum weir_err weir_drv_StreamCopyAttributes(CUstream dst, CUstream src)
{
    unsigned char window[WEIR_POLICY_WINDOW_BYTES];
    struct weir_stream *d, *s;

    DRV_TRY(weir_stream_get(dst, &d));
    DRV_TRY(weir_stream_get(src, &s));
    if (d->ctx != s->ctx)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "streams of two contexts");
    if (d == s)
        return WEIR_OK;
    d->priority = s->priority;
    atomic_store(&d->sync_policy, atomic_load(&s->sync_policy));
    d->sync_domain = s->sync_domain;
    d->sync_domain_map = s->sync_domain_map;
    weir_lock_acquire(&s->lock);
    memcpy(window, s->policy_window, sizeof window);
    weir_lock_release(&s->lock);
    weir_lock_acquire(&d->lock);
    memcpy(d->policy_window, window, sizeof window);
    weir_lock_release(&d->lock);
    return WEIR_OK;
}

/* ---- managed memory ---- */

/* Managed memory is always coherent here, whatever it is attached to: only the arguments are
 * checked. */
enum weir_err weir_drv_StreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                            unsigned int flags)
{
    struct weir_mem_info info;
    struct weir_stream *s;

    DRV_TRY(weir_stream_get(hStream, &s));
    DRV_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, s, "cuStreamAttachMemAsync"));
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (!weir_mem_find(weir_drv_pointer(dptr), &info) || info.kind != WEIR_MEM_KIND_MANAGED ||
        info.base != dptr || (length && length != info.bytes))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is not the beginning of managed memory",
                         dptr);
    if (flags == CU_MEM_ATTACH_SINGLE && s->m.cls == WEIR_STREAM_LEGACY)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory of the legacy stream alone");
    weir_managed_attach(weir_drv_pointer(dptr), flags, s);
    return WEIR_OK;
}
