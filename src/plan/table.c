/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/text.h"
#include "plan/units.h"

/* ---- stages ---- */

static const struct stage_kind {
    const char *name;
    enum weir_plan_engine engine;
} stage_kinds[] = {{"h2d", WEIR_PLAN_H2D},
                   {"kernel", WEIR_PLAN_KERNEL},
                   {"d2h", WEIR_PLAN_D2H},
                   {"d2d", WEIR_PLAN_D2D},
                   {"host", WEIR_PLAN_HOST}};

static const char *stage_name(unsigned engine)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(stage_kinds); i++) {
        if (stage_kinds[i].engine == engine)
            return stage_kinds[i].name;
    }
    return "?";
}

static bool read_value(const char *s, size_t n, const struct weir_plan_machine *m, bool pageable,
                       struct weir_plan_stage *stage)
{
    bool kernel = stage->engine == WEIR_PLAN_KERNEL;
    bool between = stage->engine == WEIR_PLAN_H2D || stage->engine == WEIR_PLAN_D2H;
    const char *at = kernel ? memchr(s, '@', n) : NULL;
    double bytes;

    stage->fill = kernel;
    if (at && !weir_plan_read_share(at + 1, (size_t)(s + n - at - 1), &stage->fill))
        return false;
    n = at ? (size_t)(at - s) : n;
    if (weir_plan_read_time(s, n, &stage->ns)) {
        if (pageable && between) /* (of anything large: what counts is the rates' ratio) */
            stage->ns *= weir_plan_copy_ns(m, stage->engine, true, 1e9, 0) /
                         weir_plan_copy_ns(m, stage->engine, false, 1e9, 0);
        return true;
    }
    if (kernel || stage->engine == WEIR_PLAN_HOST || !weir_plan_read_bytes(s, n, &bytes))
        return false;
    stage->ns = weir_plan_copy_ns(m, stage->engine, pageable && between, bytes, 0);
    return stage->ns > 0;
}

bool weir_plan_read_stages(const char *text, const struct weir_plan_machine *m,
                           struct weir_plan_pipeline *shape, char *message)
{
    shape->stage_count = 0;
    while (*text) {
        size_t n = strcspn(text, ","), name = strcspn(text, "=,");
        struct weir_plan_stage *stage = &shape->stages[shape->stage_count];
        size_t k = 0;

        while (k < WEIR_ARRAY_SIZE(stage_kinds) && (strlen(stage_kinds[k].name) != name ||
                                                    memcmp(stage_kinds[k].name, text, name) != 0))
            k++;
        if (k == WEIR_ARRAY_SIZE(stage_kinds) || name == n) {
            snprintf(message, 200, "stages are h2d=, kernel=, d2h=, d2d= and host=, not \"%.*s\"",
                     (int)WEIR_MIN(n, (size_t)60), text);
            return false;
        }
        if (shape->stage_count == WEIR_PLAN_STAGES) {
            snprintf(message, 200, "%d stages at most", WEIR_PLAN_STAGES);
            return false;
        }
        stage->engine = (uint8_t)stage_kinds[k].engine;
        if (!read_value(text + name + 1, n - name - 1, m, shape->pageable, stage)) {
            snprintf(message, 200, "\"%.*s\" is no time (4.87ms, 290us)%s",
                     (int)WEIR_MIN(n, (size_t)60), text,
                     stage->engine == WEIR_PLAN_KERNEL || stage->engine == WEIR_PLAN_HOST
                         ? ""
                         : " or size (256MiB)");
            return false;
        }
        shape->stage_count++;
        text += n + (text[n] == ',');
    }
    if (!shape->stage_count)
        snprintf(message, 200, "no stages");
    return shape->stage_count > 0;
}

/* ---- the table ---- */

static double *cell(const struct weir_plan_table *t, uint32_t chunks, uint32_t streams)
{
    return &t->ns[(size_t)(chunks - t->chunks_from) * (t->streams_to - t->streams_from + 1) +
                  streams - t->streams_from];
}

bool weir_plan_table_compute(struct weir_plan_table *t, const struct weir_plan_machine *m)
{
    const struct weir_model_memory memory = {weir_alloc_for, weir_free_for, NULL};
    struct weir_plan_pipeline p = t->shape;
    double least = WEIR_PLAN_NEVER;
    bool found = false;

    t->ns = weir_calloc((size_t)(t->chunks_to - t->chunks_from + 1) *
                            (t->streams_to - t->streams_from + 1),
                        sizeof *t->ns);
    if (!t->ns)
        return false;
    for (p.chunks = t->chunks_from; p.chunks <= t->chunks_to; p.chunks++) {
        for (p.streams = t->streams_from; p.streams <= t->streams_to; p.streams++) {
            double ns = p.streams > p.chunks && p.streams > t->streams_from
                            ? *cell(t, p.chunks, p.streams - 1) /* the streams more stay empty */
                            : weir_plan_pipeline_run(&p, &m->device, &m->host, &memory);

            if (ns < 0)
                return false;
            *cell(t, p.chunks, p.streams) = ns;
            least = WEIR_MIN(least, ns);
        }
    }
    for (p.chunks = t->chunks_from; p.chunks <= t->chunks_to && !found; p.chunks++) {
        for (p.streams = t->streams_from; p.streams <= t->streams_to && !found; p.streams++) {
            if (*cell(t, p.chunks, p.streams) > least * 1.01)
                continue;
            found = true;
            t->best_ns = *cell(t, p.chunks, p.streams);
            t->shape.chunks = p.chunks;
            t->shape.streams = p.streams;
        }
    }
    t->serial_ns = 0;
    for (uint32_t i = 0; i < p.stage_count; i++)
        t->serial_ns += p.stages[i].ns;
    t->bound_ns = weir_plan_pipeline_bound(&p, &m->device, &t->limit);
    return true;
}

const char *weir_plan_limit_text(enum weir_plan_limit limit)
{
    static const char *const texts[] = {
        [WEIR_PLAN_LIMIT_KERNELS] = "the kernels' time",
        [WEIR_PLAN_LIMIT_H2D] = "the copies to the device, one engine's",
        [WEIR_PLAN_LIMIT_D2H] = "the copies to the host, one engine's",
        [WEIR_PLAN_LIMIT_DUPLEX] = "the copies both ways at a time, each slowed by the other",
        [WEIR_PLAN_LIMIT_ONE_ENGINE] = "the copies both ways, all on the one copy engine",
        [WEIR_PLAN_LIMIT_DEVICE] = "the work on the device",
        [WEIR_PLAN_LIMIT_HOST_FUNC] = "the host functions, one at a time",
        [WEIR_PLAN_LIMIT_HOST] = "the pageable copies: the host makes them, one behind the other",
    };

    return texts[limit];
}

static void print_stages(const struct weir_plan_table *t, FILE *to)
{
    char text[32];

    for (uint32_t i = 0; i < t->shape.stage_count; i++) {
        const struct weir_plan_stage *s = &t->shape.stages[i];

        fprintf(to, "%s%s %s", i ? ", " : "", stage_name(s->engine),
                weir_plan_time_text(s->ns, text));
        if (s->engine == WEIR_PLAN_KERNEL && s->fill < 1)
            fprintf(to, " (on %.0f%% of the device)", s->fill * 100);
    }
}

/* Of long ranges the powers of two, the ends and the best. */
static bool is_shown(const struct weir_plan_table *t, uint32_t chunks)
{
    return t->chunks_to - t->chunks_from < 16 || (chunks & (chunks - 1)) == 0 ||
           chunks == t->chunks_from || chunks == t->chunks_to || chunks == t->shape.chunks;
}

void weir_plan_table_print(const struct weir_plan_table *t, const struct weir_plan_machine *m,
                           FILE *to)
{
    char text[32];

    fprintf(to, "%s, %s, %u copy engine%s: ", m->name, t->shape.pageable ? "pageable" : "pinned",
            m->device.copy_engines, m->device.copy_engines == 1 ? "" : "s");
    print_stages(t, to);
    fprintf(to, "\nserial %s; in milliseconds, %s:\n\n   chunks",
            weir_plan_time_text(t->serial_ns, text),
            t->shape.breadth ? "stage by stage" : "chunk by chunk");
    for (uint32_t s = t->streams_from; s <= t->streams_to; s++)
        fprintf(to, "%5u %-6s", s, s == 1 ? "stream" : "");
    for (uint32_t c = t->chunks_from; c <= t->chunks_to; c++) {
        if (!is_shown(t, c))
            continue;
        fprintf(to, "\n%9u", c);
        for (uint32_t s = t->streams_from; s <= t->streams_to; s++) {
            bool best = c == t->shape.chunks && s == t->shape.streams;

            fprintf(to, " %8.3f%s ", *cell(t, c, s) * 1e-6, best ? " *" : "  ");
        }
    }
    fprintf(to, "\n\n* best: %u chunk%s in %u stream%s, %s: %.2f times as fast as serial\n",
            t->shape.chunks, t->shape.chunks == 1 ? "" : "s", t->shape.streams,
            t->shape.streams == 1 ? "" : "s", weir_plan_time_text(t->best_ns, text),
            t->serial_ns / t->best_ns);
    fprintf(to, "bound: %s, %s; the best is %.0f%% above it\n",
            weir_plan_time_text(t->bound_ns, text), weir_plan_limit_text(t->limit),
            t->bound_ns > 0 ? 100 * (t->best_ns / t->bound_ns - 1) : 0);
}

void weir_plan_table_print_json(const struct weir_plan_table *t, const struct weir_plan_machine *m,
                                FILE *to)
{
    const char *comma = "";

    fputc('{', to);
    weir_text_put_json_member(to, "device", m->name);
    fprintf(to,
            ", \"memory\": \"%s\", \"copy_engines\": %u, \"order\": \"%s\",\n"
            " \"serial_ms\": %.6f, \"bound_ms\": %.6f, \"limit\": \"%s\",\n"
            " \"best\": {\"chunks\": %u, \"streams\": %u, \"ms\": %.6f},\n \"table\": [",
            t->shape.pageable ? "pageable" : "pinned", m->device.copy_engines,
            t->shape.breadth ? "breadth" : "depth", t->serial_ns * 1e-6, t->bound_ns * 1e-6,
            weir_plan_limit_text(t->limit), t->shape.chunks, t->shape.streams, t->best_ns * 1e-6);
    for (uint32_t c = t->chunks_from; c <= t->chunks_to; c++) {
        for (uint32_t s = t->streams_from; s <= t->streams_to; s++, comma = ",")
            fprintf(to, "%s\n  {\"chunks\": %u, \"streams\": %u, \"ms\": %.6f}", comma, c, s,
                    *cell(t, c, s) * 1e-6);
    }
    fputs("]}\n", to);
}
