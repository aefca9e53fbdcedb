/* Cycles among what waits: streams and threads are nodes, each with at most one that it waits for,
 * so following these from every node finds every cycle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/where_int.h"

#define PATH_MAX_NODES 64 /* a longer way is not followed: nobody would read it */

struct node {
    bool is_thread;
    int index;
};

static bool is_same(struct node a, struct node b)
{
    return a.is_thread == b.is_thread && a.index == b.index;
}

static bool to_stream(struct node *out, int index)
{
    *out = (struct node){false, index};
    return index != WHERE_NONE;
}

static bool to_thread(struct node *out, int index)
{
    *out = (struct node){true, index};
    return index != WHERE_NONE;
}

static int host_thread(const struct where *w, int device)
{
    for (size_t i = 0; i < w->thread_count; i++)
        if (w->threads[i].host_of == device)
            return (int)i;
    return WHERE_NONE;
}

static bool next_of_stream(const struct where *w, const struct where_stream *s, struct node *out)
{
    if (s->state == WEIR_OP_BLOCKED)
        return to_stream(out, weir_where_stream_index(w, s->dep.point.stream));
    if (s->host_runs || s->host_queued)
        return to_thread(out, host_thread(w, s->stream->ctx->ordinal));
    return !w->certain && to_stream(out, s->writer_stream);
}

static bool next(struct where *w, struct node n, struct node *out)
{
    const struct where_thread *t;

    if (!n.is_thread)
        return next_of_stream(w, &w->streams[n.index], out);
    t = &w->threads[n.index];
    if (t->stream)
        return to_stream(out, weir_where_stream_index(w, t->stream));
    return t->owner && !(w->certain && t->timed) &&
           to_thread(out, weir_where_thread_index(w, t->owner));
}

static void print_stream_step(const struct where *w, const struct where_stream *s,
                              struct where_text *t)
{
    weir_where_put(t, "  %s: #%" PRIu64 " %s\n", s->name, s->head, s->what);
    if (s->state == WEIR_OP_BLOCKED)
        weir_where_put(t, "    waits for #%" PRIu64 " of\n", s->dep.point.seq);
    else if (s->host_runs)
        weir_where_put(t, "    runs on\n");
    else if (s->host_queued)
        weir_where_put(t, "    waits for (one thread runs all host functions of a device)\n");
    else
        weir_where_put(t,
                       "    what it polls may be written by #%" PRIu64 " of %s (%s), which cannot "
                       "run before it has ended\n",
                       s->writer_seq, w->streams[s->writer_stream].name, s->writer_what);
}

static void print_thread_step(const struct where_thread *h, struct where_text *t)
{
    weir_where_put(t, "  %s", h->name);
    if (h->call)
        weir_where_put(t, ", in %s", h->call);
    else if (h->host_of != WHERE_NONE)
        weir_where_put(t, ", in a host function");
    if (h->stream)
        weir_where_put(t, "\n    waits for #%" PRIu64 " of\n", h->seq);
    else
        weir_where_put(t, "\n    waits for %s\n", h->joins ? "the end of" : "a mutex, held by");
}

/* For who asks for more than the text. */
static void note(struct where *w, struct node n)
{
    if (n.is_thread && w->threads[n.index].stream)
        w->cycle_thread = w->threads[n.index].id;
    else if (!n.is_thread && w->streams[n.index].host_runs)
        w->cycle_op = w->streams[n.index].op;
}

/* The nodes of path from `first` on are a cycle. */
static void print_cycle(struct where *w, const struct node *path, size_t first, size_t count,
                        struct where_text *t)
{
    bool noted = w->cycle_thread || w->cycle_op;
    struct node n = path[first];

    weir_where_put(t, "a cycle:\n");
    for (size_t i = first; i < count; i++) {
        if (path[i].is_thread)
            print_thread_step(&w->threads[path[i].index], t);
        else
            print_stream_step(w, &w->streams[path[i].index], t);
        if (!noted)
            note(w, path[i]);
    }
    weir_where_put(t, "  %s: and so on\n",
                   n.is_thread ? w->threads[n.index].name : w->streams[n.index].name);
}

/* Follows what n waits for. Cycles that go through an earlier start have been printed with it. */
static bool follow(struct where *w, struct node n, struct where_text *t)
{
    struct node path[PATH_MAX_NODES], start = n;
    size_t count = 0;

    while (count < PATH_MAX_NODES) {
        path[count++] = n;
        if (!next(w, n, &n))
            return false;
        for (size_t i = 0; i < count; i++) {
            if (!is_same(path[i], n))
                continue;
            for (size_t k = i; k < count; k++) /* each cycle from its first node alone */
                if (!path[k].is_thread && (start.is_thread || path[k].index < start.index))
                    return false;
            if (!is_same(n, start))
                return false;
            print_cycle(w, path, i, count, t);
            return true;
        }
    }
    return false;
}

bool weir_where_cycles(struct where *w, struct where_text *t)
{
    size_t threads = w->thread_count; /* more may come while owners are looked up */
    bool any = false;

    for (size_t i = 0; i < w->stream_count; i++)
        any = follow(w, (struct node){false, (int)i}, t) || any;
    for (size_t i = 0; i < threads; i++) {
        bool found = follow(w, (struct node){true, (int)i}, t);

        any = any || found;
        if (found) /* of threads alone: the others of it would print it again */
            break;
    }
    return any;
}
