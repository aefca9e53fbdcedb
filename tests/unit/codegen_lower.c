/* Slow paths of addresses that are nearly always contiguous, and which kernels run in general mode.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/codegen_lower_harness.h"

#define HEAD                                                                                       \
    ".version 7.5\n.target sm_75\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)\n{\n"                    \
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<32>;\n"                                      \
    "ld.param.u64 %d1,[pin]; ld.param.u64 %d2,[pout]; ld.param.u32 %r1,[pn];\n"                    \
    "mov.u32 %r2,%tid.x; mul.wide.u32 %d3,%r2,4; add.u64 %d4,%d2,%d3;\n"

/* in[tid - 1] with an unsigned index that wraps in lane 0, which does not load */
static const char before[] =
    HEAD "sub.u32 %r3,%r2,1; mul.wide.u32 %d5,%r3,4; add.u64 %d6,%d1,%d5; mov.u32 %r4,0;\n"
         "setp.eq.u32 %p1,%r2,0; @%p1 bra OUT; ld.global.u32 %r4,[%d6];\n"
         "OUT: st.global.u32 [%d4],%r4; ret;\n}\n";

/* the same index in a pointer that a loop moves on */
static const char walk[] =
    HEAD "sub.u32 %r3,%r2,1; mul.wide.u32 %d5,%r3,4; add.u64 %d6,%d1,%d5; mov.u32 %r4,0;\n"
         "setp.eq.u32 %p1,%r2,0; @%p1 bra OUT; mov.u32 %r5,0;\n"
         "LOOP: ld.global.u32 %r6,[%d6]; add.u32 %r4,%r4,%r6; add.u64 %d6,%d6,512;\n"
         "add.u32 %r5,%r5,1; setp.lt.u32 %p2,%r5,%r1; @%p2 bra LOOP;\n"
         "OUT: st.global.u32 [%d4],%r4; ret;\n}\n";

/* in[tid], in[tid + n] and so on, 16 of them, by an index that two instructions move on */
static const char strides[] =
    HEAD "mov.u32 %r3,%r2; mov.u32 %r4,0; mov.u32 %r5,0;\n"
         "LOOP: mul.wide.u32 %d5,%r3,4; add.u64 %d6,%d1,%d5; ld.global.u32 %r6,[%d6];\n"
         "add.u32 %r4,%r4,%r6; add.u32 %r7,%r3,%r1; sub.u32 %r8,%r7,%r1; add.u32 %r3,%r8,%r1;\n"
         "add.u32 %r5,%r5,1; setp.lt.u32 %p2,%r5,16; @%p2 bra LOOP;\n"
         "st.global.u32 [%d4],%r4; ret;\n}\n";

/* the same one word further on each time */
static const char neighbours[] =
    HEAD "mul.wide.u32 %d5,%r2,4; add.u64 %d6,%d1,%d5; mov.u32 %r4,0; mov.u32 %r5,0;\n"
         "LOOP: ld.global.u32 %r6,[%d6]; add.u32 %r4,%r4,%r6; add.u64 %d6,%d6,4;\n"
         "add.u32 %r5,%r5,1; setp.lt.u32 %p2,%r5,16; @%p2 bra LOOP;\n"
         "st.global.u32 [%d4],%r4; ret;\n}\n";

/* a count of bytes in shared memory, by lanes that collide and with values of their own, at the
 * word and at the next one */
static const char counts[] =
    HEAD ".shared .align 4 .b8 s[1028]; .reg .b16 %h<4>;\n"
         "mov.u32 %r3,s; shl.b32 %r4,%r2,2; add.u32 %r5,%r3,%r4; mov.u32 %r6,0;\n"
         "st.shared.u32 [%r5],%r6; st.shared.u32 [%r5+512],%r6; bar.sync 0;\n"
         "cvt.u64.u32 %d5,%r2; add.u64 %d6,%d1,%d5; ld.global.u8 %h1,[%d6];\n"
         "setp.ge.u32 %p1,%r2,%r1; mul.wide.u16 %r7,%h1,4; add.u32 %r8,%r3,%r7;\n"
         "@%p1 bra ADDED; red.shared.add.u32 [%r8],1; red.shared.add.u32 [%r8+4],%r2;\n"
         "ADDED: bar.sync 0; ld.shared.u32 %r9,[%r5]; ld.shared.u32 %r10,[%r5+512];\n"
         "st.global.u32 [%d4],%r9; st.global.u32 [%d4+512],%r10; ret;\n}\n";

/* s[t] += s[t + k] for k = 64, 32 ... 1, with a barrier after each; lanes from n on end before the
 * first when END is in front of it */
#define STEP(k)                                                                                    \
    "setp.ge.u32 %p1,%r2," k "; @%p1 bra L" k "; ld.shared.f32 %f1,[%r5]; "                        \
    "ld.shared.f32 %f2,[%r5+4*" k "]; add.f32 %f1,%f1,%f2; st.shared.f32 [%r5],%f1; L" k           \
    ": bar.sync 0;\n"
#define TREE(end)                                                                                  \
    HEAD ".shared .align 4 .b8 s[1024]; .reg .f32 %f<4>;\n"                                        \
         "add.u64 %d5,%d1,%d3; ld.global.u32 %r6,[%d5]; and.b32 %r6,%r6,1023; "                    \
         "cvt.rn.f32.u32 %f1,%r6; mov.u32 %r3,s; shl.b32 %r4,%r2,2; add.u32 %r5,%r3,%r4;\n"        \
         "st.shared.f32 [%r5],%f1; mov.f32 %f3,0f00000000; st.shared.f32 [%r5+512],%f3; " end      \
         "bar.sync 0;\n" STEP("64") STEP("32") STEP("16") STEP("8") STEP("4") STEP("2")            \
             STEP("1") "ld.shared.f32 %f1,[%r5]; cvt.rzi.u32.f32 %r6,%f1; st.global.u32 "          \
                       "[%d4],%r6; ret;\n}\n"
static const char tree[] = TREE("");
static const char tree_of_some[] = TREE("setp.ge.u32 %p2,%r2,%r1; @%p2 ret;\n");

/* warps below n add at one barrier what others add at another one, twice */
static const char two_ways[] =
    HEAD ".shared .align 4 .b8 s[512];\n"
         "mov.u32 %r3,s; shl.b32 %r4,%r2,2; add.u32 %r5,%r3,%r4; st.shared.u32 [%r5],%r2;\n"
         "xor.b32 %r6,%r4,128; add.u32 %r6,%r3,%r6; setp.ge.u32 %p1,%r2,%r1; mov.u32 %r8,0;\n"
         "AGAIN: @%p1 bra OTHER; bar.sync 0; ld.shared.u32 %r7,[%r6]; bra MET;\n"
         "OTHER: bar.sync 0; ld.shared.u32 %r7,[%r6]; add.u32 %r7,%r7,1000;\n"
         "MET: bar.sync 0; st.shared.u32 [%r5],%r7; add.u32 %r8,%r8,1;\n"
         "setp.lt.u32 %p2,%r8,2; @%p2 bra AGAIN;\n"
         "st.global.u32 [%d4],%r7; ret;\n}\n";

/* an index clamped at both ends */
static const char clamped[] =
    HEAD "sub.s32 %r3,%r2,5; max.s32 %r3,%r3,0; min.s32 %r3,%r3,%r1;\n"
         "mul.wide.s32 %d5,%r3,4; add.s64 %d6,%d1,%d5; ld.global.u32 %r4,[%d6+4];\n"
         "st.global.u32 [%d4],%r4; ret;\n}\n";

/* in[t - 2] to in[t + 2], no index of which is below the upper half of pn or above the lower; its
 * registers are written once. Each counts a word of the thread's own up, and stores its index where
 * all who have the same one store it. */
#define NEAR(k, away)                                                                              \
    "add.s32 %a" k ",%r2," away "; max.s32 %b" k ",%a" k ",%r7; min.s32 %c" k ",%b" k ",%r8;\n"    \
    "mul.wide.s32 %w" k ",%c" k ",4; add.s64 %x" k ",%d1,%w" k "; add.s64 %y" k ",%d2,%w" k ";\n"  \
    "ld.global.u32 %v" k ",[%x" k "]; mad.lo.u32 %r4,%r4,3,%v" k ";\n"                             \
    "ld.global.u32 %t" k ",[%d4+1024]; add.u32 %u" k ",%t" k ",1; st.global.u32 [%d4+1024],%u" k   \
    ";\nst.global.u32 [%y" k "+2048],%c" k ";\n"
#define FIVE_NEAR(skip)                                                                            \
    HEAD                                                                                           \
        ".reg .b32 %a<5>,%b<5>,%c<5>,%v<5>,%t<5>,%u<5>; .reg .b64 %w<5>,%x<5>,%y<5>;\n"            \
        "shr.s32 %r7,%r1,16; and.b32 %r8,%r1,65535; mov.u32 %r4,0; add.u64 %d5,%d2,%d3;\n"         \
        "ld.global.u32 %r5,[%d5+8192]; setp.ne.u32 %p1,%r5,0; " skip NEAR("0", "-2") NEAR(         \
            "1",                                                                                   \
            "-1") "ld.global.u32 %r9,[%d5+4096]; and.b32 %r10,%r9,255; mul.wide.u32 %d6,%r10,4;\n" \
                  "add.u64 %d7,%d1,%d6; ld.global.u32 %r11,[%d7]; xor.b32 %r4,%r4,%r11;\n" NEAR(   \
                      "2", "0") NEAR("3", "1")                                                     \
                      NEAR("4", "2") "st.global.u32 [%d4],%r4; OUT: ret;\n}\n"
static const char near_all[] = FIVE_NEAR("");
static const char near_some[] = FIVE_NEAR("@%p1 bra OUT;\n");

/* rows of 16 threads, 4 KiB apart */
static const char rows[] =
    HEAD "mov.u32 %r3,%tid.y; mad.lo.u32 %r4,%r3,1024,%r2; mul.wide.u32 %d5,%r4,4;\n"
         "add.u64 %d6,%d1,%d5; ld.global.u32 %r5,[%d6]; mad.lo.u32 %r6,%r3,16,%r2;\n"
         "mul.wide.u32 %d7,%r6,4; add.u64 %d8,%d2,%d7; st.global.u32 [%d8],%r5; ret;\n}\n";

/* what is rounded and held to 0 .. 1 in vectors that may be longer than the processor's */
static const char rounds[] =
    HEAD ".reg .f32 %f<4>; .reg .f64 %g<4>;\n"
         "add.u64 %d5,%d1,%d3; ld.global.f32 %f1,[%d5]; cvt.sat.f32.f32 %f2,%f1;\n"
         "st.global.f32 [%d4],%f2; cvt.rn.f64.u32 %g1,%r2; mov.f64 %g2,0d3CA0000000000000;\n"
         "add.rp.f64 %g3,%g1,%g2; add.u64 %d6,%d4,%d3; st.global.f64 [%d6+1024],%g3; ret;\n}\n";

/* lane 40 waits for lane 7 through memory */
static const char waits[] =
    HEAD "setp.eq.u32 %p1,%r2,7; @%p1 bra GIVE; setp.ne.u32 %p2,%r2,40; @%p2 bra OUT;\n"
         "LOOP: ld.volatile.global.u32 %r4,[%d2+1024]; setp.eq.u32 %p3,%r4,0; @%p3 bra LOOP;\n"
         "st.global.u32 [%d4],%r4; bra OUT;\n"
         "GIVE: mov.u32 %r5,9; st.volatile.global.u32 [%d2+1024],%r5; OUT: ret;\n}\n";

/* Accesses in all forms, off by pn / 256 bytes; pn % 256 says which. %r4: an index that is no line,
 * %r6: the offset in lane 77 alone. */
static const char before_forms[] =
    HEAD ".shared .align 16 .b8 s[4096]; .local .align 16 .b8 b[64]; .reg .b16 %h<4>;\n"
         ".reg .b64 %e<8>; mov.u32 %r3,s; mul.lo.u32 %r4,%r2,%r2; and.b32 %r4,%r4,127;\n"
         "and.b32 %r21,%r1,255; shr.u32 %r20,%r1,8; cvt.u64.u32 %d20,%r20;\n"
         "setp.eq.u32 %p2,%r2,77; selp.b32 %r6,%r20,0,%p2; cvt.u64.u32 %d6,%r6;\n"
         "add.u64 %d7,%d1,%d20; shl.b32 %r7,%r4,2; add.u32 %r5,%r3,%r20; add.u32 %r8,%r5,%r7;\n"
         "mul.wide.u32 %d8,%r4,4; add.u64 %d9,%d1,%d8; add.u64 %d9,%d9,%d6; shl.b32 %r10,%r2,2;\n"
         "mov.u64 %e2,b; add.u64 %e2,%e2,%d20; shl.b32 %r19,%r2,4; add.u32 %r12,%r3,%r7;\n"
         "add.u32 %r12,%r12,%r6;\n";

/* Bytes that it may be off by, and that it must not; 0: none. */
static const struct form {
    const char *access;
    uint8_t good, bad;
    bool elsewhere; /* in local or global memory, which is asked about */
} forms[] = {
    {"ld.shared.u32 %r9,[%r5];", 4, 2, false},
    {"add.u32 %r11,%r5,%r10; ld.shared.u32 %r9,[%r11];", 8, 1, false},
    {"ld.shared.u32 %r9,[%r8];", 4, 2, false},
    {"add.u32 %r11,%r5,%r19; st.shared.v4.u32 [%r11],{%r2,%r2,%r2,%r2};", 16, 8, false},
    {"atom.shared.add.u32 %r9,[%r8],1;", 4, 2, false},
    {"add.u64 %d10,%d7,%d8; ld.global.u32 %r9,[%d10];", 4, 2, true},
    {"ld.global.u32 %r9,[%d9];", 8, 2, true},
    {"mul.wide.u32 %d10,%r2,%r20; add.u64 %d10,%d1,%d10; ld.global.u32 %r9,[%d10];", 4, 2, true},
    {"ld.local.u32 %r9,[%e2];", 4, 1, true},
    {"atom.global.add.u32 %r9,[%d9],0;", 4, 2, true},
    {"mul.wide.u32 %d10,%r4,16; add.u64 %d10,%d10,%d7; ld.global.v2.u64 {%e3,%e4},[%d10];", 16, 8,
     true},
    {"ld.global.u16 %h1,[%d9];", 2, 1, true},
    {"cvt.u64.u32 %d10,%r4; add.u64 %d10,%d10,%d7; ld.global.u8 %h1,[%d10];", 3, 0, true},
    {"st.global.u32 [%d9],%r2;", 4, 1, true},
    {"ld.shared.u32 %r9,[%r12];", 4, 2, false},
    {"st.shared.u32 [%r12],%r2;", 4, 1, false},
    {"ld.volatile.global.u32 %r9,[%d9];", 4, 2, true},
    {"mad.wide.u32 %d10,%r2,6,%d7; ld.global.u32 %r9,[%d10];", 0, 4, true},
};
#define FORMS (sizeof forms / sizeof *forms)

struct params {
    const uint32_t *in;
    uint32_t *out;
    uint32_t n;
};

struct fixture {
    struct harness h;
    struct params p;
    struct harness_kernel k;
};

/* cpu NULL: this one */
static void start_as(struct fixture *f, const char *ptx, enum weir_jit_tier tier, uint32_t n,
                     const uint32_t block[3], const char *cpu)
{
    memset(f, 0, sizeof *f);
    f->h.tier = tier;
    f->h.cpu = cpu;
    assert_true(harness_start(&f->h, 4u << 20, ptx, strlen(ptx)));
    uint32_t *in = harness_alloc(&f->h, 65536);
    for (uint32_t k = 0; k < 16384; k++)
        in[k] = k * 2654435761u;
    f->p = (struct params){in, harness_alloc(&f->h, 16384), n};
    assert_true(harness_compile(&f->h, "k", block, &f->k));
}

static void start(struct fixture *f, const char *ptx, enum weir_jit_tier tier, uint32_t n)
{
    static const uint32_t block[3] = {128, 1, 1};
    start_as(f, ptx, tier, n, block, NULL);
}

static void run(struct fixture *f)
{
    static const uint32_t grid[3] = {1, 1, 1};
    assert_true(harness_run(&f->h, &f->k, grid, 0, &f->p, 20));
}

static void stop(struct fixture *f)
{
    harness_free_kernel(&f->k);
    harness_stop(&f->h);
}

static void test_index_that_wraps(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, before, (enum weir_jit_tier)tier, 0);
        run(&f);
        assert_int_equal(f.p.out[0], 0);
        for (uint32_t t = 1; t < 128; t++)
            assert_int_equal(f.p.out[t], f.p.in[t - 1]);
        assert_int_equal(f.k.result.meta.may_park, 0);
        stop(&f);
    }
}

static void test_pointer_that_walks(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, walk, (enum weir_jit_tier)tier, 9);
        run(&f);
        for (uint32_t t = 1; t < 128; t++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < 9; k++)
                sum += f.p.in[t - 1 + 128 * k];
            assert_int_equal(f.p.out[t], sum);
        }
        stop(&f);
    }
}

/* prefetcht0 in the object's code */
static bool prefetches(const struct fixture *f)
{
    const unsigned char *o = f->k.result.object;
    for (size_t k = 0; k + 2 < f->k.result.object_bytes; k++)
        if (o[k] == 0x0f && o[k + 1] == 0x18 && (o[k + 2] >> 3 & 7) == 1)
            return true;
    return false;
}

static void test_far_steps_are_prefetched(void **state)
{
    static const struct {
        const char *ptx;
        uint32_t n, step;
        bool prefetched;
    } c[] = {{strides, 128, 128, true}, {strides, 1000, 1000, true}, {neighbours, 0, 1, false}};
    struct fixture f;
    (void)state;
    for (unsigned k = 0; k < 6; k++) {
        enum weir_jit_tier tier = k % 2 ? WEIR_JIT_BEST : WEIR_JIT_QUICK;
        start(&f, c[k / 2].ptx, tier, c[k / 2].n);
        run(&f);
        for (uint32_t t = 0; t < 128; t++) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < 16; j++)
                sum += f.p.in[t + c[k / 2].step * j];
            assert_int_equal(f.p.out[t], sum);
        }
        assert_int_equal(prefetches(&f), tier == WEIR_JIT_BEST && c[k / 2].prefetched);
        stop(&f);
    }
}

static void test_short_rows_are_prefetched(void **state)
{
    static const uint32_t block[3] = {16, 8, 1};
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start_as(&f, rows, (enum weir_jit_tier)tier, 0, block, NULL);
        run(&f);
        for (uint32_t t = 0; t < 128; t++)
            assert_int_equal(f.p.out[t], f.p.in[t / 16 * 1024 + t % 16]);
        assert_int_equal(prefetches(&f), tier == WEIR_JIT_BEST);
        stop(&f);
    }
}

static void test_vectors_longer_than_the_processors(void **state)
{
    static const uint32_t block[3] = {128, 1, 1},
                          values[4] = {0x7fa00000, 0x3f000000, 0xbf800000, 0x40000000},
                          wanted[4] = {0, 0x3f000000, 0, 0x3f800000};
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start_as(&f, rounds, (enum weir_jit_tier)tier, 0, block, "x86-64-v3");
        for (uint32_t t = 0; t < 128; t++)
            ((uint32_t *)(uintptr_t)f.p.in)[t] = values[t % 4];
        run(&f);
        for (uint32_t t = 0; t < 128; t++) {
            double d = t; /* and a little, up to the next one */
            uint64_t want, got;
            memcpy(&want, &d, 8);
            want = t ? want + 1 : UINT64_C(0x3ca0000000000000);
            memcpy(&got, &f.p.out[256 + 2 * t], 8);
            assert_int_equal(f.p.out[t], wanted[t % 4]);
            assert_true(got == want);
        }
        stop(&f);
    }
}

static void test_shared_counts(void **state)
{
    struct fixture f;
    (void)state;
    for (uint32_t n = 0; n <= 128; n += 16)
        for (int tier = 0; tier < 2; tier++) {
            uint32_t want[257] = {0};
            start(&f, counts, (enum weir_jit_tier)tier, n);
            unsigned char *bytes = (unsigned char *)f.p.in;
            for (uint32_t t = 0; t < 128; t++)
                bytes[t] = (unsigned char)(t % 3 ? 255 - t % 7 : t);
            for (uint32_t t = 0; t < n; t++) {
                want[bytes[t]]++;
                want[bytes[t] + 1] += t;
            }
            run(&f);
            assert_memory_equal(f.p.out, want, 256 * sizeof *want);
            stop(&f);
        }
}

static void tree_in_c(const uint32_t *in, uint32_t live, uint32_t *out)
{
    uint32_t s[256] = {0};
    for (uint32_t t = 0; t < 128; t++)
        s[t] = in[t] & 1023;
    for (uint32_t k = 64; k > 0; k /= 2)
        for (uint32_t t = 0; t < k && t < live; t++)
            s[t] += s[t + k];
    memcpy(out, s, 128 * sizeof *s);
}

static void test_warps_in_step(void **state)
{
    struct fixture f;
    (void)state;
    for (uint32_t n = 0; n <= 128; n += 8)
        for (int tier = 0; tier < 2; tier++) {
            uint32_t want[128];
            start(&f, n ? tree_of_some : tree, (enum weir_jit_tier)tier, n);
            run(&f);
            tree_in_c(f.p.in, n ? n : 128, want);
            assert_memory_equal(f.p.out, want, (n ? n : 128) * sizeof *want);
            for (uint32_t t = n ? n : 128; t < 128; t++)
                assert_int_equal(f.p.out[t], 0);
            stop(&f);
        }
}

static void test_warps_by_two_ways(void **state)
{
    struct fixture f;
    (void)state;
    for (uint32_t n = 0; n <= 128; n += 32)
        for (int tier = 0; tier < 2; tier++) {
            start(&f, two_ways, (enum weir_jit_tier)tier, n);
            run(&f);
            for (uint32_t t = 0; t < 128; t++) /* each warp's own addition, and its neighbour's */
                assert_int_equal(f.p.out[t], t + ((t ^ 32) >= n ? 1000 : 0) + (t >= n ? 1000 : 0));
            stop(&f);
        }
}

static void test_clamped_index(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, clamped, (enum weir_jit_tier)tier, 100);
        run(&f);
        for (int t = 0; t < 128; t++) {
            int at = t - 5 < 0 ? 0 : t - 5 > 100 ? 100 : t - 5;
            assert_int_equal(f.p.out[t], f.p.in[at + 1]);
        }
        stop(&f);
    }
}

static int32_t held(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* A run of near_all, or of near_some without the lanes that out[2048 + t] leaves out. */
static void run_near(struct fixture *f, bool some, int16_t low, uint16_t high)
{
    uint32_t want[1024] = {0};
    memset(f->p.out, 0, 4096);
    f->p.n = (uint32_t)(uint16_t)low << 16 | high;
    for (int32_t t = 0; t < 128; t++) {
        if (some && f->p.out[2048 + t])
            continue;
        for (int32_t k = 0; k < 5; k++) {
            int32_t at = held(t + k - 2, low, high);
            want[t] = (k == 2 ? want[t] ^ f->p.in[f->p.out[1024 + t] & 255] : want[t]) * 3;
            want[t] += f->p.in[at];
            want[512 + at] = (uint32_t)at;
        }
        want[256 + t] = 5;
    }
    run(f);
    assert_memory_equal(f->p.out, want, sizeof want);
}

static void start_near(struct fixture *f, const char *ptx, int tier)
{
    start(f, ptx, (enum weir_jit_tier)tier, 0);
    for (uint32_t t = 0; t < 128; t++)
        f->p.out[1024 + t] = t * 2654435761u >> 25;
}

/* Guesses hold in no warp, in some, and up to some instruction. */
static void test_guesses_that_fail(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start_near(&f, near_all, tier);
        for (uint16_t high = 28; high < 67; high++) /* the ends of groups and of warps */
            run_near(&f, false, 0, high);
        run_near(&f, false, 0, 1000);
        run_near(&f, false, 5, 5);
        run_near(&f, false, 62, 1000);
        stop(&f);
    }
}

static void test_guesses_of_some_lanes(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start_near(&f, near_some, tier);
        uint32_t *skip = &f.p.out[2048];
        for (uint32_t without = 0; without <= 128; without += 8) { /* of warps in which all are */
            for (uint32_t t = 0; t < 128; t++)
                skip[t] = t % 64 < 32 && t < without && t % 3 == 0;
            run_near(&f, true, 0, 1000);
            run_near(&f, true, 0, 97);
        }
        stop(&f);
    }
}

static void test_guesses_at_the_windows_end(void **state)
{
    static const uint32_t grid[3] = {1, 1, 1};
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start_near(&f, near_all, tier);
        char *in = (char *)(uintptr_t)f.p.in, *end = f.h.window + f.h.window_bytes;
        /* the offsets of two groups together have all bits set, though both lie inside */
        f.p.in = memcpy(f.h.window + f.h.window_bytes / 2 - 24, in, 16384);
        run_near(&f, false, -100, 1000);
        f.p.in = memcpy(end - 130 * sizeof *f.p.in, in, 130 * sizeof *f.p.in); /* up to two on */
        run_near(&f, false, -100, 1000);
        f.p.in++;
        assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
        assert_int_equal(f.h.error, WEIR_ERR_ILLEGAL_ADDRESS);
        assert_int_equal(f.h.error_address, (uintptr_t)end);
        f.p.in = (const uint32_t *)(const void *)(in + 256 + 2);
        f.p.n = 0xff9c0000u | 1000;
        assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
        assert_int_equal(f.h.error_address, (uintptr_t)(f.p.in - 2));
        f.p.in = (const uint32_t *)(const void *)(f.h.window + 4);
        assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
        assert_int_equal(f.h.error, WEIR_ERR_ILLEGAL_ADDRESS);
        assert_int_equal(f.h.error_address, (uintptr_t)(f.h.window - 4));
        stop(&f);
    }
}

/* Whether a line of what is made of the PTX, before (0) or after (1) the passes, has this text. */
static bool has_in_ir(const char *ptx, enum weir_jit_tier tier, int when, const char *what)
{
    char dir[] = "/tmp/weir-test-forms-XXXXXX", line[256], path[2][64];
    struct fixture f;
    bool found = false;
    assert_non_null(mkdtemp(dir));
    setenv("WEIR_DUMP_IR", dir, 1);
    start(&f, ptx, tier, 100);
    unsetenv("WEIR_DUMP_IR");
    stop(&f);
    for (int k = 0; k < 2; k++)
        snprintf(path[k], sizeof path[k], "%s/k.%d.ll", dir, k);
    FILE *ir = fopen(path[when], "r");
    assert_non_null(ir);
    while (fgets(line, sizeof line, ir))
        found |= strstr(line, what) != NULL;
    fclose(ir);
    for (int k = 0; k < 2; k++)
        unlink(path[k]);
    rmdir(dir);
    return found;
}

/* Whether blocks are made in two forms: "either" is where these meet. */
static bool has_two_forms(const char *ptx, enum weir_jit_tier tier)
{
    return has_in_ir(ptx, tier, 0, "either");
}

/* Masks are vectors otherwise. */
static bool has_mask_registers(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* Some lanes go one way, some of these another, and what they do there is seen at the end. */
static const char parted[] =
    HEAD "add.u64 %d5,%d1,%d3; ld.global.u32 %r3,[%d5]; mov.u32 %r4,%r3; setp.gt.u32 %p1,%r3,%r1;\n"
         "@%p1 bra MEET; add.u32 %r4,%r4,7; setp.lt.u32 %p2,%r4,%r2; @%p2 bra MEET;\n"
         "mul.lo.u32 %r4,%r4,%r3;\nMEET: xor.b32 %r4,%r4,%r2; st.global.u32 [%d4],%r4; ret;\n}\n";

static void test_masks_between_blocks(void **state)
{
    (void)state;
    for (enum weir_jit_tier tier = WEIR_JIT_QUICK; tier <= WEIR_JIT_BEST; tier++) {
        assert_true(has_in_ir(parted, tier, 0, "alloca <16 x i1>"));
        assert_int_equal(has_in_ir(parted, tier, 1, "phi <16 x i1>"), has_mask_registers());
        assert_int_equal(has_in_ir(parted, tier, 1, "phi i16"), !has_mask_registers());
    }
}

static void test_blocks_in_two_forms(void **state)
{
    enum { HELD, WORD, BYTE };
    const bool vectors = !has_mask_registers();
    const struct {
        unsigned load, loads;
        bool some, twice;
    } c[] = {{HELD, 3, false, false},  {HELD, 4, false, true}, {HELD, 2, true, true},
             {WORD, 1, true, vectors}, {WORD, 2, true, true},  {BYTE, 1, true, true},
             {BYTE, 4, false, false}};
    char text[4096];
    (void)state;
    for (unsigned k = 0; k < sizeof c / sizeof *c; k++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s%s", HEAD,
                                       "cvt.u64.u32 %d7,%r2; add.u64 %d5,%d1,%d3; add.u64 "
                                       "%d6,%d1,%d7; setp.ge.u32 %p1,%r2,%r1; mov.u32 %r4,0;\n");
        if (c[k].some)
            used += (size_t)snprintf(text + used, sizeof text - used, "@%%p1 bra OUT;\n");
        for (unsigned n = 0; n < c[k].loads; n++) {
            if (c[k].load == HELD)
                used += (size_t)snprintf(text + used, sizeof text - used,
                                         "max.s32 %%r1%u,%%r2,%%r1; mul.wide.s32 %%d1%u,%%r1%u,4; "
                                         "add.s64 %%d2%u,%%d1,%%d1%u; ",
                                         n, n, n, n, n);
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     c[k].load == HELD   ? "ld.global.u32 %%r2%u,[%%d2%u]; "
                                     : c[k].load == WORD ? "ld.global.u32 %%r2%u,[%%d5+%u]; "
                                                         : "ld.global.u8 %%r2%u,[%%d6+%u]; ",
                                     n, c[k].load == WORD ? 4 * n : n);
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "add.u32 %%r4,%%r4,%%r2%u;\n", n);
        }
        snprintf(text + used, sizeof text - used, "OUT: st.global.u32 [%%d4],%%r4; ret;\n}\n");
        assert_int_equal(has_two_forms(text, WEIR_JIT_BEST), c[k].twice);
        assert_false(has_two_forms(text, WEIR_JIT_QUICK));
    }
}

static void test_lanes_that_wait(void **state)
{
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, waits, (enum weir_jit_tier)tier, 0);
        assert_int_equal(f.k.result.meta.may_park, 1);
        run(&f);
        assert_int_equal(f.p.out[40], 9);
        stop(&f);
    }
}

static void test_outside_is_an_error(void **state)
{
    static const uint32_t grid[3] = {1, 1, 1};
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, clamped, (enum weir_jit_tier)tier, 100);
        f.p.in = (const uint32_t *)(uintptr_t)4096;
        assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
        assert_int_equal(f.h.error, WEIR_ERR_ILLEGAL_ADDRESS);
        assert_int_equal(f.h.error_address, 4100);
        stop(&f);
    }
}

/* What is not aligned is asked about, as what lies outside is. */
static void test_misaligned_is_asked_about(void **state)
{
    static const uint32_t grid[3] = {1, 1, 1};
    struct fixture f;
    (void)state;
    for (int tier = 0; tier < 2; tier++) {
        start(&f, clamped, (enum weir_jit_tier)tier, 100);
        f.p.out = (uint32_t *)(void *)((char *)f.p.out + 2);
        assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
        assert_int_equal(f.h.error_address, (uintptr_t)f.p.out);
        stop(&f);
    }
}

static void test_alignment_in_all_forms(void **state)
{
    static const uint32_t grid[3] = {1, 1, 1};
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", before_forms);
    struct fixture f;
    (void)state;
    for (uint32_t k = 0; k < FORMS; k++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "setp.ne.u32 %%p1,%%r21,%u; @%%p1 bra N%u; %s N%u:\n", k, k,
                                 forms[k].access, k);
    snprintf(text + used, sizeof text - used, "st.global.u32 [%%d4],%%r2; ret;\n}\n");
    for (int tier = 0; tier < 2; tier++) {
        start(&f, text, (enum weir_jit_tier)tier, 0);
        for (uint32_t k = 0; k < FORMS; k++) {
            f.p.n = k | (uint32_t)forms[k].good << 8;
            if (forms[k].good)
                run(&f);
            f.p.n = k | (uint32_t)forms[k].bad << 8;
            if (!forms[k].bad)
                continue;
            assert_false(harness_run(&f.h, &f.k, grid, 0, &f.p, 20));
            assert_int_equal(f.h.error, forms[k].elsewhere ? WEIR_ERR_ILLEGAL_ADDRESS
                                                           : WEIR_ERR_MISALIGNED_ADDRESS);
            assert_int_not_equal(f.h.error_address & 15, 0);
        }
        stop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment_in_all_forms),
        cmocka_unit_test(test_misaligned_is_asked_about),
        cmocka_unit_test(test_index_that_wraps),
        cmocka_unit_test(test_pointer_that_walks),
        cmocka_unit_test(test_far_steps_are_prefetched),
        cmocka_unit_test(test_short_rows_are_prefetched),
        cmocka_unit_test(test_vectors_longer_than_the_processors),
        cmocka_unit_test(test_guesses_that_fail),
        cmocka_unit_test(test_guesses_of_some_lanes),
        cmocka_unit_test(test_guesses_at_the_windows_end),
        cmocka_unit_test(test_blocks_in_two_forms),
        cmocka_unit_test(test_masks_between_blocks),
        cmocka_unit_test(test_shared_counts),
        cmocka_unit_test(test_warps_in_step),
        cmocka_unit_test(test_warps_by_two_ways),
        cmocka_unit_test(test_clamped_index),
        cmocka_unit_test(test_lanes_that_wait),
        cmocka_unit_test(test_outside_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
