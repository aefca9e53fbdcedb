/* Occupancy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/launch.h"
#include "runtime/exec.h"
#include "runtime/rt.h"

enum weir_err weir_rt_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_REQUIRE(numBlocks);
    if (flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    if (blockSize <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "block of %d threads", blockSize);
    RT_TRY(weir_function_find(func, &f));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_function_image(f, ctx, &image));
    *numBlocks = weir_occupancy_blocks(ctx, image, blockSize, dynamicSMemSize);
    return WEIR_OK;
}

enum weir_err weir_rt_OccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                                int blockSize,
                                                                size_t dynamicSMemSize)
{
    return weir_rt_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

enum weir_err weir_rt_OccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                            const void *func, int numBlocks,
                                                            int blockSize)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    struct weir_function *f;

    RT_REQUIRE(dynamicSmemSize);
    if (blockSize <= 0 || numBlocks <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d blocks of %d threads", numBlocks, blockSize);
    RT_TRY(weir_function_find(func, &f));
    RT_TRY(weir_context_current(&ctx));
    RT_TRY(weir_function_image(f, ctx, &image));
    *dynamicSmemSize = weir_occupancy_shared(ctx, image, numBlocks, blockSize);
    return WEIR_OK;
}

/* The launch's configuration with its attributes, and the kernel. */
static enum weir_err cluster_config(const void *func, const cudaLaunchConfig_t *config,
                                    struct weir_launch_config *c, struct weir_context **ctx,
                                    struct weir_function_image **image)
{
    struct weir_rt_launch_events events = {0};
    struct weir_function *f;

    RT_REQUIRE(config);
    if (config->numAttrs && !config->attrs)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u launch attributes at NULL", config->numAttrs);
    *c = (struct weir_launch_config){
        .grid = {config->gridDim.x, config->gridDim.y, config->gridDim.z},
        .block = {config->blockDim.x, config->blockDim.y, config->blockDim.z},
        .dynamic_shared_bytes = config->dynamicSmemBytes,
    };
    for (unsigned i = 0; i < config->numAttrs; i++)
        RT_TRY(weir_rt_launch_attribute(&config->attrs[i], c, &events));
    RT_TRY(weir_function_find(func, &f));
    RT_TRY(weir_context_current(ctx));
    return weir_function_image(f, *ctx, image);
}

enum weir_err weir_rt_OccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                 const cudaLaunchConfig_t *launchConfig)
{
    struct weir_function_image *image;
    struct weir_launch_config c;
    struct weir_context *ctx;

    RT_REQUIRE(numClusters);
    RT_TRY(cluster_config(func, launchConfig, &c, &ctx, &image));
    return weir_occupancy_clusters(ctx, image, &c, numClusters);
}

enum weir_err weir_rt_OccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                       const cudaLaunchConfig_t *launchConfig)
{
    struct weir_function_image *image;
    struct weir_launch_config c;
    struct weir_context *ctx;

    RT_REQUIRE(clusterSize);
    RT_TRY(cluster_config(func, launchConfig, &c, &ctx, &image));
    *clusterSize = weir_occupancy_cluster_size(ctx, image, &c);
    return WEIR_OK;
}
