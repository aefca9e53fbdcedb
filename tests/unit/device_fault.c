/* Tests of device: blocks that fault or fail, on workers and on helping host threads;
 * floating-point control.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_support.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/sanitize.h"
#include "base/stackswitch.h"

enum how { HOW_READ, HOW_DIVIDE, HOW_ILLEGAL, HOW_OVERFLOW, HOW_FAIL, HOW_RETURN, HOW_COUNT };

static const enum weir_err how_error[HOW_COUNT] = {
    WEIR_ERR_ILLEGAL_ADDRESS, WEIR_ERR_LAUNCH_FAILURE, WEIR_ERR_ILLEGAL_INSTRUCTION,
    WEIR_ERR_LAUNCH_FAILURE,  WEIR_ERR_ASSERT,         WEIR_ERR_MISALIGNED_ADDRESS,
};

static char *closed_page;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    if (weir_device_handle_fault(signo, info, context))
        return;
    signal(signo, SIG_DFL); /* a bug in the test: die by it */
}

WEIR_NOINLINE static int recurse(volatile char *above, int depth)
{
    volatile char frame[2000];

    frame[0] = above ? above[0] : 0;
    return depth == 0 ? frame[0] : recurse(frame, depth - 1) + frame[0];
}

static uint32_t misbehave(struct weir_block *b, enum how how)
{
    switch (how) {
    case HOW_READ:
        return *(volatile uint32_t *)(closed_page + 64);
    case HOW_DIVIDE:
        __asm__ volatile("xorl %%edx, %%edx; movl $1, %%eax; xorl %%ecx, %%ecx; divl %%ecx" ::
                             : "eax", "ecx", "edx", "cc");
        break;
    case HOW_ILLEGAL:
        __asm__ volatile("ud2");
        break;
    case HOW_OVERFLOW:
        return (uint32_t)recurse(NULL, 1 << 20);
    case HOW_FAIL:
        weir_device_block_fail(b, WEIR_ERR_ASSERT, 42);
    default:
        break;
    }
    b->error = WEIR_ERR_MISALIGNED_ADDRESS;
    return WEIR_BLOCK_FAILED;
}

/* args[0]: counter of blocks that ran; args[1]: the block that misbehaves; args[2]: how */
static uint32_t bad_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;
    char pinned[32]; /* something for ASan to poison */

    memset(pinned, 1, sizeof pinned);
    atomic_fetch_add((_Atomic uint32_t *)args[0], (uint32_t)pinned[b->ctaid[0] % 32]);
    if (b->ctaid[0] == (uint32_t)(uintptr_t)args[1])
        return misbehave(b, (enum how)(uintptr_t)args[2]);
    busy_wait_ns(1000);
    return WEIR_BLOCK_DONE;
}

/* In each test: cmocka sets its own handlers before it. */
static void handlers_install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(signals); i++)
        assert_int_equal(sigaction(signals[i], &action, NULL), 0);
}

static int start(void **state)
{
    closed_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory_start(state);
}

static void bad_init(struct kernel *k, uint32_t blocks, _Atomic uint32_t *ran, uint32_t which,
                     enum how how)
{
    kernel_init(k, bad_block, blocks, ran);
    k->args[1] = (void *)(uintptr_t)which;
    k->args[2] = (void *)(uintptr_t)how;
    atomic_store(ran, 0);
}

static void check_failed(struct kernel *k, enum how how)
{
    assert_int_equal(wait_for(&k->wait), how_error[how]);
    assert_int_equal(k->k.error_block[0], (uintptr_t)k->args[1]);
    if (how == HOW_READ)
        assert_int_equal(k->k.error_address, (uintptr_t)closed_page + 64);
    assert_int_equal(k->k.error_line, how == HOW_FAIL ? 42 : 0);
}

static void failing_block_ends_the_kernel_and_nothing_else(void **state)
{
    struct weir_device *dev = device_make(2, true);
    _Atomic uint32_t ran, ran_good;
    struct kernel bad, good;

    (void)state;
    handlers_install();
    for (int round = 0; round < 3; round++) {
        for (enum how how = 0; how < HOW_COUNT; how++) {
            bad_init(&bad, 1000000, &ran, 100, how);
            bad_init(&good, 50, &ran_good, UINT32_MAX, how);
            kernel_submit(dev, &bad);
            kernel_submit(dev, &good);
            check_failed(&bad, how);
            assert_in_range(atomic_load(&ran), 1, 500000); /* it stopped long before its end */
            assert_int_equal(wait_for(&good.wait), WEIR_OK);
            assert_int_equal(atomic_load(&ran_good), 50);
        }
    }
    weir_device_destroy(dev);
}

static void block_may_fail_on_the_helping_thread(void **state)
{
    struct weir_device *dev = device_make(1, true);
    _Atomic uint32_t ran;
    struct kernel k;

    (void)state;
    handlers_install();
    for (enum how how = 0; how < HOW_COUNT; how++) {
        for (int i = 0; i < 20; i++) {
            bad_init(&k, 3, &ran, 1, how);
            kernel_submit(dev, &k);
            errno = 77;
            weir_device_help(dev, &k.k.work, NULL);
            assert_int_equal(errno, 77);
            check_failed(&k, how);
        }
    }
    weir_device_destroy(dev);
}

static uint32_t spin_or_fail_block(struct weir_block *b)
{
    void **args = kernel_of(b)->args;

    b->resume = 1;
    if (b->ctaid[0] == 99 && atomic_fetch_add((_Atomic uint32_t *)args[0], 1) == 20)
        return misbehave(b, HOW_READ);
    return WEIR_BLOCK_PARKED;
}

static void failure_drops_parked_blocks(void **state)
{
    (void)state;
    handlers_install();
    for (int workers = 1; workers <= 3; workers++) {
        struct weir_device *dev = device_make(workers, true);
        _Atomic uint32_t polls = 0;
        struct kernel k;

        kernel_init(&k, spin_or_fail_block, 100, &polls);
        k.code.may_park = true;
        kernel_submit(dev, &k);
        assert_int_equal(wait_for(&k.wait), WEIR_ERR_ILLEGAL_ADDRESS);
        assert_int_equal(k.k.error_block[0], 99);
        weir_device_destroy(dev);
    }
}

static uint32_t all_fail_block(struct weir_block *b)
{
    return misbehave(b, (enum how)(b->ctaid[0] % HOW_COUNT));
}

static void several_blocks_may_fail_at_once(void **state)
{
    struct weir_device *dev = device_make(3, true);

    (void)state;
    handlers_install();
    for (int i = 0; i < 200; i++) {
        struct kernel k;

        kernel_init(&k, all_fail_block, 1000, NULL);
        kernel_submit(dev, &k);
        weir_device_help(dev, &k.k.work, NULL);
        assert_int_not_equal(wait_for(&k.wait), WEIR_OK);
    }
    weir_device_destroy(dev);
}

static uint32_t float_block(struct weir_block *b)
{
    *(uint32_t *)kernel_of(b)->args[0] = weir_fp_control_get();
    weir_fp_control_set(0x7f80);
    return WEIR_BLOCK_DONE;
}

static void float_control_is_the_blocks_own(void **state)
{
    struct weir_device *dev = device_make(1, true);
    uint32_t seen = 0, host = 0x3f80; /* the host rounds down */
    uint32_t before = weir_fp_control_get();

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct kernel k;

        kernel_init(&k, float_block, 1, &seen);
        k.code.mxcsr = i % 2 ? 0x9fc0 : 0;
        weir_fp_control_set(host);
        kernel_submit(dev, &k);
        weir_device_help(dev, &k.k.work, NULL);
        assert_int_equal(weir_fp_control_get() & ~0x3fu, host & ~0x3fu);
        weir_fp_control_set(before);
        assert_int_equal(wait_for(&k.wait), WEIR_OK);
        assert_int_equal(seen, i % 2 ? 0x9fc0 : 0x1f80);
    }
    weir_device_destroy(dev);
}

static void bad_copy_is_an_error(void **state)
{
    struct weir_device *dev = device_make(1, true);
    char to[100];

    (void)state;
    handlers_install();
    for (int i = 0; i < 10; i++) {
        struct waitable wait = {0};
        struct weir_copy_work c = {
            .work = {.engine = WEIR_ENGINE_H2D, .done = work_done, .owner = &wait},
            .src = closed_page,
            .dst = to,
            .width = sizeof to,
            .height = 1,
            .depth = 1,
        };

        weir_device_submit(dev, &c.work);
        if (i % 2)
            weir_device_help(dev, &c.work, NULL);
        assert_int_equal(wait_for(&wait), WEIR_ERR_INVALID_VALUE);
    }
    weir_device_destroy(dev);
}

static void faults_elsewhere_are_not_ours(void **state)
{
    siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};

    (void)state;
    assert_false(weir_device_handle_fault(SIGSEGV, &info, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_block_ends_the_kernel_and_nothing_else),
        cmocka_unit_test(block_may_fail_on_the_helping_thread),
        cmocka_unit_test(failure_drops_parked_blocks),
        cmocka_unit_test(several_blocks_may_fail_at_once),
        cmocka_unit_test(float_control_is_the_blocks_own),
        cmocka_unit_test(bad_copy_is_an_error),
        cmocka_unit_test(faults_elsewhere_are_not_ours),
    };

    return cmocka_run_group_tests(tests, start, memory_end);
}
