/* A random program for several threads, streams and devices, and what it leaves in every byte. The
 * operations stand in one sequence, in which the naive model runs them; each names the earlier ones
 * that it must follow, because they touch the same bytes. The threads submit theirs in that order
 * and see to it that each follows what it names (random.c), by events, by streams or by waiting.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_RANDOM_PROGRAM_H
#define WEIR_TESTS_RANDOM_PROGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RP_BYTES = 256, /* of a buffer */
    RP_PARTS = 4,   /* of a buffer, what order is kept by */
    RP_OPS = 1500,  /* of a round; between rounds all is compared */
    RP_DEPS = 32,
    RP_THREADS_MAX = 16,
    RP_DEVICES_MAX = 2,
    RP_SLOTS = 7, /* streams of a thread */
    RP_BUFFERS_MAX = 32,
};

/* Streams of a thread, by slot. Those that are not its own (legacy, shared) count as its own: what
 * other threads do there only adds order. */
enum rp_slot {
    RP_NONBLOCKING,
    RP_BLOCKING,
    RP_URGENT,               /* of the highest priority */
    RP_OWN_LAST = RP_URGENT, /* up to here: destroyed and made anew, with work pending */
    RP_LEGACY,
    RP_PER_THREAD,
    RP_SHARED, /* one for all threads */
    RP_OTHER,  /* of the second device, if there is one */
};

enum rp_memory { RP_DEVICE, RP_POOL, RP_PINNED, RP_MANAGED, RP_PAGEABLE };

enum rp_kind {
    /* of streams */
    RP_FILL,
    RP_FILL_2D,
    RP_COPY,
    RP_STORE,
    RP_COUNT,
    RP_HOST_FUNC,
    RP_GRAPH, /* fill, then count */
    RP_SPIN,  /* a kernel that waits for its thread */
    RP_ALLOC,
    RP_FREE,
    /* of the host, over when the thread goes on */
    RP_WRITE,
    RP_CHECK,
    RP_SYNC,
    RP_ASK, /* queries and hints, which change nothing */
    RP_RENEW,
    RP_KINDS
};

struct rp_op {
    enum rp_kind kind;
    int thread, slot, device;
    int stream; /* number of the stream's life: equal ones are in order */
    int to, from;
    unsigned offset, from_offset, bytes, value;
    int deps[RP_DEPS], dep_count;
    bool waits;        /* the host waits before: it, or the call, reads memory at once */
    bool event;        /* an operation elsewhere waits for this one */
    unsigned how;      /* random: which of several ways */
    uint64_t expected; /* CHECK: hash of the bytes */
    _Atomic bool submitted;
};

struct rp_part {
    int writer, readers[3], reader_count;
};

struct rp_buffer {
    enum rp_memory memory;
    int device; /* DEVICE, POOL */
    bool live;
    unsigned char want[RP_BYTES]; /* the naive model's */
    struct rp_part parts[RP_PARTS];
    unsigned char *ptr; /* the program's: written by who allocates */
};

struct rp_program {
    uint64_t rng;
    int threads, devices;
    int next_stream, streams[RP_THREADS_MAX][RP_SLOTS];
    int buffer_count, op_count;
    struct rp_buffer buffers[RP_BUFFERS_MAX];
    struct rp_op ops[RP_OPS];
};

/* The buffers, all but those of pools alive, with what they hold at the start. */
void rp_init(struct rp_program *p, uint64_t seed, int threads, int devices);
/* The next round: `count` operations at most RP_OPS, and what the buffers hold after them. All
 * earlier rounds are over. */
void rp_round(struct rp_program *p, int count);
unsigned rp_pick(struct rp_program *p, unsigned n);
uint64_t rp_hash(const unsigned char *bytes, unsigned n);
const char *rp_kind_name(enum rp_kind kind);
static inline bool rp_is_host(const struct rp_op *o)
{
    return o->kind >= RP_WRITE;
}

#endif
