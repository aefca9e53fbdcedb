/* The process's graphs: handles, the captures under way, and the one lock of all that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_GRAPH_STATE_H
#define WEIR_CORE_GRAPH_STATE_H

#include "base/map.h"
#include "core/handle.h"
#include "model/capture.h"

struct weir_user_object;
struct weir_graph_memory;
struct weir_graph_piece;

#define WEIR_GRAPH_MEMORY_DEVICES 64

struct weir_graph_state {
    struct weir_lock lock; /* rank GRAPH: structure of all graphs, captures */
    struct weir_model_memory memory;
    struct weir_model_captures captures;
    struct weir_slots graphs, nodes, execs, objects;
    _Atomic uint64_t next_id;
    _Atomic uint32_t next_thread;
    struct weir_user_object *dead; /* under lock: to be destroyed once it is free */

    /* The place in the program that was named last (capture.c). */
    struct weir_graph_blamed {
        struct weir_lock lock; /* rank LEAF */
        const void *site;
        char text[128];
    } blamed;

    struct weir_lock memory_lock; /* rank LEAF: */
    struct weir_graph_piece *pieces;
    struct weir_graph_memory *leaving; /* freed in stream order by the last that had it */
    struct weir_map allocations;       /* struct weir_graph_memory by address */
    _Atomic size_t allocation_count;
    struct weir_graph_memory_count {
        uint64_t used, used_high, reserved_high; /* reserved is what is used */
    } usage[WEIR_GRAPH_MEMORY_DEVICES];
};

enum weir_err weir_graph_state_init(struct weir_graph_state *s) WEIR_MUST_CHECK;

/* The lock. Unlocking runs the destructors of user objects that have lost their last reference. */
void weir_graphs_lock(void);
void weir_graphs_unlock(void);
void weir_objects_bury(struct weir_user_object *dead);
uint64_t weir_graph_next_id(void);

#endif
