/* Any bytes as PTX text: refused with a place, or a module whose every instruction can be printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "fuzz/fuzz.h"
#include "ptx/ptx.h"

static size_t read_var(const struct weir_ptx_var *v)
{
    size_t sum = strlen(v->name);

    for (uint64_t i = 0; v->init && i < v->bytes; i += 97)
        sum += v->init[i];
    for (size_t i = 0; i < v->reloc_count; i++) {
        sum += v->relocs[i].offset + v->relocs[i].bytes <= v->bytes ? 1 : 0;
        WEIR_ASSERT(v->relocs[i].var || v->relocs[i].function);
    }
    return sum;
}

static size_t read_function(const struct weir_ptx_function *f)
{
    char line[512];
    size_t sum = f->local_bytes + f->shared_bytes;

    for (size_t i = 0; i < f->reg_count; i++)
        sum += strlen(f->regs[i].name);
    for (size_t i = 0; i < f->var_count; i++)
        sum += read_var(f->vars[i]);
    for (size_t i = 0; i < f->label_count; i++)
        WEIR_ASSERT(f->labels[i]->inst <= f->inst_count);
    for (size_t i = 0; i < f->inst_count; i++) {
        const struct weir_ptx_inst *x = &f->insts[i];

        sum += weir_ptx_print_inst(f, x, line, sizeof line);
        sum += weir_ptx_inst_name(x, line, sizeof line);
        WEIR_ASSERT(x->dest_count <= x->operand_count);
        WEIR_ASSERT(x->guard < (int32_t)f->reg_count);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct weir_ptx_module *m;
    struct weir_ptx_error e;
    size_t sum = 0;

    if (weir_ptx_parse((const char *)data, bytes, &m, &e) != WEIR_OK) {
        WEIR_ASSERT(e.message[0] != 0);
        return 0;
    }
    for (size_t i = 0; i < m->var_count; i++)
        sum += read_var(m->vars[i]);
    for (size_t i = 0; i < m->function_count; i++)
        sum += read_function(m->functions[i]);
    weir_ptx_module_destroy(m);
    return sum == SIZE_MAX ? 1 : 0;
}
