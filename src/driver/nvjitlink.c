/* What stands in for libnvJitLink.so, which links device code for machines with a GPU: taking over
 * makes its functions jump here (takeover/take.c). PTX goes in, and what comes out as a cubin is a
 * container of ours, which cuModuleLoadData and cuLibraryLoadData take. Code for link-time
 * optimisation only nvJitLink itself can read: with -lto the original is asked, too, for the PTX of
 * what it was given. Names, numbers and arguments are nvJitLink's.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/linked.h"
#include "core/module.h"
#include "driver/link.h"

/* nvJitLinkResult's numbers. */
enum jl_result {
    JL_SUCCESS = 0,
    JL_UNRECOGNIZED_OPTION = 1,
    JL_MISSING_ARCH = 2,
    JL_INVALID_INPUT = 3,
    JL_PTX_COMPILE = 4,
    JL_INTERNAL = 6,
    JL_UNRECOGNIZED_INPUT = 8,
    JL_FINALIZE = 9,
    JL_NULL_INPUT = 10,
    JL_INCORRECT_INPUT_TYPE = 12,
    JL_LTO_NOT_ENABLED = 18,
};

/* nvJitLinkInputType's numbers. */
enum jl_input {
    JL_INPUT_CUBIN = 1,
    JL_INPUT_PTX = 2,
    JL_INPUT_LTOIR = 3,
    JL_INPUT_FATBIN = 4,
    JL_INPUT_OBJECT = 5,
    JL_INPUT_LIBRARY = 6,
    JL_INPUT_INDEX = 7,
    JL_INPUT_ANY = 10,
};

#define JL_MAGIC     0x6b6e694c52494557ull
#define FATBIN_MAGIC 0xba55ed50u
#define ELF_MAGIC    0x464c457fu

struct jl {
    uint64_t magic; /* JL_MAGIC while it lives */
    struct drv_link link;
    void *lto;       /* the original's handle, with -lto */
    bool lto_filled; /* it was given something */
    size_t lto_unit; /* once complete: the unit that it made */
    char log[512];
};

/* The original's functions, written by the loader's auditor (take_linker has the same order); NULL
 * without nvJitLink, or with one that is made otherwise. */
union original {
    void *object;
    int (*create)(void **handle, uint32_t count, const char **options);
    int (*destroy)(void **handle);
    int (*add_data)(void *handle, int kind, const void *data, size_t bytes, const char *name);
    int (*complete)(void *handle);
    int (*get_size)(void *handle, size_t *bytes);
    int (*get)(void *handle, char *out);
};

enum {
    ORIGINAL_CREATE = 0,
    ORIGINAL_DESTROY = 1,
    ORIGINAL_ADD_DATA = 2,
    ORIGINAL_COMPLETE = 4,
    ORIGINAL_PTX_SIZE = 7,
    ORIGINAL_PTX = 8,
    ORIGINAL_LOG_SIZE = 9,
    ORIGINAL_LOG = 10,
    ORIGINAL_COUNT = 16
};

WEIR_EXPORT extern union original weir_api_nvJitLink_originals[ORIGINAL_COUNT];
union original weir_api_nvJitLink_originals[ORIGINAL_COUNT];

static bool is_good(const struct jl *l)
{
    return l && l->magic == JL_MAGIC;
}

static int fail(struct jl *l, int result)
{
    snprintf(l->log, sizeof l->log, "weir: %s", weir_err_message());
    return result;
}

/* ---- the original, for link-time optimisation ---- */

static const union original *original(int n)
{
    return &weir_api_nvJitLink_originals[n];
}

/* Its message, as far as there is room. */
static int fail_lto(struct jl *l, int result)
{
    size_t bytes = 0;
    char *text;

    (void)!WEIR_FAIL(WEIR_ERR_INVALID_PTX, "nvJitLink gives %d", result);
    (void)fail(l, result);
    if (original(ORIGINAL_LOG_SIZE)->get_size(l->lto, &bytes) != JL_SUCCESS || bytes == 0)
        return result;
    text = weir_calloc(1, bytes + 1);
    if (text && original(ORIGINAL_LOG)->get(l->lto, text) == JL_SUCCESS)
        snprintf(l->log, sizeof l->log, "%s", text);
    weir_free(text);
    return result;
}

static int begin_lto(struct jl *l, uint32_t count, const char **options)
{
    static const int needed[] = {ORIGINAL_CREATE,   ORIGINAL_DESTROY,  ORIGINAL_ADD_DATA,
                                 ORIGINAL_COMPLETE, ORIGINAL_PTX_SIZE, ORIGINAL_PTX,
                                 ORIGINAL_LOG_SIZE, ORIGINAL_LOG};
    const char **all;
    int result;

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(needed); i++) {
        if (!original(needed[i])->object) {
            weir_log_unsupported("link-time optimisation by this libnvJitLink.so", "-lto");
            return JL_INTERNAL;
        }
    }
    all = weir_calloc(count + 1u, sizeof *all);
    if (!all)
        return JL_INTERNAL;
    for (uint32_t i = 0; i < count; i++)
        all[i] = options[i];
    all[count] = "-ptx";
    result = original(ORIGINAL_CREATE)->create(&l->lto, count + 1, all);
    weir_free(all);
    return result;
}

/* What it makes of all that it was given becomes one more unit. */
static int complete_lto(struct jl *l)
{
    int result = original(ORIGINAL_COMPLETE)->complete(l->lto);
    size_t bytes = 0;
    char *text;

    if (result == JL_SUCCESS)
        result = original(ORIGINAL_PTX_SIZE)->get_size(l->lto, &bytes);
    if (result != JL_SUCCESS)
        return fail_lto(l, result);
    text = weir_calloc(1, bytes + 1);
    if (!text)
        return JL_INTERNAL;
    result = original(ORIGINAL_PTX)->get(l->lto, text);
    if (result != JL_SUCCESS)
        result = fail_lto(l, result);
    else if (weir_drv_link_ptx(&l->link, text, bytes, "link-time optimisation") != WEIR_OK)
        result = fail(l, JL_PTX_COMPILE);
    l->lto_unit = l->link.units.count - 1;
    weir_free(text);
    return result;
}

/* ---- life ---- */

WEIR_EXPORT int weir_api_nvJitLinkVersion(unsigned *major, unsigned *minor);
int weir_api_nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor)
        return JL_NULL_INPUT;
    *major = WEIR_DRIVER_VERSION / 1000;
    *minor = WEIR_DRIVER_VERSION % 1000 / 10;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkCreate(struct jl **handle, uint32_t count, const char **options);
int weir_api_nvJitLinkCreate(struct jl **handle, uint32_t count, const char **options)
{
    bool lto = false;
    int max_registers = 0, result;
    unsigned sm = 0;
    struct jl *l;

    if (!handle || (count && !options))
        return JL_NULL_INPUT;
    for (uint32_t i = 0; i < count; i++) {
        if (!options[i] || options[i][0] != '-')
            return JL_UNRECOGNIZED_OPTION;
        if (sscanf(options[i], "-arch=sm_%u", &sm) != 1)
            (void)(sscanf(options[i], "-arch=compute_%u", &sm) == 1);
        (void)(sscanf(options[i], "-maxrregcount=%d", &max_registers) == 1);
        lto = lto || strcmp(options[i], "-lto") == 0;
    }
    if (!sm)
        return JL_MISSING_ARCH;
    l = weir_calloc(1, sizeof *l);
    if (!l)
        return JL_INTERNAL;
    l->magic = JL_MAGIC;
    l->link.sm = sm;
    l->link.max_registers = WEIR_MAX(max_registers, 0);
    result = lto ? begin_lto(l, count, options) : JL_SUCCESS;
    if (result != JL_SUCCESS) {
        weir_free(l);
        return result;
    }
    *handle = l;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkDestroy(struct jl **handle);
int weir_api_nvJitLinkDestroy(struct jl **handle)
{
    if (!handle || !is_good(*handle))
        return JL_INVALID_INPUT;
    if ((*handle)->lto)
        (void)original(ORIGINAL_DESTROY)->destroy(&(*handle)->lto);
    weir_drv_link_finish(&(*handle)->link);
    (*handle)->magic = 0;
    weir_free(*handle);
    *handle = NULL;
    return JL_SUCCESS;
}

/* ---- input ---- */

static int refuse(struct jl *l, const char *what, const char *name)
{
    weir_log_unsupported(what, "nvJitLink: only PTX can be linked");
    (void)!WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "%s: %s: only PTX can be linked",
                     name && *name ? name : "input", what);
    return fail(l, JL_INCORRECT_INPUT_TYPE);
}

static int kind_of(const void *data, size_t bytes)
{
    uint32_t magic = 0;

    if (bytes >= sizeof magic)
        memcpy(&magic, data, sizeof magic);
    return magic == FATBIN_MAGIC ? JL_INPUT_FATBIN
           : magic == ELF_MAGIC  ? JL_INPUT_CUBIN
                                 : JL_INPUT_PTX;
}

static int add(struct jl *l, int kind, const void *data, size_t bytes, const char *name)
{
    static const char *const refused[] = {
        [JL_INPUT_CUBIN] = "NVJITLINK_INPUT_CUBIN",
        [JL_INPUT_LTOIR] = "NVJITLINK_INPUT_LTOIR",
        [JL_INPUT_OBJECT] = "NVJITLINK_INPUT_OBJECT",
        [JL_INPUT_LIBRARY] = "NVJITLINK_INPUT_LIBRARY",
        [JL_INPUT_INDEX] = "NVJITLINK_INPUT_INDEX",
    };
    enum weir_err err;

    if (kind == JL_INPUT_ANY)
        kind = kind_of(data, bytes);
    /* CUDA's device run time: what Weir has of it needs no library. */
    if (kind == JL_INPUT_LIBRARY && name && strstr(name, "cudadevrt"))
        return JL_SUCCESS;
    if (kind < JL_INPUT_CUBIN || kind > JL_INPUT_INDEX)
        return JL_UNRECOGNIZED_INPUT;
    if (kind == JL_INPUT_LTOIR && l->lto) {
        int result = original(ORIGINAL_ADD_DATA)->add_data(l->lto, kind, data, bytes, name);

        l->lto_filled = true;
        return result == JL_SUCCESS ? result : fail_lto(l, result);
    }
    if (refused[kind])
        return refuse(l, refused[kind], name);
    err = kind == JL_INPUT_PTX ? weir_drv_link_ptx(&l->link, data, bytes, name)
                               : weir_drv_link_fatbin(&l->link, data, bytes, name);
    return err == WEIR_OK ? JL_SUCCESS : fail(l, JL_PTX_COMPILE);
}

WEIR_EXPORT int weir_api_nvJitLinkAddData(struct jl *l, int kind, const void *data, size_t bytes,
                                          const char *name);
int weir_api_nvJitLinkAddData(struct jl *l, int kind, const void *data, size_t bytes,
                              const char *name)
{
    if (!is_good(l) || l->link.result)
        return JL_INVALID_INPUT;
    return data ? add(l, kind, data, bytes, name) : JL_NULL_INPUT;
}

WEIR_EXPORT int weir_api_nvJitLinkAddFile(struct jl *l, int kind, const char *path);
int weir_api_nvJitLinkAddFile(struct jl *l, int kind, const char *path)
{
    size_t bytes;
    char *data;
    int result;

    if (!is_good(l) || l->link.result)
        return JL_INVALID_INPUT;
    if (!path)
        return JL_NULL_INPUT;
    if (weir_file_read(path, &data, &bytes) != WEIR_OK)
        return fail(l, JL_INVALID_INPUT);
    result = add(l, kind, data, bytes, path);
    weir_free(data);
    return result;
}

/* ---- output ---- */

WEIR_EXPORT int weir_api_nvJitLinkComplete(struct jl *l);
int weir_api_nvJitLinkComplete(struct jl *l)
{
    int result;

    if (!is_good(l) || l->link.result)
        return JL_INVALID_INPUT;
    result = l->lto_filled ? complete_lto(l) : JL_SUCCESS;
    if (result != JL_SUCCESS)
        return result;
    return weir_drv_link_complete(&l->link) == WEIR_OK ? JL_SUCCESS : fail(l, JL_FINALIZE);
}

WEIR_EXPORT int weir_api_nvJitLinkGetLinkedCubinSize(struct jl *l, size_t *bytes);
int weir_api_nvJitLinkGetLinkedCubinSize(struct jl *l, size_t *bytes)
{
    if (!is_good(l) || !l->link.result)
        return JL_INVALID_INPUT;
    if (!bytes)
        return JL_NULL_INPUT;
    *bytes = l->link.result_bytes;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkGetLinkedCubin(struct jl *l, void *cubin);
int weir_api_nvJitLinkGetLinkedCubin(struct jl *l, void *cubin)
{
    if (!is_good(l) || !l->link.result)
        return JL_INVALID_INPUT;
    if (!cubin)
        return JL_NULL_INPUT;
    memcpy(cubin, l->link.result, l->link.result_bytes);
    return JL_SUCCESS;
}

/* PTX comes out of link-time optimisation only. */
static const struct drv_link_unit *lto_unit(const struct jl *l)
{
    return l->lto_filled && l->link.result ? &l->link.units.items[l->lto_unit] : NULL;
}

WEIR_EXPORT int weir_api_nvJitLinkGetLinkedPtxSize(struct jl *l, size_t *bytes);
int weir_api_nvJitLinkGetLinkedPtxSize(struct jl *l, size_t *bytes)
{
    if (!is_good(l))
        return JL_INVALID_INPUT;
    if (!bytes)
        return JL_NULL_INPUT;
    if (!lto_unit(l))
        return JL_LTO_NOT_ENABLED;
    *bytes = lto_unit(l)->bytes + 1;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkGetLinkedPtx(struct jl *l, char *ptx);
int weir_api_nvJitLinkGetLinkedPtx(struct jl *l, char *ptx)
{
    if (!is_good(l))
        return JL_INVALID_INPUT;
    if (!ptx)
        return JL_NULL_INPUT;
    if (!lto_unit(l))
        return JL_LTO_NOT_ENABLED;
    memcpy(ptx, lto_unit(l)->text, lto_unit(l)->bytes + 1);
    return JL_SUCCESS;
}

/* Nor is there code to optimise further. */
WEIR_EXPORT int weir_api_nvJitLinkGetLinkedLTOIRSize(struct jl *l, size_t *bytes);
int weir_api_nvJitLinkGetLinkedLTOIRSize(struct jl *l, size_t *bytes)
{
    return !is_good(l) ? JL_INVALID_INPUT : !bytes ? JL_NULL_INPUT : JL_LTO_NOT_ENABLED;
}

WEIR_EXPORT int weir_api_nvJitLinkGetLinkedLTOIR(struct jl *l, void *code);
int weir_api_nvJitLinkGetLinkedLTOIR(struct jl *l, void *code)
{
    return !is_good(l) ? JL_INVALID_INPUT : !code ? JL_NULL_INPUT : JL_LTO_NOT_ENABLED;
}

/* ---- logs ---- */

/* With the terminator, 0 when there is nothing to tell. */
WEIR_EXPORT int weir_api_nvJitLinkGetErrorLogSize(struct jl *l, size_t *bytes);
int weir_api_nvJitLinkGetErrorLogSize(struct jl *l, size_t *bytes)
{
    if (!is_good(l))
        return JL_INVALID_INPUT;
    if (!bytes)
        return JL_NULL_INPUT;
    *bytes = l->log[0] ? strlen(l->log) + 1 : 0;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkGetErrorLog(struct jl *l, char *log);
int weir_api_nvJitLinkGetErrorLog(struct jl *l, char *log)
{
    if (!is_good(l))
        return JL_INVALID_INPUT;
    if (!log)
        return JL_NULL_INPUT;
    if (l->log[0])
        memcpy(log, l->log, strlen(l->log) + 1);
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkGetInfoLogSize(struct jl *l, size_t *bytes);
int weir_api_nvJitLinkGetInfoLogSize(struct jl *l, size_t *bytes)
{
    if (!is_good(l))
        return JL_INVALID_INPUT;
    if (!bytes)
        return JL_NULL_INPUT;
    *bytes = 0;
    return JL_SUCCESS;
}

WEIR_EXPORT int weir_api_nvJitLinkGetInfoLog(struct jl *l, char *log);
int weir_api_nvJitLinkGetInfoLog(struct jl *l, char *log)
{
    return !is_good(l) ? JL_INVALID_INPUT : !log ? JL_NULL_INPUT : JL_SUCCESS;
}
