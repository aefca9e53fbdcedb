/* Which functions a kernel may run, a walk over an instruction's operands, and the shared variables
 * that a kernel has.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "ptx/reach.h"

static void visit_operand(const struct weir_ptx_operand *o, bool is_dest,
                          void (*visit)(void *ctx, const struct weir_ptx_operand *o, bool is_dest),
                          void *ctx)
{
    visit(ctx, o, is_dest);
    for (unsigned i = 0; o->elements && i < o->count; i++)
        visit_operand(&o->elements[i], is_dest, visit, ctx);
}

void weir_ptx_inst_visit(const struct weir_ptx_inst *inst,
                         void (*visit)(void *ctx, const struct weir_ptx_operand *o, bool is_dest),
                         void *ctx)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        visit_operand(&inst->operands[i], i < inst->dest_count, visit, ctx);
    if (!inst->call)
        return;
    if (!inst->call->callee)
        visit_operand(&inst->call->target, false, visit, ctx);
    for (unsigned i = 0; i < inst->call->ret_count; i++)
        visit_operand(&inst->call->rets[i], true, visit, ctx);
    for (unsigned i = 0; i < inst->call->arg_count; i++)
        visit_operand(&inst->call->args[i], false, visit, ctx);
}

struct reach_walk {
    struct weir_ptx_reach *out;
    unsigned char *seen; /* by index in module->functions */
    bool failed;
};

static void reach_add(struct reach_walk *w, const struct weir_ptx_function *f)
{
    if (!f || w->seen[f->index])
        return;
    w->seen[f->index] = 1;
    if (!weir_vec_push(&w->out->functions, f))
        w->failed = true;
}

static void reach_operand(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    (void)is_dest;
    if (o->kind == WEIR_PTX_OPERAND_FUNCTION)
        reach_add(ctx, o->function);
}

static void reach_call(struct reach_walk *w, const struct weir_ptx_module *m,
                       const struct weir_ptx_call *call)
{
    if (call->callee) {
        reach_add(w, call->callee);
    } else if (call->targets) {
        for (size_t i = 0; i < call->target_count; i++)
            reach_add(w, call->targets[i]);
    } else {
        /* Through a pointer: its value may come from memory, so any function that is no kernel. */
        for (size_t i = 0; i < m->function_count; i++) {
            if (!m->functions[i]->is_entry && !m->functions[i]->is_extern)
                reach_add(w, m->functions[i]);
        }
    }
}

bool weir_ptx_reach_compute(const struct weir_ptx_function *f, struct weir_ptx_reach *out)
{
    struct reach_walk w = {.out = out};

    memset(out, 0, sizeof *out);
    w.seen = weir_calloc(f->module->function_count, 1);
    if (!w.seen)
        return false;
    reach_add(&w, f);
    for (size_t i = 0; i < out->functions.count && !w.failed; i++) {
        const struct weir_ptx_function *g = out->functions.items[i];

        for (size_t n = 0; n < g->inst_count; n++) {
            weir_ptx_inst_visit(&g->insts[n], reach_operand, &w);
            if (g->insts[n].call)
                reach_call(&w, f->module, g->insts[n].call);
        }
    }
    weir_free(w.seen);
    if (w.failed)
        weir_ptx_reach_finish(out);
    return !w.failed;
}

void weir_ptx_reach_finish(struct weir_ptx_reach *r)
{
    weir_vec_finish(&r->functions);
}

struct shared_walk {
    uint64_t *offsets;
};

static void mark_shared(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct shared_walk *w = ctx;

    (void)is_dest;
    if (o->var && o->var->role == WEIR_PTX_VAR_MODULE && o->var->space == WEIR_PTX_SHARED)
        w->offsets[o->var->index] = 0;
}

bool weir_ptx_shared_layout(const struct weir_ptx_function *kernel, uint64_t *offsets,
                            uint64_t *bytes)
{
    const struct weir_ptx_module *m = kernel->module;
    struct shared_walk w = {.offsets = offsets};
    struct weir_ptx_reach reach;

    *bytes = 0;
    if (!weir_ptx_reach_compute(kernel, &reach))
        return false;
    for (size_t i = 0; i < m->var_count; i++)
        offsets[i] = UINT64_MAX;
    for (size_t i = 0; i < reach.functions.count; i++) {
        const struct weir_ptx_function *f = reach.functions.items[i];

        for (size_t n = 0; n < f->inst_count; n++)
            weir_ptx_inst_visit(&f->insts[n], mark_shared, &w);
    }
    weir_ptx_reach_finish(&reach);
    for (size_t i = 0; i < m->var_count; i++) {
        if (offsets[i] == UINT64_MAX)
            continue;
        offsets[i] = WEIR_ALIGN_UP(*bytes, (uint64_t)WEIR_MAX(m->vars[i]->align, 1u));
        *bytes = offsets[i] + m->vars[i]->bytes;
    }
    return true;
}
