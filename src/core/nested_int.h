/* Inside of core's nested launches.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_NESTED_INT_H
#define WEIR_CORE_NESTED_INT_H

#include "base/map.h"
#include "base/vec.h"
#include "core/copy.h"
#include "core/launch.h"
#include "core/nested.h"
#include "model/nested.h"
#include "trace/record.h"

/* ---- arguments (nested_params.c) ---- */

#define WEIR_NESTED_SIZES 3

/* What cudaGetParameterBuffer gives out: memory of the device in which a kernel writes arguments,
 * and for what kernel. It is the caller's until it is given back. */
struct weir_nested_params {
    struct weir_nested_params *next;
    uint64_t address;
    uint8_t size; /* its class */
    uint32_t bytes;
    struct weir_function *function; /* NULL: not said yet */
    struct weir_function_image *image;
    struct weir_launch_config config;
};

/* NULL: no memory, or more than a kernel can have. Thread: any. */
struct weir_nested_params *weir_nested_params_take(struct weir_context *ctx, size_t bytes);
/* Where kernels read the text, which is static. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_nested_text(struct weir_context *ctx, const char *text,
                               uint64_t *address) WEIR_MUST_CHECK;
/* A list. */
void weir_nested_params_give(struct weir_context *ctx, struct weir_nested_params *list);

/* ---- nests (nested.c) ---- */

struct weir_nested_stream {
    struct weir_stream *s;
    uint64_t block;  /* whose default stream it is, + 1; 0: nobody's */
    uint64_t handle; /* of a created one; 0: it is none */
    uint32_t users;  /* who is about to submit */
};

struct weir_nested_event {
    uint64_t handle;
    struct weir_model_event m;
};

/* What a kernel submits: a launch, a copy or a memset. */
struct weir_nested_work {
    enum weir_op_kind kind;
    union {
        struct {
            struct weir_function *function;
            struct weir_function_image *image;
            struct weir_launch_config config;
            const void *params;
        } kernel;
        struct weir_copy copy;
        struct weir_fill fill;
    };
};

/* Such work, whose turn comes when its grid and all its other work are over. */
struct weir_nested_tail {
    struct weir_nested_tail *next;
    struct weir_nested_work work;
    WEIR_ALIGNED(16) unsigned char params[];
};

struct weir_nested_touch;

struct weir_nest {
    /* immutable */
    struct weir_kernel_work *work;
    struct weir_context *ctx;
    struct weir_function *function;
    struct weir_function_image *image;
    struct weir_nest *up; /* where the grid is itself launched by a kernel, else NULL */
    bool is_tail;         /* of up */
    const struct weir_stream *root;
    struct weir_trace_id grid; /* for traces */
    struct weir_check_op *checked;
    uint64_t id;

    bool over; /* all is; written by who ends it */
    enum weir_err status;
    struct weir_nest *next; /* of those that a thread ends */
    enum weir_nested_next what;

    struct weir_lock lock; /* rank NEST: all that follows */
    struct weir_model_nest m;
    WEIR_VEC(struct weir_nested_stream *) streams;
    size_t cursor;          /* where an idle one is looked for */
    struct weir_map blocks; /* block + 1 -> stream */
    uint64_t next_handle;
    WEIR_VEC(struct weir_nested_event *) events;
    struct weir_nested_tail *tails, *last_tail;
    struct weir_map params;            /* address -> weir_nested_params, given out */
    struct weir_map errors;            /* thread -> what it is told next */
    struct weir_nested_touch *touched; /* of work inside, where it can not be told at once */
    struct weir_actor *actor;          /* of a node, for what is told; owned */
};

/* Of the grid that the block belongs to; made when it is not there. NULL: no memory, or (unless
 * `make`) none yet. */
struct weir_nest *weir_nested_of(struct weir_block *block, bool make);

#define WEIR_NESTED_FIRST_HANDLE 15 /* lower ones, + 1, are special */

uint64_t weir_nested_handle_locked(struct weir_nest *n);
enum weir_err weir_nested_stream_create(struct weir_nest *n, uint64_t *handle) WEIR_MUST_CHECK;
enum weir_err weir_nested_stream_destroy(struct weir_nest *n, uint64_t handle) WEIR_MUST_CHECK;

/* Around the submission of one operation into the stream that the handle stands for, tails' not.
 * Errors: INVALID_VALUE (no such stream), MEMORY_ALLOCATION. */
enum weir_err weir_nested_enter(struct weir_nest *n, uint64_t block, uint64_t handle,
                                struct weir_nested_stream **out) WEIR_MUST_CHECK;
void weir_nested_leave(struct weir_nest *n, struct weir_nested_stream *t, bool submitted);

/* Errors: LAUNCH_PENDING_COUNT_EXCEEDED (tails), those above. */
enum weir_err weir_nested_submit(struct weir_nest *n, uint64_t block,
                                 const struct weir_nested_work *work,
                                 uint64_t stream) WEIR_MUST_CHECK;

/* ---- events (nested_events.c); errors: INVALID_VALUE, MEMORY_ALLOCATION ---- */

enum weir_err weir_nested_event_create(struct weir_nest *n, uint64_t *handle) WEIR_MUST_CHECK;
enum weir_err weir_nested_event_destroy(struct weir_nest *n, uint64_t event) WEIR_MUST_CHECK;
enum weir_err weir_nested_event_record(struct weir_nest *n, uint64_t block, uint64_t event,
                                       uint64_t stream) WEIR_MUST_CHECK;
enum weir_err weir_nested_event_wait(struct weir_nest *n, uint64_t block, uint64_t event,
                                     uint64_t stream) WEIR_MUST_CHECK;

#endif
