/* The report, for people and as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "advise/advise.h"
#include "base/text.h"

/* What is measured and what is modelled. */
static const char *basis(const struct weir_advise_report *r)
{
    if (r->model_clock)
        return "Modelled: all times. From the trace: the order of calls, and what kernels counted.";
    return r->device[0]
               ? "Modelled: the device's engines, copies and calls, and all prices. From the "
                 "trace: "
                 "the order, the host's own time, and kernels' times that nobody gave."
               : "Measured: what the traced run took on this machine, kernels on its processors. "
                 "Modelled: all prices.";
}

static void put_sites(const struct weir_trace_file *f, const struct weir_advise_finding *d,
                      FILE *to)
{
    char stream[64];

    if (!d->site_count && d->stream == WEIR_TRACE_NONE)
        return;
    fputs("     where:  ", to);
    for (uint32_t i = 0; i < d->site_count; i++)
        fprintf(to, "%s%s", i ? ", " : "", f->sites[d->sites[i]].text);
    if (d->stream != WEIR_TRACE_NONE)
        fprintf(to, "%s%s", d->site_count ? "; " : "",
                weir_trace_stream_name(f, d->stream, stream));
    fputc('\n', to);
}

static void put_questions(const struct weir_advise_report *r, FILE *to)
{
    const char *kind, *text;
    bool unknown = false;

    fputs("\nquestions:\n", to);
    for (size_t i = 0; (text = weir_advise_question(i, &kind)) != NULL; i++) {
        const char *answer = weir_advise_answer(r, i);

        unknown = unknown || strcmp(answer, "unknown") == 0;
        fprintf(to, "  %-5s %s\n",
                strcmp(answer, "note") == 0      ? "(yes)"
                : strcmp(answer, "unknown") == 0 ? "?"
                                                 : answer,
                text);
    }
    fputs("  (yes): a note: it gains less than 2 % or 50 us, or the program gets no faster\n", to);
    if (unknown)
        fputs("  ?: not known: which data graphs' nodes use, what loading code takes in the model, "
              "or the trace is too large\n",
              to);
}

static void put_answers(const struct weir_advise_report *r, FILE *to)
{
    const char *kind;

    fputs(",\n \"answers\": {", to);
    for (size_t i = 0; weir_advise_question(i, &kind); i++)
        fprintf(to, "%s\"%s\": \"%s\"", i ? ", " : "", kind, weir_advise_answer(r, i));
    fputc('}', to);
}

void weir_advise_print(const struct weir_trace_file *f, const struct weir_advise_report *r,
                       bool all, FILE *to)
{
    bool notes = false;

    if (r->device[0])
        fprintf(to, "%s: ", r->device);
    fprintf(to, "%s\n", r->verdict);
    for (size_t i = 0; i < r->count; i++) {
        const struct weir_advise_finding *d = &r->findings[i];

        if (d->note && !notes) {
            fputs("\nnotes (what gains little, bounds, set-up, measurements):\n", to);
            notes = true;
        }
        if (!d->note)
            fprintf(to, "\n%3zu  %s: saves %.3f ms (%.1f%%)\n", i + 1, d->kind,
                    (double)d->gain_ns * 1e-6, weir_advise_percent(r, d));
        else if (d->gain_ns)
            fprintf(to, "  -  %s (%.3f ms, %.1f%%)\n", d->kind, (double)d->gain_ns * 1e-6,
                    weir_advise_percent(r, d));
        else
            fprintf(to, "  -  %s\n", d->kind);
        fprintf(to, "     %s\n", d->message);
        put_sites(f, d, to);
        fprintf(to, "     change: %s\n", d->change);
    }
    if (all)
        put_questions(r, to);
    fprintf(to, "\n%s\n", basis(r));
}

static void put_finding(const struct weir_trace_file *f, const struct weir_advise_report *r,
                        const struct weir_advise_finding *d, FILE *to)
{
    char stream[64];

    fprintf(to, "{\"kind\": \"%s\", \"message\": ", d->kind);
    weir_text_put_json(to, d->message);
    fprintf(to, ", \"gain_ns\": %" PRIu64 ", \"percent\": %.2f, \"change\": ", d->gain_ns,
            weir_advise_percent(r, d));
    weir_text_put_json(to, d->change);
    fputs(", \"where\": [", to);
    for (uint32_t i = 0; i < d->site_count; i++) {
        if (i)
            fputs(", ", to);
        weir_text_put_json(to, f->sites[d->sites[i]].text);
    }
    fputc(']', to);
    if (d->stream != WEIR_TRACE_NONE)
        fprintf(to, ", \"stream\": \"%s\"", weir_trace_stream_name(f, d->stream, stream));
    fputc('}', to);
}

void weir_advise_print_json(const struct weir_trace_file *f, const struct weir_advise_report *r,
                            bool all, FILE *to)
{
    fputs("{\"verdict\": ", to);
    weir_text_put_json(to, r->verdict);
    fprintf(to, ", \"length_ns\": %" PRIu64 ", \"device\": ", r->length_ns);
    weir_text_put_json(to, r->device);
    fputs(", \"basis\": ", to);
    weir_text_put_json(to, basis(r));
    for (int notes = 0; notes < 2; notes++) {
        bool any = false;

        fprintf(to, ",\n \"%s\": [", notes ? "notes" : "findings");
        for (size_t i = 0; i < r->count; i++) {
            if (r->findings[i].note != (notes == 1))
                continue;
            fputs(any ? ",\n  " : "\n  ", to);
            put_finding(f, r, &r->findings[i], to);
            any = true;
        }
        fputc(']', to);
    }
    if (all)
        put_answers(r, to);
    fputs("}\n", to);
}
