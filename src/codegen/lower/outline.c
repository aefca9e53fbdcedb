/* Loads and stores as calls, in the quick tier. Made in place, one that cannot be proved good is 40
 * to 110 LLVM instructions (the check, the form that is fast when the guess of its addresses was
 * right, the others, the slow path's scratch), and the time until a kernel runs goes by these.
 * Here each kind of access (size, components, space, shape of the address) is a function of the
 * object, made once, and an access is a call with its addresses; guesses are tested there. What is
 * short in place stays there: one address for all lanes, and contiguous ones in shared memory that
 * need no check.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/lower/access.h"

#define MAX_ARGS (2 * LOW_MAX_GROUPS + LOW_MAX_COMPS * LOW_MAX_GROUPS)

/* What makes a function; compared as bytes. */
struct kind {
    int64_t stride; /* AFFINE, or guessed: 0 or the access's bytes */
    uint8_t store, shared, form, sign, shape, size, comps, guess, align;
};

struct low_outline {
    struct low_outline *next;
    struct kind kind;
    LLVMValueRef fn;
    LLVMTypeRef type;
};

/* ---- the functions ---- */

/* What emission takes for granted of the function that it is in. */
struct context {
    LLVMValueRef fn, block_ptr, launch_ptr, services, params, shared, shared_bytes, local,
        module_data, window_base, window_bytes, touched, untouched, state, ctaid[3], nctaid[3],
        scratch, line;
    LLVMValueRef mask[LOW_MAX_GROUPS];
    LLVMBasicBlockRef entry, at;
    bool mask_full;
};

static void context_save(const struct low *l, struct context *c)
{
    *c = (struct context){.fn = l->fn,
                          .block_ptr = l->block_ptr,
                          .launch_ptr = l->launch_ptr,
                          .services = l->services,
                          .params = l->params,
                          .shared = l->shared,
                          .shared_bytes = l->shared_bytes,
                          .local = l->local,
                          .module_data = l->module_data,
                          .window_base = l->window_base,
                          .window_bytes = l->window_bytes,
                          .touched = l->touched,
                          .untouched = l->untouched,
                          .state = l->state,
                          .scratch = l->scratch,
                          .line = l->slow_line,
                          .entry = l->entry_bb,
                          .at = LLVMGetInsertBlock(l->b),
                          .mask_full = l->mask_full};
    low_debug_leave(l);
    memcpy(c->ctaid, l->ctaid, sizeof c->ctaid);
    memcpy(c->nctaid, l->nctaid, sizeof c->nctaid);
    memcpy(c->mask, l->mask, sizeof c->mask);
}

static void context_restore(struct low *l, const struct context *c)
{
    l->fn = c->fn;
    l->block_ptr = c->block_ptr;
    l->launch_ptr = c->launch_ptr;
    l->services = c->services;
    l->params = c->params;
    l->shared = c->shared;
    l->shared_bytes = c->shared_bytes;
    l->local = c->local;
    l->module_data = c->module_data;
    l->window_base = c->window_base;
    l->window_bytes = c->window_bytes;
    l->touched = c->touched;
    l->untouched = c->untouched;
    l->state = c->state;
    l->scratch = c->scratch;
    l->slow_line = c->line;
    l->entry_bb = c->entry;
    l->mask_full = c->mask_full;
    memcpy(l->ctaid, c->ctaid, sizeof c->ctaid);
    memcpy(l->nctaid, c->nctaid, sizeof c->nctaid);
    memcpy(l->mask, c->mask, sizeof c->mask);
    LLVMPositionBuilderAtEnd(l->b, c->at);
    low_debug_return(l);
}

/* base + scale * extend(index + more) */
static LLVMValueRef formed(struct low *l, const struct kind *k, LLVMValueRef index,
                           const LLVMValueRef *part)
{
    LLVMValueRef i = LLVMBuildAdd(l->b, index, low_splat(l, part[2]), "");
    i = low_resize(l, i, 64, k->sign);
    return LLVMBuildAdd(l->b, LLVMBuildMul(l->b, i, low_splat(l, part[1]), ""),
                        low_splat(l, part[0]), "");
}

/* The address as it was handed over; for a guess also lane 0's of each group in *first, and whether
 * it holds for all active lanes. */
static LLVMValueRef take_address(struct low *l, const struct kind *k, unsigned *next,
                                 struct low_val *base, struct low_val *first)
{
    LLVMValueRef part[3], ok = NULL, zero = LLVMConstInt(l->t.i32, 0, 0);
    LLVMTypeRef it = LLVMIntTypeInContext(l->ctx, l->width);
    for (unsigned g = 0; g < l->groups; g++)
        base->v[g] = LLVMGetParam(l->fn, (*next)++);
    for (unsigned n = 0; n < 3 && k->form; n++)
        part[n] = LLVMGetParam(l->fn, (*next)++);
    for (unsigned g = 0; g < l->groups; g++) {
        LLVMValueRef v = base->v[g];
        if (k->form)
            base->v[g] = formed(l, k, v, part);
        if (!k->guess)
            continue;
        /* indices of 32 bits that run over are not where the guess has them */
        int64_t step = k->form && k->stride ? 1 : k->stride;
        LLVMValueRef v0 = LLVMBuildExtractElement(l->b, v, zero, "");
        LLVMValueRef want = LLVMBuildAdd(l->b, low_splat(l, v0),
                                         low_lanes(l, low_scalar_type(LLVMTypeOf(v)), step), "");
        LLVMValueRef same = LLVMBuildICmp(l->b, LLVMIntEQ, v, want, "");
        same = LLVMBuildOr(l->b, same, low_mask_not(l, l->mask[g]), "");
        ok = low_and_ok(l, ok,
                        LLVMBuildICmp(l->b, LLVMIntEQ, LLVMBuildBitCast(l->b, same, it, ""),
                                      LLVMConstAllOnes(it), ""));
        first->v[g] = LLVMBuildExtractElement(l->b, base->v[g], zero, "");
        if (k->form && k->stride) {
            LLVMValueRef last = LLVMBuildExtractElement(
                l->b, base->v[g], LLVMConstInt(l->t.i32, l->width - 1, 0), "");
            LLVMValueRef span = LLVMBuildSub(l->b, last, first->v[g], "");
            ok = low_and_ok(
                l, ok,
                LLVMBuildICmp(l->b, LLVMIntEQ, span,
                              LLVMConstInt(l->t.i64, (uint64_t)k->stride * (l->width - 1), 0), ""));
        }
    }
    return ok;
}

/* Makes the access and leaves the function. */
static void access_and_return(struct low *l, const struct low_access *with,
                              const struct low_val *base, LLVMTypeRef result)
{
    struct low_access x = *with;
    x.a.base = *base;
    if (LLVMGetTypeKind(result) == LLVMVoidTypeKind) {
        low_access_store(l, &x);
        LLVMBuildRetVoid(l->b);
        return;
    }
    low_access_load(l, &x);
    LLVMValueRef r = LLVMGetPoison(result);
    for (unsigned c = 0; c < x.comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            r = LLVMBuildInsertValue(l->b, r, low_vector(l, &x.v[c], g), c * l->groups + g, "");
    LLVMBuildRet(l->b, r);
}

static void build(struct low *l, const struct kind *k, LLVMTypeRef result)
{
    struct low_access x = {.i = l->inst,
                           .p = l->inst->p,
                           .elem = low_int(l, k->size * 8),
                           .size = k->size,
                           .comps = k->comps};
    struct low_val base = {.shape = k->shape, .stride = k->guess ? 0 : k->stride},
                   first = {.shape = LOW_AFFINE, .stride = k->stride};
    unsigned next = 1;
    l->entry_bb = low_bb(l, "entry");
    LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    low_control_context(l);
    l->scratch = low_alloca(l, LLVMArrayType2(l->t.i8, low_scratch_bytes(l)), "scratch");
    LLVMSetAlignment(l->scratch, 64);
    l->mask_full = false;
    low_mask_from_bits(l, LLVMGetParam(l->fn, next++), l->mask);
    l->slow_line = LLVMGetParam(l->fn, next++);
    low_note_line(l, l->block_ptr, l->slow_line);
    x.a.space = k->shared ? WEIR_PTX_SHARED : WEIR_PTX_GENERIC;
    x.a.inst = l->inst;
    x.a.align = k->align;
    LLVMValueRef ok = take_address(l, k, &next, &base, &first);
    for (unsigned c = 0; c < k->comps && k->store; c++) {
        x.v[c].shape = LOW_VARYING;
        for (unsigned g = 0; g < l->groups; g++)
            x.v[c].v[g] = LLVMGetParam(l->fn, next++);
    }
    if (ok) {
        LLVMBasicBlockRef fast = low_bb(l, "fast"), slow = low_bb(l, "slow");
        LLVMBuildCondBr(l->b, ok, fast, slow);
        LLVMPositionBuilderAtEnd(l->b, fast);
        access_and_return(l, &x, &first, result);
        LLVMPositionBuilderAtEnd(l->b, slow);
    }
    access_and_return(l, &x, &base, result);
}

static LLVMTypeRef result_type(struct low *l, const struct kind *k)
{
    LLVMTypeRef v[LOW_MAX_COMPS * LOW_MAX_GROUPS];
    unsigned n = k->comps * l->groups;
    for (unsigned e = 0; e < n; e++)
        v[e] = low_vec_type(l, low_int(l, k->size * 8));
    return k->store ? l->t.v : LLVMStructTypeInContext(l->ctx, v, n, 0);
}

static struct low_outline *function_for(struct low *l, const struct kind *k, LLVMValueRef *args,
                                        unsigned count)
{
    for (struct low_outline *o = l->outlines; o; o = o->next)
        if (memcmp(&o->kind, k, sizeof *k) == 0)
            return o;
    struct low_outline *o = low_alloc(l, sizeof *o);
    LLVMTypeRef types[MAX_ARGS], result = result_type(l, k);
    struct context saved;
    char name[64];
    for (unsigned n = 0; n < count; n++)
        types[n] = LLVMTypeOf(args[n]);
    snprintf(name, sizeof name, "weir_%s_%ux%u", k->store ? "store" : "load", k->size * 8u,
             k->comps);
    context_save(l, &saved);
    o->kind = *k;
    o->type = LLVMFunctionType(result, types, count, 0);
    o->fn = l->fn = LLVMAddFunction(l->module, name, o->type);
    LLVMSetLinkage(o->fn, LLVMInternalLinkage);
    build(l, k, result);
    context_restore(l, &saved);
    o->next = l->outlines;
    l->outlines = o;
    return o;
}

/* ---- the calls ---- */

/* Pushes the address; false when the access is short in place. */
static bool push_address(struct low *l, struct low_access *x, struct kind *k, LLVMValueRef *args,
                         unsigned *count)
{
    struct low_form f;
    struct low_val v;
    int64_t bytes = (int64_t)(x->size * x->comps), guess = x->a.base.stride;
    if (x->a.spec && low_address_form(l, &x->a, &f)) {
        v = low_read_reg(l, f.root);
        k->guess = guess == 0 || (guess == bytes && f.scale == bytes);
        k->stride = k->guess ? guess : 0;
        k->form = 1;
        k->sign = f.sign;
        k->shape = LOW_VARYING;
        for (unsigned g = 0; g < l->groups; g++)
            args[(*count)++] = low_bitcast(l, low_vector(l, &v, g), l->t.i32);
        LLVMValueRef imm = LLVMConstInt(l->t.i64, (unsigned long long)x->a.op->imm, 1);
        args[(*count)++] = f.base ? LLVMBuildAdd(l->b, f.base, imm, "") : imm;
        args[(*count)++] = LLVMConstInt(l->t.i64, (unsigned long long)f.scale, 1);
        args[(*count)++] = f.more ? f.more : LLVMConstInt(l->t.i32, 0, 0);
        return true;
    }
    if (x->a.spec) {
        struct low_address exact;
        low_access_exact(l, x, &exact);
        x->a = exact;
        k->guess = exact.base.shape == LOW_VARYING && (guess == 0 || guess == bytes);
        k->stride = k->guess ? guess : 0;
    }
    const struct low_val *b = &x->a.base;
    bool contiguous = b->shape == LOW_AFFINE && b->stride == bytes;
    if (b->shape == LOW_UNIFORM || (x->a.proven && contiguous))
        return false;
    k->shape = b->shape;
    if (b->shape == LOW_AFFINE)
        k->stride = b->stride;
    for (unsigned g = 0; g < l->groups; g++)
        args[(*count)++] = b->v[g];
    return true;
}

static void push_data(struct low *l, const struct low_access *x, LLVMValueRef *args,
                      unsigned *count)
{
    for (unsigned c = 0; c < x->comps; c++)
        for (unsigned g = 0; g < l->groups; g++)
            args[(*count)++] = low_bitcast(l, low_vector(l, &x->v[c], g), low_int(l, x->size * 8));
}

bool low_outline_access(struct low *l, struct low_access *x, bool store)
{
    LLVMValueRef args[MAX_ARGS];
    unsigned count = 3;
    struct kind k;
    if (l->request->tier != WEIR_JIT_QUICK || l->request->races || x->a.is_param ||
        x->size * x->comps > 16)
        return false;
    memset(&k, 0, sizeof k);
    k.store = store;
    k.shared = x->a.space == WEIR_PTX_SHARED;
    k.size = (uint8_t)x->size;
    k.comps = (uint8_t)x->comps;
    k.align = x->size * x->comps <= 1u << WEIR_MIN(x->a.align, 4) ? 4 : 0; /* few kinds */
    if (!push_address(l, x, &k, args, &count))
        return false;
    if (store)
        push_data(l, x, args, &count);
    args[0] = l->block_ptr;
    args[1] = l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
    args[2] = LLVMConstInt(l->t.i32, (unsigned)x->p->line, 0);
    const struct low_outline *o = function_for(l, &k, args, count);
    LLVMValueRef r = LLVMBuildCall2(l->b, o->type, o->fn, args, count, "");
    for (unsigned c = 0; c < x->comps && !store; c++) {
        x->v[c].shape = LOW_VARYING;
        for (unsigned g = 0; g < l->groups; g++)
            x->v[c].v[g] =
                low_bitcast(l, LLVMBuildExtractValue(l->b, r, c * l->groups + g, ""), x->elem);
    }
    return true;
}

/* ---- long pure instructions ---- */

struct low_pure_outline {
    struct low_pure_outline *next;
    const struct weir_ptx_inst *p; /* the first of its kind */
    uint32_t dest;
    LLVMValueRef fn;
    LLVMTypeRef type;
};

static bool is_long(const struct weir_ptx_inst *p)
{
    switch (p->opcode) {
    case WEIR_PTX_OP_sin:
    case WEIR_PTX_OP_cos:
    case WEIR_PTX_OP_ex2:
    case WEIR_PTX_OP_lg2:
    case WEIR_PTX_OP_tanh:
    case WEIR_PTX_OP_rsqrt:
    case WEIR_PTX_OP_rcp:
    case WEIR_PTX_OP_sqrt:
    case WEIR_PTX_OP_div:
    case WEIR_PTX_OP_rem:
        return true;
    default:
        return low_directed(p);
    }
}

static struct low_pure_outline *pure_for(struct low *l, const struct low_args *x,
                                         LLVMValueRef (*evaluate)(struct low *, struct low_args *))
{
    struct low_pure_outline *o;
    for (o = l->pure_outlines; o; o = o->next)
        if (o->p->opcode == x->p->opcode && o->dest == x->dest &&
            strcmp(o->p->suffix, x->p->suffix) == 0)
            return o;
    struct low_args in = *x;
    struct context saved;
    LLVMTypeRef types[6];
    o = low_alloc(l, sizeof *o);
    o->p = x->p;
    o->dest = x->dest;
    for (uint32_t n = 0; n < x->count; n++)
        types[n] = LLVMTypeOf(x->a[n]);
    /* the result's type is known when it is made: a function of the first argument's type, or that
     * is thrown away */
    context_save(l, &saved);
    o->type = LLVMFunctionType(types[0], types, x->count, 0);
    o->fn = l->fn = LLVMAddFunction(l->module, "weir_pure", o->type);
    LLVMSetLinkage(o->fn, LLVMInternalLinkage);
    l->entry_bb = low_bb(l, "entry");
    LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    for (uint32_t n = 0; n < x->count; n++)
        in.a[n] = LLVMGetParam(l->fn, n);
    LLVMValueRef r = evaluate(l, &in);
    bool fits = LLVMTypeOf(r) == types[0];
    if (fits)
        LLVMBuildRet(l->b, r);
    else
        LLVMDeleteFunction(l->fn);
    if (!fits)
        o->fn = NULL;
    context_restore(l, &saved);
    o->next = l->pure_outlines;
    l->pure_outlines = o;
    return o;
}

LLVMValueRef low_outline_pure(struct low *l, const struct low_args *x,
                              LLVMValueRef (*evaluate)(struct low *, struct low_args *))
{
    if (l->request->tier != WEIR_JIT_QUICK || !x->vector || !x->count || !x->p->suffix ||
        !is_long(x->p))
        return NULL;
    for (uint32_t n = 0; n < x->count; n++)
        if (LLVMIsConstant(x->a[n])) /* shorter in place */
            return NULL;
    const struct low_pure_outline *o = pure_for(l, x, evaluate);
    LLVMValueRef args[6];
    memcpy(args, x->a, x->count * sizeof *args);
    return o->fn ? LLVMBuildCall2(l->b, o->type, o->fn, args, x->count, "") : NULL;
}

/* ---- many values from many ---- */

/* What checks of addresses need: the block, the active lanes, the line; and where results go. */
#define CONTEXT_ARGS 3u

/* Results come back through one area of the caller's: returned as a structure, each call's would
 * have a place of its own in its frame, which is megabytes in kernels with thousands of products.
 */
#define VALUES_BYTES 4096u

static LLVMValueRef value_at(struct low *l, LLVMValueRef area, LLVMTypeRef t, unsigned n)
{
    LLVMValueRef at = LLVMConstInt(l->t.i64, n, 0);
    return LLVMBuildGEP2(l->b, t, area, &at, 1, "");
}

static void begin_values(struct low *l, bool accesses)
{
    l->entry_bb = low_bb(l, "entry");
    LLVMPositionBuilderAtEnd(l->b, l->entry_bb);
    if (!accesses)
        return;
    low_control_context(l);
    l->scratch = low_alloca(l, LLVMArrayType2(l->t.i8, low_scratch_bytes(l)), "scratch");
    LLVMSetAlignment(l->scratch, 64);
    l->mask_full = false;
    low_mask_from_bits(l, LLVMGetParam(l->fn, 1), l->mask);
    l->slow_line = LLVMGetParam(l->fn, 2);
    low_note_line(l, l->block_ptr, l->slow_line);
}

static struct low_pure_outline *values_for(struct low *l, const struct low_values *v,
                                           LLVMTypeRef *types, unsigned count)
{
    struct low_pure_outline *o;
    struct context saved;
    const struct weir_ptx_inst *p = v->i->p;
    unsigned first = v->accesses ? CONTEXT_ARGS : 0;
    for (o = l->pure_outlines; o; o = o->next)
        if (o->p->opcode == p->opcode && o->dest == v->kind && strcmp(o->p->suffix, p->suffix) == 0)
            return o;
    LLVMValueRef *in = low_alloc(l, (count + 1) * sizeof(LLVMValueRef));
    o = low_alloc(l, sizeof *o);
    o->p = p;
    o->dest = v->kind;
    context_save(l, &saved);
    o->type = LLVMFunctionType(l->t.v, types, count, 0);
    o->fn = l->fn = LLVMAddFunction(l->module, "weir_values", o->type);
    LLVMSetLinkage(o->fn, LLVMInternalLinkage);
    begin_values(l, v->accesses);
    for (unsigned n = first; n + 1 < count; n++)
        in[n - first] = LLVMGetParam(l->fn, n);
    v->build(l, v, in, v->out);
    for (unsigned n = 0; n < v->results; n++)
        LLVMBuildStore(l->b, v->out[n], value_at(l, LLVMGetParam(l->fn, count - 1), v->type, n));
    LLVMBuildRetVoid(l->b);
    context_restore(l, &saved);
    o->next = l->pure_outlines;
    l->pure_outlines = o;
    return o;
}

void low_outline_values(struct low *l, const struct low_values *v)
{
    unsigned count = 0;
    LLVMTypeRef *types = low_alloc(l, (v->count + CONTEXT_ARGS + 1) * sizeof(LLVMTypeRef));
    LLVMValueRef *args = low_alloc(l, (v->count + CONTEXT_ARGS + 1) * sizeof(LLVMValueRef));
    if (!l->values_area) {
        l->values_area = low_alloca(l, LLVMArrayType2(l->t.i8, VALUES_BYTES), "values");
        LLVMSetAlignment(l->values_area, 64);
    }
    if (v->accesses) {
        args[count++] = l->block_ptr;
        args[count++] =
            l->mask_full ? LLVMConstInt(l->t.i32, 0xffffffff, 0) : low_mask_bits(l, l->mask);
        args[count++] = LLVMConstInt(l->t.i32, (unsigned)v->i->p->line, 0);
    }
    for (unsigned n = 0; n < v->count; n++)
        args[count++] = v->in[n];
    args[count++] = l->values_area;
    for (unsigned n = 0; n < count; n++)
        types[n] = LLVMTypeOf(args[n]);
    const struct low_pure_outline *o = values_for(l, v, types, count);
    LLVMBuildCall2(l->b, o->type, o->fn, args, count, "");
    for (unsigned n = 0; n < v->results; n++)
        v->out[n] = LLVMBuildLoad2(l->b, v->type, value_at(l, l->values_area, v->type, n), "");
}
