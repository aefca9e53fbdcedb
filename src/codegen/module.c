/* Modules: parsing, placing of variables, names. Kernels of a module are in kernel.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "codegen/codegen_int.h"
#include "ptx/link.h"

static enum weir_err make_kernels(struct weir_cg_module *m)
{
    const struct weir_ptx_module *ptx = m->ptx;
    size_t count = 0;

    for (size_t i = 0; i < ptx->function_count; i++)
        count += ptx->functions[i]->is_entry && !ptx->functions[i]->is_extern;
    m->kernels = weir_calloc(count, sizeof *m->kernels);
    if (!m->kernels)
        goto fail_memory;
    for (size_t i = 0; i < ptx->function_count; i++) {
        const struct weir_ptx_function *f = ptx->functions[i];
        struct weir_cg_kernel *k = &m->kernels[m->kernel_count];

        if (!f->is_entry || f->is_extern)
            continue;
        m->kernel_count++;
        weir_cg_kernel_init(k, m, f);
        /* Of kernels private to two linked units the first one answers to the name. */
        if (!weir_strmap_get(&m->names, f->name, strlen(f->name)) &&
            !weir_strmap_put(&m->names, f->name, strlen(f->name), k))
            goto fail_memory;
    }
    return WEIR_OK;

fail_memory:
    return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for the module's kernels");
}

static enum weir_err parse_unit(const struct weir_cg_unit *u, bool only,
                                struct weir_ptx_module **out)
{
    struct weir_ptx_error error = {0};
    enum weir_err err = weir_ptx_parse(u->ptx, u->bytes, out, &error);

    if (err == WEIR_OK)
        return WEIR_OK;
    return only ? WEIR_FAIL(err, "PTX line %d column %d: %s", error.line, error.column,
                            error.message)
                : WEIR_FAIL(err, "PTX of %s, line %d column %d: %s", u->name, error.line,
                            error.column, error.message);
}

static enum weir_err parse_and_link(const struct weir_cg_unit *units, size_t count,
                                    struct weir_ptx_module **out)
{
    struct weir_ptx_unit *parsed = weir_calloc(count, sizeof *parsed);
    struct weir_ptx_error error = {0};
    enum weir_err err = WEIR_OK;
    size_t n = 0;

    if (!parsed)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a module");
    for (; n < count && err == WEIR_OK; n++) {
        parsed[n].name = units[n].name;
        err = parse_unit(&units[n], false, &parsed[n].module);
    }
    if (err == WEIR_OK) {
        err = weir_ptx_link(parsed, count, out, &error);
        if (err != WEIR_OK)
            err = WEIR_FAIL(err, "linking of device code: %s", error.message);
    } else {
        while (n-- > 0)
            weir_ptx_module_destroy(parsed[n].module);
    }
    weir_free(parsed);
    return err;
}

static enum weir_err module_create(const struct weir_cg_unit *units, size_t count, bool link,
                                   struct weir_cg_module **out)
{
    struct weir_cg_module *m = weir_calloc(1, sizeof *m);
    struct weir_hash128 hash;
    enum weir_err err;

    *out = NULL;
    if (!m)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a module");
    atomic_init(&m->refs, 1);
    weir_hash128_init(&hash);
    if (link) {
        for (size_t i = 0; i < count; i++)
            weir_hash128_add_field(&hash, units[i].ptx, units[i].bytes);
    } else {
        weir_hash128_add(&hash, units[0].ptx, units[0].bytes);
    }
    weir_hash128_finish(&hash, m->text_hash);
    err = link ? parse_and_link(units, count, &m->ptx) : parse_unit(&units[0], true, &m->ptx);
    if (err) {
        weir_free(m);
        return err;
    }
    m->data = weir_calloc(m->ptx->var_count, sizeof *m->data);
    err =
        m->data ? make_kernels(m) : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a module");
    if (err) {
        weir_cg_module_destroy(m);
        return err;
    }
    *out = m;
    return WEIR_OK;
}

enum weir_err weir_cg_module_create(const char *ptx, size_t bytes, struct weir_cg_module **out)
{
    const struct weir_cg_unit unit = {.ptx = ptx, .bytes = bytes, .name = ""};

    return module_create(&unit, 1, false, out);
}

enum weir_err weir_cg_module_link(const struct weir_cg_unit *units, size_t count,
                                  struct weir_cg_module **out)
{
    return module_create(units, count, true, out);
}

void weir_cg_module_ref(struct weir_cg_module *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void weir_cg_module_unref(struct weir_cg_module *m, uint32_t n)
{
    if (atomic_fetch_sub_explicit(&m->refs, n, memory_order_acq_rel) != n)
        return;
    for (size_t i = 0; i < m->kernel_count; i++)
        weir_cg_kernel_finish(&m->kernels[i]);
    weir_free(m->kernels);
    weir_strmap_finish(&m->names);
    weir_free(m->data);
    weir_ptx_module_destroy(m->ptx);
    weir_free(m);
}

/* A compilation that runs may take seconds: it is not waited for, its result is for the cache. */
void weir_cg_module_destroy(struct weir_cg_module *m)
{
    if (m)
        weir_cg_module_unref(m, 1 + (uint32_t)weir_cg_jobs_drop(m));
}

/* Variables that have one address for the whole module. */
static bool is_placed_kind(const struct weir_ptx_var *v)
{
    return (v->space == WEIR_PTX_GLOBAL || v->space == WEIR_PTX_CONST) &&
           v->type != WEIR_PTX_OPAQUE && !v->is_extern;
}

static enum weir_err place_one(struct weir_cg_module *m, const struct weir_ptx_var *v,
                               weir_cg_place place, void *ctx, bool *keep)
{
    struct weir_cg_variable query = {
        .name = v->name,
        .bytes = (size_t)v->bytes,
        .align = v->align,
        .constant = v->space == WEIR_PTX_CONST,
        .managed = v->is_managed,
        .init = v->init,
    };
    void *address = NULL;
    enum weir_err err = place(ctx, &query, &address, keep);

    if (err)
        return err;
    m->data[v->index] = address;
    return WEIR_OK;
}

/* Writes the address of another symbol into the placed initial value. */
static enum weir_err apply_reloc(const struct weir_cg_module *m, const struct weir_ptx_var *v,
                                 const struct weir_ptx_reloc *r)
{
    uint64_t value;

    if (r->function && r->function->is_extern && !r->function->alias_of)
        return WEIR_FAIL(WEIR_ERR_INVALID_PTX, "variable %s: undefined symbol %s", v->name,
                         r->symbol);
    if (r->var)
        value = (uint64_t)(uintptr_t)m->data[r->var->index];
    else if (r->function)
        value = WEIR_JIT_FUNCTION_ADDRESS(r->function->index);
    else
        value = 0;
    if (value == 0 || r->bytes != 8 || r->offset > v->bytes || v->bytes - r->offset < 8) {
        weir_log_unsupported("initial value with an address", "variable %s refers to %s", v->name,
                             r->symbol);
        return WEIR_FAIL(WEIR_ERR_INVALID_PTX, "variable %s: cannot hold the address of %s",
                         v->name, r->symbol);
    }
    value += (uint64_t)r->addend;
    memcpy((char *)m->data[v->index] + r->offset, &value, sizeof value);
    return WEIR_OK;
}

static enum weir_err init_variable(const struct weir_cg_module *m, const struct weir_ptx_var *v)
{
    if (v->init) /* without one the memory is zero as it comes, and stays untouched */
        memcpy(m->data[v->index], v->init, (size_t)v->bytes);
    for (size_t n = 0; n < v->reloc_count; n++) {
        enum weir_err err = apply_reloc(m, v, &v->relocs[n]);

        if (err)
            return err;
    }
    return WEIR_OK;
}

enum weir_err weir_cg_module_place(struct weir_cg_module *m, weir_cg_place place, void *ctx)
{
    const struct weir_ptx_module *ptx = m->ptx;
    bool *keep = weir_calloc(ptx->var_count + 1, sizeof *keep);
    enum weir_err err = WEIR_OK;

    if (!keep)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a module");
    for (size_t i = 0; err == WEIR_OK && i < ptx->var_count; i++) {
        if (is_placed_kind(ptx->vars[i]))
            err = place_one(m, ptx->vars[i], place, ctx, &keep[i]);
    }
    for (size_t i = 0; err == WEIR_OK && i < ptx->var_count; i++) {
        if (is_placed_kind(ptx->vars[i]) && m->data[i] && !keep[i])
            err = init_variable(m, ptx->vars[i]);
    }
    weir_free(keep);
    m->placed = err == WEIR_OK;
    return err;
}

enum weir_err weir_cg_module_variable(struct weir_cg_module *m, const char *name, void **address,
                                      size_t *bytes)
{
    const struct weir_ptx_var *v = weir_ptx_find_var(m->ptx, name);

    if (!v || !is_placed_kind(v) || !m->data[v->index])
        return WEIR_FAIL(WEIR_ERR_INVALID_SYMBOL, "no variable %s in the module", name);
    *address = m->data[v->index];
    *bytes = (size_t)v->bytes;
    return WEIR_OK;
}

struct weir_cg_kernel *weir_cg_kernel_find(struct weir_cg_module *m, const char *name)
{
    return weir_strmap_get(&m->names, name, strlen(name));
}

const char *weir_cg_kernel_at(struct weir_cg_module *m, size_t index)
{
    return index < m->kernel_count ? m->kernels[index].function->name : NULL;
}

struct weir_cg_kernel *weir_cg_kernel_of_address(struct weir_cg_module *m, uint64_t value)
{
    uint64_t index = WEIR_JIT_FUNCTION_INDEX(value);
    const struct weir_ptx_function *f;

    if (index >= m->ptx->function_count || value != WEIR_JIT_FUNCTION_ADDRESS(index))
        return NULL;
    f = m->ptx->functions[index];
    f = f->alias_of ? f->alias_of : f;
    for (size_t i = 0; i < m->kernel_count; i++)
        if (m->kernels[i].function == f)
            return &m->kernels[i];
    return NULL;
}

const char *weir_cg_kernel_name(const struct weir_cg_kernel *k)
{
    return k->function->name;
}

void *weir_cg_kernel_keep(struct weir_cg_kernel *k, void *what)
{
    void *had = NULL;

    if (!what)
        return atomic_load_explicit(&k->kept, memory_order_acquire);
    return atomic_compare_exchange_strong(&k->kept, &had, what) ? what : had;
}
