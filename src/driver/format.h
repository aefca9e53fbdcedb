/* The driver API's formats of array elements and texels, as channels of the runtime's kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_DRIVER_FORMAT_H
#define WEIR_DRIVER_FORMAT_H

#include "driver/drv.h"

/* *kind: a cudaChannelFormatKind. Of bits only those of the channels are written. Errors:
 * INVALID_VALUE (not 1, 2 or 4 channels; none of the formats that are numbers). */
enum weir_err weir_drv_format_read(CUarray_format format, unsigned channels, int bits[4],
                                   int *kind) WEIR_MUST_CHECK;
CUarray_format weir_drv_format_of(const int bits[4], int kind, unsigned *channels);

#endif
