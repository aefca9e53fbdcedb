/* What has run is not looked at by the thread that ran it: it would wait for the checker's lock,
 * and take the actors' lines from the thread that submits. It is put down here, and whoever takes
 * the checker's lock next looks at it before anything else, so that nobody can tell the difference.
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
        o->lists[i].ops.count = o->lists[i].accesses.count = 0;
    atomic_store_explicit(&o->some, false, memory_order_relaxed);
}

static bool add(struct weir_check_over_list *l, const void *const *ops, size_t count)
{
    if (l->ops.count + count > OVER_MOST || !weir_vec_reserve(&l->ops, l->ops.count + count))
        return false;
    for (size_t i = 0; i < count; i++)
        l->ops.items[l->ops.count++] = ops[i];
    return true;
}

static bool add_ranges(struct weir_check_over_list *l, const void *op,
                       const struct weir_check_range *ranges, size_t count)
{
    if (count && !weir_vec_reserve(&l->accesses, l->accesses.count + count))
        return false;
    for (size_t i = 0; i < count; i++)
        l->accesses.items[l->accesses.count++] = (struct weir_check_over_access){op, ranges[i]};
    return true;
}

/* False: there is no room. */
static bool put_down(const void *const *ops, size_t count, const struct weir_check_range *ranges,
                     size_t range_count)
{
    struct weir_check_over *o = &weir_checker.over;
    bool ok;

    weir_lock_acquire(&o->lock);
    ok = add(o->now, ops, count);
    if (ok && !add_ranges(o->now, ops[0], ranges, range_count)) {
        o->now->ops.count -= count;
        ok = false;
    }
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
        weir_check_access_locked(
            weir_map_get(&weir_checker.ops, (uintptr_t)l->accesses.items[i].op),
            &l->accesses.items[i].range);
    for (size_t i = 0; i < l->ops.count; i++)
        weir_check_op_over_locked(l->ops.items[i]);
    l->accesses.count = l->ops.count = 0;
    weir_check_settle_locked();
}

static void over(const void *const *ops, size_t count, const struct weir_check_range *ranges,
                 size_t range_count)
{
    if (put_down(ops, count, ranges, range_count))
        return;
    weir_check_lock(); /* after those that were put down */
    for (size_t i = 0; i < range_count; i++)
        weir_check_access_locked(weir_map_get(&weir_checker.ops, (uintptr_t)ops[0]), &ranges[i]);
    for (size_t i = 0; i < count; i++)
        weir_check_op_over_locked(ops[i]);
    weir_check_settle_locked();
    weir_check_unlock();
}

void weir_check_op_done(const void *op, const struct weir_check_range *ranges, size_t count)
{
    if (weir_check_tells())
        weir_tsan_op_done(op);
    if (weir_check_enabled())
        over(&op, 1, ranges, count);
}

void weir_check_ops_done(const void *const *ops, size_t count)
{
    for (size_t i = 0; weir_check_tells() && i < count; i++)
        weir_tsan_op_done(ops[i]);
    if (weir_check_enabled())
        over(ops, count, NULL, 0);
}
