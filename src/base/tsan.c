/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tsan.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/sanitize.h"

#if defined(WEIR_BUILT_TSAN)

bool weir_tsan_is_here(void)
{
    return false;
}

void weir_tsan_ignore_begin(void) {}
void weir_tsan_ignore_end(void) {}

void weir_tsan_release(void *at)
{
    (void)at;
}

void weir_tsan_acquire(void *at)
{
    (void)at;
}

bool weir_tsan_other_begin(void)
{
    return false;
}

void weir_tsan_other_end(void) {}

#else

/* Of sanitizer/tsan_interface.h and its dynamic annotations; absent in most processes. */
void __tsan_acquire(void *at) __attribute__((weak));
void __tsan_release(void *at) __attribute__((weak));
void *__tsan_get_current_fiber(void) __attribute__((weak));
void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
void __tsan_set_fiber_name(void *fiber, const char *name) __attribute__((weak));
void AnnotateIgnoreSyncBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreSyncEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));

#define NO_SYNC 1u /* a switch as such orders nothing */

/* A fiber costs a millisecond to make. Those that are so many apart are one thread to the
 * sanitizer: it does not tell of races between the two. */
#define OTHERS  32

struct others {
    unsigned ignored; /* here.ignoring of the thread itself, while it is another */
    void *self;       /* then */
    unsigned count, next;
    void *fibers[OTHERS];
};

static WEIR_TLS struct {
    unsigned ignoring;
    struct others *others; /* of a thread that runs host functions: for as long as the process */
} here;

bool weir_tsan_is_here(void)
{
    return __tsan_acquire && __tsan_release && __tsan_get_current_fiber && __tsan_create_fiber &&
           __tsan_switch_to_fiber && __tsan_set_fiber_name && AnnotateIgnoreSyncBegin &&
           AnnotateIgnoreSyncEnd && AnnotateIgnoreReadsBegin && AnnotateIgnoreReadsEnd &&
           AnnotateIgnoreWritesBegin && AnnotateIgnoreWritesEnd;
}

void weir_tsan_ignore_begin(void)
{
    if (!weir_tsan_is_here() || here.ignoring++)
        return;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

void weir_tsan_ignore_end(void)
{
    if (!weir_tsan_is_here() || --here.ignoring)
        return;
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void weir_tsan_release(void *at)
{
    if (here.ignoring)
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_release(at);
    if (here.ignoring)
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

void weir_tsan_acquire(void *at)
{
    if (here.ignoring)
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_acquire(at);
    if (here.ignoring)
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static void *other_of(struct others *o)
{
    void *fiber;

    if (o->count == OTHERS)
        return o->fibers[o->next++ % OTHERS];
    fiber = __tsan_create_fiber(0);
    if (!fiber)
        return NULL;
    __tsan_set_fiber_name(fiber, "host function");
    o->fibers[o->count++] = fiber;
    return fiber;
}

bool weir_tsan_other_begin(void)
{
    struct others *o = here.others;
    void *other;

    if (!weir_tsan_is_here())
        return false;
    if (!o)
        o = here.others = weir_calloc(1, sizeof *o);
    other = o ? other_of(o) : NULL;
    if (!other)
        return false;
    o->self = __tsan_get_current_fiber();
    o->ignored = here.ignoring;
    here.ignoring = 0;
    __tsan_switch_to_fiber(other, NO_SYNC);
    return true;
}

void weir_tsan_other_end(void)
{
    __tsan_switch_to_fiber(here.others->self, NO_SYNC);
    here.ignoring = here.others->ignored;
}

#endif
