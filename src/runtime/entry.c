/* Driver entry points: the functions of libcuda.so.1, which lies beside this library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/rt.h"

#define RUNTIME_VERSION 13000

/* cuGetProcAddress_v2: int results, 64-bit flags. */
typedef int (*lookup_fn)(const char *symbol, void **fn, int version, uint64_t flags, int *status);

static enum weir_err find_lookup(lookup_fn *out)
{
    union {
        void *object;
        lookup_fn fn;
    } u = {NULL};
    char path[PATH_MAX];
    Dl_info info;
    void *library = NULL;

    if (dladdr((const void *)&weir_core, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        int n = slash ? (int)(slash - info.dli_fname) : 0;

        if (slash &&
            snprintf(path, sizeof path, "%.*s/libcuda.so.1", n, info.dli_fname) < (int)sizeof path)
            library = dlopen(path, RTLD_NOW);
    }
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library)
        u.object = dlsym(library, "cuGetProcAddress_v2");
    *out = u.fn;
    return u.fn ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_SHARED_OBJECT_INIT_FAILED, "libcuda.so.1 is not there");
}

enum weir_err
weir_rt_GetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                     unsigned long long flags,
                                     enum cudaDriverEntryPointQueryResult *driverStatus)
{
    lookup_fn lookup;
    int status = 0;

    RT_REQUIRE(symbol);
    RT_REQUIRE(funcPtr);
    if (flags & ~(unsigned long long)(cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream) ||
        flags == (cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#llx", flags);
    if (cudaVersion > RUNTIME_VERSION)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "functions of CUDA %u", cudaVersion);
    if (flags == cudaEnableDefault && weir_thread.ptds)
        flags = cudaEnablePerThreadDefaultStream;
    RT_TRY(find_lookup(&lookup));
    *funcPtr = NULL;
    if (lookup(symbol, funcPtr, (int)cudaVersion, flags, &status) != 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "driver entry point %s", symbol);
    if (driverStatus)
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    return WEIR_OK;
}

enum weir_err weir_rt_GetDriverEntryPoint(const char *symbol, void **funcPtr,
                                          unsigned long long flags,
                                          enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return weir_rt_GetDriverEntryPointByVersion(symbol, funcPtr, RUNTIME_VERSION, flags,
                                                driverStatus);
}
