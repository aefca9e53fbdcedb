/* How programs find the functions: dlopen and dlsym, cuGetProcAddress with versions and flags. Not
 * linked to the library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "driver.h"

#undef cuMemAlloc
#undef cuCtxCreate

typedef CUresult (*proc_address)(const char *, void **, int, cuuint64_t,
                                 CUdriverProcAddressQueryResult *);
typedef CUresult (*proc_address_v1)(const char *, void **, int, cuuint64_t);
typedef CUresult (*init)(unsigned);
typedef CUresult (*get_name)(CUresult, const char **);

static get_name name_of;
#define cuGetErrorName name_of

static void *library;

static void *symbol(const char *name)
{
    void *p = dlsym(library, name);

    if (!p) {
        fprintf(stderr, "no symbol %s\n", name);
        driver_failures++;
    }
    return p;
}

int main(int argc, char **argv)
{
    CUdriverProcAddressQueryResult status;
    proc_address_v1 get_v1;
    proc_address get;
    init start;
    void *p = NULL, *q = NULL, *per_thread = NULL;

    library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&get = symbol("cuGetProcAddress_v2");
    *(void **)&get_v1 = symbol("cuGetProcAddress");
    *(void **)&start = symbol("cuInit");
    *(void **)&name_of = symbol("cuGetErrorName");
    CHECK(symbol("cuMemAlloc_v2") && symbol("cuMemcpyHtoDAsync_v2_ptsz") &&
          symbol("cuGraphCreate"));
    if (driver_failures)
        return 1;

    OK(get("cuInit", &p, 13000, 0, &status));
    CHECK(p && status == CU_GET_PROC_ADDRESS_SUCCESS);
    *(void **)&start = p;
    OK(start(0));
    OK(get("cuCtxCreate", &p, 11040, 0, NULL));
    OK(get("cuCtxCreate", &q, 12090, 0, NULL));
    CHECK(p && q && p != q); /* v3, v4 */
    OK(get("cuMemAlloc", &p, 2010, 0, NULL));
    OK(get("cuMemAlloc", &q, 3020, 0, NULL));
    CHECK(p && q && p != q);
    OK(get("cuMemAlloc", &p, 1000, 0, &status));
    CHECK(!p && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(get("cuNothing", &p, 13000, 0, &status));
    CHECK(!p && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT(get_v1("cuNothing", &p, 13000, 0), CUDA_ERROR_NOT_FOUND);
    OK(get_v1("cuMemAlloc", &p, 13000, 0));
    CHECK(p == q);
    EXPECT(get("cuInit", &p, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    EXPECT(get("cuInit", &p, 13000, 8, &status), CUDA_ERROR_INVALID_VALUE);
    EXPECT(get(NULL, &p, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    EXPECT(get("cuInit", NULL, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    OK(get("cuLaunchKernel", &p, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
    OK(get("cuLaunchKernel", &q, 13000, 0, NULL));
    OK(get("cuLaunchKernel", &per_thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
           NULL));
    CHECK(p == q && per_thread && per_thread != p);
    OK(get("cuMemAlloc", &p, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
    CHECK(p); /* one form only */
    return DRIVER_END();
}
