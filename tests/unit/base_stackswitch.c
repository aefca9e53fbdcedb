/* Tests of base: calling on another stack, leaving it, and leaving it from a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>

#include "base/sanitize.h"
#include "base/stackswitch.h"

static struct weir_stack stack;

struct seen {
    char *local;
    int value;
};

static void note(void *arg)
{
    struct seen *s = arg;
    char local = 1;

    s->local = &local;
    s->value++;
}

static int start(void **state)
{
    (void)state;
    return weir_stack_create(&stack, 256 << 10) == WEIR_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    weir_stack_destroy(&stack);
    return 0;
}

static void runs_on_the_other_stack(void **state)
{
    struct seen s = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(weir_stack_call(&stack, note, &s), 0);
    assert_int_equal(s.value, 1000);
#if !defined(WEIR_BUILT_ASAN) /* it moves locals to a fake stack */
    assert_true(s.local >= stack.low && s.local < stack.low + stack.bytes);
#endif
}

WEIR_NOINLINE static void leave_deep(int depth)
{
    volatile char fill[100];

    memset((char *)fill, depth, sizeof fill);
    if (depth > 0)
        leave_deep(depth - 1);
    if (fill[1] == 0) /* the deepest */
        weir_stack_leave(&stack, 77);
    fill[0] = fill[1];
}

static void leave(void *arg)
{
    weir_fp_control_set(0x9fc0);
    leave_deep(*(int *)arg);
}

static void leaving_drops_the_frames_and_keeps_the_float_control(void **state)
{
    uint32_t control = weir_fp_control_get();

    (void)state;
    for (int depth = 0; depth < 200; depth++) {
        assert_int_equal(weir_stack_call(&stack, leave, &depth), 77);
        assert_int_equal(weir_fp_control_get(), control);
    }
    assert_int_equal(weir_stack_call(&stack, note, &(struct seen){0}), 0);
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    weir_stack_leave_context(&stack, context,
                             weir_stack_is_guard(&stack, (uintptr_t)info->si_addr) ? 2 : 1);
}

static void touch(void *arg)
{
    **(volatile int **)arg = 1;
}

static int recurse(volatile char *above, int depth)
{
    volatile char fill[4096];

    fill[0] = above ? above[0] : 0;
    return depth == 0 ? fill[0] : recurse(fill, depth - 1) + fill[0];
}

static void overflow(void *arg)
{
    *(int *)arg = recurse(NULL, 1 << 20);
}

static void faults_leave_too(void **state)
{
    static char signal_stack[65536];
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    stack_t old_stack, alternate = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    int *nowhere = (int *)16, result;

    (void)state;
    sigaltstack(&alternate, &old_stack);
    sigaction(SIGSEGV, &action, &old);
    for (int i = 0; i < 100; i++)
        assert_int_equal(weir_stack_call(&stack, touch, &nowhere), 1);
    assert_int_equal(weir_stack_call(&stack, overflow, &result), 2);
    assert_int_equal(weir_stack_call(&stack, touch, &nowhere), 1);
    sigaction(SIGSEGV, &old, NULL);
    sigaltstack(&old_stack, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_on_the_other_stack, start, end),
        cmocka_unit_test_setup_teardown(leaving_drops_the_frames_and_keeps_the_float_control, start,
                                        end),
        cmocka_unit_test_setup_teardown(faults_leave_too, start, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
