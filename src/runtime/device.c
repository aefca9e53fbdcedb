/* Device management.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "core/capture.h"
#include "core/texture.h"
#include "runtime/rt.h"

static enum weir_err check_device(int device)
{
    if (device < 0 || device >= weir_core.device_count)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "device %d of %d", device,
                         weir_core.device_count);
    return WEIR_OK;
}

static struct weir_context *current(void)
{
    return &weir_core.contexts[weir_thread.context];
}

/* Works in a child after fork, too (oracle lazy_init.child_after_fork_getDeviceCount). */
enum weir_err weir_rt_GetDeviceCount(int *count)
{
    enum weir_err err;

    if (weir_thread.host_func)
        return WEIR_FAIL(WEIR_ERR_NOT_PERMITTED, "cudaGetDeviceCount inside a host function");
    RT_REQUIRE(count);
    err = weir_core_enter();
    if (err != WEIR_OK && err != WEIR_ERR_INITIALIZATION_ERROR)
        return err;
    *count = weir_core.device_count;
    return WEIR_OK;
}

enum weir_err weir_rt_GetDevice(int *device)
{
    RT_REQUIRE(device);
    *device = current()->ordinal;
    return WEIR_OK;
}

#define SCHEDULE_MASK 7u

static enum weir_err check_flags(unsigned flags)
{
    unsigned schedule = flags & SCHEDULE_MASK;

    if (flags & ~(unsigned)cudaDeviceMask || (schedule & (schedule - 1)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device flags %#x", flags);
    return WEIR_OK;
}

/* Creates the device's context (oracle multi_device: cudaSetDevice creates it, cudaInitDevice does
 * not make it current). Succeeds for a failed device. */
enum weir_err weir_rt_SetDevice(int device)
{
    struct weir_context *ctx;
    enum weir_err err;

    RT_TRY(check_device(device));
    err = weir_context_get(device, &ctx);
    if (err != WEIR_OK && weir_context_error(ctx) == WEIR_OK)
        return err;
    atomic_fetch_or(&ctx->active, WEIR_ACTIVE_RUNTIME);
    weir_thread.device = (int16_t)device;
    weir_thread_set_context(device);
    return WEIR_OK;
}

enum weir_err weir_rt_InitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    struct weir_context *ctx;

    RT_TRY(check_device(device));
    if (flags & cudaInitDeviceFlagsAreValid)
        RT_TRY(check_flags(deviceFlags));
    RT_TRY(weir_context_get(device, &ctx));
    if (flags & cudaInitDeviceFlagsAreValid)
        atomic_store(&ctx->flags, deviceFlags);
    return WEIR_OK;
}

enum weir_err weir_rt_SetValidDevices(int *device_arr, int len)
{
    if (len < 0 || len > weir_core.device_count || (len && !device_arr))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "list of %d devices", len);
    for (int i = 0; i < len; i++)
        RT_TRY(check_device(device_arr[i]));
    if (len && !weir_thread.bound) { /* the first one is this thread's, until it chooses itself */
        weir_thread.device = (int16_t)device_arr[0];
        weir_thread.context = (int16_t)device_arr[0];
    }
    return WEIR_OK;
}

enum weir_err weir_rt_ChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    RT_REQUIRE(device);
    RT_REQUIRE(prop);
    *device = 0; /* all devices have one profile: each fits as well as the first */
    return WEIR_OK;
}

/* ---- flags ---- */

enum weir_err weir_rt_GetDeviceFlags(unsigned int *flags)
{
    RT_REQUIRE(flags);
    *flags = atomic_load(&current()->flags) | cudaDeviceMapHost; /* mapping is always on */
    return WEIR_OK;
}

enum weir_err weir_rt_SetDeviceFlags(unsigned int flags)
{
    struct weir_context *ctx;
    enum weir_err err;

    RT_TRY(check_flags(flags));
    err = weir_context_current(&ctx); /* makes it (oracle multi_context.after_setFlags_on_0) */
    if (err != WEIR_OK && weir_context_error(ctx) == WEIR_OK)
        return err;
    atomic_store(&ctx->flags, flags);
    return WEIR_OK;
}

/* ---- attributes and properties ---- */

enum weir_err weir_rt_DeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    RT_REQUIRE(value);
    RT_TRY(check_device(device));
    if (!weir_context_attribute(&weir_core.contexts[device], (int)attr, value))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device attribute %d", (int)attr);
    return WEIR_OK;
}

static int attribute_of(const struct weir_context *ctx, int id)
{
    int value = 0;

    weir_context_attribute(ctx, id, &value);
    return value;
}

/* Unlike other calls allowed in host functions and in a failed context. */
enum weir_err weir_rt_GetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    const struct weir_context *ctx;

    RT_TRY(weir_core_enter());
    RT_REQUIRE(prop);
    RT_TRY(check_device(device));
    ctx = &weir_core.contexts[device];
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "%s", ctx->profile->device_name);
    memcpy(prop->uuid.bytes, "weir-device\0\0\0\0", 15);
    prop->uuid.bytes[15] = (char)device;
    prop->totalGlobalMem = ctx->memory_bytes;
#define WEIR_PROPERTY(member, id)       prop->member = (unsigned)attribute_of(ctx, id);
#define WEIR_PROPERTY_AT(member, n, id) prop->member[n] = attribute_of(ctx, id);
#include "properties.def"
#undef WEIR_PROPERTY
#undef WEIR_PROPERTY_AT
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
                                            int dstDevice)
{
    RT_REQUIRE(value);
    RT_TRY(check_device(srcDevice));
    RT_TRY(check_device(dstDevice));
    if (srcDevice == dstDevice)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "peer attribute of device %d with itself",
                         srcDevice);
    switch (attr) {
    case cudaDevP2PAttrPerformanceRank:
        *value = 0;
        return WEIR_OK;
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported:
        *value = 1;
        return WEIR_OK;
    case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = 1;
        return WEIR_OK;
    case cudaDevP2PAttrOnlyPartialNativeAtomicSupported: /* all of them are native */
        *value = 0;
        return WEIR_OK;
    default:
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "peer attribute %d", (int)attr);
    }
}

/* ---- PCI addresses ---- */

enum weir_err weir_rt_DeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    const struct weir_context *ctx;
    char text[32];

    RT_REQUIRE(pciBusId);
    RT_TRY(check_device(device));
    ctx = &weir_core.contexts[device];
    snprintf(text, sizeof text, "%04x:%02x:%02x.0", attribute_of(ctx, WEIR_ATTR_PCI_DOMAIN),
             attribute_of(ctx, WEIR_ATTR_PCI_BUS), attribute_of(ctx, WEIR_ATTR_PCI_DEVICE));
    if (len <= (int)strlen(text))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d bytes for a PCI address", len);
    memcpy(pciBusId, text, strlen(text) + 1);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    unsigned domain, bus, slot;

    RT_REQUIRE(device);
    RT_REQUIRE(pciBusId);
    if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(pciBusId, "%x:%x", &bus, &slot) != 2)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\" is no PCI address", pciBusId);
    }
    for (int d = 0; d < weir_core.device_count; d++) {
        const struct weir_context *ctx = &weir_core.contexts[d];

        if ((int)domain == attribute_of(ctx, WEIR_ATTR_PCI_DOMAIN) &&
            (int)bus == attribute_of(ctx, WEIR_ATTR_PCI_BUS) &&
            (int)slot == attribute_of(ctx, WEIR_ATTR_PCI_DEVICE)) {
            *device = d;
            return WEIR_OK;
        }
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE, "no device at %s", pciBusId);
}

/* ---- limits and cache ---- */

#define STACK_MAX  (512u << 10) /* bytes a thread may have as local memory on any capability */
#define PRINTF_MIN 524288u /* smaller ones are rounded up (oracle device_api.printf_after_1000) */

enum weir_err weir_rt_DeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    RT_REQUIRE(pValue);
    if ((unsigned)limit >= WEIR_LIMIT_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "limit %d", (int)limit);
    if (limit == cudaLimitDevRuntimeSyncDepth)
        return WEIR_FAIL(WEIR_ERR_UNSUPPORTED_LIMIT,
                         "synchronisation depth of kernels that launch kernels");
    *pValue = atomic_load(&current()->limits[limit]);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceSetLimit(enum cudaLimit limit, size_t value)
{
    struct weir_context *ctx = current();

    if ((unsigned)limit >= WEIR_LIMIT_COUNT)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "limit %d", (int)limit);
    if (limit == cudaLimitDevRuntimeSyncDepth)
        return WEIR_FAIL(WEIR_ERR_UNSUPPORTED_LIMIT,
                         "synchronisation depth of kernels that launch kernels");
    if (limit == cudaLimitStackSize && value > STACK_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "stack of %zu bytes a thread", value);
    if (limit == cudaLimitPrintfFifoSize && value < PRINTF_MIN)
        value = PRINTF_MIN;
    /* A larger stack waits for the device, as measured (oracle
     * blocks_vs_*.cudaDeviceSetLimit_stack_grow). */
    if (limit == cudaLimitStackSize && value > atomic_load(&ctx->limits[limit]))
        RT_TRY(weir_wait_device(ctx));
    atomic_store(&ctx->limits[limit], value);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    RT_REQUIRE(pCacheConfig);
    *pCacheConfig = (enum cudaFuncCache)atomic_load(&current()->cache_config);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    if ((unsigned)cacheConfig > cudaFuncCachePreferEqual)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "cache configuration %d", (int)cacheConfig);
    atomic_store(&current()->cache_config, (uint32_t)cacheConfig);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    RT_REQUIRE(pConfig);
    *pConfig = (enum cudaSharedMemConfig)atomic_load(&current()->shared_config);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    if ((unsigned)config > cudaSharedMemBankSizeEightByte)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "shared memory configuration %d", (int)config);
    atomic_store(&current()->shared_config, (uint32_t)config);
    return WEIR_OK;
}

#define LEAST_PRIORITY    0
#define GREATEST_PRIORITY (-5)

enum weir_err weir_rt_DeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    if (leastPriority)
        *leastPriority = LEAST_PRIORITY;
    if (greatestPriority)
        *greatestPriority = GREATEST_PRIORITY;
    return WEIR_OK;
}

/* ---- the device as a whole ---- */

/* Waits in a failed context, too: callbacks still run there (oracle hostfunc_after_error). */
enum weir_err weir_rt_DeviceSynchronize(void)
{
    struct weir_context *ctx = current();

    if (!atomic_load_explicit(&ctx->active, memory_order_acquire))
        return weir_context_current(&ctx);
    RT_TRY(weir_capture_forbid(WEIR_CAPTURE_CALL_DEVICE_WAIT, NULL, "cudaDeviceSynchronize"));
    return weir_wait_device(ctx);
}

enum weir_err weir_rt_DeviceReset(void)
{
    return weir_context_reset(current());
}

/* Remote writes are visible at once: the devices are threads of this machine. */
enum weir_err weir_rt_DeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                                     enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
        (scope != cudaFlushGPUDirectRDMAWritesToOwner &&
         scope != cudaFlushGPUDirectRDMAWritesToAllDevices))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "target %d, scope %d", (int)target, (int)scope);
    return WEIR_OK;
}

/* ---- peer access ---- */

enum weir_err weir_rt_DeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    RT_REQUIRE(canAccessPeer);
    RT_TRY(check_device(device));
    RT_TRY(check_device(peerDevice));
    *canAccessPeer = device != peerDevice;
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    uint64_t bit;

    RT_TRY(check_device(peerDevice));
    if (flags)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (peerDevice == current()->ordinal)
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_UNSUPPORTED, "device %d with itself", peerDevice);
    bit = 1ull << peerDevice;
    if (atomic_fetch_or(&current()->peers, bit) & bit)
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_ALREADY_ENABLED, "device %d", peerDevice);
    weir_mem_peer_allow(current()->ordinal, peerDevice, true);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceDisablePeerAccess(int peerDevice)
{
    uint64_t bit;

    RT_TRY(check_device(peerDevice));
    bit = 1ull << peerDevice;
    if (!(atomic_fetch_and(&current()->peers, ~bit) & bit))
        return WEIR_FAIL(WEIR_ERR_PEER_ACCESS_NOT_ENABLED, "device %d", peerDevice);
    weir_mem_peer_allow(current()->ordinal, peerDevice, false);
    return WEIR_OK;
}

enum weir_err weir_rt_DeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                       const struct cudaChannelFormatDesc *fmtDesc,
                                                       int device)
{
    RT_REQUIRE(maxWidthInElements);
    RT_REQUIRE(fmtDesc);
    RT_TRY(check_device(device));
    return weir_texture_linear_most(&weir_core.contexts[device],
                                    (const int[]){fmtDesc->x, fmtDesc->y, fmtDesc->z, fmtDesc->w},
                                    (int)fmtDesc->f, maxWidthInElements);
}
