/* Unified addressing: what a pointer is.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver/drv.h"
#include "memory/memory.h"

/* The context that allocated it. */
static CUcontext context_of(const struct weir_mem_info *info)
{
    if (info->owner && weir_context_is_owner(info->owner))
        return info->owner;
    return (CUcontext)&weir_core.contexts[info->device];
}

static bool is_host(const struct weir_mem_info *info)
{
    return info->kind == WEIR_MEM_KIND_PINNED || info->kind == WEIR_MEM_KIND_REGISTERED;
}

/* Answers differ in their types: void *, CUdeviceptr and size_t are 8 bytes, the others 4, bool 1.
 */
static enum weir_err write_answer(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
                                  const struct weir_mem_info *info)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        wide = (uintptr_t)context_of(info);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        wide = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (info->kind == WEIR_MEM_KIND_DEVICE)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device memory has no host pointer");
        wide = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        wide = info->id;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        wide = info->base;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        wide = info->bytes;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: /* of none */
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        narrow = is_host(info) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        memcpy(data, &narrow, sizeof narrow);
        return WEIR_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        narrow = (uint32_t)info->device;
        memcpy(data, &narrow, sizeof narrow);
        return WEIR_OK;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        narrow = 3; /* to read and to write */
        memcpy(data, &narrow, sizeof narrow);
        return WEIR_OK;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned char *)data =
            attribute == CU_POINTER_ATTRIBUTE_MAPPED ||
            (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED && info->kind == WEIR_MEM_KIND_MANAGED);
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pointer attribute %d", (int)attribute);
    }
    memcpy(data, &wide, sizeof wide);
    return WEIR_OK;
}

static bool find(CUdeviceptr ptr, struct weir_mem_info *info)
{
    return weir_mem_find(weir_drv_pointer(ptr), info) && info->kind != WEIR_MEM_KIND_INTERNAL;
}

enum weir_err weir_drv_PointerGetAttribute(void *data, CUpointer_attribute attribute,
                                           CUdeviceptr ptr)
{
    struct weir_mem_info info;

    DRV_REQUIRE(data);
    if (!find(ptr, &info))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no memory of CUDA's", ptr);
    return write_answer(data, attribute, ptr, &info);
}

/* What is asked of an address that is not CUDA's, and what it does not have, is answered with
 * zero. */
static enum weir_err write_nothing(void *data, CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        memset(data, 0, 1);
        return WEIR_OK;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        memset(data, 0, 4);
        return WEIR_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        memcpy(data, &(int){CU_DEVICE_INVALID}, sizeof(int));
        return WEIR_OK;
    default:
        if (attribute < CU_POINTER_ATTRIBUTE_CONTEXT ||
            attribute > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pointer attribute %d", (int)attribute);
        memset(data, 0, 8);
        return WEIR_OK;
    }
}

enum weir_err weir_drv_PointerGetAttributes(unsigned int numAttributes,
                                            CUpointer_attribute *attributes, void **data,
                                            CUdeviceptr ptr)
{
    struct weir_mem_info info;
    bool known = find(ptr, &info);

    if (!numAttributes || !attributes || !data)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no attributes");
    for (unsigned i = 0; i < numAttributes; i++) {
        bool none = !known || (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
                               info.kind == WEIR_MEM_KIND_DEVICE);

        DRV_REQUIRE(data[i]);
        DRV_TRY(none ? write_nothing(data[i], attributes[i])
                     : write_answer(data[i], attributes[i], ptr, &info));
    }
    return WEIR_OK;
}

/* Synchronous operations on memory are always synchronous here. */
enum weir_err weir_drv_PointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                           CUdeviceptr ptr)
{
    struct weir_mem_info info;

    DRV_REQUIRE(value);
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pointer attribute %d", (int)attribute);
    if (!find(ptr, &info))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%#llx is no memory of CUDA's", ptr);
    return WEIR_OK;
}
