/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include "base/alloc.h"

bool weir_vec_reserve_bytes(void **items, size_t *cap, size_t need, size_t item_bytes)
{
    size_t n = *cap ? *cap : 8;
    void *p;

    if (need <= *cap)
        return true;
    while (n < need)
        n *= 2;
    p = weir_realloc(*items, n * item_bytes);
    if (!p)
        return false;
    *items = p;
    *cap = n;
    return true;
}
