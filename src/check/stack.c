/* See stack.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

#define BUCKETS    1024
#define STACKS_MAX 20000 /* further ones have their first frame only */

/* As the unwinder's interface has them. */
struct unwind_context;
typedef int (*unwind_step)(struct unwind_context *context, void *arg);

/* Places of a program, once for the process, as the program itself. */
static struct {
    _Atomic(struct weir_check_stack *) buckets[BUCKETS];
    _Atomic uint32_t count;
    pthread_once_t once;
    int (*backtrace)(unwind_step step, void *arg);
    uintptr_t (*ip)(struct unwind_context *context);
    uintptr_t (*cfa)(struct unwind_context *context);
} all = {.once = PTHREAD_ONCE_INIT};

static void find_unwinder(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"_Unwind_GetIP", &all.ip},
                   {"_Unwind_GetCFA", &all.cfa},
                   {"_Unwind_Backtrace", &all.backtrace}};

    for (size_t i = 0; library && i < WEIR_ARRAY_SIZE(symbols); i++) {
        void *p = dlsym(library, symbols[i].name);

        if (!p)
            return; /* without the last there is no unwinder */
        memcpy(symbols[i].to, &p, sizeof p);
    }
}

/* ---- known stacks ---- */

/* Every slot lies in the frames of the calling thread: the one before has shown whose they are. */
#if defined(__x86_64__)
__attribute__((no_sanitize_address)) static bool is_on_stack(const struct weir_check_stack *s,
                                                             const void *frame)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (*(const void *const *)((uintptr_t)frame + (uintptr_t)s->frames[i].slot) !=
            s->frames[i].address)
            return false;
    }
    return true;
}
#else
/* Where a call keeps its return address is not known there: each stack is unwound. */
static bool is_on_stack(const struct weir_check_stack *s, const void *frame)
{
    (void)s;
    (void)frame;
    return false;
}
#endif

static bool is_same(const struct weir_check_stack *a, const struct weir_check_stack *b)
{
    return a->count == b->count &&
           memcmp(a->frames, b->frames, a->count * sizeof a->frames[0]) == 0;
}

static _Atomic(struct weir_check_stack *) *bucket_of(const void *site)
{
    return &all.buckets[((uintptr_t)site * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

/* ---- new stacks ---- */

struct walk {
    const void *site;
    uintptr_t frame;
    struct weir_check_stack *stack; /* count 0: site is not found yet */
};

static int step(struct unwind_context *context, void *arg)
{
    struct walk *w = arg;
    struct weir_check_stack *s = w->stack;
    uintptr_t ip = all.ip(context);

    if (s->count == 0 && ip != (uintptr_t)w->site)
        return 0;
    if (!ip || s->count == WEIR_CHECK_FRAMES)
        return 4; /* enough */
    s->frames[s->count++] = (struct weir_check_frame){
        (const void *)ip, w->frame ? (intptr_t)(all.cfa(context) - 8 - w->frame) : 0};
    return 0;
}

static struct weir_check_stack *make(const struct weir_check_stack *of)
{
    size_t bytes = sizeof *of + of->count * sizeof of->frames[0];
    struct weir_check_stack *s = weir_alloc(bytes);

    if (s)
        memcpy(s, of, bytes);
    return s;
}

/* The same one that another thread has added, or `of` copied. */
static const struct weir_check_stack *add(_Atomic(struct weir_check_stack *) *bucket,
                                          const struct weir_check_stack *of)
{
    struct weir_check_stack *s = NULL, *first = atomic_load(bucket);

    for (;;) {
        for (const struct weir_check_stack *known = first; known; known = known->next) {
            if (is_same(known, of)) {
                weir_free(s);
                return known;
            }
        }
        if (!s && !(s = make(of)))
            return NULL;
        s->next = first;
        if (atomic_compare_exchange_weak(bucket, &first, s))
            break;
    }
    atomic_fetch_add_explicit(&all.count, 1, memory_order_relaxed);
    return s;
}

static const struct weir_check_stack *unwind(const void *site, const void *frame)
{
    union {
        struct weir_check_stack s;
        char room[sizeof(struct weir_check_stack) +
                  WEIR_CHECK_FRAMES * sizeof(struct weir_check_frame)];
    } u;
    struct walk w = {site, (uintptr_t)frame, &u.s};

    weir_check_stack_prepare();
    memset(&u, 0, sizeof u);
    if (all.backtrace && atomic_load_explicit(&all.count, memory_order_relaxed) < STACKS_MAX)
        all.backtrace(step, &w);
    if (u.s.count == 0)
        u.s.frames[u.s.count++] = (struct weir_check_frame){site, 0};
    return add(bucket_of(site), &u.s);
}

const struct weir_check_stack *weir_check_stack_take(const void *site, const void *frame)
{
    _Atomic(struct weir_check_stack *) *bucket = bucket_of(site);

    for (const struct weir_check_stack *s = atomic_load_explicit(bucket, memory_order_acquire); s;
         s = s->next) {
        if (s->frames[0].address == site && s->count > 1 && is_on_stack(s, frame))
            return s;
    }
    return unwind(site, frame);
}

/* Frames of a stopped thread stand at no fixed distance from anything: slots are none. */
const struct weir_check_stack *weir_check_stack_unwind(const void *ip)
{
    return unwind(ip, NULL);
}

void weir_check_stack_prepare(void)
{
    pthread_once(&all.once, find_unwinder);
}
