/* Constant expressions: C's operators on 64-bit integers, + - * / and comparisons on doubles, the
 * casts (.s64) and (.u64), WARP_SZ. Integers are signed unless a U literal or a cast makes them
 * unsigned (PTX ISA, "Constant Expressions").
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/ptx_int.h"

struct value {
    uint8_t kind; /* INT, F32 or F64 */
    bool is_unsigned;
    int64_t bits;
};

static bool parse_ternary(struct ptx_parser *p, struct value *v);

static double as_double(const struct value *v)
{
    double d;

    if (v->kind == WEIR_PTX_OPERAND_INT)
        return v->is_unsigned ? (double)(uint64_t)v->bits : (double)v->bits;
    if (v->kind == WEIR_PTX_OPERAND_F32) {
        uint32_t w = (uint32_t)v->bits;
        float f;

        memcpy(&f, &w, sizeof f);
        return (double)f;
    }
    memcpy(&d, &v->bits, sizeof d);
    return d;
}

static void set_double(struct value *v, double d)
{
    v->kind = WEIR_PTX_OPERAND_F64;
    v->is_unsigned = false;
    memcpy(&v->bits, &d, sizeof d);
}

static void set_int(struct value *v, int64_t i, bool is_unsigned)
{
    *v = (struct value){WEIR_PTX_OPERAND_INT, is_unsigned, i};
}

static bool is_true(const struct value *v)
{
    return v->kind == WEIR_PTX_OPERAND_INT ? v->bits != 0 : as_double(v) != 0;
}

static bool parse_cast_or_group(struct ptx_parser *p, struct value *v);

static bool parse_unary(struct ptx_parser *p, struct value *v)
{
    bool ok;
    char c;

    ptx_skip(p);
    c = *p->pos;
    if (c >= '0' && c <= '9') {
        const char *s = p->pos;

        if (!ptx_number(p, &v->kind, &v->bits))
            return false;
        v->is_unsigned =
            v->kind == WEIR_PTX_OPERAND_INT && (p->pos[-1] == 'U' || (v->bits < 0 && s < p->pos));
        return true;
    }
    if (c == 'W' && strncmp(p->pos, "WARP_SZ", 7) == 0 && !ptx_is_ident_char(p->pos[7])) {
        p->pos += 7;
        set_int(v, 32, false);
        return true;
    }
    if (c != '+' && c != '-' && c != '!' && c != '~' && c != '(')
        return ptx_fail(p, "a constant expected");
    if (++p->depth > PTX_MAX_DEPTH)
        return ptx_fail(p, "an expression nested too deep");
    p->pos++;
    if (c == '(') {
        ok = parse_cast_or_group(p, v);
    } else {
        ok = parse_unary(p, v);
        if (ok && c == '-') {
            if (v->kind == WEIR_PTX_OPERAND_INT)
                v->bits = (int64_t)(0 - (uint64_t)v->bits);
            else if (v->kind == WEIR_PTX_OPERAND_F32)
                v->bits ^= 0x80000000;
            else
                v->bits = (int64_t)((uint64_t)v->bits ^ (uint64_t)1 << 63);
        } else if (ok && c == '!') {
            set_int(v, !is_true(v), false);
        } else if (ok && c == '~') {
            if (v->kind != WEIR_PTX_OPERAND_INT)
                ok = ptx_fail(p, "'~' needs an integer");
            else
                v->bits = ~v->bits;
        }
    }
    p->depth--;
    return ok;
}

static bool parse_cast_or_group(struct ptx_parser *p, struct value *v)
{
    struct ptx_str type;

    if (!ptx_directive(p, &type))
        return parse_ternary(p, v) && ptx_expect(p, ')');
    if (!ptx_is(type, "s64") && !ptx_is(type, "u64"))
        return ptx_fail(p, "only (.s64) and (.u64) are casts");
    if (!ptx_expect(p, ')') || !parse_unary(p, v))
        return false;
    if (v->kind != WEIR_PTX_OPERAND_INT)
        return ptx_fail(p, "a cast needs an integer");
    v->is_unsigned = ptx_is(type, "u64");
    return true;
}

enum op {
    OP_NONE,
    OP_MUL,
    OP_DIV,
    OP_REM,
    OP_ADD,
    OP_SUB,
    OP_SHL,
    OP_SHR,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_XOR,
    OP_OR,
    OP_LAND,
    OP_LOR
};
static const unsigned char precedence[] = {
    [OP_NONE] = 0, [OP_MUL] = 10, [OP_DIV] = 10, [OP_REM] = 10, [OP_ADD] = 9,
    [OP_SUB] = 9,  [OP_SHL] = 8,  [OP_SHR] = 8,  [OP_LT] = 7,   [OP_LE] = 7,
    [OP_GT] = 7,   [OP_GE] = 7,   [OP_EQ] = 6,   [OP_NE] = 6,   [OP_AND] = 5,
    [OP_XOR] = 4,  [OP_OR] = 3,   [OP_LAND] = 2, [OP_LOR] = 1,
};

static enum op peek_op(struct ptx_parser *p, unsigned *len)
{
    char c, d;

    ptx_skip(p);
    c = p->pos[0];
    d = c ? p->pos[1] : 0;
    *len = 1;
    switch (c) {
    case '*':
        return OP_MUL;
    case '/':
        return OP_DIV;
    case '%':
        return OP_REM;
    case '+':
        return OP_ADD;
    case '-':
        return OP_SUB;
    case '^':
        return OP_XOR;
    case '&':
        return d == '&' ? *len = 2, OP_LAND : OP_AND;
    case '|':
        return d == '|' ? *len = 2, OP_LOR : OP_OR;
    case '<':
        return d == '<' ? *len = 2, OP_SHL : d == '=' ? *len = 2, OP_LE : OP_LT;
    case '>':
        return d == '>' ? *len = 2, OP_SHR : d == '=' ? *len = 2, OP_GE : OP_GT;
    case '=':
        return d == '=' ? *len = 2, OP_EQ : OP_NONE;
    case '!':
        return d == '=' ? *len = 2, OP_NE : OP_NONE;
    default:
        return OP_NONE;
    }
}

static bool apply_float(struct ptx_parser *p, enum op op, struct value *a, const struct value *b)
{
    double x = as_double(a), y = as_double(b);

    switch (op) {
    case OP_MUL:
        set_double(a, x * y);
        return true;
    case OP_DIV:
        set_double(a, x / y);
        return true;
    case OP_ADD:
        set_double(a, x + y);
        return true;
    case OP_SUB:
        set_double(a, x - y);
        return true;
    case OP_LT:
        set_int(a, x < y, false);
        return true;
    case OP_LE:
        set_int(a, x <= y, false);
        return true;
    case OP_GT:
        set_int(a, x > y, false);
        return true;
    case OP_GE:
        set_int(a, x >= y, false);
        return true;
    case OP_EQ:
        set_int(a, x == y, false);
        return true;
    case OP_NE:
        set_int(a, x != y, false);
        return true;
    case OP_LAND:
        set_int(a, is_true(a) && is_true(b), false);
        return true;
    case OP_LOR:
        set_int(a, is_true(a) || is_true(b), false);
        return true;
    default:
        return ptx_fail(p, "an operator that needs integers");
    }
}

static bool apply_div(struct ptx_parser *p, enum op op, struct value *a, const struct value *b,
                      bool u)
{
    uint64_t x = (uint64_t)a->bits, y = (uint64_t)b->bits;
    bool minus_x = !u && a->bits < 0, minus_y = !u && b->bits < 0;
    uint64_t r;

    if (y == 0)
        return ptx_fail(p, "a constant is divided by zero");
    x = minus_x ? 0 - x : x;
    y = minus_y ? 0 - y : y;
    if (op == OP_DIV)
        r = minus_x != minus_y ? 0 - x / y : x / y;
    else
        r = minus_x ? 0 - x % y : x % y;
    set_int(a, (int64_t)r, u);
    return true;
}

static bool apply_int(struct ptx_parser *p, enum op op, struct value *a, const struct value *b)
{
    bool u = a->is_unsigned || b->is_unsigned;
    uint64_t x = (uint64_t)a->bits, y = (uint64_t)b->bits;
    int less = u ? x < y : a->bits < b->bits, equal = x == y;

    switch (op) {
    case OP_MUL:
        set_int(a, (int64_t)(x * y), u);
        break;
    case OP_DIV:
    case OP_REM:
        return apply_div(p, op, a, b, u);
    case OP_ADD:
        set_int(a, (int64_t)(x + y), u);
        break;
    case OP_SUB:
        set_int(a, (int64_t)(x - y), u);
        break;
    case OP_SHL:
        set_int(a, y < 64 ? (int64_t)(x << y) : 0, a->is_unsigned);
        break;
    case OP_SHR:
        if (a->is_unsigned)
            set_int(a, y < 64 ? (int64_t)(x >> y) : 0, true);
        else
            set_int(a, a->bits >> (y < 64 ? y : 63), false);
        break;
    case OP_LT:
        set_int(a, less, false);
        break;
    case OP_LE:
        set_int(a, less || equal, false);
        break;
    case OP_GT:
        set_int(a, !less && !equal, false);
        break;
    case OP_GE:
        set_int(a, !less, false);
        break;
    case OP_EQ:
        set_int(a, equal, false);
        break;
    case OP_NE:
        set_int(a, !equal, false);
        break;
    case OP_AND:
        set_int(a, (int64_t)(x & y), u);
        break;
    case OP_XOR:
        set_int(a, (int64_t)(x ^ y), u);
        break;
    case OP_OR:
        set_int(a, (int64_t)(x | y), u);
        break;
    case OP_LAND:
        set_int(a, x && y, false);
        break;
    case OP_LOR:
        set_int(a, x || y, false);
        break;
    case OP_NONE:
        break;
    }
    return true;
}

/* Precedence climbing; the recursion is at most one frame per level of precedence between
 * parentheses. */
static bool parse_binary(struct ptx_parser *p, struct value *v, unsigned least)
{
    if (!parse_unary(p, v))
        return false;
    for (;;) {
        unsigned len;
        enum op op = peek_op(p, &len);
        struct value right;

        if (op == OP_NONE || precedence[op] < least)
            return true;
        p->pos += len;
        if (!parse_binary(p, &right, precedence[op] + 1u))
            return false;
        if (v->kind == WEIR_PTX_OPERAND_INT && right.kind == WEIR_PTX_OPERAND_INT) {
            if (!apply_int(p, op, v, &right))
                return false;
        } else if (!apply_float(p, op, v, &right)) {
            return false;
        }
    }
}

static bool parse_ternary(struct ptx_parser *p, struct value *v)
{
    struct value yes, no;
    bool ok;

    if (!parse_binary(p, v, 1))
        return false;
    if (!ptx_accept(p, '?'))
        return true;
    if (++p->depth > PTX_MAX_DEPTH)
        return ptx_fail(p, "an expression nested too deep");
    ok = parse_ternary(p, &yes) && ptx_expect(p, ':') && parse_ternary(p, &no);
    if (ok)
        *v = is_true(v) ? yes : no;
    p->depth--;
    return ok;
}

bool ptx_expr(struct ptx_parser *p, uint8_t *kind, int64_t *imm)
{
    struct value v = {0};

    if (!parse_ternary(p, &v))
        return false;
    *kind = v.kind;
    *imm = v.bits;
    return true;
}

bool ptx_expr_int(struct ptx_parser *p, int64_t *out, const char *what)
{
    uint8_t kind;

    if (!ptx_expr(p, &kind, out))
        return false;
    return kind == WEIR_PTX_OPERAND_INT || ptx_fail(p, "%s must be an integer", what);
}

bool ptx_expr_u64(struct ptx_parser *p, uint64_t *out, uint64_t limit, const char *what)
{
    int64_t v = 0;

    if (!ptx_expr_int(p, &v, what))
        return false;
    if ((uint64_t)v > limit)
        return ptx_fail(p, "%s is out of range", what);
    *out = (uint64_t)v;
    return true;
}

bool ptx_expr_u32(struct ptx_parser *p, uint32_t *out, uint64_t limit, const char *what)
{
    uint64_t v = 0;

    if (!ptx_expr_u64(p, &v, limit, what))
        return false;
    *out = (uint32_t)v;
    return true;
}
