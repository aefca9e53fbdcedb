/* What kernels did that no kernel may: told when a launch has ended, with the thread and its line.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/kernel_name.h"
#include "check/check_int.h"

/* ---- the allocation that was meant ---- */

/* Bytes between it and [begin, end): 0, it holds or meets them. */
static uint64_t distance(const struct weir_check_block *b, uint64_t begin, uint64_t end)
{
    if (end <= b->begin)
        return b->begin - end + 1;
    return begin >= b->begin + b->bytes ? begin - (b->begin + b->bytes) + 1 : 0;
}

/* Of those that are there and those that were freed lately. NULL: there was never one. */
static const struct weir_check_block *nearest(uint64_t begin, uint64_t end, bool *freed)
{
    struct checker *c = &weir_checker;
    const struct weir_check_block *best = NULL;
    uint64_t key, least = UINT64_MAX;
    size_t pos = 0;
    void *value;

    *freed = false;
    while (weir_map_next(&c->blocks, &pos, &key, &value)) {
        uint64_t d = distance(value, begin, end);

        if (((struct weir_check_block *)value)->begin >= WEIR_SHADOW_NAMES)
            continue; /* mapped memory is at no address of its own */
        if (d < least || (d == least && ((struct weir_check_block *)value)->bytes < best->bytes)) {
            least = d;
            best = value;
        }
    }
    *freed = least == 0 && best->freed; /* in a stream's order: the pool still has it */
    for (uint64_t i = 0; i < WEIR_MIN(c->freed_count, (uint64_t)WEIR_CHECK_FREED); i++) {
        const struct weir_check_block *b = &c->freed[(c->freed_count - 1 - i) % WEIR_CHECK_FREED];
        uint64_t d = distance(b, begin, end);

        if (d == 0 && least > 0) {
            *freed = true;
            return b;
        }
    }
    return best;
}

void weir_check_block_gone_locked(const struct weir_check_block *b, struct weir_check_site at)
{
    struct checker *c = &weir_checker;
    struct weir_check_block *to;

    if (!c->freed && !(c->freed = weir_calloc(WEIR_CHECK_FREED, sizeof *c->freed)))
        return;
    to = &c->freed[c->freed_count++ % WEIR_CHECK_FREED];
    *to = *b;
    if (b->freed)
        return;
    to->freed_number = c->submitted;
    to->freed_at = at;
}

/* ---- texts ---- */

static void add_place(struct weir_text *t, const struct weir_check_thread *w)
{
    if (w->line)
        weir_text_add(t, " at %s:%u", w->file ? weir_check_path(w->file) : "?", w->line);
    else if (w->ptx_line)
        weir_text_add(t, " at line %u of its PTX", w->ptx_line);
}

void weir_check_text_thread(struct weir_text *t, const struct weir_check_thread *w)
{
    weir_text_add(t, "thread (%u, %u, %u) of block (%u, %u, %u)", w->thread[0], w->thread[1],
                  w->thread[2], w->block[0], w->block[1], w->block[2]);
}

static void add_thread(struct weir_text *t, const struct weir_check_thread *w)
{
    weir_check_text_thread(t, w);
    add_place(t, w);
}

/* NULL: no memory, or nothing is known. */
static const char *keep(const char *s)
{
    return s ? weir_strdup(s) : NULL;
}

static struct weir_check_inside *inside(struct weir_check_finding *f,
                                        const struct weir_check_thread *first,
                                        const struct weir_check_thread *second)
{
    struct weir_check_inside *in = weir_calloc(1, sizeof *in);

    if (!in)
        return NULL;
    if (first)
        in->at[in->count++] = *first;
    if (second)
        in->at[in->count++] = *second;
    for (uint32_t i = 0; i < in->count; i++)
        in->at[i].file = keep(in->at[i].file);
    f->inside = in;
    return in;
}

static void keep_threads(struct weir_check_finding *f, const struct weir_check_threads *w)
{
    struct weir_check_inside *in =
        inside(f, &w->first, w->kind == WEIR_THREADS_STUCK ? NULL : &w->second);
    char name[256];

    if (!in)
        return;
    in->shared = w->shared;
    in->offset = w->offset;
    if (w->variable)
        in->variable = keep(weir_kernel_variable_name(w->variable, name, sizeof name));
}

static const char *verb(enum weir_access a)
{
    return a == WEIR_ACCESS_READ ? "reads" : a == WEIR_ACCESS_WRITE ? "writes" : "updates";
}

static const char *kept(const struct weir_text *t)
{
    const char *s = weir_strdup(t->data);

    return s ? s : "";
}

/* A member of an object at address 0, or an element of such an array: no allocation is near. */
#define NULL_BYTES 65536u

static void add_relation(struct weir_text *t, const struct weir_check_block *b, uint64_t begin,
                         uint64_t end)
{
    if (end <= b->begin) {
        weir_text_add(t, ": %" PRIu64 " bytes before %zu bytes", b->begin - begin, b->bytes);
    } else if (begin > b->begin + b->bytes) {
        weir_text_add(t, ": %" PRIu64 " bytes behind the end of %zu bytes",
                      begin - (b->begin + b->bytes), b->bytes);
    } else if (begin == b->begin + b->bytes) {
        weir_text_add(t, ": right behind the end of %zu bytes", b->bytes);
    } else {
        weir_text_add(t, ": partly outside of %zu bytes", b->bytes);
    }
}

static void add_access(struct weir_text *t, const struct weir_check_thread *w)
{
    add_thread(t, w);
    weir_text_add(t, " %s %u bytes at 0x%" PRIx64, verb(w->access), w->bytes, w->address);
}

static void explain_null(struct weir_check_finding *f, const struct weir_check_wrong *w)
{
    struct weir_text t = {.length = 0};

    add_access(&t, &w->at);
    if (w->at.address)
        weir_text_add(&t, ": %" PRIu64 " bytes behind a null pointer", w->at.address);
    else
        weir_text_add(&t, ": a null pointer");
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
    f->why = (struct weir_check_say){.format = "no memory is there, in any program"};
    f->change = (struct weir_check_say){
        .format = "look at where the pointer comes from: an argument that was never set, an "
                  "allocation that failed, or an element that nothing has written"};
}

static void explain_freed(struct weir_check_finding *f, const struct weir_check_wrong *w,
                          const struct weir_check_block *b)
{
    struct weir_text t = {.length = 0};

    add_access(&t, &w->at);
    weir_text_add(&t, ": %" PRIu64 " bytes behind the begin of %zu bytes that were freed",
                  w->at.address - b->begin, b->bytes);
    f->what = (struct weir_check_say){
        .format = "{t} ({c1} at {1})", .text = kept(&t), .sites[0] = b->site};
    f->why = (struct weir_check_say){.format = "the memory was given back by {c1} at {1}",
                                     .sites[0] = b->freed_at};
    f->change = (struct weir_check_say){
        .format = "free the memory behind the kernel: after a synchronisation, or in its stream "
                  "(cudaFreeAsync)"};
}

static void explain_outside(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_wrong *w = arg;
    uint64_t begin = w->at.address, end = begin + w->at.bytes;
    bool freed;
    const struct weir_check_block *b = nearest(begin, end, &freed);
    struct weir_text t = {.length = 0};

    if (begin < NULL_BYTES) {
        explain_null(f, w);
        return;
    }
    if (freed) {
        explain_freed(f, w, b);
        return;
    }
    add_access(&t, &w->at);
    if (b)
        add_relation(&t, b, begin, end);
    else
        weir_text_add(&t, ": the program has no memory near");
    f->what = (struct weir_check_say){.format = b ? "{t} ({c1} at {1})" : "{t}", .text = kept(&t)};
    f->why =
        (struct weir_check_say){.format = "no allocation that the kernel may use has these bytes"};
    f->change = (struct weir_check_say){
        .format = "compare the thread's index with the number of elements before the access, or "
                  "allocate more"};
    if (b)
        f->what.sites[0] = b->site;
}

static const struct weir_check_block *freed_in_order(const struct weir_check_wrong *w)
{
    bool freed;
    const struct weir_check_block *b = nearest(w->at.address, w->at.address + w->at.bytes, &freed);

    return freed && b->freed ? b : NULL;
}

static void explain_uninitialised(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_wrong *w = arg;
    struct weir_text t = {.length = 0};

    (void)inside(f, &w->at, NULL);
    (void)inside(f, &w->at, NULL);
    add_thread(&t, &w->at);
    weir_text_add(&t, " %s %u bytes that nothing has written since they were allocated",
                  verb(w->at.access), w->at.bytes);
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
    f->why = (struct weir_check_say){
        .format = "no copy, memset or kernel before wrote them; memory from a pool or from "
                  "cudaMalloc has no defined contents"};
    f->change = (struct weir_check_say){
        .format = "write the memory first (cudaMemsetAsync, a copy, a kernel), or read less"};
}

/* Was it submitted before the memory was allocated? Then it has what was there before: a pool gives
 * memory away again at the call, and its contents in the stream's order. */
static bool is_older(const struct weir_actor *a, uint64_t address)
{
    struct weir_check_block b = weir_check_block_of(address);

    return !a || !b.bytes || ((const struct weir_check_detail *)a->detail)->number <= b.number;
}

static bool had(const struct weir_check_block *b, uint64_t number, uint64_t begin, uint64_t end)
{
    return number <= b->freed_number && begin >= b->begin && end <= b->begin + b->bytes;
}

/* What was submitted before the memory was given back has it: a pool takes it back at the call. */
static bool was_there(uint64_t number, uint64_t begin, uint64_t end, struct weir_check_block *b)
{
    struct checker *c = &weir_checker;

    *b = weir_check_block_of(begin);
    if (b->freed && had(b, number, begin, end))
        return true;
    for (uint64_t i = 0; i < WEIR_MIN(c->freed_count, (uint64_t)WEIR_CHECK_FREED); i++) {
        *b = c->freed[i];
        if (had(b, number, begin, end))
            return true;
    }
    return false;
}

uint64_t weir_check_number(const struct weir_check_op *op)
{
    return op && op->lane ? op->number : 0;
}

bool weir_check_had(uint64_t number, uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    struct weir_check_block b;
    bool had_it;

    weir_check_lock();
    had_it = was_there(number, address, address + 1, &b);
    weir_check_unlock();
    *begin = b.begin;
    *end = b.begin + b.bytes;
    return had_it;
}

void weir_check_kernel_wrong(struct weir_actor *a, const char *name,
                             const struct weir_check_wrong *w)
{
    static const struct {
        enum weir_check_finding_kind kind;
        void (*explain)(struct weir_check_finding *f, void *arg);
    } of[WEIR_WRONG_KINDS] = {
        [WEIR_WRONG_OUTSIDE] = {WEIR_FOUND_OUT_OF_BOUNDS, explain_outside},
        [WEIR_WRONG_UNINITIALISED] = {WEIR_FOUND_UNINITIALISED, explain_uninitialised},
    };
    struct weir_check_finding f = {.kind = of[w->kind].kind, .place = w->at.ptx_line};
    struct weir_check_wrong arg = *w;
    struct weir_check_block old;
    uint64_t number = a ? ((const struct weir_check_detail *)a->detail)->number : UINT64_MAX;

    weir_check_lock();
    if (w->kind == WEIR_WRONG_UNINITIALISED
            ? is_older(a, w->at.address)
            : was_there(number, w->at.address, w->at.address + w->at.bytes, &old)) {
        weir_check_unlock();
        return;
    }
    if (w->kind == WEIR_WRONG_OUTSIDE && freed_in_order(w))
        f.kind = WEIR_FOUND_USE_AFTER_FREE;
    if (a)
        f.a = weir_check_side_of(a, w->at.access);
    else
        f.a = (struct weir_check_side){
            .used = true, .op = {.kind = WEIR_OP_KERNEL, .name = name}, .access = w->at.access};
    if (w->kind == WEIR_WRONG_UNINITIALISED) {
        f.begin = w->at.address;
        f.end = w->at.address + w->at.bytes;
    }
    weir_check_found(&f, of[w->kind].explain, &arg);
    weir_check_unlock();
}

/* ---- what a kernel's threads do to each other ---- */

bool weir_check_wants_kernel_races(void)
{
    return weir_checker.settings.kernel_races;
}

bool weir_check_wants_late_async(void)
{
    return weir_checker.settings.late_async;
}

/* Of global memory the finding has the range. */
static void add_bytes(struct weir_text *t, const struct weir_check_threads *w)
{
    char name[256];

    if (w->variable)
        weir_text_add(t, " at byte %" PRIu64 " of %s (shared memory)", w->offset,
                      weir_kernel_variable_name(w->variable, name, sizeof name));
    else if (w->shared)
        weir_text_add(t, " at byte %" PRIu64 " of the block's shared memory", w->second.address);
    else
        weir_text_add(t, " at 0x%" PRIx64, w->second.address);
}

static const char *did(enum weir_access a)
{
    return a == WEIR_ACCESS_READ ? "read" : a == WEIR_ACCESS_WRITE ? "wrote" : "updated";
}

static void say_both(struct weir_check_finding *f, const struct weir_check_threads *w)
{
    struct weir_text t = {.length = 0};

    keep_threads(f, w);
    add_thread(&t, &w->second);
    weir_text_add(&t, " %s %u bytes", verb(w->second.access), w->second.bytes);
    add_bytes(&t, w);
    weir_text_add(&t, ", which ");
    add_thread(&t, &w->first);
    weir_text_add(&t, " %s", did(w->first.access));
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
}

static void explain_race(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_threads *w = arg;
    bool blocks = memcmp(w->first.block, w->second.block, sizeof w->first.block) != 0;

    say_both(f, w);
    f->why = (struct weir_check_say){
        .format = blocks ? "blocks of a kernel have no order, and no atomic makes one here"
                         : "between the two is no barrier of both threads and no atomic that one "
                           "of them waited for; lanes of a warp have no order either"};
    f->change = (struct weir_check_say){
        .format = blocks ? "let one thread or block write the bytes, use atomics, or two kernels"
                         : "put __syncthreads() between the two (__syncwarp() inside of a warp), "
                           "or use atomics"};
}

static void explain_beside(struct weir_check_finding *f, void *arg)
{
    say_both(f, arg);
    f->why = (struct weir_check_say){
        .format = "an atomic orders nothing for a plain load that does not come after it: the load "
                  "may give the value of before or of after, and the compiler may reuse an older "
                  "one"};
    f->change = (struct weir_check_say){
        .format = "if any of the values will do, load by an atomic of relaxed order "
                  "(cuda::atomic_ref) or volatile; else put a barrier between the two, or let "
                  "another kernel read"};
}

static void explain_unfinished(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_threads *w = arg;
    struct weir_text t = {.length = 0};

    keep_threads(f, w);
    add_thread(&t, &w->second);
    weir_text_add(&t, " %s %u bytes", verb(w->second.access), w->second.bytes);
    add_bytes(&t, w);
    weir_text_add(&t, ", where an asynchronous copy");
    add_place(&t, &w->first);
    weir_text_add(&t, " may not have ended");
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
    f->why = (struct weir_check_say){
        .format = "a copy to shared memory has only ended for who waited for it (cp.async.wait, "
                  "a barrier object), and for others behind a barrier after that"};
    f->change = (struct weir_check_say){
        .format = "wait for the copy first: __pipeline_wait_prior or consumer_wait, then "
                  "__syncthreads() if other threads use the bytes"};
}

static void explain_divergent(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_threads *w = arg;
    struct weir_text t = {.length = 0};

    keep_threads(f, w);
    add_thread(&t, &w->second);
    weir_text_add(&t, " does not come to the barrier");
    add_place(&t, &w->first);
    weir_text_add(&t, ", and has gone on: %u of the block's %u threads wait there", w->arrived,
                  w->threads);
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
    f->why = (struct weir_check_say){
        .format = "__syncthreads() in conditional code is undefined unless the condition is the "
                  "same for all threads of the block"};
    f->change = (struct weir_check_say){
        .format = "move the barrier out of the condition, so that every thread comes to it"};
}

static void explain_stuck(struct weir_check_finding *f, void *arg)
{
    const struct weir_check_threads *w = arg;
    struct weir_text t = {.length = 0};

    keep_threads(f, w);
    add_thread(&t, &w->first);
    weir_text_add(&t,
                  " waits at a barrier that never completes: %u threads came to it, and all "
                  "others of the block have ended or wait at other barriers",
                  w->arrived);
    f->what = (struct weir_check_say){.format = "{t}", .text = kept(&t)};
    f->why = (struct weir_check_say){.format = "the barrier waits for more threads than come to "
                                               "it; on a GPU the kernel hangs"};
    f->change = (struct weir_check_say){
        .format = "let as many threads come to the barrier as it is for (bar.sync's count)"};
}

static uint32_t line_of(const struct weir_check_thread *w)
{
    return w->line ? w->line : w->ptx_line;
}

/* The same lines are one finding, however often the compiler has written them out. */
static uint32_t place_of(const struct weir_check_threads *t)
{
    uint32_t reads = (t->first.access == WEIR_ACCESS_READ) |
                     (uint32_t)(t->second.access == WEIR_ACCESS_READ) << 1;

    return (line_of(&t->first) * 65599u + line_of(&t->second)) * 4 + reads;
}

void weir_check_kernel_threads(struct weir_actor *a, const char *name,
                               const struct weir_check_threads *t)
{
    static const struct {
        enum weir_check_finding_kind kind;
        void (*explain)(struct weir_check_finding *f, void *arg);
    } of[WEIR_THREADS_KINDS] = {
        [WEIR_THREADS_RACE] = {WEIR_FOUND_KERNEL_RACE, explain_race},
        [WEIR_THREADS_BESIDE] = {WEIR_FOUND_PLAIN_READ, explain_beside},
        [WEIR_THREADS_UNFINISHED] = {WEIR_FOUND_UNFINISHED_COPY, explain_unfinished},
        [WEIR_THREADS_DIVERGENT] = {WEIR_FOUND_DIVERGENT_BARRIER, explain_divergent},
        [WEIR_THREADS_STUCK] = {WEIR_FOUND_DIVERGENT_BARRIER, explain_stuck},
    };
    struct weir_check_finding f = {.kind = of[t->kind].kind, .place = place_of(t)};
    struct weir_check_threads arg = *t;

    weir_check_lock();
    if (a)
        f.a = weir_check_side_of(a, t->second.access);
    else
        f.a = (struct weir_check_side){
            .used = true, .op = {.kind = WEIR_OP_KERNEL, .name = name}, .access = t->second.access};
    f.a.no_access = t->kind == WEIR_THREADS_DIVERGENT || t->kind == WEIR_THREADS_STUCK;
    if (!t->shared && t->second.bytes) {
        f.begin = t->second.address;
        f.end = t->second.address + t->second.bytes;
    }
    weir_check_found(&f, of[t->kind].explain, &arg);
    weir_check_unlock();
}
