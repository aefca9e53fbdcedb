/* The linker (cuLink*): collects PTX, checks each unit as it comes, links at the end, and gives a
 * container of our own (core/linked.h), which cuModuleLoadData takes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "core/module.h"
#include "driver/link.h"
#include "driver/module.h"

/* One thread's at a time, as documented. */
struct link {
    struct drv_jit jit; /* the program keeps the options' values as long as the link */
    struct drv_link units;
};

/* The live ones, so that a dead handle is an error and not a crash. */
static struct {
    struct weir_lock lock; /* rank LEAF */
    struct weir_map links;
} live = {.lock = WEIR_LOCK_INIT(LEAF)};

static enum weir_err find(CUlinkState state, struct link **out)
{
    *out = NULL;
    if (state) {
        weir_lock_acquire(&live.lock);
        *out = weir_map_get(&live.links, (uintptr_t)state);
        weir_lock_release(&live.lock);
    }
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no link", (void *)state);
}

enum weir_err weir_drv_LinkCreate(unsigned int numOptions, CUjit_option *options,
                                  void **optionValues, CUlinkState *stateOut)
{
    int device = weir_thread.bound ? weir_drv_current()->ordinal : 0;
    const struct weir_profile *profile = weir_core.contexts[device].profile;
    struct link *l;
    enum weir_err err;
    bool ok;

    DRV_REQUIRE(stateOut);
    l = weir_calloc(1, sizeof *l);
    if (!l)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a link");
    l->units.sm = (uint32_t)(profile->major * 10 + profile->minor);
    err = weir_drv_jit_begin(&l->jit, numOptions, options, optionValues);
    l->units.max_registers = l->jit.max_registers;
    if (err == WEIR_OK) {
        weir_lock_acquire(&live.lock);
        ok = weir_map_put(&live.links, (uintptr_t)l, l);
        weir_lock_release(&live.lock);
        if (!ok)
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a link");
    }
    if (err != WEIR_OK) {
        weir_free(l);
        return err;
    }
    *stateOut = (CUlinkState)l;
    return WEIR_OK;
}

enum weir_err weir_drv_LinkDestroy(CUlinkState state)
{
    struct link *l;

    DRV_TRY(find(state, &l));
    weir_lock_acquire(&live.lock);
    weir_map_remove(&live.links, (uintptr_t)l);
    weir_lock_release(&live.lock);
    weir_drv_link_finish(&l->units);
    weir_free(l);
    return WEIR_OK;
}

/* ---- input ---- */

static enum weir_err add(struct link *l, CUjitInputType type, const void *data, size_t size,
                         const char *name)
{
    static const char *const refused[] = {
        [CU_JIT_INPUT_CUBIN] = "CU_JIT_INPUT_CUBIN",
        [CU_JIT_INPUT_OBJECT] = "CU_JIT_INPUT_OBJECT",
        [CU_JIT_INPUT_LIBRARY] = "CU_JIT_INPUT_LIBRARY",
        [CU_JIT_INPUT_NVVM] = "CU_JIT_INPUT_NVVM",
    };

    if (type == CU_JIT_INPUT_PTX)
        return weir_drv_link_ptx(&l->units, data, size, name);
    if (type == CU_JIT_INPUT_FATBINARY)
        return weir_drv_link_fatbin(&l->units, data, size, name);
    if ((unsigned)type >= CU_JIT_NUM_INPUT_TYPES)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "input of type %d", (int)type);
    weir_log_unsupported(refused[type], "cuLinkAddData: only PTX can be linked");
    return WEIR_FAIL(WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE, "%s: %s: only PTX can be linked",
                     name && *name ? name : "input", refused[type]);
}

/* Linked once, a link takes nothing more. */
static enum weir_err find_open(CUlinkState state, struct link **l)
{
    DRV_TRY(find(state, l));
    return (*l)->units.result ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a link that is complete")
                              : WEIR_OK;
}

enum weir_err weir_drv_LinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                   const char *name, unsigned int numOptions, CUjit_option *options,
                                   void **optionValues)
{
    struct drv_jit ignored;
    struct link *l;

    DRV_TRY(find_open(state, &l));
    DRV_REQUIRE(data);
    DRV_TRY(weir_drv_jit_begin(&ignored, numOptions, options, optionValues));
    return weir_drv_jit_end(&l->jit, add(l, type, data, size, name));
}

enum weir_err weir_drv_LinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                                   unsigned int numOptions, CUjit_option *options,
                                   void **optionValues)
{
    struct drv_jit ignored;
    struct link *l;
    size_t bytes;
    char *data;
    enum weir_err err;

    DRV_TRY(find_open(state, &l));
    DRV_REQUIRE(path);
    DRV_TRY(weir_drv_jit_begin(&ignored, numOptions, options, optionValues));
    err = weir_file_read(path, &data, &bytes);
    if (err == WEIR_OK) {
        err = add(l, type, data, bytes, path);
        weir_free(data);
    }
    return weir_drv_jit_end(&l->jit, err);
}

enum weir_err weir_drv_LinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    struct link *l;
    enum weir_err err;

    DRV_TRY(find_open(state, &l));
    DRV_REQUIRE(cubinOut);
    err = weir_drv_link_complete(&l->units);
    if (err == WEIR_OK) {
        *cubinOut = l->units.result;
        if (sizeOut)
            *sizeOut = l->units.result_bytes;
    }
    return weir_drv_jit_end(&l->jit, err);
}
