/* Runs the kernel tests over block shapes: partial warps, one thread, full blocks, two and three
 * dimensions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/answers.h"

static const struct dims shapes[] = {{1, 1, 1},   {17, 1, 1},  {32, 1, 1},   {33, 1, 1},
                                     {100, 1, 1}, {256, 1, 1}, {1024, 1, 1}, {16, 16, 1},
                                     {8, 4, 4},   {7, 5, 3},   {2, 33, 1},   {1, 1, 64}};

static void make_text(struct text *t, const struct kernel_test *k)
{
    text_add(t, ".version 8.4\n.target sm_90\n.address_size 64\n%s\n",
             k->globals ? k->globals : "");
    text_add(t, ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pextra)\n{\n");
    text_add(t, "    .reg .pred p<10>; .reg .b32 x, d, i, n, g, b, lane, r<30>; .reg .b64 in, out, "
                "extra, a<10>;\n"
                "    .reg .f32 f<10>; .reg .f64 w<6>; .reg .b16 h<6>; .reg .b128 q<4>;\n");
    /* a register for each value, as compilers write it: so more is known of addresses */
    text_add(t,
             "    .reg .b64 head<9>; .reg .b32 id<8>;\n"
             "    ld.param.u64 head0, [pin]; ld.param.u64 head1, [pout]; ld.param.u64 head2, "
             "[pextra];\n"
             "    cvta.to.global.u64 head3, head0; cvta.to.global.u64 head4, head1;\n"
             "    cvta.to.global.u64 extra, head2;\n"
             "    mov.u32 id0, %%tid.x; mov.u32 id1, %%tid.y; mov.u32 id2, %%tid.z;\n"
             "    mov.u32 id3, %%ntid.x; mov.u32 id4, %%ntid.y; mov.u32 id5, %%ntid.z;\n"
             "    mad.lo.s32 id6, id2, id4, id1; mad.lo.s32 i, id6, id3, id0;\n"
             "    mul.lo.s32 id7, id3, id4; mul.lo.s32 n, id7, id5;\n"
             "    mov.u32 b, %%ctaid.x; mov.u32 lane, %%laneid;\n"
             "    mad.lo.s32 g, b, n, i;\n"
             "    mul.wide.u32 head5, g, 4; add.s64 in, head3, head5; add.s64 out, head4, head5;\n"
             "    ld.global.u32 x, [in]; mov.u32 d, 0;\n");
    text_add(t, "%s", k->body);
    text_add(t, "\nSTORE:\n    st.global.u32 [out], d;\nEND:\n    ret;\n}\n");
}

struct sizes {
    uint32_t threads, grid;
    size_t words;
};

static void expect(const struct kernel_test *k, struct dims block, const struct sizes *s,
                   const uint32_t *in, uint32_t *want, uint32_t *extra)
{
    for (size_t i = 0; i < s->words; i++)
        want[i] = KEEP;
    for (uint32_t b = 0; b < s->grid; b++) {
        struct block_case c = {.block = block,
                               .grid = {s->grid, 1, 1},
                               .index = b,
                               .threads = s->threads,
                               .x = in + (size_t)b * s->threads,
                               .d = want + (size_t)b * s->threads,
                               .extra = extra};

        k->want(&c);
    }
}

/* True when right; else the first difference is reported. */
static bool compare(struct run *r, enum target t, const char *name, struct dims block,
                    const char *what, const uint32_t *want, const uint32_t *got, size_t words,
                    uint32_t threads)
{
    for (size_t i = 0; i < words; i++) {
        if (want[i] == got[i])
            continue;
        run_fail(r, t, name, "block %ux%ux%u: %s of block %zu thread %zu: want %x, got %x", block.x,
                 block.y, block.z, what, i / threads, i % threads, want[i], got[i]);
        return false;
    }
    return true;
}

static bool run_shape(struct run *r, enum target t, const struct kernel_test *k, struct program *p,
                      struct dims block, struct answer *answer, enum outcome *outcome,
                      char *message, size_t bytes)
{
    struct sizes s = {block.x * block.y * block.z, k->grid ? k->grid : 3, 0};
    uint64_t params[3];
    struct launch l = {"k", {s.grid, 1, 1}, block, k->dynamic_shared, params, sizeof params};
    uint32_t *in, *out, *extra, *want, *want_extra;
    struct rng rng;
    bool ok = true;

    s.words = (size_t)s.threads * s.grid;
    in = memory_alloc(t, s.words * 4);
    out = memory_alloc(t, s.words * 4);
    extra = memory_alloc(t, EXTRA_WORDS * 4);
    want = malloc(s.words * 4);
    want_extra = calloc(EXTRA_WORDS, 4);
    if (!want || !want_extra)
        abort();
    rng_seed_name(&rng, k->name);
    for (size_t i = 0; i < s.words; i++) {
        in[i] = (uint32_t)rng_next(&rng);
        out[i] = KEEP;
    }
    params[0] = (uint64_t)(uintptr_t)in;
    params[1] = (uint64_t)(uintptr_t)out;
    params[2] = (uint64_t)(uintptr_t)extra;
    *outcome = program_run(p, &l, message, bytes);
    if (*outcome != k->outcome && *outcome != OUTCOME_UNSUPPORTED) {
        run_fail(r, t, k->name, "block %ux%ux%u: %s", block.x, block.y, block.z,
                 message[0] ? message : "ended well, but should not");
        ok = false;
    } else if (*outcome == OUTCOME_OK) {
        answer_add(answer, out, s.words * 4);
        if (k->check_extra)
            answer_add(answer, extra, EXTRA_WORDS * 4);
        expect(k, block, &s, in, want, want_extra);
        ok = compare(r, t, k->name, block, "result", want, out, s.words, s.threads) &&
             (!k->check_extra ||
              compare(r, t, k->name, block, "memory", want_extra, extra, EXTRA_WORDS, EXTRA_WORDS));
    }
    free(want);
    free(want_extra);
    return ok;
}

/* Every shape is a compilation: without -a only those that differ most; the full block for
 * barriers. */
static bool is_usual(const struct kernel_test *k, struct dims s)
{
    uint32_t n = s.x * s.y * s.z;

    return n == 1 || n == 33 || (s.x == 16 && s.y == 16) || s.z == 3 || n == k->threads ||
           (n == 1024 && strncmp(k->name, "barrier.", 8) == 0);
}

static bool has_shape(const struct run *r, const struct kernel_test *k, struct dims s)
{
    uint32_t n = s.x * s.y * s.z;

    bool here = is_usual(k, s);

    if (r->narrow) /* other vectors are no other shapes */
        here = here && (n == 33 || s.z == 3 || n == k->threads || k->multiple);
    return (r->all || here) && (!k->threads || (n == k->threads && s.x == n)) &&
           (!k->max_threads || n <= k->max_threads) && (!k->multiple || n % k->multiple == 0);
}

static void run_test(struct run *r, enum target t, const struct kernel_test *k)
{
    struct text text = {0};
    char message[500] = "";
    enum outcome outcome = k->outcome;
    struct answer answer = {0};
    bool ok = true, any = false;

    make_text(&text, k);
    if (r->dump)
        printf("%s", text.s);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && ok && outcome == k->outcome; i++) {
        struct program *p;

        if (!has_shape(r, k, shapes[i]))
            continue;
        any = true;
        p = program_create(t, text.s, message,
                           sizeof message); /* anew: initial values of variables */
        if (!p) {
            run_fail(r, t, k->name, "%s", message);
            ok = false;
            break;
        }
        ok = run_shape(r, t, k, p, shapes[i], &answer, &outcome, message, sizeof message);
        program_destroy(p);
        memory_reset(t);
    }
    text_free(&text);
    if (!any)
        run_fail(r, t, k->name, "the table gives it no shape");
    else if (outcome == OUTCOME_UNSUPPORTED)
        run_skip(r, t, k->name, message);
    else if (!r->all && k->outcome == OUTCOME_OK && !answer_end(&answer, k->name))
        run_fail(r, t, k->name, "an H200 answered otherwise");
    else if (ok)
        run_pass(r, t, k->name);
}

static void run_tests(struct run *r, const struct kernel_test *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!run_wants(r, tests[i].name))
            continue;
        if (r->list)
            printf("%s\n", tests[i].name);
        for (int t = 0; t < r->target_count && !r->list; t++) {
            /* After a fault the GPU's context is lost. */
            if (r->targets[t] != TARGET_GPU || tests[i].outcome == OUTCOME_OK)
                run_test(r, r->targets[t], &tests[i]);
        }
    }
}

void kernels_run(struct run *r)
{
    run_tests(r, kernel_tests_flow, kernel_tests_flow_count);
    run_tests(r, kernel_tests_warp, kernel_tests_warp_count);
    run_tests(r, kernel_tests_memory, kernel_tests_memory_count);
}
