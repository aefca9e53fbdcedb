/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api.h"

#define STATUS_DONE true
#define STATUS_TODO false

#define ROWS_NONE(chapter, status, name) {name, chapter, status, false},
#define ROWS_PTSZ(chapter, status, name)                                                           \
    {name, chapter, status, false}, {name "_ptsz", chapter, status, true},
#define ROWS_PTDS(chapter, status, name)                                                           \
    {name, chapter, status, false}, {name "_ptds", chapter, status, true},

static const struct weir_api_entry entries[] = {
#define WEIR_API(chapter, status, guard, variant, name, params, args)                              \
    ROWS_##variant(#chapter, STATUS_##status, "cuda" #name)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args)                          \
    ROWS_##variant(#chapter, STATUS_##status, "cuda" #name)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)                              \
    ROWS_##variant("REGISTRATION", STATUS_##status, "__cuda" #name)
#define WEIR_API_REGISTER(status, ret, name, params, args)                                         \
    ROWS_NONE("REGISTRATION", STATUS_##status, "__cuda" #name)
#include "runtime.def"
};

_Static_assert(WEIR_ARRAY_SIZE(entries) == WEIR_API_ID_COUNT, "rows and numbers");

const struct weir_api_entry *weir_api_table(size_t *count)
{
    *count = WEIR_ARRAY_SIZE(entries);
    return entries;
}
