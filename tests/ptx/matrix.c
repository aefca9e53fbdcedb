/* Matrix instructions against plain C: mma.sync by the fragment layouts of the PTX ISA's tables,
 * wmma through memory in every layout, ldmatrix, stmatrix and movmatrix by the ISA's text. Small
 * whole numbers must come out exactly; others within the bound of docs/ptx-fidelity.md; NaNs and
 * infinities as themselves.
 *   t_ptx_matrix [-t quick|best|gpu]... [-n] [-a] [-p PART/PARTS] [-w FILE | -c FILE] [FILTER]
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/answers.h"
#include "ptx/harness.h"

#define LANES 32u
#define WARPS 2u

static unsigned failures, passes;
static const char *filter;
static unsigned part, parts = 1, seen;
static bool all; /* every combination of layouts and types */
static enum target targets[2] = {TARGET_QUICK, TARGET_BEST};
static int target_count = 2;

enum type { F16, BF16, TF32, F64, E4M3, E5M2, S8, U8, S4, U4, B1, F32, S32 };
static const char *const type_names[] = {"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8",
                                         "u8",  "s4",   "u4",   "b1",  "f32",  "s32"};
static const uint8_t type_bits[] = {16, 16, 32, 64, 8, 8, 8, 8, 4, 4, 1, 32, 32};

/* By its name, and by the part that runs. */
static bool is_chosen(const char *form)
{
    return (!filter || strstr(form, filter)) && seen++ % parts == part;
}

static bool is_int(enum type t)
{
    return (t >= S8 && t <= B1) || t == S32;
}

/* ---- numbers ---- */

static double from_small(unsigned v, unsigned exponent_bits, unsigned mantissa_bits, int bias)
{
    unsigned e = v >> mantissa_bits & ((1u << exponent_bits) - 1),
             m = v & ((1u << mantissa_bits) - 1);
    double d = e ? ldexp(1 + m / (double)(1u << mantissa_bits), (int)e - bias)
                 : ldexp(m / (double)(1u << mantissa_bits), 1 - bias);
    return v >> (exponent_bits + mantissa_bits) & 1 ? -d : d;
}

static double decode(enum type t, uint64_t v)
{
    float f;
    double d;
    uint32_t w = (uint32_t)v;

    switch (t) {
    case F16:
        if ((v & 0x7c00) == 0x7c00)
            return v & 0x3ff ? NAN : v & 0x8000 ? -INFINITY : INFINITY;
        return from_small(w, 5, 10, 15);
    case BF16:
        w <<= 16;
        memcpy(&f, &w, sizeof f);
        return (double)f;
    case TF32:
        w &= 0xffffe000;
        memcpy(&f, &w, sizeof f);
        return (double)f;
    case F32:
        memcpy(&f, &w, sizeof f);
        return (double)f;
    case F64:
        memcpy(&d, &v, sizeof d);
        return d;
    case E4M3:
        return (v & 0x7f) == 0x7f ? NAN : from_small(w, 4, 3, 7);
    case E5M2:
        if ((v & 0x7c) == 0x7c)
            return v & 3 ? NAN : v & 0x80 ? -INFINITY : INFINITY;
        return from_small(w, 5, 2, 15);
    case S8:
        return (int8_t)v;
    case S4:
        return (int)(v & 15) - (v & 8 ? 16 : 0);
    case S32:
        return (int32_t)v;
    default:
        return (double)v;
    }
}

/* A number of the type that holds `x`, which must be one. */
static uint64_t encode(enum type t, double x)
{
    float f = (float)x;
    uint32_t w;
    uint64_t v;

    memcpy(&w, &f, sizeof w);
    switch (t) {
    case BF16:
        return w >> 16;
    case TF32:
    case F32:
        return w;
    case F64:
        memcpy(&v, &x, sizeof v);
        return v;
    case F16:
    case E4M3:
    case E5M2: /* search: the test's numbers are few */
        for (v = 0; v < (1u << type_bits[t]); v++)
            if (decode(t, v) == x)
                return v;
        abort();
    default:
        return (uint64_t)(int64_t)x & (t == S32 ? 0xffffffff : (1u << type_bits[t]) - 1);
    }
}

enum mode { WHOLE, RANDOM, EDGES, MODES };

/* Bits of an element. */
static uint64_t element(enum type t, enum mode mode, bool accumulator, struct rng *r)
{
    uint64_t x = rng_next(r), bits = type_bits[t];

    if (is_int(t)) {
        if (accumulator)
            return mode == WHOLE ? (x >> 8 & 0xff)
                   : x % 3 == 0  ? 0x7fffff00 + (x >> 40 & 0xff)
                   : x % 3 == 1  ? 0x80000000 + (x >> 40 & 0xff)
                                 : x >> 32;
        if (mode == EDGES && x % 3 == 0)
            return bits == 1 ? 1 : x >> 20 & 1 ? (1ull << (bits - 1)) : (1ull << (bits - 1)) - 1;
        return x >> 32 & ((1ull << bits) - 1);
    }
    if (mode == WHOLE)
        return encode(t, (double)((int)(x >> 8 & 7) - 4) * (accumulator ? 1.0 : 0.5));
    if (mode == EDGES && x % 61 == 0 && t != E4M3) /* infinity */
        return encode(t, x >> 20 & 1 ? INFINITY : -INFINITY);
    if (mode == EDGES && x % 61 == 1)
        return (1ull << (bits - 1)) - 1; /* NaN */
    if (mode == EDGES && x % 5 == 2)
        return x >> 20 & 0x7; /* zeros and subnormal ones */
    switch (t) {              /* of moderate size: sums stay finite */
    case F16:
        return x >> 16 & 0xbfff;
    case BF16:
        return (x >> 16 & 0x81ff) | 0x3e00;
    case TF32:
    case F32:
        return (x >> 16 & 0x81ffffff) | 0x3e000000;
    case F64:
        return (x & 0x801fffffffffffff) | 0x3fe0000000000000;
    case E4M3:
        return x >> 16 & 0xbf;
    default:
        return x >> 16 & 0xbf;
    }
}

static uint64_t get_bits(const uint32_t *regs, unsigned at, unsigned bits)
{
    if (bits == 64) {
        uint64_t v;
        memcpy(&v, regs + 2 * (size_t)at, sizeof v);
        return v;
    }
    unsigned per = 32 / bits;
    return regs[at / per] >> at % per * bits & (bits == 32 ? 0xffffffff : (1u << bits) - 1);
}

static void set_bits(uint32_t *regs, unsigned at, unsigned bits, uint64_t v)
{
    if (bits == 64) {
        memcpy(regs + 2 * (size_t)at, &v, sizeof v);
        return;
    }
    unsigned per = 32 / bits, shift = at % per * bits;
    uint32_t mask = (bits == 32 ? 0xffffffff : (1u << bits) - 1) << shift;
    regs[at / per] = (regs[at / per] & ~mask) | ((uint32_t)v << shift & mask);
}

/* ---- matrices ---- */

#define MAX_M 32
#define MAX_K 256

struct product {
    enum type at, bt, ct, dt;
    unsigned m, n, k;
    bool row[2];
    bool satfinite, bit_and;
    uint64_t a[MAX_M][MAX_K], b[MAX_K][MAX_M], c[MAX_M][MAX_M], d[MAX_M][MAX_M];
};

static void fill(struct product *p, enum mode mode, struct rng *r)
{
    for (unsigned i = 0; i < p->m; i++)
        for (unsigned k = 0; k < p->k; k++)
            p->a[i][k] = element(p->at, mode, false, r);
    for (unsigned k = 0; k < p->k; k++)
        for (unsigned j = 0; j < p->n; j++)
            p->b[k][j] = element(p->bt, mode, false, r);
    for (unsigned i = 0; i < p->m; i++)
        for (unsigned j = 0; j < p->n; j++)
            p->c[i][j] = element(p->ct, mode, true, r);
}

static bool right_int(const struct product *p, unsigned i, unsigned j, int64_t *want)
{
    int64_t sum = 0;

    for (unsigned k = 0; k < p->k; k++) {
        uint64_t x = p->a[i][k], y = p->b[k][j];
        if (p->at == B1)
            sum += (int64_t)(p->bit_and ? x & y : x ^ y);
        else
            sum += (int64_t)decode(p->at, x) * (int64_t)decode(p->bt, y);
    }
    sum += (int32_t)p->c[i][j];
    if (p->satfinite)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    *want = (int32_t)sum;
    return (int32_t)p->d[i][j] == (int32_t)sum;
}

/* The bound: (k + 1) roundings to f32 (f64) of sums no larger than that of all magnitudes, and one
 * to the type of D. */
static bool right_float(const struct product *p, unsigned i, unsigned j, bool exact, double *want)
{
    long double sum = (long double)decode(p->ct, p->c[i][j]), size = fabsl(sum);
    double got = decode(p->dt, p->d[i][j]);

    for (unsigned k = 0; k < p->k; k++) {
        long double x =
            (long double)decode(p->at, p->a[i][k]) * (long double)decode(p->bt, p->b[k][j]);
        sum += x;
        size += fabsl(x);
    }
    *want = (double)sum;
    if (isnan(sum))
        return p->dt == F64   ? isnan(got)
               : p->dt == F32 ? p->d[i][j] == 0x7fffffff
                              : p->d[i][j] == 0x7fff;
    if (isinf(sum))
        return got == *want;
    if (exact)
        return got == *want;
    long double bound = size * (p->k + 1) * (p->dt == F64 ? 0x1p-53L : 0x1p-24L) +
                        (p->dt == F64 ? 0x1p-1074L : 0x1p-149L);
    if (p->dt == F16) {
        if (fabsl(sum) >= 65520 - bound)
            return isinf(got) ? (got > 0) == (sum > 0) : fabs(got) == 65504;
        bound += fabsl(sum) * 0x1p-11L + 0x1p-25L;
    }
    return fabsl((long double)got - sum) <= bound;
}

/* Sums of floats that are not whole numbers are a GPU's own to the last bits. */
static bool check(const struct product *p, const char *name, enum target t, enum mode mode,
                  struct answer *answer)
{
    if (p->dt == S32 || mode == WHOLE)
        for (unsigned i = 0; i < p->m; i++)
            answer_add(answer, p->d[i], p->n * sizeof p->d[i][0]);
    for (unsigned i = 0; i < p->m; i++)
        for (unsigned j = 0; j < p->n; j++) {
            int64_t iw = 0;
            double fw = 0;
            bool ok =
                p->dt == S32 ? right_int(p, i, j, &iw) : right_float(p, i, j, mode == WHOLE, &fw);

            if (!ok) {
                printf("FAIL %s %s (inputs %d): row %u, column %u: %g (%llx), wanted %g\n",
                       target_names[t], name, (int)mode, i, j, decode(p->dt, p->d[i][j]),
                       (unsigned long long)p->d[i][j], p->dt == S32 ? (double)iw : fw);
                failures++;
                return false;
            }
        }
    passes++;
    return true;
}

/* ---- fragments of mma.sync, by the tables of the PTX ISA ---- */

struct spot {
    unsigned row, col;
};

/* Element i of lane's fragment of A. */
static struct spot spot_a(const struct product *p, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4, per = p->at == F64 ? 1 : 32u / type_bits[p->at];

    if (p->at == F64 && p->k == 16)
        return (struct spot){i % 2 ? g + 8 : g, i % 2 ? i * 2 - 2 + t : i * 2 + t};
    if (p->m == 8) /* m8n8k4, m8n8k16, m8n8k32, m8n8k128 */
        return (struct spot){g, t * per + i};
    if (p->k == 4 * per) /* one register for each half of the rows */
        return (struct spot){i < per ? g : g + 8, t * per + i % per};
    /* two: a0.. of row g, then row g + 8, then the same further along k */
    bool upper = i < per || (i >= 2 * per && i < 3 * per);
    return (struct spot){upper ? g : g + 8, t * per + i % per + (i >= 2 * per ? 4 * per : 0)};
}

static struct spot spot_b(const struct product *p, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4, per = p->bt == F64 ? 1 : 32u / type_bits[p->bt];

    return (struct spot){t * per + i % per + i / per * 4 * per, g};
}

static struct spot spot_c(const struct product *p, unsigned lane, unsigned i)
{
    (void)p;
    return (struct spot){(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}

struct fragment {
    enum type t;
    unsigned elements; /* a lane */
    struct spot (*spot)(const struct product *p, unsigned lane, unsigned i);
};

static unsigned words_of(const struct fragment *f)
{
    return f->elements * type_bits[f->t] / 32;
}

/* One register of the PTX text: f32, f64 or b32. */
static unsigned regs_of(const struct fragment *f)
{
    return f->t == F64 ? f->elements : words_of(f);
}

static const char *reg_class(enum type t)
{
    return t == F64 ? "fd" : t == F32 ? "f" : "r";
}

static void add_list(struct text *x, const char *class, unsigned first, unsigned n)
{
    text_add(x, "{");
    for (unsigned k = 0; k < n; k++)
        text_add(x, "%s%%%s%u", k ? ", " : "", class, first + k);
    text_add(x, "}");
}

static const char head[] = ".version 8.7\n.target sm_90\n.address_size 64\n";

/* Every thread: A, B and C from in[], D to out[]; 64 words each. selector: of a sparse A, whose
 * metadata is in in[48]; -1: A is none. */
static void mma_kernel(struct text *x, const char *form, const struct fragment *f, int selector)
{
    static const unsigned at[3] = {0, 16, 32};
    unsigned first[4] = {0, 16, 32, 48};

    text_add(x,
             "%s.visible .entry k(.param .u64 out, .param .u64 in) {\n"
             "  .reg .b32 %%r<64>; .reg .f32 %%f<64>; .reg .f64 %%fd<64>; .reg .b64 %%rd<8>; .reg "
             ".b32 %%t;\n"
             "  ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [in];\n"
             "  mov.u32 %%t, %%tid.x; mul.wide.u32 %%rd3, %%t, 256;\n"
             "  add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n",
             head);
    for (unsigned n = 0; n < 3; n++)
        for (unsigned k = 0; k < regs_of(&f[n]); k++)
            text_add(x, "  ld.global.%s %%%s%u, [%%rd2+%u];\n",
                     f[n].t == F64   ? "f64"
                     : f[n].t == F32 ? "f32"
                                     : "b32",
                     reg_class(f[n].t), first[n] + k, at[n] * 4 + k * (f[n].t == F64 ? 8 : 4));
    if (selector >= 0)
        text_add(x, "  ld.global.b32 %%t, [%%rd2+192];\n");
    text_add(x, "  %s ", form);
    add_list(x, reg_class(f[3].t), first[3], regs_of(&f[3]));
    for (unsigned n = 0; n < 3; n++) {
        text_add(x, ", ");
        add_list(x, reg_class(f[n].t), first[n], regs_of(&f[n]));
    }
    if (selector >= 0)
        text_add(x, ", %%t, %d", selector);
    text_add(x, ";\n");
    for (unsigned k = 0; k < regs_of(&f[3]); k++)
        text_add(x, "  st.global.%s [%%rd1+%u], %%%s%u;\n",
                 f[3].t == F64   ? "f64"
                 : f[3].t == F32 ? "f32"
                                 : "b32",
                 k * (f[3].t == F64 ? 8 : 4), reg_class(f[3].t), first[3] + k);
    text_add(x, "  ret;\n}\n");
}

/* A text on one target, compiled once. */
struct runner {
    enum target t;
    const char *name;
    struct program *p;
};

static void finish(struct runner *x, struct answer *answer)
{
    if (!answer_end(answer, x->name)) {
        printf("FAIL %s %s: an H200 answered otherwise\n", target_names[x->t], x->name);
        failures++;
    }
    program_destroy(x->p);
}

static bool fail(const struct runner *x, const char *message)
{
    printf("FAIL %s %s: %s\n", target_names[x->t], x->name, message);
    failures++;
    return false;
}

static bool begin(struct runner *x, enum target t, const char *name, const char *ptx)
{
    char message[400];

    *x = (struct runner){t, name, program_create(t, ptx, message, sizeof message)};
    return x->p || fail(x, message);
}

static bool run(struct runner *x, const void *params, size_t bytes, unsigned threads)
{
    char message[400];
    struct launch l = {.kernel = "k",
                       .grid = {1, 1, 1},
                       .block = {threads, 1, 1},
                       .params = params,
                       .param_bytes = bytes};

    return program_run(x->p, &l, message, sizeof message) == OUTCOME_OK || fail(x, message);
}

/* [warp][matrix]: one product a warp, or four (m8n8k4 of f16). */
static struct product work[WARPS * 4];

struct fragments {
    struct fragment f[4];
    unsigned products; /* a warp */
    /* which of a warp's products a lane belongs to */
};

static unsigned product_of(const struct fragments *x, unsigned lane)
{
    return x->products == 4 ? lane % 16 / 4 : 0;
}

static void scatter(const struct fragments *x, const struct product *ps, uint32_t *in)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        const struct product *p = &ps[product_of(x, lane)];
        for (unsigned n = 0; n < 3; n++)
            for (unsigned i = 0; i < x->f[n].elements; i++) {
                struct spot s = x->f[n].spot(p, lane, i);
                uint64_t v = n == 0   ? p->a[s.row][s.col]
                             : n == 1 ? p->b[s.row][s.col]
                                      : p->c[s.row][s.col];
                set_bits(in + lane * 64 + n * 16, i, type_bits[x->f[n].t], v);
            }
    }
}

static void collect(const struct fragments *x, struct product *ps, const uint32_t *out)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct product *p = &ps[product_of(x, lane)];
        for (unsigned i = 0; i < x->f[3].elements; i++) {
            struct spot s = x->f[3].spot(p, lane, i);
            p->d[s.row][s.col] = get_bits(out + lane * 64, i, type_bits[x->f[3].t]);
        }
    }
}

static void test_fragments(const char *form, const struct product *like, const struct fragments *x)
{
    struct text ptx = {0};
    struct rng r;

    if (!is_chosen(form))
        return;
    rng_seed_name(&r, form);
    mma_kernel(&ptx, form, x->f, -1);
    for (int n = 0; n < target_count; n++) {
        enum target t = targets[n];
        struct answer answer = {0};
        struct runner u;
        bool ok = begin(&u, t, form, ptx.s);
        for (enum mode mode = WHOLE; mode < MODES && ok; mode++) {
            uint32_t *in = memory_alloc(t, WARPS * LANES * 256),
                     *out = memory_alloc(t, WARPS * LANES * 256);
            struct {
                void *out, *in;
            } params = {out, in};

            for (unsigned w = 0; w < WARPS * x->products; w++) {
                work[w] = *like;
                fill(&work[w], mode, &r);
            }
            for (unsigned w = 0; w < WARPS; w++)
                scatter(x, &work[w * x->products], in + w * LANES * 64);
            ok = run(&u, &params, sizeof params, WARPS * LANES);
            if (ok) {
                for (unsigned w = 0; w < WARPS; w++)
                    collect(x, &work[w * x->products], out + w * LANES * 64);
                for (unsigned w = 0; w < WARPS * x->products; w++)
                    if (!check(&work[w], form, t, mode, &answer))
                        break;
            }
            memory_reset(t);
        }
        finish(&u, &answer);
    }
    text_free(&ptx);
}

/* ---- all forms of mma.sync but m8n8k4 of f16 ---- */

static void test_mma(unsigned m, unsigned k, enum type a, enum type b, enum type c, enum type d,
                     const char *before, const char *after, bool satfinite)
{
    static struct product like;
    struct fragments x = {.products = 1};
    char form[128];

    like = (struct product){.at = a, .bt = b, .ct = c, .dt = d, .m = m, .n = 8, .k = k};
    like.satfinite = satfinite;
    like.bit_and = strstr(after, "and") != NULL;
    x.f[0] = (struct fragment){a, m * k / LANES, spot_a};
    x.f[1] = (struct fragment){b, 8 * k / LANES, spot_b};
    x.f[2] = (struct fragment){c, m * 8 / LANES, spot_c};
    x.f[3] = (struct fragment){d, m * 8 / LANES, spot_c};
    snprintf(form, sizeof form, "mma.sync.aligned.m%un8k%u.row.col%s.%s.%s.%s.%s%s", m, k, before,
             type_names[d], type_names[a], type_names[b], type_names[c], after);
    test_fragments(form, &like, &x);
}

static void all_mma(void)
{
    static const enum type bytes[] = {S8, U8}, fours[] = {S4, U4}, small[] = {E4M3, E5M2},
                           accs[] = {F16, F32};

    for (unsigned k = 8; k <= 16; k += 8) {
        for (unsigned n = 0; n < 2; n++)
            test_mma(16, k, F16, F16, accs[n], accs[n], "", "", false);
        test_mma(16, k, BF16, BF16, F32, F32, "", "", false);
        test_mma(16, k / 2, TF32, TF32, F32, F32, "", "", false);
    }
    test_mma(8, 4, F64, F64, F64, F64, "", "", false);
    for (unsigned k = 4; k <= 16; k *= 2)
        test_mma(16, k, F64, F64, F64, F64, k == 8 ? ".rn" : "", "", false);
    for (unsigned n = 0; n < 4; n++)
        for (unsigned sat = 0; sat < 2; sat++) {
            const char *s = sat ? ".satfinite" : "";
            if (!all && sat != (n == 1 || n == 2))
                continue;
            test_mma(8, 16, bytes[n & 1], bytes[n >> 1], S32, S32, s, "", sat);
            test_mma(16, 16, bytes[n & 1], bytes[n >> 1], S32, S32, s, "", sat);
            test_mma(16, 32, bytes[n & 1], bytes[n >> 1], S32, S32, s, "", sat);
            test_mma(8, 32, fours[n & 1], fours[n >> 1], S32, S32, s, "", sat);
            test_mma(16, 32, fours[n & 1], fours[n >> 1], S32, S32, s, "", sat);
            test_mma(16, 64, fours[n & 1], fours[n >> 1], S32, S32, s, "", sat);
        }
    for (unsigned n = 0; n < 2; n++) {
        const char *op = n ? ".and.popc" : ".xor.popc";
        test_mma(8, 128, B1, B1, S32, S32, "", op, false);
        test_mma(16, 128, B1, B1, S32, S32, "", op, false);
        test_mma(16, 256, B1, B1, S32, S32, "", op, false);
        test_mma(16, 16, small[n], small[1], F32, F32, "", "", false);
        test_mma(16, 32, small[n], small[0], F32, F32, "", "", false);
        test_mma(16, 32, small[n], small[1], F16, F16, "", "", false);
    }
}

/* ---- mma.sp ---- */

struct sparse {
    struct product dense, packed; /* packed: A's elements that are there, k half as large */
    uint32_t meta[LANES];
    unsigned selector;
};

/* Where the manual has the four bits of group n of a row: lanes of a row's four, and the lowest
 * bit. lanes: how many of the four have any. */
static void meta_place(enum type t, unsigned row, unsigned n, unsigned lanes, unsigned selector,
                       unsigned *lane, unsigned *bit)
{
    unsigned upper = row / 8;

    if (type_bits[t] >= 16) { /* a half of a register for each of two rows */
        *lane = row % 8 * 4 + selector * lanes + n / 4;
        *bit = upper * 16 + n % 4 * 4;
    } else { /* a whole one */
        *lane = row % 8 * 4 + selector * lanes + upper + n / 8 * 2;
        *bit = n % 8 * 4;
    }
}

/* Two of each group's places are taken; the others are 0 in `dense`. Lanes that are not selected
 * have anything as metadata. */
static void make_sparse(struct sparse *s, enum mode mode, struct rng *r)
{
    struct product *d = &s->dense;
    unsigned run = type_bits[d->at] == 4 ? 2 : 1, choices = d->at == TF32 ? 2 : 4;
    unsigned group = run * choices, groups = d->k / group;

    fill(d, mode, r);
    for (unsigned lane = 0; lane < LANES; lane++)
        s->meta[lane] = (uint32_t)rng_next(r);
    for (unsigned row = 0; row < d->m; row++)
        for (unsigned n = 0; n < groups; n++) {
            unsigned x = (unsigned)(rng_next(r) >> 33) % 6, lane, bit;
            static const uint8_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
            unsigned nibble = choices == 2 ? (x & 1 ? 14 : 4) : pairs[x][0] | pairs[x][1] << 2u;

            for (unsigned k = 0; k < group; k++) {
                unsigned at = n * group + k, choice = k / run;
                bool first = choices == 2 ? choice == (x & 1) : choice == pairs[x][0];
                bool second = choices == 4 && choice == pairs[x][1];

                if (first || second)
                    s->packed.a[row][(n * (group / 2)) + (second ? run : 0) + k % run] =
                        d->a[row][at];
                else
                    d->a[row][at] = 0;
            }
            meta_place(d->at, row, n, groups / 4, s->selector, &lane, &bit);
            s->meta[lane] = (s->meta[lane] & ~(15u << bit)) | nibble << bit;
        }
}

static void test_sparse(unsigned k, enum type a, enum type b, enum type c, enum type d,
                        unsigned selector, const char *ordered, const char *after)
{
    static struct sparse s[WARPS];
    const struct fragment f[4] = {{a, 16 * k / 2 / LANES, spot_a},
                                  {b, 8 * k / LANES, spot_b},
                                  {c, 16 * 8 / LANES, spot_c},
                                  {d, 16 * 8 / LANES, spot_c}};
    struct fragments rest = {.products = 1};
    struct text ptx = {0};
    struct rng r;
    char form[128], row[160];

    snprintf(form, sizeof form, "mma.sp%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s", ordered, k,
             after, type_names[d], type_names[a], type_names[b], type_names[c]);
    if (!is_chosen(form))
        return;
    memcpy(rest.f, f, sizeof f);
    rng_seed_name(&r, form);
    snprintf(row, sizeof row, "%s, selector %u", form, selector);
    mma_kernel(&ptx, form, f, (int)selector);
    for (int n = 0; n < target_count; n++) {
        enum target t = targets[n];
        struct answer answer = {0};
        struct runner u;
        bool ok = begin(&u, t, row, ptx.s);
        /* 0 times infinity is no part of a sparse product, but of the dense one */
        for (enum mode mode = WHOLE; mode < (is_int(a) ? MODES : EDGES) && ok; mode++) {
            uint32_t *in = memory_alloc(t, WARPS * LANES * 256),
                     *out = memory_alloc(t, WARPS * LANES * 256);
            struct {
                void *out, *in;
            } params = {out, in};

            for (unsigned w = 0; w < WARPS; w++) {
                uint32_t *lanes = in + w * LANES * 64;

                s[w].dense =
                    (struct product){.at = a, .bt = b, .ct = c, .dt = d, .m = 16, .n = 8, .k = k};
                s[w].dense.satfinite = *after != 0;
                s[w].selector = selector;
                make_sparse(&s[w], mode, &r);
                s[w].packed.at = a;
                s[w].packed.m = 16;
                s[w].packed.k = k / 2;
                rest.f[0].elements = 0;
                scatter(&rest, &s[w].dense, lanes);
                for (unsigned lane = 0; lane < LANES; lane++) {
                    lanes[lane * 64 + 48] = s[w].meta[lane];
                    for (unsigned i = 0; i < f[0].elements; i++) {
                        struct spot at = spot_a(&s[w].packed, lane, i);

                        set_bits(lanes + lane * 64, i, type_bits[a], s[w].packed.a[at.row][at.col]);
                    }
                }
            }
            ok = run(&u, &params, sizeof params, WARPS * LANES);
            for (unsigned w = 0; w < WARPS && ok; w++) {
                collect(&rest, &s[w].dense, out + w * LANES * 64);
                ok = check(&s[w].dense, row, t, mode, &answer);
            }
            memory_reset(t);
        }
        finish(&u, &answer);
    }
    text_free(&ptx);
}

static void all_sparse(void)
{
    static const enum type bytes[] = {S8, U8}, fours[] = {S4, U4}, accs[] = {F16, F32};
    const char *ordered = "::ordered_metadata";

    for (unsigned n = 0; n < 4; n++) {
        test_sparse(16, F16, F16, accs[n & 1], accs[n & 1], n, n & 2 ? ordered : "", "");
        test_sparse(32, F16, F16, accs[n & 1], accs[n & 1], n >> 1, n & 2 ? ordered : "", "");
        test_sparse(32, bytes[n & 1], bytes[n >> 1], S32, S32, n & 1, "",
                    n & 2 ? ".satfinite" : "");
        test_sparse(64, bytes[n & 1], bytes[n >> 1], S32, S32, 0, "", n & 1 ? ".satfinite" : "");
        test_sparse(64, fours[n & 1], fours[n >> 1], S32, S32, n >> 1, ordered,
                    n & 1 ? ".satfinite" : "");
        test_sparse(128, fours[n & 1], fours[n >> 1], S32, S32, 0, "", n & 2 ? ".satfinite" : "");
        test_sparse(64, n & 1 ? E5M2 : E4M3, n & 2 ? E5M2 : E4M3, F32, F32, 0, ordered, "");
        test_sparse(8, TF32, TF32, F32, F32, n, "", "");
    }
    for (unsigned n = 0; n < 2; n++) {
        test_sparse(16, TF32, TF32, F32, F32, n, n ? ordered : "", "");
        test_sparse(16, BF16, BF16, F32, F32, 3 - n, "", "");
        test_sparse(32, BF16, BF16, F32, F32, n, ordered, "");
    }
}

/* ---- m8n8k4 of f16: lanes 4p to 4p + 3 and 16 more belong to product p ---- */

static struct spot quad_a(const struct product *p, unsigned lane, unsigned i)
{
    unsigned high = lane < 16 ? 0 : 4;

    return p->row[0] ? (struct spot){lane % 4 + high, i} : (struct spot){i % 4 + high, lane % 4};
}

static struct spot quad_b(const struct product *p, unsigned lane, unsigned i)
{
    unsigned high = lane < 16 ? 0 : 4;

    return p->row[1] ? (struct spot){lane % 4, i + high} : (struct spot){i, lane % 4 + high};
}

static struct spot quad_half(const struct product *p, unsigned lane, unsigned i)
{
    (void)p;
    return (struct spot){lane % 4 + (lane < 16 ? 0 : 4), i};
}

static struct spot quad_float(const struct product *p, unsigned lane, unsigned i)
{
    unsigned x = (lane & 1) + (i & 2);

    (void)p;
    return (struct spot){lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + i % 2};
}

static void all_quads(void)
{
    static struct product like;

    for (unsigned n = 0; n < 16; n++) {
        struct fragments x = {.products = 4};
        enum type c = n & 1 ? F32 : F16, d = n & 2 ? F32 : F16;
        char form[128];

        if ((!all && n % 3) || (c == F32 && d == F16)) /* which ptxas does not take */
            continue;
        like = (struct product){.at = F16, .bt = F16, .ct = c, .dt = d, .m = 8, .n = 8, .k = 4};
        like.row[0] = n & 4;
        like.row[1] = n & 8;
        x.f[0] = (struct fragment){F16, 4, quad_a};
        x.f[1] = (struct fragment){F16, 4, quad_b};
        x.f[2] = (struct fragment){c, 8, c == F16 ? quad_half : quad_float};
        x.f[3] = (struct fragment){d, 8, d == F16 ? quad_half : quad_float};
        snprintf(form, sizeof form, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
                 like.row[0] ? "row" : "col", like.row[1] ? "row" : "col", type_names[d],
                 type_names[c]);
        test_fragments(form, &like, &x);
    }
}

/* ---- wmma: through memory ---- */

struct placed {
    bool row;
    unsigned ld; /* elements */
    unsigned rows, cols;
    enum type t;
};

static uint64_t *element_of(struct product *p, char which, unsigned i, unsigned j)
{
    return which == 'a'   ? &p->a[i][j]
           : which == 'b' ? &p->b[i][j]
           : which == 'c' ? &p->c[i][j]
                          : &p->d[i][j];
}

static void move_matrix(struct product *p, char which, const struct placed *m, uint32_t *memory,
                        bool store)
{
    for (unsigned i = 0; i < m->rows; i++)
        for (unsigned j = 0; j < m->cols; j++) {
            unsigned at = m->row ? i * m->ld + j : j * m->ld + i;
            if (store)
                set_bits(memory, at, type_bits[m->t], *element_of(p, which, i, j));
            else
                *element_of(p, which, i, j) = get_bits(memory, at, type_bits[m->t]);
        }
}

#define AREA 8192u /* bytes of one matrix */

/* in: A, B, C one behind the other for each warp; space: global, shared or generic. */
static void wmma_kernel(struct text *x, const char *shape, const char *form,
                        const struct product *p, const struct placed *m, const unsigned *regs,
                        const char *space, bool implicit)
{
    bool shared = strcmp(space, ".shared") == 0;
    unsigned first[4] = {0, 16, 32, 48};

    text_add(x,
             "%s.visible .entry k(.param .u64 out, .param .u64 in) {\n"
             "  .reg .b32 %%r<64>; .reg .f32 %%f<64>; .reg .f64 %%fd<64>; .reg .b64 %%rd<8>; .reg "
             ".b32 %%t, %%n, %%v, %%e; .reg .pred %%p;\n  .shared .align 128 .b8 sm[%u];\n"
             "  ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [in];\n"
             "  mov.u32 %%t, %%tid.x; shr.u32 %%t, %%t, 5; mul.wide.u32 %%rd3, %%t, %u;\n"
             "  add.u64 %%rd1, %%rd1, %%rd3; mad.wide.u32 %%rd2, %%t, %u, %%rd2;\n",
             head, shared ? AREA * 3 : 16, AREA, AREA * 3);
    if (shared) /* one warp */
        text_add(x,
                 "  mov.u32 %%n, %%laneid; shl.b32 %%n, %%n, 2; mov.u32 %%e, sm; add.u32 %%e, %%e, "
                 "%%n; cvt.u64.u32 %%rd4, %%n; add.u64 %%rd4, %%rd4, %%rd2; mov.u32 %%n, 0;\n"
                 "L: ld.global.u32 %%v, [%%rd4]; st.shared.u32 [%%e], %%v; add.u64 %%rd4, %%rd4, "
                 "128; add.u32 %%e, %%e, 128; add.u32 %%n, %%n, 128; setp.lt.u32 %%p, %%n, %u; "
                 "@%%p bra L; bar.sync 0;\n",
                 AREA * 3);
    for (unsigned n = 0; n < 3; n++) {
        text_add(x, "  wmma.load.%c.sync.aligned.%s.%s%s.%s ", "abc"[n], m[n].row ? "row" : "col",
                 shape, space, type_names[m[n].t]);
        add_list(x, reg_class(m[n].t), first[n], regs[n]);
        if (shared)
            text_add(x, ", [sm+%u]", AREA * n);
        else
            text_add(x, ", [%%rd2+%u]", AREA * n);
        text_add(x, implicit ? ";\n" : ", %u;\n", m[n].ld);
    }
    text_add(x, "  %s ", form);
    add_list(x, reg_class(p->dt), first[3], regs[3]);
    for (unsigned n = 0; n < 3; n++) {
        text_add(x, ", ");
        add_list(x, reg_class(m[n].t), first[n], regs[n]);
    }
    text_add(x, ";\n  mov.u32 %%v, %u;\n  wmma.store.d.sync.aligned.%s.%s%s.%s [%s], ", m[3].ld,
             m[3].row ? "row" : "col", shape, space, type_names[p->dt], shared ? "sm" : "%rd1");
    add_list(x, reg_class(p->dt), first[3], regs[3]);
    text_add(x, implicit ? ";\n" : ", %%v;\n");
    if (shared)
        text_add(x,
                 "  bar.sync 0; mov.u32 %%n, %%laneid; shl.b32 %%n, %%n, 2; mov.u32 %%e, sm; "
                 "add.u32 %%e, %%e, %%n; cvt.u64.u32 %%rd4, %%n; add.u64 %%rd4, %%rd4, %%rd1; "
                 "mov.u32 %%n, 0;\n"
                 "S: ld.shared.u32 %%v, [%%e]; st.global.u32 [%%rd4], %%v; add.u64 %%rd4, %%rd4, "
                 "128; add.u32 %%e, %%e, 128; add.u32 %%n, %%n, 128; setp.lt.u32 %%p, %%n, %u; "
                 "@%%p bra S;\n",
                 AREA);
    text_add(x, "  ret;\n}\n");
}

static void test_wmma(const struct product *like, const char *form, const unsigned *regs,
                      unsigned variant)
{
    static struct product p[WARPS];
    const char *const spaces[] = {".global", "", ".shared"};
    struct text ptx = {0};
    struct rng r;
    char shape[32], row[160];
    bool implicit = variant % 5 == 4, shared = variant % 3 == 2;
    unsigned warps = shared ? 1 : WARPS;
    struct placed m[4] = {{like->row[0], 0, like->m, like->k, like->at},
                          {like->row[1], 0, like->k, like->n, like->bt},
                          {variant & 1, 0, like->m, like->n, like->ct},
                          {variant & 2, 0, like->m, like->n, like->dt}};

    if (!is_chosen(form))
        return;
    for (unsigned n = 0; n < 4; n++)
        m[n].ld = (m[n].row ? m[n].cols : m[n].rows) +
                  (implicit ? 0 : variant % 4 * (type_bits[m[n].t] < 8 ? 128 : 16));
    snprintf(shape, sizeof shape, "m%un%uk%u", like->m, like->n, like->k);
    snprintf(row, sizeof row, "%s%s", form, spaces[variant % 3]);
    rng_seed_name(&r, form);
    wmma_kernel(&ptx, shape, form, like, m, regs, spaces[variant % 3], implicit);
    for (int n = 0; n < target_count; n++) {
        enum target t = targets[n];
        struct answer answer = {0};
        struct runner u;
        bool ok = begin(&u, t, row, ptx.s);
        for (enum mode mode = WHOLE; mode < MODES && ok; mode++) {
            char *in = memory_alloc(t, WARPS * AREA * 3), *out = memory_alloc(t, WARPS * AREA);
            struct {
                void *out, *in;
            } params = {out, in};

            for (unsigned w = 0; w < warps; w++) {
                p[w] = *like;
                fill(&p[w], mode, &r);
                for (unsigned k = 0; k < 3; k++)
                    move_matrix(&p[w], "abc"[k], &m[k], (uint32_t *)(in + AREA * (3 * w + k)),
                                true);
            }
            ok = run(&u, &params, sizeof params, warps * LANES);
            if (ok)
                for (unsigned w = 0; w < warps; w++) {
                    move_matrix(&p[w], 'd', &m[3], (uint32_t *)(out + AREA * w), false);
                    if (!check(&p[w], row, t, mode, &answer))
                        break;
                }
            memory_reset(t);
        }
        finish(&u, &answer);
    }
    text_free(&ptx);
}

static void wmma_layouts(unsigned m, unsigned n, unsigned k, enum type a, enum type b, enum type c,
                         enum type d, const unsigned *regs, bool satfinite)
{
    static struct product like;
    static unsigned variant, turn;

    for (unsigned layout = 0; layout < 4; layout++) {
        char form[128];

        if (type_bits[a] < 8 && layout != 1) /* only A by rows and B by columns */
            continue;
        if (!all && type_bits[a] >= 8 && layout != turn % 4)
            continue;
        like = (struct product){.at = a, .bt = b, .ct = c, .dt = d, .m = m, .n = n, .k = k};
        like.row[0] = layout & 1;
        like.row[1] = layout & 2;
        like.satfinite = satfinite;
        snprintf(form, sizeof form, "wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s",
                 like.row[0] ? "row" : "col", like.row[1] ? "row" : "col", m, n, k, type_names[d]);
        if (a == F16)
            snprintf(form + strlen(form), 32, ".%s", type_names[c]);
        else
            snprintf(form + strlen(form), 40, ".%s.%s.%s%s", type_names[a], type_names[b],
                     type_names[c], satfinite ? ".satfinite" : "");
        test_wmma(&like, form, regs, variant++);
    }
    turn++;
}

static void all_wmma(void)
{
    static const unsigned shapes[3][2] = {{16, 16}, {32, 8}, {8, 32}};
    static const enum type accs[] = {F16, F32}, bytes[] = {S8, U8}, fours[] = {S4, U4};

    for (unsigned s = 0; s < 3; s++) {
        unsigned m = shapes[s][0], n = shapes[s][1];
        unsigned b16[4] = {m / 4, n / 4, 8, 8}, b8[4] = {m / 8, n / 8, 8, 8};

        for (unsigned v = 0; v < 4; v++) {
            unsigned regs[4] = {8, 8, v & 1 ? 8 : 4, v & 2 ? 8 : 4};
            if (!all && (s + v) % 2 == 0)
                continue;
            wmma_layouts(m, n, 16, F16, F16, accs[v & 1], accs[v >> 1], regs, false);
        }
        wmma_layouts(m, n, 16, BF16, BF16, F32, F32, b16, false);
        for (unsigned v = 0; v < 2; v++)
            wmma_layouts(m, n, 16, bytes[v], bytes[v], S32, S32, b8, v);
    }
    wmma_layouts(16, 16, 8, TF32, TF32, F32, F32, (unsigned[4]){4, 4, 8, 8}, false);
    wmma_layouts(8, 8, 4, F64, F64, F64, F64, (unsigned[4]){1, 1, 2, 2}, false);
    for (unsigned v = 0; v < 2; v++)
        wmma_layouts(8, 8, 32, fours[v], fours[v], S32, S32, (unsigned[4]){1, 1, 2, 2}, v);
    static struct product like;
    for (unsigned v = 0; v < 2; v++) {
        like = (struct product){
            .at = B1, .bt = B1, .ct = S32, .dt = S32, .m = 8, .n = 8, .k = 128, .row = {1, 0}};
        like.bit_and = v;
        test_wmma(&like,
                  v ? "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
                    : "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
                  (unsigned[4]){1, 1, 2, 2}, v);
    }
}

/* The forms that public programs have, all by rows but B: in global, generic and shared memory. */
static void public_wmma(void)
{
    static const struct {
        const char *form;
        enum type a, c;
        unsigned m, k, regs[4];
    } rows[] = {
        {"m16n16k16.f32.f32", F16, F32, 16, 16, {8, 8, 8, 8}},
        {"m16n16k16.f32.bf16.bf16.f32", BF16, F32, 16, 16, {4, 4, 8, 8}},
        {"m16n16k16.s32.u8.u8.s32", U8, S32, 16, 16, {2, 2, 8, 8}},
        {"m16n16k8.f32.tf32.tf32.f32", TF32, F32, 16, 8, {4, 4, 8, 8}},
        {"m8n8k4.f64.f64.f64.f64.rn", F64, F64, 8, 4, {1, 1, 2, 2}},
    };
    static struct product like;

    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
        for (unsigned variant = 3; variant <= 11; variant += 4) {
            char form[128];

            like = (struct product){.at = rows[n].a,
                                    .bt = rows[n].a,
                                    .ct = rows[n].c,
                                    .dt = rows[n].c,
                                    .m = rows[n].m,
                                    .n = rows[n].m,
                                    .k = rows[n].k,
                                    .row = {true, false}};
            snprintf(form, sizeof form, "wmma.mma.sync.aligned.row.col.%s", rows[n].form);
            test_wmma(&like, form, rows[n].regs, variant);
        }
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

/* Row r of matrix i is where lane 8 i + r says: rows in reverse, 16 bytes each. */
static unsigned row_at(unsigned lane)
{
    return (31 - lane) * 16;
}

static void rows_kernel(struct text *x, const char *form, unsigned count, bool store, bool shared)
{
    static const char address[2][8] = {"%rd4", "%e"};

    text_add(x,
             "%s.visible .entry k(.param .u64 out, .param .u64 in) {\n"
             "  .reg .b32 %%r<8>; .reg .b64 %%rd<8>; .reg .b32 %%t, %%e;\n"
             "  .shared .align 16 .b8 sm[512];\n"
             "  ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [in];\n"
             "  mov.u32 %%t, %%laneid; mul.wide.u32 %%rd3, %%t, 16;\n"
             "  add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n"
             "  mov.u32 %%e, sm; mad.lo.u32 %%t, %%t, 16, %%e;\n"
             "  ld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%rd2];\n",
             head);
    if (!store)
        text_add(x, "  st.shared.v4.u32 [%%t], {%%r0, %%r1, %%r2, %%r3}; bar.sync 0;\n"
                    "  mov.u32 %%r0, 0; mov.u32 %%r1, 0; mov.u32 %%r2, 0; mov.u32 %%r3, 0;\n");
    else
        text_add(x, "  mov.u32 %%r4, 0; st.shared.v4.u32 [%%t], {%%r4, %%r4, %%r4, %%r4}; "
                    "bar.sync 0;\n");
    text_add(x, "  mov.u32 %%r4, %%laneid; sub.u32 %%r4, 31, %%r4; mad.lo.u32 %%e, %%r4, 16, %%e;\n"
                "  cvt.u64.u32 %%rd4, %%e; cvta.shared.u64 %%rd4, %%rd4;\n");
    text_add(x, "  %s ", form);
    if (store)
        text_add(x, "[%s], ", address[shared]);
    add_list(x, "r", 0, count);
    if (!store)
        text_add(x, ", [%s]", address[shared]);
    text_add(x, ";\n");
    if (store)
        text_add(x, "  bar.sync 0; ld.shared.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%t];\n");
    text_add(x, "  st.global.v4.u32 [%%rd1], {%%r0, %%r1, %%r2, %%r3};\n  ret;\n}\n");
}

static uint16_t half_at(const uint32_t *words, unsigned lane, unsigned reg, unsigned half)
{
    return (uint16_t)(words[lane * 4 + reg] >> 16 * half);
}

/* Memory (512 bytes) or registers (4 a lane) that the instruction must leave. */
static void want_rows(const uint32_t *in, unsigned count, bool store, bool trans, uint32_t *want)
{
    uint16_t *memory = (uint16_t *)want;
    const uint16_t *from = (const uint16_t *)in;

    memset(want, 0, 512);
    for (unsigned i = 0; i < count; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned h = 0; h < 2; h++) {
                unsigned row = trans ? lane % 4 * 2 + h : lane / 4,
                         col = trans ? lane / 4 : lane % 4 * 2 + h;
                unsigned at = row_at(8 * i + row) / 2 + col;
                if (store)
                    memory[at] = half_at(in, lane, i, h);
                else
                    want[lane * 4 + i] |= (uint32_t)from[at] << 16 * h;
            }
}

static void test_rows(unsigned count, bool store, bool trans, bool shared)
{
    struct text ptx = {0};
    char form[96];
    struct rng r;
    uint32_t want[128];

    snprintf(form, sizeof form, "%s.sync.aligned.m8n8.x%u%s%s.b16", store ? "stmatrix" : "ldmatrix",
             count, trans ? ".trans" : "", shared ? ".shared" : "");
    if (!is_chosen(form))
        return;
    rng_seed_name(&r, form);
    rows_kernel(&ptx, form, count, store, shared);
    for (int n = 0; n < target_count; n++) {
        enum target t = targets[n];
        struct answer answer = {0};
        uint32_t *in = memory_alloc(t, 512), *out = memory_alloc(t, 512);
        struct {
            void *out, *in;
        } params = {out, in};

        for (unsigned k = 0; k < 128; k++)
            in[k] = (uint32_t)rng_next(&r);
        want_rows(in, count, store, trans, want);
        struct runner u;
        if (begin(&u, t, form, ptx.s) && run(&u, &params, sizeof params, LANES)) {
            bool ok = memcmp(out, want, sizeof want) == 0;
            answer_add(&answer, out, sizeof want);
            if (!ok)
                printf("FAIL %s %s: other elements\n", target_names[t], form);
            failures += !ok;
            passes += ok;
        }
        finish(&u, &answer);
        memory_reset(t);
    }
    text_free(&ptx);
}

static void test_turn(void)
{
    static const char form[] = "movmatrix.sync.aligned.m8n8.trans.b16";
    struct text ptx = {0};
    struct rng r;

    if (!is_chosen(form))
        return;
    rng_seed_name(&r, form);
    text_add(&ptx,
             "%s.visible .entry k(.param .u64 out, .param .u64 in) {\n"
             "  .reg .b32 %%r<8>; .reg .b64 %%rd<8>;\n"
             "  ld.param.u64 %%rd1, [out]; ld.param.u64 %%rd2, [in];\n"
             "  mov.u32 %%r1, %%laneid; mul.wide.u32 %%rd3, %%r1, 4;\n"
             "  add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n"
             "  ld.global.u32 %%r1, [%%rd2];\n  %s %%r2, %%r1;\n  st.global.u32 [%%rd1], %%r2;\n"
             "  ret;\n}\n",
             head, form);
    for (int n = 0; n < target_count; n++) {
        enum target t = targets[n];
        struct answer answer = {0};
        uint32_t *in = memory_alloc(t, 128), *out = memory_alloc(t, 128), bad = 0;
        struct {
            void *out, *in;
        } params = {out, in};

        for (unsigned k = 0; k < LANES; k++)
            in[k] = (uint32_t)rng_next(&r);
        struct runner u;
        if (begin(&u, t, form, ptx.s) && run(&u, &params, sizeof params, LANES)) {
            const uint16_t *x = (const uint16_t *)in, *y = (const uint16_t *)out;
            for (unsigned row = 0; row < 8; row++)
                for (unsigned col = 0; col < 8; col++)
                    bad += y[row * 8 + col] != x[col * 8 + row];
            if (bad)
                printf("FAIL %s %s: %u elements\n", target_names[t], form, bad);
            answer_add(&answer, out, 128);
            failures += bad != 0;
            passes += bad == 0;
        }
        finish(&u, &answer);
        memory_reset(t);
    }
    text_free(&ptx);
}

static void all_rows(void)
{
    for (unsigned count = 1; count <= 4; count *= 2)
        for (unsigned v = 0; v < 8; v++)
            test_rows(count, v & 1, v & 2, v & 4);
    test_turn();
}

int main(int argc, char **argv)
{
    int o, asked = 0;
    char message[400];

    while ((o = getopt(argc, argv, "t:naw:c:f:p:")) != -1) {
        if (o == 'n')
            target_narrow(true);
        else if (o == 'a')
            all = true;
        else if (o == 't' && asked < 2 && target_named(optarg) != TARGET_COUNT)
            targets[asked++] = target_named(optarg);
        else if ((o == 'w' || o == 'c') && answers_open(optarg, o == 'w'))
            continue;
        else if (o == 'f' && program_forms_to(optarg))
            continue;
        else if (o == 'p' && sscanf(optarg, "%u/%u", &part, &parts) == 2 && part < parts)
            continue;
        else
            return 2;
    }
    if (asked)
        target_count = asked;
    if (optind < argc)
        filter = argv[optind];
    for (int n = 0; n < target_count; n++) {
        if (!target_open(targets[n], message, sizeof message)) {
            printf("skipped: %s\n", message);
            return 77;
        }
    }
    all_mma();
    all_sparse();
    all_quads();
    all_wmma();
    public_wmma();
    all_rows();
    answers_report();
    printf("matrix: %u right, %u wrong\n", passes, failures);
    return failures != 0;
}
