/* The API's table as data: coverage (`weir info api`), names for traces and tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_RUNTIME_API_H
#define WEIR_RUNTIME_API_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Numbers of the symbols: their places in the table. */
#define ID_NONE(name) WEIR_API_ID_##name,
#define ID_PTSZ(name) WEIR_API_ID_##name, WEIR_API_ID_##name##_ptsz,
#define ID_PTDS(name) WEIR_API_ID_##name, WEIR_API_ID_##name##_ptds,
enum weir_api_id {
#define WEIR_API(chapter, status, guard, variant, host, name, ...)        ID_##variant(cuda##name)
#define WEIR_API_VALUE(chapter, status, variant, ret, name, params, args) ID_##variant(cuda##name)
#define WEIR_API_INTERNAL(status, guard, variant, name, params, args)     ID_##variant(__cuda##name)
#define WEIR_API_REGISTER(status, ret, name, params, args)                ID_NONE(__cuda##name)
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
    WEIR_API_ID_13_COUNT,
    WEIR_API_ID_13_LAST = WEIR_API_ID_13_COUNT - 1,
/* What libcudart.so.12 has otherwise. */
#define WEIR_API(...)
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
#define WEIR_API_12(chapter, status, guard, variant, name, params, args) ID_##variant(12_cuda##name)
#define WEIR_API_12_SAME(chapter, variant, name, other)                  ID_##variant(12_cuda##name)
#define WEIR_API_13(symbol)
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#undef WEIR_API_12
#undef WEIR_API_12_SAME
#undef WEIR_API_13
    WEIR_API_ID_COUNT
};
#undef ID_NONE
#undef ID_PTSZ
#undef ID_PTDS

/* Who watches the calls that return an error code: the log (WEIR_LOG=debug), the recorder of
 * traces. Both functions run on the calling thread, no lock held. site: where the call returns to.
 */
struct weir_api_hook {
    void (*enter)(enum weir_api_id id, const void *site);
    void (*leave)(enum weir_api_id id, int err); /* may be NULL */
};

/* NULL takes it away. Calls that have entered may still leave through the old one, which is
 * returned: the new one passes calls on to it. Thread: any. */
const struct weir_api_hook *weir_api_set_hook(const struct weir_api_hook *hook);

struct weir_api_entry {
    const char *name;    /* the exported symbol */
    const char *chapter; /* of the runtime API's documentation, in capitals */
    const char *host; /* the column HOST: a name of api/host.def; NULL where the table has none */
    const char *same; /* CUDA 12's name for this symbol of 13 (`done` is that one's), or NULL */
    bool done;
    bool variant; /* a _ptsz or _ptds form */
};

/* All symbols of libcudart.so.13, in the table's order, by enum weir_api_id. */
WEIR_EXPORT const struct weir_api_entry *weir_api_table(size_t *count);
/* Those of libcudart.so.12 that are not as in 13; the next numbers. */
WEIR_EXPORT const struct weir_api_entry *weir_api_table_12(size_t *count);

#endif
