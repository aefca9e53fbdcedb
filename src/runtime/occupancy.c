/* Occupancy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/launch.h"
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
