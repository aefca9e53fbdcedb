/* Kernels launched by kernels: what runs when inside a grid (ORD-100 to ORD-103). A grid that
 * launches others has work of its own, in streams that are not the host's; it is complete when that
 * is. To the stream that it was launched into it stays one operation, as a launch of a graph does.
 *
 * Pure. Streams inside are streams of the model (non-blocking ones): what is here is where work
 * goes, and when the grid ends. Shards: the nest, the caller's lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MODEL_NESTED_H
#define WEIR_MODEL_NESTED_H

#include <stdbool.h>
#include <stdint.h>

/* Where work that a kernel submits stands (ORD-100). */
enum weir_nested_place {
    WEIR_NESTED_BLOCK,  /* the default stream: each thread block has one of its own */
    WEIR_NESTED_FORGET, /* cudaStreamFireAndForget: beside everything else */
    WEIR_NESTED_TAIL,   /* cudaStreamTailLaunch: behind the grid and all of its other work */
    WEIR_NESTED_NAMED,  /* a stream that a thread of the grid created */
};

/* Of a stream's handle in device code. */
enum weir_nested_place weir_model_nested_place(uint64_t handle);

struct weir_model_nest {
    uint32_t open;  /* what is submitted and not complete; the grid's own blocks are one of them */
    uint32_t tails; /* behind all that, in the order of their launches */
};

/* The grid has blocks that run. */
static inline void weir_model_nest_begin(struct weir_model_nest *n)
{
    n->open = 1;
    n->tails = 0;
}

/* A block of the grid submits work, or its first tail's turn has come. */
static inline void weir_model_nest_submit(struct weir_model_nest *n)
{
    n->open++;
}

static inline void weir_model_nest_submit_tail(struct weir_model_nest *n)
{
    n->tails++;
}

/* What is next when `count` of what is open is over (ORD-101, ORD-102). */
enum weir_nested_next {
    WEIR_NESTED_WAIT,     /* for what is open */
    WEIR_NESTED_TURN,     /* of the oldest tail: it is open from now on */
    WEIR_NESTED_COMPLETE, /* the grid is */
};
enum weir_nested_next weir_model_nest_over(struct weir_model_nest *n, uint32_t count);

/* For a grid that is itself the tail of `up` that is open, when it would wait for tails of its own:
 * they stand in front of those of `up` (ORD-103), and the grid is complete. Without this the chain
 * of a kernel that launches itself again and again would stay there as a whole. */
void weir_model_nest_hand_over(struct weir_model_nest *n, struct weir_model_nest *up);

#endif
