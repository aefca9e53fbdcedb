/* What compiled programs call by themselves: registration of device code in constructors, and the
 * launch configuration between <<< >>> and a kernel's stub.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "core/module.h"
#include "runtime/rt.h"

/* The handle is the module itself: programs only pass it back. */
binary weir_rt_internal_RegisterFatBinary(void *fatCubin)
{
    struct weir_module *m = weir_module_register(fatCubin);

    if (!m)
        weir_log(WEIR_LOG_ERROR, "out of memory while registering device code");
    return (binary)m;
}

void weir_rt_internal_RegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle; /* nothing is parsed before its first use */
}

void weir_rt_internal_UnregisterFatBinary(void **fatCubinHandle)
{
    if (fatCubinHandle)
        weir_module_unregister((struct weir_module *)fatCubinHandle);
}

void weir_rt_internal_RegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                       const char *deviceName, int threadLimit, void *tid,
                                       void *bid, void *bDim, void *gDim, int *wSize)
{
    (void)deviceFun, (void)threadLimit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    if (fatCubinHandle)
        weir_module_add_function((struct weir_module *)fatCubinHandle, hostFun, deviceName);
}

void weir_rt_internal_RegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                                  const char *deviceName, int ext, size_t size, int constant,
                                  int global)
{
    (void)deviceAddress, (void)ext, (void)global;
    if (fatCubinHandle)
        weir_module_add_variable((struct weir_module *)fatCubinHandle, hostVar, NULL, deviceName,
                                 size, constant != 0);
}

void weir_rt_internal_RegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                         char *deviceAddress, const char *deviceName, int ext,
                                         size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)global;
    if (fatCubinHandle)
        weir_module_add_variable((struct weir_module *)fatCubinHandle,
                                 (const void *)hostVarPtrAddress, hostVarPtrAddress, deviceName,
                                 size, constant != 0);
}

/* Called before the program's host code touches a __managed__ variable. */
char weir_rt_internal_InitModule(void **fatCubinHandle)
{
    enum weir_err err;

    if (!fatCubinHandle)
        return 0;
    err = weir_core_enter();
    if (err == WEIR_OK)
        err = weir_module_init_managed((struct weir_module *)fatCubinHandle,
                                       weir_core.contexts[weir_thread.context].ordinal);
    if (err != WEIR_OK) {
        weir_log(WEIR_LOG_ERROR, "managed variables: %s: %s", weir_err_name(err),
                 weir_err_message());
        weir_thread.last_error = err;
        return 0;
    }
    return 1;
}

/* ---- launch configurations ---- */

unsigned weir_rt_internal_PushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                void *stream)
{
    struct weir_thread_more *t = weir_thread_get_more();
    struct weir_call_config *c;

    if (!t || t->config_count == WEIR_CALL_CONFIG_MAX) {
        weir_thread.last_error = WEIR_FAIL(WEIR_ERR_LAUNCH_OUT_OF_RESOURCES,
                                           "launches nested %d deep", WEIR_CALL_CONFIG_MAX);
        return 1; /* the program then skips the launch */
    }
    c = &t->configs[t->config_count++];
    *c = (struct weir_call_config){.grid = {gridDim.x, gridDim.y, gridDim.z},
                                   .block = {blockDim.x, blockDim.y, blockDim.z},
                                   .shared_bytes = sharedMem,
                                   .stream = stream};
    return 0;
}

enum weir_err weir_rt_internal_PopCallConfiguration(dim3 *gridDim, dim3 *blockDim,
                                                    size_t *sharedMem, void *stream)
{
    struct weir_thread_more *t = weir_thread_get_more();
    const struct weir_call_config *c;

    if (!t || t->config_count == 0)
        return WEIR_FAIL(WEIR_ERR_MISSING_CONFIGURATION,
                         "a kernel's stub called without a launch configuration");
    c = &t->configs[--t->config_count];
    *gridDim = (dim3){c->grid[0], c->grid[1], c->grid[2]};
    *blockDim = (dim3){c->block[0], c->block[1], c->block[2]};
    *sharedMem = c->shared_bytes;
    memcpy(stream, &c->stream, sizeof c->stream);
    return WEIR_OK;
}
