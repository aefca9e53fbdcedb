/* How processes end that use CUDA, each as a child: by exit from any thread, signals, fork and exec
 * with work pending, while other threads call. None hangs or crashes; each ends with the status
 * that it asked for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "told.h"

#define TEXT   4096
#define ROUNDS 12

static cudaStream_t s;

static void pause_a_little(void *arg)
{
    (void)arg;
    sleep_ms(100);
}

static void wait_forever(void)
{
    for (;;)
        sleep_ms(1000);
}

static void say(const char *text)
{
    CHECK(write(STDERR_FILENO, text, strlen(text)) == (ssize_t)strlen(text));
}

static pthread_t start(void *(*run)(void *), void *arg)
{
    pthread_t t;

    CHECK(pthread_create(&t, NULL, run, arg) == 0);
    return t;
}

static void *exits(void *arg)
{
    sleep_ms(20);
    exit((int)(intptr_t)arg);
}

static void second_thread_exits(void)
{
    OK(cudaLaunchHostFunc(s, pause_a_little, NULL));
    start(exits, (void *)5);
    cudaStreamSynchronize(s);
    wait_forever();
}

static void exit_now(void *arg)
{
    exit((int)(intptr_t)arg);
}

static void host_function_exits(void)
{
    OK(cudaLaunchHostFunc(s, exit_now, (void *)6));
    OK(cudaLaunchHostFunc(s, pause_a_little, NULL));
    cudaStreamSynchronize(s);
    wait_forever();
}

static void *kills(void *arg)
{
    sleep_ms(20);
    kill(getpid(), (int)(intptr_t)arg);
    return NULL;
}

static void interrupted(void)
{
    OK(cudaLaunchHostFunc(s, pause_a_little, NULL));
    start(kills, (void *)SIGINT);
    cudaStreamSynchronize(s);
    wait_forever();
}

static void exit_from_handler(int signo)
{
    exit(signo == SIGINT ? 7 : 1);
}

/* Not what one should do; done all the same. */
static void handler_exits(void)
{
    signal(SIGINT, exit_from_handler);
    interrupted();
}

static _Atomic int seen;

static void note_signal(int signo)
{
    atomic_store(&seen, signo);
}

static void wait_for_signal(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000 && !atomic_load(&seen); i++)
        sleep_ms(1);
}

/* A wait goes on after a signal whose handler returns. */
static void handler_returns(void)
{
    signal(SIGINT, note_signal);
    OK(cudaLaunchHostFunc(s, wait_for_signal, NULL));
    start(kills, (void *)SIGINT);
    OK(cudaStreamSynchronize(s));
    CHECK(atomic_load(&seen) == SIGINT);
    exit(conform_failures ? 1 : 8);
}

/* The child's exit handlers and destructors run, too, and wait for nothing of its parent's. */
static void forks(void)
{
    int status = 0;
    pid_t pid;

    OK(cudaLaunchHostFunc(s, pause_a_little, NULL));
    pid = fork();
    if (pid == 0)
        exit(3);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    OK(cudaStreamSynchronize(s));
    exit(conform_failures ? 1 : 9);
}

static void *synchronises(void *arg)
{
    (void)arg;
    cudaStreamSynchronize(s);
    return NULL;
}

static void becomes_another(void)
{
    OK(cudaLaunchHostFunc(s, pause_a_little, NULL));
    start(synchronises, NULL);
    sleep_ms(10);
    execl("/bin/sh", "sh", "-c", "exit 10", (char *)NULL);
}

static void *calls(void *arg)
{
    cudaStream_t own;
    void *p;

    (void)arg;
    while (cudaStreamCreate(&own) == cudaSuccess) {
        cudaMallocAsync(&p, 65536, own);
        cudaMemsetAsync(p, 1, 65536, own);
        cudaFreeAsync(p, own);
        cudaStreamSynchronize(own);
        cudaStreamDestroy(own);
    }
    wait_forever();
    return NULL;
}

static void others_call(void)
{
    for (int i = 0; i < 4; i++)
        start(calls, NULL);
    sleep_ms(5);
    exit(11);
}

/* The C library writes out its files behind all exit handlers and destructors. */
static ssize_t call_late(void *cookie, const char *text, size_t n)
{
    void *p;

    (void)cookie;
    (void)text;
    EXPECT(cudaMalloc(&p, 4), cudaErrorCudartUnloading);
    EXPECT(cudaStreamSynchronize(s), cudaErrorCudartUnloading);
    EXPECT(cudaStreamDestroy(s), cudaErrorCudartUnloading);
    CHECK(strcmp(cudaGetErrorName(cudaErrorCudartUnloading), "cudaErrorCudartUnloading") == 0);
    if (!conform_failures)
        say("unloaded");
    return (ssize_t)n;
}

static void calls_too_late(void)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = call_late});

    CHECK(f && fputs("left in the buffer", f) >= 0);
    exit(12);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
    int status, signal;
    const char *said;
    int rounds;
} scenarios[] = {
    {"second_thread_exits", second_thread_exits, 5, 0, "", 1},
    {"host_function_exits", host_function_exits, 6, 0, "ends inside a host function", 1},
    {"interrupted", interrupted, 0, SIGINT, "", 1},
    {"handler_exits", handler_exits, 7, 0, "", 1},
    {"handler_returns", handler_returns, 8, 0, "", 1},
    {"forks", forks, 9, 0, "", 1},
    {"becomes_another", becomes_another, 10, 0, "", 1},
    {"others_call", others_call, 11, 0, "", ROUNDS},
    {"calls_too_late", calls_too_late, 12, 0, "unloaded", 1},
};

static bool is_right(const struct scenario *c, int status)
{
    if (c->signal)
        return WIFSIGNALED(status) && WTERMSIG(status) == c->signal;
    return WIFEXITED(status) && WEXITSTATUS(status) == c->status;
}

static void check(const struct scenario *c)
{
    static char text[TEXT];
    int out = -1, status = 0;
    pid_t pid = told_fork(false, &out);
    bool ok;

    if (pid == 0) {
        alarm(60); /* what hangs ends by that signal */
        OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        c->run();
        exit(99);
    }
    told_read(out, text, sizeof text);
    waitpid(pid, &status, 0);
    ok = is_right(c, status) && strstr(text, c->said);
    CHECK(ok);
    if (!ok)
        fprintf(stderr, "%s: status %d, said:\n%s\n", c->name, status, text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        for (int k = 0; k < scenarios[i].rounds; k++)
            check(&scenarios[i]);
    }
    return CONFORM_END();
}
