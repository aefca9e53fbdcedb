/* NVTX: what a program's copy of it hands over, made here by hand; what its calls leave in a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <wchar.h>

#include "trace/nvtx.h"
#include "unit/trace_support.h"

typedef void (*function)(void);

enum { SLOTS = 16 };

static function core[SLOTS], core2[SLOTS];
static function *core_table[SLOTS], *core2_table[SLOTS];
static int refuse;

static int functions(int module, function ***table, unsigned *size)
{
    function *slots = module == 1 ? core : core2, **out = module == 1 ? core_table : core2_table;

    if (refuse || (module != 1 && module != 5))
        return 0;
    for (int i = 0; i < SLOTS; i++)
        out[i] = &slots[i];
    *table = out;
    *size = SLOTS;
    return 1;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t bytes;
        int (*functions)(int module, function ***table, unsigned *size);
    } callbacks = {sizeof callbacks, functions};

    return id == 1 ? &callbacks : NULL;
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static void mark_everything(void)
{
    void *(*create)(const char *) = (void *(*)(const char *))core2[12];
    void *(*intern)(void *, const char *) = (void *(*)(void *, const char *))core2[10];
    void *domain = create("domain");
    struct attributes a = {.version = 3,
                           .size = sizeof a,
                           .color_type = 1,
                           .color = 0xff112233,
                           .message_type = 3,
                           .message = intern(domain, "registered")};
    uint64_t range;

    ((int (*)(const char *))core[9])("outer");
    ((int (*)(void *, const struct attributes *))core2[4])(domain, &a);
    ((void (*)(const char *))core[2])("mark");
    ((int (*)(void *))core2[5])(domain);
    range = ((uint64_t(*)(const wchar_t *))core[6])(L"wide \u00e4");
    ((int (*)(void))core[11])();
    ((void (*)(uint64_t))core[7])(range);
}

static void test_ranges(void **state)
{
    struct weir_trace_file *f;
    const char *message;
    char path[64];

    (void)state;
    assert_int_equal(weir_trace_nvtx_init(export_table), 1);
    trace_in_child(trace_path(path), mark_everything, weir_trace_stop);
    f = weir_trace_file_read(path, &message);
    unlink(path);
    assert_non_null(f);
    assert_int_equal(f->ranges_count, 4);
    assert_string_equal(f->ranges[0].text, "outer");
    assert_int_equal(f->ranges[0].depth, 0);
    assert_string_equal(f->ranges[1].text, "registered");
    assert_string_equal(f->ranges[1].domain, "domain");
    assert_int_equal(f->ranges[1].color, 0xff112233);
    assert_int_equal(f->ranges[1].depth, 1);
    assert_true(f->ranges[1].end_ns <= f->ranges[0].end_ns);
    assert_string_equal(f->ranges[2].text, "mark");
    assert_int_equal(f->ranges[2].begin_ns, f->ranges[2].end_ns);
    assert_string_equal(f->ranges[3].text, "wide \xc3\xa4");
    assert_false(f->ranges[3].pushed);
    assert_true(f->ranges[3].end_ns > f->ranges[0].end_ns);
    weir_trace_file_free(f);
}

/* Nothing is written while no trace is, and what is not known is refused. */
static void test_others(void **state)
{
    (void)state;
    assert_int_equal(weir_trace_nvtx_init(no_table), 0);
    refuse = 1;
    assert_int_equal(weir_trace_nvtx_init(export_table), 0);
    refuse = 0;
    assert_int_equal(weir_trace_nvtx_init(export_table), 1);
    mark_everything();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_others)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
