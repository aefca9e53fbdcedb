/* Inside src/driver: the bodies of the API's functions. weir_drv_BODY does what the row of
 * api/driver.def says (of a shared row weir_rt_BODY, which is the runtime's); the wrapper (wrap.c)
 * has checked that the calling thread may call, that the process is started and, for guards CTX and
 * BOUND, that there is a current context. Handles are core's objects: CUcontext a weir_context,
 * CUmodule and CUlibrary a weir_module, CUfunction and CUkernel a weir_function, CUstream and
 * CUevent as the runtime's. Bodies return core's error codes; weir_drv_result makes a CUresult of
 * them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_DRV_H
#define WEIR_DRIVER_DRV_H

#include "cuda/cuda.h"
#include "cuda/cudaProfiler.h"

#include "base/err.h"
#include "core/core.h"
#include "core/stream.h"

/* A body may stand behind several rows: repeated prototypes agree. */
#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, body, params, args)           \
    enum weir_err weir_drv_##body params;
#define WEIR_DRV_SHARED(chapter, guard, variant, host, since, name, symbol, body, params, args)    \
    enum weir_err weir_rt_##body params;
#define WEIR_DRV_TODO(chapter, variant, why, since, name, symbol)
#include "driver.def"
#undef WEIR_DRV
#undef WEIR_DRV_TODO

#define WEIR_DRIVER_VERSION 13000

/* The CUresult for an error of core's. */
CUresult weir_drv_result(enum weir_err err);

/* The current context, which the guard has checked. */
static inline struct weir_context *weir_drv_current(void)
{
    return &weir_core.contexts[weir_thread.context];
}

static inline void *weir_drv_pointer(CUdeviceptr p)
{
    return (void *)(uintptr_t)p;
}

/* Errors: INVALID_DEVICE. */
enum weir_err weir_drv_check_device(CUdevice dev) WEIR_MUST_CHECK;
/* The context behind a handle. Errors: DEVICE_UNINITIALIZED (CUDA_ERROR_INVALID_CONTEXT). */
enum weir_err weir_drv_context(CUcontext handle, struct weir_context **out) WEIR_MUST_CHECK;

#define DRV_REQUIRE(x)                                                                             \
    do {                                                                                           \
        if (!(x))                                                                                  \
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%s is null", #x);                            \
    } while (0)

#define DRV_TRY(call)                                                                              \
    do {                                                                                           \
        enum weir_err drv_try_err = (call);                                                        \
        if (drv_try_err != WEIR_OK)                                                                \
            return drv_try_err;                                                                    \
    } while (0)

#endif
