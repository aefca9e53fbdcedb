/* See schedule.h. Random numbers for operations and for threads come from two places, so that a
 * schedule of holds repeats the threads' order of the one that it was made from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "explore/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

enum kind {
    EARLY,
    LATE,
    REVERSE,
    LATE_COPIES,
    EARLY_COPIES,
    LATE_KERNELS,
    EARLY_KERNELS,
    TORN,
    RANDOM,
    PCT,
    HOLDS,
    KINDS
};

static const char *const names[KINDS] = {
    "early",         "late", "reverse", "late-copies", "early-copies", "late-kernels",
    "early-kernels", "torn", "random",  "pct",         "holds"};

#define PCT_DEPTH_MAX 64
#define LEAVES_RULE   8 /* one decision in so many, with a seed */
#define TEARS         3 /* random and pct: one operation in so many runs in two parts */

struct hold {
    struct weir_schedule_id id, after;
    uint64_t call;  /* 0: `after` instead */
    uint32_t first; /* not 0: no hold, but so many sixteenths run first */
};

/* A stream's, or (stream 0) the host's. */
struct priority {
    uint32_t stream, value;
};

struct weir_schedule {
    enum kind kind;
    uint64_t seed, ops_rng, threads_rng, parts_rng;
    uint32_t depth;
    uint64_t steps, changes[PCT_DEPTH_MAX]; /* pct: decisions so far, where priorities change */
    uint32_t host_chance;                   /* random: of 256 */
    WEIR_VEC(struct priority) priorities;
    WEIR_VEC(struct hold) holds;
    WEIR_VEC(struct weir_schedule_id) ran; /* of those that holds wait for */
};

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(uint64_t *rng)
{
    *rng += 0x9e3779b97f4a7c15u;
    return mix(*rng);
}

static size_t below(uint64_t *rng, size_t n)
{
    return (size_t)(draw(rng) % n);
}

/* ---- texts ---- */

char *weir_schedule_id_text(struct weir_schedule_id id, char out[WEIR_SCHEDULE_ID_TEXT])
{
    int n = snprintf(out, WEIR_SCHEDULE_ID_TEXT, "%u.%u", id.stream, id.op);

    if (id.node)
        n += snprintf(out + n, WEIR_SCHEDULE_ID_TEXT - (size_t)n, ".%u", id.node);
    if (id.turn)
        n += snprintf(out + n, WEIR_SCHEDULE_ID_TEXT - (size_t)n, ".%u", id.turn);
    if (id.part)
        snprintf(out + n, WEIR_SCHEDULE_ID_TEXT - (size_t)n, "/%u", id.part);
    return out;
}

static bool number(const char **text, uint64_t max, uint64_t *out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return *out <= max;
}

const char *weir_schedule_id_parse(const char *text, struct weir_schedule_id *id)
{
    uint32_t parts[4] = {0};

    for (int i = 0; i < 4; i++) {
        uint64_t value;

        if (i && *text != '.' && i >= 2)
            break;
        if (i && *text++ != '.')
            return NULL;
        if (!number(&text, UINT32_MAX, &value))
            return NULL;
        parts[i] = (uint32_t)value;
    }
    *id = (struct weir_schedule_id){parts[0], parts[1], parts[2], parts[3], *text == '/'};
    if (id->part && strncmp(text, "/1", 2) != 0)
        return NULL;
    return text + (id->part ? 2 : 0);
}

/* Where it ends; NULL: it is none. */
static const char *parse_hold(const char *text, struct hold *h)
{
    const char *at = weir_schedule_id_parse(text, &h->id);
    uint64_t n;

    if (!at || !*at)
        return NULL;
    switch (*at++) {
    case '>':
        return weir_schedule_id_parse(at, &h->after);
    case '@':
        return number(&at, UINT64_MAX, &h->call) && h->call ? at : NULL;
    case '=':
        if (!number(&at, WEIR_SCHEDULE_WHOLE - 1, &n) || !n || h->id.part)
            return NULL;
        h->first = (uint32_t)n;
        return at;
    default:
        return NULL;
    }
}

static enum weir_err parse_holds(struct weir_schedule *s, const char *text)
{
    while (*text) {
        struct hold h = {0};
        const char *at = parse_hold(text, &h);

        if (!at || (*at && *at != ','))
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                             "\"%s\" does not begin with ID@CALL, ID>ID or ID=1 to %d", text,
                             WEIR_SCHEDULE_WHOLE - 1);
        if (!weir_vec_push(&s->holds, h))
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a schedule");
        text = *at ? at + 1 : at;
    }
    return WEIR_OK;
}

char *weir_schedule_usual(uint64_t n, char *out)
{
    static const enum kind first[] = {EARLY,         LATE,         REVERSE,      LATE_COPIES,
                                      EARLY_KERNELS, LATE_KERNELS, EARLY_COPIES, TORN};

    if (n < sizeof first / sizeof first[0])
        snprintf(out, 64, "%s", names[first[n]]);
    else if (n % 2)
        snprintf(out, 64, "random:%" PRIu64, n);
    else
        snprintf(out, 64, "pct:%u:%" PRIu64, 2 + (unsigned)(n / 2 % 3), n);
    return out;
}

static enum weir_err parse(struct weir_schedule *s, const char *spec)
{
    const char *at = spec + strcspn(spec, ":");
    uint64_t value;

    for (s->kind = EARLY; s->kind < KINDS; s->kind++) {
        if (strlen(names[s->kind]) == (size_t)(at - spec) &&
            strncmp(names[s->kind], spec, (size_t)(at - spec)) == 0)
            break;
    }
    if (s->kind == KINDS)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "there is no schedule \"%s\"", spec);
    if (s->kind == PCT) {
        if (*at++ != ':' || !number(&at, PCT_DEPTH_MAX, &value) || value == 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "pct needs a number from 1 to %d behind it",
                             PCT_DEPTH_MAX);
        s->depth = (uint32_t)value;
    }
    if (*at == ':' && !(at++, number(&at, UINT64_MAX, &s->seed)))
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\" is no seed", at);
    if (s->kind == HOLDS && *at == ':')
        return parse_holds(s, at + 1);
    if (*at)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\" behind a schedule", at);
    return WEIR_OK;
}

enum weir_err weir_schedule_create(const char *spec, struct weir_schedule **out)
{
    struct weir_schedule *s = weir_calloc(1, sizeof *s);
    const char *rest = spec;
    char usual[64];
    uint64_t n;
    enum weir_err err;

    if (!s)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a schedule");
    if (number(&rest, UINT64_MAX, &n) && !*rest)
        spec = weir_schedule_usual(n, usual);
    err = parse(s, spec);
    if (err != WEIR_OK) {
        weir_schedule_destroy(s);
        return err;
    }
    s->ops_rng = mix(s->seed ^ 0x6f7073);
    s->threads_rng = mix(s->seed ^ 0x746872);
    s->parts_rng = mix(s->seed ^ 0x706172);
    s->host_chance = (const uint32_t[]){32, 128, 224, 248}[below(&s->ops_rng, 4)];
    if (s->kind == PCT) {
        uint64_t length = 8u << below(&s->ops_rng, 7);

        for (uint32_t i = 0; i + 1 < s->depth; i++)
            s->changes[i] = 1 + draw(&s->ops_rng) % length;
    }
    *out = s;
    return WEIR_OK;
}

void weir_schedule_destroy(struct weir_schedule *s)
{
    if (!s)
        return;
    weir_vec_finish(&s->priorities);
    weir_vec_finish(&s->holds);
    weir_vec_finish(&s->ran);
    weir_free(s);
}

/* ---- decisions ---- */

/* The oldest of those that are as said; -1: none. */
static int oldest(const struct weir_schedule_op *ops, size_t count, bool (*is)(void *, size_t),
                  void *arg)
{
    int best = -1;

    for (size_t i = 0; i < count; i++)
        if ((!is || is(arg, i)) && (best < 0 || ops[i].order < ops[best].order))
            best = (int)i;
    return best;
}

struct ask {
    const struct weir_schedule *s;
    const struct weir_schedule_op *ops;
    uint64_t call;
};

static bool is_needed(void *arg, size_t i)
{
    return ((const struct ask *)arg)->ops[i].needed;
}

static bool is_early(void *arg, size_t i)
{
    const struct ask *a = arg;
    uint8_t kind = a->ops[i].kind;

    switch (a->s->kind) {
    case LATE_COPIES:
        return kind != WEIR_OP_COPY;
    case EARLY_COPIES:
        return kind == WEIR_OP_COPY;
    case LATE_KERNELS:
        return kind != WEIR_OP_KERNEL;
    case EARLY_KERNELS:
        return kind == WEIR_OP_KERNEL;
    case TORN:
        return a->ops[i].id.part == 0;
    default:
        return a->s->kind != LATE && a->s->kind != REVERSE;
    }
}

static bool has_run(const struct weir_schedule *s, struct weir_schedule_id id)
{
    for (size_t i = 0; i < s->ran.count; i++)
        if (weir_schedule_same(s->ran.items[i], id))
            return true;
    return false;
}

static bool is_free(void *arg, size_t i)
{
    const struct ask *a = arg;

    for (size_t k = 0; k < a->s->holds.count; k++) {
        const struct hold *h = &a->s->holds.items[k];

        if (!h->first && weir_schedule_same(h->id, a->ops[i].id) &&
            (h->call ? a->call < h->call : !has_run(a->s, h->after)))
            return false;
    }
    return true;
}

static int newest(const struct weir_schedule_op *ops, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++)
        if (ops[i].order > ops[best].order)
            best = i;
    return (int)best;
}

/* What holds everything else back: the host goes on if it may, else what it waits for runs. */
static int only_what_must(struct ask *a, size_t count, bool host)
{
    int needed;

    if (host)
        return WEIR_SCHEDULE_HOST;
    if (a->s->kind == REVERSE || a->s->kind == TORN)
        return newest(a->ops, count);
    needed = oldest(a->ops, count, is_needed, a);
    return needed >= 0 ? needed : oldest(a->ops, count, NULL, NULL);
}

static int pick_random(struct weir_schedule *s, size_t count, bool host)
{
    if (host && below(&s->ops_rng, 256) < s->host_chance)
        return WEIR_SCHEDULE_HOST;
    return (int)below(&s->ops_rng, count);
}

/* NULL: out of memory. */
static struct priority *priority_of(struct weir_schedule *s, uint32_t stream)
{
    struct priority p = {stream, PCT_DEPTH_MAX +
                                     (uint32_t)(mix(s->seed * 0x9e3779b97f4a7c15u + stream) >> 34)};

    for (size_t i = 0; i < s->priorities.count; i++)
        if (s->priorities.items[i].stream == stream)
            return &s->priorities.items[i];
    return weir_vec_push(&s->priorities, p) ? &s->priorities.items[s->priorities.count - 1] : NULL;
}

static int highest(struct weir_schedule *s, const struct weir_schedule_op *ops, size_t count,
                   bool host, uint32_t *stream)
{
    const struct priority *p = host ? priority_of(s, 0) : NULL;
    uint32_t value = p ? p->value : 0;
    int best = WEIR_SCHEDULE_HOST;

    *stream = 0;
    for (size_t i = 0; i < count; i++) {
        p = priority_of(s, ops[i].id.stream);
        if ((best < 0 && !host) || (p && p->value > value) ||
            (p && best >= 0 && p->value == value && ops[i].order < ops[best].order)) {
            best = (int)i;
            value = p ? p->value : 0;
            *stream = ops[i].id.stream;
        }
    }
    return best;
}

static int pick_pct(struct weir_schedule *s, const struct weir_schedule_op *ops, size_t count,
                    bool host)
{
    uint32_t stream;
    int best = highest(s, ops, count, host, &stream);

    s->steps++;
    for (uint32_t i = 0; i + 1 < s->depth; i++) {
        struct priority *p;

        if (s->changes[i] != s->steps || !(p = priority_of(s, stream)))
            continue;
        p->value = s->depth - i;
        best = highest(s, ops, count, host, &stream);
    }
    return best;
}

int weir_schedule_pick(struct weir_schedule *s, const struct weir_schedule_op *ops, size_t count,
                       uint64_t call, bool host)
{
    struct ask ask = {s, ops, call};
    int early;

    switch (s->kind) {
    case RANDOM:
        return pick_random(s, count, host);
    case PCT:
        return pick_pct(s, ops, count, host);
    case HOLDS:
        early = oldest(ops, count, is_free, &ask);
        break;
    default:
        if (s->seed && below(&s->ops_rng, LEAVES_RULE) == 0)
            return pick_random(s, count, host);
        early = oldest(ops, count, is_early, &ask);
        break;
    }
    return early >= 0 ? early : only_what_must(&ask, count, host);
}

uint32_t weir_schedule_first_part(struct weir_schedule *s, const struct weir_schedule_op *op)
{
    if (!op->parts || op->id.part)
        return WEIR_SCHEDULE_WHOLE;
    switch (s->kind) {
    case TORN:
        return WEIR_SCHEDULE_WHOLE / 2;
    case RANDOM:
    case PCT:
        return below(&s->parts_rng, TEARS) == 0
                   ? 1 + (uint32_t)below(&s->parts_rng, WEIR_SCHEDULE_WHOLE - 1)
                   : WEIR_SCHEDULE_WHOLE;
    case HOLDS:
        for (size_t i = 0; i < s->holds.count; i++)
            if (s->holds.items[i].first && weir_schedule_same(s->holds.items[i].id, op->id))
                return s->holds.items[i].first;
        return WEIR_SCHEDULE_WHOLE;
    default:
        return WEIR_SCHEDULE_WHOLE;
    }
}

bool weir_schedule_ran(struct weir_schedule *s, struct weir_schedule_id id)
{
    for (size_t i = 0; i < s->holds.count; i++)
        if (!s->holds.items[i].call && !s->holds.items[i].first &&
            weir_schedule_same(s->holds.items[i].after, id))
            return weir_vec_push(&s->ran, id);
    return true;
}

size_t weir_schedule_thread(struct weir_schedule *s, size_t count)
{
    return count > 1 ? below(&s->threads_rng, count) : 0;
}
