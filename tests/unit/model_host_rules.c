/* The tables of what calls do to the host, row by row as measured: each row is a probe of the
 * oracle. "Blocks" there means that the call did not return while the stream was held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/model_fix.h"

enum {
    PAG = WEIR_MEM_PAGEABLE,
    PIN = WEIR_MEM_PINNED,
    DEV = WEIR_MEM_DEVICE,
    MAN = WEIR_MEM_MANAGED
};

struct row {
    const char *probe;
    uint8_t src, dst;
    bool async;
    bool blocks; /* as measured */
    uint8_t wait, strength;
    uint16_t rule;
    size_t bytes;
};

#define G    WEIR_GUARANTEED
#define O    WEIR_OBSERVED
#define NO   WEIR_HOST_NO_WAIT
#define DONE WEIR_HOST_WAIT_COMPLETE
#define READ WEIR_HOST_WAIT_STAGED
#define SYNC WEIR_HOST_WAIT_STREAM_STAGED
#define MIB  ((size_t)1 << 20)

static const struct row rows[] = {
    /* ORD-060 */
    {"sync_vs_legacy.cudaMemcpy_H2D_zero_bytes", PAG, DEV, false, false, NO, O, 60, 0},
    {"sync_vs_legacy.cudaMemcpy_D2H_zero_bytes", DEV, PAG, false, false, NO, O, 60, 0},
    /* ORD-061 */
    {"sync_vs_legacy.cudaMemcpy_H2D_pageable_4", PAG, DEV, false, true, SYNC, G, 61, 4},
    {"sync_vs_blocking.cudaMemcpy_H2D_pageable_4194304", PAG, DEV, false, true, SYNC, G, 61,
     4 * MIB},
    /* ORD-062 */
    {"sync_vs_legacy.cudaMemcpy_H2D_pinned_4", PIN, DEV, false, true, DONE, G, 62, 4},
    /* ORD-063 */
    {"sync_vs_legacy.cudaMemcpy_D2H_pageable_4", DEV, PAG, false, true, DONE, G, 63, 4},
    {"sync_vs_perthread.cudaMemcpy_D2H_pinned_65536", DEV, PIN, false, true, DONE, G, 63, 65536},
    /* ORD-064 */
    {"sync_vs_legacy.cudaMemcpy_D2D_4194304", DEV, DEV, false, false, NO, G, 64, 4 * MIB},
    /* ORD-065 */
    {"sync_vs_legacy.cudaMemcpy_H2H_pageable", PAG, PAG, false, true, DONE, G, 65, 64},
    {"sync_vs_legacy.cudaMemcpy_H2H_pinned", PIN, PIN, false, true, DONE, G, 65, 64},
    /* ORD-066: documented */
    {"", MAN, DEV, false, true, DONE, G, 66, 64},
    {"", MAN, PAG, false, true, DONE, G, 66, 64},
    /* ORD-067 */
    {"memcpyasync_pageable.H2D_4", PAG, DEV, true, false, READ, O, 67, 4},
    {"memcpyasync_pageable_threshold.check_returns", PAG, DEV, true, false, READ, O, 67, 2 * MIB},
    /* ORD-068 */
    {"memcpyasync_pageable_threshold.check_blocks", PAG, DEV, true, true, DONE, O, 68, 2 * MIB + 1},
    {"memcpyasync_pageable.H2D_16777216", PAG, DEV, true, true, DONE, O, 68, 16 * MIB},
    /* ORD-069 */
    {"memcpyasync_pageable.D2H_4", DEV, PAG, true, true, DONE, O, 69, 4},
    {"memcpyasync_pageable.D2H_67108864", DEV, PAG, true, true, DONE, O, 69, 64 * MIB},
    /* ORD-070 */
    {"memcpyasync_other.H2H_pageable_to_pageable_4", PAG, PAG, true, true, DONE, G, 70, 4},
    {"memcpyasync_other.H2H_pageable_to_pinned_4", PAG, PIN, true, true, DONE, G, 70, 4},
    {"memcpyasync_other.H2H_pinned_to_pageable_4", PIN, PAG, true, true, DONE, G, 70, 4},
    {"memcpyasync_other.H2H_pinned_to_pinned_1048576", PIN, PIN, true, true, DONE, G, 70, MIB},
    /* ORD-071 */
    {"memcpyasync_managed.H2D_4", MAN, DEV, true, true, DONE, O, 71, 4},
    {"memcpyasync_managed.D2H_1048576", DEV, MAN, true, true, DONE, O, 71, MIB},
    /* ORD-072; with cudaMemcpyDefault managed memory counts as device memory
       (memcpyasync_managed.H2D_default_4) */
    {"memcpyasync_pinned.H2D_67108864", PIN, DEV, true, false, NO, G, 72, 64 * MIB},
    {"memcpyasync_wc.D2H_4", DEV, PIN, true, false, NO, G, 72, 4},
    {"memcpyasync_other.D2D_67108864", DEV, DEV, true, false, NO, G, 72, 64 * MIB},
};

static void copies_as_measured(void **state) /* ORD-060 to ORD-072 */
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        struct weir_copy_rule c = weir_model_copy_rule(
            (enum weir_mem_class)r->src, (enum weir_mem_class)r->dst, r->bytes, r->async);

        if (c.wait != r->wait || c.strength != r->strength || c.rule != r->rule)
            fail_msg("row %zu %s: wait %d strength %d rule %d", i, r->probe, c.wait, c.strength,
                     c.rule);
        /* What blocked on the GPU blocks here, and the other way round. */
        assert_int_equal(r->blocks, c.wait == DONE || c.wait == SYNC);
    }
}

/* With a per-thread default stream: the copy's own stream is empty, only the legacy stream is held.
 * The stream sync has nothing to wait for, so a copy that is staged returns, and one that must
 * complete does not. */
static void
per_thread_copy_against_held_legacy(void **state) /* ORD-061, ORD-062, ORD-063, ORD-042 */
{
    struct fix f;
    struct weir_model_op l = {0}, copy = {0};
    struct weir_model_point points[4];

    (void)state;
    fix_init(&f);
    fix_submit(&f.legacy, &l);
    assert_int_equal(weir_model_stream_targets(&f.p, points, 4),
                     0); /* ptds.cudaMemcpy_H2D_pageable_4_vs_legacy returns */
    fix_submit(&f.p, &copy);
    assert_false(
        fix_ready(&copy)); /* ptds.cudaMemcpy_H2D_pinned_4_vs_legacy, D2H_pageable_4 block */
    assert_int_equal(weir_model_copy_rule(WEIR_MEM_PAGEABLE, WEIR_MEM_DEVICE, 4, false).wait, SYNC);
    assert_int_equal(weir_model_copy_rule(WEIR_MEM_PINNED, WEIR_MEM_DEVICE, 4, false).wait, DONE);
    assert_int_equal(weir_model_copy_rule(WEIR_MEM_DEVICE, WEIR_MEM_PAGEABLE, 4, false).wait, DONE);
}

static void memsets_as_measured(void **state) /* ORD-073, ORD-074, ORD-075 */
{
    (void)state;
    assert_int_equal(weir_model_memset_rule(WEIR_MEM_DEVICE, false).wait, NO);
    assert_int_equal(weir_model_memset_rule(WEIR_MEM_DEVICE, false).rule, 73);
    assert_int_equal(weir_model_memset_rule(WEIR_MEM_PINNED, false).wait, DONE);
    assert_int_equal(weir_model_memset_rule(WEIR_MEM_MANAGED, false).wait, DONE);
    assert_int_equal(weir_model_memset_rule(WEIR_MEM_MANAGED, false).rule, 74);
    for (int c = WEIR_MEM_PINNED; c <= WEIR_MEM_MANAGED; c++) {
        assert_int_equal(weir_model_memset_rule((enum weir_mem_class)c, true).wait, NO);
        assert_int_equal(weir_model_memset_rule((enum weir_mem_class)c, true).rule, 75);
        assert_int_equal(weir_model_memset_rule((enum weir_mem_class)c, true).strength, G);
    }
}

static void
calls_as_measured(void **state) /* ORD-043, ORD-080, ORD-081, ORD-082, ORD-083, ORD-084, ORD-087
                                 */
{
    static const struct {
        enum weir_host_call call;
        bool waits;
        uint8_t strength;
        uint16_t rule;
    } calls[] = {
        {WEIR_CALL_FREE, true, G, 87},
        {WEIR_CALL_FREE_HOST, true, O, 80},
        {WEIR_CALL_HOST_UNREGISTER, true, O, 80},
        {WEIR_CALL_FREE_ARRAY, true, O, 80},
        {WEIR_CALL_MALLOC, false, O, 81},
        {WEIR_CALL_MALLOC_HOST, false, O, 81},
        {WEIR_CALL_HOST_REGISTER, false, O, 81},
        {WEIR_CALL_STREAM_DESTROY, false, G, 82},
        {WEIR_CALL_EVENT_DESTROY, false, G, 82},
        {WEIR_CALL_MODULE_LOAD, false, O, 83},
        {WEIR_CALL_DEVICE_RESET, true, O, 84},
        {WEIR_CALL_DEVICE_SYNCHRONIZE, true, G, 43},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct weir_call_rule r = weir_model_call_rule(calls[i].call);

        assert_int_equal(r.waits_for_device, calls[i].waits);
        assert_int_equal(r.strength, calls[i].strength);
        assert_int_equal(r.rule, calls[i].rule);
    }
    assert_false(weir_model_free_needs_wait(WEIR_CALL_FREE));
    assert_true(weir_model_free_needs_wait(WEIR_CALL_FREE_HOST));
    assert_true(weir_model_free_needs_wait(WEIR_CALL_STREAM_DESTROY));
}

/* Only the large asynchronous copy of a pageable source differs. */
static void late_copies(void **state) /* ORD-061, ORD-067, ORD-068 */
{
    static const size_t sizes[] = {0, 1, WEIR_MODEL_STAGED_MAX, WEIR_MODEL_STAGED_MAX + 1};

    (void)state;
    for (int src = WEIR_MEM_PAGEABLE; src <= WEIR_MEM_MANAGED; src++) {
        for (int dst = WEIR_MEM_PAGEABLE; dst <= WEIR_MEM_MANAGED; dst++) {
            for (size_t i = 0; i < 8; i++) {
                size_t bytes = sizes[i / 2];
                struct weir_copy_rule now = weir_model_copy_rule(
                    (enum weir_mem_class)src, (enum weir_mem_class)dst, bytes, i % 2);
                struct weir_copy_rule late = weir_model_copy_rule_late(
                    (enum weir_mem_class)src, (enum weir_mem_class)dst, bytes, i % 2);

                if (src == WEIR_MEM_PAGEABLE && dst == WEIR_MEM_DEVICE && i == 7)
                    assert_true(late.wait == WEIR_HOST_WAIT_STAGED && late.rule == 67 &&
                                now.rule == 68);
                else
                    assert_memory_equal(&now, &late, sizeof now);
            }
        }
    }
}

static void managed_memory_kept(void **state) /* ORD-092 */
{
    (void)state;
    for (int own = 0; own <= 1; own++) {
        assert_true(weir_model_keeps_host_out(WEIR_ATTACHED_ALL, own));
        assert_false(weir_model_keeps_host_out(WEIR_ATTACHED_HOST, own));
        assert_int_equal(weir_model_keeps_host_out(WEIR_ATTACHED_STREAM, own), own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_as_measured),
        cmocka_unit_test(per_thread_copy_against_held_legacy),
        cmocka_unit_test(memsets_as_measured),
        cmocka_unit_test(calls_as_measured),
        cmocka_unit_test(late_copies),
        cmocka_unit_test(managed_memory_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
