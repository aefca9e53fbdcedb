/* Virtual memory management. What it does: core/vmm.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/vmm.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "driver/drv.h"

static enum weir_err no_flags(unsigned long long flags)
{
    return flags ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#llx", flags) : WEIR_OK;
}

static enum weir_err device_of(const CUmemLocation *location, int *device)
{
    DRV_REQUIRE(location);
    if (location->type == CU_MEM_LOCATION_TYPE_HOST ||
        location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
        location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
        weir_log_unsupported("mapping the host's memory", "cuMemCreate, cuMemSetAccess");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "location of type %d", (int)location->type);
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "location of type %d", (int)location->type);
    if (location->id < 0 || location->id >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "location on device %d", location->id);
    *device = location->id;
    return WEIR_OK;
}

static enum weir_err check_props(const CUmemAllocationProp *prop, struct weir_vmm_props *out)
{
    DRV_REQUIRE(prop);
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "allocation of type %d", (int)prop->type);
    if (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        weir_log_unsupported("handles of memory other than file descriptors", "cuMemCreate");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "handle types %#x",
                         (unsigned)prop->requestedHandleTypes);
    }
    out->exportable = prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return device_of(&prop->location, &out->device);
}

enum weir_err weir_drv_MemGetAllocationGranularity(size_t *granularity,
                                                   const CUmemAllocationProp *prop,
                                                   CUmemAllocationGranularity_flags option)
{
    struct weir_vmm_props props;

    DRV_REQUIRE(granularity);
    DRV_TRY(check_props(prop, &props));
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "granularity %d", (int)option);
    *granularity = WEIR_VMM_GRANULARITY;
    return WEIR_OK;
}

/* ---- addresses ---- */

enum weir_err weir_drv_MemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                         CUdeviceptr addr, unsigned long long flags)
{
    struct weir_context *ctx;
    uintptr_t at;

    (void)addr; /* a wish */
    DRV_REQUIRE(ptr);
    DRV_TRY(no_flags(flags));
    DRV_TRY(weir_context_current(&ctx));
    DRV_TRY(weir_vmm_reserve(ctx->ordinal, size, alignment, &at));
    *ptr = at;
    return WEIR_OK;
}

enum weir_err weir_drv_MemAddressFree(CUdeviceptr ptr, size_t size)
{
    return weir_vmm_unreserve((uintptr_t)ptr, size);
}

/* ---- memory ---- */

enum weir_err weir_drv_MemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                                 const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct weir_vmm_props props;
    uint64_t out;

    DRV_REQUIRE(handle);
    DRV_TRY(no_flags(flags));
    DRV_TRY(check_props(prop, &props));
    DRV_TRY(weir_vmm_create(size, &props, &out));
    *handle = out;
    return WEIR_OK;
}

enum weir_err weir_drv_MemRelease(CUmemGenericAllocationHandle handle)
{
    return weir_vmm_release(handle);
}

enum weir_err weir_drv_MemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    uint64_t out;

    DRV_REQUIRE(handle);
    DRV_TRY(weir_vmm_retain((uintptr_t)addr, &out));
    *handle = out;
    return WEIR_OK;
}

enum weir_err weir_drv_MemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                            CUmemGenericAllocationHandle handle)
{
    struct weir_vmm_props props;

    DRV_REQUIRE(prop);
    DRV_TRY(weir_vmm_props_of(handle, &props));
    memset(prop, 0, sizeof *prop);
    prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop->location.id = props.device;
    if (props.exportable)
        prop->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return WEIR_OK;
}

static enum weir_err check_handle_type(CUmemAllocationHandleType type)
{
    return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? WEIR_OK
               : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "handle of type %d", (int)type);
}

enum weir_err weir_drv_MemExportToShareableHandle(void *shareableHandle,
                                                  CUmemGenericAllocationHandle handle,
                                                  CUmemAllocationHandleType handleType,
                                                  unsigned long long flags)
{
    DRV_REQUIRE(shareableHandle);
    DRV_TRY(no_flags(flags));
    DRV_TRY(check_handle_type(handleType));
    return weir_vmm_export(handle, shareableHandle);
}

enum weir_err weir_drv_MemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                    void *osHandle,
                                                    CUmemAllocationHandleType shHandleType)
{
    struct weir_context *ctx;
    uint64_t out;

    DRV_REQUIRE(handle);
    DRV_TRY(check_handle_type(shHandleType));
    DRV_TRY(weir_context_current(&ctx));
    DRV_TRY(weir_vmm_import((int)(intptr_t)osHandle, ctx->ordinal, &out));
    *handle = out;
    return WEIR_OK;
}

/* ---- both ---- */

enum weir_err weir_drv_MemMap(CUdeviceptr ptr, size_t size, size_t offset,
                              CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    DRV_TRY(no_flags(flags));
    return weir_vmm_map((uintptr_t)ptr, size, offset, handle);
}

enum weir_err weir_drv_MemUnmap(CUdeviceptr ptr, size_t size)
{
    return weir_vmm_unmap((uintptr_t)ptr, size);
}

enum weir_err weir_drv_MemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                    size_t count)
{
    DRV_REQUIRE(desc);
    for (size_t i = 0; i < count; i++) {
        int device;

        DRV_TRY(device_of(&desc[i].location, &device));
        if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) {
            weir_log_unsupported("access for reading only", "cuMemSetAccess");
            return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "access for reading only");
        }
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "access %d", (int)desc[i].flags);
    }
    for (size_t i = 0; i < count; i++)
        DRV_TRY(weir_vmm_set_access((uintptr_t)ptr, size, (uint64_t)1 << desc[i].location.id,
                                    desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return WEIR_OK;
}

enum weir_err weir_drv_MemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                    CUdeviceptr ptr)
{
    bool on = false;
    int device;

    DRV_REQUIRE(flags);
    DRV_TRY(device_of(location, &device));
    DRV_TRY(weir_vmm_get_access((uintptr_t)ptr, device, &on));
    *flags = on ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return WEIR_OK;
}
