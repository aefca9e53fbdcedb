/* Profiles: each built-in one can be read, attributes that depend on each other agree; files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/profile.h"

static int get(const struct weir_profile *p, int id)
{
    int value = -1;

    assert_true(weir_profile_attribute(p, id, &value));
    return value;
}

static void test_profiles(void **state)
{
    struct weir_profile profile, *p = &profile;
    const char *name;
    int value;

    (void)state;
    assert_string_equal(weir_profile_name(0), "cpu");
    for (size_t n = 0; (name = weir_profile_name(n)) != NULL; n++) {
        assert_int_equal(weir_profile_load(name, p), WEIR_OK);
        assert_string_equal(p->name, name);
        assert_false(weir_profile_attribute(p, 0, &value));
        assert_false(weir_profile_attribute(p, 9999, &value));
        assert_true(get(p, WEIR_ATTR_MAX_SHARED_PER_BLOCK) <= get(p, WEIR_ATTR_MAX_SHARED_OPTIN));
        assert_int_equal(get(p, WEIR_ATTR_MAX_SHARED_OPTIN) + get(p, WEIR_ATTR_RESERVED_SHARED),
                         get(p, WEIR_ATTR_MAX_SHARED_PER_SM));
        assert_true(get(p, WEIR_ATTR_MAX_THREADS_PER_SM) >=
                    get(p, WEIR_ATTR_MAX_THREADS_PER_BLOCK));
        assert_int_equal(get(p, WEIR_ATTR_MAJOR), p->major);
        /* A device that is real says what things cost on it. */
        assert_int_equal(p->costs[WEIR_COST_H2D_GBPS] > 0, strcmp(name, "cpu") != 0);
    }
    assert_int_equal(weir_profile_load("h200", p), WEIR_OK);
    assert_true(p->costs[WEIR_COST_DUPLEX] > 0.89 && p->costs[WEIR_COST_DUPLEX] < 0.9);
    assert_int_equal(weir_profile_load("nothing", p), WEIR_ERR_INVALID_VALUE);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A line of a kernel that says no time, a count that is none, or something behind it. */
static void test_kernels_refused(void **state)
{
    static const char *const lines[] = {"kernel",        "kernel a",     "kernel a fast",
                                        "kernel a 0",    "kernel a 1 0", "kernel a 1 -2",
                                        "kernel a 1 2 3"};
    struct weir_profile p;
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int n = snprintf(text, sizeof text, "like t4\nkernel good 1 2\n%s\n", lines[i]);

        assert_int_equal(weir_profile_parse("mine", text, (size_t)n, &p), WEIR_ERR_INVALID_VALUE);
        assert_non_null(strstr(weir_err_message(), "mine:3 "));
        assert_null(p.kernels);
    }
}

static void test_file(void **state)
{
    char path[] = "/tmp/weir-profile-XXXXXX.profile";
    struct weir_profile p;
    int fd = mkstemps(path, 8);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    write_file(path, "# mine\nlike t4\nname My card # not sold\nattribute 16 3\n");
    assert_int_equal(weir_profile_load(path, &p), WEIR_OK);
    assert_string_equal(p.device_name, "My card");
    assert_int_equal(p.sm_count, 3);
    assert_int_equal(p.major * 10 + p.minor, 75);
    write_file(path, "like t4\nattribute 16 many\n");
    assert_int_equal(weir_profile_load(path, &p), WEIR_ERR_INVALID_VALUE);
    assert_non_null(strstr(weir_err_message(), ":2 "));
    write_file(path, "like t4\nkernel blur 6.5 3600 # measured\nkernel _Z1av 2\n");
    assert_int_equal(weir_profile_load(path, &p), WEIR_OK);
    assert_int_equal(p.kernel_count, 2);
    assert_string_equal(p.kernels[0].name, "blur");
    assert_true(p.kernels[0].us == 6.5 && p.kernels[0].blocks == 3600);
    assert_string_equal(p.kernels[1].name, "_Z1av");
    assert_true(p.kernels[1].us == 2 && p.kernels[1].blocks == 0);
    weir_profile_finish(&p);
    write_file(path, "name Empty\n");
    assert_int_equal(weir_profile_load(path, &p), WEIR_ERR_INVALID_VALUE);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_profiles), cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_kernels_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
