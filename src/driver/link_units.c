/* See link.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/link.h"

#include <string.h>

#include "base/alloc.h"
#include "core/linked.h"
#include "fatbin/fatbin.h"

/* Takes over text. */
static enum weir_err add_unit(struct drv_link *l, char *text, size_t bytes, const char *name)
{
    struct drv_link_unit u = {text, weir_strdup(name && *name ? name : "input"), bytes};
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

enum weir_err weir_drv_link_ptx(struct drv_link *l, const void *data, size_t bytes,
                                const char *name)
{
    size_t n = strnlen(data, bytes);
    char *text = weir_alloc(n + 1);

    if (!text)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a unit to link");
    memcpy(text, data, n);
    text[n] = 0;
    return add_unit(l, text, n, name);
}

enum weir_err weir_drv_link_fatbin(struct drv_link *l, const void *data, size_t bytes,
                                   const char *name)
{
    struct weir_fatbin_entry entry;
    struct weir_fatbin fatbin;
    size_t n;
    char *text;

    DRV_TRY(weir_fatbin_open(data, bytes, &fatbin));
    DRV_TRY(weir_fatbin_select(&fatbin, l->sm, &entry));
    DRV_TRY(weir_fatbin_unpack(&entry, &text, &n));
    return add_unit(l, text, n, name);
}

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

#define DEVRT "cudadevrt"

/* Programs need not name the library that it is in. */
static enum weir_err add_devrt(struct drv_link *l)
{
    bool named = false;

    for (size_t i = 0; i < l->units.count; i++) {
        if (strcmp(l->units.items[i].name, DEVRT) == 0)
            return WEIR_OK;
        named = named || strstr(l->units.items[i].text, "cudaCG");
    }
    return named ? weir_drv_link_ptx(l, weir_drv_devrt, SIZE_MAX, DEVRT) : WEIR_OK;
}

enum weir_err weir_drv_link_complete(struct drv_link *l)
{
    struct weir_cg_module *linked = NULL;
    struct weir_cg_unit *units;
    enum weir_err err;

    if (!l->units.count)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "nothing to link");
    DRV_TRY(add_devrt(l));
    units = weir_calloc(l->units.count, sizeof *units);
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
        err = weir_linked_build(units, l->units.count, l->max_registers, &l->result,
                                &l->result_bytes);
    weir_free(units);
    return err;
}

void weir_drv_link_finish(struct drv_link *l)
{
    for (size_t i = 0; i < l->units.count; i++) {
        weir_free(l->units.items[i].text);
        weir_free(l->units.items[i].name);
    }
    weir_vec_finish(&l->units);
    weir_free(l->result);
    l->result = NULL;
}
