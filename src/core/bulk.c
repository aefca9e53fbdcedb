/* Bulk copies of kernels, with reductions and barrier objects: the service behind device/bulk.h. A
 * cluster's blocks run in turns on one worker, so that shared memory needs no locked instruction;
 * reductions to global memory are atomic element by element.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/bulk.h"

#include <string.h>

#include "core/race.h"
#include "core/texture.h" /* halves */
#include "core/touch.h"
#include "device/bulk.h"
#include "device/device.h"

#define LANES 32

static WEIR_NORETURN void fail(struct weir_block *b, uint32_t err, uint64_t at)
{
    b->error_address = at;
    weir_device_block_fail(b, err, 0);
}

/* [at, at + bytes) is shared memory of the block, or of its cluster. */
static void check_shared(struct weir_block *b, uint32_t code, uint64_t at, uint64_t bytes)
{
    uint64_t base = (uint64_t)(uintptr_t)b->shared, size = b->shared_bytes;

    if (code & WEIR_BULK_CLUSTER) {
        base = b->cluster->shared;
        size = b->cluster->stride * b->cluster->blocks;
    }
    if (at - base > size || bytes > size - (at - base))
        fail(b, WEIR_ERR_ILLEGAL_ADDRESS, at);
}

static void check_global(struct weir_block *b, uint64_t at, uint64_t bytes, uint32_t kind)
{
    if (bytes > UINT32_MAX)
        fail(b, WEIR_ERR_ILLEGAL_ADDRESS, at);
    b->launch->services->check_address(b, at, (uint32_t)bytes, kind);
    for (uint64_t done = 0, n; b->launch->touches && done < bytes; done += n) {
        n = WEIR_MIN(bytes - done, (uint64_t)UINT16_MAX);
        weir_touch(b, 1, (uint32_t)n | kind << 16, at + done, 0);
    }
}

/* ---- elements ---- */

static const uint8_t element_bytes[] = {4, 4, 8, 8, 2, 2, 4, 8};

static double to_double(uint32_t type, uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    double d;
    float f;

    if (type == WEIR_BULK_F64) {
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    if (type == WEIR_BULK_F16)
        word = weir_float_of_half((uint16_t)bits);
    else if (type == WEIR_BULK_BF16)
        word = (uint32_t)bits << 16;
    memcpy(&f, &word, sizeof f);
    return (double)f;
}

static uint64_t from_double(uint32_t type, double d)
{
    float f = (float)d;
    uint64_t bits;
    uint32_t w;

    memcpy(&bits, &d, sizeof bits);
    memcpy(&w, &f, sizeof w);
    switch (type) {
    case WEIR_BULK_F64:
        return bits;
    /* Rounded twice, which is as once: float has more than twice the bits of these, and two. */
    case WEIR_BULK_F16:
        return weir_half_of_float(w);
    case WEIR_BULK_BF16:
        return (w & 0x7fffffff) > 0x7f800000 ? 0x7fff : (w + 0x7fff + (w >> 16 & 1)) >> 16;
    default:
        return w;
    }
}

static uint64_t float_result(uint32_t op, uint32_t type, uint64_t a, uint64_t b)
{
    double x = to_double(type, a), y = to_double(type, b);

    if (op == WEIR_BULK_ADD)
        return from_double(type, x + y);
    if (x != x || y != y)
        return x != x ? y != y ? 0x7fff : b : a;
    if (x == y) /* -0 is below +0 */
        return (a >> 15 & 1) == (op == WEIR_BULK_MIN) ? a : b;
    return (x < y) == (op == WEIR_BULK_MIN) ? a : b;
}

static uint64_t combined(uint32_t op, uint32_t type, uint64_t a, uint64_t b)
{
    bool is_signed = type == WEIR_BULK_S32 || type == WEIR_BULK_S64;
    int64_t sa = type == WEIR_BULK_S32 ? (int32_t)a : (int64_t)a;
    int64_t sb = type == WEIR_BULK_S32 ? (int32_t)b : (int64_t)b;
    bool less = is_signed ? sa < sb : a < b;

    if (op == WEIR_BULK_SET)
        return b;
    if (type >= WEIR_BULK_F16)
        return float_result(op, type, a, b);
    switch (op) {
    case WEIR_BULK_ADD:
        return a + b;
    case WEIR_BULK_MIN:
        return less ? a : b;
    case WEIR_BULK_MAX:
        return less ? b : a;
    case WEIR_BULK_INC:
        return a >= b ? 0 : a + 1;
    case WEIR_BULK_DEC:
        return a == 0 || a > b ? b : a - 1;
    case WEIR_BULK_AND:
        return a & b;
    case WEIR_BULK_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

#define COMBINE(TYPE)                                                                              \
    do {                                                                                           \
        TYPE *p_ = (TYPE *)(uintptr_t)to, old_ = __atomic_load_n(p_, __ATOMIC_RELAXED);            \
                                                                                                   \
        while (!__atomic_compare_exchange_n(p_, &old_, (TYPE)combined(op, type, old_, value),      \
                                            true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))             \
            ;                                                                                      \
    } while (0)

static void combine(uint32_t op, uint32_t type, uint64_t to, uint64_t value)
{
    if (element_bytes[type] == 8)
        COMBINE(uint64_t);
    else if (element_bytes[type] == 4)
        COMBINE(uint32_t);
    else
        COMBINE(uint16_t);
}

/* ---- barrier objects ---- */

void weir_bulk_complete(uint64_t at, uint64_t bytes)
{
    uint64_t *p = (uint64_t *)(uintptr_t)at, v = *p;
    uint64_t pending = v & WEIR_MBARRIER_COUNT_MASK,
             expected = v >> WEIR_MBARRIER_EXPECTED_AT & WEIR_MBARRIER_COUNT_MASK,
             tx = ((v >> WEIR_MBARRIER_BYTES_AT) - bytes) & WEIR_MBARRIER_BYTES_MASK,
             phase = v >> WEIR_MBARRIER_PHASE_AT;

    if (pending == 0 && tx == 0) {
        phase ^= 1;
        pending = expected;
    }
    *(volatile uint64_t *)p = phase << WEIR_MBARRIER_PHASE_AT | tx << WEIR_MBARRIER_BYTES_AT |
                              expected << WEIR_MBARRIER_EXPECTED_AT | pending;
}

/* ---- requests ---- */

struct copy {
    struct weir_block *block;
    uint32_t code;
    uint64_t to, from, bytes, barrier;
};

static void copy_one(const struct copy *c)
{
    uint32_t op = WEIR_BULK_OP(c->code), type = WEIR_BULK_TYPE(c->code), size = element_bytes[type];

    if (c->code & WEIR_BULK_TO_SHARED)
        check_shared(c->block, c->code, c->to, c->bytes);
    if (op == WEIR_BULK_SET)
        memmove((void *)(uintptr_t)c->to, (const void *)(uintptr_t)c->from, c->bytes);
    for (uint64_t k = 0; op != WEIR_BULK_SET && k + size <= c->bytes; k += size) {
        uint64_t value = 0;

        memcpy(&value, (const void *)(uintptr_t)(c->from + k), size);
        combine(op, type, c->to + k, value);
    }
    if (c->code & WEIR_BULK_COMPLETES)
        weir_bulk_complete(c->barrier, c->bytes);
}

/* The same offsets in each block of the mask. */
static void copy_many(const struct copy *c, uint64_t mask)
{
    const struct weir_cluster *cluster = c->block->cluster;
    uint64_t to = (c->to - cluster->shared) % cluster->stride,
             barrier = (c->barrier - cluster->shared) % cluster->stride;

    for (uint32_t rank = 0; rank < 16; rank++) {
        struct copy one = *c;

        if (!(mask >> rank & 1))
            continue;
        if (rank >= cluster->blocks)
            fail(c->block, WEIR_ERR_ILLEGAL_ADDRESS, c->to);
        one.to = cluster->shared + rank * cluster->stride + to;
        one.barrier = cluster->shared + rank * cluster->stride + barrier;
        copy_one(&one);
    }
}

/* Of code with `races`. True: it lands later. */
static bool is_told(const struct copy *c, uint32_t lane)
{
    if (c->code & WEIR_BULK_FROM_SHARED)
        weir_race_reads_shared(c->block);
    if (!(c->code & WEIR_BULK_TO_SHARED) || !(c->code & WEIR_BULK_COMPLETES) ||
        c->code & WEIR_BULK_MANY)
        return false;
    weir_race_bulk(c->block, lane, c->to, c->bytes, c->barrier);
    if (c->code & WEIR_BULK_FROM_SHARED || WEIR_BULK_OP(c->code) != WEIR_BULK_SET)
        return false;
    check_shared(c->block, c->code, c->to, c->bytes);
    return weir_race_bulk_late(c->block, c->to, c->from, c->bytes, c->barrier);
}

static void copy(struct weir_block *b, uint32_t code, const uint64_t *rows, uint32_t lane)
{
    struct copy c = {b,
                     code,
                     rows[WEIR_BULK_TO * LANES],
                     rows[WEIR_BULK_FROM * LANES],
                     rows[WEIR_BULK_BYTES * LANES],
                     rows[WEIR_BULK_BARRIER * LANES]};

    if ((c.to | c.from | c.bytes) & 15)
        fail(b, WEIR_ERR_MISALIGNED_ADDRESS, c.to & 15 ? c.to : c.from);
    if (code & WEIR_BULK_FROM_SHARED)
        check_shared(b, code, c.from, c.bytes);
    else if (c.bytes)
        check_global(b, c.from, c.bytes, 0);
    if (!(code & WEIR_BULK_TO_SHARED) && c.bytes)
        check_global(b, c.to, c.bytes, WEIR_BULK_OP(code) == WEIR_BULK_SET ? 1 : 2);
    if (WEIR_UNLIKELY(b->races) && is_told(&c, lane))
        return;
    if (code & WEIR_BULK_MANY)
        copy_many(&c, rows[WEIR_BULK_MASK * LANES]);
    else
        copy_one(&c);
}

static void store(struct weir_block *b, uint32_t code, const uint64_t *rows)
{
    uint32_t op = WEIR_BULK_OP(code), type = WEIR_BULK_TYPE(code), size = element_bytes[type],
             count = WEIR_BULK_DATA(code);
    uint64_t to = rows[WEIR_BULK_TO * LANES];

    if (to & (count * size - 1))
        fail(b, WEIR_ERR_MISALIGNED_ADDRESS, to);
    check_shared(b, code, to, count * size);
    for (uint32_t k = 0; k < count; k++)
        combine(op, type, to + k * size, rows[(WEIR_BULK_FROM + k) * LANES]);
    weir_bulk_complete(rows[WEIR_BULK_BARRIER * LANES], count * size);
}

void weir_bulk_serve(struct weir_block *block, uint32_t lanes, uint32_t code, const uint64_t *rows)
{
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        const uint64_t *mine = rows + lane;

        if (WEIR_BULK_DATA(code))
            store(block, code, mine);
        else
            copy(block, code, mine, lane);
    }
}
