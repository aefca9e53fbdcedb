/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/reads.h"

#include <string.h>

#include "base/alloc.h"
#include "ptx/reach.h"

/* Of a register, a bit a parameter: it may hold something computed from the value; or from the
 * place of the parameter itself. */
struct from {
    uint64_t value, place;
};

struct flow {
    const struct weir_ptx_function *f;
    struct from *regs;
    uint64_t written;
    bool changed;
    /* of the instruction being looked at */
    const struct weir_ptx_inst *inst;
    struct from in;
};

static struct from of_param(const struct weir_ptx_function *f, const struct weir_ptx_var *v)
{
    struct from none = {0, 0};

    for (size_t i = 0; v && i < f->param_count; i++)
        if (f->params[i] == v)
            return (struct from){0, i < 64 ? UINT64_C(1) << i : 0};
    return none;
}

static struct from of_operand(const struct flow *w, const struct weir_ptx_operand *o)
{
    struct from a = of_param(w->f, o->var);

    if ((o->kind == WEIR_PTX_OPERAND_REG || o->kind == WEIR_PTX_OPERAND_ADDRESS) && o->reg >= 0) {
        a.value |= w->regs[o->reg].value;
        a.place |= w->regs[o->reg].place;
    }
    return a;
}

/* Instructions whose addresses are only read. */
static bool only_loads(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_ldu:
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_prefetch:
    case WEIR_PTX_OP_prefetchu:
        return true;
    case WEIR_PTX_OP_wmma:
        return i->suffix && strncmp(i->suffix, ".load", 5) == 0;
    default:
        return false;
    }
}

static void use(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct flow *w = ctx;
    struct from a = of_operand(w, o);
    bool keeps = w->inst->opcode == WEIR_PTX_OP_st || w->inst->call;

    if (o->kind == WEIR_PTX_OPERAND_ADDRESS) {
        if (!only_loads(w->inst))
            w->written |= a.value;
        else /* a parameter's value is loaded; what lies in memory is something else */
            w->in.value |= a.place;
        return;
    }
    if (is_dest)
        return;
    if (keeps) /* it may be taken up again from there */
        w->written |= a.value | a.place;
    w->in.value |= a.value;
    w->in.place |= a.place;
}

static void define(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct flow *w = ctx;
    struct from *r;

    if (!is_dest || o->kind != WEIR_PTX_OPERAND_REG || o->reg < 0)
        return;
    r = &w->regs[o->reg];
    w->changed |= (w->in.value & ~r->value) || (w->in.place & ~r->place);
    r->value |= w->in.value;
    r->place |= w->in.place;
}

uint64_t weir_ptx_reads(const struct weir_ptx_function *kernel)
{
    struct flow w = {.f = kernel, .regs = weir_calloc(kernel->reg_count + 1, sizeof *w.regs)};

    if (!w.regs)
        return 0;
    do {
        w.changed = false;
        for (size_t i = 0; i < kernel->inst_count; i++) {
            w.inst = &kernel->insts[i];
            w.in = (struct from){0, 0};
            weir_ptx_inst_visit(w.inst, use, &w);
            weir_ptx_inst_visit(w.inst, define, &w);
        }
    } while (w.changed);
    weir_free(w.regs);
    return ~w.written;
}

/* ---- what no parameter points to ---- */

struct loads {
    const struct weir_ptx_inst *inst;
    bool *regs; /* may hold something computed from a loaded value of 64 bits */
    bool in, changed, more;
};

static void take_loaded(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct loads *w = ctx;
    bool reg =
        o->reg >= 0 && (o->kind == WEIR_PTX_OPERAND_REG || o->kind == WEIR_PTX_OPERAND_ADDRESS);
    bool loaded = reg && w->regs[o->reg];

    if (o->var && o->var->is_managed)
        w->more = true;
    if (o->kind == WEIR_PTX_OPERAND_ADDRESS) {
        w->more |= loaded && w->inst->space != WEIR_PTX_SHARED;
        w->in |= w->inst->space != WEIR_PTX_PARAM && weir_ptx_type_bits(w->inst->type[0]) >= 64;
    } else if (!is_dest) {
        w->in |= loaded;
    }
}

static void give_loaded(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct loads *w = ctx;

    if (!is_dest || o->kind != WEIR_PTX_OPERAND_REG || o->reg < 0 || !w->in)
        return;
    w->changed |= !w->regs[o->reg];
    w->regs[o->reg] = true;
}

bool weir_ptx_reaches_more(const struct weir_ptx_function *kernel)
{
    struct loads w = {.regs = weir_calloc(kernel->reg_count + 1, sizeof *w.regs)};

    if (!w.regs)
        return true;
    do {
        w.changed = false;
        for (size_t i = 0; i < kernel->inst_count && !w.more; i++) {
            w.inst = &kernel->insts[i];
            w.in = false;
            w.more = w.inst->call != NULL;
            weir_ptx_inst_visit(w.inst, take_loaded, &w);
            weir_ptx_inst_visit(w.inst, give_loaded, &w);
        }
    } while (w.changed && !w.more);
    weir_free(w.regs);
    return w.more;
}
