/* The kernels of kernels.ptx.h by hand, as the compiler would make them: one object each, chosen by
 * -DKERNEL_name. No symbols of others, no relocations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/kernel.h"

uint32_t weir_kernel(struct weir_block *block);

#if defined(KERNEL_empty)
uint32_t weir_kernel(struct weir_block *block)
{
    (void)block;
    return WEIR_BLOCK_DONE;
}
#elif defined(KERNEL_store)
/* (ptr, value): p[0] = value, with the address check that compiled code makes. */
uint32_t weir_kernel(struct weir_block *block)
{
    const struct weir_launch *l = block->launch;
    uint64_t p = *(const uint64_t *)l->params;
    uint32_t v = *(const uint32_t *)((const char *)l->params + 8);

    if (p - l->window_base >= l->window_bytes)
        l->services->check_address(block, p, 4, 1);
    *(volatile uint32_t *)p = v;
    return WEIR_BLOCK_DONE;
}
#elif defined(KERNEL_count)
/* (ptr): adds one for each thread. */
uint32_t weir_kernel(struct weir_block *block)
{
    const struct weir_launch *l = block->launch;
    uint64_t p = *(const uint64_t *)l->params;

    if (p - l->window_base >= l->window_bytes)
        l->services->check_address(block, p, 4, 2);
    __atomic_fetch_add((uint32_t *)p, l->block[0] * l->block[1] * l->block[2], __ATOMIC_RELAXED);
    return WEIR_BLOCK_DONE;
}
#elif defined(KERNEL_spin)
/* (flag): waits until *flag is not 0, letting others run. */
uint32_t weir_kernel(struct weir_block *block)
{
    uint64_t p = *(const uint64_t *)block->launch->params;

    return *(volatile uint32_t *)p ? WEIR_BLOCK_DONE : WEIR_BLOCK_PARKED;
}
#elif defined(KERNEL_hold)
/* (words): counts itself in the second, then keeps its thread until the first is not 0. */
uint32_t weir_kernel(struct weir_block *block)
{
    uint64_t p = *(const uint64_t *)block->launch->params;

    __atomic_fetch_add((uint32_t *)p + 1, 1, __ATOMIC_RELAXED);
    while (!*(volatile uint32_t *)p)
        ;
    return WEIR_BLOCK_DONE;
}
#elif defined(KERNEL_trap)
uint32_t weir_kernel(struct weir_block *block)
{
    block->launch->services->fail(block, 719, 1);
    return WEIR_BLOCK_FAILED;
}
#elif defined(KERNEL_turn)
/* (n): turns so often, and looks at nothing. */
uint32_t weir_kernel(struct weir_block *block)
{
    uint64_t n = *(const uint64_t *)block->launch->params;

    for (volatile uint64_t i = 0; i < n; i++)
        ;
    return WEIR_BLOCK_DONE;
}
#elif defined(KERNEL_bounded)
/* (ptr), at most 64 threads a block. */
uint32_t weir_kernel(struct weir_block *block)
{
    (void)block;
    return WEIR_BLOCK_DONE;
}
#endif
