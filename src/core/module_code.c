/* See module_code.h. A program of separately compiled units is linked here, each time that it is
 * loaded: what is kept on disk are its kernels' machine code (codegen/cache.h), not the link.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/module_code.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "core/linked.h"

/* A unit while its module is loaded. */
struct unit {
    char *text;
    char name[64];
};

/* The source file that the compiler noted, without its folders. */
static void name_unit(struct unit *u, const struct weir_fatbin_entry *e, uint32_t n)
{
    uint32_t at = e->name_bytes;

    while (at > 0 && e->name[at - 1] != '/')
        at--;
    if (e->name_bytes > at)
        snprintf(u->name, sizeof u->name, "%.*s", (int)WEIR_MIN(e->name_bytes - at, 60u),
                 e->name + at);
    else
        snprintf(u->name, sizeof u->name, "unit %u", n + 1);
}

static uint32_t capability(const struct weir_context *ctx)
{
    return (uint32_t)(ctx->profile->major * 10 + ctx->profile->minor);
}

static enum weir_err read_unit(const struct weir_module *m, uint32_t n, uint32_t sm, struct unit *u,
                               size_t *bytes)
{
    struct weir_fatbin_entry entry;
    struct weir_fatbin unit;
    enum weir_err err = weir_fatbin_unit(m->data, n, &unit);

    if (err == WEIR_OK)
        err = weir_fatbin_select(&unit, sm, &entry);
    if (err != WEIR_OK)
        return err;
    name_unit(u, &entry, n);
    return weir_fatbin_unpack(&entry, &u->text, bytes);
}

/* A unit without PTX for the device is left out (the device runtime of CUDA, which is linked to
 * programs that launch kernels from kernels, is one): only what needs it fails. */
static enum weir_err leave_out(struct weir_module *m, uint32_t n)
{
    char text[400];

    if (m->without_ptx)
        return WEIR_OK;
    snprintf(text, sizeof text, "unit %u of its program: %s", n + 1, weir_err_message());
    m->without_ptx = weir_strdup(text);
    return m->without_ptx ? WEIR_OK
                          : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a unit of device code");
}

static enum weir_err link_units(struct weir_module *m, uint32_t sm, struct weir_cg_module **out)
{
    uint32_t count = m->fatbin.unit_count, found = 0;
    struct weir_cg_unit *units = weir_calloc(count, sizeof *units);
    struct unit *read = weir_calloc(count, sizeof *read);
    enum weir_err err = WEIR_OK;

    if (!units || !read)
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%u units of device code", count);
    for (uint32_t n = 0; err == WEIR_OK && n < count; n++) {
        err = read_unit(m, n, sm, &read[found], &units[found].bytes);
        if (err == WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE && (found || n + 1 < count)) {
            err = leave_out(m, n);
            continue;
        }
        units[found].ptx = read[found].text;
        units[found].name = read[found].name;
        found++;
    }
    if (err == WEIR_OK)
        err = weir_cg_module_link(units, found, out);
    for (uint32_t n = 0; read && n < found; n++)
        weir_free(read[n].text);
    weir_free(read);
    weir_free(units);
    return err;
}

static enum weir_err one_text(const struct weir_module *m, uint32_t sm, struct weir_cg_module **out)
{
    struct weir_fatbin_entry entry;
    enum weir_err err = weir_fatbin_select(&m->fatbin, sm, &entry);
    size_t bytes;
    char *text;

    if (err == WEIR_OK)
        err = weir_fatbin_unpack(&entry, &text, &bytes);
    if (err != WEIR_OK)
        return err;
    err = weir_cg_module_create(text, bytes, out);
    weir_free(text);
    return err;
}

enum weir_err weir_module_code(struct weir_module *m, struct weir_context *ctx,
                               struct weir_cg_module **out)
{
    *out = NULL;
    if (m->ptx)
        return weir_cg_module_create(m->ptx, m->ptx_bytes, out);
    if (m->linked_bytes)
        return weir_linked_module(m->owned, m->linked_bytes, out);
    if (m->open_error != WEIR_OK)
        return WEIR_FAIL(m->open_error, "damaged fat binary");
    if (m->fatbin.unit_count)
        return link_units(m, capability(ctx), out);
    return one_text(m, capability(ctx), out);
}

enum weir_err weir_module_fail_missing(const struct weir_module *m, enum weir_err code,
                                       const char *kernel, const char *what)
{
    if (!m->without_ptx) {
        weir_log(WEIR_LOG_ERROR, "kernel %s: %s", kernel, what);
        return WEIR_FAIL(code, "kernel %s: %s", kernel, what);
    }
    weir_log(WEIR_LOG_ERROR, "kernel %s: %s; %s", kernel, what, m->without_ptx);
    return WEIR_FAIL(WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE, "kernel %s: %s; %s", kernel, what,
                     m->without_ptx);
}
