/* What is wrong with the calls themselves: events, captures, handles, errors, leaks, and what the
 * project forbids itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "check/check_int.h"

#define here weir_check_here

/* ---- host functions ---- */

void weir_check_host_func_call(void)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_CALLBACK_API,
        .a = weir_check_side_call(at, "a call inside a host function or callback"),
        .what = {.format = "{c1} inside a host function or callback", .sites[0] = at},
        .why = {.format = "a host function must not call CUDA: the call is refused "
                          "(cudaErrorNotPermitted, 800)"},
        .change = {.format = "let the host function signal a thread that makes the call"},
    };

    weir_check_lock();
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

/* ---- events ---- */

void weir_check_recorded(struct weir_check_event *e, struct weir_order_stamp *old,
                         struct weir_check_site at)
{
    struct weir_order *o = &weir_checker.order;

    if (e->lost.lane)
        weir_order_stamp_drop(o, &e->lost);
    if (e->records && !e->looked_at && old->lane != e->stamp.lane) {
        weir_order_stamp_copy(&e->lost, old);
        e->lost_at = e->recorded;
    }
    e->records++;
    e->looked_at = false;
    e->launch_lane = 0;
    e->recorded = at;
}

static void note_lost(const struct weir_check_event *e, uint32_t lane, struct weir_check_site at)
{
    const struct weir_order *o = &weir_checker.order;
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_LOST_RECORD,
        .a = weir_check_side_call(e->lost_at, "the record that is lost"),
        .b = weir_check_side_call(at, "the wait"),
        .what = {.format = "an event was recorded again in another stream before anyone waited "
                           "for its record"},
        .why = {.format =
                    "a wait takes an event's newest record, made at {1}, and nothing orders the "
                    "work before the older one at {2} (ORD-022)",
                .sites = {e->recorded, e->lost_at}},
        .change = {.format = "give each stream an event of its own, or wait after each record"},
    };

    if (weir_order_lane_follows(o, lane, &e->lost) || weir_order_host_knows(o, &e->lost))
        return;
    weir_check_found(&f, NULL, NULL);
}

static void note_unneeded(const struct weir_check_event *e, struct weir_check_site at)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_UNNEEDED_WAIT,
        .a = weir_check_side_call(at, "the wait"),
        .b = weir_check_side_call(e->recorded, "the record"),
        .why = {.format = "the waiting stream comes behind that record without the wait"},
        .change = {.format = "leave the wait out"},
    };

    weir_check_found(&f, NULL, NULL);
}

void weir_check_waited(const void *event, struct weir_check_event *e, uint32_t lane, bool inside,
                       struct weir_check_site at)
{
    struct checker *c = &weir_checker;
    struct weir_check_wait *w = &c->waits[c->wait_count++ % WEIR_CHECK_WAITS];

    /* All that is read of it: the rest of a wait of before may stay. */
    w->lane = lane;
    w->at = lane < c->order.lane_count ? c->order.lanes[lane].last : 0;
    w->event = event;
    w->waited = at;
    w->record_lane = w->lost_lane = w->launch_lane = 0;
    w->inside = inside;
    if (!e)
        return;
    if (!e->records) {
        if (!e->noop_waits++)
            e->noop = at;
        return;
    }
    w->record_lane = e->stamp.lane;
    w->record_seq = e->stamp.seq;
    w->record = e->records;
    w->recorded = e->recorded;
    w->launch_lane = e->launch_lane;
    w->launch_seq = e->launch_seq;
    if (e->lost.lane) {
        w->lost_lane = e->lost.lane;
        w->lost_seq = e->lost.seq;
        w->lost = e->lost_at;
        note_lost(e, lane, at);
    } else if (weir_order_lane_follows(&c->order, lane, &e->stamp)) {
        note_unneeded(e, at);
    }
    e->looked_at = true;
}

void weir_check_event_gone(const struct weir_check_event *e)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_NOOP_WAIT,
        .a = weir_check_side_call(e->noop, "the wait"),
        .why = {.format = "an event that was never recorded stands for no work: waiting for it "
                          "does nothing, {n} time(s) (ORD-023)",
                .number = e->noop_waits},
        .change = {.format = "record the event behind the work that is meant"},
    };

    if (e->noop_waits && !e->records)
        weir_check_found(&f, NULL, NULL);
}

/* ---- handles ---- */

void weir_check_object_locked(const void *p, const char *kind, struct weir_check_site at)
{
    struct weir_check_object *o = weir_map_get(&weir_checker.objects, (uintptr_t)p);

    if (!o) {
        o = weir_calloc(1, sizeof *o);
        if (!o || !weir_map_put(&weir_checker.objects, (uintptr_t)p, o)) {
            weir_free(o);
            weir_check_lost_locked();
            return;
        }
    }
    *o = (struct weir_check_object){.kind = kind, .alive = true, .made = at};
}

void weir_check_object(const void *p, const char *kind)
{
    struct weir_check_site at = weir_check_site_now(false);

    weir_check_lock();
    weir_check_object_locked(p, kind, at);
    weir_check_unlock();
}

void weir_check_object_end_locked(const void *p, struct weir_check_site at)
{
    struct weir_check_object *o = weir_map_get(&weir_checker.objects, (uintptr_t)p);

    if (o) {
        o->alive = false;
        o->ended = at;
    }
}

void weir_check_object_end(const void *p)
{
    struct weir_check_site at = weir_check_site_now(false);

    weir_check_lock();
    weir_check_object_end_locked(p, at);
    weir_check_unlock();
}

void weir_check_bad_handle(const void *handle)
{
    struct weir_check_site at = weir_check_site_now(false);
    const struct weir_check_object *o;

    weir_check_lock();
    o = weir_map_get(&weir_checker.objects, (uintptr_t)handle);
    if (o && !o->alive) {
        struct weir_check_finding f = {
            .kind = WEIR_FOUND_DEAD_HANDLE,
            .a = weir_check_side_call(o->ended, "the end of it"),
            .b = weir_check_side_call(at, "the use"),
            .what = {.format = "{c1} of a destroyed {t}", .text = o->kind, .sites[0] = at},
            .why = {.format =
                        "that {t} was made at {1} and given back at {2}; its handle is good for "
                        "nothing since, and may name another one later",
                    .text = o->kind,
                    .sites = {o->made, o->ended}},
            .change = {.format = "give it back after its last use at {1}", .sites[0] = at},
        };

        weir_check_found(&f, NULL, NULL);
    }
    weir_check_unlock();
}

/* ---- captures ---- */

void weir_check_capture(const void *stream, bool begins)
{
    struct weir_check_capture *c = begins ? weir_calloc(1, sizeof *c) : NULL, *old;

    if (c)
        *c = (struct weir_check_capture){.thread = weir_thread_id(),
                                         .began = weir_check_site_now(false)};
    weir_check_lock();
    old = weir_map_remove(&weir_checker.captures, (uintptr_t)stream);
    if (c && !weir_map_put(&weir_checker.captures, (uintptr_t)stream, c)) {
        weir_free(c);
        weir_check_lost_locked();
    }
    weir_check_unlock();
    weir_free(old);
}

void weir_check_captured(const void *stream)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {.kind = WEIR_FOUND_GRAPH_LACKS};
    const struct weir_check_capture *c;

    weir_check_lock();
    c = weir_map_get(&weir_checker.captures, (uintptr_t)stream);
    if (c && c->refused_count) {
        f.a = weir_check_side_call(c->refused, "the call that was refused");
        f.b = weir_check_side_call(at, "the end of the capture");
        f.why = (struct weir_check_say){
            .format =
                "the graph lacks work of {n} calls that the capture refused without breaking: "
                "its launches leave that out, and nothing says so",
            .number = c->refused_count,
            .sites[0] = at};
        f.change = (struct weir_check_say){
            .format =
                "look at what {c1} returns at {1}, and use a call that can be captured in its "
                "place: cudaMemcpyAsync for each copy of a batch",
            .sites[0] = c->refused};
        weir_check_found(&f, NULL, NULL);
    }
    weir_check_unlock();
}

/* The calling thread's, else any. */
static struct weir_check_capture *some_capture(bool own)
{
    uint32_t thread = weir_thread_id();
    struct weir_check_capture *found = NULL;
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.captures, &pos, &key, &value)) {
        struct weir_check_capture *c = value;

        if (c->thread == thread)
            return c;
        if (!own)
            found = c;
    }
    return found;
}

struct capture_text {
    const char *why, *change;
};

static struct capture_text capture_text(enum weir_err err)
{
    switch (err) {
    case WEIR_ERR_STREAM_CAPTURE_MERGE:
        return (struct capture_text){
            "it would join two captures that began separately (902)",
            "begin one capture only, and let its stream fork into the other by an event"};
    case WEIR_ERR_STREAM_CAPTURE_UNMATCHED:
        return (struct capture_text){
            "a capture ends in the stream that it began in (903)",
            "call cudaStreamEndCapture for the stream of cudaStreamBeginCapture at {2}"};
    case WEIR_ERR_STREAM_CAPTURE_UNJOINED:
        return (struct capture_text){
            "a stream that an event's wait brought into the capture has work that the stream which "
            "began it does not wait for (904); that the host waits is no join",
            "record an event behind the last work of each such stream, and let the capturing "
            "stream wait for it before {1}"};
    case WEIR_ERR_STREAM_CAPTURE_ISOLATION:
        return (struct capture_text){
            "captured work cannot depend on work that is not captured (905)",
            "wait for that work before the capture begins at {2}"};
    case WEIR_ERR_STREAM_CAPTURE_IMPLICIT:
        return (struct capture_text){
            "work or a wait in the legacy default stream, while a blocking stream captures, would "
            "depend on it (906)",
            "make the capturing stream with cudaStreamNonBlocking, and keep the default stream out "
            "of the capture"};
    case WEIR_ERR_CAPTURED_EVENT:
        return (struct capture_text){
            "an event that was recorded in a capture stands for a node, not for work that the host "
            "could ask about (907)",
            "use an event of its own for the host"};
    case WEIR_ERR_STREAM_CAPTURE_WRONG_THREAD:
        return (struct capture_text){
            "a capture that is not relaxed ends in the thread that began it (908)",
            "end it in the thread that began it at {2}"};
    default:
        return (struct capture_text){
            "the call is not allowed while a stream captures: it would wait, or touch what a "
            "replay may use, or cannot become a node (900)",
            "make the call before the capture begins at {2}, or, if it has nothing to do with it, "
            "with cudaThreadExchangeStreamCaptureMode(relaxed) around it"};
    }
}

/* Would the call have added work? */
static bool is_work(const char *call)
{
    return strstr(call, "Async") || strstr(call, "Launch");
}

static bool is_of_captures(enum weir_err err)
{
    return err >= WEIR_ERR_STREAM_CAPTURE_UNSUPPORTED &&
           err <= WEIR_ERR_STREAM_CAPTURE_WRONG_THREAD;
}

void weir_check_capture_failed(enum weir_err err)
{
    struct weir_check_site at;
    struct weir_check_finding f = {.kind = WEIR_FOUND_CAPTURE};
    struct capture_text text = capture_text(err);
    struct weir_check_capture *c;

    /* What is only asked is no mistake, and what was broken before has been told. */
    if (!is_of_captures(err) || err == WEIR_ERR_STREAM_CAPTURE_INVALIDATED || !here.call ||
        strstr(here.call, "IsCapturing") || strstr(here.call, "CaptureInfo"))
        return;
    at = weir_check_site_now(false);
    weir_check_lock();
    c = some_capture(false);
    f.a = weir_check_side_call(at, "the call");
    if (c)
        f.b = weir_check_side_call(c->began, "the capture that began");
    if (c && is_work(here.call) && !c->refused_count++)
        c->refused = at;
    f.what = (struct weir_check_say){.format = "{c1} during a stream capture: {t}",
                                     .text = weir_err_name((int)err),
                                     .sites[0] = at};
    f.why = (struct weir_check_say){.format = text.why};
    f.change = (struct weir_check_say){.format = text.change, .sites = {at, c ? c->began : at}};
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

void weir_check_not_captured_locked(const struct weir_actor *a)
{
    const struct weir_check_capture *c = some_capture(true);
    struct weir_check_finding f = {.kind = WEIR_FOUND_NOT_CAPTURED};

    if (!c)
        return;
    f.a = weir_check_side_of(a, WEIR_ACCESS_READ);
    f.a.no_access = true;
    f.b = weir_check_side_call(c->began, "the capture that began");
    f.why = (struct weir_check_say){
        .format =
            "its stream takes no part in the capture that its thread has begun at {1}: it runs "
            "once, now, and no launch of the graph does it again",
        .sites[0] = c->began};
    f.change = (struct weir_check_say){
        .format = "if it belongs to the graph, put it into the capturing stream, or let its stream "
                  "wait for an event that is recorded there"};
    weir_check_found(&f, NULL, NULL);
}

uintptr_t weir_check_frame(void)
{
    return (uintptr_t)here.frame;
}

void weir_check_dead_source(const void *p, size_t bytes, bool on_stack)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_DEAD_SOURCE,
        .a = weir_check_side_call(at, "the launch"),
        .begin = (uintptr_t)p,
        .end = (uintptr_t)p + bytes,
        .why = {.format = on_stack ? "a copy in the graph reads its host memory at every launch, "
                                     "and that was a variable of a function that has returned"
                                   : "a copy in the graph reads its host memory at every launch, "
                                     "and that has been freed"},
        .change = {.format = "keep the memory that a captured copy reads for as long as the graph "
                             "is launched"},
    };

    weir_check_lock();
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

/* ---- deadlocks ---- */

void weir_check_waits_locked(const struct weir_check_site *at)
{
    struct weir_check_site *known = weir_map_get(&weir_checker.waiting, at->thread);

    if (!known) {
        known = weir_calloc(1, sizeof *known);
        if (!known || !weir_map_put(&weir_checker.waiting, at->thread, known)) {
            weir_free(known);
            return;
        }
    }
    *known = *at;
}

/* Lines into one: "  a\n    waits for\n  b\n" becomes "a, which waits for b". */
static char *join_lines(const char *text)
{
    char *out = weir_alloc(8 * strlen(text) + 1), *to = out;

    if (!out)
        return NULL;
    while (*text) {
        size_t n = strcspn(text, "\n"), indent = strspn(text, " ");

        if (to > out)
            to = stpcpy(to, indent > 2 ? ", which " : " ");
        memcpy(to, text + indent, n - indent);
        to += n - indent;
        text += n + (text[n] == '\n');
    }
    *to = '\0';
    return out;
}

void weir_check_deadlock(const char *text, uint32_t thread, struct weir_check_op *op)
{
    struct weir_check_finding f = {.kind = WEIR_FOUND_DEADLOCK};
    const struct weir_check_site *at;
    struct weir_actor *a;

    if (!weir_check_reports())
        return;
    weir_check_lock();
    at = weir_map_get(&weir_checker.waiting, thread);
    a = op ? weir_check_actor_locked(op) : NULL;
    if (at)
        f.a = weir_check_side_call(*at, "the wait");
    if (a) {
        f.b = weir_check_side_of(a, WEIR_ACCESS_READ);
        f.b.no_access = true;
    }
    f.why = (struct weir_check_say){.format = "{t}", .text = join_lines(text)};
    f.change = (struct weir_check_say){
        .format = "let nothing that a stream has to run wait for what its waiter holds: give up "
                  "the lock before the call that waits, or take it in the host function no more"};
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
    (void)weir_check_finish(); /* exit handlers would hang with the rest */
    _exit(weir_checker.settings.status);
}

/* ---- memory ---- */

void weir_check_prefetch(const void *p)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_block *b;

    weir_check_lock();
    b = weir_map_get(&weir_checker.blocks, (uintptr_t)p);
    if (b)
        b->prefetched = at;
    weir_check_unlock();
}

/* ---- errors ---- */

static struct weir_check_errors *errors_here(void)
{
    struct weir_check_errors *e = here.errors;

    if (e)
        return e;
    e = weir_calloc(1, sizeof *e);
    if (!e)
        return NULL;
    here.errors = e;
    weir_check_lock();
    e->next = weir_checker.errors;
    weir_checker.errors = e;
    weir_check_unlock();
    return e;
}

static bool is_told_otherwise(enum weir_err err)
{
    return weir_err_is_sticky((int)err) || err == WEIR_ERR_NOT_PERMITTED || is_of_captures(err);
}

/* What it was born with. */
static void explain_failure(struct weir_check_finding *f, void *arg)
{
    f->why.text = weir_strdup(arg);
}

static void note_failure(enum weir_err err, struct weir_check_site at)
{
    char message[256];
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_CALL_FAILED,
        .a = weir_check_side_call(at, "the call"),
        .what = {.format = "{c1} gave {t}", .text = weir_err_name((int)err), .sites[0] = at},
        .why = {.format = "{t}"},
    };

    snprintf(message, sizeof message, "%s", weir_err_message());
    weir_check_lock();
    weir_check_found(&f, explain_failure, message);
    weir_check_unlock();
}

/* The operation's failure has come to the program. */
static void fault_seen(enum weir_err err)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding *f;

    weir_check_lock();
    f = weir_checker.fault;
    if (f && err == weir_checker.fault_error && !f->b.used) {
        f->b = weir_check_side_call(at, "the call that returned its error first");
        f->why = (struct weir_check_say){
            .format = "errors of work that runs later are returned by whatever call comes next: "
                      "{c1} at {1} is not to blame",
            .sites[0] = at};
    }
    weir_check_unlock();
}

void weir_check_failed(enum weir_err err)
{
    struct weir_check_errors *e;
    struct weir_check_site at;
    bool launch = here.launch && here.call && strstr(here.call, "LaunchKernel");

    if (weir_err_is_sticky((int)err))
        fault_seen(err);
    e = errors_here();
    if (!e)
        return;
    at = weir_check_site_now(launch);
    if (!is_told_otherwise(err))
        note_failure(err, at);
    weir_check_lock(); /* errors_left reads it, while this thread may live */
    e->last = err;
    e->at = at;
    e->launches = here.launches;
    if (launch && !e->launch && !weir_err_is_sticky((int)err)) {
        e->launch = err;
        e->launch_at = at;
    }
    weir_check_unlock();
}

void weir_check_call_failed(enum weir_err err)
{
    if (err == WEIR_ERR_NOT_READY) { /* an answer, but to cudaEventElapsedTime */
        if (here.call && strstr(here.call, "ElapsedTime"))
            note_failure(err, weir_check_site_now(false));
        return;
    }
    weir_check_capture_failed(err);
    weir_check_failed(err);
}

/* Of an earlier call, not of the launch before the read. */
static WEIR_NOINLINE void stale_error_read(const struct weir_check_errors *e, enum weir_err err)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_STALE_ERROR,
        .a = weir_check_side_call(e->at, "the call that failed"),
        .b = weir_check_side_call(at, "the read"),
        .why = {.format = "{c2} at {2} returns {t} of {c1} at {1}, and not an error of the launch "
                          "before it",
                .text = weir_err_name((int)err),
                .sites = {e->at, at}},
        .change = {.format = "look at what {c1} returns at {1}, and take its error away with "
                             "cudaGetLastError there",
                   .sites[0] = e->at},
    };

    weir_check_lock();
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

void weir_check_error_read(enum weir_err err, bool reset)
{
    struct weir_check_errors *e = here.errors;

    if (!e)
        return;
    if (err != WEIR_OK && err == e->last && !e->launch && here.launches != e->launches &&
        !weir_err_is_sticky((int)err))
        stale_error_read(e, err);
    if (!e->launch && (!reset || !e->last)) /* others only read them */
        return;
    weir_check_lock();
    e->launch = WEIR_OK;
    if (reset)
        e->last = WEIR_OK;
    weir_check_unlock();
}

void weir_check_fault_text(const char *text)
{
    struct checker *c = &weir_checker;

    weir_check_lock();
    if (!c->fault && !c->fault_text)
        c->fault_text = weir_strdup(text);
    weir_check_unlock();
}

void weir_check_op_failed(struct weir_check_op *op, enum weir_err err)
{
    const char *text = NULL;
    struct weir_check_finding *f;
    struct weir_actor *a;

    weir_check_lock();
    a = weir_check_actor_locked(op);
    if (a && !weir_checker.fault && (f = weir_calloc(1, sizeof *f))) {
        text = weir_checker.fault_text;
        f->kind = WEIR_FOUND_FAILED;
        f->a = weir_check_side_of(a, WEIR_ACCESS_READ);
        f->a.no_access = true;
        f->what = (struct weir_check_say){.format = "an operation failed: {t}",
                                          .text = text ? text : weir_err_name((int)err)};
        f->why = (struct weir_check_say){
            .format = "no call has returned its error since: the program does not know of it"};
        f->change =
            (struct weir_check_say){.format = "look at the status of a synchronisation after {1}",
                                    .sites[0] = f->a.op.site};
        weir_checker.fault = f;
        weir_checker.fault_error = err;
    }
    if (op->told)
        weir_check_op_over_locked(op);
    weir_check_unlock();
}

static void errors_left(void)
{
    for (const struct weir_check_errors *e = weir_checker.errors; e; e = e->next) {
        bool launch = e->launch != WEIR_OK;
        struct weir_check_site at = launch ? e->launch_at : e->at;
        struct weir_check_finding f = {
            .kind = launch ? WEIR_FOUND_UNCHECKED_ERROR : WEIR_FOUND_ERROR_LEFT,
            .a = weir_check_side_call(at, "the call that failed"),
            .what = {.format = "{c1} failed with {t}",
                     .text = weir_err_name((int)(launch ? e->launch : e->last)),
                     .sites[0] = at},
            .why = {.format = launch ? "a launch written as <<< >>> returns nothing, and neither "
                                       "cudaGetLastError nor cudaPeekAtLastError came after it in "
                                       "its thread: the kernel has not run, and the program does "
                                       "not know"
                                     : "the error is still its thread's last one: if the call's "
                                       "result was looked at, that was not all"},
            .change = {.format = "call cudaGetLastError after {1}", .sites[0] = at},
        };

        if (!launch && (e->last == WEIR_OK || is_told_otherwise(e->last)))
            continue;
        weir_check_found(&f, NULL, NULL);
    }
    if (weir_checker.fault) {
        weir_check_found(weir_checker.fault, NULL, NULL);
        weir_free(weir_checker.fault);
        weir_checker.fault = NULL;
    }
}

/* ---- leaks ---- */

/* What the program asked for by a call, not what a call of another purpose brought along. */
static bool is_asked_for(const struct weir_check_site *s)
{
    return s->call && (strstr(s->call, "lloc") != NULL);
}

static void leaked_memory(void)
{
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.blocks, &pos, &key, &value)) {
        const struct weir_check_block *b = value;
        struct weir_check_finding f = {
            .kind = WEIR_FOUND_LEAK,
            .block = *b,
            .begin = b->begin,
            .end = b->begin + b->bytes,
            .what = {.format = "{n} bytes of {t}", .number = b->bytes, .text = b->kind},
            .change = {.format = "give it back"},
        };

        if (!b->freed && is_asked_for(&b->site))
            weir_check_found(&f, NULL, NULL);
    }
}

static void leaked_objects(void)
{
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.objects, &pos, &key, &value)) {
        const struct weir_check_object *o = value;
        struct weir_check_finding f = {
            .kind = WEIR_FOUND_LEAK,
            .a = weir_check_side_call(o->made, o->kind),
            .what = {.format = "{t} never destroyed", .text = o->kind},
            .change = {.format = "destroy it"},
        };

        if (o->alive)
            weir_check_found(&f, NULL, NULL);
    }
}

void weir_check_left_locked(void)
{
    uint64_t key;
    size_t pos = 0;
    void *value;

    while (weir_map_next(&weir_checker.events, &pos, &key, &value))
        weir_check_event_gone(value);
    errors_left();
    if (weir_checker.settings.leaks) {
        leaked_memory();
        leaked_objects();
    }
}

/* ---- priorities ---- */

void weir_check_clamped(int asked, int got)
{
    struct weir_check_site at = weir_check_site_now(false);
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_CLAMPED,
        .a = weir_check_side_call(at, "the stream's beginning"),
        .why = {.format = asked > got
                              ? "priority {n} is taken for 0, the default and lowest: smaller "
                                "numbers are higher priorities"
                              : "the highest priority is -{n}, and further ones are taken for it",
                .number = (uint64_t)(asked > got ? asked : -got)},
        .change = {.format = "ask cudaDeviceGetStreamPriorityRange for the numbers that there are"},
    };

    weir_check_lock();
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

/* By the order alone: whether the time was there already is luck. */
void weir_check_elapsed(const void *start, const void *end)
{
    struct checker *c = &weir_checker;
    struct weir_check_site at = weir_check_site_now(false);
    const void *const both[] = {end, start};
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_EARLY_TIME,
        .a = weir_check_side_call(at, "the question"),
        .why = {.format = "nothing before {1} has waited for the events: until their work is done, "
                          "cudaEventElapsedTime gives cudaErrorNotReady, which is an answer and no "
                          "failure of the device",
                .sites[0] = at},
        .change = {.format = "call cudaEventSynchronize for the end event before {1}, or ask by "
                             "cudaEventQuery whether it is done",
                   .sites[0] = at}};

    weir_check_lock();
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(both); i++) {
        const struct weir_check_event *e = weir_map_get(&c->events, (uintptr_t)both[i]);

        if (!e || !e->stamp.lane || weir_order_host_knows(&c->order, &e->stamp))
            continue;
        weir_check_found(&f, NULL, NULL);
        break;
    }
    weir_check_unlock();
}

void weir_check_unsupported(const char *call, const void *site)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_UNSUPPORTED,
        .why = {.format = "Weir does not have this function: the call returned "
                          "cudaErrorNotSupported and did nothing"},
        .change = {.format =
                       "docs/api-status.md and docs/driver-status.md say what there is, and why "
                       "not; weir info api lists it"}};

    weir_check_enter(call, site);
    f.a = weir_check_side_call(weir_check_site_now(false), "the call");
    weir_check_lock();
    weir_check_found(&f, NULL, NULL);
    weir_check_unlock();
}

/* ---- what a project forbids itself ---- */

void weir_check_forbidden_locked(enum weir_policy what, struct weir_check_site at,
                                 const struct weir_check_side *side)
{
    struct weir_check_finding f = {
        .kind = WEIR_FOUND_FORBIDDEN,
        .policy = weir_policy_texts[what].word,
        .a = side ? *side : weir_check_side_call(at, "the call"),
        .what = {.format = "{t}", .text = weir_policy_texts[what].text},
        .why = {.format = "the project forbids it (--forbid {t})",
                .text = weir_policy_texts[what].word},
    };

    f.a.no_access = true;
    weir_check_found(&f, NULL, NULL);
}

static void forbidden(enum weir_policy what)
{
    struct weir_check_site at;

    if (!weir_check_is_forbidden(what))
        return;
    at = weir_check_site_now(false);
    weir_check_lock();
    weir_check_forbidden_locked(what, at, NULL);
    weir_check_unlock();
}

void weir_check_forbidden_call(void)
{
    uint32_t set = weir_policies_of_call(here.call);

    for (int i = 0; i < WEIR_POLICIES; i++) {
        if (set >> i & 1)
            forbidden((enum weir_policy)i);
    }
}

void weir_check_pageable(void)
{
    forbidden(WEIR_POLICY_PAGEABLE_ASYNC);
}
