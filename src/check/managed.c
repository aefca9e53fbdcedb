/* Devices on which the host keeps away from managed memory while kernels are active (ORD-092): from
 * a kernel's submission until the host has waited for it, all of that memory is closed, but what
 * the program has attached elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/kernel_name.h"
#include "base/log.h"
#include "check/check_int.h"

#define NAME_MAX_BYTES 256

void weir_check_keep_managed(bool alone)
{
    weir_checker.kept.on = true;
    weir_checker.kept.alone = alone;
}

bool weir_check_reports(void)
{
    return weir_check_enabled() && !weir_checker.kept.alone;
}

/* ---- memory ---- */

void weir_check_managed_locked(uintptr_t begin, uintptr_t end)
{
    struct checker *c = &weir_checker;

    if (!weir_vec_push(&c->managed, ((struct weir_check_managed){.begin = begin, .end = end})))
        weir_check_lost_locked();
}

static struct weir_check_managed *managed_at(uintptr_t address)
{
    struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->managed.count; i++) {
        if (address >= c->managed.items[i].begin && address < c->managed.items[i].end)
            return &c->managed.items[i];
    }
    return NULL;
}

void weir_check_managed_gone_locked(uintptr_t begin)
{
    struct checker *c = &weir_checker;
    struct weir_check_managed *m = managed_at(begin);

    if (m && m->begin == begin)
        *m = c->managed.items[--c->managed.count];
}

void weir_check_will_touch_managed(const struct weir_check_op *op)
{
    struct checker *c = &weir_checker;

    if (c->kept.alone)
        return;
    weir_check_lock();
    for (size_t i = 0; op->lane && !c->watch_over && i < c->managed.count; i++)
        weir_guard_add(&c->guard, c->managed.items[i].begin, c->managed.items[i].end, true,
                       op->lane, op->seq);
    weir_check_unlock();
}

/* ---- kernels ---- */

static bool is_over(const struct weir_actor *a)
{
    return weir_order_host_knows(&weir_checker.order, &a->stamp);
}

static bool keeps(const struct weir_actor *a, const struct weir_check_managed *m)
{
    return weir_model_keeps_host_out(m->attached, m->lane == a->stamp.lane);
}

static void close_for(const struct weir_actor *a, const struct weir_check_managed *m)
{
    if (keeps(a, m))
        weir_guard_add(&weir_checker.guard, m->begin, m->end, true, a->stamp.lane, a->stamp.seq);
}

/* The last one of each stream, which those before it are over with; forgets those that are over. */
static void active_add(struct weir_actor *a)
{
    struct checker *c = &weir_checker;

    for (size_t i = 0; i < c->kept.active.count;) {
        struct weir_actor *old = c->kept.active.items[i];

        if (old == a)
            return;
        if (old->stamp.lane != a->stamp.lane && !is_over(old)) {
            i++;
            continue;
        }
        c->kept.active.items[i] = c->kept.active.items[--c->kept.active.count];
        weir_actor_drop(&c->shadow, old);
    }
    if (weir_vec_push(&c->kept.active, a))
        a->refs++;
    else
        weir_check_lost_locked();
}

void weir_check_kernel_active(struct weir_check_op *op)
{
    struct checker *c = &weir_checker;
    struct weir_actor *a;

    if (!c->kept.on)
        return;
    weir_check_lock();
    a = c->watch_over ? NULL : weir_check_actor_locked(op);
    if (a && !is_over(a)) {
        active_add(a);
        for (size_t i = 0; i < c->managed.count; i++)
            close_for(a, &c->managed.items[i]);
    }
    weir_check_unlock();
}

void weir_check_attach(const void *p, enum weir_attached attached, const void *stream)
{
    struct checker *c = &weir_checker;
    struct weir_check_managed *m;

    weir_check_lock();
    m = managed_at((uintptr_t)p);
    if (m) {
        m->attached = attached;
        m->lane = (uint32_t)(uintptr_t)weir_map_get(&c->lanes, (uintptr_t)stream);
        if (c->kept.alone) /* nothing else has closed its pages */
            weir_guard_forget(&c->guard, m->begin, m->end);
        for (size_t i = 0; c->kept.on && !c->watch_over && i < c->kept.active.count; i++) {
            if (!is_over(c->kept.active.items[i]))
                close_for(c->kept.active.items[i], m);
        }
    }
    weir_check_unlock();
}

/* ---- the host ---- */

/* Over, or by a wait for a value that somebody unknown writes it may be, as far as the host knows.
 */
static bool may_be_over(const struct weir_actor *a)
{
    const struct weir_order *o = &weir_checker.order;
    const struct weir_order_stamp host = {.lane = WEIR_CHECK_HOST_LANE, .base = o->host};

    return is_over(a) || weir_order_may_be_before(o, &a->stamp, &host);
}

/* The kernel that keeps the host from the address; NULL: none. */
static const struct weir_actor *keeper_of(uintptr_t address)
{
    struct checker *c = &weir_checker;
    const struct weir_check_managed *m = c->kept.active.count ? managed_at(address) : NULL;

    for (size_t i = 0; m && i < c->kept.active.count; i++) {
        if (keeps(c->kept.active.items[i], m) && !may_be_over(c->kept.active.items[i]))
            return c->kept.active.items[i];
    }
    return NULL;
}

static void say_kept(uintptr_t address, bool writes, const struct weir_actor *a)
{
    struct checker *c = &weir_checker;
    const struct weir_check_detail *d = a->detail;
    char name[NAME_MAX_BYTES];

    if (c->kept.told)
        return;
    c->kept.told = true;
    weir_log(WEIR_LOG_ERROR,
             "strict managed: the host %s managed memory at %p while kernel %s of stream %llu is "
             "active, for which it has not waited: a fault where concurrentManagedAccess is 0 "
             "(ORD-092); cudaStreamSynchronize of that stream or cudaDeviceSynchronize would order "
             "it, or cudaStreamAttachMemAsync take the memory out of its reach",
             writes ? "writes" : "reads", (void *)address,
             d->name ? weir_kernel_scoped_name(d->name, name, sizeof name) : "in a graph",
             (unsigned long long)c->streams.items[d->lane].id);
}

static void find_kept(uintptr_t begin, uintptr_t end, bool writes, struct weir_check_site site,
                      const struct weir_actor *a)
{
    struct weir_check_finding f = {.kind = WEIR_FOUND_MANAGED_ACTIVE,
                                   .a = weir_check_side_of(a, WEIR_ACCESS_READ),
                                   .b = {.used = true,
                                         .what = "the host",
                                         .op = {.host = true, .site = site},
                                         .access = writes ? WEIR_ACCESS_WRITE : WEIR_ACCESS_READ},
                                   .begin = begin,
                                   .end = end};

    f.a.no_access = true;
    f.why = (struct weir_check_say){
        .format = "the host has not waited for the kernel of {1}: where concurrentManagedAccess is "
                  "0 it must not touch managed memory until then, whichever the kernel uses "
                  "(ORD-092)",
        .sites[0] = f.a.op.site};
    f.change = (struct weir_check_say){
        .format = "cudaStreamSynchronize of the kernel's stream, or cudaDeviceSynchronize, before "
                  "{1}; or attach the memory to the host or to an idle stream "
                  "(cudaStreamAttachMemAsync)",
        .sites[0] = site};
    weir_check_found(&f, NULL, NULL);
}

bool weir_check_kept_locked(uintptr_t begin, uintptr_t end, bool writes,
                            struct weir_check_site site)
{
    const struct weir_actor *a = keeper_of(begin);

    if (!a)
        return false;
    if (weir_checker.kept.alone)
        say_kept(begin, writes, a);
    else
        find_kept(begin, end, writes, site, a);
    return weir_checker.kept.alone;
}
