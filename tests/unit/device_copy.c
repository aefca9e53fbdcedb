/* Tests of device: copies and memsets against naive loops, on the engines and on helping host
 * threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_support.h"

struct copy {
    struct weir_copy_work c;
    struct waitable wait;
    struct weir_device *dev; /* of refuses_from_inside */
};

static void copy_init(struct copy *c, enum weir_engine engine, void *dst, const void *src,
                      size_t bytes)
{
    memset(c, 0, sizeof *c);
    c->c.work.engine = (uint8_t)engine;
    c->c.work.done = work_done;
    c->c.work.owner = &c->wait;
    c->c.dst = dst;
    c->c.src = src;
    c->c.width = bytes;
    c->c.height = c->c.depth = 1;
}

static void fill(unsigned char *p, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (unsigned char)(seed >> 24);
    }
}

static void lines_are_copied(void **state)
{
    static const size_t sizes[] = {
        0, 1, 2, 63, 4096, 1 << 20, (1 << 20) + 1, (5 << 20) - 3, 8 << 20, (9 << 20) + 77};
    const size_t room = 10 << 20;
    struct weir_device *dev = device_make(1, true);
    unsigned char *a = malloc(room), *b = malloc(room);

    (void)state;
    fill(a, room, 1);
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(sizes); i++) {
        for (int engine = WEIR_ENGINE_H2D; engine <= WEIR_ENGINE_D2D; engine++) {
            struct copy c;

            memset(b, 0x5a, room);
            copy_init(&c, (enum weir_engine)engine, b + engine, a, sizes[i]);
            weir_device_submit(dev, &c.c.work);
            assert_int_equal(wait_for(&c.wait), WEIR_OK);
            assert_memory_equal(a, b + engine, sizes[i]);
            assert_int_equal(b[sizes[i] + (size_t)engine], 0x5a);
            assert_int_equal(b[engine - 1], 0x5a);
            assert_true(c.c.work.ready_ns <= c.c.work.start_ns &&
                        c.c.work.start_ns <= c.c.work.end_ns);
        }
    }
    weir_device_destroy(dev);
    free(a);
    free(b);
}

/* Random rectangles, copied or set, against loops over bytes. */
static void rectangles_are_copied_and_set(void **state)
{
    enum { N = 40000 };
    static unsigned char src[N], dst[N], want[N];
    struct weir_device *dev = device_make(1, true);
    uint32_t x = 99;

    (void)state;
    fill(src, N, 7);
    for (int round = 0; round < 500; round++) {
        size_t v[8];
        struct copy c;

        for (int i = 0; i < 8; i++) {
            x = x * 1664525u + 1013904223u;
            v[i] = x >> 16;
        }
        fill(dst, N, (uint32_t)round);
        memcpy(want, dst, N);
        copy_init(&c, WEIR_ENGINE_D2D, dst + v[0] % 16 / 4 * 4, src + v[1] % 16,
                  4 * (1 + v[2] % 10));
        c.c.height = 1 + v[3] % 6;
        c.c.depth = 1 + v[4] % 6;
        c.c.dst_pitch = c.c.width + (v[5] % 3 ? v[5] % 5 * 4 : 0);
        c.c.src_pitch = c.c.width + (v[5] % 3 ? v[5] % 7 : 0);
        c.c.dst_slice = c.c.dst_pitch * (c.c.height + v[6] % 2);
        c.c.src_slice = c.c.src_pitch * (c.c.height + v[6] % 2);
        c.c.memset = round % 2;
        c.c.element_bytes = (uint8_t)(1u << v[7] % 3);
        c.c.value = (uint32_t)v[7] * 0x10001u;
        for (size_t z = 0; z < c.c.depth; z++)
            for (size_t y = 0; y < c.c.height; y++)
                for (size_t i = 0; i < c.c.width; i++) {
                    size_t at =
                        (size_t)(c.c.dst - (char *)dst) + z * c.c.dst_slice + y * c.c.dst_pitch + i;
                    unsigned char set = (unsigned char)(c.c.value >> 8 * (i % c.c.element_bytes));

                    want[at] =
                        c.c.memset
                            ? set
                            : (unsigned char)c.c.src[z * c.c.src_slice + y * c.c.src_pitch + i];
                }
        if (round % 3) {
            weir_device_submit(dev, &c.c.work);
        } else {
            weir_device_submit_helped(dev, &c.c.work);
            weir_device_help(dev, &c.c.work, NULL);
        }
        assert_int_equal(wait_for(&c.wait), WEIR_OK);
        assert_memory_equal(dst, want, N);
    }
    weir_device_destroy(dev);
}

static void helped_copies_need_no_thread(void **state)
{
    struct weir_device *dev = device_make(1, true);
    char a[100], b[100];

    (void)state;
    memset(a, 3, sizeof a);
    for (int i = 0; i < 1000; i++) {
        struct copy c;

        copy_init(&c, WEIR_ENGINE_H2D, b, a, sizeof a);
        weir_device_submit_helped(dev, &c.c.work);
        assert_true(weir_device_help(dev, &c.c.work, NULL));
        assert_int_equal(atomic_load(&c.wait.over), 1);
        assert_false(weir_device_help(dev, &c.c.work, NULL));
    }
    weir_device_destroy(dev);
}

static void refuses_from_inside(struct weir_work *work, enum weir_err status)
{
    struct copy *c =
        WEIR_CONTAINER_OF(WEIR_CONTAINER_OF(work, struct weir_copy_work, work), struct copy, c);
    struct copy inner;
    char byte = 1;

    copy_init(&inner, WEIR_ENGINE_H2D, &byte, &byte, 1);
    assert_false(weir_device_copy_now(c->dev, &inner.c)); /* this thread runs one */
    work_done(work, status);
}

static void copies_now_go_before_nothing(void **state)
{
    struct weir_device *dev = device_make(1, true), *alone = device_make(1, false);
    struct copy queued, now;
    char a[100], b[100];

    (void)state;
    memset(a, 3, sizeof a);
    memset(b, 0, sizeof b);
    copy_init(&now, WEIR_ENGINE_H2D, b, a, sizeof a);
    now.dev = dev;
    now.c.work.done = refuses_from_inside;
    assert_true(weir_device_copy_now(dev, &now.c));
    assert_int_equal(atomic_load(&now.wait.over), 1 + WEIR_OK);
    assert_memory_equal(a, b, sizeof a);
    copy_init(&queued, WEIR_ENGINE_H2D, b, a, sizeof a);
    weir_device_submit_helped(dev, &queued.c.work); /* nobody is awake for it */
    copy_init(&now, WEIR_ENGINE_H2D, b, a, sizeof a);
    assert_false(weir_device_copy_now(dev, &now.c));
    assert_int_equal(atomic_load(&now.wait.over), 0);
    assert_true(weir_device_help(dev, &queued.c.work, NULL));
    assert_true(weir_device_copy_now(dev, &now.c));
    copy_init(&now, WEIR_ENGINE_H2D, b, a, sizeof a);
    assert_false(weir_device_copy_now(alone, &now.c)); /* its host threads do not help */
    weir_device_destroy(alone);
    weir_device_destroy(dev);
}

static void engines_work_in_the_order_of_readiness(void **state)
{
    enum { N = 2000 };
    struct weir_device *dev = device_make(1, true);
    struct copy *c = calloc(N, sizeof *c);
    int *values = malloc(N * sizeof *values), target = -1;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i;
        copy_init(&c[i], WEIR_ENGINE_D2H, &target, &values[i], sizeof target);
        weir_device_submit(dev, &c[i].c.work);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(wait_for(&c[i].wait), WEIR_OK);
    assert_int_equal(target, N - 1);
    for (int i = 1; i < N; i++)
        assert_true(c[i].c.work.start_ns >= c[i - 1].c.work.end_ns);
    weir_device_destroy(dev);
    free(values);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_copied),
        cmocka_unit_test(rectangles_are_copied_and_set),
        cmocka_unit_test(helped_copies_need_no_thread),
        cmocka_unit_test(copies_now_go_before_nothing),
        cmocka_unit_test(engines_work_in_the_order_of_readiness),
    };

    return cmocka_run_group_tests(tests, memory_start, memory_end);
}
