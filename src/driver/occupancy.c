/* Occupancy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "driver/exec.h"

static enum weir_err check_flags(unsigned flags)
{
    if (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "flags %#x", flags);
    return WEIR_OK;
}

enum weir_err weir_drv_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_REQUIRE(numBlocks);
    DRV_TRY(check_flags(flags));
    if (blockSize <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "block of %d threads", blockSize);
    DRV_TRY(weir_drv_image(func, &ctx, &image));
    *numBlocks = weir_occupancy_blocks(ctx, image, blockSize, dynamicSMemSize);
    return WEIR_OK;
}

enum weir_err weir_drv_OccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                                 int blockSize,
                                                                 size_t dynamicSMemSize)
{
    return weir_drv_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}

enum weir_err weir_drv_OccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                             CUfunction func, int numBlocks,
                                                             int blockSize)
{
    struct weir_function_image *image;
    struct weir_context *ctx;

    DRV_REQUIRE(dynamicSmemSize);
    if (blockSize <= 0 || numBlocks <= 0)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%d blocks of %d threads", numBlocks, blockSize);
    DRV_TRY(weir_drv_image(func, &ctx, &image));
    *dynamicSmemSize = weir_occupancy_shared(ctx, image, numBlocks, blockSize);
    return WEIR_OK;
}

/* The largest block of those with the most resident threads, and the blocks that fill the device
 * then. */
enum weir_err
weir_drv_OccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                 size_t dynamicSMemSize, int blockSizeLimit,
                                                 unsigned int flags)
{
    struct weir_function_image *image;
    struct weir_context *ctx;
    int limit, best_size = 0, best_blocks = 0;

    DRV_REQUIRE(minGridSize);
    DRV_REQUIRE(blockSize);
    DRV_TRY(check_flags(flags));
    DRV_TRY(weir_drv_image(func, &ctx, &image));
    limit = image->info.max_threads;
    if (blockSizeLimit > 0 && blockSizeLimit < limit)
        limit = blockSizeLimit;
    for (int size = limit; size > 0; size = (size - 1) / 32 * 32) {
        size_t shared =
            blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
        int blocks = weir_occupancy_blocks(ctx, image, size, shared);

        if (blocks * size > best_blocks * best_size) {
            best_blocks = blocks;
            best_size = size;
        }
    }
    *minGridSize = best_blocks * ctx->sm_count;
    *blockSize = best_size;
    return WEIR_OK;
}

enum weir_err weir_drv_OccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize,
                                                      CUfunction func,
                                                      CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                      size_t dynamicSMemSize, int blockSizeLimit)
{
    return weir_drv_OccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit,
        CU_OCCUPANCY_DEFAULT);
}

static enum weir_err cluster_config(CUfunction func, const CUlaunchConfig *config,
                                    struct weir_launch_config *c, struct weir_context **ctx,
                                    struct weir_function_image **image)
{
    DRV_REQUIRE(config);
    if (config->numAttrs && !config->attrs)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u launch attributes at NULL", config->numAttrs);
    *c = (struct weir_launch_config){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared_bytes = config->sharedMemBytes,
    };
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            c->cluster[0] = config->attrs[i].value.clusterDim.x;
            c->cluster[1] = config->attrs[i].value.clusterDim.y;
            c->cluster[2] = config->attrs[i].value.clusterDim.z;
            if (!c->cluster[0] || !c->cluster[1] || !c->cluster[2])
                return WEIR_FAIL(WEIR_ERR_INVALID_CLUSTER_SIZE, "cluster of no blocks");
        }
    return weir_drv_image(func, ctx, image);
}

enum weir_err weir_drv_OccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                                  const CUlaunchConfig *config)
{
    struct weir_function_image *image;
    struct weir_launch_config c;
    struct weir_context *ctx;

    DRV_REQUIRE(numClusters);
    DRV_TRY(cluster_config(func, config, &c, &ctx, &image));
    return weir_occupancy_clusters(ctx, image, &c, numClusters);
}

enum weir_err weir_drv_OccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                        const CUlaunchConfig *config)
{
    struct weir_function_image *image;
    struct weir_launch_config c;
    struct weir_context *ctx;

    DRV_REQUIRE(clusterSize);
    DRV_TRY(cluster_config(func, config, &c, &ctx, &image));
    *clusterSize = weir_occupancy_cluster_size(ctx, image, &c);
    return WEIR_OK;
}
