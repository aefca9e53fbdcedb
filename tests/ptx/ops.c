/* The opcode suite: rows are put together into kernels of some instructions each, which read their
 * operands from memory and store their results; each row runs with operands that differ by lane,
 * that are the same for all lanes, and with a literal as last operand; on edge values and random
 * ones; with all lanes, and with some that left by a branch or that a guard leaves out. Batches
 * take turns in block shapes and in the vectors that code is made for; with -a each has them all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/answers.h"
#include "ptx/harness.h"

#define BATCH           12
#define BATCH_BEST      4   /* what the best tier takes for a kernel grows faster than the kernel */
#define SAMPLES         519 /* not a multiple of a warp */
#define UNIFORMS        48
#define UNIFORM_THREADS 33
#define LITERALS        1
#define OUT_BYTES       ((size_t)BATCH * (1 + LITERALS) * SAMPLES * 8)
#define UNTOUCHED       0xcc /* bytes of results that nothing stored */

/* One PTX type of an operand. */
struct type {
    const char *name;
    unsigned bits;
    char reg;           /* p h r l f d */
    const char *memory; /* suffix for ld and st */
};
static const struct type types[] = {
    {"pred", 1, 'p', "u32"},  {"u8", 8, 'h', "u8"},    {"s8", 8, 'h', "s8"},
    {"b16", 16, 'h', "b16"},  {"u16", 16, 'h', "b16"}, {"s16", 16, 'h', "b16"},
    {"f16", 16, 'h', "b16"},  {"b32", 32, 'r', "b32"}, {"u32", 32, 'r', "b32"},
    {"s32", 32, 'r', "b32"},  {"b64", 64, 'l', "b64"}, {"u64", 64, 'l', "b64"},
    {"s64", 64, 'l', "b64"},  {"f32", 32, 'f', "f32"}, {"f64", 64, 'd', "f64"},
    {"bf16", 16, 'h', "b16"},
};

struct parsed {
    const struct op *op;
    const struct type *dst, *src[4];
    int src_count;
    uint64_t literals[LITERALS]; /* of the last operand */
    bool has_literals;
};

static const struct type *find_type(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0)
            return &types[i];
    }
    fprintf(stderr, "bad type in the table: %.*s\n", (int)n, s);
    exit(1);
}

static uint64_t mask_of(const struct type *t)
{
    return t->bits == 64 ? UINT64_MAX : (UINT64_C(1) << t->bits) - 1;
}

/* ---- operand values ---- */

static const uint64_t edges32f[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
    0x7f812345, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff,
    0xff7fffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x40490fdb, 0x3f7fffff,
    0x3f800001, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000,
    0xdf000000, 0x5f800000, 0x43000000, 0xc3008000, 0x437f8000, 0x47000000, 0x477fff80, 0x477ff000,
    0x38800000, 0x33800000, 0x33000000, 0x4b800001, 0x00400000,
};
static const uint64_t edges64f[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000001234,
    0x7ff0000000000001, 0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x3fe0000000000000, 0x3ff8000000000000,
    0xc004000000000000, 0x4004000000000000, 0x41dfffffffc00000, 0x41e0000000000000,
    0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000,
    0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x43dfffffffffffff,
    0x380fffffe0000000, 0x36a0000000000000, 0x3690000000000000, 0x380ffffffffffff8,
    0x47efffffe0000000, 0x47effffff0000000, 0x3ff0000010000000, 0x3ff0000030000000,
    0x40f0000000000000, 0x3f10000000000000, 0x3e70000000000000, 0x4330000000000001,
    0x400921fb54442d18,
};
static const uint64_t edges_int[] = {
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffff,
    0x800000,
    0xffffff,
    0x7fffffff,
    0x80000000,
    0x80000001,
    0xfffffffe,
    0xffffffff,
    0x100000000,
    0x3210,
    0x7654,
    0x89abcdef,
    0x0123456789abcdef,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xfffffffffffffffe,
    0xffffffffffffffff,
    0xaaaaaaaaaaaaaaaa,
    0x5555555555555555,
    0x1000001,
    0x20000000000001,
    0xffffff8000000000,
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t random_float(struct rng *r, unsigned bits)
{
    uint64_t x = rng_next(r);
    unsigned exponent_bits = bits == 64   ? 11
                             : bits == 32 ? 8
                                          : 5,
             fraction_bits = bits - 1 - exponent_bits;
    uint64_t bias = (UINT64_C(1) << (exponent_bits - 1)) - 1;

    if (x % 3 == 0)
        return rng_next(r); /* any bits */
    /* near one, so that sums and products meet */
    x = rng_next(r);
    return (x & (UINT64_C(1) << (bits - 1))) | (bias + (x >> 56) % 12 - 6) << fraction_bits |
           (rng_next(r) & ((UINT64_C(1) << fraction_bits) - 1));
}

static bool is_bf16(const struct type *t)
{
    return strcmp(t->name, "bf16") == 0;
}

static const uint64_t edges_bf16[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x3f80, 0xbf80, 0x3f81, 0x3fc0, 0x3fff,
    0x4000, 0x4300, 0xc301, 0x4f00, 0xcf00, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffd5,
};

static uint64_t edge_value(const struct type *t, uint64_t n)
{
    if (is_bf16(t))
        return edges_bf16[n % COUNT(edges_bf16)];
    if (t->reg == 'f')
        return edges32f[n % COUNT(edges32f)];
    if (t->reg == 'd')
        return edges64f[n % COUNT(edges64f)];
    return edges_int[n % COUNT(edges_int)];
}

static uint64_t random_value(const struct type *t, struct rng *r)
{
    uint64_t x = rng_next(r);

    if (t->reg == 'p')
        return x & 1;
    if (x % 2)
        return edge_value(t, x >> 8) & mask_of(t);
    if (t->reg == 'f' || t->reg == 'd' || strcmp(t->name, "f16") == 0)
        return random_float(r, t->bits) & mask_of(t);
    if (is_bf16(t))
        return random_float(r, 32) >> 16 & mask_of(t);
    x = rng_next(r);
    return (x % 4 == 0 ? rng_next(r) >> (x >> 8) % 64 : rng_next(r)) &
           mask_of(t); /* also small numbers */
}

/* Operands that meet: results that are subnormal before rounding and the least normal number after
 * it. */
static const uint64_t meetings[][3] = {
    {0x20000001, 0x1ffffffe, 0x80000000}, {0xa0000001, 0x1ffffffe, 0x00000000},
    {0x1ffffffe, 0x20000001, 0x00000000}, {0x00800000, 0x3f7fffff, 0x00000000},
    {0x00800001, 0x80800000, 0x00800000}, {0x3f800000, 0x7f000000, 0x80000001},
};

/* Products in the middle between two numbers, and what tells to which side. */
static const uint64_t middles[][3] = {
    {0x3f81, 0x3fc0, 0x0001}, {0x3f81, 0x3fc0, 0x8001}, {0x3f83, 0x3fc0, 0x0080},
    {0x3f83, 0x3fc0, 0x8080}, {0xbf81, 0x3fc0, 0x0001}, {0xbf83, 0x3fc0, 0x8001},
};

/* Operand `which` of sample `n`: edges against edges first, then random. */
static uint64_t sample_value(const struct parsed *p, int which, uint64_t n, struct rng *r)
{
    const struct type *t = p->src[which];

    if (p->src_count == 1 && n < 64 && t->reg != 'p')
        return edge_value(t, n) & mask_of(t);
    if (p->src_count > 1 && t->reg == 'f' && which < 3 && n < COUNT(meetings))
        return meetings[n][which];
    if (p->src_count > 1 && is_bf16(t) && which < 3 && n < COUNT(middles))
        return middles[n][which];
    if (strncmp(p->op->name, "bf", 2) == 0 && which > 0 && strcmp(t->name, "u32") == 0 && n % 8)
        return random_value(t, r) & 0xff; /* positions and lengths of fields are bytes */
    return random_value(t, r);
}

/* Lanes, by the 32 bits of a mask, over and over: those that do not leave before the row, and those
 * where guards hold. */
struct lanes {
    uint32_t here, guard;
};
static const struct lanes all_lanes = {UINT32_MAX, UINT32_MAX};

static bool in_lanes(uint32_t mask, size_t n)
{
    return mask >> n % 32 & 1;
}

/* Of the kernels. */
struct params {
    uint64_t in, out;
    uint32_t index;
    struct lanes lanes;
};

struct batch {
    enum target target;
    const struct parsed *rows;
    int count;
    int turn;             /* its number: which shapes and vectors it has */
    bool answered;        /* all lanes have run once */
    struct params params; /* of the last launch */
    unsigned bad[BATCH];  /* reports of a row and target */
    struct answer answers[BATCH];
    uint64_t *in, *out;
};

/* ---- text ---- */

static void literal(struct text *t, const struct type *type, uint64_t x)
{
    if (type->reg == 'f')
        text_add(t, "0f%08llX", (unsigned long long)(x & 0xffffffff));
    else if (type->reg == 'd')
        text_add(t, "0d%016llX", (unsigned long long)x);
    else if (type->name[0] == 's')
        text_add(t, "%lld", (long long)((int64_t)(x << (64 - type->bits)) >> (64 - type->bits)));
    else
        text_add(t, "0x%llx", (unsigned long long)x);
}

/* Of two neighbours in a batch one has a guard before its instruction with a literal, in the other
 * tier the other one. */
static bool has_guard(enum target t, int slot)
{
    return (slot & 1) == (t == TARGET_BEST);
}

/* The instruction with operands put in. Registers: d<slot> for the result, s<slot>_<i> for sources.
 */
static void instruction(struct text *t, const struct parsed *p, int slot, const uint64_t *last)
{
    char fallback[200];
    const char *code = p->op->code;

    if (!code) {
        static const char *const lists[] = {"", "$d, $a", "$d, $a, $b", "$d, $a, $b, $c",
                                            "$d, $a, $b, $c, $e"};

        snprintf(fallback, sizeof fallback, "%s %s;", p->op->name, lists[p->src_count]);
        code = fallback;
    }
    for (; *code; code++) {
        const char *which = "abce";
        int i;

        if (*code != '$') {
            text_add(t, "%c", *code);
            continue;
        }
        code++;
        if (*code == 'd') {
            text_add(t, "d%d", slot);
            continue;
        }
        i = (int)(strchr(which, *code) - which);
        if (last && i == p->src_count - 1)
            literal(t, p->src[i], *last);
        else
            text_add(t, "s%d_%d", slot, i);
    }
    text_add(t, "\n");
}

static const char *register_type(const struct type *t)
{
    switch (t->reg) {
    case 'p':
        return "pred";
    case 'h':
        return "b16";
    case 'r':
        return "b32";
    case 'l':
        return "b64";
    case 'f':
        return "f32";
    default:
        return "f64";
    }
}

/* One row's loads, instruction (variants: with registers, then with each literal) and stores. */
static void row_text(struct text *t, const struct parsed *p, int slot, int n, bool guard)
{
    int variants = p->has_literals ? 1 + LITERALS : 1;

    text_add(t, "    { .reg .%s d%d;\n", register_type(p->dst), slot);
    for (int i = 0; i < p->src_count; i++) {
        const struct type *s = p->src[i];
        unsigned long long at = ((unsigned long long)slot * 4 + (unsigned)i) * (unsigned)n * 8;

        text_add(t, "    .reg .%s s%d_%d;\n", register_type(s), slot, i);
        if (s->reg == 'p')
            text_add(t, "    ld.global.u32 t, [in + %llu]; setp.ne.u32 s%d_%d, t, 0;\n", at, slot,
                     i);
        else
            text_add(t, "    ld.global.%s s%d_%d, [in + %llu];\n", s->memory, slot, i, at);
    }
    for (int v = 0; v < variants; v++) {
        unsigned long long at =
            ((unsigned long long)slot * (1 + LITERALS) + (unsigned)v) * (unsigned)n * 8;

        text_add(t, v && guard ? "    @g " : "    ");
        instruction(t, p, slot, v ? &p->literals[v - 1] : NULL);
        if (p->dst->reg == 'p')
            text_add(t, "    selp.u32 t, 1, 0, d%d; st.global.u32 [out + %llu], t;\n", slot, at);
        else
            text_add(t, "    st.global.%s [out + %llu], d%d;\n", p->dst->memory, at, slot);
    }
    text_add(t, "    }\n");
}

static void batch_text(struct text *t, const struct batch *b, int n)
{
    static const char *const heads[] = {
        /* each thread its own operands; some leave */
        "    mov.u32 v, %%ctaid.x; mad.lo.s32 t, v, u, t;\n"
        "    ld.param.u32 u, [index]; setp.ge.u32 p, t, u; @p bra DONE;\n"
        "    ld.param.u32 u, [here]; and.b32 v, t, 31; shr.u32 u, u, v; and.b32 u, u, 1;\n"
        "    setp.eq.u32 p, u, 0; @p bra DONE;\n"
        "    ld.param.u32 u, [guard]; shr.u32 u, u, v; and.b32 u, u, 1; setp.ne.u32 g, u, 0;\n"
        "    mul.wide.u32 x, t, 8; add.s64 in, in, x; add.s64 out, out, x;\n",
        /* operands of one index for all, results by thread */
        "    mul.wide.u32 x, t, 8; add.s64 out, out, x;\n"
        "    ld.param.u32 t, [index]; mul.wide.u32 x, t, 8; add.s64 in, in, x;\n",
    };

    text_add(t, ".version 8.6\n.target sm_90\n.address_size 64\n");
    for (int k = 0; k < 2; k++) {
        text_add(t,
                 ".visible .entry %s(.param .u64 pin, .param .u64 pout, .param .u32 index,\n"
                 "    .param .u32 here, .param .u32 guard)\n{\n",
                 k ? "uni" : "vary");
        text_add(t, "    .reg .pred p, g; .reg .b32 t, u, v; .reg .b64 in, out, x;\n");
        text_add(t, "    ld.param.u64 in, [pin]; ld.param.u64 out, [pout];\n");
        text_add(t, "    cvta.to.global.u64 in, in; cvta.to.global.u64 out, out;\n");
        text_add(t, "    mov.u32 t, %%tid.z; mov.u32 u, %%ntid.y; mov.u32 v, %%tid.y; "
                    "mad.lo.s32 t, t, u, v;\n"
                    "    mov.u32 u, %%ntid.x; mov.u32 v, %%tid.x; mad.lo.s32 t, t, u, v;\n"
                    "    mov.u32 v, %%ntid.y; mul.lo.s32 u, u, v; mov.u32 v, %%ntid.z; "
                    "mul.lo.s32 u, u, v;\n");
        text_add(t, heads[k], 0);
        for (int i = 0; i < b->count; i++)
            row_text(t, &b->rows[i], i, n, !k && has_guard(b->target, i));
        text_add(t, "DONE:\n    ret;\n}\n");
    }
}

/* ---- comparing ---- */

static double unit_of(double x, const struct type *t)
{
    int e;

    (void)frexp(x, &e);
    return ldexp(1, e - (t->reg == 'd' ? 53 : 24));
}

static bool is_nan_of(const struct type *t, uint64_t x)
{
    return t->reg == 'd'                 ? is_nan64(x)
           : t->reg == 'f'               ? is_nan32(x)
           : strcmp(t->name, "f16") == 0 ? (x & 0x7fff) > 0x7c00
           : is_bf16(t)                  ? (x & 0x7fff) > 0x7f80
                                         : false;
}

static bool matches(const struct parsed *p, uint64_t want, uint64_t got)
{
    const struct type *t = p->dst;
    uint64_t mask = mask_of(t);
    double w, g, error;

    got &= mask;
    if (p->op->compare == APPROX) {
        w = f64_of(want);
        g = t->reg == 'd' ? f64_of(got) : (double)f32_of(got);
        if (isnan(w) || isnan(g))
            return isnan(w) && isnan(g);
        error = fmax(p->op->ulps * unit_of(w, t), p->op->abs_error);
        if (t->reg == 'f' && fabs(w) > 0x1.fffffep127 &&
            isinf(g)) /* the exact result is beyond the largest float */
            return signbit(w) == signbit(g);
        if (isinf(w) || isinf(g))
            return w == g || (isinf(g) && signbit(w) == signbit(g) &&
                              fabs(w) + error > 0x1.fffffep127 && t->reg == 'f');
        return fabs(w - g) <= error;
    }
    want &= mask;
    if (is_nan_of(t, want) && p->op->compare == FL)
        return t->reg == 'f' ? got == 0x7fffffff : is_nan_of(t, got);
    if (is_nan_of(t, want) && p->op->compare == ANYNAN)
        return is_nan_of(t, got);
    return want == got;
}

static uint64_t in_at(const struct batch *b, int slot, int i, size_t n)
{
    return i < b->rows[slot].src_count ? b->in[((size_t)slot * 4 + (size_t)i) * SAMPLES + n] : 0;
}

/* Floats as integers in their order, so that neighbours are one apart. */
static int64_t in_order(const struct type *t, uint64_t bits)
{
    int64_t x = t->reg == 'd' ? (int64_t)bits : (int32_t)(uint32_t)bits;

    return x < 0 ? (t->reg == 'd' ? INT64_MIN : INT32_MIN) - x : x;
}

static uint64_t from_order(const struct type *t, int64_t x)
{
    return (uint64_t)(x < 0 ? (t->reg == 'd' ? INT64_MIN : INT32_MIN) - x : x) & mask_of(t);
}

static uint64_t rounded(const struct type *t, uint64_t want)
{
    return t->reg == 'd' ? want : bits_of_f32((float)f64_of(want));
}

/* A bounded result as the distance from the exact one, rounded; NaN: n. */
static void answer_near(struct answer *a, const struct type *t, uint64_t want, uint64_t got)
{
    if (is_nan_of(t, got))
        text_add(&a->text, "n ");
    else
        text_add(&a->text, "%lld ",
                 (long long)((uint64_t)in_order(t, got) - (uint64_t)in_order(t, rounded(t, want))));
}

static void answer_result(struct answer *a, const struct parsed *p, uint64_t want, uint64_t got)
{
    static const char any_nan[] = "NaN";

    if (is_nan_of(p->dst, want & mask_of(p->dst)) && is_nan_of(p->dst, got) &&
        (p->op->compare == ANYNAN || (p->op->compare == FL && p->dst->reg != 'f')))
        answer_add(a, any_nan, sizeof any_nan);
    else
        answer_add(a, &got, sizeof got);
}

/* The first results of all lanes are what a GPU's are compared with. */
static bool is_answer(const struct batch *b)
{
    return !b->answered && (b->params.lanes.here & b->params.lanes.guard) == UINT32_MAX;
}

/* Checks the result that thread `lane` stored for operands of sample n. */
static void check_one(struct run *r, struct batch *b, int slot, int v, size_t n, size_t lane,
                      const char *mode)
{
    const struct parsed *p = &b->rows[slot];
    uint64_t x[4], got = b->out[((size_t)slot * (1 + LITERALS) + (size_t)v) * SAMPLES + lane], want;

    for (int i = 0; i < 4; i++)
        x[i] = in_at(b, slot, i, n);
    if (v && (!has_guard(b->target, slot) || in_lanes(b->params.lanes.guard, n)))
        x[p->src_count - 1] = p->literals[v - 1];
    if (!p->op->ok(x[0], x[1], x[2], x[3]))
        return;
    want = p->op->want(x[0], x[1], x[2], x[3]);
    if (p->op->compare != APPROX && is_answer(b))
        answer_result(&b->answers[slot], p, want, got & mask_of(p->dst));
    if (matches(p, want, got) || b->bad[slot]++ >= (b->target == TARGET_GPU ? 8 : 1))
        return;
    if (p->op->compare == APPROX)
        run_fail(r, b->target, p->op->name, "%s%s: a=%llx b=%llx c=%llx: want %a, got %llx (%a)",
                 mode, v ? " literal" : "", (unsigned long long)x[0], (unsigned long long)x[1],
                 (unsigned long long)x[2], f64_of(want), (unsigned long long)got,
                 p->dst->reg == 'd' ? f64_of(got) : (double)f32_of(got));
    else
        run_fail(r, b->target, p->op->name,
                 "%s%s: a=%llx b=%llx c=%llx e=%llx: want %llx, got %llx", mode,
                 v ? " literal" : "", (unsigned long long)x[0], (unsigned long long)x[1],
                 (unsigned long long)x[2], (unsigned long long)x[3],
                 (unsigned long long)(want & mask_of(p->dst)),
                 (unsigned long long)(got & mask_of(p->dst)));
}

/* What the row must give for sample n; false: it is not defined. */
static bool want_of(const struct batch *b, int slot, size_t n, uint64_t *want)
{
    const struct op *op = b->rows[slot].op;
    uint64_t x[4];

    for (int i = 0; i < 4; i++)
        x[i] = in_at(b, slot, i, n);
    *want = op->ok(x[0], x[1], x[2], x[3]) ? op->want(x[0], x[1], x[2], x[3]) : 0;
    return op->ok(x[0], x[1], x[2], x[3]);
}

static void answer_bounded(struct batch *b, int slot)
{
    const struct type *t = b->rows[slot].dst;
    uint64_t want;

    for (size_t n = 0; n < SAMPLES; n++)
        if (want_of(b, slot, n, &want))
            answer_near(&b->answers[slot], t, want,
                        b->out[(size_t)slot * (1 + LITERALS) * SAMPLES + n] & mask_of(t));
}

/* A lane that is not here stores nothing. */
static void check_absent(struct run *r, struct batch *b, int slot, int v, size_t lane)
{
    uint64_t untouched;

    memset(&untouched, UNTOUCHED, sizeof untouched);
    if (b->out[((size_t)slot * (1 + LITERALS) + (size_t)v) * SAMPLES + lane] != untouched &&
        !b->bad[slot]++)
        run_fail(r, b->target, b->rows[slot].op->name, "thread %zu stored, but had left", lane);
}

static void check_all(struct run *r, struct batch *b, size_t lanes, const size_t *sample,
                      const char *mode)
{
    for (int slot = 0; slot < b->count; slot++) {
        int variants = b->rows[slot].has_literals ? 1 + LITERALS : 1;

        for (int v = 0; v < variants; v++) {
            for (size_t lane = 0; lane < lanes; lane++)
                if (sample || in_lanes(b->params.lanes.here, lane))
                    check_one(r, b, slot, v, sample ? *sample : lane, lane, mode);
                else
                    check_absent(r, b, slot, v, lane);
        }
        if (!sample && b->rows[slot].op->compare == APPROX && answers_recording() && is_answer(b))
            answer_bounded(b, slot);
    }
}

static void fill_inputs(struct batch *b)
{
    for (int slot = 0; slot < b->count; slot++) {
        struct rng rng;

        rng_seed_name(&rng, b->rows[slot].op->name);
        for (size_t n = 0; n < SAMPLES; n++) {
            for (int i = 0; i < b->rows[slot].src_count; i++)
                b->in[((size_t)slot * 4 + (size_t)i) * SAMPLES + n] =
                    sample_value(&b->rows[slot], i, n, &rng);
        }
    }
}

/* The threads of a block do not divide the samples. */
static const struct dims shapes[] = {{96, 1, 1}, {1, 1, 1},    {31, 1, 1}, {7, 5, 3}, {33, 1, 1},
                                     {8, 4, 4},  {1024, 1, 1}, {32, 1, 1}, {2, 33, 1}};
static const struct dims uniform_shapes[] = {{33, 1, 1}, {3, 11, 1}, {1, 3, 11}, {11, 1, 3}};
static const uint32_t masks[] = {0x55555555, 0x0000ffff, 0x80000001, 0x7ffffffe,
                                 0x00010000, 0xf00ff0f0, 0x92492492};

static enum outcome launch(struct batch *b, struct program *p, struct launch *l,
                           const struct lanes *lanes, char *message, size_t bytes)
{
    b->params.lanes = *lanes;
    memset(b->out, UNTOUCHED, OUT_BYTES);
    return program_run(p, l, message, bytes);
}

/* All lanes, then some, then the others. */
static enum outcome run_varying(struct run *r, struct batch *b, struct program *p, struct launch *l,
                                char *message, size_t bytes)
{
    uint32_t here = masks[(size_t)b->turn % COUNT(masks)];
    uint32_t guard = masks[(size_t)(b->turn + 3) % COUNT(masks)];
    const struct lanes lanes[] = {all_lanes, {here, guard}, {~here, ~guard}};
    uint32_t threads = l->block.x * l->block.y * l->block.z;

    l->kernel = "vary";
    b->params.index = SAMPLES;
    l->grid.x = (SAMPLES + threads - 1) / threads;
    for (size_t i = 0; i < COUNT(lanes); i++) {
        enum outcome outcome = launch(b, p, l, &lanes[i], message, bytes);

        if (outcome != OUTCOME_OK)
            return outcome;
        check_all(r, b, SAMPLES, NULL, i ? "some lanes" : "by lane");
    }
    return OUTCOME_OK;
}

static enum outcome run_uniform(struct run *r, struct batch *b, struct program *p, struct launch *l,
                                char *message, size_t bytes)
{
    l->kernel = "uni";
    l->grid.x = 1;
    for (size_t i = 0; i < UNIFORMS; i++) {
        size_t n = i * SAMPLES / UNIFORMS;
        enum outcome outcome;

        b->params.index = (uint32_t)n;
        outcome = launch(b, p, l, &all_lanes, message, bytes);
        if (outcome != OUTCOME_OK)
            return outcome;
        check_all(r, b, UNIFORM_THREADS, &n, "uniform");
    }
    return OUTCOME_OK;
}

static enum outcome run_kernels(struct run *r, struct batch *b, struct program *p, char *message,
                                size_t bytes)
{
    struct launch l = {.grid = {1, 1, 1},
                       .params = &b->params,
                       .param_bytes = offsetof(struct params, lanes) + sizeof(struct lanes)};
    enum outcome outcome = OUTCOME_OK;

    b->in = memory_alloc(b->target, (size_t)BATCH * 4 * SAMPLES * 8);
    b->out = memory_alloc(b->target, OUT_BYTES);
    fill_inputs(b);
    b->params.in = (uint64_t)(uintptr_t)b->in;
    b->params.out = (uint64_t)(uintptr_t)b->out;
    for (size_t i = 0; i < (r->all ? COUNT(shapes) : 1) && outcome == OUTCOME_OK; i++) {
        l.block = shapes[((size_t)b->turn + i) % COUNT(shapes)];
        outcome = run_varying(r, b, p, &l, message, bytes);
        l.block = uniform_shapes[((size_t)b->turn + i) % COUNT(uniform_shapes)];
        if (outcome == OUTCOME_OK && i < COUNT(uniform_shapes))
            outcome = run_uniform(r, b, p, &l, message, bytes);
        b->answered = true;
    }
    return outcome;
}

/* Whether a GPU's distances (answer_near) keep to the row's bound. */
static bool keeps_to_bound(const struct batch *b, int slot, const char *text)
{
    const struct parsed *p = &b->rows[slot];
    char *end;

    for (size_t n = 0; n < SAMPLES; n++) {
        uint64_t want, got;

        if (!want_of(b, slot, n, &want))
            continue;
        if (*text == 'n') {
            got = p->dst->reg == 'd' ? bits_of_f64(NAN) : bits_of_f32(NAN);
            end = (char *)text + 1;
        } else {
            got = from_order(p->dst, (int64_t)((uint64_t)in_order(p->dst, rounded(p->dst, want)) +
                                               (uint64_t)strtoll(text, &end, 10)));
        }
        if (end == text || !matches(p, want, got))
            return false;
        text = end + 1;
    }
    return true;
}

/* The row's answers against an H200's: those within a bound are two different roundings. */
static bool end_answer(struct batch *b, int slot, bool again)
{
    const struct parsed *p = &b->rows[slot];
    struct answer *a = &b->answers[slot];
    const char *theirs;
    char row[96];

    snprintf(row, sizeof row, "%s%s", p->op->name, again ? " again" : "");
    theirs = answers_find(row);
    if (p->op->compare == APPROX && theirs)
        text_add(&a->text, "%s", keeps_to_bound(b, slot, theirs) ? theirs : "beyond the bound");
    return answer_end(a, row);
}

static void run_rows(struct run *r, enum target t, const struct parsed *rows, int count, int turn)
{
    struct batch b = {.target = t, .rows = rows, .count = count, .turn = turn};
    struct text text = {0};
    char message[500] = "";
    bool answered[BATCH] = {0};
    struct program *p;
    enum outcome outcome = OUTCOME_ERROR;

    batch_text(&text, &b, SAMPLES);
    if (r->dump)
        printf("%s", text.s);
    p = program_create(t, text.s, message, sizeof message);
    if (p)
        outcome = run_kernels(r, &b, p, message, sizeof message);
    for (int i = 0; i < count && outcome == OUTCOME_OK; i++)
        answered[i] = end_answer(&b, i, r->again);
    program_destroy(p);
    memory_reset(t);
    text_free(&text);
    if (outcome != OUTCOME_OK && count > 1) { /* which one was it? */
        for (int i = 0; i < count; i++)
            text_free(&b.answers[i].text);
        for (int i = 0; i < count; i++)
            run_rows(r, t, &rows[i], 1, turn);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (outcome == OUTCOME_UNSUPPORTED)
            run_skip(r, t, rows[i].op->name, message);
        else if (outcome != OUTCOME_OK)
            run_fail(r, t, rows[i].op->name, "%s", message);
        else if (!answered[i])
            run_fail(r, t, rows[i].op->name, "an H200 answered otherwise");
        else if (!b.bad[i])
            run_pass(r, t, rows[i].op->name);
    }
}

static void parse_row(const struct op *op, struct parsed *p)
{
    const char *s = strchr(op->sig, ':');
    struct rng rng;
    const struct type *last;

    memset(p, 0, sizeof *p);
    p->op = op;
    p->dst = find_type(op->sig, (size_t)(s - op->sig));
    while (*s && p->src_count < 4) {
        size_t n = strcspn(++s, ",");

        p->src[p->src_count++] = find_type(s, n);
        s += n;
    }
    last = p->src[p->src_count - 1];
    /* Literals of 16 bits and of .f16 have rules of their own; predicates have none. */
    p->has_literals = !op->code && p->src_count >= 2 && last->bits >= 32;
    rng_seed_name(&rng, op->name);
    for (int i = 0; i < LITERALS; i++)
        p->literals[i] =
            random_value(last, &rng) &
            (strncmp(op->name, "bf", 2) == 0 ? 0xff : UINT64_MAX); /* ptxas wants a byte */
}

/* Code for all the vectors that the processor has, or for AVX2's, in turn; the tiers do not agree.
 */
static void run_widths(struct run *r, enum target t, const struct parsed *rows, int count, int turn)
{
    bool best = t == TARGET_BEST, narrow = (turn & 1) != best;

    target_narrow(r->narrow || narrow);
    run_rows(r, t, rows, count, turn + (best ? 4 : 0) + (r->again ? 2 : 0));
    if (!r->all || r->narrow)
        return;
    target_narrow(!narrow);
    run_rows(r, t, rows, count, turn);
}

static void run_batch(struct run *r, enum target t, const struct parsed *rows, int count, int turn)
{
    const int most = t == TARGET_BEST ? BATCH_BEST : BATCH;

    for (int i = 0; i < count; i += most)
        run_widths(r, t, &rows[i], count - i < most ? count - i : most,
                   turn * (BATCH / most) + i / most);
}

/* only_ftz: kernels in which all f32 instructions are .ftz, which may run in another mode of the
 * processor. */
static void run_table(struct run *r, const struct op *ops, size_t count, bool only_ftz)
{
    struct parsed rows[BATCH];
    int n = 0, turn = 0;

    for (size_t i = 0; i <= count; i++) {
        if (n && (n == BATCH || i == count)) {
            bool mine = r->parts == 0 || r->batch++ % r->parts == r->part;

            for (int t = 0; t < r->target_count && mine; t++)
                run_batch(r, r->targets[t], rows, n, turn);
            turn++;
            n = 0;
        }
        if (i == count || !run_wants(r, ops[i].name) ||
            (only_ftz && (!strstr(ops[i].name, ".ftz") || strstr(ops[i].name, "f64"))))
            continue;
        if (r->list)
            printf("%s\n", ops[i].name);
        else
            parse_row(&ops[i], &rows[n++]);
    }
}

void ops_run(struct run *r)
{
    run_table(r, ops_int, ops_int_count, false);
    run_table(r, ops_cvt, ops_cvt_count, false);
    run_table(r, ops_float, ops_float_count, false);
    if (r->list)
        return;
    r->again = true;
    run_table(r, ops_cvt, ops_cvt_count, true);
    run_table(r, ops_float, ops_float_count, true);
    r->again = false;
}
