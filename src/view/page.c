/* weir view: the page of web/, with the trace inside. Numbers go as varints, row by row, in base64:
 * a million operations are some 40 MB and decode in a moment. What the rows hold is read by
 * web/view.js in the same order.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "view/arrows.h"
#include "view/view.h"

/* Made by the build from web/; theme and draw are those of weir plan's page, too. */
extern const char weir_web_html[], weir_web_css[], weir_web_js[], weir_web_theme[], weir_web_draw[];

/* ---- base64 of varints ---- */

struct packer {
    FILE *to;
    unsigned char group[3];
    int n;
};

static void put_group(struct packer *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *g = p->group;
    char out[4] = {digits[g[0] >> 2], digits[(g[0] & 3) << 4 | g[1] >> 4],
                   p->n > 1 ? digits[(g[1] & 15) << 2 | g[2] >> 6] : '=',
                   p->n > 2 ? digits[g[2] & 63] : '='};

    fwrite(out, 1, sizeof out, p->to);
    p->n = 0;
    memset(p->group, 0, sizeof p->group);
}

static void put_byte(struct packer *p, unsigned char byte)
{
    p->group[p->n++] = byte;
    if (p->n == 3)
        put_group(p);
}

static void put_u(struct packer *p, uint64_t v)
{
    /* Numbers in JavaScript are exact up to here. */
    v = WEIR_MIN(v, ((uint64_t)1 << 53) - 1);
    for (; v >= 0x80; v >>= 7)
        put_byte(p, (unsigned char)(v | 0x80));
    put_byte(p, (unsigned char)v);
}

static void put_s(struct packer *p, int64_t v)
{
    put_u(p, v < 0 ? ((uint64_t)(-(v + 1)) << 1) + 1 : (uint64_t)v << 1);
}

/* ---- names ---- */

struct names {
    const char **items;
    size_t count, cap;
    uint32_t *of_op, *of_call, *of_range;
};

struct name_key {
    const char *name;
    uint32_t *to;
};

static int by_text(const void *x, const void *y)
{
    const struct name_key *a = x, *b = y;

    return a->name == b->name ? 0 : strcmp(a->name, b->name);
}

/* Numbers for all names: operations, calls, ranges. */
static bool number_names(const struct weir_trace_file *f, struct names *out)
{
    size_t n = f->ops_count + f->calls_count + f->ranges_count, at = 0;
    struct name_key *keys = weir_alloc((n + 1) * sizeof *keys);
    uint32_t *numbers = weir_calloc(n + 1, sizeof *numbers);
    bool ok = keys && numbers;

    *out = (struct names){.of_op = numbers,
                          .of_call = numbers + f->ops_count,
                          .of_range = numbers + f->ops_count + f->calls_count};
    for (size_t i = 0; ok && i < f->ops_count; i++, at++)
        keys[at] = (struct name_key){f->ops[i].name, &numbers[at]};
    for (size_t i = 0; ok && i < f->calls_count; i++, at++)
        keys[at] = (struct name_key){f->calls[i].name, &numbers[at]};
    for (size_t i = 0; ok && i < f->ranges_count; i++, at++)
        keys[at] = (struct name_key){f->ranges[i].text, &numbers[at]};
    if (ok && n)
        qsort(keys, n, sizeof *keys, by_text);
    for (size_t i = 0; i < n && ok; i++) {
        if (!i || by_text(&keys[i - 1], &keys[i]) != 0)
            ok = weir_vec_push(out, keys[i].name);
        *keys[i].to = (uint32_t)(out->count - 1);
    }
    weir_free(keys);
    return ok;
}

/* ---- the rows ---- */

struct page {
    const struct weir_trace_file *f;
    struct names names;
    uint32_t *order;  /* bars by start */
    uint32_t *number; /* of each operation in that order; NONE: no bar */
    uint32_t count;
    struct packer pack;
};

struct start_key {
    uint64_t ns;
    uint32_t op;
};

static int by_start(const void *x, const void *y)
{
    const struct start_key *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static bool order_bars(struct page *p)
{
    const struct weir_trace_file *f = p->f;
    struct start_key *keys = weir_alloc((f->ops_count + 1) * sizeof *keys);

    p->order = weir_alloc((f->ops_count + 1) * sizeof *p->order);
    p->number = weir_alloc((f->ops_count + 1) * sizeof *p->number);
    if (!keys || !p->order || !p->number) {
        weir_free(keys);
        return false;
    }
    memset(p->number, 0xff, (f->ops_count + 1) * sizeof *p->number);
    for (uint32_t i = 0; i < f->ops_count; i++) {
        if (weir_view_is_bar(&f->ops[i]))
            keys[p->count++] = (struct start_key){f->ops[i].start_ns, i};
    }
    qsort(keys, p->count, sizeof *keys, by_start);
    for (uint32_t i = 0; i < p->count; i++) {
        p->order[i] = keys[i].op;
        p->number[keys[i].op] = i;
    }
    weir_free(keys);
    return true;
}

/* The bar that stands for an operation: itself, or the last one before it in its stream. */
static uint32_t bar_of(const struct page *p, uint32_t op)
{
    while (op != WEIR_TRACE_NONE && p->number[op] == WEIR_TRACE_NONE)
        op = p->f->ops[op].prev;
    return op == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : p->number[op];
}

/* Why op was not ready earlier, seen through the waits and records before it. */
static uint32_t reason_of(const struct page *p, const struct weir_trace_op *op, unsigned *why,
                          unsigned *rule)
{
    *why = op->why;
    *rule = op->why_rule;
    while (op->why == WEIR_TRACE_WHY_STREAM && op->why_op != WEIR_TRACE_NONE &&
           p->number[op->why_op] == WEIR_TRACE_NONE &&
           p->f->ops[op->why_op].why != WEIR_TRACE_WHY_HOST) {
        op = &p->f->ops[op->why_op];
        *why = op->why;
        *rule = op->why_rule;
    }
    return *why == WEIR_TRACE_WHY_HOST ? WEIR_TRACE_NONE : bar_of(p, op->why_op);
}

static uint64_t product(const uint32_t v[3])
{
    return (uint64_t)v[0] * v[1] * v[2];
}

static void put_ops(struct page *p)
{
    const struct weir_trace_file *f = p->f;
    uint64_t last = f->begin_ns;
    int64_t last_call = 0;

    put_u(&p->pack, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t at = p->order[i], reason;
        const struct weir_trace_op *op = &f->ops[at];
        int64_t call = op->call == WEIR_TRACE_NONE ? 0 : (int64_t)op->call + 1;
        unsigned why, rule;

        reason = reason_of(p, op, &why, &rule);
        put_s(&p->pack, (int64_t)(op->start_ns - last));
        put_u(&p->pack, op->end_ns - op->start_ns);
        put_u(&p->pack, op->start_ns - op->ready_ns);
        put_s(&p->pack, (int64_t)(op->ready_ns - op->submit_ns));
        put_u(&p->pack, p->names.of_op[at]);
        put_u(&p->pack, op->stream);
        put_u(&p->pack, op->engine | why << 3);
        put_u(&p->pack, rule);
        put_u(&p->pack, reason == WEIR_TRACE_NONE ? 0 : (uint64_t)reason + 1);
        put_u(&p->pack, op->bytes);
        put_s(&p->pack, call - last_call);
        if (op->engine == WEIR_TRACE_ENGINE_KERNEL) {
            put_u(&p->pack, op->kind == WEIR_TRACE_OP_KERNEL ? product(op->u.kernel.grid) : 0);
            put_u(&p->pack, op->kind == WEIR_TRACE_OP_KERNEL ? product(op->u.kernel.block) : 0);
        }
        last = op->start_ns;
        last_call = call;
    }
}

static void put_calls(struct page *p)
{
    const struct weir_trace_file *f = p->f;
    uint64_t last = f->begin_ns;

    put_u(&p->pack, f->calls_count);
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];

        put_s(&p->pack, (int64_t)(c->begin_ns - last));
        put_u(&p->pack, c->end_ns - c->begin_ns);
        put_u(&p->pack, c->waited_ns);
        put_u(&p->pack, p->names.of_call[i]);
        put_u(&p->pack, c->thread);
        put_u(&p->pack, c->site == WEIR_TRACE_NONE ? 0 : (uint64_t)c->site + 1);
        put_u(&p->pack, (uint64_t)WEIR_MAX(c->err, 0));
        last = c->begin_ns;
    }
}

static bool put_arrows(struct page *p)
{
    struct weir_view_arrows arrows;

    if (!weir_view_find_arrows(p->f, &arrows))
        return false;
    for (size_t i = 0; i < arrows.count; i++) {
        arrows.items[i].from = p->number[arrows.items[i].from];
        arrows.items[i].to = p->number[arrows.items[i].to];
    }
    /* By the new numbers: in order of start. */
    weir_view_sort_arrows(&arrows);
    put_u(&p->pack, arrows.count);
    for (size_t i = 0; i < arrows.count; i++) {
        put_u(&p->pack, arrows.items[i].from);
        put_u(&p->pack, arrows.items[i].to);
        put_u(&p->pack, arrows.items[i].rule);
    }
    weir_free(arrows.items);
    return true;
}

static void put_waits(struct page *p)
{
    const struct weir_trace_file *f = p->f;
    size_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->waits_count; i++) {
            uint32_t bar = bar_of(p, f->waits[i].op);

            if (f->waits[i].call == WEIR_TRACE_NONE || bar == WEIR_TRACE_NONE)
                continue;
            count++;
            if (pass) {
                put_u(&p->pack, f->waits[i].call);
                put_u(&p->pack, bar);
            }
        }
        if (!pass)
            put_u(&p->pack, count);
    }
}

static void put_ranges(struct page *p)
{
    const struct weir_trace_file *f = p->f;

    put_u(&p->pack, f->ranges_count);
    for (size_t i = 0; i < f->ranges_count; i++) {
        const struct weir_trace_range *g = &f->ranges[i];

        put_u(&p->pack, g->begin_ns - f->begin_ns);
        put_u(&p->pack, g->end_ns - g->begin_ns);
        put_u(&p->pack, p->names.of_range[i]);
        put_u(&p->pack, g->thread);
        /* Ranges that may overlap go below the pushed ones. */
        put_u(&p->pack, g->pushed ? WEIR_MIN(g->depth, 15) : 16 + i % 4);
        put_u(&p->pack, g->color & 0xffffff);
    }
}

/* ---- the page ---- */

static void put_texts(const char *key, const char *const *items, size_t count, FILE *to)
{
    fprintf(to, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        if (i)
            fputc(',', to);
        weir_text_put_json_in_page(to, items[i]);
    }
    fputc(']', to);
}

static unsigned device_count(const struct weir_trace_file *f)
{
    unsigned count = 1;

    for (size_t i = 0; i < f->streams_count; i++)
        count = WEIR_MAX(count, WEIR_MIN(f->streams[i].device, 255u) + 1);
    return count;
}

static void put_stream(const struct page *p, uint32_t stream, const char *comma, FILE *to)
{
    const struct weir_trace_stream *s = &p->f->streams[stream];
    uint32_t parent = s->parent == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : p->number[s->parent];
    char name[64];

    fprintf(to, "%s{\"label\":\"%s\",\"device\":%u", comma,
            weir_trace_stream_name(p->f, stream, name), WEIR_MIN(s->device, 255u));
    if (parent != WEIR_TRACE_NONE)
        fprintf(to, ",\"parent\":%u", parent);
    fputc('}', to);
}

static void put_meta(const struct page *p, const char *title, FILE *to)
{
    const struct weir_trace_file *f = p->f;
    char name[64];

    fputs("<script>const META={\"title\":", to);
    weir_text_put_json_in_page(to, title);
    fprintf(to, ",\"span\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"devices\":%u",
            f->end_ns - f->begin_ns, f->lost, device_count(f));
    put_texts("names", p->names.items, p->names.count, to);
    fputs(",\"sites\":[", to);
    for (size_t i = 0; i < f->sites_count; i++) {
        if (i)
            fputc(',', to);
        weir_text_put_json_in_page(to, f->sites[i].text);
    }
    fputs("],\"threads\":[", to);
    for (size_t i = 0; i < f->threads_count; i++) {
        fprintf(to, "%s{\"label\":", i ? "," : "");
        snprintf(name, sizeof name, "%s %u", f->threads[i].name, f->threads[i].tid);
        weir_text_put_json_in_page(to, name);
        fputc('}', to);
    }
    fputs("],\"streams\":[", to);
    for (uint32_t i = 0; i < f->streams_count; i++)
        put_stream(p, i, i ? "," : "", to);
    fputs("],\"rules\":{", to);
    for (unsigned r = 1, any = 0; r < 100; r++) {
        const char *text = weir_trace_rule_text(r);

        if (strcmp(text, "a rule of order") == 0)
            continue;
        fprintf(to, "%s\"%u\":\"%s\"", any ? "," : "", r, text);
        any = 1;
    }
    fputs("}};</script>\n", to);
}

static bool put_data(struct page *p, FILE *to)
{
    p->pack.to = to;
    fputs("<script id=\"data\" type=\"text/plain\">", to);
    put_ops(p);
    put_calls(p);
    if (!put_arrows(p))
        return false;
    put_waits(p);
    put_ranges(p);
    if (p->pack.n)
        put_group(&p->pack);
    fputs("</script>\n", to);
    return true;
}

bool weir_view_page(const struct weir_trace_file *f, const char *title, FILE *to)
{
    struct page p = {.f = f};
    bool ok = number_names(f, &p.names) && order_bars(&p);

    if (ok) {
        fprintf(to,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width\"><style>%s%s</style></head>"
                "<body>%s\n",
                weir_web_theme, weir_web_css, weir_web_html);
        put_meta(&p, title, to);
        ok = put_data(&p, to);
        fprintf(to, "<script>%s%s</script></body></html>\n", weir_web_draw, weir_web_js);
    }
    weir_free(p.names.items);
    weir_free(p.names.of_op);
    weir_free(p.order);
    weir_free(p.number);
    return ok;
}
