/* Which bytes of device memory something has written since they were allocated (weir check --init).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "check/check_int.h"

#define PAGE_SHIFT WEIR_SHADOW_PAGE_SHIFT
#define PAGE_BYTES ((uintptr_t)1 << PAGE_SHIFT)
#define WORDS      WEIR_SHADOW_PAGE_WORDS

/* Of a page that nobody has written. A page that is not in the map is initialised. */
static uint64_t nothing[WORDS];

static uint64_t *page_own(uint64_t number, const uint64_t *from)
{
    uint64_t *w = weir_alloc(WORDS * sizeof *w);

    if (!w)
        return NULL;
    if (from)
        memcpy(w, from, WORDS * sizeof *w);
    else
        memset(w, 0xff, WORDS * sizeof *w);
    if (!weir_map_put(&weir_checker.written, number, w)) {
        weir_free(w);
        return NULL;
    }
    return w;
}

static void page_drop(uint64_t number)
{
    uint64_t *w = weir_map_remove(&weir_checker.written, number);

    if (w != nothing)
        weir_free(w);
}

/* Without memory the bytes stay initialised: a use unseen, never one invented. */
static void page_change(uint64_t number, unsigned lo, unsigned hi_1, bool written)
{
    uint64_t *w = weir_map_get(&weir_checker.written, number), all = UINT64_MAX;

    if (lo == 0 && hi_1 == PAGE_BYTES - 1) {
        page_drop(number);
        if (!written && !weir_map_put(&weir_checker.written, number, nothing))
            weir_check_lost_locked();
        return;
    }
    if ((!w && written) || (w == nothing && !written))
        return;
    if (!w || w == nothing)
        w = page_own(number, w);
    if (!w) {
        weir_check_lost_locked();
        page_drop(number);
        return;
    }
    for (unsigned k = lo / 64; k <= hi_1 / 64; k++) {
        if (written)
            w[k] |= weir_bits_span(k, lo, hi_1);
        else
            w[k] &= ~weir_bits_span(k, lo, hi_1);
    }
    for (unsigned k = 0; k < WORDS; k++)
        all &= w[k];
    if (all == UINT64_MAX)
        page_drop(number);
}

void weir_check_init_change_locked(uintptr_t begin, uintptr_t end, bool written)
{
    while (weir_checker.settings.init && begin < end) {
        uint64_t number = begin >> PAGE_SHIFT;
        uintptr_t stop = WEIR_MIN(end, (uintptr_t)(number + 1) << PAGE_SHIFT);

        page_change(number, (unsigned)(begin % PAGE_BYTES), (unsigned)((stop - 1) % PAGE_BYTES),
                    written);
        begin = stop;
    }
}

void weir_check_init_bits_locked(uint64_t number, const uint64_t *bits)
{
    uint64_t *w, all = UINT64_MAX;

    if (!weir_checker.settings.init)
        return;
    w = weir_map_get(&weir_checker.written, number);
    if (w == nothing)
        w = page_own(number, w);
    if (!w)
        return;
    for (unsigned k = 0; k < WORDS; k++) {
        w[k] |= bits[k];
        all &= w[k];
    }
    if (all == UINT64_MAX)
        page_drop(number);
}

bool weir_check_wants_init(void)
{
    return weir_checker.settings.init;
}

bool weir_check_page_is_written(uint64_t number)
{
    bool is;

    weir_check_lock();
    is = !weir_map_get(&weir_checker.written, number);
    weir_check_unlock();
    return is;
}

uint32_t weir_check_unwritten(uintptr_t begin, uint32_t bytes)
{
    uint32_t missing = 0;

    weir_check_lock();
    for (uint32_t i = 0; i < bytes && i < 32; i++) {
        uintptr_t at = (begin + i) % PAGE_BYTES;
        const uint64_t *w = weir_map_get(&weir_checker.written, (begin + i) >> PAGE_SHIFT);

        if (w && !weir_bit_has(w, at))
            missing |= UINT32_C(1) << i;
    }
    weir_check_unlock();
    return missing;
}

void weir_check_written(const void *p, size_t bytes)
{
    weir_check_lock();
    weir_check_init_change_locked((uintptr_t)p, (uintptr_t)p + bytes, true);
    weir_check_unlock();
}
