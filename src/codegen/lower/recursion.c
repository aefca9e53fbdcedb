/* Functions that may call themselves, directly or by way of others: they cannot be inlined; and
 * those that calls through pointers reach inside each other, which would be copied too often. Such
 * a function stands once in the program, and a call is a jump: a register says where to go on, and
 * what belongs to one activation lies on a stack in the thread's local memory. All of it is made of
 * plain PTX instructions, so that the rest of the compiler sees a control flow graph and nothing
 * else. An activation:
 *
 *   fp -> the caller's fp of this function | its return site    put there by the call
 *         parameters, results, .local variables
 *         registers that are live where the function calls what may come back to it
 *
 * The stack also serves alloca, downwards from its other end. Stack overflow ends the kernel.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "codegen/lower/lower.h"

#define HEADER      16u
#define STACK_SKEW  320u /* lanes' stacks begin in different cache sets */
#define STACK_TOTAL (16u << 20)
#define STACK_LEAST (16u << 10)
#define STACK_MOST  (256u << 10)

/* A call that waits for the place of its function's first instruction. */
struct fixup {
    struct fixup *next;
    uint32_t inst;
};

struct low_instance {
    struct low_instance *next;
    const struct weir_ptx_function *fn;
    uint32_t frame, helper; /* helper: absolute registers, and return sites as its text */
    uint32_t entry;
    bool done;
    int32_t fp, ret;
    uint64_t *param_at, *ret_at;
    uint64_t locals_at, save_at, alloca_at, bytes;
    uint64_t *live; /* per instruction of fn: registers live behind it; rows of `words` */
    size_t words;
    int32_t *slot; /* register -> place in the save area, -1: never saved */
    struct fixup *fixups;
    WEIR_VEC(uint32_t) sites;
    struct weir_ptx_table *table;
};

/* ---- who calls whom ---- */

struct reach {
    struct low *l;
    uint64_t *set;
    bool local_stack; /* alloca stands somewhere, or calls through pointers inside each other */
};

static void reach_from(struct reach *r, const struct weir_ptx_function *f);

static void reach_to(struct reach *r, const struct weir_ptx_function *f)
{
    if (f->is_extern || f->inst_count == 0 || low_bit(r->set, f->index))
        return;
    low_bit_set(r->set, f->index);
    reach_from(r, f);
}

static void reach_from(struct reach *r, const struct weir_ptx_function *f)
{
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_inst *p = &f->insts[k];
        r->local_stack |= p->opcode == WEIR_PTX_OP_alloca || p->opcode == WEIR_PTX_OP_stacksave ||
                          p->opcode == WEIR_PTX_OP_stackrestore;
        if (!p->call)
            continue;
        if (p->call->callee) {
            reach_to(r, p->call->callee);
            continue;
        }
        const struct weir_ptx_function **fns;
        size_t n = low_indirect_candidates(r->l, p, &fns);
        r->local_stack |= f != r->l->kernel && n > 0;
        for (size_t c = 0; c < n; c++)
            reach_to(r, fns[c]);
    }
}

static const uint64_t *reachable(struct low *l, const struct weir_ptx_function *f)
{
    const struct weir_ptx_module *m = l->kernel->module;
    if (!l->reach)
        l->reach = low_alloc(l, m->function_count * sizeof *l->reach);
    if (!l->reach[f->index]) {
        struct reach r = {.l = l,
                          .set = low_alloc(l, (m->function_count / 64 + 1) * sizeof(uint64_t))};
        reach_from(&r, f);
        l->reach[f->index] = r.set;
    }
    return l->reach[f->index];
}

bool low_is_recursive(struct low *l, const struct weir_ptx_function *f)
{
    return low_bit(reachable(l, f), f->index);
}

void low_stack_reserve(struct low *l)
{
    const struct weir_ptx_module *m = l->kernel->module;
    struct reach r = {.l = l, .set = low_alloc(l, (m->function_count / 64 + 1) * sizeof(uint64_t))};
    reach_from(&r, l->kernel);
    bool needed = r.local_stack;
    for (size_t k = 0; k < m->function_count && !needed; k++)
        needed = low_bit(r.set, (uint32_t)k) && low_is_recursive(l, m->functions[k]);
    if (!needed)
        return;
    uint32_t bytes = STACK_TOTAL / l->threads;
    bytes = WEIR_MAX(STACK_LEAST, WEIR_MIN(bytes, STACK_MOST));
    l->stack_bytes = bytes & ~15u;
    l->local_bytes = l->stack_bytes + STACK_SKEW;
}

/* ---- instructions; registers are absolute, as those of frame 0 are ---- */

static struct weir_ptx_operand reg(int32_t r)
{
    return (struct weir_ptx_operand){.kind = WEIR_PTX_OPERAND_REG, .reg = r, .pred_reg = -1};
}

static struct weir_ptx_operand number(int64_t v)
{
    return (struct weir_ptx_operand){
        .kind = WEIR_PTX_OPERAND_INT, .reg = -1, .pred_reg = -1, .imm = v};
}

static struct weir_ptx_operand memory(int32_t base, uint64_t at)
{
    return (struct weir_ptx_operand){
        .kind = WEIR_PTX_OPERAND_ADDRESS, .reg = base, .pred_reg = -1, .imm = (int64_t)at};
}

static struct weir_ptx_inst *make(struct low *l, uint16_t opcode, enum weir_ptx_type type,
                                  const char *suffix, const struct weir_ptx_operand *o, unsigned n)
{
    struct weir_ptx_inst *p = low_alloc(l, sizeof *p);
    struct weir_ptx_operand *copy = low_alloc(l, (n + 1) * sizeof *copy);
    if (n)
        memcpy(copy, o, n * sizeof *copy);
    *p = (struct weir_ptx_inst){.opcode = opcode,
                                .type = {(uint8_t)type},
                                .guard = -1,
                                .suffix = suffix,
                                .operand_count = (uint8_t)n,
                                .operands = copy,
                                .line = l->call_site ? l->call_site->line : 0,
                                .file = l->call_site ? l->call_site->file : 0,
                                .source_line = l->call_site ? l->call_site->source_line : 0};
    p->dest_count =
        opcode != WEIR_PTX_OP_st && opcode != WEIR_PTX_OP_brx && opcode != WEIR_PTX_OP_trap;
    return p;
}

static void put(struct low *l, const struct weir_ptx_inst *p)
{
    low_push(l, (struct low_inst){.p = p});
}

static void binary(struct low *l, uint16_t opcode, enum weir_ptx_type t, int32_t d,
                   struct weir_ptx_operand a, struct weir_ptx_operand b)
{
    struct weir_ptx_operand o[3] = {reg(d), a, b};
    put(l, make(l, opcode, t, ".u64", o, 3));
}

static void move(struct low *l, enum weir_ptx_type t, int32_t d, struct weir_ptx_operand a)
{
    struct weir_ptx_operand o[2] = {reg(d), a};
    put(l, make(l, WEIR_PTX_OP_mov, t, ".u64", o, 2));
}

static enum weir_ptx_type bits_type(unsigned bytes)
{
    return bytes == 1   ? WEIR_PTX_B8
           : bytes == 2 ? WEIR_PTX_B16
           : bytes == 4 ? WEIR_PTX_B32
                        : WEIR_PTX_B64;
}

static void store(struct low *l, unsigned bytes, int32_t base, uint64_t at, int32_t from)
{
    struct weir_ptx_operand o[2] = {memory(base, at), reg(from)};
    struct weir_ptx_inst *p = make(l, WEIR_PTX_OP_st, bits_type(bytes), ".local", o, 2);
    p->space = WEIR_PTX_LOCAL;
    put(l, p);
}

static void load(struct low *l, unsigned bytes, int32_t to, int32_t base, uint64_t at)
{
    struct weir_ptx_operand o[2] = {reg(to), memory(base, at)};
    struct weir_ptx_inst *p = make(l, WEIR_PTX_OP_ld, bits_type(bytes), ".local", o, 2);
    p->space = WEIR_PTX_LOCAL;
    put(l, p);
}

/* Ends the kernel in lanes where `a cmp b`. */
static void fail_where(struct low *l, enum weir_ptx_cmp cmp, struct weir_ptx_operand a,
                       struct weir_ptx_operand b)
{
    int32_t p = low_new_reg(l, WEIR_PTX_PRED);
    struct weir_ptx_operand o[3] = {reg(p), a, b};
    struct weir_ptx_inst *s = make(l, WEIR_PTX_OP_setp, WEIR_PTX_U64, ".u64", o, 3);
    s->cmp = (uint8_t)cmp;
    put(l, s);
    struct weir_ptx_inst *t = make(l, WEIR_PTX_OP_trap, WEIR_PTX_NONE, LOW_STACK_TRAP, NULL, 0);
    t->guard = p;
    size_t skip = l->insts.count;
    low_push(l, (struct low_inst){.p = t, .kind = LOW_SKIP});
    low_push(l, (struct low_inst){.p = t, .no_guard = true});
    l->insts.items[skip].target = (uint32_t)l->insts.count;
}

/* ---- which registers a call must save ---- */

static void set_regs(const struct weir_ptx_operand *o, uint64_t *set, bool add)
{
    for (unsigned k = 0; o->elements && k < o->count; k++)
        set_regs(&o->elements[k], set, add);
    bool is_reg = o->kind == WEIR_PTX_OPERAND_REG || o->kind == WEIR_PTX_OPERAND_ADDRESS;
    if (is_reg && o->reg >= 0) {
        if (add)
            low_bit_set(set, (uint32_t)o->reg);
        else
            set[o->reg >> 6] &= ~((uint64_t)1 << (o->reg & 63));
    }
    if (o->pred_reg >= 0 && !add)
        set[o->pred_reg >> 6] &= ~((uint64_t)1 << (o->pred_reg & 63));
}

/* From what is live behind the instruction to what is live before it. */
static void step_back(const struct weir_ptx_inst *p, uint64_t *set)
{
    const struct weir_ptx_call *c = p->call;
    for (unsigned k = 0; k < p->dest_count && p->guard < 0; k++)
        set_regs(&p->operands[k], set, false);
    for (unsigned k = 0; c && k < c->ret_count && p->guard < 0; k++)
        set_regs(&c->rets[k], set, false);
    for (unsigned k = p->dest_count; k < p->operand_count; k++)
        set_regs(&p->operands[k], set, true);
    for (unsigned k = 0; c && k < c->arg_count; k++)
        set_regs(&c->args[k], set, true);
    if (c && !c->callee)
        set_regs(&c->target, set, true);
    if (p->guard >= 0)
        low_bit_set(set, (uint32_t)p->guard);
}

static void add_row(uint64_t *to, const uint64_t *from, size_t words, const struct weir_ptx_inst *p)
{
    uint64_t *before = to + words; /* scratch behind the row */
    memcpy(before, from, words * sizeof *before);
    step_back(p, before);
    for (size_t w = 0; w < words; w++)
        to[w] |= before[w];
}

static void live_behind(const struct low_instance *x, size_t k, uint64_t *out)
{
    const struct weir_ptx_function *f = x->fn;
    const struct weir_ptx_inst *p = &f->insts[k];
    bool ends = p->opcode == WEIR_PTX_OP_ret || p->opcode == WEIR_PTX_OP_exit ||
                p->opcode == WEIR_PTX_OP_bra || p->opcode == WEIR_PTX_OP_brx;
    memset(out, 0, x->words * sizeof *out);
    if ((!ends || p->guard >= 0) && k + 1 < f->inst_count)
        add_row(out, x->live + (k + 1) * x->words, x->words, &f->insts[k + 1]);
    for (unsigned o = 0; o < p->operand_count; o++) {
        const struct weir_ptx_operand *op = &p->operands[o];
        size_t n = op->kind == WEIR_PTX_OPERAND_TABLE   ? op->table->count
                   : op->kind == WEIR_PTX_OPERAND_LABEL ? 1
                                                        : 0;
        for (size_t t = 0; t < n; t++) {
            size_t to =
                op->kind == WEIR_PTX_OPERAND_TABLE ? op->table->labels[t]->inst : op->label->inst;
            if (to < f->inst_count)
                add_row(out, x->live + to * x->words, x->words, &f->insts[to]);
        }
    }
}

static void find_live(struct low *l, struct low_instance *x)
{
    size_t n = x->fn->inst_count;
    x->words = x->fn->reg_count / 64 + 1;
    x->live = low_alloc(l, n * x->words * sizeof *x->live);
    uint64_t *row = low_alloc(l, 2 * x->words * sizeof *row);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) {
            live_behind(x, k, row);
            if (memcmp(row, x->live + k * x->words, x->words * sizeof *row) == 0)
                continue;
            memcpy(x->live + k * x->words, row, x->words * sizeof *row);
            changed = true;
        }
    }
}

/* Can the call come back to this function before it returns? */
static bool comes_back(struct low *l, const struct low_instance *x, const struct weir_ptx_inst *p)
{
    if (!p->call)
        return false;
    if (p->call->callee)
        return p->call->callee->inst_count && low_bit(reachable(l, p->call->callee), x->fn->index);
    const struct weir_ptx_function **fns;
    size_t n = low_indirect_candidates(l, p, &fns);
    for (size_t k = 0; k < n; k++)
        if (low_bit(reachable(l, fns[k]), x->fn->index))
            return true;
    return false;
}

static void give_slots(struct low *l, struct low_instance *x)
{
    const struct weir_ptx_function *f = x->fn;
    x->slot = low_alloc(l, (f->reg_count + 1) * sizeof *x->slot);
    int32_t slots = 0;
    for (size_t r = 0; r < f->reg_count; r++)
        x->slot[r] = -1;
    for (size_t k = 0; k < f->inst_count; k++) {
        if (!comes_back(l, x, &f->insts[k]))
            continue;
        for (size_t r = 0; r < f->reg_count; r++)
            if (low_bit(x->live + k * x->words, (uint32_t)r) && x->slot[r] < 0)
                x->slot[r] = slots++;
    }
    x->bytes = WEIR_ALIGN_UP(x->save_at + 8 * (uint64_t)slots, (uint64_t)16);
}

/* ---- parameters of calls in the caller's text ---- */

static const struct weir_ptx_operand *param_access(const struct weir_ptx_inst *p,
                                                   const struct weir_ptx_var *v)
{
    if (p->opcode != WEIR_PTX_OP_ld && p->opcode != WEIR_PTX_OP_st)
        return NULL;
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_ADDRESS && p->operands[k].var == v)
            return &p->operands[k];
    return NULL;
}

static bool is_of_call(const struct weir_ptx_call *c, const struct weir_ptx_var *v)
{
    for (unsigned k = 0; k < c->arg_count; k++)
        if (c->args[k].var == v)
            return true;
    for (unsigned k = 0; k < c->ret_count; k++)
        if (c->rets[k].var == v)
            return true;
    return false;
}

/* Parameters are registers while the caller fills them: none may be filled before a call and used
 * behind it. */
static void check_params(struct low *l, const struct low_instance *x)
{
    const struct weir_ptx_function *f = x->fn;
    for (size_t n = 0; n < f->var_count; n++) {
        const struct weir_ptx_var *v = f->vars[n];
        size_t first = SIZE_MAX, last = 0;
        for (size_t k = 0; k < f->inst_count && v->space == WEIR_PTX_PARAM; k++)
            if (param_access(&f->insts[k], v)) {
                first = WEIR_MIN(first, k);
                last = k;
            }
        for (size_t k = first; k < last; k++)
            if (comes_back(l, x, &f->insts[k]) && !is_of_call(f->insts[k].call, v))
                low_refuse(l, &f->insts[k], "recursion while a parameter is being passed");
    }
}

/* Between a parameter in memory and an activation, in the largest steps. */
static void copy_bytes(struct low *l, uint64_t bytes, int32_t base, uint64_t at, uint64_t place,
                       bool out)
{
    for (uint64_t k = 0; k < bytes;) {
        unsigned n = 8;
        while (n > bytes - k)
            n /= 2;
        int32_t t = low_new_reg(l, bits_type(n));
        load(l, n, t, out ? -1 : base, out ? place + k : at + k);
        store(l, n, out ? base : -1, out ? at + k : place + k, t);
        k += n;
    }
}

/* Copies between the caller's pieces of a parameter and the callee's activation. */
static void copy_pieces(struct low *l, uint32_t frame, const struct weir_ptx_var *v, int32_t base,
                        uint64_t at, bool out)
{
    const struct weir_ptx_function *f = l->frames.items[frame].fn;
    if (v->role != WEIR_PTX_VAR_BODY || v->function != f)
        low_refuse(l, l->call_site, "parameter passed on to a recursive function");
    uint64_t place;
    if (low_param_in_memory(l, frame, v, &place)) {
        copy_bytes(l, v->bytes, base, at, place, out);
        return;
    }
    uint16_t opcode = out ? WEIR_PTX_OP_st : WEIR_PTX_OP_ld;
    uint64_t *seen = low_alloc(l, (v->bytes / 64 + 1) * sizeof *seen);
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_inst *p = &f->insts[k];
        const struct weir_ptx_operand *o = p->opcode == opcode ? param_access(p, v) : NULL;
        if (!o)
            continue;
        unsigned bytes = weir_ptx_type_bits(p->type[0]) / 8;
        for (unsigned c = 0; c < (p->vec ? p->vec : 1u); c++) {
            uint64_t off = (uint64_t)o->imm + (uint64_t)c * bytes;
            if (off + bytes > v->bytes)
                low_refuse(l, p, "access outside of a parameter");
            if (low_bit(seen, (uint32_t)off))
                continue;
            low_bit_set(seen, (uint32_t)off);
            int32_t r = low_param_piece(l, frame, v, off, bytes);
            if (out)
                store(l, bytes, base, at + off, r);
            else
                load(l, bytes, r, base, at + off);
        }
    }
}

/* ---- instances ---- */

static uint64_t place(uint64_t *at, struct weir_ptx_var **vars, size_t n, uint64_t from)
{
    for (size_t k = 0; k < n; k++) {
        from = WEIR_ALIGN_UP(from, (uint64_t)16);
        at[k] = from;
        from += WEIR_MAX(vars[k]->bytes, (uint64_t)8);
    }
    return from;
}

static bool uses_alloca(const struct weir_ptx_function *f)
{
    for (size_t k = 0; k < f->inst_count; k++)
        if (f->insts[k].opcode == WEIR_PTX_OP_alloca ||
            f->insts[k].opcode == WEIR_PTX_OP_stackrestore)
            return true;
    return false;
}

static struct low_instance *instance_of(struct low *l, const struct weir_ptx_function *f)
{
    for (struct low_instance *x = l->instances; x; x = x->next)
        if (x->fn == f)
            return x;
    struct low_instance *x = low_alloc(l, sizeof *x);
    x->fn = f;
    uint64_t local = l->local_bytes;
    x->frame = low_new_frame(l, f, 0, NULL, 1);
    l->local_bytes = local; /* its variables are in activations */
    l->frames.items[x->frame].instance = x;
    x->helper = (uint32_t)l->frames.count;
    if (!weir_vec_push(&l->frames, (struct low_frame){.fn = f}))
        low_no_memory(l);
    x->fp = low_new_reg(l, WEIR_PTX_U64);
    x->ret = low_new_reg(l, WEIR_PTX_U32);
    x->param_at = low_alloc(l, (f->param_count + 1) * sizeof *x->param_at);
    x->ret_at = low_alloc(l, (f->ret_count + 1) * sizeof *x->ret_at);
    uint64_t at = place(x->param_at, f->params, f->param_count, HEADER);
    at = place(x->ret_at, f->rets, f->ret_count, at);
    x->alloca_at = WEIR_ALIGN_UP(at, (uint64_t)16);
    x->locals_at = x->alloca_at + 16;
    x->save_at = WEIR_ALIGN_UP(x->locals_at + f->local_bytes, (uint64_t)16);
    find_live(l, x);
    give_slots(l, x);
    check_params(l, x);
    x->table = low_alloc(l, sizeof *x->table);
    x->next = l->instances;
    l->instances = x;
    return x;
}

/* The instance whose activation is on top while the frame runs; NULL in the kernel. */
static struct low_instance *owner(const struct low *l, uint32_t frame)
{
    while (frame != 0 && !l->frames.items[frame].instance)
        frame = l->frames.items[frame].parent;
    return l->frames.items[frame].instance;
}

/* ---- calls ---- */

static bool is_result(const struct weir_ptx_call *c, size_t r)
{
    for (unsigned k = 0; k < c->ret_count; k++)
        if (c->rets[k].kind == WEIR_PTX_OPERAND_REG && c->rets[k].reg == (int32_t)r)
            return true;
    return false;
}

static void save_or_restore(struct low *l, const struct low_instance *x, size_t call, bool save)
{
    const struct weir_ptx_function *f = x->fn;
    for (size_t r = 0; r < f->reg_count; r++) {
        if (!low_bit(x->live + call * x->words, (uint32_t)r) || is_result(f->insts[call].call, r))
            continue;
        int32_t abs = l->frames.items[x->frame].reg_base + (int32_t)r, as = abs;
        uint64_t at = x->save_at + 8 * (uint64_t)x->slot[r];
        unsigned bits = weir_ptx_type_bits(f->regs[r].type);
        if (bits > 64)
            low_refuse(l, &f->insts[call], "128-bit register across recursion");
        if (bits == 1)
            as = low_new_reg(l, WEIR_PTX_B32);
        if (bits == 1 && save) {
            struct weir_ptx_operand o[4] = {reg(as), number(1), number(0), reg(abs)};
            put(l, make(l, WEIR_PTX_OP_selp, WEIR_PTX_B32, ".b32", o, 4));
        }
        if (save)
            store(l, WEIR_MAX(bits == 1 ? 32 : bits, 8u) / 8, x->fp, at, as);
        else
            load(l, WEIR_MAX(bits == 1 ? 32 : bits, 8u) / 8, as, x->fp, at);
        if (bits == 1 && !save) {
            struct weir_ptx_operand o[3] = {reg(abs), reg(as), number(0)};
            struct weir_ptx_inst *s = make(l, WEIR_PTX_OP_setp, WEIR_PTX_B32, ".ne.b32", o, 3);
            s->cmp = WEIR_PTX_NE;
            put(l, s);
        }
    }
}

static void pass_args(struct low *l, const struct weir_ptx_inst *p, const struct low_instance *x,
                      uint32_t frame, int32_t base, uint64_t base_at)
{
    for (size_t k = 0; k < x->fn->param_count; k++) {
        const struct weir_ptx_operand *o = &p->call->args[k];
        const struct weir_ptx_var *v = x->fn->params[k];
        if (o->kind == WEIR_PTX_OPERAND_VAR) {
            copy_pieces(l, frame, o->var, base, base_at + x->param_at[k], true);
            continue;
        }
        int32_t t = low_new_reg(l, v->type);
        low_push(l, (struct low_inst){.p = p,
                                      .kind = LOW_MOVE,
                                      .no_guard = true,
                                      .type = (uint8_t)v->type,
                                      .frame = frame,
                                      .dst = t,
                                      .src = o,
                                      .src_frame = frame});
        store(l, weir_ptx_type_bits(v->type) / 8, base, base_at + x->param_at[k], t);
    }
}

static void take_results(struct low *l, const struct weir_ptx_inst *p, const struct low_instance *x,
                         uint32_t frame, int32_t base, uint64_t base_at)
{
    for (size_t k = 0; k < x->fn->ret_count; k++) {
        const struct weir_ptx_operand *o = &p->call->rets[k];
        const struct weir_ptx_var *v = x->fn->rets[k];
        if (o->kind == WEIR_PTX_OPERAND_VAR)
            copy_pieces(l, frame, o->var, base, base_at + x->ret_at[k], false);
        else if (o->kind == WEIR_PTX_OPERAND_REG)
            load(l, weir_ptx_type_bits(v->type) / 8, l->frames.items[frame].reg_base + o->reg, base,
                 base_at + x->ret_at[k]);
    }
}

static void jump_to(struct low *l, struct low_instance *x, const struct weir_ptx_inst *p)
{
    struct fixup *u = low_alloc(l, sizeof *u);
    u->inst = (uint32_t)l->insts.count;
    u->next = x->fixups;
    x->fixups = u;
    low_push(l, (struct low_inst){.p = p, .kind = LOW_JUMP, .no_guard = true});
    if (!weir_vec_push(&x->sites, (uint32_t)l->insts.count))
        low_no_memory(l);
}

void low_call_instance(struct low *l, const struct weir_ptx_inst *p,
                       const struct weir_ptx_function *f, uint32_t frame)
{
    struct low_instance *x = instance_of(l, f), *from = owner(l, frame);
    if (p->call->arg_count != f->param_count || p->call->ret_count != f->ret_count)
        low_refuse(l, p, "call with other parameters than the function's");
    size_t at = (size_t)(p - l->frames.items[frame].fn->insts);
    bool saves = from && from->frame == frame && low_bit(reachable(l, f), from->fn->index);
    int32_t base = from ? from->fp : -1;
    uint64_t base_at = from ? from->bytes : 0;
    l->call_site = p;
    if (saves)
        save_or_restore(l, from, at, true);
    int32_t top = low_new_reg(l, WEIR_PTX_U64);
    if (from)
        binary(l, WEIR_PTX_OP_add, WEIR_PTX_U64, top, reg(from->fp), number((int64_t)base_at));
    else
        move(l, WEIR_PTX_U64, top, number(0));
    int32_t end = low_new_reg(l, WEIR_PTX_U64);
    binary(l, WEIR_PTX_OP_add, WEIR_PTX_U64, end, reg(top), number((int64_t)x->bytes));
    fail_where(l, WEIR_PTX_GT, reg(end), reg(l->alloca_top));
    move(l, WEIR_PTX_U64, l->recursion_top, reg(end));
    pass_args(l, p, x, frame, base, base_at);
    store(l, 8, top, 0, x->fp);
    store(l, 4, top, 8, x->ret);
    move(l, WEIR_PTX_U64, x->fp, reg(top));
    move(l, WEIR_PTX_U32, x->ret, number((int64_t)x->sites.count));
    jump_to(l, x, p);
    if (from)
        binary(l, WEIR_PTX_OP_add, WEIR_PTX_U64, l->recursion_top, reg(from->fp),
               number((int64_t)base_at));
    else
        move(l, WEIR_PTX_U64, l->recursion_top, number(0));
    take_results(l, p, x, frame, base, base_at);
    if (saves)
        save_or_restore(l, from, at, false);
    l->call_site = NULL;
}

/* ---- the functions themselves ---- */

/* Parameters that the text has in registers. */
static void load_params(struct low *l, const struct low_instance *x)
{
    for (size_t k = 0; k < x->fn->param_count; k++) {
        const struct weir_ptx_var *v = x->fn->params[k];
        if (v->space == WEIR_PTX_REG)
            load(l, weir_ptx_type_bits(v->type) / 8,
                 l->frames.items[x->frame].reg_base + v->reg_index, x->fp, x->param_at[k]);
    }
}

static void leave(struct low *l, struct low_instance *x)
{
    for (size_t k = 0; k < x->fn->ret_count; k++) {
        const struct weir_ptx_var *v = x->fn->rets[k];
        if (v->space == WEIR_PTX_REG)
            store(l, weir_ptx_type_bits(v->type) / 8, x->fp, x->ret_at[k],
                  l->frames.items[x->frame].reg_base + v->reg_index);
    }
    if (uses_alloca(x->fn))
        load(l, 8, l->alloca_top, x->fp, x->alloca_at);
    int32_t to = low_new_reg(l, WEIR_PTX_U32);
    move(l, WEIR_PTX_U32, to, reg(x->ret));
    load(l, 4, x->ret, x->fp, 8);
    load(l, 8, x->fp, x->fp, 0);
    struct weir_ptx_operand o[2] = {
        reg(to), {.kind = WEIR_PTX_OPERAND_TABLE, .reg = -1, .pred_reg = -1, .table = x->table}};
    struct weir_ptx_inst *p = make(l, WEIR_PTX_OP_brx, WEIR_PTX_NONE, ".idx", o, 2);
    low_push(l, (struct low_inst){.p = p, .frame = x->helper});
}

static void build(struct low *l, struct low_instance *x)
{
    x->done = true;
    x->entry = (uint32_t)l->insts.count;
    load_params(l, x);
    if (uses_alloca(x->fn))
        store(l, 8, x->fp, x->alloca_at, l->alloca_top);
    size_t start = l->insts.count;
    low_flatten(l, x->frame);
    for (size_t i = start; i < l->insts.count; i++) {
        struct low_inst *j = &l->insts.items[i];
        if (j->kind == LOW_JUMP && j->frame == x->frame && j->p->opcode == WEIR_PTX_OP_ret)
            j->target = (uint32_t)l->insts.count;
    }
    leave(l, x);
}

/* Return sites as a branch table: label k of the helper's text is site k. */
static void connect(struct low *l, struct low_instance *x)
{
    size_t n = x->sites.count;
    struct weir_ptx_label *labels = low_alloc(l, (n + 1) * sizeof *labels);
    x->table->labels = low_alloc(l, (n + 1) * sizeof *x->table->labels);
    x->table->count = n;
    uint32_t *flat = low_alloc(l, (n + 1) * sizeof *flat);
    for (size_t k = 0; k < n; k++) {
        labels[k] = (struct weir_ptx_label){.name = "return", .inst = (uint32_t)k, .used = true};
        x->table->labels[k] = &labels[k];
        flat[k] = x->sites.items[k];
    }
    l->frames.items[x->helper].flat = flat;
    for (const struct fixup *u = x->fixups; u; u = u->next)
        l->insts.items[u->inst].target = x->entry;
    weir_vec_finish(&x->sites);
}

void low_instances_build(struct low *l)
{
    for (bool more = true; more;) {
        more = false;
        for (struct low_instance *x = l->instances; x; x = x->next) {
            if (x->done)
                continue;
            more = true;
            build(l, x);
            break; /* new ones stand at the list's start */
        }
    }
    for (struct low_instance *x = l->instances; x; x = x->next)
        connect(l, x);
}

void low_instances_finish(struct low *l)
{
    for (struct low_instance *x = l->instances; x; x = x->next)
        weir_vec_finish(&x->sites);
}

/* ---- what names memory of an activation ---- */

static bool activation_place(const struct low_instance *x, const struct weir_ptx_var *v,
                             uint64_t *at)
{
    if (!v || v->function != x->fn)
        return false;
    if (v->space == WEIR_PTX_LOCAL) {
        *at = x->locals_at + v->offset;
        return true;
    }
    for (size_t k = 0; k < x->fn->param_count && v->space == WEIR_PTX_PARAM; k++)
        if (x->fn->params[k] == v) {
            *at = x->param_at[k];
            return true;
        }
    for (size_t k = 0; k < x->fn->ret_count && v->space == WEIR_PTX_PARAM; k++)
        if (x->fn->rets[k] == v) {
            *at = x->ret_at[k];
            return true;
        }
    return false;
}

const struct weir_ptx_inst *low_instance_inst(struct low *l, const struct weir_ptx_inst *p,
                                              uint32_t frame)
{
    const struct low_instance *x = l->frames.items[frame].instance;
    for (unsigned k = 0; k < p->operand_count; k++) {
        const struct weir_ptx_operand *o = &p->operands[k];
        uint64_t at;
        if ((o->kind != WEIR_PTX_OPERAND_VAR && o->kind != WEIR_PTX_OPERAND_ADDRESS) ||
            !activation_place(x, o->var, &at))
            continue;
        bool is_mov = p->opcode == WEIR_PTX_OP_mov && o->kind == WEIR_PTX_OPERAND_VAR &&
                      o->var->space == WEIR_PTX_LOCAL && p->operand_count == 2;
        if (o->kind == WEIR_PTX_OPERAND_VAR && !is_mov)
            low_refuse(l, p, "address of a variable of a recursive function");
        struct weir_ptx_inst *q = low_alloc(l, sizeof *q);
        *q = *p;
        q->operands = low_alloc(l, 3 * sizeof *q->operands + p->operand_count * sizeof *o);
        memcpy(q->operands, p->operands, p->operand_count * sizeof *o);
        int32_t fp = x->fp - l->frames.items[frame].reg_base;
        if (is_mov) {
            q->opcode = WEIR_PTX_OP_add;
            q->type[0] = weir_ptx_type_bits(p->type[0]) == 32 ? WEIR_PTX_U32 : WEIR_PTX_U64;
            q->operand_count = 3;
            q->operands[1] = reg(fp);
            q->operands[2] = number((int64_t)at + o->imm);
            return q;
        }
        q->space = WEIR_PTX_LOCAL;
        q->operands[k] = memory(fp, at + (uint64_t)o->imm);
        return q;
    }
    return p;
}

/* ---- alloca ---- */

void low_stack_start(struct low *l)
{
    if (!l->stack_bytes)
        return;
    l->alloca_top = low_new_reg(l, WEIR_PTX_U64);
    l->recursion_top = low_new_reg(l, WEIR_PTX_U64);
    move(l, WEIR_PTX_U64, l->alloca_top, number(l->stack_bytes));
    move(l, WEIR_PTX_U64, l->recursion_top, number(0));
}

int32_t low_stack_enter(struct low *l, const struct weir_ptx_function *f)
{
    if (!uses_alloca(f))
        return -1;
    int32_t r = low_new_reg(l, WEIR_PTX_U64);
    move(l, WEIR_PTX_U64, r, reg(l->alloca_top));
    return r;
}

void low_stack_leave(struct low *l, int32_t saved)
{
    if (saved >= 0)
        move(l, WEIR_PTX_U64, l->alloca_top, reg(saved));
}

/* Operand k of an instruction of `frame` as an absolute register. */
static int32_t absolute(struct low *l, const struct weir_ptx_inst *p, uint32_t frame, unsigned k)
{
    int32_t t = low_new_reg(l, WEIR_PTX_U64);
    low_push(l, (struct low_inst){.p = p,
                                  .kind = LOW_MOVE,
                                  .no_guard = true,
                                  .type = WEIR_PTX_U64,
                                  .frame = frame,
                                  .dst = t,
                                  .src = &p->operands[k],
                                  .src_frame = frame});
    return t;
}

static void give(struct low *l, const struct weir_ptx_inst *p, uint32_t frame, int32_t from)
{
    if (p->operands[0].kind == WEIR_PTX_OPERAND_REG)
        move(l, WEIR_PTX_U64, l->frames.items[frame].reg_base + p->operands[0].reg, reg(from));
}

bool low_stack_inst(struct low *l, const struct weir_ptx_inst *p, uint32_t frame)
{
    bool is_alloca = p->opcode == WEIR_PTX_OP_alloca;
    if (!is_alloca && p->opcode != WEIR_PTX_OP_stacksave && p->opcode != WEIR_PTX_OP_stackrestore)
        return false;
    if (weir_ptx_type_bits(p->type[0]) != 64)
        low_refuse(l, p, "type");
    if (!l->stack_bytes)
        low_refuse(l, p, "stack");
    l->call_site = p;
    if (p->opcode == WEIR_PTX_OP_stacksave) {
        give(l, p, frame, l->alloca_top);
    } else if (p->opcode == WEIR_PTX_OP_stackrestore) {
        move(l, WEIR_PTX_U64, l->alloca_top, reg(absolute(l, p, frame, 0)));
    } else {
        int64_t align = p->operand_count > 2 ? p->operands[2].imm : 16;
        align = WEIR_MAX(align, (int64_t)16);
        int32_t size = absolute(l, p, frame, 1), t = low_new_reg(l, WEIR_PTX_U64);
        fail_where(l, WEIR_PTX_GT, reg(size), reg(l->alloca_top));
        binary(l, WEIR_PTX_OP_sub, WEIR_PTX_U64, t, reg(l->alloca_top), reg(size));
        binary(l, WEIR_PTX_OP_and, WEIR_PTX_B64, t, reg(t), number(-align));
        fail_where(l, WEIR_PTX_LT, reg(t), reg(l->recursion_top));
        move(l, WEIR_PTX_U64, l->alloca_top, reg(t));
        give(l, p, frame, t);
    }
    l->call_site = NULL;
    return true;
}
