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
#include "trace/symbols.h"

#define GATES_MAX    16
#define SUSPECTS_MAX 20000
#define LINES_MAX    256

static bool protect(void *ctx, uintptr_t begin, uintptr_t end, enum weir_guard_state state)
{
    static const int protections[] = {[WEIR_GUARD_OPEN] = PROT_READ | PROT_WRITE,
                                      [WEIR_GUARD_READABLE] = PROT_READ,
                                      [WEIR_GUARD_CLOSED] = PROT_NONE};

    (void)ctx;
    return mprotect((void *)begin, end - begin, protections[state]) == 0;
}

void weir_check_watch(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    weir_check_lock();
    weir_check_stack_prepare();
    weir_guard_init(&c->guard, &c->order, protect, NULL);
    c->watch_begin = begin;
    c->watch_end = end;
    weir_check_unlock();
}

void weir_check_will_touch(const void *op, uintptr_t begin, uintptr_t end, bool writes)
{
    struct checker *c = &weir_checker;
    const struct weir_actor *a;

    begin = WEIR_MAX(begin, c->watch_begin);
    end = WEIR_MIN(end, c->watch_end);
    if (begin >= end)
        return;
    weir_check_lock();
    a = c->watch_over ? NULL : weir_map_get(&c->ops, (uintptr_t)op);
    if (a)
        weir_guard_add(&c->guard, begin, end, writes, a->stamp.lane, a->stamp.seq);
    weir_check_unlock();
}

/* ---- what else orders ---- */

static bool same_stamp(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    return a->lane == b->lane && a->seq == b->seq;
}

/* op NULL: until the host knows it to be over. */
static void gate_add(const void *op, const struct weir_order_stamp *stamp)
{
    struct checker *c = &weir_checker;
    struct weir_check_gate gate = {.op = op};

    weir_order_stamp_copy(&gate.stamp, stamp);
    if (!weir_vec_push(&c->gates, gate)) {
        weir_order_stamp_drop(&c->order, &gate.stamp);
        c->failed = true;
    }
}

void weir_check_gate_add(const void *op, enum weir_op_kind kind,
                         const struct weir_order_stamp *stamp)
{
    if (kind == WEIR_OP_HOST_FUNC || kind == WEIR_OP_CALLBACK)
        gate_add(op, stamp);
    else if (kind == WEIR_OP_POLL)
        gate_add(NULL, stamp);
}

void weir_check_waits_inside(const void *op)
{
    const struct weir_actor *a;

    weir_check_lock();
    a = weir_map_get(&weir_checker.ops, (uintptr_t)op);
    if (a)
        gate_add(op, &a->stamp);
    weir_check_unlock();
}

static void gate_drop(size_t i)
{
    struct checker *c = &weir_checker;

    weir_order_stamp_drop(&c->order, &c->gates.items[i].stamp);
    c->gates.items[i] = c->gates.items[--c->gates.count];
}

void weir_check_gate_remove(const void *op)
{
    struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->gates.count; i++) {
        if (c->gates.items[i].op == op) {
            gate_drop(i);
            return;
        }
    }
}

/* Those of now: what the host knows to be over is none. Too many: NULL and *all. */
static struct weir_gates *gates_now(bool *all)
{
    struct checker *c = &weir_checker;
    struct weir_gates *g;

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
        weir_checker.failed = true;
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

void weir_check_met(void *ctx, struct weir_actor *op, struct weir_actor *host)
{
    struct checker *c = &weir_checker;

    (void)ctx;
    (void)host;
    remember(&c->met.items, &c->met.count, &c->met.cap, &op->stamp);
}

static bool is_suspect(const struct weir_order_stamp *op)
{
    const struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->heard.count; i++) {
        if (same_stamp(&c->heard.items[i], op))
            return false;
    }
    for (size_t i = 0; i < c->met.count; i++) {
        const struct weir_order_stamp *m = &c->met.items[i];

        if (same_stamp(m, op) || weir_order_before(m, op) || weir_order_before(op, m))
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
    s.finding.block = weir_check_block_of(race->begin); /* it may be freed before the end */
    if (c->suspects.count >= SUSPECTS_MAX || !weir_vec_push(&c->suspects, s))
        c->failed = true;
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
        weir_guard_forget(&c->guard, c->watch_begin, c->watch_end);
    c->watch_over = true;
    for (size_t i = 0; i < c->suspects.count; i++) {
        struct weir_check_suspect *s = &c->suspects.items[i];

        if (is_suspect(&s->op->stamp)) {
            if (lines)
                s->finding.b.op.site.address = line_of(lines, s->finding.b.op.site.address);
            weir_check_found(&s->finding, weir_check_explain_host, s->op);
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
    struct weir_check_detail *d;
    struct weir_order_stamp stamp;
    struct weir_actor *a = NULL;
    bool any = false;

    if (last && c->host_last_changes == c->order.host_changes &&
        c->host_last_submitted == c->submitted && last->site.address == site.address &&
        last->site.thread == site.thread)
        return c->host_last;
    weir_order_host_acts(&c->order, WEIR_CHECK_HOST_LANE, &stamp);
    d = weir_calloc(1, sizeof *d);
    if (d)
        a = weir_actor_create(&c->shadow, &stamp);
    else
        weir_order_stamp_drop(&c->order, &stamp);
    if (a)
        a->gates = gates_now(&any);
    if (!a || any) { /* too much that cannot be told: nothing is judged */
        if (a)
            weir_actor_drop(&c->shadow, a);
        weir_free(d);
        return NULL;
    }
    *d = (struct weir_check_detail){
        .host = true, .lane = WEIR_CHECK_HOST_LANE, .number = ++c->host_acts, .site = site};
    a->detail = d;
    a->host = true;
    weir_actor_drop(&c->shadow, c->host_last);
    c->host_last = a;
    c->host_last_changes = c->order.host_changes;
    c->host_last_submitted = c->submitted;
    return a;
}

static void accessed(uintptr_t begin, size_t bytes, bool writes, struct weir_check_site site)
{
    struct weir_actor *a = host_actor(site);

    if (a)
        weir_shadow_access(&weir_checker.shadow, a, writes ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ,
                           begin, begin + bytes);
}

static bool is_watched(uintptr_t address)
{
    return address >= weir_checker.watch_begin && address < weir_checker.watch_end;
}

enum weir_check_fault weir_check_fault(uintptr_t address, size_t bytes, bool writes, const void *at,
                                       const void *ip, bool engine)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = {.address = at, .thread = weir_thread_id()};
    enum weir_check_fault result = WEIR_FAULT_AGAIN;
    enum weir_guard_state state;

    if (!is_watched(address))
        return WEIR_FAULT_OTHER;
    if (!engine)
        site.stack = weir_check_stack_unwind(ip);
    weir_check_lock();
    state = weir_guard_at(&c->guard, address);
    if (engine) {
        weir_guard_open_around(&c->guard, address);
    } else if (state == WEIR_GUARD_CLOSED || (state == WEIR_GUARD_READABLE && writes)) {
        accessed(address, bytes, writes, site);
        weir_guard_step(&c->guard, address);
        result = WEIR_FAULT_STEP;
    } /* else: another thread has opened it meanwhile */
    weir_check_unlock();
    return result;
}

void weir_check_step_end(uintptr_t address)
{
    weir_check_lock();
    weir_guard_step_end(&weir_checker.guard, address);
    weir_check_unlock();
}

/* The part of [p, p + bytes) that is watched. */
static bool watched_part(const void *p, size_t bytes, uintptr_t *begin, uintptr_t *end)
{
    const struct checker *c = &weir_checker;

    *begin = WEIR_MAX((uintptr_t)p, c->watch_begin);
    *end = WEIR_MIN((uintptr_t)p + bytes, c->watch_end);
    return bytes <= UINTPTR_MAX - (uintptr_t)p && *begin < *end;
}

bool weir_check_io_begin(const void *p, size_t bytes, bool writes, const char *call, const void *at)
{
    struct checker *c = &weir_checker;
    struct weir_check_site site = {.call = call, .address = at, .thread = weir_thread_id()};
    uintptr_t begin, end;
    int saved = errno;
    bool held;

    if (!watched_part(p, bytes, &begin, &end))
        return false;
    site.stack = weir_check_stack_unwind(at);
    weir_check_lock();
    if (weir_guard_meets(&c->guard, begin, end))
        accessed(begin, end - begin, writes, site);
    held = !c->watch_over && weir_guard_hold(&c->guard, begin, end);
    weir_check_unlock();
    errno = saved;
    return held;
}

void weir_check_io_end(const void *p, size_t bytes)
{
    uintptr_t begin, end;
    int saved = errno;

    if (!watched_part(p, bytes, &begin, &end))
        return;
    weir_check_lock();
    weir_guard_release(&weir_checker.guard, begin, end);
    weir_check_unlock();
    errno = saved;
}
