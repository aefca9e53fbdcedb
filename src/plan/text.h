/* weir plan FILE: a design as a text: streams, operations with durations, events and waits, host
 * work, items through slots; on engines without limits, with them, or a device's. For teaching, and
 * for designs before there is a program. The form: docs/plan.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_TEXT_H
#define WEIR_PLAN_TEXT_H

#include <stdio.h>

#include "base/vec.h"
#include "plan/device.h"

#define WEIR_PLAN_NAME        24
#define WEIR_PLAN_STREAMS     64
#define WEIR_PLAN_SLOTS       256
#define WEIR_PLAN_DESIGN_OPS  100000 /* in all */
#define WEIR_PLAN_DESIGN_LINE 4096   /* lines */

enum weir_plan_line_kind {
    WEIR_PLAN_LINE_OP,
    WEIR_PLAN_LINE_RECORD,
    WEIR_PLAN_LINE_WAIT,
    WEIR_PLAN_LINE_HOST,
    WEIR_PLAN_LINE_SYNC_STREAM,
    WEIR_PLAN_LINE_SYNC_EVENT,
    WEIR_PLAN_LINE_SYNC_ALL,
    WEIR_PLAN_LINE_ITEMS /* here the items are submitted */
};

struct weir_plan_line {
    uint8_t kind, engine;
    uint32_t stream, event; /* stream NONE: the item's slot */
    double ns, bytes, fill; /* ns < 0: by the bytes, on the device */
    char name[WEIR_PLAN_NAME];
};

enum weir_plan_quantity {
    WEIR_PLAN_MAKESPAN,
    WEIR_PLAN_SERIAL,
    WEIR_PLAN_SPEEDUP,
    WEIR_PLAN_P50,
    WEIR_PLAN_P99,
    WEIR_PLAN_MEMORY,
    WEIR_PLAN_QUANTITIES
};

struct weir_plan_expect {
    uint8_t quantity; /* enum weir_plan_quantity */
    char relation;    /* '<' at most, '>' at least, '=' within half a percent */
    double value;     /* ns, bytes, or a plain number */
};

struct weir_plan_text {
    WEIR_VEC(struct weir_plan_line) lines; /* those of an item behind all others */
    WEIR_VEC(struct weir_plan_line) item;
    WEIR_VEC(struct weir_plan_expect) expects;
    char streams[WEIR_PLAN_STREAMS][WEIR_PLAN_NAME], events[WEIR_PLAN_STREAMS][WEIR_PLAN_NAME];
    int8_t priorities[WEIR_PLAN_STREAMS];
    uint32_t stream_count, event_count;
    uint32_t items, slots; /* 0: no items */
    double every_ns, prepare_ns, post_ns;
    uint32_t copy_engines; /* 0: engines unlimited */
    bool kernels_free;     /* unlimited: kernels take no room either */
    char device[64];       /* "": none */
};

/* False with a message that names the line (at most 200 bytes), or no memory. Reads nothing but the
 * text. The caller finishes *out either way. */
bool weir_plan_text_parse(const char *text, size_t bytes, struct weir_plan_text *out,
                          char *message);
void weir_plan_text_finish(struct weir_plan_text *t);
/* "makespan<=1.2ms", "speedup>=1.6", "p99 = 3ms", "memory<=64MiB". */
bool weir_plan_expect_parse(const char *text, size_t bytes, struct weir_plan_expect *out);

/* The design as it ran. */
struct weir_plan_design {
    const struct weir_plan_text *text;
    struct weir_plan_program program;
    struct weir_plan_stream *streams;
    struct weir_plan_thread thread;
    WEIR_VEC(struct weir_plan_op) ops;
    WEIR_VEC(uint32_t) deps;
    WEIR_VEC(struct weir_plan_step) steps;
    WEIR_VEC(const struct weir_plan_line *) op_lines;
    WEIR_VEC(char) step_marks; /* of host work: '#', 'p' preparing, 'o' post-processing; else 0 */
    struct weir_plan_time *times;
    double *step_ends;
    uint32_t *item_begin, *item_end, *item_last; /* steps; the last operation */
    double *latency;                             /* sorted */
    uint32_t slots;
    struct weir_plan_result result;
    double values[WEIR_PLAN_QUANTITIES]; /* < 0: it has none */
    double device_bytes, pinned_bytes;   /* of the slots; < 0: sizes are not given */
};

/* m: NULL, or the device that the text names. slots: 0 as the text says. False with a message, or
 * no memory. The caller finishes *out either way. */
bool weir_plan_design_run(const struct weir_plan_text *t, const struct weir_plan_machine *m,
                          uint32_t slots, struct weir_plan_design *out, char *message);
void weir_plan_design_finish(struct weir_plan_design *d);

/* Timeline, lengths, critical path; with items, latency and memory against the number of slots. */
bool weir_plan_design_print(const struct weir_plan_design *d, const struct weir_plan_machine *m,
                            FILE *to);
/* Says of each whether it holds; false when one does not. */
bool weir_plan_design_judge(const struct weir_plan_design *d, const struct weir_plan_expect *e,
                            size_t count, FILE *to);

#endif
