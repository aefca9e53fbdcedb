/* Tests of device: kernels of C functions on the workers and on helping host threads; parked
 * blocks; cooperative ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_support.h"

#include <pthread.h>

/* args[0]: array of atomic counters, one a block. */
static uint32_t count_block(struct weir_block *b)
{
    const uint32_t *grid = b->launch->grid;
    _Atomic uint32_t *hits = kernel_of(b)->args[0];
    uint64_t index =
        b->ctaid[0] + (uint64_t)grid[0] * (b->ctaid[1] + (uint64_t)grid[1] * b->ctaid[2]);

    atomic_fetch_add_explicit(&hits[index], 1, memory_order_relaxed);
    return WEIR_BLOCK_DONE;
}

static void check_each_once(_Atomic uint32_t *hits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(atomic_load(&hits[i]), 1);
}

static void every_block_runs_once(void **state)
{
    static const uint32_t grids[][3] = {
        {1, 1, 1}, {7, 5, 3}, {100000, 1, 1}, {1, 65535, 1}, {2, 3, 10000}};
    static _Atomic uint32_t hits[200000];

    (void)state;
    for (int workers = 1; workers <= 5; workers += 2) {
        struct weir_device *dev = device_make(workers, true);

        for (size_t g = 0; g < WEIR_ARRAY_SIZE(grids); g++) {
            size_t blocks = (size_t)grids[g][0] * grids[g][1] * grids[g][2];
            struct kernel k;

            memset(hits, 0, sizeof hits);
            kernel_init(&k, count_block, 1, hits);
            memcpy(k.k.launch.grid, grids[g], sizeof grids[g]);
            kernel_submit(dev, &k);
            assert_int_equal(wait_for(&k.wait), WEIR_OK);
            check_each_once(hits, blocks);
            assert_true(k.k.work.start_ns >= k.k.work.ready_ns &&
                        k.k.work.end_ns >= k.k.work.start_ns);
        }
        weir_device_destroy(dev);
    }
}

static void thousands_of_tiny_kernels_in_a_burst(void **state)
{
    enum { N = 20000 };
    struct weir_device *dev = device_make(2, true);
    struct kernel *k = calloc(N, sizeof *k);
    _Atomic uint32_t *hits = calloc(N, sizeof *hits);

    (void)state;
    for (int i = 0; i < N; i++) {
        kernel_init(&k[i], count_block, 1, &hits[i]);
        kernel_submit(dev, &k[i]);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(wait_for(&k[i].wait), WEIR_OK);
    check_each_once(hits, N);
    weir_device_destroy(dev);
    free(hits);
    free(k);
}

struct submitter {
    struct weir_device *dev;
    _Atomic uint32_t *hits;
    int help;
};

static void *submit_many(void *arg)
{
    struct submitter *s = arg;

    for (int i = 0; i < 1000; i++) {
        struct kernel k;

        kernel_init(&k, count_block, 1 + (uint32_t)i % 7, s->hits);
        k.k.work.priority = (int8_t) - (i % 6);
        kernel_submit(s->dev, &k);
        while (s->help && weir_device_help(s->dev, &k.k.work, NULL))
            ;
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
    }
    return NULL;
}

static void several_threads_submit_and_help(void **state)
{
    struct weir_device *dev = device_make(2, true);
    static _Atomic uint32_t hits[8];
    struct submitter s[4];
    pthread_t t[4];
    uint32_t expected[8] = {0};

    (void)state;
    memset(hits, 0, sizeof hits);
    for (int i = 0; i < 4; i++) {
        s[i] = (struct submitter){dev, hits, i % 2};
        assert_int_equal(pthread_create(&t[i], NULL, submit_many, &s[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 1000; i++)
        for (int b = 0; b < 1 + i % 7; b++)
            expected[b] += 4;
    for (int b = 0; b < 8; b++)
        assert_int_equal(atomic_load(&hits[b]), expected[b]);
    weir_device_destroy(dev);
}

/* args[0]: flag to wait for; args[1]: flag to set at the start; args[2]: polls */
static uint32_t spin_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;

    if (b->resume == 0) {
        b->resume = 1;
        *(uint32_t *)b->state = b->ctaid[0] + 1000;
        *(uint32_t *)b->shared = b->ctaid[0] + 2000;
        *(uint32_t *)b->local = b->ctaid[0] + 3000;
        if (args[1])
            atomic_fetch_add((_Atomic uint32_t *)args[1], 1);
    }
    if (args[2])
        atomic_fetch_add((_Atomic uint32_t *)args[2], 1);
    if (atomic_load((_Atomic uint32_t *)args[0]) == 0)
        return WEIR_BLOCK_PARKED;
    if (*(uint32_t *)b->state != b->ctaid[0] + 1000 ||
        *(uint32_t *)b->shared != b->ctaid[0] + 2000 || *(uint32_t *)b->local != b->ctaid[0] + 3000)
        weir_device_block_fail(b, WEIR_ERR_ASSERT, 1);
    return WEIR_BLOCK_DONE;
}

static void spin_init(struct kernel *k, uint32_t blocks, _Atomic uint32_t *flag,
                      _Atomic uint32_t *started)
{
    kernel_init(k, spin_block, blocks, flag);
    k->args[1] = started;
    k->code.may_park = true;
    k->code.state_bytes = 64;
    k->code.static_shared_bytes = 100;
    k->code.local_bytes_per_thread = 16;
}

static void kernel_that_polls_a_host_flag_holds_nobody_up(void **state)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct weir_device *dev = device_make(workers, true);
        static _Atomic uint32_t hits[1000];
        _Atomic uint32_t flag = 0, started = 0, polls = 0;
        struct kernel spin, other;
        uint64_t start;
        uint32_t before;

        (void)state;
        memset(hits, 0, sizeof hits);
        spin_init(&spin, 50, &flag, &started);
        spin.args[2] = &polls;
        kernel_submit(dev, &spin);
        for (int i = 0; i < 20; i++) {
            kernel_init(&other, count_block, 50, &hits[50 * i]);
            kernel_submit(dev, &other);
            assert_int_equal(wait_for(&other.wait), WEIR_OK);
        }
        check_each_once(hits, 1000);
        while (atomic_load(&started) < 50)
            usleep(100);
        assert_int_equal(atomic_load(&spin.wait.over), 0);
        /* It backs off: a worker comes round some 20,000 times a second, to 50 blocks. Without
         * pauses it would be several times as often. */
        before = atomic_load(&polls);
        start = weir_clock_ns();
        usleep(100000);
        assert_true((atomic_load(&polls) - before) * (uint64_t)250 <
                    (weir_clock_ns() - start) * (uint64_t)workers);
        atomic_store(&flag, 1);
        assert_int_equal(wait_for(&spin.wait), WEIR_OK);
        weir_device_destroy(dev);
    }
}

/* args[0]: counters of blocks that the first code ran, the better one, resumed ones; args[1]: the
 * better code, offered by block 0, which then waits for a block that ran it. */
static uint32_t first_code(struct weir_block *b)
{
    _Atomic uint32_t *counts = kernel_of(b)->args[0];

    if (b->resume) {
        if (atomic_load(&counts[1]) == 0)
            return WEIR_BLOCK_PARKED;
        atomic_fetch_add(&counts[2], 1);
        return WEIR_BLOCK_DONE;
    }
    atomic_fetch_add(&counts[0], 1);
    if (b->ctaid[0] == 0) {
        atomic_store(&kernel_of(b)->code.better, kernel_of(b)->args[1]);
        b->resume = 1;
        return WEIR_BLOCK_PARKED;
    }
    busy_wait_ns(20000);
    return WEIR_BLOCK_DONE;
}

static uint32_t better_code(struct weir_block *b)
{
    _Atomic uint32_t *counts = kernel_of(b)->args[0];

    if (b->resume)
        weir_device_block_fail(b, WEIR_ERR_ASSERT, 1);
    memset(b->state, 0xff, 100000);
    atomic_fetch_add(&counts[1], 1);
    return WEIR_BLOCK_DONE;
}

static void better_code_is_for_blocks_that_start_later(void **state)
{
    struct weir_kernel_code better = {.run = better_code, .name = "test", .state_bytes = 100000};
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t counts[3] = {0};
    struct kernel k;

    (void)state;
    better.may_park = true;
    kernel_init(&k, first_code, 3000, counts);
    k.args[1] = &better;
    k.code.may_park = true;
    kernel_submit(dev, &k);
    assert_int_equal(wait_for(&k.wait), WEIR_OK);
    assert_true(counts[0] > 0 && counts[1] > 0);
    assert_int_equal(counts[0] + counts[1], 3000);
    assert_int_equal(counts[2], 1);
    weir_device_destroy(dev);
}

static uint32_t set_flag_block(struct weir_block *b)
{
    atomic_store((_Atomic uint32_t *)kernel_of(b)->args[0], 1);
    return WEIR_BLOCK_DONE;
}

static void kernel_frees_another_one_with_a_single_worker(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t flag = 0;
    struct kernel spin, setter;

    (void)state;
    spin_init(&spin, 5, &flag, NULL);
    spin.k.work.priority = -5; /* also when the one that waits has the higher priority */
    kernel_init(&setter, set_flag_block, 1, &flag);
    kernel_submit(dev, &spin);
    kernel_submit(dev, &setter);
    assert_int_equal(wait_for(&spin.wait), WEIR_OK);
    assert_int_equal(wait_for(&setter.wait), WEIR_OK);
    weir_device_destroy(dev);
}

static void helper_leaves_polling_blocks_to_the_workers(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t flag = 0, started = 0;
    struct kernel spin;

    (void)state;
    spin_init(&spin, 3, &flag, &started);
    kernel_submit(dev, &spin);
    while (weir_device_help(dev, &spin.k.work, NULL))
        ;
    while (atomic_load(&started) < 3)
        usleep(100);
    atomic_store(&flag, 1);
    assert_int_equal(wait_for(&spin.wait), WEIR_OK);
    weir_device_destroy(dev);
}

/* A grid barrier by polling: every block adds to a counter and waits for all. args[0]: counter;
 * `state` holds the phase. */
static uint32_t grid_block(struct weir_block *b)
{
    _Atomic uint32_t *counter = kernel_of(b)->args[0];
    uint32_t *phase = (uint32_t *)b->state, all = b->launch->grid[0];

    if (b->resume == 0) {
        b->resume = 1;
        *phase = 1;
        atomic_fetch_add(counter, 1);
    }
    while (*phase < 10) {
        if (atomic_load(counter) < *phase * all)
            return WEIR_BLOCK_PARKED;
        ++*phase;
        atomic_fetch_add(counter, 1);
    }
    return WEIR_BLOCK_DONE;
}

static void cooperative_blocks_are_all_resident(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 2; workers++) {
        struct weir_device *dev = device_make(workers, true);
        _Atomic uint32_t counter = 0;
        struct kernel k;

        kernel_init(&k, grid_block, 1500, &counter);
        k.code.may_park = k.code.cooperative = true;
        k.code.state_bytes = 64;
        kernel_submit(dev, &k);
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
        assert_int_equal(atomic_load(&counter), 15000);
        weir_device_destroy(dev);
    }
}

static void polling_grid_of_any_size_keeps_a_bounded_number_of_blocks(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t flag = 0, started = 0;
    struct kernel spin;

    (void)state;
    spin_init(&spin, 100000, &flag, &started);
    kernel_submit(dev, &spin);
    usleep(100000);
    assert_in_range(atomic_load(&started), 2, 1100);
    atomic_store(&flag, 1);
    assert_int_equal(wait_for(&spin.wait), WEIR_OK);
    assert_int_equal(atomic_load(&started), 100000);
    weir_device_destroy(dev);
}

static pthread_t runner_thread;

static uint32_t note_thread_block(struct weir_block *b)
{
    (void)b;
    runner_thread = pthread_self();
    return WEIR_BLOCK_DONE;
}

/* The only worker is kept busy, so nobody but the host thread can run the second kernel. */
static uint32_t hold_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;

    atomic_store((_Atomic uint32_t *)args[1], 1);
    while (!atomic_load((_Atomic uint32_t *)args[0]))
        usleep(10);
    return WEIR_BLOCK_DONE;
}

static void hold_worker(struct weir_device *dev, struct kernel *k, _Atomic uint32_t *release)
{
    static _Atomic uint32_t held;

    atomic_store(&held, 0);
    kernel_init(k, hold_block, 1, release);
    k->args[1] = &held;
    kernel_submit(dev, k);
    while (!atomic_load(&held))
        usleep(10);
}

static void waiting_host_thread_runs_the_kernel(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t release = 0;
    struct kernel hold, k;

    (void)state;
    hold_worker(dev, &hold, &release);
    for (int i = 0; i < 100; i++) {
        kernel_init(&k, note_thread_block, 1, NULL);
        kernel_submit(dev, &k);
        assert_int_equal(atomic_load(&k.wait.over), 0);
        assert_true(weir_device_help(dev, &k.k.work, NULL));
        assert_int_equal(atomic_load(&k.wait.over), 1);
        assert_true(pthread_equal(runner_thread, pthread_self()));
        assert_false(weir_device_help(dev, &k.k.work, NULL));
    }
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&hold.wait), WEIR_OK);
    weir_device_destroy(dev);
}

static _Atomic bool stop;

static uint32_t stop_block(struct weir_block *b)
{
    atomic_fetch_add((_Atomic uint32_t *)kernel_of(b)->args[0], 1);
    if (b->ctaid[0] == 10)
        atomic_store(&stop, true);
    return WEIR_BLOCK_DONE;
}

static void helper_stops_between_blocks_and_the_rest_is_run(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t release = 0, ran = 0;
    struct kernel hold, k;
    uint32_t so_far;

    (void)state;
    hold_worker(dev, &hold, &release);
    kernel_init(&k, stop_block, 100000, &ran);
    atomic_store(&stop, false);
    kernel_submit(dev, &k);
    assert_true(weir_device_help(dev, &k.k.work, &stop));
    so_far = atomic_load(&ran);
    assert_int_equal(so_far, 11);
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&k.wait), WEIR_OK);
    assert_int_equal(atomic_load(&ran), 100000);
    assert_int_equal(wait_for(&hold.wait), WEIR_OK);
    weir_device_destroy(dev);
}

static enum weir_err prepare_late(struct weir_kernel_work *w)
{
    struct kernel *k = WEIR_CONTAINER_OF(w, struct kernel, k);

    usleep(1000);
    w->code = &k->code;
    return WEIR_OK;
}

static enum weir_err prepare_fails(struct weir_kernel_work *w)
{
    (void)w;
    return WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE;
}

static void kernel_is_prepared_once_or_fails(void **state)
{
    struct weir_device *dev = device_make(2, true);
    static _Atomic uint32_t hits[1000];
    struct kernel a, b, c;

    (void)state;
    memset(hits, 0, sizeof hits);
    kernel_init(&a, count_block, 1000, hits);
    a.k.code = NULL;
    a.k.prepare = prepare_late;
    kernel_init(&b, count_block, 1000, hits);
    b.k.code = NULL;
    b.k.prepare = prepare_fails;
    kernel_init(&c, count_block, 0, hits);
    kernel_submit(dev, &a);
    kernel_submit(dev, &b);
    kernel_submit(dev, &c);
    assert_int_equal(wait_for(&a.wait), WEIR_OK);
    assert_int_equal(wait_for(&b.wait), WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE);
    assert_int_equal(wait_for(&c.wait), WEIR_OK);
    check_each_once(hits, 1000);
    weir_device_destroy(dev);
}

static uint32_t slow_block(struct weir_block *b)
{
    busy_wait_ns(200000);
    atomic_fetch_add((_Atomic uint32_t *)kernel_of(b)->args[0], 1);
    return WEIR_BLOCK_DONE;
}

static void destroy_waits_for_pending_work(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t ran = 0;
    struct kernel k[10];

    (void)state;
    for (int i = 0; i < 10; i++) {
        kernel_init(&k[i], slow_block, 10, &ran);
        kernel_submit(dev, &k[i]);
    }
    weir_device_destroy(dev);
    assert_int_equal(atomic_load(&ran), 100);
    for (int i = 0; i < 10; i++)
        assert_int_equal(wait_for(&k[i].wait), WEIR_OK);
    for (int i = 0; i < 50; i++) { /* at once, while workers are still being started */
        dev = device_make(3, true);
        kernel_init(&k[0], set_flag_block, 1, &ran);
        kernel_submit(dev, &k[0]);
        weir_device_help(dev, &k[0].k.work, NULL);
        weir_device_destroy(dev);
    }
    weir_device_destroy(device_make(3, true)); /* never used: no thread was started */
    weir_device_destroy(NULL);
}

struct chain {
    struct kernel k;
    struct weir_device *dev;
    int left;
    _Atomic uint32_t ran;
};

static void chain_done(struct weir_work *work, enum weir_err status)
{
    struct chain *c = work->owner;

    if (--c->left > 0) {
        weir_device_submit(c->dev, work);
        return;
    }
    atomic_store(&c->k.wait.calls, 1);
    atomic_store(&c->k.wait.over, 1 + (uint32_t)status);
    weir_futex_wake(&c->k.wait.over, 1);
}

static void done_may_submit_the_next_one(void **state)
{
    struct weir_device *dev = device_make(2, true);
    struct chain c = {.dev = dev, .left = 20000};

    (void)state;
    kernel_init(&c.k, set_flag_block, 1, &c.ran);
    c.k.k.work.done = chain_done;
    c.k.k.work.owner = &c;
    weir_device_submit(dev, &c.k.k.work);
    assert_int_equal(wait_for(&c.k.wait), WEIR_OK);
    weir_device_destroy(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_once),
        cmocka_unit_test(thousands_of_tiny_kernels_in_a_burst),
        cmocka_unit_test(several_threads_submit_and_help),
        cmocka_unit_test(kernel_that_polls_a_host_flag_holds_nobody_up),
        cmocka_unit_test(kernel_frees_another_one_with_a_single_worker),
        cmocka_unit_test(helper_leaves_polling_blocks_to_the_workers),
        cmocka_unit_test(cooperative_blocks_are_all_resident),
        cmocka_unit_test(polling_grid_of_any_size_keeps_a_bounded_number_of_blocks),
        cmocka_unit_test(waiting_host_thread_runs_the_kernel),
        cmocka_unit_test(helper_stops_between_blocks_and_the_rest_is_run),
        cmocka_unit_test(kernel_is_prepared_once_or_fails),
        cmocka_unit_test(better_code_is_for_blocks_that_start_later),
        cmocka_unit_test(destroy_waits_for_pending_work),
        cmocka_unit_test(done_may_submit_the_next_one),
    };

    return cmocka_run_group_tests(tests, memory_start, memory_end);
}
