/* What is ordered before what, by the documented rules alone (DESIGN 1, DESIGN 5): for readers that
 * judge a program instead of running it. The runs' model (model.h) forgets what is finished and
 * leaves out edges that hold already, because only the future matters to it; a verdict must not
 * depend on what happened to be finished. Here nothing ever finishes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks. A lane is a stream (or whatever else runs one thing after another); its operations
 * are numbered 1, 2, 3 ... A clock says for every lane how much of it comes before. The operations
 * of a lane differ by their number only, until an edge from elsewhere arrives: then the lane gets a
 * new clock. So an operation is a stamp: lane, number, and a reference to the clock of that time.
 *
 * The host is one more clock, of the work that it knows to be finished: a synchronisation by any of
 * its threads counts for all, because hand-overs between threads cannot be seen. What is submitted
 * after a synchronisation comes after the work that it waited for.
 *
 * Only guaranteed edges exist here: there is no way to say an observed one.
 *
 * Pure, as the whole model. Memory comes from struct weir_model_memory. The caller serialises all
 * calls on one weir_order. Lanes are small numbers that the caller chooses, dense, reused at will:
 * numbering goes on, so that old stamps stay true. */
#ifndef WEIR_MODEL_ORDER_H
#define WEIR_MODEL_ORDER_H

#include "model/model.h"

/* Immutable once shared; counted. */
struct weir_clock {
    uint32_t refs, count;
    weir_seq at[]; /* by lane: everything up to this number comes before */
};

/* An operation, or an event's record ("everything in the lane up to seq"). A copy is another
 * reference: weir_order_stamp_copy, weir_order_stamp_drop. All zero: nothing. */
struct weir_order_stamp {
    uint32_t lane; /* 0: nothing */
    weir_seq seq;
    weir_seq front;          /* so much of its own lane comes before it */
    struct weir_clock *base; /* NULL: empty */
};

struct weir_order_lane {
    weir_seq last;
    weir_seq early; /* so much of it comes before a programmatic launch begins, the next one */
    struct weir_clock *base;
    uint64_t host_seen;    /* host_changes when base took in the host's clock */
    weir_seq legacy_seen;  /* the device's legacy lane: its number when base took it in */
    weir_seq legacy_taken; /* own number when the legacy lane took this one in */
    uint16_t device;
    uint8_t cls; /* enum weir_stream_class */
    bool live;
};

/* A wait in a lane, or several of them that count as one: as if there were one at each number. */
struct weir_order_open {
    uint32_t lane;
    weir_seq first, last;
};

#define WEIR_ORDER_OPEN_MAX  512
#define WEIR_ORDER_SPARE_MAX 16
#define WEIR_ORDER_ROOM      8 /* clocks have room for a multiple of so many lanes */

struct weir_order {
    struct weir_model_memory memory;
    struct weir_order_lane *lanes; /* [0] is not used */
    uint32_t lane_count;
    uint32_t legacy[WEIR_MODEL_MAX_DEVICES]; /* the device's legacy lane, 0 none */
    struct weir_clock *host;
    uint64_t host_changes;
    /* Clocks that nobody has any more, with room for spare_room lanes: most are soon wanted again.
     */
    struct weir_clock *spare[WEIR_ORDER_SPARE_MAX];
    uint32_t spare_count, spare_room;
    bool failed; /* out of memory: verdicts would be wrong, none may be given any more */
    /* Waits for values that somebody unknown writes. When there are too many, those of a lane that
     * the host knows to be over become one: what is submitted from then on is behind them all. */
    struct weir_order_open open[WEIR_ORDER_OPEN_MAX];
    uint32_t open_count;
    bool open_vague; /* others had to become one, or were forgotten: races may go untold */
    bool open_lost;  /* some are forgotten: two operations without an order may always have one */
};

void weir_order_init(struct weir_order *o, const struct weir_model_memory *memory);
void weir_order_finish(struct weir_order *o);

/* Lane (1 or more) is now a stream of `device`. */
void weir_order_lane_begin(struct weir_order *o, uint32_t lane, int device,
                           enum weir_stream_class cls);
/* The stream is destroyed. What it holds still runs, in the order that it has (ORD-009); the legacy
 * stream does not follow it any more by any documented rule (ORD-010 is observed). */
void weir_order_lane_end(struct weir_order *o, uint32_t lane);

/* The next operation of the lane: after everything in it (ORD-001), what the host knows to be
 * finished, and what the default streams' rules say (ORD-003 to ORD-007, ORD-011). Waits and
 * records are operations as well. *out (may be NULL) is the caller's to drop. */
void weir_order_submit(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out);
/* The same, after `count` other stamps besides (ORD-030). */
void weir_order_submit_after(struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *after, size_t count,
                             struct weir_order_stamp *out);
/* A kernel. Before it waits for what is in front of it (ORD-032) a programmatic launch, which
 * `asks`, may run beside the kernels right in front of it (ORD-031): *early is the stamp of that
 * part, for the caller to drop, or nothing when the whole operation is ordered as others are. */
void weir_order_submit_kernel(struct weir_order *o, uint32_t lane, bool asks,
                              struct weir_order_stamp *out, struct weir_order_stamp *early);
/* A copy between the legacy lanes of two devices, submitted to `lane` (ORD-012). */
void weir_order_submit_peer(struct weir_order *o, uint32_t lane, uint32_t other,
                            struct weir_order_stamp *out);
/* What an event that is recorded now in the lane stands for (ORD-020); replaces *event. `between`:
 * the record is an operation between two kernels, of which the second does not begin early. */
void weir_order_record(struct weir_order *o, uint32_t lane, bool between,
                       struct weir_order_stamp *event);

/* Nodes of a graph wait for events and record some (GRA-011), so parts of a launch differ. A part
 * is a copy of the launch's stamp, which comes after the launches before (ORD-030) and what else
 * the launch as a whole does; behind a wait node also after the event, as it was at the launch
 * call. */
void weir_order_part_waits(struct weir_order *o, struct weir_order_stamp *part,
                           const struct weir_order_stamp *event);
/* What is behind the launch in its lane comes behind its end, a part that has waited for all of
 * those events, and for its own records. The launch is the lane's last operation. */
void weir_order_part_ends(struct weir_order *o, struct weir_order_stamp *end);
/* A record node, in a lane of its own: the event stands for the part in front of it, and for the
 * nodes there, to whom *event is one more stamp by which others come after them. Replaces *event.
 */
void weir_order_part_records(struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *part, struct weir_order_stamp *event);

/* The lane waits for an event (ORD-021). An event that was never recorded, or recorded in the same
 * lane, is nothing to wait for, and no operation (ORD-023, ORD-024), but in a legacy lane
 * (ORD-007). True: an operation, *out as above. */
bool weir_order_wait(struct weir_order *o, uint32_t lane, const struct weir_order_stamp *event,
                     struct weir_order_stamp *out);

/* What is in the lane from here on waits for a value in memory (GRA-050), and nothing says who
 * writes it: a kernel, the program, a stream that is given the write later. So it may come after
 * anything, but for what is itself behind the wait. */
void weir_order_wait_open(struct weir_order *o, uint32_t lane);
/* The same of one operation that waits inside: a graph's launch. */
void weir_order_wait_inside(struct weir_order *o, const struct weir_order_stamp *s);
/* Two stamps without an order: may such a wait put a before b? */
bool weir_order_may_be_before(const struct weir_order *o, const struct weir_order_stamp *a,
                              const struct weir_order_stamp *b);

/* The program itself does something, as the next operation of `lane`, a lane of its own that no
 * stream is: after what the host knows, before all that is submitted from now on. */
void weir_order_host_acts(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out);

/* The host knows what the stamp stands for to be finished: an event or one operation (ORD-044), a
 * whole stream (ORD-040, ORD-041), a device (ORD-043). */
void weir_order_host_saw(struct weir_order *o, const struct weir_order_stamp *s);
/* A host function begins: what is before its operation has ended. */
void weir_order_host_saw_before(struct weir_order *o, const struct weir_order_stamp *s);
void weir_order_host_saw_lane(struct weir_order *o, uint32_t lane);
void weir_order_host_saw_device(struct weir_order *o, int device);
/* The same in two steps, for waits beside which others submit: what the wait is for, as a stamp for
 * weir_order_host_saw or as a clock (to be dropped; NULL: nothing), and that it is over. */
void weir_order_lane_all(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out);
struct weir_clock *weir_order_lane_clock(struct weir_order *o, uint32_t lane);
struct weir_clock *weir_order_device_clock(struct weir_order *o, int device);
void weir_order_host_saw_clock(struct weir_order *o, struct weir_clock *c);

/* Is a ordered before b? Two different stamps of different operations. */
bool weir_order_before(const struct weir_order_stamp *a, const struct weir_order_stamp *b);
/* Does all that is submitted to the lane from now on come after s? */
bool weir_order_lane_follows(const struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *s);
/* Does the host know a to be finished? */
bool weir_order_host_knows(const struct weir_order *o, const struct weir_order_stamp *a);

/* What the host knows now; another reference, NULL: nothing yet. Drop with weir_order_clock_drop.
 */
struct weir_clock *weir_order_host_clock(struct weir_order *o);
/* *c becomes a clock that has the stamp in it, too. A stamp of lane 0 with a clock as its base
 * means "all of that clock" to weir_order_submit_after. */
void weir_order_clock_add(struct weir_order *o, struct weir_clock **c,
                          const struct weir_order_stamp *s);
void weir_order_clock_drop(struct weir_order *o, struct weir_clock *c);
/* Does the clock (NULL: nothing) have that operation of the lane in it? */
static inline bool weir_order_clock_has(const struct weir_clock *c, uint32_t lane, weir_seq seq)
{
    return c && lane < c->count && c->at[lane] >= seq;
}

void weir_order_stamp_copy(struct weir_order_stamp *to, const struct weir_order_stamp *from);
void weir_order_stamp_drop(struct weir_order *o, struct weir_order_stamp *s);

#endif
