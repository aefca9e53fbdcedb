/* Libraries and driver modules from files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "core/module.h"

enum weir_err weir_file_read(const char *name, char **data, size_t *bytes)
{
    FILE *f = fopen(name, "rb");
    size_t cap = 1 << 16, n;
    char *grown;

    if (!f)
        return WEIR_FAIL(WEIR_ERR_FILE_NOT_FOUND, "%s: error %d", name, errno);
    *data = weir_alloc(cap + 1);
    *bytes = 0;
    while (*data && (n = fread(*data + *bytes, 1, cap - *bytes, f)) > 0) {
        *bytes += n;
        if (*bytes < cap)
            continue;
        cap *= 2;
        grown = weir_realloc(*data, cap + 1);
        if (!grown)
            weir_free(*data);
        *data = grown;
    }
    fclose(f);
    if (!*data)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%s", name);
    (*data)[*bytes] = 0;
    return WEIR_OK;
}

enum weir_err weir_library_load_file(const char *name, struct weir_context *ctx, bool home,
                                     struct weir_module **out)
{
    size_t bytes;
    char *data;
    enum weir_err err = weir_file_read(name, &data, &bytes);

    if (err != WEIR_OK)
        return err;
    err = weir_library_load(data, bytes, ctx, home, out);
    weir_free(data);
    return err;
}
