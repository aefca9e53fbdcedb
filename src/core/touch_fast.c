/* The services that generated code calls most. Vector registers hold the kernel's values while
 * these run: this file is compiled for general registers alone, and what needs more is called
 * behind a door that keeps the others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"
#include "core/touch.h"
#include "core/touch_int.h"

/* As weir_touch_slow and weir_touch_lanes_slow. */
void weir_touch_keep(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                     int64_t stride);
void weir_touch_lanes_keep(struct weir_block *block, uint64_t lanes, uint64_t code,
                           const uint64_t *addresses);

#if defined(__x86_64__)
/* SSE, AVX and AVX-512 state (components 1, 2, 5, 6, 7) lies in the first 2688 bytes of the area;
 * its header is to be zero before. */
#define DOOR(name, inside)                                                                         \
    __asm__(".text\n.p2align 4\n.hidden " name "\n.globl " name "\n.type " name                    \
            ",@function\n" name ":\n"                                                              \
            " push %rbp\n mov %rsp, %rbp\n and $-64, %rsp\n sub $2752, %rsp\n"                     \
            " mov %rdx, %r10\n xor %eax, %eax\n"                                                   \
            " mov %rax, 512(%rsp)\n mov %rax, 520(%rsp)\n mov %rax, 528(%rsp)\n"                   \
            " mov %rax, 536(%rsp)\n mov %rax, 544(%rsp)\n mov %rax, 552(%rsp)\n"                   \
            " mov %rax, 560(%rsp)\n mov %rax, 568(%rsp)\n"                                         \
            " mov $0xe6, %eax\n xor %edx, %edx\n xsave64 (%rsp)\n mov %r10, %rdx\n"                \
            " cld\n call " inside "\n"                                                             \
            " mov $0xe6, %eax\n xor %edx, %edx\n xrstor64 (%rsp)\n leave\n ret\n"                  \
            ".size " name ", .-" name "\n")

DOOR("weir_touch_keep", "weir_touch_slow");
DOOR("weir_touch_lanes_keep", "weir_touch_lanes_slow");
#else
void weir_touch_keep(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                     int64_t stride)
{
    weir_touch_slow(block, lanes, code, base, stride);
}

void weir_touch_lanes_keep(struct weir_block *block, uint64_t lanes, uint64_t code,
                           const uint64_t *addresses)
{
    weir_touch_lanes_slow(block, lanes, code, addresses);
}
#endif

/* bits: to be set. False: not all are, and they are to be looked at first. */
static inline bool set(uint64_t *word, uint64_t bits, bool careful)
{
    uint64_t have = __atomic_load_n(word, __ATOMIC_RELAXED);

    if ((have & bits) == bits)
        return true;
    if (careful)
        return false;
    if (bits == UINT64_MAX)
        __atomic_store_n(word, bits, __ATOMIC_RELAXED);
    else
        __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
    return true;
}

/* Notes [begin, begin + bytes). False: it is to be looked at (some of it may be noted). */
static inline bool note(const struct weir_launch *l, uint64_t begin, uint64_t bytes, uint32_t kind)
{
    while (bytes) {
        uint64_t at = begin & (TOUCH_PAGE_BYTES - 1), lo = at & 63;
        uint64_t n = TOUCH_PAGE_BYTES - at < bytes ? TOUCH_PAGE_BYTES - at : bytes, left;
        const uint64_t *table = (const uint64_t *)(uintptr_t)l->touched;
        uint64_t entry, *word;
        struct touch_page *p;
        bool careful;

        if (begin - l->window_base >= l->window_bytes)
            return false;
        entry = __atomic_load_n(&table[(begin >> TOUCH_PAGE_SHIFT) * 4 + kind], __ATOMIC_ACQUIRE);
        if (!entry)
            return false;
        p = (struct touch_page *)((uintptr_t)&weir_touch_nothing + entry);
        careful = p->flags != 0;
        word = &p->bits[at / 64];
        begin += n;
        bytes -= n;
        left = 64 - lo < n ? 64 - lo : n;
        if (!set(word++, weir_bits_low(left) << lo, careful))
            return false;
        for (n -= left; n >= 64; n -= 64)
            if (!set(word++, UINT64_MAX, careful))
                return false;
        if (n && !set(word, weir_bits_low(n), careful))
            return false;
    }
    return true;
}

typedef uint32_t __attribute__((may_alias)) half_word; /* bytes stand as bits do: the lower first */

/* Notes [begin, begin + bytes) when it is whole words of bits, or half of one, of one page where
 * nothing has to be looked at: most of what is new is, where lanes lie beside each other. False: it
 * is not. Plain stores: nobody takes a bit back. */
static inline bool note_words(const struct weir_launch *l, uint64_t begin, uint64_t bytes,
                              uint32_t kind)
{
    const uint64_t *table = (const uint64_t *)(uintptr_t)l->touched;
    uint64_t at = begin & (TOUCH_PAGE_BYTES - 1), entry;
    struct touch_page *p;

    if (((begin | bytes) & 63 && (begin & 31 || bytes != 32)) || at + bytes > TOUCH_PAGE_BYTES ||
        begin - l->window_base >= l->window_bytes)
        return false;
    entry = __atomic_load_n(&table[(begin >> TOUCH_PAGE_SHIFT) * 4 + kind], __ATOMIC_ACQUIRE);
    p = (struct touch_page *)((uintptr_t)&weir_touch_nothing + entry);
    if (!entry || p->flags)
        return false;
    if (bytes == 32) {
        __atomic_store_n((half_word *)p->bits + at / 32, UINT32_MAX, __ATOMIC_RELAXED);
        return true;
    }
    for (uint64_t w = at / 64; w < (at + bytes) / 64; w++)
        __atomic_store_n(&p->bits[w], UINT64_MAX, __ATOMIC_RELAXED);
    return true;
}

static WEIR_NOINLINE void touch(struct weir_block *block, uint64_t lanes, uint64_t code,
                                uint64_t base, int64_t stride)
{
    const struct weir_launch *l = block->launch;
    uint64_t bytes = code & 0xffff, rest = lanes & 0xffffffff;
    uint32_t kind = code >> 16 & 3;

    if (stride == 0) {
        if (rest && !note(l, base, bytes, kind))
            weir_touch_keep(block, rest & -rest, code, base, 0);
        return;
    }
    while (rest) {
        unsigned first = (unsigned)__builtin_ctzll(rest), n = 1;
        uint64_t all;

        if (stride == (int64_t)bytes) /* lanes beside each other are one range */
            n = (unsigned)__builtin_ctzll(~(rest >> first));
        all = weir_bits_low(n) << first;
        if (!note(l, base + (uint64_t)(stride * first), bytes * n, kind))
            weir_touch_keep(block, all, code, base, stride);
        rest &= ~all;
    }
}

void weir_touch(struct weir_block *block, uint64_t lanes, uint64_t code, uint64_t base,
                int64_t stride)
{
    uint64_t bytes = code & 0xffff, mask = lanes & 0xffffffff;

    /* lanes from the first one on, beside each other */
    if (WEIR_LIKELY(stride == (int64_t)bytes && !(mask & (mask + 1))) &&
        note_words(block->launch, base, bytes * (unsigned)__builtin_ctzll(~mask), code >> 16 & 3))
        return;
    touch(block, lanes, code, base, stride);
}

void weir_touch_lanes(struct weir_block *block, uint64_t lanes, uint64_t code,
                      const uint64_t *addresses)
{
    const struct weir_launch *l = block->launch;
    uint64_t bytes = code & 0xffff, left = 0;
    uint32_t kind = code >> 16 & 3;

    for (lanes &= 0xffffffff; lanes;) {
        unsigned first = (unsigned)__builtin_ctzll(lanes), n = 1;
        uint64_t begin = addresses[first], run;

        /* neighbours are one range */
        while (lanes >> (first + n) & 1 && addresses[first + n] == begin + bytes * n)
            n++;
        run = weir_bits_low(n) << first;
        if (!note(l, begin, bytes * n, kind))
            left |= run;
        lanes &= ~run;
    }
    if (left)
        weir_touch_lanes_keep(block, left, code, addresses);
}
