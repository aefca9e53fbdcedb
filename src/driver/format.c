/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/format.h"

static const struct format {
    CUarray_format format;
    int bits, kind;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, 1},   {CU_AD_FORMAT_UNSIGNED_INT16, 16, 1},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, 1}, {CU_AD_FORMAT_SIGNED_INT8, 8, 0},
    {CU_AD_FORMAT_SIGNED_INT16, 16, 0},   {CU_AD_FORMAT_SIGNED_INT32, 32, 0},
    {CU_AD_FORMAT_HALF, 16, 2},           {CU_AD_FORMAT_FLOAT, 32, 2},
};

enum weir_err weir_drv_format_read(CUarray_format format, unsigned channels, int bits[4], int *kind)
{
    bool counts = channels == 1 || channels == 2 || channels == 4;

    for (size_t k = 0; k < WEIR_ARRAY_SIZE(formats); k++)
        if (formats[k].format == format && counts) {
            for (unsigned c = 0; c < channels; c++)
                bits[c] = formats[k].bits;
            *kind = formats[k].kind;
            return WEIR_OK;
        }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "%u channels of format %#x", channels,
                     (unsigned)format);
}

CUarray_format weir_drv_format_of(const int bits[4], int kind, unsigned *channels)
{
    *channels = 0;
    while (*channels < 4 && bits[*channels])
        ++*channels;
    for (size_t k = 0; k < WEIR_ARRAY_SIZE(formats); k++)
        if (formats[k].bits == bits[0] && formats[k].kind == kind)
            return formats[k].format;
    return CU_AD_FORMAT_UNSIGNED_INT8; /* none that was made */
}
