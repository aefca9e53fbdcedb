/* Modelled time inside a running program: the process reads its own trace, runs it on the simulator
 * as weir advise --clock model does, and tells when each record of an event would have been
 * reached. So cudaEventElapsedTime agrees with every tool that reads the trace.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What was found out is kept: only a record that is newer than the last simulation asks for another
 * one. Part of libweir.so (not of the tools); whoever links it has modelled time when WEIR_CLOCK
 * says so. */
#include "core/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/vec.h"
#include "plan/recorded.h"
#include "trace/record.h"

#define SETTLE_NS 10000000000u /* a kernel that waits for the host may run for ever */

struct known {
    struct weir_clock_record record;
    double at; /* ns from the trace's beginning; < 0: never reached */
};

struct records {
    struct known *items;
    size_t count, cap;
};

static struct {
    struct weir_lock lock;
    struct records known; /* guarded by lock; in the order of the trace */
    atomic_flag told;
} clock_state = {.lock = WEIR_LOCK_INIT(LEAF), .told = ATOMIC_FLAG_INIT};

/* The newest of that name: ids are used again. */
static const struct known *find_locked(const struct weir_clock_record *r)
{
    for (size_t i = clock_state.known.count; i-- > 0;) {
        const struct known *k = &clock_state.known.items[i];

        if (k->record.event == r->event && k->record.stream == r->stream && k->record.seq == r->seq)
            return k;
    }
    return NULL;
}

/* No lock is held while a trace is read: the recorder has its own, and it takes a while. Of two
 * threads that do it at once the one that read more wins. */
static bool keep(const struct weir_trace_file *f, const double *at)
{
    struct records mine = {0}, old;
    bool ok = true;

    for (size_t i = 0; ok && i < f->records_count; i++) {
        const struct weir_trace_event_record *r = &f->records[i];

        if (r->stream != WEIR_TRACE_NONE)
            ok = weir_vec_push(
                &mine, ((struct known){{r->event, f->streams[r->stream].id, r->seq}, at[i]}));
    }
    weir_lock_acquire(&clock_state.lock);
    old = mine;
    if (ok && mine.count >= clock_state.known.count) {
        old = clock_state.known;
        clock_state.known = mine;
    }
    weir_lock_release(&clock_state.lock);
    weir_free(old.items);
    return ok;
}

static bool simulate(const struct weir_trace_file *f, const struct weir_plan_machine *machine)
{
    const struct weir_plan_scenario as_it_is = {0};
    struct weir_plan_recorded m = {0};
    struct weir_plan_data data = {0};
    struct weir_plan_outcome out;
    size_t calls = f->calls_count + 1;
    struct weir_plan_moments when = {.ops = weir_calloc(f->ops_count + 1, sizeof *when.ops),
                                     .call_begin = weir_calloc(calls, sizeof *when.call_begin),
                                     .call_work = weir_calloc(calls, sizeof *when.call_work),
                                     .call_end = weir_calloc(calls, sizeof *when.call_end),
                                     .records =
                                         weir_calloc(f->records_count + 1, sizeof *when.records)};
    bool ok = when.ops && when.call_begin && when.call_work && when.call_end && when.records &&
              weir_plan_data_init(&data, f) && weir_plan_recorded_init(&m, f, &data) &&
              weir_plan_recorded_by_model(&m, machine, NULL, 0) &&
              weir_plan_recorded_times(&m, &as_it_is, &out, &when) && keep(f, when.records);

    weir_plan_recorded_finish(&m);
    weir_plan_data_finish(&data);
    weir_free(when.ops);
    weir_free(when.call_begin);
    weir_free(when.call_work);
    weir_free(when.call_end);
    weir_free(when.records);
    return ok;
}

static void tell_once(const char *why)
{
    if (!atomic_flag_test_and_set(&clock_state.told))
        weir_log(WEIR_LOG_WARN, "--clock model: %s: times between events are wall times", why);
}

static void read_trace(const struct weir_profile *profile)
{
    struct weir_plan_machine machine;
    struct weir_trace_file *f;
    const char *message;
    char path[32];

    if (!weir_plan_machine_init(&machine, profile)) {
        tell_once("the device profile says no costs (--device h200 does)");
        return;
    }
    f = weir_trace_own_path(path) ? weir_trace_file_read(path, &message) : NULL;
    if (!f || !simulate(f, &machine))
        tell_once("this process has no trace of itself");
    weir_trace_file_free(f);
}

static bool find_both(const struct weir_clock_record *from, const struct weir_clock_record *to,
                      double *ns)
{
    const struct known *a, *b;
    bool found;

    weir_lock_acquire(&clock_state.lock);
    a = find_locked(from);
    b = find_locked(to);
    found = a && b && a->at >= 0 && b->at >= 0;
    if (found)
        *ns = b->at - a->at;
    weir_lock_release(&clock_state.lock);
    return found;
}

static bool elapsed(const struct weir_profile *profile, const struct weir_clock_record *from,
                    const struct weir_clock_record *to, double *ns)
{
    if (find_both(from, to, ns))
        return true;
    (void)weir_core_clock_settle(SETTLE_NS); /* what kernels counted is known when they end */
    read_trace(profile);
    return find_both(from, to, ns);
}

WEIR_CONSTRUCTOR static void start(void)
{
    const char *clock = getenv("WEIR_CLOCK");

    if (clock && strcmp(clock, "model") == 0)
        weir_core_clock_set(elapsed);
}
