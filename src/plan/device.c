/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "core/profile.h"

static int attribute(const struct weir_profile *p, int id)
{
    int value = 0;

    (void)!weir_profile_attribute(p, id, &value);
    return WEIR_MAX(value, 0);
}

bool weir_plan_machine_init(struct weir_plan_machine *m, const struct weir_profile *p)
{
    const double *c = p->costs;

    *m = (struct weir_plan_machine){
        .device = {.hw_queues = (uint32_t)c[WEIR_COST_HW_QUEUES],
                   .kernels_max = (uint32_t)c[WEIR_COST_KERNELS],
                   .copy_engines = (uint32_t)WEIR_MIN(WEIR_MAX(attribute(p, 40), 1), 2),
                   .sticky = true,
                   .duplex = c[WEIR_COST_DUPLEX],
                   .launch_ns = c[WEIR_COST_LAUNCH_US] * 1e3,
                   .same_ns = c[WEIR_COST_SAME_US] * 1e3,
                   .handover_ns = c[WEIR_COST_HANDOVER_US] * 1e3,
                   .copy_gap_ns = c[WEIR_COST_COPY_GAP_US] * 1e3},
        .host = {.submit_kernel = c[WEIR_COST_SUBMIT_KERNEL_US] * 1e3,
                 .submit_switch = c[WEIR_COST_SUBMIT_SWITCH_US] * 1e3,
                 .submit_copy = c[WEIR_COST_SUBMIT_COPY_US] * 1e3,
                 .submit_host_func = c[WEIR_COST_SUBMIT_COPY_US] * 1e3,
                 .record = c[WEIR_COST_RECORD_US] * 1e3,
                 .record_timing = c[WEIR_COST_RECORD_TIMING_US] * 1e3,
                 .wait = c[WEIR_COST_WAIT_US] * 1e3,
                 .sync = c[WEIR_COST_SYNC_US] * 1e3,
                 .sync_return = c[WEIR_COST_SYNC_RETURN_US] * 1e3,
                 .graph_launch = c[WEIR_COST_GRAPH_LAUNCH_US] * 1e3},
        .rates = {.h2d = c[WEIR_COST_H2D_GBPS],
                  .d2h = c[WEIR_COST_D2H_GBPS],
                  .pageable_h2d = c[WEIR_COST_PAGEABLE_H2D_GBPS],
                  .pageable_d2h = c[WEIR_COST_PAGEABLE_D2H_GBPS],
                  .small_h2d = c[WEIR_COST_PAGEABLE_SMALL_H2D_GBPS],
                  .small_d2h = c[WEIR_COST_PAGEABLE_SMALL_D2H_GBPS],
                  .mid_h2d = c[WEIR_COST_PAGEABLE_MID_H2D_GBPS],
                  .mid_d2h = c[WEIR_COST_PAGEABLE_MID_D2H_GBPS],
                  .device = c[WEIR_COST_DEVICE_GBPS],
                  .kernel_ns = c[WEIR_COST_KERNEL_US] * 1e3,
                  .clock = attribute(p, WEIR_ATTR_CLOCK_RATE) * 1e-6,
                  .copy_ns = c[WEIR_COST_COPY_US] * 1e3,
                  .graph_node_ns = c[WEIR_COST_GRAPH_NODE_US] * 1e3,
                  .host_func_ns = c[WEIR_COST_HOST_FUNC_US] * 1e3},
        .sms = (uint32_t)WEIR_MAX(p->sm_count, 1),
        .threads_per_sm = (uint32_t)attribute(p, WEIR_ATTR_MAX_THREADS_PER_SM),
        .blocks_per_sm = (uint32_t)attribute(p, WEIR_ATTR_MAX_BLOCKS_PER_SM),
        .shared_per_sm = (uint32_t)attribute(p, WEIR_ATTR_MAX_SHARED_PER_SM)};
    m->kernels = p->kernels;
    m->kernel_count = p->kernel_count;
    m->device.units = m->sms * m->threads_per_sm;
    snprintf(m->name, sizeof m->name, "%s", p->device_name);
    return m->rates.h2d > 0 && m->rates.d2h > 0;
}

static bool is_named(const struct weir_profile_kernel *k, const char *name, const char *symbol)
{
    return strcmp(k->name, name) == 0 || strcmp(k->name, symbol) == 0;
}

double weir_plan_kernel_table_ns(const struct weir_plan_machine *m, const char *name,
                                 const char *symbol, uint64_t blocks)
{
    const struct weir_profile_kernel *any = NULL, *below = NULL, *above = NULL;
    double us;

    for (size_t i = 0; i < m->kernel_count; i++) {
        const struct weir_profile_kernel *k = &m->kernels[i];

        if (!is_named(k, name, symbol))
            continue;
        if (!k->blocks)
            any = k;
        else if (k->blocks <= blocks && (!below || k->blocks >= below->blocks))
            below = k;
        else if (k->blocks > blocks && (!above || k->blocks <= above->blocks))
            above = k;
    }
    if (below && above)
        us = below->us + (above->us - below->us) * (double)(blocks - below->blocks) /
                             (double)(above->blocks - below->blocks);
    else if (below || above)
        us = (below ? below : above)->us * (double)blocks / (double)(below ? below : above)->blocks;
    else
        us = any ? any->us : 0;
    return us > 0 ? WEIR_MAX(us * 1e3, m->rates.kernel_ns) : 0;
}

uint32_t weir_plan_block_units(const struct weir_plan_machine *m, uint64_t threads,
                               uint64_t shared_bytes)
{
    uint64_t units = (threads + 31) / 32 * 32;
    uint64_t least = m->blocks_per_sm ? m->threads_per_sm / m->blocks_per_sm : 1;
    uint64_t by_shared = m->shared_per_sm ? WEIR_MIN(shared_bytes, (uint64_t)m->shared_per_sm) *
                                                m->threads_per_sm / m->shared_per_sm
                                          : 0;

    units = WEIR_MAX(units, WEIR_MAX(least, by_shared));
    return (uint32_t)WEIR_MAX(WEIR_MIN(units, (uint64_t)m->threads_per_sm), (uint64_t)1);
}

#define SMALL_MEMORY 16777216.0 /* the largest buffer that was measured to stay in the caches */
#define DOUBLINGS    4.0        /* of it, to the smallest that was measured not to */

/* Between the sizes that were measured, the middle one two doublings from both, the rate goes from
 * one to the other, by as much with each doubling of the memory. */
static double pageable_rate(double small, double mid, double large, double memory)
{
    double doublings = 0, at = SMALL_MEMORY;

    if (memory <= 0 || small <= 0 || large <= 0)
        return large;
    if (mid <= 0)
        mid = (small + large) / 2;
    for (; doublings < DOUBLINGS && memory > at; at *= 2)
        doublings += memory >= 2 * at ? 1 : (memory - at) / at;
    return doublings < DOUBLINGS / 2
               ? small + (mid - small) * doublings / (DOUBLINGS / 2)
               : mid + (large - mid) * (doublings - DOUBLINGS / 2) / (DOUBLINGS / 2);
}

double weir_plan_copy_ns(const struct weir_plan_machine *m, enum weir_plan_engine engine,
                         bool pageable, double bytes, double memory)
{
    const struct weir_plan_rates *r = &m->rates;
    bool out = engine == WEIR_PLAN_D2H;
    double rate, ns;

    if (engine == WEIR_PLAN_D2D)
        rate = r->device / 2; /* read and written */
    else if (!pageable)
        rate = out ? r->d2h : r->h2d;
    else
        rate = out ? pageable_rate(r->small_d2h, r->mid_d2h, r->pageable_d2h, memory)
                   : pageable_rate(r->small_h2d, r->mid_h2d, r->pageable_h2d, memory);
    ns = rate > 0 ? bytes / rate : 0;
    return rate > 0 ? WEIR_MAX(ns, r->copy_ns) : 0;
}

#define ISSUES      4.0   /* instructions of warps, an SM and cycle: four schedulers */
#define WARP_CYCLES 4.0   /* between two dependent instructions of one warp */
#define CACHE_BYTES 128.0 /* an SM and cycle */

struct weir_plan_pace weir_plan_kernel_pace(const struct weir_plan_machine *m, uint64_t blocks,
                                            uint64_t threads, uint64_t shared_bytes)
{
    uint32_t unit = weir_plan_block_units(m, threads, shared_bytes);
    double count = (double)WEIR_MAX(blocks, (uint64_t)1);
    struct weir_plan_pace p = {.fit = WEIR_MAX(m->threads_per_sm / unit, 1u),
                               .sms = WEIR_MIN(count, (double)m->sms)};

    p.warps = WEIR_MIN((double)p.fit, count / p.sms) * (double)((threads + 31) / 32);
    p.issue = WEIR_MIN(ISSUES, p.warps / WARP_CYCLES);
    p.bytes = CACHE_BYTES;
    return p;
}

double weir_plan_kernel_ns(const struct weir_plan_machine *m,
                           const struct weir_plan_kernel_work *work)
{
    struct weir_plan_pace p =
        weir_plan_kernel_pace(m, work->blocks, work->threads, work->shared_bytes);
    double ns, bytes;

    if (m->rates.clock <= 0 || p.issue <= 0)
        return 0;
    ns = (double)work->instructions / (p.sms * p.issue * m->rates.clock);
    bytes = (double)work->requested / (p.sms * p.bytes * m->rates.clock);
    if (m->rates.device > 0)
        bytes = WEIR_MAX(bytes, (double)WEIR_MIN(work->touched, work->requested) / m->rates.device);
    return ns + bytes + m->rates.kernel_ns;
}
