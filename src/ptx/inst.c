/* Operands and calls. An instruction is decoded by mnemonic.c, its operands are read here,
 * verify.c checks it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/ptx_int.h"

static const struct weir_ptx_operand empty_operand = {.reg = -1, .pred_reg = -1};

static bool parse_operand(struct ptx_parser *p, struct weir_ptx_operand *o);

/* Copies the elements that were pushed since `start` into the module. */
static bool take_elements(struct ptx_parser *p, size_t start, struct weir_ptx_operand *o)
{
    size_t n = p->stack.count - start;

    if (n > PTX_MAX_ELEMENTS)
        return ptx_fail(p, "a vector of more than %u elements", PTX_MAX_ELEMENTS);
    o->elements = PTX_NEW_ARRAY(p, struct weir_ptx_operand, n);
    if (!o->elements)
        return false;
    memcpy(o->elements, p->stack.items + start, n * sizeof *o->elements);
    o->count = (uint8_t)n;
    p->stack.count = start;
    return true;
}

/* a, b, c up to `close`; o gets them as elements. */
static bool parse_elements(struct ptx_parser *p, char close, struct weir_ptx_operand *o)
{
    size_t start = p->stack.count;

    if (++p->depth > PTX_MAX_DEPTH)
        return ptx_fail(p, "operands nested too deep");
    do {
        struct weir_ptx_operand e;

        if (p->stack.count - start >= PTX_MAX_ELEMENTS)
            return ptx_fail(p, "a vector of more than %u elements", PTX_MAX_ELEMENTS);
        if (!parse_operand(p, &e) || !PTX_PUSH(p, &p->stack, e))
            return false;
    } while (ptx_accept(p, ','));
    p->depth--;
    return ptx_expect(p, close) && take_elements(p, start, o);
}

/* The number after + or -, with its sign; `[r+-4]` has both. */
static bool parse_offset(struct ptx_parser *p, int64_t *out)
{
    bool minus = false;

    ptx_skip(p);
    if (*p->pos == '-') {
        minus = true;
        p->pos++;
    } else if (*p->pos == '+') {
        p->pos++;
    } else {
        *out = 0;
        return true;
    }
    if (!ptx_expr_int(p, out, "an offset"))
        return false;
    if (minus)
        *out = (int64_t)(0 - (uint64_t)*out);
    return true;
}

static bool set_symbol(struct ptx_parser *p, const struct ptx_sym *y, struct weir_ptx_operand *o)
{
    switch (y->kind) {
    case PTX_SYM_VAR:
        o->kind = WEIR_PTX_OPERAND_VAR;
        o->var = y->ptr;
        if (o->var->space == WEIR_PTX_REG) { /* a .func parameter in a register */
            o->kind = WEIR_PTX_OPERAND_REG;
            o->reg = o->var->reg_index;
            o->var = NULL;
        }
        return true;
    case PTX_SYM_FUNCTION:
        o->kind = WEIR_PTX_OPERAND_FUNCTION;
        o->function = y->ptr;
        return true;
    case PTX_SYM_TABLE:
        o->kind = WEIR_PTX_OPERAND_TABLE;
        o->table = y->ptr;
        return true;
    default:
        return ptx_fail(p, "'%.*s' cannot be an operand here", (int)WEIR_MIN(y->len, 100u),
                        y->name);
    }
}

/* The only name in constant expressions. */
static bool is_warp_size(const struct ptx_parser *p)
{
    return strncmp(p->pos, "WARP_SZ", 7) == 0 && !ptx_is_ident_char(p->pos[7]);
}

/* A name that stands for a register, a special register or a symbol. */
static bool parse_name(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    struct ptx_str name;
    const struct ptx_sym *y;

    if (!ptx_ident(p, &name, "an operand"))
        return false;
    o->reg = ptx_sym_reg(p, name);
    if (o->reg >= 0) {
        o->kind = WEIR_PTX_OPERAND_REG;
        return true;
    }
    y = ptx_sym_find(p, name);
    if (y && y->kind != PTX_SYM_REG)
        return set_symbol(p, y, o);
    if (name.s[0] == '%' && ptx_sreg_by_name((struct ptx_str){name.s + 1, name.n - 1}, o)) {
        o->kind = WEIR_PTX_OPERAND_SREG;
        return true;
    }
    return ptx_fail(p, "'%.*s' is not defined", (int)WEIR_MIN(name.n, (size_t)120), name.s);
}

static int element_of(struct ptx_str s)
{
    static const char names[] = "xyzwrgba";

    for (int i = 0; s.n == 1 && i < 8; i++) {
        if (s.s[0] == names[i])
            return i & 3;
    }
    return -1;
}

/* .x of vectors, .b0 and the like of video instructions. */
static bool parse_element(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    struct ptx_str s;
    int e;
    bool vector =
        o->kind == WEIR_PTX_OPERAND_SREG ? o->count == 4 : p->regs.items[o->reg].vector != 0;

    if (!ptx_directive(p, &s))
        return true;
    e = element_of(s);
    if (vector) {
        if (e < 0 || (o->kind == WEIR_PTX_OPERAND_REG && e >= p->regs.items[o->reg].vector))
            return ptx_fail(p, "no element '.%.*s' in this vector", (int)WEIR_MIN(s.n, (size_t)40),
                            s.s);
        o->element = (uint8_t)e;
        o->count = o->kind == WEIR_PTX_OPERAND_REG ? 1 : 0;
        return true;
    }
    if (o->kind == WEIR_PTX_OPERAND_REG && (s.s[0] == 'b' || s.s[0] == 'h') && s.n >= 2 &&
        s.n <= 8) {
        uint64_t packed = 0;

        for (size_t i = s.n; i-- > 0;)
            packed = packed << 8 | (unsigned char)s.s[i];
        o->imm = (int64_t)packed;
        return true;
    }
    return ptx_fail(p, "'.%.*s' after an operand that is no vector", (int)WEIR_MIN(s.n, (size_t)40),
                    s.s);
}

/* d|p: the predicate. */
static bool parse_second_dest(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    struct ptx_str name;

    p->pos++;
    if (!ptx_ident(p, &name, "a predicate"))
        return false;
    if (ptx_is(name, "_")) {
        o->pred_reg = -2;
        return true;
    }
    o->pred_reg = ptx_sym_reg(p, name);
    if (o->pred_reg < 0)
        return ptx_fail(p, "'%.*s' is not a register", (int)WEIR_MIN(name.n, (size_t)120), name.s);
    if (p->regs.items[o->pred_reg].type != WEIR_PTX_PRED)
        return ptx_fail(p, "'%.*s' after '|' must be a predicate",
                        (int)WEIR_MIN(name.n, (size_t)100), name.s);
    return true;
}

static bool parse_address(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    p->pos++;
    if (ptx_peek_ident(p)) {
        if (!parse_name(p, o))
            return false;
        if (o->kind != WEIR_PTX_OPERAND_REG && o->kind != WEIR_PTX_OPERAND_VAR)
            return ptx_fail(p, "an address must be a register, a variable or a number");
        if (!parse_offset(p, &o->imm))
            return false;
    } else if (!ptx_expr_int(p, &o->imm, "an address")) {
        return false;
    }
    o->kind = WEIR_PTX_OPERAND_ADDRESS;
    if (ptx_accept(p, ','))
        return parse_elements(p, ']', o);
    return ptx_expect(p, ']');
}

static bool parse_named_operand(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    if (*p->pos == '_' && !ptx_is_ident_char(p->pos[1])) {
        p->pos++;
        o->kind = WEIR_PTX_OPERAND_SINK;
    } else {
        if (!parse_name(p, o))
            return false;
        if (o->kind == WEIR_PTX_OPERAND_REG || o->kind == WEIR_PTX_OPERAND_SREG) {
            if (*p->pos == '.' && !parse_element(p, o))
                return false;
        } else if (o->kind == WEIR_PTX_OPERAND_VAR && !parse_offset(p, &o->imm)) {
            return false;
        }
    }
    ptx_skip(p);
    if (*p->pos == '|' && (o->kind == WEIR_PTX_OPERAND_REG || o->kind == WEIR_PTX_OPERAND_SINK))
        return parse_second_dest(p, o);
    return true;
}

static bool parse_operand(struct ptx_parser *p, struct weir_ptx_operand *o)
{
    *o = empty_operand;
    ptx_skip(p);
    if (ptx_peek_ident(p) && !is_warp_size(p))
        return parse_named_operand(p, o);
    if (*p->pos == '[')
        return parse_address(p, o);
    if (*p->pos == '{') {
        p->pos++;
        o->kind = WEIR_PTX_OPERAND_VECTOR;
        if (!parse_elements(p, '}', o))
            return false;
        ptx_skip(p);
        return *p->pos != '|' || parse_second_dest(p, o); /* of tex */
    }
    if (*p->pos == '!') {
        const char *at = p->pos++;

        if (ptx_peek_ident(p)) {
            o->negated = true;
            if (!parse_name(p, o))
                return false;
            if (o->kind == WEIR_PTX_OPERAND_REG && p->regs.items[o->reg].type == WEIR_PTX_PRED)
                return true;
            return ptx_fail(p, "'!' needs a predicate or a constant");
        }
        p->pos = at;
    }
    return ptx_expr(p, &o->kind, &o->imm);
}

/* bra: a label, known when its scope ends. */
static bool parse_label_ref(struct ptx_parser *p, struct weir_ptx_label **slot)
{
    struct ptx_fixup x = {.slot = slot};

    if (!ptx_ident(p, &x.name, "a label"))
        return false;
    x.line = p->line;
    x.column = ptx_column(p, p->tok);
    return PTX_PUSH(p, &p->fixups, x);
}

/* ---- calls ---- */

/* (a, b): parameters or returned values; at most 255. */
static bool parse_call_list(struct ptx_parser *p, struct weir_ptx_operand **out, uint8_t *count)
{
    struct weir_ptx_operand list = empty_operand;

    if (!ptx_expect(p, '('))
        return false;
    *count = 0;
    if (ptx_accept(p, ')'))
        return true;
    if (!parse_elements(p, ')', &list))
        return false;
    *out = list.elements;
    *count = list.count;
    return true;
}

/* What stands after the parameters of an indirect call. */
static bool parse_call_prototype(struct ptx_parser *p, struct weir_ptx_call *c)
{
    struct ptx_str name;
    const struct ptx_sym *y;

    if (!ptx_ident(p, &name, "a prototype or a list of targets"))
        return false;
    y = ptx_sym_find(p, name);
    if (y && y->kind == PTX_SYM_PROTO) {
        c->proto = y->ptr;
    } else if (y && y->kind == PTX_SYM_TARGETS) {
        const struct ptx_targets *t = y->ptr;

        c->targets_name = t->name;
        c->targets = t->functions;
        c->target_count = t->count;
    } else {
        return ptx_fail(p, "'%.*s' is neither a .callprototype nor .calltargets",
                        (int)WEIR_MIN(name.n, (size_t)100), name.s);
    }
    return true;
}

static bool parse_call(struct ptx_parser *p, struct weir_ptx_inst *i)
{
    struct weir_ptx_call *c = PTX_NEW(p, struct weir_ptx_call);

    if (!c)
        return false;
    i->call = c;
    ptx_skip(p);
    if (*p->pos == '(' && (!parse_call_list(p, &c->rets, &c->ret_count) || !ptx_expect(p, ',')))
        return false;
    if (!parse_operand(p, &c->target))
        return false;
    if (c->target.kind == WEIR_PTX_OPERAND_FUNCTION)
        c->callee = c->target.function;
    else if (c->target.kind != WEIR_PTX_OPERAND_REG)
        return ptx_fail(p, "a function or a register expected as the target of a call");
    if (ptx_accept(p, ',')) {
        ptx_skip(p);
        if (*p->pos == '(') {
            if (!parse_call_list(p, &c->args, &c->arg_count))
                return false;
            if (ptx_accept(p, ',') && !parse_call_prototype(p, c))
                return false;
        } else if (!parse_call_prototype(p, c)) {
            return false;
        }
    }
    return ptx_verify_call(p, i);
}

/* ---- whole instructions ---- */

static void set_dest_count(struct weir_ptx_inst *i)
{
    const struct weir_ptx_operand *first = i->operands;

    switch (i->opcode) {
    case WEIR_PTX_OP_bar:
    case WEIR_PTX_OP_barrier:
        i->dest_count = i->sub == WEIR_PTX_SUB_RED;
        break;
    case WEIR_PTX_OP_clusterlaunchcontrol:
    case WEIR_PTX_OP_mbarrier:
    case WEIR_PTX_OP_multimem:
    case WEIR_PTX_OP_wgmma:
    case WEIR_PTX_OP_wmma:
        i->dest_count = i->operand_count && (first->kind == WEIR_PTX_OPERAND_REG ||
                                             first->kind == WEIR_PTX_OPERAND_VECTOR ||
                                             first->kind == WEIR_PTX_OPERAND_SINK);
        break;
    case WEIR_PTX_OP_tcgen05:
        i->dest_count = strncmp(i->suffix, ".ld", 3) == 0;
        break;
    default:
        break;
    }
    if (i->dest_count > i->operand_count)
        i->dest_count = i->operand_count;
}

static bool parse_operands(struct ptx_parser *p, struct weir_ptx_inst *i)
{
    size_t start = p->stack.count, n;

    ptx_skip(p);
    if (*p->pos == ';')
        return true;
    do {
        struct weir_ptx_operand o;

        if (!parse_operand(p, &o) || !PTX_PUSH(p, &p->stack, o))
            return false;
    } while (ptx_accept(p, ','));
    n = p->stack.count - start;
    if (n > PTX_MAX_OPERANDS)
        return ptx_fail(p, "more than %u operands", PTX_MAX_OPERANDS);
    i->operands = PTX_NEW_ARRAY(p, struct weir_ptx_operand, n);
    if (!i->operands)
        return false;
    memcpy(i->operands, p->stack.items + start, n * sizeof *i->operands);
    i->operand_count = (uint8_t)n;
    p->stack.count = start;
    return true;
}

static bool parse_branch(struct ptx_parser *p, struct weir_ptx_inst *i)
{
    i->operands = PTX_NEW(p, struct weir_ptx_operand);
    if (!i->operands)
        return false;
    *i->operands = empty_operand;
    i->operands->kind = WEIR_PTX_OPERAND_LABEL;
    i->operand_count = 1;
    return parse_label_ref(p, &i->operands->label);
}

bool ptx_parse_inst(struct ptx_parser *p, struct ptx_str text, int32_t guard, bool guard_negated,
                    int line)
{
    const struct weir_ptx_inst *form = ptx_mnemonic(p, text);
    const char *start = text.s;
    struct weir_ptx_inst i;
    bool ok;

    if (!form)
        return false;
    i = *form;
    i.guard = guard;
    i.guard_negated = guard_negated;
    i.line = line;
    i.file = p->loc_file;
    i.source_line = p->loc_line;
    if (i.opcode == WEIR_PTX_OP_call)
        ok = parse_call(p, &i);
    else if (i.opcode == WEIR_PTX_OP_bra)
        ok = parse_branch(p, &i);
    else
        ok = parse_operands(p, &i);
    if (!ok || !ptx_expect(p, ';'))
        return false;
    set_dest_count(&i);
    if (line == p->line)
        p->tok = start; /* errors of the verifier point to the mnemonic */
    return ptx_verify_inst(p, &i) && PTX_PUSH(p, &p->insts, i);
}
