/* The report as SARIF 2.1.0 (OASIS), for code scanning and editors, and as the lines that GitHub's
 * runners make annotations of.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "check/check_int.h"
#include "trace/symbols.h"

/* ---- SARIF ---- */

/* A path as a relative or absolute URI reference. */
static void put_uri(FILE *to, const char *path)
{
    fputs(*path == '/' ? "\"file://" : "\"", to);
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("/-_.~+", c) != NULL;

        if (plain)
            fputc(c, to);
        else
            fprintf(to, "%%%02X", c);
    }
    fputc('"', to);
}

/* {"physicalLocation": ..., "message": ...} of a place with a file; false: it has none. */
static bool put_location(FILE *to, const char *lead, const struct weir_trace_place *place, int id,
                         const char *message)
{
    if (!place || !*place->file)
        return false;
    fprintf(to, "%s{", lead);
    if (id)
        fprintf(to, "\"id\": %d, ", id);
    fputs("\"physicalLocation\": {\"artifactLocation\": {\"uri\": ", to);
    put_uri(to, weir_check_path(place->file));
    fprintf(to, "}, \"region\": {\"startLine\": %d}}", place->line);
    if (*place->function) {
        fputs(", \"logicalLocations\": [{", to);
        weir_text_put_json_member(to, "fullyQualifiedName", place->function);
        fputs("}]", to);
    }
    if (message) {
        fputs(", \"message\": {", to);
        weir_text_put_json_member(to, "text", message);
        fputs("}", to);
    }
    fputs("}", to);
    return true;
}

static bool put_stack(FILE *to, const char *lead, struct weir_check_places *p,
                      const struct weir_check_side *s)
{
    struct weir_text t = {.length = 0};
    const char *inner = "";

    if (!s->used || !s->op.site.stack)
        return false;
    weir_check_text_side(&t, s);
    fprintf(to, "%s{\"message\": {", lead);
    weir_text_put_json_member(to, "text", t.data);
    fputs("}, \"frames\": [", to);
    for (uint32_t i = 0; i < s->op.site.stack->count; i++) {
        const void *address = s->op.site.stack->frames[i].address;
        const struct weir_trace_place *place = weir_check_place(p, address);

        if (!place || !weir_check_place_is_own(address) || !*place->file)
            continue;
        fprintf(to, "%s{\"location\": ", inner);
        put_location(to, "", place, 0, NULL);
        fputs("}", to);
        inner = ", ";
    }
    fputs("]}", to);
    return true;
}

/* False: its place in the kernel's source is unknown. */
static bool place_inside(const struct weir_check_finding *f, const struct weir_check_thread *w,
                         struct weir_trace_place *out)
{
    if (!w->line || !w->file)
        return false;
    memset(out, 0, sizeof *out);
    snprintf(out->file, sizeof out->file, "%s", w->file);
    out->line = (int)w->line;
    if (f->a.op.name)
        weir_trace_demangle(f->a.op.name, out->function, sizeof out->function);
    return true;
}

/* Where the finding is shown: the later side, which is where the order is missing; in a kernel, if
 * that is what it is about. `own` may be what is returned. */
static const struct weir_trace_place *place_of(struct weir_check_places *p,
                                               const struct weir_check_finding *f,
                                               struct weir_trace_place *own)
{
    for (uint32_t i = f->inside ? f->inside->count : 0; i-- > 0;)
        if (place_inside(f, &f->inside->at[i], own))
            return own;

    const struct weir_trace_place *b = weir_check_place(p, f->b.op.site.address);
    const struct weir_trace_place *a = weir_check_place(p, f->a.op.site.address);

    return b && *b->file ? b : a;
}

enum { ID_MEMORY = 3, ID_THREADS };

static bool put_threads(FILE *to, const char *lead, const struct weir_check_finding *f)
{
    bool any = false;

    for (uint32_t i = 0; f->inside && i < f->inside->count; i++) {
        const struct weir_check_thread *w = &f->inside->at[i];
        struct weir_trace_place place;
        struct weir_text t = {.length = 0};

        if (!place_inside(f, w, &place))
            continue;
        weir_check_text_thread(&t, w);
        put_location(to, any ? ", " : lead, &place, ID_THREADS + (int)i, t.data);
        any = true;
    }
    return any;
}

static void put_related(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    const struct weir_check_side *sides[] = {&f->a, &f->b};
    const char *lead = "";

    fputs(", \"relatedLocations\": [", to);
    for (int i = 0; i < 2; i++) {
        struct weir_text t = {.length = 0};

        weir_check_text_side(&t, sides[i]);
        if (sides[i]->used &&
            put_location(to, lead, weir_check_place(p, sides[i]->op.site.address), i + 1, t.data))
            lead = ", ";
    }
    if (put_threads(to, lead, f))
        lead = ", ";
    put_location(to, lead, weir_check_place(p, f->block.site.address), ID_MEMORY, "the memory");
    fputs("]", to);
    lead = "";
    fputs(", \"stacks\": [", to);
    for (int i = 0; i < 2; i++) {
        if (put_stack(to, lead, p, sides[i]))
            lead = ", ";
    }
    fputs("]", to);
}

static void put_result(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    struct weir_text t = {.length = 0};
    struct weir_trace_place own;

    weir_check_text_message(&t, p, f);
    if (f->change.format) {
        weir_text_add(&t, ". Change: ");
        weir_check_text_say(&t, p, &f->change);
    }
    fprintf(to, "{\"ruleId\": \"%s\", \"ruleIndex\": %d, \"level\": \"%s\", \"message\": {",
            weir_check_kinds[f->kind].word, (int)f->kind,
            weir_check_kinds[f->kind].level == WEIR_CHECK_NOTE ? "note" : "error");
    weir_text_put_json_member(to, "text", t.data);
    fputs("}, \"locations\": [", to);
    put_location(to, "", place_of(p, f, &own), 0, NULL);
    fprintf(to, "], \"occurrenceCount\": %llu", (unsigned long long)f->times);
    put_related(to, p, f);
    t.length = 0;
    weir_check_text_suppression(&t, p, f);
    fputs(", \"partialFingerprints\": {", to);
    weir_text_put_json_member(to, "weir/v1", t.data);
    fputs("}", to);
    if (f->by) {
        fputs(", \"suppressions\": [{\"kind\": \"external\", ", to);
        weir_text_put_json_member(to, "justification", f->by->line);
        fputs("}]", to);
    }
    fputs("}", to);
}

void weir_check_write_sarif(FILE *to, struct weir_check_places *p)
{
    const char *lead = "\n      ";

    fputs("{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
          "  \"version\": \"2.1.0\",\n  \"runs\": [{\n"
          "    \"tool\": {\"driver\": {\"name\": \"weir check\", \"rules\": [",
          to);
    for (int i = 0; i < WEIR_FOUND_KINDS; i++) {
        fprintf(to, "%s\n      {\"id\": \"%s\", \"shortDescription\": {", i ? "," : "",
                weir_check_kinds[i].word);
        weir_text_put_json_member(to, "text", weir_check_kinds[i].text);
        fprintf(to, "}, \"defaultConfiguration\": {\"level\": \"%s\"}}",
                weir_check_kinds[i].level == WEIR_CHECK_NOTE ? "note" : "error");
    }
    fputs("]}},\n    \"columnKind\": \"utf16CodeUnits\",\n    \"results\": [", to);
    for (size_t i = 0; i < weir_checker.findings.count; i++) {
        fputs(lead, to);
        put_result(to, p, &weir_checker.findings.items[i]);
        lead = ",\n      ";
    }
    fputs("]\n  }]\n}\n", to);
}

/* ---- GitHub ---- */

static void put_escaped(FILE *to, const char *s, bool property)
{
    for (; *s; s++) {
        if (*s == '%' || *s == '\n' || *s == '\r' || (property && (*s == ':' || *s == ',')))
            fprintf(to, "%%%02X", (unsigned char)*s);
        else
            fputc(*s, to);
    }
}

void weir_check_write_github(FILE *to, struct weir_check_places *p)
{
    for (size_t i = 0; i < weir_checker.findings.count; i++) {
        const struct weir_check_finding *f = &weir_checker.findings.items[i];
        bool note = weir_check_kinds[f->kind].level == WEIR_CHECK_NOTE;
        struct weir_trace_place own;
        const struct weir_trace_place *place = place_of(p, f, &own);
        struct weir_text t = {.length = 0};
        char word[80];

        if (f->by || !weir_check_is_told(f))
            continue;
        fputs(note ? "::notice " : "::error ", to);
        if (place && *place->file) {
            fputs("file=", to);
            put_escaped(to, weir_check_path(place->file), true);
            fprintf(to, ",line=%d,", place->line);
        }
        fputs("title=weir check%3A ", to);
        put_escaped(to, weir_check_word(f, word, sizeof word), true);
        fputs("::", to);
        weir_check_text_message(&t, p, f);
        if (f->change.format) {
            weir_text_add(&t, ". Change: ");
            weir_check_text_say(&t, p, &f->change);
        }
        put_escaped(to, t.data, false);
        fputc('\n', to);
    }
}
