/* Captures against a second implementation, written from the text of docs/rules/GRAPH.md: random
 * programs of streams of all sorts on two devices, three threads, events and several captures at
 * once. The naive side keeps sets of nodes as bits and who-is-before-whom as a matrix. Compared:
 * the result of every call, the status of every stream, the edges of every node. Usage: captures
 * [SEED]. Rules: CAP-001 to CAP-003, CAP-010 to CAP-015, CAP-020 to CAP-023.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/capture.h"

enum { STREAMS = 7, EVENTS = 4, THREADS = 3, CAPTURES = 400, NODES = 60 };

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint64_t rng = 88172645463325252u;
static long live, calls;

static unsigned pick(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng % n);
}

static void *counted_alloc(void *ctx, size_t bytes)
{
    (void)ctx;
    live++;
    return malloc(bytes);
}

static void counted_free(void *ctx, void *p)
{
    (void)ctx;
    live--;
    free(p);
}

/* ---- both sides ---- */

struct naive_capture {
    int mode, thread, origin; /* origin: stream */
    enum weir_capture_status status;
    uint64_t left;          /* ends of destroyed streams */
    uint64_t before[NODES]; /* direct ones */
    int nodes;
    struct weir_model_graph graph;
    struct weir_model_node node[NODES];
};

static struct world {
    struct weir_model_captures all;
    struct weir_model_stream s[STREAMS];
    struct weir_model_member m[STREAMS];
    struct weir_model_captured e[EVENTS];
    int mode[THREADS];
    /* naive */
    struct naive_capture c[CAPTURES];
    int count;
    int in[STREAMS]; /* capture, -1 none */
    uint64_t ends[STREAMS];
    struct {
        bool recorded; /* outside */
        int capture;   /* -1: not a captured one */
        uint64_t ends;
    } ne[EVENTS];
} w;

static const struct {
    int device;
    enum weir_stream_class cls;
} sorts[STREAMS] = {{0, WEIR_STREAM_LEGACY},      {0, WEIR_STREAM_BLOCKING},
                    {0, WEIR_STREAM_NONBLOCKING}, {0, WEIR_STREAM_BLOCKING},
                    {0, WEIR_STREAM_NONBLOCKING}, {1, WEIR_STREAM_LEGACY},
                    {1, WEIR_STREAM_PER_THREAD}};

static const struct weir_model_memory memory = {counted_alloc, counted_free, NULL};

static struct weir_capture_caller caller(int thread)
{
    return (struct weir_capture_caller){(uint64_t)thread + 1, (uint8_t)w.mode[thread], "test"};
}

static void naive_break(int c)
{
    if (w.c[c].status == WEIR_CAPTURE_ACTIVE)
        w.c[c].status = WEIR_CAPTURE_INVALIDATED;
}

static void naive_end(int c)
{
    w.c[c].status = WEIR_CAPTURE_NONE;
    for (int i = 0; i < STREAMS; i++)
        if (w.in[i] == c)
            w.in[i] = -1;
}

static bool is_blocking(int s)
{
    return w.s[s].cls == WEIR_STREAM_BLOCKING || w.s[s].cls == WEIR_STREAM_PER_THREAD;
}

/* CAP-010, CAP-011, CAP-013: breaks those that mind; was there one? */
enum what { UNSAFE, DEVICE, LEGACY };
static bool naive_forbid(enum what what, int device, int thread, bool breaks)
{
    bool found = false;

    for (int c = 0; c < w.count; c++) {
        bool minds = false, own = w.c[c].thread == thread && w.c[c].mode != WEIR_CAPTURE_RELAXED;

        if (w.c[c].status == WEIR_CAPTURE_NONE)
            continue;
        if (what == UNSAFE && w.mode[thread] != WEIR_CAPTURE_RELAXED)
            minds = own ||
                    (w.mode[thread] == WEIR_CAPTURE_GLOBAL && w.c[c].mode == WEIR_CAPTURE_GLOBAL);
        for (int s = 0; what != UNSAFE && s < STREAMS; s++)
            minds = minds || (w.in[s] == c && sorts[s].device == device &&
                              (what == DEVICE || is_blocking(s)));
        found = found || minds;
        if (minds && breaks)
            naive_break(c);
    }
    return found;
}

static void compare_streams(void)
{
    for (int s = 0; s < STREAMS; s++) {
        enum weir_capture_status want = w.in[s] < 0 ? WEIR_CAPTURE_NONE : w.c[w.in[s]].status;
        uint64_t ends = 0;

        CHECK(weir_model_member_status(&w.m[s]) == want);
        if (want != WEIR_CAPTURE_ACTIVE)
            continue;
        for (uint32_t i = 0; i < w.m[s].ends.count; i++)
            ends |= 1ull << (w.m[s].ends.items[i].node - w.c[w.in[s]].node);
        CHECK(ends == w.ends[s]);
    }
}

/* ---- calls ---- */

static void begin(int s, int thread)
{
    struct weir_capture_caller me = caller(thread);
    struct naive_capture *c = &w.c[w.count];
    int mode = (int)pick(8) == 0 ? 3 : (int)pick(3);
    enum weir_capture_result want = WEIR_CAPTURE_OK, got;

    if (w.count == CAPTURES)
        return;
    if (mode == 3)
        want = WEIR_CAPTURE_ERR_INVALID_VALUE;
    else if (w.s[s].cls == WEIR_STREAM_LEGACY) /* CAP-001, CAP-013 */
        want = naive_forbid(LEGACY, sorts[s].device, thread, true) ? WEIR_CAPTURE_ERR_IMPLICIT
                                                                   : WEIR_CAPTURE_ERR_UNSUPPORTED;
    else if (w.in[s] >= 0)
        want = WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    weir_model_graph_init(&c->graph, &memory);
    got = weir_model_capture_begin(&w.all, &w.m[s], &w.s[s], &c->graph,
                                   (enum weir_capture_mode)mode, NULL, 0, &me);
    CHECK(got == want);
    if (got != WEIR_CAPTURE_OK)
        return;
    c->mode = mode;
    c->thread = thread;
    c->origin = s;
    c->status = WEIR_CAPTURE_ACTIVE;
    c->left = 0;
    c->nodes = 0;
    w.in[s] = w.count++;
    w.ends[s] = 0;
}

/* All that `set` depends on, itself included. */
static uint64_t above(const struct naive_capture *c, uint64_t set)
{
    for (int i = c->nodes - 1; i >= 0; i--) /* nodes depend on older ones */
        if (set >> i & 1)
            set |= c->before[i];
    return set;
}

static enum weir_capture_result naive_joined(int c, int origin)
{
    uint64_t good = above(&w.c[c], w.ends[origin]), all = w.c[c].left;

    for (int s = 0; s < STREAMS; s++)
        if (w.in[s] == c)
            all |= w.ends[s];
    return all & ~good ? WEIR_CAPTURE_ERR_UNJOINED : WEIR_CAPTURE_OK;
}

static void compare_edges(int c)
{
    for (int i = 0; i < w.c[c].nodes; i++) {
        uint64_t before = 0;

        for (uint32_t k = 0; k < w.c[c].node[i].in.count; k++)
            before |= 1ull << (w.c[c].node[i].in.items[k].node - w.c[c].node);
        CHECK(before == w.c[c].before[i]);
    }
    weir_model_graph_finish(&w.c[c].graph);
}

static void end(int s, int thread) /* CAP-002 */
{
    struct weir_capture_caller me = caller(thread);
    enum weir_capture_result want = WEIR_CAPTURE_OK, got;
    struct weir_model_graph *g;
    int c = w.in[s];

    if (c < 0)
        want = WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    else if (w.c[c].origin != s)
        want = WEIR_CAPTURE_ERR_UNMATCHED;
    else if (w.c[c].status == WEIR_CAPTURE_INVALIDATED)
        want = WEIR_CAPTURE_ERR_INVALIDATED;
    else if (w.c[c].mode != WEIR_CAPTURE_RELAXED && w.c[c].thread != thread)
        want = WEIR_CAPTURE_ERR_WRONG_THREAD;
    else
        want = naive_joined(c, s);
    got = weir_model_capture_end(&w.m[s], &me, &g, NULL);
    CHECK(got == want);
    if (want == WEIR_CAPTURE_ERR_UNMATCHED)
        naive_break(c);
    CHECK((g != NULL) == (c >= 0 && want != WEIR_CAPTURE_ERR_UNMATCHED));
    if (!g)
        return;
    CHECK(g == &w.c[c].graph);
    naive_end(c);
    compare_edges(c);
}

static void destroy(int s) /* CAP-003 */
{
    struct weir_model_graph *g;
    int c = w.in[s];

    if (w.s[s].cls == WEIR_STREAM_LEGACY)
        return;
    weir_model_capture_leave(&w.m[s], &g);
    CHECK((g != NULL) == (c >= 0 && w.c[c].origin == s));
    if (c < 0)
        return;
    if (g) {
        naive_end(c);
        compare_edges(c);
        return;
    }
    w.c[c].left |= w.ends[s];
    w.in[s] = -1;
}

static void node(int s)
{
    struct naive_capture *c;

    if (w.in[s] < 0)
        return;
    c = &w.c[w.in[s]];
    CHECK(weir_model_capture_check(&w.m[s]) == /* CAP-014 */
          (c->status == WEIR_CAPTURE_ACTIVE ? WEIR_CAPTURE_OK : WEIR_CAPTURE_ERR_INVALIDATED));
    if (c->status != WEIR_CAPTURE_ACTIVE || c->nodes == NODES)
        return;
    CHECK(weir_model_node_add(&c->graph, &c->node[c->nodes], WEIR_NODE_EMPTY, w.m[s].ends.items,
                              w.m[s].ends.count) == WEIR_GRAPH_OK);
    CHECK(weir_model_capture_node(&w.m[s], &c->node[c->nodes]) == WEIR_CAPTURE_OK);
    c->before[c->nodes] = w.ends[s];
    w.ends[s] = 1ull << c->nodes++;
    /* `before` is direct; above() walks on */
}

static void record(int s, int e) /* CAP-020 */
{
    if (w.in[s] < 0) {
        weir_model_captured_drop(&w.e[e]);
        w.ne[e].recorded = true;
        w.ne[e].capture = -1;
        return;
    }
    if (w.c[w.in[s]].status != WEIR_CAPTURE_ACTIVE) {
        CHECK(weir_model_capture_record(&w.m[s], &w.e[e]) == WEIR_CAPTURE_ERR_INVALIDATED);
        return;
    }
    CHECK(weir_model_capture_record(&w.m[s], &w.e[e]) == WEIR_CAPTURE_OK);
    w.ne[e].capture = w.in[s];
    w.ne[e].ends = w.ends[s];
}

static bool over(int e)
{
    return w.ne[e].capture >= 0 && w.c[w.ne[e].capture].status != WEIR_CAPTURE_ACTIVE;
}

/* CAP-021 for a stream in a capture. */
static enum weir_capture_result naive_wait_inside(int s, int e)
{
    int c = w.in[s];

    if (w.c[c].status != WEIR_CAPTURE_ACTIVE)
        return WEIR_CAPTURE_ERR_INVALIDATED;
    if (w.ne[e].capture < 0 && !w.ne[e].recorded)
        return WEIR_CAPTURE_OK;
    if (w.ne[e].capture < 0 || over(e)) {
        naive_break(c);
        return over(e) ? WEIR_CAPTURE_ERR_INVALID_VALUE : WEIR_CAPTURE_ERR_ISOLATION;
    }
    if (w.ne[e].capture != c) {
        naive_break(c);
        naive_break(w.ne[e].capture);
        return WEIR_CAPTURE_ERR_MERGE;
    }
    w.ends[s] |= w.ne[e].ends;
    return WEIR_CAPTURE_OK;
}

static void wait(int s, int e, int thread)
{
    struct weir_capture_caller me = caller(thread);
    enum weir_capture_result want = WEIR_CAPTURE_OK, got;
    bool outside, was_outside = w.in[s] < 0 && w.ne[e].capture < 0;

    if (w.in[s] >= 0) {
        want = naive_wait_inside(s, e);
    } else if (over(e)) {
        want = WEIR_CAPTURE_ERR_INVALID_VALUE;
    } else if (w.ne[e].capture >= 0 && w.s[s].cls == WEIR_STREAM_LEGACY) {
        naive_break(w.ne[e].capture);
        want = WEIR_CAPTURE_ERR_IMPLICIT;
    } else if (w.ne[e].capture >= 0) {
        w.in[s] = w.ne[e].capture;
        w.ends[s] = w.ne[e].ends;
    }
    got = weir_model_capture_wait(&w.m[s], &w.s[s], &w.e[e], w.ne[e].recorded, &me, &outside);
    CHECK(got == want && outside == was_outside);
}

static void wait_external(int s, int e, int thread) /* CAP-022 */
{
    struct weir_capture_caller me = caller(thread);
    enum weir_capture_result want = WEIR_CAPTURE_OK;

    if (w.in[s] < 0)
        want = over(e) ? WEIR_CAPTURE_ERR_INVALID_VALUE : WEIR_CAPTURE_ERR_ILLEGAL_STATE;
    else if (w.c[w.in[s]].status != WEIR_CAPTURE_ACTIVE)
        want = WEIR_CAPTURE_ERR_INVALIDATED;
    else if (over(e)) {
        naive_break(w.in[s]);
        want = WEIR_CAPTURE_ERR_INVALID_VALUE;
    }
    CHECK(weir_model_capture_wait_external(&w.m[s], &w.e[e], &me) == want);
}

static void ask(int e, int thread, bool breaks) /* CAP-023 */
{
    struct weir_capture_caller me = caller(thread);
    enum weir_capture_result want = WEIR_CAPTURE_OK;

    if (over(e)) {
        want = WEIR_CAPTURE_ERR_INVALID_VALUE;
    } else if (w.ne[e].capture >= 0) {
        if (breaks)
            naive_break(w.ne[e].capture);
        want = WEIR_CAPTURE_ERR_CAPTURED_EVENT;
    }
    CHECK(weir_model_captured_ask(&w.e[e], breaks, &me) == want);
}

/* CAP-010 to CAP-013; CAP-012 is the branch of streams in a capture */
static void forbidden(int s, int thread)
{
    struct weir_capture_caller me = caller(thread);
    enum weir_capture_call call = (enum weir_capture_call)pick(7);
    enum weir_capture_result want = WEIR_CAPTURE_OK, got;
    bool legacy = w.s[s].cls == WEIR_STREAM_LEGACY;
    int device = sorts[s].device;

    if (call == WEIR_CAPTURE_CALL_UNSAFE) {
        want = naive_forbid(UNSAFE, device, thread, true) ? WEIR_CAPTURE_ERR_UNSUPPORTED : want;
    } else if (call == WEIR_CAPTURE_CALL_DEVICE_WAIT) {
        want = naive_forbid(DEVICE, device, thread, true) ? WEIR_CAPTURE_ERR_UNSUPPORTED : want;
    } else if (w.in[s] >= 0) {
        if (call == WEIR_CAPTURE_CALL_STREAM_WAIT || call == WEIR_CAPTURE_CALL_REFUSED) {
            naive_break(w.in[s]);
            want = WEIR_CAPTURE_ERR_UNSUPPORTED;
        }
    } else if (call != WEIR_CAPTURE_CALL_REFUSED) {
        if (legacy && naive_forbid(LEGACY, device, thread, call != WEIR_CAPTURE_CALL_LEGACY_ASK))
            want = WEIR_CAPTURE_ERR_IMPLICIT;
        else if ((call == WEIR_CAPTURE_CALL_STREAM_WAIT || call == WEIR_CAPTURE_CALL_ALLOC_ASYNC) &&
                 naive_forbid(UNSAFE, device, thread, true))
            want = WEIR_CAPTURE_ERR_UNSUPPORTED;
    }
    got = weir_model_capture_call(&w.all, call, &w.s[s], &w.m[s], device, &me);
    CHECK(got == want);
}

static void bad_launch(int s, int thread) /* CAP-015 */
{
    struct weir_capture_caller me = caller(thread);

    if (w.in[s] < 0)
        return;
    weir_model_capture_break(&w.m[s], 15, WEIR_CAPTURE_ERR_INVALID_VALUE, &me);
    naive_break(w.in[s]);
}

static void one_call(void)
{
    int s = (int)pick(STREAMS), e = (int)pick(EVENTS), thread = (int)pick(THREADS);

    calls++;
    switch (pick(24)) {
    case 0:
    case 1:
        begin(s, thread);
        break;
    case 2:
        end(s, thread);
        break;
    case 3:
        if (pick(4) == 0)
            destroy(s);
        break;
    case 4:
        ask(e, thread, pick(2));
        break;
    case 5:
        forbidden(s, thread);
        break;
    case 6:
        w.mode[thread] = (int)pick(3);
        break;
    case 7:
        wait_external(s, e, thread);
        break;
    case 8:
        if (pick(4) == 0)
            bad_launch(s, thread);
        break;
    case 9:
        if (w.in[s] >= 0) /* back in the thread that may */
            end(w.c[w.in[s]].origin, w.c[w.in[s]].thread);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
        record(s, e);
        break;
    case 14:
    case 15:
    case 16:
    case 17:
        wait(s, e, thread);
        break;
    default:
        node(s);
    }
    compare_streams();
}

static void program(void)
{
    memset(&w, 0, sizeof w);
    weir_model_captures_init(&w.all, &memory);
    for (int s = 0; s < STREAMS; s++) {
        w.s[s].device = (uint16_t)sorts[s].device;
        w.s[s].cls = (uint8_t)sorts[s].cls;
        w.in[s] = -1;
    }
    for (int e = 0; e < EVENTS; e++)
        w.ne[e].capture = -1;
    for (int i = 0; i < 2000; i++)
        one_call();
    for (int s = 0; s < STREAMS; s++)
        destroy(s);
    for (int e = 0; e < EVENTS; e++)
        weir_model_captured_drop(&w.e[e]);
    CHECK(atomic_load(&w.all.count) == 0);
    CHECK(live == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rng = strtoull(argv[1], NULL, 0) | 1;
    for (int i = 0; i < 100; i++)
        program();
    printf("%ld calls compared\n", calls);
    return 0;
}
