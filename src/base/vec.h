/* Growing array: struct { T *items; size_t count, cap; } declared with WEIR_VEC(T).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_VEC_H
#define WEIR_BASE_VEC_H

#include <stdbool.h>

#include "base/compiler.h"

#define WEIR_VEC(T)                                                                                \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t count, cap;                                                                         \
    }

/* Makes room for one more item; false when out of memory (the vector is unchanged). */
bool weir_vec_reserve_bytes(void **items, size_t *cap, size_t need,
                            size_t item_bytes) WEIR_MUST_CHECK;

#define weir_vec_reserve(v, n)                                                                     \
    weir_vec_reserve_bytes((void **)&(v)->items, &(v)->cap, (n), sizeof *(v)->items)
#define weir_vec_push(v, value)                                                                    \
    (weir_vec_reserve((v), (v)->count + 1) ? ((v)->items[(v)->count++] = (value), true) : false)
#define weir_vec_finish(v) (weir_free((v)->items), (v)->items = NULL, (v)->count = (v)->cap = 0)

#endif
