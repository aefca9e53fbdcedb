/* SPDX-License-Identifier: Apache-2.0 */
#include "model/order.h"

static bool blocks(const struct weir_order_lane *l)
{
    return l->cls == WEIR_STREAM_BLOCKING || l->cls == WEIR_STREAM_PER_THREAD;
}

/* ---- clocks ---- */

static struct weir_clock *take(struct weir_clock *c)
{
    if (c)
        c->refs++;
    return c;
}

static uint32_t room_for(uint32_t count)
{
    return (count + WEIR_ORDER_ROOM - 1) / WEIR_ORDER_ROOM * WEIR_ORDER_ROOM;
}

static void spare_free(struct weir_order *o)
{
    while (o->spare_count)
        o->memory.free(o->memory.ctx, o->spare[--o->spare_count]);
}

static void give(struct weir_order *o, struct weir_clock *c)
{
    if (o->spare_count < WEIR_ORDER_SPARE_MAX && room_for(c->count) == o->spare_room)
        o->spare[o->spare_count++] = c;
    else
        o->memory.free(o->memory.ctx, c);
}

static inline void drop(struct weir_order *o, struct weir_clock *c)
{
    if (c && --c->refs == 0)
        give(o, c);
}

/* With room for count lanes; NULL: no memory. */
static struct weir_clock *clock_new(struct weir_order *o, uint32_t count)
{
    uint32_t room = room_for(count);

    if (room == o->spare_room && o->spare_count)
        return o->spare[--o->spare_count];
    if (room > o->spare_room) { /* lanes come, and seldom go */
        spare_free(o);
        o->spare_room = room;
    }
    return o->memory.alloc(o->memory.ctx, sizeof(struct weir_clock) +
                                              room * sizeof((struct weir_clock *)0)->at[0]);
}

static weir_seq value(const struct weir_clock *c, uint32_t lane)
{
    return c && lane < c->count ? c->at[lane] : 0;
}

static bool contains(const struct weir_clock *all, const struct weir_clock *part)
{
    if (!part || part == all)
        return true;
    for (uint32_t i = 0; i < part->count; i++) {
        if (part->at[i] > value(all, i))
            return false;
    }
    return true;
}

/* A clock of the caller's own with at least `count` lanes, equal to *c otherwise; *c is replaced.
 * NULL: no memory, *c stands. */
static struct weir_clock *own(struct weir_order *o, struct weir_clock **c, uint32_t count)
{
    uint32_t old = *c ? (*c)->count : 0;
    struct weir_clock *fresh;

    if (*c && (*c)->refs == 1 && room_for(old) >= count) {
        while ((*c)->count < count)
            (*c)->at[(*c)->count++] = 0;
        return *c;
    }
    if (count < old)
        count = old;
    fresh = clock_new(o, count);
    if (!fresh) {
        o->failed = true;
        return NULL;
    }
    fresh->refs = 1;
    fresh->count = count;
    for (uint32_t i = 0; i < count; i++)
        fresh->at[i] = i < old ? (*c)->at[i] : 0;
    drop(o, *c);
    *c = fresh;
    return fresh;
}

static void join_point(struct weir_order *o, struct weir_clock **c, uint32_t lane, weir_seq seq)
{
    struct weir_clock *mine;

    if (value(*c, lane) >= seq)
        return;
    mine = own(o, c, lane + 1);
    if (mine)
        mine->at[lane] = seq;
}

static void join_clock(struct weir_order *o, struct weir_clock **c, struct weir_clock *other)
{
    struct weir_clock *mine;

    if (contains(*c, other))
        return;
    if (contains(other, *c)) {
        take(other);
        drop(o, *c);
        *c = other;
        return;
    }
    mine = own(o, c, other->count);
    for (uint32_t i = 0; mine && i < other->count; i++) {
        if (other->at[i] > mine->at[i])
            mine->at[i] = other->at[i];
    }
}

static void join_lane(struct weir_order *o, struct weir_clock **c, uint32_t lane)
{
    join_clock(o, c, o->lanes[lane].base);
    join_point(o, c, lane, o->lanes[lane].last);
}

static void join_stamp(struct weir_order *o, struct weir_clock **c,
                       const struct weir_order_stamp *s)
{
    join_clock(o, c, s->base);
    if (s->lane)
        join_point(o, c, s->lane, s->seq);
}

/* ---- lanes ---- */

void weir_order_init(struct weir_order *o, const struct weir_model_memory *memory)
{
    o->memory = *memory;
    o->lanes = NULL;
    o->lane_count = 0;
    for (int i = 0; i < WEIR_MODEL_MAX_DEVICES; i++)
        o->legacy[i] = 0;
    o->host = NULL;
    o->host_changes = 1;
    o->spare_count = o->spare_room = 0;
    o->failed = false;
    o->open_count = 0;
    o->open_vague = o->open_lost = false;
}

void weir_order_finish(struct weir_order *o)
{
    for (uint32_t i = 1; i < o->lane_count; i++)
        drop(o, o->lanes[i].base);
    drop(o, o->host);
    spare_free(o);
    if (o->lanes)
        o->memory.free(o->memory.ctx, o->lanes);
    o->lanes = NULL;
    o->lane_count = 0;
    o->host = NULL;
}

static bool grow(struct weir_order *o, uint32_t count)
{
    struct weir_order_lane *lanes;

    if (count <= o->lane_count)
        return true;
    if (count < o->lane_count * 2)
        count = o->lane_count * 2;
    lanes = o->memory.alloc(o->memory.ctx, count * sizeof *lanes);
    if (!lanes) {
        o->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        lanes[i] = i < o->lane_count ? o->lanes[i] : (struct weir_order_lane){0};
    if (o->lanes)
        o->memory.free(o->memory.ctx, o->lanes);
    o->lanes = lanes;
    o->lane_count = count;
    return true;
}

void weir_order_lane_begin(struct weir_order *o, uint32_t lane, int device,
                           enum weir_stream_class cls)
{
    struct weir_order_lane *l;

    if (!grow(o, lane + 1))
        return;
    l = &o->lanes[lane];
    /* A reused lane's new operations stay behind its old ones: the slot of a stream is reused when
     * those are finished, which the host cannot have seen. A stamp never tells them apart, so a
     * race between the two goes unseen; it is no false alarm. */
    l->device = (uint16_t)device;
    l->cls = (uint8_t)cls;
    l->live = true;
    l->host_seen = 0;
    l->legacy_seen = 0;
    l->legacy_taken = l->last;
    l->early = l->last;
    if (cls == WEIR_STREAM_LEGACY)
        o->legacy[device] = lane;
}

void weir_order_lane_end(struct weir_order *o, uint32_t lane)
{
    struct weir_order_lane *l;

    if (lane >= o->lane_count)
        return;
    l = &o->lanes[lane];
    l->live = false;
    if (l->cls == WEIR_STREAM_LEGACY && o->legacy[l->device] == lane)
        o->legacy[l->device] = 0;
}

/* ---- operations ---- */

/* ORD-003, ORD-005, ORD-007: a legacy operation follows all blocking streams of its device. */
static void follow_streams(struct weir_order *o, struct weir_order_lane *legacy)
{
    for (uint32_t i = 1; i < o->lane_count; i++) {
        struct weir_order_lane *l = &o->lanes[i];

        if (!l->live || l->device != legacy->device || !blocks(l) || l->legacy_taken == l->last)
            continue;
        join_lane(o, &legacy->base, i);
        l->legacy_taken = l->last;
    }
}

/* ORD-004, ORD-006, ORD-011: a blocking stream follows its device's legacy stream. */
static inline void follow_legacy(struct weir_order *o, struct weir_order_lane *l)
{
    uint32_t legacy = o->legacy[l->device];

    if (!legacy || !blocks(l) || l->legacy_seen == o->lanes[legacy].last)
        return;
    join_lane(o, &l->base, legacy);
    l->legacy_seen = o->lanes[legacy].last;
}

/* The lane's next operation, after what orders every one, and after `after`. NULL: no such lane. */
static inline struct weir_order_lane *advance(struct weir_order *o, uint32_t lane,
                                              const struct weir_order_stamp *after, size_t count)
{
    struct weir_order_lane *l;

    if (lane >= o->lane_count || !lane)
        return NULL;
    l = &o->lanes[lane];
    if (l->host_seen != o->host_changes) {
        join_clock(o, &l->base, o->host);
        l->host_seen = o->host_changes;
    }
    if (l->cls == WEIR_STREAM_LEGACY)
        follow_streams(o, l);
    else
        follow_legacy(o, l);
    for (size_t i = 0; i < count; i++) {
        join_clock(o, &l->base, after[i].base);
        if (after[i].lane && after[i].lane != lane) /* of its own lane all is before it anyway */
            join_point(o, &l->base, after[i].lane, after[i].seq);
    }
    l->last++;
    return l;
}

/* Of the lane's last operation; l NULL: nothing. */
static inline struct weir_order_stamp stamp_of(struct weir_order_lane *l, uint32_t lane)
{
    if (!l)
        return (struct weir_order_stamp){0};
    return (struct weir_order_stamp){lane, l->last, l->last - 1, take(l->base)};
}

void weir_order_submit_after(struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *after, size_t count,
                             struct weir_order_stamp *out)
{
    struct weir_order_lane *l = advance(o, lane, after, count);

    if (l)
        l->early = l->last;
    if (out)
        *out = stamp_of(l, lane);
}

void weir_order_submit_kernel(struct weir_order *o, uint32_t lane, bool asks,
                              struct weir_order_stamp *out, struct weir_order_stamp *early)
{
    weir_seq front = lane && lane < o->lane_count ? o->lanes[lane].early : 0;

    *early = (struct weir_order_stamp){0};
    weir_order_submit_after(o, lane, NULL, 0, out);
    if (!out->lane)
        return;
    /* What others the lane follows by now it follows from its beginning: nobody begins early who
     * waits for another stream. */
    o->lanes[lane].early = asks ? front : out->seq - 1;
    if (!asks || front == out->seq - 1)
        return;
    weir_order_stamp_copy(early, out);
    early->front = front;
}

void weir_order_submit(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out)
{
    weir_order_submit_after(o, lane, NULL, 0, out);
}

void weir_order_submit_peer(struct weir_order *o, uint32_t lane, uint32_t other,
                            struct weir_order_stamp *out)
{
    struct weir_order_stamp gathered;

    weir_order_submit(o, other, &gathered);
    weir_order_submit_after(o, lane, &gathered, 1, out);
    weir_order_submit_after(o, other, out, 1, NULL);
    weir_order_stamp_drop(o, &gathered);
}

/* A record or wait has a place of its own in the lane (ORD-007, ORD-026), but is no work: what may
 * begin early stays as it is. */

void weir_order_record(struct weir_order *o, uint32_t lane, bool between,
                       struct weir_order_stamp *event)
{
    struct weir_order_lane *l;

    drop(o, event->base);
    l = advance(o, lane, NULL, 0);
    if (l && between)
        l->early = l->last;
    *event = stamp_of(l, lane);
}

/* ---- nodes of a graph's launch ---- */

void weir_order_part_waits(struct weir_order *o, struct weir_order_stamp *part,
                           const struct weir_order_stamp *event)
{
    join_stamp(o, &part->base, event);
}

void weir_order_part_ends(struct weir_order *o, struct weir_order_stamp *end)
{
    if (end->lane && end->lane < o->lane_count)
        join_clock(o, &o->lanes[end->lane].base, end->base);
}

void weir_order_part_records(struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *part, struct weir_order_stamp *event)
{
    struct weir_order_stamp front = *part;

    front.seq = front.front; /* of the launch itself only what is in front of the node */
    drop(o, event->base);
    *event = stamp_of(advance(o, lane, &front, 1), lane);
}

bool weir_order_wait(struct weir_order *o, uint32_t lane, const struct weir_order_stamp *event,
                     struct weir_order_stamp *out)
{
    struct weir_order_lane *l;

    if (out)
        *out = (struct weir_order_stamp){0};
    if (lane >= o->lane_count)
        return false;
    if ((!event->lane || event->lane == lane) && o->lanes[lane].cls != WEIR_STREAM_LEGACY)
        return false;
    l = advance(o, lane, event, event->lane != lane); /* ORD-024 */
    if (out)
        *out = stamp_of(l, lane);
    return true;
}

/* ---- values in memory ---- */

static bool open_is_over(const struct weir_order *o, const struct weir_order_open *w)
{
    return value(o->host, w->lane) >= w->last;
}

/* Of the first `count` waits those of a lane become one; over: those that the host knows to be. */
static void open_fold(struct weir_order *o, uint32_t count, bool over)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < o->open_count; i++) {
        const struct weir_order_open w = o->open[i];
        uint32_t k = i < count && (!over || open_is_over(o, &w)) ? 0 : kept;

        while (k < kept && (o->open[k].lane != w.lane || (over && !open_is_over(o, &o->open[k]))))
            k++;
        if (k == kept) {
            o->open[kept++] = w;
            continue;
        }
        if (w.first < o->open[k].first) /* graphs' are told late */
            o->open[k].first = w.first;
        if (w.last > o->open[k].last)
            o->open[k].last = w.last;
    }
    o->open_count = kept;
}

static void open_add(struct weir_order *o, uint32_t lane, weir_seq seq)
{
    if (o->open_count == WEIR_ORDER_OPEN_MAX)
        open_fold(o, WEIR_ORDER_OPEN_MAX, true);
    if (o->open_count == WEIR_ORDER_OPEN_MAX) {
        o->open_vague = true;
        open_fold(o, WEIR_ORDER_OPEN_MAX / 2, false); /* the older ones */
    }
    if (o->open_count < WEIR_ORDER_OPEN_MAX)
        o->open[o->open_count++] = (struct weir_order_open){lane, seq, seq};
    else
        o->open_lost = true;
}

void weir_order_wait_open(struct weir_order *o, uint32_t lane)
{
    const struct weir_order_lane *l = advance(o, lane, NULL, 0);

    if (l)
        open_add(o, lane, l->last);
}

void weir_order_wait_inside(struct weir_order *o, const struct weir_order_stamp *s)
{
    open_add(o, s->lane, s->seq);
}

/* So much of the lane comes before the operation, or is it. */
static weir_seq reached(const struct weir_order_stamp *s, uint32_t lane)
{
    return s->lane == lane ? s->seq : value(s->base, lane);
}

bool weir_order_may_be_before(const struct weir_order *o, const struct weir_order_stamp *a,
                              const struct weir_order_stamp *b)
{
    bool same = a->lane == b->lane && a->seq == b->seq; /* nodes of one launch */

    if (o->open_lost)
        return true;
    for (uint32_t i = 0; i < o->open_count; i++) {
        const struct weir_order_open *w = &o->open[i];
        weir_seq from = reached(a, w->lane), to = reached(b, w->lane);
        bool inside = same && a->lane == w->lane && from >= w->first && from <= w->last;

        /* b is behind one that a is not behind */
        if (inside || (from < to && from < w->last && to >= w->first))
            return true;
    }
    return false;
}

/* ---- the host ---- */

void weir_order_host_saw_clock(struct weir_order *o, struct weir_clock *c)
{
    if (contains(o->host, c))
        return;
    join_clock(o, &o->host, c);
    o->host_changes++;
}

void weir_order_host_saw(struct weir_order *o, const struct weir_order_stamp *s)
{
    if (contains(o->host, s->base) && (!s->lane || value(o->host, s->lane) >= s->seq))
        return;
    join_stamp(o, &o->host, s);
    o->host_changes++;
}

void weir_order_host_saw_before(struct weir_order *o, const struct weir_order_stamp *s)
{
    struct weir_order_stamp before = *s;

    before.seq--;
    weir_order_host_saw(o, &before);
}

void weir_order_host_acts(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out)
{
    *out = (struct weir_order_stamp){0};
    if (lane >= o->lane_count)
        return;
    join_point(o, &o->host, lane, ++o->lanes[lane].last);
    o->host_changes++;
    *out = (struct weir_order_stamp){lane, o->lanes[lane].last, o->lanes[lane].last - 1,
                                     take(o->host)};
}

struct weir_clock *weir_order_lane_clock(struct weir_order *o, uint32_t lane)
{
    const struct weir_order_lane *l;
    struct weir_clock *c = NULL;

    if (lane >= o->lane_count || !lane)
        return NULL;
    l = &o->lanes[lane];
    join_lane(o, &c, lane);
    for (uint32_t i = 1; l->cls == WEIR_STREAM_LEGACY && i < o->lane_count; i++) {
        if (o->lanes[i].live && o->lanes[i].device == l->device && blocks(&o->lanes[i]))
            join_lane(o, &c, i);
    }
    return c;
}

struct weir_clock *weir_order_device_clock(struct weir_order *o, int device)
{
    struct weir_clock *c = NULL;

    for (uint32_t i = 1; i < o->lane_count; i++) {
        if (o->lanes[i].last && o->lanes[i].device == device)
            join_lane(o, &c, i);
    }
    return c;
}

void weir_order_lane_all(struct weir_order *o, uint32_t lane, struct weir_order_stamp *out)
{
    *out = (struct weir_order_stamp){0};
    if (lane >= o->lane_count || !lane)
        return;
    if (o->lanes[lane].cls == WEIR_STREAM_LEGACY)
        out->base = weir_order_lane_clock(o, lane);
    else
        *out = (struct weir_order_stamp){
            .lane = lane, .seq = o->lanes[lane].last, .base = take(o->lanes[lane].base)};
}

void weir_order_host_saw_lane(struct weir_order *o, uint32_t lane)
{
    struct weir_order_stamp all;

    weir_order_lane_all(o, lane, &all);
    weir_order_host_saw(o, &all);
    drop(o, all.base);
}

void weir_order_host_saw_device(struct weir_order *o, int device)
{
    struct weir_clock *c = weir_order_device_clock(o, device);

    weir_order_host_saw_clock(o, c);
    drop(o, c);
}

/* ---- questions ---- */

bool weir_order_before(const struct weir_order_stamp *a, const struct weir_order_stamp *b)
{
    if (a->lane == b->lane && a->seq <= b->front)
        return true;
    return value(b->base, a->lane) >= a->seq;
}

bool weir_order_lane_follows(const struct weir_order *o, uint32_t lane,
                             const struct weir_order_stamp *s)
{
    return lane == s->lane ||
           (lane < o->lane_count && value(o->lanes[lane].base, s->lane) >= s->seq);
}

bool weir_order_host_knows(const struct weir_order *o, const struct weir_order_stamp *a)
{
    return value(o->host, a->lane) >= a->seq;
}

struct weir_clock *weir_order_host_clock(struct weir_order *o)
{
    return take(o->host);
}

void weir_order_clock_add(struct weir_order *o, struct weir_clock **c,
                          const struct weir_order_stamp *s)
{
    join_stamp(o, c, s);
}

void weir_order_clock_drop(struct weir_order *o, struct weir_clock *c)
{
    drop(o, c);
}

void weir_order_stamp_copy(struct weir_order_stamp *to, const struct weir_order_stamp *from)
{
    *to = *from;
    take(to->base);
}

void weir_order_stamp_drop(struct weir_order *o, struct weir_order_stamp *s)
{
    drop(o, s->base);
    *s = (struct weir_order_stamp){0};
}
