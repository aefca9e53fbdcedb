/* Any bytes as texts of units, each ended by a zero byte: refused with a reason, or one module in
 * which nothing points out of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "fuzz/fuzz.h"
#include "ptx/link.h"

enum { UNITS_MAX = 6 };

static void check_function(const struct weir_ptx_module *m, const struct weir_ptx_function *f)
{
    WEIR_ASSERT(!f || (f->index < m->function_count && m->functions[f->index] == f));
}

static void check_var(const struct weir_ptx_module *m, const struct weir_ptx_var *v)
{
    WEIR_ASSERT(!v || v->role != WEIR_PTX_VAR_MODULE ||
                (v->index < m->var_count && m->vars[v->index] == v));
}

static void check_operand(const struct weir_ptx_module *m, const struct weir_ptx_operand *o)
{
    check_var(m, o->var);
    check_function(m, o->function);
    for (unsigned i = 0; o->elements && i < o->count; i++)
        check_operand(m, &o->elements[i]);
}

static void check_inst(const struct weir_ptx_module *m, const struct weir_ptx_inst *x)
{
    WEIR_ASSERT(x->source_line == 0 || (size_t)x->file < m->file_count);
    for (unsigned i = 0; i < x->operand_count; i++)
        check_operand(m, &x->operands[i]);
    if (!x->call)
        return;
    check_function(m, x->call->callee);
    check_operand(m, &x->call->target);
    for (size_t i = 0; i < x->call->target_count; i++)
        check_function(m, x->call->targets[i]);
}

static void check_module(const struct weir_ptx_module *m)
{
    for (size_t i = 0; i < m->var_count; i++) {
        check_var(m, m->vars[i]);
        for (size_t n = 0; n < m->vars[i]->reloc_count; n++) {
            check_var(m, m->vars[i]->relocs[n].var);
            check_function(m, m->vars[i]->relocs[n].function);
        }
    }
    for (size_t i = 0; i < m->function_count; i++) {
        const struct weir_ptx_function *f = m->functions[i];

        check_function(m, f);
        WEIR_ASSERT(f->module == m);
        for (size_t n = 0; n < f->inst_count; n++)
            check_inst(m, &f->insts[n]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct weir_ptx_unit units[UNITS_MAX];
    struct weir_ptx_module *m;
    struct weir_ptx_error e;
    size_t count = 0;

    for (size_t at = 0; at < bytes && count < UNITS_MAX;) {
        const uint8_t *end = memchr(data + at, 0, bytes - at);
        size_t n = end ? (size_t)(end - data) - at : bytes - at;

        if (weir_ptx_parse((const char *)data + at, n, &units[count].module, NULL) == WEIR_OK)
            units[count++].name = "a unit";
        at += n + 1;
    }
    if (weir_ptx_link(units, count, &m, &e) == WEIR_OK) {
        check_module(m);
        weir_ptx_module_destroy(m);
    } else {
        WEIR_ASSERT(e.message[0] != 0);
    }
    return 0;
}
