/* Perfetto's protobuf format: packets with track descriptors and track events. The field numbers
 * are those of Perfetto's trace definitions as published.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "view/arrows.h"
#include "view/view.h"

/* A message while it is made; what does not fit is left out (names are cut before). */
struct message {
    unsigned char data[2048];
    size_t n;
};

static void put_varint(struct message *m, uint64_t v)
{
    while (m->n < sizeof m->data) {
        m->data[m->n++] = (unsigned char)(v < 0x80 ? v : v | 0x80);
        if (v < 0x80)
            return;
        v >>= 7;
    }
}

static void put_number(struct message *m, unsigned field, uint64_t v)
{
    put_varint(m, field << 3);
    put_varint(m, v);
}

static void put_fixed(struct message *m, unsigned field, uint64_t v)
{
    put_varint(m, field << 3 | 1);
    if (m->n + 8 <= sizeof m->data) {
        memcpy(m->data + m->n, &v, 8);
        m->n += 8;
    }
}

static void put_bytes(struct message *m, unsigned field, const void *p, size_t bytes)
{
    if (m->n + bytes + 16 > sizeof m->data)
        return;
    put_varint(m, field << 3 | 2);
    put_varint(m, bytes);
    memcpy(m->data + m->n, p, bytes);
    m->n += bytes;
}

static void put_string(struct message *m, unsigned field, const char *s)
{
    put_bytes(m, field, s, strnlen(s, 400));
}

static void put_message(struct message *m, unsigned field, const struct message *inner)
{
    put_bytes(m, field, inner->data, inner->n);
}

#define SEQUENCE 1

/* TracePacket, field 1 of Trace. */
static void write_packet(const struct message *packet, FILE *to)
{
    struct message head = {.n = 0};

    put_varint(&head, 1 << 3 | 2);
    put_varint(&head, packet->n);
    fwrite(head.data, 1, head.n, to);
    fwrite(packet->data, 1, packet->n, to);
}

/* ---- tracks ---- */

enum {
    UUID_HOST = 1,
    UUID_THREADS = 0x10000,
    UUID_NVTX = 0x20000,
    UUID_DEVICES = 0x40000,
    UUID_STREAMS = 0x1000000
};

static void write_track(const struct message *descriptor, FILE *to)
{
    struct message packet = {.n = 0};

    put_message(&packet, 60, descriptor);
    put_number(&packet, 10, SEQUENCE);
    write_packet(&packet, to);
}

static void write_process(uint64_t uuid, uint64_t pid, const char *name, FILE *to)
{
    struct message d = {.n = 0}, process = {.n = 0};

    put_number(&process, 1, pid);
    put_string(&process, 6, name);
    put_number(&d, 1, uuid);
    put_message(&d, 3, &process);
    write_track(&d, to);
}

static void write_child(uint64_t uuid, uint64_t parent, const char *name, FILE *to)
{
    struct message d = {.n = 0};

    put_number(&d, 1, uuid);
    put_string(&d, 2, name);
    put_number(&d, 5, parent);
    write_track(&d, to);
}

static void write_tracks(const struct weir_trace_file *f, FILE *to)
{
    char name[128];

    write_process(UUID_HOST, f->pid, "host", to);
    for (size_t i = 0; i < f->threads_count; i++) {
        struct message d = {.n = 0}, thread = {.n = 0};

        put_number(&thread, 1, f->pid);
        put_number(&thread, 2, f->threads[i].tid);
        put_string(&thread, 5, f->threads[i].name);
        put_number(&d, 1, UUID_THREADS + i);
        put_message(&d, 4, &thread);
        write_track(&d, to);
        snprintf(name, sizeof name, "NVTX of %u", f->threads[i].tid);
        write_child(UUID_NVTX + i, UUID_HOST, name, to);
    }
    for (size_t i = 0; i < f->devices_count; i++)
        write_process(UUID_DEVICES + f->devices[i].device, 1000000u + f->devices[i].device,
                      f->devices[i].name, to);
    for (uint32_t i = 0; i < f->streams_count; i++) {
        weir_trace_stream_name(f, i, name);
        write_child(UUID_STREAMS + i, UUID_DEVICES + f->streams[i].device, name, to);
    }
}

/* ---- events ---- */

enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3 };

static struct message new_event(uint64_t track, int type)
{
    struct message e = {.n = 0};

    put_number(&e, 9, (uint64_t)type);
    put_number(&e, 11, track);
    return e;
}

static void write_event(const struct message *event, uint64_t ns, FILE *to)
{
    struct message packet = {.n = 0};

    put_number(&packet, 8, ns);
    put_number(&packet, 10, SEQUENCE);
    put_message(&packet, 11, event);
    write_packet(&packet, to);
}

static void annotate_number(struct message *e, const char *name, uint64_t v)
{
    struct message a = {.n = 0};

    put_string(&a, 10, name);
    put_number(&a, 3, v);
    put_message(e, 4, &a);
}

static void annotate_text(struct message *e, const char *name, const char *v)
{
    struct message a = {.n = 0};

    put_string(&a, 10, name);
    put_string(&a, 6, v);
    put_message(e, 4, &a);
}

static void write_end(uint64_t track, uint64_t ns, FILE *to)
{
    struct message e = new_event(track, EVENT_END);

    write_event(&e, ns, to);
}

static void write_calls(const struct weir_trace_file *f, FILE *to)
{
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];
        uint64_t track = UUID_THREADS + c->thread;
        struct message e = new_event(track, EVENT_BEGIN);

        put_string(&e, 22, "api");
        put_string(&e, 23, c->name);
        if (c->site != WEIR_TRACE_NONE)
            annotate_text(&e, "site", f->sites[c->site].text);
        if (c->waited_ns)
            annotate_number(&e, "waited_ns", c->waited_ns);
        write_event(&e, c->begin_ns, to);
        write_end(track, c->end_ns, to);
    }
}

/* Flows: an arrow's number at both of its ends. */
static void write_ops(const struct weir_trace_file *f, const struct weir_view_arrows *arrows,
                      const uint32_t *first_out, const uint32_t *next_out, FILE *to)
{
    static const char *const why[] = {"the host", "its stream", "another stream", "the engine"};
    size_t in = 0;

    for (uint32_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        uint64_t track = UUID_STREAMS + op->stream;
        struct message e = new_event(track, EVENT_BEGIN);

        if (!weir_view_is_bar(op))
            continue;
        put_string(&e, 22, weir_trace_engine_name(op->engine));
        put_string(&e, 23, op->name);
        annotate_text(&e, "waited for", why[op->why]);
        annotate_number(&e, "ready_to_start_ns", op->start_ns - op->ready_ns);
        if (op->bytes)
            annotate_number(&e, "bytes", op->bytes);
        if (op->kind == WEIR_TRACE_OP_KERNEL) {
            annotate_number(&e, "blocks",
                            (uint64_t)op->u.kernel.grid[0] * op->u.kernel.grid[1] *
                                op->u.kernel.grid[2]);
            annotate_number(&e, "threads a block",
                            (uint64_t)op->u.kernel.block[0] * op->u.kernel.block[1] *
                                op->u.kernel.block[2]);
        }
        for (uint32_t a = first_out[i]; a != WEIR_TRACE_NONE; a = next_out[a])
            put_fixed(&e, 47, a + 1);
        for (; in < arrows->count && arrows->items[in].to <= i; in++) {
            if (arrows->items[in].to == i)
                put_fixed(&e, 48, in + 1);
        }
        write_event(&e, op->start_ns, to);
        write_end(track, op->end_ns, to);
    }
}

static void write_ranges(const struct weir_trace_file *f, FILE *to)
{
    for (size_t i = 0; i < f->ranges_count; i++) {
        const struct weir_trace_range *g = &f->ranges[i];
        bool mark = g->begin_ns == g->end_ns;
        /* Ranges that are started and ended may overlap: each on a track of its own. */
        uint64_t track = g->pushed || mark ? UUID_NVTX + g->thread : ((uint64_t)1 << 32) + i;
        struct message e = new_event(track, mark ? EVENT_INSTANT : EVENT_BEGIN);

        if (!g->pushed && !mark)
            write_child(track, UUID_HOST, "NVTX ranges", to);
        put_string(&e, 22, "nvtx");
        put_string(&e, 23, *g->text ? g->text : "range");
        write_event(&e, g->begin_ns, to);
        if (!mark)
            write_end(track, g->end_ns, to);
    }
}

bool weir_view_perfetto(const struct weir_trace_file *f, FILE *to)
{
    struct weir_view_arrows arrows;
    uint32_t *first, *next;
    bool ok;

    if (!weir_view_find_arrows(f, &arrows))
        return false;
    first = weir_alloc((f->ops_count + 1) * sizeof *first);
    next = weir_alloc((arrows.count + 1) * sizeof *next);
    ok = first && next;
    if (ok) {
        memset(first, 0xff, (f->ops_count + 1) * sizeof *first);
        for (size_t i = arrows.count; i-- > 0;) {
            next[i] = first[arrows.items[i].from];
            first[arrows.items[i].from] = (uint32_t)i;
        }
        write_tracks(f, to);
        write_calls(f, to);
        write_ops(f, &arrows, first, next, to);
        write_ranges(f, to);
    }
    weir_free(arrows.items);
    weir_free(first);
    weir_free(next);
    return ok;
}
