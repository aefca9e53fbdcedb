/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

_Atomic bool weir_check_on;
struct checker weir_checker;

#define SETTLE_BYTES                                                                               \
    ((size_t)16 << 20) /* of marks, before the first time that old ones are let go */

static WEIR_TLS struct {
    const char *call;
    const void *site, *launch_site;
    uint32_t last_lane; /* submitted by this thread */
    weir_seq last_seq;
    bool unpromised, frees_in_order;
} here;

static const struct weir_model_memory heap = {weir_alloc_for, weir_free_for, NULL};

static void lock(void)
{
    weir_lock_acquire(&weir_checker.lock);
}

static void unlock(void)
{
    weir_lock_release(&weir_checker.lock);
}

static void actor_gone(void *ctx, struct weir_actor *a)
{
    (void)ctx;
    weir_free(a->detail);
}

void weir_check_start(bool exact)
{
    struct checker *c = &weir_checker;

    weir_lock_init(&c->lock, WEIR_RANK_CHECK);
    weir_order_init(&c->order, &heap);
    weir_shadow_init(&c->shadow, &c->order);
    c->shadow.race = weir_check_raced;
    c->shadow.gone = actor_gone;
    c->settle_at = SETTLE_BYTES;
    c->exact = exact;
    atomic_store(&weir_check_on, true);
}

bool weir_check_is_exact(void)
{
    return weir_checker.exact;
}

/* ---- where the program is ---- */

void weir_check_enter(const char *call, const void *site)
{
    here.call = call;
    here.site = site;
}

void weir_check_launch_site(const void *site)
{
    here.launch_site = site;
}

static struct weir_check_site site_now(bool launch)
{
    struct weir_check_site s = {here.call, here.site, weir_thread_id()};

    if (launch && here.launch_site) {
        s.call = "<<< >>>";
        s.address = here.launch_site;
        here.launch_site = NULL;
    }
    return s;
}

/* ---- streams and events ---- */

static uint32_t lane_of(const void *stream)
{
    return (uint32_t)(uintptr_t)weir_map_get(&weir_checker.lanes, (uintptr_t)stream);
}

static void lost(void)
{
    weir_checker.failed = true;
}

void weir_check_lost(void)
{
    lock();
    lost();
    unlock();
}

void weir_check_stream(const void *stream, uint64_t id, int device, enum weir_stream_class cls)
{
    struct checker *c = &weir_checker;
    uint32_t lane;

    lock();
    lane = lane_of(stream);
    if (!lane) {
        lane = ++c->lane_count;
        if (!weir_map_put(&c->lanes, (uintptr_t)stream, (void *)(uintptr_t)lane) ||
            !weir_vec_reserve(&c->streams, lane + 1))
            lost();
    }
    if (!c->failed) {
        while (c->streams.count <= lane)
            c->streams.items[c->streams.count++] = (struct weir_check_stream){0};
        c->streams.items[lane] = (struct weir_check_stream){id, device, cls};
        weir_order_lane_begin(&c->order, lane, device, cls);
    }
    unlock();
}

void weir_check_stream_end(const void *stream)
{
    lock();
    weir_order_lane_end(&weir_checker.order, lane_of(stream));
    unlock();
}

/* The stamp that belongs to an event or an executable graph. */
static struct weir_order_stamp *stamp_of(const void *object, bool make)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp *s = weir_map_get(&c->stamps, (uintptr_t)object);

    if (s || !make)
        return s;
    s = weir_calloc(1, sizeof *s);
    if (!s || !weir_map_put(&c->stamps, (uintptr_t)object, s)) {
        weir_free(s);
        lost();
        return NULL;
    }
    return s;
}

void weir_check_record(const void *event, const void *stream)
{
    struct weir_order_stamp *s;

    lock();
    s = stamp_of(event, true);
    if (s)
        weir_order_record(&weir_checker.order, lane_of(stream), s);
    unlock();
}

void weir_check_wait(const void *event, const void *stream)
{
    static const struct weir_order_stamp never;
    const struct weir_order_stamp *s;

    lock();
    s = stamp_of(event, false);
    weir_order_wait(&weir_checker.order, lane_of(stream), s ? s : &never, NULL);
    unlock();
}

void weir_check_event_end(const void *event)
{
    struct weir_order_stamp *s;

    lock();
    s = weir_map_remove(&weir_checker.stamps, (uintptr_t)event);
    if (s)
        weir_order_stamp_drop(&weir_checker.order, s);
    weir_free(s);
    unlock();
}

/* ---- operations ---- */

/* Takes over the stamp. */
static struct weir_actor *actor_make(struct weir_order_stamp *stamp, enum weir_op_kind kind,
                                     const char *name, struct weir_check_site site)
{
    struct checker *c = &weir_checker;
    struct weir_check_detail *d = weir_calloc(1, sizeof *d);
    struct weir_actor *a = NULL;
    uint32_t lane = stamp->lane;

    if (d)
        a = weir_actor_create(&c->shadow, stamp);
    else
        weir_order_stamp_drop(&c->order, stamp);
    if (!a) {
        weir_free(d);
        lost();
        return NULL;
    }
    *d = (struct weir_check_detail){.kind = kind, .name = name, .lane = lane, .site = site};
    a->detail = d;
    return a;
}

static void op_add(const void *op, struct weir_order_stamp *stamp, enum weir_op_kind kind,
                   const char *name)
{
    struct checker *c = &weir_checker;
    struct weir_actor *a;

    here.last_lane = stamp->lane;
    here.last_seq = stamp->seq;
    a = actor_make(stamp, kind, name, site_now(kind == WEIR_OP_KERNEL));
    /* (One that never ran, because its context had failed, leaves its place.) */
    weir_actor_drop(&c->shadow, weir_map_remove(&c->ops, (uintptr_t)op));
    if (a && !weir_map_put(&c->ops, (uintptr_t)op, a)) {
        weir_actor_drop(&c->shadow, a);
        lost();
    }
}

void weir_check_op(const void *op, const void *stream, enum weir_op_kind kind, const char *name,
                   const void *behind)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp stamp, *last = NULL;

    lock();
    if (behind)
        last = stamp_of(behind, true);
    weir_order_submit_after(&c->order, lane_of(stream), last, last != NULL, &stamp);
    if (last) {
        weir_order_stamp_drop(&c->order, last);
        weir_order_stamp_copy(last, &stamp);
    }
    op_add(op, &stamp, kind, name);
    unlock();
}

void weir_check_op_peer(const void *op, const void *stream, const void *other)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp stamp;

    lock();
    weir_order_submit_peer(&c->order, lane_of(stream), lane_of(other), &stamp);
    op_add(op, &stamp, WEIR_OP_COPY, NULL);
    unlock();
}

struct weir_actor *weir_check_actor(const void *op)
{
    struct weir_actor *a;

    lock();
    a = weir_map_get(&weir_checker.ops, (uintptr_t)op);
    unlock();
    return a;
}

static struct weir_reach *reach_of(const void *plan, struct weir_reach *(*order)(const void *arg),
                                   const void *arg)
{
    struct checker *c = &weir_checker;
    struct weir_reach *r = weir_map_get(&c->plans, (uintptr_t)plan);

    if (r)
        return r;
    r = order(arg);
    if (r && weir_map_put(&c->plans, (uintptr_t)plan, r)) {
        r->refs = 1;
        return r;
    }
    weir_free(r);
    lost();
    return NULL;
}

struct weir_actor *weir_check_node(const void *op, const void *plan, uint32_t node,
                                   enum weir_op_kind kind, const char *name,
                                   struct weir_reach *(*order)(const void *arg), const void *arg)
{
    struct checker *c = &weir_checker;
    struct weir_actor *launch, *a = NULL;
    struct weir_order_stamp stamp;
    struct weir_reach *r;

    lock();
    launch = weir_map_get(&c->ops, (uintptr_t)op);
    r = launch ? reach_of(plan, order, arg) : NULL;
    if (r) {
        weir_order_stamp_copy(&stamp, &launch->stamp);
        a = actor_make(&stamp, kind, name, ((struct weir_check_detail *)launch->detail)->site);
    }
    if (a) {
        a->reach = r;
        r->refs++;
        a->node = node;
    }
    unlock();
    return a;
}

void weir_check_node_end(struct weir_actor *a)
{
    lock();
    weir_actor_drop(&weir_checker.shadow, a);
    unlock();
}

void weir_check_plan_end(const void *plan)
{
    struct weir_reach *r;

    lock();
    r = weir_map_remove(&weir_checker.plans, (uintptr_t)plan);
    if (r && --r->refs == 0)
        weir_free(r);
    unlock();
}

void weir_check_access(struct weir_actor *a, enum weir_access kind,
                       const struct weir_check_range *r)
{
    lock();
    for (size_t z = 0; a && z < r->depth; z++)
        weir_shadow_access_rows(&weir_checker.shadow, a, kind, r->begin + z * r->slice, r->width,
                                r->height, r->pitch);
    unlock();
}

void weir_check_access_pages(struct weir_actor *a,
                             bool (*next)(void *ctx, struct weir_check_page *page), void *ctx)
{
    struct weir_check_page page;

    lock();
    while (a && next(ctx, &page))
        weir_shadow_access_bits(&weir_checker.shadow, a, page.kind, page.number, page.bits);
    unlock();
}

/* Marks of what the host knew when everything that now runs was not yet submitted can go. */
static void settle_locked(struct checker *c)
{
    if (c->shadow.bytes < c->settle_at || c->ops.count > 0)
        return;
    if (c->order.host)
        weir_shadow_settle(&c->shadow, c->order.host);
    c->settle_at = WEIR_MAX(SETTLE_BYTES, c->shadow.bytes * 2);
}

void weir_check_op_done(const void *op)
{
    struct checker *c = &weir_checker;

    lock();
    weir_actor_drop(&c->shadow, weir_map_remove(&c->ops, (uintptr_t)op));
    settle_locked(c);
    unlock();
}

/* ---- the host ---- */

void weir_check_unpromised(bool on)
{
    here.unpromised = on;
}

void weir_check_host_func(const void *op)
{
    struct checker *c = &weir_checker;
    const struct weir_actor *a;

    lock();
    a = weir_map_get(&c->ops, (uintptr_t)op);
    if (a)
        weir_order_host_saw_before(&c->order, &a->stamp);
    unlock();
}

void weir_check_host_func_call(void)
{
    lock();
    weir_check_misused(site_now(false));
    unlock();
}

void weir_check_promised(void)
{
    here.unpromised = false;
}

void weir_check_host_saw_event(const void *event)
{
    const struct weir_order_stamp *s;

    if (here.unpromised)
        return;
    lock();
    s = stamp_of(event, false);
    if (s)
        weir_order_host_saw(&weir_checker.order, s);
    unlock();
}

void weir_check_host_saw_stream(const void *stream)
{
    if (here.unpromised)
        return;
    lock();
    weir_order_host_saw_lane(&weir_checker.order, lane_of(stream));
    unlock();
}

struct weir_clock *weir_check_sync_begin(const void *stream, int device)
{
    struct weir_order *o = &weir_checker.order;
    struct weir_clock *c;

    lock();
    c = stream ? weir_order_lane_clock(o, lane_of(stream)) : weir_order_device_clock(o, device);
    unlock();
    return c;
}

void weir_check_sync_end(struct weir_clock *c, bool over)
{
    lock();
    if (over && !here.unpromised)
        weir_order_host_saw_clock(&weir_checker.order, c);
    weir_order_clock_drop(&weir_checker.order, c);
    unlock();
}

void weir_check_host_saw_last(void)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp s = {here.last_lane, here.last_seq, NULL};

    lock();
    if (s.lane && s.lane < c->order.lane_count) {
        /* The lane's clock is that operation's, or of a later one of another thread, which the host
         * may think it has seen: a race missed, never one invented. */
        s.base = c->order.lanes[s.lane].base;
        weir_order_host_saw(&c->order, &s);
    }
    unlock();
}

/* ---- memory ---- */

void weir_check_alloc(const void *p, size_t bytes, const char *kind)
{
    struct checker *c = &weir_checker;
    struct weir_check_block *b = weir_calloc(1, sizeof *b), *old;

    lock();
    if (b) {
        *b = (struct weir_check_block){
            .begin = (uintptr_t)p, .bytes = bytes, .kind = kind, .site = site_now(false)};
        old = weir_map_remove(&c->blocks, (uintptr_t)p);
        weir_free(old);
        if (!weir_map_put(&c->blocks, (uintptr_t)p, b)) {
            weir_free(b);
            lost();
        }
    } else {
        lost();
    }
    unlock();
}

void weir_check_free(const void *p, size_t bytes, bool judged)
{
    struct checker *c = &weir_checker;

    lock();
    if (judged && !here.frees_in_order)
        weir_check_freed(p, bytes, site_now(false));
    weir_shadow_forget(&c->shadow, (uintptr_t)p, (uintptr_t)p + bytes);
    weir_free(weir_map_remove(&c->blocks, (uintptr_t)p));
    unlock();
}

void weir_check_frees_in_order(bool on)
{
    here.frees_in_order = on;
}

struct collected {
    struct weir_order *order;
    struct weir_clock *clock;
};

static bool collect(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                    uintptr_t end)
{
    struct collected *c = ctx;

    (void)kind;
    (void)begin;
    (void)end;
    weir_order_clock_add(c->order, &c->clock, &a->stamp);
    return true;
}

/* An operation that stands in the stream and writes all of the memory at once. */
static void pool_access_locked(const void *stream, enum weir_op_kind kind, struct weir_clock *after,
                               const void *p, size_t bytes)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp stamp, behind = {0};
    struct weir_actor *a;

    behind.base = after;
    weir_order_submit_after(&c->order, lane_of(stream), &behind, after != NULL, &stamp);
    a = actor_make(&stamp, kind, NULL, site_now(false));
    if (!a)
        return;
    a->early = true;
    weir_shadow_access(&c->shadow, a, WEIR_ACCESS_WRITE, (uintptr_t)p, (uintptr_t)p + bytes);
    weir_actor_drop(&c->shadow, a);
}

void weir_check_alloc_async(const void *stream, const void *p, size_t bytes)
{
    struct collected all = {.order = &weir_checker.order};

    weir_check_alloc(p, bytes, "device memory");
    lock();
    weir_shadow_unfinished(&weir_checker.shadow, (uintptr_t)p, (uintptr_t)p + bytes, collect, &all);
    pool_access_locked(stream, WEIR_OP_ALLOC, all.clock, p, bytes);
    weir_order_clock_drop(&weir_checker.order, all.clock);
    unlock();
}

void weir_check_free_async(const void *stream, const void *p, size_t bytes)
{
    lock();
    pool_access_locked(stream, WEIR_OP_FREE, NULL, p, bytes);
    unlock();
}

size_t weir_check_finish(void)
{
    if (!atomic_exchange(&weir_check_on, false))
        return 0;
    return weir_check_report();
}
