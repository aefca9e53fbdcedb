/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api.h"

#define STATUS_DONE true
#define STATUS_TODO false

#define INTERNAL_DONE NULL
#define INTERNAL_TODO "NO_DOCUMENTS"

#define ROWS_NONE(chapter, status, host, name) {name, chapter, host, NULL, status, false},
#define ROWS_PTSZ(chapter, status, host, name)                                                     \
    {name, chapter, host, NULL, status, false}, {name "_ptsz", chapter, host, NULL, status, true},
#define ROWS_PTDS(chapter, status, host, name)                                                     \
    {name, chapter, host, NULL, status, false}, {name "_ptds", chapter, host, NULL, status, true},
#define SAME_NONE(chapter, name, other) {name, chapter, NULL, other, false, false},
#define SAME_PTSZ(chapter, name, other)                                                            \
    {name, chapter, NULL, other, false, false},                                                    \
        {name "_ptsz", chapter, NULL, other "_ptsz", false, true},

static const struct weir_api_entry entries[] = {
#define WEIR_API(chapter, status, guard, variant, host, name, params, args)                        \
    ROWS_##variant(#chapter, STATUS_##status, #host, "cuda" #name)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args)                          \
    ROWS_##variant(#chapter, STATUS_##status, NULL, "cuda" #name)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)                              \
    ROWS_##variant("REGISTRATION", STATUS_##status, INTERNAL_##status, "__cuda" #name)
#define WEIR_API_REGISTER(status, ret, name, params, args)                                         \
    ROWS_NONE("REGISTRATION", STATUS_##status, NULL, "__cuda" #name)
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#define WEIR_API(...)
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
#define WEIR_API_12(chapter, status, guard, variant, name, params, args)                           \
    ROWS_##variant(#chapter, STATUS_##status, NULL, "cuda" #name)
#define WEIR_API_12_SAME(chapter, variant, name, other)                                            \
    SAME_##variant(#chapter, "cuda" #name, "cuda" #other)
#define WEIR_API_13(symbol)
#include "runtime.def"
};

_Static_assert(WEIR_ARRAY_SIZE(entries) == WEIR_API_ID_COUNT, "rows and numbers");

const struct weir_api_entry *weir_api_table(size_t *count)
{
    *count = WEIR_API_ID_13_COUNT;
    return entries;
}

const struct weir_api_entry *weir_api_table_12(size_t *count)
{
    *count = WEIR_API_ID_COUNT - WEIR_API_ID_13_COUNT;
    return entries + WEIR_API_ID_13_COUNT;
}
