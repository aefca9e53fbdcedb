/* Words for the numbers in a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/compiler.h"
#include "model/rules.h"
#include "weir/trace.h"

const char *weir_trace_kind_name(unsigned kind)
{
    static const char *const names[] = {"kernel", "copy",  "memset", "host function", "record",
                                        "wait",   "order", "alloc",  "free",          "graph"};

    return kind < WEIR_ARRAY_SIZE(names) ? names[kind] : "?";
}

const char *weir_trace_engine_name(unsigned engine)
{
    static const char *const names[] = {"kernels", "H2D", "D2H", "on device", "host functions"};

    return engine < WEIR_ARRAY_SIZE(names) ? names[engine] : "none";
}

const char *weir_trace_memory_name(unsigned cls)
{
    static const char *const names[] = {"pageable", "pinned", "device", "managed"};

    return cls < WEIR_ARRAY_SIZE(names) ? names[cls] : "?";
}

const char *weir_trace_rule_text(unsigned rule)
{
    switch (rule) {
    case WEIR_RULE_LEGACY_FOLLOWS:
        return "the legacy default stream follows all blocking streams";
    case WEIR_RULE_FOLLOWS_LEGACY:
        return "a blocking stream follows the legacy default stream";
    case WEIR_RULE_PER_THREAD:
        return "a per-thread default stream is a blocking stream";
    case WEIR_RULE_LEGACY_RECORD_WAIT:
        return "a record or wait in the legacy default stream orders as other work there";
    case WEIR_RULE_DESTROYED_IN_LEGACY:
        return "work of a destroyed stream still orders the legacy default stream";
    case WEIR_RULE_LEGACY_PEER:
        return "a copy between devices orders both default streams";
    case WEIR_RULE_RECORD_CAPTURES:
    case WEIR_RULE_WAIT_SNAPSHOT:
    case WEIR_RULE_RERECORD:
        return "cudaStreamWaitEvent";
    case WEIR_RULE_RECORD_BEHIND_LEGACY:
        return "a record waits for the legacy default stream";
    case WEIR_RULE_WAIT_ACROSS_DEVICES:
        return "cudaStreamWaitEvent across devices";
    default:
        return rule ? "a rule of order" : "";
    }
}

char *weir_trace_stream_name(const struct weir_trace_file *f, uint32_t stream, char *out)
{
    static const char *const names[] = {"default stream", "per-thread stream", "stream", "stream"};
    const struct weir_trace_stream *s;

    if (stream >= f->streams_count) {
        snprintf(out, 64, "unknown stream");
        return out;
    }
    s = &f->streams[stream];
    if (s->graph_lane > 1)
        snprintf(out, 64, "graphs of %llu (%u)", (unsigned long long)s->id, s->graph_lane);
    else if (s->graph_lane)
        snprintf(out, 64, "graphs of %llu", (unsigned long long)s->id);
    else if (s->cls == WEIR_TRACE_STREAM_LEGACY)
        snprintf(out, 64, s->device ? "%s of device %u" : "%s", names[0], s->device);
    else
        snprintf(out, 64, "%s %llu", names[s->cls & 3], (unsigned long long)s->id);
    return out;
}
