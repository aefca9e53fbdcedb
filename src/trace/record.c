/* The records (payloads: docs/trace-format.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/record.h"

#include "base/clock.h"
#include "trace/writer.h"

#define EDGES_MAX      8
#define NEXT_MAX       24   /* nodes behind a node, in one record */
#define QUICK_NS       1000 /* from one launch to the next */
#define LOOK_EVERY     16
#define ENGINE_KERNELS 0 /* of enum weir_engine, and in the file */
#define KIND_MANAGED   4 /* of enum weir_mem_kind, and in the file */

static uint32_t named(struct weir_trace_buffer *b, const char *name, _Atomic uint32_t *name_id)
{
    uint32_t id = atomic_load_explicit(name_id, memory_order_relaxed);

    if (WEIR_UNLIKELY(!id)) {
        id = weir_trace_string(b, name, strlen(name));
        atomic_store_explicit(name_id, id, memory_order_relaxed);
    }
    return id;
}

/* ---- calls ---- */

void weir_trace_enter(const void *site)
{
    struct weir_trace_buffer *b = weir_trace_open();

    if (!b)
        return;
    weir_trace_room(b);
    if (b->chunk) {
        b->call_site = weir_trace_site(b, site);
        b->call_ns = weir_trace_clock_ns(&b->clock);
        b->quick = b->call_ns - b->before_ns < QUICK_NS;
        b->before_ns = b->call_ns;
        b->call_pos = b->pos;
        b->launch_end = 0;
    }
    b->busy = false;
}

void weir_trace_launch_site(const void *site)
{
    struct weir_trace_buffer *b = weir_trace_open();

    if (!b)
        return;
    b->launch_site = weir_trace_site(b, site);
    b->busy = false;
}

/* What the call that ends has taken. A look at the clock costs a fifth of a launch: of those in
 * quick succession that did nothing else one of LOOK_EVERY is looked at, and the next take as long.
 */
static uint64_t call_took(struct weir_trace_buffer *b)
{
    const bool launch = b->held || b->launch_end == b->pos;
    uint64_t took;

    if (launch && b->quick && b->launch_ns && ++b->told < LOOK_EVERY)
        return b->launch_ns;
    took = weir_trace_clock_ns(&b->clock) - b->call_ns;
    if (launch) {
        b->launch_ns = took < QUICK_NS ? (uint32_t)took : 0;
        b->told = 0;
    }
    return took;
}

static void put_call(struct weir_trace_buffer *b, uint32_t name, uint64_t took, int err)
{
    unsigned char *p = weir_trace_begin(b, WEIR_TRACE_CALL);

    p = weir_trace_put_u(p, name);
    p = weir_trace_put_time(b, p, b->call_ns);
    p = weir_trace_put_span(p, took);
    p = weir_trace_put_u(p, b->call_site);
    p = weir_trace_put_u(p, (uint32_t)err);
    if (b->call_slot) {
        struct weir_trace_shape *shape = &b->shapes[b->call_slot - 1];

        shape->call_name = name;
        shape->call_site = b->call_site;
        b->call_slot = 0;
    }
    b->call_ns = 0;
    weir_trace_close(b, p);
}

/* The call and its kernel in one. */
static void put_launch(struct weir_trace_buffer *b, uint64_t took)
{
    const struct weir_trace_shape *shape = &b->shapes[b->held_slot];
    unsigned char *p = weir_trace_begin(b, WEIR_TRACE_LAUNCH);

    *p++ = b->held_slot;
    p = weir_trace_put_time(b, p, b->call_ns);
    p = weir_trace_put_span(p, took);
    b->launched[shape->stream % WEIR_TRACE_STREAM_SLOTS]++;
    b->call_ns = 0;
    weir_trace_let_go(b);
    weir_trace_close(b, p);
}

void weir_trace_leave(const char *name, _Atomic uint32_t *name_id, int err)
{
    struct weir_trace_buffer *b = weir_trace_open_held();
    uint64_t took;
    uint32_t id;

    if (b) {
        took = call_took(b);
        if (WEIR_LIKELY(!err && b->shapes[b->held_slot].call_name ==
                                    atomic_load_explicit(name_id, memory_order_relaxed))) {
            put_launch(b, took);
            return;
        }
        b->busy = false;
    }
    b = weir_trace_open();
    if (!b)
        return;
    took = b->call_ns ? call_took(b) : 0;
    id = named(b, name, name_id);
    if (!b->call_ns || !b->chunk) { /* turned on inside the call, or turned off */
        b->busy = false;
        return;
    }
    put_call(b, id, took, err);
}

/* ---- devices, streams, events, memory ---- */

void weir_trace_device(int context, int device, const char *name, int sms, int slots,
                       uint64_t window_base)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;
    uint32_t id;

    if (!b)
        return;
    id = weir_trace_string(b, name, strlen(name));
    if (!b->chunk) {
        b->busy = false;
        return;
    }
    p = weir_trace_begin(b, WEIR_TRACE_DEVICE);
    p = weir_trace_put_u(p, (uint64_t)context);
    p = weir_trace_put_u(p, (uint64_t)device);
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_u(p, (uint64_t)sms);
    p = weir_trace_put_u(p, (uint64_t)slots);
    p = weir_trace_put_u(p, window_base);
    weir_trace_close(b, p);
}

void weir_trace_stream(uint64_t id, int context, int device, int cls, int priority,
                       const struct weir_trace_id *parent)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_STREAM);
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_u(p, (uint64_t)context);
    p = weir_trace_put_u(p, (uint64_t)device);
    p = weir_trace_put_u(p, (uint64_t)cls);
    p = weir_trace_put_s(p, priority);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    if (parent) {
        p = weir_trace_put_u(p, parent->stream);
        p = weir_trace_put_u(p, parent->seq);
    }
    weir_trace_close(b, p);
}

void weir_trace_stream_end(uint64_t id)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_STREAM_END);
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    weir_trace_close(b, p);
}

/* Most records are nothing but numbers. */
static void put_numbers(enum weir_trace_record type, const uint64_t *v, size_t count)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, type);
    for (size_t i = 0; i < count; i++)
        p = weir_trace_put_u(p, v[i]);
    weir_trace_close(b, p);
}

void weir_trace_event(uint64_t id, uint32_t flags)
{
    put_numbers(WEIR_TRACE_EVENT, (uint64_t[]){id, flags}, 2);
}

void weir_trace_event_end(uint64_t id)
{
    put_numbers(WEIR_TRACE_EVENT_END, &id, 1);
}

void weir_trace_event_record(uint64_t id, uint64_t stream, uint64_t seq, uint32_t flags)
{
    put_numbers(WEIR_TRACE_EVENT_RECORD, (uint64_t[]){id, stream, seq, flags}, 4);
}

void weir_trace_event_wait(uint64_t id, uint64_t in_stream, uint64_t stream, uint64_t seq)
{
    put_numbers(WEIR_TRACE_EVENT_WAIT, (uint64_t[]){id, in_stream, stream, seq}, 4);
}

void weir_trace_elapsed(uint64_t from, uint64_t to)
{
    put_numbers(WEIR_TRACE_ELAPSED, (uint64_t[]){from, to}, 2);
}

void weir_trace_query(enum weir_trace_queried what, uint64_t id, bool ready)
{
    put_numbers(WEIR_TRACE_QUERY, (uint64_t[]){(uint64_t)what, id, ready}, 3);
}

void weir_trace_peer(int device, int peer, bool on)
{
    put_numbers(WEIR_TRACE_PEER, (uint64_t[]){(uint64_t)device, (uint64_t)peer, on}, 3);
}

/* A text that stands in no other record is written each time; b is closed when it returns false. */
static bool put_text(struct weir_trace_buffer *b, const char *text, uint32_t *id)
{
    *id = text[0] ? weir_trace_string(b, text, strlen(text)) : 0;
    if (b->chunk)
        return true;
    b->busy = false;
    return false;
}

void weir_trace_process(const char *program, uint64_t memory_bytes, uint32_t processors)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;
    uint32_t id;

    if (!b || !put_text(b, program, &id))
        return;
    p = weir_trace_begin(b, WEIR_TRACE_PROCESS);
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_u(p, memory_bytes);
    p = weir_trace_put_u(p, processors);
    weir_trace_close(b, p);
}

void weir_trace_environment(const char *setting)
{
    struct weir_trace_buffer *b = weir_trace_open();
    uint32_t id;

    if (b && put_text(b, setting, &id))
        weir_trace_close(b, weir_trace_put_u(weir_trace_begin(b, WEIR_TRACE_ENVIRONMENT), id));
}

void weir_trace_load(enum weir_trace_loaded what, const char *name, uint64_t begin_ns,
                     uint64_t end_ns)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;
    uint32_t id;

    if (!b || !put_text(b, name, &id))
        return;
    p = weir_trace_begin(b, WEIR_TRACE_LOAD);
    *p++ = (unsigned char)what;
    p = weir_trace_put_u(p, id);
    p = weir_trace_put_time(b, p, begin_ns);
    p = weir_trace_put_u(p, end_ns > begin_ns ? end_ns - begin_ns : 0);
    weir_trace_close(b, p);
}

void weir_trace_host_write(const void *address, size_t bytes)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_HOST_WRITE);
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)address);
    p = weir_trace_put_u(p, bytes);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    weir_trace_close(b, p);
}

_Atomic bool weir_trace_has_managed;

void weir_trace_alloc(int kind, int device, const void *address, size_t bytes)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (kind == KIND_MANAGED)
        atomic_store_explicit(&weir_trace_has_managed, true, memory_order_relaxed);
    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_ALLOC);
    p = weir_trace_put_u(p, (uint64_t)kind);
    p = weir_trace_put_u(p, (uint64_t)device);
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)address);
    p = weir_trace_put_u(p, bytes);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    weir_trace_close(b, p);
}

void weir_trace_free(const void *address)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_FREE);
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)address);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    weir_trace_close(b, p);
}

/* ---- operations ---- */

/* The time is the call's: an operation is submitted inside one, and the few nanoseconds between are
 * worth less than a look at the clock. */
static uint64_t submitted_ns(struct weir_trace_buffer *b)
{
    return b->call_ns ? b->call_ns : weir_trace_clock_ns(&b->clock);
}

static unsigned char *put_op(struct weir_trace_buffer *b, unsigned char *p,
                             const struct weir_trace_id *id)
{
    size_t count = WEIR_MIN(id->edge_count, EDGES_MAX);

    p = weir_trace_put_u(p, id->stream);
    p = weir_trace_put_u(p, id->seq);
    p = weir_trace_put_time(b, p, submitted_ns(b));
    *p++ = (unsigned char)count;
    for (size_t i = 0; i < count; i++) {
        p = weir_trace_put_u(p, id->edges[i].stream);
        p = weir_trace_put_u(p, id->edges[i].seq);
        p = weir_trace_put_u(p, id->edges[i].rule << 1 | id->edges[i].strength);
    }
    return p;
}

static unsigned char *put_pointers(struct weir_trace_buffer *b, unsigned char *p,
                                   const uint64_t *pointers, size_t count)
{
    count = WEIR_MIN(count, WEIR_TRACE_POINTERS);
    *p++ = (unsigned char)count;
    for (size_t i = 0; i < count; i++)
        p = weir_trace_put_address(b, p, pointers[i]);
    return p;
}

/* In the words that they were just written in: wider loads would wait for these stores. */
static bool is_extent(const uint32_t *a, const uint32_t *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool is_like(const struct weir_trace_shape *s, const struct weir_trace_kernel *k,
                    uint32_t name, size_t pointer_count)
{
    if (!name || s->name != name || !is_extent(s->grid, k->grid) ||
        !is_extent(s->block, k->block) || s->shared_bytes != k->shared_bytes ||
        s->pointer_count != pointer_count)
        return false;
    for (size_t i = 0; i < pointer_count; i++) {
        if (s->pointers[i] != k->pointers[i])
            return false;
    }
    return true;
}

static void keep_shape(struct weir_trace_shape *s, const struct weir_trace_kernel *k, uint32_t name,
                       uint64_t stream, size_t pointer_count)
{
    s->name = name;
    s->call_name = 0;
    s->stream = stream;
    memcpy(s->grid, k->grid, sizeof s->grid);
    memcpy(s->block, k->block, sizeof s->block);
    s->shared_bytes = k->shared_bytes;
    s->pointer_count = (uint32_t)pointer_count;
    for (size_t i = 0; i < pointer_count; i++) /* NULL where there are none */
        s->pointers[i] = k->pointers[i];
}

/* As the last in this slot, in no order but its stream's: most of a program's. b stays open. */
static void put_again(struct weir_trace_buffer *b, uint64_t stream, uint64_t seq, size_t slot)
{
    unsigned char *p = weir_trace_begin(b, WEIR_TRACE_AGAIN);
    uint64_t *last = &b->launched[stream % WEIR_TRACE_STREAM_SLOTS];

    *p++ = (unsigned char)slot;
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_s(p, (int64_t)(seq - *last));
    *last = seq;
    b->shapes[slot].stream = stream;
    b->call_slot = (uint32_t)slot + 1;
    p = weir_trace_put_time(b, p, submitted_ns(b));
    weir_trace_close(b, p);
}

void weir_trace_put_held(struct weir_trace_buffer *b)
{
    const uint64_t stream = b->shapes[b->held_slot].stream;

    b->held = false;
    put_again(b, stream, b->launched[stream % WEIR_TRACE_STREAM_SLOTS] + 1, b->held_slot);
    b->busy = true;
}

/* Nothing of this call has been written, and what the record LAUNCH leaves out is as it was. */
static bool may_hold(const struct weir_trace_buffer *b, const struct weir_trace_id *id,
                     const struct weir_trace_shape *s)
{
    return b->call_ns && b->pos == b->call_pos && s->stream == id->stream && s->call_name &&
           s->call_site == b->call_site && !weir_trace_at_once &&
           id->seq == b->launched[id->stream % WEIR_TRACE_STREAM_SLOTS] + 1;
}

static void put_like(struct weir_trace_buffer *b, const struct weir_trace_id *id, size_t slot)
{
    const bool first = b->pos == b->call_pos;

    if (WEIR_LIKELY(may_hold(b, id, &b->shapes[slot]))) {
        weir_trace_hold(b, slot);
        return;
    }
    put_again(b, id->stream, id->seq, slot);
    b->launch_end = first ? b->pos : 0;
}

void weir_trace_op_kernel(const struct weir_trace_id *id, const struct weir_trace_kernel *k)
{
    const size_t pointer_count = WEIR_MIN(k->pointer_count, (size_t)WEIR_TRACE_POINTERS);
    struct weir_trace_buffer *b = weir_trace_open();
    struct weir_trace_shape *shape;
    unsigned char *p;
    uint32_t name;
    size_t slot;

    if (!b)
        return;
    if (b->launch_site) {
        b->call_site = b->launch_site;
        b->launch_site = 0;
    }
    name = named(b, k->name, k->name_id);
    if (!b->chunk) {
        b->busy = false;
        return;
    }
    slot = WEIR_TRACE_KERNEL_SLOT(name, id->stream);
    shape = &b->shapes[slot];
    if (!id->edge_count && is_like(shape, k, name, pointer_count)) {
        put_like(b, id, slot);
        return;
    }
    keep_shape(shape, k, name, id->stream, pointer_count);
    b->launched[id->stream % WEIR_TRACE_STREAM_SLOTS] = id->seq;
    b->call_slot = (uint32_t)slot + 1;
    p = put_op(b, weir_trace_begin(b, WEIR_TRACE_KERNEL), id);
    p = weir_trace_put_u(p, name);
    for (int i = 0; i < 3; i++)
        p = weir_trace_put_u(p, k->grid[i]);
    for (int i = 0; i < 3; i++)
        p = weir_trace_put_u(p, k->block[i]);
    p = weir_trace_put_u(p, k->shared_bytes);
    weir_trace_close(b, put_pointers(b, p, k->pointers, k->pointer_count));
}

void weir_trace_op_copy(const struct weir_trace_id *id, const struct weir_trace_copy *c)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = put_op(b, weir_trace_begin(b, WEIR_TRACE_COPY), id);
    *p++ = (unsigned char)(c->engine | (c->staged ? 0x80 : 0));
    *p++ = (unsigned char)(c->src_class | c->dst_class << 4);
    p = weir_trace_put_u(p, c->bytes);
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)c->src);
    p = weir_trace_put_s(p, (int64_t)(c->src_span - c->bytes));
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)c->dst);
    p = weir_trace_put_s(p, (int64_t)(c->dst_span - c->bytes));
    weir_trace_close(b, p);
}

void weir_trace_op_memset(const struct weir_trace_id *id, const void *dst, uint64_t bytes,
                          uint64_t span)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = put_op(b, weir_trace_begin(b, WEIR_TRACE_MEMSET), id);
    p = weir_trace_put_u(p, bytes);
    p = weir_trace_put_address(b, p, (uint64_t)(uintptr_t)dst);
    p = weir_trace_put_s(p, (int64_t)(span - bytes));
    weir_trace_close(b, p);
}

void weir_trace_op_other(const struct weir_trace_id *id, int kind)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = put_op(b, weir_trace_begin(b, WEIR_TRACE_OTHER), id);
    *p++ = (unsigned char)kind;
    weir_trace_close(b, p);
}

/* A kernel, and all is well; most begin when the one before them in their stream ended. */
static void put_ran(struct weir_trace_buffer *b, uint64_t stream, uint64_t seq, uint64_t start_ns,
                    uint64_t end_ns)
{
    uint64_t *last = &b->ran[stream % WEIR_TRACE_STREAM_SLOTS];
    unsigned char *p;

    if (b->has_ran && b->ran_stream == stream && *last + 1 == seq && b->last_ns == start_ns) {
        p = weir_trace_begin(b, WEIR_TRACE_RAN_NEXT);
    } else {
        p = weir_trace_begin(b, WEIR_TRACE_RAN);
        p = weir_trace_put_u(p, stream);
        p = weir_trace_put_s(p, (int64_t)(seq - *last));
        p = weir_trace_put_time(b, p, start_ns);
        b->ran_stream = stream;
        b->has_ran = true;
    }
    *last = seq;
    p = weir_trace_put_span(p, end_ns - start_ns);
    b->last_ns = end_ns;
    weir_trace_close(b, p);
}

void weir_trace_done(uint64_t stream, uint64_t seq, uint64_t start_ns, uint64_t end_ns, int engine,
                     int status)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    if (WEIR_LIKELY(engine == ENGINE_KERNELS && !status)) {
        put_ran(b, stream, seq, start_ns, WEIR_MAX(start_ns, end_ns));
        return;
    }
    p = weir_trace_begin(b, WEIR_TRACE_DONE);
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_u(p, seq);
    p = weir_trace_put_time(b, p, start_ns);
    p = weir_trace_put_u(p, end_ns > start_ns ? end_ns - start_ns : 0);
    *p++ = (unsigned char)engine;
    p = weir_trace_put_u(p, (uint32_t)status);
    weir_trace_close(b, p);
}

void weir_trace_work(uint64_t stream, uint64_t seq, uint64_t instructions, uint64_t bytes)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_WORK);
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_u(p, seq);
    p = weir_trace_put_u(p, instructions);
    p = weir_trace_put_u(p, bytes);
    weir_trace_close(b, p);
}

void weir_trace_touched(uint64_t stream, uint64_t seq, const struct weir_trace_touched *t,
                        size_t count)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_TOUCHED);
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_u(p, seq);
    *p++ = (unsigned char)count;
    for (size_t i = 0; i < count; i++) {
        p = weir_trace_put_address(b, p, t[i].address);
        p = weir_trace_put_u(p, t[i].bytes << 1 | t[i].writes);
    }
    weir_trace_close(b, p);
}

void weir_trace_graph_node(uint64_t stream, uint64_t seq, const struct weir_trace_node *n)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;
    uint32_t name;

    if (!b)
        return;
    name = n->name ? named(b, n->name, n->name_id) : 0;
    if (!b->chunk) {
        b->busy = false;
        return;
    }
    p = weir_trace_begin(b, WEIR_TRACE_NODE);
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_u(p, seq);
    *p++ = (unsigned char)(n->engine | (n->memset ? 0x80 : 0) | (n->allocates ? 0x40 : 0) |
                           (n->frees ? 0x20 : 0) | (n->number ? WEIR_TRACE_NODE_NUMBERED : 0));
    *p++ = (unsigned char)(n->src_class | n->dst_class << 4);
    p = weir_trace_put_u(p, name);
    p = weir_trace_put_u(p, n->bytes);
    p = weir_trace_put_u(p, n->blocks);
    p = weir_trace_put_u(p, n->threads);
    p = weir_trace_put_time(b, p, n->start_ns);
    p = weir_trace_put_u(p, n->end_ns > n->start_ns ? n->end_ns - n->start_ns : 0);
    if (n->number)
        p = weir_trace_put_u(p, n->number - 1);
    if (n->instructions) {
        p = weir_trace_put_u(p, n->instructions);
        p = weir_trace_put_u(p, n->requested);
        p = put_pointers(b, p, n->pointers, n->pointer_count);
    }
    weir_trace_close(b, p);
}

/* Another record of the same node for more of those behind it. */
static void put_instance_node(const struct weir_trace_instance_node *n, size_t from, size_t to)
{
    const size_t places = from ? 0 : WEIR_MIN(n->place_count, (size_t)WEIR_TRACE_POINTERS);
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_INSTANCE_NODE);
    p = weir_trace_put_u(p, n->instance);
    p = weir_trace_put_u(p, n->number);
    *p++ = (unsigned char)n->what;
    *p++ = (unsigned char)places;
    for (size_t i = 0; i < places; i++) {
        p = weir_trace_put_address(b, p, n->places[i].address);
        p = weir_trace_put_u(p, n->places[i].bytes << 1 | n->places[i].writes);
    }
    *p++ = (unsigned char)(to - from);
    for (size_t i = from; i < to; i++)
        p = weir_trace_put_u(p, n->next[i] & n->mask);
    weir_trace_close(b, p);
}

void weir_trace_instance_node(const struct weir_trace_instance_node *n)
{
    size_t from = 0;

    do {
        size_t to = WEIR_MIN(from + NEXT_MAX, n->next_count);

        put_instance_node(n, from, to);
        from = to;
    } while (from < n->next_count);
}

void weir_trace_instance(uint64_t stream, uint64_t seq, uint32_t instance)
{
    put_numbers(WEIR_TRACE_INSTANCE, (uint64_t[]){stream, seq, instance}, 3);
}

/* ---- the host ---- */

void weir_trace_sync(enum weir_trace_sync what, uint64_t id, uint64_t seq)
{
    put_numbers(WEIR_TRACE_SYNC, (uint64_t[]){(uint64_t)what, id, seq}, 3);
}

void weir_trace_waited(uint64_t stream, uint64_t seq, uint64_t begin_ns, uint64_t end_ns)
{
    struct weir_trace_buffer *b = weir_trace_open();
    unsigned char *p;

    if (!b)
        return;
    p = weir_trace_begin(b, WEIR_TRACE_WAITED);
    p = weir_trace_put_u(p, stream);
    p = weir_trace_put_u(p, seq);
    p = weir_trace_put_time(b, p, begin_ns);
    p = weir_trace_put_u(p, end_ns - begin_ns);
    weir_trace_close(b, p);
}

/* ---- NVTX ---- */

static void put_nvtx(enum weir_trace_record type, struct weir_trace_text domain,
                     struct weir_trace_text text, uint32_t color, uint64_t range)
{
    struct weir_trace_buffer *b = weir_trace_open();
    uint32_t domain_id, text_id;
    unsigned char *p;

    if (!b)
        return;
    domain_id = domain.bytes ? weir_trace_string(b, domain.text, domain.bytes) : 0;
    text_id = b->chunk && text.bytes ? weir_trace_string(b, text.text, text.bytes) : 0;
    if (!b->chunk) {
        b->busy = false;
        return;
    }
    p = weir_trace_begin(b, type);
    p = weir_trace_put_u(p, domain_id);
    p = weir_trace_put_u(p, text_id);
    p = weir_trace_put_u(p, color);
    p = weir_trace_put_u(p, range);
    p = weir_trace_put_time(b, p, weir_clock_ns());
    weir_trace_close(b, p);
}

void weir_trace_nvtx_begin(struct weir_trace_text domain, struct weir_trace_text text,
                           uint32_t color, uint64_t range)
{
    put_nvtx(range ? WEIR_TRACE_NVTX_START : WEIR_TRACE_NVTX_PUSH, domain, text, color, range);
}

void weir_trace_nvtx_end(struct weir_trace_text domain, uint64_t range)
{
    put_nvtx(range ? WEIR_TRACE_NVTX_END : WEIR_TRACE_NVTX_POP, domain,
             (struct weir_trace_text){"", 0}, 0, range);
}

void weir_trace_nvtx_mark(struct weir_trace_text domain, struct weir_trace_text text,
                          uint32_t color)
{
    put_nvtx(WEIR_TRACE_NVTX_MARK, domain, text, color, 0);
}
