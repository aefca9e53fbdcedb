/* The program's own reads and writes. They are an actor as operations are: after what the host
 * knows to be finished, before what is submitted later.
 *
 * What orders the two besides, and cannot be seen, must not become a finding: a host function that
 * waits for the program (a gate), a kernel that reads or writes host memory by ordered accesses
 * which the program touches as well (met), a host node of a graph that tells the program how far
 * the launch is (heard).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "check/check_int.h"
#include "check/tally.h"
#include "trace/symbols.h"

#define GATES_MAX    16
#define SUSPECTS_MAX 20000
#define LINES_MAX    256
#define BLOCKS_FEW   256

static bool protect(void *ctx, uintptr_t begin, uintptr_t end, enum weir_guard_state state)
{
    static const int protections[] = {[WEIR_GUARD_OPEN] = PROT_READ | PROT_WRITE,
                                      [WEIR_GUARD_READABLE] = PROT_READ,
                                      [WEIR_GUARD_CLOSED] = PROT_NONE};

    (void)ctx;
    return mprotect((void *)begin, end - begin, protections[state]) == 0;
}

/* Looked for among all, so only where these are few. */
static bool is_one(void *ctx, uintptr_t a, uintptr_t b)
{
    struct weir_check_block block;

    (void)ctx;
    if (weir_checker.blocks.count > BLOCKS_FEW)
        return false;
    block = weir_check_block_of(a);
    return block.kind && strcmp(block.kind, "pinned memory") == 0 && b - block.begin < block.bytes;
}

void weir_check_watch(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    weir_check_lock();
    weir_check_stack_prepare();
    weir_guard_init(&c->guard, &c->order, protect, NULL);
    c->guard.is_one = is_one;
    c->watch_begin = begin;
    c->watch_end = end;
    weir_check_unlock();
}

static void list_add_locked(struct weir_check_page_list *l, uintptr_t begin, uintptr_t end)
{
    const struct weir_check_pages range = {begin, end};

    if (!l->end || begin < l->begin)
        l->begin = begin;
    if (end > l->end)
        l->end = end;
    if (!weir_vec_push(&l->ranges, range))
        weir_check_lost_locked();
}

static void list_remove_locked(struct weir_check_page_list *l, size_t i)
{
    l->ranges.items[i] = l->ranges.items[--l->ranges.count];
}

void weir_check_watch_more(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    weir_check_lock();
    if (c->watch_begin && !c->watch_over)
        list_add_locked(&c->more, begin, end);
    weir_check_unlock();
}

static void watch_less_locked(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->more.ranges.count; i++) {
        const struct weir_check_pages p = c->more.ranges.items[i];

        if (p.begin >= end || p.end <= begin)
            continue;
        list_remove_locked(&c->more, i);
        weir_guard_forget(&c->guard, p.begin, p.end);
        break;
    }
}

void weir_check_watch_less(uintptr_t begin, uintptr_t end)
{
    weir_check_lock();
    watch_less_locked(begin, end);
    weir_check_unlock();
}

bool weir_check_may_go(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    return begin < atomic_load_explicit(&c->more.end, memory_order_relaxed) &&
           end > atomic_load_explicit(&c->more.begin, memory_order_relaxed);
}

bool weir_check_may_watch(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    return (begin < c->watch_end && end > c->watch_begin) || weir_check_may_go(begin, end);
}

/* The parts of [begin, end) that are watched, one for each *i from 0 on. */
static bool next_watched(size_t *i, uintptr_t begin, uintptr_t end, struct weir_check_pages *part)
{
    const struct checker *c = &weir_checker;

    while (*i <= c->more.ranges.count) {
        size_t k = (*i)++;

        *part = k ? c->more.ranges.items[k - 1]
                  : (struct weir_check_pages){c->watch_begin, c->watch_end};
        part->begin = WEIR_MAX(begin, part->begin);
        part->end = WEIR_MIN(end, part->end);
        if (part->begin < part->end)
            return true;
    }
    return false;
}

bool weir_check_is_closed(uintptr_t begin, uintptr_t end)
{
    bool closed;

    if (!weir_check_may_watch(begin, end))
        return false;
    weir_check_lock();
    closed = weir_guard_meets(&weir_checker.guard, begin, end);
    weir_check_unlock();
    return closed;
}

bool weir_check_watches_more(void)
{
    return atomic_load_explicit(&weir_checker.more.end, memory_order_relaxed) != 0;
}

/* Of the operations that use registered memory there is a list: the system may get that back. */
static void watched_add(struct weir_check_op *op)
{
    if (op->watched)
        return;
    op->watched = weir_map_put(&weir_checker.ops, (uintptr_t)op, op);
    if (!op->watched)
        weir_check_lost_locked();
}

void weir_check_will_touch(struct weir_check_op *op, uintptr_t begin, uintptr_t end, bool writes)
{
    struct checker *c = &weir_checker;
    struct weir_order_stamp stamp;
    struct weir_check_pages part;
    uint64_t closings;
    size_t i = 0;

    if (c->kept.alone || !weir_check_may_watch(begin, end))
        return;
    weir_check_lock();
    closings = c->guard.closings;
    stamp = weir_check_stamp_peek(op);
    if (c->watch_over || !op->lane || weir_order_host_knows(&c->order, &stamp)) { /* it has ended */
        weir_check_unlock();
        return;
    }
    while (next_watched(&i, begin, end, &part)) {
        weir_guard_add(&c->guard, part.begin, part.end, writes, op->lane, op->seq);
        if (i > 1)
            watched_add(op);
    }
    op->closed |= c->guard.closings != closings;
    if (c->guard.ranges.count)
        atomic_store_explicit(&c->over.closed, true, memory_order_relaxed);
    weir_check_unlock();
}

void weir_check_forked(void)
{
    struct checker *c = &weir_checker;
    bool whole = atomic_load(&c->lock.word) == 0; /* no other thread was changing it */

    weir_lock_init(&c->lock, WEIR_RANK_CHECK);
    weir_check_over_init(); /* the child has none of what has run */
    if (!whole)
        c->guard.ranges.count = c->guard.opened.count = 0;
    for (size_t i = 0; i < c->more.ranges.count; i++) {
        weir_guard_forget(&c->guard, c->more.ranges.items[i].begin, c->more.ranges.items[i].end);
        (void)protect(NULL, c->more.ranges.items[i].begin, c->more.ranges.items[i].end,
                      WEIR_GUARD_OPEN);
    }
    c->more.ranges.count = 0;
    /* Its calls fail, so it finds nothing; what was found is its parent's to report. */
    c->forked = true;
    weir_check_on_found(NULL);
    weir_tally_forked();
}

/* ---- what else orders ---- */

static bool same_stamp(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    return a->lane == b->lane && a->seq == b->seq;
}

#define GATES_MANY UINT32_MAX /* an operation has more than one */

/* Until the operation is done, or (not until_done) the host knows it to be over. */
static void gate_add(struct weir_check_op *op, const struct weir_order_stamp *stamp,
                     bool until_done)
{
    struct checker *c = &weir_checker;
    struct weir_check_gate gate = {.op = until_done ? op : NULL};

    weir_order_stamp_copy(&gate.stamp, stamp);
    if (!weir_vec_push(&c->gates, gate)) {
        weir_order_stamp_drop(&c->order, &gate.stamp);
        weir_check_lost_locked();
    } else if (until_done) {
        op->gate = op->gate ? GATES_MANY : (uint32_t)c->gates.count;
    }
}

void weir_check_gate_add(struct weir_check_op *op)
{
    const struct weir_order_stamp stamp = weir_check_stamp_peek(op);

    if (op->kind == WEIR_OP_HOST_FUNC || op->kind == WEIR_OP_CALLBACK)
        gate_add(op, &stamp, true);
    else if (op->kind == WEIR_OP_POLL)
        gate_add(op, &stamp, false);
}

static void gate_of(const struct weir_order_stamp *stamp, void *op)
{
    gate_add(op, stamp, true);
}

static void value_inside(const struct weir_order_stamp *stamp, void *arg)
{
    (void)arg;
    weir_order_wait_inside(&weir_checker.order, stamp);
    weir_check_met_stamp(stamp);
}

void weir_check_waits_inside(struct weir_check_op *op)
{
    weir_check_lock();
    weir_check_stamps_of(op, gate_of, op);
    weir_check_unlock();
}

void weir_check_values_inside(const struct weir_check_op *op)
{
    weir_check_lock();
    weir_check_stamps_of(op, value_inside, NULL);
    weir_check_unlock();
}

static void gate_drop(size_t i)
{
    struct checker *c = &weir_checker;
    struct weir_check_gate *g = &c->gates.items[i], *last = &c->gates.items[--c->gates.count];

    weir_order_stamp_drop(&c->order, &g->stamp);
    if (g->op && g->op->gate != GATES_MANY)
        g->op->gate = 0;
    if (g == last)
        return;
    *g = *last;
    if (g->op && g->op->gate != GATES_MANY)
        g->op->gate = (uint32_t)i + 1;
}

/* What the host does from now on can no longer be what an operation waits for. */
static void gate_open(size_t i)
{
    struct checker *c = &weir_checker;

    gate_drop(i);
    weir_actor_drop(&c->shadow, c->host_last);
    c->host_last = NULL;
}

void weir_check_gate_remove(struct weir_check_op *op)
{
    struct checker *c = &weir_checker;

    if (op->gate != GATES_MANY) {
        gate_open(op->gate - 1);
        return;
    }
    for (size_t i = 0; i < c->gates.count;) {
        if (c->gates.items[i].op == op)
            gate_open(i);
        else
            i++;
    }
}

/* Those of now: what the host knows to be over is none. Too many: NULL and *all. */
static struct weir_ways *gates_now(bool *all)
{
    struct checker *c = &weir_checker;
    struct weir_ways *g;

    for (size_t i = 0; i < c->gates.count;) {
        if (weir_order_host_knows(&c->order, &c->gates.items[i].stamp))
            gate_drop(i);
        else
            i++;
    }
    *all = c->gates.count > GATES_MAX;
    if (!c->gates.count || *all)
        return NULL;
    g = weir_calloc(1, sizeof *g + c->gates.count * sizeof g->stamps[0]);
    *all = !g;
    for (; g && g->count < c->gates.count; g->count++)
        weir_order_stamp_copy(&g->stamps[g->count], &c->gates.items[g->count].stamp);
    return g;
}

static void remember(struct weir_order_stamp **items, size_t *count, size_t *cap,
                     const struct weir_order_stamp *s)
{
    struct weir_order_stamp copy;

    for (size_t i = 0; i < *count; i++) {
        if (same_stamp(&(*items)[i], s))
            return;
    }
    if (!weir_vec_reserve_bytes((void **)items, cap, *count + 1, sizeof **items)) {
        weir_check_lost_locked();
        return;
    }
    weir_order_stamp_copy(&copy, s);
    (*items)[(*count)++] = copy;
}

void weir_check_heard(const struct weir_order_stamp *launch)
{
    struct checker *c = &weir_checker;

    remember(&c->heard.items, &c->heard.count, &c->heard.cap, launch);
}

void weir_check_met_stamp(const struct weir_order_stamp *op)
{
    struct checker *c = &weir_checker;

    remember(&c->met.items, &c->met.count, &c->met.cap, op);
}

void weir_check_met(void *ctx, struct weir_actor *op, struct weir_actor *host)
{
    (void)ctx;
    (void)host;
    weir_check_talks_locked(op);
    weir_check_met_stamp(&op->stamp);
    for (uint32_t i = 0; op->ways && i < op->ways->count; i++)
        weir_check_met_stamp(&op->ways->stamps[i]);
}

static bool is_suspect(const struct weir_actor *op)
{
    const struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->heard.count; i++) {
        if (same_stamp(&c->heard.items[i], &op->stamp))
            return false;
    }
    for (size_t i = 0; i < c->met.count; i++) {
        const struct weir_order_stamp *m = &c->met.items[i];

        if (weir_actor_before_stamp(op, m) || weir_order_before(m, &op->stamp))
            return false;
    }
    return true;
}

void weir_check_suspect(const struct weir_race *race)
{
    struct checker *c = &weir_checker;
    bool now = race->now->host;
    const struct weir_actor *host = now ? race->now : race->before;
    const struct weir_check_detail *d = host->detail;
    struct weir_check_suspect s = {
        .finding = {.kind = WEIR_FOUND_RACE,
                    .b = {.used = true,
                          .what = "the host",
                          .op = {.host = true, .number = d->number, .site = d->site},
                          .access = now ? race->now_kind : race->before_kind},
                    .begin = race->begin,
                    .end = race->end},
        .op = now ? race->before : race->now,
    };

    s.finding.a = weir_check_side_of(s.op, now ? race->before_kind : race->now_kind);
    s.finding.block = weir_check_block_of(race->begin); /* it may be freed before the end, */
    weir_check_explain_host(&s.finding, s.op);          /* and events be recorded again */
    if (c->suspects.count >= SUSPECTS_MAX || !weir_vec_push(&c->suspects, s))
        weir_check_lost_locked();
    else
        s.op->refs++;
}

/* One address for all on a line: a loop's body is there several times, and prologues of it. */
struct lines {
    struct weir_check_places *places;
    const void *first[LINES_MAX];
    size_t count;
};

static const void *line_of(struct lines *l, const void *address)
{
    const struct weir_trace_place *p = weir_check_place(l->places, address);

    for (size_t i = 0; p && i < l->count; i++) {
        if (strcmp(weir_check_place(l->places, l->first[i])->text, p->text) == 0)
            return l->first[i];
    }
    if (p && l->count < LINES_MAX)
        l->first[l->count++] = address;
    return address;
}

void weir_check_watch_end(void)
{
    struct checker *c = &weir_checker;
    struct lines *lines = c->suspects.count ? weir_calloc(1, sizeof *lines) : NULL;

    if (lines)
        lines->places = weir_check_places_create();
    if (c->watch_begin)
        weir_guard_forget(&c->guard, 0, UINTPTR_MAX);
    c->watch_over = true;
    for (size_t i = 0; i < c->suspects.count; i++) {
        struct weir_check_suspect *s = &c->suspects.items[i];

        if (is_suspect(s->op)) {
            if (lines)
                s->finding.b.op.site.address = line_of(lines, s->finding.b.op.site.address);
            weir_check_found(&s->finding, NULL, NULL);
        }
        weir_actor_drop(&c->shadow, s->op);
    }
    c->suspects.count = 0;
    if (lines)
        weir_check_places_destroy(lines->places);
    weir_free(lines);
}

/* ---- accesses ---- */

/* The actor of an access here and now; one for all that a place in the program does in a row. */
static struct weir_actor *host_actor(struct weir_check_site site)
{
    struct checker *c = &weir_checker;
    const struct weir_check_detail *last = c->host_last ? c->host_last->detail : NULL;
    struct weir_order_stamp stamp;
    struct weir_actor *a;
    bool any = false;

    if (last && c->host_last_changes == c->order.host_changes &&
        c->host_last_submitted == c->submitted && last->site.address == site.address &&
        last->site.thread == site.thread)
        return c->host_last;
    weir_order_host_acts(&c->order, WEIR_CHECK_HOST_LANE, &stamp);
    a = weir_actor_create(&c->shadow, &stamp);
    if (a)
        a->ways = gates_now(&any);
    if (!a || any) { /* too much that cannot be told: nothing is judged */
        weir_actor_drop(&c->shadow, a);
        return NULL;
    }
    *(struct weir_check_detail *)a->detail = (struct weir_check_detail){
        .host = true, .lane = WEIR_CHECK_HOST_LANE, .number = ++c->host_acts, .site = site};
    a->host = true;
    weir_actor_drop(&c->shadow, c->host_last);
    c->host_last = a;
    c->host_last_changes = c->order.host_changes;
    c->host_last_submitted = c->submitted;
    return a;
}

static void accessed(uintptr_t begin, size_t bytes, bool writes, struct weir_check_site site)
{
    struct weir_actor *a = weir_checker.kept.alone ? NULL : host_actor(site);

    if (a)
        weir_shadow_access(&weir_checker.shadow, a, writes ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ,
                           begin, begin + bytes);
}

static bool is_watched_locked(uintptr_t address)
{
    struct weir_check_pages part;
    size_t i = 0;

    return next_watched(&i, address, address + 1, &part);
}

enum weir_check_fault weir_check_fault(uintptr_t address, size_t bytes, bool writes, const void *at,
                                       const void *ip, bool engine)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = {.address = at, .thread = weir_thread_id()};
    enum weir_check_fault result = WEIR_FAULT_AGAIN;
    enum weir_guard_state state;

    if (!weir_check_may_watch(address, address + 1))
        return WEIR_FAULT_OTHER;
    if (!engine)
        site.stack = weir_check_stack_unwind(ip);
    weir_check_lock();
    state = weir_guard_at(&c->guard, address);
    if (!is_watched_locked(address)) {
        result = WEIR_FAULT_OTHER;
    } else if (engine) {
        weir_guard_open_around(&c->guard, address);
    } else if (state == WEIR_GUARD_CLOSED || (state == WEIR_GUARD_READABLE && writes)) {
        if (weir_check_kept_locked(address, address + bytes, writes, site)) {
            result = WEIR_FAULT_OTHER;
        } else {
            accessed(address, bytes, writes, site);
            weir_guard_step(&c->guard, address);
            result = WEIR_FAULT_STEP;
        }
    } /* else: another thread has opened it meanwhile */
    weir_check_unlock();
    return result;
}

void weir_check_step_end(uintptr_t address)
{
    weir_lock_acquire(&weir_checker.lock); /* what has run is looked at elsewhere: that frees */
    weir_guard_step_end(&weir_checker.guard, address);
    weir_check_unlock();
}

bool weir_check_io_begin(const void *p, size_t bytes, bool writes, const char *call, const void *at)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = {.call = call, .address = at, .thread = weir_thread_id()};
    uintptr_t begin = (uintptr_t)p, end = begin + bytes;
    struct weir_check_pages part;
    int saved = errno;
    bool held = false;
    size_t i = 0;

    if (end < begin || !weir_check_may_watch(begin, end) || c->watch_over)
        return false;
    if (call)
        site.stack = weir_check_stack_unwind(at);
    weir_check_lock();
    while (next_watched(&i, begin, end, &part)) {
        if (call && weir_guard_meets(&c->guard, part.begin, part.end)) {
            if (weir_check_kept_locked(part.begin, part.end, writes, site))
                continue; /* the system call finds it closed */
            accessed(part.begin, part.end - part.begin, writes, site);
        }
        held = (!c->watch_over && weir_guard_hold(&c->guard, part.begin, part.end)) || held;
    }
    weir_check_unlock();
    errno = saved;
    return held;
}

void weir_check_io_end(const void *p, size_t bytes)
{
    uintptr_t begin = (uintptr_t)p, end = begin + bytes;
    struct weir_check_pages part;
    int saved = errno;
    size_t i = 0;

    weir_check_lock();
    while (next_watched(&i, begin, end, &part))
        weir_guard_release(&weir_checker.guard, part.begin, part.end);
    weir_check_unlock();
    errno = saved;
}

/* ---- memory that is given back to the system ---- */

/* Operations that have not run yet: the guard knows where. */
static void used_by_pending(uintptr_t begin, uintptr_t end, struct weir_check_site by, bool *used)
{
    struct checker *c = &weir_checker;
    size_t pos = 0;
    uint64_t key;
    void *value;

    while (weir_map_next(&c->ops, &pos, &key, &value)) {
        struct weir_actor *a = weir_check_actor_locked(value);
        struct weir_check_detail *d = a ? a->detail : NULL;

        for (size_t i = 0; a && i < c->guard.ranges.count && !d->gone; i++) {
            const struct weir_guard_range *r = &c->guard.ranges.items[i];

            if (r->lane != a->stamp.lane || r->seq != a->stamp.seq || r->begin >= end ||
                r->end <= begin)
                continue;
            weir_check_still_used(
                a, r->state == WEIR_GUARD_CLOSED ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ,
                WEIR_MAX(begin, r->begin), WEIR_MIN(end, r->end), by);
            d->gone = *used = true;
        }
    }
}

void weir_check_unmapped(const void *p, size_t bytes, bool judged, const char *call, const void *at)
{
    struct weir_check_site site = {.call = call, .address = at, .thread = weir_thread_id()};
    uintptr_t begin = (uintptr_t)p, end = begin + bytes;
    struct weir_check_pages part;
    size_t i = 1; /* what Weir has allocated is not the program's to unmap */
    bool used = false;
    int saved = errno;

    if (end <= begin || !weir_check_may_watch(begin, end) || weir_checker.watch_over)
        return;
    site.stack = weir_check_stack_unwind(at);
    weir_check_lock();
    while (judged && next_watched(&i, begin, end, &part)) {
        used_by_pending(part.begin, part.end, site, &used);
        weir_check_freed((const void *)part.begin, part.end - part.begin, site);
    }
    for (i = 1; next_watched(&i, begin, end, &part); i = 1)
        watch_less_locked(part.begin, part.end);
    weir_check_unlock();
    errno = saved;
}

bool weir_check_may_be_registered(uintptr_t p, size_t bytes)
{
    struct checker *c = &weir_checker;
    uintptr_t first = atomic_load_explicit(&c->registered.begin, memory_order_relaxed);

    return (p >= first || first - p < bytes) &&
           p < atomic_load_explicit(&c->registered.end, memory_order_relaxed);
}

void weir_check_registered_locked(uintptr_t begin, uintptr_t end)
{
    list_add_locked(&weir_checker.registered, begin, end);
}

void weir_check_unregistered_locked(uintptr_t begin)
{
    struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->registered.ranges.count; i++) {
        if (c->registered.ranges.items[i].begin != begin)
            continue;
        list_remove_locked(&c->registered, i);
        return;
    }
}

/* Registered memory that begins in the block. */
static bool registered_in(uintptr_t p, size_t bytes, struct weir_check_pages *out)
{
    const struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->registered.ranges.count; i++) {
        *out = c->registered.ranges.items[i];
        if (out->begin >= p && out->begin - p < bytes)
            return true;
    }
    return false;
}

static bool note_used(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                      uintptr_t end)
{
    (void)a;
    (void)kind;
    (void)begin;
    (void)end;
    *(bool *)ctx = true;
    return false;
}

void weir_check_block_freed(const void *p, size_t bytes, const char *call, const void *at)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = {.call = call, .address = at, .thread = weir_thread_id()};
    struct weir_check_finding f = {.kind = WEIR_FOUND_STILL_REGISTERED};
    struct weir_check_pages r;
    bool used = false;
    int saved = errno;

    if (c->watch_over)
        return;
    site.stack = weir_check_stack_unwind(at);
    weir_check_lock();
    if (registered_in((uintptr_t)p, bytes, &r)) {
        used_by_pending(r.begin, r.end, site, &used);
        weir_shadow_unfinished(&c->shadow, r.begin, r.end, note_used, &used);
        weir_check_freed((const void *)r.begin, r.end - r.begin, site);
        watch_less_locked(r.begin, r.end);
        f.a = weir_check_side_call(weir_check_block_of(r.begin).site, "the registration");
        f.b = weir_check_side_call(site, "the call that frees it");
        f.begin = r.begin;
        f.end = r.end;
        f.why.format =
            "the block is registered still: its pages stay locked, and what is allocated "
            "there next cannot be registered";
        f.change.format = "cudaHostUnregister before {1}";
        f.change.sites[0] = site;
        if (!used)
            weir_check_found(&f, NULL, NULL);
        weir_check_unregistered_locked(r.begin);
    }
    weir_check_unlock();
    errno = saved;
}

void weir_check_memory_gone(struct weir_check_op *op, const void *p, size_t bytes, bool writes)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_LIFETIME, .begin = (uintptr_t)p, .end = (uintptr_t)p + bytes};
    const struct weir_actor *a;

    weir_check_lock();
    a = weir_check_actor_locked(op);
    if (a && !((const struct weir_check_detail *)a->detail)->gone) {
        f.a = weir_check_side_of(a, writes ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ);
        f.why = (struct weir_check_say){
            .format = "the registered memory was given back to the system (free, munmap) before "
                      "the operation ran: on a GPU it goes on with pages that are nobody's"};
        f.change = (struct weir_check_say){
            .format = "synchronise with the operation's stream, then cudaHostUnregister, then free "
                      "the memory"};
        weir_check_found(&f, NULL, NULL);
    }
    weir_check_unlock();
}
