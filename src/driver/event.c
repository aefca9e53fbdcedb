/* Event management.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/drv.h"

enum weir_err weir_drv_EventCreate(CUevent *phEvent, unsigned int Flags)
{
    struct weir_event *e;

    DRV_REQUIRE(phEvent);
    DRV_TRY(weir_event_create(weir_drv_current(), Flags, &e));
    *phEvent = (CUevent)e;
    return WEIR_OK;
}

enum weir_err weir_drv_EventDestroy(CUevent hEvent)
{
    struct weir_event *e;

    DRV_TRY(weir_event_get(hEvent, &e));
    return weir_event_destroy(e);
}

enum weir_err weir_drv_EventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    struct weir_stream *s;
    struct weir_event *e;

    DRV_TRY(weir_event_get(hEvent, &e));
    DRV_TRY(weir_stream_get(hStream, &s));
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_event_record(e, s, flags == CU_EVENT_RECORD_EXTERNAL);
}

enum weir_err weir_drv_EventRecord(CUevent hEvent, CUstream hStream)
{
    return weir_drv_EventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

enum weir_err weir_drv_EventQuery(CUevent hEvent)
{
    struct weir_event *e;

    DRV_TRY(weir_event_get(hEvent, &e));
    return weir_event_query(e);
}

enum weir_err weir_drv_EventSynchronize(CUevent hEvent)
{
    struct weir_event *e;

    DRV_TRY(weir_event_get(hEvent, &e));
    return weir_event_synchronize(e);
}

enum weir_err weir_drv_EventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    struct weir_event *a, *b;

    DRV_REQUIRE(pMilliseconds);
    DRV_TRY(weir_event_get(hStart, &a));
    DRV_TRY(weir_event_get(hEnd, &b));
    return weir_event_elapsed(a, b, pMilliseconds);
}
