/* Limits: a stream's depth (ORD-085) and staging memory (ORD-086), number by number. Random
 * programs and shared queues (ORD-090): tests/model/limits.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model_fix.h"

#include "model/limits.h"

static void depth(void **state)
{
    struct weir_model_stream s = {0};
    struct weir_model_point until;

    (void)state;
    for (uint64_t depth = 1; depth < 6; depth++) {
        for (uint64_t completed = 0; completed < 8; completed++) {
            for (uint64_t last = completed; last < completed + 12; last++) {
                uint64_t left = last - completed;
                bool full;

                atomic_store(&s.completed, completed);
                atomic_store(&s.last, last);
                full = weir_model_is_full(&s, depth, &until);
                /* one runs, `depth` stand behind it */
                assert_int_equal(full, left >= depth + 1);
                if (full) /* and when that is complete there is room for exactly one */
                    assert_int_equal(last - until.seq, depth);
            }
        }
    }
    assert_true(weir_model_takes_place(WEIR_OP_KERNEL));
    assert_true(weir_model_takes_place(WEIR_OP_RECORD));
    assert_false(weir_model_takes_place(WEIR_OP_WAIT));
    assert_false(weir_model_takes_place(WEIR_OP_HOST_FUNC));
}

static void staging(void **state)
{
    struct weir_staging_rule r = weir_model_staging_rule(1, WEIR_MODEL_STAGED_MAX);

    (void)state;
    assert_true(r.pool == WEIR_STAGING_SMALL && r.charge == 33 && r.limit == 4068000);
    r = weir_model_staging_rule(65536, WEIR_MODEL_STAGED_MAX);
    assert_true(r.pool == WEIR_STAGING_SMALL && r.charge == 65568);
    r = weir_model_staging_rule(65537, WEIR_MODEL_STAGED_MAX);
    assert_true(r.pool == WEIR_STAGING_LARGE && r.charge == 1 << 20 &&
                r.limit == WEIR_MODEL_STAGED_MAX);
    r = weir_model_staging_rule((1 << 20) + 1, WEIR_MODEL_STAGED_MAX);
    assert_true(r.charge == 2 << 20);
    r = weir_model_staging_rule(100, 1 << 20);
    assert_true(r.limit > 1 << 20 && r.limit < 4068000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth),
        cmocka_unit_test(staging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
