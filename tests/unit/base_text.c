/* Tests of base/text: what goes into JSON files is JSON, whatever the program's names hold.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"

static const char *written(void (*put)(FILE *, const char *), const char *s)
{
    static char out[256];
    FILE *to = fmemopen(out, sizeof out, "w");

    assert_non_null(to);
    put(to, s);
    assert_int_equal(fclose(to), 0);
    return out;
}

static const char *json(const char *s)
{
    return written(weir_text_put_json, s);
}

static void plain_texts_stay(void **state)
{
    (void)state;
    assert_string_equal(json(""), "\"\"");
    assert_string_equal(json("fill<float>(int, char*)"), "\"fill<float>(int, char*)\"");
    assert_string_equal(json("\x7f"), "\"\x7f\"");
}

static void what_json_forbids_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(json("a\"b\\c"), "\"a\\\"b\\\\c\"");
    assert_string_equal(json("\x01\n\x1f"), "\"\\u0001\\u000a\\u001f\"");
}

static void utf8_passes(void **state)
{
    static const char *const texts[] = {"\xc2\x80",        "h\xc3\xb6he",  "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",    "\xee\x80\x80", "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char quoted[16];

        snprintf(quoted, sizeof quoted, "\"%s\"", texts[i]);
        assert_string_equal(json(texts[i]), quoted);
    }
}

static void other_bytes_are_replaced(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"a\xffz", "\"a\\ufffdz\""},
        {"h\xf6he", "\"h\\ufffdhe\""},                            /* Latin-1 */
        {"\x80", "\"\\ufffd\""},                                  /* a second byte alone */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* longer than needed */
        {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},            /* the same, of three bytes */
        {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* of four */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* above U+10FFFF */
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},                       /* cut off */
        {"\xc3\"", "\"\\ufffd\\\"\""},                            /* the quote is one */
        {"\xf0\x9f\x98", "\"\\ufffd\\ufffd\\ufffd\""},            /* cut off behind three */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(json(cases[i].text), cases[i].json);
}

static void a_page_has_no_angle_brackets(void **state)
{
    (void)state;
    assert_string_equal(written(weir_text_put_json_in_page, "</script>\xff"),
                        "\"\\u003c/script>\\ufffd\"");
}

static void put_member(FILE *to, const char *value)
{
    weir_text_put_json_member(to, "na\"me", value);
}

static void members_have_names(void **state)
{
    (void)state;
    assert_string_equal(written(put_member, "a\\b"), "\"na\\\"me\": \"a\\\\b\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_texts_stay),
        cmocka_unit_test(what_json_forbids_is_escaped),
        cmocka_unit_test(utf8_passes),
        cmocka_unit_test(other_bytes_are_replaced),
        cmocka_unit_test(a_page_has_no_angle_brackets),
        cmocka_unit_test(members_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
