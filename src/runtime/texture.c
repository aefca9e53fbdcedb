/* Texture objects: what needs no array.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

struct cudaChannelFormatDesc weir_rt_CreateChannelDesc(int x, int y, int z, int w,
                                                       enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}
