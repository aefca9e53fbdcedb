/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check_int.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "check/tally.h"
#include "check/tsan.h"

_Atomic unsigned weir_check_on;
struct checker weir_checker;

#define SETTLE_BYTES                                                                               \
    ((size_t)16 << 20) /* of marks, before the first time that old ones are let go */

WEIR_TLS struct weir_check_here weir_check_here;
#define here weir_check_here

static const struct weir_model_memory heap = {weir_alloc_for, weir_free_for, NULL};

void weir_check_start(bool exact)
{
    struct checker *c = &weir_checker;

    weir_lock_init(&c->lock, WEIR_RANK_CHECK);
    weir_check_over_init();
    weir_order_init(&c->order, &heap);
    weir_shadow_init(&c->shadow, &c->order);
    c->shadow.race = weir_check_raced;
    c->shadow.detail_bytes = sizeof(struct weir_check_detail);
    c->shadow.met = weir_check_met;
    while (c->streams.count <= WEIR_CHECK_HOST_LANE && !c->failed)
        c->failed = !weir_vec_push(&c->streams, (struct weir_check_stream){0});
    weir_order_lane_begin(&c->order, WEIR_CHECK_HOST_LANE, WEIR_MODEL_MAX_DEVICES,
                          WEIR_STREAM_NONBLOCKING);
    c->settle_at = SETTLE_BYTES;
    c->exact = exact;
    c->waits = weir_calloc(WEIR_CHECK_WAITS, sizeof *c->waits);
    if (!c->waits)
        return;
    weir_check_settings_read(&c->settings);
    weir_tally_open();
    atomic_fetch_or(&weir_check_on, WEIR_CHECK_JUDGES);
}

bool weir_check_tell_start(void)
{
    if (!weir_tsan_start())
        return false;
    atomic_fetch_or(&weir_check_on, WEIR_CHECK_TELLS);
    return true;
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
    here.frame = __builtin_frame_address(0);
    if (WEIR_UNLIKELY(weir_checker.settings.forbidden))
        weir_check_forbidden_call();
}

void weir_check_launch_site(const void *site)
{
    here.launch = weir_check_stack_take(site, __builtin_frame_address(0));
}

struct weir_check_site weir_check_site_now(bool launch)
{
    struct weir_check_site s = {.call = here.call, .thread = weir_thread_id()};

    if (launch && here.launch) {
        s.call = "<<< >>>";
        s.stack = here.launch;
        here.launch = NULL;
        here.launches++;
    } else if (here.site) {
        s.stack = weir_check_stack_take(here.site, here.frame);
        s.address = here.site;
    }
    if (s.stack)
        s.address = s.stack->frames[0].address;
    return s;
}

/* ---- streams and events ---- */

uint32_t weir_check_lane_of_locked(const void *stream)
{
    struct weir_check_known *k = &weir_checker.known;
    size_t i = ((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 9) % WEIR_CHECK_KNOWN;

    if (WEIR_UNLIKELY(k->lanes[i].stream != stream || !k->lanes[i].lane)) {
        k->lanes[i].stream = stream;
        k->lanes[i].lane =
            (uint32_t)(uintptr_t)weir_map_get(&weir_checker.lanes, (uintptr_t)stream);
    }
    return k->lanes[i].lane;
}

void weir_check_lost(void)
{
    weir_check_lock();
    weir_check_lost_locked();
    weir_check_unlock();
}

static void stream_begin(const void *stream, uint64_t id, int device, enum weir_stream_class cls)
{
    struct checker *c = &weir_checker;
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_stream *l;
    uint32_t lane;

    weir_check_lock();
    lane = weir_check_lane_of_locked(stream);
    if (!lane) {
        lane = WEIR_CHECK_HOST_LANE + ++c->lane_count;
        if (!weir_map_put(&c->lanes, (uintptr_t)stream, (void *)(uintptr_t)lane) ||
            !weir_vec_reserve(&c->streams, lane + 1))
            weir_check_lost_locked();
    }
    weir_check_may_block_locked(device, &at);
    if (!c->failed) {
        while (c->streams.count <= lane)
            c->streams.items[c->streams.count++] = (struct weir_check_stream){0};
        l = &c->streams.items[lane]; /* what the slot's last stream left may still run */
        l->id = id;
        l->device = device;
        l->cls = cls;
        l->thread = at.thread;
        if (c->settings.without_legacy && cls == WEIR_STREAM_BLOCKING)
            cls = WEIR_STREAM_NONBLOCKING;
        weir_order_lane_begin(&c->order, lane, device, cls);
    }
    if (cls == WEIR_STREAM_BLOCKING || cls == WEIR_STREAM_NONBLOCKING)
        weir_check_object_locked(stream, "stream", at);
    if (c->streams.count > lane && c->streams.items[lane].cls == WEIR_STREAM_BLOCKING &&
        weir_check_is_forbidden(WEIR_POLICY_BLOCKING_STREAM))
        weir_check_forbidden_locked(WEIR_POLICY_BLOCKING_STREAM, at, NULL);
    weir_check_unlock();
}

void weir_check_stream(const void *stream, uint64_t id, int device, enum weir_stream_class cls)
{
    if (weir_check_tells())
        weir_tsan_stream(stream, device, cls);
    if (weir_check_enabled())
        stream_begin(stream, id, device, cls);
}

void weir_check_stream_end(const void *stream)
{
    struct weir_check_site at;

    if (weir_check_tells())
        weir_tsan_stream_end(stream);
    if (!weir_check_enabled())
        return;
    at = weir_check_site_now(false);

    weir_check_lock();
    weir_check_object_end_locked(stream, at);
    weir_order_lane_end(&weir_checker.order, weir_check_lane_of_locked(stream));
    weir_check_unlock();
}

/* What belongs to an event or an executable graph. */
struct weir_check_event *weir_check_event_of_locked(const void *object, bool make)
{
    struct checker *c = &weir_checker;
    struct weir_check_event *e;

    if (c->known.event && c->known.object == object)
        return c->known.event;
    e = weir_map_get(&c->events, (uintptr_t)object);
    if (!e && make) {
        e = weir_calloc(1, sizeof *e);
        if (!e || !weir_map_put(&c->events, (uintptr_t)object, e)) {
            weir_free(e);
            weir_check_lost_locked();
            return NULL;
        }
    }
    c->known.object = object;
    c->known.event = e;
    return e;
}

void weir_check_record(const void *event, const void *stream, bool between)
{
    struct weir_order *o = &weir_checker.order;
    struct weir_order_stamp old;
    struct weir_check_site at;
    struct weir_check_event *e;

    if (weir_check_tells())
        weir_tsan_record(event, stream);
    if (!weir_check_enabled())
        return;
    at = weir_check_site_now(false);
    weir_check_lock();
    e = weir_check_event_of_locked(event, true);
    if (e) {
        old = e->stamp;
        e->stamp = (struct weir_order_stamp){0};
        weir_order_record(o, weir_check_lane_of_locked(stream), between, &e->stamp);
        weir_check_recorded(e, &old, at);
        weir_order_stamp_drop(o, &old);
    }
    weir_check_unlock();
}

void weir_check_wait(const void *event, const void *stream)
{
    static const struct weir_order_stamp never;
    struct weir_check_site at;
    struct weir_check_event *e;
    uint32_t lane;

    if (weir_check_tells())
        weir_tsan_wait(event, stream);
    if (!weir_check_enabled())
        return;
    at = weir_check_site_now(false);
    weir_check_lock();
    e = weir_check_event_of_locked(event, true);
    lane = weir_check_lane_of_locked(stream);
    weir_check_waited(event, e, lane, false, at);
    weir_order_wait(&weir_checker.order, lane, e ? &e->stamp : &never, NULL);
    weir_check_unlock();
}

void weir_check_value_written(uint64_t address, uint64_t value, const void *stream, bool told)
{
    struct weir_check_event *e;

    weir_check_lock();
    e = weir_check_event_of_locked((const void *)(uintptr_t)address, true);
    if (e) {
        weir_order_record(&weir_checker.order, weir_check_lane_of_locked(stream), true, &e->stamp);
        e->value = value;
    }
    if (e && told)
        weir_check_met_stamp(&e->stamp);
    weir_check_unlock();
}

bool weir_check_value_last(uint64_t address, uint64_t *value)
{
    const struct weir_check_event *e;

    weir_check_lock();
    e = weir_check_event_of_locked((const void *)(uintptr_t)address, false);
    *value = e ? e->value : 0;
    weir_check_unlock();
    return e != NULL;
}

void weir_check_value_awaited(uint64_t address, const void *stream, bool known)
{
    struct weir_check_event *e;

    weir_check_lock();
    e = weir_check_event_of_locked((const void *)(uintptr_t)address, false);
    if (e)
        weir_order_wait(&weir_checker.order, weir_check_lane_of_locked(stream), &e->stamp, NULL);
    if (!known)
        weir_order_wait_open(&weir_checker.order, weir_check_lane_of_locked(stream));
    weir_check_unlock();
}

void weir_check_foreign(const void *stream, int device)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_FOREIGN,
        .a = weir_check_side_call(at, "the wait"),
        .why = {.format = "another process has recorded the event, and what that process has "
                          "waited for nobody here knows: what is behind this wait is in no race "
                          "with what may be in front of it"},
        .change = {.format = "nothing; for a verdict, check what the processes do in one of them"},
    };
    struct weir_check_sync all;

    if (!stream) {
        all = weir_check_sync_begin(NULL, device);
        weir_check_sync_end(&all, true);
    }
    weir_check_lock();
    if (stream)
        weir_order_wait_open(&weir_checker.order, weir_check_lane_of_locked(stream));
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

void weir_check_event_end(const void *event)
{
    struct weir_check_event *e;

    if (weir_check_tells())
        weir_tsan_event_end(event);
    if (!weir_check_enabled())
        return;
    weir_check_lock();
    e = weir_map_remove(&weir_checker.events, (uintptr_t)event);
    if (weir_checker.known.object == event)
        weir_checker.known.event = NULL;
    if (e) {
        weir_check_event_gone(e);
        weir_order_stamp_drop(&weir_checker.order, &e->stamp);
        weir_order_stamp_drop(&weir_checker.order, &e->lost);
    }
    weir_free(e);
    weir_check_unlock();
}

/* ---- operations ---- */

static struct weir_check_detail detail_of(enum weir_op_kind kind, const char *name, uint32_t lane,
                                          uint64_t number, struct weir_check_site site)
{
    return (struct weir_check_detail){
        .kind = kind, .name = name, .lane = lane, .number = number, .site = site};
}

/* Takes over the stamp. */
struct weir_actor *weir_check_actor_make_locked(struct weir_order_stamp *stamp,
                                                enum weir_op_kind kind, const char *name,
                                                uint64_t number, struct weir_check_site site)
{
    struct checker *c = &weir_checker;
    uint32_t lane = stamp->lane;
    struct weir_actor *a = weir_actor_create(&c->shadow, stamp);

    if (!a) {
        weir_check_lost_locked();
        return NULL;
    }
    *(struct weir_check_detail *)a->detail = detail_of(kind, name, lane, number, site);
    return a;
}

struct weir_order_stamp weir_check_stamp_peek(const struct weir_check_op *op)
{
    return op->made ? op->actor->stamp
                    : (struct weir_order_stamp){op->lane, op->seq, op->seq - 1, op->base};
}

struct weir_check_site weir_check_op_site(const struct weir_check_op *op)
{
    return (struct weir_check_site){.call = op->call,
                                    .address = op->stack ? op->stack->frames[0].address : NULL,
                                    .stack = op->stack,
                                    .thread = op->thread};
}

/* Most operations never need one: kernels that touch nothing, functions of the host, launches of
 * graphs. */
struct weir_actor *weir_check_actor_locked(struct weir_check_op *op)
{
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    if (op->made || !op->lane)
        return op->lane ? op->actor : NULL;
    stamp = weir_check_stamp_peek(op);
    a = weir_check_actor_make_locked(&stamp, (enum weir_op_kind)op->kind, op->name, op->number,
                                     weir_check_op_site(op));
    op->base = NULL;
    if (a) {
        op->made = true;
        op->actor = a;
    }
    return a;
}

static void op_actor_drop(struct weir_actor *a)
{
    struct checker *c = &weir_checker;
    struct weir_check_detail *d = a->detail;

    if (WEIR_UNLIKELY(d->events != NULL)) {
        weir_check_events_drop(d->events);
        d->events = NULL;
        c->parted--;
    }
    if (d->early) {
        weir_actor_drop(&c->shadow, d->early);
        d->early = NULL;
    }
    weir_actor_drop(&c->shadow, a);
}

/* Nothing that it touches will be told any more. */
static void all_told_locked(const struct weir_check_op *op)
{
    struct weir_check_stream *l = &weir_checker.streams.items[op->lane];

    weir_checker.pending--;
    l->pending--;
    if (op->kind != WEIR_OP_POLL) /* over at once, though what is in front of it may not be */
        l->done = WEIR_MAX(l->done, op->seq);
}

void weir_check_op_over_locked(struct weir_check_op *op)
{
    struct checker *c = &weir_checker;

    if (!op->lane)
        return;
    if (!op->told)
        all_told_locked(op);
    if (WEIR_UNLIKELY(op->gate))
        weir_check_gate_remove(op);
    if (WEIR_UNLIKELY(op->watched))
        weir_map_remove(&c->ops, (uintptr_t)op);
    if (op->made)
        op_actor_drop(op->actor);
    else
        weir_order_clock_drop(&c->order, op->base);
    op->lane = 0;
    op->made = false;
    op->base = NULL;
}

/* What is seldom asked for: what a project forbids, captures. */
static WEIR_NOINLINE void op_judge(struct weir_check_op *op)
{
    struct checker *c = &weir_checker;
    struct weir_actor *a = weir_check_actor_locked(op);

    if (!a)
        return;
    if (c->captures.count)
        weir_check_not_captured_locked(a);
    if (weir_check_is_forbidden(WEIR_POLICY_DEFAULT_STREAM) &&
        c->streams.items[op->lane].cls == WEIR_STREAM_LEGACY) {
        const struct weir_check_side side = weir_check_side_of(a, WEIR_ACCESS_READ);

        weir_check_forbidden_locked(WEIR_POLICY_DEFAULT_STREAM, weir_check_op_site(op), &side);
    }
}

/* Takes over the stamp. */
void weir_check_op_add_locked(struct weir_check_op *op, const struct weir_order_stamp *stamp,
                              enum weir_op_kind kind, const char *name,
                              const struct weir_check_site *site)
{
    struct checker *c = &weir_checker;

    if (WEIR_UNLIKELY(op->lane && !op->told)) /* that never ran, because its context had failed */
        weir_check_op_over_locked(op);
    if (WEIR_UNLIKELY(!stamp->lane))
        return;
    here.last_lane = stamp->lane;
    here.last_seq = stamp->seq;
    *op = (struct weir_check_op){.lane = stamp->lane,
                                 .thread = site->thread,
                                 .seq = stamp->seq,
                                 .base = stamp->base,
                                 .number = ++c->submitted,
                                 .stack = site->stack,
                                 .call = site->call,
                                 .name = name,
                                 .kind = (uint8_t)kind};
    c->pending++;
    c->streams.items[op->lane].pending++;
    weir_check_gate_add(op);
    if (WEIR_UNLIKELY(c->captures.count || c->settings.forbidden))
        op_judge(op);
}

void weir_check_behind_is(struct weir_check_event *e, const struct weir_order_stamp *stamp)
{
    weir_order_stamp_drop(&weir_checker.order, &e->stamp);
    weir_order_stamp_copy(&e->stamp, stamp);
}

void weir_check_op(struct weir_check_op *op, const void *stream, enum weir_op_kind kind,
                   const char *name, const void *behind)
{
    struct weir_order_stamp stamp;
    struct weir_check_site site;
    struct weir_check_event *e;

    if (weir_check_tells())
        weir_tsan_op(op, stream, kind, behind);
    if (!weir_check_enabled())
        return;
    site = weir_check_site_now(kind == WEIR_OP_KERNEL);
    weir_check_lock();
    e = behind ? weir_check_event_of_locked(behind, true) : NULL;
    weir_order_submit_after(&weir_checker.order, weir_check_lane_of_locked(stream),
                            e ? &e->stamp : NULL, e != NULL, &stamp);
    if (e)
        weir_check_behind_is(e, &stamp);
    weir_check_op_add_locked(op, &stamp, kind, name, &site);
    weir_check_unlock();
}

/* Is something before the stamp that may not have told yet what it touches, in another lane? */
static bool is_untold_elsewhere(const struct weir_order_stamp *s)
{
    const struct checker *c = &weir_checker;

    if (c->parted) /* others come behind some of its nodes, but not behind it */
        return true;
    if (c->streams.items[s->lane].pending == c->pending)
        return false;
    for (uint32_t i = 1; i < c->streams.count && s->base && i < s->base->count; i++) {
        const struct weir_check_stream *l = &c->streams.items[i];

        if (i != s->lane && l->pending && (l->overtakes || s->base->at[i] > l->done))
            return true;
    }
    return false;
}

/* Can what it touches be told now: has all that is before it told that? Memory that the program may
 * give back to the system meanwhile is left until it has run. */
static bool may_tell_locked(const struct weir_order_stamp *stamp,
                            const struct weir_check_range *ranges, size_t count)
{
    const struct checker *c = &weir_checker;

    if (!stamp->lane || c->streams.items[stamp->lane].pending || c->settings.init ||
        c->kept.alone || is_untold_elsewhere(stamp))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct weir_check_range *r = &ranges[i];

        if (!r->width || !r->height || !r->depth ||
            weir_check_may_go(r->begin, r->begin + (r->depth - 1) * r->slice +
                                            (r->height - 1) * r->pitch + r->width))
            return false;
    }
    return true;
}

#define SPANS_MOST WEIR_CHECK_DONE_RANGES

/* Does the same as one before it in its lane, with nothing between: that one's actor is its. */
static bool is_again_locked(struct weir_check_op *op, const struct weir_check_range *ranges,
                            size_t count)
{
    struct weir_shadow_span spans[SPANS_MOST];
    struct weir_order_stamp stamp;
    struct weir_actor *a;

    if (op->made || count > SPANS_MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct weir_check_range *r = &ranges[i];

        if (r->height != 1 || r->depth != 1)
            return false;
        spans[i] = (struct weir_shadow_span){r->begin, r->begin + r->width, r->kind};
    }
    stamp = weir_check_stamp_peek(op);
    a = weir_shadow_again(&weir_checker.shadow, &stamp, spans, count);
    if (!a)
        return false;
    op->base = NULL;
    *(struct weir_check_detail *)a->detail = detail_of(
        (enum weir_op_kind)op->kind, op->name, op->lane, op->number, weir_check_op_site(op));
    return true;
}

static void tell_locked(struct weir_check_op *op, const struct weir_check_range *ranges,
                        size_t count)
{
    struct weir_actor *a;

    all_told_locked(op);
    op->told = true;
    if (is_again_locked(op, ranges, count))
        return;
    a = weir_check_actor_locked(op);
    for (size_t i = 0; i < count; i++)
        weir_check_access_locked(a, &ranges[i]);
    if (a)
        weir_actor_drop(&weir_checker.shadow, a);
    op->made = false;
    op->base = NULL;
    weir_check_settle_locked();
}

void weir_check_copy(struct weir_check_op *op, const void *stream, enum weir_op_kind kind,
                     const struct weir_check_range *ranges, size_t count)
{
    struct weir_order_stamp stamp;
    struct weir_check_site site;
    bool now = !weir_check_tells(); /* ThreadSanitizer is told when it has run */

    if (!now)
        weir_tsan_op(op, stream, kind, NULL);
    site = weir_check_site_now(false);
    weir_check_lock();
    weir_order_submit(&weir_checker.order, weir_check_lane_of_locked(stream), &stamp);
    now = now && may_tell_locked(&stamp, ranges, count);
    weir_check_op_add_locked(op, &stamp, kind, NULL, &site);
    if (now)
        tell_locked(op, ranges, count);
    weir_check_unlock();
}

/* What a programmatic launch does before it waits; takes over the stamp. */
static WEIR_NOINLINE void early_add(struct weir_check_op *op, struct weir_order_stamp *early)
{
    struct checker *c = &weir_checker;
    struct weir_actor *a = weir_check_actor_locked(op), *part;

    c->streams.items[op->lane].overtakes = true;
    part = weir_check_actor_make_locked(early, WEIR_OP_KERNEL, op->name, op->number,
                                        weir_check_op_site(op));
    if (part && a) {
        part->early = true; /* told when those in front may still run */
        ((struct weir_check_detail *)a->detail)->early = part;
    } else if (part) {
        weir_actor_drop(&c->shadow, part);
    }
}

void weir_check_kernel(struct weir_check_op *op, const void *stream, const char *name, bool asks)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp stamp, early;
    struct weir_check_site site;

    if (weir_check_tells())
        weir_tsan_op(op, stream, WEIR_OP_KERNEL, NULL);
    if (!weir_check_enabled())
        return;
    site = weir_check_site_now(true);
    weir_check_lock();
    weir_order_submit_kernel(&c->order, weir_check_lane_of_locked(stream), asks, &stamp, &early);
    weir_check_op_add_locked(op, &stamp, WEIR_OP_KERNEL, name, &site);
    if (WEIR_UNLIKELY(early.lane))
        early_add(op, &early);
    weir_check_unlock();
}

struct weir_actor *weir_check_early(const struct weir_actor *a)
{
    return a ? ((const struct weir_check_detail *)a->detail)->early : NULL;
}

void weir_check_op_peer(struct weir_check_op *op, const void *stream, const void *other)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site;
    struct weir_order_stamp stamp;

    if (weir_check_tells())
        weir_tsan_op_peer(stream, other);
    if (!weir_check_enabled())
        return;
    site = weir_check_site_now(false);
    weir_check_lock();
    weir_order_submit_peer(&c->order, weir_check_lane_of_locked(stream),
                           weir_check_lane_of_locked(other), &stamp);
    weir_check_op_add_locked(op, &stamp, WEIR_OP_COPY, NULL, &site);
    weir_check_unlock();
}

struct weir_actor *weir_check_actor(struct weir_check_op *op)
{
    struct weir_actor *a;

    weir_check_lock();
    a = weir_check_actor_locked(op);
    weir_check_unlock();
    return a;
}

static void rows_written(const struct weir_check_range *r)
{
    for (size_t z = 0; z < r->depth; z++) {
        uintptr_t row = r->begin + z * r->slice;

        for (size_t y = 0; y < r->height; y++, row += r->pitch)
            weir_check_init_change_locked(row, row + r->width, true);
    }
}

void weir_check_access_locked(struct weir_actor *a, const struct weir_check_range *r)
{
    if (weir_checker.kept.alone)
        return;
    for (size_t z = 0; a && z < r->depth; z++)
        weir_shadow_access_rows(&weir_checker.shadow, a, r->kind, r->begin + z * r->slice, r->width,
                                r->height, r->pitch);
    if (r->kind != WEIR_ACCESS_READ && weir_checker.settings.init)
        rows_written(r);
}

void weir_check_access(struct weir_actor *a, const struct weir_check_range *ranges, size_t count)
{
    weir_check_lock();
    for (size_t i = 0; i < count; i++)
        weir_check_access_locked(a, &ranges[i]);
    weir_check_unlock();
}

void weir_check_access_pages(struct weir_actor *a,
                             bool (*next)(void *ctx, struct weir_check_page *page), void *ctx)
{
    struct weir_check_page page;

    weir_check_lock();
    while (a && next(ctx, &page)) {
        weir_shadow_access_bits(&weir_checker.shadow, a, page.kind, page.number, page.bits);
        if (page.kind != WEIR_ACCESS_READ)
            weir_check_init_bits_locked(page.number, page.bits);
    }
    weir_check_unlock();
}

/* Marks of what the host knew when everything that now runs was not yet submitted can go. */
void weir_check_settle_locked(void)
{
    struct checker *c = &weir_checker;

    if (c->shadow.bytes < c->settle_at || c->pending > 0)
        return;
    if (c->order.host)
        weir_shadow_settle(&c->shadow, c->order.host);
    c->settle_at = WEIR_MAX(SETTLE_BYTES, c->shadow.bytes * 2);
}

/* ---- the host ---- */

void weir_check_unpromised(bool on)
{
    here.unpromised = on;
}

void weir_check_host_func_begun_locked(const struct weir_check_op *op)
{
    const struct weir_order_stamp stamp = weir_check_stamp_peek(op);

    if (op->lane)
        weir_order_host_saw_before(&weir_checker.order, &stamp);
}

static void node_begins(const struct weir_check_op *op, const struct weir_check_node *node)
{
    struct weir_order *o = &weir_checker.order;
    struct weir_order_stamp stamp, part;

    if (!op->lane)
        return;
    stamp = weir_check_stamp_peek(op);
    weir_order_stamp_copy(&part, &stamp);
    weir_check_part_of(op, node->number, &part);
    weir_order_host_saw_before(o, &part);
    weir_order_stamp_drop(o, &part);
    weir_check_heard(&stamp);
}

/* The function finds pages open that nobody in front of it has any more. */
static void host_func_begins(struct weir_check_op *op, const struct weir_check_node *node)
{
    if (!node && !atomic_load_explicit(&weir_checker.over.closed, memory_order_relaxed) &&
        weir_check_begun(op))
        return;
    weir_check_lock();
    if (node)
        node_begins(op, node);
    else
        weir_check_host_func_begun_locked(op);
    weir_check_unlock();
}

void weir_check_host_func(struct weir_check_func *f, struct weir_check_op *op,
                          const struct weir_check_node *node)
{
    if (weir_check_enabled())
        host_func_begins(op, node);
    if (weir_check_tells())
        weir_tsan_func_begin(f, op, node);
}

void weir_check_host_func_end(struct weir_check_func *f)
{
    if (f->shown)
        weir_tsan_func_end(f);
}

bool weir_check_without_free(void)
{
    return weir_checker.settings.without_free;
}

void weir_check_promised(void)
{
    here.unpromised = false;
}

/* Programs ask in loops. Since this thread has told of the same the last time nobody has told of
 * anything: there is nothing more to know. */
static bool is_known(const void *polled)
{
    struct checker *c = &weir_checker;

    return here.polled == polled &&
           here.polled_at == atomic_load_explicit(&c->turn, memory_order_relaxed) &&
           !atomic_load_explicit(&c->over.some, memory_order_relaxed);
}

static void polled_locked(const void *polled)
{
    here.polled = polled;
    here.polled_at = atomic_load_explicit(&weir_checker.turn, memory_order_relaxed);
}

static void awaited_locked(struct weir_check_event *e)
{
    e->looked_at = true;
    e->awaited.lane = e->stamp.lane;
    e->awaited.seq = e->stamp.seq;
    e->awaited.number = weir_checker.submitted;
    e->awaited.recorded = e->recorded; /* the stack here: programs ask often */
    e->awaited.at = (struct weir_check_site){.call = here.call, .address = here.site};
}

void weir_check_host_saw_event(const void *event)
{
    struct weir_check_event *e;

    if (here.unpromised)
        return;
    if (weir_check_tells())
        weir_tsan_saw_event(event);
    if (!weir_check_enabled() || is_known(event))
        return;
    weir_check_lock();
    e = weir_check_event_of_locked(event, false);
    if (e) {
        awaited_locked(e);
        weir_order_host_saw(&weir_checker.order, &e->stamp);
    }
    polled_locked(event);
    weir_check_unlock();
}

void weir_check_host_saw_stream(const void *stream)
{
    if (here.unpromised)
        return;
    if (weir_check_tells())
        weir_tsan_saw_stream(stream);
    if (!weir_check_enabled() || is_known(stream))
        return;
    weir_check_lock();
    weir_order_host_saw_lane(&weir_checker.order, weir_check_lane_of_locked(stream));
    polled_locked(stream);
    weir_check_unlock();
}

static void wait_begins(const void *stream, int device, struct weir_order_stamp *out)
{
    bool forbidden = weir_check_is_forbidden(WEIR_POLICY_LEGACY_SYNC) && stream && here.call &&
                     strstr(here.call, "Synchronize");
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_order *o = &weir_checker.order;

    *out = (struct weir_order_stamp){0};
    weir_check_lock();
    weir_check_waits_locked(&at);
    if (forbidden &&
        weir_checker.streams.items[weir_check_lane_of_locked(stream)].cls == WEIR_STREAM_LEGACY)
        weir_check_forbidden_locked(WEIR_POLICY_LEGACY_SYNC, at, NULL);
    if (stream)
        weir_order_lane_all(o, weir_check_lane_of_locked(stream), out);
    else
        out->base = weir_order_device_clock(o, device);
    weir_check_unlock();
}

static void wait_ends(struct weir_order_stamp *s, bool over)
{
    weir_check_lock();
    if (over)
        weir_order_host_saw(&weir_checker.order, s);
    weir_order_stamp_drop(&weir_checker.order, s);
    weir_check_unlock();
}

struct weir_check_sync weir_check_sync_begin(const void *stream, int device)
{
    struct weir_check_sync w = {.judges = weir_check_enabled()};

    if (weir_check_tells())
        w.told = weir_tsan_sync_begin(stream, device);
    if (w.judges)
        wait_begins(stream, device, &w.judged);
    return w;
}

struct weir_check_sync weir_check_event_sync_begin(const void *event)
{
    struct weir_check_sync w = {.judges = weir_check_enabled()};
    struct weir_check_site at;
    struct weir_check_event *e;

    if (weir_check_tells())
        w.told = weir_tsan_event_sync_begin(event);
    if (!w.judges)
        return w;
    at = weir_check_site_now(false);
    weir_check_lock();
    weir_check_waits_locked(&at);
    e = weir_check_event_of_locked(event, false);
    if (e) {
        awaited_locked(e);
        weir_order_stamp_copy(&w.judged, &e->stamp);
    }
    weir_check_unlock();
    return w;
}

void weir_check_sync_end(struct weir_check_sync *w, bool over)
{
    over = over && !here.unpromised;
    if (w->told)
        weir_tsan_sync_end(w->told, over);
    if (w->judges)
        wait_ends(&w->judged, over);
}

void weir_check_host_saw_last(void)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp s = {.lane = here.last_lane, .seq = here.last_seq};

    if (weir_check_tells())
        weir_tsan_saw_last();
    if (!weir_check_enabled())
        return;
    weir_check_lock();
    if (s.lane && s.lane < c->order.lane_count) {
        /* The lane's clock is that operation's, or of a later one of another thread, which the host
         * may think it has seen: a race missed, never one invented. */
        s.base = c->order.lanes[s.lane].base;
        weir_order_host_saw(&c->order, &s);
    }
    weir_check_unlock();
}

/* ---- memory ---- */

/* The block that begins there, to be filled: a new one, or the one of before. NULL: no memory. */
static struct weir_check_block *block_make(const void *p)
{
    struct checker *c = &weir_checker;
    struct weir_check_block *b = weir_map_get(&c->blocks, (uintptr_t)p);

    if (b) {
        weir_check_block_gone_locked(b, b->site);
        return b;
    }
    b = weir_calloc(1, sizeof *b);
    if (b && !weir_map_put(&c->blocks, (uintptr_t)p, b)) {
        weir_free(b);
        b = NULL;
    }
    if (!b)
        weir_check_lost_locked();
    return b;
}

/* From now on it is the program's. */
static void block_begins(const void *p, size_t bytes, const char *kind,
                         const struct weir_check_site *site)
{
    struct weir_check_block *b = block_make(p);

    if (b)
        *b = (struct weir_check_block){.begin = (uintptr_t)p,
                                       .bytes = bytes,
                                       .kind = kind,
                                       .number = weir_checker.submitted,
                                       .site = *site};
}

static void alloc_locked(const void *p, size_t bytes, const char *kind,
                         const struct weir_check_site *site)
{
    block_begins(p, bytes, kind, site);
    if (strcmp(kind, "registered memory") == 0)
        weir_check_registered_locked((uintptr_t)p, (uintptr_t)p + bytes);
    if (strcmp(kind, "managed memory") == 0)
        weir_check_managed_locked((uintptr_t)p, (uintptr_t)p + bytes);
    if (strcmp(kind, "device memory") == 0)
        weir_check_init_change_locked((uintptr_t)p, (uintptr_t)p + bytes, false);
}

void weir_check_alloc(const void *p, size_t bytes, const char *kind)
{
    struct weir_check_site site = weir_check_site_now(false);

    weir_check_lock();
    alloc_locked(p, bytes, kind, &site);
    weir_check_may_block_locked(-1, &site);
    weir_check_unlock();
}

void weir_check_free(const void *p, size_t bytes, bool judged)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = weir_check_site_now(false);
    struct weir_check_block *b;

    judged = (judged || c->settings.without_free) && !here.frees_in_order;
    weir_check_lock();
    if (judged)
        weir_check_freed(p, bytes, site);
    weir_guard_forget(&c->guard, (uintptr_t)p, (uintptr_t)p + bytes);
    weir_check_managed_gone_locked((uintptr_t)p);
    weir_check_unregistered_locked((uintptr_t)p);
    weir_shadow_forget(&c->shadow, (uintptr_t)p, (uintptr_t)p + bytes);
    weir_check_init_change_locked((uintptr_t)p, (uintptr_t)p + bytes, true);
    b = weir_map_remove(&c->blocks, (uintptr_t)p);
    if (b)
        weir_check_block_gone_locked(b, site);
    weir_free(b);
    weir_check_unlock();
}

uintptr_t weir_check_mapped_name(size_t bytes)
{
    struct weir_check_site site = weir_check_site_now(false);
    uintptr_t name;

    weir_check_lock();
    name = weir_shadow_name(&weir_checker.shadow, bytes);
    alloc_locked((const void *)name, bytes, "mapped memory", &site);
    weir_check_unlock();
    return name;
}

void weir_check_mapped_gone(uintptr_t name, size_t bytes)
{
    weir_check_lock();
    weir_shadow_forget(&weir_checker.shadow, name, name + bytes);
    weir_free(weir_map_remove(&weir_checker.blocks, name));
    weir_check_unlock();
}

void weir_check_mapped(uintptr_t p, size_t bytes, uintptr_t name)
{
    weir_check_lock();
    weir_shadow_map(&weir_checker.shadow, p, p + bytes, name);
    weir_check_unlock();
}

void weir_check_mapped_end(uintptr_t p, size_t bytes)
{
    weir_check_lock();
    weir_shadow_unmap(&weir_checker.shadow, p, p + bytes);
    weir_check_unlock();
}

void weir_check_frees_in_order(bool on)
{
    here.frees_in_order = on;
}

struct collected {
    struct weir_order *order;
    struct weir_clock *clock;
    uint32_t lane; /* what it follows already is left out */
};

static bool collect(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                    uintptr_t end)
{
    struct collected *c = ctx;

    (void)kind;
    (void)begin;
    (void)end;
    if (!weir_order_lane_follows(c->order, c->lane, &a->stamp))
        weir_order_clock_add(c->order, &c->clock, &a->stamp);
    return true;
}

/* An operation that stands in the stream and writes all of the memory at once. */
static void pool_access_locked(uint32_t lane, enum weir_op_kind kind, struct weir_clock *after,
                               const void *p, size_t bytes, const struct weir_check_site *site)
{
    struct checker *c = &weir_checker;
    const struct weir_shadow_span all = {(uintptr_t)p, (uintptr_t)p + bytes, WEIR_ACCESS_WRITE};
    struct weir_order_stamp stamp, behind = {0};
    struct weir_actor *a = NULL, *made = NULL;
    bool in_lane, early;

    behind.base = after;
    weir_order_submit_after(&c->order, lane, &behind, after != NULL, &stamp);
    c->submitted++;
    in_lane = !is_untold_elsewhere(&stamp);
    early = !in_lane || c->streams.items[lane].pending;
    if (!early && (a = weir_shadow_again(&c->shadow, &stamp, &all, 1)))
        *(struct weir_check_detail *)a->detail = detail_of(kind, NULL, lane, c->submitted, *site);
    else
        a = made = weir_check_actor_make_locked(&stamp, kind, NULL, c->submitted, *site);
    if (!a)
        return;
    a->at_once = true;
    a->in_lane = in_lane;
    a->early = early;
    if (!made)
        return;
    weir_shadow_access(&c->shadow, a, all.kind, all.begin, all.end);
    weir_actor_drop(&c->shadow, a);
}

void weir_check_alloc_async(const void *stream, const void *p, size_t bytes)
{
    struct collected all = {.order = &weir_checker.order};
    struct weir_check_site site = weir_check_site_now(false);
    uintptr_t begin = (uintptr_t)p, end = begin + bytes;

    weir_check_lock();
    block_begins(p, bytes, "device memory", &site);
    weir_check_init_change_locked(begin, end, false);
    all.lane = weir_check_lane_of_locked(stream);
    weir_shadow_unfinished(&weir_checker.shadow, begin, end, collect, &all);
    pool_access_locked(all.lane, WEIR_OP_ALLOC, all.clock, p, bytes, &site);
    weir_order_clock_drop(&weir_checker.order, all.clock);
    weir_check_unlock();
}

void weir_check_free_async(const void *stream, const void *p, size_t bytes)
{
    struct weir_check_site site = weir_check_site_now(false);
    struct weir_check_block *b;

    weir_check_lock();
    pool_access_locked(weir_check_lane_of_locked(stream), WEIR_OP_FREE, NULL, p, bytes, &site);
    b = weir_map_get(&weir_checker.blocks, (uintptr_t)p);
    if (b) {
        b->freed = true;
        b->freed_number = weir_checker.submitted;
        b->freed_at = site;
    }
    weir_check_unlock();
}

int weir_check_status(void)
{
    return weir_checker.settings.status;
}

/* ---- the end ---- */

enum { NOT_YET, RUNS, OVER };

static struct {
    _Atomic uint32_t state, thread; /* thread: that runs it */
    size_t hazards;                 /* when it is over */
} finish;

static size_t finish_now(void)
{
    size_t hazards;

    weir_check_lock();
    weir_check_watch_end();
    weir_check_unlock();
    if (!(atomic_fetch_and(&weir_check_on, ~(unsigned)WEIR_CHECK_JUDGES) & WEIR_CHECK_JUDGES))
        return 0;
    if (weir_checker.kept.alone || weir_checker.forked)
        return 0;
    weir_check_lock();
    weir_check_left_locked();
    weir_check_may_block_end_locked();
    weir_check_unlock();
    hazards = weir_check_report();
    weir_tally_reported(hazards);
    return hazards;
}

size_t weir_check_finish(void)
{
    uint32_t state = NOT_YET;

    if (atomic_load(&finish.state) == NOT_YET && !weir_check_enabled())
        return 0;
    if (atomic_compare_exchange_strong(&finish.state, &state, RUNS)) {
        atomic_store(&finish.thread, weir_thread_id());
        finish.hazards = finish_now();
        atomic_store(&finish.state, OVER);
        weir_futex_wake(&finish.state, INT_MAX);
    } else if (atomic_load(&finish.thread) == weir_thread_id() && state == RUNS) {
        return 0; /* what it calls ends the process */
    }
    while (atomic_load(&finish.state) == RUNS)
        (void)weir_futex_wait(&finish.state, RUNS, UINT64_MAX);
    return finish.hazards;
}

bool weir_check_finishing(bool *own)
{
    uint32_t state = atomic_load(&finish.state);

    *own = state == RUNS && atomic_load(&finish.thread) == weir_thread_id();
    return state != NOT_YET;
}

bool weir_check_puts_off(int signo)
{
    if (!weir_check_here.holds)
        return false;
    weir_check_here.signal_before = signo;
    return true;
}

void weir_check_signal_again(void)
{
    int signo = weir_check_here.signal_before;

    weir_check_here.signal_before = 0;
    raise(signo);
}

void weir_check_on_found(void (*found)(void))
{
    atomic_store(&weir_checker.on_found, found);
}

void weir_check_note_draft(void)
{
    char *room = weir_tally_draft();
    size_t bytes, hazards;

    if (!room)
        return;
    bytes = weir_check_draft(room, WEIR_TALLY_DRAFT, &hazards);
    weir_tally_drafted(bytes, hazards);
}
