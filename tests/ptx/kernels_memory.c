/* Memory: state spaces, vectors, sub-word accesses, strides, atomics, generic addresses, spinning
 * between blocks, faults.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/kernels.h"

#define EACH for (uint32_t i = 0; i < c->threads; i++)

static void want_atomics(struct block_case *c)
{
    uint32_t *m = c->extra;

    EACH
    {
        uint32_t x = c->x[i];
        uint64_t sum;

        if (c->index == 0 && i == 0) {
            m[3] = 0;
            m[4] = 0;
        }
        m[0] += x;
        m[1] |= 1u << (x & 31);
        m[2] ^= x;
        m[3] = x > m[3] ? x : m[3];
        m[4] = (int32_t)x < (int32_t)m[4] ? x : m[4];
        m[5] = m[5] >= 1000 ? 0 : m[5] + 1;
        memcpy(&sum, &m[6], 8);
        sum += (uint64_t)x << 8;
        memcpy(&m[6], &sum, 8);
        m[8 + (x & 63)]++;
        c->d[i] = 1;
    }
}

/* Tickets: every thread gets another number. What is stored is the square sum, independent of the
 * order. */
static void want_tickets(struct block_case *c)
{
    EACH
    {
        uint32_t t = c->extra[0]++;

        c->extra[1] += t * t;
        c->d[i] = 7;
    }
}

static void want_cas_max(struct block_case *c)
{
    EACH
    {
        if (c->x[i] > c->extra[0])
            c->extra[0] = c->x[i];
        c->d[i] = 3;
    }
}

static float as_float(uint32_t x)
{
    float f;

    memcpy(&f, &x, 4);
    return f;
}

static void want_atomic_float(struct block_case *c)
{
    EACH
    {
        float sum = as_float(c->extra[0]);
        double total;

        sum += (float)(c->x[i] & 15); /* exact: small whole numbers */
        memcpy(&c->extra[0], &sum, 4);
        memcpy(&total, &c->extra[2], 8);
        total += (double)c->x[i];
        memcpy(&c->extra[2], &total, 8);
        c->d[i] = 9;
    }
}

static void want_shared_histogram(struct block_case *c)
{
    uint32_t bins[16] = {0};

    EACH bins[c->x[i] & 15]++;
    EACH c->d[i] = bins[i & 15];
}

static void want_local(struct block_case *c)
{
    EACH
    {
        uint32_t a[16], s = 0;

        for (uint32_t k = 0; k < 16; k++)
            a[k] = c->x[i] * (k + 1);
        for (uint32_t k = 0; k < 16; k++) {
            uint32_t j = (c->x[i] >> k) & 15, t = a[j];

            a[j] = a[k];
            a[k] = t + 1;
        }
        for (uint32_t k = 0; k < 16; k++)
            s = s * 7 + a[k];
        c->d[i] = s;
    }
}

static void want_const(struct block_case *c)
{
    static const uint32_t table[8] = {2, 3, 5, 7, 11, 13, 17, 0xffffffff};

    EACH c->d[i] = table[c->x[i] & 7] + table[3] + 40;
}

static void want_init(struct block_case *c)
{
    EACH c->d[i] = 0x01020304 + 1234 + (uint32_t)'b' + 30;
}

static void want_global_counter(struct block_case *c)
{
    EACH c->d[i] = c->x[i] ^ 99;
}

static void want_generic(struct block_case *c)
{
    EACH c->d[i] = (i & 1 ? c->x[i] : c->x[i] * 2) + (1 << 4) + (1 << 5) + (1 << 6);
}

static void want_subword(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i];

        c->d[i] = (uint32_t)(int8_t)x + (uint8_t)(x >> 8) * 3u + (uint32_t)(int16_t)(x >> 16) * 5u +
                  (x & 0xffff) * 7u + (uint32_t)((int64_t)(int8_t)(x >> 8) >> 32);
    }
}

static void want_store_subword(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i];

        c->d[i] = (x & 0xff) | (x >> 8 & 0xff) << 8 | (x * 3) << 16;
    }
}

static void want_vectors(struct block_case *c)
{
    EACH
    {
        uint32_t k = i / 4 * 4;

        c->d[i] =
            k + 3 < c->threads ? c->x[k] + c->x[k + 1] * 2 + c->x[k + 2] * 3 + c->x[k + 3] * 4 : 1;
    }
}

static void want_vector_store(struct block_case *c)
{
    EACH
    {
        uint32_t *m = &c->extra[(c->index * c->threads + i) * 4 % 4096];

        m[0] = c->x[i];
        m[1] = i;
        m[2] = c->x[i] + i;
        m[3] = 77;
        c->d[i] = 2;
    }
}

static void want_strides(struct block_case *c)
{
    EACH
    {
        uint32_t n = c->threads;

        c->d[i] = c->x[n - 1 - i] + c->x[i * 3 % n] * 2 + c->x[i / 2] * 3 + c->x[0] * 5 +
                  c->x[i % 4 < n ? i % 4 : 0] * 7;
    }
}

/* In every other warp only some lanes take part. */
static bool takes_part(const struct block_case *c, uint32_t i)
{
    return !(i / 32 & 1) || (c->x[i] & 1);
}

static void want_taps(struct block_case *c)
{
    EACH for (int32_t k = -2; k <= 2; k++)
    {
        int32_t at = (int32_t)i + k, last = (int32_t)c->threads - 1;

        at = at < 0 ? 0 : at > last ? last : at;
        c->d[i] = takes_part(c, i) ? (k > -2 ? c->d[i] : 0) + c->x[at] * (uint32_t)(k + 3) : 0;
    }
}

static void want_byte_sums(struct block_case *c)
{
    uint32_t sums[256] = {0};

    EACH if (takes_part(c, i)) sums[c->x[i / 4] >> 8 * (i % 4) & 255] += c->x[i];
    EACH c->d[i] = sums[i & 255];
}

/* Three times over the bytes, a lane's own number of steps of n. */
static void want_turns(struct block_case *c)
{
    uint32_t sums[256] = {0}, passes[1024] = {0}, some = 0;

    EACH for (int32_t k = (int32_t)i, end = (int32_t)(4 * c->threads - (c->x[i] & 127));
              takes_part(c, i) && k < end; k += (int32_t)c->threads)
    {
        sums[c->x[k / 4] >> 8 * (k % 4) & 255] += 3 * c->x[i];
        passes[i] += 3;
    }
    EACH some += passes[i] != 0;
    EACH c->d[i] = sums[i & 255] * 3 + passes[i] + some;
}

static void want_double_stride(struct block_case *c)
{
    EACH
    {
        uint32_t *m = &c->extra[(i * 2) % 4096];

        m[0] = c->x[i] + 1;
        c->d[i] = 4;
    }
}

static void want_transpose(struct block_case *c)
{
    EACH c->d[i] = c->x[(i % 16) * 16 + i / 16];
}

static void want_tile(struct block_case *c)
{
    EACH
    {
        uint32_t s = 0, row = i / 16, col = i % 16;

        for (uint32_t k = 0; k < 16; k++)
            s += c->x[row * 16 + k] * c->x[k * 16 + col];
        c->d[i] = s;
    }
}

static void want_dynamic(struct block_case *c)
{
    EACH c->d[i] = c->x[(i + 5) % c->threads] + 4096;
}

static void want_params(struct block_case *c)
{
    EACH c->d[i] = c->x[i] + 1;
}

static void want_predicated(struct block_case *c)
{
    EACH c->d[i] = i % 7 == 3 ? c->x[i] : 5;
}

static void want_chain(struct block_case *c)
{
    EACH c->d[i] = c->index + 1;
}

static void want_last_block(struct block_case *c)
{
    EACH c->d[i] = 11;
    c->extra[0] = 0;
    c->extra[2] = c->index + 1 == c->grid.x ? (c->grid.x * (c->grid.x + 1)) / 2 : 0;
    c->extra[3 + c->index] = c->index + 1;
}

/* The first bytes of a word, zeros behind them. */
static void want_filled(struct block_case *c)
{
    for (uint32_t i = 0; i < c->threads; i++)
        c->d[i] = (uint32_t)(c->x[i] & ((UINT64_C(1) << i % 5 * 8) - 1));
}

static void want_same(struct block_case *c)
{
    for (uint32_t i = 0; i < c->threads; i++)
        c->d[i] = c->x[i];
}

static void want_wide(struct block_case *c)
{
    for (uint32_t i = 0; i < c->threads; i++) {
        uint32_t g = c->index * c->threads + i, x = c->x[i];

        c->d[i] = (i & 1 ? 77 : 0) + x * 3 + i * 5 + i * 7 + x * 11;
        c->extra[4 * g] = c->extra[4 * g + 3] = x;
        c->extra[4 * g + 1] = c->extra[4 * g + 2] = i;
    }
}

static void want_wide_exchange(struct block_case *c)
{
    for (uint32_t i = 0; i < c->threads; i++) {
        uint32_t g = c->index * c->threads + i, x = c->x[i];

        c->d[i] = x * 3 + i * 5 + i * 7 + x * 11;
        c->extra[4 * g] = c->extra[4 * g + 3] = i;
        c->extra[4 * g + 1] = c->extra[4 * g + 2] = x;
    }
}

/* The pair at extra: how many threads there were, and the sum of their numbers. */
static void want_wide_sum(struct block_case *c)
{
    uint64_t sum;

    memcpy(&sum, c->extra + 2, sizeof sum);
    for (uint32_t i = 0; i < c->threads; i++) {
        c->d[i] = 1;
        sum += c->x[i];
    }
    memcpy(c->extra + 2, &sum, sizeof sum);
    c->extra[0] += c->threads;
}

static void want_wide_shared(struct block_case *c)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->threads; i++)
        sum += c->x[i];
    for (uint32_t i = 0; i < c->threads; i++)
        c->d[i] = (uint32_t)sum + (uint32_t)(sum >> 32) * 3 + c->threads;
}

static void want_none(struct block_case *c)
{
    (void)c;
}

static void want_skip_wild(struct block_case *c)
{
    EACH c->d[i] = i & 1 ? c->x[i] : 6;
}

static void want_float_mix(struct block_case *c)
{
    EACH
    {
        float f = (float)(int32_t)(c->x[i] & 0xffff), s = 0;

        for (int k = 1; k < 6; k++)
            s = s + f / (float)(1 << k);
        c->d[i] = (uint32_t)(int32_t)s;
    }
}

static void want_red_vector(struct block_case *c)
{
    EACH
    {
        c->extra[i % 7] += c->x[i];
        c->d[i] = 8;
    }
}

#define I4 "mul.wide.u32 a1, i, 4;\n"
#define UNLESS_PART(label)                                                                         \
    "shr.u32 r6, i, 5; and.b32 r6, r6, 1; not.b32 r7, x; and.b32 r6, r6, r7; setp.ne.u32 p0, r6, " \
    "0; @p0 bra " label ";\n"
#define TAP_FROM(away, least, more, times)                                                         \
    "add.s32 r0, i, " away "; max.s32 r0, r0, " least "; min.s32 r0, r0, r5; " more                \
    "mul.wide.s32 a3, r0, 4; add.s64 a3, a3, a2; ld.global.u32 r1, [a3]; mad.lo.u32 d, r1, " times \
    ", d;\n"
#define TAP(away, times)        TAP_FROM(away, "0", "", times)
#define TAP_BEFORE(away, times) TAP_FROM(away, "-2", "", times)
#define TAP_FAR(away, times)    TAP_FROM(away, "0", "add.s32 r0, r0, 2147483392; ", times)

/* The same with a register for each value, as compilers write it, and one pointer for all: taps of
 * a row, whose numbers differ by a constant. zero, v and w are known when it runs. */
#define ROWS(last, move, v, w)                                                                     \
    ".reg .b32 qa<6>, qb<6>, qc<6>, qd<6>, qe<6>, read, zero, v, w; .reg .b64 ra<6>, rb<6>, "      \
    "base<3>;\n"                                                                                   \
    "mul.lo.u32 r8, b, n; mul.wide.u32 base0, r8, 4; add.s64 base1, head3, base0; add.s64 base2, " \
    "base1, " move "; sub.u32 r5, n, " last "; ld.global.u32 read, [extra]; and.b32 zero, read, "  \
    "0; or.b32 v, zero, " v "; or.b32 w, zero, " w ";\n" UNLESS_PART("STORE")
#define ROW_TAP(away, least, more, k)                                                              \
    "add.s32 qa" k ", i, " away "; max.s32 qb" k ", qa" k ", " least "; min.s32 qc" k ", qb" k     \
    ", r5; add.s32 qd" k ", qc" k ", " more "; add.s32 qe" k ", qd" k ", w; mul.wide.s32 ra" k     \
    ", qe" k ", 4; add.s64 rb" k ", base2, ra" k "; ld.global.u32 r1, [rb" k                       \
    "]; mad.lo.u32 d, r1, " k ", d;\n"
#define ROW_TAPS(more)                                                                             \
    ROW_TAP("-2", "0", more, "1")                                                                  \
    ROW_TAP("-1", "0", "v", "2")                                                                   \
    ROW_TAP("0", "0", "v", "3") ROW_TAP("1", "0", more, "4") ROW_TAP("2", "0", more, "5")

#define CLEAR_SUMS                                                                                 \
    "mov.u64 a2, sums; mov.u32 r0, i; mov.u32 r1, 0;\n"                                            \
    "ZERO: setp.ge.u32 p1, r0, 256; @p1 bra READY; mul.wide.u32 a3, r0, 4; add.s64 a3, a3, a2; "   \
    "st.shared.u32 [a3], r1; add.u32 r0, r0, n; bra ZERO;\n"                                       \
    "READY: bar.sync 0;\n"
#define READ_SUM                                                                                   \
    "and.b32 r2, i, 255; mul.wide.u32 a3, r2, 4; add.s64 a3, a3, a2; ld.shared.u32 d, [a3];\n"

const struct kernel_test kernel_tests_memory[] = {
    {.name = "memory.atomics",
     .want = want_atomics,
     .check_extra = true,
     .body = "red.global.add.u32 [extra], x; and.b32 r0, x, 31; mov.u32 r1, 1; shl.b32 r1, r1, r0; "
             "red.global.or.b32 [extra + 4], r1;\n"
             "atom.global.xor.b32 r2, [extra + 8], x; atom.global.max.u32 r2, [extra + 12], x; "
             "atom.global.min.s32 r2, [extra + 16], x;\n"
             "atom.global.inc.u32 r2, [extra + 20], 1000; cvt.u64.u32 a1, x; shl.b64 a1, a1, 8; "
             "red.global.add.u64 [extra + 24], a1;\n"
             "and.b32 r3, x, 63; mul.wide.u32 a2, r3, 4; add.s64 a2, a2, extra; "
             "atom.global.add.u32 r4, [a2 + 32], 1; mov.u32 d, 1;\n"},
    {.name = "memory.tickets",
     .want = want_tickets,
     .check_extra = true,
     .body = "atom.global.add.u32 r0, [extra], 1; mul.lo.u32 r0, r0, r0; red.global.add.u32 [extra "
             "+ 4], r0; mov.u32 d, 7;\n"},
    {.name = "memory.cas_loop",
     .want = want_cas_max,
     .check_extra = true,
     .body = "ld.global.u32 r0, [extra];\n"
             "LOOP: setp.ge.u32 p0, r0, x; @p0 bra DONE; atom.global.cas.b32 r1, [extra], r0, x; "
             "setp.eq.u32 p1, r1, r0; mov.u32 r0, r1;\n"
             "@!p1 bra LOOP;\n"
             "DONE: mov.u32 d, 3;\n"},
    {.name = "memory.atomic_float",
     .want = want_atomic_float,
     .check_extra = true,
     .body = "and.b32 r0, x, 15; cvt.rn.f32.u32 f0, r0; atom.global.add.f32 f1, [extra], f0; "
             "cvt.rn.f64.u32 w0, x;\n"
             "red.global.add.f64 [extra + 8], w0; mov.u32 d, 9;\n"},
    {.name = "memory.red",
     .want = want_red_vector,
     .check_extra = true,
     .body = "rem.u32 r0, i, 7; mul.wide.u32 a1, r0, 4; add.s64 a1, a1, extra; "
             "red.relaxed.gpu.global.add.u32 [a1], x; mov.u32 d, 8;\n"},
    {.name = "memory.shared_histogram",
     .want = want_shared_histogram,
     .globals = ".shared .align 4 .u32 bins[16];\n",
     .body =
         "mov.u64 a2, bins; setp.ne.u32 p0, i, 0; @p0 bra READY; mov.u32 r0, 0; mov.u64 a3, a2;\n"
         "ZERO: mov.u32 r1, 0; st.shared.u32 [a3], r1; add.s64 a3, a3, 4; add.u32 r0, r0, 1; "
         "setp.lt.u32 p1, r0, 16; @p1 bra ZERO;\n"
         "READY: bar.sync 0; and.b32 r2, x, 15; mul.wide.u32 a1, r2, 4; add.s64 a1, a1, a2; "
         "atom.shared.add.u32 r3, [a1], 1;\n"
         "bar.sync 0; and.b32 r2, i, 15; mul.wide.u32 a1, r2, 4; add.s64 a1, a1, a2; ld.shared.u32 "
         "d, [a1];\n"},
    {.name = "memory.local_array",
     .want = want_local,
     .body =
         ".local .align 16 .b8 arr[64]; mov.u64 a2, arr; mov.u32 r0, 0; mov.u64 a3, a2;\n"
         "FILL: add.u32 r0, r0, 1; mul.lo.u32 r1, x, r0; st.local.u32 [a3], r1; add.s64 a3, a3, 4; "
         "setp.lt.u32 p0, r0, 16; @p0 bra FILL;\n"
         "mov.u32 r0, 0;\n"
         "MIX: shr.u32 r2, x, r0; and.b32 r2, r2, 15; mul.wide.u32 a4, r2, 4; add.s64 a4, a2, a4; "
         "mul.wide.u32 a5, r0, 4; add.s64 a5, a2, a5;\n"
         "ld.local.u32 r3, [a4]; ld.local.u32 r4, [a5]; st.local.u32 [a4], r4; add.u32 r3, r3, 1; "
         "st.local.u32 [a5], r3;\n"
         "add.u32 r0, r0, 1; setp.lt.u32 p0, r0, 16; @p0 bra MIX; mov.u32 r0, 0; mov.u64 a3, a2;\n"
         "SUM: ld.local.u32 r5, [a3]; mad.lo.u32 d, d, 7, r5; add.s64 a3, a3, 4; add.u32 r0, r0, "
         "1; setp.lt.u32 p0, r0, 16; @p0 bra SUM;\n"},
    {.name = "memory.const",
     .want = want_const,
     .globals = ".const .align 4 .u32 primes[8] = {2, 3, 5, 7, 11, 13, 17, 0xffffffff};\n.const "
                ".align 4 .u32 forty = 40;\n",
     .body = "and.b32 r0, x, 7; mul.wide.u32 a1, r0, 4; mov.u64 a2, primes; add.s64 a1, a1, a2; "
             "ld.const.u32 d, [a1];\n"
             "ld.const.u32 r1, [primes + 12]; add.u32 d, d, r1; ld.const.u32 r1, [forty]; add.u32 "
             "d, d, r1;\n"},
    {.name = "memory.initialised",
     .want = want_init,
     .globals =
         ".global .align 1 .b8 bytes[8] = {4, 3, 2, 1};\n.global .align 4 .s32 number = 1234;\n"
         ".global .align 1 .b8 str[4] = {97, 98, 99, 0};\n.global .align 8 .u64 pointer = "
         "generic(str);\n"
         ".global .align 4 .u32 vec[4] = {10, 20, 30, 40};\n.global .align 8 .u64 inner = "
         "generic(vec)+8;\n",
     .body = "ld.global.u8 r0, [bytes]; ld.global.u8 r1, [bytes + 1]; ld.global.u8 r2, [bytes + "
             "2]; ld.global.u8 r3, [bytes + 3];\n"
             "shl.b32 r1, r1, 8; shl.b32 r2, r2, 16; shl.b32 r3, r3, 24; add.u32 d, r0, r1; "
             "add.u32 d, d, r2; add.u32 d, d, r3;\n"
             "ld.global.u32 r0, [number]; add.u32 d, d, r0; ld.global.u64 a1, [pointer]; ld.u8 r1, "
             "[a1 + 1]; add.u32 d, d, r1;\n"
             "ld.global.u64 a1, [inner]; ld.u32 r1, [a1]; add.u32 d, d, r1;\n"},
    {.name = "memory.module_variable",
     .want = want_global_counter,
     .globals = ".global .align 4 .u32 cell[3072];\n",
     .body = "mov.u64 a2, cell; mul.wide.u32 a1, g, 4; add.s64 a1, a1, a2; st.global.u32 [a1], x; "
             "ld.global.u32 r0, [a1]; xor.b32 d, r0, 99;\n"},
    {.name = "memory.generic",
     .want = want_generic,
     .globals = ".shared .align 16 .b8 s[4096];\n",
     .body = ".local .align 16 .b8 arr[16]; mov.u64 a2, s;" I4
             "add.s64 a1, a1, a2; cvta.shared.u64 a3, a1; mov.u64 a4, arr; cvta.local.u64 a5, a4;\n"
             "st.u32 [a3], x; mul.lo.u32 r0, x, 2; st.u32 [a5], r0; and.b32 r1, i, 1; setp.ne.u32 "
             "p0, r1, 0; selp.b64 a6, a3, a5, p0;\n"
             "ld.u32 d, [a6]; isspacep.shared p1, a3; isspacep.local p2, a5; cvta.global.u64 a7, "
             "extra; isspacep.global p3, a7;\n"
             "isspacep.shared p4, a7; selp.u32 r2, 16, 0, p1; add.u32 d, d, r2; selp.u32 r2, 32, "
             "0, p2; add.u32 d, d, r2;\n"
             "selp.u32 r2, 64, 0, p3; add.u32 d, d, r2; selp.u32 r2, 128, 0, p4; add.u32 d, d, r2; "
             "cvta.to.shared.u64 a8, a3;\n"
             "ld.shared.u32 r3, [a8]; sub.u32 r3, r3, x; add.u32 d, d, r3;\n"},
    {.name = "memory.subword_loads",
     .want = want_subword,
     .body = "ld.global.s8 d, [in]; ld.global.u8 r0, [in + 1]; mad.lo.u32 d, r0, 3, d; "
             "ld.global.s16 r1, [in + 2]; mad.lo.u32 d, r1, 5, d;\n"
             "ld.global.u16 h0, [in]; cvt.u32.u16 r2, h0; mad.lo.u32 d, r2, 7, d; ld.global.s8 a1, "
             "[in + 1]; shr.s64 a1, a1, 32;\n"
             "cvt.u32.u64 r3, a1; add.u32 d, d, r3;\n"},
    {.name = "memory.subword_stores",
     .want = want_store_subword,
     .globals = ".shared .align 16 .b8 s[4096];\n",
     .body = "mov.u64 a2, s;" I4 "add.s64 a1, a1, a2; st.shared.u8 [a1], x; shr.u32 r0, x, 8; "
             "st.shared.b8 [a1 + 1], r0; mul.lo.u32 r1, x, 3;\n"
             "cvt.u16.u32 h1, r1; st.shared.u16 [a1 + 2], h1; ld.shared.u32 d, [a1];\n"},
    {.name = "memory.vector_loads",
     .want = want_vectors,
     .multiple = 4,
     .body = "shr.u32 r0, i, 2; shl.b32 r0, r0, 2; sub.u32 r1, i, r0; mul.wide.u32 a1, r1, 4; "
             "sub.s64 a1, in, a1; mov.u32 d, 1;\n"
             "add.u32 r2, r0, 3; setp.ge.u32 p0, r2, n; @p0 bra STORE; ld.global.v4.u32 {r3, r4, "
             "r5, r6}, [a1];\n"
             "ld.global.v2.u32 {r7, r8}, [a1 + 8]; mad.lo.u32 d, r4, 2, r3; mad.lo.u32 d, r7, 3, "
             "d; mad.lo.u32 d, r8, 4, d;\n"},
    {.name = "memory.vector_stores",
     .want = want_vector_store,
     .check_extra = true,
     .max_threads = 256,
     .body = "shl.b32 r0, g, 2; and.b32 r0, r0, 4095; mul.wide.u32 a1, r0, 4; add.s64 a1, a1, "
             "extra; add.u32 r1, x, i; mov.u32 r2, 77;\n"
             "st.global.v4.b32 [a1], {x, i, r1, r2}; mov.u32 d, 2;\n"},
    {.name = "memory.strides",
     .want = want_strides,
     .body = "mul.wide.u32 a1, i, 4; sub.s64 a2, in, a1;\n" /* a2 = &x[0] of the block */
             "sub.u32 r0, n, 1; sub.u32 r0, r0, i; mul.wide.u32 a3, r0, 4; add.s64 a3, a3, a2; "
             "ld.global.u32 d, [a3];\n"
             "mul.lo.u32 r0, i, 3; rem.u32 r0, r0, n; mul.wide.u32 a3, r0, 4; add.s64 a3, a3, a2; "
             "ld.global.u32 r1, [a3]; mad.lo.u32 d, r1, 2, d;\n"
             "shr.u32 r0, i, 1; mul.wide.u32 a3, r0, 4; add.s64 a3, a3, a2; ld.global.nc.u32 r1, "
             "[a3]; mad.lo.u32 d, r1, 3, d;\n"
             "ld.global.u32 r1, [a2]; mad.lo.u32 d, r1, 5, d; and.b32 r0, i, 3; setp.lt.u32 p0, "
             "r0, n; selp.u32 r0, r0, 0, p0;\n"
             "mul.wide.u32 a3, r0, 4; add.s64 a3, a3, a2; ld.global.u32 r1, [a3]; mad.lo.u32 d, "
             "r1, 7, d;\n"},
    {.name = "memory.clamped_taps",
     .want = want_taps,
     .body = I4 "sub.s64 a2, in, a1; sub.u32 r5, n, 1;\n" UNLESS_PART("STORE") TAP("-2", "1")
         TAP("-1", "2") TAP("0", "3") TAP("1", "4") TAP("2", "5")},
    /* The pointer is behind the first words: numbers below 0. */
    {.name = "memory.taps_before",
     .want = want_taps,
     .body = I4 "sub.s64 a2, in, a1; add.s64 a2, a2, 8; sub.s32 r5, n, 3;\n" UNLESS_PART("STORE")
         TAP_BEFORE("-4", "1") TAP_BEFORE("-3", "2") TAP_BEFORE("-2", "3") TAP_BEFORE("-1", "4")
             TAP_BEFORE("0", "5")},
    /* The pointer is far outside of what there is, and the largest number just fits. */
    {.name = "memory.taps_far",
     .want = want_taps,
     .threads = 256,
     .body = I4 "sub.s64 a2, in, a1; sub.s64 a2, a2, 8589933568; sub.u32 r5, n, 1;\n" UNLESS_PART(
         "STORE") TAP_FAR("-2", "1") TAP_FAR("-1", "2") TAP_FAR("0", "3") TAP_FAR("1", "4")
         TAP_FAR("2", "5")},
    {.name = "memory.rows", .want = want_taps, .body = ROWS("1", "0", "0", "0") ROW_TAPS("zero")},
    {.name = "memory.rows_before",
     .want = want_taps,
     .body = ROWS("3", "8", "0", "0") ROW_TAP("-4", "-2", "v", "1") ROW_TAP("-3", "-2", "zero", "2")
         ROW_TAP("-2", "-2", "v", "3") ROW_TAP("-1", "-2", "v", "4")
             ROW_TAP("0", "-2", "zero", "5")},
    /* The largest number just fits. */
    {.name = "memory.rows_far",
     .want = want_taps,
     .threads = 256,
     .body = ROWS("1", "-8589933568", "2147483392", "0") ROW_TAPS("v")},
    /* Parts of the number are large, and their sum wraps around: -2 and what follows. */
    {.name = "memory.rows_wrap",
     .want = want_taps,
     .body = ROWS("1", "8", "2147483647", "2147483647") ROW_TAPS("v")},
    {.name = "memory.byte_sums",
     .want = want_byte_sums,
     .globals = ".shared .align 4 .u32 sums[256];\n",
     .body = CLEAR_SUMS UNLESS_PART("JOIN") I4
     "sub.s64 a4, in, a1; cvt.u64.u32 a5, i; add.s64 a5, a5, a4; ld.global.u8 r2, [a5]; "
     "mul.wide.u32 a3, r2, 4; add.s64 a3, a3, a2; red.shared.add.u32 [a3], x;\n"
     "JOIN: bar.sync 0;\n" READ_SUM},
    /* How far a pass goes on is not known, so that warps take turns; some lanes wait meanwhile. */
    {.name = "memory.turns",
     .want = want_turns,
     .globals = ".shared .align 4 .u32 sums[256];\n",
     .grid = 1,
     .body = I4
     "add.s64 a4, a1, extra; st.global.u32 [a4], x;\n" CLEAR_SUMS "mov.u32 r10, 0;\n" UNLESS_PART(
         "JOIN") "ld.global.u32 r9, [extra]; and.b32 r9, r9, 0; add.u32 r9, r9, n; "
                 "and.b32 r8, x, 127; shl.b32 r2, n, 2; sub.s32 r8, r2, r8; mov.u32 r11, 0;\n"
                 "AGAIN: mov.u32 r12, i; setp.ge.s32 p2, r12, r8; @p2 bra NEXT;\n"
                 "TURN: cvt.s64.s32 a5, r12; add.s64 a6, a5, extra; ld.global.u8 r2, [a6]; "
                 "mul.wide.u32 a3, r2, 4; add.s64 a3, a3, a2; red.shared.add.u32 [a3], x; "
                 "add.u32 r10, r10, 1; add.s32 r12, r12, r9; setp.lt.s32 p3, r12, r8; @p3 bra "
                 "TURN;\n"
                 "NEXT: add.u32 r11, r11, 1; setp.lt.u32 p4, r11, 3; @p4 bra AGAIN;\n"
                 "JOIN: setp.ne.u32 p5, r10, 0; bar.red.popc.u32 r7, 0, p5;\n" READ_SUM
                 "mad.lo.u32 d, d, 3, r10; add.u32 d, d, r7;\n"},
    {.name = "memory.stride_two",
     .want = want_double_stride,
     .check_extra = true,
     .grid = 1,
     .body = "shl.b32 r0, i, 1; and.b32 r0, r0, 4095; mul.wide.u32 a1, r0, 4; add.s64 a1, a1, "
             "extra; add.u32 r1, x, 1; st.global.u32 [a1], r1; mov.u32 d, 4;\n"},
    {.name = "memory.transpose",
     .want = want_transpose,
     .threads = 256,
     .globals = ".shared .align 4 .b8 s[1088];\n",
     .body = "and.b32 r0, i, 15; shr.u32 r1, i, 4; mad.lo.u32 r2, r1, 17, r0; mul.wide.u32 a1, r2, "
             "4; mov.u64 a2, s; add.s64 a1, a1, a2;\n"
             "st.shared.u32 [a1], x; bar.sync 0; mad.lo.u32 r2, r0, 17, r1; mul.wide.u32 a1, r2, "
             "4; add.s64 a1, a1, a2; ld.shared.u32 d, [a1];\n"},
    {.name = "memory.tile_product",
     .want = want_tile,
     .threads = 256,
     .globals = ".shared .align 4 .b8 s[1024];\n.shared .align 4 .b8 t[1024];\n",
     .body = "and.b32 r0, i, 15; shr.u32 r1, i, 4; mov.u64 a2, s; mov.u64 a3, t;" I4
             "add.s64 a4, a1, a2; st.shared.u32 [a4], x; add.s64 a4, a1, a3;\n"
             "st.shared.u32 [a4], x; bar.sync 0; mul.wide.u32 a5, r1, 64; add.s64 a5, a5, a2; "
             "mul.wide.u32 a6, r0, 4; add.s64 a6, a6, a3; mov.u32 r2, 0;\n"
             "LOOP: ld.shared.u32 r3, [a5]; ld.shared.u32 r4, [a6]; mad.lo.u32 d, r3, r4, d; "
             "add.s64 a5, a5, 4; add.s64 a6, a6, 64; add.u32 r2, r2, 1;\n"
             "setp.lt.u32 p0, r2, 16; @p0 bra LOOP;\n"},
    {.name = "memory.dynamic_shared",
     .want = want_dynamic,
     .dynamic_shared = 4096,
     .globals = ".extern .shared .align 16 .b8 dyn[];\n",
     .body = "mov.u64 a2, dyn;" I4 "add.s64 a1, a1, a2; st.shared.u32 [a1], x; bar.sync 0; add.u32 "
             "r0, i, 5; rem.u32 r0, r0, n; mul.wide.u32 a3, r0, 4;\n"
             "add.s64 a3, a3, a2; ld.shared.u32 d, [a3]; mov.u32 r1, %dynamic_smem_size; add.u32 "
             "d, d, r1;\n"},
    {.name = "memory.params",
     .want = want_params,
     .globals = ".func (.param .align 4 .b8 rv[12]) swap(.param .align 4 .b8 pa[12])\n{ .reg .b32 "
                "t<3>; ld.param.u32 t0, [pa]; ld.param.u32 t1, [pa + 4];\n"
                "ld.param.u32 t2, [pa + 8]; st.param.u32 [rv], t2; st.param.u32 [rv + 4], t0; "
                "st.param.u32 [rv + 8], t1; ret; }\n",
     .body = "{ .param .align 4 .b8 q0[12]; .param .align 4 .b8 q1[12]; st.param.u32 [q0], x; "
             "st.param.u32 [q0 + 4], i; mov.u32 r0, 1;\n"
             "st.param.u32 [q0 + 8], r0; call.uni (q1), swap, (q0); ld.param.u32 r1, [q1]; "
             "ld.param.u32 r2, [q1 + 4]; }\n"
             "add.u32 d, r1, r2;\n"},
    {.name = "memory.predicated",
     .want = want_predicated,
     .body = "rem.u32 r0, i, 7; setp.eq.u32 p0, r0, 3; mov.u32 d, 5; @p0 ld.global.u32 d, [in];\n"},
    {.name = "memory.inactive_lanes_wild",
     .want = want_skip_wild,
     /* lanes that are not active hold addresses that must not be touched */
     .body = "and.b32 r0, i, 1; setp.ne.u32 p0, r0, 0; mov.u64 a1, 16; selp.b64 a2, in, a1, p0; "
             "mov.u32 d, 6; @p0 ld.global.u32 d, [a2];\n"
             "@!p0 bra STORE; ld.global.u32 d, [a2];\n"},
    {.name = "memory.fault_read",
     .want = want_none,
     .threads = 100,
     .outcome = OUTCOME_FAULT,
     .body = "setp.eq.u32 p0, i, 37; mov.u64 a1, 4096; selp.b64 a2, a1, in, p0; ld.global.u32 d, "
             "[a2];\n"},
    {.name = "memory.fault_write",
     .want = want_none,
     .threads = 100,
     .outcome = OUTCOME_FAULT,
     .body = "mov.u64 a1, 0x7fff00000000; setp.eq.u32 p0, i, 99; @p0 st.global.u32 [a1], x;\n"},
    {.name = "memory.fault_contiguous",
     .want = want_none,
     .threads = 32,
     .outcome = OUTCOME_FAULT,
     .body = "mul.wide.u32 a1, i, 4; add.s64 a1, a1, 1048576; ld.global.u32 d, [a1];\n"},
    {.name = "memory.block_chain",
     .want = want_chain,
     .max_threads = 256,
     .grid = 5,
     /* block b waits until block b + 1 has stored its flag: the last one starts */
     .body = "mov.u32 r5, %nctaid.x; sub.u32 r5, r5, 1; setp.eq.u32 p1, b, r5; mul.wide.u32 a1, b, "
             "4; add.s64 a1, a1, extra; @p1 bra GO;\n"
             "WAIT: ld.volatile.global.u32 r0, [a1 + 4]; setp.eq.u32 p0, r0, 0; @p0 bra WAIT;\n"
             "GO: bar.sync 0; setp.ne.u32 p2, i, 0; @p2 bra DONE; membar.gl; mov.u32 r1, 1; "
             "st.volatile.global.u32 [a1], r1;\n"
             "DONE: add.u32 d, b, 1;\n"},
    {.name = "memory.block_chain_of_system_scope",
     .want = want_chain,
     .max_threads = 256,
     .grid = 5,
     .body = "mov.u32 r5, %nctaid.x; sub.u32 r5, r5, 1; setp.eq.u32 p1, b, r5; mul.wide.u32 a1, b, "
             "4; add.s64 a1, a1, extra; @p1 bra GO;\n"
             "WAIT: ld.volatile.global.u32 r0, [a1 + 4]; setp.eq.u32 p0, r0, 0; nanosleep.u32 20; "
             "@p0 bra WAIT; fence.sc.sys; fence.sc.cta;\n"
             "GO: bar.sync 0; setp.ne.u32 p2, i, 0; @p2 bra DONE; membar.sys; mov.u32 r1, 1; "
             "st.volatile.global.u32 [a1], r1;\n"
             "DONE: add.u32 d, b, 1;\n"},
    {.name = "memory.copy_async_words",
     .want = want_same,
     .globals = ".shared .align 16 .b8 s[4096];\n",
     .body = "mov.u32 r0, s; mad.lo.u32 r0, i, 4, r0; cp.async.ca.shared.global [r0], [in], 4; "
             "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 d, [r0];\n"},
    {.name = "memory.copy_async_filled",
     .want = want_filled,
     .globals = ".shared .align 16 .b8 s[4096];\n",
     .body = "mov.u32 r0, s; mad.lo.u32 r0, i, 4, r0; rem.u32 r1, i, 5; "
             "cp.async.ca.shared.global [r0], [in], 4, r1; "
             "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 d, [r0];\n"},
    {.name = "memory.copy_async_sixteen_bytes",
     .want = want_same,
     .multiple = 4,
     .globals = ".shared .align 16 .b8 s[4096];\n",
     .body = "mov.u32 r0, s; mad.lo.u32 r0, i, 4, r0; and.b32 r1, i, 3; setp.ne.u32 p0, r1, 0; "
             "@p0 bra JOIN; cp.async.cg.shared.global [r0], [in], 16; cp.async.commit_group; "
             "cp.async.wait_group 0;\n"
             "JOIN: bar.sync 0; ld.shared.u32 d, [r0];\n"},
    {.name = "memory.local_generic",
     .want = want_same,
     .body = ".local .align 8 .b8 lm[16]; mov.u64 a1, lm; cvta.local.u64 a2, a1; cvta.to.local.u64 "
             "a3, a2; st.local.u32 [a3+4], x; ld.u32 d, [a2+4];\n"},
    {.name = "memory.wide_values",
     .want = want_wide,
     .check_extra = true,
     .max_threads = 256,
     .body = "mov.b64 a1, {x, i}; mov.b64 a2, {i, x}; mov.b128 q0, {a1, a2}; mul.wide.u32 a3, g, "
             "16; add.s64 a3, a3, extra; and.b32 r5, i, 1; setp.eq.u32 p0, r5, 0; st.global.b128 "
             "[a3], q0; @p0 bra SECOND; mov.u32 d, 77;\n"
             "SECOND: ld.global.b128 q1, [a3]; mov.b128 q2, q1; mov.b128 {a4, a5}, q2; mov.b64 "
             "{r0, r1}, a4; mov.b64 {r2, r3}, a5; mad.lo.u32 d, r0, 3, d; mad.lo.u32 d, r1, 5, d; "
             "mad.lo.u32 d, r2, 7, d; mad.lo.u32 d, r3, 11, d;\n"},
    {.name = "memory.wide_exchange",
     .want = want_wide_exchange,
     .check_extra = true,
     .max_threads = 256,
     .body = "mov.b64 a1, {x, i}; mov.b64 a2, {i, x}; mov.b128 q0, {a1, a2}; mov.b128 q1, {a2, "
             "a1}; mul.wide.u32 a3, g, 16; add.s64 a3, a3, extra; st.global.b128 [a3], q0; "
             "atom.global.exch.b128 q2, [a3], q1; mov.b128 {a4, a5}, q2; mov.b64 {r0, r1}, a4; "
             "mov.b64 {r2, r3}, a5; mad.lo.u32 d, r0, 3, d; mad.lo.u32 d, r1, 5, d; mad.lo.u32 d, "
             "r2, 7, d; mad.lo.u32 d, r3, 11, d;\n"},
    {.name = "memory.wide_compare",
     .want = want_wide_sum,
     .check_extra = true,
     .body = "cvt.u64.u32 a5, x;\n"
             "AGAIN: ld.relaxed.gpu.global.b128 q0, [extra]; mov.b128 {a1, a2}, q0; add.s64 a3, "
             "a1, 1; add.s64 a4, a2, a5; mov.b128 q1, {a3, a4}; atom.relaxed.gpu.global.cas.b128 "
             "q2, [extra], q0, q1; mov.b128 {a6, a7}, q2; setp.ne.s64 p0, a6, a1; setp.ne.s64 p1, "
             "a7, a2; or.pred p0, p0, p1; @p0 bra AGAIN; mov.u32 d, 1;\n"},
    {.name = "memory.wide_compare_shared",
     .want = want_wide_shared,
     .globals = ".shared .align 16 .b8 s[16];\n",
     .body = "cvt.u64.u32 a5, x; mov.u64 a1, 0; mov.b128 q0, {a1, a1}; setp.ne.u32 p2, i, 0; @!p2 "
             "st.shared.b128 [s], q0; bar.sync 0;\n"
             "AGAIN: ld.shared.b128 q0, [s]; mov.b128 {a1, a2}, q0; add.s64 a3, a1, 1; add.s64 a4, "
             "a2, a5; mov.b128 q1, {a3, a4}; atom.shared.cas.b128 q2, [s], q0, q1; mov.b128 {a6, "
             "a7}, q2; setp.ne.s64 p0, a6, a1; setp.ne.s64 p1, a7, a2; or.pred p0, p0, p1; @p0 bra "
             "AGAIN; bar.sync 0; ld.shared.b128 q3, [s]; mov.b128 {a1, a2}, q3; cvt.u32.u64 r0, "
             "a1; mov.b64 {r1, r2}, a2; mad.lo.u32 d, r2, 3, r1; add.u32 d, d, r0;\n"},
    {.name = "memory.acquire_chain",
     .want = want_chain,
     .max_threads = 256,
     .grid = 5,
     .body = "mov.u32 r5, %nctaid.x; sub.u32 r5, r5, 1; setp.eq.u32 p1, b, r5; mul.wide.u32 a1, b, "
             "4; add.s64 a1, a1, extra; setp.ne.u32 p2, i, 0;\n"
             "@p2 bra GO; @p1 bra GO;\n"
             "WAIT: ld.acquire.gpu.global.u32 r0, [a1 + 4]; setp.eq.u32 p0, r0, 0; @p0 bra WAIT;\n"
             "GO: bar.sync 0; @p2 bra DONE; mov.u32 r1, 1; st.release.gpu.global.u32 [a1], r1;\n"
             "DONE: add.u32 d, b, 1;\n"},
    {.name = "memory.last_block",
     .want = want_last_block,
     .check_extra = true,
     .grid = 6,
     /* the usual last-block reduction: each block stores a part, the one that counts last adds them
        up */
     .globals = ".shared .align 4 .u32 last;\n",
     .body = "setp.ne.u32 p0, i, 0; mov.u32 d, 11; @p0 bra JOIN; mul.wide.u32 a1, b, 4; add.s64 "
             "a1, a1, extra; add.u32 r0, b, 1; st.global.u32 [a1 + 12], r0;\n"
             "fence.acq_rel.gpu; mov.u32 r2, %nctaid.x; sub.u32 r3, r2, 1; atom.global.inc.u32 r4, "
             "[extra], r3; setp.eq.u32 p1, r4, r3; selp.u32 r5, 1, 0, p1;\n"
             "st.shared.u32 [last], r5;\n"
             "JOIN: bar.sync 0; ld.shared.u32 r6, [last]; setp.eq.u32 p2, r6, 0; @p2 bra STORE; "
             "@p0 bra STORE; mov.u32 r7, 0; mov.u32 r8, 0; mov.u64 a2, extra;\n"
             "mov.u32 r2, %nctaid.x;\n"
             "SUM: ld.volatile.global.u32 r9, [a2 + 12]; add.u32 r8, r8, r9; add.s64 a2, a2, 4; "
             "add.u32 r7, r7, 1; setp.lt.u32 p3, r7, r2; @p3 bra SUM;\n"
             "st.global.u32 [extra + 8], r8;\n"},
    {.name = "memory.float_loop",
     .want = want_float_mix,
     .body = "and.b32 r0, x, 0xffff; cvt.rn.f32.s32 f0, r0; mov.f32 f1, 0f00000000; mov.u32 r1, 1; "
             "mov.u32 r2, 1;\n"
             "LOOP: shl.b32 r2, r2, 1; cvt.rn.f32.s32 f2, r2; div.rn.f32 f3, f0, f2; add.f32 f1, "
             "f1, f3; add.u32 r1, r1, 1; setp.lt.u32 p0, r1, 6; @p0 bra LOOP;\n"
             "cvt.rzi.s32.f32 d, f1;\n"},
};
const size_t kernel_tests_memory_count = sizeof kernel_tests_memory / sizeof kernel_tests_memory[0];
