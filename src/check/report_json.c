/* The report for programs: docs/check.md has the form of the JSON file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "check/check_int.h"
#include "trace/symbols.h"

static void put_place(FILE *to, const struct weir_trace_place *place)
{
    weir_text_put_json_member(to, "file", weir_check_path(place->file));
    fprintf(to, ", \"line\": %d, ", place->line);
    weir_text_put_json_member(to, "function", place->function);
    fputs(", ", to);
    weir_text_put_json_member(to, "object", place->object);
}

/* "file": ..., "stack": [...]; of the innermost place, and all. */
static void put_site(FILE *to, struct weir_check_places *p, const struct weir_check_site *s)
{
    const struct weir_trace_place *place = weir_check_place(p, s->address);
    char call[80];
    bool first = true;

    weir_text_put_json_member(to, "call", s->call ? weir_check_call_name(s->call, call) : "");
    fprintf(to, ", \"thread\": %u, ", s->thread);
    if (place) {
        put_place(to, place);
        fputs(", ", to);
    }
    fputs("\"stack\": [", to);
    for (uint32_t i = 0; s->stack && i < s->stack->count; i++) {
        place = weir_check_place(p, s->stack->frames[i].address);
        if (!place || !weir_check_place_is_own(s->stack->frames[i].address))
            continue;
        fputs(first ? "{" : ", {", to);
        first = false;
        put_place(to, place);
        fputc('}', to);
    }
    fputc(']', to);
}

static const char *const accesses[] = {"read", "atomic", "write"};

static void put_side(FILE *to, struct weir_check_places *p, const char *name,
                     const struct weir_check_side *s)
{
    struct weir_check_side bare = *s;
    struct weir_text t = {.length = 0}, stream = {.length = 0};
    char kernel[256];

    if (!s->used)
        return;
    bare.no_access = true;
    bare.op.name = NULL;
    weir_check_text_side(&t, &bare);
    fprintf(to, ",\n     \"%s\": {", name);
    weir_text_put_json_member(to, "what", t.data);
    fputs(", ", to);
    if (s->op.name) {
        weir_text_put_json_member(to, "name",
                                  weir_trace_demangle(s->op.name, kernel, sizeof kernel));
        fputs(", ", to);
    }
    if (!s->no_access) {
        weir_text_put_json_member(to, "access", accesses[s->access]);
        fputs(", ", to);
    }
    if (s->op.lane && weir_check_text_stream(&stream, s)) {
        fprintf(to, "\"device\": %d, \"stream_id\": %llu, ", s->stream.device,
                (unsigned long long)s->stream.id);
        weir_text_put_json_member(to, "stream", stream.data);
        fputs(", ", to);
    }
    put_site(to, p, &s->op.site);
    fputc('}', to);
}

static void put_three(FILE *to, const char *name, const uint32_t v[3])
{
    fprintf(to, "\"%s\": [%u, %u, %u]", name, v[0], v[1], v[2]);
}

static void put_thread(FILE *to, const struct weir_check_thread *w)
{
    fputs("{", to);
    put_three(to, "block", w->block);
    fputs(", ", to);
    put_three(to, "thread", w->thread);
    fputs(", ", to);
    if (w->bytes) {
        weir_text_put_json_member(to, "access", accesses[w->access]);
        fprintf(to, ", \"bytes\": %u, ", w->bytes);
    }
    weir_text_put_json_member(to, "file", w->line && w->file ? weir_check_path(w->file) : "");
    fprintf(to, ", \"line\": %u, \"ptx_line\": %u}", w->line, w->ptx_line);
}

static void put_inside(FILE *to, const struct weir_check_inside *in)
{
    if (!in)
        return;
    fputs(",\n     \"threads\": [", to);
    for (uint32_t i = 0; i < in->count; i++) {
        fputs(i ? ", " : "", to);
        put_thread(to, &in->at[i]);
    }
    fputc(']', to);
    if (!in->shared)
        return;
    fprintf(to, ",\n     \"shared\": {\"address\": %llu",
            (unsigned long long)in->at[in->count - 1].address);
    if (in->variable) {
        fputs(", ", to);
        weir_text_put_json_member(to, "name", in->variable);
        fprintf(to, ", \"offset\": %llu", (unsigned long long)in->offset);
    }
    fputc('}', to);
}

static void put_memory(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    if (f->begin == f->end && !f->block.bytes)
        return;
    fprintf(to, ",\n     \"memory\": {\"address\": \"0x%llx\", \"bytes\": %llu",
            (unsigned long long)f->begin, (unsigned long long)(f->end - f->begin));
    if (f->block.bytes) {
        fprintf(to, ", \"offset\": %llu, \"size\": %zu, ",
                (unsigned long long)(f->begin - f->block.begin), f->block.bytes);
        weir_text_put_json_member(to, "kind", f->block.kind ? f->block.kind : "");
        fputs(", \"allocated\": {", to);
        put_site(to, p, &f->block.site);
        fputc('}', to);
    }
    fputc('}', to);
}

static void put_say(FILE *to, struct weir_check_places *p, const char *name,
                    const struct weir_check_say *say)
{
    struct weir_text t = {.length = 0};

    if (!say->format)
        return;
    weir_check_text_say(&t, p, say);
    fputs(",\n     ", to);
    weir_text_put_json_member(to, name, t.data);
}

static void put_finding(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    struct weir_text t = {.length = 0};
    char word[80];

    fputs("{", to);
    weir_text_put_json_member(to, "kind", weir_check_word(f, word, sizeof word));
    fprintf(to, ", \"count\": %llu,\n     ", (unsigned long long)f->times);
    weir_check_text_message(&t, p, f);
    weir_text_put_json_member(to, "message", t.data);
    put_side(to, p, "first", &f->a);
    put_side(to, p, "second", &f->b);
    put_inside(to, f->inside);
    put_memory(to, p, f);
    put_say(to, p, "why", &f->why);
    put_say(to, p, "change", &f->change);
    t.length = 0;
    weir_check_text_suppression(&t, p, f);
    fputs(",\n     ", to);
    weir_text_put_json_member(to, "suppression", t.data);
    if (f->by) {
        fputs(", ", to);
        weir_text_put_json_member(to, "suppressed_by", f->by->line);
    }
    fputs("}", to);
}

/* Those of a level; suppressed ones in a list of their own. */
static void put_list(FILE *to, struct weir_check_places *p, const char *name, int level,
                     bool suppressed)
{
    const char *lead = "\n    ";

    fprintf(to, ",\n  \"%s\": [", name);
    for (size_t i = 0; i < weir_checker.findings.count; i++) {
        const struct weir_check_finding *f = &weir_checker.findings.items[i];

        if ((f->by != NULL) != suppressed ||
            (!suppressed && (int)weir_check_kinds[f->kind].level != level))
            continue;
        fputs(lead, to);
        put_finding(to, p, f);
        lead = ",\n    ";
    }
    fputc(']', to);
}

void weir_check_write_json(FILE *to, struct weir_check_places *p,
                           const struct weir_check_totals *totals)
{
    const struct checker *c = &weir_checker;
    const struct weir_suppressions *s = &c->settings.suppressions;
    const char *lead = "";

    fprintf(to, "{\n  \"version\": 1,\n  \"verdict\": \"%s\",\n  ",
            totals->hazards ? "hazard" : "clean");
    weir_text_put_json_member(to, "program", program_invocation_name);
    fprintf(to,
            ",\n  \"pid\": %ld,\n  \"operations\": %llu,\n  \"streams\": %u,\n  \"complete\": %s",
            (long)getpid(), (unsigned long long)c->submitted, c->lane_count,
            weir_check_is_complete() ? "true" : "false");
    put_list(to, p, "findings", WEIR_CHECK_HAZARD, false);
    put_list(to, p, "notes", WEIR_CHECK_NOTE, false);
    put_list(to, p, "suppressed", 0, true);
    fputs(",\n  \"unused_suppressions\": [", to);
    for (size_t i = 0; i < s->lines.count; i++) {
        if (s->lines.items[i].count)
            continue;
        fputs(lead, to);
        weir_text_put_json(to, s->lines.items[i].line);
        lead = ", ";
    }
    fputs("]\n}\n", to);
}
