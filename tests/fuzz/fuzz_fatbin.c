/* Any bytes as a container: every entry is read, chosen and unpacked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "fatbin/fatbin.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint32_t devices[] = {52, 75, 89, 90, 100, 121};
    struct weir_fatbin fb;
    struct weir_fatbin_entry e;
    unsigned sum = 0;

    if (weir_fatbin_open(data, bytes, &fb) != WEIR_OK)
        return 0;
    for (uint32_t i = 0; i < fb.entry_count && i < 64; i++) {
        char *text;
        size_t n;

        if (weir_fatbin_entry(&fb, i, &e) != WEIR_OK)
            continue;
        for (uint32_t k = 0; k < e.name_bytes; k++)
            sum += (unsigned char)e.name[k];
        if (e.plain_bytes > 1 << 24) /* the time limit is for the parser, not for filling memory */
            continue;
        if (weir_fatbin_unpack(&e, &text, &n) == WEIR_OK) {
            sum += (unsigned char)text[n];
            weir_free(text);
        }
    }
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (weir_fatbin_select(&fb, devices[i], &e) == WEIR_OK)
            sum += e.sm;
    }
    return sum == 0xffffffff ? 1 : 0;
}
