/* Inside src/driver: nodes of graphs that name the context they are of, memory operations among
 * them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_MEMOP_H
#define WEIR_DRIVER_MEMOP_H

#include "core/graph.h"
#include "driver/drv.h"

/* room: of WEIR_MEMOP_BATCH_MAX; *out points into it. */
enum weir_err weir_drv_make_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct weir_memop *room,
                                   struct weir_node_params *out) WEIR_MUST_CHECK;

/* graph_node.c */
enum weir_err weir_drv_node_add_in(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
                                   const struct weir_edge_data *data, size_t count,
                                   CUcontext handle, struct weir_node_params *p) WEIR_MUST_CHECK;
enum weir_err weir_drv_node_exec_set_in(CUgraphExec exec, CUgraphNode node, CUcontext handle,
                                        const struct weir_node_params *p) WEIR_MUST_CHECK;

#endif
