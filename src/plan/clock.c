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

/* The program so far, on the simulator. */
struct so_far {
    struct weir_trace_file *f;
    struct weir_plan_data data;
    struct weir_plan_recorded m;
    struct weir_plan_moments when;
};

static void so_far_finish(struct so_far *s)
{
    weir_plan_recorded_finish(&s->m);
    weir_plan_data_finish(&s->data);
    weir_free(s->when.ops);
    weir_free(s->when.call_begin);
    weir_free(s->when.call_work);
    weir_free(s->when.call_end);
    weir_free(s->when.records);
    weir_trace_file_free(s->f);
}

static bool simulate(struct so_far *s, const struct weir_plan_machine *machine)
{
    const struct weir_plan_scenario as_it_is = {0};
    const struct weir_trace_file *f = s->f;
    struct weir_plan_outcome out;
    size_t calls = f->calls_count + 1;

    s->when = (struct weir_plan_moments){
        .ops = weir_calloc(f->ops_count + 1, sizeof *s->when.ops),
        .call_begin = weir_calloc(calls, sizeof *s->when.call_begin),
        .call_work = weir_calloc(calls, sizeof *s->when.call_work),
        .call_end = weir_calloc(calls, sizeof *s->when.call_end),
        .records = weir_calloc(f->records_count + 1, sizeof *s->when.records)};
    return s->when.ops && s->when.call_begin && s->when.call_work && s->when.call_end &&
           s->when.records && weir_plan_data_init(&s->data, f) &&
           weir_plan_recorded_init(&s->m, f, &s->data) &&
           weir_plan_recorded_by_model(&s->m, machine, NULL, 0) &&
           weir_plan_recorded_times(&s->m, &as_it_is, &out, &s->when);
}

static void tell_once(const char *why)
{
    if (!atomic_flag_test_and_set(&clock_state.told))
        weir_log(WEIR_LOG_WARN, "--clock model: %s: times between events are wall times", why);
}

/* False: told once why not. s is to be finished either way. */
static bool read_trace(struct so_far *s, const struct weir_profile *profile,
                       struct weir_plan_machine *machine)
{
    const char *message;
    char path[32];

    *s = (struct so_far){0};
    if (!weir_plan_machine_init(machine, profile)) {
        tell_once("the device profile says no costs (--device h200 does)");
        return false;
    }
    s->f = weir_trace_own_path(path) ? weir_trace_file_read(path, &message) : NULL;
    if (s->f && simulate(s, machine))
        return true;
    tell_once("this process has no trace of itself");
    return false;
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
    struct weir_plan_machine machine;
    struct so_far s;

    if (find_both(from, to, ns))
        return true;
    (void)weir_core_clock_settle(SETTLE_NS); /* what kernels counted is known when they end */
    if (read_trace(&s, profile, &machine))
        (void)keep(s.f, s.when.records);
    so_far_finish(&s);
    return find_both(from, to, ns);
}

/* ---- a kernel's own clock ---- */

static uint32_t find_launch(const struct weir_trace_file *f, const struct weir_clock_launch *launch)
{
    for (uint32_t i = (uint32_t)f->ops_count; i-- > 0;) {
        if (f->ops[i].seq == launch->seq && f->ops[i].graph == WEIR_TRACE_NONE &&
            f->streams[f->ops[i].stream].id == launch->stream)
            return i;
    }
    return WEIR_TRACE_NONE;
}

/* A node begins where those that ended before it have come to, as the model runs them. */
static double start_of(const struct so_far *s, uint32_t op)
{
    double at = s->when.ops[op].start;

    for (size_t i = 0; i < s->f->ops_count; i++)
        at += s->f->ops[i].graph == op ? (double)s->m.alone_ns[i] : 0;
    return at;
}

/* Blocks that other kernels have on the device then: SMs are given out in order. */
static uint32_t first_sm(const struct so_far *s, uint32_t op, double at, uint32_t sms)
{
    uint64_t blocks = 0;

    for (uint32_t i = 0; i < s->f->ops_count; i++) {
        const struct weir_trace_op *o = &s->f->ops[i];
        const struct weir_plan_time *t = &s->when.ops[i];
        uint64_t n = 1;

        if (i == op || o->kind != WEIR_TRACE_OP_KERNEL || o->graph != WEIR_TRACE_NONE ||
            t->end < 0 || t->start > at || (o->done && t->end <= at) ||
            o->stream == s->f->ops[op].stream)
            continue;
        for (int k = 0; k < 3; k++)
            n *= WEIR_MIN(WEIR_MAX(o->u.kernel.grid[k], 1u), 65536u);
        blocks += n;
    }
    return (uint32_t)(blocks % sms);
}

static struct weir_clock_kernel *make_kernel(const struct so_far *s,
                                             const struct weir_plan_machine *machine, uint32_t op,
                                             const struct weir_clock_launch *launch)
{
    struct weir_plan_pace pace =
        weir_plan_kernel_pace(machine, launch->blocks, launch->threads, launch->shared_bytes);
    uint32_t places = pace.fit * machine->sms;
    struct weir_clock_kernel *k;

    if (s->when.ops[op].start < 0 || pace.issue <= 0 || machine->rates.clock <= 0)
        return NULL;
    k = weir_calloc(1, sizeof *k + places * sizeof *k->at);
    if (!k)
        return NULL;
    k->start_ns = start_of(s, op);
    k->clock = machine->rates.clock;
    k->last_wave = launch->blocks - launch->blocks % places;
    for (int wave = 0; wave < 2; wave++) {
        if (wave)
            pace = weir_plan_kernel_pace(machine, launch->blocks % places, launch->threads,
                                         launch->shared_bytes);
        k->pace[wave].instruction = pace.warps / pace.issue;
        k->pace[wave].byte = pace.warps / pace.bytes;
    }
    k->sms = machine->sms;
    k->places = places;
    k->first_sm = first_sm(s, op, k->start_ns, machine->sms);
    return k;
}

static struct weir_clock_kernel *begin(const struct weir_profile *profile,
                                       const struct weir_clock_launch *launch)
{
    struct weir_plan_machine machine;
    struct weir_clock_kernel *k = NULL;
    struct so_far s;

    if (read_trace(&s, profile, &machine)) {
        uint32_t op = find_launch(s.f, launch);

        if (op != WEIR_TRACE_NONE)
            k = make_kernel(&s, &machine, op, launch);
    }
    so_far_finish(&s);
    return k;
}

WEIR_CONSTRUCTOR static void start(void)
{
    static const struct weir_clock_model model = {elapsed, begin};
    const char *clock = getenv("WEIR_CLOCK");

    if (clock && strcmp(clock, "model") == 0)
        weir_core_clock_set(&model);
}
