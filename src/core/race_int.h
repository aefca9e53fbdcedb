/* Between race.c, race_cells.c and race_order.c. Order inside of a block is kept by vector clocks
 * of its warps, and one of "the agent", which makes asynchronous copies. Whatever may order
 * accesses does: a .sync instruction orders all lanes of the warp, an atomic all that came before
 * with all that read it, with a fence or without. So an order too much hides a race; there is never
 * one too few. A block runs on one thread at a time; what blocks share has locks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_RACE_INT_H
#define WEIR_CORE_RACE_INT_H

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/race.h"
#include "device/race.h"

#define RACE_WARPS    32u
#define RACE_AGENT    32u
#define RACE_CLOCKS   33u
#define RACE_BARRIERS 16u
#define RACE_SLOTS    64u /* of atomics in shared memory; one more for all global ones */
#define RACE_THREADS  1024u
#define RACE_CELL     4u /* bytes */
#define RACE_PAGE     4096u
#define RACE_FOUND    64u
#define RACE_HINTS    128u

struct race_clock {
    uint32_t at[RACE_CLOCKS];
};

enum race_flags {
    RACE_USED = 1,
    RACE_ATOMIC = 2,   /* an update, a store that orders, or one of who updates */
    RACE_SAME = 4,     /* several threads wrote the same value */
    RACE_PENDING = 8,  /* a cp.async that its thread has not waited for */
    RACE_LEARNED = 16, /* the block may have learned of others before */
};

/* The last access of a kind: of lanes of one warp, between two things that order its lanes. */
struct race_side {
    uint32_t block; /* 0 in shared memory, else the block's number from 1 on */
    uint32_t clock, lanes, line;
    uint8_t warp, bytes, flags, spare; /* bytes: a bit each */
};

/* An update leaves the plain write of before where it is: who comes after both is judged by both.
 */
struct race_cell {
    struct race_side write, update, read[2]; /* reads: of different warps */
    uint32_t value;                          /* of the bytes `known` */
    uint32_t atomics;                        /* warps that updated it */
    uint32_t run;   /* shared memory: of which block this is (race_block.run) */
    uint32_t known; /* bytes whose value was stored last, a bit each */
};

struct race_page {
    uint64_t number;
    bool ignored, careful; /* no memory of the program's; perhaps of several allocations */
    struct race_cell cells[];
};

struct race_copy {
    uint32_t cell, cells, thread, group;
    unsigned char before[16], bytes[16]; /* of race_block.late: what is there until it lands */
};

/* A bulk copy that lands when somebody waits at the barrier object. */
struct race_bulk {
    uint64_t to, from, bytes, barrier;
};

/* Lines of the text: an update, and the read by the same thread before it; 0: there was none. */
struct race_hint {
    uint32_t read, update;
};

struct race_block {
    struct race_block *next, *next_free;
    struct weir_races *launch;
    uint32_t number, warps, threads;
    bool learned;
    uint32_t run; /* counts the blocks that this was used for */
    /* A warp's own clock goes on with each of its accesses; since: where its lanes were in order.
     */
    struct race_clock now[RACE_WARPS], met[RACE_SLOTS + 1];
    uint32_t since[RACE_WARPS], agent;
    /* barriers: what has arrived, warps that wait, and where (places of the text) */
    struct race_clock arrived[RACE_BARRIERS];
    uint32_t waiting[RACE_BARRIERS], count[RACE_BARRIERS], line[RACE_BARRIERS],
        waiter[RACE_BARRIERS];
    bool all[RACE_BARRIERS];
    uint64_t places[RACE_BARRIERS];
    uint32_t place_line[WEIR_RACE_PLACES], place_waiter[WEIR_RACE_PLACES];
    bool any_past;
    uint64_t past[RACE_THREADS]; /* barriers that the thread is behind */
    /* cp.async */
    uint32_t committed[RACE_THREADS];
    WEIR_VEC(struct race_copy) copies;
    /* --late-async */
    bool late;
    size_t fresh; /* copies from there on are made after the call that told of them: to be hidden */
    WEIR_VEC(struct race_bulk) bulks;
    char *shared;
    struct race_hint hints[8]; /* told of late */
    struct race_page *last;    /* of global memory; may be NULL */
    struct race_cell *cells;   /* shared memory */
    uint32_t cell_count;
};

#define RACE_LOCKS 32u

struct weir_races {
    struct weir_lock lock; /* TOUCH: blocks, pages' table */
    struct race_block *blocks, *free;
    struct weir_map pages;
    size_t bytes;
    struct weir_lock page_locks[RACE_LOCKS];
    struct weir_lock found_lock; /* LEAF */
    struct weir_check_threads found[RACE_FOUND];
    uint32_t count;
    struct race_hint hints[RACE_HINTS];
    uint32_t hint_count;
    _Atomic bool lost;
};

struct race_access {
    struct weir_block *block;
    struct race_block *race;
    uint32_t kind, line, lane;
    bool global, quiet, store, copy;
    uint64_t base;        /* of the space: addresses are told from there on */
    uint32_t bytes, size; /* in the cell; of all */
    uint64_t address;     /* of the cell */
    uint32_t value;       /* with known: what is stored */
    bool known;
    bool practised; /* out: it was a store that hands on what came before */
};

/* race_cells.c: judges and notes an access to a cell. */
void weir_race_cell(struct race_access *a, struct race_cell *c);
static inline uint32_t weir_race_own_block(const struct race_access *a)
{
    return a->global ? a->race->number : 0;
}
/* Is it of the accessing warp, and its lanes have not been in order since? */
static inline bool weir_race_is_open(const struct race_access *a, const struct race_side *s)
{
    return s->warp == a->block->warp && s->block == weir_race_own_block(a) &&
           s->clock >= a->race->since[s->warp];
}
/* A read of what another lane has read in this instruction: what was written before by other warps
 * has been judged, and there is nothing of this warp's to be judged. */
static inline bool weir_race_is_read(const struct race_access *a, struct race_cell *c)
{
    struct race_side *s = &c->read[0];
    const uint32_t w = a->block->warp, block = weir_race_own_block(a);

    if (a->kind != 0 || s->warp != w || s->clock != a->race->now[w].at[w] || s->block != block ||
        s->bytes != a->bytes || !s->flags || weir_race_is_open(a, &c->write) ||
        weir_race_is_open(a, &c->update))
        return false;
    s->lanes |= 1u << a->lane;
    return true;
}

/* race.c */
void weir_race_add(struct weir_races *r, const struct weir_check_threads *t);
void weir_race_hint(struct race_block *r, uint32_t read, uint32_t update);
void weir_race_thread(const struct weir_block *b, uint32_t index, uint32_t line,
                      struct weir_check_thread *out);
struct race_page *weir_race_page(struct weir_races *r, uint64_t number);
static inline struct weir_lock *weir_race_page_lock(struct weir_races *r, uint64_t number)
{
    return &r->page_locks[number % RACE_LOCKS];
}

/* race_late.c: asynchronous copies land when they are waited for (--late-async). */
void weir_race_late_begin(struct race_block *r, const struct weir_block *b);
void weir_race_late_hide_fresh(struct race_block *r);
static inline void weir_race_late_hide(struct race_block *r)
{
    if (WEIR_UNLIKELY(r->fresh < r->copies.count))
        weir_race_late_hide_fresh(r);
}
/* Before a cp.async is made: fills in what it finds. */
void weir_race_late_note(struct race_copy *c, const struct race_access *a,
                         const unsigned char *data);
void weir_race_late_land(const struct race_block *r, const struct race_copy *c);
/* The lanes are about to look if the objects' phases are over. */
void weir_race_late_arrive(struct race_block *r, uint64_t lanes, const uint64_t *objects);

/* race_order.c */
void weir_race_tick(struct race_block *r, uint32_t warp); /* its lanes are in order now */
void weir_race_join(struct race_clock *to, const struct race_clock *from);
/* An ordering access: what came before it is handed on, and taken if it learns. */
void weir_race_meet(struct race_access *a, uint64_t address);
void weir_race_handed(struct race_block *r, uint32_t warp, uint32_t lanes, uint64_t address);

static inline struct race_clock *weir_race_met(struct race_block *r, bool global, uint64_t address)
{
    return &r->met[global ? RACE_SLOTS : address >> 3 & (RACE_SLOTS - 1)];
}

#endif
