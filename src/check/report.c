/* The report that a person reads, and which others are written.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "check/check_int.h"
#include "trace/symbols.h"

/* All, or a copy of those that there are so far. */
struct findings {
    struct weir_check_finding *items;
    size_t count;
};

static void print_text(FILE *to, const char *lead, const struct weir_text *t)
{
    fprintf(to, "weir:   %-7s %s\n", lead, t->data);
}

/* The callers of the place, in the program's own code. */
static void print_callers(FILE *to, struct weir_check_places *p, const struct weir_check_site *site)
{
    const struct weir_check_stack *s = site->stack;

    for (uint32_t i = 1; s && i < s->count; i++) {
        const void *address = s->frames[i].address;
        const struct weir_trace_place *place;

        if (!weir_check_place_is_own(address))
            continue;
        place = weir_check_place(p, address);
        if (!place || strcmp(place->function, "_start") == 0)
            continue;
        fprintf(to, "weir:             called from %s\n", place->text);
        if (strcmp(place->function, "main") == 0)
            break;
    }
}

static void print_side(FILE *to, struct weir_check_places *p, const char *lead,
                       const struct weir_check_side *s)
{
    const struct weir_trace_place *place = weir_check_place(p, s->op.site.address);
    struct weir_text t = {.length = 0};
    char call[80];

    if (!s->used)
        return;
    weir_check_text_side(&t, s);
    if (s->op.lane) {
        weir_text_add(&t, ", ");
        if (!weir_check_text_stream(&t, s))
            weir_text_add(&t, "no stream");
    }
    if (s->op.site.call)
        weir_text_add(&t, "; %s", weir_check_call_name(s->op.site.call, call));
    else if (!s->what)
        weir_text_add(&t, "; submitted");
    weir_text_add(&t, " at %s", place ? place->text : "?");
    if (s->op.site.thread)
        weir_text_add(&t, ", thread %u", s->op.site.thread);
    print_text(to, lead, &t);
    print_callers(to, p, &s->op.site);
}

static void print_block(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    const struct weir_trace_place *place = weir_check_place(p, f->block.site.address);
    struct weir_text t = {.length = 0};
    char call[80];

    if (f->begin == f->end && !f->block.bytes)
        return;
    if (!f->block.bytes) {
        weir_text_add(&t, "0x%llx to 0x%llx", (unsigned long long)f->begin,
                      (unsigned long long)f->end);
        print_text(to, "bytes:", &t);
        return;
    }
    weir_text_add(
        &t, "%llu to %llu of %zu, %s at %s", (unsigned long long)(f->begin - f->block.begin),
        (unsigned long long)(f->end - f->block.begin), f->block.bytes,
        f->block.site.call ? weir_check_call_name(f->block.site.call, call) : f->block.kind,
        place ? place->text : "?");
    print_text(to, "bytes:", &t);
    print_callers(to, p, &f->block.site);
}

static void print_say(FILE *to, struct weir_check_places *p, const char *lead,
                      const struct weir_check_say *say)
{
    struct weir_text t = {.length = 0};

    if (!say->format)
        return;
    weir_check_text_say(&t, p, say);
    print_text(to, lead, &t);
}

static void print_finding(FILE *to, struct weir_check_places *p, const struct weir_check_finding *f)
{
    bool note = weir_check_kinds[f->kind].level == WEIR_CHECK_NOTE, race = f->a.used && f->b.used;
    struct weir_text t = {.length = 0};
    char word[80];

    weir_text_add(&t, "weir: %s: %s", note ? "note" : "hazard",
                  weir_check_word(f, word, sizeof word));
    if (f->what.format) {
        weir_text_add(&t, ": ");
        weir_check_text_say(&t, p, &f->what);
    }
    fprintf(to, "%s, %llu %s\n", t.data, (unsigned long long)f->times,
            f->times == 1 ? "time" : "times");
    print_side(to, p, race ? "one:" : "at:", &f->a);
    print_side(to, p, race ? "other:" : "at:", &f->b);
    print_block(to, p, f);
    print_say(to, p, "why:", &f->why);
    print_say(to, p, "change:", &f->change);
    if (weir_checker.settings.print_suppressions) {
        t.length = 0;
        weir_check_text_suppression(&t, p, f);
        print_text(to, "silence:", &t);
    }
}

/* Notes that are worth a line without being asked for. */
bool weir_check_is_told(const struct weir_check_finding *f)
{
    return !f->by && (weir_checker.settings.notes ||
                      (f->kind != WEIR_FOUND_UNNEEDED_WAIT && f->kind != WEIR_FOUND_CALL_FAILED));
}

static void print_all(FILE *to, struct weir_check_places *p, const struct findings *all)
{
    for (int level = WEIR_CHECK_HAZARD; level <= WEIR_CHECK_NOTE; level++) {
        for (size_t i = 0; i < all->count; i++) {
            const struct weir_check_finding *f = &all->items[i];

            if (weir_check_is_told(f) && (int)weir_check_kinds[f->kind].level == level)
                print_finding(to, p, f);
        }
    }
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_summary(FILE *to, const struct weir_check_totals *t)
{
    const struct checker *c = &weir_checker;
    const struct weir_suppressions *s = &c->settings.suppressions;

    for (size_t i = 0; i < s->lines.count; i++) {
        if (!s->lines.items[i].count)
            fprintf(to, "weir: check: nothing was found that line %u suppresses: %s\n",
                    s->lines.items[i].number, s->lines.items[i].line);
    }
    if (!weir_check_is_complete())
        fprintf(to, "weir: check: not everything was looked at: %s\n",
                weir_check_is_short()
                    ? "no memory, or too many findings"
                    : "too many waits for values that nobody knows the writer of");
    if (!c->lane_count && !t->hazards)
        return; /* the program, or this process of it, made no use of CUDA */
    if (t->hazards)
        fprintf(to, "weir: check: %zu hazard%s, met %llu time%s", t->hazards, plural(t->hazards),
                (unsigned long long)t->times, plural(t->times));
    else
        fprintf(to, "weir: check: no hazard");
    fprintf(to, "; %zu note%s, %zu suppressed; %llu operation%s in %u stream%s looked at\n",
            t->notes, plural(t->notes), t->suppressed, (unsigned long long)c->submitted,
            plural(c->submitted), c->lane_count, plural(c->lane_count));
}

static struct weir_check_totals count_all(struct weir_check_places *p, const struct findings *all)
{
    struct weir_check_totals t = {0};

    for (size_t i = 0; i < all->count; i++) {
        struct weir_check_finding *f = &all->items[i];

        f->by = weir_check_suppressed(p, f);
        if (f->by) {
            t.suppressed++;
        } else if (weir_check_kinds[f->kind].level == WEIR_CHECK_NOTE) {
            t.notes += weir_check_is_told(f);
        } else {
            t.hazards++;
            t.times += f->times;
        }
    }
    return t;
}

/* weir check removes old ones before. Of several processes the first has the name, further ones
 * their number behind it; one without CUDA writes only for want of another. */
static FILE *open_for_report(const char *path)
{
    bool idle = !weir_checker.lane_count && !weir_checker.findings.count;
    char other[4200];
    int fd;

    if (idle && !weir_checker.settings.main_process)
        return NULL;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        if (idle)
            return NULL;
        snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
        path = other;
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    if (fd < 0) {
        weir_log(WEIR_LOG_ERROR, "check: %s cannot be written: %s", path, strerror(errno));
        return NULL;
    }
    return fdopen(fd, "w");
}

static void close_report(FILE *f, const char *path)
{
    bool bad = ferror(f) != 0;

    if (fclose(f) != 0 || bad)
        weir_log(WEIR_LOG_ERROR, "check: %s could not be written whole", path);
}

size_t weir_check_report(void)
{
    struct weir_check_places *p = weir_check_places_create();
    const struct weir_check_settings *s = &weir_checker.settings;
    struct findings all;
    struct weir_check_totals totals;
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes), *f;

    weir_check_lock(); /* threads that still are in a call add no more */
    all = (struct findings){weir_checker.findings.items, weir_checker.findings.count};
    weir_check_unlock();
    totals = count_all(p, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.items[i].by)
            all.items[i].by->count += all.items[i].times;
    }
    if (s->github)
        weir_check_write_github(to ? to : stderr, p);
    else
        print_all(to ? to : stderr, p, &all);
    print_summary(to ? to : stderr, &totals);
    if (to && fclose(to) == 0)
        weir_log_write(text, bytes); /* at once: other processes write there, too */
    free(text);
    if (s->json && (f = open_for_report(s->json))) {
        weir_check_write_json(f, p, &totals);
        close_report(f, s->json);
    }
    if (s->sarif && (f = open_for_report(s->sarif))) {
        weir_check_write_sarif(f, p);
        close_report(f, s->sarif);
    }
    weir_check_places_destroy(p);
    return totals.hazards;
}

size_t weir_check_draft(char *text, size_t room, size_t *hazards)
{
    struct weir_check_places *p = weir_check_places_create();
    FILE *to = fmemopen(text, room, "w");
    struct findings some = {0};
    size_t bytes = 0;

    weir_check_lock();
    some.items = weir_calloc(weir_checker.findings.count + 1, sizeof *some.items);
    if (some.items) {
        some.count = weir_checker.findings.count;
        if (some.count)
            memcpy(some.items, weir_checker.findings.items, some.count * sizeof *some.items);
    }
    weir_check_unlock();
    *hazards = count_all(p, &some).hazards;
    if (to) {
        print_all(to, p, &some);
        fflush(to);
        bytes = (size_t)WEIR_MAX(ftell(to), 0L);
        fclose(to);
    }
    weir_free(some.items);
    weir_check_places_destroy(p);
    return bytes;
}
