/* CSV, JSON, and the trace event format.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/text.h"
#include "view/arrows.h"
#include "view/view.h"

static const char *const why_names[WEIR_TRACE_WHY_COUNT] = {"host", "stream", "edge", "engine"};

static const char *site_text(const struct weir_trace_file *f, uint32_t call)
{
    uint32_t site = call == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : f->calls[call].site;

    return site == WEIR_TRACE_NONE ? "" : f->sites[site].text;
}

/* Times from the beginning of the trace. */
static uint64_t rel(const struct weir_trace_file *f, uint64_t ns)
{
    return ns > f->begin_ns ? ns - f->begin_ns : 0;
}

static const char *rule_name(unsigned rule, char out[16])
{
    if (rule == WEIR_TRACE_GRAPH_EDGE)
        return "GRA-001";
    snprintf(out, 16, "ORD-%03u", rule);
    return out;
}

/* ---- CSV ---- */

static void csv_op(const struct weir_trace_file *f, const struct weir_trace_op *op, FILE *to)
{
    char stream[64];

    fprintf(to, "%s,", weir_trace_kind_name(op->kind));
    weir_view_put_csv(to, op->name);
    fprintf(to, ",%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
            weir_trace_stream_name(f, op->stream, stream), f->streams[op->stream].device, op->seq,
            rel(f, op->submit_ns), rel(f, op->ready_ns));
    if (op->done)
        fprintf(to, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, rel(f, op->start_ns), rel(f, op->end_ns),
                op->end_ns - op->start_ns);
    else
        fputs(",,", to);
    fprintf(to, ",%" PRIu64 ",%s,%u,", op->bytes, why_names[op->why], op->why_rule);
    weir_view_put_csv(to, site_text(f, op->call));
    fputc('\n', to);
}

bool weir_view_csv(const struct weir_trace_file *f, FILE *to)
{
    fputs("kind,name,where,device,number,submit_ns,ready_ns,start_ns,end_ns,duration_ns,bytes,why,"
          "rule,site\n",
          to);
    for (size_t i = 0; i < f->ops_count; i++)
        csv_op(f, &f->ops[i], to);
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];

        fprintf(to, "call,%s,thread %u,,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,,", c->name,
                f->threads_count > c->thread ? f->threads[c->thread].tid : 0, rel(f, c->begin_ns),
                rel(f, c->end_ns), c->end_ns - c->begin_ns);
        weir_view_put_csv(to, site_text(f, (uint32_t)i));
        fputc('\n', to);
    }
    for (size_t i = 0; i < f->ranges_count; i++) {
        const struct weir_trace_range *g = &f->ranges[i];

        fputs("range,", to);
        weir_view_put_csv(to, g->text);
        fprintf(to, ",thread %u,,,,,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,,\n",
                f->threads_count > g->thread ? f->threads[g->thread].tid : 0, rel(f, g->begin_ns),
                rel(f, g->end_ns), g->end_ns - g->begin_ns);
    }
    return true;
}

/* ---- JSON ---- */

static void json_op(const struct weir_trace_file *f, const struct weir_trace_op *op, FILE *to)
{
    char stream[64];

    fprintf(to, "{\"kind\": \"%s\", \"name\": ", weir_trace_kind_name(op->kind));
    weir_text_put_json(to, op->name);
    fprintf(to,
            ", \"stream\": \"%s\", \"device\": %u, \"number\": %" PRIu64 ", \"submit_ns\": %" PRIu64
            ", \"ready_ns\": %" PRIu64 ", \"done\": %s",
            weir_trace_stream_name(f, op->stream, stream), f->streams[op->stream].device, op->seq,
            rel(f, op->submit_ns), rel(f, op->ready_ns), op->done ? "true" : "false");
    if (op->done)
        fprintf(to, ", \"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 ", \"engine\": \"%s\"",
                rel(f, op->start_ns), rel(f, op->end_ns), weir_trace_engine_name(op->engine));
    fprintf(to, ", \"bytes\": %" PRIu64 ", \"why\": \"%s\"", op->bytes, why_names[op->why]);
    if (f->streams[op->stream].parent != WEIR_TRACE_NONE)
        fprintf(to, ", \"launched_by\": %u", f->streams[op->stream].parent);
    if (op->kind == WEIR_TRACE_OP_KERNEL)
        fprintf(to, ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %" PRIu64,
                op->u.kernel.grid[0], op->u.kernel.grid[1], op->u.kernel.grid[2],
                op->u.kernel.block[0], op->u.kernel.block[1], op->u.kernel.block[2],
                op->u.kernel.shared_bytes);
    if (op->instructions)
        fprintf(to, ", \"instructions\": %" PRIu64 ", \"requested\": %" PRIu64, op->instructions,
                op->requested);
    fputs(", \"follows\": [", to);
    for (uint32_t d = 0; d < op->dep_count; d++) {
        const struct weir_trace_dep *dep = &f->deps[op->dep_first + d];
        char rule[16];

        fprintf(to, "%s{\"rule\": \"%s\", \"guaranteed\": %s", d ? ", " : "",
                rule_name(dep->rule, rule), dep->guaranteed ? "true" : "false");
        if (dep->op != WEIR_TRACE_NONE)
            fprintf(to, ", \"operation\": %u", dep->op);
        fputc('}', to);
    }
    fputs("], \"site\": ", to);
    weir_text_put_json(to, site_text(f, op->call));
    fputc('}', to);
}

bool weir_view_json(const struct weir_trace_file *f, FILE *to)
{
    fprintf(to, "{\"version\": %u, \"pid\": %u, \"span_ns\": %" PRIu64 ",\n\"operations\": [",
            f->version, f->pid, f->end_ns - f->begin_ns);
    for (size_t i = 0; i < f->ops_count; i++) {
        fputs(i ? ",\n" : "\n", to);
        json_op(f, &f->ops[i], to);
    }
    fputs("],\n\"calls\": [", to);
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];

        fprintf(to,
                "%s\n{\"name\": \"%s\", \"thread\": %u, \"begin_ns\": %" PRIu64
                ", \"end_ns\": %" PRIu64 ", \"waited_ns\": %" PRIu64 ", \"error\": %d, \"site\": ",
                i ? "," : "", c->name, c->thread, rel(f, c->begin_ns), rel(f, c->end_ns),
                c->waited_ns, c->err);
        weir_text_put_json(to, site_text(f, (uint32_t)i));
        fputc('}', to);
    }
    fputs("],\n\"ranges\": [", to);
    for (size_t i = 0; i < f->ranges_count; i++) {
        const struct weir_trace_range *g = &f->ranges[i];

        fprintf(to, "%s\n{\"text\": ", i ? "," : "");
        weir_text_put_json(to, g->text);
        fprintf(to, ", \"thread\": %u, \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 "}",
                g->thread, rel(f, g->begin_ns), rel(f, g->end_ns));
    }
    fputs("]}\n", to);
    return true;
}

/* ---- the trace event format ---- */

#define DEVICE_PID 1000000u /* + device: a "process" of its own in the picture */

static void chrome_names(const struct weir_trace_file *f, FILE *to)
{
    char name[64];

    fprintf(to, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"host\"}}",
            f->pid);
    for (size_t i = 0; i < f->threads_count; i++) {
        fprintf(
            to,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
            f->pid, f->threads[i].tid);
        weir_text_put_json(to, f->threads[i].name);
        fputs("}}", to);
    }
    for (size_t i = 0; i < f->devices_count; i++) {
        fprintf(to, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":",
                DEVICE_PID + f->devices[i].device);
        weir_text_put_json(to, f->devices[i].name);
        fputs("}}", to);
    }
    for (uint32_t i = 0; i < f->streams_count; i++)
        fprintf(
            to,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":"
            "\"%s\"}}",
            DEVICE_PID + f->streams[i].device, i, weir_trace_stream_name(f, i, name));
}

static void chrome_slice(const char *name, const char *cat, unsigned pid, unsigned tid, double us,
                         double length, FILE *to)
{
    fputs(",\n{\"ph\":\"X\",\"name\":", to);
    weir_text_put_json(to, name);
    fprintf(to, ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f", cat, pid, tid, us,
            length);
}

bool weir_view_chrome(const struct weir_trace_file *f, FILE *to)
{
    struct weir_view_arrows arrows;

    if (!weir_view_find_arrows(f, &arrows))
        return false;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", to);
    chrome_names(f, to);
    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *c = &f->calls[i];

        chrome_slice(
            c->name, "api", f->pid, c->thread < f->threads_count ? f->threads[c->thread].tid : 0,
            (double)rel(f, c->begin_ns) / 1e3, (double)(c->end_ns - c->begin_ns) / 1e3, to);
        fputs(",\"args\":{\"site\":", to);
        weir_text_put_json(to, site_text(f, (uint32_t)i));
        fputs("}}", to);
    }
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        if (!weir_view_is_bar(op))
            continue;
        chrome_slice(op->name, weir_trace_engine_name(op->engine),
                     DEVICE_PID + f->streams[op->stream].device, op->stream,
                     (double)rel(f, op->start_ns) / 1e3, (double)(op->end_ns - op->start_ns) / 1e3,
                     to);
        fprintf(to, ",\"args\":{\"bytes\":%" PRIu64 ",\"why\":\"%s\"}}", op->bytes,
                why_names[op->why]);
    }
    for (size_t i = 0; i < arrows.count; i++) {
        const struct weir_view_arrow *a = &arrows.items[i];
        const struct weir_trace_op *ops[2] = {&f->ops[a->from], &f->ops[a->to]};
        char rule[16];

        for (int k = 0; k < 2; k++)
            fprintf(to,
                    ",\n{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"order\",\"id\":%zu,\"pid\":%u,"
                    "\"tid\":%u,\"ts\":%.3f}",
                    k ? "f\",\"bp\":\"e" : "s", rule_name(a->rule, rule), i,
                    DEVICE_PID + f->streams[ops[k]->stream].device, ops[k]->stream,
                    (double)rel(f, ops[k]->start_ns) / 1e3);
    }
    fputs("\n]}\n", to);
    weir_free(arrows.items);
    return true;
}
