/* Warp instructions: shuffles, votes, match, redux, masks; also in divergent code and in partial
 * warps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/kernels.h"

#define EACH for (uint32_t i = 0; i < c->threads; i++)

/* Lanes of i's warp that exist. */
static uint32_t live_mask(const struct block_case *c, uint32_t i)
{
    uint32_t left = c->threads - i / 32 * 32;

    return left >= 32 ? 0xffffffff : (1u << left) - 1;
}

static bool exists(const struct block_case *c, uint32_t i, uint32_t lane)
{
    return live_mask(c, i) >> lane & 1;
}

static uint32_t value(const struct block_case *c, uint32_t i, uint32_t lane)
{
    return c->x[i / 32 * 32 + lane];
}

enum mode { UP, DOWN, BFLY, IDX };

/* The shuffle of the PTX ISA: c = (32 - width) << 8 | clamp. *valid: the source was in range. */
static uint32_t source_lane(enum mode m, uint32_t lane, uint32_t b, uint32_t ctrl, bool *valid)
{
    uint32_t seg = ctrl >> 8 & 31, clamp = ctrl & 31, max = (lane & seg) | (clamp & ~seg),
             min = lane & seg, j;

    b &= 31;
    switch (m) {
    case UP:
        j = lane - b;
        *valid = (int32_t)j >= (int32_t)max;
        break;
    case DOWN:
        j = lane + b;
        *valid = j <= max;
        break;
    case BFLY:
        j = lane ^ b;
        *valid = j <= max;
        break;
    default:
        j = min | (b & ~seg);
        *valid = j <= max;
        break;
    }
    return *valid ? j : lane;
}

/* Shuffle among all lanes; from a lane that does not exist the result is undefined: those tests use
 * whole warps. */
static void want_shuffle(struct block_case *c, enum mode m, uint32_t b, uint32_t ctrl)
{
    EACH
    {
        bool valid;
        uint32_t j = source_lane(m, i % 32, b, ctrl, &valid);

        c->d[i] = value(c, i, j) * 2 + valid;
    }
}

static void want_up(struct block_case *c)
{
    want_shuffle(c, UP, 3, 0);
}
static void want_down(struct block_case *c)
{
    want_shuffle(c, DOWN, 5, 31);
}
static void want_bfly(struct block_case *c)
{
    want_shuffle(c, BFLY, 17, 31);
}
static void want_idx(struct block_case *c)
{
    want_shuffle(c, IDX, 11, 31);
}
static void want_up8(struct block_case *c)
{
    want_shuffle(c, UP, 2, 0x1800);
}
static void want_down8(struct block_case *c)
{
    want_shuffle(c, DOWN, 3, 0x181f);
}
static void want_bfly4(struct block_case *c)
{
    want_shuffle(c, BFLY, 3, 0x1c1f);
}
static void want_idx16(struct block_case *c)
{
    want_shuffle(c, IDX, 5, 0x101f);
}

static void want_idx_lanes(struct block_case *c)
{
    EACH
    {
        bool valid;
        uint32_t j = source_lane(IDX, i % 32, c->x[i] >> 7, 31, &valid);

        c->d[i] = value(c, i, j);
    }
}

static void want_reduce(struct block_case *c)
{
    EACH
    {
        uint32_t sum = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            sum += value(c, i, lane);
        c->d[i] = sum;
    }
}

static void want_shuffle_odd(struct block_case *c)
{
    EACH c->d[i] = i & 1 ? c->x[i ^ 2] + 1 : c->x[i];
}

/* A reduction that goes past its eight lanes, as programs write it: who is not there counts 0. */
static void want_shuffle_absent(struct block_case *c)
{
    EACH
    {
        uint32_t lane = i % 32, s = 0;

        for (uint32_t k = lane; k < 8; k++)
            s += c->x[i - lane + k];
        c->d[i] = lane < 8 ? s : c->x[i] * 5;
    }
}

/* Both arms of a branch shuffle, each with its own mask. */
static void want_shuffle_arms(struct block_case *c)
{
    EACH c->d[i] = (i % 32) < 16 ? c->x[i ^ 5] : c->x[i ^ 9] * 3;
}

static void want_votes(struct block_case *c)
{
    EACH
    {
        uint32_t ballot = 0, live = live_mask(c, i);

        for (uint32_t lane = 0; lane < 32; lane++)
            ballot |= exists(c, i, lane) && (value(c, i, lane) & 1) ? 1u << lane : 0;
        c->d[i] = ballot ^ ((ballot == live) * 2u + (ballot != 0) * 4u +
                            (ballot == live || ballot == 0) * 8u);
    }
}

static void want_vote_divergent(struct block_case *c)
{
    EACH
    {
        uint32_t arm = c->x[i] & 1, ballot = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            ballot |=
                exists(c, i, lane) && (value(c, i, lane) & 1) == arm && (value(c, i, lane) & 2)
                    ? 1u << lane
                    : 0;
        c->d[i] = ballot + arm;
    }
}

static void want_ballot_odd(struct block_case *c)
{
    EACH
    {
        uint32_t m = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            m |= exists(c, i, lane) && (value(c, i, lane) & 1) ? 1u << lane : 0;
        c->d[i] = m;
    }
}

static void want_activemask(struct block_case *c)
{
    EACH c->d[i] = live_mask(c, i);
}

static void want_match_any(struct block_case *c)
{
    EACH
    {
        uint32_t m = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            m |= exists(c, i, lane) && value(c, i, lane) % 5 == c->x[i] % 5 ? 1u << lane : 0;
        c->d[i] = m;
    }
}

static void want_match_wide(struct block_case *c)
{
    EACH
    {
        uint32_t m = 0;

        for (uint32_t lane = 0; lane < 32; lane++)
            m |= exists(c, i, lane) && value(c, i, lane) % 3 == c->x[i] % 3 ? 1u << lane : 0;
        c->d[i] = m;
    }
}

static void want_match_all(struct block_case *c)
{
    EACH
    {
        bool same = true;

        for (uint32_t lane = 0; lane < 32; lane++)
            same = same && (!exists(c, i, lane) || value(c, i, lane) >> 31 == c->x[i] >> 31);
        /* the second match always holds */
        c->d[i] = (same ? live_mask(c, i) : 0) ^ (live_mask(c, i) + 1);
    }
}

static void want_redux(struct block_case *c)
{
    EACH
    {
        uint32_t sum = 0, and = 0xffffffff, or = 0, xor = 0, umin = 0xffffffff;
        int32_t smax = INT32_MIN;

        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t x = exists(c, i, lane) ? value(c, i, lane) : 0;

            if (!exists(c, i, lane))
                continue;
            sum += x;
            and &= x;
            or |= x;
            xor ^= x;
            umin = x < umin ? x : umin;
            smax = (int32_t)x > smax ? (int32_t)x : smax;
        }
        c->d[i] = sum + and*3 + or *5 + xor*7 + umin * 11 + (uint32_t)smax * 13;
    }
}

/* Lanes leave a loop one after another; each round those left vote. */
static void want_vote_loop(struct block_case *c)
{
    EACH
    {
        uint32_t s = 0;

        for (uint32_t round = 0; round <= c->x[i] % 8; round++) {
            uint32_t m = 0;

            for (uint32_t lane = 0; lane < 32; lane++)
                m |= exists(c, i, lane) && value(c, i, lane) % 8 >= round ? 1u << lane : 0;
            s = s * 3 + m;
        }
        c->d[i] = s;
    }
}

/* Warp-wide exchange through shared memory with bar.warp.sync. */
static void want_warp_sync(struct block_case *c)
{
    EACH
    {
        uint32_t j = i ^ 1;

        c->d[i] = j < c->threads ? c->x[j] + 1 : c->x[i];
    }
}

/* Independent progress: the lane that holds the lock must get on while others of its warp spin. */
static void want_spin_lock(struct block_case *c)
{
    EACH
    {
        c->extra[1] += c->x[i];
        c->extra[2]++;
        c->d[i] = 1;
    }
}

static void want_warp_producer(struct block_case *c)
{
    EACH c->d[i] = c->x[i / 32 * 32] * 2 + 1;
}

#define MASK_ALL "activemask.b32 r20;\n"
#define SHUFFLE(mode, b, ctrl)                                                                     \
    "shfl.sync." mode ".b32 r0|p0, x, " b ", " ctrl                                                \
    ", 0xffffffff; selp.u32 r1, 1, 0, p0; mad.lo.u32 d, r0, 2, r1;\n"

const struct kernel_test kernel_tests_warp[] = {
    {.name = "warp.shfl.up", .want = want_up, .multiple = 32, .body = SHUFFLE("up", "3", "0")},
    {.name = "warp.shfl.down",
     .want = want_down,
     .multiple = 32,
     .body = SHUFFLE("down", "5", "31")},
    {.name = "warp.shfl.bfly",
     .want = want_bfly,
     .multiple = 32,
     .body = SHUFFLE("bfly", "17", "31")},
    {.name = "warp.shfl.idx", .want = want_idx, .multiple = 32, .body = SHUFFLE("idx", "11", "31")},
    {.name = "warp.shfl.up.width8",
     .want = want_up8,
     .multiple = 32,
     .body = SHUFFLE("up", "2", "0x1800")},
    {.name = "warp.shfl.down.width8",
     .want = want_down8,
     .multiple = 32,
     .body = SHUFFLE("down", "3", "0x181f")},
    {.name = "warp.shfl.bfly.width4",
     .want = want_bfly4,
     .multiple = 32,
     .body = SHUFFLE("bfly", "3", "0x1c1f")},
    {.name = "warp.shfl.idx.width16",
     .want = want_idx16,
     .multiple = 32,
     .body = SHUFFLE("idx", "5", "0x101f")},
    {.name = "warp.shfl.idx.by_lane",
     .want = want_idx_lanes,
     .multiple = 32,
     .body = "shr.u32 r0, x, 7; shfl.sync.idx.b32 d, x, r0, 31, -1;\n"},
    {.name = "warp.shfl.reduce",
     .want = want_reduce,
     .multiple = 32,
     .body = "mov.u32 d, x; mov.u32 r1, 16;\n"
             "LOOP: shfl.sync.bfly.b32 r0, d, r1, 31, -1; add.u32 d, d, r0; shr.u32 r1, r1, 1;\n"
             "setp.ne.u32 p0, r1, 0; @p0 bra LOOP;\n"},
    {.name = "warp.shfl.divergent",
     .want = want_shuffle_odd,
     .multiple = 32,
     .body = "mov.u32 d, x; and.b32 r0, lane, 1; setp.eq.u32 p0, r0, 0; @p0 bra STORE;\n"
             "shfl.sync.bfly.b32 r1, x, 2, 31, 0xaaaaaaaa; add.u32 d, r1, 1;\n"},
    {.name = "warp.shfl.absent",
     .want = want_shuffle_absent,
     .multiple = 32,
     .body = "mov.u32 d, x; mul.lo.u32 r3, x, 5; setp.ge.u32 p1, lane, 8; selp.u32 d, r3, d, p1; "
             "@p1 bra STORE;\n"
             "mov.u32 r1, 16;\n"
             "LOOP: shfl.sync.down.b32 r0, d, r1, 31, 0xff; add.u32 d, d, r0; shr.u32 r1, r1, 1;\n"
             "setp.ne.u32 p0, r1, 0; @p0 bra LOOP;\n"},
    {.name = "warp.shfl.both_arms",
     .want = want_shuffle_arms,
     .multiple = 32,
     .body = "setp.lt.u32 p0, lane, 16; @p0 bra LOW;\n"
             "shfl.sync.bfly.b32 r1, x, 9, 31, 0xffff0000; mul.lo.u32 d, r1, 3; bra STORE;\n"
             "LOW: shfl.sync.bfly.b32 d, x, 5, 31, 0x0000ffff;\n"},
    {.name = "warp.shfl.arms_meet",
     .want = want_reduce,
     .multiple = 32,
     /* one shuffle instruction, reached from two sides: waits until all named lanes are there */
     .body = "and.b32 r2, x, 1; setp.eq.u32 p1, r2, 0; mov.u32 d, x; mov.u32 r1, 16; @p1 bra LOOP; "
             "mov.u32 r3, 5;\n"
             "SPIN: sub.u32 r3, r3, 1; setp.ne.u32 p2, r3, 0; @p2 bra SPIN;\n"
             "LOOP: shfl.sync.bfly.b32 r0, d, r1, 31, -1; add.u32 d, d, r0; shr.u32 r1, r1, 1;\n"
             "setp.ne.u32 p0, r1, 0; @p0 bra LOOP;\n"},
    {.name = "warp.vote",
     .want = want_votes,
     .body = MASK_ALL
     "and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; vote.sync.ballot.b32 d, p0, r20; vote.sync.all.pred "
     "p1, p0, r20;\n"
     "vote.sync.any.pred p2, p0, r20; vote.sync.uni.pred p3, p0, r20; selp.u32 r1, 2, 0, p1;\n"
     "selp.u32 r2, 4, 0, p2; selp.u32 r3, 8, 0, p3; add.u32 r1, r1, r2; add.u32 r1, r1, r3; "
     "xor.b32 d, d, r1;\n"},
    {.name = "warp.vote.divergent",
     .want = want_vote_divergent,
     .body = "and.b32 r0, x, 2; setp.ne.u32 p0, r0, 0; and.b32 r1, x, 1; setp.ne.u32 p1, r1, 0; "
             "activemask.b32 r20;\n"
             "vote.sync.ballot.b32 r21, p1, r20; not.b32 r22, r21; and.b32 r22, r22, r20; @p1 bra "
             "ODD;\n"
             "vote.sync.ballot.b32 d, p0, r22; bra STORE;\n"
             "ODD: vote.sync.ballot.b32 d, p0, r21; add.u32 d, d, 1;\n"},
    {.name = "warp.vote.loop",
     .want = want_vote_loop,
     .body = "and.b32 r0, x, 7; mov.u32 r1, 0; activemask.b32 r20;\n"
             "LOOP: setp.ge.u32 p0, r0, r1; vote.sync.ballot.b32 r21, p0, r20; @!p0 bra STORE; "
             "mov.u32 r20, r21;\n"
             "mad.lo.u32 d, d, 3, r21; add.u32 r1, r1, 1; setp.gt.u32 p1, r1, r0; "
             "vote.sync.ballot.b32 r22, p1, r20;\n"
             "not.b32 r22, r22; and.b32 r20, r20, r22; @p1 bra STORE; bra LOOP;\n"},
    {.name = "warp.activemask", .want = want_activemask, .body = "activemask.b32 d;\n"},
    {.name = "warp.match.any",
     .want = want_match_any,
     .body = MASK_ALL "rem.u32 r0, x, 5; match.any.sync.b32 d, r0, r20;\n"},
    {.name = "warp.match.all",
     .want = want_match_all,
     .body = MASK_ALL "shr.u32 r0, x, 31; match.all.sync.b32 r1|p0, r0, r20; mov.u64 a0, 5; "
                      "match.all.sync.b64 r2|p1, a0, r20;\n"
                      "selp.u32 r3, 1, 0, p1; add.u32 r2, r2, r3; xor.b32 d, r1, r2;\n"},
    {.name = "warp.match.any.b64",
     .want = want_match_wide, /* words that differ in their upper halves alone */
     .body = MASK_ALL "rem.u32 r0, x, 3; mov.b64 a0, {r20, r0}; match.any.sync.b64 d, a0, r20;\n"},
    {.name = "warp.ballot_old_spelling",
     .want = want_ballot_odd,
     .body =
         MASK_ALL "and.b32 r0, x, 1; setp.ne.u32 p0, r0, 0; vote.ballot.sync.b32 d, p0, r20;\n"},
    {.name = "warp.redux",
     .want = want_redux,
     .body = MASK_ALL
     "redux.sync.add.u32 d, x, r20; redux.sync.and.b32 r0, x, r20; mad.lo.u32 d, r0, 3, d;\n"
     "redux.sync.or.b32 r0, x, r20; mad.lo.u32 d, r0, 5, d; redux.sync.xor.b32 r0, x, r20; "
     "mad.lo.u32 d, r0, 7, d;\n"
     "redux.sync.min.u32 r0, x, r20; mad.lo.u32 d, r0, 11, d; redux.sync.max.s32 r0, x, r20; "
     "mad.lo.u32 d, r0, 13, d;\n"},
    {.name = "warp.sync",
     .want = want_warp_sync,
     .globals = ".shared .align 16 .b8 s[8192];\n",
     .body = MASK_ALL "mov.u64 a2, s; mul.wide.u32 a1, i, 4; add.s64 a1, a2, a1; xor.b32 r0, i, 1; "
                      "mul.wide.u32 a3, r0, 4;\n"
                      "add.s64 a3, a2, a3; mov.u32 d, x; st.shared.u32 [a1], x; bar.warp.sync r20; "
                      "setp.ge.u32 p0, r0, n; @p0 bra STORE;\n"
                      "ld.shared.u32 d, [a3]; add.u32 d, d, 1;\n"},
    {.name = "warp.spin_lock",
     .want = want_spin_lock,
     .check_extra = true,
     .max_threads = 256,
     .body = "AGAIN: atom.global.cas.b32 r0, [extra], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra AGAIN;\n"
             "membar.gl; ld.volatile.global.u32 r1, [extra + 4]; add.u32 r1, r1, x; "
             "st.volatile.global.u32 [extra + 4], r1;\n"
             "ld.volatile.global.u32 r2, [extra + 8]; add.u32 r2, r2, 1; st.volatile.global.u32 "
             "[extra + 8], r2; membar.gl;\n"
             "atom.global.exch.b32 r0, [extra], 0; mov.u32 d, 1;\n"},
    {.name = "warp.lane_waits_for_lane",
     .want = want_warp_producer,
     .globals = ".shared .align 16 .b8 s[512];\n",
     /* lane 0 comes last through the code that others wait for, without any barrier */
     .body = "mov.u64 a2, s; shr.u32 r0, i, 5; mul.wide.u32 a1, r0, 8; add.s64 a1, a2, a1; "
             "setp.ne.u32 p0, lane, 0;\n"
             "@p0 bra READY; mov.u32 r1, 0; st.volatile.shared.u32 [a1 + 4], r1;\n"
             "READY: bar.sync 0; @p0 bra WAIT; mad.lo.u32 r1, x, 2, 1; st.volatile.shared.u32 "
             "[a1], r1; membar.cta;\n"
             "mov.u32 r2, 1; st.volatile.shared.u32 [a1 + 4], r2; mov.u32 d, r1; bra STORE;\n"
             "WAIT: ld.volatile.shared.u32 r3, [a1 + 4]; setp.eq.u32 p1, r3, 0; @p1 bra WAIT; "
             "ld.volatile.shared.u32 d, [a1];\n"},
};
const size_t kernel_tests_warp_count = sizeof kernel_tests_warp / sizeof kernel_tests_warp[0];
