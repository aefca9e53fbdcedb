/* Memory, control flow, calls and the scheduler of the interpreter. Threads are state machines:
 * each has its own stack of frames with registers and a program counter; the scheduler gives them
 * turns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support/ptx_interp.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/ptx_interp_int.h"

#define MAX_DEPTH      1000u
#define TURN           256u
#define LOCAL_RESERVE  4096u /* and room for recursion: */
#define LOCAL_COPIES   16u   /* of every function's frame */
#define RESIDENT_LIMIT 4096u

/* ---- errors ---- */

const struct weir_ptx_inst *interp_current_inst(const struct thread *t)
{
    return &t->top->fn->insts[t->top->pc];
}

bool interp_fail(struct thread *t, enum weir_err err, const char *fmt, ...)
{
    struct run *r = t->block->run;
    char what[200], name[120] = "end of the function";
    va_list ap;

    if (r->err != WEIR_OK)
        return false;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (t->top && t->top->pc < t->top->fn->inst_count)
        weir_ptx_inst_name(interp_current_inst(t), name, sizeof name);
    r->err = WEIR_FAIL(err, "%s: %s in %.100s, thread (%u,%u,%u) of block (%u,%u,%u)", what, name,
                       t->top ? t->top->fn->name : "", t->tid[0], t->tid[1], t->tid[2],
                       t->block->ctaid[0], t->block->ctaid[1], t->block->ctaid[2]);
    return false;
}

bool interp_unsupported(struct thread *t, const struct weir_ptx_inst *i)
{
    (void)i;
    return interp_fail(t, WEIR_ERR_NOT_SUPPORTED, "not in the interpreter");
}

static enum weir_err memory_error(void)
{
    return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "interpreter");
}

/* ---- module variables ---- */

static uint64_t address_of_var(struct thread *t, const struct weir_ptx_var *v)
{
    struct run *r = t->block->run;
    struct frame *f = t->top;

    switch (v->role) {
    case WEIR_PTX_VAR_PARAM:
        return (uint64_t)(uintptr_t)(f->in + v->offset);
    case WEIR_PTX_VAR_RET:
        return (uint64_t)(uintptr_t)(f->out + v->offset);
    default:
        break;
    }
    switch (v->space) {
    case WEIR_PTX_PARAM:
        return (uint64_t)(uintptr_t)(f->body + v->offset);
    case WEIR_PTX_LOCAL:
        return f->local_base + v->offset;
    case WEIR_PTX_SHARED:
        if (v->bytes == 0)
            return r->static_shared;
        return v->offset + (v->function ? r->in->codes[v->function->index].shared_base : 0);
    default:
        return (uint64_t)(uintptr_t)r->in->vars[v->index];
    }
}

static void apply_relocs(struct weir_interp *in, const struct weir_ptx_var *v, char *data)
{
    for (size_t k = 0; k < v->reloc_count; k++) {
        const struct weir_ptx_reloc *r = &v->relocs[k];
        uint64_t a = r->function ? (uint64_t)(uintptr_t)r->function
                                 : (uint64_t)(uintptr_t)in->vars[r->var->index];

        a = (a + (uint64_t)r->addend) >> r->shift;
        memcpy(data + r->offset, &a, r->bytes);
    }
}

static bool make_vars(struct weir_interp *in, void *const *given)
{
    const struct weir_ptx_module *m = in->m;

    for (size_t i = 0; i < m->var_count; i++) {
        const struct weir_ptx_var *v = m->vars[i];

        in->vars[i] = given ? given[i] : NULL;
        if (in->vars[i] || v->space == WEIR_PTX_SHARED || v->bytes == 0)
            continue;
        in->vars[i] = weir_alloc_aligned(WEIR_MAX(v->align, 256u),
                                         WEIR_ALIGN_UP(v->bytes, WEIR_MAX(v->align, 256u)));
        if (!in->vars[i])
            return false;
        in->owned[i] = true;
        memset(in->vars[i], 0, v->bytes);
        if (v->init)
            memcpy(in->vars[i], v->init, v->bytes);
    }
    for (size_t i = 0; i < m->var_count; i++) {
        if (in->owned[i])
            apply_relocs(in, m->vars[i], in->vars[i]);
    }
    return true;
}

static bool make_code(const struct weir_ptx_function *f, struct code *c)
{
    c->slot = weir_calloc(f->reg_count + 1, sizeof *c->slot);
    if (!c->slot)
        return false;
    for (size_t i = 0; i < f->reg_count; i++) {
        c->slot[i] = c->slots;
        c->slots += f->regs[i].vector ? f->regs[i].vector : 1;
    }
    for (size_t i = 0; i < f->ret_count; i++) {
        if (f->rets[i]->space == WEIR_PTX_PARAM)
            c->ret_bytes = f->rets[i]->offset + f->rets[i]->bytes;
    }
    return true;
}

enum weir_err weir_interp_create(const struct weir_ptx_module *m, void *const *var_addresses,
                                 struct weir_interp **out)
{
    struct weir_interp *in = weir_calloc(1, sizeof *in);
    uint64_t shared = m->shared_bytes;
    bool ok;

    *out = NULL;
    if (!in)
        return memory_error();
    in->m = m;
    in->out = stdout;
    in->vars = weir_calloc(m->var_count + 1, sizeof *in->vars);
    in->owned = weir_calloc(m->var_count + 1, sizeof *in->owned);
    in->codes = weir_calloc(m->function_count + 1, sizeof *in->codes);
    ok = in->vars && in->owned && in->codes && make_vars(in, var_addresses);
    for (size_t i = 0; ok && i < m->function_count; i++) {
        ok = make_code(m->functions[i], &in->codes[i]);
        shared = WEIR_ALIGN_UP(shared, (uint64_t)128);
        in->codes[i].shared_base = shared;
        shared += m->functions[i]->shared_bytes;
    }
    if (ok) {
        *out = in;
        return WEIR_OK;
    }
    weir_interp_destroy(in);
    return memory_error();
}

void weir_interp_destroy(struct weir_interp *in)
{
    if (!in)
        return;
    for (size_t i = 0; in->vars && in->owned && i < in->m->var_count; i++) {
        if (in->owned[i])
            weir_free(in->vars[i]);
    }
    for (size_t i = 0; in->codes && i < in->m->function_count; i++)
        weir_free(in->codes[i].slot);
    weir_free(in->vars);
    weir_free(in->owned);
    weir_free(in->codes);
    weir_vec_finish(&in->allowed);
    weir_free(in);
}

void *weir_interp_var(struct weir_interp *in, const char *name, size_t *bytes)
{
    const struct weir_ptx_var *v = weir_ptx_find_var(in->m, name);

    if (!v)
        return NULL;
    if (bytes)
        *bytes = v->bytes;
    return in->vars[v->index];
}

enum weir_err weir_interp_allow(struct weir_interp *in, const void *base, size_t bytes)
{
    struct range r = {(uint64_t)(uintptr_t)base, bytes};

    return weir_vec_push(&in->allowed, r) ? WEIR_OK : memory_error();
}

void weir_interp_output(struct weir_interp *in, FILE *out)
{
    in->out = out;
}

/* ---- registers and operands ---- */

static struct bits *reg_slot(struct thread *t, int32_t reg, unsigned element)
{
    return &t->top->regs[t->top->code->slot[reg] + element];
}

static enum weir_ptx_type reg_type(const struct thread *t, int32_t reg)
{
    return t->top->fn->regs[reg].type;
}

static struct bits cut(struct bits v, enum weir_ptx_type type)
{
    unsigned w = weir_ptx_type_bits(type);

    if (w < 128)
        v.hi = 0;
    v.lo = interp_mask_bits(v.lo, w);
    return v;
}

static uint64_t special_register(struct thread *t, const struct weir_ptx_operand *o)
{
    const struct run *r = t->block->run;
    const struct weir_interp_launch *l = r->launch;
    uint64_t lane = t->lane, one = 1;
    unsigned e = o->element;

    switch (o->sreg) {
    case WEIR_PTX_SREG_tid:
        return e < 3 ? t->tid[e] : 0;
    case WEIR_PTX_SREG_ntid:
        return e < 3 ? l->block[e] : 0;
    case WEIR_PTX_SREG_clusterid:
    case WEIR_PTX_SREG_ctaid:
        return e < 3 ? t->block->ctaid[e] : 0;
    case WEIR_PTX_SREG_nclusterid:
    case WEIR_PTX_SREG_nctaid:
        return e < 3 ? l->grid[e] : 0;
    case WEIR_PTX_SREG_cluster_nctaid:
        return e < 3;
    case WEIR_PTX_SREG_cluster_nctarank:
    case WEIR_PTX_SREG_nsmid:
        return 1;
    case WEIR_PTX_SREG_laneid:
        return lane;
    case WEIR_PTX_SREG_warpid:
        return t->linear / 32;
    case WEIR_PTX_SREG_nwarpid:
        return (t->block->threads + 31) / 32;
    case WEIR_PTX_SREG_gridid:
        return 1;
    case WEIR_PTX_SREG_clock:
        return r->steps & 0xffffffff;
    case WEIR_PTX_SREG_globaltimer_lo:
        return r->steps & 0xffffffff;
    case WEIR_PTX_SREG_clock_hi:
    case WEIR_PTX_SREG_globaltimer_hi:
        return r->steps >> 32;
    case WEIR_PTX_SREG_clock64:
    case WEIR_PTX_SREG_globaltimer:
        return r->steps;
    case WEIR_PTX_SREG_lanemask_eq:
        return one << lane;
    case WEIR_PTX_SREG_lanemask_lt:
        return (one << lane) - 1;
    case WEIR_PTX_SREG_lanemask_le:
        return (one << lane) * 2 - 1;
    case WEIR_PTX_SREG_lanemask_gt:
        return interp_mask_bits(~((one << lane) * 2 - 1), 32);
    case WEIR_PTX_SREG_lanemask_ge:
        return interp_mask_bits(~((one << lane) - 1), 32);
    case WEIR_PTX_SREG_dynamic_smem_size:
        return l->dynamic_shared_bytes;
    case WEIR_PTX_SREG_total_smem_size:
        return r->shared_bytes;
    default:
        return 0; /* smid, ranks in a cluster of one block, counters */
    }
}

struct bits interp_read_operand(struct thread *t, const struct weir_ptx_operand *o,
                                enum weir_ptx_type type)
{
    struct bits v = {0, 0};

    switch (o->kind) {
    case WEIR_PTX_OPERAND_REG:
        v = *reg_slot(t, o->reg, o->count ? o->element : 0);
        if (o->negated)
            v.lo ^= 1;
        break;
    case WEIR_PTX_OPERAND_INT:
        v.lo = (uint64_t)o->imm;
        v.hi = o->imm < 0 ? UINT64_MAX : 0;
        break;
    case WEIR_PTX_OPERAND_F32:
    case WEIR_PTX_OPERAND_F64:
        v.lo = (uint64_t)o->imm;
        break;
    case WEIR_PTX_OPERAND_SREG:
        v.lo = special_register(t, o);
        break;
    case WEIR_PTX_OPERAND_VAR:
        v.lo = address_of_var(t, o->var) + (uint64_t)o->imm;
        break;
    case WEIR_PTX_OPERAND_FUNCTION:
        v.lo = (uint64_t)(uintptr_t)o->function;
        break;
    default:
        interp_fail(t, WEIR_ERR_NOT_SUPPORTED, "an operand that the interpreter cannot read");
        break;
    }
    return cut(v, type);
}

bool interp_read_predicate(struct thread *t, const struct weir_ptx_operand *o)
{
    if (o->kind == WEIR_PTX_OPERAND_INT)
        return o->imm != 0;
    return interp_read_operand(t, o, WEIR_PTX_PRED).lo != 0;
}

void interp_write_predicate(struct thread *t, int32_t reg, bool v)
{
    *reg_slot(t, reg, 0) = (struct bits){v, 0};
}

void interp_write_operand(struct thread *t, const struct weir_ptx_operand *o, struct bits v,
                          enum weir_ptx_type type)
{
    unsigned w = weir_ptx_type_bits(type), rw;

    if (o->kind == WEIR_PTX_OPERAND_SINK)
        return;
    if (o->kind != WEIR_PTX_OPERAND_REG) {
        interp_fail(t, WEIR_ERR_NOT_SUPPORTED, "a destination that is no register");
        return;
    }
    rw = weir_ptx_type_bits(reg_type(t, o->reg));
    v = cut(v, type);
    if (rw > w && w <= 64 && weir_ptx_type_is_signed(type) && !weir_ptx_type_is_float(type)) {
        v.lo = (uint64_t)interp_sign_extend(v.lo, w);
        v.hi = v.lo >> 63 ? UINT64_MAX : 0;
    }
    *reg_slot(t, o->reg, o->count ? o->element : 0) = cut(v, reg_type(t, o->reg));
}

/* ---- memory ---- */

static bool inside(uint64_t a, unsigned bytes, const void *base, uint64_t size)
{
    uint64_t b = (uint64_t)(uintptr_t)base;

    return base && a >= b && a - b <= size && bytes <= size - (a - b);
}

static bool is_allowed(struct thread *t, uint64_t a, unsigned bytes)
{
    struct run *r = t->block->run;
    struct weir_interp *in = r->in;

    if (a < 4096)
        return false;
    if (in->allowed.count == 0)
        return true;
    for (size_t i = 0; i < in->allowed.count; i++) {
        if (inside(a, bytes, (void *)(uintptr_t)in->allowed.items[i].base,
                   in->allowed.items[i].bytes))
            return true;
    }
    for (size_t i = 0; i < in->m->var_count; i++) {
        if (inside(a, bytes, in->vars[i], in->m->vars[i]->bytes))
            return true;
    }
    if (inside(a, bytes, t->block->shared, r->shared_bytes) ||
        inside(a, bytes, t->local, r->local_bytes))
        return true;
    for (const struct frame *f = t->top; f; f = f->caller) {
        if (inside(a, bytes, f->in, f->fn->param_bytes) ||
            inside(a, bytes, f->out, f->code->ret_bytes) ||
            inside(a, bytes, f->body, f->fn->call_param_bytes))
            return true;
    }
    return false;
}

bool interp_is_shared_address(const struct thread *t, uint64_t a)
{
    return inside(a, 1, t->block->shared, t->block->run->shared_bytes);
}

/* Address as the space counts it, to a host address; false when it lies outside of the space. */
static bool to_host(struct thread *t, unsigned space, uint64_t a, unsigned bytes, uint64_t *host)
{
    struct run *r = t->block->run;

    if (space == WEIR_PTX_SHARED || space == WEIR_PTX_SHARED_CLUSTER) {
        *host = (uint64_t)(uintptr_t)t->block->shared + a;
        return a <= r->shared_bytes && bytes <= r->shared_bytes - a;
    }
    if (space == WEIR_PTX_LOCAL) {
        *host = (uint64_t)(uintptr_t)t->local + a;
        return a <= r->local_bytes && bytes <= r->local_bytes - a;
    }
    *host = a;
    return is_allowed(t, a, bytes);
}

void *interp_resolve_address(struct thread *t, const struct weir_ptx_inst *i,
                             const struct weir_ptx_operand *o, unsigned bytes)
{
    unsigned space = i->space;
    uint64_t a, host;

    if (o->reg >= 0) {
        a = reg_slot(t, o->reg, 0)->lo;
    } else if (o->var) {
        a = address_of_var(t, o->var);
        space = o->var->space;
    } else {
        a = 0;
    }
    a += (uint64_t)o->imm;
    if (!to_host(t, space, a, bytes, &host)) {
        interp_fail(t, WEIR_ERR_ILLEGAL_ADDRESS, "%u bytes at 0x%llx", bytes,
                    (unsigned long long)a);
        return NULL;
    }
    if (bytes && host % bytes != 0) {
        interp_fail(t, WEIR_ERR_MISALIGNED_ADDRESS, "%u bytes at 0x%llx", bytes,
                    (unsigned long long)a);
        return NULL;
    }
    return (void *)(uintptr_t)host;
}

static bool run_load(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    const struct weir_ptx_operand *d = &i->operands[0];
    unsigned each = weir_ptx_type_bits(type) / 8, n = i->vec ? i->vec : 1;
    const char *p = interp_resolve_address(t, i, &i->operands[1], each * n);

    if (!p)
        return false;
    for (unsigned k = 0; k < n; k++) {
        struct weir_ptx_operand part = *d;
        struct bits v = {0, 0};

        memcpy(&v, p + k * each, each);
        if (d->kind == WEIR_PTX_OPERAND_VECTOR) {
            interp_write_operand(t, &d->elements[k], v, type);
        } else {
            if (n > 1) {
                part.count = 1;
                part.element = (uint8_t)k;
            }
            interp_write_operand(t, &part, v, type);
        }
    }
    return true;
}

static bool run_store(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    const struct weir_ptx_operand *s = &i->operands[1];
    unsigned each = weir_ptx_type_bits(type) / 8, n = i->vec ? i->vec : 1;
    char *p = interp_resolve_address(t, i, &i->operands[0], each * n);

    if (!p)
        return false;
    for (unsigned k = 0; k < n; k++) {
        struct weir_ptx_operand part = *s;
        struct bits v;

        if (s->kind == WEIR_PTX_OPERAND_VECTOR)
            part = s->elements[k];
        else if (n > 1)
            part.count = 1, part.element = (uint8_t)k;
        v = interp_read_operand(t, &part, type);
        memcpy(p + k * each, &v, each);
    }
    return true;
}

static const struct weir_ptx_operand *part_of(const struct weir_ptx_operand *o, unsigned k)
{
    return o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[k] : o;
}

static bool run_atomic(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    unsigned red = i->opcode == WEIR_PTX_OP_red, bytes = weir_ptx_type_bits(type) / 8;
    unsigned parts = i->vec ? i->vec : 1;
    const struct weir_ptx_operand *o = i->operands + !red;
    bool cas = i->sub == WEIR_PTX_SUB_CAS;
    uint64_t old[8] = {0};
    char *p;

    if (bytes > 8 || parts > 8 || o[0].kind != WEIR_PTX_OPERAND_ADDRESS)
        return interp_unsupported(t, i);
    p = interp_resolve_address(t, i, &o[0], bytes * parts);
    if (!p)
        return false;
    for (unsigned k = 0; k < parts; k++) {
        uint64_t b = interp_read_operand(t, part_of(&o[1], k), type).lo, out = 0;
        uint64_t c = cas ? interp_read_operand(t, &o[2], type).lo : 0;

        memcpy(&old[k], p + k * bytes, bytes);
        if (!interp_alu_atomic(i, old[k], b, c,
                               !interp_is_shared_address(t, (uint64_t)(uintptr_t)p), &out))
            return interp_unsupported(t, i);
        memcpy(p + k * bytes, &out, bytes);
    }
    for (unsigned k = 0; k < parts && !red; k++)
        interp_write_operand(t, part_of(&i->operands[0], k), (struct bits){old[k], 0}, type);
    return true;
}

/* cvta: between a space's addresses and host pointers */
static bool run_cvta(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    uint64_t a = interp_read_operand(t, &i->operands[1], type).lo, base = 0;

    if (i->space == WEIR_PTX_SHARED || i->space == WEIR_PTX_SHARED_CLUSTER)
        base = (uint64_t)(uintptr_t)t->block->shared;
    else if (i->space == WEIR_PTX_LOCAL)
        base = (uint64_t)(uintptr_t)t->local;
    a = i->sub == WEIR_PTX_SUB_TO ? a - base : a + base;
    interp_write_operand(t, &i->operands[0], (struct bits){a, 0}, type);
    return true;
}

static bool in_const(const struct weir_interp *in, uint64_t a)
{
    for (size_t i = 0; i < in->m->var_count; i++) {
        if (in->m->vars[i]->space == WEIR_PTX_CONST &&
            inside(a, 1, in->vars[i], in->m->vars[i]->bytes))
            return true;
    }
    return false;
}

static bool run_isspacep(struct thread *t, const struct weir_ptx_inst *i)
{
    struct run *r = t->block->run;
    uint64_t a = interp_read_operand(t, &i->operands[1], WEIR_PTX_U64).lo;
    bool shared = interp_is_shared_address(t, a), local = inside(a, 1, t->local, r->local_bytes),
         c = in_const(r->in, a), is;
    bool param = inside(a, 1, r->launch->params, r->kernel->param_bytes);

    switch (i->space) {
    case WEIR_PTX_SHARED:
    case WEIR_PTX_SHARED_CLUSTER:
        is = shared;
        break;
    case WEIR_PTX_LOCAL:
        is = local;
        break;
    case WEIR_PTX_CONST:
        is = c;
        break;
    case WEIR_PTX_PARAM:
        is = param;
        break;
    default:
        is = !shared && !local && !c && !param;
        break;
    }
    interp_write_predicate(t, i->operands[0].reg, is);
    return true;
}

/* cp.async: copies at once, waiting for it is nothing */
static bool run_cp(struct thread *t, const struct weir_ptx_inst *i)
{
    struct weir_ptx_inst from = *i, to = *i;
    uint64_t n, filled;
    char *d, *s;

    if (strncmp(i->suffix, ".async.commit_group", 19) == 0 ||
        strncmp(i->suffix, ".async.wait_", 12) == 0)
        return true;
    if (strncmp(i->suffix, ".async.mbarrier.arrive", 22) == 0)
        return interp_mbarrier_copies(t, i);
    if (strncmp(i->suffix, ".async.ca.shared", 16) != 0 &&
        strncmp(i->suffix, ".async.cg.shared", 16) != 0)
        return interp_unsupported(t, i);
    if (i->operand_count < 3 || i->operand_count > 4 || i->cache_hint)
        return interp_unsupported(t, i);
    n = interp_read_operand(t, &i->operands[2], WEIR_PTX_U32).lo;
    filled = i->operand_count == 4
                 ? WEIR_MIN(interp_read_operand(t, &i->operands[3], WEIR_PTX_U32).lo, n)
                 : n;
    to.space = WEIR_PTX_SHARED;
    from.space = WEIR_PTX_GLOBAL;
    d = interp_resolve_address(t, &to, &i->operands[0], (unsigned)n);
    s = d ? interp_resolve_address(t, &from, &i->operands[1], (unsigned)n) : NULL;
    if (!s)
        return false;
    memcpy(d, s, filled);
    memset(d + filled, 0, n - filled);
    return true;
}

/* alloca, stacksave, stackrestore: addresses of the local space */
static bool run_stack(struct thread *t, const struct weir_ptx_inst *i)
{
    struct frame *f = t->top;
    uint64_t base = f->local_base + f->fn->local_bytes, at = base + f->stack, align = 16;

    if (i->opcode == WEIR_PTX_OP_stackrestore) {
        f->stack = interp_read_operand(t, &i->operands[0], WEIR_PTX_U64).lo - base;
        return true;
    }
    if (i->opcode == WEIR_PTX_OP_alloca) {
        if (i->operand_count > 2)
            align = WEIR_MAX(align, (uint64_t)i->operands[2].imm);
        at = WEIR_ALIGN_UP(at, align);
        f->stack = at + interp_read_operand(t, &i->operands[1], WEIR_PTX_U64).lo - base;
        if (base + f->stack > t->block->run->local_bytes)
            return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "local memory is used up");
    }
    interp_write_operand(t, &i->operands[0], (struct bits){at, 0}, WEIR_PTX_U64);
    return true;
}

/* ---- calls ---- */

static void free_frame(struct frame *f)
{
    weir_free(f->regs);
    if (f->owns_in)
        weir_free(f->in);
    weir_free(f->out);
    weir_free(f->body);
    weir_free(f);
}

static struct frame *make_frame(struct thread *t, const struct weir_ptx_function *fn)
{
    struct run *r = t->block->run;
    struct frame *f = weir_calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->fn = fn;
    f->code = &r->in->codes[fn->index];
    f->regs = weir_calloc(f->code->slots + 1, sizeof *f->regs);
    f->out = weir_calloc(1, f->code->ret_bytes + 16);
    f->body = weir_calloc(1, fn->call_param_bytes + 16);
    f->local_base = WEIR_ALIGN_UP(t->local_used, (uint64_t)128);
    if (!f->regs || !f->out || !f->body) {
        free_frame(f);
        return NULL;
    }
    return f;
}

/* Bytes of one argument as the caller gives it. */
static struct bits call_value(struct thread *t, const struct weir_ptx_operand *o,
                              enum weir_ptx_type type)
{
    struct bits v = {0, 0};

    if (o->kind == WEIR_PTX_OPERAND_VAR) {
        memcpy(&v, (void *)(uintptr_t)address_of_var(t, o->var),
               WEIR_MIN(o->var->bytes, (uint64_t)sizeof v));
        return v;
    }
    return interp_read_operand(t, o, type);
}

static void pass_argument(struct thread *t, struct frame *callee, const struct weir_ptx_var *v,
                          const struct weir_ptx_operand *o)
{
    struct bits value;

    if (v->space == WEIR_PTX_PARAM && o->kind == WEIR_PTX_OPERAND_VAR) {
        memcpy(callee->in + v->offset, (void *)(uintptr_t)address_of_var(t, o->var),
               WEIR_MIN(v->bytes, o->var->bytes));
        return;
    }
    value = call_value(t, o, v->type);
    if (v->space == WEIR_PTX_REG)
        callee->regs[callee->code->slot[v->reg_index]] = cut(value, v->type);
    else
        memcpy(callee->in + v->offset, &value, WEIR_MIN(v->bytes, (uint64_t)sizeof value));
}

static bool enter(struct thread *t, const struct weir_ptx_inst *i,
                  const struct weir_ptx_function *fn)
{
    struct run *r = t->block->run;
    struct frame *f;

    if (t->depth >= MAX_DEPTH)
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "calls nested too deep");
    t->local_used = t->top->local_base + t->top->fn->local_bytes + t->top->stack;
    f = make_frame(t, fn);
    if (f) {
        f->in = weir_calloc(1, fn->param_bytes + 16);
        f->owns_in = true;
    }
    if (!f || !f->in) {
        if (f)
            free_frame(f);
        return interp_fail(t, WEIR_ERR_MEMORY_ALLOCATION, "out of memory");
    }
    if (f->local_base + fn->local_bytes > r->local_bytes) {
        free_frame(f);
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "local memory is used up");
    }
    for (size_t n = 0; n < fn->param_count && n < i->call->arg_count; n++)
        pass_argument(t, f, fn->params[n], &i->call->args[n]);
    f->caller = t->top;
    f->call = i->call;
    t->top = f;
    t->depth++;
    return true;
}

/* Results to where the call wants them; the caller's frame is on top again. */
static void leave(struct thread *t)
{
    struct frame *f = t->top;
    const struct weir_ptx_function *fn = f->fn;

    t->top = f->caller;
    t->depth--;
    for (size_t n = 0; n < fn->ret_count && n < f->call->ret_count; n++) {
        const struct weir_ptx_var *v = fn->rets[n];
        const struct weir_ptx_operand *o = &f->call->rets[n];
        struct bits value = {0, 0};

        if (v->space == WEIR_PTX_REG)
            value = f->regs[f->code->slot[v->reg_index]];
        else
            memcpy(&value, f->out + v->offset, WEIR_MIN(v->bytes, (uint64_t)sizeof value));
        if (o->kind != WEIR_PTX_OPERAND_VAR)
            interp_write_operand(t, o, value, v->type);
        else if (v->space == WEIR_PTX_PARAM)
            memcpy((void *)(uintptr_t)address_of_var(t, o->var), f->out + v->offset,
                   WEIR_MIN(v->bytes, o->var->bytes));
        else
            memcpy((void *)(uintptr_t)address_of_var(t, o->var), &value,
                   WEIR_MIN(o->var->bytes, (uint64_t)sizeof value));
    }
    free_frame(f);
    t->top->pc++;
}

static void end_thread(struct thread *t)
{
    while (t->top) {
        struct frame *f = t->top;

        t->top = f->caller;
        free_frame(f);
    }
    t->state = EXITED;
    t->block->live--;
}

/* ---- what the runtime gives to device code ---- */

static void print_one(FILE *out, const char *spec, const char **args)
{
    size_t n = strlen(spec);
    char conversion = spec[n - 1];
    bool wide = strchr(spec, 'l') || strchr(spec, 'j') || strchr(spec, 'z') || strchr(spec, 't');
    uint64_t v = 0;
    uint32_t w = 0;
    double d;

    if (wide || strchr("fFeEgGaAsp", conversion)) {
        *args = (const char *)(((uintptr_t)*args + 7) & ~(uintptr_t)7);
        memcpy(&v, *args, 8);
        *args += 8;
    } else {
        memcpy(&w, *args, 4);
        *args += 4;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    if (strchr("fFeEgGaA", conversion)) {
        memcpy(&d, &v, sizeof d);
        fprintf(out, spec, d);
    } else if (conversion == 's') {
        fprintf(out, spec, v ? (const char *)(uintptr_t)v : "(null)");
    } else if (conversion == 'p') {
        fprintf(out, spec, (void *)(uintptr_t)v);
    } else if (wide) {
        fprintf(out, spec, (unsigned long)v);
    } else {
        fprintf(out, spec, w);
    }
#pragma GCC diagnostic pop
}

/* Device printf: the arguments lie one after another, naturally aligned. */
static int print_format(FILE *out, const char *format, const char *args)
{
    int count = 0;

    while (*format) {
        char spec[64];
        size_t n;

        if (*format != '%' || format[1] == '%') {
            format += *format == '%';
            fputc(*format++, out);
            continue;
        }
        n = 1 + strspn(format + 1, "-+ #0123456789.hljztL");
        if (!format[n] || n + 2 > sizeof spec)
            break;
        memcpy(spec, format, n + 1);
        spec[n + 1] = 0;
        format += n + 1;
        print_one(out, spec, &args);
        count++;
    }
    return count;
}

static uint64_t argument(struct thread *t, const struct weir_ptx_call *c, unsigned n)
{
    return n < c->arg_count ? call_value(t, &c->args[n], WEIR_PTX_U64).lo : 0;
}

static void give_result(struct thread *t, const struct weir_ptx_call *c, uint64_t v, unsigned bytes)
{
    if (c->ret_count == 0)
        return;
    if (c->rets[0].kind == WEIR_PTX_OPERAND_VAR)
        memcpy((void *)(uintptr_t)address_of_var(t, c->rets[0].var), &v, bytes);
    else
        interp_write_operand(t, &c->rets[0], (struct bits){v, 0},
                             bytes == 8 ? WEIR_PTX_B64 : WEIR_PTX_B32);
}

static bool call_service(struct thread *t, const struct weir_ptx_inst *i, const char *name)
{
    const struct weir_ptx_call *c = i->call;
    struct run *r = t->block->run;

    if (strcmp(name, "vprintf") == 0) {
        const char *format = (const char *)(uintptr_t)argument(t, c, 0);
        int n = format
                    ? print_format(r->in->out, format, (const char *)(uintptr_t)argument(t, c, 1))
                    : -1;

        give_result(t, c, (uint32_t)n, 4);
    } else if (strcmp(name, "malloc") == 0) {
        give_result(t, c, (uint64_t)(uintptr_t)weir_alloc(argument(t, c, 0)), 8);
    } else if (strcmp(name, "free") == 0) {
        weir_free((void *)(uintptr_t)argument(t, c, 0));
    } else if (strcmp(name, "__assertfail") == 0) {
        return interp_fail(t, WEIR_ERR_ASSERT, "assertion '%.80s' failed",
                           (const char *)(uintptr_t)argument(t, c, 0));
    } else {
        return interp_fail(t, WEIR_ERR_NOT_SUPPORTED, "'%.80s' is only declared", name);
    }
    t->top->pc++;
    return true;
}

static const struct weir_ptx_function *function_at(const struct weir_interp *in, uint64_t a)
{
    for (size_t i = 0; i < in->m->function_count; i++) {
        if ((uint64_t)(uintptr_t)in->m->functions[i] == a)
            return in->m->functions[i];
    }
    return NULL;
}

static bool run_call(struct thread *t, const struct weir_ptx_inst *i)
{
    const struct weir_ptx_function *fn = i->call->callee;

    if (!fn)
        fn = function_at(t->block->run->in,
                         interp_read_operand(t, &i->call->target, WEIR_PTX_U64).lo);
    if (!fn)
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "the target is no function");
    if (fn->is_extern)
        return call_service(t, i, fn->name);
    return enter(t, i, fn);
}

/* ---- one instruction ---- */

static bool next(struct thread *t, bool ok)
{
    if (ok && t->block->run->err == WEIR_OK)
        t->top->pc++;
    return ok;
}

static bool run_brx(struct thread *t, const struct weir_ptx_inst *i)
{
    const struct weir_ptx_table *table = i->operands[1].table;
    uint64_t n = interp_read_operand(t, &i->operands[0], WEIR_PTX_U32).lo;

    if (n >= table->count)
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "index %llu of %zu targets",
                           (unsigned long long)n, table->count);
    t->top->pc = table->labels[n]->inst;
    return true;
}

static bool is_warp_instruction(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_activemask:
        return true;
    default:
        return i->opcode == WEIR_PTX_OP_bar && i->sub == WEIR_PTX_SUB_WARP;
    }
}

static void run_return(struct thread *t)
{
    if (t->top->caller)
        leave(t);
    else
        end_thread(t);
}

/* dispatch */
static bool step(struct thread *t)
{
    const struct weir_ptx_inst *i;

    if (t->top->pc >= t->top->fn->inst_count) {
        run_return(t);
        return true;
    }
    i = interp_current_inst(t);
    if (i->guard >= 0 && (reg_slot(t, i->guard, 0)->lo != 0) == i->guard_negated) {
        t->top->pc++;
        return true;
    }
    if (i->opcode == WEIR_PTX_OP_cp)
        return next(t, run_cp(t, i));
    if (i->opcode == WEIR_PTX_OP_mbarrier)
        return next(t, interp_mbarrier(t, i));
    if (i->opcode == WEIR_PTX_OP_fence || i->opcode == WEIR_PTX_OP_prefetch ||
        i->opcode == WEIR_PTX_OP_prefetchu || i->opcode == WEIR_PTX_OP_applypriority ||
        i->opcode == WEIR_PTX_OP_discard)
        return next(t, true);
    if (i->sub == WEIR_PTX_SUB_OTHER)
        return interp_unsupported(t, i);
    if (is_warp_instruction(i))
        return interp_warp_begin(t, i);
    switch (i->opcode) {
    case WEIR_PTX_OP_bra:
        t->top->pc = i->operands[0].label->inst;
        return true;
    case WEIR_PTX_OP_brx:
        return run_brx(t, i);
    case WEIR_PTX_OP_call:
        return run_call(t, i);
    case WEIR_PTX_OP_ret:
        run_return(t);
        return true;
    case WEIR_PTX_OP_exit:
        end_thread(t);
        return true;
    case WEIR_PTX_OP_trap:
    case WEIR_PTX_OP_brkpt: /* without a debugger */
        return interp_fail(t, WEIR_ERR_LAUNCH_FAILURE, "trap");
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return interp_barrier_begin(t, i);
    case WEIR_PTX_OP_membar:
    case WEIR_PTX_OP_nanosleep:
    case WEIR_PTX_OP_pmevent:
        return next(t, true);
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_ldu:
        return next(t, run_load(t, i));
    case WEIR_PTX_OP_st:
        return next(t, run_store(t, i));
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
        return next(t, run_atomic(t, i));
    case WEIR_PTX_OP_alloca:
    case WEIR_PTX_OP_stacksave:
    case WEIR_PTX_OP_stackrestore:
        return next(t, run_stack(t, i));
    case WEIR_PTX_OP_cvta:
        return next(t, run_cvta(t, i));
    case WEIR_PTX_OP_isspacep:
        return next(t, run_isspacep(t, i));
    default:
        return next(t, interp_alu(t, i));
    }
}

/* ---- blocks and the grid ---- */

static uint64_t random_next(struct run *r)
{
    r->rng ^= r->rng << 13;
    r->rng ^= r->rng >> 7;
    r->rng ^= r->rng << 17;
    return r->rng;
}

static void block_finish(struct block *b)
{
    for (uint32_t n = 0; b->thread && n < b->threads; n++) {
        if (b->thread[n].top)
            end_thread(&b->thread[n]);
        weir_free(b->thread[n].local);
    }
    weir_free(b->thread);
    weir_free(b->shared);
    memset(b, 0, sizeof *b);
}

static bool block_init(struct run *r, struct block *b, uint64_t index)
{
    const struct weir_interp_launch *l = r->launch;

    b->run = r;
    b->ctaid[0] = (uint32_t)(index % l->grid[0]);
    b->ctaid[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
    b->ctaid[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
    b->threads = b->live = l->block[0] * l->block[1] * l->block[2];
    b->thread = weir_calloc(b->threads, sizeof *b->thread);
    b->shared = weir_alloc_aligned(1024, WEIR_ALIGN_UP(r->shared_bytes + 1, (uint64_t)1024));
    if (!b->thread || !b->shared)
        return false;
    memset(b->shared, 0xcd, r->shared_bytes); /* undefined at the start */
    for (uint32_t n = 0; n < b->threads; n++) {
        struct thread *t = &b->thread[n];

        t->block = b;
        t->linear = n;
        t->lane = n & 31;
        t->tid[0] = n % l->block[0];
        t->tid[1] = n / l->block[0] % l->block[1];
        t->tid[2] = n / l->block[0] / l->block[1];
        t->local = weir_calloc(1, r->local_bytes);
        t->top = t->local ? make_frame(t, r->kernel) : NULL;
        if (!t->top)
            return false;
        t->top->in = (char *)(uintptr_t)l->params;
    }
    return true;
}

/* One turn for every thread; true when any instruction ran. */
static bool block_turn(struct block *b)
{
    struct run *r = b->run;
    uint32_t first = r->rng ? (uint32_t)(random_next(r) % b->threads) : 0;
    bool any = false;

    for (uint32_t k = 0; k < b->threads && r->err == WEIR_OK; k++) {
        struct thread *t = &b->thread[(first + k) % b->threads];
        uint64_t turn = r->rng ? random_next(r) % 64 + 1 : TURN;

        for (; turn && t->state == RUNNING && r->err == WEIR_OK; turn--) {
            any = true;
            r->steps++;
            step(t);
        }
    }
    return any;
}

static void deadlock(struct block *b)
{
    for (uint32_t n = 0; n < b->threads; n++) {
        if (b->thread[n].state != EXITED) {
            interp_fail(&b->thread[n], WEIR_ERR_LAUNCH_FAILURE,
                        "deadlock: waits for threads that never come");
            return;
        }
    }
}

/* Runs `count` blocks at the same time, each replaced by the next of the grid when it ends. */
static void run_blocks(struct run *r, struct block *blocks, uint32_t count, uint64_t total)
{
    const struct weir_interp_launch *l = r->launch;
    uint64_t next_block = 0, done = 0, limit = l->max_steps ? l->max_steps : 1000000000;

    for (uint32_t n = 0; n < count && r->err == WEIR_OK; n++) {
        if (!block_init(r, &blocks[n], next_block++))
            r->err = memory_error();
    }
    while (done < total && r->err == WEIR_OK) {
        for (uint32_t n = 0; n < count && r->err == WEIR_OK; n++) {
            struct block *b = &blocks[n];
            bool any;

            if (!b->thread)
                continue;
            any = block_turn(b);
            if (r->err == WEIR_OK && b->live && !interp_release_waiting(b, !any) && !any)
                deadlock(b);
            if (r->err != WEIR_OK || b->live)
                continue;
            block_finish(b);
            done++;
            if (next_block < total && !block_init(r, b, next_block++))
                r->err = memory_error();
        }
        if (r->err == WEIR_OK && r->steps > limit)
            r->err = WEIR_FAIL(WEIR_ERR_LAUNCH_TIMEOUT, "more than %llu instructions",
                               (unsigned long long)limit);
    }
    for (uint32_t n = 0; n < count; n++)
        block_finish(&blocks[n]);
}

static void lay_out(struct run *r)
{
    const struct weir_ptx_module *m = r->in->m;

    r->static_shared = m->shared_bytes;
    r->local_bytes = LOCAL_RESERVE;
    for (size_t i = 0; i < m->function_count; i++) {
        uint64_t end = r->in->codes[i].shared_base + m->functions[i]->shared_bytes;

        if (m->functions[i]->shared_bytes)
            r->static_shared = WEIR_MAX(r->static_shared, end);
        r->local_bytes += LOCAL_COPIES * WEIR_ALIGN_UP(m->functions[i]->local_bytes, 128u);
    }
    r->static_shared = WEIR_ALIGN_UP(r->static_shared, (uint64_t)128);
    r->shared_bytes = r->static_shared + r->launch->dynamic_shared_bytes;
}

enum weir_err weir_interp_launch(struct weir_interp *in, const struct weir_ptx_function *kernel,
                                 const struct weir_interp_launch *l)
{
    struct run r = {.in = in, .kernel = kernel, .launch = l, .rng = l->seed};
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], threads = 1;
    uint32_t count = l->resident;
    struct block *blocks;

    for (int d = 0; d < 3; d++)
        threads *= l->block[d] <= 1024 ? l->block[d] : 2048;
    if (total == 0 || threads == 0 || threads > 1024 || kernel->is_extern || !kernel->is_entry)
        return WEIR_FAIL(WEIR_ERR_INVALID_CONFIGURATION, "interpreter: grid, block or kernel");
    lay_out(&r);
    if (count == 0)
        count = (uint32_t)WEIR_MAX(RESIDENT_LIMIT / threads, 1u);
    count = (uint32_t)WEIR_MIN(count, total);
    blocks = weir_calloc(count, sizeof *blocks);
    if (!blocks)
        return memory_error();
    run_blocks(&r, blocks, count, total);
    weir_free(blocks);
    return r.err;
}

enum weir_err weir_interp_run(const struct weir_ptx_function *kernel, const uint32_t grid[3],
                              const uint32_t block[3], const void *params,
                              uint32_t dynamic_shared_bytes, void *const *var_addresses)
{
    struct weir_interp_launch l = {.params = params, .dynamic_shared_bytes = dynamic_shared_bytes};
    struct weir_interp *in;
    enum weir_err err;

    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    err = weir_interp_create(kernel->module, var_addresses, &in);
    if (err != WEIR_OK)
        return err;
    err = weir_interp_launch(in, kernel, &l);
    weir_interp_destroy(in);
    return err;
}
