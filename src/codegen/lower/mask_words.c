/* Masks as bits of a word, on processors without mask registers. As vectors of bits, masks are
 * bytes there: each step between one and lanes of 32 bits is a row of packs and unpacks, of which
 * the instruction selection makes as many nodes as of all else, and asks of each what it could be
 * combined with. As words, what masks are computed by is one scalar instruction, and blocks hand
 * them on in a register; comparisons become a word once, and selections take it apart where they
 * are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "codegen/lower/lower.h"

struct mask_words {
    struct low *l;
    LLVMTypeRef word;
    struct weir_map words;       /* of a mask */
    WEIR_VEC(LLVMValueRef) gone; /* have a word in their place */
    LLVMBasicBlockRef block;     /* being read */
};

static bool is_mask(const struct mask_words *x, LLVMValueRef v)
{
    return LLVMTypeOf(v) == x->l->t.mask;
}

/* Instructions that there are for words as well. */
static bool has_word_form(const struct mask_words *x, LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v) || !is_mask(x, v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        return true;
    case LLVMSelect:
        return !low_is_vec(LLVMGetOperand(v, 0));
    default:
        return false;
    }
}

static LLVMValueRef known(const struct mask_words *x, LLVMValueRef v)
{
    return weir_map_get(&x->words, (uint64_t)(uintptr_t)v);
}

static LLVMValueRef remember(struct mask_words *x, LLVMValueRef v, LLVMValueRef word)
{
    if (!weir_map_put(&x->words, (uint64_t)(uintptr_t)v, word))
        low_no_memory(x->l);
    return word;
}

static LLVMValueRef constant_word(const struct mask_words *x, LLVMValueRef v)
{
    uint64_t bits = 0;
    if (!LLVMGetAggregateElement(v, 0)) /* a cast that nobody has worked out */
        return LLVMConstBitCast(v, x->word);
    for (unsigned k = 0; k < x->l->width; k++) {
        LLVMValueRef e = LLVMGetAggregateElement(v, k);
        if (e && LLVMIsAConstantInt(e) && LLVMConstIntGetZExtValue(e))
            bits |= UINT64_C(1) << k;
    }
    return LLVMConstInt(x->word, bits, 0);
}

static void position_behind(const struct mask_words *x, LLVMValueRef v)
{
    LLVMValueRef next;
    if (LLVMIsAInstruction(v))
        next = LLVMGetNextInstruction(v);
    else
        next = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(LLVMGetParamParent(v)));
    LLVMPositionBuilderBefore(x->l->b, next);
}

static bool is_cast_word(const struct mask_words *x, LLVMValueRef v)
{
    return LLVMIsABitCastInst(v) && LLVMTypeOf(LLVMGetOperand(v, 0)) == x->word;
}

static LLVMValueRef word_of(struct mask_words *x, LLVMValueRef v)
{
    LLVMBuilderRef b = x->l->b;
    LLVMValueRef w = known(x, v), a[2];
    if (w)
        return w;
    if (LLVMIsAConstant(v))
        return constant_word(x, v);
    if (is_cast_word(x, v))
        return LLVMGetOperand(v, 0);
    if (!has_word_form(x, v)) {
        position_behind(x, v);
        return remember(x, v, LLVMBuildBitCast(b, v, x->word, ""));
    }
    bool choice = LLVMIsASelectInst(v) != NULL;
    for (unsigned k = 0; k < 2; k++)
        a[k] = word_of(x, LLVMGetOperand(v, k + choice));
    LLVMPositionBuilderBefore(b, v);
    w = choice ? LLVMBuildSelect(b, LLVMGetOperand(v, 0), a[0], a[1], "")
               : LLVMBuildBinOp(b, LLVMGetInstructionOpcode(v), a[0], a[1], "");
    return remember(x, v, w);
}

/* Before all else: ways may lead back to them. False: there are none. */
static bool begin_phis(struct mask_words *x, LLVMValueRef f)
{
    bool any = false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i && LLVMIsAPHINode(i);
             i = LLVMGetNextInstruction(i))
            if (is_mask(x, i)) {
                LLVMPositionBuilderBefore(x->l->b, i);
                remember(x, i, LLVMBuildPhi(x->l->b, x->word, ""));
                any = true;
            }
    return any;
}

static void end_phi(struct mask_words *x, LLVMValueRef phi)
{
    LLVMValueRef word = known(x, phi);
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        LLVMValueRef v = word_of(x, LLVMGetIncomingValue(phi, k));
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        LLVMAddIncoming(word, &v, &from, 1);
    }
}

/* A mask that a block wants as a vector: where it has become a word, or is one elsewhere as well.
 */
static bool comes_as_word(const struct mask_words *x, LLVMValueRef v)
{
    if (!is_mask(x, v) || LLVMIsAConstant(v))
        return false;
    return has_word_form(x, v) ||
           (LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) != x->block &&
            (known(x, v) || is_cast_word(x, v)));
}

static void convert_user(struct mask_words *x, LLVMValueRef i)
{
    int n = LLVMGetNumOperands(i);
    for (int k = 0; k < n; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        if (!comes_as_word(x, v))
            continue;
        LLVMValueRef w = word_of(x, v);
        LLVMPositionBuilderBefore(x->l->b, i);
        LLVMSetOperand(i, (unsigned)k, LLVMBuildBitCast(x->l->b, w, x->l->t.mask, ""));
    }
}

/* True: the instruction is gone. */
static bool convert_cast(struct mask_words *x, LLVMValueRef i)
{
    LLVMValueRef v = LLVMGetOperand(i, 0);
    if (LLVMTypeOf(i) != x->word || !is_mask(x, v) || LLVMIsAConstant(v) || known(x, v) == i)
        return false;
    LLVMReplaceAllUsesWith(i, word_of(x, v));
    LLVMInstructionEraseFromParent(i);
    return true;
}

/* Where no masks meet, vectors are as short: then they are hardly more than compared and used. */
static void convert_function(struct mask_words *x, LLVMValueRef f)
{
    if (!begin_phis(x, f))
        return;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        x->block = b;
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (has_word_form(x, i)) {
                if (LLVMIsAPHINode(i))
                    end_phi(x, i);
                else
                    (void)word_of(x, i);
                if (!weir_vec_push(&x->gone, i))
                    low_no_memory(x->l);
            } else if (!LLVMIsABitCastInst(i) || !convert_cast(x, i)) {
                convert_user(x, i);
            }
        }
    }
}

void low_mask_words(struct low *l)
{
    if (l->avx512)
        return;
    struct mask_words *x = l->mask_words = low_alloc(l, sizeof *x);
    x->l = l;
    x->word = low_int(l, l->width);
    for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f))
        convert_function(x, f);
    for (size_t k = 0; k < x->gone.count; k++)
        LLVMReplaceAllUsesWith(x->gone.items[k], LLVMGetPoison(l->t.mask));
    for (size_t k = 0; k < x->gone.count; k++)
        LLVMInstructionEraseFromParent(x->gone.items[k]);
    low_mask_words_finish(l);
}

void low_mask_words_finish(struct low *l)
{
    struct mask_words *x = l->mask_words;
    if (!x)
        return;
    weir_map_finish(&x->words);
    weir_vec_finish(&x->gone);
    l->mask_words = NULL;
}
