/* Calls that wait for the device on hardware, or may (making streams and memory), while a kernel
 * runs that looks at what the program writes: if it waits for that, both wait for ever there. That
 * a kernel does is known when it has ended, so such calls are remembered.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "check/check_int.h"

#define CALLS 64 /* that are remembered; older ones are forgotten */

static struct {
    struct call {
        struct weir_check_site at;
        struct weir_clock *all, *known; /* submitted by then; that the host knew to be over */
    } calls[CALLS];
    uint64_t count;
    WEIR_VEC(struct weir_check_side) talkers; /* kernels */
} blocked;

static void call_drop(struct call *c)
{
    weir_order_clock_drop(&weir_checker.order, c->all);
    weir_order_clock_drop(&weir_checker.order, c->known);
    *c = (struct call){.all = NULL};
}

void weir_check_may_block_locked(int device, const struct weir_check_site *at)
{
    struct checker *c = &weir_checker;
    struct call *call = &blocked.calls[blocked.count % CALLS];

    if (!c->pending || !at->address)
        return;
    call_drop(call);
    blocked.count++;
    call->at = *at;
    call->known = weir_order_host_clock(&c->order);
    for (uint32_t lane = WEIR_CHECK_HOST_LANE + 1; lane < c->streams.count; lane++) {
        struct weir_order_stamp last = {.lane = lane, .seq = c->order.lanes[lane].last};

        if (last.seq && (device < 0 || c->streams.items[lane].device == device))
            weir_order_clock_add(&c->order, &call->all, &last);
    }
}

void weir_check_talks_locked(const struct weir_actor *op)
{
    const struct weir_check_detail *d = op->detail;

    if (d->kind != WEIR_OP_KERNEL)
        return;
    for (size_t i = 0; i < blocked.talkers.count; i++) {
        if (blocked.talkers.items[i].op.number == d->number)
            return;
    }
    if (!weir_vec_push(&blocked.talkers, weir_check_side_of(op, WEIR_ACCESS_ATOMIC)))
        weir_check_lost_locked();
    else
        blocked.talkers.items[blocked.talkers.count - 1].seq = op->stamp.seq;
}

static void judge(const struct call *call, const struct weir_check_side *kernel)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_MAY_BLOCK,
        .a = *kernel,
        .b = weir_check_side_call(call->at, "the call"),
        .why = {.format = "{c2} may wait for the device on hardware, and the kernel of {1}, which "
                          "has not ended, looks at memory that the program writes: if it waits for "
                          "that, both wait for ever",
                .sites = {kernel->op.site, call->at}},
        .change = {.format = "make streams and memory before {c1} at {1}",
                   .sites[0] = kernel->op.site},
    };

    f.a.no_access = true;
    if (weir_order_clock_has(call->all, kernel->op.lane, kernel->seq) &&
        !weir_order_clock_has(call->known, kernel->op.lane, kernel->seq))
        weir_check_found(&f, NULL, NULL);
}

void weir_check_may_block_end_locked(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        for (size_t k = 0; k < blocked.talkers.count; k++)
            judge(&blocked.calls[i], &blocked.talkers.items[k]);
        call_drop(&blocked.calls[i]);
    }
    weir_vec_finish(&blocked.talkers);
}
