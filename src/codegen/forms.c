/* Which instructions the compiler knows, before any work is done: by opcode, and by form where only
 * some are there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "codegen/forms.h"
#include "codegen/forms_bulk.h"
#include "codegen/forms_matrix.h"
#include "codegen/forms_texture.h"

static const uint16_t known[] = {
    WEIR_PTX_OP_abs,           WEIR_PTX_OP_activemask, WEIR_PTX_OP_add,
    WEIR_PTX_OP_addc,          WEIR_PTX_OP_alloca,     WEIR_PTX_OP_and,
    WEIR_PTX_OP_applypriority, WEIR_PTX_OP_atom,       WEIR_PTX_OP_bar,
    WEIR_PTX_OP_barrier,       WEIR_PTX_OP_bfe,        WEIR_PTX_OP_bfi,
    WEIR_PTX_OP_bfind,         WEIR_PTX_OP_bmsk,       WEIR_PTX_OP_bra,
    WEIR_PTX_OP_brev,          WEIR_PTX_OP_brkpt,      WEIR_PTX_OP_brx,
    WEIR_PTX_OP_call,          WEIR_PTX_OP_clz,        WEIR_PTX_OP_cnot,
    WEIR_PTX_OP_copysign,      WEIR_PTX_OP_cos,        WEIR_PTX_OP_cp,
    WEIR_PTX_OP_createpolicy,  WEIR_PTX_OP_cvt,        WEIR_PTX_OP_cvta,
    WEIR_PTX_OP_discard,       WEIR_PTX_OP_div,        WEIR_PTX_OP_dp2a,
    WEIR_PTX_OP_dp4a,          WEIR_PTX_OP_elect,      WEIR_PTX_OP_ex2,
    WEIR_PTX_OP_exit,          WEIR_PTX_OP_fence,      WEIR_PTX_OP_fma,
    WEIR_PTX_OP_fns,           WEIR_PTX_OP_getctarank, WEIR_PTX_OP_griddepcontrol,
    WEIR_PTX_OP_isspacep,      WEIR_PTX_OP_ld,         WEIR_PTX_OP_ldmatrix,
    WEIR_PTX_OP_ldu,           WEIR_PTX_OP_lg2,        WEIR_PTX_OP_lop3,
    WEIR_PTX_OP_mad,           WEIR_PTX_OP_mad24,      WEIR_PTX_OP_madc,
    WEIR_PTX_OP_mapa,          WEIR_PTX_OP_match,      WEIR_PTX_OP_max,
    WEIR_PTX_OP_mbarrier,      WEIR_PTX_OP_membar,     WEIR_PTX_OP_min,
    WEIR_PTX_OP_mma,           WEIR_PTX_OP_mov,        WEIR_PTX_OP_movmatrix,
    WEIR_PTX_OP_mul,           WEIR_PTX_OP_mul24,      WEIR_PTX_OP_nanosleep,
    WEIR_PTX_OP_neg,           WEIR_PTX_OP_not,        WEIR_PTX_OP_or,
    WEIR_PTX_OP_pmevent,       WEIR_PTX_OP_popc,       WEIR_PTX_OP_prefetch,
    WEIR_PTX_OP_prefetchu,     WEIR_PTX_OP_prmt,       WEIR_PTX_OP_rcp,
    WEIR_PTX_OP_red,           WEIR_PTX_OP_redux,      WEIR_PTX_OP_rem,
    WEIR_PTX_OP_ret,           WEIR_PTX_OP_rsqrt,      WEIR_PTX_OP_sad,
    WEIR_PTX_OP_selp,          WEIR_PTX_OP_set,        WEIR_PTX_OP_setmaxnreg,
    WEIR_PTX_OP_setp,          WEIR_PTX_OP_shf,        WEIR_PTX_OP_shfl,
    WEIR_PTX_OP_shl,           WEIR_PTX_OP_shr,        WEIR_PTX_OP_sin,
    WEIR_PTX_OP_slct,          WEIR_PTX_OP_sqrt,       WEIR_PTX_OP_st,
    WEIR_PTX_OP_stackrestore,  WEIR_PTX_OP_stacksave,  WEIR_PTX_OP_stmatrix,
    WEIR_PTX_OP_sub,           WEIR_PTX_OP_subc,       WEIR_PTX_OP_szext,
    WEIR_PTX_OP_tanh,          WEIR_PTX_OP_testp,      WEIR_PTX_OP_trap,
    WEIR_PTX_OP_vote,          WEIR_PTX_OP_wmma,       WEIR_PTX_OP_xor,
};

/* ".pack.sat.s8.s32.b32": width and sign of the parts */
bool weir_cg_form_pack(const struct weir_ptx_inst *p, unsigned *bits, bool *sign)
{
    char kind = 0, rest[16] = "";
    unsigned n = 0;
    if (sscanf(p->suffix, ".pack.sat.%c%u.s32%15s", &kind, &n, rest) < 2)
        return false;
    bool third = strcmp(rest, ".b32") == 0, small = n == 2 || n == 4 || n == 8;
    *bits = n;
    *sign = kind == 's';
    return (kind == 's' || kind == 'u') && (third || !*rest) &&
           (n == 16 ? !third : small && third) && p->operand_count == (third ? 4 : 3) &&
           p->dest_count == 1;
}

/* ---- cp.async ---- */

enum low_copy weir_cg_form_copy(const struct weir_ptx_inst *p)
{
    if (strncmp(p->suffix, ".async.commit_group", 19) == 0 ||
        strncmp(p->suffix, ".async.wait_", 12) == 0)
        return LOW_COPY_WAIT;
    bool data = strncmp(p->suffix, ".async.ca.shared", 16) == 0 ||
                strncmp(p->suffix, ".async.cg.shared", 16) == 0;
    unsigned n = p->operand_count - (p->cache_hint ? 1u : 0);
    return data && n >= 3 && n <= 4 && p->operands[2].kind == WEIR_PTX_OPERAND_INT ? LOW_COPY_DATA
                                                                                   : LOW_COPY_OTHER;
}

/* ---- mbarrier ---- */

struct mbarrier_form {
    const char *word;
    enum low_mbarrier kind;
};

/* The longest first. */
static const struct mbarrier_form mbarrier_forms[] = {
    {".init.", LOW_MBARRIER_INIT},
    {".inval.", LOW_MBARRIER_INVAL},
    {".expect_tx.", LOW_MBARRIER_EXPECT},
    {".complete_tx.", LOW_MBARRIER_COMPLETE},
    {".arrive.expect_tx.", LOW_MBARRIER_ARRIVE_EXPECT},
    {".arrive_drop.expect_tx.", LOW_MBARRIER_DROP_EXPECT},
    {".arrive_drop.", LOW_MBARRIER_DROP},
    {".arrive.", LOW_MBARRIER_ARRIVE},
    {".test_wait.parity.", LOW_MBARRIER_WAIT_PARITY},
    {".try_wait.parity.", LOW_MBARRIER_WAIT_PARITY},
    {".test_wait.", LOW_MBARRIER_WAIT},
    {".try_wait.", LOW_MBARRIER_WAIT},
    {".pending_count.", LOW_MBARRIER_PENDING},
};

static enum low_mbarrier mbarrier_copy_kind(const struct weir_ptx_inst *p)
{
    if (strncmp(p->suffix, ".async.mbarrier.arrive.noinc.", 29) == 0)
        return LOW_MBARRIER_ARRIVE_COPY;
    return strncmp(p->suffix, ".async.mbarrier.arrive.", 23) == 0 ? LOW_MBARRIER_NONE_COPY
                                                                  : LOW_MBARRIER_OTHER;
}

/* Operands that the form has: fewest and most. */
static bool mbarrier_count_ok(const struct weir_ptx_inst *p, unsigned least, unsigned most,
                              unsigned address)
{
    return p->operand_count >= least && p->operand_count <= most &&
           p->operands[address].kind == WEIR_PTX_OPERAND_ADDRESS;
}

static bool mbarrier_form_ok(const struct weir_ptx_inst *p, enum low_mbarrier kind)
{
    switch (kind) {
    case LOW_MBARRIER_INIT:
    case LOW_MBARRIER_EXPECT:
    case LOW_MBARRIER_COMPLETE:
        return mbarrier_count_ok(p, 2, 2, 0);
    case LOW_MBARRIER_INVAL:
    case LOW_MBARRIER_ARRIVE_COPY:
    case LOW_MBARRIER_NONE_COPY:
        return mbarrier_count_ok(p, 1, 1, 0);
    case LOW_MBARRIER_ARRIVE:
    case LOW_MBARRIER_DROP:
        return p->dest_count == 1 && mbarrier_count_ok(p, 2, 3, 1);
    case LOW_MBARRIER_ARRIVE_EXPECT:
    case LOW_MBARRIER_DROP_EXPECT:
        return p->dest_count == 1 && mbarrier_count_ok(p, 3, 3, 1);
    case LOW_MBARRIER_WAIT:
    case LOW_MBARRIER_WAIT_PARITY:
        return p->dest_count == 1 && mbarrier_count_ok(p, 3, 4, 1);
    case LOW_MBARRIER_PENDING:
        return p->dest_count == 1 && p->operand_count == 2;
    default:
        return false;
    }
}

enum low_mbarrier weir_cg_form_mbarrier(const struct weir_ptx_inst *p)
{
    enum low_mbarrier kind = LOW_MBARRIER_OTHER;
    if (p->opcode == WEIR_PTX_OP_cp) {
        kind = mbarrier_copy_kind(p);
    } else if (p->opcode == WEIR_PTX_OP_mbarrier) {
        for (size_t k = 0; k < sizeof mbarrier_forms / sizeof mbarrier_forms[0] && !kind; k++)
            if (strncmp(p->suffix, mbarrier_forms[k].word, strlen(mbarrier_forms[k].word)) == 0)
                kind = mbarrier_forms[k].kind;
    }
    return mbarrier_form_ok(p, kind) ? kind : LOW_MBARRIER_OTHER;
}

/* ---- what is not known ---- */

static bool is_pack(const struct weir_ptx_inst *i)
{
    unsigned bits;
    bool sign;
    return weir_cg_form_pack(i, &bits, &sign);
}

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
    case WEIR_PTX_OP_barrier:
        return weir_cg_form_cluster_barrier(i) != CLUSTER_BARRIER_NONE;
    case WEIR_PTX_OP_createpolicy:
        return i->operand_count > 0 && i->operands[0].kind == WEIR_PTX_OPERAND_REG;
    case WEIR_PTX_OP_cvt:
        return is_pack(i);
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

/* Its operands are pairs of 64 bits (ptx/wide.c). */
static bool is_wide_atomic(const struct weir_ptx_inst *i)
{
    return i->opcode == WEIR_PTX_OP_atom && i->operand_count > 2 &&
           i->operands[2].kind == WEIR_PTX_OPERAND_VECTOR;
}

static bool types_ok(const struct weir_ptx_inst *i, const char **why)
{
    for (int k = 0; k < 3; k++) {
        enum weir_ptx_type t = i->type[k];
        bool converted = i->opcode == WEIR_PTX_OP_cvt &&
                         (t == WEIR_PTX_TF32 || t == WEIR_PTX_E4M3X2 || t == WEIR_PTX_E5M2X2);
        if ((t == WEIR_PTX_B128 && !is_wide_atomic(i)) || t == WEIR_PTX_F32X2 ||
            t == WEIR_PTX_OPAQUE ||
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

enum weir_cg_cluster_barrier weir_cg_form_cluster_barrier(const struct weir_ptx_inst *p)
{
    const char *s = p->suffix ? p->suffix : "";
    if (p->opcode != WEIR_PTX_OP_barrier || strncmp(s, ".cluster.", 9) != 0 || p->operand_count)
        return CLUSTER_BARRIER_NONE;
    s += 8;
    bool arrive = strncmp(s, ".arrive", 7) == 0;
    if (!arrive && strncmp(s, ".wait", 5) != 0)
        return CLUSTER_BARRIER_NONE;
    s += arrive ? 7 : 5;
    for (const char *const *w = (const char *const[]){".release", ".relaxed", ".acquire", NULL}; *w;
         w++)
        if (strncmp(s, *w, strlen(*w)) == 0) {
            s += strlen(*w);
            break;
        }
    if (*s && strcmp(s, ".aligned") != 0)
        return CLUSTER_BARRIER_NONE;
    return arrive ? CLUSTER_BARRIER_ARRIVE : CLUSTER_BARRIER_WAIT;
}

/* Clusters: addresses of other blocks are integers of 32 or 64 bits. */
static bool cluster_address_ok(const struct weir_ptx_inst *i)
{
    bool type = i->type[0] == WEIR_PTX_U32 || i->type[0] == WEIR_PTX_U64;
    unsigned n = i->opcode == WEIR_PTX_OP_mapa ? 3 : 2;
    return type && i->operand_count == n && i->operands[0].kind == WEIR_PTX_OPERAND_REG &&
           (i->space == WEIR_PTX_SHARED_CLUSTER ||
            (i->space == WEIR_PTX_GENERIC && i->type[0] == WEIR_PTX_U64));
}

static bool barrier_ok(const struct weir_ptx_inst *i, const char **why)
{
    if (i->suffix && strstr(i->suffix, "cluster")) {
        *why = "cluster barrier";
        return weir_cg_form_cluster_barrier(i) != CLUSTER_BARRIER_NONE;
    }
    return i->sub != WEIR_PTX_SUB_OTHER;
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

bool weir_cg_form_supported(const struct weir_ptx_inst *i, const char **why)
{
    struct matrix_form matrix;
    struct texture_form texture;
    struct bulk_form bulk;
    bool found = false;
    for (size_t k = 0; k < sizeof known / sizeof known[0] && !found; k++)
        found = known[k] == i->opcode;
    *why = "instruction";
    if (weir_cg_form_video_parts(i->opcode)) {
        *why = "form";
        return weir_cg_form_video(i);
    }
    if (weir_cg_is_matrix(i->opcode)) {
        *why = "form";
        return weir_cg_matrix_form(i, &matrix) != MATRIX_OTHER;
    }
    if (weir_cg_is_bulk(i)) {
        *why = "form";
        return weir_cg_bulk_form(i, &bulk);
    }
    if (weir_cg_is_texture(i->opcode))
        return weir_cg_texture_form(i, &texture, why);
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
        return weir_cg_form_copy(i) != LOW_COPY_OTHER || weir_cg_form_mbarrier(i);
    case WEIR_PTX_OP_mbarrier:
        *why = "form";
        return weir_cg_form_mbarrier(i);
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return barrier_ok(i, why);
    case WEIR_PTX_OP_min:
    case WEIR_PTX_OP_max:
        *why = "form";
        return min_max_ok(i);
    case WEIR_PTX_OP_mapa:
    case WEIR_PTX_OP_getctarank:
        *why = "form";
        return cluster_address_ok(i);
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

/* seen: the functions looked at, a bit each */
static bool check_function(const struct weir_ptx_function *f, char *message, size_t bytes,
                           uint64_t *seen)
{
    weir_bit_put(seen, f->index);
    for (size_t k = 0; k < f->inst_count; k++) {
        const struct weir_ptx_inst *i = &f->insts[k];
        const char *why = NULL;
        if (!weir_cg_form_supported(i, &why)) {
            weir_ptx_inst_name(i, message, bytes);
            return false;
        }
        if (i->opcode != WEIR_PTX_OP_call)
            continue;
        if (!i->call ||
            !i->call->callee) /* through a pointer: the candidates are known when it is compiled */
            continue;
        if (!i->call->callee->is_extern && !weir_bit_has(seen, i->call->callee->index) &&
            !check_function(i->call->callee, message, bytes, seen))
            return false;
    }
    return true;
}

enum weir_err weir_cg_forms_check(const struct weir_ptx_function *kernel, char *message,
                                  size_t bytes)
{
    if (bytes)
        message[0] = 0;
    uint64_t *seen = weir_calloc(kernel->module->function_count / 64 + 1, sizeof *seen);
    if (!seen)
        return WEIR_ERR_MEMORY_ALLOCATION;
    check_function(kernel, message, bytes, seen);
    weir_free(seen);
    return WEIR_OK;
}
