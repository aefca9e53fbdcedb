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

enum weir_err weir_drv_link_complete(struct drv_link *l)
{
    struct weir_cg_unit *units = weir_calloc(l->units.count + 1, sizeof *units);
    struct weir_cg_module *linked = NULL;
    enum weir_err err;

    if (units && !l->units.count) {
        weir_free(units);
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "nothing to link");
    }
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
