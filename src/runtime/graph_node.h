/* What calls on graph nodes have in common, whichever API they are of: the driver's node calls
 * (src/driver/graph_node.c) make a weir_node_params of their own structs and go on here. Handles
 * are the same in both. Errors are those of weir_graph_add, weir_node_set, weir_exec_set and
 * weir_node_params; INVALID_VALUE for a handle or pointer that is none. Thread: any.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_GRAPH_NODE_H
#define WEIR_RUNTIME_GRAPH_NODE_H

#include "core/graph.h"
#include "runtime/rt.h"

/* ---- where it goes, in the current context ---- */

/* `data`: of the edges to deps, or NULL. */
enum weir_err weir_rt_node_add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
                               const struct weir_edge_data *data, size_t count,
                               struct weir_node_params *p) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_set(cudaGraphNode_t node,
                               const struct weir_node_params *p) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    const struct weir_node_params *p) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_get(cudaGraphNode_t node, enum weir_node_kind kind,
                               struct weir_node_params *p) WEIR_MUST_CHECK;

/* ---- what it does ---- */

/* The arguments of a kernel node: params, or `extra` as documented for cuLaunchKernel. */
enum weir_err weir_rt_node_arguments(void **params, void **extra,
                                     struct weir_node_params *out) WEIR_MUST_CHECK;
/* pitch in bytes, element 1, 2 or 4 bytes, width in elements, height in rows. */
enum weir_err weir_rt_node_memset(void *dst, size_t pitch, unsigned value, unsigned element,
                                  size_t width, size_t height,
                                  struct weir_node_params *out) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_child(cudaGraph_t graph, bool move,
                                 struct weir_node_params *out) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_event(enum weir_node_kind kind, cudaEvent_t event,
                                 struct weir_node_params *out) WEIR_MUST_CHECK;

/* Attributes of a kernel node: id and value as in both APIs' launch attributes, WEIR_ATTR_BYTES. */
enum weir_err weir_rt_node_attribute_get(cudaGraphNode_t node, int attr,
                                         void *value_out) WEIR_MUST_CHECK;
enum weir_err weir_rt_node_attribute_set(cudaGraphNode_t node, int attr,
                                         const void *value) WEIR_MUST_CHECK;

#endif
