/* The linker (cuLink*): collects PTX, checks each unit as it comes, links at the end, and gives a
 * container of our own (core/linked.h), which cuModuleLoadData takes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/linked.h"
#include "core/module.h"
#include "driver/module.h"

struct link_unit {
    char *text, *name;
    size_t bytes;
};

/* One thread's at a time, as documented. */
struct link {
    struct drv_jit jit; /* the program keeps the options' values as long as the link */
    uint32_t sm;
    WEIR_VEC(struct link_unit) units;
    unsigned char *result;
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
    l->sm = (uint32_t)(profile->major * 10 + profile->minor);
    err = weir_drv_jit_begin(&l->jit, numOptions, options, optionValues);
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
    for (size_t i = 0; i < l->units.count; i++) {
        weir_free(l->units.items[i].text);
        weir_free(l->units.items[i].name);
    }
    weir_vec_finish(&l->units);
    weir_free(l->result);
    weir_free(l);
    return WEIR_OK;
}

/* ---- input ---- */

/* Takes over text. A unit that cannot be parsed is refused here, where its line can be told. */
static enum weir_err add_unit(struct link *l, char *text, size_t bytes, const char *name)
{
    struct link_unit u = {text, weir_strdup(name && *name ? name : "input"), bytes};
    struct weir_cg_unit check = {text, bytes, u.name};
    struct weir_cg_module *parsed = NULL;
    enum weir_err err;

    if (!u.name)
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a unit to link");
    else
        err = weir_cg_module_link(&check, 1, &parsed);
    if (err == WEIR_OK)
        weir_cg_module_destroy(parsed);
    if (err == WEIR_OK && !weir_vec_push(&l->units, u))
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a unit to link");
    if (err != WEIR_OK) {
        weir_free(u.text);
        weir_free(u.name);
    }
    return err;
}

static enum weir_err add_ptx(struct link *l, const char *data, size_t size, const char *name)
{
    size_t n = strnlen(data, size);
    char *text = weir_alloc(n + 1);

    if (!text)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a unit to link");
    memcpy(text, data, n);
    text[n] = 0;
    return add_unit(l, text, n, name);
}

static enum weir_err add_fatbin(struct link *l, const void *data, size_t size, const char *name)
{
    struct weir_fatbin_entry entry;
    struct weir_fatbin fatbin;
    size_t bytes;
    char *text;

    DRV_TRY(weir_fatbin_open(data, size, &fatbin));
    DRV_TRY(weir_fatbin_select(&fatbin, l->sm, &entry));
    DRV_TRY(weir_fatbin_unpack(&entry, &text, &bytes));
    return add_unit(l, text, bytes, name);
}

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
        return add_ptx(l, data, size, name);
    if (type == CU_JIT_INPUT_FATBINARY)
        return add_fatbin(l, data, size, name);
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
    return (*l)->result ? WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "a link that is complete") : WEIR_OK;
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

/* ---- linking ---- */

/* A symbol that nothing defines is an error of the link, not only of the kernels that reach it. */
static enum weir_err check_symbols(struct weir_cg_module *m)
{
    const char *name;

    for (size_t i = 0; (name = weir_cg_kernel_at(m, i)) != NULL; i++) {
        struct weir_cg_kernel_info info;

        weir_cg_kernel_info(weir_cg_kernel_find(m, name), &info);
        if (info.unresolved)
            return WEIR_FAIL(WEIR_ERR_INVALID_PTX, "undefined reference to %s in kernel %s",
                             info.unresolved, name);
    }
    return WEIR_OK;
}

static enum weir_err complete(struct link *l, size_t *bytes)
{
    struct weir_cg_unit *units = weir_calloc(l->units.count + 1, sizeof *units);
    struct weir_cg_module *linked = NULL;
    enum weir_err err;

    if (!units)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu units to link", l->units.count);
    for (size_t i = 0; i < l->units.count; i++)
        units[i] = (struct weir_cg_unit){l->units.items[i].text, l->units.items[i].bytes,
                                         l->units.items[i].name};
    err = weir_cg_module_link(units, l->units.count, &linked);
    if (err == WEIR_OK) {
        err = check_symbols(linked);
        weir_cg_module_destroy(linked);
    }
    if (err == WEIR_OK)
        err = weir_linked_build(units, l->units.count, &l->result, bytes);
    weir_free(units);
    return err;
}

enum weir_err weir_drv_LinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    struct link *l;
    size_t bytes;
    enum weir_err err;

    DRV_TRY(find_open(state, &l));
    DRV_REQUIRE(cubinOut);
    if (l->units.count == 0)
        return weir_drv_jit_end(&l->jit, WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "nothing to link"));
    err = complete(l, &bytes);
    if (err == WEIR_OK) {
        *cubinOut = l->result;
        if (sizeOut)
            *sizeOut = bytes;
    }
    return weir_drv_jit_end(&l->jit, err);
}
