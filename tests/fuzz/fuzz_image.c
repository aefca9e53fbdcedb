/* Any bytes as a compiled object: laid out and relocated, never run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "codegen/image.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct weir_image *image;

    if (weir_image_load(data, bytes, &image) != WEIR_OK)
        return 0;
    (void)weir_image_function(image, "weir_kernel");
    weir_image_unload(image);
    return 0;
}
