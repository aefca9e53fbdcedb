/* The parser of designs (text.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/text.h"

#include <string.h>

#include "base/alloc.h"
#include "plan/units.h"

#define WORDS 12

struct word {
    const char *s;
    size_t n;
    bool quoted;
};

struct parser {
    struct weir_plan_text *t;
    struct word words[WORDS];
    size_t count, at;
    unsigned line;
    bool in_item;
    char *message;
};

/* ---- words ---- */

static bool fail(struct parser *p, const char *what)
{
    const struct word *w = p->at < p->count ? &p->words[p->at] : NULL;

    if (w)
        snprintf(p->message, 200, "line %u: %s, not \"%.*s\"", p->line, what,
                 (int)WEIR_MIN(w->n, (size_t)40), w->s);
    else
        snprintf(p->message, 200, "line %u: %s", p->line, what);
    return false;
}

static bool no_memory(struct parser *p)
{
    snprintf(p->message, 200, "out of memory");
    return false;
}

/* A quoted word is a name; its quotes are left out. False: too many words. */
static bool split(struct parser *p, const char *s, const char *end)
{
    p->count = p->at = 0;
    for (;;) {
        struct word *w = &p->words[p->count];
        const char *start;

        while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == ','))
            s++;
        if (s == end || *s == '#')
            return true;
        if (p->count == WORDS)
            return fail(p, "too many words");
        w->quoted = *s == '"';
        s += w->quoted;
        for (start = s; s < end && (w->quoted ? *s != '"' : !strchr(" \t\r,#\"", *s)); s++)
            if (*s < ' ' || *s > '~')
                return fail(p, "plain characters only");
        w->s = start;
        w->n = (size_t)(s - start);
        s += w->quoted && s < end;
        p->count++;
    }
}

static bool is(const struct word *w, const char *text)
{
    return !w->quoted && strlen(text) == w->n && memcmp(text, w->s, w->n) == 0;
}

static bool take(struct parser *p, const char *text)
{
    if (p->at == p->count || !is(&p->words[p->at], text))
        return false;
    p->at++;
    return true;
}

static bool take_time(struct parser *p, double *ns)
{
    if (p->at == p->count || !weir_plan_read_time(p->words[p->at].s, p->words[p->at].n, ns))
        return false;
    p->at++;
    return true;
}

static bool take_count(struct parser *p, uint32_t max, uint32_t *out)
{
    char text[16];
    uint32_t to;

    if (p->at == p->count || p->words[p->at].n >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)p->words[p->at].n, p->words[p->at].s);
    if (!weir_plan_read_range(text, max, out, &to) || to != *out)
        return false;
    p->at++;
    return true;
}

static bool all_taken(struct parser *p)
{
    return p->at == p->count || fail(p, "nothing more was expected");
}

/* ---- names ---- */

static uint32_t find(char names[][WEIR_PLAN_NAME], uint32_t count, const struct word *w)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is(w, names[i]))
            return i;
    }
    return WEIR_PLAN_NONE;
}

static bool add_name(struct parser *p, char names[][WEIR_PLAN_NAME], uint32_t *count)
{
    const struct word *w = &p->words[p->at];

    if (p->at == p->count || w->quoted || w->n >= WEIR_PLAN_NAME)
        return fail(p, "a name of at most 23 characters was expected");
    if (*count == WEIR_PLAN_STREAMS)
        return fail(p, "there are too many names");
    snprintf(names[(*count)++], WEIR_PLAN_NAME, "%.*s", (int)w->n, w->s);
    p->at++;
    return true;
}

static bool take_stream(struct parser *p, uint32_t *out)
{
    *out = p->at < p->count ? find(p->t->streams, p->t->stream_count, &p->words[p->at])
                            : WEIR_PLAN_NONE;
    if (*out == WEIR_PLAN_NONE)
        return fail(p, "a stream was expected (stream NAME makes one)");
    p->at++;
    return true;
}

static bool take_event(struct parser *p, bool make, uint32_t *out)
{
    *out =
        p->at < p->count ? find(p->t->events, p->t->event_count, &p->words[p->at]) : WEIR_PLAN_NONE;
    if (*out != WEIR_PLAN_NONE) {
        p->at++;
        return true;
    }
    *out = p->t->event_count;
    return make ? add_name(p, p->t->events, &p->t->event_count)
                : fail(p, "an event that was recorded before was expected");
}

/* ---- lines ---- */

static bool add(struct parser *p, const struct weir_plan_line *line)
{
    struct weir_plan_text *t = p->t;

    if (t->lines.count + t->item.count >= WEIR_PLAN_DESIGN_LINE)
        return fail(p, "the text is too long");
    return (p->in_item ? weir_vec_push(&t->item, *line) : weir_vec_push(&t->lines, *line)) ||
           no_memory(p);
}

static bool take_quoted(struct parser *p, struct weir_plan_line *line)
{
    if (p->at < p->count && p->words[p->at].quoted) {
        snprintf(line->name, sizeof line->name, "%.*s",
                 (int)WEIR_MIN(p->words[p->at].n, sizeof line->name - 1), p->words[p->at].s);
        p->at++;
    }
    return all_taken(p);
}

/* h2d STREAM TIME SIZE fill SHARE "NAME": STREAM not within items; TIME or SIZE. */
static bool read_op(struct parser *p, enum weir_plan_engine engine, const char *kind)
{
    struct weir_plan_line line = {.kind = WEIR_PLAN_LINE_OP,
                                  .engine = (uint8_t)engine,
                                  .stream = WEIR_PLAN_NONE,
                                  .ns = -1,
                                  .bytes = -1};

    snprintf(line.name, sizeof line.name, "%s", kind);
    if (p->at < p->count)
        line.stream = find(p->t->streams, p->t->stream_count, &p->words[p->at]);
    if (line.stream != WEIR_PLAN_NONE)
        p->at++;
    else if (!p->in_item)
        return fail(p, "a stream was expected (stream NAME makes one)");
    take_time(p, &line.ns);
    if (p->at < p->count && weir_plan_read_bytes(p->words[p->at].s, p->words[p->at].n, &line.bytes))
        p->at++;
    if (line.ns < 0 && (line.bytes < 0 || engine == WEIR_PLAN_KERNEL || engine == WEIR_PLAN_HOST))
        return fail(p, "a time was expected (0.2, 290us), or the size of a copy (6MiB)");
    if (take(p, "fill")) {
        if (p->at == p->count ||
            !weir_plan_read_share(p->words[p->at].s, p->words[p->at].n, &line.fill))
            return fail(p, "a share was expected (50%)");
        p->at++;
    }
    return take_quoted(p, &line) && add(p, &line);
}

static bool read_event(struct parser *p, enum weir_plan_line_kind kind)
{
    struct weir_plan_line line = {.kind = (uint8_t)kind};

    if (p->in_item)
        return fail(p, "items have operations, prepare and post alone");
    return take_event(p, kind == WEIR_PLAN_LINE_RECORD, &line.event) &&
           take_stream(p, &line.stream) && all_taken(p) && add(p, &line);
}

static bool read_sync(struct parser *p)
{
    struct weir_plan_line line = {.kind = WEIR_PLAN_LINE_SYNC_ALL};

    if (p->in_item)
        return fail(p, "items have operations, prepare and post alone");
    if (take(p, "stream")) {
        line.kind = WEIR_PLAN_LINE_SYNC_STREAM;
        if (!take_stream(p, &line.stream))
            return false;
    } else if (take(p, "event")) {
        line.kind = WEIR_PLAN_LINE_SYNC_EVENT;
        if (!take_event(p, false, &line.event))
            return false;
    } else if (!take(p, "all")) {
        return fail(p, "sync stream NAME, sync event NAME or sync all was expected");
    }
    return all_taken(p) && add(p, &line);
}

static bool read_host(struct parser *p)
{
    struct weir_plan_line line = {.kind = WEIR_PLAN_LINE_HOST, .name = "host"};

    if (p->in_item)
        return fail(p, "items have operations, prepare and post alone");
    return (take_time(p, &line.ns) || fail(p, "a time was expected")) && take_quoted(p, &line) &&
           add(p, &line);
}

static bool read_items(struct parser *p)
{
    struct weir_plan_line line = {.kind = WEIR_PLAN_LINE_ITEMS};
    struct weir_plan_text *t = p->t;

    if (t->items)
        return fail(p, "there are items already");
    if (!take_count(p, WEIR_PLAN_DESIGN_OPS, &t->items) || !take(p, "slots") ||
        !take_count(p, WEIR_PLAN_SLOTS, &t->slots))
        return fail(p, "items NUMBER slots NUMBER was expected");
    if (take(p, "every") && !take_time(p, &t->every_ns))
        return fail(p, "a time was expected");
    if (!all_taken(p) || !add(p, &line))
        return false;
    p->in_item = true;
    return true;
}

static bool read_end(struct parser *p)
{
    if (!p->in_item)
        return fail(p, "there are no items to end");
    if (!p->t->item.count)
        return fail(p, "items need an operation");
    if ((uint64_t)p->t->item.count * p->t->items > WEIR_PLAN_DESIGN_OPS)
        return fail(p, "there are more than 100000 operations");
    p->in_item = false;
    return all_taken(p);
}

static bool read_engines(struct parser *p)
{
    struct weir_plan_text *t = p->t;

    t->kernels_free = false;
    if (take(p, "unlimited"))
        t->copy_engines = 0, t->kernels_free = true;
    else if (take(p, "limited"))
        t->copy_engines = 2;
    else if (take(p, "one"))
        t->copy_engines = 1;
    else
        return fail(p, "engines unlimited, limited or one was expected");
    return all_taken(p);
}

static bool read_device(struct parser *p)
{
    const struct word *w = &p->words[p->at];

    if (p->at == p->count || w->n >= sizeof p->t->device)
        return fail(p, "the name of a device profile was expected");
    snprintf(p->t->device, sizeof p->t->device, "%.*s", (int)w->n, w->s);
    p->at++;
    return all_taken(p);
}

static bool read_stream(struct parser *p)
{
    uint32_t n = p->t->stream_count, priority;

    if (p->at < p->count && find(p->t->streams, n, &p->words[p->at]) != WEIR_PLAN_NONE)
        return fail(p, "a new name was expected");
    if (!add_name(p, p->t->streams, &p->t->stream_count))
        return false;
    if (take(p, "priority")) {
        if (!take_count(p, 100, &priority))
            return fail(p, "a number was expected, 1 before 0, 2 before 1");
        p->t->priorities[n] = (int8_t) - (int)priority; /* as CUDA: less is more urgent */
    }
    return all_taken(p);
}

static bool read_expect(struct parser *p, const char *s, const char *end)
{
    struct weir_plan_expect e;

    s += strlen("expect");
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (!weir_plan_expect_parse(s, (size_t)(end - s), &e))
        return fail(p,
                    "expect makespan, serial, speedup, p50, p99 or memory, then <=, >= or =, and "
                    "a value was expected");
    return weir_vec_push(&p->t->expects, e) || no_memory(p);
}

static bool read_line(struct parser *p, const char *s, const char *end)
{
    static const struct {
        const char *word;
        enum weir_plan_engine engine;
    } ops[] = {{"h2d", WEIR_PLAN_H2D},
               {"d2h", WEIR_PLAN_D2H},
               {"d2d", WEIR_PLAN_D2D},
               {"kernel", WEIR_PLAN_KERNEL},
               {"hostfunc", WEIR_PLAN_HOST}};

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(ops); i++) {
        if (take(p, ops[i].word))
            return read_op(p, ops[i].engine, ops[i].word);
    }
    if (take(p, "prepare") || take(p, "post")) {
        double *ns = is(&p->words[0], "post") ? &p->t->post_ns : &p->t->prepare_ns;

        return p->in_item ? (take_time(p, ns) || fail(p, "a time was expected")) && all_taken(p)
                          : fail(p, "prepare and post stand within items");
    }
    if (take(p, "record"))
        return read_event(p, WEIR_PLAN_LINE_RECORD);
    if (take(p, "wait"))
        return read_event(p, WEIR_PLAN_LINE_WAIT);
    if (take(p, "sync"))
        return read_sync(p);
    if (take(p, "host"))
        return read_host(p);
    if (take(p, "end"))
        return read_end(p);
    if (p->in_item)
        return fail(p, "items have operations, prepare and post alone, and end");
    if (take(p, "items"))
        return read_items(p);
    if (take(p, "stream"))
        return read_stream(p);
    if (take(p, "engines"))
        return read_engines(p);
    if (take(p, "device"))
        return read_device(p);
    if (take(p, "expect"))
        return read_expect(p, s, end);
    return fail(p, "stream, h2d, kernel, d2h, d2d, hostfunc, record, wait, host, sync, items, "
                   "engines, device or expect was expected");
}

bool weir_plan_text_parse(const char *text, size_t bytes, struct weir_plan_text *out, char *message)
{
    struct parser p = {.t = out, .message = message};
    const char *end = text + bytes;

    *out = (struct weir_plan_text){.copy_engines = 2};
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        stop = stop ? stop : end;
        p.line++;
        if (!split(&p, text, stop))
            return false;
        if (p.count && !read_line(&p, p.words[0].s, stop))
            return false;
        text = stop + 1;
    }
    p.at = p.count = 0;
    if (p.in_item)
        return fail(&p, "the items have no end");
    return out->lines.count || fail(&p, "there is nothing to run");
}

void weir_plan_text_finish(struct weir_plan_text *t)
{
    weir_vec_finish(&t->lines);
    weir_vec_finish(&t->item);
    weir_vec_finish(&t->expects);
}

/* ---- what is expected ---- */

bool weir_plan_expect_parse(const char *s, size_t n, struct weir_plan_expect *out)
{
    static const char *const names[WEIR_PLAN_QUANTITIES] = {"makespan", "serial", "speedup",
                                                            "p50",      "p99",    "memory"};
    size_t length = 0, quantity = 0;
    double value;

    while (n && (*s == ' ' || *s == '\t'))
        s++, n--;
    while (length < n && s[length] >= '0' && s[length] <= 'z' && !strchr("<>=", s[length]))
        length++;
    while (quantity < WEIR_PLAN_QUANTITIES &&
           (strlen(names[quantity]) != length || memcmp(names[quantity], s, length) != 0))
        quantity++;
    for (s += length, n -= length; n && (*s == ' ' || *s == '\t'); s++, n--)
        ;
    if (quantity == WEIR_PLAN_QUANTITIES || !n || !strchr("<>=", *s))
        return false;
    out->quantity = (uint8_t)quantity;
    out->relation = *s++;
    n--;
    if (out->relation != '=') {
        if (!n || *s != '=')
            return false;
        s++, n--;
    }
    while (n && (*s == ' ' || *s == '\t'))
        s++, n--;
    if (quantity == WEIR_PLAN_MEMORY) {
        if (!weir_plan_read_bytes(s, n, &out->value))
            return false;
    } else if (!weir_plan_read_time(s, n, &value)) {
        return false;
    } else {
        out->value = quantity == WEIR_PLAN_SPEEDUP ? value * 1e-6 : value;
    }
    return true;
}
