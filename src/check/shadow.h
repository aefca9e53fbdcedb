/* Who touched which byte: the memory of the checker (DESIGN 5). Accesses come in any order of time
 * that respects the order of operations (an operation's accesses come after those of all operations
 * before it); each is compared with what is remembered of the same bytes, and two that conflict
 * without an order are a race.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For every page of 4 KiB a list of marks: actor, kind of access, bytes. A mark is a range until it
 * has a hole, then a bit a byte. What a later access of the same or a stronger kind covers is
 * forgotten: who races with the earlier and not with the later is ordered between them, and came
 * before. Actors that the host knows to be finished can be forgotten too, once nothing runs that
 * was submitted before the host knew (weir_shadow_settle).
 *
 * Threads: the caller serialises. Memory: about 100 bytes for a page whole, 600 for one in pieces.
 */
#ifndef WEIR_CHECK_SHADOW_H
#define WEIR_CHECK_SHADOW_H

#include "base/compiler.h"
#include "base/map.h"
#include "model/order.h"
#include "model/reach.h"

enum weir_access { WEIR_ACCESS_READ, WEIR_ACCESS_ATOMIC, WEIR_ACCESS_WRITE };

/* Shared by the launches of an executable graph. NULL: nothing. */
void weir_reach_drop(struct weir_reach *r);

/* Other stamps: what is one of them, or comes behind one, comes behind their actor. Of a node: the
 * records of events behind it in its graph. Of what the program itself does, which nothing in the
 * documents orders before an operation that was submitted earlier: host functions (and waits for
 * values in memory) that have not ended, and that the program may let go on afterwards. */
struct weir_ways {
    uint32_t count;
    struct weir_order_stamp stamps[];
};

/* An operation, or a node of a graph's launch: node is its number, and the stamp a part of the
 * launch; or the program itself. */
struct weir_actor {
    struct weir_order_stamp stamp;
    struct weir_reach *reach; /* NULL: a whole operation */
    uint32_t node;
    uint32_t refs;
    struct weir_inside *inside; /* of conditional node `node`; owned; NULL: it is in no body */
    bool host;                  /* the program itself */
    struct weir_ways *ways;     /* owned; may be NULL */
    bool early;   /* its accesses are told before those of what is before it: nothing is forgotten
                     for them, */
    bool in_lane; /* but for those at_once of its lane: what is untold before it is in that lane */
    bool at_once; /* told when it was submitted; no part of another operation of its lane is beside
                     it */
    void *detail; /* the caller's; stands behind it (detail_bytes) */
};

struct weir_race {
    struct weir_actor *before, *now; /* in the order of their accesses, which means nothing */
    enum weir_access before_kind, now_kind;
    uintptr_t begin, end; /* the first bytes that both touch, in one page or block */
};

struct weir_shadow {
    struct weir_order *order;
    struct weir_map blocks;
    struct weir_map mapped; /* address -> name, both in WEIR_SHADOW_MAPPED_BYTES */
    uintptr_t names;        /* the next one; 0: none was asked for */
    void (*race)(void *ctx, const struct weir_race *race);
    void (*met)(void *ctx, struct weir_actor *op, struct weir_actor *host);
    void (*gone)(void *ctx, struct weir_actor *a); /* the last reference is dropped */
    void *ctx;
    size_t detail_bytes;      /* of each actor; set before the first is made, then constant */
    struct weir_actor *spare; /* of actors that are gone, linked by `detail` */
    size_t spare_count;
    size_t bytes; /* of marks and pages */
    bool failed;  /* out of memory: races may go unseen */
};

void weir_shadow_init(struct weir_shadow *s, struct weir_order *order);
void weir_shadow_finish(struct weir_shadow *s);

/* Takes over the stamp; the detail is zero. NULL: no memory (s->failed). The caller's reference is
 * to be dropped. */
struct weir_actor *weir_actor_create(struct weir_shadow *s, struct weir_order_stamp *stamp);
void weir_actor_drop(struct weir_shadow *s, struct weir_actor *a);
bool weir_actor_before(const struct weir_actor *a, const struct weir_actor *b);
/* The same of two that are no nodes of one launch. */
bool weir_actor_before_stamp(const struct weir_actor *a, const struct weir_order_stamp *b);
/* Does the host know the operation to be finished? */
bool weir_actor_is_known(const struct weir_order *o, const struct weir_actor *a);

/* The program's own accesses and ordered ones (volatile, atomic: WEIR_ACCESS_ATOMIC) of operations
 * are no race; `met` is called for those, as a way that the two may have to order others. */
/* a touches [begin, end). `race` is called for every conflicting access without an order, once for
 * each page (or block), actor and kind that it meets there. */
void weir_shadow_access(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                        uintptr_t begin, uintptr_t end);
/* The bytes of page `number` (of 4 KiB) whose bit is set; bit i of bits[w] is byte 64 * w + i. */
#define WEIR_SHADOW_PAGE_SHIFT 12
#define WEIR_SHADOW_PAGE_WORDS 64
void weir_shadow_access_bits(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                             uint64_t number, const uint64_t bits[WEIR_SHADOW_PAGE_WORDS]);
/* height rows of width bytes. */
void weir_shadow_access_rows(struct weir_shadow *s, struct weir_actor *a, enum weir_access kind,
                             uintptr_t begin, size_t width, size_t height, size_t pitch);
/* The same of an operation whose accesses are all known at once, when those are what an actor of
 * the same lane, which nobody else has, has touched byte for byte before it, and nobody since: that
 * actor stands for it from now on, takes over the stamp and is the marks'. Each span is in a page.
 * NULL: it is not so. */
struct weir_shadow_span {
    uintptr_t begin, end;
    enum weir_access kind;
};
struct weir_actor *weir_shadow_again(struct weir_shadow *s, struct weir_order_stamp *stamp,
                                     const struct weir_shadow_span *spans, size_t count);
/* The memory is no longer what it was: freed and not yet allocated again. */
void weir_shadow_forget(struct weir_shadow *s, uintptr_t begin, uintptr_t end);
/* Memory that comes to its addresses by a mapping, perhaps to several at once, is known by a name:
 * where it would be if it had an address of its own, in addresses that nothing else has. Between
 * map and unmap what is told of [begin, end) is told of the memory from `name` on. The memory goes:
 * weir_shadow_forget, of its name. All are multiples of WEIR_SHADOW_MAPPED_BYTES. */
#define WEIR_SHADOW_MAPPED_BYTES ((uintptr_t)2 << 20)
#define WEIR_SHADOW_NAMES        ((uintptr_t)1 << 60)
uintptr_t weir_shadow_name(struct weir_shadow *s, size_t bytes);
void weir_shadow_map(struct weir_shadow *s, uintptr_t begin, uintptr_t end, uintptr_t name);
uintptr_t weir_shadow_known(const struct weir_shadow *s, uintptr_t address); /* as what it is */
void weir_shadow_unmap(struct weir_shadow *s, uintptr_t begin, uintptr_t end);
/* Who touched some byte of [begin, end) and is not known by the host to be finished: `visit` for
 * each, until it returns false. */
void weir_shadow_unfinished(struct weir_shadow *s, uintptr_t begin, uintptr_t end,
                            bool (*visit)(void *ctx, struct weir_actor *a, enum weir_access kind,
                                          uintptr_t begin, uintptr_t end),
                            void *ctx);
/* Forgets all marks of actors that the host knew to be finished when it was last asked for
 * (`known`: a clock taken with weir_order_host_clock), nothing older being under way. */
void weir_shadow_settle(struct weir_shadow *s, const struct weir_clock *known);

#endif
