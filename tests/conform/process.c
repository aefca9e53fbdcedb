/* Beginning and end of a process: work left at exit is done, calls in exit handlers still work, a
 * fork before the first call works in the child, after it gives the documented error (oracle
 * lazy_init). argv[1]: which.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "conform.h"

static void say(void *arg)
{
    sleep_ms(20);
    printf("%s\n", (const char *)arg);
    fflush(stdout);
}

/* Never returns: what a program may leave behind. */
static void hang(void *arg)
{
    (void)arg;
    for (;;)
        sleep_ms(1000);
}

static void at_exit(void)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 1)
        _exit(9);
}

static int child_of(int (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        exit(body());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int child_works(void)
{
    void *p;

    OK(cudaMalloc(&p, 4096));
    OK(cudaMemset(p, 1, 4096));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(p));
    return conform_failures;
}

static int child_refused(void)
{
    void *p;
    int n;

    OK(cudaGetDeviceCount(&n));
    EXPECT(cudaMalloc(&p, 4096), cudaErrorInitializationError);
    EXPECT(cudaDeviceSynchronize(), cudaErrorInitializationError);
    return conform_failures;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "fork";
    cudaStream_t s;
    int n = -1;

    if (strcmp(what, "none") == 0) { /* P70: a machine without a device */
        EXPECT(cudaGetDeviceCount(&n), cudaErrorNoDevice);
        EXPECT(cudaSetDevice(0), cudaErrorNoDevice);
        EXPECT(cudaDeviceSynchronize(), cudaErrorNoDevice);
        OK(cudaRuntimeGetVersion(&n));
        return CONFORM_END();
    }
    if (strcmp(what, "exit") == 0) {
        atexit(at_exit);
        OK(cudaStreamCreate(&s));
        OK(cudaLaunchHostFunc(s, say, "one"));
        OK(cudaLaunchHostFunc(s, say, "two"));
        return CONFORM_END();
    }
    if (strcmp(what, "stuck") == 0) { /* the exit status passes, after a few seconds */
        OK(cudaStreamCreate(&s));
        OK(cudaLaunchHostFunc(s, hang, NULL));
        exit(conform_failures ? 1 : 3);
    }
    CHECK(child_of(child_works) == 0); /* forked before any call */
    OK(cudaDeviceSynchronize());
    CHECK(child_of(child_refused) == 0);
    OK(cudaDeviceSynchronize());
    return CONFORM_END();
}
