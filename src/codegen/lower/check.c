/* Which instructions the compiler knows, before any work is done: by opcode, and by form where only
 * some are there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/lower/lower.h"

static const uint16_t known[] = {
    WEIR_PTX_OP_abs,
    WEIR_PTX_OP_activemask,
    WEIR_PTX_OP_add,
    WEIR_PTX_OP_addc,
    WEIR_PTX_OP_alloca,
    WEIR_PTX_OP_and,
    WEIR_PTX_OP_applypriority,
    WEIR_PTX_OP_atom,
    WEIR_PTX_OP_bar,
    WEIR_PTX_OP_barrier,
    WEIR_PTX_OP_bfe,
    WEIR_PTX_OP_bfi,
    WEIR_PTX_OP_bfind,
    WEIR_PTX_OP_bmsk,
    WEIR_PTX_OP_bra,
    WEIR_PTX_OP_brev,
    WEIR_PTX_OP_brx,
    WEIR_PTX_OP_call,
    WEIR_PTX_OP_clz,
    WEIR_PTX_OP_cnot,
    WEIR_PTX_OP_copysign,
    WEIR_PTX_OP_cos,
    WEIR_PTX_OP_cp,
    WEIR_PTX_OP_createpolicy,
    WEIR_PTX_OP_cvt,
    WEIR_PTX_OP_cvta,
    WEIR_PTX_OP_discard,
    WEIR_PTX_OP_div,
    WEIR_PTX_OP_dp2a,
    WEIR_PTX_OP_dp4a,
    WEIR_PTX_OP_elect,
    WEIR_PTX_OP_ex2,
    WEIR_PTX_OP_exit,
    WEIR_PTX_OP_fence,
    WEIR_PTX_OP_fma,
    WEIR_PTX_OP_fns,
    WEIR_PTX_OP_griddepcontrol,
    WEIR_PTX_OP_isspacep,
    WEIR_PTX_OP_ld,
    WEIR_PTX_OP_ldu,
    WEIR_PTX_OP_lg2,
    WEIR_PTX_OP_lop3,
    WEIR_PTX_OP_mad,
    WEIR_PTX_OP_mad24,
    WEIR_PTX_OP_madc,
    WEIR_PTX_OP_match,
    WEIR_PTX_OP_max,
    WEIR_PTX_OP_mbarrier,
    WEIR_PTX_OP_membar,
    WEIR_PTX_OP_min,
    WEIR_PTX_OP_mov,
    WEIR_PTX_OP_mul,
    WEIR_PTX_OP_mul24,
    WEIR_PTX_OP_nanosleep,
    WEIR_PTX_OP_neg,
    WEIR_PTX_OP_not,
    WEIR_PTX_OP_or,
    WEIR_PTX_OP_pmevent,
    WEIR_PTX_OP_popc,
    WEIR_PTX_OP_prefetch,
    WEIR_PTX_OP_prefetchu,
    WEIR_PTX_OP_prmt,
    WEIR_PTX_OP_rcp,
    WEIR_PTX_OP_red,
    WEIR_PTX_OP_redux,
    WEIR_PTX_OP_rem,
    WEIR_PTX_OP_ret,
    WEIR_PTX_OP_rsqrt,
    WEIR_PTX_OP_sad,
    WEIR_PTX_OP_selp,
    WEIR_PTX_OP_set,
    WEIR_PTX_OP_setmaxnreg,
    WEIR_PTX_OP_setp,
    WEIR_PTX_OP_shf,
    WEIR_PTX_OP_shfl,
    WEIR_PTX_OP_shl,
    WEIR_PTX_OP_shr,
    WEIR_PTX_OP_sin,
    WEIR_PTX_OP_slct,
    WEIR_PTX_OP_sqrt,
    WEIR_PTX_OP_st,
    WEIR_PTX_OP_stackrestore,
    WEIR_PTX_OP_stacksave,
    WEIR_PTX_OP_sub,
    WEIR_PTX_OP_subc,
    WEIR_PTX_OP_szext,
    WEIR_PTX_OP_tanh,
    WEIR_PTX_OP_testp,
    WEIR_PTX_OP_trap,
    WEIR_PTX_OP_vote,
    WEIR_PTX_OP_xor,
};

/* Modifiers that the parser has no name for: only forms of which the text is looked at. */
static bool other_ok(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_cp:
    case WEIR_PTX_OP_mbarrier:
    case WEIR_PTX_OP_fence: /* every fence is a whole one */
    case WEIR_PTX_OP_membar:
    case WEIR_PTX_OP_setmaxnreg: /* hints */
    case WEIR_PTX_OP_pmevent:
    case WEIR_PTX_OP_griddepcontrol:
        return true;
    case WEIR_PTX_OP_createpolicy:
        return i->operand_count > 0 && i->operands[0].kind == WEIR_PTX_OPERAND_REG;
    case WEIR_PTX_OP_cvt:
        return low_pack_ok(i);
    default:
        return false;
    }
}

static bool is_math(uint16_t op)
{
    return op == WEIR_PTX_OP_sin || op == WEIR_PTX_OP_cos || op == WEIR_PTX_OP_ex2 ||
           op == WEIR_PTX_OP_lg2 || op == WEIR_PTX_OP_tanh;
}

static bool is_half(uint8_t t)
{
    return t == WEIR_PTX_F16 || t == WEIR_PTX_F16X2 || t == WEIR_PTX_BF16 || t == WEIR_PTX_BF16X2;
}

static bool half_ok(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_fma:
    case WEIR_PTX_OP_neg:
    case WEIR_PTX_OP_abs:
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_st:
    case WEIR_PTX_OP_cvt:
    case WEIR_PTX_OP_set:
    case WEIR_PTX_OP_setp:
    case WEIR_PTX_OP_ex2:
    case WEIR_PTX_OP_tanh:
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
        return true;
    default:
        return false;
    }
}

static bool types_ok(const struct weir_ptx_inst *i, const char **why)
{
    for (int k = 0; k < 3; k++) {
        enum weir_ptx_type t = i->type[k];
        bool converted = i->opcode == WEIR_PTX_OP_cvt &&
                         (t == WEIR_PTX_TF32 || t == WEIR_PTX_E4M3X2 || t == WEIR_PTX_E5M2X2);
        if (t == WEIR_PTX_B128 || t == WEIR_PTX_F32X2 || t == WEIR_PTX_OPAQUE ||
            ((t == WEIR_PTX_TF32 || t == WEIR_PTX_E4M3X2 || t == WEIR_PTX_E5M2X2) && !converted)) {
            *why = "type";
            return false;
        }
    }
    if (is_half(i->type[0]) && !half_ok(i)) {
        *why = "half precision form";
        return false;
    }
    if (is_math(i->opcode) && i->type[0] != WEIR_PTX_F32 && !is_half(i->type[0])) {
        *why = "type";
        return false;
    }
    return true;
}

static bool vector_atomic_ok(const struct weir_ptx_inst *i)
{
    unsigned bytes = weir_ptx_type_bits(i->type[0]) / 8u * i->vec;
    bool add = i->sub == WEIR_PTX_SUB_ADD, red = i->opcode == WEIR_PTX_OP_red;
    bool shape = (i->type[0] == WEIR_PTX_F32 && add) || is_half(i->type[0]);
    unsigned at = red ? 0 : 1;
    if (!shape || bytes > 16 || i->operand_count < at + 2)
        return false;
    for (unsigned k = 0; k <= at + 1; k++) {
        const struct weir_ptx_operand *o = &i->operands[k];
        if (k != at && (o->kind != WEIR_PTX_OPERAND_VECTOR || o->count != i->vec))
            return false;
    }
    return true;
}

static bool atomic_ok(const struct weir_ptx_inst *i, const char **why)
{
    *why = "vector atomic";
    if (i->vec && !vector_atomic_ok(i))
        return false;
    *why = "type";
    if (is_half(i->type[0]))
        return i->sub == WEIR_PTX_SUB_ADD || i->sub == WEIR_PTX_SUB_MIN ||
               i->sub == WEIR_PTX_SUB_MAX;
    if (weir_ptx_type_is_float(i->type[0]) && i->sub != WEIR_PTX_SUB_ADD &&
        i->sub != WEIR_PTX_SUB_EXCH && i->sub != WEIR_PTX_SUB_CAS)
        return false;
    *why = "atomic operation";
    switch (i->sub) {
    case WEIR_PTX_SUB_ADD:
    case WEIR_PTX_SUB_AND:
    case WEIR_PTX_SUB_OR:
    case WEIR_PTX_SUB_XOR:
    case WEIR_PTX_SUB_EXCH:
    case WEIR_PTX_SUB_MIN:
    case WEIR_PTX_SUB_MAX:
    case WEIR_PTX_SUB_INC:
    case WEIR_PTX_SUB_DEC:
    case WEIR_PTX_SUB_CAS:
        return true;
    default:
        return false;
    }
}

static bool barrier_ok(const struct weir_ptx_inst *i, const char **why)
{
    if (i->suffix && strstr(i->suffix, "cluster")) {
        *why = "cluster barrier";
        return false;
    }
    return true;
}

/* Three operands: f32 only, and not with .xorsign. */
static bool min_max_ok(const struct weir_ptx_inst *i)
{
    unsigned n = (unsigned)(i->operand_count - i->dest_count);
    bool is_float = weir_ptx_type_is_float(i->type[0]);
    if (i->xorsign && (!i->abs || !is_float || i->type[0] == WEIR_PTX_F64))
        return false;
    if (i->abs && !i->xorsign && n != 3)
        return false;
    return n == 2 || (n == 3 && i->type[0] == WEIR_PTX_F32 && !i->xorsign);
}

/* alloca, stacksave and stackrestore: the parser does not look at their operands. */
static bool stack_ok(const struct weir_ptx_inst *i)
{
    const struct weir_ptx_operand *o = i->operands;
    if (i->opcode != WEIR_PTX_OP_alloca)
        return i->operand_count == 1 && o[0].kind == WEIR_PTX_OPERAND_REG;
    if (i->operand_count < 2 || i->operand_count > 3 || o[0].kind != WEIR_PTX_OPERAND_REG ||
        (o[1].kind != WEIR_PTX_OPERAND_REG && o[1].kind != WEIR_PTX_OPERAND_INT))
        return false;
    return i->operand_count == 2 ||
           (o[2].kind == WEIR_PTX_OPERAND_INT && o[2].imm > 0 && (o[2].imm & (o[2].imm - 1)) == 0);
}

bool low_check_inst(const struct weir_ptx_inst *i, const char **why)
{
    bool found = false;
    for (size_t k = 0; k < sizeof known / sizeof known[0] && !found; k++)
        found = known[k] == i->opcode;
    *why = "instruction";
    if (low_video_parts(i->opcode)) {
        *why = "form";
        return low_video_ok(i);
    }
    if (!found || !types_ok(i, why))
        return false;
    if (i->sub == WEIR_PTX_SUB_OTHER && !other_ok(i)) {
        *why = "form";
        return false;
    }
    switch (i->opcode) {
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
        return atomic_ok(i, why);
    case WEIR_PTX_OP_alloca:
    case WEIR_PTX_OP_stacksave:
    case WEIR_PTX_OP_stackrestore:
        *why = "form";
        return stack_ok(i);
    case WEIR_PTX_OP_createpolicy:
        *why = "form";
        return other_ok(i);
    case WEIR_PTX_OP_cp:
        *why = "form";
        return low_copy_kind(i) != LOW_COPY_OTHER || low_mbarrier_kind(i);
    case WEIR_PTX_OP_mbarrier:
        *why = "form";
        return low_mbarrier_kind(i);
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return barrier_ok(i, why);
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
        *why = "form";
        return min_max_ok(i);
    case WEIR_PTX_OP_redux:
        *why = "type";
        return !weir_ptx_type_is_float(i->type[0]);
    case WEIR_PTX_OP_add:
    case WEIR_PTX_OP_sub:
    case WEIR_PTX_OP_fma:
        *why = "types";
        return i->type[1] == WEIR_PTX_NONE;
    default:
        return true;
    }
}
