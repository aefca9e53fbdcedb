/* Stores of the first few lanes, as the steps of a sum over a block make them: a masked store of a
 * whole vector leaves bytes that no later load can take from it, so that this waits until the store
 * has left the core. Where the mask is a constant that starts with a power of two of lanes, the
 * store, what it is computed by and what that loads are made as wide as that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

#define MAX_MADE  64u
#define MAX_DEPTH 12u

struct narrow {
    struct low *l;
    unsigned lanes; /* that are wanted */
    struct {
        LLVMValueRef wide, narrow;
    } made[MAX_MADE];
    unsigned count, depth;
};

static bool is_call_of(LLVMValueRef v, const char *name)
{
    if (!LLVMIsACallInst(v))
        return false;
    LLVMValueRef f = LLVMGetCalledValue(v);
    return f && LLVMIsAFunction(f) &&
           LLVMGetIntrinsicID(f) == LLVMLookupIntrinsicID(name, strlen(name));
}

static bool lane_of_mask(LLVMValueRef mask, unsigned k)
{
    LLVMValueRef e = LLVMGetAggregateElement(mask, k);
    return e && LLVMIsAConstantInt(e) && LLVMConstIntGetZExtValue(e) != 0;
}

/* The lanes of a mask of the first 1, 2, 4 ... of them; 0: another one. */
static unsigned first_lanes(LLVMValueRef mask)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(mask)), set = 0;
    if (!LLVMIsAConstant(mask))
        return 0;
    while (set < n && lane_of_mask(mask, set))
        set++;
    for (unsigned k = set; k < n; k++) {
        LLVMValueRef e = LLVMGetAggregateElement(mask, k);
        if (!e || !LLVMIsAConstantInt(e) || LLVMConstIntGetZExtValue(e) != 0)
            return 0;
    }
    return set < n && (set & (set - 1)) == 0 ? set : 0;
}

static void copy_scopes(struct low *l, LLVMValueRef from, LLVMValueRef to)
{
    unsigned kinds[2] = {l->md_scope, l->md_noalias};
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef md = LLVMGetMetadata(from, kinds[k]);
        if (md)
            LLVMSetMetadata(to, kinds[k], md);
    }
}

static LLVMTypeRef narrow_type(const struct narrow *x, LLVMValueRef v)
{
    return LLVMVectorType(LLVMGetElementType(LLVMTypeOf(v)), x->lanes);
}

static LLVMValueRef cut(struct narrow *x, LLVMValueRef v)
{
    LLVMValueRef idx[64];
    for (unsigned k = 0; k < x->lanes; k++)
        idx[k] = LLVMConstInt(x->l->t.i32, k, 0);
    return LLVMBuildShuffleVector(x->l->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(idx, x->lanes), "");
}

static LLVMValueRef narrowed(struct narrow *x, LLVMValueRef v, LLVMValueRef user);

static LLVMValueRef narrow_load(struct narrow *x, LLVMValueRef v, LLVMValueRef p, unsigned align)
{
    LLVMPositionBuilderBefore(x->l->b, v);
    LLVMValueRef r = LLVMBuildLoad2(x->l->b, narrow_type(x, v), p, "");
    LLVMSetAlignment(r, align);
    copy_scopes(x->l, v, r);
    return r;
}

static bool covers(const struct narrow *x, LLVMValueRef mask)
{
    if (!LLVMIsAConstant(mask))
        return false;
    for (unsigned k = 0; k < x->lanes; k++)
        if (!lane_of_mask(mask, k))
            return false;
    return true;
}

/* The instruction on the first lanes alone; NULL: one that stays as it is. */
static LLVMValueRef narrow_inst(struct narrow *x, LLVMValueRef v)
{
    LLVMBuilderRef b = x->l->b;
    LLVMValueRef a[3];
    if (is_call_of(v, "llvm.masked.load") && covers(x, LLVMGetOperand(v, 2)))
        return narrow_load(x, v, LLVMGetOperand(v, 0),
                           (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1)));
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad:
        if (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)
            return NULL;
        return narrow_load(x, v, LLVMGetOperand(v, 0), LLVMGetAlignment(v));
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        for (unsigned k = 0; k < 2; k++)
            a[k] = narrowed(x, LLVMGetOperand(v, k), v);
        LLVMPositionBuilderBefore(b, v);
        return LLVMBuildBinOp(b, LLVMGetInstructionOpcode(v), a[0], a[1], "");
    case LLVMFCmp:
    case LLVMICmp:
        for (unsigned k = 0; k < 2; k++)
            a[k] = narrowed(x, LLVMGetOperand(v, k), v);
        LLVMPositionBuilderBefore(b, v);
        return LLVMIsAFCmpInst(v) ? LLVMBuildFCmp(b, LLVMGetFCmpPredicate(v), a[0], a[1], "")
                                  : LLVMBuildICmp(b, LLVMGetICmpPredicate(v), a[0], a[1], "");
    case LLVMSelect:
        for (unsigned k = 0; k < 3; k++)
            a[k] = low_is_vec(LLVMGetOperand(v, k)) ? narrowed(x, LLVMGetOperand(v, k), v)
                                                    : LLVMGetOperand(v, k);
        LLVMPositionBuilderBefore(b, v);
        return LLVMBuildSelect(b, a[0], a[1], a[2], "");
    default:
        return NULL;
    }
}

static LLVMValueRef narrowed(struct narrow *x, LLVMValueRef v, LLVMValueRef user)
{
    for (unsigned k = 0; k < x->count; k++)
        if (x->made[k].wide == v)
            return x->made[k].narrow;
    LLVMValueRef r = NULL;
    if (LLVMIsAInstruction(v) && x->depth < MAX_DEPTH && x->count < MAX_MADE / 2) {
        x->depth++;
        r = narrow_inst(x, v);
        x->depth--;
        if (r && x->count < MAX_MADE) {
            x->made[x->count].wide = v;
            x->made[x->count++].narrow = r;
        }
    }
    if (!r) {
        LLVMPositionBuilderBefore(x->l->b, user);
        r = cut(x, v);
    }
    return r;
}

static bool narrow_store(struct low *l, LLVMValueRef i)
{
    unsigned lanes = first_lanes(LLVMGetOperand(i, 3));
    if (!lanes)
        return false;
    struct narrow x = {.l = l, .lanes = lanes};
    LLVMValueRef v = narrowed(&x, LLVMGetOperand(i, 0), i);
    LLVMPositionBuilderBefore(l->b, i);
    LLVMValueRef s = LLVMBuildStore(l->b, v, LLVMGetOperand(i, 1));
    LLVMSetAlignment(s, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(i, 2)));
    copy_scopes(l, i, s);
    LLVMInstructionEraseFromParent(i);
    return true;
}

bool low_narrow(struct low *l)
{
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_call_of(i, "llvm.masked.store"))
                    any |= narrow_store(l, i);
            }
    return any;
}
