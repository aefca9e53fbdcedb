/* Memory operations of streams: waits for a value in memory, and writes of one, in a stream's
 * order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/capture.h"
#include "core/poll.h"
#include "driver/drv.h"

#define WAIT_FLUSH       (1u << 30) /* of remote writes: they are visible at once here */
#define WRITE_NO_BARRIER 1u

static enum weir_err get_stream(CUstream handle, const char *call, struct weir_stream **s)
{
    DRV_TRY(weir_stream_get(handle, s));
    return weir_capture_forbid(WEIR_CAPTURE_CALL_REFUSED, *s, call);
}

static enum weir_err wait_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags,
                                unsigned bytes)
{
    struct weir_stream *s;

    DRV_TRY(get_stream(stream, "cuStreamWaitValue", &s));
    return weir_poll_wait_value(s, addr, value, flags & ~WAIT_FLUSH, bytes);
}

static enum weir_err write_value(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags,
                                 unsigned bytes)
{
    struct weir_stream *s;

    DRV_TRY(get_stream(stream, "cuStreamWriteValue", &s));
    if (flags & ~WRITE_NO_BARRIER)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return weir_poll_write_value(s, addr, value, bytes);
}

enum weir_err weir_drv_StreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                         unsigned int flags)
{
    return wait_value(stream, addr, value, flags, 4);
}

enum weir_err weir_drv_StreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                         unsigned int flags)
{
    return wait_value(stream, addr, value, flags, 8);
}

enum weir_err weir_drv_StreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                          unsigned int flags)
{
    return write_value(stream, addr, value, flags, 4);
}

enum weir_err weir_drv_StreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                          unsigned int flags)
{
    return write_value(stream, addr, value, flags, 8);
}
