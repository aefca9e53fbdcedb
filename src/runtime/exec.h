/* What launches with attributes and function attributes do, of either API: numbers and forms are
 * the same in both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_EXEC_H
#define WEIR_RUNTIME_EXEC_H

#include "core/graph.h"
#include "core/launch.h"
#include "runtime/rt.h"

/* `call`: named when it asks for what is not supported. Errors: INVALID_VALUE, NOT_SUPPORTED
 * (clusters). Thread: any. */
enum weir_err weir_rt_function_attribute_set(struct weir_context *ctx,
                                             struct weir_function_image *image, int attr, int value,
                                             const char *call) WEIR_MUST_CHECK;

/* What the attributes of a launch ask for beside the configuration. */
struct weir_rt_launch_events {
    cudaEvent_t programmatic, completion;
    bool at_block_start; /* of the programmatic one */
    bool capturing;      /* set by the caller: the stream captures */
};

/* Attributes that only hint are ignored; those that change what the launch means are refused by
 * name. Errors: INVALID_VALUE, INVALID_CLUSTER_SIZE, NOT_SUPPORTED, ILLEGAL_STATE. */
enum weir_err weir_rt_launch_attribute(const cudaLaunchAttribute *a,
                                       struct weir_launch_config *config,
                                       struct weir_rt_launch_events *events) WEIR_MUST_CHECK;
/* weir_launch_kernel, and the records around it. */
enum weir_err
weir_rt_launch_with_events(struct weir_function *f, struct weir_stream *s,
                           const struct weir_launch_config *c, void **args,
                           const struct weir_rt_launch_events *events) WEIR_MUST_CHECK;

/* Blocks of a cluster along an axis that the kernel or its attribute asks for; 0: none. */
int weir_rt_required_cluster(const struct weir_function_image *image, int axis);

#endif
