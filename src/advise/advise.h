/* weir advise: what an expert would ask of a timeline, each answer with its price. A price is the
 * difference of two simulations (sim.h): as recorded, and with that one obstacle removed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_ADVISE_ADVISE_H
#define WEIR_ADVISE_ADVISE_H

#include <stdio.h>

#include "weir/trace.h"

/* A finding gains at least so much, both; what is less is a note. */
#define WEIR_ADVISE_MIN_NS      50000u
#define WEIR_ADVISE_MIN_PERCENT 2.0

struct weir_advise_finding {
    const char *kind;              /* "single-stream", "pageable-sync" ... (docs/advise.md) */
    uint32_t sites[3], site_count; /* in the trace's sites */
    uint32_t stream;               /* or WEIR_TRACE_NONE */
    uint64_t gain_ns;
    uint64_t beyond_ns; /* of it, what the recorded length does not hold: loading code, what only a
                           GPU would add */
    bool note;
    char message[480]; /* what, and why by the rule */
    char change[320];  /* the smallest change */
};

struct weir_advise_report {
    struct weir_advise_finding *findings; /* notes last; the most expensive first */
    size_t count, cap;
    uint64_t length_ns; /* simulated, as recorded: what percentages are of */
    char device[128];   /* whose times they are, when not this machine's; else "" */
    bool model_clock;   /* nothing measured is left */
    unsigned lacking;   /* bits, of what answers rest on and the trace does not hold (advise.c) */
    char verdict[320];
};

/* Of the length that the finding is about. */
double weir_advise_percent(const struct weir_advise_report *r,
                           const struct weir_advise_finding *finding);

/* NULL behind the last. The questions that `--all` answers. */
const char *weir_advise_question(size_t i, const char **kind);
/* "yes", "note", "no", or "unknown": the trace does not hold what the answer rests on. */
const char *weir_advise_answer(const struct weir_advise_report *r, size_t i);

struct weir_plan_machine;
struct weir_plan_kernel_time;

/* As if the program had run on another device (plan/recorded.h). */
struct weir_advise_options {
    const struct weir_plan_machine *machine; /* NULL: as it ran */
    const struct weir_plan_kernel_time *times;
    size_t time_count;
    bool model_clock; /* with machine: f has the model's times (plan/moved.h), and no measured ones
                         count */
};

/* options may be NULL. The caller finishes out. False: no memory. */
bool weir_advise(const struct weir_trace_file *f, const struct weir_advise_options *options,
                 struct weir_advise_report *out);
void weir_advise_finish(struct weir_advise_report *r);

void weir_advise_print(const struct weir_trace_file *f, const struct weir_advise_report *r,
                       bool all, FILE *to);
void weir_advise_print_json(const struct weir_trace_file *f, const struct weir_advise_report *r,
                            bool all, FILE *to);

#endif
