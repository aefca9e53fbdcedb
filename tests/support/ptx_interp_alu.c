/* Integers, logic, comparisons and selections of the interpreter, from the pseudo-code of the PTX
 * ISA.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support/ptx_interp_int.h"

uint64_t interp_mask_bits(uint64_t v, unsigned bits)
{
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

int64_t interp_sign_extend(uint64_t v, unsigned bits)
{
    if (bits >= 64)
        return (int64_t)v;
    v = interp_mask_bits(v, bits);
    return v >> (bits - 1) & 1 ? (int64_t)(v | ~(((uint64_t)1 << bits) - 1)) : (int64_t)v;
}

/* High and low half of the product of two w-bit numbers. */
static void multiply(uint64_t a, uint64_t b, unsigned w, bool is_signed, uint64_t *lo, uint64_t *hi)
{
    if (is_signed) {
        __int128 p = (__int128)interp_sign_extend(a, w) * interp_sign_extend(b, w);

        *lo = interp_mask_bits((uint64_t)p, w);
        *hi = interp_mask_bits((uint64_t)(p >> w), w);
    } else {
        unsigned __int128 p = (unsigned __int128)a * b;

        *lo = interp_mask_bits((uint64_t)p, w);
        *hi = interp_mask_bits((uint64_t)(p >> w), w);
    }
}

static uint64_t saturate_s32(int64_t x)
{
    return (uint32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

struct operation {
    const struct weir_ptx_inst *i;
    enum weir_ptx_type type;
    unsigned w;
    bool s;
    uint64_t a, b, c;
    bool *carry;
    bool unknown;
};

/* a + b + in, or a + ~b + in; notes the carry when the instruction says .cc: after a subtraction it
 * says that nothing was borrowed, as nvcc's own code relies on where it reads it by addc */
static uint64_t add_with_carry(struct operation *o, uint64_t a, uint64_t b, bool in, bool subtract)
{
    unsigned __int128 x = interp_mask_bits(a, o->w), y = interp_mask_bits(subtract ? ~b : b, o->w);

    x += y + in;
    if (o->i->cc)
        *o->carry = x >> o->w != 0;
    return interp_mask_bits((uint64_t)x, o->w);
}

static uint64_t multiply_part(struct operation *o)
{
    uint64_t lo, hi;

    multiply(o->a, o->b, o->w, o->s, &lo, &hi);
    switch (o->i->sub) {
    case WEIR_PTX_HI_:
        return hi;
    case WEIR_PTX_WIDE:
        return o->w == 32 ? hi << 32 | lo : hi << 16 | lo;
    default:
        return lo;
    }
}

static uint64_t multiply_add(struct operation *o, bool carry_in)
{
    uint64_t p = multiply_part(o);

    if (o->i->sub == WEIR_PTX_WIDE)
        return interp_mask_bits(p + o->c, o->w * 2);
    if (o->i->sat && o->i->sub == WEIR_PTX_HI_)
        return saturate_s32(interp_sign_extend(p, 32) + interp_sign_extend(o->c, 32));
    return add_with_carry(o, p, o->c, carry_in, false);
}

static uint64_t multiply_24(struct operation *o, bool add)
{
    int64_t a = o->s ? interp_sign_extend(o->a, 24) : (int64_t)interp_mask_bits(o->a, 24);
    int64_t b = o->s ? interp_sign_extend(o->b, 24) : (int64_t)interp_mask_bits(o->b, 24);
    uint64_t p = (uint64_t)(a * b);

    p = o->i->sub == WEIR_PTX_HI_ ? interp_mask_bits(p >> 16, 32) : interp_mask_bits(p, 32);
    if (!add)
        return p;
    if (o->i->sat)
        return saturate_s32(interp_sign_extend(p, 32) + interp_sign_extend(o->c, 32));
    return interp_mask_bits(p + o->c, 32);
}

/* Division by zero is unspecified: all ones, and for rem the dividend. */
static uint64_t divide(struct operation *o, bool remainder)
{
    int64_t x = interp_sign_extend(o->a, o->w), y = interp_sign_extend(o->b, o->w);

    if (o->b == 0)
        return remainder ? o->a : interp_mask_bits(UINT64_MAX, o->w);
    if (!o->s)
        return remainder ? o->a % o->b : o->a / o->b;
    if (y == -1)
        return remainder ? 0 : interp_mask_bits(0 - (uint64_t)x, o->w);
    return interp_mask_bits((uint64_t)(remainder ? x % y : x / y), o->w);
}

static uint64_t shift(struct operation *o, bool left)
{
    uint64_t n = interp_mask_bits(o->b, 32);

    if (left)
        return n >= o->w ? 0 : interp_mask_bits(o->a << n, o->w);
    if (o->s)
        return interp_mask_bits(
            (uint64_t)(interp_sign_extend(o->a, o->w) >> (n >= o->w ? o->w - 1 : n)), o->w);
    return n >= o->w ? 0 : o->a >> n;
}

static uint64_t bit_at(uint64_t v, uint64_t n)
{
    return v >> n & 1;
}

static uint64_t bfe(struct operation *o)
{
    unsigned pos = o->b & 0xff, len = o->c & 0xff, msb = o->w - 1;
    uint64_t fill = !o->s || len == 0 ? 0 : bit_at(o->a, WEIR_MIN(pos + len - 1, msb)), d = 0;

    for (unsigned n = 0; n <= msb; n++)
        d |= (n < len && pos + n <= msb ? bit_at(o->a, pos + n) : fill) << n;
    return d;
}

static uint64_t bfi(struct operation *o, uint64_t length)
{
    unsigned pos = o->c & 0xff, len = length & 0xff;
    uint64_t d = o->b;

    for (unsigned n = 0; n < len && pos + n < o->w; n++) {
        d &= ~((uint64_t)1 << (pos + n));
        d |= bit_at(o->a, n) << (pos + n);
    }
    return d;
}

static uint64_t bfind(struct operation *o)
{
    uint64_t a = o->s && bit_at(o->a, o->w - 1) ? interp_mask_bits(~o->a, o->w) : o->a;

    for (int n = (int)o->w - 1; n >= 0; n--) {
        if (bit_at(a, (unsigned)n))
            return o->i->shiftamt ? o->w - 1 - (unsigned)n : (unsigned)n;
    }
    return 0xffffffff;
}

static uint64_t count_bits(struct operation *o, bool leading_zeros)
{
    uint64_t n = 0;

    if (!leading_zeros) {
        for (unsigned k = 0; k < o->w; k++)
            n += bit_at(o->a, k);
        return n;
    }
    while (n < o->w && !bit_at(o->a, o->w - 1 - n))
        n++;
    return n;
}

static uint64_t reverse(struct operation *o)
{
    uint64_t d = 0;

    for (unsigned n = 0; n < o->w; n++)
        d |= bit_at(o->a, n) << (o->w - 1 - n);
    return d;
}

static uint64_t fns(struct operation *o)
{
    int64_t pos = (int64_t)o->b, offset = interp_sign_extend(o->c, 32), count;

    if (offset == 0)
        return pos < 32 && bit_at(o->a, (uint64_t)pos) ? (uint64_t)pos : 0xffffffff;
    count = (offset < 0 ? -offset : offset) - 1;
    for (; pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1) {
        if (bit_at(o->a, (uint64_t)pos) && count-- == 0)
            return (uint64_t)pos;
    }
    return 0xffffffff;
}

static uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t d = 0;

    for (unsigned n = 0; n < 32; n++)
        d |= bit_at(table, bit_at(a, n) << 2 | bit_at(b, n) << 1 | bit_at(c, n)) << n;
    return d;
}

static uint64_t byte_of(uint64_t a, uint64_t b, uint64_t selector)
{
    uint64_t v = (b << 32 | a) >> (selector & 7) * 8 & 0xff;

    return selector & 8 ? (v & 0x80 ? 0xff : 0) : v;
}

static uint64_t prmt(struct operation *o)
{
    static const uint16_t f4e[] = {0x3210, 0x4321, 0x5432, 0x6543},
                          b4e[] = {0x5670, 0x6701, 0x7012, 0x0123},
                          rc8[] = {0x0000, 0x1111, 0x2222, 0x3333},
                          ecl[] = {0x3210, 0x3211, 0x3222, 0x3333},
                          ecr[] = {0x0000, 0x1110, 0x2210, 0x3210},
                          rc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
    unsigned n = o->c & 3;
    uint64_t sel = o->c, d = 0;

    switch (o->i->sub) {
    case WEIR_PTX_SUB_F4E:
        sel = f4e[n];
        break;
    case WEIR_PTX_SUB_B4E:
        sel = b4e[n];
        break;
    case WEIR_PTX_SUB_RC8:
        sel = rc8[n];
        break;
    case WEIR_PTX_SUB_ECL:
        sel = ecl[n];
        break;
    case WEIR_PTX_SUB_ECR:
        sel = ecr[n];
        break;
    case WEIR_PTX_SUB_RC16:
        sel = rc16[n];
        break;
    default:
        break;
    }
    for (unsigned k = 0; k < 4; k++)
        d |= byte_of(o->a, o->b, sel >> k * 4 & 15) << k * 8;
    return d;
}

static uint64_t funnel(struct operation *o, uint64_t amount)
{
    uint64_t n = o->i->clamp ? WEIR_MIN(amount, (uint64_t)32) : amount & 31, v = o->b << 32 | o->a;

    if (o->i->sub == WEIR_PTX_SUB_L)
        return n == 32 ? o->a : interp_mask_bits(v << n >> 32, 32);
    return n == 32 ? o->b : interp_mask_bits(v >> n, 32);
}

/* dp4a: four bytes; dp2a: two halves of a, two bytes of b */
static uint64_t dot(struct operation *o, bool two)
{
    bool sa = weir_ptx_type_is_signed((enum weir_ptx_type)o->i->type[0]);
    bool sb = weir_ptx_type_is_signed((enum weir_ptx_type)o->i->type[1]);
    unsigned base = two && o->i->sub == WEIR_PTX_HI_ ? 2 : 0, wa = two ? 16 : 8;
    int64_t sum = 0;

    for (unsigned k = 0; k < (two ? 2u : 4u); k++) {
        uint64_t x = interp_mask_bits(o->a >> k * wa, wa),
                 y = interp_mask_bits(o->b >> (base + k) * 8, 8);

        sum += (sa ? interp_sign_extend(x, wa) : (int64_t)x) *
               (sb ? interp_sign_extend(y, 8) : (int64_t)y);
    }
    return interp_mask_bits((uint64_t)sum + o->c, 32);
}

static uint64_t bmsk(struct operation *o)
{
    uint64_t a = o->i->clamp ? WEIR_MIN(o->a, (uint64_t)32) : o->a & 31;
    uint64_t b = o->i->clamp ? WEIR_MIN(o->b, (uint64_t)32) : o->b & 31;

    return interp_mask_bits((((uint64_t)1 << b) - 1) << a, 32);
}

static uint64_t szext(struct operation *o)
{
    uint64_t n = o->i->clamp ? WEIR_MIN(o->b, (uint64_t)32) : o->b & 31;

    if (n == 0)
        return 0;
    return o->s ? interp_mask_bits((uint64_t)interp_sign_extend(o->a, (unsigned)n), 32)
                : interp_mask_bits(o->a, (unsigned)n);
}

static uint64_t minmax(struct operation *o, bool max)
{
    bool less =
        o->s ? interp_sign_extend(o->a, o->w) < interp_sign_extend(o->b, o->w) : o->a < o->b;
    uint64_t r = less == max ? o->b : o->a;

    return o->i->relu && bit_at(r, o->w - 1) ? 0 : r;
}

static uint64_t add_sub(struct operation *o, bool subtract)
{
    if (o->i->sat) {
        int64_t x = interp_sign_extend(o->a, 32), y = interp_sign_extend(o->b, 32);

        return saturate_s32(subtract ? x - y : x + y);
    }
    return add_with_carry(o, o->a, o->b, subtract, subtract);
}

static uint64_t sad(struct operation *o)
{
    bool less =
        o->s ? interp_sign_extend(o->a, o->w) < interp_sign_extend(o->b, o->w) : o->a < o->b;

    return interp_mask_bits(o->c + (less ? o->b - o->a : o->a - o->b), o->w);
}

static uint64_t absolute(struct operation *o)
{
    return bit_at(o->a, o->w - 1) ? interp_mask_bits(0 - o->a, o->w) : o->a;
}

/* dispatch */
static uint64_t compute(struct thread *t, struct operation *o)
{
    const struct weir_ptx_inst *i = o->i;

    switch (i->opcode) {
    case WEIR_PTX_OP_add:
        return add_sub(o, false);
    case WEIR_PTX_OP_sub:
        return add_sub(o, true);
    case WEIR_PTX_OP_addc:
        return add_with_carry(o, o->a, o->b, *o->carry, false);
    case WEIR_PTX_OP_subc:
        return add_with_carry(o, o->a, o->b, *o->carry, true);
    case WEIR_PTX_OP_mul:
        return multiply_part(o);
    case WEIR_PTX_OP_mad:
        return multiply_add(o, false);
    case WEIR_PTX_OP_madc:
        return multiply_add(o, *o->carry);
    case WEIR_PTX_OP_mul24:
        return multiply_24(o, false);
    case WEIR_PTX_OP_mad24:
        return multiply_24(o, true);
    case WEIR_PTX_OP_div:
        return divide(o, false);
    case WEIR_PTX_OP_rem:
        return divide(o, true);
    case WEIR_PTX_OP_abs:
        return absolute(o);
    case WEIR_PTX_OP_neg:
        return interp_mask_bits(0 - o->a, o->w);
    case WEIR_PTX_OP_min:
        return minmax(o, false);
    case WEIR_PTX_OP_max:
        return minmax(o, true);
    case WEIR_PTX_OP_sad:
        return sad(o);
    case WEIR_PTX_OP_and:
        return o->a & o->b;
    case WEIR_PTX_OP_or:
        return o->a | o->b;
    case WEIR_PTX_OP_xor:
        return o->a ^ o->b;
    case WEIR_PTX_OP_not:
        return interp_mask_bits(~o->a, o->w);
    case WEIR_PTX_OP_cnot:
        return o->a == 0;
    case WEIR_PTX_OP_shl:
        return shift(o, true);
    case WEIR_PTX_OP_shr:
        return shift(o, false);
    case WEIR_PTX_OP_shf:
        return funnel(o, interp_read_operand(t, &i->operands[3], WEIR_PTX_U32).lo);
    case WEIR_PTX_OP_bfe:
        return bfe(o);
    case WEIR_PTX_OP_bfi:
        return bfi(o, interp_read_operand(t, &i->operands[4], WEIR_PTX_U32).lo);
    case WEIR_PTX_OP_bfind:
        return bfind(o);
    case WEIR_PTX_OP_brev:
        return reverse(o);
    case WEIR_PTX_OP_clz:
        return count_bits(o, true);
    case WEIR_PTX_OP_popc:
        return count_bits(o, false);
    case WEIR_PTX_OP_fns:
        return fns(o);
    case WEIR_PTX_OP_prmt:
        return prmt(o);
    case WEIR_PTX_OP_dp4a:
        return dot(o, false);
    case WEIR_PTX_OP_dp2a:
        return dot(o, true);
    case WEIR_PTX_OP_bmsk:
        return bmsk(o);
    case WEIR_PTX_OP_szext:
        return szext(o);
    default:
        o->unknown = true;
        return 0;
    }
}

/* Type of the n-th operand of an integer instruction whose operands are not all of the
 * instruction's type. */
static enum weir_ptx_type operand_type(const struct weir_ptx_inst *i, unsigned n)
{
    enum weir_ptx_type t = (enum weir_ptx_type)i->type[0];

    switch (i->opcode) {
    case WEIR_PTX_OP_shl:
    case WEIR_PTX_OP_shr:
    case WEIR_PTX_OP_szext:
        return n == 2 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_bfe:
        return n >= 2 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_bfi:
        return n >= 3 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_bfind:
    case WEIR_PTX_OP_clz:
    case WEIR_PTX_OP_popc:
        return n == 0 ? WEIR_PTX_U32 : t;
    case WEIR_PTX_OP_fns:
    case WEIR_PTX_OP_bmsk:
    case WEIR_PTX_OP_dp2a:
    case WEIR_PTX_OP_dp4a:
        return WEIR_PTX_U32;
    case WEIR_PTX_OP_mul:
    case WEIR_PTX_OP_mad:
        if (i->sub == WEIR_PTX_WIDE && (n == 0 || n == 3))
            return weir_ptx_type_bits(t) == 16 ? WEIR_PTX_U32 : WEIR_PTX_U64;
        return t;
    default:
        return t;
    }
}

static bool run_integer(struct thread *t, const struct weir_ptx_inst *i)
{
    struct operation o = {.i = i, .type = (enum weir_ptx_type)i->type[0], .carry = &t->top->carry};
    uint64_t r;

    if (i->operand_count < 2)
        return interp_unsupported(t, i);
    o.w = weir_ptx_type_bits(o.type);
    o.s = weir_ptx_type_is_signed(o.type);
    o.a = interp_read_operand(t, &i->operands[1], operand_type(i, 1)).lo;
    if (i->operand_count > 2)
        o.b = interp_read_operand(t, &i->operands[2], operand_type(i, 2)).lo;
    if (i->operand_count > 3)
        o.c = interp_read_operand(t, &i->operands[3], operand_type(i, 3)).lo;
    if (o.type == WEIR_PTX_U16X2 || o.type == WEIR_PTX_S16X2) {
        struct operation lo = o, hi = o;

        lo.w = hi.w = 16;
        lo.a &= 0xffff;
        lo.b &= 0xffff;
        hi.a >>= 16;
        hi.b >>= 16;
        r = interp_mask_bits(compute(t, &lo), 16) | interp_mask_bits(compute(t, &hi), 16) << 16;
        o.unknown = lo.unknown;
    } else {
        r = compute(t, &o);
    }
    if (o.unknown)
        return interp_unsupported(t, i);
    interp_write_operand(t, &i->operands[0], (struct bits){r, 0}, operand_type(i, 0));
    return true;
}

/* ---- comparisons ---- */

static bool compare_floats(enum weir_ptx_cmp cmp, double x, double y)
{
    bool unordered = x != x || y != y;

    switch (cmp) {
    case WEIR_PTX_EQ:
        return x == y;
    case WEIR_PTX_NE:
        return !unordered && x != y;
    case WEIR_PTX_LT:
        return x < y;
    case WEIR_PTX_LE:
        return x <= y;
    case WEIR_PTX_GT:
        return x > y;
    case WEIR_PTX_GE:
        return x >= y;
    case WEIR_PTX_EQU:
        return unordered || x == y;
    case WEIR_PTX_NEU:
        return unordered || x != y;
    case WEIR_PTX_LTU:
        return unordered || x < y;
    case WEIR_PTX_LEU:
        return unordered || x <= y;
    case WEIR_PTX_GTU:
        return unordered || x > y;
    case WEIR_PTX_GEU:
        return unordered || x >= y;
    case WEIR_PTX_NUM:
        return !unordered;
    case WEIR_PTX_NAN:
        return unordered;
    default:
        return false;
    }
}

bool interp_alu_compare(enum weir_ptx_cmp cmp, enum weir_ptx_type type, uint64_t a, uint64_t b,
                        bool ftz)
{
    unsigned w = weir_ptx_type_bits(type);
    bool s = weir_ptx_type_is_signed(type), less, equal = a == b;

    if (weir_ptx_type_is_float(type)) {
        if (ftz) {
            a = interp_float_flush(a, type);
            b = interp_float_flush(b, type);
        }
        return compare_floats(cmp, interp_float_to_double(a, type),
                              interp_float_to_double(b, type));
    }
    less = s ? interp_sign_extend(a, w) < interp_sign_extend(b, w) : a < b;
    switch (cmp) {
    case WEIR_PTX_EQ:
        return equal;
    case WEIR_PTX_NE:
        return !equal;
    case WEIR_PTX_LT:
        return less;
    case WEIR_PTX_LE:
        return less || equal;
    case WEIR_PTX_GT:
        return !less && !equal;
    case WEIR_PTX_GE:
        return !less;
    case WEIR_PTX_LO:
        return a < b;
    case WEIR_PTX_LS:
        return a <= b;
    case WEIR_PTX_HI:
        return a > b;
    case WEIR_PTX_HS:
        return a >= b;
    default:
        return false;
    }
}

static bool combine(struct thread *t, const struct weir_ptx_inst *i, bool r, unsigned n)
{
    bool c;

    if (i->boolop == WEIR_PTX_BOOL_NONE)
        return r;
    c = interp_read_predicate(t, &i->operands[n]);
    return i->boolop == WEIR_PTX_BOOL_AND  ? r && c
           : i->boolop == WEIR_PTX_BOOL_OR ? r || c
                                           : r != c;
}

static enum weir_ptx_type half_type(enum weir_ptx_type type)
{
    return type == WEIR_PTX_F16X2 ? WEIR_PTX_F16 : WEIR_PTX_BF16;
}

static void run_setp(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    enum weir_ptx_cmp cmp = (enum weir_ptx_cmp)i->cmp;
    uint64_t a = interp_read_operand(t, &i->operands[1], type).lo,
             b = interp_read_operand(t, &i->operands[2], type).lo;
    bool p, q;

    if (type == WEIR_PTX_F16X2 || type == WEIR_PTX_BF16X2) { /* p: low halves, q: high halves */
        p = combine(t, i, interp_alu_compare(cmp, half_type(type), a & 0xffff, b & 0xffff, i->ftz),
                    3);
        q = combine(t, i, interp_alu_compare(cmp, half_type(type), a >> 16, b >> 16, i->ftz), 3);
    } else {
        bool r = interp_alu_compare(cmp, type, a, b, i->ftz);

        p = combine(t, i, r, 3);
        q = combine(t, i, !r, 3);
    }
    if (i->operands[0].kind == WEIR_PTX_OPERAND_REG)
        interp_write_predicate(t, i->operands[0].reg, p);
    if (i->operands[0].pred_reg >= 0)
        interp_write_predicate(t, i->operands[0].pred_reg, q);
}

static bool run_set(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type d = (enum weir_ptx_type)i->type[0], type = (enum weir_ptx_type)i->type[1];
    uint64_t a = interp_read_operand(t, &i->operands[1], type).lo,
             b = interp_read_operand(t, &i->operands[2], type).lo;
    bool r;

    if (type == WEIR_PTX_F16X2 || type == WEIR_PTX_BF16X2) {
        uint64_t one = weir_ptx_type_is_float(d)
                           ? interp_float_from_double(1.0, half_type(type), WEIR_PTX_RN, false)
                           : 0xffff;
        bool lo = combine(t, i,
                          interp_alu_compare((enum weir_ptx_cmp)i->cmp, half_type(type), a & 0xffff,
                                             b & 0xffff, i->ftz),
                          3);
        bool hi = combine(t, i,
                          interp_alu_compare((enum weir_ptx_cmp)i->cmp, half_type(type), a >> 16,
                                             b >> 16, i->ftz),
                          3);

        a = (lo ? one : 0) | (hi ? one : 0) << 16;
        interp_write_operand(t, &i->operands[0], (struct bits){a, 0}, WEIR_PTX_B32);
        return true;
    }
    r = combine(t, i, interp_alu_compare((enum weir_ptx_cmp)i->cmp, type, a, b, i->ftz), 3);
    if (weir_ptx_type_is_float(d))
        a = r ? interp_float_from_double(1.0, d, WEIR_PTX_RN, false) : 0;
    else
        a = r ? interp_mask_bits(UINT64_MAX, weir_ptx_type_bits(d)) : 0;
    interp_write_operand(t, &i->operands[0], (struct bits){a, 0}, d);
    return true;
}

static bool run_testp(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    uint64_t v = interp_read_operand(t, &i->operands[1], type).lo;
    unsigned mant = type == WEIR_PTX_F32 ? 23 : 52;
    uint64_t inf = type == WEIR_PTX_F32 ? 0x7f800000 : 0x7ff0000000000000,
             m = interp_mask_bits(v, type == WEIR_PTX_F32 ? 31 : 63);
    bool r = false;

    switch (i->sub) {
    case WEIR_PTX_SUB_FINITE:
        r = m < inf;
        break;
    case WEIR_PTX_SUB_INFINITE:
        r = m == inf;
        break;
    case WEIR_PTX_SUB_NUMBER:
        r = m <= inf;
        break;
    case WEIR_PTX_SUB_NOTANUMBER:
        r = m > inf;
        break;
    case WEIR_PTX_SUB_NORMAL:
        r = m == 0 || (m >> mant != 0 && m < inf); /* zero too: measured */
        break;
    case WEIR_PTX_SUB_SUBNORMAL:
        r = m != 0 && m >> mant == 0;
        break;
    default:
        return interp_unsupported(t, i);
    }
    interp_write_predicate(t, i->operands[0].reg, r);
    return true;
}

static void run_lop3(struct thread *t, const struct weir_ptx_inst *i)
{
    const struct weir_ptx_operand *o = i->operands;
    uint64_t r = lop3(interp_read_operand(t, &o[1], WEIR_PTX_B32).lo,
                      interp_read_operand(t, &o[2], WEIR_PTX_B32).lo,
                      interp_read_operand(t, &o[3], WEIR_PTX_B32).lo,
                      interp_read_operand(t, &o[4], WEIR_PTX_B32).lo);

    if (i->boolop && o[0].pred_reg >= 0)
        interp_write_predicate(t, o[0].pred_reg, combine(t, i, r != 0, 5));
    interp_write_operand(t, &o[0], (struct bits){r, 0}, WEIR_PTX_B32);
}

static void run_select(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0], by = (enum weir_ptx_type)i->type[1];
    bool first;

    if (i->opcode == WEIR_PTX_OP_selp)
        first = interp_read_predicate(t, &i->operands[3]);
    else /* slct: c >= 0, and -0 is; NaN is not */
        first = interp_alu_compare(WEIR_PTX_GE, by, interp_read_operand(t, &i->operands[3], by).lo,
                                   0, i->ftz);
    interp_write_operand(t, &i->operands[0],
                         interp_read_operand(t, &i->operands[first ? 1 : 2], type), type);
}

static bool run_predicate_logic(struct thread *t, const struct weir_ptx_inst *i)
{
    bool a = interp_read_predicate(t, &i->operands[1]),
         b = i->operand_count > 2 && interp_read_predicate(t, &i->operands[2]), r;

    switch (i->opcode) {
    case WEIR_PTX_OP_and:
        r = a && b;
        break;
    case WEIR_PTX_OP_or:
        r = a || b;
        break;
    case WEIR_PTX_OP_xor:
        r = a != b;
        break;
    case WEIR_PTX_OP_not:
        r = !a;
        break;
    case WEIR_PTX_OP_mov:
        r = a;
        break;
    default:
        return interp_unsupported(t, i);
    }
    interp_write_predicate(t, i->operands[0].reg, r);
    return true;
}

static bool run_mov(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    const struct weir_ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    unsigned w = weir_ptx_type_bits(type);
    struct bits v = {0, 0};

    if (i->vec)
        return interp_unsupported(t, i);
    if (s->kind == WEIR_PTX_OPERAND_VECTOR) {
        unsigned part = w / s->count;
        static const enum weir_ptx_type types[] = {WEIR_PTX_B8, WEIR_PTX_B16, WEIR_PTX_B32,
                                                   WEIR_PTX_B64};
        enum weir_ptx_type pt = types[part == 8 ? 0 : part == 16 ? 1 : part == 32 ? 2 : 3];

        for (unsigned k = 0; k < s->count; k++) {
            uint64_t e = interp_read_operand(t, &s->elements[k], pt).lo;

            if (k * part < 64)
                v.lo |= e << k * part;
            else
                v.hi |= e << (k * part - 64);
        }
    } else {
        v = interp_read_operand(t, s, type);
    }
    if (d->kind != WEIR_PTX_OPERAND_VECTOR) {
        interp_write_operand(t, d, v, type);
        return true;
    }
    for (unsigned k = 0; k < d->count; k++) {
        unsigned part = w / d->count, at = k * part;
        struct bits e = {interp_mask_bits(at < 64 ? v.lo >> at : v.hi >> (at - 64), part), 0};

        interp_write_operand(t, &d->elements[k], e,
                             part == 64   ? WEIR_PTX_B64
                             : part == 32 ? WEIR_PTX_B32
                             : part == 16 ? WEIR_PTX_B16
                                          : WEIR_PTX_B8);
    }
    return true;
}

/* ---- video instructions on 2 or 4 parts of a register, without selectors ---- */

static bool simd_part(const struct weir_ptx_inst *i, unsigned w, uint64_t x, uint64_t y, int64_t *r)
{
    bool sx = weir_ptx_type_is_signed((enum weir_ptx_type)i->type[1]),
         sy = weir_ptx_type_is_signed((enum weir_ptx_type)i->type[2]);
    int64_t a = sx ? interp_sign_extend(x, w) : (int64_t)x,
            b = sy ? interp_sign_extend(y, w) : (int64_t)y;

    switch (i->opcode) {
    case WEIR_PTX_OP_vadd2:
    case WEIR_PTX_OP_vadd4:
        *r = a + b;
        return true;
    case WEIR_PTX_OP_vsub2:
    case WEIR_PTX_OP_vsub4:
        *r = a - b;
        return true;
    case WEIR_PTX_OP_vavrg2:
    case WEIR_PTX_OP_vavrg4:
        *r = (a + b + (a + b >= 0)) >> 1;
        return true;
    case WEIR_PTX_OP_vabsdiff2:
    case WEIR_PTX_OP_vabsdiff4:
        *r = a > b ? a - b : b - a;
        return true;
    case WEIR_PTX_OP_vmin2:
    case WEIR_PTX_OP_vmin4:
        *r = a < b ? a : b;
        return true;
    case WEIR_PTX_OP_vmax2:
    case WEIR_PTX_OP_vmax4:
        *r = a > b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool run_simd(struct thread *t, const struct weir_ptx_inst *i, unsigned w)
{
    bool sd = weir_ptx_type_is_signed((enum weir_ptx_type)i->type[0]);
    int64_t high = sd ? ((int64_t)1 << (w - 1)) - 1 : ((int64_t)1 << w) - 1,
            low = sd ? -high - 1 : 0;
    uint64_t a, b, c, d = 0;
    int64_t sum = 0;

    if (i->operand_count != 4 || (i->sub != WEIR_PTX_SUB_NONE && i->sub != WEIR_PTX_SUB_ADD))
        return interp_unsupported(t, i);
    for (unsigned n = 0; n < 4; n++) {
        if (i->operands[n].kind == WEIR_PTX_OPERAND_REG && i->operands[n].imm)
            return interp_unsupported(t, i);
    }
    a = interp_read_operand(t, &i->operands[1], WEIR_PTX_U32).lo;
    b = interp_read_operand(t, &i->operands[2], WEIR_PTX_U32).lo;
    c = interp_read_operand(t, &i->operands[3], WEIR_PTX_U32).lo;
    for (unsigned at = 0; at < 32; at += w) {
        int64_t r;

        if (!simd_part(i, w, interp_mask_bits(a >> at, w), interp_mask_bits(b >> at, w), &r))
            return interp_unsupported(t, i);
        sum += r;
        if (i->sat)
            r = r > high ? high : r < low ? low : r;
        d |= interp_mask_bits((uint64_t)r, w) << at;
    }
    if (i->sub == WEIR_PTX_SUB_ADD)
        d = interp_mask_bits((uint64_t)sum + c, 32);
    interp_write_operand(t, &i->operands[0], (struct bits){d, 0}, WEIR_PTX_U32);
    return true;
}

static unsigned simd_width(unsigned opcode)
{
    switch (opcode) {
    case WEIR_PTX_OP_vadd2:
    case WEIR_PTX_OP_vsub2:
    case WEIR_PTX_OP_vavrg2:
    case WEIR_PTX_OP_vabsdiff2:
    case WEIR_PTX_OP_vmin2:
    case WEIR_PTX_OP_vmax2:
        return 16;
    case WEIR_PTX_OP_vadd4:
    case WEIR_PTX_OP_vsub4:
    case WEIR_PTX_OP_vavrg4:
    case WEIR_PTX_OP_vabsdiff4:
    case WEIR_PTX_OP_vmin4:
    case WEIR_PTX_OP_vmax4:
        return 8;
    default:
        return 0;
    }
}

bool interp_alu(struct thread *t, const struct weir_ptx_inst *i)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];

    if (type == WEIR_PTX_PRED)
        return run_predicate_logic(t, i);
    if (simd_width(i->opcode))
        return run_simd(t, i, simd_width(i->opcode));
    switch (i->opcode) {
    case WEIR_PTX_OP_mov:
        return run_mov(t, i);
    case WEIR_PTX_OP_cvt:
        return interp_cvt(t, i);
    case WEIR_PTX_OP_setp:
        run_setp(t, i);
        return true;
    case WEIR_PTX_OP_set:
        return run_set(t, i);
    case WEIR_PTX_OP_selp:
    case WEIR_PTX_OP_slct:
        run_select(t, i);
        return true;
    case WEIR_PTX_OP_testp:
        return run_testp(t, i);
    case WEIR_PTX_OP_lop3:
        run_lop3(t, i);
        return true;
    default:
        return weir_ptx_type_is_float(type) ? interp_float(t, i) : run_integer(t, i);
    }
}

/* ---- atomics ---- */

/* min and max of halves, one or two of them */
static bool atomic_half(const struct weir_ptx_inst *i, uint64_t old, uint64_t b, uint64_t *out)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    bool bf = type == WEIR_PTX_BF16 || type == WEIR_PTX_BF16X2, max = i->sub == WEIR_PTX_SUB_MAX;
    unsigned w = weir_ptx_type_bits(type);

    if (type == WEIR_PTX_F32 || type == WEIR_PTX_F64 || (!max && i->sub != WEIR_PTX_SUB_MIN))
        return false;
    *out = 0;
    for (unsigned k = 0; k < w; k += 16)
        *out |= interp_float_minmax(i, bf ? WEIR_PTX_BF16 : WEIR_PTX_F16, max, old >> k & 0xffff,
                                    b >> k & 0xffff)
                << k;
    return true;
}

bool interp_alu_atomic(const struct weir_ptx_inst *i, uint64_t old, uint64_t b, uint64_t c,
                       bool flush, uint64_t *out)
{
    enum weir_ptx_type type = (enum weir_ptx_type)i->type[0];
    unsigned w = weir_ptx_type_bits(type);
    bool s = weir_ptx_type_is_signed(type),
         less = s ? interp_sign_extend(b, w) < interp_sign_extend(old, w) : b < old;

    if (weir_ptx_type_is_float(type)) {
        if (i->sub != WEIR_PTX_SUB_ADD)
            return atomic_half(i, old, b, out);
        *out = interp_float_add(type, old, b, flush && type == WEIR_PTX_F32);
        return true;
    }
    switch (i->sub) {
    case WEIR_PTX_SUB_AND:
        *out = old & b;
        return true;
    case WEIR_PTX_SUB_OR:
        *out = old | b;
        return true;
    case WEIR_PTX_SUB_XOR:
        *out = old ^ b;
        return true;
    case WEIR_PTX_SUB_ADD:
        *out = interp_mask_bits(old + b, w);
        return true;
    case WEIR_PTX_SUB_INC:
        *out = old >= b ? 0 : old + 1;
        return true;
    case WEIR_PTX_SUB_DEC:
        *out = old == 0 || old > b ? b : old - 1;
        return true;
    case WEIR_PTX_SUB_MIN:
        *out = less ? b : old;
        return true;
    case WEIR_PTX_SUB_MAX:
        *out = less ? old : b;
        return true;
    case WEIR_PTX_SUB_EXCH:
        *out = b;
        return true;
    case WEIR_PTX_SUB_CAS:
        *out = old == b ? c : old;
        return true;
    default:
        return false;
    }
}
