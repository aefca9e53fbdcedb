/* See device_calls.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/device_calls.h"

#include <string.h>

#include "base/compiler.h"

static const struct weir_ptx_device_call calls[] = {
#define WEIR_DEVICE_CALL(id, name, arguments, result) {name, arguments, result},
#include "ptx/device_calls.def"
#undef WEIR_DEVICE_CALL
};

#define SUFFIX "_ptsz"

int weir_ptx_device_call(const char *name)
{
    static const char *const prefixes[] = {"__cudaCDP2", "cuda"};
    size_t length = strlen(name), suffix = strlen(SUFFIX);

    if (length > suffix && strcmp(name + length - suffix, SUFFIX) == 0)
        length -= suffix;
    for (size_t p = 0; p < WEIR_ARRAY_SIZE(prefixes); p++) {
        size_t skip = strlen(prefixes[p]);

        if (strncmp(name, prefixes[p], skip) != 0)
            continue;
        for (size_t i = 0; i < WEIR_ARRAY_SIZE(calls); i++)
            if (strlen(calls[i].name) == length - skip &&
                strncmp(calls[i].name, name + skip, length - skip) == 0)
                return (int)i;
    }
    return -1;
}

const struct weir_ptx_device_call *weir_ptx_device_call_info(enum weir_device_call call)
{
    return &calls[call];
}

uint32_t weir_ptx_device_call_pieces(char argument, uint32_t *bytes)
{
    *bytes = argument == 'w' || argument == 'd' ? 4 : 8;
    return argument == 'p' ? 4 : argument == 'd' || argument == 'e' ? 3 : 1;
}
