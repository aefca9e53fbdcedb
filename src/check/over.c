/* What has run is not looked at by the thread that ran it: it would wait for the checker's lock,
 * and take the actors' lines from the thread that submits. Nor does a host function that begins say
 * there what the host knows by it. It is put down here, and whoever takes the checker's lock next
 * looks at it before anything else, so that nobody can tell the difference.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/check_int.h"
#include "check/tsan.h"

#define OVER_MOST 512 /* then who comes looks at them all */

void weir_check_over_init(void)
{
    struct weir_check_over *o = &weir_checker.over;

    weir_lock_init(&o->lock, WEIR_RANK_LEAF);
    o->now = &o->lists[0];
    for (int i = 0; i < 2; i++)
        o->lists[i].ops.count = o->lists[i].accesses.count = o->lists[i].begun.count = 0;
    atomic_store_explicit(&o->some, false, memory_order_relaxed);
}

/* False: there is no room. */
static bool put_down_locked(struct weir_check_over_list *l, const struct weir_check_done *d)
{
    const struct weir_check_range *r = d->ranges;

    if (l->ops.count + d->count > OVER_MOST ||
        !weir_vec_reserve(&l->ops, l->ops.count + d->count) ||
        !weir_vec_reserve(&l->accesses, l->accesses.count + d->range_count + 1))
        return false;
    for (size_t i = 0; i < d->count; i++) {
        l->ops.items[l->ops.count++] = d->ops[i];
        for (unsigned k = 0; k < d->range_counts[i]; k++)
            l->accesses.items[l->accesses.count++] =
                (struct weir_check_over_access){d->ops[i], *r++};
    }
    return true;
}

bool weir_check_begun(struct weir_check_op *op)
{
    struct weir_check_over *o = &weir_checker.over;
    bool ok = false;

    weir_lock_acquire(&o->lock);
    if (o->now->begun.count < OVER_MOST && weir_vec_push(&o->now->begun, op)) {
        atomic_store_explicit(&o->some, true, memory_order_relaxed);
        ok = true;
    }
    weir_lock_release(&o->lock);
    return ok;
}

static bool put_down(const struct weir_check_done *d)
{
    struct weir_check_over *o = &weir_checker.over;
    bool ok;

    weir_lock_acquire(&o->lock);
    ok = put_down_locked(o->now, d);
    if (ok) /* who submits to the memory of one of these has seen them end */
        atomic_store_explicit(&o->some, true, memory_order_relaxed);
    weir_lock_release(&o->lock);
    return ok;
}

void weir_check_over_take_locked(void)
{
    struct weir_check_over *o = &weir_checker.over;
    struct weir_check_over_list *l;

    weir_lock_acquire(&o->lock);
    l = o->now;
    o->now = l == &o->lists[0] ? &o->lists[1] : &o->lists[0];
    atomic_store_explicit(&o->some, false, memory_order_relaxed);
    weir_lock_release(&o->lock);
    for (size_t i = 0; i < l->accesses.count; i++)
        weir_check_access_locked(weir_check_actor_locked(l->accesses.items[i].op),
                                 &l->accesses.items[i].range);
    for (size_t i = 0; i < l->begun.count; i++) /* may be over, too */
        weir_check_host_func_begun_locked(l->begun.items[i]);
    for (size_t i = 0; i < l->ops.count; i++)
        weir_check_op_over_locked(l->ops.items[i]);
    l->accesses.count = l->ops.count = l->begun.count = 0;
    weir_check_settle_locked();
}

static void over(const struct weir_check_done *d)
{
    const struct weir_check_range *r = d->ranges;

    if (put_down(d))
        return;
    weir_check_lock(); /* after those that were put down */
    for (size_t i = 0; i < d->count; i++)
        for (unsigned k = 0; k < d->range_counts[i]; k++)
            weir_check_access_locked(weir_check_actor_locked(d->ops[i]), r++);
    for (size_t i = 0; i < d->count; i++)
        weir_check_op_over_locked(d->ops[i]);
    weir_check_settle_locked();
    weir_check_unlock();
}

void weir_check_op_done(struct weir_check_op *op, const struct weir_check_range *ranges,
                        size_t count)
{
    struct weir_check_done d;

    if (weir_check_tells())
        weir_tsan_op_done(op);
    if (!weir_check_enabled())
        return;
    d.count = 1;
    d.ops[0] = op;
    d.range_count = d.range_counts[0] = (uint8_t)count;
    for (size_t i = 0; i < count; i++)
        d.ranges[i] = ranges[i];
    over(&d);
}

void weir_check_ops_done(const struct weir_check_done *done)
{
    for (size_t i = 0; weir_check_tells() && i < done->count; i++)
        weir_tsan_op_done(done->ops[i]);
    if (weir_check_enabled())
        over(done);
}
