/* Control flow: divergence, loops, indexed and irreducible branches, calls, exits, barriers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/kernels.h"

#define EACH for (uint32_t i = 0; i < c->threads; i++)

static void want_ifs(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i], d;

        if (x & 1) {
            if (x & 2)
                d = x + 1;
            else
                d = (x & 4) ? x * 3 : x ^ 0x55;
        } else if (x & 8) {
            d = x >> 3;
        } else {
            d = 7;
        }
        c->d[i] = d + i;
    }
}

static void want_loop(struct block_case *c)
{
    EACH
    {
        uint32_t s = 0;

        for (uint32_t k = 0; k < c->x[i] % 37; k++)
            s = s * 5 + k;
        c->d[i] = s;
    }
}

static void want_break(struct block_case *c)
{
    EACH
    {
        uint32_t v = c->x[i], k = 0, d = 0;

        for (;;) {
            if (k == 20) {
                d = 1000 + k;
                break;
            }
            v = v * 1664525 + 1013904223;
            if ((v >> 24) < 20) {
                d = v;
                break;
            }
            if (v & 0x10000) {
                k += 2;
                if (k > 20)
                    k = 20;
                continue;
            }
            k++;
        }
        c->d[i] = d;
    }
}

static void want_switch(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i], d = 0;

        switch (x % 6) {
        case 0:
            d = x + 1;
            break;
        case 1:
            d = x * 7; /* falls through */
        case 2:
            d += 13;
            break;
        case 3:
            d = ~x;
            break;
        case 4:
            d = x;
            for (int k = 0; k < 3; k++)
                d = d * 3 + 1;
            break;
        default:
            d = i;
            break;
        }
        c->d[i] = d;
    }
}

/* A loop with two entries: threads enter in the middle or at the top. */
static void want_irreducible(struct block_case *c)
{
    EACH
    {
        uint32_t v = c->x[i] & 0xff, s = 0, top = c->x[i] >> 31;

        for (;;) {
            if (top) {
                s = s * 3 + v;
                if (s & 0x40)
                    s += 11;
            }
            top = 1;
            v = v - 1;
            s ^= v;
            if ((int32_t)v < 0)
                break;
            v = v & ~1u;
        }
        c->d[i] = s;
    }
}

static void want_collatz(struct block_case *c)
{
    EACH
    {
        uint32_t v = (c->x[i] & 0x3ff) + 1, n = 0;

        while (v != 1) {
            v = v & 1 ? v * 3 + 1 : v / 2;
            n++;
        }
        c->d[i] = n;
    }
}

static void want_nested(struct block_case *c)
{
    EACH
    {
        uint32_t s = 0;

        for (uint32_t k = 0; k < c->x[i] % 5; k++) {
            for (uint32_t m = 0; m <= k + i % 3; m++)
                s = s * 31 + m;
            if (s % 7 == 0)
                break;
        }
        c->d[i] = s;
    }
}

static void want_exit(struct block_case *c)
{
    EACH
    {
        if (c->x[i] % 3 == 0)
            continue; /* exited: nothing stored */
        c->d[i] = c->x[i] % 3 == 1 ? 100 : 200 + i;
    }
}

static void want_exit_in_loop(struct block_case *c)
{
    EACH
    {
        uint32_t limit = c->x[i] % 16;

        if (limit >= 10)
            continue;
        c->d[i] = 55;
    }
}

/* Threads that stay add up what all that stay put into shared memory. */
static void want_exit_barrier(struct block_case *c)
{
    uint32_t sum = 0;

    EACH
    {
        if (c->x[i] & 3)
            sum += c->x[i];
    }
    EACH
    {
        if (c->x[i] & 3)
            c->d[i] = sum;
    }
}

static void want_reverse(struct block_case *c)
{
    EACH c->d[i] = c->x[c->threads - 1 - i];
}

static void want_sum(struct block_case *c)
{
    uint32_t sum = 0;

    EACH sum += c->x[i];
    EACH c->d[i] = sum;
}

static void want_scan(struct block_case *c)
{
    uint32_t sum = 0;

    EACH
    {
        sum += c->x[i];
        c->d[i] = sum;
    }
}

/* Even warps wait at one bar.sync, odd warps at another: the same barrier of the hardware. */
static void want_two_barriers(struct block_case *c)
{
    EACH
    {
        uint32_t other = (i + 32) % c->threads;

        c->d[i] = c->x[other] + ((i >> 5) & 1 ? 1000 : 2000);
    }
}

static void want_bar_red(struct block_case *c)
{
    uint32_t n = 0, all = 1, any = 0;

    EACH
    {
        n += c->x[i] & 1;
        all &= c->x[i] != 0x12345678;
        any |= i == c->threads - 1;
    }
    EACH c->d[i] = n * 4 + all * 2 + any;
}

/* Warps 1.. produce and arrive; warp 0 waits for them. */
static void want_arrive(struct block_case *c)
{
    uint32_t sum = 0;

    for (uint32_t i = 32; i < c->threads; i++)
        sum += c->x[i];
    EACH c->d[i] = i < 32 ? sum : i;
}

static void want_barrier_loop(struct block_case *c)
{
    uint32_t v[1024], w[1024];

    EACH v[i] = c->x[i];
    for (int round = 0; round < 9; round++) {
        EACH w[i] = v[i] * 3 + v[(i + 1) % c->threads];
        EACH v[i] = w[i];
    }
    EACH c->d[i] = v[i];
}

static uint32_t fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void want_recursion(struct block_case *c)
{
    EACH c->d[i] = fib(c->x[i] % 9);
}

static void want_call(struct block_case *c)
{
    EACH
    {
        uint32_t a = c->x[i], b = i, t = a % 17 + b;

        c->d[i] = (c->x[i] & 1) ? t * 2 + 1 : t;
    }
}

static void want_float_call(struct block_case *c)
{
    EACH c->d[i] = (c->x[i] & 0xffff) * i + 1;
}

static void want_call_barrier(struct block_case *c)
{
    EACH c->d[i] = c->x[(i + 1) % c->threads] + c->x[(i + 2) % c->threads];
}

static void want_indirect(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i];

        c->d[i] = x % 3 == 0 ? x + 5 : x % 3 == 1 ? x * 5 : x ^ 5;
    }
}

static void want_sregs(struct block_case *c)
{
    EACH
    {
        uint32_t x = i % c->block.x, y = i / c->block.x % c->block.y,
                 z = i / (c->block.x * c->block.y);
        uint32_t lane = i % 32;

        c->d[i] = x + y * 3 + z * 5 + c->block.x * 7 + c->block.y * 11 + c->block.z * 13 +
                  c->index * 17 + c->grid.x * 19 + lane * 23 + (1u << lane) + ((2u << lane) - 1) +
                  ((1u << lane) - 1) + ~((1u << lane) - 1) + ~((2u << lane) - 1);
    }
}

static void want_uniform_loop(struct block_case *c)
{
    EACH
    {
        uint32_t s = 0;

        for (uint32_t k = 0; k < c->index * 3 + 2; k++)
            s += k * c->x[i];
        c->d[i] = s;
    }
}

static void want_guarded(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i], d = x;

        if (x & 1)
            d += 5;
        if (!(x & 2))
            d *= 3;
        if (x & 4)
            d ^= i;
        c->d[i] = d;
    }
}

/* Live ranges that cross: values set in one arm, kept in the other. */
static void want_merge(struct block_case *c)
{
    EACH
    {
        uint32_t x = c->x[i], u = 1, v = 2, w = 3;

        for (uint32_t k = 0; k < 4; k++) {
            if (x >> k & 1) {
                uint32_t t = u;

                u = v + k;
                v = t;
            } else {
                w = u * v + w;
            }
        }
        c->d[i] = u + v * 100 + w * 10000;
    }
}

static void want_none(struct block_case *c)
{
    (void)c;
}

#define SHARED ".shared .align 16 .b8 s[8192];\n"
/* a1 = address of s[i], a2 = s */
#define SHARED_I "mov.u64 a2, s; mul.wide.u32 a1, i, 4; add.s64 a1, a2, a1;\n"

/* Sums that wrap between two lanes, then widened: only signed ones have anything above. */
static void want_widen(struct block_case *c)
{
    for (uint32_t i = 0; i < c->threads; i++)
        c->d[i] = (int32_t)(i % c->block.x * 8 + 0x7fffffd4u) < 0 ? 2 : 0;
}

const struct kernel_test kernel_tests_flow[] = {
    {.name = "flow.ifs",
     .want = want_ifs,
     .body = "and.b32 r0, x, 1; setp.eq.u32 p0, r0, 0; @p0 bra EVEN;\n"
             "and.b32 r0, x, 2; setp.ne.u32 p1, r0, 0; @p1 bra TWO;\n"
             "and.b32 r0, x, 4; setp.ne.u32 p1, r0, 0; @p1 bra FOUR;\n"
             "xor.b32 d, x, 0x55; bra JOIN;\n"
             "FOUR: mul.lo.s32 d, x, 3; bra JOIN;\n"
             "TWO: add.s32 d, x, 1; bra JOIN;\n"
             "EVEN: and.b32 r0, x, 8; setp.eq.u32 p1, r0, 0; @p1 bra SEVEN; shr.u32 d, x, 3; bra "
             "JOIN;\n"
             "SEVEN: mov.u32 d, 7;\n"
             "JOIN: add.s32 d, d, i;\n"},
    {.name = "flow.loop",
     .want = want_loop,
     .body =
         "rem.u32 r0, x, 37; mov.u32 r1, 0; setp.eq.u32 p0, r0, 0; @p0 bra DONE;\n"
         "LOOP: mad.lo.s32 d, d, 5, r1; add.u32 r1, r1, 1; setp.lt.u32 p0, r1, r0; @p0 bra LOOP;\n"
         "DONE:\n"},
    {.name = "flow.break",
     .want = want_break,
     .body = "mov.u32 r0, x; mov.u32 r1, 0;\n"
             "LOOP: setp.eq.u32 p0, r1, 20; @p0 bra LIMIT;\n"
             "mad.lo.u32 r0, r0, 1664525, 1013904223; shr.u32 r2, r0, 24; setp.lt.u32 p1, r2, 20; "
             "@p1 bra FOUND;\n"
             "and.b32 r2, r0, 0x10000; setp.eq.u32 p2, r2, 0; @p2 bra ONE;\n"
             "add.u32 r1, r1, 2; setp.le.u32 p3, r1, 20; @p3 bra LOOP; mov.u32 r1, 20; bra LOOP;\n"
             "ONE: add.u32 r1, r1, 1; bra LOOP;\n"
             "LIMIT: add.u32 d, r1, 1000; bra.uni DONE;\n"
             "FOUND: mov.u32 d, r0;\n"
             "DONE:\n"},
    {.name = "flow.switch",
     .want = want_switch,
     .body = "rem.u32 r0, x, 6;\n"
             "setp.eq.u32 p0, r0, 0; @p0 bra C0; setp.eq.u32 p0, r0, 1; @p0 bra C1; setp.eq.u32 "
             "p0, r0, 2; @p0 bra C2;\n"
             "setp.eq.u32 p0, r0, 3; @p0 bra C3; setp.eq.u32 p0, r0, 4; @p0 bra C4; mov.u32 d, i; "
             "bra DONE;\n"
             "C0: add.u32 d, x, 1; bra DONE;\n"
             "C1: mul.lo.u32 d, x, 7;\n"
             "C2: add.u32 d, d, 13; bra DONE;\n"
             "C3: not.b32 d, x; bra DONE;\n"
             "C4: mov.u32 d, x; mov.u32 r1, 0;\n"
             "L4: mad.lo.u32 d, d, 3, 1; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 3; @p1 bra L4;\n"
             "DONE:\n"},
    {.name = "flow.brx",
     .want = want_switch,
     .body = "rem.u32 r0, x, 6;\n"
             "TABLE: .branchtargets C0, C1, C2, C3, C4, C5;\n"
             "brx.idx r0, TABLE;\n"
             "C5: mov.u32 d, i; bra DONE;\n"
             "C0: add.u32 d, x, 1; bra DONE;\n"
             "C1: mul.lo.u32 d, x, 7;\n"
             "C2: add.u32 d, d, 13; bra DONE;\n"
             "C3: not.b32 d, x; bra DONE;\n"
             "C4: mov.u32 d, x; mov.u32 r1, 0;\n"
             "L4: mad.lo.u32 d, d, 3, 1; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 3; @p1 bra L4;\n"
             "DONE:\n"},
    {.name = "flow.irreducible",
     .want = want_irreducible,
     .body = "and.b32 r0, x, 0xff; shr.u32 r1, x, 31; setp.eq.u32 p0, r1, 0; @p0 bra MIDDLE;\n"
             "TOP: mad.lo.u32 d, d, 3, r0; and.b32 r2, d, 0x40; setp.eq.u32 p1, r2, 0; @p1 bra "
             "MIDDLE; add.u32 d, d, 11;\n"
             "MIDDLE: sub.u32 r0, r0, 1; xor.b32 d, d, r0; setp.lt.s32 p2, r0, 0; @p2 bra DONE;\n"
             "and.b32 r0, r0, 0xfffffffe; bra TOP;\n"
             "DONE:\n"},
    {.name = "flow.collatz",
     .want = want_collatz,
     .body = "and.b32 r0, x, 0x3ff; add.u32 r0, r0, 1;\n"
             "LOOP: setp.eq.u32 p0, r0, 1; @p0 bra DONE; and.b32 r1, r0, 1; setp.eq.u32 p1, r1, 0; "
             "@p1 bra HALF;\n"
             "mad.lo.u32 r0, r0, 3, 1; bra NEXT;\n"
             "HALF: shr.u32 r0, r0, 1;\n"
             "NEXT: add.u32 d, d, 1; bra LOOP;\n"
             "DONE:\n"},
    {.name = "flow.nested",
     .want = want_nested,
     .body =
         "rem.u32 r0, x, 5; rem.u32 r1, i, 3; mov.u32 r2, 0;\n"
         "OUTER: setp.ge.u32 p0, r2, r0; @p0 bra DONE; add.u32 r3, r2, r1; mov.u32 r4, 0;\n"
         "INNER: mad.lo.u32 d, d, 31, r4; add.u32 r4, r4, 1; setp.le.u32 p1, r4, r3; @p1 bra "
         "INNER;\n"
         "rem.u32 r5, d, 7; setp.eq.u32 p2, r5, 0; @p2 bra DONE; add.u32 r2, r2, 1; bra OUTER;\n"
         "DONE:\n"},
    {.name = "flow.exit",
     .want = want_exit,
     .body =
         "rem.u32 r0, x, 3; setp.eq.u32 p0, r0, 0; @p0 exit; setp.eq.u32 p1, r0, 1; @p1 bra ONE;\n"
         "add.u32 d, i, 200; st.global.u32 [out], d; ret;\n"
         "ONE: mov.u32 d, 100;\n"},
    {.name = "flow.exit_in_loop",
     .want = want_exit_in_loop,
     .body = "and.b32 r0, x, 15; mov.u32 r1, 20;\n"
             "LOOP: sub.u32 r1, r1, 1; setp.eq.u32 p0, r1, r0; setp.ge.and.u32 p1, r1, 10, p0; @p1 "
             "exit;\n"
             "setp.ne.u32 p2, r1, 0; @p2 bra LOOP; mov.u32 d, 55;\n"},
    {.name = "flow.uniform_loop",
     .want = want_uniform_loop,
     .body = "mad.lo.u32 r0, b, 3, 2; mov.u32 r1, 0;\n"
             "LOOP: mad.lo.u32 d, r1, x, d; add.u32 r1, r1, 1; setp.lt.u32 p0, r1, r0; @p0 bra.uni "
             "LOOP;\n"},
    {.name = "flow.guarded",
     .want = want_guarded,
     .body = "mov.u32 d, x; and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; and.b32 r0, x, 2; setp.ne.u32 "
             "p1, r0, 0;\n"
             "and.b32 r0, x, 4; setp.ne.u32 p2, r0, 0; @p0 add.u32 d, d, 5; @!p1 mul.lo.u32 d, d, "
             "3; @p2 xor.b32 d, d, i;\n"},
    {.name = "flow.merge",
     .want = want_merge,
     .body = "mov.u32 r0, 1; mov.u32 r1, 2; mov.u32 r2, 3; mov.u32 r3, 0;\n"
             "LOOP: shr.u32 r4, x, r3; and.b32 r4, r4, 1; setp.eq.u32 p0, r4, 0; @p0 bra ZERO;\n"
             "mov.u32 r5, r0; add.u32 r0, r1, r3; mov.u32 r1, r5; bra NEXT;\n"
             "ZERO: mad.lo.u32 r2, r0, r1, r2;\n"
             "NEXT: add.u32 r3, r3, 1; setp.lt.u32 p1, r3, 4; @p1 bra LOOP;\n"
             "mad.lo.u32 d, r1, 100, r0; mad.lo.u32 d, r2, 10000, d;\n"},
    {.name = "flow.sregs",
     .want = want_sregs,
     .body =
         "mov.u32 d, %tid.x; mov.u32 r0, %tid.y; mad.lo.u32 d, r0, 3, d; mov.u32 r0, %tid.z; "
         "mad.lo.u32 d, r0, 5, d;\n"
         "mov.u32 r0, %ntid.x; mad.lo.u32 d, r0, 7, d; mov.u32 r0, %ntid.y; mad.lo.u32 d, r0, 11, "
         "d;\n"
         "mov.u32 r0, %ntid.z; mad.lo.u32 d, r0, 13, d; mov.u32 r0, %ctaid.x; mad.lo.u32 d, r0, "
         "17, d;\n"
         "mov.u32 r0, %ctaid.y; add.u32 d, d, r0; mov.u32 r0, %nctaid.x; mad.lo.u32 d, r0, 19, d;\n"
         "mov.u32 r0, %laneid; mad.lo.u32 d, r0, 23, d;\n"
         "mov.u32 r0, %lanemask_eq; add.u32 d, d, r0; mov.u32 r0, %lanemask_le; add.u32 d, d, r0;\n"
         "mov.u32 r0, %lanemask_lt; add.u32 d, d, r0; mov.u32 r0, %lanemask_ge; add.u32 d, d, r0;\n"
         "mov.u32 r0, %lanemask_gt; add.u32 d, d, r0;\n"},
    {.name = "flow.call",
     .want = want_call,
     .globals = ".func (.param .b32 rv) helper(.param .b32 pa, .param .b32 pb)\n{ .reg .b32 t<3>;\n"
                "ld.param.b32 t0, [pa]; ld.param.b32 t1, [pb]; rem.u32 t0, t0, 17; add.u32 t2, t0, "
                "t1; st.param.b32 [rv], t2; ret; }\n",
     .body = "{ .param .b32 q0; .param .b32 q1; .param .b32 q2; st.param.b32 [q0], x; st.param.b32 "
             "[q1], i;\n"
             "call.uni (q2), helper, (q0, q1); ld.param.b32 d, [q2]; }\n"
             "and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; @p0 mad.lo.u32 d, d, 2, 1;\n"},
    {.name = "flow.call_floats",
     .want = want_float_call,
     .globals = ".func (.param .f64 z) helper(.param .f32 x, .param .f64 y)\n"
                "{ .reg .f32 a; .reg .f64 b, c; ld.param.f32 a, [x]; ld.param.f64 b, [y]; "
                "cvt.f64.f32 c, a; fma.rn.f64 c, c, b, 0d3FF0000000000000; st.param.f64 [z], c; "
                "ret; }\n",
     .body = "and.b32 r0, x, 0xffff; cvt.rn.f32.u32 f0, r0; cvt.rn.f64.u32 w0, i;\n"
             "{ .param .f32 q0; .param .f64 q1; .param .f64 q2; st.param.f32 [q0], f0; "
             "st.param.f64 [q1], w0; call (q2), helper, (q0, q1); ld.param.f64 w1, [q2]; }\n"
             "cvt.rzi.u32.f64 d, w1;\n"},
    {.name = "flow.call_divergent",
     .want = want_call,
     .globals = ".func (.param .b32 rv) helper(.param .b32 pa, .param .b32 pb)\n{ .reg .b32 t<3>;\n"
                "ld.param.b32 t0, [pa]; ld.param.b32 t1, [pb]; rem.u32 t0, t0, 17; add.u32 t2, t0, "
                "t1; st.param.b32 [rv], t2; ret; }\n",
     .body = "and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; @p0 bra ODD;\n"
             "{ .param .b32 q0; .param .b32 q1; .param .b32 q2; st.param.b32 [q0], x; st.param.b32 "
             "[q1], i;\n"
             "call (q2), helper, (q0, q1); ld.param.b32 d, [q2]; }\n"
             "bra STORE;\n"
             "ODD: { .param .b32 q0; .param .b32 q1; .param .b32 q2; st.param.b32 [q0], x; "
             "st.param.b32 [q1], i;\n"
             "call (q2), helper, (q0, q1); ld.param.b32 d, [q2]; }\n"
             "mad.lo.u32 d, d, 2, 1;\n"},
    {.name = "flow.recursion",
     .want = want_recursion,
     .globals = ".func (.param .b32 rv) fib(.param .b32 pn);\n"
                ".func (.param .b32 rv) fib(.param .b32 pn)\n{ .reg .b32 t<5>; .reg .pred q;\n"
                "ld.param.b32 t0, [pn]; setp.lt.u32 q, t0, 2; @q bra BASE; sub.u32 t1, t0, 1; "
                "sub.u32 t2, t0, 2;\n"
                "{ .param .b32 a; .param .b32 r; st.param.b32 [a], t1; call (r), fib, (a); "
                "ld.param.b32 t3, [r]; }\n"
                "{ .param .b32 a; .param .b32 r; st.param.b32 [a], t2; call (r), fib, (a); "
                "ld.param.b32 t4, [r]; }\n"
                "add.u32 t0, t3, t4;\n"
                "BASE: st.param.b32 [rv], t0; ret; }\n",
     .body = "rem.u32 r0, x, 9; { .param .b32 q0; .param .b32 q1; st.param.b32 [q0], r0; call "
             "(q1), fib, (q0);\n"
             "ld.param.b32 d, [q1]; }\n"},
    {.name = "flow.indirect_call",
     .want = want_indirect,
     .globals = ".func (.param .b32 rv) f0(.param .b32 pa) { .reg .b32 t; ld.param.b32 t, [pa]; "
                "add.u32 t, t, 5; st.param.b32 [rv], t; ret; }\n"
                ".func (.param .b32 rv) f1(.param .b32 pa) { .reg .b32 t; ld.param.b32 t, [pa]; "
                "mul.lo.u32 t, t, 5; st.param.b32 [rv], t; ret; }\n"
                ".func (.param .b32 rv) f2(.param .b32 pa) { .reg .b32 t; ld.param.b32 t, [pa]; "
                "xor.b32 t, t, 5; st.param.b32 [rv], t; ret; }\n"
                ".global .align 8 .u64 table[3] = {f0, f1, f2};\n",
     .body = "rem.u32 r0, x, 3; mul.wide.u32 a1, r0, 8; mov.u64 a2, table; add.s64 a1, a1, a2; "
             "ld.global.u64 a3, [a1];\n"
             "{ .param .b32 q0; .param .b32 q1; st.param.b32 [q0], x;\n"
             "PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
             "call (q1), a3, (q0), PROTO; ld.param.b32 d, [q1]; }\n"},
    {.name = "barrier.reverse",
     .want = want_reverse,
     .globals = SHARED,
     .body = SHARED_I "st.shared.u32 [a1], x; bar.sync 0; sub.u32 r0, n, 1; sub.u32 r0, r0, i;\n"
                      "mul.wide.u32 a3, r0, 4; add.s64 a3, a2, a3; ld.shared.u32 d, [a3];\n"},
    {.name = "barrier.early_exit",
     .want = want_exit_barrier,
     .globals = SHARED,
     .body = SHARED_I
     "and.b32 r0, x, 3; setp.eq.u32 p0, r0, 0; mov.u32 r1, 0; selp.u32 r1, 0, x, p0; st.shared.u32 "
     "[a1], r1;\n"
     "bar.sync 0; @p0 bra END; mov.u32 r2, 0; mov.u64 a3, a2;\n"
     "LOOP: ld.shared.u32 r3, [a3]; add.u32 d, d, r3; add.s64 a3, a3, 4; add.u32 r2, r2, 1;\n"
     "setp.lt.u32 p1, r2, n; @p1 bra LOOP; bar.sync 0;\n"},
    {.name = "barrier.exit_before",
     .want = want_exit_barrier,
     .globals = SHARED,
     /* every thread writes, whole warps may leave before the second barrier */
     .body = SHARED_I
     "and.b32 r0, x, 3; setp.eq.u32 p0, r0, 0; selp.u32 r1, 0, x, p0; st.shared.u32 [a1], r1;\n"
     "barrier.sync 0; @p0 ret; mov.u32 r2, 0; mov.u64 a3, a2;\n"
     "LOOP: ld.shared.u32 r3, [a3]; add.u32 d, d, r3; add.s64 a3, a3, 4; add.u32 r2, r2, 1;\n"
     "setp.lt.u32 p1, r2, n; @p1 bra LOOP;\n"},
    {.name = "barrier.reduce",
     .want = want_sum,
     .globals = SHARED,
     .body = SHARED_I
     "st.shared.u32 [a1], x; mov.u32 r0, 1024;\n"
     "LOOP: bar.sync 0; shr.u32 r1, r0, 1; add.u32 r2, i, r1; setp.lt.u32 p0, i, r1; "
     "setp.lt.and.u32 p1, r2, n, p0;\n"
     "@!p1 bra NEXT; mul.wide.u32 a3, r2, 4; add.s64 a3, a2, a3; ld.shared.u32 r3, [a3];\n"
     "ld.shared.u32 r4, [a1]; add.u32 r4, r4, r3; st.shared.u32 [a1], r4;\n"
     "NEXT: mov.u32 r0, r1; setp.gt.u32 p2, r0, 1; @p2 bra LOOP; bar.sync 0; ld.shared.u32 d, "
     "[a2];\n"},
    {.name = "barrier.scan",
     .want = want_scan,
     .globals = SHARED,
     .body = SHARED_I
     "mov.u32 d, x; mov.u32 r0, 1;\n"
     "LOOP: setp.ge.u32 p0, r0, n; @p0 bra STORE; bar.sync 0; st.shared.u32 [a1], d; bar.sync 0;\n"
     "setp.lt.u32 p1, i, r0; @p1 bra NEXT; sub.u32 r1, i, r0; mul.wide.u32 a3, r1, 4; add.s64 a3, "
     "a2, a3;\n"
     "ld.shared.u32 r2, [a3]; add.u32 d, d, r2;\n"
     "NEXT: shl.b32 r0, r0, 1; bra LOOP;\n"},
    {.name = "barrier.loop",
     .want = want_barrier_loop,
     .globals = SHARED,
     .body = SHARED_I "add.u32 r0, i, 1; rem.u32 r0, r0, n; mul.wide.u32 a3, r0, 4; add.s64 a3, "
                      "a2, a3; mov.u32 d, x; mov.u32 r1, 0;\n"
                      "LOOP: st.shared.u32 [a1], d; bar.sync 0; ld.shared.u32 r2, [a3]; bar.sync "
                      "0; mad.lo.u32 d, d, 3, r2;\n"
                      "add.u32 r1, r1, 1; setp.lt.u32 p0, r1, 9; @p0 bra LOOP;\n"},
    {.name = "barrier.divergent_warps",
     .want = want_two_barriers,
     .globals = SHARED,
     .body = SHARED_I "st.shared.u32 [a1], x; add.u32 r0, i, 32; rem.u32 r0, r0, n; mul.wide.u32 "
                      "a3, r0, 4; add.s64 a3, a2, a3;\n"
                      "shr.u32 r1, i, 5; and.b32 r1, r1, 1; setp.ne.u32 p0, r1, 0; @p0 bra ODD;\n"
                      "bar.sync 0; ld.shared.u32 d, [a3]; add.u32 d, d, 2000; bra STORE;\n"
                      "ODD: bar.sync 0; ld.shared.u32 d, [a3]; add.u32 d, d, 1000;\n"},
    {.name = "barrier.red",
     .want = want_bar_red,
     .body = "and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; barrier.red.popc.u32 r1, 0, p0; setp.ne.u32 "
             "p1, x, 0x12345678;\n"
             "bar.red.and.pred p2, 0, p1; add.u32 r2, i, 1; setp.eq.u32 p3, r2, n; bar.red.or.pred "
             "p4, 0, p3;\n"
             "shl.b32 d, r1, 2; selp.u32 r3, 2, 0, p2; add.u32 d, d, r3; selp.u32 r3, 1, 0, p4; "
             "add.u32 d, d, r3;\n"},
    {.name = "barrier.arrive",
     .want = want_arrive,
     .globals = SHARED,
     .multiple = 32,
     .body = SHARED_I "setp.lt.u32 p0, i, 32; @p0 bra WAIT; st.shared.u32 [a1], x; bar.arrive 1, "
                      "n; mov.u32 d, i; bra STORE;\n"
                      "WAIT: bar.sync 1, n; mov.u32 r2, 32; add.s64 a3, a2, 128;\n"
                      "LOOP: setp.ge.u32 p1, r2, n; @p1 bra STORE; ld.shared.u32 r3, [a3]; add.u32 "
                      "d, d, r3; add.s64 a3, a3, 4;\n"
                      "add.u32 r2, r2, 1; bra LOOP;\n"},
    {.name = "barrier.in_call",
     .want = want_call_barrier,
     .globals = SHARED ".func (.param .b32 rv) next(.param .b32 pa, .param .b64 pp, .param .b64 "
                       "pq)\n{ .reg .b32 t<2>; .reg .b64 u<2>;\n"
                       "ld.param.b32 t0, [pa]; ld.param.b64 u0, [pp]; ld.param.b64 u1, [pq]; "
                       "bar.sync 0; st.shared.u32 [u0], t0; bar.sync 0;\n"
                       "ld.shared.u32 t1, [u1]; st.param.b32 [rv], t1; ret; }\n",
     .body = SHARED_I
     "add.u32 r0, i, 1; rem.u32 r0, r0, n; mul.wide.u32 a3, r0, 4; add.s64 a3, a2, a3; mov.u32 r1, "
     "x;\n"
     "{ .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b32 q3; st.param.b32 [q0], r1; "
     "st.param.b64 [q1], a1;\n"
     "st.param.b64 [q2], a3; call.uni (q3), next, (q0, q1, q2); ld.param.b32 r2, [q3]; }\n"
     "{ .param .b32 q0; .param .b64 q1; .param .b64 q2; .param .b32 q3; st.param.b32 [q0], r2; "
     "st.param.b64 [q1], a1;\n"
     "st.param.b64 [q2], a3; call.uni (q3), next, (q0, q1, q2); ld.param.b32 r3, [q3]; }\n"
     "add.u32 d, r2, r3;\n"},
    {.name = "flow.widen", /* a register for each, so that what is known of it stays known */
     .want = want_widen,
     .body = "mov.u32 r20, %tid.x; add.u32 r21, r20, -5; cvt.u64.u32 a1, r21; shr.u64 a2, a1, 32; "
             "cvt.u32.u64 r22, a2;\n"
             "mad.lo.u32 r13, r20, 8, 0x7fffffd4; cvt.s64.s32 a3, r13; shr.u64 a4, a3, 32;\n"
             "cvt.u32.u64 r14, a4; and.b32 r15, r14, 2; or.b32 r16, r22, r15;\n"
             "add.u32 r6, r20, 0xfffffffb; mul.wide.u32 a5, r6, 16; shr.u64 a6, a5, 36;\n"
             "cvt.u32.u64 r7, a6; shl.b32 r8, r7, 2; or.b32 r9, r16, r8;\n"
             "cvt.u16.u32 h0, r20; add.u16 h1, h0, -5; cvt.u32.u16 r10, h1;\n"
             "shr.u32 r11, r10, 16; shl.b32 r12, r11, 3; or.b32 d, r9, r12;\n"},
    {.name = "flow.trap",
     .want = want_none,
     .outcome = OUTCOME_TRAP,
     .threads = 100,
     .body = "setp.eq.u32 p0, i, 70; @p0 bra BAD; bra STORE;\nBAD: trap;\n"},
    {.name = "flow.brkpt", /* without a debugger: the same */
     .want = want_none,
     .outcome = OUTCOME_TRAP,
     .threads = 100,
     .body = "setp.eq.u32 p0, i, 70; @p0 brkpt;\n"},
};
const size_t kernel_tests_flow_count = sizeof kernel_tests_flow / sizeof kernel_tests_flow[0];
