/* Questions about queues: more streams than help, priorities, hardware queues, one graph in several
 * streams, full streams, variables that make everything wait, libraries in the default stream.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "advise/find.h"
#include "base/alloc.h"
#include "model/rules.h"

/* ---- 14: more streams than help ---- */

#define MANY_STREAMS 5

static bool is_used(const struct weir_trace_file *f, uint32_t stream)
{
    const struct weir_trace_stream *s = &f->streams[stream];

    for (uint32_t i = 0; i < s->op_count && !s->graph_lane; i++) {
        if (weir_advise_is_work(&f->ops[f->stream_ops[s->op_first + i]]))
            return true;
    }
    return false;
}

/* The program again with its streams folded to n; events give way to data orders. */
static bool fold(const struct weir_advise_context *c, const uint32_t *number, uint32_t n,
                 uint32_t *stream_of, uint64_t *length)
{
    const struct weir_plan_scenario s = {.stream_of = stream_of, .extra_streams = n};
    struct weir_plan_outcome r;

    for (size_t i = 0; i < c->f->ops_count; i++)
        stream_of[i] = number[c->f->ops[i].stream] % n;
    if (!weir_plan_recorded_run(&c->model, &s, &r))
        return false;
    *length = r.length_ns;
    return true;
}

/* What creating and destroying all streams but `keep` takes while work goes on. */
static uint64_t cost_of_streams(const struct weir_advise_context *c, uint32_t used, uint32_t keep)
{
    const struct weir_trace_file *f = c->f;
    uint64_t spent = 0;

    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *k = &f->calls[i];

        if ((strstr(k->name, "StreamCreate") || strstr(k->name, "StreamDestroy")) &&
            k->begin_ns > f->ops[0].submit_ns)
            spent += k->end_ns - k->begin_ns - WEIR_MIN(k->waited_ns, k->end_ns - k->begin_ns);
    }
    return spent * (used - keep) / used;
}

bool weir_advise_find_too_many(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "too-many-streams", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint32_t *number = weir_calloc(f->streams_count + 1, sizeof *number), used = 0, best = 0;
    uint32_t *stream_of = weir_calloc(f->ops_count + 1, sizeof *stream_of);
    uint64_t all = 0, length = 0;
    bool ok = number && stream_of;

    for (uint32_t i = 0; ok && i < f->streams_count; i++) {
        if (is_used(f, i))
            number[i] = used++;
    }
    if (!ok || used < MANY_STREAMS || !c->data.known) {
        weir_free(number);
        weir_free(stream_of);
        return ok;
    }
    ok = fold(c, number, used, stream_of, &all);
    for (uint32_t n = 1; ok && n <= used / 2 && !best; n *= 2) {
        ok = fold(c, number, n, stream_of, &length);
        if (ok && length <= all + all / 100)
            best = n;
    }
    weir_free(number);
    weir_free(stream_of);
    if (!ok || !best)
        return ok;
    d.gain_ns = cost_of_streams(c, used, best);
    snprintf(d.message, sizeof d.message,
             "%u streams have work, and %u give%s the same length: the engines are as busy, and "
             "the rest only costs memory and time to create",
             used, best, best == 1 ? "s" : "");
    snprintf(d.change, sizeof d.change, "use %u stream%s, made once", best, best == 1 ? "" : "s");
    return weir_advise_add(c, &d);
}

/* ---- 15: priority where it cannot act ---- */

/* An operation of a stream that is more urgent than the one that had the engine. Priority chooses
 * among blocks of kernels that are ready; it does not reach copies, and stops nothing that runs. */
bool weir_advise_find_priority(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "priority-without-effect", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    int32_t low = INT32_MAX, high = INT32_MIN;
    uint64_t copies = 0, host = 0, kernels = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->streams_count; i++) {
        if (!is_used(f, i))
            continue;
        low = WEIR_MIN(low, f->streams[i].priority);
        high = WEIR_MAX(high, f->streams[i].priority);
    }
    if (low >= high)
        return true;
    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        const struct weir_trace_op *had = op->why_op < f->ops_count ? &f->ops[op->why_op] : NULL;

        if (!weir_advise_is_work(op) || f->streams[op->stream].priority != low)
            continue;
        count++;
        if (op->why == WEIR_TRACE_WHY_HOST)
            host++;
        if (op->why != WEIR_TRACE_WHY_ENGINE || !had || f->streams[had->stream].priority <= low ||
            op->start_ns < op->ready_ns)
            continue;
        if (op->engine == WEIR_TRACE_ENGINE_KERNEL) {
            kernels += op->start_ns - op->ready_ns; /* it did act, or waited for blocks to end */
            continue;
        }
        if (op->engine == WEIR_TRACE_ENGINE_HOST) /* one thread runs them, whatever their streams */
            continue;
        copies += op->start_ns - op->ready_ns;
        d.stream = op->stream;
        weir_advise_add_site(c, &d, op->call);
    }
    if (!count || (!copies && (kernels || host * 2 < count)))
        return true;
    d.gain_ns = copies;
    if (copies)
        snprintf(d.message, sizeof d.message,
                 "operations of the most urgent stream waited %.3f ms for a copy engine that less "
                 "urgent copies had: priority orders blocks of kernels, not copies",
                 (double)copies * 1e-6);
    else
        snprintf(d.message, sizeof d.message,
                 "of %u operations in the most urgent streams %llu started as soon as the host "
                 "submitted them, and none waited for blocks of less urgent kernels: there is "
                 "nothing that priority could change",
                 count, (unsigned long long)host);
    snprintf(d.change, sizeof d.change, "%s",
             copies ? "cut the large copies of the less urgent streams into pieces, so that an "
                      "urgent one gets in between; or, where the urgent data is small, let its "
                      "kernels read and write pinned memory themselves: then nothing is copied"
                    : "leave the priorities out; submit earlier, if these must be sooner");
    return weir_advise_add(c, &d);
}

/* ---- 20: few hardware queues ---- */

#define QUEUES         8 /* CUDA_DEVICE_MAX_CONNECTIONS, when not set */
#define QUEUES_MOST    32
#define CONNECTION_VAR "CUDA_DEVICE_MAX_CONNECTIONS="

static const char *setting_of(const struct weir_trace_file *f, const char *name)
{
    for (size_t i = 0; i < f->environment_count; i++) {
        if (strncmp(f->environment[i], name, strlen(name)) == 0)
            return f->environment[i] + strlen(name);
    }
    return NULL;
}

/* Weir gives each stream a queue of its own; a GPU has few. What it costs there is what the
 * simulator says with so many queues, against what it says without. */
bool weir_advise_find_queues(struct weir_advise_context *c)
{
    struct weir_advise_finding d = {.kind = "queue-order", .stream = WEIR_TRACE_NONE};
    const char *set = setting_of(c->f, CONNECTION_VAR);
    uint32_t queues =
        set ? (uint32_t)WEIR_MIN(strtoul(set, NULL, 10), (unsigned long)QUEUES_MOST) : QUEUES;
    struct weir_plan_scenario s = {0};
    struct weir_plan_outcome few, more = c->base;
    uint32_t used = 0, last = WEIR_TRACE_NONE, one = WEIR_TRACE_NONE, two = WEIR_TRACE_NONE;
    char names[2][64];

    queues = WEIR_MAX(queues, 1u);
    for (uint32_t i = 0; i < c->f->streams_count; i++) {
        if (!is_used(c->f, i))
            continue;
        used++;
        for (uint32_t k = i + queues; k < c->f->streams_count && one == WEIR_TRACE_NONE;
             k += queues) {
            if (is_used(c->f, k)) { /* the same number modulo the queues */
                one = i;
                two = k;
            }
        }
    }
    if (used <= queues || one == WEIR_TRACE_NONE)
        return true;
    s.hw_queues = queues;
    if (c->model.machine) { /* its queues are in the base already */
        s.hw_queues = used;
        if (!weir_plan_recorded_run(&c->model, &s, &more))
            return false;
        s.hw_queues = queues;
    }
    if (!weir_plan_recorded_run(&c->model, &s, &few))
        return false;
    if (few.length_ns <= more.length_ns)
        return true;
    d.gain_ns = few.length_ns - more.length_ns;
    d.beyond_ns = few.length_ns - WEIR_MIN(few.length_ns, c->base.length_ns);
    for (size_t i = 0; i < c->f->ops_count && d.site_count < 3; i++) {
        if (c->f->ops[i].kind == WEIR_TRACE_OP_KERNEL && c->f->ops[i].stream == last)
            weir_advise_add_site(c, &d, c->f->ops[i].call);
        last = c->f->ops[i].stream;
    }
    snprintf(d.message, sizeof d.message,
             "%u streams share %u hardware queue%s on a GPU (%s and %s one of them), and each runs "
             "its streams' operations in the order of submission: issued stream by stream, work "
             "waits behind work that it does not depend on. (Weir has a queue a stream: this is "
             "what a GPU would add)",
             used, queues, queues == 1 ? ", by request," : "s",
             weir_trace_stream_name(c->f, one, names[0]),
             weir_trace_stream_name(c->f, two, names[1]));
    snprintf(d.change, sizeof d.change,
             "submit breadth first (the first operation of all streams, then the second), or "
             "set " CONNECTION_VAR "%u before the first CUDA call, or use %u streams",
             QUEUES_MOST, queues);
    return weir_advise_add(c, &d);
}

/* ---- 21: one instance of a graph in several streams ---- */

bool weir_advise_find_graph_launches(struct weir_advise_context *c)
{
    const struct weir_plan_scenario s = {.no_graph_order = true};
    struct weir_advise_finding d = {.kind = "graph-in-turn", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint32_t count = 0;

    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];

        for (uint32_t k = 0; op->kind == WEIR_TRACE_OP_GRAPH && k < op->dep_count; k++) {
            const struct weir_trace_dep *dep = &f->deps[op->dep_first + k];

            if (dep->rule != WEIR_RULE_GRAPH_ITSELF || dep->op >= f->ops_count ||
                f->ops[dep->op].stream == op->stream)
                continue;
            count++;
            d.stream = op->stream;
            weir_advise_add_site(c, &d, op->call);
        }
    }
    if (!count)
        return true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    snprintf(d.message, sizeof d.message,
             "one instance of a graph is launched in several streams: %u time%s a launch waited "
             "for the launch before it in another stream (ORD-030)",
             count, count == 1 ? "" : "s");
    snprintf(d.change, sizeof d.change,
             "instantiate the graph once for each stream, with buffers of its own");
    return weir_advise_add(c, &d);
}

/* ---- 22: a full stream ---- */

bool weir_advise_find_full_queues(struct weir_advise_context *c)
{
    const struct weir_plan_scenario s = {.no_queue_limit = true};
    struct weir_advise_finding d = {.kind = "queue-full", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    uint64_t waited = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *k = &f->calls[i];

        if (k->sync_count || !k->op_count || !k->waited_ns)
            continue;
        count++;
        waited += k->waited_ns;
        weir_advise_add_site(c, &d, i);
        d.stream = f->ops[f->call_ops[k->op_first]].stream;
    }
    if (!count)
        return true;
    if (!weir_advise_price(c, &s, &d.gain_ns))
        return false;
    snprintf(
        d.message, sizeof d.message,
        "%u call%s that only submit%s waited %.3f ms for room: a stream takes about a thousand "
        "operations, then the call blocks, and the host can feed no other stream meanwhile",
        count, count == 1 ? "" : "s", count == 1 ? "s" : "", (double)waited * 1e-6);
    snprintf(d.change, sizeof d.change,
             "submit to the streams in turn, or from a thread each; or put the sequence into a "
             "graph: one launch takes one place");
    return weir_advise_add(c, &d);
}

/* ---- 23: variables and tools that make everything wait ---- */

static const struct setting {
    const char *name;
    bool blocks;
    const char *text;
} settings[] = {
    {"CUDA_LAUNCH_BLOCKING=1", true, "every launch waits for its kernel, so nothing overlaps"},
    {"CUDA_DEVICE_MAX_CONNECTIONS=1", false,
     "all streams share one hardware queue: operations run in the order of submission, by request"},
    {"CUDA_PROFILE=1", true, "the profiler serialises kernels"},
    {"CUDA_INJECTION64_PATH=", false, "a tool is loaded into the program; some serialise kernels"},
    {"NSYS_", false, "the program runs under a profiler"},
    {"COMPUTE_SANITIZER_", false, "the program runs under a sanitizer, which serialises kernels"},
};

/* Launches that waited for their kernels: as Weir does for CUDA_LAUNCH_BLOCKING. By call; how many.
 */
static uint32_t find_blocked(const struct weir_trace_file *f, bool *calls)
{
    uint32_t count = 0;

    for (size_t i = 0; i < f->calls_count; i++) {
        const struct weir_trace_call *k = &f->calls[i];

        calls[i] = k->sync_count && k->op_count &&
                   f->ops[f->call_ops[k->op_first]].kind == WEIR_TRACE_OP_KERNEL;
        count += calls[i];
    }
    return count;
}

static bool price_blocking(const struct weir_advise_context *c, struct weir_advise_finding *d,
                           bool *obeyed)
{
    bool *calls = weir_calloc(c->f->calls_count + 1, sizeof *calls), ok = calls != NULL;
    const struct weir_plan_scenario without = {.no_wait = calls}, with = {.blocking = true};
    struct weir_plan_outcome r;

    *obeyed = ok && find_blocked(c->f, calls) > 0;
    if (*obeyed)
        ok = weir_advise_price(c, &without, &d->gain_ns);
    else if (ok && (ok = weir_plan_recorded_run(&c->model, &with, &r)) &&
             r.length_ns > c->base.length_ns)
        d->gain_ns = d->beyond_ns = r.length_ns - c->base.length_ns;
    weir_free(calls);
    return ok;
}

static bool find_setting(struct weir_advise_context *c, const struct setting *set, const char *text)
{
    struct weir_advise_finding d = {.kind = "serialising-setting", .stream = WEIR_TRACE_NONE};
    size_t name = strcspn(text, "=");
    bool obeyed = true;

    if (set->blocks && !price_blocking(c, &d, &obeyed))
        return false;
    snprintf(d.message, sizeof d.message, "%.*s is set: %s%s",
             (int)WEIR_MIN(name + 12, strlen(text)), text, set->text,
             obeyed ? "" : ". (The traced run did not obey it: this is what a GPU would add)");
    snprintf(d.change, sizeof d.change, "unset %.*s, but to look for errors", (int)name, text);
    return weir_advise_add(c, &d);
}

bool weir_advise_find_settings(struct weir_advise_context *c)
{
    for (size_t i = 0; i < c->f->environment_count; i++) {
        for (size_t k = 0; k < WEIR_ARRAY_SIZE(settings); k++) {
            const char *text = c->f->environment[i], *name = settings[k].name;

            if (strncmp(text, name, strlen(name)) != 0 ||
                (name[strlen(name) - 1] == '1' && text[strlen(name)]))
                continue;
            if (!find_setting(c, &settings[k], text))
                return false;
        }
    }
    return true;
}

/* ---- 30: a library in the default stream ---- */

static const struct library {
    const char *file, *call;
} libraries[] = {
    {"libcublas", "cublasSetStream"},
    {"libcudnn", "cudnnSetStream"},
    {"libcufft", "cufftSetStream"},
    {"libcusparse", "cusparseSetStream"},
    {"libcusolver", "cusolverDnSetStream"},
    {"libcurand", "curandSetStream"},
    {"libnpp", "its Ctx functions with a stream in NppStreamContext"},
    {"libnvjpeg", "the stream argument of nvjpegDecode"},
    {"libnccl", "the stream argument of each collective"},
};

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_library(const struct weir_trace_file *f, const char *module)
{
    return *module && strstr(file_of(module), ".so") != NULL && strcmp(module, f->program) != 0;
}

/* The call that sets a library's stream: known, or by its own name. */
static const char *stream_call(const char *module)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(libraries); i++) {
        if (strncmp(file_of(module), libraries[i].file, strlen(libraries[i].file)) == 0)
            return libraries[i].call;
    }
    return NULL;
}

bool weir_advise_find_libraries(struct weir_advise_context *c)
{
    const struct weir_plan_scenario s = {.nonblocking = true, .data_orders = true};
    struct weir_advise_finding d = {.kind = "library-default-stream", .stream = WEIR_TRACE_NONE};
    const struct weir_trace_file *f = c->f;
    const char *module = NULL, *call;
    uint32_t count = 0, own = 0, others = 0;

    for (size_t i = 0; i < f->ops_count; i++) {
        const struct weir_trace_op *op = &f->ops[i];
        uint32_t site = op->call == WEIR_TRACE_NONE ? WEIR_TRACE_NONE : f->calls[op->call].site;

        if (!weir_advise_is_work(op))
            continue;
        if (f->streams[op->stream].cls != WEIR_TRACE_STREAM_LEGACY) {
            others++;
            continue;
        }
        if (site == WEIR_TRACE_NONE || !is_library(f, f->sites[site].module)) {
            own++;
            continue;
        }
        count++;
        module = f->sites[site].module;
        d.stream = op->stream;
        weir_advise_add_site(c, &d, op->call);
    }
    if (!count || !others || own > count)
        return true;
    if (c->data.known && !weir_advise_price(c, &s, &d.gain_ns))
        return false;
    call = stream_call(module);
    snprintf(d.message, sizeof d.message,
             "%s works in the default stream (%u operations), which waits for all blocking streams "
             "and they for it (ORD-003, ORD-004), while the program uses streams of its own",
             file_of(module), count);
    if (call)
        snprintf(d.change, sizeof d.change, "give the library a stream: %s", call);
    else
        snprintf(d.change, sizeof d.change,
                 "give %s a stream by its own call or argument for that; else build it with "
                 "--default-stream per-thread, or make the program's streams cudaStreamNonBlocking",
                 file_of(module));
    return weir_advise_add(c, &d);
}
