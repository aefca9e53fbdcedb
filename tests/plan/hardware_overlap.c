/* The chunked overlap experiment: 2^26 floats in, through a kernel, out, cut into chunks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "plan/hardware.h"

#define BYTES   268435456.0
#define RUNS    4
#define CONFIGS 64

/* Of the time that the activity recorder takes of the host in a run (what the run took to submit,
 * less what that costs without it), this share falls behind the first submission, the rest before
 * it. A property of the recorder, not of the device: the device waits meanwhile. */
#define RECORDER_SHARE 0.75

struct config {
    int fma, chunks, streams;
    bool pageable, breadth;
    double length[RUNS], issue[RUNS]; /* us; activity first */
    bool events[RUNS];
    int runs;
    double predicted, measured; /* of activity, ms */
};

static double kernel_ns(int fma)
{
    return fma == 64 ? 307.6e3 : 6220.7e3; /* overlap: stage_alone, means of the two runs */
}

static struct weir_plan_pipeline shape_of(int fma, bool pageable, bool breadth, int chunks,
                                          int streams)
{
    return (struct weir_plan_pipeline){
        .stages = {{WEIR_PLAN_H2D, weir_plan_copy_ns(&machine, WEIR_PLAN_H2D, pageable, BYTES, 0),
                    0},
                   {WEIR_PLAN_KERNEL, kernel_ns(fma), 1},
                   {WEIR_PLAN_D2H, weir_plan_copy_ns(&machine, WEIR_PLAN_D2H, pageable, BYTES, 0),
                    0}},
        .stage_count = 3,
        .chunks = (uint32_t)chunks,
        .streams = (uint32_t)streams,
        .breadth = breadth,
        .pageable = pageable};
}

/* First start to last end, ns. */
static double length_of(const struct weir_plan_pipeline *p)
{
    struct weir_plan_made made;
    struct weir_plan_result r;

    if (!weir_plan_pipeline_make(p, &machine.device, &machine.host, &memory, &made) ||
        !weir_plan_run(&made.program, &machine.device, &memory, NULL, NULL, &r))
        exit(1);
    weir_plan_made_finish(&made, &memory);
    return r.ops_end - r.ops_begin;
}

static FILE *open_data(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "r");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

/* ---- with the recorder: 176 runs ---- */

static int by_config(const void *x, const void *y)
{
    return ((const struct config *)x)->measured < ((const struct config *)y)->measured ? -1 : 1;
}

static int read_runs(const char *folder, struct config *out)
{
    FILE *f = open_data(folder, "h200-overlap-trace.tsv");
    char line[256], source[16], mem[16], order[16];
    int n = 0, runs = 0;

    while (fgets(line, sizeof line, f)) {
        struct config c = {0}, *k = out;
        double length, wall, issue;
        int repeat;

        if (*line == '#')
            continue;
        if (sscanf(line, "%15s %d %d %15s %15s %d %d %lf %lf %lf", source, &repeat, &c.fma, mem,
                   order, &c.chunks, &c.streams, &length, &wall, &issue) != 10)
            exit(1);
        c.pageable = strcmp(mem, "pageable") == 0;
        c.breadth = strcmp(order, "breadth") == 0;
        while (k < out + n &&
               (k->fma != c.fma || k->chunks != c.chunks || k->streams != c.streams ||
                k->pageable != c.pageable || k->breadth != c.breadth))
            k++;
        if (k == out + n)
            out[n++] = c;
        k->length[k->runs] = length;
        k->issue[k->runs] = issue;
        k->events[k->runs++] = strcmp(source, "events") == 0;
        runs++;
    }
    fclose(f);
    if (runs != 176)
        fail("not 176 runs");
    return n;
}

/* What submitting costs without the recorder. */
static double plain_issue_us(const struct config *c, bool events)
{
    const struct weir_plan_host *h = &machine.host;
    double chunk = h->submit_kernel + 2 * h->submit_copy + (events ? 6 * h->record_timing : 0) +
                   (c->streams > 1 && c->chunks > 1 ? h->submit_switch : 0);

    return c->chunks * chunk * 1e-3;
}

/* The means of a configuration's runs: those of one source, or all (events < 0). */
static bool judge(struct config *c, int events, const char *what)
{
    double predicted = 0, measured = 0, least = 1e300, most = 0;
    char name[96];
    int n = 0;

    for (int i = 0; i < c->runs; i++) {
        struct weir_plan_pipeline p =
            shape_of(c->fma, c->pageable, c->breadth, c->chunks, c->streams);
        double more = c->issue[i] - plain_issue_us(c, c->events[i]);

        if (events >= 0 && c->events[i] != events)
            continue;
        p.pause_ns = c->pageable || more < 0 ? 0 : more * 1e3 * RECORDER_SHARE;
        predicted += length_of(&p) * 1e-6;
        measured += c->length[i] * 1e-3;
        least = WEIR_MIN(least, c->length[i] * 1e-3);
        most = WEIR_MAX(most, c->length[i] * 1e-3);
        n++;
    }
    c->predicted = predicted / n;
    c->measured = measured / n;
    if (c->pageable)
        return true;
    snprintf(name, sizeof name, "%s fma %d %s, %d chunks, %d streams, +-%.3f", what, c->fma,
             c->breadth ? "breadth" : "depth", c->chunks, c->streams, (most - least) / 2);
    return check(name, c->predicted, c->measured, WEIR_MAX(0.05 * c->measured, (most - least) / 2));
}

/* The configuration that is predicted to be best is, measured, within two percent of the best. */
static void judge_best(const struct config *c, int n, int fma)
{
    const struct config *predicted = NULL, *measured = NULL;

    for (int i = 0; i < n; i++) {
        if (c[i].fma != fma || c[i].pageable || c[i].breadth)
            continue;
        if (!predicted || c[i].predicted < predicted->predicted)
            predicted = &c[i];
        if (!measured || c[i].measured < measured->measured)
            measured = &c[i];
    }
    printf("fma %d: best as predicted: %d chunks in %d streams (measured %.3f ms); as measured: %d "
           "in %d (%.3f ms)\n",
           fma, predicted->chunks, predicted->streams, predicted->measured, measured->chunks,
           measured->streams, measured->measured);
    if (predicted->measured > measured->measured * 1.02)
        fail("the best chunk and stream counts");
}

/* Spearman's: 1 where both orders are the same. */
static void judge_ranks(const struct config *sorted, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        int rank = 0;

        for (int k = 0; k < n; k++)
            rank += sorted[k].predicted < sorted[i].predicted;
        sum += (double)(rank - i) * (rank - i);
    }
    sum = 1 - 6 * sum / ((double)n * n * n - n);
    printf("rank correlation of %d configurations: %.3f\n", n, sum);
    if (sum < 0.95)
        fail("ranks");
}

static void with_recorder(const char *folder)
{
    struct config c[CONFIGS] = {0};
    int n = read_runs(folder, c), outside = 0, pinned = 0;

    for (int i = 0; i < n; i++) {
        outside += !judge(&c[i], -1, "both");
        pinned += !c[i].pageable;
    }
    printf("both sources: %d of %d pinned configurations outside\n", outside, pinned);
    outside = 0;
    for (int i = 0; i < n; i++)
        outside += !judge(&c[i], 0, "activity");
    printf("activity records: %d of %d pinned configurations outside\n", outside, pinned);
    judge_best(c, n, 64);
    judge_best(c, n, 2560);
    qsort(c, (size_t)n, sizeof *c, by_config);
    judge_ranks(c, n);
    /* Pageable: behind every pinned one; among themselves they differ by less than repeats do. */
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            if (c[i].pageable && !c[k].pageable && c[i].predicted <= c[k].predicted)
                fail("pageable before pinned");
        }
    }
}

/* ---- nothing attached: medians of the reference timings ---- */

static void bare(const char *folder)
{
    FILE *f = open_data(folder, "h200-overlap.tsv");
    int fma, chunks, streams, n = 0, outside = 0, worse = 0;
    char line[256], mem[16], order[16];
    double first, second, sum = 0;

    while (fgets(line, sizeof line, f)) {
        struct weir_plan_pipeline p;
        double predicted, measured, error;

        if (*line == '#')
            continue;
        if (sscanf(line, "%d %15s %15s %d %d %lf %lf", &fma, mem, order, &chunks, &streams, &first,
                   &second) != 7)
            exit(1);
        if (strcmp(mem, "pageable") == 0)
            continue;
        p = shape_of(fma, false, strcmp(order, "breadth") == 0, chunks, streams);
        predicted = weir_plan_pipeline_run(&p, &machine.device, &machine.host, &memory) * 1e-6;
        measured = (first + second) / 2;
        error = (predicted - measured) / measured;
        sum += error < 0 ? -error : error;
        n++;
        outside += error > 0.05 || error < -0.05;
        worse += error > 0.15 || error < -0.15;
        if (print_all)
            printf("%4d %-7s %2d chunks %d streams: predicted %6.3f measured %6.3f (%+.1f%%)\n",
                   fma, order, chunks, streams, predicted, measured, error * 100);
    }
    fclose(f);
    printf("nothing attached: %d configurations, mean error %.1f%%, %d beyond 5%%\n", n,
           100 * sum / n, outside);
    if (n != 140 || outside > n / 10 || worse)
        fail("pinned, nothing attached");
}

void overlap(const char *folder)
{
    with_recorder(folder);
    bare(folder);
}
