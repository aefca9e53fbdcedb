/* Clusters: blocks that are there at the same time, see each other's shared memory and wait for
 * each other. One worker runs all of a cluster's blocks in turns, each until it waits; so they need
 * no locked instruction for what they share. When none of them gets on, the cluster parks as a
 * whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "device/device_int.h"

#define VAIN_ROUNDS 4 /* over the members, before the cluster parks */

enum weir_err weir_cluster_fit(struct slot *s, const struct weir_kernel_work *k)
{
    uint32_t n = k->cluster_blocks;
    struct member *m;

    if (WEIR_LIKELY(n == 1 && !k->code->clusters)) {
        s->member_count = 0;
        return WEIR_OK;
    }
    if (n > s->member_room) {
        m = weir_calloc(n, sizeof *m);
        if (!m)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a cluster of %u blocks", n);
        weir_free(s->members);
        s->members = m;
        s->member_room = n;
    }
    s->member_count = n;
    return WEIR_OK;
}

void weir_cluster_place(struct slot *s, const struct weir_kernel_work *k, size_t shared,
                        size_t state, size_t local)
{
    (void)k;
    s->cluster = (struct weir_cluster){.shared = (uint64_t)(uintptr_t)s->block.shared,
                                       .stride = shared,
                                       .blocks = s->member_count};
    for (uint32_t i = 0; i < s->member_count; i++) {
        struct weir_block *b = &s->members[i].block;

        b->shared = s->block.shared + i * shared;
        b->state = s->block.state + i * state;
        b->local = s->block.local + i * local;
        b->cluster = &s->cluster;
        b->cluster_rank = i;
    }
}

void weir_cluster_start(struct slot *s, const struct weir_kernel_work *k, uint64_t index)
{
    uint32_t c[3], clusters[2];
    uint64_t rows;

    for (int i = 0; i < 3; i++)
        c[i] = WEIR_MAX(k->launch.cluster[i], 1u);
    clusters[0] = k->launch.grid[0] / c[0];
    clusters[1] = k->launch.grid[1] / c[1];
    rows = index / clusters[0];
    s->cluster.phase = 0;
    for (uint32_t i = 0; i < s->member_count; i++) {
        struct weir_block *b = &s->members[i].block;

        b->ctaid[0] = (uint32_t)(index % clusters[0]) * c[0] + i % c[0];
        b->ctaid[1] = (uint32_t)(rows % clusters[1]) * c[1] + i / c[0] % c[1];
        b->ctaid[2] = (uint32_t)(rows / clusters[1]) * c[2] + i / c[0] / c[1];
        b->resume = b->triggered = 0;
        b->cluster_arrived = b->cluster_live = 0;
        s->members[i].done = false;
    }
}

void weir_cluster_enter(struct runner *r, bool resume)
{
    struct slot *s = r->slot;

    for (uint32_t i = 0; i < s->member_count; i++) {
        struct weir_block *b = &s->members[i].block;

        b->launch = s->block.launch;
        b->shared_bytes = s->block.shared_bytes;
        b->smid = s->block.smid;
        b->error = b->error_line = b->error_lane = 0;
        b->error_address = b->error_pc = 0;
        b->escape = b->engine = r;
    }
    if (!resume)
        weir_cluster_start(s, r->kernel, r->index);
}

void weir_cluster_note(struct slot *s)
{
    const struct weir_block *b = &s->members[s->current].block;

    s->block.error = b->error;
    s->block.error_line = b->error_line;
    s->block.error_lane = b->error_lane;
    s->block.warp = b->warp;
    s->block.error_address = b->error_address;
    memcpy(s->block.ctaid, b->ctaid, sizeof s->block.ctaid);
}

/* Everybody who is still there has arrived: the barrier is complete. */
static bool barrier_completes(struct slot *s)
{
    bool any = false;

    for (uint32_t i = 0; i < s->member_count; i++) {
        const struct weir_block *b = &s->members[i].block;

        if (s->members[i].done)
            continue;
        if (b->cluster_arrived < b->cluster_live)
            return false;
        any = true;
    }
    if (!any)
        return false;
    for (uint32_t i = 0; i < s->member_count; i++)
        s->members[i].block.cluster_arrived = 0;
    s->cluster.phase++;
    return true;
}

/* What the members have counted becomes the slot's. */
static uint32_t counted(struct slot *s, uint32_t how)
{
    for (uint32_t i = 0; i < s->member_count; i++) {
        struct weir_block *b = &s->members[i].block;

        s->block.instructions += b->instructions;
        s->block.bytes += b->bytes;
        b->instructions = b->bytes = 0;
    }
    return how;
}

uint32_t weir_cluster_run(struct runner *r)
{
    struct slot *s = r->slot;
    const weir_block_fn run = s->code->run;
    int vain = 0;

    for (;;) {
        uint32_t left = 0;
        bool progress = false;

        for (uint32_t i = 0; i < s->member_count; i++) {
            struct member *m = &s->members[i];
            uint32_t how;

            if (m->done)
                continue;
            s->current = i;
            how = run(&m->block);
            if (how == WEIR_BLOCK_FAILED)
                return counted(s, how);
            if (how == WEIR_BLOCK_PARKED) {
                left++;
                continue;
            }
            m->done = progress = true;
            if (s->code->triggers)
                weir_device_block_trigger(&m->block);
        }
        if (left == 0)
            return counted(s, WEIR_BLOCK_DONE);
        progress |= barrier_completes(s);
        vain = progress ? 0 : vain + 1;
        if (vain == VAIN_ROUNDS ||
            atomic_load_explicit(&r->kernel->error, memory_order_relaxed) != WEIR_OK)
            return counted(s, WEIR_BLOCK_PARKED);
    }
}
