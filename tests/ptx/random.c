/* Random structured programs: assignments, branches, loops with breaks and continues, memory of the
 * thread, on a few registers. The tree that the PTX text is written from is also run directly,
 * thread by thread. A failure prints the program's number: t_ptx random.17 runs that one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/answers.h"
#include "ptx/harness.h"

#define PROGRAMS       200 /* with -a; else the first */
#define PROGRAMS_USUAL 20
#define VARIABLES      6
#define NODES_MAX      160
#define DEPTH_MAX      4
#define CELLS          8 /* words of local memory */

enum kind {
    K_ADD,
    K_SUB,
    K_MUL,
    K_MULHI,
    K_AND,
    K_OR,
    K_XOR,
    K_SHL,
    K_SHR,
    K_SAR,
    K_MIN,
    K_MAX,
    K_DIV,
    K_REM,
    K_MAD,
    K_POPC,
    K_SELECT,
    K_FLOAT,
    K_WIDE,
    K_CONST,
    K_LOAD,
    K_STORE,
    K_SHARED,
    K_LAST_OP = K_SHARED,
    K_IF,
    K_LOOP,
    K_BREAK,
    K_CONTINUE,
    K_EXIT,
    /* only where all threads of the block that are left come together */
    K_EXCHANGE, /* with the next thread, through shared memory and barriers */
    K_SHUFFLE,
    K_BALLOT,
    K_REPEAT, /* a loop of the same count for all */
};

struct node {
    enum kind kind;
    int d, a, b, c; /* variables */
    uint32_t value;
    int first, other; /* body, else-body: index of the first node, -1 = empty */
    int next;         /* in the same list, -1 = end */
    int id;           /* label number, loop counter register */
};

struct random_program {
    struct node nodes[NODES_MAX];
    int count, first;
    bool exits; /* threads may leave: then no warp instructions, which would name them */
    struct rng rng;
};

static uint32_t pick(struct random_program *p, uint32_t n)
{
    return (uint32_t)(rng_next(&p->rng) >> 20) % n;
}

static int make_list(struct random_program *p, int depth, int in_loop, bool together);

static int make_node(struct random_program *p, int depth, int in_loop, bool together)
{
    int index = p->count++;
    struct node *n = &p->nodes[index];
    uint32_t r = pick(p, 100);

    memset(n, 0, sizeof *n);
    n->d = (int)pick(p, VARIABLES);
    n->a = (int)pick(p, VARIABLES);
    n->b = (int)pick(p, VARIABLES);
    n->c = (int)pick(p, VARIABLES);
    n->value = pick(p, 2) ? pick(p, 64) : (uint32_t)rng_next(&p->rng);
    n->first = n->other = n->next = -1;
    n->id = index;
    if (together && pick(p, 4) == 0) {
        static const enum kind kinds[] = {K_EXCHANGE, K_SHUFFLE, K_BALLOT, K_REPEAT};

        n->kind = kinds[pick(p, 4)];
        if ((p->exits && (n->kind == K_SHUFFLE || n->kind == K_BALLOT)) ||
            (n->kind == K_REPEAT && depth > 1))
            n->kind = K_EXCHANGE;
        if (n->kind == K_REPEAT)
            n->first = make_list(p, depth + 1, 0, true);
    } else if (r < 18 && depth < DEPTH_MAX) {
        n->kind = K_IF;
        n->first = make_list(p, depth + 1, in_loop, false);
        if (pick(p, 2))
            n->other = make_list(p, depth + 1, in_loop, false);
    } else if (r < 28 && depth < DEPTH_MAX - 1) {
        n->kind = K_LOOP;
        n->first = make_list(p, depth + 1, 1, false);
    } else if (r < 33 && in_loop) {
        n->kind = pick(p, 2) ? K_BREAK : K_CONTINUE;
    } else if (r < 35 && p->exits) {
        n->kind = K_EXIT;
    } else {
        n->kind = (enum kind)pick(p, K_LAST_OP + 1);
    }
    return index;
}

static int make_list(struct random_program *p, int depth, int in_loop, bool together)
{
    uint32_t n = 1 + pick(p, 6) + (depth == 0 ? 4 : 0);
    int first = -1, last = -1;

    for (uint32_t i = 0; i < n && p->count < NODES_MAX - 10; i++) {
        int node = make_node(p, depth, in_loop, together);

        if (last < 0)
            first = node;
        else
            p->nodes[last].next = node;
        last = node;
    }
    return first;
}

/* ---- running it ---- */

struct thread {
    uint32_t v[VARIABLES], cells[CELLS], shared, outbox;
    bool left;
};

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_EXIT };

static uint32_t pop_count(uint32_t x)
{
    uint32_t n = 0;

    for (; x; x &= x - 1)
        n++;
    return n;
}

static uint32_t float_op(uint32_t a, uint32_t b)
{
    volatile float x = (float)(a & 0xffff), y = (float)(b & 0xff) + 1.0f, q = x / y;
    volatile float s = q * 1.5f;

    s = s + x;
    return (uint32_t)(int32_t)s;
}

static uint32_t value_of(const struct node *n, struct thread *t)
{
    uint32_t a = t->v[n->a], b = t->v[n->b], c = t->v[n->c];

    switch (n->kind) {
    case K_ADD:
        return a + b;
    case K_SUB:
        return a - b;
    case K_MUL:
        return a * b;
    case K_MULHI:
        return (uint32_t)((uint64_t)a * b >> 32);
    case K_AND:
        return a & b;
    case K_OR:
        return a | b;
    case K_XOR:
        return a ^ b;
    case K_SHL:
        return (b & 63) > 31 ? 0 : a << (b & 63);
    case K_SHR:
        return (b & 63) > 31 ? 0 : a >> (b & 63);
    case K_SAR:
        return (uint32_t)((int32_t)a >> ((b & 63) > 31 ? 31 : (b & 63)));
    case K_MIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case K_MAX:
        return a > b ? a : b;
    case K_DIV:
        return a / (b | 1);
    case K_REM:
        return (uint32_t)((int32_t)a % ((int32_t)(b & 0xff) + 1));
    case K_MAD:
        return a * b + c;
    case K_POPC:
        return pop_count(a);
    case K_SELECT:
        return (int32_t)a < (int32_t)b ? c : a;
    case K_FLOAT:
        return float_op(a, b);
    case K_WIDE:
        return (uint32_t)((uint64_t)((int64_t)(int32_t)a * (int32_t)b + c) >> 7);
    case K_CONST:
        return n->value;
    case K_LOAD:
        return t->cells[a % CELLS];
    case K_STORE:
        t->cells[a % CELLS] = b;
        return a;
    default: /* K_SHARED */
        t->shared += a;
        return t->shared ^ b;
    }
}

static enum flow run_list(const struct random_program *p, int first, struct thread *t);

static enum flow run_node(const struct random_program *p, const struct node *n, struct thread *t)
{
    enum flow f = FLOW_ON;

    switch (n->kind) {
    case K_IF:
        return run_list(p, t->v[n->a] < t->v[n->b] ? n->first : n->other, t);
    case K_LOOP:
        for (uint32_t k = t->v[n->a] % 5; k > 0; k--) {
            f = run_list(p, n->first, t);
            if (f == FLOW_BREAK || f == FLOW_EXIT)
                break;
        }
        return f == FLOW_EXIT ? f : FLOW_ON;
    case K_BREAK:
        return t->v[n->a] & 1 ? FLOW_BREAK : FLOW_ON;
    case K_CONTINUE:
        return t->v[n->a] & 2 ? FLOW_CONTINUE : FLOW_ON;
    case K_EXIT:
        return t->v[n->a] % 16 == 3 ? FLOW_EXIT : FLOW_ON;
    default:
        t->v[n->d] = value_of(n, t);
        return FLOW_ON;
    }
}

static enum flow run_list(const struct random_program *p, int first, struct thread *t)
{
    enum flow f = FLOW_ON;

    for (int i = first; i >= 0 && f == FLOW_ON; i = p->nodes[i].next)
        f = run_node(p, &p->nodes[i], t);
    return f;
}

/* One statement that the block's threads meet in. */
static void run_together(const struct node *n, struct thread *t, uint32_t count)
{
    static uint32_t result[1024];

    for (uint32_t i = 0; i < count; i++) {
        if (!t[i].left && n->kind == K_EXCHANGE)
            t[i].outbox = t[i].v[n->a];
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t warp = i / 32 * 32;

        result[i] = 0;
        if (n->kind == K_EXCHANGE)
            result[i] = t[(i + 1) % count].outbox;
        else if (n->kind == K_SHUFFLE)
            result[i] = t[warp + (t[i].v[n->b] & 3)].v[n->a];
        for (uint32_t lane = 0; n->kind == K_BALLOT && lane < 32 && warp + lane < count; lane++)
            result[i] |= (t[warp + lane].v[n->a] & 1) << lane;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!t[i].left)
            t[i].v[n->d] = result[i];
    }
}

static void run_block(const struct random_program *p, int first, struct thread *t, uint32_t count)
{
    for (int i = first; i >= 0; i = p->nodes[i].next) {
        const struct node *n = &p->nodes[i];

        switch (n->kind) {
        case K_REPEAT:
            for (uint32_t k = 0; k < n->value % 3 + 1; k++)
                run_block(p, n->first, t, count);
            break;
        case K_EXCHANGE:
        case K_SHUFFLE:
        case K_BALLOT:
            run_together(n, t, count);
            break;
        default:
            for (uint32_t k = 0; k < count; k++) {
                if (!t[k].left && run_node(p, n, &t[k]) == FLOW_EXIT)
                    t[k].left = true;
            }
            break;
        }
    }
}

/* ---- writing it ---- */

static void op_text(struct text *t, const struct node *n)
{
    switch (n->kind) {
    case K_ADD:
        text_add(t, "add.u32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_SUB:
        text_add(t, "sub.s32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_MUL:
        text_add(t, "mul.lo.s32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_MULHI:
        text_add(t, "mul.hi.u32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_AND:
        text_add(t, "and.b32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_OR:
        text_add(t, "or.b32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_XOR:
        text_add(t, "xor.b32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_SHL:
        text_add(t, "and.b32 t0, v%d, 63; shl.b32 v%d, v%d, t0;\n", n->b, n->d, n->a);
        break;
    case K_SHR:
        text_add(t, "and.b32 t0, v%d, 63; shr.u32 v%d, v%d, t0;\n", n->b, n->d, n->a);
        break;
    case K_SAR:
        text_add(t, "and.b32 t0, v%d, 63; shr.s32 v%d, v%d, t0;\n", n->b, n->d, n->a);
        break;
    case K_MIN:
        text_add(t, "min.s32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_MAX:
        text_add(t, "max.u32 v%d, v%d, v%d;\n", n->d, n->a, n->b);
        break;
    case K_DIV:
        text_add(t, "or.b32 t0, v%d, 1; div.u32 v%d, v%d, t0;\n", n->b, n->d, n->a);
        break;
    case K_REM:
        text_add(t, "and.b32 t0, v%d, 255; add.s32 t0, t0, 1; rem.s32 v%d, v%d, t0;\n", n->b, n->d,
                 n->a);
        break;
    case K_MAD:
        text_add(t, "mad.lo.s32 v%d, v%d, v%d, v%d;\n", n->d, n->a, n->b, n->c);
        break;
    case K_POPC:
        text_add(t, "popc.b32 v%d, v%d;\n", n->d, n->a);
        break;
    case K_SELECT:
        text_add(t, "setp.lt.s32 q, v%d, v%d; selp.b32 v%d, v%d, v%d, q;\n", n->a, n->b, n->d, n->c,
                 n->a);
        break;
    case K_FLOAT:
        text_add(t,
                 "and.b32 t0, v%d, 0xffff; and.b32 t1, v%d, 255; cvt.rn.f32.u32 f0, t0; "
                 "cvt.rn.f32.u32 f1, t1;\n"
                 "add.f32 f1, f1, 0f3F800000; div.rn.f32 f2, f0, f1; mul.f32 f2, f2, 0f3FC00000; "
                 "add.f32 f2, f2, f0;\n"
                 "cvt.rzi.s32.f32 v%d, f2;\n",
                 n->a, n->b, n->d);
        break;
    case K_WIDE:
        text_add(t,
                 "cvt.u64.u32 a2, v%d; mad.wide.s32 a1, v%d, v%d, a2; shr.u64 a1, a1, 7; "
                 "cvt.u32.u64 v%d, a1;\n",
                 n->c, n->a, n->b, n->d);
        break;
    case K_CONST:
        text_add(t, "mov.u32 v%d, 0x%x;\n", n->d, n->value);
        break;
    case K_LOAD:
    case K_STORE:
        text_add(t, "and.b32 t0, v%d, %d; mul.wide.u32 a1, t0, 4; add.s64 a1, a1, cells;\n", n->a,
                 CELLS - 1);
        if (n->kind == K_LOAD)
            text_add(t, "ld.local.u32 v%d, [a1];\n", n->d);
        else
            text_add(t, "st.local.u32 [a1], v%d; mov.u32 v%d, v%d;\n", n->b, n->d, n->a);
        break;
    case K_EXCHANGE:
        text_add(t,
                 "st.shared.u32 [outbox], v%d; barrier.sync 0; ld.shared.u32 v%d, [inbox]; "
                 "barrier.sync 0;\n",
                 n->a, n->d);
        break;
    case K_SHUFFLE:
        text_add(t, "and.b32 t0, v%d, 3; shfl.sync.idx.b32 v%d, v%d, t0, 31, -1;\n", n->b, n->d,
                 n->a);
        break;
    case K_BALLOT:
        text_add(t, "and.b32 t0, v%d, 1; setp.ne.u32 q, t0, 0; vote.sync.ballot.b32 v%d, q, -1;\n",
                 n->a, n->d);
        break;
    default:
        text_add(t,
                 "ld.shared.u32 t0, [slot]; add.u32 t0, t0, v%d; st.shared.u32 [slot], t0; xor.b32 "
                 "v%d, t0, v%d;\n",
                 n->a, n->d, n->b);
        break;
    }
}

/* loop: number of the innermost loop for break and continue. */
static void list_text(struct text *t, const struct random_program *p, int first, int loop)
{
    for (int i = first; i >= 0; i = p->nodes[i].next) {
        const struct node *n = &p->nodes[i];

        switch (n->kind) {
        case K_IF:
            text_add(t, "setp.ge.u32 q, v%d, v%d; @q bra ELSE%d;\n", n->a, n->b, n->id);
            list_text(t, p, n->first, loop);
            text_add(t, "bra JOIN%d;\nELSE%d:\n", n->id, n->id);
            list_text(t, p, n->other, loop);
            text_add(t, "JOIN%d:\n", n->id);
            break;
        case K_LOOP:
            text_add(t, "rem.u32 k%d, v%d, 5;\nHEAD%d: setp.eq.u32 q, k%d, 0; @q bra AFTER%d;\n",
                     n->id, n->a, n->id, n->id, n->id);
            list_text(t, p, n->first, n->id);
            text_add(t, "NEXT%d: sub.u32 k%d, k%d, 1; bra HEAD%d;\nAFTER%d:\n", n->id, n->id, n->id,
                     n->id, n->id);
            break;
        case K_REPEAT:
            text_add(t, "mov.u32 k%d, %u;\nHEAD%d:\n", n->id, n->value % 3 + 1, n->id);
            list_text(t, p, n->first, -1);
            text_add(t, "sub.u32 k%d, k%d, 1; setp.ne.u32 q, k%d, 0; @q bra HEAD%d;\n", n->id,
                     n->id, n->id, n->id);
            break;
        case K_BREAK:
            text_add(t, "and.b32 t0, v%d, 1; setp.ne.u32 q, t0, 0; @q bra AFTER%d;\n", n->a, loop);
            break;
        case K_CONTINUE:
            text_add(t, "and.b32 t0, v%d, 2; setp.ne.u32 q, t0, 0; @q bra NEXT%d;\n", n->a, loop);
            break;
        case K_EXIT:
            text_add(t, "and.b32 t0, v%d, 15; setp.eq.u32 q, t0, 3; @q bra LEAVE;\n", n->a);
            break;
        default:
            op_text(t, n);
            break;
        }
    }
}

static void program_text(struct text *t, const struct random_program *p)
{
    text_add(
        t,
        ".version 7.8\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 s[4096];\n.shared "
        ".align 4 .b8 box[4096];\n"
        ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
        ".reg .pred q; .reg .b32 t<2>, v<%d>, k<%d>, i, g; .reg .b64 a<3>, in, out, cells, "
        "slot, outbox, inbox; .reg .f32 f<3>;\n"
        ".local .align 16 .b8 arr[%d];\n"
        "ld.param.u64 in, [pin]; ld.param.u64 out, [pout]; mov.u32 i, %%tid.x; mov.u32 t0, "
        "%%ctaid.x; mov.u32 t1, %%ntid.x;\n"
        "mad.lo.s32 g, t0, t1, i; mul.wide.u32 a1, g, 4; add.s64 in, in, a1; mul.wide.u32 a1, "
        "g, %d; add.s64 out, out, a1;\n"
        "mov.u64 cells, arr; mul.wide.u32 a1, i, 4; mov.u64 slot, s; add.s64 slot, slot, a1; "
        "ld.global.u32 v0, [in];\n"
        "add.u32 t0, i, 1; rem.u32 t0, t0, t1; mul.wide.u32 a2, t0, 4; mov.u64 inbox, box; add.s64 "
        "outbox, inbox, a1; add.s64 inbox, inbox, a2;\n"
        "st.shared.u32 [slot], v0; st.shared.u32 [outbox], v0; mov.u32 t0, %%ctaid.x; bar.sync 0;\n"
        " mov.u32 v1, i; mov.u32 v2, 17; mov.u32 v3, t0; xor.b32 v4, "
        "v0, i; shr.u32 v5, v0, 16;\n",
        VARIABLES, NODES_MAX, CELLS * 4, (VARIABLES + 1) * 4);
    for (int c = 0; c < CELLS; c++)
        text_add(t, "st.local.u32 [arr + %d], v%d;\n", c * 4, c % VARIABLES);
    list_text(t, p, p->first, -1);
    text_add(t, "LEAVE:\n");
    for (int v = 0; v < VARIABLES; v++)
        text_add(t, "st.global.u32 [out + %d], v%d;\n", v * 4, v);
    text_add(t, "ld.shared.u32 t0, [slot]; st.global.u32 [out + %d], t0; ret;\n}\n", VARIABLES * 4);
}

/* ---- comparing ---- */

static void start_thread(struct thread *t, uint32_t x, uint32_t i, uint32_t block)
{
    uint32_t v[VARIABLES] = {x, i, 17, block, x ^ i, x >> 16};

    memcpy(t->v, v, sizeof v);
    for (int c = 0; c < CELLS; c++)
        t->cells[c] = v[c % VARIABLES];
    t->shared = t->outbox = x;
    t->left = false;
}

static bool check(struct run *r, enum target t, const struct random_program *p, const char *name,
                  const uint32_t *in, const uint32_t *out, uint32_t threads, uint32_t grid)
{
    static struct thread want[1024];

    for (uint32_t b = 0; b < grid; b++) {
        for (uint32_t i = 0; i < threads; i++)
            start_thread(&want[i], in[b * threads + i], i, b);
        run_block(p, p->first, want, threads);
        for (uint32_t i = 0; i < threads; i++) {
            const uint32_t *got = out + ((size_t)b * threads + i) * (VARIABLES + 1);

            for (int v = 0; v <= VARIABLES; v++) {
                uint32_t w = v < VARIABLES ? want[i].v[v] : want[i].shared;

                if (got[v] == w)
                    continue;
                run_fail(r, t, name, "%u threads, block %u thread %u variable %d: want %x, got %x",
                         threads, b, i, v, w, got[v]);
                return false;
            }
        }
    }
    return true;
}

static bool run_one(struct run *r, enum target t, const struct random_program *p, const char *name,
                    const char *text, uint32_t threads, struct answer *answer)
{
    uint32_t grid = 2, words = threads * grid;
    uint32_t *in = memory_alloc(t, words * 4), *out = memory_alloc(t, words * (VARIABLES + 1) * 4);
    uint64_t params[2] = {(uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out};
    struct launch l = {"k", {grid, 1, 1}, {threads, 1, 1}, 0, params, sizeof params};
    char message[500] = "";
    struct program *program = program_create(t, text, message, sizeof message);
    enum outcome outcome = OUTCOME_ERROR;
    struct rng rng = {threads};
    bool ok = false;

    for (uint32_t i = 0; i < words; i++)
        in[i] = i % 4 == 0 ? (uint32_t)(rng_next(&rng) & 15) : (uint32_t)rng_next(&rng);
    if (program)
        outcome = program_run(program, &l, message, sizeof message);
    if (outcome == OUTCOME_OK) {
        answer_add(answer, out, words * (VARIABLES + 1) * 4);
        ok = check(r, t, p, name, in, out, threads, grid);
    } else if (outcome == OUTCOME_UNSUPPORTED)
        run_skip(r, t, name, message);
    else
        run_fail(r, t, name, "%s", message);
    program_destroy(program);
    memory_reset(t);
    return ok;
}

void random_run(struct run *r)
{
    static const uint32_t sizes[] = {64, 37};

    for (int n = 0; n < (r->all || r->filter ? PROGRAMS : PROGRAMS_USUAL); n++) {
        struct random_program *p = calloc(1, sizeof *p);
        struct text text = {0};
        char name[32];

        if (!p)
            abort();
        snprintf(name, sizeof name, "random.%d", n);
        if (!run_wants(r, name) ||
            (r->filter && strncmp(r->filter, "random.", 7) == 0 && strcmp(r->filter, name) != 0)) {
            free(p);
            continue;
        }
        rng_seed_name(&p->rng, name);
        p->exits = pick(p, 2) == 0;
        p->first = make_list(p, 0, 0, true);
        program_text(&text, p);
        if (r->list)
            printf("%s\n", name);
        else if (r->dump)
            printf("%s", text.s);
        for (int t = 0; t < r->target_count && !r->list; t++) {
            struct answer answer = {0};
            bool ok = true;

            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && ok; s++)
                ok = (!r->all && s != (size_t)n % 2) ||
                     run_one(r, r->targets[t], p, name, text.s, sizes[s], &answer);
            if (!r->all && answer.bytes && !answer_end(&answer, name))
                run_fail(r, r->targets[t], name, "an H200 answered otherwise");
            else if (ok)
                run_pass(r, r->targets[t], name);
        }
        text_free(&text);
        free(p);
    }
}
