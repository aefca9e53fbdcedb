/* The quick tier's share of LLVM's instruction selection. LLVM's own code asks for these functions
 * here (linker option --wrap; not with a shared libLLVM, which then is only slower), and gets the
 * answer that is always right and costs nothing: nothing to do, nothing known.
 *
 * LLVM combines the nodes of each block four times: before types are legal, after that, after
 * vector operations are legal, and at the end. At optimisation level None the two in the middle
 * find almost nothing that the last one does not (objects are the same within 0.1 %). The last must
 * stay: the selector relies on what it cleans up. In the two that are left, what is known of a
 * node's bits, and which bits or elements of it are asked for, is a walk through the expression
 * above each node, element by element in constant vectors: a third of the selection, and again
 * next to nothing is found.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>

/* llvm::CombineLevel and llvm::CodeGenOptLevel, LLVM 19. */
enum { BEFORE_LEGALIZE_TYPES, AFTER_LEGALIZE_TYPES, AFTER_LEGALIZE_VECTORS, AFTER_LEGALIZE_DAG };
enum { OPT_NONE };

struct sd_value { /* llvm::SDValue, passed in two registers */
    void *node;
    unsigned result;
};

#define PASTE(a, b)        a##b
#define WITH(prefix, name) PASTE(prefix, name)
/* A function of llvm::TargetLowering that takes an SDValue first, as the linker names it. */
#define LOWERING(name, more) _ZNK4llvm14TargetLowering##name##ENS_7SDValueERKNS_5APIntE##more
/* Declares the real function and begins our own. */
#define WRAP(type, name, params)                                                                   \
    type WITH(__real_, name) params;                                                               \
    type WITH(__wrap_, name) params;                                                               \
    type WITH(__wrap_, name) params

/* While this thread combines at level None: the functions below have no other way to know. */
static _Thread_local bool brief;

/* llvm::SelectionDAG::Combine(CombineLevel, AAResults *, CodeGenOptLevel) */
#define COMBINE                                                                                    \
    _ZN4llvm12SelectionDAG7CombineENS_12CombineLevelEPNS_9AAResultsENS_15CodeGenOptLevelE
WRAP(void, COMBINE, (void *dag, int level, void *alias, int opt))
{
    if (opt == OPT_NONE && (level == AFTER_LEGALIZE_TYPES || level == AFTER_LEGALIZE_VECTORS))
        return;
    brief = opt == OPT_NONE;
    WITH(__real_, COMBINE)(dag, level, alias, opt);
    brief = false;
}

/* llvm::TargetLowering::SimplifyDemandedBits(SDValue, const APInt &bits, const APInt &elements,
 *     KnownBits &, TargetLoweringOpt &, unsigned depth, bool) const: was something made simpler? */
#define DEMANDED_BITS                                                                              \
    LOWERING(20SimplifyDemandedBits, S4_RNS_9KnownBitsERNS0_17TargetLoweringOptEjb)
WRAP(bool, DEMANDED_BITS,
     (const void *target, struct sd_value v, const void *bits, const void *elements, void *known,
      void *opt, unsigned depth, bool single))
{
    return !brief &&
           WITH(__real_, DEMANDED_BITS)(target, v, bits, elements, known, opt, depth, single);
}

/* ... (SDValue, const APInt &bits, KnownBits &, TargetLoweringOpt &, unsigned depth, bool) */
#define DEMANDED_BITS_ALL                                                                          \
    LOWERING(20SimplifyDemandedBits, RNS_9KnownBitsERNS0_17TargetLoweringOptEjb)
WRAP(bool, DEMANDED_BITS_ALL,
     (const void *target, struct sd_value v, const void *bits, void *known, void *opt,
      unsigned depth, bool single))
{
    return !brief && WITH(__real_, DEMANDED_BITS_ALL)(target, v, bits, known, opt, depth, single);
}

/* ... (SDValue, const APInt &bits, DAGCombinerInfo &) */
#define DEMANDED_BITS_DAG LOWERING(20SimplifyDemandedBits, RNS0_15DAGCombinerInfoE)
WRAP(bool, DEMANDED_BITS_DAG, (const void *target, struct sd_value v, const void *bits, void *info))
{
    return !brief && WITH(__real_, DEMANDED_BITS_DAG)(target, v, bits, info);
}

/* ... (SDValue, const APInt &bits, const APInt &elements, DAGCombinerInfo &) */
#define DEMANDED_BITS_DAG_SOME LOWERING(20SimplifyDemandedBits, S4_RNS0_15DAGCombinerInfoE)
WRAP(bool, DEMANDED_BITS_DAG_SOME,
     (const void *target, struct sd_value v, const void *bits, const void *elements, void *info))
{
    return !brief && WITH(__real_, DEMANDED_BITS_DAG_SOME)(target, v, bits, elements, info);
}

/* llvm::TargetLowering::SimplifyDemandedVectorElts(SDValue, const APInt &elements, APInt &undef,
 *     APInt &zero, TargetLoweringOpt &, unsigned depth, bool) const */
#define DEMANDED_ELEMENTS LOWERING(26SimplifyDemandedVectorElts, RS2_S5_RNS0_17TargetLoweringOptEjb)
WRAP(bool, DEMANDED_ELEMENTS,
     (const void *target, struct sd_value v, const void *elements, void *undef, void *zero,
      void *opt, unsigned depth, bool single))
{
    return !brief &&
           WITH(__real_, DEMANDED_ELEMENTS)(target, v, elements, undef, zero, opt, depth, single);
}

/* ... (SDValue, const APInt &elements, DAGCombinerInfo &) */
#define DEMANDED_ELEMENTS_DAG LOWERING(26SimplifyDemandedVectorElts, RNS0_15DAGCombinerInfoE)
WRAP(bool, DEMANDED_ELEMENTS_DAG,
     (const void *target, struct sd_value v, const void *elements, void *info))
{
    return !brief && WITH(__real_, DEMANDED_ELEMENTS_DAG)(target, v, elements, info);
}

/* llvm::SelectionDAG::haveNoCommonBitsSet(SDValue, SDValue) const */
#define NO_COMMON_BITS _ZNK4llvm12SelectionDAG19haveNoCommonBitsSetENS_7SDValueES1_
WRAP(bool, NO_COMMON_BITS, (const void *dag, struct sd_value a, struct sd_value b))
{
    return !brief && WITH(__real_, NO_COMMON_BITS)(dag, a, b);
}

/* llvm::SelectionDAG::MaskedValueIsZero(SDValue, const APInt &mask, unsigned depth) const */
#define MASKED_IS_ZERO _ZNK4llvm12SelectionDAG17MaskedValueIsZeroENS_7SDValueERKNS_5APIntEj
WRAP(bool, MASKED_IS_ZERO, (const void *dag, struct sd_value v, const void *mask, unsigned depth))
{
    return !brief && WITH(__real_, MASKED_IS_ZERO)(dag, v, mask, depth);
}

/* ---- constants ---- */

/* Each constant that is new to a function is compared with all that it has, and those of another
 * type are folded to integers each time: quadratic, and vectors of different types with the same
 * bits are rare. As they are, constants are equal when they are the same one. */
static _Thread_local bool pooling;

/* llvm::MachineConstantPool::getConstantPoolIndex(const Constant *, Align) */
#define POOL_INDEX _ZN4llvm19MachineConstantPool20getConstantPoolIndexEPKNS_8ConstantENS_5AlignE
WRAP(unsigned, POOL_INDEX, (void *pool, const void *constant, uint8_t align))
{
    pooling = true;
    unsigned index = WITH(__real_, POOL_INDEX)(pool, constant, align);
    pooling = false;
    return index;
}

/* llvm::ConstantFoldCastOperand(unsigned opcode, Constant *, Type *, const DataLayout &) */
#define FOLD_CAST _ZN4llvm23ConstantFoldCastOperandEjPNS_8ConstantEPNS_4TypeERKNS_10DataLayoutE
WRAP(void *, FOLD_CAST, (unsigned opcode, void *constant, void *type, const void *layout))
{
    return pooling ? constant : WITH(__real_, FOLD_CAST)(opcode, constant, type, layout);
}
