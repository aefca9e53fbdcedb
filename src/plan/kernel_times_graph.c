/* Kernels in graphs: while a graph is instantiated, events stand around each of its kernels, and
 * each kernel waits for the one before it, so that the instance runs them one at a time. The graph
 * itself has them no longer when the call returns. A launch of the instance is waited for, and the
 * events say what each kernel took. Instances of graphs that hold other graphs, memory nodes or
 * conditions are launched as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "plan/kernel_times.h"

#define KERNELS_MAX   1024 /* of a graph: two events each */
#define DEVICE_LAUNCH 4    /* a flag of instances: no events in these */

/* Types of nodes. */
enum { KERNEL = 0, MEMCPY = 1, MEMSET = 2, HOST = 3, EMPTY = 5, WAITS = 6, RECORDS = 7 };

/* As CUDA_KERNEL_NODE_PARAMS_v2. */
struct kernel_node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context;
};

/* As CUDA_GRAPH_INSTANTIATE_PARAMS: what it begins with. */
struct instantiate_params {
    uint64_t flags;
};

static struct {
    int (*cuGraphCreate)(void **, unsigned);
    int (*cuGraphDestroy)(void *);
    int (*cuGraphAddKernelNode_v2)(void **, void *, void *const *, size_t,
                                   const struct kernel_node *);
    int (*cuGraphGetNodes)(void *, void **, size_t *);
    int (*cuGraphGetEdges)(void *, void **, void **, size_t *);
    int (*cuGraphNodeGetType)(void *, int *);
    int (*cuGraphKernelNodeGetParams_v2)(void *, struct kernel_node *);
    int (*cuGraphAddEventRecordNode)(void **, void *, void *const *, size_t, void *);
    int (*cuGraphAddDependencies)(void *, void *const *, void *const *, size_t);
    int (*cuGraphDestroyNode)(void *);
    int (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long);
    int (*cuGraphLaunch)(void *, void *);
    int (*cuGraphExecDestroy)(void *);
} driver;

static const struct {
    const char *name;
    void *to;
} driver_names[] = {
#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, &driver.name                                                                        \
    }
    FUNCTION(cuGraphCreate),
    FUNCTION(cuGraphDestroy),
    FUNCTION(cuGraphAddKernelNode_v2),
    FUNCTION(cuGraphGetNodes),
    FUNCTION(cuGraphGetEdges),
    FUNCTION(cuGraphNodeGetType),
    FUNCTION(cuGraphKernelNodeGetParams_v2),
    FUNCTION(cuGraphAddEventRecordNode),
    FUNCTION(cuGraphAddDependencies),
    FUNCTION(cuGraphDestroyNode),
    FUNCTION(cuGraphInstantiateWithFlags),
    FUNCTION(cuGraphLaunch),
    FUNCTION(cuGraphExecDestroy),
#undef FUNCTION
};

struct node {
    void *node; /* the program's */
    struct weir_times_kernel *kernel;
    void *events[2];
};

struct instance {
    struct instance *next;
    void *exec;
    struct node *nodes; /* in the order in which they run */
    size_t count;
};

/* A graph with events between its nodes. */
struct timed {
    struct instance *instance;
    void **added; /* nodes, in the order of adding */
    size_t added_count;
};

/* guarded by weir_times_begin */
static struct instance *instances;
static uint64_t left;
static bool opened, complete;

static bool open_driver_locked(void)
{
    for (size_t i = 0; !opened && i < sizeof driver_names / sizeof *driver_names; i++) {
        void *f = weir_times_of_driver(driver_names[i].name);

        memcpy(driver_names[i].to, &f, sizeof f);
        complete = (complete || !i) && f;
    }
    opened = true;
    return complete;
}

static void forget(struct instance *g)
{
    for (size_t i = 0; g && i < g->count; i++) {
        for (int k = 0; k < 2; k++) {
            if (g->nodes[i].events[k])
                weir_times_driver.cuEventDestroy_v2(g->nodes[i].events[k]);
        }
    }
    if (g)
        free(g->nodes);
    free(g);
}

static struct instance **find_locked(const void *exec)
{
    struct instance **at = &instances;

    while (*at && (*at)->exec != exec)
        at = &(*at)->next;
    return at;
}

/* ---- a graph's shape ---- */

struct shape {
    void **nodes, **from, **to;
    size_t count, edges, kernels;
    void **order; /* the nodes, each behind those that it follows */
};

static void shape_finish(struct shape *s)
{
    free(s->nodes);
    free(s->from);
    free(s->to);
    free(s->order);
}

static int by_address(const void *x, const void *y)
{
    uintptr_t a = (uintptr_t) * (void *const *)x, b = (uintptr_t) * (void *const *)y;

    return a < b ? -1 : a > b;
}

static size_t index_of(const struct shape *s, void *node)
{
    void **at = bsearch(&node, s->nodes, s->count, sizeof node, by_address);

    return at ? (size_t)(at - s->nodes) : s->count;
}

/* False: no memory, or no order. */
static bool sort_nodes(struct shape *s)
{
    size_t *missing = calloc(s->count + 1, sizeof *missing), done = 0, n = 0;

    qsort(s->nodes, s->count, sizeof *s->nodes, by_address);
    for (size_t e = 0; missing && e < s->edges; e++)
        missing[index_of(s, s->to[e])]++;
    for (size_t i = 0; missing && i < s->count; i++) {
        if (!missing[i])
            s->order[n++] = s->nodes[i];
    }
    for (; missing && done < n; done++) {
        for (size_t e = 0; e < s->edges; e++) {
            if (s->from[e] == s->order[done] && --missing[index_of(s, s->to[e])] == 0)
                s->order[n++] = s->to[e];
        }
    }
    free(missing);
    return missing && n == s->count;
}

/* False: not a graph that events can be put into. */
static bool shape_of(void *graph, struct shape *s)
{
    size_t room;

    if (driver.cuGraphGetNodes(graph, NULL, &s->count) != 0 ||
        driver.cuGraphGetEdges(graph, NULL, NULL, &s->edges) != 0)
        return false;
    room = s->count + s->edges + 1;
    s->nodes = calloc(room, sizeof *s->nodes);
    s->order = calloc(room, sizeof *s->order);
    s->from = calloc(room, sizeof *s->from);
    s->to = calloc(room, sizeof *s->to);
    if (!s->nodes || !s->order || !s->from || !s->to ||
        driver.cuGraphGetNodes(graph, s->nodes, &s->count) != 0 ||
        (s->edges && driver.cuGraphGetEdges(graph, s->from, s->to, &s->edges) != 0))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        int type;

        if (driver.cuGraphNodeGetType(s->nodes[i], &type) != 0 ||
            !(type == KERNEL || type == MEMCPY || type == MEMSET || type == HOST || type == EMPTY ||
              type == WAITS || type == RECORDS))
            return false;
        s->kernels += type == KERNEL;
    }
    return s->kernels && s->kernels <= KERNELS_MAX && sort_nodes(s);
}

/* ---- events around its kernels ---- */

static struct weir_times_kernel *kernel_of(const struct kernel_node *p)
{
    return weir_times_kernel_locked(p->function, p->kernel,
                                    (uint64_t)p->grid[0] * p->grid[1] * p->grid[2]);
}

/* before: the nodes that the kernel follows, with room for one more. */
static bool put_pair(void *graph, struct timed *t, struct node *n, void **before, size_t count)
{
    void **added = &t->added[t->added_count];

    if (weir_times_driver.cuEventCreate(&n->events[0], 0) != 0 ||
        weir_times_driver.cuEventCreate(&n->events[1], 0) != 0)
        return false;
    if (t->added_count)
        before[count++] = added[-1];
    if (driver.cuGraphAddEventRecordNode(&added[0], graph, before, count, n->events[0]) != 0)
        return false;
    t->added_count++;
    if (driver.cuGraphAddDependencies(graph, &added[0], &n->node, 1) != 0 ||
        driver.cuGraphAddEventRecordNode(&added[1], graph, &n->node, 1, n->events[1]) != 0)
        return false;
    t->added_count++;
    return true;
}

/* The graph again as the program made it. */
static void take_out(struct timed *t)
{
    while (t->added_count)
        (void)driver.cuGraphDestroyNode(t->added[--t->added_count]);
    free(t->added);
    t->added = NULL;
}

static bool put_in(void *graph, struct timed *t, const struct shape *s)
{
    struct instance *g = calloc(1, sizeof *g);
    void **before = calloc(s->edges + 2, sizeof *before);
    bool ok = g && before;

    t->instance = g;
    t->added = calloc(2 * s->kernels, sizeof *t->added);
    if (g)
        g->nodes = calloc(s->kernels, sizeof *g->nodes);
    ok = ok && t->added && g->nodes;
    for (size_t i = 0; ok && i < s->count; i++) {
        struct kernel_node p = {0};
        struct node *n = &g->nodes[g->count];
        size_t count = 0;
        int type;

        if (driver.cuGraphNodeGetType(s->order[i], &type) != 0 || type != KERNEL)
            continue;
        g->count++;
        n->node = s->order[i];
        for (size_t e = 0; e < s->edges; e++) {
            if (s->to[e] == n->node)
                before[count++] = s->from[e];
        }
        ok = driver.cuGraphKernelNodeGetParams_v2(n->node, &p) == 0 &&
             (n->kernel = kernel_of(&p)) != NULL && put_pair(graph, t, n, before, count);
        if (ok && p.function && weir_times_driver.cuFuncLoad)
            (void)weir_times_driver.cuFuncLoad(p.function);
    }
    free(before);
    return ok;
}

/* False: the graph is as it was, and t holds nothing. */
static bool put_events(void *graph, struct timed *t)
{
    struct shape s = {0};
    bool ok;

    *t = (struct timed){0};
    ok = shape_of(graph, &s) && put_in(graph, t, &s);
    shape_finish(&s);
    if (!ok) {
        take_out(t);
        forget(t->instance);
        *t = (struct timed){0};
    }
    return ok;
}

/* ---- launches ---- */

/* What the events around the instance's kernels say, from the last launch. */
static bool read_events(const struct instance *g, size_t i, double *us)
{
    float ms = -1;

    if (weir_times_driver.cuEventElapsedTime(&ms, g->nodes[i].events[0], g->nodes[i].events[1]) !=
        0)
        return false;
    *us = (double)ms * 1e3;
    return ms >= 0;
}

/* *done: the launch has been waited for. */
static int launch_and_wait(int (*launch)(void *, void *), void *exec, void *stream, void *event_in,
                           bool *done)
{
    void *event = NULL;
    int err = launch(exec, stream);

    *done = err == 0 && weir_times_driver.cuEventCreate(&event, 0) == 0 &&
            weir_times_driver.cuEventRecord(event, event_in) == 0 && weir_times_wait_for(event);
    if (*done || err != 0)
        weir_times_driver.cuEventDestroy_v2(event);
    return err;
}

/* What two events cost around an empty kernel of a graph. */
static bool prepare(struct weir_times_context *x)
{
    const struct kernel_node nop = {.function = x->nop, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    double us[WEIR_TIMES_BASE];
    void *graph = NULL, *last = NULL, *exec = NULL;
    struct timed t = {0};
    bool ok = driver.cuGraphCreate(&graph, 0) == 0, done = true;

    for (int i = 0; ok && i < WEIR_TIMES_BASE; i++)
        ok = driver.cuGraphAddKernelNode_v2(&last, graph, &last, i ? 1 : 0, &nop) == 0;
    ok = ok && put_events(graph, &t) && driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0;
    for (int i = 0; ok && done && i < 2; i++)
        ok = launch_and_wait(driver.cuGraphLaunch, exec, (void *)2, (void *)2, &done) == 0;
    for (size_t i = 0; ok && done && i < WEIR_TIMES_BASE; i++)
        ok = read_events(t.instance, i, &us[i]);
    ok = ok && done;
    if (ok) {
        qsort(us, WEIR_TIMES_BASE, sizeof *us, weir_times_by_size);
        x->graph_us = us[WEIR_TIMES_BASE / 2];
    }
    take_out(&t);
    if (exec)
        driver.cuGraphExecDestroy(exec);
    if (graph)
        driver.cuGraphDestroy(graph);
    forget(t.instance);
    return ok;
}

/* event_in: the stream, by the name that it has for every thread. */
static int measure_locked(int (*real)(void *, void *), void *exec, void *stream, void *event_in)
{
    const struct instance *g = *find_locked(exec);
    struct weir_times_context *x;
    int err, status = 0;
    bool done;

    if (weir_times_driver.cuStreamIsCapturing(event_in, &status) != 0 || status)
        return real(exec, stream);
    x = g ? weir_times_context_locked() : NULL;
    if (!x || (x->graph_us < 0 && !prepare(x))) {
        left++;
        return real(exec, stream);
    }
    err = launch_and_wait(real, exec, stream, event_in, &done);
    for (size_t i = 0; err == 0 && done && i < g->count; i++) {
        double us;

        if (g->nodes[i].kernel && read_events(g, i, &us))
            weir_times_add_locked(g->nodes[i].kernel, us, x->graph_us);
    }
    return err;
}

static int launch_locked(int (*real)(void *, void *), void *exec, void *stream)
{
    return measure_locked(real, exec, stream, stream);
}

/* Stream 0 is the thread's own. */
static int launch_own_locked(int (*real)(void *, void *), void *exec, void *stream)
{
    return measure_locked(real, exec, stream, stream ? stream : (void *)2);
}

/* ---- in the place of the driver's ---- */

struct instantiation {
    int (*with_flags)(void **, void *, unsigned long long);
    int (*with_params)(void **, void *, struct instantiate_params *);
    unsigned long long flags;
    struct instantiate_params *params;
};

static int instantiate_real(const struct instantiation *i, void **exec, void *graph)
{
    if (i->params)
        return i->with_params(exec, graph, i->params);
    return i->with_flags ? i->with_flags(exec, graph, i->flags) : WEIR_TIMES_NOT_FOUND;
}

static int instantiate_locked(const struct instantiation *i, void **exec, void *graph)
{
    struct timed t;
    int err;

    if (!exec || i->flags & DEVICE_LAUNCH || !put_events(graph, &t))
        return instantiate_real(i, exec, graph);
    err = instantiate_real(i, exec, graph);
    take_out(&t);
    if (err != 0) {
        forget(t.instance);
        return instantiate_real(i, exec, graph);
    }
    t.instance->exec = *exec;
    t.instance->next = instances;
    instances = t.instance;
    return err;
}

static int instantiate(const char *name, void **exec, void *graph, unsigned long long flags,
                       struct instantiate_params *params)
{
    struct instantiation i = {.flags = params ? params->flags : flags, .params = params};
    void *real = weir_times_of_driver(name);
    int mode, err;

    if (!real)
        return WEIR_TIMES_NOT_FOUND;
    if (params)
        memcpy(&i.with_params, &real, sizeof real);
    else
        memcpy(&i.with_flags, &real, sizeof real);
    if (!weir_times_begin(&mode))
        return instantiate_real(&i, exec, graph);
    err = open_driver_locked() ? instantiate_locked(&i, exec, graph)
                               : instantiate_real(&i, exec, graph);
    weir_times_end(mode);
    return err;
}

WEIR_TIMES_PUBLIC int cuGraphInstantiateWithFlags(void **exec, void *graph,
                                                  unsigned long long flags)
{
    return instantiate("cuGraphInstantiateWithFlags", exec, graph, flags, NULL);
}

/* The body of the driver's function `name`, by way of `locked`, which is given the driver's own. */
#define GUARDED(name, locked, ...)                                                                 \
    void *f = weir_times_of_driver(name);                                                          \
    int mode, err;                                                                                 \
                                                                                                   \
    if (!f)                                                                                        \
        return WEIR_TIMES_NOT_FOUND;                                                               \
    memcpy(&real, &f, sizeof f);                                                                   \
    if (!weir_times_begin(&mode))                                                                  \
        return real(__VA_ARGS__);                                                                  \
    err = locked(real, __VA_ARGS__);                                                               \
    weir_times_end(mode);                                                                          \
    return err

#define OF_STREAMS(suffix, locked)                                                                 \
    WEIR_TIMES_PUBLIC int cuGraphInstantiateWithParams##suffix(void **exec, void *graph,           \
                                                               struct instantiate_params *params)  \
    {                                                                                              \
        return instantiate("cuGraphInstantiateWithParams" #suffix, exec, graph, 0, params);        \
    }                                                                                              \
    WEIR_TIMES_PUBLIC int cuGraphLaunch##suffix(void *exec, void *stream)                          \
    {                                                                                              \
        int (*real)(void *, void *);                                                               \
                                                                                                   \
        GUARDED("cuGraphLaunch" #suffix, locked, exec, stream);                                    \
    }

OF_STREAMS(, launch_locked)
OF_STREAMS(_ptsz, launch_own_locked)

/* The instance has the events of its own graph: what comes from another has to have them, too. */
static int update_locked(int (*real)(void *, void *, void *), void *exec, void *graph, void *result)
{
    struct instance **at = find_locked(exec), *old = *at;
    struct timed t = {0};
    bool timed = old && put_events(graph, &t);
    int err = real(exec, graph, result);

    if (!timed)
        return err;
    take_out(&t);
    if (err != 0) {
        forget(t.instance);
        return err;
    }
    /* (The program still names its nodes by the first graph.) */
    for (size_t i = 0; i < old->count && i < t.instance->count; i++)
        t.instance->nodes[i].node = old->nodes[i].node;
    t.instance->exec = exec;
    t.instance->next = old->next;
    *at = t.instance;
    forget(old);
    return err;
}

WEIR_TIMES_PUBLIC int cuGraphExecUpdate_v2(void *exec, void *graph, void *result)
{
    int (*real)(void *, void *, void *);

    GUARDED("cuGraphExecUpdate_v2", update_locked, exec, graph, result);
}

static int set_locked(int (*real)(void *, void *, const struct kernel_node *), void *exec,
                      void *node, const struct kernel_node *p)
{
    const struct instance *g = *find_locked(exec);
    int err = real(exec, node, p);

    for (size_t i = 0; err == 0 && g && i < g->count; i++) {
        if (g->nodes[i].node == node)
            g->nodes[i].kernel = kernel_of(p);
    }
    return err;
}

WEIR_TIMES_PUBLIC int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node,
                                                        const struct kernel_node *p)
{
    int (*real)(void *, void *, const struct kernel_node *);

    GUARDED("cuGraphExecKernelNodeSetParams_v2", set_locked, exec, node, p);
}

static int destroy_locked(int (*real)(void *), void *exec)
{
    struct instance **at = find_locked(exec), *old = *at;
    int err = real(exec);

    if (err == 0 && old) {
        *at = old->next;
        forget(old);
    }
    return err;
}

WEIR_TIMES_PUBLIC int cuGraphExecDestroy(void *exec)
{
    int (*real)(void *);

    GUARDED("cuGraphExecDestroy", destroy_locked, exec);
}

uint64_t weir_times_graphs_left_locked(void)
{
    return left;
}

void *weir_times_graph_ours(const char *name, int version, bool per_thread)
{
    /* since: cuGraphInstantiate and others had other parameters before CUDA 12, and then have no
     * name of ours; by the symbol (version 0) those names are the old ones. */
    const struct {
        const char *name;
        int since;
        void *plain, *thread;
    } all[] = {
        {"cuGraphInstantiateWithFlags", 0, (void *)cuGraphInstantiateWithFlags, NULL},
        {"cuGraphInstantiate", 12000, (void *)cuGraphInstantiateWithFlags, NULL},
        {"cuGraphInstantiateWithParams", 0, (void *)cuGraphInstantiateWithParams,
         (void *)cuGraphInstantiateWithParams_ptsz},
        {"cuGraphInstantiateWithParams_ptsz", 0, (void *)cuGraphInstantiateWithParams_ptsz, NULL},
        {"cuGraphLaunch", 0, (void *)cuGraphLaunch, (void *)cuGraphLaunch_ptsz},
        {"cuGraphLaunch_ptsz", 0, (void *)cuGraphLaunch_ptsz, NULL},
        {"cuGraphExecUpdate", 12000, (void *)cuGraphExecUpdate_v2, NULL},
        {"cuGraphExecUpdate_v2", 0, (void *)cuGraphExecUpdate_v2, NULL},
        {"cuGraphExecKernelNodeSetParams", 12000, (void *)cuGraphExecKernelNodeSetParams_v2, NULL},
        {"cuGraphExecKernelNodeSetParams_v2", 0, (void *)cuGraphExecKernelNodeSetParams_v2, NULL},
        {"cuGraphExecDestroy", 0, (void *)cuGraphExecDestroy, NULL},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (version >= all[i].since && strcmp(name, all[i].name) == 0)
            return per_thread && all[i].thread ? all[i].thread : all[i].plain;
    }
    return NULL;
}
