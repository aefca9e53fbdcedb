/* Graphs as programs hold them: building, cloning, instantiating, updating, launching. What a graph
 * is, and its order, is the model's (model/graph.h); captures are in core/capture.h; how a launch
 * runs is in graph_run.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_GRAPH_H
#define WEIR_CORE_GRAPH_H

#include "core/copy.h"
#include "core/launch.h"
#include "core/memop.h"
#include "model/graph.h"

struct weir_graph;
struct weir_node;
struct weir_exec;
struct weir_user_object;

/* ---- what a node does ---- */

/* As given by a call: everything pointed to is the caller's, and copied. */
struct weir_kernel_params {
    struct weir_function *function;
    struct weir_launch_config config;
    void *const *args; /* a pointer per argument, or NULL: then packed ones */
    const void *packed;
    size_t packed_bytes;
};

struct weir_alloc_params {
    int device;
    size_t bytes;
    void *ptr; /* out */
};

enum weir_conditional_kind { WEIR_COND_IF, WEIR_COND_WHILE, WEIR_COND_SWITCH };

struct weir_conditional_params {
    uint64_t handle;
    enum weir_conditional_kind kind;
    unsigned size;              /* bodies */
    struct weir_graph **bodies; /* out; lives as long as the node */
};

struct weir_node_params {
    enum weir_node_kind kind;
    bool captured; /* by a capture */
    union {
        struct weir_kernel_params kernel;
        struct weir_copy copy;
        struct weir_fill fill;
        struct {
            void (*fn)(void *);
            void *user;
        } host;
        struct {
            struct weir_graph *graph;
            bool move; /* the node becomes its owner, else it gets a clone */
        } child;
        struct weir_event *event;
        struct weir_alloc_params alloc;
        void *free;
        struct weir_memop_batch memops;
        struct weir_conditional_params conditional;
    };
};

/* Kernel node attributes as the API keeps them: its number, its value's bytes. */
#define WEIR_ATTR_BYTES 64
struct weir_node_attr {
    int id;
    unsigned char value[WEIR_ATTR_BYTES];
};

/* ---- graphs (graph.c) ---- */

enum weir_err weir_graph_create(struct weir_graph **out) WEIR_MUST_CHECK;
/* Errors: INVALID_VALUE (not a graph, or one that belongs to a node). */
enum weir_err weir_graph_destroy(struct weir_graph *g) WEIR_MUST_CHECK;
/* Errors: INVALID_VALUE. */
enum weir_err weir_graph_get(void *handle, struct weir_graph **out) WEIR_MUST_CHECK;
enum weir_err weir_node_get(void *handle, struct weir_node **out) WEIR_MUST_CHECK;
enum weir_err weir_exec_get(void *handle, struct weir_exec **out) WEIR_MUST_CHECK;

/* Errors: NOT_SUPPORTED (memory nodes). */
enum weir_err weir_graph_clone(struct weir_graph *g, struct weir_graph **out) WEIR_MUST_CHECK;
/* The node of `clone` that stands for `original`. Errors: INVALID_VALUE. */
enum weir_err weir_graph_find_in_clone(struct weir_node *original, struct weir_graph *clone,
                                       struct weir_node **out) WEIR_MUST_CHECK;

/* Adds a node for ctx's device behind deps (handles; data may be NULL). params->alloc.ptr and
 * conditional.bodies are filled. Errors: INVALID_VALUE, NOT_SUPPORTED, INVALID_DEVICE_FUNCTION,
 * MEMORY_ALLOCATION. */
enum weir_err weir_graph_add(struct weir_graph *g, struct weir_context *ctx,
                             struct weir_node_params *params, void *const *deps,
                             const struct weir_edge_data *data, size_t count,
                             struct weir_node **out) WEIR_MUST_CHECK;
enum weir_err weir_node_destroy(struct weir_node *n) WEIR_MUST_CHECK;
enum weir_err weir_graph_edges_change(struct weir_graph *g, void *const *from, void *const *to,
                                      const struct weir_edge_data *data, size_t count,
                                      bool add) WEIR_MUST_CHECK;

/* Lists. *count: room, then how many were written (`items` NULL: how many there are); what is
 * beyond is set to NULL. Errors: LOSSY_QUERY (edges with data, none asked for). */
enum weir_list_kind { WEIR_LIST_NODES, WEIR_LIST_ROOTS };
void weir_graph_list(struct weir_graph *g, enum weir_list_kind kind, void **items, size_t *count);
enum weir_err weir_graph_list_edges(struct weir_graph *g, void **from, void **to,
                                    struct weir_edge_data *data, size_t *count) WEIR_MUST_CHECK;
enum weir_err weir_node_list_edges(struct weir_node *n, bool incoming, void **nodes,
                                   struct weir_edge_data *data, size_t *count) WEIR_MUST_CHECK;

enum weir_node_kind weir_node_kind(const struct weir_node *n);
struct weir_graph *weir_node_graph(const struct weir_node *n);
struct weir_context *weir_node_context(const struct weir_node *n);

/* ---- what nodes do (graph_node.c) ---- */

/* Pointers in *out are the node's, and good until it changes. Errors: INVALID_VALUE (another
 * kind). */
enum weir_err weir_node_params(struct weir_node *n, enum weir_node_kind kind,
                               struct weir_node_params *out) WEIR_MUST_CHECK;
/* Errors: INVALID_VALUE (another kind, bad values), NOT_SUPPORTED. */
enum weir_err weir_node_set(struct weir_node *n, struct weir_context *ctx,
                            const struct weir_node_params *params) WEIR_MUST_CHECK;
/* Memory that lives as long as the node's present memory operations: made at the first call. */
enum weir_err weir_node_memops_shown(struct weir_node *n, size_t bytes, void **out) WEIR_MUST_CHECK;
/* Attributes of kernel nodes. get: false when it was not set. */
enum weir_err weir_node_attr_set(struct weir_node *n,
                                 const struct weir_node_attr *a) WEIR_MUST_CHECK;
bool weir_node_attr_get(struct weir_node *n, int id, struct weir_node_attr *out);
enum weir_err weir_node_attrs_copy(struct weir_node *to, struct weir_node *from) WEIR_MUST_CHECK;
void weir_node_set_priority(struct weir_node *n, int priority);
int weir_node_priority(const struct weir_node *n);
void weir_node_set_cooperative(struct weir_node *n, bool cooperative);

/* A handle for conditional nodes of g; its value is `initial` at each launch when `at_launch`, else
 * undefined there. */
enum weir_err weir_conditional_create(struct weir_graph *g, struct weir_context *ctx,
                                      uint32_t initial, bool at_launch,
                                      uint64_t *handle) WEIR_MUST_CHECK;

/* ---- instances (graph_exec.c) ---- */

#define WEIR_EXEC_AUTO_FREE     1u
#define WEIR_EXEC_UPLOAD        2u
#define WEIR_EXEC_DEVICE_LAUNCH 4u
#define WEIR_EXEC_NODE_PRIORITY 8u

/* *at: the node to blame, or NULL. Errors: INVALID_VALUE (cycle, flags), NOT_SUPPORTED. */
enum weir_err weir_exec_create(struct weir_graph *g, uint32_t flags, struct weir_exec **out,
                               struct weir_node **at) WEIR_MUST_CHECK;
/* A launch that runs goes on to its end. */
enum weir_err weir_exec_destroy(struct weir_exec *x) WEIR_MUST_CHECK;
uint32_t weir_exec_flags(const struct weir_exec *x);

/* Later launches only. `node`: of the graph that x was made from. Errors: INVALID_VALUE. */
enum weir_err weir_exec_set(struct weir_exec *x, struct weir_node *node, struct weir_context *ctx,
                            const struct weir_node_params *params) WEIR_MUST_CHECK;
enum weir_err weir_exec_enable(struct weir_exec *x, struct weir_node *node,
                               bool on) WEIR_MUST_CHECK;
enum weir_err weir_exec_is_enabled(struct weir_exec *x, struct weir_node *node,
                                   bool *on) WEIR_MUST_CHECK;

/* cudaGraphExecUpdateResult's numbers. */
enum weir_update_result {
    WEIR_UPDATE_SUCCESS,
    WEIR_UPDATE_ERROR,
    WEIR_UPDATE_TOPOLOGY,
    WEIR_UPDATE_NODE_TYPE,
    WEIR_UPDATE_FUNCTION,
    WEIR_UPDATE_PARAMETERS,
    WEIR_UPDATE_NOT_SUPPORTED,
    WEIR_UPDATE_FUNCTION_CHANGE,
    WEIR_UPDATE_ATTRIBUTES,
};

/* All of g's parameters, or none. Errors: GRAPH_EXEC_UPDATE_FAILURE with *result and *at (a node of
 * g, or NULL). */
enum weir_err weir_exec_update(struct weir_exec *x, struct weir_graph *g,
                               enum weir_update_result *result,
                               struct weir_node **at) WEIR_MUST_CHECK;

/* ---- launching (graph_run.c) ---- */

/* Order: after what is in s, and after x's last launch wherever that was (ORD-030). */
enum weir_err weir_exec_launch(struct weir_exec *x, struct weir_stream *s) WEIR_MUST_CHECK;
/* Compiles its kernels; ordered in s. */
enum weir_err weir_exec_upload(struct weir_exec *x, struct weir_stream *s) WEIR_MUST_CHECK;

/* ---- memory nodes (graph_mem.c) ---- */

/* cudaFree, cudaFreeAsync: is it memory of a graph, and if so takes it as freed behind what is in s
 * (NULL: the caller has waited). Errors: INVALID_VALUE (not allocated now). */
bool weir_graph_mem_is(const void *ptr);
enum weir_err weir_graph_mem_free(void *ptr, struct weir_stream *s) WEIR_MUST_CHECK;
struct weir_graph_mem_usage {
    uint64_t used, used_high, reserved, reserved_high;
};
void weir_graph_mem_usage(int device, struct weir_graph_mem_usage *out);
void weir_graph_mem_reset_high(int device, bool used, bool reserved);
void weir_graph_mem_trim(int device);

/* ---- user objects (graph_object.c) ---- */

enum weir_err weir_object_create(void *value, void (*destroy)(void *), uint32_t refs,
                                 struct weir_user_object **out) WEIR_MUST_CHECK;
enum weir_err weir_object_retain(void *handle, uint32_t count) WEIR_MUST_CHECK;
enum weir_err weir_object_release(void *handle, uint32_t count) WEIR_MUST_CHECK;
/* move: the caller's references become the graph's. */
enum weir_err weir_graph_retain_object(struct weir_graph *g, void *handle, uint32_t count,
                                       bool move) WEIR_MUST_CHECK;
enum weir_err weir_graph_release_object(struct weir_graph *g, void *handle,
                                        uint32_t count) WEIR_MUST_CHECK;

/* ---- pictures (graph_dot.c) ---- */

/* `flags`: cudaGraphDebugDotFlags. Errors: OPERATING_SYSTEM. */
enum weir_err weir_graph_dot(struct weir_graph *g, const char *path,
                             uint32_t flags) WEIR_MUST_CHECK;

#endif
