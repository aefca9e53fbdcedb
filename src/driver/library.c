/* Library management: device code that is loaded once and used in any context.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/launch.h"
#include "driver/module.h"

/* A library is read for the current context, or where there is none for the first device's. */
static enum weir_err first_context(struct weir_context **out)
{
    return weir_thread.bound ? weir_context_current(out) : weir_context_get(0, out);
}

static enum weir_err check_library_options(CUlibraryOption *options, unsigned count)
{
    if (count && !options)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "options at NULL");
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "library option %d", (int)options[i]);
    }
    return WEIR_OK;
}

enum weir_err weir_drv_LibraryLoadData(CUlibrary *library, const void *code,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct weir_context *ctx;
    struct weir_module *m;
    struct drv_jit jit;
    enum weir_err err;

    (void)libraryOptionValues;
    DRV_REQUIRE(library);
    DRV_REQUIRE(code);
    DRV_TRY(check_library_options(libraryOptions, numLibraryOptions));
    DRV_TRY(weir_drv_jit_begin(&jit, numJitOptions, jitOptions, jitOptionsValues));
    DRV_TRY(first_context(&ctx));
    err = weir_library_load(code, SIZE_MAX, ctx, false, &m);
    if (err == WEIR_OK)
        *library = (CUlibrary)m;
    return weir_drv_jit_end(&jit, err);
}

enum weir_err weir_drv_LibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                           CUjit_option *jitOptions, void **jitOptionsValues,
                                           unsigned int numJitOptions,
                                           CUlibraryOption *libraryOptions,
                                           void **libraryOptionValues,
                                           unsigned int numLibraryOptions)
{
    struct weir_context *ctx;
    struct weir_module *m;
    struct drv_jit jit;
    enum weir_err err;

    (void)libraryOptionValues;
    DRV_REQUIRE(library);
    DRV_REQUIRE(fileName);
    DRV_TRY(check_library_options(libraryOptions, numLibraryOptions));
    DRV_TRY(weir_drv_jit_begin(&jit, numJitOptions, jitOptions, jitOptionsValues));
    DRV_TRY(first_context(&ctx));
    err = weir_library_load_file(fileName, ctx, false, &m);
    if (err == WEIR_OK)
        *library = (CUlibrary)m;
    return weir_drv_jit_end(&jit, err);
}

static enum weir_err find(CUlibrary library, struct weir_module **m)
{
    *m = weir_library_check(library);
    if (!*m || (*m)->home)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no library", (void *)library);
    return WEIR_OK;
}

/* The library's module in the current context: the same object, whose functions and variables are
 * found for the context in which they are used. */
enum weir_err weir_drv_LibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct weir_module *m;

    DRV_REQUIRE(pMod);
    DRV_TRY(find(library, &m));
    *pMod = (CUmodule)m;
    return WEIR_OK;
}

static enum weir_err get_symbol(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                const char *name)
{
    struct weir_module *m;

    DRV_REQUIRE(name);
    if (!dptr && !bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "neither address nor size is wanted");
    DRV_TRY(find(library, &m));
    return weir_drv_symbol(m, name, dptr, bytes);
}

enum weir_err weir_drv_LibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                        const char *name)
{
    return get_symbol(dptr, bytes, library, name);
}

enum weir_err weir_drv_LibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                         const char *name)
{
    return get_symbol(dptr, bytes, library, name);
}

/* ---- kernels ---- */

enum weir_err weir_drv_KernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct weir_function *f;

    DRV_REQUIRE(pFunc);
    DRV_TRY(weir_function_find(kernel, &f));
    *pFunc = (CUfunction)f;
    return WEIR_OK;
}

enum weir_err weir_drv_KernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct weir_function *f;

    DRV_REQUIRE(pLib);
    DRV_TRY(weir_function_find(kernel, &f));
    *pLib = (CUlibrary)f->module;
    return WEIR_OK;
}

enum weir_err weir_drv_KernelGetName(const char **name, CUkernel hfunc)
{
    return weir_drv_FuncGetName(name, (CUfunction)hfunc);
}
