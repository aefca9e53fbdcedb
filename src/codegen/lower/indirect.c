/* Calls through pointers: a function's address is a number (codegen/jit.h), so a call compares it
 * with those of the functions that it can be, each inlined. These are the ones named by
 * .calltargets, or all whose address is taken in the module and whose parameters fit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/lower/lower.h"

#define MAX_INLINED 2 /* calls of this kind inside each other; deeper ones are not inlined */

static bool same_vars(struct weir_ptx_var **a, size_t n, struct weir_ptx_var **b, size_t m)
{
    if (n != m)
        return false;
    for (size_t k = 0; k < n; k++)
        if (a[k]->bytes != b[k]->bytes)
            return false;
    return true;
}

static void take(struct low *l, const struct weir_ptx_function *f)
{
    if (f && !f->is_entry && !f->is_extern && f->inst_count)
        low_bit_set(l->addressed, f->index);
}

static void take_operand(struct low *l, const struct weir_ptx_operand *o)
{
    if (o->kind == WEIR_PTX_OPERAND_FUNCTION)
        take(l, o->function);
    for (unsigned k = 0; o->elements && k < o->count; k++)
        take_operand(l, &o->elements[k]);
}

/* Functions whose address the module's text can put somewhere. */
static void find_addressed(struct low *l)
{
    const struct weir_ptx_module *m = l->kernel->module;
    l->addressed = low_alloc(l, (m->function_count / 64 + 1) * sizeof *l->addressed);
    for (size_t v = 0; v < m->var_count; v++)
        for (size_t k = 0; k < m->vars[v]->reloc_count; k++)
            take(l, m->vars[v]->relocs[k].function);
    for (size_t n = 0; n < m->function_count; n++) {
        const struct weir_ptx_function *f = m->functions[n];
        for (size_t k = 0; k < f->inst_count; k++) {
            const struct weir_ptx_inst *p = &f->insts[k];
            for (unsigned o = 0; o < p->operand_count; o++)
                take_operand(l, &p->operands[o]);
            for (unsigned o = 0; p->call && o < p->call->arg_count; o++)
                take_operand(l, &p->call->args[o]);
        }
    }
}

bool low_indirect_is_nested(const struct low *l, uint32_t frame)
{
    unsigned n = 0;
    for (uint32_t up = frame;; up = l->frames.items[up].parent) {
        n += l->frames.items[up].call && !l->frames.items[up].call->callee;
        if (up == 0)
            return n >= MAX_INLINED;
    }
}

static bool fits(const struct weir_ptx_call *c, const struct weir_ptx_function *f)
{
    if (c->proto)
        return same_vars(c->proto->params, c->proto->param_count, f->params, f->param_count) &&
               same_vars(c->proto->rets, c->proto->ret_count, f->rets, f->ret_count);
    return c->arg_count == f->param_count && c->ret_count == f->ret_count;
}

size_t low_indirect_candidates(struct low *l, const struct weir_ptx_inst *p,
                               const struct weir_ptx_function ***out)
{
    const struct weir_ptx_module *m = l->kernel->module;
    const struct weir_ptx_call *c = p->call;
    size_t n = 0;
    if (!l->addressed)
        find_addressed(l);
    *out = low_alloc(l, (m->function_count + c->target_count + 1) * sizeof **out);
    for (size_t k = 0; k < (c->targets ? c->target_count : m->function_count); k++) {
        const struct weir_ptx_function *f = c->targets ? c->targets[k] : m->functions[k];
        if (f->is_extern || !f->inst_count || !fits(c, f) ||
            (!c->targets && !low_bit(l->addressed, f->index)))
            continue;
        (*out)[n++] = f;
    }
    return n;
}

/* setp.eq of the call's target and the function's address, into a register of its own. */
const struct weir_ptx_inst *low_indirect_compare(struct low *l, const struct weir_ptx_inst *p,
                                                 const struct weir_ptx_function *f, int32_t reg)
{
    struct weir_ptx_inst *s = low_alloc(l, sizeof *s);
    struct weir_ptx_operand *o = low_alloc(l, 3 * sizeof *o);
    o[0] = (struct weir_ptx_operand){.kind = WEIR_PTX_OPERAND_REG, .reg = reg, .pred_reg = -1};
    o[1] = p->call->target;
    o[1].pred_reg = -1;
    o[2] = (struct weir_ptx_operand){.kind = WEIR_PTX_OPERAND_INT,
                                     .reg = -1,
                                     .pred_reg = -1,
                                     .imm = (int64_t)WEIR_JIT_FUNCTION_ADDRESS(f->index)};
    *s = (struct weir_ptx_inst){.opcode = WEIR_PTX_OP_setp,
                                .cmp = WEIR_PTX_EQ,
                                .type = {WEIR_PTX_U64},
                                .guard = -1,
                                .suffix = ".eq.u64",
                                .dest_count = 1,
                                .operand_count = 3,
                                .operands = o,
                                .line = p->line,
                                .file = p->file,
                                .source_line = p->source_line};
    return s;
}

/* What the branch over a candidate stands for: guarded by the comparison. */
const struct weir_ptx_inst *low_indirect_guard(struct low *l, const struct weir_ptx_inst *p,
                                               int32_t reg)
{
    struct weir_ptx_inst *s = low_alloc(l, sizeof *s);
    *s = *p;
    s->guard = reg;
    s->guard_negated = false;
    return s;
}

const struct weir_ptx_inst *low_indirect_trap(struct low *l, const struct weir_ptx_inst *p)
{
    struct weir_ptx_inst *s = low_alloc(l, sizeof *s);
    *s = (struct weir_ptx_inst){.opcode = WEIR_PTX_OP_trap,
                                .guard = -1,
                                .suffix = "",
                                .line = p->line,
                                .file = p->file,
                                .source_line = p->source_line};
    return s;
}
