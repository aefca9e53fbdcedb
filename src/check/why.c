/* Why two accesses have no order, and the least that would order them: the rule that the program
 * seems to have counted on is looked for in what it did between the two.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check/check_int.h"

static void say(struct weir_check_finding *f, const char *why, const char *change)
{
    f->why.format = why;
    f->change.format = change;
}

/* The same places for both sentences. */
static void at(struct weir_check_finding *f, struct weir_check_site one, struct weir_check_site two,
               struct weir_check_site three)
{
    const struct weir_check_site sites[3] = {one, two, three};

    memcpy(f->why.sites, sites, sizeof sites);
    memcpy(f->change.sites, sites, sizeof sites);
}

/* ---- what the program did with events ---- */

static const struct weir_check_wait *wait_at(uint64_t n)
{
    return &weir_checker.waits[n % WEIR_CHECK_WAITS];
}

static uint64_t oldest_wait(void)
{
    uint64_t n = weir_checker.wait_count;

    return n > WEIR_CHECK_WAITS ? n - WEIR_CHECK_WAITS : 0;
}

/* The wait, or the record that it is for, is a node of a graph that is beside the access. */
static bool node_misses(struct weir_check_finding *f, const struct weir_check_wait *w,
                        const struct weir_order_stamp *of, const struct weir_order_stamp *by)
{
    if (w->inside && w->at + 1 == by->seq && w->record_lane == of->lane &&
        w->record_seq >= of->seq) {
        at(f, w->recorded, w->waited, f->a.op.site);
        say(f,
            "a node of the launch at {2} waits for the event recorded at {1}, but no path of edges "
            "leads from that node to the second, which so need not wait (GRA-011)",
            "add a dependency from the wait's node to the second");
        return true;
    }
    if (w->launch_lane == of->lane && w->launch_seq == of->seq && w->at < by->seq) {
        at(f, w->recorded, w->waited, f->a.op.site);
        say(f,
            "the event that is waited for at {2} is recorded by a node of the launch at {1}, to "
            "which no path of edges leads from the first (GRA-011)",
            "add a dependency from the first to the record's node, or record an event in the "
            "stream behind the launch at {1}");
        return true;
    }
    return false;
}

/* A wait of `by`'s stream that does not do for `of` what it seems to be for. */
static bool wait_that_misses(struct weir_check_finding *f, const struct weir_order_stamp *of,
                             const struct weir_order_stamp *by)
{
    for (uint64_t n = weir_checker.wait_count; n > oldest_wait(); n--) {
        const struct weir_check_wait *w = wait_at(n - 1);
        const struct weir_check_event *e = weir_map_get(&weir_checker.events, (uintptr_t)w->event);
        bool before = w->at < by->seq;

        if (w->lane != by->lane)
            continue;
        if (node_misses(f, w, of, by))
            return true;
        if (w->inside && w->at + 1 == by->seq)
            before = false; /* only for what is behind that node */
        if (w->record_lane == 0 && before) {
            at(f, w->waited, f->a.op.site, f->b.op.site);
            say(f,
                "the second's stream waits at {1} for an event that had never been recorded, which "
                "is "
                "no wait at all (ORD-023)",
                "record that event in the first's stream behind {2}, before the wait at {1}");
            return true;
        }
        if (before && w->lost_lane == of->lane && w->lost_seq >= of->seq) {
            at(f, w->lost, w->recorded, w->waited);
            say(f,
                "the event's record at {1} covers the first, but the event was recorded again in "
                "another stream at {2} before anyone waited for that: the wait at {3} takes the "
                "newest "
                "record only (ORD-022)",
                "give each stream an event of its own, and wait for all of them; or wait at {3} "
                "after "
                "each record");
            return true;
        }
        if (w->record_lane != of->lane)
            continue;
        if (before && w->record_seq < of->seq) {
            bool again =
                e && e->records > w->record && e->stamp.lane == of->lane && e->stamp.seq >= of->seq;

            at(f, w->recorded, w->waited, again ? e->recorded : f->a.op.site);
            say(f,
                again
                    ? "the wait at {2} took the event's record at {1}, made before the first was "
                      "submitted; the record at {3} came after the wait, which it does not extend "
                      "(ORD-021)"
                    : "the event that the second's stream waits for at {2} was recorded at {1}, "
                      "before "
                      "the first was submitted at {3}: a record covers what is in its stream at "
                      "that "
                      "time (ORD-020)",
                again ? "wait for the event after its record at {3}"
                      : "move the record at {1} behind the work at {3}");
            return true;
        }
        if (!before && w->record_seq >= of->seq) {
            at(f, w->waited, f->b.op.site, f->a.op.site);
            say(f,
                "the second's stream waits for the first only at {1}, after the second was "
                "submitted "
                "at {2}: a wait holds back what comes after it (ORD-021)",
                "make that wait at {1} before {2}");
            return true;
        }
    }
    return false;
}

/* An event's last record that comes behind `of`. */
static const struct weir_check_event *record_behind(const struct weir_order_stamp *of)
{
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.events, &pos, &key, &value)) {
        const struct weir_check_event *e = value;

        if (e->records && e->stamp.lane == of->lane && e->stamp.seq >= of->seq)
            return e;
    }
    return NULL;
}

/* An event that the host has waited for since `of` was submitted, when its record was in front. */
static const struct weir_check_event *record_before(const struct weir_order_stamp *of,
                                                    uint64_t number)
{
    const struct weir_check_event *last = NULL;
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.events, &pos, &key, &value)) {
        const struct weir_check_event *e = value;

        if (e->awaited.lane == of->lane && e->awaited.number >= number &&
            e->awaited.seq < of->seq && (!last || last->awaited.seq < e->awaited.seq))
            last = e;
    }
    return last;
}

/* A stream that waits for `of`. */
static const struct weir_check_wait *wait_for(const struct weir_order_stamp *of)
{
    for (uint64_t n = weir_checker.wait_count; n > oldest_wait(); n--) {
        const struct weir_check_wait *w = wait_at(n - 1);

        if (w->record_lane == of->lane && w->record_seq >= of->seq)
            return w;
    }
    return NULL;
}

/* ---- between operations ---- */

static bool is_sync_call(const struct weir_check_side *s)
{
    const char *call = s->op.site.call;

    return call && !strstr(call, "Async") &&
           (strstr(call, "Memcpy") != NULL || strstr(call, "Memset") != NULL);
}

static void explain_pool(struct weir_check_finding *f)
{
    bool freed = f->kind == WEIR_FOUND_USE_AFTER_FREE;

    at(f, f->a.op.site, f->b.op.site, f->b.op.site);
    if (freed && f->b.op.kind == WEIR_OP_FREE)
        say(f,
            "a free in a stream comes behind that stream's work only, and nothing orders it behind "
            "the use in the other one",
            "record an event after {1} and let the free's stream wait for it before {2}, or free "
            "the memory in the stream that uses it last");
    else if (freed && f->b.op.kind == WEIR_OP_ALLOC)
        say(f,
            "the memory was freed and given away again at {2}, and nothing orders that behind the "
            "use in the other stream",
            "record an event after {1} and let the stream that frees the memory wait for it before "
            "it does");
    else if (freed)
        say(f, "the memory was given back at {1}, and is used afterwards",
            "free the memory after its last use at {2}");
    else
        say(f,
            "memory from {c1} may be used in its stream's order only, and nothing orders the use "
            "in the other stream behind the allocation",
            "record an event after {1} and let the user's stream wait for it before {2}");
}

static bool explain_default(struct weir_check_finding *f)
{
    const struct weir_check_stream *a = &f->a.stream, *b = &f->b.stream;
    bool legacy = a->cls == WEIR_STREAM_LEGACY || b->cls == WEIR_STREAM_LEGACY;
    const struct weir_check_side *call = a->cls == WEIR_STREAM_LEGACY ? &f->a : &f->b;

    if (!legacy || a->device != b->device || weir_checker.settings.without_legacy)
        return false;
    at(f, f->a.op.site, f->b.op.site, f->b.op.site);
    if (call == &f->a && is_sync_call(call)) {
        say(f,
            f->a.op.kind == WEIR_OP_MEMSET
                ? "{c1} returns before device memory is set (ORD-073), and the legacy default "
                  "stream "
                  "that it is in and non-blocking streams do not wait for each other (ORD-005)"
                : "{c1} may return before the data is on the device (from pageable memory as soon "
                  "as "
                  "that is read, ORD-061), and the legacy default stream that it is in and "
                  "non-blocking streams do not wait for each other (ORD-005)",
            "use its Async form in the second's stream, or synchronise with the default stream "
            "before {2}");
        return true;
    }
    say(f,
        "the legacy default stream and non-blocking streams do not wait for each other (ORD-005)",
        "put both into one stream, make the stream with cudaStreamCreate, or record an event after "
        "{1} and let the second's stream wait for it before {2}");
    return true;
}

void weir_check_explain_race(struct weir_check_finding *f, void *arg)
{
    const struct weir_race *race = arg;
    const struct weir_order_stamp *of = &race->before->stamp, *by = &race->now->stamp;
    const struct weir_check_event *e;

    if (f->kind != WEIR_FOUND_RACE) {
        explain_pool(f);
        return;
    }
    at(f, f->a.op.site, f->b.op.site, f->b.op.site);
    if (race->before->reach && race->now->reach && of->lane == by->lane && of->seq == by->seq &&
        !race->before->early && !race->now->early) {
        say(f,
            race->before->inside && race->now->inside && race->before->node == race->now->node
                ? "no path of edges leads from one node to the other in the body that both are in "
                  "(GRA-041)"
                : "no path of edges leads from one node to the other in their graph (GRAPH)",
            "add a dependency between the two nodes, or, in a capture, an event's record and wait "
            "between their streams");
        return;
    }
    if (of->lane == by->lane) {
        say(f,
            "a programmatic launch may begin before the kernel in front of it is complete "
            "(ORD-031), and has not waited for it inside (ORD-032)",
            "call cudaGridDependencySynchronize in the second kernel before it uses that memory, "
            "or "
            "launch it without the attribute at {2}");
        return;
    }
    if (wait_that_misses(f, of, by) || explain_default(f))
        return;
    e = record_behind(of);
    if (e) {
        at(f, f->a.op.site, f->b.op.site, e->recorded);
        say(f,
            "different streams have no order without an event (ORD-002): one is recorded behind "
            "the "
            "first at {3}, but the second's stream does not wait for it",
            "let the second's stream wait for the event recorded at {3}, before {2}");
        return;
    }
    say(f,
        f->a.stream.device != f->b.stream.device
            ? "streams of different devices have no order without an event (ORD-002, ORD-027)"
        : f->a.stream.cls == WEIR_STREAM_PER_THREAD || f->b.stream.cls == WEIR_STREAM_PER_THREAD
            ? "a thread's default stream is a stream like any other, and different streams have no "
              "order without an event (ORD-002, ORD-006)"
            : "different streams have no order without an event (ORD-002)",
        "record an event in the first's stream after {1}, and let the second's stream wait for it "
        "before {2}");
}

/* ---- between the host and an operation ---- */

void weir_check_explain_host(struct weir_check_finding *f, void *arg)
{
    const struct weir_actor *a = arg;
    const struct weir_check_wait *w = wait_for(&a->stamp);
    const struct weir_check_event *e;

    at(f, f->a.op.site, f->b.op.site, f->b.op.site);
    if (w) {
        at(f, f->a.op.site, f->b.op.site, w->waited);
        say(f,
            "only a stream waits for that operation at {3}, not the host, which touches the memory "
            "although no call of its own has waited (a slot used again too early)",
            "let the host wait for that event (cudaEventSynchronize) before {2}");
        return;
    }
    if (f->block.prefetched.address) {
        at(f, f->a.op.site, f->b.op.site, f->block.prefetched);
        say(f,
            "the host has not waited: a prefetch at {3} moves pages in its stream's order, and "
            "makes "
            "nobody wait",
            "cudaStreamSynchronize of the operation's stream before {2}");
        return;
    }
    e = record_before(&a->stamp, f->a.op.number);
    if (e) {
        at(f, e->awaited.at, e->awaited.recorded, f->a.op.site);
        say(f,
            "the event that the host waited for at {1} was recorded at {2}, before the operation "
            "was submitted at {3}: a record covers what is in its stream at that time (ORD-020)",
            "move the record at {2} behind the work at {3}");
        return;
    }
    e = record_behind(&a->stamp);
    at(f, f->a.op.site, f->b.op.site, e ? e->recorded : f->b.op.site);
    say(f,
        e ? "the host has not waited: neither for the event recorded behind the operation at {3} "
            "nor "
            "for its stream (ORD-040, ORD-044)"
          : "the host has waited for nothing that comes behind the operation: a query or wait that "
            "is no proof for it, or none (ORD-040, ORD-044)",
        e ? "cudaEventSynchronize for the event recorded at {3}, before {2}"
          : "cudaStreamSynchronize of the operation's stream, or an event recorded after {1} and "
            "cudaEventSynchronize, before {2}");
}
