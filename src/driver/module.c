/* Module management. A module is a library of core's that belongs to one context.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/module.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* ---- options ---- */

static enum weir_err take_option(struct drv_jit *jit, CUjit_option option, void **value)
{
    switch (option) {
    case CU_JIT_WALL_TIME:
        jit->wall_time = value;
        return WEIR_OK;
    case CU_JIT_MAX_REGISTERS:
        jit->max_registers = (int)WEIR_MIN((unsigned)(uintptr_t)*value, 255u);
        return WEIR_OK;
    case CU_JIT_INFO_LOG_BUFFER:
        jit->info = *value;
        return WEIR_OK;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        jit->info_bytes = (unsigned)(uintptr_t)*value;
        jit->info_used = value;
        return WEIR_OK;
    case CU_JIT_ERROR_LOG_BUFFER:
        jit->error = *value;
        return WEIR_OK;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        jit->error_bytes = (unsigned)(uintptr_t)*value;
        jit->error_used = value;
        return WEIR_OK;
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
        weir_log_unsupported("CU_JIT_GLOBAL_SYMBOL_*", "device code with given addresses");
        return WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "symbols with given addresses");
    default:
        break;
    }
    if ((unsigned)option >= CU_JIT_NUM_OPTIONS)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "option %d of the compiler", (int)option);
    return WEIR_OK; /* the others tune a compiler that is not ours, or ask for what is so anyway */
}

enum weir_err weir_drv_jit_begin(struct drv_jit *jit, unsigned count, const CUjit_option *options,
                                 void **values)
{
    *jit = (struct drv_jit){.start_ns = weir_clock_ns()};
    if (count && (!options || !values))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "options at NULL");
    for (unsigned i = 0; i < count; i++)
        DRV_TRY(take_option(jit, options[i], &values[i]));
    return WEIR_OK;
}

static void write_log(char *buffer, size_t bytes, void **used, const char *text)
{
    size_t n = strlen(text);

    if (buffer && bytes) {
        n = WEIR_MIN(n, bytes - 1);
        memcpy(buffer, text, n);
        buffer[n] = 0;
    } else {
        n = 0;
    }
    if (used)
        *used = (void *)(uintptr_t)n;
}

enum weir_err weir_drv_jit_end(struct drv_jit *jit, enum weir_err err)
{
    char text[320] = "";

    if (err != WEIR_OK)
        snprintf(text, sizeof text, "weir: %s\n", weir_err_message());
    write_log(jit->info, jit->info_bytes, jit->info_used, "");
    write_log(jit->error, jit->error_bytes, jit->error_used, text);
    if (jit->wall_time) { /* a float in the value's place, in milliseconds */
        float ms = (float)((double)(weir_clock_ns() - jit->start_ns) * 1e-6);

        memcpy(jit->wall_time, &ms, sizeof ms);
    }
    if (err == WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE)
        weir_log_unsupported("device code without PTX", "%s", weir_err_message());
    return err;
}

/* ---- loading ---- */

enum weir_err weir_drv_ModuleLoadDataEx(CUmodule *module, const void *image,
                                        unsigned int numOptions, CUjit_option *options,
                                        void **optionValues)
{
    struct weir_module *m;
    struct drv_jit jit;
    enum weir_err err;

    DRV_REQUIRE(module);
    DRV_REQUIRE(image);
    DRV_TRY(weir_drv_jit_begin(&jit, numOptions, options, optionValues));
    err = weir_library_load(image, SIZE_MAX, weir_drv_current(), true, &m);
    if (err == WEIR_OK) {
        if (jit.max_registers)
            atomic_store(&m->max_registers, jit.max_registers);
        *module = (CUmodule)m;
    }
    return weir_drv_jit_end(&jit, err);
}

enum weir_err weir_drv_ModuleLoadData(CUmodule *module, const void *image)
{
    return weir_drv_ModuleLoadDataEx(module, image, 0, NULL, NULL);
}

enum weir_err weir_drv_ModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return weir_drv_ModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

enum weir_err weir_drv_ModuleLoad(CUmodule *module, const char *fname)
{
    struct drv_jit jit = {0};
    struct weir_module *m;
    enum weir_err err;

    DRV_REQUIRE(module);
    DRV_REQUIRE(fname);
    err = weir_library_load_file(fname, weir_drv_current(), true, &m);
    if (err == WEIR_OK)
        *module = (CUmodule)m;
    return weir_drv_jit_end(&jit, err);
}

static enum weir_err find(CUmodule handle, struct weir_module **out)
{
    *out = weir_library_check(handle);
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no module", (void *)handle);
}

enum weir_err weir_drv_ModuleUnload(CUmodule hmod)
{
    struct weir_module *m;

    DRV_TRY(find(hmod, &m));
    if (!m->home)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE,
                         "the module of a library is unloaded with it");
    return weir_library_unload(m);
}

enum weir_err weir_drv_ModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    DRV_REQUIRE(mode);
    *mode = CU_MODULE_LAZY_LOADING; /* kernels are compiled at their first launch */
    return WEIR_OK;
}

/* ---- what is in it ---- */

enum weir_err weir_drv_ModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct weir_function *f;
    struct weir_module *m;

    DRV_REQUIRE(hfunc);
    DRV_REQUIRE(name);
    DRV_TRY(find(hmod, &m));
    DRV_TRY(weir_library_kernel(m, name, &f));
    *hfunc = (CUfunction)f;
    return WEIR_OK;
}

enum weir_err weir_drv_ModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct weir_module *m;

    DRV_REQUIRE(count);
    DRV_TRY(find(mod, &m));
    *count = weir_library_kernels(m, NULL, 0);
    return WEIR_OK;
}

enum weir_err weir_drv_ModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                                CUmodule mod)
{
    struct weir_module *m;

    if (numFunctions)
        DRV_REQUIRE(functions);
    DRV_TRY(find(mod, &m));
    weir_library_kernels(m, (void **)functions, numFunctions);
    return WEIR_OK;
}

enum weir_err weir_drv_symbol(struct weir_module *m, const char *name, CUdeviceptr *dptr,
                              size_t *bytes)
{
    void *address;
    size_t n;

    DRV_TRY(weir_library_symbol(m, name, m->home ? m->home : weir_drv_current(), &address, &n));
    if (dptr)
        *dptr = (uintptr_t)address;
    if (bytes)
        *bytes = n;
    return WEIR_OK;
}

enum weir_err weir_drv_ModuleGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                       const char *name)
{
    struct weir_module *m;

    DRV_REQUIRE(name);
    if (!dptr && !bytes)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "neither address nor size is wanted");
    DRV_TRY(find(hmod, &m));
    return weir_drv_symbol(m, name, dptr, bytes);
}
