/* See memop.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/memop.h"

#include <string.h>

#include "base/alloc.h"
#include "check/check.h"
#include "core/capture.h"
#include "core/poll.h"
#include "memory/memory.h"

#define CONDITIONS 4u /* geq, eq, and, nor */

static bool is_wait(const struct weir_memop *op)
{
    return op->kind == WEIR_MEMOP_WAIT_32 || op->kind == WEIR_MEMOP_WAIT_64;
}

static bool is_wide(const struct weir_memop *op)
{
    return op->kind == WEIR_MEMOP_WAIT_64 || op->kind == WEIR_MEMOP_WRITE_64;
}

/* ---- checks ---- */

static enum weir_err check_address(const struct weir_memop *op)
{
    unsigned bytes = is_wide(op) ? 8 : 4;
    struct weir_mem_info info;

    if (!op->address || op->address % bytes ||
        !weir_mem_find((const void *)(uintptr_t)op->address, &info) ||
        bytes > info.base + info.bytes - op->address)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u bytes at %#llx to wait for or write", bytes,
                         (unsigned long long)op->address);
    return WEIR_OK;
}

static enum weir_err check_one(const struct weir_memop *op)
{
    switch (op->kind) {
    case WEIR_MEMOP_WAIT_32:
    case WEIR_MEMOP_WAIT_64:
        if ((op->flags & ~WEIR_MEMOP_WAIT_FLUSH) >= CONDITIONS)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "condition %#x of a wait for a value",
                             op->flags);
        return check_address(op);
    case WEIR_MEMOP_WRITE_32:
    case WEIR_MEMOP_WRITE_64:
        if (op->flags & ~WEIR_MEMOP_WRITE_NO_BARRIER)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a write", op->flags);
        return check_address(op);
    case WEIR_MEMOP_BARRIER:
        if (op->flags > 1)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x of a barrier", op->flags);
        return WEIR_OK;
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "memory operation of type %d", (int)op->kind);
}

enum weir_err weir_memop_check(const struct weir_memop *ops, unsigned count)
{
    enum weir_err err = WEIR_OK;

    if (count >= WEIR_MEMOP_BATCH_MAX)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u memory operations at once", count);
    for (unsigned i = 0; i < count && err == WEIR_OK; i++)
        err = check_one(&ops[i]);
    return err;
}

enum weir_err weir_memop_copy(const struct weir_memop *ops, unsigned count, struct weir_memop **out)
{
    *out = weir_alloc((count + 1) * sizeof **out);
    if (!*out)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%u memory operations", count);
    if (count)
        memcpy(*out, ops, count * sizeof *ops);
    return WEIR_OK;
}

bool weir_memop_is_like(const struct weir_memop_batch *a, const struct weir_memop_batch *b)
{
    if (a->count != b->count || a->flags != b->flags)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        const struct weir_memop *x = &a->ops[i], *y = &b->ops[i];
        uint32_t fixed = is_wait(x) ? WEIR_MEMOP_WAIT_FLUSH : ~0u;

        if (x->kind != y->kind || (x->flags & fixed) != (y->flags & fixed))
            return false;
    }
    return true;
}

/* ---- doing ---- */

static bool does(const struct weir_memop *op, uint64_t now)
{
    switch (op->flags & (CONDITIONS - 1)) {
    case 0: /* cyclic: the difference as a signed number */
        return is_wide(op) ? (int64_t)(now - op->value) >= 0
                           : (int32_t)(uint32_t)(now - op->value) >= 0;
    case 1:
        return now == (is_wide(op) ? op->value : (uint32_t)op->value);
    case 2:
        return (now & op->value) != 0;
    default:
        return (is_wide(op) ? ~(now | op->value) : (uint32_t) ~(now | op->value)) != 0;
    }
}

static bool is_there(const struct weir_memop *op)
{
    if (is_wide(op))
        return does(op,
                    atomic_load_explicit((_Atomic uint64_t *)op->address, memory_order_acquire));
    return does(op, atomic_load_explicit((_Atomic uint32_t *)op->address, memory_order_acquire));
}

static void write_value(const struct weir_memop *op)
{
    if (is_wide(op))
        atomic_store_explicit((_Atomic uint64_t *)op->address, op->value, memory_order_release);
    else
        atomic_store_explicit((_Atomic uint32_t *)op->address, (uint32_t)op->value,
                              memory_order_release);
}

/* GRA-050 */
bool weir_memop_advance(const struct weir_memop *ops, unsigned count, unsigned *next)
{
    for (; *next < count; ++*next) {
        const struct weir_memop *op = &ops[*next];

        if (op->kind == WEIR_MEMOP_BARRIER)
            atomic_thread_fence(memory_order_seq_cst);
        else if (!is_wait(op))
            write_value(op);
        else if (!is_there(op))
            return false;
    }
    return true;
}

/* ---- in a stream ---- */

struct batch {
    unsigned count, next;
    struct weir_memop ops[];
};

static bool is_done(struct weir_poll *p)
{
    struct batch *b = p->object;

    return weir_memop_advance(b->ops, b->count, &b->next);
}

static void drop(struct weir_poll *p)
{
    weir_free(p->object);
}

const struct weir_memop *weir_memop_peek(const struct weir_poll *poll, unsigned *count)
{
    const struct batch *b = poll->object;

    if (poll->ready != is_done)
        return NULL;
    *count = b->count;
    return b->ops;
}

static bool is_host_visible(uint64_t address)
{
    struct weir_mem_info info;

    return weir_mem_find((const void *)(uintptr_t)address, &info) &&
           info.kind != WEIR_MEM_KIND_DEVICE;
}

/* What a wait is for, as far as the order of submission says it. */
static void tell_wait(const struct weir_stream *s, const struct weir_memop *op)
{
    uint64_t last;
    bool known = weir_check_value_last(op->address, &last) && does(op, last) &&
                 !is_host_visible(op->address);

    weir_check_value_awaited(op->address, s, known);
}

static void tell_check(const struct weir_stream *s, const struct weir_memop *ops, unsigned count,
                       bool waits)
{
    for (unsigned i = 0; weir_check_enabled() && i < count; i++) {
        if (ops[i].kind == WEIR_MEMOP_BARRIER || is_wait(&ops[i]) != waits)
            continue;
        if (waits)
            tell_wait(s, &ops[i]);
        else
            weir_check_value_written(ops[i].address, ops[i].value, s,
                                     is_host_visible(ops[i].address));
    }
}

enum weir_err weir_memop_submit(struct weir_stream *s, const struct weir_memop *ops, unsigned count,
                                const char *call)
{
    struct weir_node_params node = {
        .kind = WEIR_NODE_BATCH_MEM_OP,
        .memops = {.ops = (struct weir_memop *)(uintptr_t)ops, .count = count}};
    struct weir_poll poll = {.ready = is_done, .drop = drop};
    enum weir_err err = weir_memop_check(ops, count);
    struct batch *b;
    bool taken = false;

    if (err == WEIR_OK && weir_capture_any()) /* CAP-024 */
        err = weir_capture_take(s, &node, false, call, &taken);
    if (err != WEIR_OK || taken)
        return err;
    b = weir_alloc(sizeof *b + count * sizeof *ops);
    if (!b)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%u memory operations", count);
    b->count = count;
    b->next = 0;
    if (count)
        memcpy(b->ops, ops, count * sizeof *ops);
    poll.object = b;
    tell_check(s, ops, count, true);
    err = weir_poll_submit(s, &poll);
    if (err == WEIR_OK)
        tell_check(s, ops, count, false);
    return err;
}
