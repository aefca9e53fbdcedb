/* Memory management: memory and events of other processes (core/ipc.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ipc.h"

#include "driver/drv.h"

_Static_assert(sizeof(CUipcMemHandle) == WEIR_IPC_HANDLE_BYTES &&
                   sizeof(CUipcEventHandle) == WEIR_IPC_HANDLE_BYTES,
               "IPC handles");

enum weir_err weir_drv_IpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    DRV_REQUIRE(pHandle);
    DRV_REQUIRE(dptr);
    return weir_ipc_memory_handle(weir_drv_pointer(dptr), pHandle);
}

enum weir_err weir_drv_IpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                        unsigned int Flags)
{
    void *p;

    DRV_REQUIRE(pdptr);
    if (Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    DRV_TRY(weir_ipc_memory_open(weir_drv_current(), &handle, &p));
    *pdptr = (uintptr_t)p;
    return WEIR_OK;
}

enum weir_err weir_drv_IpcCloseMemHandle(CUdeviceptr dptr)
{
    DRV_REQUIRE(dptr);
    return weir_ipc_memory_close(weir_drv_pointer(dptr));
}

enum weir_err weir_drv_IpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    struct weir_event *e;

    DRV_REQUIRE(pHandle);
    DRV_TRY(weir_event_get(event, &e));
    return weir_ipc_event_handle(e, pHandle);
}

enum weir_err weir_drv_IpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    struct weir_event *e;

    DRV_REQUIRE(phEvent);
    DRV_TRY(weir_ipc_event_open(weir_drv_current(), &handle, &e));
    *phEvent = (CUevent)e;
    return WEIR_OK;
}
