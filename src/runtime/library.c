/* Library management: device code loaded at run time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/module.h"
#include "runtime/rt.h"

static enum weir_err check_options(unsigned n, enum cudaJitOption *options, void **values,
                                   unsigned libraries, enum cudaLibraryOption *library_options)
{
    if ((n && (!options || !values)) || (libraries && !library_options))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "options at NULL");
    return WEIR_OK; /* they tune a compiler that is not ours, or ask for what is so anyway */
}

enum weir_err weir_rt_LibraryLoadData(cudaLibrary_t *library, const void *code,
                                      enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                      unsigned int numJitOptions,
                                      enum cudaLibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct weir_context *ctx;
    struct weir_module *m;

    (void)libraryOptionValues;
    RT_REQUIRE(library);
    RT_REQUIRE(code);
    RT_TRY(check_options(numJitOptions, jitOptions, jitOptionsValues, numLibraryOptions,
                         libraryOptions));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_library_load(code, SIZE_MAX, ctx, false, &m));
    *library = (cudaLibrary_t)m;
    return WEIR_OK;
}

enum weir_err weir_rt_LibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                          enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                          unsigned int numJitOptions,
                                          enum cudaLibraryOption *libraryOptions,
                                          void **libraryOptionValues,
                                          unsigned int numLibraryOptions)
{
    struct weir_context *ctx;
    struct weir_module *m;

    (void)libraryOptionValues;
    RT_REQUIRE(library);
    RT_REQUIRE(fileName);
    RT_TRY(check_options(numJitOptions, jitOptions, jitOptionsValues, numLibraryOptions,
                         libraryOptions));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_library_load_file(fileName, ctx, false, &m));
    *library = (cudaLibrary_t)m;
    return WEIR_OK;
}

static enum weir_err find(cudaLibrary_t library, struct weir_module **m)
{
    *m = weir_library_check(library);
    if (!*m || (*m)->home) /* a module of the driver API is none */
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no library", (void *)library);
    return WEIR_OK;
}

enum weir_err weir_rt_LibraryUnload(cudaLibrary_t library)
{
    struct weir_module *m;

    RT_TRY(find(library, &m));
    return weir_library_unload(m);
}

enum weir_err weir_rt_LibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                       const char *name)
{
    struct weir_function *f;
    struct weir_module *m;

    RT_REQUIRE(pKernel);
    RT_REQUIRE(name);
    RT_TRY(find(library, &m));
    RT_TRY(weir_library_kernel(m, name, &f));
    *pKernel = (cudaKernel_t)f;
    return WEIR_OK;
}

enum weir_err weir_rt_LibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    struct weir_module *m;

    RT_REQUIRE(count);
    RT_TRY(find(lib, &m));
    *count = weir_library_kernels(m, NULL, 0);
    return WEIR_OK;
}

enum weir_err weir_rt_LibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                              cudaLibrary_t lib)
{
    struct weir_module *m;

    if (numKernels)
        RT_REQUIRE(kernels);
    RT_TRY(find(lib, &m));
    weir_library_kernels(m, (void **)kernels, numKernels);
    return WEIR_OK;
}

static enum weir_err get_symbol(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    struct weir_context *ctx;
    struct weir_module *m;
    void *address;
    size_t n;

    RT_REQUIRE(name);
    if (!dptr && !bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "neither address nor size is wanted");
    RT_TRY(find(library, &m));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_library_symbol(m, name, ctx, &address, &n));
    if (dptr)
        *dptr = address;
    if (bytes)
        *bytes = n;
    return WEIR_OK;
}

enum weir_err weir_rt_LibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                       const char *name)
{
    return get_symbol(dptr, bytes, library, name);
}

enum weir_err weir_rt_LibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                        const char *name)
{
    return get_symbol(dptr, bytes, library, name);
}
