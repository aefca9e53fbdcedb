/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_LINE ((size_t)64)
#define LARGE_PAGE ((size_t)2 << 20)

static _Atomic long fail_after;

static int alloc_should_fail(void)
{
    if (WEIR_LIKELY(atomic_load_explicit(&fail_after, memory_order_relaxed) == 0))
        return 0;
    if (atomic_fetch_sub(&fail_after, 1) > 1)
        return 0;
    atomic_store(&fail_after, 1);
    return 1;
}

void weir_alloc_fail_after(long n)
{
    atomic_store(&fail_after, n);
}

void *weir_alloc(size_t bytes)
{
    return alloc_should_fail() ? NULL : malloc(bytes ? bytes : 1);
}

void *weir_calloc(size_t count, size_t bytes)
{
    return alloc_should_fail() ? NULL : calloc(count ? count : 1, bytes ? bytes : 1);
}

void *weir_realloc(void *old, size_t bytes)
{
    return alloc_should_fail() ? NULL : realloc(old, bytes ? bytes : 1);
}

void *weir_alloc_aligned(size_t align, size_t bytes)
{
    return alloc_should_fail() ? NULL
                               : aligned_alloc(align, WEIR_ALIGN_UP(bytes ? bytes : 1, align));
}

void *weir_alloc_large(size_t bytes)
{
    bool large = bytes >= LARGE_PAGE;
    void *p = weir_alloc_aligned(large ? LARGE_PAGE : CACHE_LINE, bytes);

    if (!p)
        return NULL;
    if (large) /* a hint: without large pages it is what it was */
        (void)madvise(p, WEIR_ALIGN_UP(bytes, LARGE_PAGE), MADV_HUGEPAGE);
    return memset(p, 0, bytes);
}

char *weir_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = weir_alloc(n);

    return copy ? memcpy(copy, s, n) : NULL;
}

void weir_free(void *p)
{
    free(p);
}

void *weir_alloc_for(void *ctx, size_t bytes)
{
    (void)ctx;
    return weir_alloc(bytes);
}

void weir_free_for(void *ctx, void *p)
{
    (void)ctx;
    weir_free(p);
}
