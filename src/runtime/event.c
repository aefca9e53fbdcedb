/* Event management.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

enum weir_err weir_rt_EventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    struct weir_context *ctx;
    struct weir_event *e;

    RT_REQUIRE(event);
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_event_create(ctx, flags, &e));
    *event = (cudaEvent_t)e;
    return WEIR_OK;
}

enum weir_err weir_rt_EventCreate(cudaEvent_t *event)
{
    return weir_rt_EventCreateWithFlags(event, cudaEventDefault);
}

enum weir_err weir_rt_EventDestroy(cudaEvent_t event)
{
    struct weir_event *e;

    RT_TRY(weir_event_get(event, &e));
    return weir_event_destroy(e);
}

enum weir_err weir_rt_EventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                           unsigned int flags)
{
    struct weir_stream *s;
    struct weir_event *e;

    RT_TRY(weir_event_get(event, &e));
    RT_TRY(weir_stream_get(stream, &s));
    if (flags & ~(unsigned)cudaEventRecordExternal)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_event_record(e, s, flags == cudaEventRecordExternal);
}

enum weir_err weir_rt_EventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return weir_rt_EventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

enum weir_err weir_rt_EventQuery(cudaEvent_t event)
{
    struct weir_event *e;

    RT_TRY(weir_event_get(event, &e));
    return weir_event_query(e);
}

enum weir_err weir_rt_EventSynchronize(cudaEvent_t event)
{
    struct weir_event *e;

    RT_TRY(weir_event_get(event, &e));
    return weir_event_synchronize(e);
}

enum weir_err weir_rt_EventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    struct weir_event *a, *b;

    RT_REQUIRE(ms);
    RT_TRY(weir_event_get(start, &a));
    RT_TRY(weir_event_get(end, &b));
    return weir_event_elapsed(a, b, ms);
}
