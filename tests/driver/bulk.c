/* Bulk copies in kernels (cp.async.bulk and its reductions, st.async, red.async) with barrier
 * objects, between the blocks of a cluster and to global memory. They end when the barrier's phase
 * does, or the bulk group.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "driver.h"

#define WORDS 64 /* of a block's buffers, and threads */

static char text[1 << 17];
static size_t used;

static void put(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, ap);
    va_end(ap);
}

/* %d1 in, %d2 out, of this block; %r1 thread, %r2 rank, %r3 the other's; shared: a, b of WORDS
 * words, the barrier object, of which one arrival and thread 0 are expected. %p1: thread 0. */
static void begin(const char *name)
{
    put(".visible .entry %s(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %%p<4>; .reg .b32 %%r<32>; .reg .b64 %%d<16>; .reg .b16 %%h<4>;\n"
        ".shared .align 16 .b8 a[%d]; .shared .align 16 .b8 b[%d]; .shared .align 8 .b64 bar;\n"
        "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%cluster_ctarank; xor.b32 %%r3, %%r2, 1;\n"
        "mov.u32 %%r4, %%ctaid.x; mul.wide.u32 %%d3, %%r4, %d; add.u64 %%d1, %%d1, %%d3;\n"
        "add.u64 %%d2, %%d2, %%d3; setp.eq.u32 %%p1, %%r1, 0;\n"
        "mov.u32 %%r5, a; mov.u32 %%r6, b; mov.u32 %%r7, bar; mov.u32 %%r20, %d;\n"
        "mapa.shared::cluster.u32 %%r8, %%r5, %%r3; mapa.shared::cluster.u32 %%r9, %%r7, %%r3;\n"
        "mapa.shared::cluster.u32 %%r19, %%r6, %%r3;\n"
        "shl.b32 %%r10, %%r1, 2; add.u32 %%r11, %%r5, %%r10; add.u32 %%r12, %%r6, %%r10;\n"
        "mul.wide.u32 %%d4, %%r1, 4; add.u64 %%d5, %%d1, %%d4; add.u64 %%d6, %%d2, %%d4;\n"
        "@%%p1 mbarrier.init.shared::cta.b64 [%%r7], 1;\n"
        "mov.u32 %%r13, 0; st.shared.u32 [%%r11], %%r13; ld.global.u32 %%r13, [%%d5];\n"
        "st.shared.u32 [%%r12], %%r13;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\n",
        name, 4 * WORDS, 4 * WORDS, 4 * WORDS, 4 * WORDS);
}

static void wait_phase(int parity)
{
    put("again%d:\nmbarrier.try_wait.parity.shared::cta.b64 %%p2, [%%r7], %d;\n"
        "@!%%p2 bra again%d;\n",
        parity, parity, parity);
}

/* Each thread's word of a goes out. */
static void end(void)
{
    put("ld.shared.u32 %%r15, [%%r11]; st.global.u32 [%%d6], %%r15;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n");
}

#define TX "mbarrier::complete_tx::bytes"

static void put_copies(void)
{
    /* to shared memory and back, the bytes expected after the copy was begun; two phases */
    begin("there_and_back");
    for (int phase = 0; phase < 2; phase++) {
        put("@%%p1 cp.async.bulk.shared::cluster.global." TX " [%%r5], [%%d1], %%r20, [%%r7];\n"
            "@%%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%r7], %%r20;\n"
            "@%%p1 mbarrier.arrive.shared::cta.b64 %%d7, [%%r7];\n");
        wait_phase(phase);
        put("ld.shared.u32 %%r14, [%%r11]; add.u32 %%r14, %%r14, %d; st.shared.u32 [%%r11], "
            "%%r14;\n"
            "fence.proxy.async.shared::cta; bar.sync 0;\n",
            phase + 1);
    }
    put("@%%p1 cp.async.bulk.global.shared::cta.bulk_group [%%d2], [%%r5], %%r20;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
        "cp.async.bulk.wait_group 0; cp.async.bulk.prefetch.L2.global [%%d1], 64;\nret;\n}\n");

    /* every block's b to the other one's a */
    begin("to_other");
    put("@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %%d7, [%%r7], %%r20;\n"
        "@%%p1 cp.async.bulk.shared::cluster.shared::cta." TX " [%%r8], [%%r6], %%r20, [%%r9];\n");
    wait_phase(0);
    end();

    /* block 0's row to both blocks */
    begin("to_both");
    put("@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %%d7, [%%r7], %%r20;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; mov.u16 %%h1, 3;\n"
        "setp.eq.and.u32 %%p3, %%r2, 0, %%p1;\n"
        "@%%p3 cp.async.bulk.shared::cluster.global." TX
        ".multicast::cluster [%%r5], [%%d1], %%r20, [%%r7], %%h1;\n");
    wait_phase(0);
    end();

    /* four words a thread to the other block, every fourth thread; then three sums from each */
    begin("stores");
    put("@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %%d7, [%%r7], %%r20;\n"
        "and.b32 %%r16, %%r1, 3; setp.eq.u32 %%p3, %%r16, 0; add.u32 %%r17, %%r8, %%r10;\n"
        "@%%p3 st.async.weak.shared::cluster." TX
        ".v4.b32 [%%r17], {%%r1, %%r13, %%r2, %%r10}, [%%r9];\n");
    wait_phase(0);
    put("barrier.cluster.arrive; barrier.cluster.wait;\n"
        "mov.u32 %%r18, %d; @%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %%d7, [%%r7], %%r18;\n"
        "mov.u32 %%r18, 3; setp.ge.u32 %%p3, %%r1, 61;\n"
        "@%%p3 red.async.relaxed.cluster.shared::cluster." TX ".add.u32 [%%r8+4], %%r18, [%%r9];\n",
        3 * 4);
    wait_phase(1);
    end();
}

struct reduction {
    const char *op, *type;
};
static const struct reduction reductions[] = {
    {"add", "u32"},  {"add", "u64"},  {"min", "s32"}, {"max", "u32"}, {"inc", "u32"},
    {"dec", "u32"},  {"and", "b32"},  {"or", "b32"},  {"xor", "b64"}, {"min", "u64"},
    {"max", "s64"},  {"add", "f32"},  {"add", "f64"}, {"add", "f16"}, {"min", "f16"},
    {"add", "bf16"}, {"max", "bf16"},
};
#define REDUCTIONS (sizeof reductions / sizeof reductions[0])
#define SHARED     11 /* of them with a barrier object, in shared memory */

/* b to the global row, and for integers to the other block's a and to the row from there. */
static void put_reductions(void)
{
    for (size_t k = 0; k < REDUCTIONS; k++) {
        const struct reduction *r = &reductions[k];
        bool half = strstr(r->type, "f16") != NULL;
        char name[32];

        snprintf(name, sizeof name, "%s_%s", r->op, r->type);
        begin(name);
        put("@%%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.%s%s.%s [%%d2], [%%r6], "
            "%%r20;\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}\n",
            r->op, half && r->op[0] == 'a' ? ".noftz" : "", r->type);
        if (k >= SHARED)
            continue;
        snprintf(name, sizeof name, "%s_%s_shared", r->op, r->type);
        begin(name);
        put("ld.global.u32 %%r14, [%%d6]; st.shared.u32 [%%r11], %%r14;\n"
            "@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %%d7, [%%r7], %%r20;\n"
            "barrier.cluster.arrive; barrier.cluster.wait;\n"
            "@%%p1 cp.reduce.async.bulk.shared::cluster.shared::cta." TX
            ".%s.%s [%%r8], [%%r6], %%r20, [%%r9];\n",
            r->op, r->type);
        wait_phase(0);
        end();
    }
}

static CUmodule module;
static CUdeviceptr d_in, d_out;
static uint32_t in[2 * WORDS], out[2 * WORDS], start[2 * WORDS];

static CUresult run(const char *name)
{
    CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig c = {.gridDimX = 2,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = WORDS,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .attrs = &attr,
                        .numAttrs = 1};
    void *args[] = {&d_in, &d_out};
    CUfunction f;
    CUresult err;

    OK(cuModuleGetFunction(&f, module, name));
    OK(cuMemcpyHtoD(d_in, in, sizeof in));
    OK(cuMemcpyHtoD(d_out, start, sizeof start));
    OK(cuLaunchKernelEx(&c, f, args, NULL));
    err = cuCtxSynchronize();
    if (err == CUDA_SUCCESS)
        OK(cuMemcpyDtoH(out, d_out, sizeof out));
    return err;
}

static void expect_words(const char *name, const uint32_t *want)
{
    for (int k = 0; k < 2 * WORDS; k++)
        if (out[k] != want[k]) {
            fprintf(stderr, "%s: word %d is %#x, not %#x\n", name, k, out[k], want[k]);
            driver_failures++;
            return;
        }
}

static void test_copies(void)
{
    uint32_t want[2 * WORDS];

    for (uint32_t k = 0; k < 2 * WORDS; k++)
        want[k] = in[k] + 2; /* the second phase's copy began anew */
    OK(run("there_and_back"));
    expect_words("there_and_back", want);
    for (uint32_t k = 0; k < 2 * WORDS; k++)
        want[k] = in[k ^ WORDS];
    OK(run("to_other"));
    expect_words("to_other", want);
    for (uint32_t k = 0; k < 2 * WORDS; k++)
        want[k] = in[k % WORDS];
    OK(run("to_both"));
    expect_words("to_both", want);
    for (uint32_t k = 0; k < 2 * WORDS; k += 4) {
        uint32_t t = k % WORDS, other = k / WORDS ^ 1;

        want[k] = t;
        want[k + 1] = in[other * WORDS + t] + (t == 0 ? 9 : 0);
        want[k + 2] = other;
        want[k + 3] = 4 * t;
    }
    OK(run("stores"));
    expect_words("stores", want);
}

/* ---- reductions ---- */

static float float_of(uint32_t w)
{
    float f;

    memcpy(&f, &w, sizeof f);
    return f;
}

static double half_value(const char *type, uint32_t h)
{
    int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
    double v = 1;

    if (type[0] == 'b')
        return (double)float_of(h << 16);
    for (int k = e ? e : 1; k < 25; k++)
        v /= 2;
    for (int k = 25; k < e; k++)
        v *= 2;
    v *= e ? 1024 + m : m;
    return h & 0x8000 ? -v : v;
}

static uint64_t reduced(const struct reduction *r, uint64_t a, uint64_t b)
{
    bool is_signed = r->type[0] == 's', wide = r->type[1] == '6';
    int64_t sa = wide ? (int64_t)a : (int32_t)a, sb = wide ? (int64_t)b : (int32_t)b;
    double d, e;
    uint64_t v = 0;
    float f;

    if (strcmp(r->type, "f32") == 0) {
        f = float_of((uint32_t)a) + float_of((uint32_t)b);
        memcpy(&v, &f, sizeof f);
        return v;
    }
    if (strcmp(r->type, "f64") == 0) {
        memcpy(&d, &a, sizeof d);
        memcpy(&e, &b, sizeof e);
        d += e;
        memcpy(&v, &d, sizeof d);
        return v;
    }
    switch (r->op[1]) {
    case 'd':
        return a + b;
    case 'i':
        return (is_signed ? sb < sa : b < a) ? b : a;
    case 'a':
        return (is_signed ? sb > sa : b > a) ? b : a;
    case 'n':
        return r->op[0] == 'i' ? (a >= b ? 0 : a + 1) : a & b;
    case 'e':
        return a == 0 || a > b ? b : a - 1;
    case 'r':
        return a | b;
    default:
        return a ^ b;
    }
}

static void check_integers(const struct reduction *r, const char *name, uint32_t other)
{
    uint32_t want[2 * WORDS];
    bool wide = r->type[1] == '6';

    for (uint32_t k = 0; k < 2 * WORDS; k += 1 + wide) {
        uint64_t a = start[k], b = in[k ^ other];

        if (wide) {
            a |= (uint64_t)start[k + 1] << 32;
            b |= (uint64_t)in[(k ^ other) + 1] << 32;
        }
        a = reduced(r, a, b);
        want[k] = (uint32_t)a;
        if (wide)
            want[k + 1] = (uint32_t)(a >> 32);
    }
    expect_words(name, want);
}

/* The nearest of all halves: no half is nearer to the exact result. */
static void check_halves(const struct reduction *r, const char *name)
{
    for (int k = 0; k < 4 * WORDS; k++) {
        uint32_t shift = (uint32_t)k % 2 * 16, h = out[k / 2] >> shift & 0xffff;
        double a = half_value(r->type, start[k / 2] >> shift & 0xffff),
               b = half_value(r->type, in[k / 2] >> shift & 0xffff), got = half_value(r->type, h),
               want = r->op[0] == 'a'   ? a + b
                      : r->op[1] == 'i' ? (a < b ? a : b)
                                        : (a > b ? a : b),
               above = half_value(r->type, h + 1) - want, below = half_value(r->type, h - 1) - want,
               off = got - want;

        off = off < 0 ? -off : off;
        above = above < 0 ? -above : above;
        below = below < 0 ? -below : below;
        if (off > above || off > below || (h & 0x7fff) == 0x7fff) {
            fprintf(stderr, "%s: half %d is %g, not %g\n", name, k, got, want);
            driver_failures++;
            return;
        }
    }
}

static void test_reductions(void)
{
    for (size_t k = 0; k < REDUCTIONS; k++) {
        const struct reduction *r = &reductions[k];
        bool half = strstr(r->type, "f16") != NULL;
        char name[32];

        for (uint32_t w = 0; w < 2 * WORDS; w++) {
            uint32_t x = w * 2654435761u;

            /* floats of middling size */
            in[w] = r->type[0] == 'f' || half ? 0x40103e00u + (x >> 8 & 0x3ff03ffu) : x ^ (x << 13);
            start[w] = r->type[0] == 'f' || half ? 0x42003d00u + (x >> 5 & 0x1ff01ffu) : x >> 3;
        }
        snprintf(name, sizeof name, "%s_%s", r->op, r->type);
        OK(run(name));
        if (half)
            check_halves(r, name);
        else
            check_integers(r, name, 0);
        if (k >= SHARED)
            continue;
        snprintf(name, sizeof name, "%s_%s_shared", r->op, r->type);
        OK(run(name));
        check_integers(r, name, WORDS);
    }
}

int main(void)
{
    CUcontext c;
    CUdevice dev;

    put(".version 8.6\n.target sm_90\n.address_size 64\n");
    put_copies();
    put_reductions();
    /* beyond the block's shared memory */
    begin("beyond");
    put("mov.u32 %%r20, 1048576;\n"
        "@%%p1 cp.async.bulk.shared::cluster.global." TX
        " [%%r5], [%%d1], %%r20, [%%r7];\nret;\n}\n");
    CHECK(used < sizeof text);
    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&c, dev));
    OK(cuCtxSetCurrent(c));
    OK(cuModuleLoadData(&module, text));
    OK(cuMemAlloc(&d_in, 1 << 21));
    OK(cuMemAlloc(&d_out, sizeof out));
    for (uint32_t k = 0; k < 2 * WORDS; k++)
        in[k] = k * 2654435761u;
    test_copies();
    test_reductions();
    EXPECT(run("beyond"), CUDA_ERROR_ILLEGAL_ADDRESS);
    return DRIVER_END();
}
