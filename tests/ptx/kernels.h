/* Kernel tests: a body of PTX between a common head and tail, and what each thread of a block must
 * store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_KERNELS_H
#define WEIR_TESTS_PTX_KERNELS_H

#include "ptx/harness.h"

#define KEEP 0xdeadbeefu /* what out[] holds where no thread stores */

/* One block: in[] and out[] of its threads, in order of their linear index. `extra` is the test's
 * own memory, shared by all blocks, as it is after the launch (got) and as the earlier blocks left
 * it (want). */
struct block_case {
    struct dims block, grid;
    uint32_t index, threads;
    const uint32_t *x;
    uint32_t *d;
    uint32_t *extra; /* the reference's copy */
};

struct kernel_test {
    const char *name;
    const char *globals; /* text before the kernel */
    const char *body;    /* x: input, d: result, i: linear thread index, n: threads of a block, g:
                            global index, b: block,    lane; extra: 64-bit pointer; scratch r0-r29,
                            p0-p9,    a0-a9 (.b64), f0-f9; labels END (no store) */
    void (*want)(struct block_case *c);
    uint32_t threads;     /* one shape of so many threads, 0 = all shapes */
    uint32_t max_threads; /* leave out larger shapes; 0 = none */
    uint32_t multiple;    /* only shapes whose thread count is a multiple of this; 0 = any */
    uint32_t grid;        /* blocks; 0 = 3 */
    uint32_t dynamic_shared;
    bool check_extra;
    enum outcome outcome; /* expected */
};

extern const struct kernel_test kernel_tests_flow[], kernel_tests_warp[], kernel_tests_memory[];
extern const size_t kernel_tests_flow_count, kernel_tests_warp_count, kernel_tests_memory_count;

#define EXTRA_WORDS 4096

#endif
