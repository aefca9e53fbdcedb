/* Streams as rows, operations as bars: a picture for papers and READMEs. Light and dark follow the
 * reader's setting.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "view/arrows.h"
#include "view/view.h"

#define ROW       26
#define BAR       18
#define LEFT      132
#define TOP       54
#define MIN_PIXEL 0.4 /* narrower bars are joined with their neighbours */

static const char style[] =
    "<style>"
    "svg{font-family:ui-sans-serif,system-ui,'Helvetica Neue',Arial,sans-serif;font-size:12px}"
    ".bg{fill:#ffffff}.fg{fill:#24292f}.dim{fill:#6e7781}.grid{stroke:#d8dee4;stroke-width:1}"
    ".lane{fill:#f6f8fa}.lab{fill:#ffffff;font-size:10.5px}"
    ".e0{fill:#3b7a57}.e1{fill:#2f6fb5}.e2{fill:#b5652f}.e3{fill:#7d5ba6}.e4{fill:#8a8f98}"
    ".arrow{stroke:#57606a;stroke-width:1;fill:none;opacity:.65}.head{fill:#57606a}"
    "@media (prefers-color-scheme:dark){.bg{fill:#0d1117}.fg{fill:#e6edf3}.dim{fill:#8d96a0}"
    ".grid{stroke:#30363d}.lane{fill:#161b22}.e0{fill:#4c9a70}.e1{fill:#4a90d9}.e2{fill:#d98a4a}"
    ".e3{fill:#9d7cc9}.arrow{stroke:#8d96a0}.head{fill:#8d96a0}}"
    "</style>";

struct canvas {
    const struct weir_trace_file *f;
    uint64_t from, to;
    double scale;  /* pixels a nanosecond */
    uint32_t *row; /* of each stream; NONE: nothing to show */
    uint32_t rows;
    unsigned width;
    FILE *out;
};

static double x_of(const struct canvas *c, uint64_t ns)
{
    double x = (double)(int64_t)(ns - c->from) * c->scale;
    double most = (double)(c->width - LEFT - 16);

    return LEFT + (x < 0 ? 0 : x > most ? most : x);
}

static bool is_shown(const struct canvas *c, const struct weir_trace_op *op)
{
    return weir_view_is_bar(op) && op->end_ns > c->from && op->start_ns < c->to;
}

/* Rows in the order in which streams were made. */
static void place_rows(struct canvas *c)
{
    memset(c->row, 0xff, (c->f->streams_count + 1) * sizeof *c->row);
    for (size_t i = 0; i < c->f->ops_count; i++) {
        if (is_shown(c, &c->f->ops[i]))
            c->row[c->f->ops[i].stream] = 0;
    }
    for (size_t i = 0; i < c->f->streams_count; i++) {
        if (c->row[i] != WEIR_TRACE_NONE)
            c->row[i] = c->rows++;
    }
}

/* 1, 2 or 5 times a power of ten, six to twelve of them in view. */
static double tick_step(double span)
{
    double step = 1;

    while (step * 12 < span) {
        if (step * 24 >= span)
            return step * 2;
        if (step * 60 >= span)
            return step * 5;
        step *= 10;
    }
    return step;
}

static void put_axis(const struct canvas *c, unsigned bottom)
{
    double span = (double)(c->to - c->from), step = tick_step(span);
    char text[32];

    for (double t = 0; t <= span; t += step) {
        double x = LEFT + t * c->scale;

        fprintf(c->out,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%u\"/>"
                "<text class=\"dim\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, TOP - 4, x, bottom, x, TOP - 10, t > 0 ? weir_view_time(t, text) : "0");
    }
}

static void put_lanes(const struct canvas *c)
{
    char name[64];

    for (uint32_t i = 0; i < c->f->streams_count; i++) {
        if (c->row[i] == WEIR_TRACE_NONE)
            continue;
        fprintf(c->out,
                "<rect class=\"lane\" x=\"%d\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"3\"/>"
                "<text class=\"fg\" x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n",
                LEFT, TOP + c->row[i] * ROW + (ROW - BAR) / 2, c->width - LEFT - 16, BAR, LEFT - 10,
                TOP + c->row[i] * ROW + ROW / 2 + 4, weir_trace_stream_name(c->f, i, name));
    }
}

static void put_bar(const struct canvas *c, const struct weir_trace_op *op)
{
    double x0 = x_of(c, op->start_ns), x1 = x_of(c, op->end_ns);
    unsigned y = TOP + c->row[op->stream] * ROW + (ROW - BAR) / 2;
    size_t room;
    char time[32];

    if (x1 - x0 < MIN_PIXEL)
        x1 = x0 + MIN_PIXEL;
    fprintf(c->out,
            "<rect class=\"e%u\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"%s><title>",
            op->engine, x0, y, x1 - x0, BAR, x1 - x0 > 5 ? " rx=\"2\"" : "");
    weir_view_put_xml(c->out, op->name);
    fprintf(c->out, ", %s</title></rect>",
            weir_view_time((double)(op->end_ns - op->start_ns), time));
    room = x1 - x0 > 14 ? (size_t)((x1 - x0 - 8) / 6.2) : 0;
    if (room >= strlen(op->name)) { /* half a name says less than none */
        fprintf(c->out, "<text class=\"lab\" x=\"%.2f\" y=\"%u\">", x0 + 4, y + 13);
        weir_view_put_xml(c->out, op->name);
        fputs("</text>", c->out);
    }
    fputc('\n', c->out);
}

static void put_bars(const struct canvas *c)
{
    double *last = weir_calloc(c->rows + 1, sizeof *last); /* where each row's last bar ended */

    for (size_t i = 0; last && i < c->f->ops_count; i++) {
        const struct weir_trace_op *op = &c->f->ops[i];
        uint32_t row;

        if (!is_shown(c, op))
            continue;
        row = c->row[op->stream];
        /* Bars that nobody could tell apart are one. */
        if (x_of(c, op->end_ns) < last[row] + MIN_PIXEL / 2)
            continue;
        put_bar(c, op);
        last[row] = x_of(c, op->end_ns);
    }
    weir_free(last);
}

#define ARROWS_MAX 200

static bool put_arrows(const struct canvas *c)
{
    struct weir_view_arrows arrows;
    unsigned shown = 0;

    if (!weir_view_find_arrows(c->f, &arrows))
        return false;
    for (size_t i = 0; i < arrows.count && shown < ARROWS_MAX; i++) {
        const struct weir_trace_op *from = &c->f->ops[arrows.items[i].from];
        const struct weir_trace_op *to = &c->f->ops[arrows.items[i].to];
        double x0, x1;
        unsigned y0, y1;

        if (!is_shown(c, from) || !is_shown(c, to) || from->stream == to->stream)
            continue;
        x0 = x_of(c, from->end_ns);
        x1 = x_of(c, to->start_ns);
        y0 = TOP + c->row[from->stream] * ROW + ROW / 2;
        y1 = TOP + c->row[to->stream] * ROW + ROW / 2;
        fprintf(c->out,
                "<path class=\"arrow\" d=\"M%.1f %uC%.1f %u %.1f %u %.1f %u\"/>"
                "<path class=\"head\" d=\"M%.1f %ul-6 -3v6z\"/>\n",
                x0, y0, x0 + 12, y0, x1 - 12, y1, x1 - 2, y1, x1, y1);
        shown++;
    }
    weir_free(arrows.items);
    return true;
}

static void put_legend(const struct canvas *c, unsigned y)
{
    bool used[WEIR_TRACE_ENGINE_COUNT] = {false};
    unsigned x = LEFT;

    for (size_t i = 0; i < c->f->ops_count; i++) {
        if (is_shown(c, &c->f->ops[i]))
            used[c->f->ops[i].engine] = true;
    }
    for (unsigned e = 0; e < WEIR_TRACE_ENGINE_COUNT; e++) {
        if (!used[e])
            continue;
        fprintf(c->out,
                "<rect class=\"e%u\" x=\"%u\" y=\"%u\" width=\"11\" height=\"11\" rx=\"2\"/>"
                "<text class=\"dim\" x=\"%u\" y=\"%u\">%s</text>\n",
                e, x, y, x + 16, y + 10, weir_trace_engine_name(e));
        x += 32 + (unsigned)strlen(weir_trace_engine_name(e)) * 7;
    }
}

bool weir_view_svg(const struct weir_trace_file *f, const struct weir_view_picture *p, FILE *to)
{
    struct canvas c = {.f = f,
                       .from = WEIR_MAX(p->from_ns, f->begin_ns),
                       .to = p->to_ns ? WEIR_MIN(p->to_ns, f->end_ns) : f->end_ns,
                       .width = p->width ? p->width : 1000,
                       .out = to};
    unsigned bottom;
    bool ok;

    c.row = weir_alloc((f->streams_count + 1) * sizeof *c.row);
    if (!c.row)
        return false;
    if (c.to <= c.from)
        c.to = c.from + 1;
    c.scale = (double)(c.width - LEFT - 16) / (double)(c.to - c.from);
    place_rows(&c);
    bottom = TOP + c.rows * ROW;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u "
            "%u\">%s<rect class=\"bg\" width=\"100%%\" height=\"100%%\" rx=\"6\"/>\n",
            c.width, bottom + 34, c.width, bottom + 34, style);
    if (p->title) {
        fprintf(to, "<text class=\"fg\" x=\"12\" y=\"18\" font-weight=\"600\">");
        weir_view_put_xml(to, p->title);
        fputs("</text>\n", to);
    }
    put_axis(&c, bottom + 2);
    put_lanes(&c);
    put_bars(&c);
    ok = put_arrows(&c);
    put_legend(&c, bottom + 14);
    fputs("</svg>\n", to);
    weir_free(c.row);
    return ok;
}
