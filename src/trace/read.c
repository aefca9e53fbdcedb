/* Reading a trace: header, chunks, records. Everything in the file may be wrong: lengths are
 * checked, ids are looked up, and a record that makes no sense ends its chunk.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format.h"
#include "trace/read_int.h"

/* ---- decoding ---- */

struct cursor {
    const unsigned char *p, *end;
    bool bad;
    uint64_t last_ns, last_address; /* of the chunk, as are the next three */
    uint64_t launched[WEIR_TRACE_STREAM_SLOTS],
        ran[WEIR_TRACE_STREAM_SLOTS]; /* numbers of operations */
    struct {
        uint32_t like;                 /* the last KERNEL: its index in the file's ops + 1 */
        uint32_t call_name, call_site; /* of the last CALL behind one of these; name 0: none */
        uint64_t stream;               /* of the last KERNEL or AGAIN */
    } slots[WEIR_TRACE_KERNEL_SLOTS];
    uint32_t call_slot; /* of the last kernel since the thread's last call + 1 */
    bool has_ran;
    uint64_t ran_stream; /* of the last RAN */
    uint32_t thread;
    uint32_t first_op, first_sync, first_wait, first_record, first_event_wait, first_elapsed,
        first_allocation, first_load, first_query, first_peer,
        first_host_write; /* since the thread's last call */
};

static uint64_t get_u(struct cursor *c)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        if (c->p == c->end)
            break;
        byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = true;
    return 0;
}

static int64_t get_s(struct cursor *c)
{
    uint64_t v = get_u(c);

    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static uint32_t get_u32(struct cursor *c)
{
    uint64_t v = get_u(c);

    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static unsigned get_byte(struct cursor *c)
{
    if (c->p < c->end)
        return *c->p++;
    c->bad = true;
    return 0;
}

static uint64_t get_time(struct cursor *c)
{
    c->last_ns += (uint64_t)get_s(c);
    return c->last_ns;
}

static uint64_t get_address(struct cursor *c)
{
    c->last_address += (uint64_t)get_s(c);
    return c->last_address;
}

/* ---- texts ---- */

const char *weir_trace_keep(struct weir_trace_file *f, char *text)
{
    struct weir_trace_internal *in = f->internal;

    if (!text)
        return NULL;
    if (!weir_vec_reserve_bytes((void **)&in->strings, &in->cap, in->count + 1,
                                sizeof *in->strings)) {
        weir_free(text);
        return NULL;
    }
    in->strings[in->count++] = text;
    return text;
}

const char *weir_trace_text_of(const struct reader *r, uint32_t id)
{
    const char *s = id ? weir_map_get(&r->string_ids, id) : NULL;

    return s ? s : "";
}

static bool map_index(struct reader *r, struct weir_map *m, uint64_t id, size_t index)
{
    if (weir_map_put(m, id, (void *)(uintptr_t)(index + 1)))
        return true;
    r->no_memory = true;
    return false;
}

static void read_string(struct reader *r, struct cursor *c)
{
    uint32_t id = get_u32(c);
    size_t n = (size_t)(c->end - c->p);
    char *text;

    if (c->bad || !id)
        return;
    text = weir_alloc(n + 1);
    if (!text) {
        r->no_memory = true;
        return;
    }
    memcpy(text, c->p, n);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!text[i])
            text[i] = '?';
    }
    if (!weir_trace_keep(r->file, text) || !weir_map_put(&r->string_ids, id, text))
        r->no_memory = true;
}

static void read_site(struct reader *r, struct cursor *c)
{
    uint32_t id = get_u32(c), module = get_u32(c);
    struct weir_trace_site s = {.module = "", .text = "", .address = get_u(c)};

    if (c->bad || !id || !PUSH(r, sites, s))
        return;
    if (!weir_vec_push(&r->site_modules, module))
        r->no_memory = true;
    map_index(r, &r->site_ids, id, r->file->sites_count - 1);
}

/* ---- who ---- */

static void read_thread(struct reader *r, struct cursor *c)
{
    uint32_t tid = get_u32(c);
    struct weir_trace_thread t = {.tid = tid, .name = ""};
    void *known = weir_map_get(&r->thread_ids, (uint64_t)tid + 1);
    char *name;

    if (c->bad)
        return;
    c->first_op = (uint32_t)r->file->ops_count;
    if (known) {
        c->thread = (uint32_t)(uintptr_t)known - 1;
        return;
    }
    name = weir_calloc(1, (size_t)(c->end - c->p) + 1);
    if (name)
        memcpy(name, c->p, (size_t)(c->end - c->p));
    t.name = weir_trace_keep(r->file, name);
    if (!t.name || !weir_vec_push(&r->last_calls, 0))
        r->no_memory = true;
    else if (PUSH(r, threads, t)) {
        c->thread = (uint32_t)(r->file->threads_count - 1);
        map_index(r, &r->thread_ids, (uint64_t)tid + 1, c->thread);
    }
}

static void read_device(struct reader *r, struct cursor *c)
{
    struct weir_trace_device d = {.name = ""};
    uint32_t name;

    d.context = get_u32(c);
    d.device = get_u32(c);
    name = get_u32(c);
    d.sms = get_u32(c);
    d.slots = get_u32(c);
    if (!c->bad && PUSH(r, devices, d) && !weir_vec_push(&r->device_names, name))
        r->no_memory = true;
}

static void read_stream(struct reader *r, struct cursor *c)
{
    struct weir_trace_stream s = {.id = get_u(c)};

    s.context = get_u32(c);
    s.device = get_u32(c);
    s.cls = get_u32(c);
    s.priority = (int32_t)get_s(c);
    s.begin_ns = get_time(c);
    s.parent = WEIR_TRACE_NONE;
    if (!c->bad && c->p < c->end) {
        s.parent_stream = get_u(c);
        s.parent_seq = get_u(c);
    }
    if (!c->bad && s.cls <= WEIR_TRACE_STREAM_NONBLOCKING &&
        !weir_map_get(&r->stream_ids, s.id + 1) && PUSH(r, streams, s))
        map_index(r, &r->stream_ids, s.id + 1, r->file->streams_count - 1);
}

static void read_stream_end(struct reader *r, struct cursor *c)
{
    uintptr_t index = (uintptr_t)weir_map_get(&r->stream_ids, get_u(c) + 1);
    uint64_t ns = get_time(c);

    if (!c->bad && index)
        r->file->streams[index - 1].end_ns = ns;
}

/* ---- operations ---- */

/* What all have in common; false: nothing was added. */
static bool read_op(struct reader *r, struct cursor *c, struct weir_trace_op *op,
                    struct raw_op *raw)
{
    unsigned count;

    *op = (struct weir_trace_op){.engine = WEIR_TRACE_ENGINE_NONE,
                                 .name = "",
                                 .symbol = "",
                                 .graph = WEIR_TRACE_NONE,
                                 .call = WEIR_TRACE_NONE,
                                 .prev = WEIR_TRACE_NONE,
                                 .why_op = WEIR_TRACE_NONE};
    raw->stream = get_u(c);
    op->seq = get_u(c);
    op->submit_ns = get_time(c);
    count = get_byte(c);
    op->dep_first = (uint32_t)r->file->deps_count;
    for (unsigned i = 0; i < count && !c->bad; i++) {
        struct raw_dep rd = {.stream = get_u(c)};
        struct weir_trace_dep d = {.op = WEIR_TRACE_NONE};
        uint32_t rule;

        rd.seq = get_u(c);
        rule = get_u32(c);
        d.rule = (uint16_t)(rule >> 1);
        d.guaranteed = !(rule & 1);
        if (!c->bad && PUSH(r, deps, d) && !weir_vec_push(&r->raw_deps, rd))
            r->no_memory = true;
    }
    op->dep_count = (uint32_t)r->file->deps_count - op->dep_first;
    return !c->bad && !r->no_memory;
}

static void add_op(struct reader *r, struct cursor *c, struct weir_trace_op *op, struct raw_op *raw)
{
    raw->order = (uint32_t)r->file->ops_count;
    if (!c->bad && PUSH(r, ops, *op) && !weir_vec_push(&r->raw_ops, *raw))
        r->no_memory = true;
}

static void get_pointers(struct reader *r, struct cursor *c, uint32_t *first, uint32_t *count)
{
    unsigned pointers = get_byte(c);

    *first = (uint32_t)r->file->pointers_count;
    for (unsigned i = 0; i < pointers && !c->bad; i++) {
        uint64_t address = get_address(c);

        if (!c->bad)
            (void)PUSH(r, pointers, address);
    }
    *count = (uint32_t)r->file->pointers_count - *first;
}

static void read_kernel(struct reader *r, struct cursor *c)
{
    struct weir_trace_op op;
    struct raw_op raw = {0};
    unsigned slot;

    if (!read_op(r, c, &op, &raw))
        return;
    op.kind = WEIR_TRACE_OP_KERNEL;
    op.engine = WEIR_TRACE_ENGINE_KERNEL;
    raw.name = get_u32(c);
    for (int i = 0; i < 3; i++)
        op.u.kernel.grid[i] = get_u32(c);
    for (int i = 0; i < 3; i++)
        op.u.kernel.block[i] = get_u32(c);
    op.u.kernel.shared_bytes = get_u(c);
    get_pointers(r, c, &op.pointer_first, &op.pointer_count);
    add_op(r, c, &op, &raw);
    c->launched[raw.stream % WEIR_TRACE_STREAM_SLOTS] = op.seq;
    slot = (unsigned)WEIR_TRACE_KERNEL_SLOT(raw.name, raw.stream);
    c->slots[slot].like = (uint32_t)r->file->ops_count;
    c->slots[slot].stream = raw.stream;
    c->slots[slot].call_name = 0;
    c->call_slot = slot + 1;
}

/* The next kernel of a stream, like an earlier one of the chunk. */
static void add_like(struct reader *r, struct cursor *c, unsigned slot, uint64_t seq, uint64_t ns)
{
    struct raw_op raw = {.stream = c->slots[slot].stream};
    const struct weir_trace_op *like;
    struct weir_trace_op op;

    c->bad |= !c->slots[slot].like;
    if (c->bad)
        return;
    like = &r->file->ops[c->slots[slot].like - 1];
    op = *like;
    raw.name = r->raw_ops.items[c->slots[slot].like - 1].name;
    op.seq = seq;
    op.submit_ns = ns;
    op.dep_first = (uint32_t)r->file->deps_count;
    op.dep_count = 0;
    op.call = WEIR_TRACE_NONE;
    op.pointer_first = (uint32_t)r->file->pointers_count; /* each has its own */
    for (uint32_t i = 0; i < op.pointer_count; i++) {
        uint64_t address = r->file->pointers[like->pointer_first + i];

        (void)PUSH(r, pointers, address);
    }
    add_op(r, c, &op, &raw);
}

/* A kernel like an earlier one of the chunk but for stream, number and time. */
static void read_again(struct reader *r, struct cursor *c)
{
    unsigned slot = get_byte(c) % WEIR_TRACE_KERNEL_SLOTS;
    uint64_t stream = get_u(c), *seq = &c->launched[stream % WEIR_TRACE_STREAM_SLOTS];

    *seq += (uint64_t)get_s(c);
    c->slots[slot].stream = stream;
    c->call_slot = slot + 1;
    add_like(r, c, slot, *seq, get_time(c));
}

static void read_copy(struct reader *r, struct cursor *c)
{
    struct weir_trace_op op;
    struct raw_op raw = {0};
    unsigned byte;

    if (!read_op(r, c, &op, &raw))
        return;
    op.kind = WEIR_TRACE_OP_COPY;
    byte = get_byte(c);
    op.engine = (uint8_t)WEIR_MIN(byte & 0x7f, (unsigned)WEIR_TRACE_ENGINE_NONE);
    op.u.copy.staged = byte >> 7;
    byte = get_byte(c);
    op.u.copy.src_class = byte & 3;
    op.u.copy.dst_class = byte >> 4 & 3;
    op.bytes = get_u(c);
    op.u.copy.src = get_address(c);
    op.u.copy.src_span = op.bytes + (uint64_t)get_s(c);
    op.u.copy.dst = get_address(c);
    op.u.copy.dst_span = op.bytes + (uint64_t)get_s(c);
    add_op(r, c, &op, &raw);
}

static void read_memset(struct reader *r, struct cursor *c)
{
    struct weir_trace_op op;
    struct raw_op raw = {0};

    if (!read_op(r, c, &op, &raw))
        return;
    op.kind = WEIR_TRACE_OP_MEMSET;
    op.engine = WEIR_TRACE_ENGINE_D2D;
    op.bytes = get_u(c);
    op.u.copy.dst = get_address(c);
    op.u.copy.dst_span = op.bytes + (uint64_t)get_s(c);
    op.u.copy.dst_class = WEIR_TRACE_DEVICE_MEMORY;
    add_op(r, c, &op, &raw);
}

/* The writer's numbers are those of the model (enum weir_op_kind). */
static void read_other(struct reader *r, struct cursor *c)
{
    static const uint8_t kinds[] = {
        WEIR_TRACE_OP_KERNEL, WEIR_TRACE_OP_COPY,   WEIR_TRACE_OP_MEMSET, WEIR_TRACE_OP_HOST,
        WEIR_TRACE_OP_HOST,   WEIR_TRACE_OP_RECORD, WEIR_TRACE_OP_WAIT,   WEIR_TRACE_OP_MARKER,
        WEIR_TRACE_OP_ALLOC,  WEIR_TRACE_OP_FREE,   WEIR_TRACE_OP_GRAPH,
    };
    struct weir_trace_op op;
    struct raw_op raw = {0};
    unsigned kind;

    if (!read_op(r, c, &op, &raw))
        return;
    kind = get_byte(c);
    op.kind = kind < WEIR_ARRAY_SIZE(kinds) ? kinds[kind] : (uint8_t)WEIR_TRACE_OP_MARKER;
    if (op.kind == WEIR_TRACE_OP_HOST)
        op.engine = WEIR_TRACE_ENGINE_HOST;
    add_op(r, c, &op, &raw);
}

static void add_done(struct reader *r, const struct cursor *c, const struct raw_done *d)
{
    if (!c->bad && d->end_ns >= d->start_ns && !weir_vec_push(&r->dones, *d))
        r->no_memory = true;
}

static void read_done(struct reader *r, struct cursor *c)
{
    struct raw_done d = {.stream = get_u(c)};

    d.seq = get_u(c);
    d.start_ns = get_time(c);
    d.end_ns = d.start_ns + get_u(c);
    d.engine = get_byte(c);
    d.status = get_u32(c);
    add_done(r, c, &d);
}

static void read_ran(struct reader *r, struct cursor *c)
{
    struct raw_done d = {.stream = get_u(c), .engine = WEIR_TRACE_ENGINE_KERNEL};
    uint64_t *seq = &c->ran[d.stream % WEIR_TRACE_STREAM_SLOTS];

    c->has_ran = true;
    c->ran_stream = d.stream;
    d.seq = *seq += (uint64_t)get_s(c);
    d.start_ns = get_time(c);
    d.end_ns = c->last_ns += get_u(c);
    add_done(r, c, &d);
}

static void read_ran_next(struct reader *r, struct cursor *c)
{
    struct raw_done d = {.stream = c->ran_stream, .engine = WEIR_TRACE_ENGINE_KERNEL};

    c->bad |= !c->has_ran;
    d.seq = ++c->ran[d.stream % WEIR_TRACE_STREAM_SLOTS];
    d.start_ns = c->last_ns;
    d.end_ns = c->last_ns += get_u(c);
    add_done(r, c, &d);
}

static void read_work(struct reader *r, struct cursor *c)
{
    struct raw_work w = {.stream = get_u(c)};

    w.seq = get_u(c);
    w.instructions = get_u(c);
    w.bytes = get_u(c);
    if (!c->bad && !weir_vec_push(&r->works, w))
        r->no_memory = true;
}

static void read_touched(struct reader *r, struct cursor *c)
{
    struct raw_touched t = {.stream = get_u(c), .first = (uint32_t)r->file->touched_count};
    unsigned count;

    t.seq = get_u(c);
    count = get_byte(c);
    for (unsigned i = 0; i < count && !c->bad; i++) {
        struct weir_trace_touch touch = {.address = get_address(c)};
        uint64_t bytes = get_u(c);

        touch.bytes = bytes >> 1;
        touch.writes = bytes & 1;
        if (!c->bad && touch.bytes && touch.address + touch.bytes > touch.address)
            (void)PUSH(r, touched, touch);
    }
    t.count = (uint32_t)r->file->touched_count - t.first;
    if (!c->bad && !weir_vec_push(&r->touched, t))
        r->no_memory = true;
}

static void read_node(struct reader *r, struct cursor *c)
{
    struct raw_node n = {.stream = get_u(c)};
    unsigned byte, numbered;

    n.seq = get_u(c);
    byte = get_byte(c);
    numbered = byte & WEIR_TRACE_NODE_NUMBERED;
    n.memset = byte >> 7;
    n.allocates = byte >> 6 & 1;
    n.frees = byte >> 5 & 1;
    n.engine = n.allocates || n.frees
                   ? (uint8_t)WEIR_TRACE_ENGINE_NONE
                   : (uint8_t)WEIR_MIN(byte & 0xf, (unsigned)WEIR_TRACE_ENGINE_HOST);
    byte = get_byte(c);
    n.src_class = byte & 3;
    n.dst_class = byte >> 4 & 3;
    n.name = get_u32(c);
    n.bytes = get_u(c);
    n.blocks = get_u(c);
    n.threads = get_u(c);
    n.start_ns = get_time(c);
    n.end_ns = n.start_ns + get_u(c);
    if (numbered)
        n.number = get_u32(c) + 1;
    if (!c->bad && c->p < c->end) {
        n.instructions = get_u(c);
        n.requested = get_u(c);
        get_pointers(r, c, &n.pointer_first, &n.pointer_count);
    }
    if (!c->bad && n.end_ns >= n.start_ns && !weir_vec_push(&r->nodes, n))
        r->no_memory = true;
}

static struct weir_trace_touch *read_places(struct reader *r, struct cursor *c, uint32_t *count)
{
    struct weir_trace_touch *places;

    *count = get_byte(c);
    if (!*count)
        return NULL;
    places = weir_calloc(*count, sizeof *places);
    if (!places || !weir_trace_keep(r->file, (char *)places)) {
        r->no_memory = true;
        return NULL;
    }
    for (uint32_t i = 0; i < *count && !c->bad; i++) {
        uint64_t bytes;

        places[i].address = get_address(c);
        bytes = get_u(c);
        places[i].bytes = bytes >> 1;
        places[i].writes = bytes & 1;
    }
    return places;
}

static void read_instance_node(struct reader *r, struct cursor *c)
{
    struct raw_instance_node n = {.instance = get_u32(c),
                                  .next_first = (uint32_t)r->instance_next.count,
                                  .order = (uint32_t)r->instance_nodes.count};

    n.number = get_u32(c);
    n.what = (uint8_t)get_byte(c);
    n.places = read_places(r, c, &n.place_count);
    n.next_count = get_byte(c);
    for (uint32_t i = 0; i < n.next_count && !c->bad && !r->no_memory; i++) {
        uint32_t next = get_u32(c);

        r->no_memory = !weir_vec_push(&r->instance_next, next);
    }
    if (!c->bad && !r->no_memory && !weir_vec_push(&r->instance_nodes, n))
        r->no_memory = true;
}

static void read_instance(struct reader *r, struct cursor *c)
{
    struct raw_launch l = {.stream = get_u(c)};

    l.seq = get_u(c);
    l.instance = get_u32(c);
    if (!c->bad && !weir_vec_push(&r->launches, l))
        r->no_memory = true;
}

/* ---- the host ---- */

/* The end of a launch may be that of others (docs/trace-format.md); calls of a thread do not
 * overlap. */
static void end_call_before(struct reader *r, uint32_t thread, uint32_t index, uint64_t begin_ns)
{
    uint32_t *last = thread < r->last_calls.count ? &r->last_calls.items[thread] : NULL;

    if (!last)
        return;
    if (*last && r->file->calls[*last - 1].end_ns > begin_ns)
        r->file->calls[*last - 1].end_ns = WEIR_MAX(begin_ns, r->file->calls[*last - 1].begin_ns);
    *last = index + 1;
}

/* A call's records stand before it. */
static void add_call(struct reader *r, struct cursor *c, struct weir_trace_call call, uint32_t name,
                     uint32_t site)
{
    struct weir_trace_file *f = r->file;
    uint32_t index = (uint32_t)f->calls_count;

    call.name = "";
    call.thread = c->thread;
    call.site = WEIR_TRACE_NONE;
    if (c->bad || call.end_ns < call.begin_ns || !PUSH(r, calls, call))
        return;
    if (!weir_vec_push(&r->call_names, name) || !weir_vec_push(&r->call_sites, site))
        r->no_memory = true;
    end_call_before(r, c->thread, index, call.begin_ns);
    for (size_t i = c->first_op; i < f->ops_count; i++)
        f->ops[i].call = index;
    for (size_t i = c->first_sync; i < f->syncs_count; i++)
        f->syncs[i].call = index;
    for (size_t i = c->first_wait; i < f->waits_count; i++)
        f->waits[i].call = index;
    for (size_t i = c->first_record; i < f->records_count; i++)
        f->records[i].call = index;
    for (size_t i = c->first_event_wait; i < f->event_waits_count; i++)
        f->event_waits[i].call = index;
    for (size_t i = c->first_elapsed; i < f->elapsed_count; i++)
        f->elapsed[i].call = index;
    for (size_t i = c->first_allocation; i < f->allocations_count; i++)
        f->allocations[i].call = index;
    for (size_t i = c->first_load; i < f->loads_count; i++)
        f->loads[i].call = index;
    for (size_t i = c->first_query; i < f->queries_count; i++)
        f->queries[i].call = index;
    for (size_t i = c->first_peer; i < f->peers_count; i++)
        f->peers[i].call = index;
    for (size_t i = c->first_host_write; i < f->host_writes_count; i++)
        f->host_writes[i].call = index;
}

static void read_call(struct reader *r, struct cursor *c)
{
    struct weir_trace_call call = {0};
    uint32_t name = get_u32(c), site;

    call.begin_ns = get_time(c);
    call.end_ns = call.begin_ns + get_u(c);
    site = get_u32(c);
    call.err = (int32_t)get_u32(c);
    if (c->call_slot) {
        c->slots[c->call_slot - 1].call_name = name;
        c->slots[c->call_slot - 1].call_site = site;
    }
    add_call(r, c, call, name, site);
}

/* A call that launched a kernel, both as before. */
static void read_launch(struct reader *r, struct cursor *c)
{
    unsigned slot = get_byte(c) % WEIR_TRACE_KERNEL_SLOTS;
    struct weir_trace_call call = {.begin_ns = get_time(c)};
    uint64_t *seq = &c->launched[c->slots[slot].stream % WEIR_TRACE_STREAM_SLOTS];

    call.end_ns = call.begin_ns + get_u(c);
    c->bad |= !c->slots[slot].call_name;
    add_like(r, c, slot, ++*seq, call.begin_ns);
    add_call(r, c, call, c->slots[slot].call_name, c->slots[slot].call_site);
}

/* What comes now belongs to the next call. */
static void new_call(const struct reader *r, struct cursor *c)
{
    const struct weir_trace_file *f = r->file;

    c->first_op = (uint32_t)f->ops_count;
    c->first_sync = (uint32_t)f->syncs_count;
    c->first_wait = (uint32_t)f->waits_count;
    c->first_record = (uint32_t)f->records_count;
    c->first_event_wait = (uint32_t)f->event_waits_count;
    c->first_elapsed = (uint32_t)f->elapsed_count;
    c->first_allocation = (uint32_t)f->allocations_count;
    c->first_load = (uint32_t)f->loads_count;
    c->first_query = (uint32_t)f->queries_count;
    c->first_peer = (uint32_t)f->peers_count;
    c->first_host_write = (uint32_t)f->host_writes_count;
    c->call_slot = 0;
}

static void read_sync(struct reader *r, struct cursor *c)
{
    struct weir_trace_sync_point s = {.stream = WEIR_TRACE_NONE, .call = WEIR_TRACE_NONE};
    uint64_t what = get_u(c), id = get_u(c);

    s.seq = get_u(c);
    if (c->bad || what > WEIR_TRACE_WAITS_OP)
        return;
    s.what = (uint8_t)what;
    s.context = what == WEIR_TRACE_WAITS_DEVICE ? (uint32_t)id : 0;
    if (PUSH(r, syncs, s) && !weir_vec_push(&r->sync_streams, id))
        r->no_memory = true;
}

static void read_waited(struct reader *r, struct cursor *c)
{
    struct raw_wait raw = {.stream = get_u(c)};
    struct weir_trace_wait w = {.thread = c->thread, .call = WEIR_TRACE_NONE};

    raw.seq = get_u(c);
    w.op = WEIR_TRACE_NONE;
    w.begin_ns = get_time(c);
    w.end_ns = w.begin_ns + get_u(c);
    if (!c->bad && w.end_ns >= w.begin_ns && PUSH(r, waits, w) &&
        !weir_vec_push(&r->raw_waits, raw))
        r->no_memory = true;
}

static void read_event_record(struct reader *r, struct cursor *c)
{
    struct weir_trace_event_record e = {.event = get_u(c), .call = WEIR_TRACE_NONE};
    uint64_t stream = get_u(c);

    e.stream = WEIR_TRACE_NONE;
    e.seq = get_u(c);
    e.flags = get_u32(c);
    if (!c->bad && PUSH(r, records, e) && !weir_vec_push(&r->record_streams, stream))
        r->no_memory = true;
}

static void read_event_wait(struct reader *r, struct cursor *c)
{
    struct weir_trace_event_wait e = {.event = get_u(c), .call = WEIR_TRACE_NONE};
    uint64_t in = get_u(c), stream = get_u(c);

    e.in_stream = e.stream = WEIR_TRACE_NONE;
    e.seq = get_u(c);
    if (!c->bad && PUSH(r, event_waits, e) &&
        !(weir_vec_push(&r->wait_streams, in) && weir_vec_push(&r->wait_streams, stream)))
        r->no_memory = true;
}

static void read_elapsed(struct reader *r, struct cursor *c)
{
    struct weir_trace_elapsed e = {.from = get_u(c), .call = WEIR_TRACE_NONE};

    e.to = get_u(c);
    if (!c->bad)
        (void)PUSH(r, elapsed, e);
}

static void read_alloc(struct reader *r, struct cursor *c)
{
    static const uint8_t kinds[] = {WEIR_TRACE_PAGEABLE, WEIR_TRACE_DEVICE_MEMORY,
                                    WEIR_TRACE_PINNED, WEIR_TRACE_PINNED, WEIR_TRACE_MANAGED};
    struct weir_trace_allocation a = {.call = WEIR_TRACE_NONE};
    uint64_t kind = get_u(c);

    a.device = get_u32(c);
    a.address = get_address(c);
    a.bytes = get_u(c);
    a.begin_ns = get_time(c);
    if (c->bad || kind >= WEIR_ARRAY_SIZE(kinds))
        return;
    a.kind = kinds[kind];
    if (PUSH(r, allocations, a))
        map_index(r, &r->live_allocations, a.address + 1, r->file->allocations_count - 1);
}

static void read_free(struct reader *r, struct cursor *c)
{
    uint64_t address = get_address(c), ns = get_time(c);
    uintptr_t index = c->bad ? 0 : (uintptr_t)weir_map_get(&r->live_allocations, address + 1);

    if (index)
        r->file->allocations[index - 1].end_ns = ns;
}

/* ---- the process ---- */

static void read_process(struct reader *r, struct cursor *c)
{
    uint32_t text = get_u32(c);
    uint64_t memory = get_u(c);
    uint32_t processors = get_u32(c);

    if (c->bad)
        return;
    r->program_text = text;
    r->file->memory_bytes = memory;
    r->file->processors = processors;
}

static void read_environment(struct reader *r, struct cursor *c)
{
    uint32_t text = get_u32(c);
    const char *none = "";

    if (!c->bad && PUSH(r, environment, none) && !weir_vec_push(&r->environment_texts, text))
        r->no_memory = true;
}

static void read_load(struct reader *r, struct cursor *c)
{
    struct weir_trace_load l = {.name = "", .thread = c->thread, .call = WEIR_TRACE_NONE};
    uint32_t name;

    l.what = get_byte(c) != WEIR_TRACE_LOADS_MODULE;
    name = get_u32(c);
    l.begin_ns = get_time(c);
    l.end_ns = l.begin_ns + get_u(c);
    if (!c->bad && l.end_ns >= l.begin_ns && PUSH(r, loads, l) &&
        !weir_vec_push(&r->load_names, name))
        r->no_memory = true;
}

static void read_query(struct reader *r, struct cursor *c)
{
    struct weir_trace_query q = {.call = WEIR_TRACE_NONE};

    q.what = get_u(c) != WEIR_TRACE_QUERIES_STREAM;
    q.id = get_u(c);
    q.ready = get_u(c) != 0;
    if (!c->bad)
        (void)PUSH(r, queries, q);
}

static void read_peer(struct reader *r, struct cursor *c)
{
    struct weir_trace_peer p = {.device = get_u32(c), .call = WEIR_TRACE_NONE};

    p.peer = get_u32(c);
    p.on = get_u(c) != 0;
    if (!c->bad)
        (void)PUSH(r, peers, p);
}

static void read_host_write(struct reader *r, struct cursor *c)
{
    struct weir_trace_host_write w = {.address = get_address(c), .call = WEIR_TRACE_NONE};

    w.bytes = get_u(c);
    w.ns = get_time(c);
    if (!c->bad)
        (void)PUSH(r, host_writes, w);
}

/* ---- NVTX ---- */

static void read_range_begin(struct reader *r, struct cursor *c, bool mark, bool pushed)
{
    uint32_t domain = get_u32(c), text = get_u32(c);
    struct weir_trace_range g = {.domain = "", .text = "", .thread = c->thread, .pushed = pushed};
    struct open_range open = {.domain = domain, .thread = c->thread};

    g.color = get_u32(c);
    open.range = get_u(c);
    g.begin_ns = get_time(c);
    g.end_ns = mark ? g.begin_ns : 0;
    if (pushed) {
        for (size_t i = 0; i < r->open_ranges.count; i++)
            g.depth +=
                r->open_ranges.items[i].thread == c->thread && !r->open_ranges.items[i].range;
    }
    open.index = (uint32_t)r->file->ranges_count;
    if (c->bad || !PUSH(r, ranges, g))
        return;
    if (!weir_vec_push(&r->range_names, domain) || !weir_vec_push(&r->range_names, text) ||
        (!mark && !weir_vec_push(&r->open_ranges, open)))
        r->no_memory = true;
}

static void read_range_end(struct reader *r, struct cursor *c, bool pushed)
{
    uint32_t domain = get_u32(c);
    uint64_t range, ns;

    get_u(c);
    get_u(c);
    range = get_u(c);
    ns = get_time(c);
    for (size_t i = r->open_ranges.count; !c->bad && i-- > 0;) {
        struct open_range *o = &r->open_ranges.items[i];

        if (pushed ? o->range || o->thread != c->thread || o->domain != domain : o->range != range)
            continue;
        r->file->ranges[o->index].end_ns = ns;
        memmove(o, o + 1, (--r->open_ranges.count - i) * sizeof *o);
        break;
    }
}

/* ---- records and chunks ---- */

static void read_record(struct reader *r, unsigned type, struct cursor *c)
{
    switch (type) {
    case WEIR_TRACE_THREAD:
        read_thread(r, c);
        new_call(r, c);
        break;
    case WEIR_TRACE_STRING:
        read_string(r, c);
        break;
    case WEIR_TRACE_SITE:
        read_site(r, c);
        break;
    case WEIR_TRACE_CALL:
        read_call(r, c);
        new_call(r, c);
        break;
    case WEIR_TRACE_LAUNCH:
        read_launch(r, c);
        new_call(r, c);
        break;
    case WEIR_TRACE_DEVICE:
        read_device(r, c);
        break;
    case WEIR_TRACE_STREAM:
        read_stream(r, c);
        break;
    case WEIR_TRACE_STREAM_END:
        read_stream_end(r, c);
        break;
    case WEIR_TRACE_KERNEL:
        read_kernel(r, c);
        break;
    case WEIR_TRACE_AGAIN:
        read_again(r, c);
        break;
    case WEIR_TRACE_RAN:
        read_ran(r, c);
        break;
    case WEIR_TRACE_RAN_NEXT:
        read_ran_next(r, c);
        break;
    case WEIR_TRACE_COPY:
        read_copy(r, c);
        break;
    case WEIR_TRACE_MEMSET:
        read_memset(r, c);
        break;
    case WEIR_TRACE_OTHER:
        read_other(r, c);
        break;
    case WEIR_TRACE_DONE:
        read_done(r, c);
        break;
    case WEIR_TRACE_WORK:
        read_work(r, c);
        break;
    case WEIR_TRACE_TOUCHED:
        read_touched(r, c);
        break;
    case WEIR_TRACE_NODE:
        read_node(r, c);
        break;
    case WEIR_TRACE_INSTANCE_NODE:
        read_instance_node(r, c);
        break;
    case WEIR_TRACE_INSTANCE:
        read_instance(r, c);
        break;
    case WEIR_TRACE_EVENT_RECORD:
        read_event_record(r, c);
        break;
    case WEIR_TRACE_EVENT_WAIT:
        read_event_wait(r, c);
        break;
    case WEIR_TRACE_ELAPSED:
        read_elapsed(r, c);
        break;
    case WEIR_TRACE_SYNC:
        read_sync(r, c);
        break;
    case WEIR_TRACE_WAITED:
        read_waited(r, c);
        break;
    case WEIR_TRACE_ALLOC:
        read_alloc(r, c);
        break;
    case WEIR_TRACE_FREE:
        read_free(r, c);
        break;
    case WEIR_TRACE_NVTX_PUSH:
        read_range_begin(r, c, false, true);
        break;
    case WEIR_TRACE_NVTX_START:
        read_range_begin(r, c, false, false);
        break;
    case WEIR_TRACE_NVTX_MARK:
        read_range_begin(r, c, true, false);
        break;
    case WEIR_TRACE_NVTX_POP:
        read_range_end(r, c, true);
        break;
    case WEIR_TRACE_NVTX_END:
        read_range_end(r, c, false);
        break;
    case WEIR_TRACE_PROCESS:
        read_process(r, c);
        break;
    case WEIR_TRACE_ENVIRONMENT:
        read_environment(r, c);
        break;
    case WEIR_TRACE_LOAD:
        read_load(r, c);
        break;
    case WEIR_TRACE_QUERY:
        read_query(r, c);
        break;
    case WEIR_TRACE_PEER:
        read_peer(r, c);
        break;
    case WEIR_TRACE_HOST_WRITE:
        read_host_write(r, c);
        break;
    case WEIR_TRACE_LOST:
        r->file->lost += get_u(c);
        break;
    default:
        break; /* of a later version, or not needed: EVENT, EVENT_END */
    }
}

static uint64_t checksum(const struct reader *r, const unsigned char *data, size_t bytes)
{
    return r->file->version < 3 ? weir_hash_bytes(data, bytes, 1) : weir_hash_lanes(data, bytes, 1);
}

static void read_chunk(struct reader *r, const unsigned char *chunk, size_t bytes)
{
    struct weir_trace_chunk_header h;
    struct cursor all = {0};
    size_t used;

    if (bytes < sizeof h)
        return;
    memcpy(&h, chunk, sizeof h);
    if (h.magic != WEIR_TRACE_CHUNK_MAGIC) {
        r->file->damaged_chunks += h.magic != 0;
        return;
    }
    used = WEIR_MIN((size_t)h.used, bytes - sizeof h);
    if (used != h.used || h.state > WEIR_TRACE_CHUNK_SEALED ||
        (h.state == WEIR_TRACE_CHUNK_SEALED && checksum(r, chunk + sizeof h, used) != h.checksum))
        r->file->damaged_chunks++;
    all.p = chunk + sizeof h;
    all.end = all.p + used;
    all.last_ns = h.base_ns;
    r->file->record_bytes += used;
    new_call(r, &all);
    while (all.p < all.end && !r->no_memory) {
        unsigned type = get_byte(&all);
        uint64_t length = get_u(&all);
        const unsigned char *next, *end = all.end;

        if (all.bad || length > (size_t)(end - all.p)) {
            r->file->damaged_chunks++;
            return;
        }
        next = all.p + length;
        all.end = next;
        read_record(r, type, &all);
        if (all.bad) {
            r->file->damaged_chunks++;
            return;
        }
        all.p = next;
        all.end = end;
    }
}

/* ---- files ---- */

static void finish(struct reader *r)
{
    weir_map_finish(&r->string_ids);
    weir_map_finish(&r->site_ids);
    weir_map_finish(&r->stream_ids);
    weir_map_finish(&r->thread_ids);
    weir_map_finish(&r->live_allocations);
    weir_vec_finish(&r->strings);
    weir_vec_finish(&r->raw_ops);
    weir_vec_finish(&r->raw_deps);
    weir_vec_finish(&r->dones);
    weir_vec_finish(&r->works);
    weir_vec_finish(&r->touched);
    weir_vec_finish(&r->nodes);
    weir_vec_finish(&r->instance_nodes);
    weir_vec_finish(&r->instance_next);
    weir_vec_finish(&r->launches);
    weir_vec_finish(&r->raw_waits);
    weir_vec_finish(&r->sync_streams);
    weir_vec_finish(&r->wait_streams);
    weir_vec_finish(&r->record_streams);
    weir_vec_finish(&r->site_modules);
    weir_vec_finish(&r->range_names);
    weir_vec_finish(&r->call_names);
    weir_vec_finish(&r->call_sites);
    weir_vec_finish(&r->device_names);
    weir_vec_finish(&r->load_names);
    weir_vec_finish(&r->environment_texts);
    weir_vec_finish(&r->open_ranges);
    weir_vec_finish(&r->last_calls);
}

void weir_trace_file_free(struct weir_trace_file *f)
{
    struct weir_trace_internal *in;

    if (!f)
        return;
    in = f->internal;
    for (size_t i = 0; in && i < in->count; i++)
        weir_free(in->strings[i]);
    if (in)
        weir_free(in->strings);
    weir_free(in);
    weir_free(f->threads);
    weir_free(f->sites);
    weir_free(f->devices);
    weir_free(f->streams);
    weir_free(f->ops);
    weir_free(f->stream_ops);
    weir_free(f->call_ops);
    weir_free(f->deps);
    weir_free(f->pointers);
    weir_free(f->touched);
    weir_free(f->calls);
    weir_free(f->syncs);
    weir_free(f->waits);
    weir_free(f->records);
    weir_free(f->event_waits);
    weir_free(f->elapsed);
    weir_free(f->allocations);
    weir_free(f->ranges);
    weir_free(f->environment);
    weir_free(f->loads);
    weir_free(f->queries);
    weir_free(f->peers);
    weir_free(f->host_writes);
    weir_free(f);
}

static const char *check_header(const struct weir_trace_file_header *h, size_t bytes)
{
    if (bytes < sizeof *h || memcmp(h->magic, WEIR_TRACE_MAGIC, sizeof h->magic) != 0)
        return "not a trace";
    if (h->version < WEIR_TRACE_OLDEST || h->version > WEIR_TRACE_VERSION)
        return "a trace of another version";
    if (h->header_bytes < sizeof *h || h->chunk_bytes < 4096 || h->chunk_bytes > 1u << 30)
        return "a damaged trace";
    return NULL;
}

struct weir_trace_file *weir_trace_file_parse(const void *data, size_t bytes, const char **message)
{
    struct weir_trace_file_header h = {0};
    struct reader r = {0};
    bool ok;

    memcpy(&h, data, WEIR_MIN(bytes, sizeof h));
    *message = check_header(&h, bytes);
    if (*message)
        return NULL;
    *message = "out of memory";
    r.file = weir_calloc(1, sizeof *r.file);
    if (!r.file)
        return NULL;
    r.file->internal = weir_calloc(1, sizeof(struct weir_trace_internal));
    r.file->version = h.version;
    r.file->program = "";
    r.file->pid = h.pid;
    r.file->start_ns = h.start_ns;
    r.file->wall_ns = h.wall_ns;
    r.no_memory = !r.file->internal;
    for (size_t at = h.header_bytes; at < bytes && !r.no_memory; at += h.chunk_bytes)
        read_chunk(&r, (const unsigned char *)data + at,
                   WEIR_MIN(bytes - at, (size_t)h.chunk_bytes));
    ok = !r.no_memory && weir_trace_link(&r);
    finish(&r);
    if (ok)
        return r.file;
    weir_trace_file_free(r.file);
    return NULL;
}

struct weir_trace_file *weir_trace_file_read(const char *path, const char **message)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct weir_trace_file *f;
    struct stat st;
    void *p;

    *message = "cannot be read";
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        *message = "not a trace";
        return NULL;
    }
    /* Private: a program that still writes does not change what is being read. */
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return NULL;
    f = weir_trace_file_parse(p, (size_t)st.st_size, message);
    munmap(p, (size_t)st.st_size);
    return f;
}
