/* Inside src/trace: a thread's place in the file, and how a record gets there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_WRITER_H
#define WEIR_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "trace/format.h"
#include "trace/ticks.h"

#define WEIR_TRACE_SITES      64  /* cache of return addresses, direct mapped */
#define WEIR_TRACE_RECORD_MAX 512 /* payload of any record but strings */
#define WEIR_TRACE_STRING_MAX 2048
#define WEIR_TRACE_POINTERS   16 /* of a kernel: those beyond are left out */
#define WEIR_TRACE_CHUNK_ENDS (WEIR_TRACE_CHUNK_BYTES - WEIR_TRACE_RECORD_MAX + 1)
#define WEIR_TRACE_AHEAD      256  /* is on its way to the cache before it is written */
#define WEIR_TRACE_CALL_BYTES 4096 /* of all records of one call, nearly always */

struct weir_trace_buffer {
    char *chunk; /* mapped; NULL before the first record */
    size_t pos;  /* of the next record, from the chunk's beginning */
    size_t ends; /* from here on there is no room for any; 0: no chunk, or see lost and held */
    uint64_t last_ns, last_address;
    uint64_t call_ns; /* between enter and leave: when the call began; else 0 */
    /* Launches in quick succession: what the last call was that began, where this one's records
     * begin and its only one, of a launch, ends (0: there are others), and what such a call took,
     * told for so many since (0: not known). */
    uint64_t before_ns;
    size_t call_pos, launch_end;
    uint32_t launch_ns, told;
    bool quick;
    uint32_t call_site, launch_site;
    /* The call has launched a kernel like the last in slot held_slot, as the next of its stream,
     * and nothing else yet: call and operation may become one record, or the operation's is
     * written before the next one. */
    bool held;
    uint8_t held_slot;
    struct weir_trace_clock clock;
    /* what the chunk's records count from, as are last_ns and last_address (format.h) */
    uint64_t launched[WEIR_TRACE_STREAM_SLOTS], ran[WEIR_TRACE_STREAM_SLOTS];
    uint64_t ran_stream; /* of the last RAN */
    bool has_ran;
    uint32_t call_slot; /* of the last kernel since the last CALL or LAUNCH + 1; 0: none */
    struct weir_trace_shape {
        uint32_t name; /* 0: none */
        uint32_t grid[3], block[3], pointer_count;
        uint32_t call_name, call_site; /* of the call that launched it last; name 0: not known */
        uint64_t stream, shared_bytes, pointers[WEIR_TRACE_POINTERS];
    } shapes[WEIR_TRACE_KERNEL_SLOTS];
    /* Records of signal handlers that met this thread inside another record; it says so next. */
    uint64_t lost;
    volatile bool busy;
    struct {
        uintptr_t address;
        uint32_t id;
    } sites[WEIR_TRACE_SITES];
    struct weir_trace_buffer *next; /* in the list of those whose threads have ended */
};

/* The calling thread's buffer with room for a record, marked busy; NULL: not now (off, no room, or
 * a signal handler inside another record). */
static inline struct weir_trace_buffer *weir_trace_open(void);
/* A call's records stand in one chunk, as a rule: room for all of them, or a new chunk. */
static inline void weir_trace_room(struct weir_trace_buffer *b);
/* As weir_trace_open, but what is held back stays so; NULL: nothing is, or not now. Behind the next
 * record nothing is any more. */
static inline struct weir_trace_buffer *weir_trace_open_held(void);
/* The record from `start` to `end` (the position after its payload) counts from now on. */
static inline void weir_trace_close(struct weir_trace_buffer *b, unsigned char *end);

/* Ids of strings and of code addresses: written to the file the first time that they are asked for.
 * b is open and stays so; the record that asks must not have been begun. 0: no memory. */
uint32_t weir_trace_string(struct weir_trace_buffer *b, const char *text, size_t bytes);
static inline uint32_t weir_trace_site(struct weir_trace_buffer *b, const void *address);

/* ---- what each record costs ---- */

extern WEIR_TLS struct weir_trace_buffer *weir_trace_own; /* the thread's, or NULL */
extern bool weir_trace_at_once;                           /* from weir_trace_start on */

struct weir_trace_buffer *weir_trace_open_slow(void);
void weir_trace_room_slow(struct weir_trace_buffer *b);
uint32_t weir_trace_site_slow(struct weir_trace_buffer *b, const void *address);
/* The operation that is held back becomes a record of its own. b is open and stays so. */
void weir_trace_put_held(struct weir_trace_buffer *b);
void weir_trace_close_long(struct weir_trace_buffer *b, unsigned char *end);

static inline struct weir_trace_buffer *weir_trace_open(void)
{
    struct weir_trace_buffer *b = weir_trace_own;

    if (WEIR_UNLIKELY(!b || b->busy || b->pos >= b->ends))
        return weir_trace_open_slow();
    b->busy = true;
    __builtin_prefetch(b->chunk + b->pos + WEIR_TRACE_AHEAD, 1);
    atomic_signal_fence(memory_order_seq_cst); /* a handler that comes from here on finds it so */
    return b;
}

static inline struct weir_trace_buffer *weir_trace_open_held(void)
{
    struct weir_trace_buffer *b = weir_trace_own;

    if (!b || !b->held || b->busy)
        return NULL;
    b->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return b;
}

/* Keeps the operation of this call back; ends the opening. */
static inline void weir_trace_hold(struct weir_trace_buffer *b, size_t slot)
{
    b->held_slot = (uint8_t)slot;
    b->held = true;
    b->ends = 0; /* whoever opens next writes it */
    atomic_signal_fence(memory_order_seq_cst);
    b->busy = false;
}

/* b, from weir_trace_open_held: what was held back needs no record any more. */
static inline void weir_trace_let_go(struct weir_trace_buffer *b)
{
    b->held = false;
    b->ends = WEIR_TRACE_CHUNK_ENDS;
    atomic_signal_fence(memory_order_seq_cst); /* a handler's 0 stays */
    if (WEIR_UNLIKELY(b->lost))
        b->ends = 0;
}

static inline void weir_trace_room(struct weir_trace_buffer *b)
{
    if (WEIR_UNLIKELY(b->pos + WEIR_TRACE_CALL_BYTES > WEIR_TRACE_CHUNK_BYTES))
        weir_trace_room_slow(b);
}

static inline size_t weir_trace_site_slot(uintptr_t address)
{
    return (address >> 2 ^ address >> 9) % WEIR_TRACE_SITES;
}

static inline uint32_t weir_trace_site(struct weir_trace_buffer *b, const void *address)
{
    size_t slot = weir_trace_site_slot((uintptr_t)address);

    return WEIR_LIKELY(b->sites[slot].address == (uintptr_t)address)
               ? b->sites[slot].id
               : weir_trace_site_slow(b, address);
}

static inline void weir_trace_publish(struct weir_trace_buffer *b, const unsigned char *end)
{
    b->pos = (size_t)(end - (unsigned char *)b->chunk);
    /* Release: a reader of the file after a crash sees whole records only. */
    __atomic_store_n(&((struct weir_trace_chunk_header *)b->chunk)->used,
                     (uint32_t)(b->pos - sizeof(struct weir_trace_chunk_header)), __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst);
    b->busy = false;
}

static inline void weir_trace_close(struct weir_trace_buffer *b, unsigned char *end)
{
    unsigned char *start = (unsigned char *)b->chunk + b->pos;
    size_t bytes = (size_t)(end - start) - 2;

    if (WEIR_UNLIKELY(bytes >= 0x80)) {
        weir_trace_close_long(b, end);
        return;
    }
    start[1] = (unsigned char)bytes;
    weir_trace_publish(b, end);
}

/* ---- encoding ---- */

static inline unsigned char *weir_trace_put_u(unsigned char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (unsigned char)v;
    return p;
}

/* In two bytes if they do. The processor cannot foretell which of a short call's nanoseconds fit
 * into one, and to have guessed wrong costs more than the byte. */
static inline unsigned char *weir_trace_put_span(unsigned char *p, uint64_t v)
{
    if (WEIR_UNLIKELY(v >= 0x4000))
        return weir_trace_put_u(p, v);
    p[0] = (unsigned char)(v | 0x80);
    p[1] = (unsigned char)(v >> 7);
    return p + 2;
}

static inline unsigned char *weir_trace_put_s(unsigned char *p, int64_t v)
{
    return weir_trace_put_u(p, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Times and addresses are differences to the one before in the chunk. */
static inline unsigned char *weir_trace_put_time(struct weir_trace_buffer *b, unsigned char *p,
                                                 uint64_t ns)
{
    p = weir_trace_put_s(p, (int64_t)(ns - b->last_ns));
    b->last_ns = ns;
    return p;
}

static inline unsigned char *weir_trace_put_address(struct weir_trace_buffer *b, unsigned char *p,
                                                    uint64_t address)
{
    p = weir_trace_put_s(p, (int64_t)(address - b->last_address));
    b->last_address = address;
    return p;
}

/* Type byte and a byte for the length; gives where the payload begins. */
static inline unsigned char *weir_trace_begin(struct weir_trace_buffer *b,
                                              enum weir_trace_record type)
{
    unsigned char *p = (unsigned char *)b->chunk + b->pos;

    p[0] = (unsigned char)type;
    return p + 2;
}

#endif
