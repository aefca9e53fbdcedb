/* Parameters of calls that caller and callee see in different pieces (bytes on one side, words on
 * the other; compilers do so without optimisation): they cannot be registers, one for each piece,
 * and have a place in local memory instead. Such variables are found before a function's text is
 * flattened, and the instructions that name them become loads and stores of local memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

/* A piece of a variable that some instruction names. */
struct seen {
    struct seen *next;
    uint64_t offset;
    uint32_t bytes;
};

/* Of one function, by the variables' indices. */
struct low_fn_params {
    struct seen **body, **params, **rets;
};

struct low_memory_var {
    struct low_memory_var *next;
    const struct weir_ptx_var *var;
    uint32_t frame;
    uint64_t offset;
};

static struct seen **list_of(const struct low_fn_params *x, const struct weir_ptx_var *v)
{
    switch (v->role) {
    case WEIR_PTX_VAR_BODY:
        return &x->body[v->index];
    case WEIR_PTX_VAR_PARAM:
        return &x->params[v->index];
    case WEIR_PTX_VAR_RET:
        return &x->rets[v->index];
    default:
        return NULL;
    }
}

static void note(struct low *l, struct seen **list, uint64_t offset, uint32_t bytes)
{
    for (const struct seen *s = *list; s; s = s->next)
        if (s->offset == offset && s->bytes == bytes)
            return;
    struct seen *s = low_alloc(l, sizeof *s);
    *s = (struct seen){*list, offset, bytes};
    *list = s;
}

/* The address that names a parameter, or NULL. */
static const struct weir_ptx_operand *param_address(const struct weir_ptx_inst *p)
{
    if (p->opcode != WEIR_PTX_OP_ld && p->opcode != WEIR_PTX_OP_st)
        return NULL;
    for (unsigned k = 0; k < p->operand_count; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        if (o->kind == WEIR_PTX_OPERAND_ADDRESS && o->var && o->var->space == WEIR_PTX_PARAM)
            return o;
    }
    return NULL;
}

static const struct low_fn_params *params_of(struct low *l, const struct weir_ptx_function *f)
{
    if (!l->fn_params)
        l->fn_params = low_alloc(l, l->kernel->module->function_count * sizeof *l->fn_params);
    if (l->fn_params[f->index])
        return l->fn_params[f->index];
    struct low_fn_params *x = l->fn_params[f->index] = low_alloc(l, sizeof *x);
    x->body = low_alloc(l, (f->var_count + 1) * sizeof *x->body);
    x->params = low_alloc(l, (f->param_count + 1) * sizeof *x->params);
    x->rets = low_alloc(l, (f->ret_count + 1) * sizeof *x->rets);
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_inst *p = &f->insts[k];
        const struct weir_ptx_operand *o = param_address(p);
        struct seen **list = o && o->var->function == f ? list_of(x, o->var) : NULL;
        uint32_t bytes = weir_ptx_type_bits(p->type[0]) / 8;
        for (unsigned c = 0; list && c < (p->vec ? p->vec : 1u); c++)
            note(l, list, (uint64_t)o->imm + (uint64_t)c * bytes, bytes);
    }
    return x;
}

static bool differ(const struct seen *a, const struct seen *b)
{
    for (; a; a = a->next)
        for (const struct seen *s = b; s; s = s->next)
            if (a->offset < s->offset + s->bytes && s->offset < a->offset + a->bytes &&
                (a->offset != s->offset || a->bytes != s->bytes))
                return true;
    return false;
}

static struct low_memory_var *find(const struct low *l, uint32_t frame,
                                   const struct weir_ptx_var *var)
{
    for (struct low_memory_var *m = l->memory_vars; m; m = m->next)
        if (m->var == var && m->frame == frame)
            return m;
    return NULL;
}

static void give_place(struct low *l, uint32_t frame, const struct weir_ptx_var *v)
{
    if (find(l, frame, v))
        return;
    struct low_memory_var *m = low_alloc(l, sizeof *m);
    l->local_bytes = WEIR_ALIGN_UP(l->local_bytes, (uint64_t)16);
    *m = (struct low_memory_var){l->memory_vars, v, frame, l->local_bytes};
    l->local_bytes += v->bytes;
    l->memory_vars = m;
}

static void look_at(struct low *l, uint32_t frame, const struct weir_ptx_operand *list, size_t n,
                    struct seen *const *formal)
{
    const struct low_fn_params *mine = params_of(l, l->frames.items[frame].fn);
    for (size_t k = 0; k < n; k++) {
        const struct weir_ptx_var *v = list[k].var;
        if (list[k].kind != WEIR_PTX_OPERAND_VAR || v->role != WEIR_PTX_VAR_BODY ||
            v->function != l->frames.items[frame].fn)
            continue;
        const struct seen *s = mine->body[v->index];
        if (differ(s, s) || differ(s, formal[k]) || differ(formal[k], formal[k]))
            give_place(l, frame, v);
    }
}

void low_params_find(struct low *l, uint32_t frame)
{
    const struct weir_ptx_function *f = l->frames.items[frame].fn;
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_call *c = f->insts[k].call;
        const struct weir_ptx_function *one[1], **fns = one;
        size_t n = 1;
        if (!c)
            continue;
        one[0] = c->callee;
        if (!c->callee)
            n = low_indirect_candidates(l, &f->insts[k], &fns);
        for (size_t j = 0; j < n; j++) {
            if (fns[j]->inst_count == 0)
                continue;
            const struct low_fn_params *x = params_of(l, fns[j]);
            look_at(l, frame, c->args, WEIR_MIN((size_t)c->arg_count, fns[j]->param_count),
                    x->params);
            look_at(l, frame, c->rets, WEIR_MIN((size_t)c->ret_count, fns[j]->ret_count), x->rets);
        }
    }
}

bool low_param_in_memory(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                         uint64_t *offset)
{
    low_param_canonical(l, &frame, &var);
    const struct low_memory_var *m = find(l, frame, var);
    if (m)
        *offset = m->offset;
    return m != NULL;
}

const struct weir_ptx_inst *low_param_inst(struct low *l, const struct weir_ptx_inst *p,
                                           uint32_t frame)
{
    const struct weir_ptx_operand *o = l->memory_vars ? param_address(p) : NULL;
    uint64_t offset;
    if (!o || !low_param_in_memory(l, frame, o->var, &offset))
        return p;
    struct weir_ptx_inst *q = low_alloc(l, sizeof *q);
    *q = *p;
    q->space = WEIR_PTX_LOCAL;
    q->operands = low_alloc(l, p->operand_count * sizeof *q->operands);
    memcpy(q->operands, p->operands, p->operand_count * sizeof *q->operands);
    struct weir_ptx_operand *a = &q->operands[o - p->operands];
    a->var = NULL;
    a->reg = -1;
    a->imm = o->imm + (int64_t)offset;
    return q;
}
