/* Device management: memory and events of other processes (core/ipc.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ipc.h"

#include "runtime/rt.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == WEIR_IPC_HANDLE_BYTES &&
                   sizeof(cudaIpcEventHandle_t) == WEIR_IPC_HANDLE_BYTES,
               "IPC handles");

enum weir_err weir_rt_IpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    RT_REQUIRE(handle);
    RT_REQUIRE(devPtr);
    return weir_ipc_memory_handle(devPtr, handle);
}

enum weir_err weir_rt_IpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    struct weir_context *ctx;

    RT_REQUIRE(devPtr);
    if (flags != cudaIpcMemLazyEnablePeerAccess)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    RT_TRY(weir_context_current(&ctx));
    return weir_ipc_memory_open(ctx, &handle, devPtr);
}

enum weir_err weir_rt_IpcCloseMemHandle(void *devPtr)
{
    RT_REQUIRE(devPtr);
    return weir_ipc_memory_close(devPtr);
}

enum weir_err weir_rt_IpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    struct weir_event *e;

    RT_REQUIRE(handle);
    RT_TRY(weir_event_get(event, &e));
    return weir_ipc_event_handle(e, handle);
}

enum weir_err weir_rt_IpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    struct weir_context *ctx;
    struct weir_event *e;

    RT_REQUIRE(event);
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_ipc_event_open(ctx, &handle, &e));
    *event = (cudaEvent_t)e;
    return WEIR_OK;
}
