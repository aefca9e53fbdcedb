/* Which blocks run next. Kernels stand in lists by priority, oldest first; blocks leave in order. A
 * kernel with more blocks than the workers hold at a time has them to itself, as on a GPU whose
 * slots it fills; smaller ones take turns. Everything here is under the compute lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include "base/alloc.h"
#include "base/clock.h"

#define PARKED_LIMIT_MIN 1024
#define PARKED_PER_SM    32
#define AMPLE_PS         20000000u /* work worth waking a worker for: 20 us */
#define PIECE_NS         1500u     /* the least that is handed out, when known */
#define AMPLE_KERNELS    8         /* looked at to find that out */

static uint64_t kernel_remaining(const struct weir_kernel_work *k)
{
    uint64_t next = atomic_load_explicit(&k->next_block, memory_order_relaxed);
    uint64_t n = next < k->block_count ? k->block_count - next : 0;

    for (const struct range *r = k->run; r; r = r->next)
        n += r->end - r->begin;
    return n;
}

/* Blocks that poll keep their memory. A grid of any size may poll, but only so many of its blocks
 * are resident. */
static bool may_start_more(struct compute *c, struct weir_kernel_work *k)
{
    uint32_t limit = WEIR_MAX(PARKED_LIMIT_MIN, PARKED_PER_SM * k->launch.sm_count);

    return (k->parked < limit || k->code->cooperative) &&
           weir_residency_fits_locked(&c->residency, k);
}

static bool is_claimable(struct compute *c, struct weir_kernel_work *k)
{
    switch (atomic_load_explicit(&k->state, memory_order_relaxed)) {
    case KERNEL_QUEUED: /* to be prepared, or a first block */
        return !k->code || k->block_count == 0 || may_start_more(c, k);
    case KERNEL_RUNNING:
        return (k->run ||
                atomic_load_explicit(&k->next_block, memory_order_relaxed) < k->block_count) &&
               may_start_more(c, k);
    default:
        return false;
    }
}

void weir_compute_update_locked(struct compute *c)
{
    int32_t best = PRIORITY_NONE;

    for (int level = 0; level < PRIORITY_LEVELS && best == PRIORITY_NONE; level++) {
        WEIR_LIST_FOR_EACH(node, &c->ready[level])
        {
            if (is_claimable(c, WEIR_CONTAINER_OF(node, struct weir_kernel_work, work.link))) {
                best = level + PRIORITY_BEST;
                break;
            }
        }
    }
    /* Idle workers look at it all the time: written only when it changes. */
    if (atomic_load_explicit(&c->best_priority, memory_order_relaxed) != best)
        atomic_store_explicit(&c->best_priority, best, memory_order_seq_cst);
}

bool weir_compute_drain_locked(struct compute *c, uint64_t now)
{
    struct weir_list fresh;
    bool any = false;

    weir_list_init(&fresh);
    while (weir_inbox_drain(&c->inbox, &fresh)) {
        while (!weir_list_is_empty(&fresh)) {
            struct weir_list *node = fresh.next;
            struct weir_kernel_work *k =
                WEIR_CONTAINER_OF(node, struct weir_kernel_work, work.link);
            int level =
                WEIR_MIN(WEIR_MAX(k->work.priority - PRIORITY_BEST, 0), PRIORITY_LEVELS - 1);

            weir_list_remove(node);
            weir_list_append(&c->ready[level], node);
            if (!k->work.ready_ns)
                k->work.ready_ns = now;
            c->live++;
            c->drained++;
        }
        any = true;
    }
    return any;
}

void weir_compute_show_locked(struct compute *c, uint64_t now)
{
    do /* overwrites the hint of whoever has submitted since: so look again */
        weir_compute_update_locked(c);
    while (weir_compute_drain_locked(c, now));
}

static unsigned history_index(const struct weir_kernel_code *code)
{
    return (unsigned)(((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 58);
}

uint64_t weir_compute_block_ps(struct compute *c, struct weir_kernel_work *k)
{
    uint64_t ps = atomic_load_explicit(&k->block_ps, memory_order_relaxed);
    unsigned i;

    if (ps || !k->code)
        return ps;
    i = history_index(k->code);
    if (atomic_load_explicit(&c->history[i].code, memory_order_relaxed) != k->code)
        return 0;
    return atomic_load_explicit(&c->history[i].block_ps, memory_order_relaxed);
}

void weir_compute_learn(struct compute *c, struct weir_kernel_work *k, uint64_t ns, uint64_t blocks)
{
    uint64_t ps = ns * 1000 / blocks + 1, old = weir_compute_block_ps(c, k);
    unsigned i = history_index(k->code);

    if (old && ps > old) /* a single slow chunk says little; a fast one is the truth */
        ps = (ps + old) / 2;
    atomic_store_explicit(&k->block_ps, ps, memory_order_relaxed);
    if (ps != old) {
        atomic_store_explicit(&c->history[i].block_ps, ps, memory_order_relaxed);
        atomic_store_explicit(&c->history[i].code, k->code, memory_order_relaxed);
    }
}

static uint64_t chunk_size(struct compute *c, struct weir_kernel_work *k, uint64_t remaining)
{
    uint64_t ps = weir_compute_block_ps(c, k);
    uint64_t n = ps ? (uint64_t)CHUNK_NS * 1000 / ps : 1;

    if (WEIR_UNLIKELY(k->begun))
        return 1;
    if (c->residency.sms && k->code->may_park)
        return 1; /* each is asked whether it fits */
    if (k->chunk)
        n = WEIR_MIN(n, k->chunk * CHUNK_GROWTH);
    /* The last blocks are spread over the workers, in pieces that are worth the way to them. */
    if (c->worker_count > 1)
        n = WEIR_MIN(n, WEIR_MAX(remaining / (2 * (uint64_t)c->worker_count),
                                 ps ? PIECE_NS * 1000u / ps : 1));
    return WEIR_MAX(n, 1);
}

static void chunk_take_locked(struct compute *c, struct runner *r, struct weir_kernel_work *k)
{
    uint64_t n = chunk_size(c, k, kernel_remaining(k));
    uint64_t next = atomic_load_explicit(&k->next_block, memory_order_relaxed);
    struct range *back = k->run;

    if (back) {
        n = WEIR_MIN(n, back->end - back->begin);
        r->begin = back->begin;
        back->begin += n;
        if (back->begin == back->end) {
            k->run = back->next;
            back->next = c->free_ranges;
            c->free_ranges = back;
        }
    } else {
        n = WEIR_MIN(n, k->block_count - next);
        r->begin = next;
        atomic_store_explicit(&k->next_block, next + n, memory_order_relaxed);
    }
    r->kernel = k;
    r->sm = weir_residency_enter_locked(&c->residency, k); /* its blocks run one after another */
    r->index = r->begin;
    r->end = r->begin + n;
    r->priority = WEIR_MAX(WEIR_MIN(k->work.priority, 0), PRIORITY_BEST);
    if (k->served == 0) {
        r->now = weir_clock_ns();
        k->work.start_ns = WEIR_MAX(r->now, k->work.ready_ns);
        if (stats_on(c->dev))
            weir_stats_begin(&c->dev->stats, &k->work);
    }
    k->served = ++c->ticket;
    k->chunk = n;
    if (!k->run && atomic_load_explicit(&k->next_block, memory_order_relaxed) == k->block_count)
        weir_list_remove(&k->work.link);
}

static enum claim kernel_claim_locked(struct compute *c, struct runner *r,
                                      struct weir_kernel_work *k)
{
    if (atomic_load_explicit(&k->state, memory_order_relaxed) == KERNEL_QUEUED) {
        if (!k->code || k->block_count == 0) {
            atomic_store_explicit(&k->state, KERNEL_PREPARING, memory_order_relaxed);
            r->kernel = k;
            weir_compute_update_locked(c);
            return CLAIM_PREPARE;
        }
        atomic_store_explicit(&k->state, KERNEL_RUNNING, memory_order_relaxed);
    }
    chunk_take_locked(c, r, k);
    weir_compute_update_locked(c);
    return CLAIM_CHUNK;
}

/* Of the best priority: the kernel that was served longest ago, among the oldest that fit on the
 * workers together. */
static struct weir_kernel_work *kernel_choose_locked(struct compute *c)
{
    uint64_t resident = (uint64_t)RESIDENT_PER_WORKER * (uint64_t)c->worker_count;

    for (int level = 0; level < PRIORITY_LEVELS; level++) {
        struct weir_kernel_work *best = NULL;
        uint64_t blocks = 0;

        WEIR_LIST_FOR_EACH(node, &c->ready[level])
        {
            struct weir_kernel_work *k =
                WEIR_CONTAINER_OF(node, struct weir_kernel_work, work.link);

            if (!is_claimable(c, k))
                continue;
            /* Where there is a bound, younger kernels get what the blocks of older ones leave. Of
             * those that end soon anyway it does not matter. */
            if (c->residency.sms && k->code && k->code->may_park)
                return k;
            if (!best || k->served < best->served)
                best = k;
            blocks += kernel_remaining(k);
            if (blocks >= resident || best->served == 0)
                break;
        }
        if (best)
            return best;
    }
    return NULL;
}

static void slot_give_locked(struct compute *c, struct slot *s)
{
    weir_list_insert_after(&c->free_slots, &s->link);
    c->free_slot_count++;
}

static struct slot *slot_take_locked(struct compute *c)
{
    struct slot *s;

    if (weir_list_is_empty(&c->free_slots))
        return NULL;
    s = WEIR_LIST_ENTRY(c->free_slots.next, struct slot, link);
    weir_list_remove(&s->link);
    c->free_slot_count--;
    return s;
}

static void parked_count_set_locked(struct compute *c, int change)
{
    uint32_t n = atomic_load_explicit(&c->parked_count, memory_order_relaxed);

    atomic_store_explicit(&c->parked_count, n + (uint32_t)change, memory_order_relaxed);
}

static enum claim parked_take_locked(struct compute *c, struct runner *r, struct slot *s)
{
    weir_list_remove(&s->link);
    parked_count_set_locked(c, -1);
    if (r->slot)
        slot_give_locked(c, r->slot);
    r->slot = s;
    r->kernel = s->kernel;
    r->sm = s->sm;
    r->begin = r->index = s->index;
    r->end = s->index + 1;
    r->priority = WEIR_MAX(WEIR_MIN(s->kernel->work.priority, 0), PRIORITY_BEST);
    s->kernel->parked--;
    weir_compute_update_locked(c);
    return CLAIM_PARKED;
}

static enum claim parked_claim_locked(struct compute *c, struct runner *r)
{
    return parked_take_locked(c, r, WEIR_LIST_ENTRY(c->parked.next, struct slot, link));
}

bool weir_compute_claim_parked_locked(struct compute *c, struct runner *r,
                                      const struct weir_kernel_work *k)
{
    WEIR_LIST_FOR_EACH(node, &c->parked)
    {
        struct slot *s = WEIR_LIST_ENTRY(node, struct slot, link);

        if (s->kernel == k)
            return parked_take_locked(c, r, s) == CLAIM_PARKED;
    }
    return false;
}

void weir_compute_park_locked(struct compute *c, struct runner *r)
{
    struct slot *s = r->slot;

    s->kernel = r->kernel;
    s->index = r->index;
    s->sm = r->sm;
    r->sm = -1;
    s->kernel->parked++;
    weir_list_append(&c->parked, &s->link);
    parked_count_set_locked(c, 1);
    r->slot = slot_take_locked(c);
    weir_compute_update_locked(c);
}

enum claim weir_compute_claim_locked(struct compute *c, struct runner *r)
{
    bool parked = !weir_list_is_empty(&c->parked);
    struct weir_kernel_work *k = NULL;

    if (!(parked && r->parked_next))
        k = kernel_choose_locked(c);
    if (!k && parked) {
        r->parked_next = false;
        return parked_claim_locked(c, r);
    }
    if (!k)
        return CLAIM_NOTHING;
    r->parked_next = true;
    return kernel_claim_locked(c, r, k);
}

/* By its address only: what the helper was given may not have been submitted yet, its fields then
 * mean nothing. The lists are short, for a stream has one kernel in them. */
static bool is_ready_locked(struct compute *c, const struct weir_kernel_work *k)
{
    for (int level = 0; level < PRIORITY_LEVELS; level++) {
        WEIR_LIST_FOR_EACH(node, &c->ready[level])
        {
            if (node == &k->work.link)
                return true;
        }
    }
    return false;
}

enum claim weir_compute_claim_kernel_locked(struct compute *c, struct runner *r,
                                            struct weir_kernel_work *k)
{
    if (!is_ready_locked(c, k) || !is_claimable(c, k))
        return CLAIM_NOTHING;
    /* A helper takes CPU time from the workers: not while they have more urgent blocks. */
    if (atomic_load_explicit(&c->best_priority, memory_order_relaxed) <
        WEIR_MAX(k->work.priority, PRIORITY_BEST))
        return CLAIM_NOTHING;
    return kernel_claim_locked(c, r, k);
}

bool weir_compute_return_locked(struct compute *c, struct runner *r)
{
    struct weir_kernel_work *k = r->kernel;
    struct range *back = c->free_ranges;
    int level = r->priority - PRIORITY_BEST;

    if (back)
        c->free_ranges = back->next;
    else
        back = weir_alloc(sizeof *back);
    if (!back)
        return false;
    *back = (struct range){.next = k->run, .begin = r->index, .end = r->end};
    k->run = back;
    if (weir_list_is_empty(
            &k->work.link)) /* all its blocks were handed out: it is among the oldest */
        weir_list_insert_after(&c->ready[level], &k->work.link);
    r->end = r->index;
    weir_compute_update_locked(c);
    return true;
}

uint64_t weir_compute_cancel_locked(struct compute *c, struct weir_kernel_work *k)
{
    uint64_t rest = kernel_remaining(k);

    atomic_store_explicit(&k->next_block, k->block_count, memory_order_relaxed);
    while (k->run) {
        struct range *back = k->run;

        k->run = back->next;
        back->next = c->free_ranges;
        c->free_ranges = back;
    }
    weir_list_remove(&k->work.link);
    WEIR_LIST_FOR_EACH_SAFE(node, next, &c->parked)
    {
        struct slot *s = WEIR_LIST_ENTRY(node, struct slot, link);

        if (s->kernel == k) {
            weir_list_remove(node);
            parked_count_set_locked(c, -1);
            weir_residency_leave_locked(&c->residency, k, s->sm);
            slot_give_locked(c, s);
            k->parked--;
            rest++;
        }
    }
    weir_compute_update_locked(c);
    return rest;
}

bool weir_compute_is_ample_locked(struct compute *c)
{
    uint64_t total = 0;
    int seen = 0;

    for (int level = 0; level < PRIORITY_LEVELS; level++) {
        WEIR_LIST_FOR_EACH(node, &c->ready[level])
        {
            struct weir_kernel_work *k =
                WEIR_CONTAINER_OF(node, struct weir_kernel_work, work.link);
            uint64_t ps;

            if (!is_claimable(c, k))
                continue;
            ps = weir_compute_block_ps(c, k);
            if (!ps || ps > AMPLE_PS)
                return true;
            total += ps * WEIR_MIN(kernel_remaining(k), (uint64_t)AMPLE_PS);
            if (total > AMPLE_PS)
                return true;
            if (++seen == AMPLE_KERNELS)
                return false;
        }
    }
    return false;
}
