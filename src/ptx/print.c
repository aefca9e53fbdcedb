/* Instructions back to text. The mnemonic is kept as it was written, so printing and parsing give
 * the same again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "ptx/ptx_int.h"

/* Appends like snprintf: counts what would have been written. */
struct out {
    char *buf;
    size_t bytes, n;
};

static void put(struct out *o, const char *fmt, ...) WEIR_PRINTF(2, 3);
static void put(struct out *o, const char *fmt, ...)
{
    size_t room = o->n < o->bytes ? o->bytes - o->n : 0;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(room ? o->buf + o->n : NULL, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        o->n += (size_t)n;
}

static void put_reg(struct out *o, const struct weir_ptx_function *f, int32_t reg)
{
    if (f && reg >= 0 && (size_t)reg < f->reg_count)
        put(o, "%s", f->regs[reg].name);
    else
        put(o, "%%?%d", (int)reg);
}

static void put_operand(struct out *o, const struct weir_ptx_function *f,
                        const struct weir_ptx_operand *x);

static void put_elements(struct out *o, const struct weir_ptx_function *f,
                         const struct weir_ptx_operand *x)
{
    for (unsigned i = 0; i < x->count; i++) {
        if (i)
            put(o, ", ");
        put_operand(o, f, &x->elements[i]);
    }
}

static void put_offset(struct out *o, int64_t imm)
{
    if (imm)
        put(o, "+%lld", (long long)imm);
}

static void put_address(struct out *o, const struct weir_ptx_function *f,
                        const struct weir_ptx_operand *x)
{
    put(o, "[");
    if (x->reg >= 0) {
        put_reg(o, f, x->reg);
        put_offset(o, x->imm);
    } else if (x->var) {
        put(o, "%s", x->var->name);
        put_offset(o, x->imm);
    } else {
        put(o, "%lld", (long long)x->imm);
    }
    if (x->count) {
        put(o, ", ");
        put_elements(o, f, x);
    }
    put(o, "]");
}

static void put_register_operand(struct out *o, const struct weir_ptx_function *f,
                                 const struct weir_ptx_operand *x)
{
    put(o, "%s", x->negated ? "!" : "");
    put_reg(o, f, x->reg);
    if (x->count) {
        put(o, ".%c", "xyzwabcd"[x->element & 7]);
    } else if (x->imm) {
        put(o, ".");
        for (uint64_t s = (uint64_t)x->imm; s; s >>= 8)
            put(o, "%c", (char)(s & 0xff));
    }
}

static void put_operand(struct out *o, const struct weir_ptx_function *f,
                        const struct weir_ptx_operand *x)
{
    char name[64];

    switch (x->kind) {
    case WEIR_PTX_OPERAND_REG:
        put_register_operand(o, f, x);
        break;
    case WEIR_PTX_OPERAND_INT:
        put(o, "%lld", (long long)x->imm);
        break;
    case WEIR_PTX_OPERAND_F32:
        put(o, "0f%08X", (unsigned)x->imm);
        break;
    case WEIR_PTX_OPERAND_F64:
        put(o, "0d%016llX", (unsigned long long)x->imm);
        break;
    case WEIR_PTX_OPERAND_SREG:
        ptx_sreg_name(x, name, sizeof name);
        put(o, "%s", name);
        break;
    case WEIR_PTX_OPERAND_VAR:
        put(o, "%s", x->var->name);
        put_offset(o, x->imm);
        break;
    case WEIR_PTX_OPERAND_FUNCTION:
        put(o, "%s", x->function->name);
        break;
    case WEIR_PTX_OPERAND_ADDRESS:
        put_address(o, f, x);
        break;
    case WEIR_PTX_OPERAND_VECTOR:
        put(o, "{");
        put_elements(o, f, x);
        put(o, "}");
        break;
    case WEIR_PTX_OPERAND_LABEL:
        put(o, "%s", x->label ? x->label->name : "?");
        break;
    case WEIR_PTX_OPERAND_SINK:
        put(o, "_");
        break;
    case WEIR_PTX_OPERAND_TABLE:
        put(o, "%s", x->table->name);
        break;
    default:
        put(o, "?");
        break;
    }
    if (x->pred_reg == -2)
        put(o, "|_");
    else if (x->pred_reg >= 0) {
        put(o, "|");
        put_reg(o, f, x->pred_reg);
    }
}

static void put_list(struct out *o, const struct weir_ptx_function *f,
                     const struct weir_ptx_operand *list, unsigned n)
{
    put(o, "(");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            put(o, ", ");
        put_operand(o, f, &list[i]);
    }
    put(o, ")");
}

static void put_call(struct out *o, const struct weir_ptx_function *f,
                     const struct weir_ptx_call *c)
{
    put(o, " ");
    if (c->ret_count) {
        put_list(o, f, c->rets, c->ret_count);
        put(o, ", ");
    }
    put_operand(o, f, &c->target);
    if (c->arg_count || c->proto || c->target_count) {
        put(o, ", ");
        put_list(o, f, c->args, c->arg_count);
    }
    if (c->proto)
        put(o, ", %s", c->proto->name);
    else if (c->targets_name)
        put(o, ", %s", c->targets_name);
}

size_t weir_ptx_print_inst(const struct weir_ptx_function *f, const struct weir_ptx_inst *i,
                           char *buf, size_t bytes)
{
    struct out o = {buf, bytes, 0};

    if (bytes)
        buf[0] = 0;
    if (i->guard >= 0) {
        put(&o, i->guard_negated ? "@!" : "@");
        put_reg(&o, f, i->guard);
        put(&o, " ");
    }
    put(&o, "%s%s", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode), i->suffix);
    if (i->call)
        put_call(&o, f, i->call);
    for (unsigned n = 0; n < i->operand_count; n++) {
        put(&o, n ? ", " : " ");
        put_operand(&o, f, &i->operands[n]);
    }
    put(&o, ";");
    return o.n;
}

size_t weir_ptx_inst_name(const struct weir_ptx_inst *i, char *buf, size_t bytes)
{
    struct out o = {buf, bytes, 0};

    if (bytes)
        buf[0] = 0;
    put(&o, "%s%s (line %d)", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode), i->suffix,
        i->line);
    return o.n;
}
