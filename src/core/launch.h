/* Kernel launches and host functions as operations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_LAUNCH_H
#define WEIR_CORE_LAUNCH_H

#include "core/module.h"
#include "core/stream.h"

struct weir_launch_config {
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks of a cluster; 0: not given */
    size_t dynamic_shared_bytes;
    bool cooperative;
    bool programmatic; /* may start when the kernel before it has triggered */
};

/* Checks, captures the arguments, appends to s; returns before the kernel runs. The kernel is
 * compiled on an engine. args[i] points to the i-th argument. Errors: INVALID_VALUE for every bad
 * configuration (oracle launch_config), COOPERATIVE_LAUNCH_TOO_LARGE, NOT_SUPPORTED for kernels
 * with instructions that Weir has not, those of loading. */
enum weir_err weir_launch_kernel(struct weir_function *f, struct weir_stream *s,
                                 const struct weir_launch_config *config,
                                 void *const *args) WEIR_MUST_CHECK;

/* The checks of a launch alone; *image is f's in ctx. `has_args`: there are arguments. Errors: as
 * above. */
enum weir_err weir_launch_check(struct weir_function *f, struct weir_context *ctx,
                                const struct weir_launch_config *config, bool has_args,
                                struct weir_function_image **image) WEIR_MUST_CHECK;
/* A launch that was checked, in a stream that is no program's (nested.h): appends it, and waits for
 * nothing. params: param_bytes of the image. tail: of a kernel (weir_nested_launch). Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_launch_append(struct weir_function *f, struct weir_function_image *image,
                                 struct weir_stream *s, const struct weir_launch_config *config,
                                 bool tail, const void *params) WEIR_MUST_CHECK;
/* Everything of a launch but arguments and grid_id. */
void weir_launch_fill(struct weir_launch *l, struct weir_context *ctx,
                      const struct weir_function_image *image,
                      const struct weir_launch_config *config);
/* What one block takes of a multiprocessor; nothing where the profile is of no GPU. */
struct weir_block_needs weir_launch_needs(const struct weir_context *ctx,
                                          const struct weir_function_image *image,
                                          const struct weir_launch_config *config);
/* The clusters that the launch or the kernel asks for; false: none, each block is its own. */
bool weir_launch_cluster(const struct weir_function_image *image,
                         const struct weir_launch_config *config, uint32_t cluster[3]);
/* How many blocks a cluster of this kernel may have at most; 0: the device has no clusters. */
int weir_cluster_limit(const struct weir_context *ctx, const struct weir_function_image *image,
                       bool nonportable_too);
/* How many clusters of the launch fit on the device at a time. Errors: INVALID_CLUSTER_SIZE. */
enum weir_err weir_occupancy_clusters(const struct weir_context *ctx,
                                      const struct weir_function_image *image,
                                      const struct weir_launch_config *config,
                                      int *clusters) WEIR_MUST_CHECK;
/* The largest cluster that the launch may have. */
int weir_occupancy_cluster_size(const struct weir_context *ctx,
                                const struct weir_function_image *image,
                                const struct weir_launch_config *config);
/* Memory in which the blocks of a cooperative launch meet (weir_mem_free, INTERNAL); NULL for other
 * launches. */
enum weir_err weir_launch_workspace(const struct weir_context *ctx,
                                    const struct weir_launch_config *config,
                                    void **out) WEIR_MUST_CHECK;
/* Runs fn(user) where calls are refused. */
void weir_host_func_run(struct weir_context *ctx, void (*fn)(void *), void *user);

/* cudaLaunchHostFunc: fn(user) on the device's host thread. */
enum weir_err weir_launch_host_func(struct weir_stream *s, void (*fn)(void *),
                                    void *user) WEIR_MUST_CHECK;

/* cudaStreamAddCallback: invoke(fn, handle, status, user); called in a failed context as well.
 * `handle` as the program gave it. The invoker knows the callback's type. */
typedef void (*weir_callback_invoker)(void *fn, void *handle, enum weir_err status, void *user);
enum weir_err weir_launch_callback(struct weir_stream *s, void *handle,
                                   weir_callback_invoker invoke, void *fn,
                                   void *user) WEIR_MUST_CHECK;

/* How many blocks of this kernel fit on one SM of the profile at a time (cudaOccupancy*): the
 * smallest of what threads, blocks, registers and shared memory allow. 0 when one block does not
 * fit. */
int weir_occupancy_blocks(const struct weir_context *ctx, const struct weir_function_image *image,
                          int threads, size_t dynamic_shared);
/* The largest dynamic shared memory with which `blocks` blocks of `threads` threads still fit. */
size_t weir_occupancy_shared(const struct weir_context *ctx,
                             const struct weir_function_image *image, int blocks, int threads);

#endif
