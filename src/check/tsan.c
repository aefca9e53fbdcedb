/* SPDX-License-Identifier: Apache-2.0 */
#include "check/tsan.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/tsan.h"
#include "base/vec.h"

/* Functions of a lane that have ended. Who asks for an older one gets the oldest of these. */
#define KEPT 64

/* The sanitizer keeps a clock for an address; these are such addresses. */
struct node {
    struct node *next;
    uint32_t number;
    uint64_t done;
};

/* A host function, or a launch of a graph with some inside. */
struct func {
    struct weir_order_stamp stamp;
    uint64_t submitted, done;
    bool over;
    bool untold; /* the program may order it by a value in memory, which is not seen */
    struct node *nodes;
};

struct lane {
    WEIR_VEC(struct func *) funcs; /* in order; funcs without nodes are taken out when they end */
    WEIR_VEC(weir_seq) polls; /* waits for values in memory that no host wait has covered yet */
    bool pruned;
};

/* Of the process, as the sanitizer is. */
static struct {
    struct weir_lock lock;
    struct weir_order order;
    WEIR_VEC(struct lane) lanes; /* by lane; [0] is not used */
    struct weir_map numbers;     /* stream -> lane */
    struct weir_map events;      /* event, executable graph -> struct weir_order_stamp * */
    struct weir_map ops;         /* operation -> struct func * */
    struct weir_map plans;       /* -> struct weir_reach * */
    bool failed;                 /* no memory: no function is shown any more */
} tsan;

static WEIR_TLS struct {
    uint32_t lane;
    weir_seq seq;
} last; /* that the thread has submitted */

static const struct weir_model_memory heap = {weir_alloc_for, weir_free_for, NULL};

bool weir_tsan_start(void)
{
    if (!weir_tsan_is_here())
        return false;
    weir_lock_init(&tsan.lock, WEIR_RANK_CHECK);
    weir_order_init(&tsan.order, &heap);
    return true;
}

static void lock(void)
{
    weir_lock_acquire(&tsan.lock);
}

static void unlock(void)
{
    weir_lock_release(&tsan.lock);
}

static bool failed(void)
{
    return tsan.failed || tsan.order.failed;
}

/* ---- streams and events ---- */

static uint32_t lane_of(const void *stream)
{
    return (uint32_t)(uintptr_t)weir_map_get(&tsan.numbers, (uintptr_t)stream);
}

/* 0: no memory. */
static uint32_t lane_make(const void *stream)
{
    uint32_t lane = lane_of(stream), fresh = tsan.lanes.count ? (uint32_t)tsan.lanes.count : 1;

    if (lane)
        return lane;
    if (!weir_vec_reserve(&tsan.lanes, fresh + 1) ||
        !weir_map_put(&tsan.numbers, (uintptr_t)stream, (void *)(uintptr_t)fresh))
        return 0;
    while (tsan.lanes.count <= fresh)
        tsan.lanes.items[tsan.lanes.count++] = (struct lane){0};
    return fresh;
}

void weir_tsan_stream(const void *stream, int device, enum weir_stream_class cls)
{
    uint32_t lane;

    lock();
    lane = lane_make(stream);
    if (lane)
        weir_order_lane_begin(&tsan.order, lane, device, cls);
    else
        tsan.failed = true;
    unlock();
}

void weir_tsan_stream_end(const void *stream)
{
    lock();
    weir_order_lane_end(&tsan.order, lane_of(stream));
    unlock();
}

/* NULL: no memory. */
static struct weir_order_stamp *stamp_of(const void *object)
{
    struct weir_order_stamp *s = weir_map_get(&tsan.events, (uintptr_t)object);

    if (s)
        return s;
    s = weir_calloc(1, sizeof *s);
    if (s && weir_map_put(&tsan.events, (uintptr_t)object, s))
        return s;
    weir_free(s);
    tsan.failed = true;
    return NULL;
}

void weir_tsan_record(const void *event, const void *stream)
{
    struct weir_order_stamp *s;

    lock();
    s = stamp_of(event);
    if (s)
        weir_order_record(&tsan.order, lane_of(stream), true, s);
    unlock();
}

void weir_tsan_wait(const void *event, const void *stream)
{
    static const struct weir_order_stamp never;
    const struct weir_order_stamp *s;

    lock();
    s = weir_map_get(&tsan.events, (uintptr_t)event);
    weir_order_wait(&tsan.order, lane_of(stream), s ? s : &never, NULL);
    unlock();
}

void weir_tsan_event_end(const void *event)
{
    struct weir_order_stamp *s;

    lock();
    s = weir_map_remove(&tsan.events, (uintptr_t)event);
    if (s)
        weir_order_stamp_drop(&tsan.order, s);
    weir_free(s);
    unlock();
}

/* ---- operations ---- */

static void func_free(struct func *f)
{
    struct node *n = f->nodes;

    while (n) {
        struct node *next = n->next;

        weir_free(n);
        n = next;
    }
    weir_order_stamp_drop(&tsan.order, &f->stamp);
    weir_free(f);
}

static bool has_poll(uint32_t lane, weir_seq seq)
{
    const struct lane *l = &tsan.lanes.items[lane];

    return l->polls.count && l->polls.items[0] <= seq;
}

static bool follows_poll(const struct weir_order_stamp *s)
{
    if (has_poll(s->lane, s->seq))
        return true;
    for (uint32_t i = 1; s->base && i < s->base->count && i < tsan.lanes.count; i++) {
        if (has_poll(i, s->base->at[i]))
            return true;
    }
    return false;
}

/* What the calling thread has done is before it. Takes over the stamp. */
static void func_add(const void *op, struct weir_order_stamp *stamp)
{
    struct lane *lane = &tsan.lanes.items[stamp->lane];
    struct func *f = weir_calloc(1, sizeof *f);

    if (!f || !weir_vec_reserve(&lane->funcs, lane->funcs.count + 1) ||
        !weir_map_put(&tsan.ops, (uintptr_t)op, f)) {
        weir_free(f);
        weir_order_stamp_drop(&tsan.order, stamp);
        tsan.failed = true;
        return;
    }
    f->stamp = *stamp;
    f->untold = follows_poll(stamp);
    lane->funcs.items[lane->funcs.count++] = f;
    weir_tsan_release(&f->submitted);
}

static void submitted(const void *op, enum weir_op_kind kind, struct weir_order_stamp *stamp)
{
    if (!stamp->lane)
        return;
    last.lane = stamp->lane;
    last.seq = stamp->seq;
    if (kind == WEIR_OP_HOST_FUNC || kind == WEIR_OP_CALLBACK || kind == WEIR_OP_GRAPH) {
        func_add(op, stamp);
        return;
    }
    if (kind == WEIR_OP_POLL && !weir_vec_push(&tsan.lanes.items[stamp->lane].polls, stamp->seq))
        tsan.failed = true;
    weir_order_stamp_drop(&tsan.order, stamp);
}

void weir_tsan_op(const void *op, const void *stream, enum weir_op_kind kind, const void *behind)
{
    struct weir_order_stamp stamp, *before;

    lock();
    before = behind ? stamp_of(behind) : NULL;
    weir_order_submit_after(&tsan.order, lane_of(stream), before, before != NULL, &stamp);
    if (before) {
        weir_order_stamp_drop(&tsan.order, before);
        weir_order_stamp_copy(before, &stamp);
    }
    submitted(op, kind, &stamp);
    unlock();
}

void weir_tsan_op_peer(const void *stream, const void *other)
{
    struct weir_order_stamp stamp;

    lock();
    weir_order_submit_peer(&tsan.order, lane_of(stream), lane_of(other), &stamp);
    submitted(NULL, WEIR_OP_COPY, &stamp);
    unlock();
}

static void take_out(struct lane *l, size_t i)
{
    func_free(l->funcs.items[i]);
    l->funcs.count--;
    for (; i < l->funcs.count; i++)
        l->funcs.items[i] = l->funcs.items[i + 1];
}

void weir_tsan_op_done(const void *op)
{
    struct func *f;
    struct lane *l;

    lock();
    f = weir_map_remove(&tsan.ops, (uintptr_t)op);
    l = f ? &tsan.lanes.items[f->stamp.lane] : NULL;
    if (f)
        f->over = true;
    /* The next one is after it, and has all that is known of it once it has ended. */
    while (l && l->funcs.count > KEPT && l->funcs.items[0]->over && l->funcs.items[1]->over) {
        take_out(l, 0);
        l->pruned = true;
    }
    unlock();
}

void weir_tsan_plan_end(const void *plan)
{
    lock();
    weir_free(weir_map_remove(&tsan.plans, (uintptr_t)plan));
    unlock();
}

/* ---- who comes after whom ---- */

/* The calling thread comes after the lane's functions up to seq. */
static void acquire_lane(uint32_t lane, weir_seq seq)
{
    const struct lane *l = &tsan.lanes.items[lane];
    size_t i = l->funcs.count;

    while (i && l->funcs.items[i - 1]->stamp.seq > seq)
        i--;
    if (i)
        weir_tsan_acquire(&l->funcs.items[i - 1]->done);
    else if (l->pruned && l->funcs.count && l->funcs.items[0]->over)
        weir_tsan_acquire(&l->funcs.items[0]->done);
}

static void acquire_clock(const struct weir_clock *c)
{
    for (uint32_t i = 1; c && i < c->count && i < tsan.lanes.count; i++) {
        if (c->at[i])
            acquire_lane(i, c->at[i]);
    }
}

static void acquire_stamp(const struct weir_order_stamp *s)
{
    acquire_clock(s->base);
    if (s->lane && s->seq)
        acquire_lane(s->lane, s->seq);
}

/* ---- functions ---- */

static struct weir_reach *reach_of(const struct weir_check_node *node)
{
    struct weir_reach *r = weir_map_get(&tsan.plans, (uintptr_t)node->plan);

    if (r)
        return r;
    r = node->order(node->arg);
    if (r && weir_map_put(&tsan.plans, (uintptr_t)node->plan, r))
        return r;
    weir_free(r);
    tsan.failed = true;
    return NULL;
}

static struct node *node_of(struct func *f, uint32_t number)
{
    struct node *n = f->nodes;

    while (n && n->number != number)
        n = n->next;
    if (n)
        return n;
    n = weir_calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->number = number;
    n->next = f->nodes;
    f->nodes = n;
    return n;
}

static void acquire_nodes(const struct func *f, const struct weir_reach *r, const struct node *n)
{
    for (struct node *m = f->nodes; m; m = m->next) {
        if (m == n || weir_reach_has(r, m->number, n->number))
            weir_tsan_acquire(&m->done);
    }
}

/* False: too little is known of it, and its accesses are not to be seen. */
static bool find(struct weir_check_func *call, const void *op, const struct weir_check_node *node)
{
    struct func *f = weir_map_get(&tsan.ops, (uintptr_t)op);

    if (!f || f->untold || failed())
        return false;
    call->func = f;
    if (!node)
        return true;
    call->reach = reach_of(node);
    call->node = call->reach ? node_of(f, node->number) : NULL;
    return call->node != NULL;
}

void weir_tsan_func_begin(struct weir_check_func *call, const void *op,
                          const struct weir_check_node *node)
{
    struct weir_order_stamp before;
    const struct func *f;
    bool found;

    lock();
    found = find(call, op, node);
    unlock();
    call->shown = found && weir_tsan_other_begin();
    if (!call->shown)
        return;
    lock();
    f = call->func;
    weir_tsan_acquire(&call->func->submitted);
    before = f->stamp;
    before.seq--;
    acquire_stamp(&before);
    if (node)
        acquire_nodes(f, call->reach, call->node);
    unlock();
}

void weir_tsan_func_end(struct weir_check_func *call)
{
    if (!call->shown)
        return;
    weir_tsan_release(&call->func->done);
    if (call->node)
        weir_tsan_release(&call->node->done);
    weir_tsan_other_end();
}

/* ---- the host ---- */

struct weir_clock *weir_tsan_sync_begin(const void *stream, int device)
{
    struct weir_clock *c;

    lock();
    c = stream ? weir_order_lane_clock(&tsan.order, lane_of(stream))
               : weir_order_device_clock(&tsan.order, device);
    unlock();
    return c;
}

/* What was waited for has ended: also waits for values in memory. */
static void polls_seen(const struct weir_clock *c)
{
    for (uint32_t i = 1; c && i < c->count && i < tsan.lanes.count; i++) {
        struct lane *l = &tsan.lanes.items[i];
        size_t kept = 0;

        for (size_t k = 0; k < l->polls.count; k++) {
            if (l->polls.items[k] > c->at[i])
                l->polls.items[kept++] = l->polls.items[k];
        }
        l->polls.count = kept;
    }
}

void weir_tsan_sync_end(struct weir_clock *c, bool over)
{
    lock();
    if (over) {
        polls_seen(c);
        acquire_clock(c);
    }
    weir_order_clock_drop(&tsan.order, c);
    unlock();
}

struct weir_clock *weir_tsan_event_sync_begin(const void *event)
{
    const struct weir_order_stamp *s;
    struct weir_clock *c = NULL;

    lock();
    s = weir_map_get(&tsan.events, (uintptr_t)event);
    if (s)
        weir_order_clock_add(&tsan.order, &c, s);
    unlock();
    return c;
}

void weir_tsan_saw_event(const void *event)
{
    weir_tsan_sync_end(weir_tsan_event_sync_begin(event), true);
}

void weir_tsan_saw_stream(const void *stream)
{
    weir_tsan_sync_end(weir_tsan_sync_begin(stream, 0), true);
}

void weir_tsan_saw_last(void)
{
    struct weir_order_stamp s = {.lane = last.lane, .seq = last.seq};
    struct weir_clock *c = NULL;

    lock();
    if (s.lane && s.lane < tsan.order.lane_count) {
        s.base = tsan.order.lanes[s.lane].base; /* or a later one's: see weir_check_host_saw_last */
        weir_order_clock_add(&tsan.order, &c, &s);
    }
    unlock();
    weir_tsan_sync_end(c, true);
}
