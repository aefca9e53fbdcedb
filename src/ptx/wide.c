/* 128-bit registers are pairs of 64-bit ones: a pass over a function whose text has been read, so
 * that nobody behind it meets a value of 128 bits. Moves become two, ld.b128 and st.b128 accesses
 * of vectors of .b64; atom.b128 keeps its type, with pairs as operands. A function that has such
 * registers elsewhere stays as it is, and is refused where they are used.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "ptx/ptx_int.h"

struct split {
    struct ptx_parser *p;
    int32_t *high; /* of each register: the upper half's, or -1 */
    size_t reg_count;
};

static bool is_wide_reg(const struct split *s, const struct weir_ptx_operand *o)
{
    return o->kind == WEIR_PTX_OPERAND_REG && o->reg >= 0 && (size_t)o->reg < s->reg_count &&
           s->p->regs.items[o->reg].type == WEIR_PTX_B128;
}

static bool has_wide(const struct split *s, const struct weir_ptx_operand *o, unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        if (is_wide_reg(s, &o[n]) ||
            (o[n].kind == WEIR_PTX_OPERAND_VECTOR && has_wide(s, o[n].elements, o[n].count)))
            return true;
    return false;
}

static bool is_known(const struct weir_ptx_inst *i)
{
    if (i->type[0] != WEIR_PTX_B128)
        return false;
    switch (i->opcode) {
    case WEIR_PTX_OP_mov:
    case WEIR_PTX_OP_ld:
    case WEIR_PTX_OP_st:
        return true;
    case WEIR_PTX_OP_atom:
        return i->vec == 0 && (i->sub == WEIR_PTX_SUB_EXCH || i->sub == WEIR_PTX_SUB_CAS);
    default:
        return false;
    }
}

/* False: some use of such a register is not known here. */
static bool all_known(const struct split *s)
{
    for (size_t k = 0; k < s->p->insts.count; k++) {
        const struct weir_ptx_inst *i = &s->p->insts.items[k];
        const struct weir_ptx_call *c = i->call;

        if (has_wide(s, i->operands, i->operand_count) && !is_known(i))
            return false;
        if (c && (has_wide(s, c->rets, c->ret_count) || has_wide(s, c->args, c->arg_count)))
            return false;
    }
    for (size_t k = 0; k < s->p->f->param_count + s->p->f->ret_count; k++) {
        const struct weir_ptx_function *f = s->p->f;
        const struct weir_ptx_var *v =
            k < f->param_count ? f->params[k] : f->rets[k - f->param_count];

        if (v->space == WEIR_PTX_REG && v->type == WEIR_PTX_B128)
            return false;
    }
    return true;
}

static bool add_halves(struct split *s)
{
    for (size_t k = 0; k < s->reg_count; k++) {
        struct weir_ptx_reg r = s->p->regs.items[k];
        char name[128];

        s->high[k] = -1;
        if (r.type != WEIR_PTX_B128)
            continue;
        snprintf(name, sizeof name, "%.100s$high", r.name);
        r.type = WEIR_PTX_B64;
        r.name = ptx_copy_str(s->p, (struct ptx_str){name, strlen(name)});
        s->high[k] = (int32_t)s->p->regs.count;
        if (!r.name || !PTX_PUSH(s->p, &s->p->regs, r))
            return false;
    }
    return true;
}

/* The halves of an operand: of a register, or of a vector of two. */
static void halves(const struct split *s, const struct weir_ptx_operand *o,
                   struct weir_ptx_operand out[2])
{
    if (o->kind == WEIR_PTX_OPERAND_VECTOR && o->count == 2) {
        memcpy(out, o->elements, 2 * sizeof *out);
        return;
    }
    out[0] = out[1] = *o;
    if (o->kind == WEIR_PTX_OPERAND_REG && s->high[o->reg] >= 0)
        out[1].reg = s->high[o->reg];
}

/* A register, or a vector of them, as a vector of halves. */
static bool to_vector(const struct split *s, struct weir_ptx_operand *o)
{
    unsigned count = o->kind == WEIR_PTX_OPERAND_VECTOR ? o->count : 1;
    struct weir_ptx_operand *parts = PTX_NEW_ARRAY(s->p, struct weir_ptx_operand, 2 * count), whole;

    if (!parts)
        return false;
    for (unsigned k = 0; k < count; k++)
        halves(s, o->kind == WEIR_PTX_OPERAND_VECTOR ? &o->elements[k] : o, &parts[2 * k]);
    whole = *o;
    whole.kind = WEIR_PTX_OPERAND_VECTOR;
    whole.reg = -1;
    whole.elements = parts;
    whole.count = (uint8_t)(2 * count);
    *o = whole;
    return true;
}

static bool has_type(struct ptx_parser *p, struct weir_ptx_inst *i, const char *was,
                     const char *now)
{
    char text[160];
    const char *at = strstr(i->suffix, was);

    if (!at)
        return true;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - i->suffix), i->suffix, now,
             at + strlen(was));
    i->suffix = ptx_copy_str(p, (struct ptx_str){text, strlen(text)});
    return i->suffix != NULL;
}

static bool split_access(struct split *s, struct weir_ptx_inst *i)
{
    unsigned value = i->opcode == WEIR_PTX_OP_ld ? 0 : 1;

    i->type[0] = WEIR_PTX_B64;
    if (!has_type(s->p, i, i->vec ? ".v2.b128" : ".b128", i->vec ? ".v4.b64" : ".v2.b64"))
        return false;
    i->vec = i->vec ? 4 : 2;
    return to_vector(s, &i->operands[value]);
}

static bool split_atomic(struct split *s, struct weir_ptx_inst *i)
{
    for (unsigned n = 0; n < i->operand_count; n++)
        if (n != 1 && i->operands[n].kind != WEIR_PTX_OPERAND_SINK &&
            !to_vector(s, &i->operands[n]))
            return false;
    return true;
}

static bool push_moves(struct split *s, const struct weir_ptx_inst *i)
{
    struct weir_ptx_operand to[2], from[2];

    halves(s, &i->operands[0], to);
    halves(s, &i->operands[1], from);
    for (unsigned k = 0; k < 2; k++) {
        struct weir_ptx_inst m = *i;

        m.type[0] = WEIR_PTX_B64;
        m.suffix = ".b64";
        m.operands = PTX_NEW_ARRAY(s->p, struct weir_ptx_operand, 2);
        if (!m.operands)
            return false;
        m.operands[0] = to[k];
        m.operands[1] = from[k];
        if (to[k].kind != WEIR_PTX_OPERAND_SINK && !PTX_PUSH(s->p, &s->p->insts, m))
            return false;
    }
    return true;
}

/* Writes the instructions anew; labels follow. */
static bool rewrite(struct split *s)
{
    size_t count = s->p->insts.count;
    struct weir_ptx_inst *was = PTX_NEW_ARRAY(s->p, struct weir_ptx_inst, count + 1);
    uint32_t *now = PTX_NEW_ARRAY(s->p, uint32_t, count + 1);
    bool ok = was && now;

    if (!ok)
        return false;
    memcpy(was, s->p->insts.items, count * sizeof *was);
    s->p->insts.count = 0;
    for (size_t k = 0; k < count && ok; k++) {
        struct weir_ptx_inst *i = &was[k];

        now[k] = (uint32_t)s->p->insts.count;
        if (i->type[0] != WEIR_PTX_B128) {
            ok = PTX_PUSH(s->p, &s->p->insts, *i);
        } else if (i->opcode == WEIR_PTX_OP_mov) {
            ok = push_moves(s, i);
        } else {
            ok = (i->opcode == WEIR_PTX_OP_atom ? split_atomic(s, i) : split_access(s, i)) &&
                 PTX_PUSH(s->p, &s->p->insts, *i);
        }
    }
    now[count] = (uint32_t)s->p->insts.count;
    for (size_t k = 0; k < s->p->labels.count && ok; k++)
        if (s->p->labels.items[k]->inst <= count)
            s->p->labels.items[k]->inst = now[s->p->labels.items[k]->inst];
    for (size_t k = 0; k < s->reg_count && ok; k++)
        if (s->high[k] >= 0)
            s->p->regs.items[k].type = WEIR_PTX_B64;
    return ok;
}

bool ptx_split_wide(struct ptx_parser *p)
{
    struct split s = {.p = p, .reg_count = p->regs.count};
    bool any = false;

    for (size_t k = 0; k < s.reg_count; k++)
        any = any || p->regs.items[k].type == WEIR_PTX_B128;
    if (!any || !all_known(&s))
        return true;
    s.high = PTX_NEW_ARRAY(p, int32_t, s.reg_count);
    return s.high && add_halves(&s) && rewrite(&s);
}
