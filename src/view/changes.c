/* What is different in kind between two traces: waits that came, memory that is no longer pinned,
 * work that changed streams, copies that nothing hides any more.
 * SPDX-License-Identifier: Apache-2.0 */
#include "view/changes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"

/* ---- by place ---- */

/* A name (of a call or an operation) at a place in the code. */
struct place {
    const char *name, *site;
    char *key;         /* of the index, owned */
    uint64_t waits[2]; /* of the host; of a stream for an event */
    uint64_t copies[2], pageable[2], launches[2];
    uint32_t streams[2]; /* different ones that the place's operations went to */
    uint32_t which[2][16];
};

struct places {
    struct place *items;
    size_t count, cap;
    struct weir_strmap index;
    bool no_memory;
};

static struct place *place_of(struct places *p, const struct weir_trace_file *f, uint32_t call)
{
    const struct weir_trace_call *k = &f->calls[call];
    const char *site = k->site == WEIR_TRACE_NONE ? "" : f->sites[k->site].text;
    size_t name = strlen(k->name), text = strlen(site);
    char *key = weir_alloc(name + text + 2);
    uintptr_t at;

    if (!key) {
        p->no_memory = true;
        return NULL;
    }
    memcpy(key, k->name, name);
    key[name] = '@';
    memcpy(key + name + 1, site, text + 1);
    at = (uintptr_t)weir_strmap_get(&p->index, key, name + 1 + text);
    if (at) {
        weir_free(key);
        return &p->items[at - 1];
    }
    if (!weir_vec_reserve_bytes((void **)&p->items, &p->cap, p->count + 1, sizeof *p->items) ||
        !weir_strmap_put(&p->index, key, name + 1 + text, (void *)(p->count + 1))) {
        weir_free(key);
        p->no_memory = true;
        return NULL;
    }
    p->items[p->count++] = (struct place){.name = k->name, .site = site, .key = key};
    return &p->items[p->count - 1];
}

static void add_stream(struct place *p, int which, uint32_t stream)
{
    for (uint32_t i = 0; i < p->streams[which]; i++) {
        if (p->which[which][i] == stream)
            return;
    }
    if (p->streams[which] < WEIR_ARRAY_SIZE(p->which[which]))
        p->which[which][p->streams[which]++] = stream;
}

static bool is_pageable(const struct weir_trace_op *op)
{
    return (op->engine == WEIR_TRACE_ENGINE_H2D &&
            (op->u.copy.src_class == WEIR_TRACE_PAGEABLE || op->u.copy.staged)) ||
           (op->engine == WEIR_TRACE_ENGINE_D2H && op->u.copy.dst_class == WEIR_TRACE_PAGEABLE);
}

static void collect(struct places *p, const struct weir_trace_file *f, int which)
{
    for (uint32_t i = 0; i < f->calls_count && !p->no_memory; i++) {
        const struct weir_trace_call *k = &f->calls[i];
        struct place *at = k->sync_count || k->op_count ? place_of(p, f, i) : NULL;

        if (!at)
            continue;
        /* (What an asynchronous copy waits for is its memory's doing: that is said of it.) */
        at->waits[which] += k->sync_count && !strstr(k->name, "Async");
        for (uint32_t n = 0; n < k->op_count; n++) {
            const struct weir_trace_op *op = &f->ops[f->call_ops[k->op_first + n]];

            if (op->engine == WEIR_TRACE_ENGINE_NONE)
                continue;
            at->launches[which]++;
            add_stream(at, which, op->stream);
            at->copies[which] += op->kind == WEIR_TRACE_OP_COPY;
            at->pageable[which] += op->kind == WEIR_TRACE_OP_COPY && is_pageable(op);
        }
    }
    for (size_t i = 0; i < f->event_waits_count && !p->no_memory; i++) {
        uint32_t call = f->event_waits[i].call;
        struct place *at = call == WEIR_TRACE_NONE ? NULL : place_of(p, f, call);

        if (at)
            at->waits[which]++;
    }
}

/* ---- streams of two traces ---- */

static bool is_users(const struct weir_trace_stream *s)
{
    return !s->graph_lane &&
           (s->cls == WEIR_TRACE_STREAM_BLOCKING || s->cls == WEIR_TRACE_STREAM_NONBLOCKING);
}

/* The program's how manyth stream it is; ids shift when a program makes one more. */
static uint64_t rank_of(const struct weir_trace_file *f, const struct weir_trace_stream *s)
{
    uint64_t rank = 0;

    for (size_t i = 0; i < f->streams_count; i++)
        rank += is_users(&f->streams[i]) && f->streams[i].id < s->id;
    return rank;
}

static bool is_same(const struct weir_trace_file *a, const struct weir_trace_stream *x,
                    const struct weir_trace_file *b, const struct weir_trace_stream *y, bool rank)
{
    if (x->cls != y->cls || x->graph_lane != y->graph_lane || x->device != y->device)
        return false;
    if (!is_users(x))
        return x->cls == WEIR_TRACE_STREAM_LEGACY || x->id == y->id;
    return rank ? rank_of(a, x) == rank_of(b, y) : x->id == y->id;
}

/* Does each stream of the place in `a` have its like in `b`? */
static bool has_all(const struct weir_trace_file *a, const struct weir_trace_file *b,
                    const struct place *p, bool rank)
{
    for (uint32_t i = 0; i < p->streams[0]; i++) {
        bool found = false;

        for (uint32_t k = 0; k < p->streams[1] && !found; k++)
            found = is_same(a, &a->streams[p->which[0][i]], b, &b->streams[p->which[1][k]], rank);
        if (!found)
            return false;
    }
    return true;
}

static bool changed_streams(const struct weir_trace_file *a, const struct weir_trace_file *b,
                            const struct place *p)
{
    return p->streams[0] != p->streams[1] || (!has_all(a, b, p, false) && !has_all(a, b, p, true));
}

#define NAMED_MOST 3

static const char *streams_text(const struct weir_trace_file *f, const struct place *p, int which,
                                char out[256])
{
    const uint32_t n = p->streams[which];
    size_t at = 0;
    char name[64];

    if (n > NAMED_MOST)
        snprintf(out, 256,
                 n == WEIR_ARRAY_SIZE(p->which[which]) ? "%u or more streams" : "%u streams", n);
    for (uint32_t i = 0; i < n && n <= NAMED_MOST; i++)
        at += (size_t)snprintf(out + at, 256 - at, "%s%s", i ? ", " : "",
                               weir_trace_stream_name(f, p->which[which][i], name));
    return out;
}

/* ---- copies that kernels hide ---- */

struct edge {
    uint64_t ns;
    int copies, kernels; /* what begins, negative: ends */
};

static int by_ns(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;

    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Time with a copy running, and of that with a kernel beside it. */
static bool hidden(const struct weir_trace_file *f, uint64_t *copying, uint64_t *beside)
{
    struct edge *e = weir_alloc((2 * f->ops_count + 1) * sizeof *e);
    int copies = 0, kernels = 0;
    size_t n = 0;

    *copying = *beside = 0;
    if (!e)
        return false;
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        bool copy = op->engine == WEIR_TRACE_ENGINE_H2D || op->engine == WEIR_TRACE_ENGINE_D2H;

        if (!op->done || op->end_ns <= op->start_ns || (!copy && op->kind != WEIR_TRACE_OP_KERNEL))
            continue;
        e[n++] = (struct edge){op->start_ns, copy, !copy};
        e[n++] = (struct edge){op->end_ns, -(int)copy, -(int)!copy};
    }
    qsort(e, n, sizeof *e, by_ns);
    for (size_t i = 0; i < n; i++) {
        uint64_t length = i ? e[i].ns - e[i - 1].ns : 0;

        *copying += copies > 0 ? length : 0;
        *beside += copies > 0 && kernels > 0 ? length : 0;
        copies += e[i].copies;
        kernels += e[i].kernels;
    }
    weir_free(e);
    return true;
}

/* ---- texts ---- */

__attribute__((format(printf, 2, 3))) static bool say(struct weir_view_changes *out,
                                                      const char *fmt, ...)
{
    char line[512];
    va_list args;
    char *text;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    text = weir_strdup(line);
    if (!text || !weir_vec_reserve_bytes((void **)&out->items, &out->cap, out->count + 1,
                                         sizeof *out->items)) {
        weir_free(text);
        return false;
    }
    out->items[out->count++] = text;
    return true;
}

static bool say_places(struct weir_view_changes *out, const struct weir_trace_file *a,
                       const struct weir_trace_file *b, const struct places *p)
{
    char before[256], after[256];
    bool ok = true;

    for (size_t i = 0; ok && i < p->count; i++) {
        const struct place *x = &p->items[i];
        const char *site = *x->site ? x->site : "a place that is not known";

        if (x->waits[0] != x->waits[1])
            ok = say(out, "%+lld %s at %s (%llu -> %llu)",
                     (long long)x->waits[1] - (long long)x->waits[0], x->name, site,
                     (unsigned long long)x->waits[0], (unsigned long long)x->waits[1]);
        if (ok && x->copies[0] && x->copies[1] && !x->pageable[0] != !x->pageable[1])
            ok =
                say(out, "%s at %s: %s memory -> %s memory", x->name, site,
                    x->pageable[0] ? "pageable" : "pinned", x->pageable[1] ? "pageable" : "pinned");
        if (ok && x->launches[0] && x->launches[1] && changed_streams(a, b, x))
            ok = say(out, "%s at %s: %s -> %s", x->name, site, streams_text(a, x, 0, before),
                     streams_text(b, x, 1, after));
    }
    return ok;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

bool weir_view_changes(const struct weir_trace_file *a, const struct weir_trace_file *b,
                       struct weir_view_changes *out)
{
    uint64_t copying[2], beside[2];
    struct places p = {0};
    bool ok;

    *out = (struct weir_view_changes){0};
    collect(&p, a, 0);
    collect(&p, b, 1);
    ok = !p.no_memory && hidden(a, &copying[0], &beside[0]) && hidden(b, &copying[1], &beside[1]);
    ok = ok && say_places(out, a, b, &p);
    if (ok && (copying[0] || copying[1])) {
        uint64_t bare[2] = {copying[0] - beside[0], copying[1] - beside[1]};

        ok = say(out,
                 "copies hidden behind kernels: %.0f%% -> %.0f%%; not hidden: %.3f ms -> %.3f ms "
                 "(%+.3f ms)",
                 percent(beside[0], copying[0]), percent(beside[1], copying[1]),
                 (double)bare[0] * 1e-6, (double)bare[1] * 1e-6,
                 ((double)bare[1] - (double)bare[0]) * 1e-6);
    }
    weir_strmap_finish(&p.index);
    for (size_t i = 0; i < p.count; i++)
        weir_free(p.items[i].key);
    weir_free(p.items);
    if (!ok)
        weir_view_changes_finish(out);
    return ok;
}

void weir_view_changes_finish(struct weir_view_changes *c)
{
    for (size_t i = 0; i < c->count; i++)
        weir_free(c->items[i]);
    weir_free(c->items);
    *c = (struct weir_view_changes){0};
}
