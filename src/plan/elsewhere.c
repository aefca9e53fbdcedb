/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/elsewhere.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "plan/moved.h"
#include "plan/passes.h"
#include "plan/table.h"
#include "plan/units.h"

#define NAMES_MAX 24 /* kernels in the table */

struct kernel {
    const char *name;
    double before, after; /* ns, sums */
    uint32_t count;
    bool given, tabled, counted; /* tabled: in the device's table of measured kernels */
};

struct elsewhere {
    const struct weir_trace_file *f;
    const struct weir_plan_elsewhere *how;
    struct weir_plan_data data;
    struct weir_plan_recorded there;
    struct weir_plan_outcome recorded, moved;
    WEIR_VEC(struct kernel) kernels;
};

/* ---- times ---- */

static bool is_given(const struct weir_plan_elsewhere *how, const char *name)
{
    for (size_t i = 0; i < how->time_count; i++) {
        if (strcmp(how->times[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_tabled(const struct weir_plan_elsewhere *how, const struct weir_trace_op *op)
{
    return how->machine && weir_plan_kernel_table_ns(how->machine, op->name, op->symbol, 1) > 0;
}

static struct kernel *kernel_of(struct elsewhere *e, const char *name)
{
    for (size_t i = 0; i < e->kernels.count; i++) {
        if (strcmp(e->kernels.items[i].name, name) == 0)
            return &e->kernels.items[i];
    }
    if (!weir_vec_push(&e->kernels,
                       ((struct kernel){.name = name, .given = is_given(e->how, name)})))
        return NULL;
    return &e->kernels.items[e->kernels.count - 1];
}

static bool note_kernels(struct elsewhere *e, bool after)
{
    for (size_t i = 0; i < e->f->ops_count; i++) {
        struct kernel *k;

        if (e->f->ops[i].kind != WEIR_TRACE_OP_KERNEL)
            continue;
        k = kernel_of(e, e->f->ops[i].name);
        if (!k)
            return false;
        if (after)
            k->after += (double)e->there.alone_ns[i];
        else
            k->before += (double)e->there.alone_ns[i];
        k->count += !after;
        k->tabled = k->tabled || is_tabled(e->how, &e->f->ops[i]);
        k->counted = k->counted || e->f->ops[i].instructions;
    }
    return true;
}

static bool move(struct elsewhere *e)
{
    const struct weir_plan_scenario as_it_is = {0};

    if (!weir_plan_recorded_run(&e->there, &as_it_is, &e->recorded) || !note_kernels(e, false))
        return false;
    for (size_t i = 0; i < e->f->ops_count; i++) {
        const struct weir_trace_op *op = &e->f->ops[i];

        if (op->kind == WEIR_TRACE_OP_KERNEL && !is_given(e->how, op->name))
            e->there.alone_ns[i] = weir_plan_ns((double)e->there.alone_ns[i] * e->how->kernels);
    }
    if (e->how->machine &&
        !(e->how->model_clock ? weir_plan_recorded_by_model : weir_plan_recorded_on)(
            &e->there, e->how->machine, e->how->times, e->how->time_count))
        return false;
    return note_kernels(e, true) && weir_plan_recorded_run(&e->there, &as_it_is, &e->moved);
}

/* ---- printing ---- */

static const char *recorded_name(const struct weir_trace_file *f)
{
    return f->devices_count ? f->devices[0].name : "no device";
}

static void print_line(const char *what, uint64_t before, uint64_t after, FILE *to)
{
    char a[32], b[32];

    if (before || after)
        fprintf(to, "  %-28s %14s %14s\n", what, weir_plan_time_text((double)before, a),
                weir_plan_time_text((double)after, b));
}

static void print_lengths(const struct elsewhere *e, FILE *to)
{
    static const char *const engines[] = {"kernels run", "copies to the device run",
                                          "copies to the host run", "work on the device runs",
                                          "host functions run"};

    fprintf(to, "recorded on %s; planned on %s\n\n  %-28s %14s %14s\n", recorded_name(e->f),
            e->how->machine ? e->how->machine->name : "the same", "", "recorded", "planned");
    print_line("whole", e->recorded.length_ns, e->moved.length_ns, to);
    for (int i = 0; i < WEIR_TRACE_ENGINE_COUNT; i++)
        print_line(engines[i], e->recorded.busy_ns[i], e->moved.busy_ns[i], to);
    print_line("nothing is submitted", e->recorded.idle_host_ns, e->moved.idle_host_ns, to);
}

static void print_kernels(const struct elsewhere *e, FILE *to)
{
    bool guessed = false;
    char a[32], b[32];

    if (!e->kernels.count)
        return;
    fprintf(to, "\n  %-28s %14s %14s   launches\n", "kernel, each launch", "recorded", "planned");
    for (size_t i = 0; i < e->kernels.count; i++) {
        const struct kernel *k = &e->kernels.items[i];

        guessed = guessed || (!k->given && !k->tabled && !k->counted);
        if (i < NAMES_MAX)
            fprintf(to, "  %-28.28s %14s %14s   %u%s\n", k->name,
                    weir_plan_time_text(k->before / k->count, a),
                    weir_plan_time_text(k->after / k->count, b), k->count,
                    k->given                        ? ", as given"
                    : k->tabled                     ? ", as measured"
                    : k->counted && e->how->machine ? ", as counted"
                                                    : "");
    }
    if (e->kernels.count > NAMES_MAX)
        fprintf(to, "  ... %zu more kernels\n", e->kernels.count - NAMES_MAX);
    if (guessed && e->how->machine && e->how->kernels == 1)
        fputs(
            "A kernel that neither --kernel NAME=TIME nor the profile (weir plan --calibrate) "
            "names "
            "and\nthat did not count (weir trace --counts) takes as long as in the trace, which is "
            "that\nmachine's time.\n",
            to);
}

/* Every number of chunks and streams that was asked for. */
static bool print_table(const struct elsewhere *e, const struct weir_plan_passes *p, FILE *to)
{
    struct weir_plan_machine here = {.device = weir_plan_passes_device(p)};
    struct weir_plan_table t = {.shape = weir_plan_passes_shape(p),
                                .chunks_from = e->how->chunks_from,
                                .chunks_to = e->how->chunks_to,
                                .streams_from = e->how->streams_from,
                                .streams_to = e->how->streams_to};
    const struct weir_plan_machine *m = e->how->machine ? e->how->machine : &here;
    bool ok;

    snprintf(here.name, sizeof here.name, "%s", recorded_name(e->f));
    ok = weir_plan_table_compute(&t, m);
    if (ok) {
        fputs("\nA pass: ", to);
        weir_plan_table_print(&t, m, to);
    }
    weir_free(t.ns);
    return ok;
}

static bool print_passes(const struct elsewhere *e, FILE *to)
{
    struct weir_plan_passes p;

    if (!weir_plan_passes_find(&e->there, &p))
        return false;
    if (!p.count) {
        fputs("\nNo pipeline of chunks was found (passes of copy in, kernels, copy out, each done "
              "before the next\nis submitted), so its chunk and stream counts cannot be changed "
              "here.\n",
              to);
        return true;
    }
    fprintf(to, "\nPattern: %u pass%s of %u chunk%s (copy in, kernels, copy out) in %u stream%s.\n",
            p.count, p.count == 1 ? "" : "es", p.chunks, p.chunks == 1 ? "" : "s", p.streams,
            p.streams == 1 ? "" : "s");
    if (!e->how->chunks_from) {
        fputs("--chunks A..B and --streams A..B show it with others.\n", to);
        return true;
    }
    return print_table(e, &p, to);
}

bool weir_plan_elsewhere_print(const struct weir_trace_file *f,
                               const struct weir_plan_elsewhere *how, FILE *to)
{
    struct elsewhere e = {.f = f, .how = how};
    bool ok = weir_plan_data_init(&e.data, f) && weir_plan_recorded_init(&e.there, f, &e.data) &&
              move(&e);

    if (ok) {
        print_lengths(&e, to);
        print_kernels(&e, to);
        ok = print_passes(&e, to);
    }
    weir_plan_recorded_finish(&e.there);
    weir_plan_data_finish(&e.data);
    weir_vec_finish(&e.kernels);
    return ok;
}

bool weir_plan_elsewhere_move(struct weir_trace_file *f, const struct weir_plan_elsewhere *how)
{
    struct elsewhere e = {.f = f, .how = how};
    bool ok = weir_plan_data_init(&e.data, f) && weir_plan_recorded_init(&e.there, f, &e.data) &&
              move(&e) && weir_plan_move(&e.there, f);

    weir_plan_recorded_finish(&e.there);
    weir_plan_data_finish(&e.data);
    weir_vec_finish(&e.kernels);
    return ok;
}
