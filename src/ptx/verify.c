/* What may stand where: operand counts, kinds and types of each instruction, by the operand size
 * rules of the PTX ISA ("Operand Size Exceeding Instruction-Type Size"), compared with what ptxas
 * accepts. Forms that are not described here (sub OTHER, matrix, texture, video instructions) are
 * only checked for being grammatical: codegen refuses them by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "ptx/ptx_int.h"

/* A letter an operand, destinations first:
 *   0 1 2  register or constant of type suffix 0, 1, 2       r s  the same, registers may be wider
 * (ld, st, cvt) w      twice as wide as suffix 0                          i    32-bit integer p
 * predicate                                          m    address      a  register or symbol, an
 * address as value c      integer constant                                   x    anything     ?
 * the rest is optional */
static const struct {
    uint16_t opcode;
    const char *operands;
} forms[] = {
#define F(name, operands)                                                                          \
    {                                                                                              \
        WEIR_PTX_OP_##name, operands                                                               \
    }
    F(abs, "00"),      F(activemask, "0"), F(add, "000"),      F(addc, "000"),
    F(and, "000"),     F(atom, "0m0?0x"),  F(bfe, "00ii"),     F(bfi, "000ii"),
    F(bfind, "i0"),    F(bmsk, "0ii"),     F(brev, "00"),      F(brkpt, ""),
    F(clz, "i0"),      F(cnot, "00"),      F(copysign, "000"), F(cos, "00"),
    F(cvt, "rs?xx"),   F(cvta, "0a"),      F(div, "000"),      F(dp2a, "iiii"),
    F(dp4a, "iiii"),   F(ex2, "00"),       F(exit, ""),        F(fma, "0000"),
    F(fns, "iiii"),    F(isspacep, "pa"),  F(ld, "rm?x"),      F(ldu, "rm?x"),
    F(lg2, "00"),      F(lop3, "0000c?p"), F(mad, "0000"),     F(mad24, "0000"),
    F(madc, "0000"),   F(match, "x0i"),    F(max, "000?0"),    F(membar, ""),
    F(min, "000?0"),   F(mov, "00"),       F(mul, "000"),      F(mul24, "000"),
    F(nanosleep, "i"), F(neg, "00"),       F(not, "00"),       F(or, "000"),
    F(pmevent, "c"),   F(popc, "i0"),      F(prmt, "0000"),    F(rcp, "00"),
    F(red, "m0?x"),    F(redux, "00i"),    F(rem, "000"),      F(ret, ""),
    F(rsqrt, "00"),    F(sad, "0000"),     F(selp, "000p"),    F(set, "011?p"),
    F(setp, "p00?p"),  F(shf, "000i"),     F(shfl, "00ii?i"),  F(shl, "00i"),
    F(shr, "00i"),     F(sin, "00"),       F(slct, "0001"),    F(sqrt, "00"),
    F(st, "mr?x"),     F(sub, "000"),      F(subc, "000"),     F(szext, "00i"),
    F(tanh, "00"),     F(testp, "p0"),     F(trap, ""),        F(vote, "xp?i"),
    F(xor, "000"),     F(fence, ""),       F(stacksave, "0"),  F(stackrestore, "0"),
    F(elect, "ii"),    F(brx, "ix"),
#undef F
};

static bool bad(struct ptx_parser *p, const struct weir_ptx_inst *i, const char *what)
{
    return ptx_fail(p, "%s%.80s: %s", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode),
                    i->suffix, what);
}

static bool bad_operand(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n,
                        const char *what)
{
    char buf[160];

    snprintf(buf, sizeof buf, "operand %u %s", n + 1, what);
    return bad(p, i, buf);
}

static bool is_bits(enum weir_ptx_type t)
{
    return t >= WEIR_PTX_B8 && t <= WEIR_PTX_B128;
}

static bool is_int(enum weir_ptx_type t)
{
    return t >= WEIR_PTX_U8 && t <= WEIR_PTX_S64;
}

/* Floating-point types with registers of their own; the packed and the small ones live in .bN
 * registers. */
static bool is_real(enum weir_ptx_type t)
{
    return t == WEIR_PTX_F16 || t == WEIR_PTX_F32 || t == WEIR_PTX_F64;
}

/* May a register of type r be used as type t? */
static bool fits(enum weir_ptx_type r, enum weir_ptx_type t, bool relaxed)
{
    unsigned rb = weir_ptx_type_bits(r), tb = weir_ptx_type_bits(t);

    if (r == WEIR_PTX_PRED || t == WEIR_PTX_PRED)
        return r == t;
    if (relaxed ? rb < tb : rb != tb)
        return false;
    if (is_bits(t) || is_bits(r))
        return true;
    if (is_real(r) && is_real(t))
        return rb == tb;
    if (is_real(r))
        return !is_int(t) && t != WEIR_PTX_U16X2 && t != WEIR_PTX_S16X2;
    return !(is_int(r) && is_real(t));
}

static enum weir_ptx_type reg_type(const struct ptx_parser *p, int32_t reg)
{
    return p->regs.items[reg].type;
}

/* Literals of f32 and f64 instructions become literals of that type. */
static bool check_literal(struct weir_ptx_operand *o, enum weir_ptx_type t)
{
    if (t == WEIR_PTX_F32 && o->kind == WEIR_PTX_OPERAND_F64) {
        double d;
        float f;
        uint32_t w;

        memcpy(&d, &o->imm, sizeof d);
        f = (float)d;
        memcpy(&w, &f, sizeof w);
        o->imm = w;
        o->kind = WEIR_PTX_OPERAND_F32;
    } else if (t == WEIR_PTX_F64 && o->kind == WEIR_PTX_OPERAND_F32) {
        uint32_t w = (uint32_t)o->imm;
        float f;
        double d;

        memcpy(&f, &w, sizeof f);
        d = (double)f;
        memcpy(&o->imm, &d, sizeof d);
        o->kind = WEIR_PTX_OPERAND_F64;
    } else if (o->kind == WEIR_PTX_OPERAND_F32) {
        return t == WEIR_PTX_F32 || t == WEIR_PTX_B32 || !(is_int(t) || is_bits(t));
    } else if (o->kind == WEIR_PTX_OPERAND_F64) {
        return t == WEIR_PTX_F64 || t == WEIR_PTX_B64 || !(is_int(t) || is_bits(t));
    } else {
        return t != WEIR_PTX_F32 && t != WEIR_PTX_F64;
    }
    return true;
}

static enum weir_ptx_type sreg_type(unsigned sreg)
{
    static const uint8_t types[] = {
#define WEIR_PTX_SREG(name, type) WEIR_PTX_##type,
#include "ptx/ptx_sregs.def"
#undef WEIR_PTX_SREG
    };

    return sreg < WEIR_PTX_SREG_COUNT ? (enum weir_ptx_type)types[sreg] : WEIR_PTX_NONE;
}

static bool check_sreg(const struct weir_ptx_operand *o, enum weir_ptx_type t)
{
    enum weir_ptx_type s = sreg_type(o->sreg);

    if (s == WEIR_PTX_PRED || t == WEIR_PTX_PRED)
        return s == t;
    return (is_int(t) || is_bits(t)) && weir_ptx_type_bits(t) <= weir_ptx_type_bits(s);
}

/* One scalar value of type t. */
static bool check_scalar(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n,
                         struct weir_ptx_operand *o, enum weir_ptx_type t, bool relaxed, bool dest)
{
    char buf[120];

    switch (o->kind) {
    case WEIR_PTX_OPERAND_REG:
        if (fits(reg_type(p, o->reg), t, relaxed))
            return true;
        snprintf(buf, sizeof buf, "('%.40s') has type .%s, .%s is needed",
                 p->regs.items[o->reg].name, weir_ptx_type_name(reg_type(p, o->reg)),
                 weir_ptx_type_name(t));
        return bad_operand(p, i, n, buf);
    case WEIR_PTX_OPERAND_SINK:
        return dest || bad_operand(p, i, n, "cannot be '_'");
    case WEIR_PTX_OPERAND_INT:
    case WEIR_PTX_OPERAND_F32:
    case WEIR_PTX_OPERAND_F64:
        if (!dest && check_literal(o, t))
            return true;
        return bad_operand(p, i, n,
                           dest ? "must be a register" : "is a constant of the wrong kind");
    case WEIR_PTX_OPERAND_SREG:
        return (!dest && check_sreg(o, t)) ||
               bad_operand(p, i, n, "cannot be this special register");
    case WEIR_PTX_OPERAND_VAR:
    case WEIR_PTX_OPERAND_FUNCTION:
        return (!dest && (is_int(t) || is_bits(t)) && weir_ptx_type_bits(t) >= 32 &&
                weir_ptx_type_bits(t) <= 64) ||
               bad_operand(p, i, n, "cannot be an address");
    default:
        return bad_operand(p, i, n, "has the wrong form");
    }
}

/* mov.b64 {a, b}, c and back: the parts together are as wide as the type. */
static bool check_pack(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n,
                       struct weir_ptx_operand *o, enum weir_ptx_type t, bool dest)
{
    unsigned part = weir_ptx_type_bits(t) / (o->count ? o->count : 1u);

    if (!is_bits(t) || (o->count != 2 && o->count != 4 && o->count != 8))
        return bad_operand(p, i, n, "needs a .bN type and 2, 4 or 8 parts");
    for (unsigned k = 0; k < o->count; k++) {
        struct weir_ptx_operand *e = &o->elements[k];

        switch (e->kind) {
        case WEIR_PTX_OPERAND_REG:
            if (weir_ptx_type_bits(reg_type(p, e->reg)) != part ||
                reg_type(p, e->reg) == WEIR_PTX_PRED)
                return bad_operand(p, i, n, "has parts that do not add up to the type's size");
            break;
        case WEIR_PTX_OPERAND_SINK:
            if (!dest)
                return bad_operand(p, i, n, "cannot hold '_'");
            break;
        case WEIR_PTX_OPERAND_INT:
        case WEIR_PTX_OPERAND_F32:
        case WEIR_PTX_OPERAND_F64:
            if (dest)
                return bad_operand(p, i, n, "must hold registers");
            break;
        default:
            return bad_operand(p, i, n, "has a part of the wrong form");
        }
    }
    return true;
}

static bool check_typed(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n,
                        enum weir_ptx_type t, bool relaxed)
{
    struct weir_ptx_operand *o = &i->operands[n];
    bool dest = n < i->dest_count;

    if (t == WEIR_PTX_NONE)
        return bad(p, i, "a type is missing");
    if (o->kind == WEIR_PTX_OPERAND_VECTOR) {
        if (i->opcode == WEIR_PTX_OP_mov && i->vec == 0)
            return check_pack(p, i, n, o, t, dest);
        if (i->vec ? o->count != i->vec : o->count != 1)
            return bad_operand(p, i, n, "has another number of elements than the instruction says");
        for (unsigned k = 0; k < o->count; k++) {
            if (!check_scalar(p, i, n, &o->elements[k], t, relaxed, dest))
                return false;
        }
        return true;
    }
    if (i->vec && o->kind == WEIR_PTX_OPERAND_REG &&
        (p->regs.items[o->reg].vector != i->vec || o->count))
        return bad_operand(p, i, n, "must be a vector");
    if (o->kind == WEIR_PTX_OPERAND_REG && p->regs.items[o->reg].vector && !i->vec && !o->count)
        return bad_operand(p, i, n, "is a whole vector register");
    if (dest && o->kind == WEIR_PTX_OPERAND_SINK && o->pred_reg == -1 &&
        i->opcode != WEIR_PTX_OP_atom)
        return bad_operand(p, i, n, "cannot be '_'");
    return check_scalar(p, i, n, o, t, relaxed, dest);
}

/* %r of 32 bits is enough to address these. */
static bool is_short_space(unsigned space)
{
    return space == WEIR_PTX_SHARED || space == WEIR_PTX_SHARED_CLUSTER ||
           space == WEIR_PTX_LOCAL || space == WEIR_PTX_PARAM || space == WEIR_PTX_CONST;
}

static bool check_address(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n)
{
    const struct weir_ptx_operand *o = &i->operands[n];

    if (o->kind != WEIR_PTX_OPERAND_ADDRESS)
        return bad_operand(p, i, n, "must be an address in brackets");
    if (o->reg >= 0) {
        enum weir_ptx_type t = reg_type(p, o->reg);
        unsigned bits = weir_ptx_type_bits(t);

        if (!(is_int(t) || is_bits(t)) || p->regs.items[o->reg].vector ||
            !(bits == 64 || (bits == 32 && is_short_space(i->space))))
            return bad_operand(p, i, n, "has a base that is no 64-bit integer");
    }
    if (o->var && i->space != WEIR_PTX_GENERIC && o->var->space != i->space &&
        !(i->space == WEIR_PTX_SHARED_CLUSTER && o->var->space == WEIR_PTX_SHARED))
        return bad_operand(p, i, n, "is a variable of another state space");
    return true;
}

static bool check_address_value(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n)
{
    const struct weir_ptx_operand *o = &i->operands[n];

    if (o->kind == WEIR_PTX_OPERAND_VAR || o->kind == WEIR_PTX_OPERAND_INT)
        return true;
    if (o->kind == WEIR_PTX_OPERAND_REG) {
        enum weir_ptx_type t = reg_type(p, o->reg);

        if ((is_int(t) || is_bits(t)) &&
            (weir_ptx_type_bits(t) == 64 || weir_ptx_type_bits(t) == 32))
            return true;
    }
    return bad_operand(p, i, n, "must be an address");
}

static bool check_predicate(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n)
{
    const struct weir_ptx_operand *o = &i->operands[n];
    bool dest = n < i->dest_count;

    if (o->kind == WEIR_PTX_OPERAND_REG && reg_type(p, o->reg) == WEIR_PTX_PRED &&
        !(dest && o->negated))
        return true;
    if (dest ? o->kind == WEIR_PTX_OPERAND_SINK : o->kind == WEIR_PTX_OPERAND_INT)
        return true;
    return bad_operand(p, i, n, "must be a predicate");
}

static enum weir_ptx_type widened(enum weir_ptx_type t)
{
    switch (t) {
    case WEIR_PTX_U16:
        return WEIR_PTX_U32;
    case WEIR_PTX_S16:
        return WEIR_PTX_S32;
    case WEIR_PTX_U32:
        return WEIR_PTX_U64;
    case WEIR_PTX_S32:
        return WEIR_PTX_S64;
    default:
        return WEIR_PTX_NONE;
    }
}

static bool check_by_letter(struct ptx_parser *p, const struct weir_ptx_inst *i, unsigned n,
                            char letter)
{
    switch (letter) {
    case '0':
    case '1':
    case '2':
        return check_typed(p, i, n, i->type[letter - '0'], false);
    case 'r':
    case 's':
        return check_typed(p, i, n, i->type[letter - 'r'], true);
    case 'w':
        return check_typed(p, i, n, widened(i->type[0]), false);
    case 'i':
        return check_typed(p, i, n, WEIR_PTX_B32, false);
    case 'p':
        return check_predicate(p, i, n);
    case 'm':
        return check_address(p, i, n);
    case 'a':
        return check_address_value(p, i, n);
    case 'c':
        return i->operands[n].kind == WEIR_PTX_OPERAND_INT ||
               bad_operand(p, i, n, "must be an integer constant");
    default:
        return true;
    }
}

static const char *form_of(const struct weir_ptx_inst *i)
{
    if (i->sub == WEIR_PTX_WIDE)
        return i->opcode == WEIR_PTX_OP_mul ? "w00" : "w00w";
    if (i->opcode == WEIR_PTX_OP_lop3 && i->boolop)
        return "0000cp";
    if ((i->opcode == WEIR_PTX_OP_set || i->opcode == WEIR_PTX_OP_setp) && i->boolop)
        return i->opcode == WEIR_PTX_OP_set ? "011p" : "p00p";
    if (i->opcode == WEIR_PTX_OP_set)
        return "011";
    if (i->opcode == WEIR_PTX_OP_setp)
        return "p00";
    if (i->opcode == WEIR_PTX_OP_atom)
        return i->sub == WEIR_PTX_SUB_CAS ? "0m00?x" : "0m0?x";
    if (i->opcode == WEIR_PTX_OP_match)
        return i->sub == WEIR_PTX_SUB_ALL || i->sub == WEIR_PTX_SUB_ANY ? "i0i" : "x0i";
    if (i->opcode == WEIR_PTX_OP_vote)
        return i->sub == WEIR_PTX_SUB_BALLOT ? (i->async_sync ? "ipi" : "ip")
               : i->async_sync               ? "ppi"
                                             : "pp";
    if (i->opcode == WEIR_PTX_OP_shfl)
        return i->async_sync ? "00iii" : "00ii";
    for (size_t k = 0; k < WEIR_ARRAY_SIZE(forms); k++) {
        if (forms[k].opcode == i->opcode)
            return forms[k].operands;
    }
    return NULL;
}

/* add.f32.f16 and the like: the operands have different types, which only newer targets know. */
static bool is_mixed(const struct weir_ptx_inst *i)
{
    return i->type[1] != WEIR_PTX_NONE &&
           (i->opcode == WEIR_PTX_OP_add || i->opcode == WEIR_PTX_OP_sub ||
            i->opcode == WEIR_PTX_OP_fma);
}

static bool check_form(struct ptx_parser *p, const struct weir_ptx_inst *i, const char *form)
{
    size_t least = strcspn(form, "?"), most = strlen(form) - (form[least] == '?');
    unsigned n = 0;

    if (i->operand_count < least || i->operand_count > most) {
        char buf[80];

        if (least == most)
            snprintf(buf, sizeof buf, "%zu operands are needed, found %u", least, i->operand_count);
        else
            snprintf(buf, sizeof buf, "%zu to %zu operands are needed, found %u", least, most,
                     i->operand_count);
        return bad(p, i, buf);
    }
    for (const char *c = form; *c && n < i->operand_count; c++) {
        if (*c == '?')
            continue;
        if (!check_by_letter(p, i, n, *c))
            return false;
        n++;
    }
    return true;
}

/* bar.sync a[, b]; bar.arrive a, b; bar.red.op d, a[, b], p; bar.warp.sync mask */
static bool check_bar(struct ptx_parser *p, const struct weir_ptx_inst *i)
{
    unsigned n = 0, last = i->operand_count;

    switch (i->sub) {
    case WEIR_PTX_SUB_SYNC:
        if (last < 1 || last > 2)
            return bad(p, i, "1 or 2 operands are needed");
        break;
    case WEIR_PTX_SUB_WARP:
        if (last != 1)
            return bad(p, i, "1 operand is needed");
        break;
    case WEIR_PTX_SUB_ARRIVE:
        if (last != 2)
            return bad(p, i, "2 operands are needed");
        break;
    case WEIR_PTX_SUB_RED:
        if (last < 3 || last > 4)
            return bad(p, i, "3 or 4 operands are needed");
        if (i->sub2 != WEIR_PTX_SUB_POPC && i->sub2 != WEIR_PTX_SUB_AND &&
            i->sub2 != WEIR_PTX_SUB_OR)
            return bad(p, i, ".popc, .and or .or is needed");
        if (!check_typed(p, i, 0, i->sub2 == WEIR_PTX_SUB_POPC ? WEIR_PTX_U32 : WEIR_PTX_PRED,
                         false) ||
            !check_predicate(p, i, --last))
            return false;
        n = 1;
        break;
    default:
        return bad(p, i, ".sync, .arrive, .red or .warp is needed");
    }
    for (; n < last; n++) {
        if (!check_typed(p, i, n, WEIR_PTX_B32, false))
            return false;
    }
    return true;
}

static bool is_arith_real(enum weir_ptx_type t)
{
    return t == WEIR_PTX_F32 || t == WEIR_PTX_F64;
}

static bool cvt_needs_rounding(enum weir_ptx_type d, enum weir_ptx_type s)
{
    bool fd = is_real(d), fs = is_real(s);

    if (fd && fs)
        return weir_ptx_type_bits(d) < weir_ptx_type_bits(s);
    return (fd && is_int(s)) || (fs && is_int(d));
}

static bool has_predicate_form(unsigned opcode)
{
    switch (opcode) {
    case WEIR_PTX_OP_and:
    case WEIR_PTX_OP_or:
    case WEIR_PTX_OP_xor:
    case WEIR_PTX_OP_not:
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        return true;
    default:
        return false;
    }
}

static bool may_have_second_dest(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_setp:
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_elect:
    case WEIR_PTX_OP_tex:
    case WEIR_PTX_OP_tld4:
        return true;
    case WEIR_PTX_OP_lop3:
        return i->boolop != 0;
    default:
        return i->sub == WEIR_PTX_SUB_OTHER;
    }
}

static bool needs_mode(const struct weir_ptx_inst *i)
{
    bool real = weir_ptx_type_is_float(i->type[0]);

    switch (i->opcode) {
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_mad:
        return !real;
    case WEIR_PTX_OP_mul24:
    case WEIR_PTX_OP_mad24:
    case WEIR_PTX_OP_madc:
    case WEIR_PTX_OP_atom:
    case WEIR_PTX_OP_red:
    case WEIR_PTX_OP_shfl:
    case WEIR_PTX_OP_vote:
    case WEIR_PTX_OP_match:
    case WEIR_PTX_OP_redux:
    case WEIR_PTX_OP_shf:
    case WEIR_PTX_OP_membar:
    case WEIR_PTX_OP_brx:
    case WEIR_PTX_OP_testp:
        return true;
    default:
        return false;
    }
}

/* Modifiers that must or must not be there. */
static bool check_modifiers(struct ptx_parser *p, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type t = i->type[0];

    if (needs_mode(i) && i->sub == WEIR_PTX_SUB_NONE)
        return bad(p, i, "a modifier that says what to do is missing");
    if (i->sub == WEIR_PTX_WIDE && widened(t) == WEIR_PTX_NONE)
        return bad(p, i, ".wide needs a 16- or 32-bit integer type");
    if (t == WEIR_PTX_PRED && !has_predicate_form(i->opcode))
        return bad(p, i, "has no form for predicates");
    switch (i->opcode) {
    case WEIR_PTX_OP_cvt:
        if (i->rounding == WEIR_PTX_RND_NONE && cvt_needs_rounding(t, i->type[1]))
            return bad(p, i, "a rounding modifier is missing");
        break;
    case WEIR_PTX_OP_div:
    case WEIR_PTX_OP_rcp:
    case WEIR_PTX_OP_sqrt:
        if (is_arith_real(t) && i->rounding == WEIR_PTX_RND_NONE && !i->approx && !i->full)
            return bad(p, i, "a rounding modifier or .approx is missing");
        break;
    case WEIR_PTX_OP_fma:
        if (i->rounding == WEIR_PTX_RND_NONE)
            return bad(p, i, "a rounding modifier is missing");
        break;
    case WEIR_PTX_OP_set:
    case WEIR_PTX_OP_setp: {
        enum weir_ptx_type compared = i->opcode == WEIR_PTX_OP_set ? i->type[1] : t;

        if (i->cmp == WEIR_PTX_CMP_NONE)
            return bad(p, i, "a comparison is missing");
        if (i->cmp >= WEIR_PTX_EQU && !weir_ptx_type_is_float(compared))
            return bad(p, i, "this comparison needs floating-point operands");
        if (i->cmp >= WEIR_PTX_LO && i->cmp <= WEIR_PTX_HS && weir_ptx_type_is_float(compared))
            return bad(p, i, "this comparison needs integers");
        break;
    }
    case WEIR_PTX_OP_shf:
        if (i->clamp == i->wrap)
            return bad(p, i, ".clamp or .wrap is missing");
        break;
    default:
        break;
    }
    return true;
}

static bool check_second_dests(struct ptx_parser *p, const struct weir_ptx_inst *i)
{
    for (unsigned n = 0; n < i->operand_count; n++) {
        if (i->operands[n].pred_reg != -1 && (n >= 1 || !may_have_second_dest(i)))
            return bad_operand(p, i, n, "cannot have a second destination");
    }
    return true;
}

bool ptx_verify_inst(struct ptx_parser *p, struct weir_ptx_inst *i)
{
    const char *form;

    if (!ptx_check_version(p, i))
        return false;
    if (i->opcode == WEIR_PTX_OP_call || i->opcode == WEIR_PTX_OP_bra)
        return true;
    if (!check_second_dests(p, i))
        return false;
    if (i->sub == WEIR_PTX_SUB_OTHER)
        return true;
    if (!check_modifiers(p, i))
        return false;
    if (i->opcode == WEIR_PTX_OP_bar || i->opcode == WEIR_PTX_OP_barrier)
        return check_bar(p, i);
    form = form_of(i);
    if (!form || is_mixed(i))
        return true;
    if (i->opcode == WEIR_PTX_OP_brx &&
        (i->operand_count != 2 || i->operands[1].kind != WEIR_PTX_OPERAND_TABLE))
        return bad(p, i, "an index and a .branchtargets list are needed");
    return check_form(p, i, form);
}

/* ---- calls ---- */

static bool check_call_value(struct ptx_parser *p, const struct weir_ptx_inst *i,
                             struct weir_ptx_operand *o, const struct weir_ptx_var *v,
                             const char *what, unsigned n, bool is_ret)
{
    char buf[160];
    bool ok;

    switch (o->kind) {
    case WEIR_PTX_OPERAND_VAR:
        ok = o->var->space == WEIR_PTX_PARAM && o->imm == 0 &&
             (!v || v->bytes == 0 || o->var->bytes == v->bytes);
        break;
    case WEIR_PTX_OPERAND_REG:
        ok = !v || (v->count == 1 && fits(reg_type(p, o->reg), v->type, true));
        break;
    case WEIR_PTX_OPERAND_SINK:
        ok = is_ret;
        break;
    case WEIR_PTX_OPERAND_INT:
    case WEIR_PTX_OPERAND_F32:
    case WEIR_PTX_OPERAND_F64:
        ok = !is_ret && (!v || (v->count == 1 && check_literal(o, v->type)));
        break;
    default:
        ok = false;
    }
    if (ok)
        return true;
    snprintf(buf, sizeof buf, "%s %u does not fit '%.60s' of the callee", what, n + 1,
             v ? v->name : "");
    return bad(p, i, buf);
}

static bool check_call_list(struct ptx_parser *p, const struct weir_ptx_inst *i,
                            struct weir_ptx_operand *list, size_t count,
                            struct weir_ptx_var *const *vars, size_t var_count, const char *what)
{
    bool is_ret = list == i->call->rets && list != NULL;
    bool variadic = !is_ret && var_count && vars[var_count - 1]->bytes == 0;

    if (count != var_count && !(variadic && count + 1 >= var_count)) {
        char buf[80];

        snprintf(buf, sizeof buf, "the callee has %zu %ss, the call %zu", var_count, what, count);
        return bad(p, i, buf);
    }
    for (size_t n = 0; n < count; n++) {
        const struct weir_ptx_var *v = n < var_count ? vars[n] : NULL;

        if (!check_call_value(p, i, &list[n], v, what, (unsigned)n, is_ret))
            return false;
    }
    return true;
}

bool ptx_verify_call(struct ptx_parser *p, const struct weir_ptx_inst *i)
{
    struct weir_ptx_call *c = i->call;

    if (c->callee) {
        const struct weir_ptx_function *f = c->callee;

        if (f->is_entry)
            return bad(p, i, "the target is a kernel");
        return check_call_list(p, i, c->rets, c->ret_count, f->rets, f->ret_count, "result") &&
               check_call_list(p, i, c->args, c->arg_count, f->params, f->param_count, "parameter");
    }
    if (!fits(reg_type(p, c->target.reg), WEIR_PTX_B64, false))
        return bad(p, i, "the target register must have 64 bits");
    if (!c->proto && !c->target_count)
        return bad(p, i, "an indirect call needs a .callprototype or .calltargets");
    if (c->proto)
        return check_call_list(p, i, c->rets, c->ret_count, c->proto->rets, c->proto->ret_count,
                               "result") &&
               check_call_list(p, i, c->args, c->arg_count, c->proto->params, c->proto->param_count,
                               "parameter");
    for (size_t n = 0; n < c->target_count; n++) {
        const struct weir_ptx_function *f = c->targets[n];

        if (!check_call_list(p, i, c->rets, c->ret_count, f->rets, f->ret_count, "result") ||
            !check_call_list(p, i, c->args, c->arg_count, f->params, f->param_count, "parameter"))
            return false;
    }
    return true;
}
