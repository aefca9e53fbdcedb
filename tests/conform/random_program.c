/* See random_program.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "random_program.h"

#include <string.h>

unsigned rp_pick(struct rp_program *p, unsigned n)
{
    p->rng ^= p->rng << 13;
    p->rng ^= p->rng >> 7;
    p->rng ^= p->rng << 17;
    return (unsigned)((p->rng >> 11) % n);
}

uint64_t rp_hash(const unsigned char *bytes, unsigned n)
{
    uint64_t h = 1469598103934665603u;

    for (unsigned i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

const char *rp_kind_name(enum rp_kind kind)
{
    static const char *const names[RP_KINDS] = {
        "fill",  "fill 2D", "copy",        "store",       "count", "host function", "graph", "spin",
        "alloc", "free",    "host writes", "host checks", "sync",  "ask",           "renew"};

    return names[kind];
}

static void add_buffer(struct rp_program *p, enum rp_memory memory, int device)
{
    struct rp_buffer *b = &p->buffers[p->buffer_count];

    *b = (struct rp_buffer){.memory = memory, .device = device, .live = memory != RP_POOL};
    for (int i = 0; i < RP_BYTES; i++)
        b->want[i] = (unsigned char)(p->buffer_count * 37 + i);
    p->buffer_count++;
}

void rp_init(struct rp_program *p, uint64_t seed, int threads, int devices)
{
    memset(p, 0, sizeof *p);
    p->rng = seed * 0x9e3779b97f4a7c15u | 1;
    p->threads = threads;
    p->devices = devices;
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < 3; i++)
            add_buffer(p, RP_DEVICE, d);
        for (int i = 0; i < 4; i++)
            add_buffer(p, RP_POOL, d);
    }
    for (int i = 0; i < 4; i++)
        add_buffer(p, RP_PINNED, 0);
    for (int i = 0; i < 3; i++)
        add_buffer(p, RP_MANAGED, 0);
    for (int i = 0; i < 2; i++)
        add_buffer(p, RP_PAGEABLE, 0);
    for (int t = 0; t < threads; t++)
        for (int s = 0; s < RP_SLOTS; s++)
            p->streams[t][s] = p->next_stream++;
}

/* ---- what may touch what ---- */

static bool is_hosts(const struct rp_buffer *b)
{
    return b->memory >= RP_PINNED;
}

/* By kernels and memsets of a device. */
static bool is_devices(const struct rp_buffer *b, int device)
{
    return b->memory == RP_PINNED || b->memory == RP_MANAGED ||
           (b->memory != RP_PAGEABLE && b->device == device);
}

static bool is_copied(const struct rp_buffer *b, int device)
{
    return b->memory != RP_POOL || b->device == device;
}

static bool may_write(const struct rp_op *o, const struct rp_buffer *b)
{
    switch (o->kind) {
    case RP_ALLOC:
        return b->memory == RP_POOL && !b->live && b->device == o->device;
    case RP_FREE:
        return b->memory == RP_POOL && b->live && b->device == o->device;
    case RP_COPY:
        return b->live && is_copied(b, o->device);
    case RP_HOST_FUNC:
    case RP_WRITE:
    case RP_CHECK:
        return is_hosts(b);
    default:
        return b->live && is_devices(b, o->device);
    }
}

/* ---- order ---- */

static void follow(struct rp_program *p, struct rp_op *o, int other)
{
    struct rp_op *before = &p->ops[other];

    for (int i = 0; i < o->dep_count; i++)
        if (o->deps[i] == other)
            return;
    o->deps[o->dep_count++] = other;
    if (!rp_is_host(before) && (o->waits || before->stream != o->stream))
        before->event = true;
}

static void reads(struct rp_program *p, int self, struct rp_buffer *b, unsigned offset,
                  unsigned bytes)
{
    const unsigned part = RP_BYTES / RP_PARTS;

    for (unsigned i = offset / part; i <= (offset + bytes - 1) / part; i++) {
        struct rp_part *t = &b->parts[i];

        if (t->writer >= 0)
            follow(p, &p->ops[self], t->writer);
        if (t->reader_count == 3) { /* then it also follows those, and stands for them */
            for (int k = 0; k < 3; k++)
                follow(p, &p->ops[self], t->readers[k]);
            t->reader_count = 0;
        }
        t->readers[t->reader_count++] = self;
    }
}

static void writes(struct rp_program *p, int self, struct rp_buffer *b, unsigned offset,
                   unsigned bytes)
{
    const unsigned part = RP_BYTES / RP_PARTS;

    for (unsigned i = offset / part; i <= (offset + bytes - 1) / part; i++) {
        struct rp_part *t = &b->parts[i];

        if (t->writer >= 0)
            follow(p, &p->ops[self], t->writer);
        for (int k = 0; k < t->reader_count; k++)
            if (t->readers[k] != self)
                follow(p, &p->ops[self], t->readers[k]);
        t->writer = self;
        t->reader_count = 0;
    }
}

/* ---- what operations do ---- */

static void add_word(unsigned char *at, uint32_t n)
{
    uint32_t word;

    memcpy(&word, at, 4);
    word += n;
    memcpy(at, &word, 4);
}

static void model(struct rp_program *p, struct rp_op *o)
{
    struct rp_buffer *b = &p->buffers[o->to];
    unsigned char *at = b->want + o->offset;

    switch (o->kind) {
    case RP_FILL:
    case RP_FILL_2D: /* rows that follow each other */
        memset(at, (int)o->value & 0xff, o->bytes);
        break;
    case RP_COPY:
        memmove(at, p->buffers[o->from].want + o->from_offset, o->bytes);
        break;
    case RP_STORE:
        memcpy(at, &o->value, 4);
        break;
    case RP_COUNT:
        add_word(at, o->value);
        break;
    case RP_GRAPH:
        memset(at, (int)o->value & 0xff, o->bytes);
        add_word(at, 1);
        break;
    case RP_HOST_FUNC:
    case RP_WRITE:
        for (unsigned i = 0; i < o->bytes; i++)
            at[i] = (unsigned char)(at[i] * 3 + o->value);
        break;
    case RP_ALLOC:
        b->live = true;
        memset(b->want, (int)o->value & 0xff, RP_BYTES);
        break;
    case RP_FREE:
        b->live = false;
        break;
    case RP_CHECK:
        o->expected = rp_hash(at, o->bytes);
        break;
    default:
        break;
    }
}

/* ---- making ---- */

static enum rp_kind pick_kind(struct rp_program *p)
{
    static const unsigned char weights[RP_KINDS] = {
        [RP_FILL] = 16,     [RP_FILL_2D] = 3, [RP_COPY] = 30, [RP_STORE] = 14, [RP_COUNT] = 14,
        [RP_HOST_FUNC] = 6, [RP_GRAPH] = 1,   [RP_SPIN] = 1,  [RP_ALLOC] = 8,  [RP_FREE] = 6,
        [RP_WRITE] = 2,     [RP_CHECK] = 3,   [RP_SYNC] = 2,  [RP_ASK] = 3,    [RP_RENEW] = 1};
    unsigned sum = 0, n;
    int kind = 0;

    for (int k = 0; k < RP_KINDS; k++)
        sum += weights[k];
    for (n = rp_pick(p, sum); n >= weights[kind]; kind++)
        n -= weights[kind];
    return (enum rp_kind)kind;
}

/* A buffer that the operation may write; -1: none found. */
static int pick_target(struct rp_program *p, const struct rp_op *o)
{
    for (int i = 0; i < 64; i++) {
        int n = (int)rp_pick(p, (unsigned)p->buffer_count);

        if (may_write(o, &p->buffers[n]))
            return n;
    }
    return -1;
}

static void pick_range(struct rp_program *p, struct rp_op *o)
{
    o->value = rp_pick(p, 1000);
    o->offset = rp_pick(p, RP_BYTES);
    o->bytes = 1 + rp_pick(p, RP_BYTES - o->offset);
    switch (o->kind) {
    case RP_STORE:
    case RP_COUNT:
        o->offset &= ~3u;
        o->bytes = 4;
        o->value = 1 + o->value % 300; /* COUNT: threads */
        break;
    case RP_GRAPH:
        o->offset &= ~3u;
        o->bytes = o->bytes < 4 ? 4 : o->bytes;
        if (o->offset + o->bytes > RP_BYTES)
            o->bytes = RP_BYTES - o->offset;
        break;
    case RP_FILL_2D: /* rows of 8 */
        o->offset &= ~7u;
        o->bytes = 8 * (1 + rp_pick(p, (RP_BYTES - o->offset) / 8));
        break;
    case RP_ALLOC:
    case RP_FREE:
        o->offset = 0;
        o->bytes = RP_BYTES;
        break;
    default:
        break;
    }
}

static bool touches_memory(enum rp_kind kind)
{
    return kind != RP_SPIN && kind < RP_SYNC;
}

/* False: another try. */
static bool make(struct rp_program *p, int self)
{
    struct rp_op *o = &p->ops[self];
    int slots = p->devices > 1 ? RP_SLOTS : RP_OTHER;

    memset(o, 0, sizeof *o);
    o->kind = pick_kind(p);
    o->thread = (int)rp_pick(p, (unsigned)p->threads);
    o->slot = (int)rp_pick(p, (unsigned)slots);
    o->device = o->slot == RP_OTHER ? 1 : 0;
    o->how = rp_pick(p, 1u << 16);
    o->to = o->from = -1;
    if (o->kind == RP_RENEW) {
        o->slot = (int)rp_pick(p, RP_OWN_LAST + 1);
        o->device = 0;
        p->streams[o->thread][o->slot] = p->next_stream++;
    }
    o->stream = p->streams[o->thread][o->slot];
    o->waits = rp_is_host(o);
    if (!touches_memory(o->kind))
        return true;
    o->to = pick_target(p, o);
    if (o->to < 0)
        return false;
    pick_range(p, o);
    if (o->kind == RP_COPY) {
        do
            o->from = (int)rp_pick(p, (unsigned)p->buffer_count);
        while (o->from == o->to || !p->buffers[o->from].live ||
               !is_copied(&p->buffers[o->from], o->device));
        o->waits = p->buffers[o->from].memory == RP_PAGEABLE; /* captured by the call */
        o->from_offset = rp_pick(p, RP_BYTES - o->bytes + 1);
        reads(p, self, &p->buffers[o->from], o->from_offset, o->bytes);
    }
    if (o->kind == RP_CHECK)
        reads(p, self, &p->buffers[o->to], o->offset, o->bytes);
    else
        writes(p, self, &p->buffers[o->to], o->offset, o->bytes);
    model(p, o);
    return true;
}

void rp_round(struct rp_program *p, int count)
{
    for (int i = 0; i < p->buffer_count; i++)
        for (int k = 0; k < RP_PARTS; k++)
            p->buffers[i].parts[k] = (struct rp_part){.writer = -1};
    p->op_count = count < RP_OPS ? count : RP_OPS;
    for (int i = 0; i < p->op_count; i++)
        while (!make(p, i))
            ;
}
