// How a process may end, with a race and without: ends FORM race|clean. What was found must be told, and be the exit status,
// however it ends (ends.sh).
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ok.h"

enum { N = 1024 };

__global__ void fill(int *to, int value)
{
    to[threadIdx.x] = value;
}

/* Two streams write the same buffer; clean: another one each. */
static void work(bool race)
{
    cudaStream_t s1, s2;
    int *a;

    OK(cudaMalloc(&a, 2 * N * sizeof *a));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    fill<<<1, N, 0, s1>>>(a, 1);
    fill<<<1, N, 0, s2>>>(race ? a : a + N, 2);
    OK(cudaGetLastError());
}

static void end_now(int)
{
    _exit(3);
}

static void *kill_soon(void *)
{
    usleep(50000);
    kill(getpid(), SIGTERM);
    return NULL;
}

/* The signal comes while the thread is in a call, mostly. */
static void busy(void)
{
    pthread_t thread;
    cudaStream_t s;
    int *a;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&a, N * sizeof *a));
    pthread_create(&thread, NULL, kill_soon, NULL);
    for (;;)
        OK(cudaMemsetAsync(a, 0, N, s));
}

static void child_ends(const char *form, bool race)
{
    int status;
    pid_t child;

    if (!strcmp(form, "child-after"))
        work(race);
    child = fork();
    if (child == 0) {
        if (!strcmp(form, "child-after"))
            _exit(5);
        work(race);
        if (!strcmp(form, "child-killed"))
            raise(SIGTERM);
        if (!strcmp(form, "child-becomes"))
            execlp("true", "true", (char *)NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!strcmp(form, "child-after") && (!WIFEXITED(status) || WEXITSTATUS(status) != 5))
        exit(41);
}

int main(int argc, char **argv)
{
    const char *form = argc > 1 ? argv[1] : "";
    bool race = argc > 2 && !strcmp(argv[2], "race");

    if (!strncmp(form, "child", 5)) {
        child_ends(form, race);
        return 0;
    }
    work(race);
    if (!strcmp(form, "vfork")) {
        pid_t child = vfork();

        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    } else if (!strcmp(form, "_exit")) {
        _exit(4);
    } else if (!strcmp(form, "_Exit")) {
        _Exit(4);
    } else if (!strcmp(form, "quick_exit")) {
        quick_exit(4);
    } else if (!strcmp(form, "abort")) {
        abort();
    } else if (!strcmp(form, "fault")) {
        *(volatile int *)8 = 1;
    } else if (!strcmp(form, "handler")) {
        signal(SIGTERM, end_now);
        raise(SIGTERM);
    } else if (!strcmp(form, "interrupt")) {
        raise(SIGINT);
    } else if (!strcmp(form, "kill")) {
        usleep(2000000); /* for the draft */
        raise(SIGKILL);
    } else if (!strcmp(form, "ignored")) {
        signal(SIGTERM, SIG_IGN);
        raise(SIGTERM);
        if (signal(SIGTERM, SIG_DFL) != SIG_IGN || signal(SIGTERM, SIG_DFL) != SIG_DFL)
            return 42;
        return 4;
    } else if (!strcmp(form, "busy")) {
        busy();
    } else if (!strcmp(form, "waits")) {
        puts("waits");
        fflush(stdout);
        pause();
    } else if (!strcmp(form, "execl")) {
        execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
    } else if (!strcmp(form, "execle")) {
        char *none[] = {NULL};

        execle("/bin/sh", "sh", "-c", "exit 4", (char *)NULL, none);
    } else if (!strcmp(form, "execvp")) {
        char *args[] = {(char *)"sh", (char *)"-c", (char *)"exit 4", NULL};

        execvp("no-such-program", args);
        execvp("sh", args);
    }
    return 4;
}
