/* Tests of device: which work runs when: priorities, sharing, host functions; statistics; fork.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_support.h"

#include <signal.h>
#include <time.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/sanitize.h"
#include "device/device_int.h"

/* Blocks write down who ran: args[0] the letter. */
static char order[65536];
static _Atomic uint32_t order_count;

static uint32_t letter_block(struct weir_block *b)
{
    order[atomic_fetch_add(&order_count, 1)] = (char)(uintptr_t)kernel_of(b)->args[0];
    busy_wait_ns((uintptr_t)kernel_of(b)->args[1]);
    return WEIR_BLOCK_DONE;
}

static void letter_init(struct kernel *k, char letter, uint32_t blocks, int priority, uint64_t ns)
{
    kernel_init(k, letter_block, blocks, (void *)(uintptr_t)letter);
    k->args[1] = (void *)(uintptr_t)ns;
    k->k.work.priority = (int8_t)priority;
}

static uint32_t hold_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;

    atomic_store((_Atomic uint32_t *)args[1], 1);
    while (!atomic_load((_Atomic uint32_t *)args[0]))
        usleep(10);
    return WEIR_BLOCK_DONE;
}

/* Keeps one worker busy until *release. */
static void hold(struct weir_device *dev, struct kernel *k, _Atomic uint32_t *release)
{
    _Atomic uint32_t held = 0;

    kernel_init(k, hold_block, 1, release);
    k->args[1] = &held;
    kernel_submit(dev, k);
    while (!atomic_load(&held))
        usleep(10);
}

static void highest_priority_goes_first_and_equal_ones_in_order(void **state)
{
    static const struct {
        char letter;
        int priority;
    } submitted[] = {{'e', 0}, {'c', -2}, {'a', -5}, {'f', 0}, {'d', -2}, {'b', -5}, {'g', 0}};
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t release = 0;
    struct kernel holder, k[7];

    (void)state;
    atomic_store(&order_count, 0);
    hold(dev, &holder, &release);
    for (int i = 0; i < 7; i++) {
        letter_init(&k[i], submitted[i].letter, 1, submitted[i].priority, 0);
        kernel_submit(dev, &k[i]);
    }
    atomic_store(&release, 1);
    for (int i = 0; i < 7; i++)
        assert_int_equal(wait_for(&k[i].wait), WEIR_OK);
    assert_memory_equal(order, "abcdefg", 7);
    assert_int_equal(wait_for(&holder.wait), WEIR_OK);
    weir_device_destroy(dev);
}

static void running_kernel_makes_room_for_a_higher_priority(void **state)
{
    struct weir_device *dev = device_make(1, true);
    struct kernel low, high;

    (void)state;
    for (int round = 0; round < 5; round++) {
        uint32_t at = 0, lows_at_submit;

        atomic_store(&order_count, 0);
        letter_init(&low, 'l', 20000, 0, 2000);
        letter_init(&high, 'h', 10, -5, 2000);
        kernel_submit(dev, &low);
        while (atomic_load(&order_count) < 500)
            usleep(10);
        kernel_submit(dev, &high);
        lows_at_submit = atomic_load(&order_count);
        assert_int_equal(wait_for(&high.wait), WEIR_OK);
        assert_int_equal(atomic_load(&low.wait.over), 0);
        while (order[at] != 'h')
            at++;
        /* A worker that had looked before the submit may have begun one more. */
        assert_in_range(at, 500, lows_at_submit + 1);
        assert_memory_equal(&order[at], "hhhhhhhhhh", 10);
        assert_int_equal(wait_for(&low.wait), WEIR_OK);
        assert_int_equal(atomic_load(&order_count), 20010);
    }
    weir_device_destroy(dev);
}

/* A host thread that waits for the low priority must not slow down the high one. */
static void helper_does_not_help_while_a_higher_priority_waits(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t release = 0;
    struct kernel holder, low, high;

    (void)state;
    atomic_store(&order_count, 0);
    hold(dev, &holder, &release);
    letter_init(&low, 'l', 5, 0, 0);
    letter_init(&high, 'h', 5, -5, 0);
    kernel_submit(dev, &low);
    kernel_submit(dev, &high);
    assert_false(weir_device_help(dev, &low.k.work, NULL));
    assert_true(weir_device_help(dev, &high.k.work, NULL));
    assert_true(weir_device_help(dev, &low.k.work, NULL));
    assert_memory_equal(order, "hhhhhlllll", 10);
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&low.wait), WEIR_OK);
    assert_int_equal(wait_for(&high.wait), WEIR_OK);
    assert_int_equal(wait_for(&holder.wait), WEIR_OK);
    weir_device_destroy(dev);
}

static void small_kernels_interleave_and_large_ones_do_not(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t release = 0;
    struct kernel holder, a, b;
    int last_a = 0, first_b = 0;

    (void)state;
    atomic_store(&order_count, 0);
    hold(dev, &holder, &release);
    letter_init(&a, 'a', 2, 0, 100000);
    letter_init(&b, 'b', 2, 0, 100000);
    kernel_submit(dev, &a);
    kernel_submit(dev, &b);
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&a.wait), WEIR_OK);
    assert_int_equal(wait_for(&b.wait), WEIR_OK);
    assert_memory_equal(order, "abab", 4);
    assert_int_equal(wait_for(&holder.wait), WEIR_OK);

    atomic_store(&order_count, 0);
    atomic_store(&release, 0);
    hold(dev, &holder, &release);
    letter_init(&a, 'a', 1000, 0, 2000);
    letter_init(&b, 'b', 1000, 0, 2000);
    kernel_submit(dev, &a);
    kernel_submit(dev, &b);
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&a.wait), WEIR_OK);
    assert_int_equal(wait_for(&b.wait), WEIR_OK);
    for (int i = 1999; i >= 0; i--) {
        last_a = order[i] == 'a' && !last_a ? i : last_a;
        first_b = order[i] == 'b' ? i : first_b;
    }
    assert_in_range(first_b, 900, 1000); /* at its end the first one leaves room */
    assert_in_range(last_a, 999, 1100);
    assert_int_equal(wait_for(&holder.wait), WEIR_OK);
    weir_device_destroy(dev);
}

/* Two kernels that each need the other to run at the same time. */
static uint32_t meet_block(struct weir_block *b)
{
    _Atomic uint32_t *met = kernel_of(b)->args[0];

    if (b->resume == 0) {
        b->resume = 1;
        atomic_fetch_add(met, 1);
    }
    return atomic_load(met) < 16 ? WEIR_BLOCK_PARKED : WEIR_BLOCK_DONE;
}

static void kernels_of_several_streams_are_in_flight_together(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t met = 0;
    struct kernel k[16];

    (void)state;
    for (int i = 0; i < 16; i++) {
        kernel_init(&k[i], meet_block, 1, &met);
        k[i].code.may_park = true;
        kernel_submit(dev, &k[i]);
    }
    for (int i = 0; i < 16; i++)
        assert_int_equal(wait_for(&k[i].wait), WEIR_OK);
    weir_device_destroy(dev);
}

struct host {
    struct weir_host_work h;
    struct waitable wait;
    int index;
};

static _Atomic int host_next, host_inside;

static void host_run(struct weir_host_work *work)
{
    struct host *h = WEIR_CONTAINER_OF(work, struct host, h);

    assert_int_equal(atomic_fetch_add(&host_inside, 1), 0);
    assert_int_equal(atomic_fetch_add(&host_next, 1), h->index);
    if (h->index % 100 == 0)
        usleep(500);
    atomic_fetch_sub(&host_inside, 1);
}

static void host_functions_run_one_by_one_in_order(void **state)
{
    enum { N = 1000 };
    struct weir_device *dev = device_make(2, true);
    struct host *h = calloc(N, sizeof *h);

    (void)state;
    for (int i = 0; i < N; i++) {
        h[i].index = i;
        h[i].h.run = host_run;
        h[i].h.work.engine = WEIR_ENGINE_HOST;
        h[i].h.work.done = work_done;
        h[i].h.work.owner = &h[i].wait;
        weir_device_submit(dev, &h[i].h.work);
        assert_false(weir_device_help(dev, &h[i].h.work, NULL));
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(wait_for(&h[i].wait), WEIR_OK);
    weir_device_destroy(dev);
    free(h);
}

static void copy_and_wait(struct weir_device *dev, enum weir_engine engine, char *dst,
                          const char *src, size_t bytes)
{
    struct waitable wait = {0};
    struct weir_copy_work c = {
        .work = {.engine = (uint8_t)engine, .done = work_done, .owner = &wait},
        .src = src,
        .dst = dst,
        .width = bytes,
        .height = 1,
        .depth = 1,
    };

    weir_device_submit(dev, &c.work);
    assert_int_equal(wait_for(&wait), WEIR_OK);
}

static void statistics_know_what_overlapped(void **state)
{
    enum { BYTES = 4 << 20 };
    struct weir_device *dev = device_make(2, true);
    char *a = calloc(1, BYTES), *b = calloc(1, BYTES);
    _Atomic uint32_t release = 0;
    struct weir_device_stats s, t;
    struct kernel k[2];

    (void)state;
    weir_device_stats_enable(dev, true);
    copy_and_wait(dev, WEIR_ENGINE_H2D, a, b, BYTES);
    weir_device_stats(dev, &s);
    assert_int_equal(s.engines[WEIR_ENGINE_H2D].count, 1);
    assert_int_equal(s.engines[WEIR_ENGINE_H2D].bytes, BYTES);
    assert_true(s.copy_ns > 0 && s.copy_ns == s.engines[WEIR_ENGINE_H2D].busy_ns);
    assert_int_equal(s.copy_hidden_ns, 0);
    hold(dev, &k[0], &release);
    copy_and_wait(dev, WEIR_ENGINE_H2D, a, b, BYTES);
    copy_and_wait(dev, WEIR_ENGINE_D2H, a, b, BYTES);
    hold(dev, &k[1], &release);
    usleep(2000);
    atomic_store(&release, 1);
    assert_int_equal(wait_for(&k[0].wait), WEIR_OK);
    assert_int_equal(wait_for(&k[1].wait), WEIR_OK);
    copy_and_wait(dev, WEIR_ENGINE_D2D, a, b, BYTES);
    weir_device_stats(dev, &t);
    assert_int_equal(t.engines[WEIR_ENGINE_COMPUTE].count, 2);
    assert_int_equal(t.copy_hidden_ns, t.copy_ns - s.copy_ns);
    assert_int_equal(t.overlap_ns[WEIR_OVERLAP_H2D_KERNEL],
                     t.engines[WEIR_ENGINE_H2D].busy_ns - s.copy_ns);
    assert_int_equal(t.overlap_ns[WEIR_OVERLAP_D2H_KERNEL], t.engines[WEIR_ENGINE_D2H].busy_ns);
    assert_int_equal(t.overlap_ns[WEIR_OVERLAP_H2D_D2H], 0);
    assert_true(t.overlap_ns[WEIR_OVERLAP_KERNEL_KERNEL] >= 2000000);
    assert_true(t.overlap_ns[WEIR_OVERLAP_KERNEL_KERNEL] < t.engines[WEIR_ENGINE_COMPUTE].busy_ns);
    assert_true(t.engines[WEIR_ENGINE_D2D].busy_ns > 0);
    assert_true(t.last_ns - t.first_ns >= t.engines[WEIR_ENGINE_COMPUTE].busy_ns);
    weir_device_destroy(dev);
    free(a);
    free(b);
}

static void forked_child_gets_an_error_and_does_not_hang(void **state)
{
    struct weir_device *dev = device_make(1, true);
    struct kernel k;
    int status;
    pid_t pid;

    (void)state;
#if defined(WEIR_BUILT_TSAN)
    skip(); /* TSan ends a forked child that starts a thread */
#endif
    letter_init(&k, 'x', 1, 0, 0);
    atomic_store(&order_count, 0);
    kernel_submit(dev, &k);
    assert_int_equal(wait_for(&k.wait), WEIR_OK);
    assert_false(weir_device_is_forked(dev));
    pid = fork();
    if (pid == 0) {
        bool good = weir_device_is_forked(dev);

        alarm(10);
        kernel_submit(dev, &k);
        good = good && !weir_device_help(dev, &k.k.work, NULL);
        while (!atomic_load(&k.wait.over))
            usleep(100);
        good = good && atomic_load(&k.wait.over) == 1 + WEIR_ERR_INITIALIZATION_ERROR;
        weir_device_destroy(dev);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    kernel_submit(dev, &k);
    assert_int_equal(wait_for(&k.wait), WEIR_OK);
    weir_device_destroy(dev);
}

/* args[0]: flag; short when it is set. */
static uint32_t moody_block(struct weir_block *b)
{
    while (!atomic_load((_Atomic uint32_t *)kernel_of(b)->args[0]))
        usleep(10);
    return WEIR_BLOCK_DONE;
}

/* The engine has learnt that this kernel is short, and lets other workers sleep; then it is not. */
static void kernel_that_was_short_may_become_long(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t flag = 1;
    struct kernel k, other;
    struct weir_kernel_code code;

    (void)state;
    kernel_init(&k, moody_block, 1, &flag);
    code = k.code;
    k.k.code = &code;
    for (int round = 0; round < 5; round++) {
        atomic_store(&flag, 1);
        for (int i = 0; i < 200; i++) {
            kernel_submit(dev, &k);
            assert_int_equal(wait_for(&k.wait), WEIR_OK);
        }
        atomic_store(&flag, 0);
        kernel_submit(dev, &k);
        letter_init(&other, 'x', 1, 0, 0);
        kernel_submit(dev, &other);
        assert_int_equal(wait_for(&other.wait), WEIR_OK);
        assert_int_equal(atomic_load(&k.wait.over), 0);
        atomic_store(&flag, 1);
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
        atomic_store(&order_count, 0);
    }
    weir_device_destroy(dev);
}

/* One worker finds both kernels at once and takes the first, believed to be short: the second must
 * not wait for it to end. */
static void kernel_found_beside_one_that_becomes_long_runs(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t flag = 1;
    struct kernel k, other;
    struct weir_kernel_code code, other_code;

    (void)state;
    kernel_init(&k, moody_block, 1, &flag);
    code = k.code;
    k.k.code = &code;
    letter_init(&other, 'x', 1, 0, 0);
    other_code = other.code;
    other.k.code = &other_code;
    for (int round = 0; round < 20; round++) {
        atomic_store(&flag, 1);
        atomic_store(&order_count, 0);
        for (int i = 0; i < 20; i++) {
            kernel_submit(dev, &k);
            assert_int_equal(wait_for(&k.wait), WEIR_OK);
            kernel_submit(dev, &other);
            assert_int_equal(wait_for(&other.wait), WEIR_OK);
        }
        usleep(2000); /* both workers fall asleep */
        atomic_store(&flag, 0);
        kernel_submit_quietly(dev, &k);
        kernel_submit(dev, &other);
        assert_int_equal(wait_for(&other.wait), WEIR_OK);
        assert_int_equal(atomic_load(&k.wait.over), 0);
        atomic_store(&flag, 1);
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
    }
    weir_device_destroy(dev);
}

/* A helper empties the inbox and runs one kernel. What else came out must not be left to workers
 * that all sleep. */
static void kernel_found_by_a_helper_beside_its_own_runs(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t release = 0;
    struct kernel own, other;

    (void)state;
    for (int round = 0; round < 20; round++) {
        letter_init(&own, 'o', 1, 0, 0);
        letter_init(&other, 'x', 1, 0, 0);
        hold(dev, &own, &release); /* the workers have started */
        atomic_store(&release, 1);
        assert_int_equal(wait_for(&own.wait), WEIR_OK);
        atomic_store(&release, 0);
        usleep(2000); /* both fall asleep */
        letter_init(&own, 'o', 1, 0, 0);
        atomic_store(&order_count, 0);
        kernel_submit_quietly(dev, &other);
        kernel_submit_quietly(dev, &own);
        /* On a slow machine a worker that was still up has taken both. */
        (void)weir_device_help(dev, &own.k.work, NULL);
        assert_int_equal(wait_for(&own.wait), WEIR_OK);
        assert_int_equal(wait_for(&other.wait), WEIR_OK);
    }
    weir_device_destroy(dev);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void idle_device_uses_no_cpu(void **state)
{
    struct weir_device *dev = device_make(4, true);
    char a[64] = {0}, b[64];
    uint64_t before;

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct kernel k;

        letter_init(&k, 'x', 50, 0, 1000);
        atomic_store(&order_count, 0);
        kernel_submit(dev, &k);
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
        copy_and_wait(dev, WEIR_ENGINE_H2D, b, a, sizeof a);
        copy_and_wait(dev, WEIR_ENGINE_D2H, b, a, sizeof a);
    }
    /* On a busy machine it takes a while until all have found nothing and sleep. */
    for (uint64_t start = weir_clock_ns(), used = UINT64_MAX; used >= 5000000;) {
        assert_true(weir_clock_ns() - start < WAIT_LIMIT_NS);
        before = cpu_ns();
        usleep(200000);
        used = cpu_ns() - before;
    }
    weir_device_destroy(dev);
}

static void failing_heap_is_an_error_of_the_kernel(void **state)
{
    (void)state;
    for (long n = 1; n < 6; n++) {
        struct weir_device *dev = device_make(2, true);
        struct kernel k[20];
        int good = 0;

        weir_alloc_fail_after(n);
        for (int i = 0; i < 20; i++) {
            letter_init(&k[i], 'x', 10, 0, 0);
            atomic_store(&order_count, 0);
            kernel_submit(dev, &k[i]);
        }
        for (int i = 0; i < 20; i++) {
            enum weir_err err = wait_for(&k[i].wait);

            assert_true(err == WEIR_OK || err == WEIR_ERR_MEMORY_ALLOCATION);
            good += err == WEIR_OK;
        }
        weir_alloc_fail_after(0);
        assert_true(n > 1 || good == 0);
        letter_init(&k[0], 'x', 10, 0, 0);
        kernel_submit(dev, &k[0]);
        assert_int_equal(wait_for(&k[0].wait), WEIR_OK);
        weir_device_destroy(dev);
    }
}

/* ---- a kernel behind one that has ended ---- */

struct next {
    struct kernel first, next, urgent;
    struct weir_kernel_code first_code, next_code; /* longer than the kernels: the engine learns */
    struct weir_device *dev;
    bool urgent_before, taken, look;
    uint64_t *clock;
    enum weir_err status;
    _Atomic uint32_t over;
    void *threads[2]; /* that ran first and next */
};

static uint32_t thread_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;

    *(void **)args[1] = b->engine;
    return args[0] ? WEIR_BLOCK_FAILED : WEIR_BLOCK_DONE;
}

static void next_done(struct weir_work *work, enum weir_err status)
{
    struct next *n = work->owner;

    assert_int_equal(status, WEIR_OK);
    if (n->urgent_before)
        kernel_submit(n->dev, &n->urgent);
    n->taken = weir_device_run_next(n->dev, &n->next.k, n->clock, n->look, &n->status);
    atomic_store(&n->over, 1);
    weir_futex_wake(&n->over, 1);
}

static void next_init(struct next *n, struct weir_device *dev)
{
    memset(n, 0, sizeof *n);
    n->dev = dev;
    kernel_init(&n->first, thread_block, 1, NULL);
    kernel_init(&n->next, thread_block, 3, NULL);
    letter_init(&n->urgent, 'u', 1, -1, 0);
    n->first_code = n->first.code;
    n->next_code = n->next.code;
    n->first.k.code = &n->first_code;
    n->next.k.code = &n->next_code;
    n->first.k.work.done = next_done;
    n->first.k.work.owner = n;
    n->first.args[1] = &n->threads[0];
    n->next.args[1] = &n->threads[1];
}

/* As if the engine had seen that `next` is short. (How long it takes here depends on the machine.)
 */
static void learn_next(struct next *n)
{
    weir_compute_learn(&n->dev->compute, &n->next.k, 100, 1);
}

static bool next_run(struct next *n)
{
    uint64_t start = weir_clock_ns();

    atomic_store(&n->over, 0);
    atomic_store(&n->next.wait.calls, 0);
    n->threads[0] = n->threads[1] = NULL;
    weir_device_submit(n->dev, &n->first.k.work);
    while (!atomic_load(&n->over)) {
        weir_futex_wait(&n->over, 0, 1000000000u);
        assert_true(weir_clock_ns() - start < WAIT_LIMIT_NS);
    }
    return n->taken;
}

static void short_kernel_runs_on_the_thread_that_ended_the_one_before(void **state)
{
    struct weir_device *dev = device_make(2, true);
    struct next n;

    (void)state;
    next_init(&n, dev);
    assert_false(next_run(&n)); /* how long it takes is not known */
    learn_next(&n);
    assert_true(next_run(&n));
    assert_int_equal(n.status, WEIR_OK);
    assert_non_null(n.threads[0]);
    assert_ptr_equal(n.threads[0], n.threads[1]);
    assert_int_equal(atomic_load(&n.next.wait.calls), 0);
    n.next.args[0] = &n; /* fails */
    assert_true(next_run(&n));
    assert_int_equal(n.status, WEIR_ERR_LAUNCH_FAILURE);
    weir_device_destroy(dev);
}

static void very_short_kernel_is_looked_at_when_that_is_asked(void **state)
{
    struct weir_device *dev = device_make(1, true);
    const uint64_t begin = weir_clock_ns();
    uint64_t ended = begin;
    struct next n;

    (void)state;
    next_init(&n, dev);
    weir_compute_learn(&dev->compute, &n.next.k, 10, 1);
    n.clock = &ended;
    assert_true(next_run(&n));
    assert_int_equal(n.next.k.work.start_ns, begin); /* when the one before it ended */
    assert_int_equal(n.next.k.work.end_ns, 0);
    assert_int_equal(ended, begin);
    n.look = true;
    assert_true(next_run(&n));
    assert_true(n.next.k.work.end_ns > begin);
    assert_int_equal(ended, n.next.k.work.end_ns);
    /* One that is not as short is, too. */
    n.look = false;
    n.next.k.work.end_ns = 0;
    n.next.k.launch.grid[0] = 300;
    assert_true(next_run(&n));
    assert_true(n.next.k.work.end_ns > begin);
    weir_device_destroy(dev);
}

static void short_kernel_lets_a_higher_priority_pass(void **state)
{
    struct weir_device *dev = device_make(1, true);
    struct next n;

    (void)state;
    next_init(&n, dev);
    learn_next(&n);
    n.urgent_before = true;
    for (int priority = 0; priority >= -1; priority--) { /* one that is as urgent need not */
        n.next.k.work.priority = (int8_t)priority;
        atomic_store(&order_count, 0);
        assert_int_equal(next_run(&n), priority == -1);
        assert_int_equal(wait_for(&n.urgent.wait), WEIR_OK);
    }
    weir_device_destroy(dev);
}

static void nothing_runs_in_place_that_may_take_long(void **state)
{
    struct weir_device *dev = device_make(1, true);
    struct next n;

    (void)state;
    next_init(&n, dev);
    learn_next(&n);
    assert_false(
        weir_device_run_next(dev, &n.next.k, NULL, true, &n.status)); /* nothing has ended */
    n.next_code.may_park = true;
    assert_false(next_run(&n));
    n.next_code.may_park = false;
    n.next_code.cooperative = true;
    assert_false(next_run(&n));
    n.next_code.cooperative = false;
    n.next.k.launch.grid[0] = 1u << 30;
    assert_false(next_run(&n));
    weir_device_destroy(dev);
}

/* What the submitter is about to submit; the memory is full of what was there before. */
static _Atomic(struct weir_work *) announced;
static _Atomic bool announcer_over;

static void *help_announced(void *arg)
{
    while (!atomic_load(&announcer_over)) {
        struct weir_work *work = atomic_load(&announced);

        if (work)
            weir_device_help(arg, work, NULL);
    }
    return NULL;
}

static void help_may_come_before_submit(void **state)
{
    enum { N = 3000 };
    struct weir_device *dev = device_make(1, true);
    struct kernel *k = malloc(N * sizeof *k);
    struct weir_copy_work *c = malloc(N * sizeof *c);
    struct waitable *wait = calloc(N, sizeof *wait);
    char from = 1, to = 0;
    pthread_t helper;

    (void)state;
    atomic_store(&announced, NULL);
    atomic_store(&announcer_over, false);
    assert_int_equal(pthread_create(&helper, NULL, help_announced, dev), 0);
    atomic_store(&order_count, 0);
    for (int i = 0; i < N; i++) {
        letter_init(&k[i], 'x', 3, 0, 0);
        memset(&k[i].k.work.link, 0xa5, sizeof k[i].k.work.link);
        k[i].k.run = &k[i];
        atomic_store(&announced, &k[i].k.work);
        kernel_submit(dev, &k[i]);
        assert_int_equal(wait_for(&k[i].wait), WEIR_OK);
        c[i] = (struct weir_copy_work){
            .work = {.engine = WEIR_ENGINE_H2D, .done = work_done, .owner = &wait[i]},
            .src = &from,
            .dst = &to,
            .width = 1,
            .height = 1,
            .depth = 1,
        };
        memset(&c[i].work.link, 0xa5, sizeof c[i].work.link);
        atomic_store(&announced, &c[i].work);
        weir_device_submit(dev, &c[i].work);
        assert_int_equal(wait_for(&wait[i]), WEIR_OK);
    }
    atomic_store(&announcer_over, true);
    pthread_join(helper, NULL);
    assert_int_equal(atomic_load(&order_count), 3 * N);
    weir_device_destroy(dev);
    free(wait);
    free(c);
    free(k);
}

#if defined(WEIR_CHECKS)

/* A worker on its way to sleep, and a helper that has just emptied the inbox: neither sees what the
 * other has done. */
static _Atomic bool stand, tired, taken, looked;

static void wait_until(const _Atomic bool *flag)
{
    for (uint64_t start = weir_clock_ns();
         !atomic_load(flag) && weir_clock_ns() - start < WAIT_LIMIT_NS / 4;)
        usleep(100);
}

static void meet(enum weir_race_place place)
{
    if (!atomic_load(&stand))
        return;
    if (place == WEIR_RACE_WORKER_TIRED && !atomic_exchange(&tired, true)) {
        wait_until(&taken);
    } else if (place == WEIR_RACE_INBOX_TAKEN && atomic_load(&tired) &&
               !atomic_exchange(&taken, true)) {
        wait_until(&looked);
    } else if (place == WEIR_RACE_WORKER_LOOKED) {
        atomic_store(&looked, true);
    }
}

static void work_that_a_helper_found_with_its_own_is_not_lost(void **state)
{
    struct weir_device *dev = device_make(1, true);
    struct kernel first, own, other;

    (void)state;
    atomic_store(&order_count, 0);
    letter_init(&first, 'f', 1, 0, 0);
    letter_init(&own, 'o', 1, 0, 0);
    letter_init(&other, 'x', 1, 0, 0);
    weir_race_watch(meet);
    atomic_store(&stand, true);
    kernel_submit(dev, &first);
    assert_int_equal(wait_for(&first.wait), WEIR_OK);
    wait_until(&tired);
    assert_true(atomic_load(&tired));
    kernel_submit(dev, &own);
    kernel_submit(dev, &other);
    assert_true(weir_device_help(dev, &own.k.work, NULL));
    assert_int_equal(wait_for(&own.wait), WEIR_OK);
    assert_int_equal(wait_for(&other.wait), WEIR_OK);
    assert_true(atomic_load(&looked));
    atomic_store(&stand, false);
    weir_race_watch(NULL);
    weir_device_destroy(dev);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(WEIR_CHECKS)
        cmocka_unit_test(work_that_a_helper_found_with_its_own_is_not_lost),
#endif
        cmocka_unit_test(highest_priority_goes_first_and_equal_ones_in_order),
        cmocka_unit_test(running_kernel_makes_room_for_a_higher_priority),
        cmocka_unit_test(helper_does_not_help_while_a_higher_priority_waits),
        cmocka_unit_test(small_kernels_interleave_and_large_ones_do_not),
        cmocka_unit_test(kernels_of_several_streams_are_in_flight_together),
        cmocka_unit_test(host_functions_run_one_by_one_in_order),
        cmocka_unit_test(statistics_know_what_overlapped),
        cmocka_unit_test(kernel_that_was_short_may_become_long),
        cmocka_unit_test(kernel_found_beside_one_that_becomes_long_runs),
        cmocka_unit_test(kernel_found_by_a_helper_beside_its_own_runs),
        cmocka_unit_test(idle_device_uses_no_cpu),
        cmocka_unit_test(failing_heap_is_an_error_of_the_kernel),
        cmocka_unit_test(short_kernel_runs_on_the_thread_that_ended_the_one_before),
        cmocka_unit_test(very_short_kernel_is_looked_at_when_that_is_asked),
        cmocka_unit_test(short_kernel_lets_a_higher_priority_pass),
        cmocka_unit_test(nothing_runs_in_place_that_may_take_long),
        cmocka_unit_test(help_may_come_before_submit),
        cmocka_unit_test(forked_child_gets_an_error_and_does_not_hang),
    };

    return cmocka_run_group_tests(tests, memory_start, memory_end);
}
