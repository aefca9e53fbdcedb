/* Findings: collected while the program runs, the same ones counted, written when it ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "check/check_int.h"
#include "trace/symbols.h"

#define FINDINGS_MAX 1000 /* further ones are only counted */

static struct weir_check_side side_of(const struct weir_actor *a, enum weir_access access)
{
    const struct weir_check_detail *d = a->detail;

    return (struct weir_check_side){
        .op = *d, .stream = weir_checker.streams.items[d->lane], .access = access};
}

static bool same_op(const struct weir_check_detail *a, const struct weir_check_detail *b)
{
    return a->kind == b->kind && a->name == b->name && a->site.address == b->site.address;
}

static bool same(const struct weir_check_finding *a, const struct weir_check_finding *b)
{
    if (a->kind == WEIR_FOUND_HOST_FUNC)
        return b->kind == a->kind && a->b.op.site.address == b->b.op.site.address;
    return a->kind == b->kind && a->block.site.address == b->block.site.address &&
           ((same_op(&a->a.op, &b->a.op) && same_op(&a->b.op, &b->b.op)) ||
            (same_op(&a->a.op, &b->b.op) && same_op(&a->b.op, &b->a.op)));
}

/* The block that holds the address; the blocks are few where this is asked, for findings only. */
static struct weir_check_block block_of(uintptr_t address)
{
    struct weir_check_block none = {0};
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.blocks, &pos, &key, &value)) {
        const struct weir_check_block *b = value;

        if (address - b->begin < b->bytes)
            return *b;
    }
    return none;
}

static void add(struct weir_check_finding *f)
{
    struct checker *c = &weir_checker;

    f->block = block_of(f->begin);
    f->times = 1;
    for (size_t i = 0; i < c->findings.count; i++) {
        if (same(&c->findings.items[i], f)) {
            c->findings.items[i].times++;
            return;
        }
    }
    if (c->findings.count >= FINDINGS_MAX || !weir_vec_push(&c->findings, *f))
        c->failed = true;
}

void weir_check_raced(void *ctx, const struct weir_race *race)
{
    struct weir_check_finding f = {.kind = WEIR_FOUND_RACE,
                                   .a = side_of(race->before, race->before_kind),
                                   .b = side_of(race->now, race->now_kind),
                                   .begin = race->begin,
                                   .end = race->end};

    (void)ctx;
    add(&f);
}

static bool still_used(void *ctx, struct weir_actor *a, enum weir_access kind, uintptr_t begin,
                       uintptr_t end)
{
    const struct weir_check_site *by = ctx;
    struct weir_check_finding f = {.kind = WEIR_FOUND_LIFETIME,
                                   .a = side_of(a, kind),
                                   .b = {.op.site = *by},
                                   .begin = begin,
                                   .end = end};

    add(&f);
    return false; /* one is enough */
}

void weir_check_freed(const void *p, size_t bytes, struct weir_check_site by)
{
    weir_shadow_unfinished(&weir_checker.shadow, (uintptr_t)p, (uintptr_t)p + bytes, still_used,
                           &by);
}

void weir_check_misused(struct weir_check_site at)
{
    struct weir_check_finding f = {.kind = WEIR_FOUND_HOST_FUNC, .b = {.op.site = at}};

    add(&f);
}

/* ---- the text ---- */

static const char *access_text(enum weir_access a)
{
    static const char *const text[] = {"reads", "updates atomically", "writes"};

    return text[a];
}

static void print_op(const char *lead, const struct weir_check_side *s)
{
    static const char *const kinds[] = {
        [WEIR_OP_KERNEL] = "kernel",
        [WEIR_OP_COPY] = "copy",
        [WEIR_OP_MEMSET] = "memset",
        [WEIR_OP_HOST_FUNC] = "host function",
        [WEIR_OP_CALLBACK] = "stream callback",
        [WEIR_OP_GRAPH] = "graph launch",
        [WEIR_OP_ALLOC] = "allocation",
        [WEIR_OP_FREE] = "free",
    };
    char name[256] = "", place[512] = "?";
    const char *kind = s->op.kind < sizeof kinds / sizeof kinds[0] ? kinds[s->op.kind] : NULL;

    if (s->op.name)
        weir_trace_demangle(s->op.name, name, sizeof name);
    if (s->op.site.address)
        weir_trace_describe_here(s->op.site.address, place, sizeof place);
    fprintf(stderr, "weir:   %s%s%s%s %s, ", lead, kind ? kind : "operation", name[0] ? " " : "",
            name, access_text(s->access));
    if (s->stream.cls == WEIR_STREAM_LEGACY)
        fprintf(stderr, "the legacy default stream of device %d", s->stream.device);
    else if (s->stream.cls == WEIR_STREAM_PER_THREAD)
        fprintf(stderr, "a thread's default stream");
    else
        fprintf(stderr, "%s stream %llu",
                s->stream.cls == WEIR_STREAM_BLOCKING ? "blocking" : "non-blocking",
                (unsigned long long)s->stream.id);
    fprintf(stderr, "; %s at %s, thread %u\n", s->op.site.call ? s->op.site.call : "submitted",
            place, s->op.site.thread);
}

static void print_block(const struct weir_check_finding *f)
{
    char place[512] = "?";

    if (!f->block.bytes) {
        fprintf(stderr, "weir:   bytes 0x%llx to 0x%llx\n", (unsigned long long)f->begin,
                (unsigned long long)f->end);
        return;
    }
    if (f->block.site.address)
        weir_trace_describe_here(f->block.site.address, place, sizeof place);
    fprintf(stderr, "weir:   bytes %llu to %llu of %zu, %s at %s\n",
            (unsigned long long)(f->begin - f->block.begin),
            (unsigned long long)(f->end - f->block.begin), f->block.bytes,
            f->block.site.call ? f->block.site.call : f->block.kind, place);
}

static const char *race_advice(const struct weir_check_finding *f)
{
    const struct weir_check_stream *a = &f->a.stream, *b = &f->b.stream;
    bool legacy = a->cls == WEIR_STREAM_LEGACY || b->cls == WEIR_STREAM_LEGACY;

    if (legacy && a->device == b->device)
        return "the legacy default stream and non-blocking streams do not wait for each other "
               "(ORD-005): make the stream blocking, or record an event after the first and let "
               "the "
               "second's stream wait for it";
    return "different streams have no order without an event (ORD-002): record an event after the "
           "first, and let the second's stream wait for it";
}

/* Of a race: memory that is allocated or freed in a stream's order is told apart. */
static const char *race_kind(const struct weir_check_finding *f)
{
    if (f->a.op.kind == WEIR_OP_FREE || f->b.op.kind == WEIR_OP_FREE)
        return "use-after-free";
    if (f->a.op.kind == WEIR_OP_ALLOC || f->b.op.kind == WEIR_OP_ALLOC)
        return "use-before-alloc";
    return "race";
}

static void print_finding(const struct weir_check_finding *f)
{
    char place[512] = "?";

    if (f->kind == WEIR_FOUND_RACE) {
        fprintf(stderr, "weir: hazard: %s, %llu %s\n", race_kind(f), (unsigned long long)f->times,
                f->times == 1 ? "time" : "times");
        print_op("one:    ", &f->a);
        print_op("other:  ", &f->b);
        print_block(f);
        fprintf(stderr, "weir:   why, and what to change: %s\n", race_advice(f));
        return;
    }
    if (f->b.op.site.address)
        weir_trace_describe_here(f->b.op.site.address, place, sizeof place);
    if (f->kind == WEIR_FOUND_HOST_FUNC) {
        fprintf(stderr,
                "weir: hazard: callback-api: %s inside a host function or callback, at %s\n",
                f->b.op.site.call ? f->b.op.site.call : "a call", place);
        fprintf(stderr, "weir:   why, and what to change: it is refused there "
                        "(cudaErrorNotPermitted): let the host function signal a thread that "
                        "makes the call\n");
        return;
    }
    fprintf(stderr, "weir: hazard: lifetime: memory given back while it may be in use\n");
    print_op("user:   ", &f->a);
    fprintf(stderr, "weir:   freed:  %s at %s\n", f->b.op.site.call ? f->b.op.site.call : "?",
            place);
    print_block(f);
    fprintf(stderr,
            "weir:   why, and what to change: no call has waited for that operation, and no "
            "document says that freeing does: synchronise with its stream before\n");
}

size_t weir_check_report(void)
{
    struct checker *c = &weir_checker;
    size_t count;

    weir_lock_acquire(&c->lock);
    count = c->findings.count;
    weir_lock_release(&c->lock);
    for (size_t i = 0; i < count; i++)
        print_finding(&c->findings.items[i]);
    if (c->failed || c->order.failed || c->shadow.failed)
        fprintf(stderr, "weir: check: not everything was looked at: no memory, or too many "
                        "findings\n");
    return count;
}
