/* Random kernels about memory: addresses that are affine in the lane, wrap around, or leave their
 * space in lanes that are masked off; shared, global, local and generic accesses of all widths;
 * loops, branches and barriers around them. Between two barriers a thread reads one half of shared
 * memory anywhere and writes only its own cells of the other, so results do not depend on any
 * schedule.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/generate.h"

#define VALUES 6u
#define OWNERS 128u /* threads of a block at most; each owns 8 bytes of each half */
#define HALF   (OWNERS * 8u)
#define COUNTS 16u /* words that all threads add to, behind both halves */
#define DEPTH  3u

struct gen {
    struct text *t;
    struct rng r;
    unsigned label, half, stride, order, in_words, statements;
    bool exits, whole_warps;
};

/* At most once in a statement: the same program comes from every compiler, in whichever order that
 * evaluates arguments. */
static uint32_t pick(struct gen *g, uint32_t n)
{
    return (uint32_t)(rng_next(&g->r) >> 24) % n;
}

#define OUT(...) text_add(g->t, __VA_ARGS__)

/* ---- addresses ---- */

/* %i: an index that is often affine in the thread. */
static void index_text(struct gen *g, unsigned depth)
{
    static const char *const start[] = {"lin",  "lin", "gid", "gid", "tx", "ty",
                                        "lane", "v0",  "v3",  "uni", "c"};
    static const int steps[] = {0, 1, -1, 2, 3, 4, -4, 5, 8, 16, 33, -33};
    static const uint32_t offsets[] = {1,   0xffffffff, 4,          0xfffffffc, 31, 0xffffffe0,
                                       100, 0xffffff80, 0x7fffffff, 0x80000000, 17, 64};

    OUT("mov.u32 %%i, %%%s;\n", start[pick(g, 11)]);
    for (uint32_t n = pick(g, 5); n > 0; n--) {
        uint32_t k = offsets[pick(g, 12)], x;

        switch (pick(g, 14)) {
        case 0:
        case 1:
            OUT("add.s32 %%i, %%i, %d;\n", (int32_t)k);
            break;
        case 2:
            OUT("sub.s32 %%i, %u, %%i;\n", pick(g, 200));
            break;
        case 3:
        case 4:
            OUT("mul.lo.s32 %%i, %%i, %d;\n", steps[pick(g, 12)]);
            break;
        case 5:
            OUT("mad.lo.s32 %%i, %%c%u, %d, %%i;\n", depth, steps[pick(g, 12)]);
            break;
        case 6:
            OUT("add.u32 %%i, %%i, %%uni;\n");
            break;
        case 7:
            OUT("and.b32 %%i, %%i, %u;\n", pick(g, 2) ? 127u : 60u);
            break;
        case 8:
            x = pick(g, 3);
            OUT("shr.%c32 %%i, %%i, %u;\n", pick(g, 2) ? 'u' : 's', x);
            break;
        case 9:
            OUT("shl.b32 %%i, %%i, %u;\n", pick(g, 3));
            break;
        case 10:
            x = pick(g, 2);
            OUT("%s.%c32 %%i, %%i, %d;\n", pick(g, 2) ? "min" : "max", x ? 'u' : 's',
                (int32_t)(k & 255) - 20);
            break;
        case 11:
            OUT("setp.lt.s32 %%q, %%v%u, %u;\nselp.b32 %%i, %%i, %%lin, %%q;\n", pick(g, VALUES),
                k & 0xff);
            break;
        case 12:
            OUT("sub.u32 %%i, %%i, %%tx;\n");
            break;
        default:
            x = pick(g, 6);
            OUT("setp.lt.u32 %%q, %%lane, %u;\n@%%q add.u32 %%i, %%i, %u;\n", pick(g, 33), x);
            break;
        }
    }
}

struct place {
    const char *space, *reg; /* of ld and st */
    int offset;
};

/* The address of element %i - k (of `size` bytes) of the space, in one of the ways that compilers
 * write it. */
static struct place address_text(struct gen *g, bool shared, unsigned base, unsigned size, int k)
{
    struct place p = {shared ? ".shared" : pick(g, 2) ? ".global" : "", "%ad", -k * (int)size};
    char s = pick(g, 2) ? 's' : 'u';
    unsigned log = (unsigned)__builtin_ctz(size);

    if (shared && pick(g, 3)) {
        p.reg = "%a";
        if (pick(g, 2))
            OUT("mov.u32 %%a2, s;\nmad.lo.%c32 %%a, %%i, %u, %%a2;\n", s, size);
        else
            OUT("shl.b32 %%a, %%i, %u;\nmov.u32 %%a2, s;\nadd.%c32 %%a, %%a2, %%a;\n", log, s);
        if (pick(g, 3) == 0) {
            OUT("add.s32 %%a, %%a, %d;\n", p.offset);
            p.offset = 0;
        }
        p.offset += (int)base;
        return p;
    }
    if (shared) {
        bool generic = pick(g, 2);

        OUT("mov.u64 %%b, s;\n%sadd.s64 %%b, %%b, %u;\n",
            generic ? "cvta.shared.u64 %b, %b;\n" : "", base);
        p.space = generic ? "" : p.space;
    } else {
        OUT("mov.u64 %%b, %%in;\n");
    }
    switch (pick(g, 4)) {
    case 0:
        OUT("mul.wide.%c32 %%ad, %%i, %u;\nadd.s64 %%ad, %%b, %%ad;\n", s, size);
        break;
    case 1:
        OUT("cvt.%c64.%c32 %%ad, %%i;\nshl.b64 %%ad, %%ad, %u;\nadd.s64 %%ad, %%ad, %%b;\n", s, s,
            log);
        break;
    case 2:
        OUT("mad.wide.%c32 %%ad, %%i, %u, %%b;\n", s, size);
        break;
    default:
        OUT("cvt.%c64.%c32 %%ad, %%i;\nmad.lo.s64 %%ad, %%ad, %u, %%b;\n", s, s, size);
        break;
    }
    if (pick(g, 3) == 0) {
        OUT("add.s64 %%ad, %%ad, %d;\n", p.offset);
        p.offset = 0;
    }
    return p;
}

/* ---- accesses ---- */

struct shape {
    const char *type, *vec;
    unsigned size, parts;
};

static const struct shape shapes[] = {
    {"u8", "", 1, 1},     {"s8", "", 1, 1},  {"u16", "", 2, 1},    {"s16", "", 2, 1},
    {"u32", "", 4, 1},    {"f32", "", 4, 1}, {"b32", "", 4, 1},    {"u8", ".v4", 4, 4},
    {"u16", ".v2", 4, 2}, {"u64", "", 8, 1}, {"u32", ".v2", 8, 2}, {"f32", ".v2", 8, 2},
    {"u32", ".v4", 16, 4}};

static void data_text(struct gen *g, const struct shape *s)
{
    const char *prefix = s->size / s->parts == 8 ? "%xd" : s->type[0] == 'f' ? "%f" : "%x";

    for (unsigned k = 0; k < s->parts; k++)
        OUT("%s%s%u", k ? ", " : s->parts > 1 ? "{" : "", prefix, k);
    OUT("%s", s->parts > 1 ? "}" : "");
}

static void fold_text(struct gen *g, const struct shape *s, unsigned d)
{
    if (s->size / s->parts == 8)
        OUT("mov.b64 {%%x0, %%x1}, %%xd0;\nxor.b32 %%x0, %%x0, %%x1;\n");
    for (unsigned k = 0; k < s->parts; k++) {
        if (s->type[0] == 'f')
            OUT("mov.b32 %%x%u, %%f%u;\n", k, k);
        OUT("mad.lo.u32 %%v%u, %%v%u, 31, %%x%u;\n", d, d, k);
    }
}

/* A load of any element, in the lanes whose index is in range. */
static void load_text(struct gen *g, unsigned depth)
{
    const struct shape *s = &shapes[pick(g, 13)];
    bool shared = pick(g, 5) < 3, branch = pick(g, 2);
    unsigned count = (shared ? HALF : g->in_words * 4) / s->size, skip = g->label++;
    int k = (int)pick(g, 5) - 2;
    unsigned low = k > 0 ? (unsigned)k : 0, high = k < 0 ? count - (unsigned)-k : count;
    struct place p;

    index_text(g, depth);
    p = address_text(g, shared, shared ? g->half * HALF : 0, s->size, k);
    for (unsigned n = 0; n < 4; n++)
        OUT("mov.b32 %%x%u, %u;\nmov.f32 %%f%u, 0f00000000;\n", n, n, n);
    OUT("mov.b64 %%xd0, 9;\nsub.u32 %%j, %%i, %u;\nsetp.lt.u32 %%p, %%j, %u;\n", low, high - low);
    if (pick(g, 4) == 0)
        OUT("setp.ne.and.u32 %%p, %%v%u, 3, %%p;\n", pick(g, VALUES));
    if (branch)
        OUT("@!%%p bra L%u;\n", skip);
    OUT("%sld%s%s.%s ", branch ? "" : "@%p ", p.space, s->vec, s->type);
    data_text(g, s);
    OUT(", [%s+%d];\nL%u:\n", p.reg, p.offset, skip);
    fold_text(g, s, pick(g, VALUES));
}

/* The owner's number of this phase: the same for all stores between two barriers. */
static void owner_text(struct gen *g)
{
    static const char *const orders[] = {"mov.u32 %i, %lin;\n",
                                         "sub.u32 %i, 127, %lin;\n",
                                         "add.u32 %i, %lin, 5;\nand.b32 %i, %i, 127;\n",
                                         "xor.b32 %i, %lin, 9;\n",
                                         "mul.lo.u32 %i, %lin, 3;\nand.b32 %i, %i, 127;\n",
                                         "mov.u32 %i, %lin;\n"};

    OUT("%s", orders[g->order]);
}

static void values_text(struct gen *g, const struct shape *s)
{
    for (unsigned k = 0; k < s->parts; k++) {
        OUT("add.u32 %%x%u, %%v%u, %u;\n", k, pick(g, VALUES), k);
        if (s->type[0] == 'f')
            OUT("mov.b32 %%f%u, %%x%u;\n", k, k);
    }
    if (s->size / s->parts == 8)
        OUT("mov.b64 %%xd0, {%%x0, %%v1};\n");
}

static void store_shared_text(struct gen *g)
{
    const struct shape *s = &shapes[pick(g, g->stride == 4 ? 9 : 12)];
    bool guarded = pick(g, 2);
    struct place p;

    owner_text(g);
    p = address_text(g, true, (1 - g->half) * HALF, g->stride, 0);
    values_text(g, s);
    if (g->stride == 4 && pick(g, 2))
        p.offset += (int)OWNERS * 4;
    else if (g->stride == 8 && s->size <= 4 && pick(g, 2))
        p.offset += 4;
    if (guarded) {
        int least = (int)pick(g, 100);

        OUT("setp.gt.s32 %%p, %%v%u, %d;\n", pick(g, VALUES), least);
    }
    OUT("%sst%s%s.%s [%s+%d], ", guarded ? "@%p " : "", p.space, s->vec, s->type, p.reg, p.offset);
    data_text(g, s);
    OUT(";\n");
}

static void store_out_text(struct gen *g)
{
    const struct shape *s = &shapes[pick(g, 13)];
    unsigned at = pick(g, 28 / s->size) * s->size;

    values_text(g, s);
    OUT("st%s%s.%s [%%out+%u], ", pick(g, 2) ? ".global" : "", s->vec, s->type, at);
    data_text(g, s);
    OUT(";\n");
    if (pick(g, 3) == 0) {
        OUT("ld.global%s.%s ", s->vec, s->type);
        data_text(g, s);
        OUT(", [%%out+%u];\n", at);
        fold_text(g, s, pick(g, VALUES));
    }
}

static void local_text(struct gen *g, unsigned depth)
{
    bool generic = pick(g, 2);
    unsigned v = pick(g, VALUES);

    index_text(g, depth);
    OUT("and.b32 %%i, %%i, 15;\nmul.wide.u32 %%ad, %%i, 4;\nmov.u64 %%b, l;\n%sadd.s64 %%ad, %%ad, "
        "%%b;\n",
        generic ? "cvta.local.u64 %b, %b;\n" : "");
    if (pick(g, 2))
        OUT("st%s.u32 [%%ad], %%v%u;\n", generic ? "" : ".local", v);
    else
        OUT("ld%s.u32 %%x0, [%%ad];\nxor.b32 %%v%u, %%v%u, %%x0;\n", generic ? "" : ".local", v, v);
}

static void count_text(struct gen *g, unsigned depth)
{
    index_text(g, depth);
    OUT("and.b32 %%i, %%i, %u;\nshl.b32 %%a, %%i, 2;\nmov.u32 %%a2, s;\nadd.u32 %%a, %%a, %%a2;\n",
        COUNTS - 1);
    OUT("red.shared.add.u32 [%%a+%u], %%v%u;\n", 2 * HALF, pick(g, VALUES));
}

static void value_text(struct gen *g, unsigned depth)
{
    static const char *const ops[] = {"add.u32", "sub.u32", "xor.b32", "mul.lo.u32", "and.b32",
                                      "or.b32",  "min.s32", "max.u32", "shr.u32",    "shl.b32"};
    unsigned d = pick(g, VALUES), a = pick(g, VALUES), b = pick(g, VALUES);

    switch (pick(g, 4)) {
    case 0:
        b = pick(g, 40);
        OUT("%s %%v%u, %%v%u, %u;\n", ops[pick(g, 10)], d, a, b);
        break;
    case 1:
        OUT("mad.lo.s32 %%v%u, %%v%u, %%c%u, %%lin;\n", d, a, depth);
        break;
    case 2:
        index_text(g, depth);
        OUT("xor.b32 %%v%u, %%v%u, %%i;\n", d, d);
        break;
    default:
        OUT("%s %%v%u, %%v%u, %%v%u;\n", ops[pick(g, 8)], d, a, b);
        break;
    }
}

/* ---- control ---- */

static void list_text(struct gen *g, unsigned depth, bool together);

static void condition_text(struct gen *g, unsigned depth)
{
    unsigned k;

    switch (pick(g, 5)) {
    case 0:
        OUT("setp.lt.u32 %%p, %%lane, %u;\n", pick(g, 34));
        break;
    case 1:
        k = pick(g, VALUES);
        OUT("setp.lt.s32 %%p, %%v%u, %%v%u;\n", pick(g, VALUES), k);
        break;
    case 2:
        OUT("setp.eq.u32 %%p, %%uni, %u;\n", pick(g, 4));
        break;
    case 3:
        k = pick(g, 2);
        OUT("and.b32 %%i, %%lin, %u;\nsetp.ne.u32 %%p, %%i, %u;\n", 1u << pick(g, 6), k);
        break;
    default:
        OUT("setp.ge.u32 %%p, %%lin, %%c%u;\n", depth);
        break;
    }
}

static void if_text(struct gen *g, unsigned depth)
{
    unsigned other = g->label++, end = g->label++;

    condition_text(g, depth);
    OUT("@%%p bra L%u;\n", other);
    list_text(g, depth + 1, false);
    if (pick(g, 2)) {
        OUT("bra.uni L%u;\nL%u:\n", end, other);
        list_text(g, depth + 1, false);
        OUT("L%u:\n", end);
    } else {
        OUT("L%u:\n", other);
    }
}

static void barrier_text(struct gen *g)
{
    OUT("bar%s 0;\n", pick(g, 2) ? ".sync" : "rier.sync");
    g->half = 1 - g->half;
    g->stride = pick(g, 2) ? 4 : 8;
    g->order = pick(g, 6);
}

/* Different counts for the threads, or one for all, with barriers inside. */
static void loop_text(struct gen *g, unsigned depth, bool together)
{
    unsigned head = g->label++, end = g->label++, inner = depth + 1;

    if (together)
        OUT("add.u32 %%n%u, %%uni, %u;\n", inner, pick(g, 3));
    else
        OUT("and.b32 %%n%u, %%v%u, 3;\n", inner, pick(g, VALUES));
    OUT("mov.u32 %%c%u, 0;\nL%u:\nsetp.ge.u32 %%p, %%c%u, %%n%u;\n@%%p bra L%u;\n", inner, head,
        inner, inner, end);
    list_text(g, inner, together);
    if (together) { /* two phases: it comes back to the first one's half and owners */
        unsigned stride = g->stride, order = g->order;

        barrier_text(g);
        list_text(g, inner, together);
        barrier_text(g);
        g->stride = stride;
        g->order = order;
    }
    OUT("add.u32 %%c%u, %%c%u, 1;\nbra L%u;\nL%u:\n", inner, inner, head, end);
}

static void warp_text(struct gen *g)
{
    unsigned d = pick(g, VALUES), a = pick(g, VALUES), from;

    if (!g->whole_warps || g->exits)
        return;
    switch (pick(g, 4)) {
    case 0:
        from = pick(g, 32);
        OUT("shfl.sync.%s.b32 %%v%u, %%v%u, %u, 0x1f, -1;\n", pick(g, 2) ? "bfly" : "idx", d, a,
            from);
        break;
    case 1:
        OUT("and.b32 %%i, %%lane, 24;\nshl.b32 %%j, 0xff, %%i;\nshfl.sync.down.b32 %%v%u, %%v%u, "
            "%u, 0x181f, %%j;\n",
            d, a, pick(g, 8));
        break;
    case 2:
        OUT("setp.lt.s32 %%p, %%v%u, %u;\nand.b32 %%i, %%lane, 16;\nshl.b32 %%j, 0xffff, %%i;\n"
            "vote.sync.ballot.b32 %%v%u, %%p, %%j;\n",
            a, pick(g, 1000), d);
        break;
    default:
        OUT("and.b32 %%i, %%v%u, 3;\nmatch.any.sync.b32 %%j, %%i, -1;\nredux.sync.add.s32 %%v%u, "
            "%%v%u, %%j;\n",
            a, d, d);
        break;
    }
}

static void statement_text(struct gen *g, unsigned depth, bool together)
{
    unsigned r = pick(g, 100);

    g->statements++;
    if (together && r < 12) {
        warp_text(g);
    } else if (r < 45) {
        load_text(g, depth);
    } else if (r < 60) {
        store_shared_text(g);
    } else if (r < 66) {
        store_out_text(g);
    } else if (r < 72) {
        local_text(g, depth);
    } else if (r < 75) {
        count_text(g, depth);
    } else if (r < 84 && depth < DEPTH) {
        if_text(g, depth);
    } else if (r < 89 && depth < DEPTH) {
        loop_text(g, depth, false);
    } else if (r < 90 && g->exits && depth > 0 && !together) {
        OUT("setp.eq.u32 %%p, %%v%u, %%lane;\n@%%p bra END;\n", pick(g, VALUES));
    } else {
        value_text(g, depth);
    }
}

static void list_text(struct gen *g, unsigned depth, bool together)
{
    for (uint32_t n = 1 + pick(g, 4) + (depth == 0 ? 2 : 0); n > 0 && g->statements < 60; n--)
        statement_text(g, depth, together);
}

/* ---- the kernel ---- */

static void head_text(struct gen *g, unsigned threads)
{
    OUT(".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry g(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
        ".reg .b32 %%tx, %%ty, %%tz, %%lin, %%gid, %%lane, %%uni, %%i, %%j, %%a, %%a2, %%c;\n"
        ".reg .b32 %%v<%u>, %%x<4>, %%c<%u>, %%n<%u>;\n.reg .f32 %%f<4>;\n.reg .b64 %%in, %%out, "
        "%%b, %%ad, %%xd<1>;\n"
        ".reg .pred %%p, %%q;\n.shared .align 16 .b8 s[%u];\n.local .align 16 .b8 l[64];\n",
        VALUES, DEPTH + 3, DEPTH + 3, 2 * HALF + COUNTS * 4);
    OUT("mov.u32 %%tx, %%tid.x;\nmov.u32 %%ty, %%tid.y;\nmov.u32 %%tz, %%tid.z;\nmov.u32 %%lane, "
        "%%laneid;\n"
        "mov.u32 %%i, %%ntid.y;\nmad.lo.u32 %%lin, %%tz, %%i, %%ty;\nmov.u32 %%i, %%ntid.x;\n"
        "mad.lo.u32 %%lin, %%lin, %%i, %%tx;\nmov.u32 %%i, %%ctaid.x;\nmad.lo.u32 %%gid, %%i, %u, "
        "%%lin;\n",
        threads);
    OUT("ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\ncvta.to.global.u64 %%in, %%in;\n"
        "mul.wide.u32 %%ad, %%gid, 32;\nadd.s64 %%out, %%out, %%ad;\nld.global.u32 %%uni, "
        "[%%in+4];\n"
        "and.b32 %%uni, %%uni, 3;\nmov.u32 %%c, 2;\nmul.wide.u32 %%ad, %%gid, 64;\nadd.s64 %%b, "
        "%%in, %%ad;\n");
    for (unsigned k = 0; k < VALUES; k++)
        OUT("ld.global.u32 %%v%u, [%%b+%u];\n", k, 4 * k);
    for (unsigned k = 0; k < DEPTH + 3; k++)
        OUT("mov.u32 %%c%u, %u;\n", k, k);
    /* every thread sets its cells, and those of owners that do not exist */
    OUT("mov.u32 %%i, %%lin;\nmov.u32 %%j, %%ntid.x;\nmov.u32 %%x0, %%ntid.y;\nmul.lo.u32 %%j, "
        "%%j, %%x0;\n"
        "mov.u32 %%x0, %%ntid.z;\nmul.lo.u32 %%j, %%j, %%x0;\nSET:\nmul.lo.u32 %%a, %%i, "
        "8;\nmov.u32 %%a2, s;\n"
        "add.u32 %%a, %%a, %%a2;\nst.shared.v2.u32 [%%a], {%%i, %%v1};\nst.shared.v2.u32 [%%a+%u], "
        "{%%v2, %%i};\n"
        "add.u32 %%i, %%i, %%j;\nsetp.lt.u32 %%p, %%i, %u;\n@%%p bra SET;\n",
        HALF, OWNERS);
    OUT("setp.lt.u32 %%p, %%lin, 4;\nshl.b32 %%a, %%lin, 4;\nadd.u32 %%a, %%a, %%a2;\nmov.u32 "
        "%%x0, 0;\n"
        "@%%p st.shared.v4.u32 [%%a+%u], {%%x0, %%x0, %%x0, %%x0};\n",
        2 * HALF);
    OUT("mov.u32 %%i, 0;\nCLEAR:\nmul.wide.u32 %%ad, %%i, 4;\nmov.u64 %%b, l;\nadd.s64 %%ad, %%ad, "
        "%%b;\n"
        "st.local.u32 [%%ad], %%i;\nadd.u32 %%i, %%i, 1;\nsetp.lt.u32 %%p, %%i, 16;\n@%%p bra "
        "CLEAR;\nbar.sync 0;\n");
}

static void tail_text(struct gen *g)
{
    OUT("END:\n");
    if (!g->exits)
        OUT("bar.sync 0;\nand.b32 %%i, %%lin, %u;\nshl.b32 %%i, %%i, 2;\nmov.u32 %%a, s;\nadd.u32 "
            "%%a, %%a, %%i;\n"
            "ld.shared.u32 %%x0, [%%a+%u];\nxor.b32 %%v0, %%v0, %%x0;\n",
            COUNTS - 1, 2 * HALF);
    for (unsigned k = 1; k < VALUES; k++)
        OUT("mad.lo.u32 %%v0, %%v0, 31, %%v%u;\n", k);
    OUT("st.global.u32 [%%out+28], %%v0;\nret;\n}\n");
}

void generate_kernel(uint64_t seed, unsigned threads, unsigned in_words, struct text *t,
                     struct dims *block)
{
    static const struct dims blocks[] = {{128, 1, 1}, {16, 8, 1}, {32, 4, 1}, {96, 1, 1},
                                         {33, 3, 1},  {8, 4, 4},  {7, 5, 1},  {1, 64, 1},
                                         {100, 1, 1}, {64, 1, 2}};
    struct gen gen = {.t = t,
                      .r = {seed * 0x9e3779b97f4a7c15u + 1},
                      .in_words = in_words,
                      .stride = 4},
               *g = &gen;

    for (int k = 0; k < 4; k++)
        rng_next(&g->r);
    *block = blocks[pick(g, 10)];
    g->whole_warps = block->x * block->y * block->z % 32 == 0;
    g->exits = pick(g, 4) == 0;
    head_text(g, threads);
    for (uint32_t n = 2 + pick(g, 4); n > 0; n--) {
        list_text(g, 0, true);
        if (pick(g, 3) == 0)
            loop_text(g, 0, true);
        barrier_text(g);
    }
    tail_text(g);
}
