/* A report: what somebody saw, as a program with the right outcome asserted. Each has the number
 * that docs/guide and the commit log know it by (P44), and says in its comment what was seen, and
 * by which rule it is right as it is. A file holds a group; report.c runs those that are named.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_REPORT_H
#define WEIR_TESTS_REPORT_H

#include "../conform/conform.h"
#include "kernels.h"

struct report {
    const char *id;
    void (*run)(void);
};

/* Ends with a row of which id is NULL. */
struct report_group {
    const char *name;
    const struct report *reports;
    const int *failures; /* of the group's file */
};

#define REPORT_GROUP(name)                                                                         \
    const struct report_group report_##name = {#name, reports, &conform_failures}

extern const struct report_group report_streams, report_order, report_late, report_hangs,
    report_capture, report_events, report_errors, report_fault, report_pools, report_managed,
    report_strict, report_devices, report_claims;

/* A kernel that spins in `s` on a mapped flag. */
struct spinning {
    unsigned *flags; /* [0] ends it, [1] is set when it runs */
};

static inline void spin_begin(struct spinning *k, cudaStream_t s)
{
    OK(cudaHostAlloc((void **)&k->flags, 8, cudaHostAllocMapped));
    k->flags[0] = k->flags[1] = 0;
    launch_spin(k->flags, k->flags + 1, 1, s);
    OK(cudaGetLastError());
    for (int i = 0; i < 20000 && !__atomic_load_n(&k->flags[1], __ATOMIC_ACQUIRE); i++)
        sleep_ms(1);
    CHECK(__atomic_load_n(&k->flags[1], __ATOMIC_ACQUIRE));
}

static inline void spin_end(struct spinning *k)
{
    __atomic_store_n(&k->flags[0], 1, __ATOMIC_RELEASE);
}

static inline void spin_drop(struct spinning *k)
{
    OK(cudaFreeHost(k->flags)); /* waits for the kernel */
}

static inline cudaStream_t make_stream(unsigned flags)
{
    cudaStream_t s = NULL;

    OK(cudaStreamCreateWithFlags(&s, flags));
    return s;
}

static inline cudaEvent_t make_event(unsigned flags)
{
    cudaEvent_t e = NULL;

    OK(cudaEventCreateWithFlags(&e, flags));
    return e;
}

static inline unsigned read_unsigned(const unsigned *device)
{
    unsigned v = 0;

    OK(cudaMemcpy(&v, device, sizeof v, cudaMemcpyDeviceToHost));
    return v;
}

#endif
