/* Traces for people and for other tools: tables, pages, pictures, other formats. All read a trace
 * through weir/trace.h and write to an open stream; whether writing succeeded is the caller's to
 * ask of that stream (ferror). False: out of memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_VIEW_VIEW_H
#define WEIR_VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "weir/trace.h"

enum weir_view_format { WEIR_VIEW_TEXT, WEIR_VIEW_CSV, WEIR_VIEW_JSON };

/* By kernel, copy, API call, NVTX range: count, total, average, median, min, max, share. */
bool weir_view_summary(const struct weir_trace_file *f, enum weir_view_format format, FILE *to);

/* What became slower from a to b, by name and by cause. */
bool weir_view_diff(const struct weir_trace_file *a, const struct weir_trace_file *b,
                    enum weir_view_format format, FILE *to);

/* One row an operation, call, range. */
bool weir_view_csv(const struct weir_trace_file *f, FILE *to);
bool weir_view_json(const struct weir_trace_file *f, FILE *to);
/* The trace event format that chrome://tracing, Perfetto and others read. */
bool weir_view_chrome(const struct weir_trace_file *f, FILE *to);
/* Perfetto's own protobuf format. */
bool weir_view_perfetto(const struct weir_trace_file *f, FILE *to);

struct weir_view_picture {
    uint64_t from_ns, to_ns; /* from begin_ns; to 0: to the end */
    unsigned width;          /* 0: 1000 */
    const char *title;       /* NULL: none */
};

/* Streams as rows, operations as bars: for papers and READMEs. */
bool weir_view_svg(const struct weir_trace_file *f, const struct weir_view_picture *p, FILE *to);

/* One self-contained page. */
bool weir_view_page(const struct weir_trace_file *f, const char *title, FILE *to);

/* ---- text (text.c; JSON: base/text.h) ---- */

void weir_view_put_csv(FILE *to, const char *s);
/* &, < and > as entities. */
void weir_view_put_xml(FILE *to, const char *s);
/* "12.3 us" */
char *weir_view_time(double ns, char out[32]);
char *weir_view_size(double bytes, char out[32]);

#endif
