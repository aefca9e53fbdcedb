/* Inside of core's graph files: the structs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_GRAPH_INT_H
#define WEIR_CORE_GRAPH_INT_H

#include "base/alloc.h"
#include "base/vec.h"
#include "core/graph.h"

#define INLINE_PARAMS 64

/* Memory of an alloc node: had once, at one address, for as long as the graph or an instance lives
 * (graph_mem.c). */
struct weir_graph_memory {
    void *ptr;
    size_t bytes;
    int device;
    uint32_t refs;                  /* of nodes, and one while allocated: it outlives its graphs */
    uint64_t launch;                /* that looked at it last */
    uint64_t epoch;                 /* of the device's context */
    struct weir_graph_memory *next; /* freed, but work in the stream may use it until */
    struct weir_model_point until;
    bool live;      /* behind the nodes of its graph so far it is allocated */
    bool allocated; /* by a launch, and not freed since */
};

struct weir_node_kernel {
    struct weir_function *function;
    struct weir_function_image *image;
    struct weir_launch_config config;
    unsigned char *params; /* here, or heap */
    uint32_t param_bytes;
    int priority;
    struct weir_node_attr *attrs; /* heap */
    void **args;                  /* heap, made for getters: into params */
    uint32_t attr_count;
    WEIR_ALIGNED(16) unsigned char here[INLINE_PARAMS];
};

struct weir_node {
    struct weir_slot slot; /* first: handle */
    struct weir_model_node m;
    uint64_t id, origin; /* never reused; of the node that it was cloned from */
    struct weir_context *ctx;
    bool disabled;          /* in an instance */
    struct weir_item *item; /* of the plan, in an instance */
    union {
        struct weir_node_kernel kernel;
        struct weir_copy copy;
        struct weir_fill fill;
        struct {
            void (*fn)(void *);
            void *user;
        } host;
        struct weir_graph *child;
        struct weir_event *event;
        struct weir_graph_memory *memory; /* alloc and free: a reference */
        struct weir_memop_batch memops;
        struct {
            uint64_t handle;
            enum weir_conditional_kind kind;
            unsigned size;
            struct weir_graph **bodies; /* heap */
        } conditional;
    };
};

static inline struct weir_node *weir_node_of(const struct weir_model_node *m)
{
    return WEIR_CONTAINER_OF(m, struct weir_node, m);
}

/* A value that kernels set (cudaGraphSetConditional): 4 bytes of device memory, whose address is
 * the handle. Shared by a graph, its clones and its instances. */
struct weir_graph_value {
    uint32_t *value;
    uint32_t initial, refs;
    bool at_launch;
};

struct weir_graph {
    struct weir_slot slot; /* first: handle */
    struct weir_model_graph m;
    uint64_t id, origin;
    struct weir_node *parent; /* the node that owns it (child, conditional body); its programs' own:
                                 NULL */
    bool capturing;           /* a capture writes into it */
    bool by_capture;          /* and has made it */
    void *info;               /* heap: the lists that cudaStreamGetCaptureInfo gave out */
    bool instanced;           /* it has memory nodes, and an instance lives */
    size_t memory_nodes;      /* alloc and free nodes here and below */
    WEIR_VEC(struct weir_object_ref) objects;
    WEIR_VEC(struct weir_graph_value *) values;
};

struct weir_object_ref {
    struct weir_user_object *object;
    uint32_t count;
};

static inline struct weir_graph *weir_graph_of(const struct weir_model_graph *m)
{
    return WEIR_CONTAINER_OF(m, struct weir_graph, m);
}

struct weir_plan;

struct weir_exec {
    struct weir_slot slot;        /* first: handle */
    struct weir_lock lock;        /* rank EXEC: launches, changes */
    struct weir_graph *graph;     /* its own copy; nodes' `origin` is the program's node */
    struct weir_graph_keep *keep; /* holds graph, for plans as well */
    struct weir_plan *plan;       /* a reference */
    bool stale; /* no memory when the plan had to be made anew: nodes know no items */
    struct weir_model_point last; /* of the last launch */
    uint32_t flags;
    bool has_records;         /* of events */
    struct weir_context *ctx; /* of its first node, NULL without nodes; and its life */
    uint64_t epoch;
    uint64_t source;           /* id of the graph */
    struct weir_map by_origin; /* node by the id of the program's node */
};

/* All under weir_core.graphs.lock (rank GRAPH) unless said otherwise. */
struct weir_graph *weir_graph_new_locked(void);
void weir_graph_free_locked(struct weir_graph *g);
/* A deep copy. `instance`: for an exec, memory nodes allowed, and references on their memory. NULL:
 * no memory, or not allowed (*err). */
struct weir_graph *weir_graph_copy_locked(struct weir_graph *g, bool instance, enum weir_err *err);
/* Fills in a new node's payload; what it holds is freed by payload_finish. */
enum weir_err weir_node_fill(struct weir_node *n, struct weir_graph *g,
                             struct weir_node_params *params) WEIR_MUST_CHECK;
enum weir_err weir_node_copy_payload(struct weir_node *to, struct weir_node *from,
                                     bool instance) WEIR_MUST_CHECK;
void weir_node_finish(struct weir_node *n);
enum weir_err weir_node_change(struct weir_node *n, struct weir_context *ctx,
                               const struct weir_node_params *params,
                               bool instance) WEIR_MUST_CHECK;
/* Appends a node whose deps are model edges (captures). */
enum weir_err weir_graph_append_locked(struct weir_graph *g, struct weir_context *ctx,
                                       struct weir_node_params *params,
                                       const struct weir_model_edge *deps, size_t count,
                                       struct weir_node **out) WEIR_MUST_CHECK;

/* graph_mem.c */
enum weir_err weir_graph_memory_create(int device, size_t bytes,
                                       struct weir_graph_memory **out) WEIR_MUST_CHECK;
/* The record of an address, or NULL. Fast when there is none. */
struct weir_graph_memory *weir_graph_memory_find(const void *ptr);
void weir_graph_memory_unref(struct weir_graph_memory *m);
/* At a launch, under the exec's lock: may it, and, once x->last is the launch, what is allocated
 * when it is over. */
enum weir_err weir_graph_memory_check(struct weir_exec *x) WEIR_MUST_CHECK;
void weir_graph_memory_launch(struct weir_exec *x, const struct weir_stream *s);

/* graph_object.c */
void weir_graph_objects_drop_locked(struct weir_graph *g);
bool weir_graph_objects_copy_locked(struct weir_graph *to, const struct weir_graph *from);

/* graph_run.c */
enum weir_err weir_plan_create(struct weir_exec *x, struct weir_plan **out,
                               struct weir_node **at) WEIR_MUST_CHECK;
void weir_plan_unref(struct weir_plan *p);
void weir_graph_keep_unref(struct weir_graph_keep *keep);
bool weir_plan_is_shared(const struct weir_plan *p);
/* The item of a node takes over what the node does now. */
enum weir_err weir_plan_refresh(struct weir_plan *p, struct weir_node *n) WEIR_MUST_CHECK;

#endif
