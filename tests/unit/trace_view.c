/* Tables, exports, pictures: of the small trace, the figures that must be there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/trace_support.h"
#include "view/view.h"

static struct weir_trace_file *file;

static int set_up(void **state)
{
    const char *message;
    char path[64];

    (void)state;
    trace_in_child(trace_path(path), trace_program, weir_trace_stop);
    file = weir_trace_file_read(path, &message);
    unlink(path);
    return file ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    weir_trace_file_free(file);
    return 0;
}

static char *text_of(bool (*write)(const struct weir_trace_file *, FILE *), size_t *bytes)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, bytes);

    assert_true(write(file, to));
    fclose(to);
    return text;
}

static bool summary_text(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_summary(f, WEIR_VIEW_TEXT, to);
}

static bool summary_csv(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_summary(f, WEIR_VIEW_CSV, to);
}

static bool summary_json(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_summary(f, WEIR_VIEW_JSON, to);
}

static bool diff_self(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_diff(f, f, WEIR_VIEW_CSV, to);
}

static bool svg(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_svg(f, &(struct weir_view_picture){.title = "a <b>"}, to);
}

static bool page(const struct weir_trace_file *f, FILE *to)
{
    return weir_view_page(f, "</script>", to);
}

#define HAS(text, part)                                                                            \
    do {                                                                                           \
        if (!strstr(text, part))                                                                   \
            fail_msg("no \"%s\" in:\n%.3000s", part, text);                                        \
    } while (0)

static void test_summary(void **state)
{
    size_t n;
    char *t = text_of(summary_text, &n);

    (void)state;
    HAS(t, "advance");
    HAS(t, "60.0 us        2    30.0 us    30.0 us    20.0 us    40.0 us");
    HAS(t, "H2D pinned");
    HAS(t, "0.41 GB/s");
    HAS(t, "cudaStreamSynchronize");
    free(t);
    t = text_of(summary_csv, &n);
    HAS(t, "kernels,100.000,60000,2,30000.0,30000,20000,40000,0,");
    free(t);
    t = text_of(summary_json, &n);
    HAS(t, "\"name\": \"advance\", \"share\": 100.000, \"total_ns\": 60000, \"count\": 2");
    free(t);
}

static void test_diff(void **state)
{
    size_t n;
    char *t = text_of(diff_self, &n);

    (void)state;
    HAS(t, "kernels,0,60000,60000,2,2,");
    free(t);
}

static void test_exports(void **state)
{
    size_t n;
    char *t = text_of(weir_view_csv, &n);

    (void)state;
    HAS(t, "kernel,advance,stream 42,0,2,");
    HAS(t, "wait,wait,stream 43,0,1,");
    free(t);
    t = text_of(weir_view_json, &n);
    HAS(t, "\"follows\": [{\"rule\": \"ORD-021\", \"guaranteed\": true, \"operation\": 1}]");
    free(t);
    t = text_of(weir_view_chrome, &n);
    HAS(t, "\"ph\":\"X\",\"name\":\"advance\"");
    HAS(t, "\"ph\":\"s\"");
    free(t);
    t = text_of(svg, &n);
    HAS(t, "a &lt;b&gt;");
    HAS(t, "class=\"arrow\"");
    free(t);
}

/* The page carries the trace; a title cannot end the script. */
static void test_page(void **state)
{
    size_t n;
    char *t = text_of(page, &n);

    (void)state;
    HAS(t, "const META={\"title\":\"\\u003c/script>\"");
    HAS(t, "\"advance\"");
    HAS(t, "<script id=\"data\" type=\"text/plain\">");
    assert_null(strstr(t, "http://"));
    assert_null(strstr(t, "https://"));
    free(t);
}

/* ---- Perfetto: the packets are walked as any reader of protobuf would ---- */

static uint64_t varint(const unsigned char **p, const unsigned char *end)
{
    uint64_t v = 0;

    for (int shift = 0; *p < end; shift += 7) {
        v |= (uint64_t)(**p & 0x7f) << shift;
        if (!(*(*p)++ & 0x80))
            return v;
    }
    fail_msg("a number is cut off");
    return 0;
}

struct counts {
    int tracks, begins, ends, flows, others;
};

static void walk_event(const unsigned char *p, const unsigned char *end, struct counts *c)
{
    while (p < end) {
        uint64_t key = varint(&p, end);

        switch (key & 7) {
        case 0: {
            uint64_t v = varint(&p, end);

            c->begins += key >> 3 == 9 && v == 1;
            c->ends += key >> 3 == 9 && v == 2;
            break;
        }
        case 1:
            c->flows += key >> 3 == 47 || key >> 3 == 48;
            p += 8;
            break;
        case 2: {
            uint64_t n = varint(&p, end); /* p moves on before it is added to */

            p += n;
            break;
        }
        default:
            fail_msg("wire type %d", (int)(key & 7));
        }
        assert_true(p <= end);
    }
}

static void walk_packet(const unsigned char *p, const unsigned char *end, struct counts *c)
{
    while (p < end) {
        uint64_t key = varint(&p, end);
        uint64_t v = varint(&p, end);

        if ((key & 7) != 2)
            continue;
        assert_true(v <= (uint64_t)(end - p));
        if (key >> 3 == 60)
            c->tracks++;
        else if (key >> 3 == 11)
            walk_event(p, p + v, c);
        else
            c->others++;
        p += v;
    }
}

static void test_perfetto(void **state)
{
    struct counts c = {0};
    size_t n;
    char *t = text_of(weir_view_perfetto, &n);
    const unsigned char *p = (const unsigned char *)t, *end = p + n;

    (void)state;
    while (p < end) {
        uint64_t length;

        assert_int_equal(varint(&p, end), 1 << 3 | 2);
        length = varint(&p, end);
        assert_true(length <= (uint64_t)(end - p));
        walk_packet(p, p + length, &c);
        p += length;
    }
    assert_int_equal(c.others, 0);
    assert_int_equal(c.begins, 4 + 5 + 1); /* operations, calls, range */
    assert_int_equal(c.ends, c.begins);
    assert_int_equal(c.flows, 2);
    assert_int_equal(c.tracks, 1 + 2 + 1 + 2); /* host, thread and its ranges, device, streams */
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),  cmocka_unit_test(test_diff),
        cmocka_unit_test(test_exports),  cmocka_unit_test(test_page),
        cmocka_unit_test(test_perfetto),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
