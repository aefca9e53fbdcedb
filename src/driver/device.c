/* Initialisation, errors, version, devices, access between devices.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "driver/drv.h"
#include "memory/memory.h"

/* ---- initialisation, version, errors ---- */

enum weir_err weir_drv_Init(unsigned int Flags)
{
    if (Flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cuInit flags %#x", Flags);
    return weir_core_enter();
}

enum weir_err weir_drv_DriverGetVersion(int *driverVersion)
{
    DRV_REQUIRE(driverVersion);
    *driverVersion = WEIR_DRIVER_VERSION;
    return WEIR_OK;
}

static const struct result_row {
    CUresult code;
    const char *name;
} result_rows[] = {
#define WEIR_CU_RESULT(name, code) {name, #name},
#include "driver_results.def"
#undef WEIR_CU_RESULT
};

static const struct result_row *find_result(CUresult code)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(result_rows); i++) {
        if (result_rows[i].code == code)
            return &result_rows[i];
    }
    return NULL;
}

enum weir_err weir_drv_GetErrorName(CUresult error, const char **pStr)
{
    const struct result_row *row = find_result(error);

    DRV_REQUIRE(pStr);
    *pStr = row ? row->name : NULL;
    return row ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d is no CUresult", (int)error);
}

enum weir_err weir_drv_GetErrorString(CUresult error, const char **pStr)
{
    const struct result_row *row = find_result(error);

    DRV_REQUIRE(pStr);
    *pStr = row ? weir_err_text((int)error) : NULL;
    if (row && !*pStr) /* a number that the runtime has not */
        *pStr = row->name;
    return row ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d is no CUresult", (int)error);
}

/* ---- devices ---- */

enum weir_err weir_drv_check_device(CUdevice dev)
{
    if (dev < 0 || dev >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", dev, weir_core.device_count);
    return WEIR_OK;
}

static int attribute_of(int device, int id)
{
    int value = 0;

    weir_context_attribute(&weir_core.contexts[device], id, &value);
    return value;
}

enum weir_err weir_drv_DeviceGet(CUdevice *device, int ordinal)
{
    DRV_REQUIRE(device);
    DRV_TRY(weir_drv_check_device(ordinal));
    *device = ordinal;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetCount(int *count)
{
    DRV_REQUIRE(count);
    *count = weir_core.device_count;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetName(char *name, int len, CUdevice dev)
{
    DRV_REQUIRE(name);
    if (len <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d bytes for a name", len);
    DRV_TRY(weir_drv_check_device(dev));
    snprintf(name, (size_t)len, "%s", weir_core.contexts[dev].profile->device_name);
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    DRV_REQUIRE(uuid);
    DRV_TRY(weir_drv_check_device(dev));
    memcpy(uuid->bytes, "weir-device\0\0\0\0", 15); /* as cudaGetDeviceProperties says */
    uuid->bytes[15] = (char)dev;
    return WEIR_OK;
}

/* Only Windows has them. */
enum weir_err weir_drv_DeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    (void)luid, (void)deviceNodeMask;
    DRV_TRY(weir_drv_check_device(dev));
    return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "locally unique identifiers");
}

enum weir_err weir_drv_DeviceTotalMem(size_t *bytes, CUdevice dev)
{
    DRV_REQUIRE(bytes);
    DRV_TRY(weir_drv_check_device(dev));
    *bytes = weir_core.contexts[dev].memory_bytes;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    DRV_REQUIRE(pi);
    DRV_TRY(weir_drv_check_device(dev));
    if (weir_context_attribute(&weir_core.contexts[dev], (int)attrib, pi))
        return WEIR_OK;
    /* The runtime has no number for some: virtual memory and its handles, which are there;
     * compression, gathering in textures, of which there is none. */
    *pi = attrib == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
          attrib == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    if ((int)attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device attribute %d", (int)attrib);
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    DRV_REQUIRE(pi);
    DRV_TRY(weir_drv_check_device(dev));
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "affinity of type %d", (int)type);
    *pi = 0;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    DRV_REQUIRE(major);
    DRV_REQUIRE(minor);
    DRV_TRY(weir_drv_check_device(dev));
    *major = weir_core.contexts[dev].profile->major;
    *minor = weir_core.contexts[dev].profile->minor;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    DRV_REQUIRE(prop);
    DRV_TRY(weir_drv_check_device(dev));
    *prop = (CUdevprop){
        .maxThreadsPerBlock = attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = attribute_of(dev, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = attribute_of(dev, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = attribute_of(dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = attribute_of(dev, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = attribute_of(dev, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return WEIR_OK;
}

/* ---- PCI addresses ---- */

enum weir_err weir_drv_DeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    char text[32];

    DRV_REQUIRE(pciBusId);
    DRV_TRY(weir_drv_check_device(dev));
    snprintf(text, sizeof text, "%04x:%02x:%02x.0", attribute_of(dev, WEIR_ATTR_PCI_DOMAIN),
             attribute_of(dev, WEIR_ATTR_PCI_BUS), attribute_of(dev, WEIR_ATTR_PCI_DEVICE));
    if (len <= (int)strlen(text))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d bytes for a PCI address", len);
    memcpy(pciBusId, text, strlen(text) + 1);
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    unsigned domain, bus, slot;

    DRV_REQUIRE(dev);
    DRV_REQUIRE(pciBusId);
    if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\" is no PCI address", pciBusId);
    }
    for (int d = 0; d < weir_core.device_count; d++) {
        if ((int)domain == attribute_of(d, WEIR_ATTR_PCI_DOMAIN) &&
            (int)bus == attribute_of(d, WEIR_ATTR_PCI_BUS) &&
            (int)slot == attribute_of(d, WEIR_ATTR_PCI_DEVICE)) {
            *dev = d;
            return WEIR_OK;
        }
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "no device at %s", pciBusId);
}

/* Remote writes are visible at once: the devices are threads of this machine. */
enum weir_err weir_drv_FlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                                CUflushGPUDirectRDMAWritesScope scope)
{
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
         scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "target %d, scope %d", (int)target, (int)scope);
    return WEIR_OK;
}

/* ---- access between devices ---- */

enum weir_err weir_drv_DeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    DRV_REQUIRE(canAccessPeer);
    DRV_TRY(weir_drv_check_device(dev));
    DRV_TRY(weir_drv_check_device(peerDev));
    *canAccessPeer = dev != peerDev;
    return WEIR_OK;
}

enum weir_err weir_drv_DeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
                                             CUdevice srcDevice, CUdevice dstDevice)
{
    DRV_REQUIRE(value);
    DRV_TRY(weir_drv_check_device(srcDevice));
    DRV_TRY(weir_drv_check_device(dstDevice));
    if (srcDevice == dstDevice)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "peer attribute of device %d with itself",
                         srcDevice);
    switch (attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = 1;
        return WEIR_OK;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 0;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "peer attribute %d", (int)attrib);
    }
}

enum weir_err weir_drv_CtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct weir_context *peer, *own = weir_drv_current();
    uint64_t bit;

    DRV_TRY(weir_drv_context(peerContext, &peer));
    if (Flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", Flags);
    if (peer == own)
        return WEIR_FAIL(WEIR_ERR_DEVICE_UNINITIALIZED, "a context with itself");
    if (peer->ordinal == own->ordinal)
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_UNSUPPORTED, "device %d with itself", own->ordinal);
    bit = 1ull << peer->ordinal;
    if (atomic_fetch_or(&own->peers, bit) & bit)
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_ALREADY_ENABLED, "device %d", peer->ordinal);
    weir_mem_peer_allow(own->ordinal, peer->ordinal, true);
    return WEIR_OK;
}

enum weir_err weir_drv_CtxDisablePeerAccess(CUcontext peerContext)
{
    struct weir_context *peer, *own = weir_drv_current();
    uint64_t bit;

    DRV_TRY(weir_drv_context(peerContext, &peer));
    bit = 1ull << peer->ordinal;
    if (!(atomic_fetch_and(&own->peers, ~bit) & bit))
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_NOT_ENABLED, "device %d", peer->ordinal);
    weir_mem_peer_allow(own->ordinal, peer->ordinal, false);
    return WEIR_OK;
}
