/* Threads of Weir's own: whose they are, and that a fork waits for those that begin.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/thread.h"

static struct {
    _Atomic bool forking, prepared, own;
    _Atomic uint32_t release;
} shared;

static void *slow(void *arg)
{
    (void)arg;
    atomic_store(&shared.own, weir_thread_is_own());
    while (!atomic_load(&shared.forking))
        usleep(1000);
    usleep(50000); /* the fork is under way, or will find this done */
    atomic_store(&shared.prepared, true);
    weir_thread_ready();
    weir_thread_ready();
    while (!atomic_load(&shared.release))
        weir_futex_wait(&shared.release, 0, UINT64_MAX);
    return NULL;
}

static void *short_one(void *arg)
{
    usleep(50000);
    atomic_store(&shared.prepared, true);
    return arg; /* never said that it was ready */
}

/* What a child sees of `prepared`. */
static bool child_sees(void)
{
    int status = 0;
    pid_t child;

    atomic_store(&shared.forking, true);
    child = fork();
    if (child == 0)
        _exit(atomic_load(&shared.prepared) ? 23 : 24);
    assert_int_not_equal(child, -1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 23;
}

static void fork_waits_for_the_ready(void **state)
{
    pthread_t thread;

    (void)state;
    assert_false(weir_thread_is_own());
    assert_int_equal(weir_thread_start(&thread, "slow", 0, slow, NULL), WEIR_OK);
    assert_true(child_sees());
    assert_true(child_sees()); /* and does not wait for one that is ready and sleeps */
    atomic_store(&shared.release, 1);
    weir_futex_wake(&shared.release, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&shared.own));
}

static void fork_waits_for_the_end(void **state)
{
    void *result = NULL;
    pthread_t thread;

    (void)state;
    atomic_store(&shared.prepared, false);
    assert_int_equal(weir_thread_start(&thread, "short", 0, short_one, &shared), WEIR_OK);
    assert_true(child_sees());
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &shared);
}

/* A forked child's count begins anew: its own threads and forks work. */
static void fork_in_a_child(void **state)
{
    int status = 0;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        pthread_t thread;

        atomic_store(&shared.prepared, false);
        if (weir_thread_start(&thread, "short", 0, short_one, NULL) != WEIR_OK)
            _exit(1);
        _exit(child_sees() && pthread_join(thread, NULL) == 0 ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_waits_for_the_ready),
        cmocka_unit_test(fork_waits_for_the_end),
        cmocka_unit_test(fork_in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
