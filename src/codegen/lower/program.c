/* Flattens a kernel and the device functions that it calls into one list of instructions, every
 * call inlined, and cuts the list into blocks. Parameters of calls become registers, one for each
 * piece that the text stores or loads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "codegen/forms_texture.h"
#include "codegen/lower/lower.h"
#include "ptx/reach.h"

#define MAX_INSTS 2000000u
#define MAX_DEPTH 64u
/* Reserved shared memory: a part for each of its two offsets. */
#define RESERVED_PARTS 2u
#define RESERVED_BYTES 1024u

static const struct weir_ptx_inst end_of_kernel = {
    .opcode = WEIR_PTX_OP_ret, .guard = -1, .suffix = ""};

void *low_alloc(struct low *l, size_t bytes)
{
    void *p = weir_arena_alloc(&l->arena, bytes ? bytes : 1);
    if (!p)
        low_no_memory(l);
    return p;
}

int32_t low_reg_of(const struct low *l, const struct low_inst *i, int32_t reg)
{
    return l->frames.items[i->frame].reg_base + reg;
}

int32_t low_guard_of(const struct low *l, const struct low_inst *i)
{
    if (i->no_guard || !i->p || i->p->guard < 0)
        return -1;
    return low_reg_of(l, i, i->p->guard);
}

int32_t low_new_reg(struct low *l, enum weir_ptx_type type)
{
    struct low_reg r = {.type = (uint8_t)type,
                        .bits = (uint8_t)weir_ptx_type_bits(type),
                        .is_float = weir_ptx_type_is_float(type),
                        .state_offset = -1};
    if (!weir_vec_push(&l->regs, r))
        low_no_memory(l);
    return (int32_t)l->regs.count - 1;
}

/* ---- parameters of calls ---- */

static int find_var(struct weir_ptx_var **vars, size_t n, const struct weir_ptx_var *v)
{
    for (size_t i = 0; i < n; i++)
        if (vars[i] == v)
            return (int)i;
    return -1;
}

bool low_is_kernel_param(const struct low *l, uint32_t frame, const struct weir_ptx_var *var)
{
    const struct weir_ptx_function *f = l->frames.items[frame].fn;
    return frame == 0 && find_var(f->params, f->param_count, var) >= 0;
}

void low_param_canonical(const struct low *l, uint32_t *frame, const struct weir_ptx_var **var)
{
    while (*frame != 0) {
        const struct low_frame *fr = &l->frames.items[*frame];
        if (fr->instance)
            return;
        int at = find_var(fr->fn->params, fr->fn->param_count, *var);
        const struct weir_ptx_operand *arg = NULL;
        if (at >= 0 && at < fr->call->arg_count)
            arg = &fr->call->args[at];
        at = find_var(fr->fn->rets, fr->fn->ret_count, *var);
        if (!arg && at >= 0 && at < fr->call->ret_count)
            arg = &fr->call->rets[at];
        if (!arg || arg->kind != WEIR_PTX_OPERAND_VAR)
            return;
        *var = arg->var;
        *frame = fr->parent;
    }
}

static enum weir_ptx_type bits_type(uint32_t bytes)
{
    return bytes == 1   ? WEIR_PTX_B8
           : bytes == 2 ? WEIR_PTX_B16
           : bytes == 4 ? WEIR_PTX_B32
                        : WEIR_PTX_B64;
}

int32_t low_param_piece(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                        uint64_t offset, uint32_t bytes)
{
    low_param_canonical(l, &frame, &var);
    if (l->frames.items[frame].instance && var->role != WEIR_PTX_VAR_BODY)
        low_refuse(l, l->inst ? l->inst->p : NULL, "parameter of a recursive function");
    struct low_piece **row = &l->pieces[((uintptr_t)var / sizeof *var + frame) % LOW_PIECE_ROWS];
    for (struct low_piece *p = *row; p; p = p->next) {
        if (p->var != var || p->frame != frame)
            continue;
        if (p->offset == offset && p->bytes == bytes)
            return p->reg;
        if (p->offset < offset + bytes && offset < p->offset + p->bytes)
            low_refuse(l, l->inst ? l->inst->p : NULL,
                       "call parameter accessed in overlapping pieces");
    }
    struct low_piece *p = low_alloc(l, sizeof *p);
    *p = (struct low_piece){.next = *row,
                            .var = var,
                            .frame = frame,
                            .bytes = bytes,
                            .offset = offset,
                            .reg = low_new_reg(l, bits_type(bytes))};
    *row = p;
    return p->reg;
}

/* ---- flattening ---- */

struct low_inst *low_push(struct low *l, struct low_inst i)
{
    if (l->insts.count >= MAX_INSTS)
        low_refuse(l, i.p, "too many instructions after inlining");
    if (!weir_vec_push(&l->insts, i))
        low_no_memory(l);
    return &l->insts.items[l->insts.count - 1];
}

/* What the function's .local variables ask for, 16 at least. */
static uint64_t local_align(const struct weir_ptx_function *f)
{
    uint64_t align = 16;
    for (size_t k = 0; k < f->var_count; k++)
        if (f->vars[k]->space == WEIR_PTX_LOCAL)
            align = WEIR_MAX(align, (uint64_t)f->vars[k]->align);
    return WEIR_MIN(align, (uint64_t)WEIR_LOCAL_ALIGN);
}

uint32_t low_new_frame(struct low *l, const struct weir_ptx_function *f, uint32_t parent,
                       const struct weir_ptx_call *call, uint32_t depth)
{
    struct low_frame fr = {.fn = f, .parent = parent, .call = call, .depth = depth};
    fr.reg_base = (int32_t)l->regs.count;
    for (size_t i = 0; i < f->reg_count; i++) {
        if (f->regs[i].vector)
            low_refuse(l, NULL, "vector registers");
        if (f->regs[i].type == WEIR_PTX_B128 || f->regs[i].type == WEIR_PTX_OPAQUE)
            continue; /* refused where used */
    }
    for (size_t i = 0; i < f->reg_count; i++)
        low_new_reg(l, f->regs[i].type);
    fr.cc_reg = low_new_reg(l, WEIR_PTX_PRED);
    fr.flat = low_alloc(l, sizeof(uint32_t) * (f->inst_count + 1));
    fr.shared_base = WEIR_ALIGN_UP(l->shared_total, WEIR_JIT_SHARED_ALIGN);
    for (size_t k = 0; k < l->frames.count; k++)
        if (l->frames.items[k].fn == f)
            fr.shared_base = l->frames.items[k].shared_base;
    if (f->shared_bytes && fr.shared_base + f->shared_bytes > l->shared_total)
        l->shared_total = fr.shared_base + f->shared_bytes;
    uint64_t align = local_align(f);
    l->local_align = WEIR_MAX(l->local_align, align);
    fr.local_base = WEIR_ALIGN_UP(l->local_bytes, align);
    l->local_bytes = fr.local_base + f->local_bytes;
    if (!weir_vec_push(&l->frames, fr))
        low_no_memory(l);
    return (uint32_t)l->frames.count - 1;
}

static int32_t reg_param(struct low *l, uint32_t frame, const struct weir_ptx_var *v)
{
    const struct weir_ptx_function *f = l->frames.items[frame].fn;
    if (v->reg_index < 0 || (size_t)v->reg_index >= f->reg_count)
        low_refuse(l, NULL, "parameter register that is not declared");
    return l->frames.items[frame].reg_base + v->reg_index;
}

static int32_t param_reg(struct low *l, uint32_t frame, const struct weir_ptx_var *v)
{
    if (v->space == WEIR_PTX_REG)
        return reg_param(l, frame, v);
    return low_param_piece(l, frame, v, 0, (uint32_t)v->bytes);
}

static void move_args(struct low *l, const struct weir_ptx_inst *p, uint32_t from, uint32_t callee)
{
    const struct weir_ptx_function *f = l->frames.items[callee].fn;
    if (p->call->arg_count != f->param_count || p->call->ret_count != f->ret_count)
        low_refuse(l, p, "call with other parameters than the function's");
    for (size_t k = 0; k < f->param_count; k++) {
        const struct weir_ptx_operand *o = &p->call->args[k];
        if (o->kind == WEIR_PTX_OPERAND_VAR && o->var->space == WEIR_PTX_PARAM)
            continue;
        low_push(l, (struct low_inst){.p = p,
                                      .kind = LOW_MOVE,
                                      .no_guard = true,
                                      .type = (uint8_t)f->params[k]->type,
                                      .frame = from,
                                      .dst = param_reg(l, callee, f->params[k]),
                                      .src = o,
                                      .src_frame = from});
    }
}

static void move_rets(struct low *l, const struct weir_ptx_inst *p, uint32_t from, uint32_t callee)
{
    const struct weir_ptx_function *f = l->frames.items[callee].fn;
    for (size_t k = 0; k < f->ret_count; k++) {
        const struct weir_ptx_operand *o = &p->call->rets[k];
        if (o->kind != WEIR_PTX_OPERAND_REG)
            continue;
        low_push(l, (struct low_inst){.p = p,
                                      .kind = LOW_MOVE,
                                      .no_guard = true,
                                      .type = (uint8_t)f->rets[k]->type,
                                      .frame = from,
                                      .dst = l->frames.items[from].reg_base + o->reg,
                                      .src_reg = param_reg(l, callee, f->rets[k]),
                                      .src_frame = callee});
    }
}

static void inline_function(struct low *l, const struct weir_ptx_inst *p,
                            const struct weir_ptx_function *f, uint32_t frame)
{
    if (f->is_extern || f->inst_count == 0)
        low_refuse(l, p, f->name);
    if (low_is_recursive(l, f)) {
        low_call_instance(l, p, f, frame);
        return;
    }
    if (l->frames.items[frame].depth + 1 > MAX_DEPTH)
        low_refuse(l, p, "calls nested too deep");
    uint32_t callee = low_new_frame(l, f, frame, p->call, l->frames.items[frame].depth + 1);
    move_args(l, p, frame, callee);
    int32_t stack = low_stack_enter(l, f);
    size_t start = l->insts.count;
    low_flatten(l, callee);
    for (size_t i = start; i < l->insts.count; i++) {
        struct low_inst *j = &l->insts.items[i];
        if (j->kind == LOW_JUMP && j->frame == callee && j->p->opcode == WEIR_PTX_OP_ret)
            j->target = (uint32_t)l->insts.count;
    }
    low_stack_leave(l, stack);
    move_rets(l, p, frame, callee);
}

/* Compare, skip, the function, jump to the end; for each candidate. What is none of them traps: so
 * does every call where there is no candidate (Numba compiles calls of destructors that there are
 * none of). */
static void inline_indirect(struct low *l, const struct weir_ptx_inst *p, uint32_t frame)
{
    const struct weir_ptx_function **fns;
    size_t n = low_indirect_candidates(l, p, &fns);
    bool nested = low_indirect_is_nested(l, frame);
    uint32_t *jumps = low_alloc(l, (n + 1) * sizeof *jumps);
    for (size_t k = 0; k < n; k++) {
        int32_t reg = low_new_reg(l, WEIR_PTX_PRED) - l->frames.items[frame].reg_base;
        low_push(l,
                 (struct low_inst){.p = low_indirect_compare(l, p, fns[k], reg), .frame = frame});
        size_t skip = l->insts.count;
        low_push(l, (struct low_inst){
                        .p = low_indirect_guard(l, p, reg), .kind = LOW_SKIP, .frame = frame});
        if (nested)
            low_call_instance(l, p, fns[k], frame);
        else
            inline_function(l, p, fns[k], frame);
        jumps[k] = (uint32_t)l->insts.count;
        low_push(l, (struct low_inst){.p = p, .kind = LOW_JUMP, .frame = frame, .no_guard = true});
        l->insts.items[skip].target = (uint32_t)l->insts.count;
    }
    low_push(l, (struct low_inst){.p = low_indirect_trap(l, p), .frame = frame});
    for (size_t k = 0; k < n; k++)
        l->insts.items[jumps[k]].target = (uint32_t)l->insts.count;
}

static void inline_call(struct low *l, const struct weir_ptx_inst *p, uint32_t frame)
{
    const struct weir_ptx_function *f = p->call->callee;
    if (!f)
        inline_indirect(l, p, frame);
    else if (weir_ptx_is_builtin(f))
        low_push(l, (struct low_inst){.p = p, .frame = frame, .no_guard = true});
    else
        inline_function(l, p, f, frame);
}

static bool guard_becomes_branch(const struct weir_ptx_inst *p)
{
    switch (p->opcode) {
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return p->sub != WEIR_PTX_SUB_WARP;
    case WEIR_PTX_OP_call:
    case WEIR_PTX_OP_trap:
    case WEIR_PTX_OP_brkpt:
    case WEIR_PTX_OP_brx:
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
    case WEIR_PTX_OP_activemask:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_nanosleep:
    case WEIR_PTX_OP_griddepcontrol:
    case WEIR_PTX_OP_alloca:
    case WEIR_PTX_OP_stacksave:
    case WEIR_PTX_OP_stackrestore:
    case WEIR_PTX_OP_mma:
    case WEIR_PTX_OP_wmma:
    case WEIR_PTX_OP_ldmatrix:
    case WEIR_PTX_OP_stmatrix:
    case WEIR_PTX_OP_movmatrix:
        return true;
    default:
        return false;
    }
}

void low_flatten(struct low *l, uint32_t frame)
{
    const struct weir_ptx_function *f = l->frames.items[frame].fn;
    low_params_find(l, frame);
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_inst *p = &f->insts[k];
        const char *why = NULL;
        if (!weir_cg_form_supported(p, &why))
            low_refuse(l, p, why);
        if (l->frames.items[frame].instance)
            p = low_instance_inst(l, p, frame);
        p = low_param_inst(l, p, frame);
        l->frames.items[frame].flat[k] = (uint32_t)l->insts.count;
        bool skip = p->guard >= 0 && guard_becomes_branch(p);
        size_t skip_at = l->insts.count;
        if (skip)
            low_push(l, (struct low_inst){.p = p, .kind = LOW_SKIP, .frame = frame});
        if (p->opcode == WEIR_PTX_OP_call)
            inline_call(l, p, frame);
        else if (low_stack_inst(l, p, frame))
            ;
        else if (p->opcode == WEIR_PTX_OP_ret && frame != 0)
            low_push(l, (struct low_inst){.p = p, .kind = LOW_JUMP, .frame = frame});
        else
            low_push(l, (struct low_inst){.p = p, .frame = frame, .no_guard = skip});
        if (skip)
            l->insts.items[skip_at].target = (uint32_t)l->insts.count;
    }
    l->frames.items[frame].flat[f->inst_count] = (uint32_t)l->insts.count;
}

/* ---- what an instruction reads and writes ---- */

struct visit {
    const struct low *l;
    const struct low_inst *i;
    low_visit_fn fn;
    void *ctx;
};

static void visit_use(const struct visit *v, const struct weir_ptx_operand *o, uint32_t frame)
{
    int32_t base = v->l->frames.items[frame].reg_base;
    if (o->kind == WEIR_PTX_OPERAND_REG)
        v->fn(v->ctx, base + o->reg, LOW_USE);
    else if (o->kind == WEIR_PTX_OPERAND_ADDRESS && o->reg >= 0) /* of textures: a handle */
        v->fn(v->ctx, base + o->reg,
              o->elements || weir_cg_is_texture(v->i->p->opcode) ? LOW_USE : LOW_ADDRESS);
    if (o->kind == WEIR_PTX_OPERAND_VECTOR || (o->kind == WEIR_PTX_OPERAND_ADDRESS && o->elements))
        for (unsigned k = 0; k < o->count; k++)
            visit_use(v, &o->elements[k], frame);
}

static void visit_def(const struct visit *v, const struct weir_ptx_operand *o, uint32_t frame)
{
    int32_t base = v->l->frames.items[frame].reg_base;
    if (o->kind == WEIR_PTX_OPERAND_REG)
        v->fn(v->ctx, base + o->reg, LOW_DEF);
    else if (o->kind == WEIR_PTX_OPERAND_VECTOR)
        for (unsigned k = 0; k < o->count; k++)
            visit_def(v, &o->elements[k], frame);
    if (o->pred_reg >= 0)
        v->fn(v->ctx, base + o->pred_reg, LOW_DEF);
}

/* Loads and stores of a call's parameter are moves from and to its pieces. */
static bool is_param_access(const struct low *l, const struct low_inst *i,
                            const struct weir_ptx_operand **address)
{
    const struct weir_ptx_inst *p = i->p;
    if (p->space != WEIR_PTX_PARAM || (p->opcode != WEIR_PTX_OP_ld && p->opcode != WEIR_PTX_OP_st))
        return false;
    for (unsigned k = 0; k < p->operand_count; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        if (o->kind == WEIR_PTX_OPERAND_ADDRESS && o->var &&
            !low_is_kernel_param(l, i->frame, o->var)) {
            *address = o;
            return true;
        }
    }
    return false;
}

static void visit_pieces(const struct visit *v, const struct weir_ptx_operand *address,
                         enum low_visit what)
{
    const struct weir_ptx_inst *p = v->i->p;
    uint32_t bytes = weir_ptx_type_bits(p->type[0]) / 8;
    unsigned n = p->vec ? p->vec : 1;
    for (unsigned k = 0; k < n; k++)
        v->fn(v->ctx,
              low_param_piece((struct low *)(uintptr_t)v->l, v->i->frame, address->var,
                              (uint64_t)address->imm + (uint64_t)k * bytes, bytes),
              what);
}

uint32_t low_argument_pieces(const struct weir_ptx_var *var, uint32_t *bytes)
{
    *bytes = var->bytes <= 8 ? (uint32_t)var->bytes : var->align < 8 ? 4 : 8;
    return *bytes ? (uint32_t)(var->bytes / *bytes) : 0;
}

int32_t low_argument_piece(struct low *l, uint32_t frame, const struct weir_ptx_var *var,
                           uint32_t n)
{
    uint32_t bytes;
    (void)low_argument_pieces(var, &bytes);
    return low_param_piece(l, frame, var, (uint64_t)n * bytes, bytes);
}

/* A call of a built-in: its arguments are whole variables, or the words of a structure. */
static void visit_call(const struct visit *v)
{
    const struct weir_ptx_call *c = v->i->p->call;
    struct low *l = (struct low *)(uintptr_t)v->l;
    for (unsigned k = 0; k < c->arg_count; k++) {
        const struct weir_ptx_operand *o = &c->args[k];
        uint32_t bytes;
        if (o->kind == WEIR_PTX_OPERAND_VAR)
            for (uint32_t n = 0; n < low_argument_pieces(o->var, &bytes); n++)
                v->fn(v->ctx, low_argument_piece(l, v->i->frame, o->var, n), LOW_USE);
        else
            visit_use(v, o, v->i->frame);
    }
    for (unsigned k = 0; k < c->ret_count; k++) {
        const struct weir_ptx_operand *o = &c->rets[k];
        if (o->kind == WEIR_PTX_OPERAND_VAR)
            v->fn(v->ctx, low_param_piece(l, v->i->frame, o->var, 0, (uint32_t)o->var->bytes),
                  LOW_DEF);
        else
            visit_def(v, o, v->i->frame);
    }
}

static bool reads_carry(const struct weir_ptx_inst *p)
{
    return p->opcode == WEIR_PTX_OP_addc || p->opcode == WEIR_PTX_OP_subc ||
           p->opcode == WEIR_PTX_OP_madc;
}

void low_inst_visit(const struct low *l, const struct low_inst *i, low_visit_fn fn, void *ctx)
{
    struct visit v = {l, i, fn, ctx};
    const struct weir_ptx_inst *p = i->p;
    int32_t guard = low_guard_of(l, i);
    if (guard >= 0)
        fn(ctx, guard, LOW_USE);
    if (i->kind == LOW_MOVE) {
        if (i->src)
            visit_use(&v, i->src, i->src_frame);
        else
            fn(ctx, i->src_reg, LOW_USE);
        fn(ctx, i->dst, LOW_DEF);
        return;
    }
    if (i->kind != LOW_PTX)
        return;
    if (p->opcode == WEIR_PTX_OP_call) {
        visit_call(&v);
        return;
    }
    const struct weir_ptx_operand *piece = NULL;
    bool param = is_param_access(l, i, &piece);
    if (reads_carry(p))
        fn(ctx, l->frames.items[i->frame].cc_reg, LOW_USE);
    for (unsigned k = p->dest_count; k < p->operand_count; k++)
        visit_use(&v, &p->operands[k], i->frame);
    if (param && p->opcode == WEIR_PTX_OP_ld)
        visit_pieces(&v, piece, LOW_USE);
    for (unsigned k = 0; k < p->dest_count; k++)
        visit_def(&v, &p->operands[k], i->frame);
    if (param && p->opcode == WEIR_PTX_OP_st)
        visit_pieces(&v, piece, LOW_DEF);
    if (p->cc)
        fn(ctx, l->frames.items[i->frame].cc_reg, LOW_DEF);
}

/* ---- blocks ---- */

static uint32_t label_target(const struct low *l, const struct low_inst *i,
                             const struct weir_ptx_label *label)
{
    return l->frames.items[i->frame].flat[label->inst];
}

static bool is_block_barrier(const struct weir_ptx_inst *p)
{
    return (p->opcode == WEIR_PTX_OP_bar || p->opcode == WEIR_PTX_OP_barrier) &&
           p->sub != WEIR_PTX_SUB_WARP && p->sub != WEIR_PTX_SUB_ARRIVE &&
           weir_cg_form_cluster_barrier(p) != CLUSTER_BARRIER_ARRIVE;
}

bool low_is_branch(const struct low_inst *i)
{
    if (i->kind == LOW_JUMP || i->kind == LOW_SKIP)
        return true;
    if (i->kind != LOW_PTX)
        return false;
    switch (i->p->opcode) {
    case WEIR_PTX_OP_bra:
    case WEIR_PTX_OP_brx:
    case WEIR_PTX_OP_ret:
    case WEIR_PTX_OP_exit:
    case WEIR_PTX_OP_trap:
    case WEIR_PTX_OP_brkpt: /* without a debugger */
        return true;
    default:
        return false;
    }
}

static bool ends_block(const struct low_inst *i)
{
    return low_is_branch(i) || (i->kind == LOW_PTX && is_block_barrier(i->p));
}

static const struct weir_ptx_table *brx_targets(struct low *l, const struct weir_ptx_inst *p)
{
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_TABLE)
            return p->operands[k].table;
    low_refuse(l, p, "branch table");
}

static void mark_leaders(struct low *l, uint64_t *leader)
{
    low_bit_set(leader, 0);
    for (size_t n = 0; n < l->insts.count; n++) {
        const struct low_inst *i = &l->insts.items[n];
        if (!ends_block(i))
            continue;
        if (n + 1 < l->insts.count)
            low_bit_set(leader, (uint32_t)n + 1);
        if (i->kind == LOW_JUMP || i->kind == LOW_SKIP) {
            low_bit_set(leader, i->target);
        } else if (i->p->opcode == WEIR_PTX_OP_bra) {
            if (i->p->operand_count != 1 || !i->p->operands[0].label)
                low_refuse(l, i->p, "branch without a label");
            low_bit_set(leader, label_target(l, i, i->p->operands[0].label));
        } else if (i->p->opcode == WEIR_PTX_OP_brx) {
            const struct weir_ptx_table *t = brx_targets(l, i->p);
            for (size_t k = 0; k < t->count; k++)
                low_bit_set(leader, label_target(l, i, t->labels[k]));
        }
    }
}

/* General mode: lanes meet where a `.sync` instruction begins a block. Those that follow without a
 * branch in between are reached by the same lanes, together. */
static void mark_meetings(struct low *l, uint64_t *leader)
{
    bool met = false;
    for (size_t n = 0; n < l->insts.count && l->general; n++) {
        const struct low_inst *i = &l->insts.items[n];
        met &= !low_bit(leader, (uint32_t)n);
        if (met || i->kind != LOW_PTX || !low_general_is_sync(i->p))
            continue;
        low_bit_set(leader, (uint32_t)n);
        met = true;
    }
}

static void set_succ(struct low *l, struct low_block *b, uint32_t n, uint32_t s0, uint32_t s1)
{
    b->succ = low_alloc(l, 2 * sizeof *b->succ);
    b->succ_count = n;
    b->succ[0] = s0;
    b->succ[1] = s1;
}

/* Fills how the block ends; block_of maps an instruction that leads a block to the block. */
static void end_block(struct low *l, struct low_block *b, const uint32_t *block_of)
{
    const struct low_inst *i = &l->insts.items[b->end - 1];
    uint32_t next = b->end < l->insts.count ? block_of[b->end] : UINT32_MAX;
    int32_t guard = low_guard_of(l, i);
    b->pred = guard;
    b->pred_negated = guard >= 0 && i->p->guard_negated;
    b->barrier = -1;
    if (!ends_block(i)) {
        b->term = LOW_TERM_FALL;
        set_succ(l, b, 1, next, 0);
    } else if (i->kind == LOW_SKIP) {
        b->term = LOW_TERM_COND;
        set_succ(l, b, 2, next, block_of[i->target]);
    } else if (i->kind == LOW_JUMP || i->p->opcode == WEIR_PTX_OP_bra) {
        uint32_t to =
            block_of[i->kind == LOW_JUMP ? i->target : label_target(l, i, i->p->operands[0].label)];
        b->term = guard >= 0 && to != next ? LOW_TERM_COND : LOW_TERM_FALL;
        set_succ(l, b, b->term == LOW_TERM_COND ? 2 : 1, to, next);
    } else if (i->p->opcode == WEIR_PTX_OP_brx) {
        const struct weir_ptx_table *t = brx_targets(l, i->p);
        b->term = LOW_TERM_BRX;
        b->succ_count = (uint32_t)t->count;
        b->succ = low_alloc(l, t->count * sizeof *b->succ);
        for (size_t k = 0; k < t->count; k++)
            b->succ[k] = block_of[label_target(l, i, t->labels[k])];
    } else if (i->p->opcode == WEIR_PTX_OP_trap || i->p->opcode == WEIR_PTX_OP_brkpt) {
        b->term = LOW_TERM_TRAP;
        set_succ(l, b, 0, 0, 0);
    } else if (is_block_barrier(i->p)) {
        b->term = LOW_TERM_BARRIER;
        b->barrier = (int32_t)l->barriers++;
        set_succ(l, b, 1, next, 0);
    } else {
        b->term = guard >= 0 ? LOW_TERM_COND_EXIT : LOW_TERM_EXIT;
        set_succ(l, b, guard >= 0 ? 1 : 0, next, 0);
    }
}

static bool only_exits(const struct low_block *b)
{
    return b->term == LOW_TERM_EXIT && b->end == b->first + 1;
}

/* A branch to a lone `ret` ends the lanes there: nobody has to wait at the end of the kernel. */
static void exits_in_place(struct low *l)
{
    for (size_t k = 0; k < l->blocks.count; k++) {
        struct low_block *b = &l->blocks.items[k];
        if (b->term == LOW_TERM_COND) {
            for (int t = 0; t < 2; t++) {
                if (!only_exits(&l->blocks.items[b->succ[t]]))
                    continue;
                b->term = LOW_TERM_COND_EXIT;
                b->pred_negated ^= t == 1;
                b->succ[0] = b->succ[1 - t];
                b->succ_count = 1;
                break;
            }
        } else if (b->term == LOW_TERM_FALL && only_exits(&l->blocks.items[b->succ[0]])) {
            b->term = LOW_TERM_EXIT;
            b->succ_count = 0;
        }
    }
}

static void make_blocks(struct low *l)
{
    size_t n = l->insts.count;
    uint64_t *leader = low_alloc(l, (n / 64 + 1) * sizeof *leader);
    uint32_t *block_of = low_alloc(l, (n + 1) * sizeof *block_of);
    mark_leaders(l, leader);
    mark_meetings(l, leader);
    for (size_t k = 0; k < n; k++) {
        if (low_bit(leader, (uint32_t)k)) {
            struct low_block b = {.first = (uint32_t)k, .loop = -1};
            if (!weir_vec_push(&l->blocks, b))
                low_no_memory(l);
        }
        block_of[k] = (uint32_t)l->blocks.count - 1;
        l->blocks.items[l->blocks.count - 1].end = (uint32_t)k + 1;
    }
    for (size_t k = 0; k < l->blocks.count; k++)
        end_block(l, &l->blocks.items[k], block_of);
    exits_in_place(l);
}

static void count_reg(void *ctx, int32_t reg, enum low_visit what)
{
    struct low *l = ctx;
    struct low_reg *r = &l->regs.items[reg];
    if (what == LOW_DEF) {
        r->def_count++;
        r->def_inst = (uint32_t)(l->inst - l->insts.items);
    } else {
        r->use_count++;
    }
}

static bool names_reserved(const struct weir_ptx_function *f)
{
    for (size_t k = 0; k < f->inst_count; k++)
        for (unsigned o = 0; o < f->insts[k].operand_count; o++)
            if (f->insts[k].operands[o].kind == WEIR_PTX_OPERAND_SREG &&
                f->insts[k].operands[o].sreg == WEIR_PTX_SREG_reserved_smem_offset)
                return true;
    return false;
}

/* Shared memory of the system's, for kernels that ask where it is. */
static void reserve_shared(struct low *l)
{
    const struct weir_ptx_module *m = l->kernel->module;
    bool named = names_reserved(l->kernel);
    for (size_t k = 0; k < m->function_count && !named; k++)
        named = !m->functions[k]->is_entry && names_reserved(m->functions[k]);
    if (!named)
        return;
    l->reserved_base = WEIR_ALIGN_UP(l->shared_total, WEIR_JIT_SHARED_ALIGN);
    l->shared_total = l->reserved_base + RESERVED_PARTS * RESERVED_BYTES;
}

uint32_t low_reserved_smem(const struct low *l, uint8_t which)
{
    uint32_t base = (uint32_t)l->reserved_base;
    switch (which) {
    case 1:
        return base + RESERVED_PARTS * RESERVED_BYTES;
    case 2:
        return RESERVED_PARTS * RESERVED_BYTES;
    case 4:
        return base + RESERVED_BYTES;
    default:
        return base;
    }
}

void low_program_build(struct low *l)
{
    l->shared_offsets =
        low_alloc(l, (l->kernel->module->var_count + 1) * sizeof *l->shared_offsets);
    if (!weir_ptx_shared_layout(l->kernel, l->shared_offsets, &l->shared_total))
        low_no_memory(l);
    reserve_shared(l);
    low_stack_reserve(l);
    low_new_frame(l, l->kernel, 0, NULL, 0);
    low_stack_start(l);
    low_flatten(l, 0);
    low_push(l, (struct low_inst){.p = &end_of_kernel});
    low_instances_build(l);
    for (size_t k = 0; k < l->insts.count; k++) {
        l->inst = &l->insts.items[k];
        low_inst_visit(l, l->inst, count_reg, l);
    }
    l->inst = NULL;
    low_cluster_find(l);
    make_blocks(l);
    l->reg_words = l->regs.count / 64 + 1;
}

uint64_t low_local_offset(const struct low *l, uint32_t frame, const struct weir_ptx_var *var)
{
    return l->frames.items[frame].local_base + var->offset;
}

uint32_t low_static_shared(const struct low *l)
{
    return (uint32_t)l->shared_total;
}

/* Module variables first, then those of each function; `extern .shared x[]` begins behind all of
 * them. */
uint64_t low_shared_offset(const struct low *l, const struct weir_ptx_var *var)
{
    if (var->bytes == 0)
        return WEIR_ALIGN_UP(l->shared_total, 16u);
    for (size_t k = 0; k < l->frames.count && var->function; k++)
        if (l->frames.items[k].fn == var->function)
            return l->frames.items[k].shared_base + var->offset;
    return l->shared_offsets[var->index];
}
