/* Where an instruction of a kernel came from, and what its addresses of shared memory are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "codegen/codegen_int.h"

bool weir_cg_kernel_source(const struct weir_cg_kernel *k, uint32_t ptx_line, const char **file,
                           uint32_t *line)
{
    const struct weir_ptx_module *m = k->module->ptx;

    for (size_t f = 0; f < m->function_count; f++) {
        const struct weir_ptx_function *fn = m->functions[f];

        for (size_t i = 0; i < fn->inst_count; i++) {
            const struct weir_ptx_inst *p = &fn->insts[i];

            if (p->line != (int)ptx_line || p->source_line <= 0)
                continue;
            *file = p->file >= 0 && (size_t)p->file < m->file_count ? m->files[p->file] : NULL;
            *line = (uint32_t)p->source_line;
            return true;
        }
    }
    return false;
}

static bool holds(const struct weir_ptx_var *v, uint64_t begin, uint64_t byte)
{
    return v->space == WEIR_PTX_SHARED && byte - begin < v->bytes;
}

static bool find_shared(const struct weir_ptx_function *f, const uint64_t *offsets,
                        uint64_t module_bytes, uint64_t byte, uint64_t static_bytes,
                        const char **name, uint64_t *offset)
{
    uint64_t base = WEIR_ALIGN_UP(module_bytes, WEIR_JIT_SHARED_ALIGN);

    for (size_t i = 0; i < f->module->var_count; i++) {
        const struct weir_ptx_var *v = f->module->vars[i];

        if (offsets[i] == UINT64_MAX || !holds(v, offsets[i], byte))
            continue;
        *name = v->name;
        *offset = byte - offsets[i];
        return true;
    }
    /* Where other functions have shared variables, too, or the system does, the compiler knows. */
    for (size_t i = 0; base + f->shared_bytes == static_bytes && i < f->var_count; i++) {
        const struct weir_ptx_var *v = f->vars[i];

        if (!holds(v, base + v->offset, byte))
            continue;
        *name = v->name;
        *offset = byte - base - v->offset;
        return true;
    }
    return false;
}

/* What begins behind all others: there is one place for all of them. */
static const char *dynamic_shared(const struct weir_ptx_module *m)
{
    const char *name = NULL;

    for (size_t i = 0; i < m->var_count; i++) {
        const struct weir_ptx_var *v = m->vars[i];

        if (v->space != WEIR_PTX_SHARED || v->bytes)
            continue;
        if (name)
            return NULL;
        name = v->name;
    }
    return name;
}

bool weir_cg_kernel_shared(const struct weir_cg_kernel *k, uint64_t byte, uint64_t static_bytes,
                           const char **name, uint64_t *offset)
{
    const struct weir_ptx_module *m = k->module->ptx;
    uint64_t *offsets, bytes = 0, dynamic = WEIR_ALIGN_UP(static_bytes, 16u);
    bool found;

    if (byte >= dynamic) {
        *offset = byte - dynamic;
        return (*name = dynamic_shared(m)) != NULL;
    }
    offsets = weir_calloc(m->var_count + 1, sizeof *offsets);
    found = offsets && weir_ptx_shared_layout(k->function, offsets, &bytes) &&
            find_shared(k->function, offsets, bytes, byte, static_bytes, name, offset);
    weir_free(offsets);
    return found;
}
