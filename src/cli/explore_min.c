/* weir explore --minimise. A failed run is written down as holds: each operation not before the
 * program's call at which it ran, and not before the operation that ran in front of it; and what
 * ran in two parts does so again. That repeats the run; holds are then taken away (Zeller's delta
 * debugging) as long as it fails the same way, and what is left is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explore.h"
#include "explore/schedule.h"
#include "trace/symbols.h"

#define TRIES_MAX 1000
#define SPEC_MAX  100000

struct hold {
    struct weir_schedule_id id, after;
    uint64_t call;  /* 0: `after` instead */
    uint32_t first; /* not 0: so many sixteenths of it run first, on their own */
};

struct holds {
    struct hold *items;
    size_t count;
};

/* Of a log. Texts lie in it. */
struct op {
    struct weir_schedule_id id;
    const char *kind, *call, *site, *name;
    uint64_t ran;   /* as which, from 1; 0: not */
    uint64_t at;    /* number of the call */
    uint64_t begun; /* that of the call that submitted it */
    uint32_t first; /* sixteenths that ran on their own; 0: it was not divided */
};

struct call {
    uint64_t number;
    const char *name, *site;
};

struct run_log {
    char *text;
    struct op *ops;
    size_t op_count, *order, ran; /* order: of their running */
    struct call *calls;
    size_t call_count;
};

struct minimiser {
    const struct explore_setup *s;
    const struct explore_result *failure;
    uint64_t threads; /* seed of the threads' order */
    int tries;
    char *spec, *file; /* room for a schedule; the log's path */
    char *long_file;   /* for schedules that no variable of the environment holds */
    size_t room;
};

/* ---- logs ---- */

static void free_log(struct run_log *l)
{
    free(l->text);
    free(l->ops);
    free(l->order);
    free(l->calls);
    *l = (struct run_log){0};
}

static struct op *find_op(const struct run_log *l, struct weir_schedule_id id)
{
    for (size_t i = l->op_count; i-- > 0;)
        if (weir_schedule_same(l->ops[i].id, id))
            return &l->ops[i];
    return NULL;
}

/* The same, or all of it where it was not divided. */
static const struct op *find_part(const struct run_log *l, struct weir_schedule_id id)
{
    const struct op *o = find_op(l, id);

    id.part = 0;
    return o ? o : find_op(l, id);
}

static const struct call *find_call(const struct run_log *l, uint64_t number)
{
    for (size_t i = 0; i < l->call_count; i++)
        if (l->calls[i].number == number)
            return &l->calls[i];
    return NULL;
}

/* The next field of a line; "" behind the last. */
static char *field(char **line)
{
    char *at = *line, *end = at + strcspn(at, "\t");

    *line = *end ? end + 1 : end;
    *end = '\0';
    return at;
}

/* As the program has it. */
static const char *call_of(const char *name)
{
    return strncmp(name, "__cudaLaunchKernel", 18) == 0 ? "<<< >>>" : name;
}

static void take_line(struct run_log *l, char *line)
{
    const char *what = field(&line);
    struct weir_schedule_id id;

    if (strcmp(what, "op") == 0 && weir_schedule_id_parse(field(&line), &id)) {
        struct op *o = &l->ops[l->op_count++];

        *o = (struct op){.id = id};
        o->kind = field(&line);
        o->call = call_of(field(&line));
        o->site = field(&line);
        o->name = field(&line);
        o->begun = l->call_count ? l->calls[l->call_count - 1].number : 0;
    } else if (strcmp(what, "run") == 0 && weir_schedule_id_parse(field(&line), &id)) {
        struct op *o = find_op(l, id);

        if (!o)
            return;
        l->order[l->ran++] = (size_t)(o - l->ops);
        o->ran = l->ran;
        o->at = strtoull(field(&line), NULL, 10);
    } else if (strcmp(what, "parts") == 0 && weir_schedule_id_parse(field(&line), &id)) {
        struct op *o = find_op(l, id), *rest = &l->ops[l->op_count];

        if (!o)
            return;
        l->op_count++;
        o->first = (uint32_t)strtoul(field(&line), NULL, 10);
        *rest = *o;
        rest->id.part = 1;
        rest->ran = rest->at = rest->first = 0;
    } else if (strcmp(what, "call") == 0) {
        struct call *c = &l->calls[l->call_count++];

        c->number = strtoull(field(&line), NULL, 10);
        c->name = call_of(field(&line));
        c->site = field(&line);
    }
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (!f)
        return NULL;
    if (getdelim(&text, &room, '\0', f) < 0) { /* the program made no call */
        free(text);
        text = ferror(f) ? NULL : strdup("");
    }
    fclose(f);
    return text;
}

static bool read_log(const char *path, struct run_log *l)
{
    size_t lines = 1;
    char *line, *next;

    *l = (struct run_log){.text = read_all(path)};
    if (!l->text)
        return false;
    for (char *c = l->text; *c; c++)
        lines += *c == '\n';
    l->ops = calloc(lines, sizeof *l->ops);
    l->order = calloc(lines, sizeof *l->order);
    l->calls = calloc(lines, sizeof *l->calls);
    if (!l->ops || !l->order || !l->calls) {
        free_log(l);
        return false;
    }
    for (line = l->text; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        take_line(l, line);
    }
    return true;
}

/* ---- trying ---- */

/* Writes the schedule; false when it would be too long. */
static bool write_spec(const struct minimiser *m, const struct holds *h, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "holds:%" PRIu64, m->threads);

    for (size_t i = 0; i < h->count; i++) {
        char a[WEIR_SCHEDULE_ID_TEXT], b[WEIR_SCHEDULE_ID_TEXT];
        const struct hold *o = &h->items[i];

        weir_schedule_id_text(o->id, a);
        if (o->first)
            n += (size_t)snprintf(out + n, room - n, "%c%s=%u", i ? ',' : ':', a, o->first);
        else if (o->call)
            n += (size_t)snprintf(out + n, room - n, "%c%s@%" PRIu64, i ? ',' : ':', a, o->call);
        else
            n += (size_t)snprintf(out + n, room - n, "%c%s>%s", i ? ',' : ':', a,
                                  weir_schedule_id_text(o->after, b));
        if (n + 2 * WEIR_SCHEDULE_ID_TEXT >= room)
            return false;
    }
    return true;
}

/* A long one goes into a file. */
static bool shorten(struct minimiser *m)
{
    size_t n = strlen(m->spec);
    FILE *f;
    bool ok;

    if (n < SPEC_MAX)
        return true;
    f = fopen(m->long_file, "w");
    if (!f)
        return false;
    ok = fwrite(m->spec, 1, n, f) == n;
    ok = fclose(f) == 0 && ok;
    snprintf(m->spec, m->room, "@%s", m->long_file);
    return ok;
}

static bool fails(struct minimiser *m, const struct holds *h, bool logged)
{
    struct explore_result r;

    m->tries++;
    if (logged)
        (void)!truncate(m->file, 0);
    return write_spec(m, h, m->spec, m->room) && shorten(m) &&
           weir_explore_once(m->s, m->spec, logged ? m->file : NULL, &r) &&
           weir_explore_same_failure(&r, m->failure);
}

static bool fails_without(struct minimiser *m, struct holds *h, size_t first, size_t count)
{
    struct holds rest = {malloc((h->count + 1) * sizeof *rest.items), h->count - count};
    bool failed = false;

    if (rest.items) {
        memcpy(rest.items, h->items, first * sizeof *rest.items);
        memcpy(rest.items + first, h->items + first + count,
               (h->count - first - count) * sizeof *rest.items);
        failed = fails(m, &rest, false);
        if (failed) {
            memcpy(h->items, rest.items, rest.count * sizeof *rest.items);
            h->count = rest.count;
        }
    }
    free(rest.items);
    return failed;
}

/* Parts are left out, halves first; in the end no single one can be. */
static void reduce(struct minimiser *m, struct holds *h)
{
    size_t part = h->count;

    while (part > 0 && m->tries < TRIES_MAX) {
        bool any = false;

        for (size_t i = 0; i < h->count && m->tries < TRIES_MAX;) {
            size_t n = i + part <= h->count ? part : h->count - i;

            if (fails_without(m, h, i, n))
                any = true;
            else
                i += n;
        }
        if (part == 1 && !any)
            return;
        part = part > 1 ? part / 2 : 1;
    }
}

/* The earliest call that it must be held until. */
static void lower(struct minimiser *m, struct holds *h, struct hold *o)
{
    uint64_t low = 1, high = o->call; /* fails at high */

    while (low < high && m->tries < TRIES_MAX) {
        o->call = low + (high - low) / 2;
        if (fails(m, h, false))
            high = o->call;
        else
            low = o->call + 1;
    }
    o->call = high;
}

static bool holds_of(const struct run_log *l, struct holds *h)
{
    h->items = calloc(3 * l->ran + 1, sizeof *h->items);
    /* The calls first: what can do without them tells more. */
    for (size_t i = 0; h->items && i < l->ran; i++)
        h->items[h->count++] =
            (struct hold){.id = l->ops[l->order[i]].id, .call = l->ops[l->order[i]].at};
    for (size_t i = 1; h->items && i < l->ran; i++)
        h->items[h->count++] =
            (struct hold){.id = l->ops[l->order[i]].id, .after = l->ops[l->order[i - 1]].id};
    for (size_t i = 0; h->items && i < l->ran; i++)
        if (l->ops[l->order[i]].first)
            h->items[h->count++] =
                (struct hold){.id = l->ops[l->order[i]].id, .first = l->ops[l->order[i]].first};
    return h->items != NULL;
}

/* ---- the story ---- */

static void print_op(const struct op *o)
{
    char name[256] = "";

    if (*o->name)
        weir_trace_demangle(o->name, name, sizeof name);
    printf("%s%s%s%s (stream %u", o->id.part ? "the rest of " : "", o->kind, *name ? " " : "", name,
           o->id.stream);
    if (o->id.node)
        printf(", node %u of a graph)", o->id.node);
    else
        printf(", %s at %s)", o->call, o->site);
}

/* What was submitted later and ran before it. */
static int print_overtakers(const struct run_log *l, const struct op *o)
{
    int count = 0;

    for (size_t i = 0; i < l->ran && l->ops[l->order[i]].ran < o->ran; i++) {
        const struct op *before = &l->ops[l->order[i]];

        if (before < o || before->id.stream == o->id.stream)
            continue;
        printf("       ran before it: ");
        print_op(before);
        putchar('\n');
        count++;
    }
    return count;
}

/* How far the program had gone on when it ran: it may have used the memory itself. */
static void print_host(const struct run_log *l, const struct op *o)
{
    const struct call *c = o->at > o->begun + 1 ? find_call(l, o->at) : NULL;

    if (c)
        printf("       the host was at %s at %s by then\n", c->name, c->site);
}

static void print_hold(const struct run_log *l, const struct hold *h, size_t number)
{
    const struct op *o = find_op(l, h->id), *after = h->call ? NULL : find_part(l, h->after);
    const struct call *c = h->call ? find_call(l, h->call) : NULL;
    const struct call *before = h->call ? find_call(l, h->call - 1) : NULL;

    printf("  %zu. ", number);
    if (!o) {
        printf("an operation that was not submitted this time\n");
        return;
    }
    print_op(o);
    if (h->first) {
        printf("\n     ran in two parts, the first %u/%d of it on their own\n", h->first,
               WEIR_SCHEDULE_WHOLE);
        return;
    }
    if (after) {
        printf("\n     was delayed until behind ");
        print_op(after);
        putchar('\n');
        print_host(l, o);
        return;
    }
    printf("\n     was delayed until call %" PRIu64, h->call);
    if (c)
        printf(", %s at %s", c->name, c->site);
    putchar('\n');
    if (print_overtakers(l, o) == 0 && before)
        printf("       ran before it: the host's code behind %s at %s\n", before->name,
               before->site);
}

static void tell(const struct minimiser *m, const struct holds *h, size_t all)
{
    struct run_log l;

    printf("%zu of %zu operations' places matter (%d runs to find out):\n", h->count, all,
           m->tries);
    if (read_log(m->file, &l)) {
        size_t number = 0;

        for (int divided = 1; divided >= 0; divided--) /* what was divided first */
            for (size_t i = 0; i < h->count; i++)
                if ((h->items[i].first != 0) == divided)
                    print_hold(&l, &h->items[i], ++number);
        free_log(&l);
    }
    if (h->count == 0)
        printf("  it fails with every operation as early as it may run\n");
    weir_explore_print_again(m->s, m->spec);
}

static uint64_t seed_of(const char *spec)
{
    const char *colon = strrchr(spec, ':');

    return colon ? strtoull(colon + 1, NULL, 10) : 0;
}

/* From the log of the failed run to the story. NULL, or what went wrong. */
static const char *minimise(struct minimiser *m, const char *spec)
{
    struct explore_result r;
    struct holds h = {0};
    struct run_log l;
    const char *problem = NULL;
    size_t all;

    if (!weir_explore_once(m->s, spec, m->file, &r) || !weir_explore_same_failure(&r, m->failure))
        return "it did not fail again under the same schedule";
    if (!read_log(m->file, &l) || !holds_of(&l, &h))
        problem = "its decisions could not be read";
    all = l.ran;
    free_log(&l);
    m->room = h.count * 2 * (WEIR_SCHEDULE_ID_TEXT + 24) + 256;
    m->spec = malloc(m->room);
    if (!problem && !m->spec)
        problem = "no memory";
    if (!problem && !fails(m, &h, false))
        problem = "it did not fail again with its decisions written down";
    if (!problem) {
        reduce(m, &h);
        for (size_t i = 0; i < h.count; i++)
            if (h.items[i].call)
                lower(m, &h, &h.items[i]);
        if (fails(m, &h, true))
            tell(m, &h, all);
        else
            problem = "it does not fail every time under the same schedule";
    }
    free(h.items);
    free(m->spec);
    return problem;
}

void weir_explore_minimise(const struct explore_setup *s, const char *spec,
                           const struct explore_result *failure)
{
    char file[] = "/tmp/weir-explore-XXXXXX", long_file[sizeof file + 8];
    struct minimiser m = {.s = s, .failure = failure, .threads = seed_of(spec), .file = file};
    const char *problem;
    int fd = mkstemp(file);

    if (fd < 0) {
        perror("weir explore: /tmp");
        return;
    }
    close(fd);
    snprintf(long_file, sizeof long_file, "%s.holds", file);
    m.long_file = long_file;
    problem = minimise(&m, spec);
    if (problem)
        printf("not minimised: %s\n", problem);
    fflush(stdout);
    unlink(file);
}
