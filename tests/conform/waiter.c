/* A kernel becomes ready when no worker is awake and the host sleeps, in a call that waits for it:
 * that thread is woken and runs it, and no worker is. Where host threads do not help (WEIR_HELP=0),
 * a worker does. Usage: waiter WORKERS, how many of them there are in the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define ASLEEP 20 /* looks, a millisecond apart, that find the host asleep */

static _Atomic int waits; /* all that the host still does is wait */

static char state_of(pid_t thread)
{
    char path[64], line[256], *name_end;
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    f = fopen(path, "r");
    if (!f)
        return '?';
    name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return name_end ? name_end[2] : '?';
}

static void until_the_host_sleeps(void *arg)
{
    (void)arg;
    for (int asleep = 0; asleep < ASLEEP;) {
        usleep(1000);
        asleep = atomic_load(&waits) && state_of(getpid()) == 'S' ? asleep + 1 : 0;
    }
}

static int count_workers(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    CHECK(tasks != NULL);
    while (tasks && (e = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        f = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (!f)
            continue;
        n += fgets(name, sizeof name, f) && strncmp(name, "weir-w0.", 8) == 0;
        fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 0;
    volatile unsigned *word;
    void *p;
    unsigned value = 0;
    void *args[] = {&p, &value};
    cudaKernel_t store;
    cudaLibrary_t lib;
    cudaEvent_t e;
    cudaStream_t s;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    OK(cudaMallocHost(&p, 64));
    word = p;
    OK(cudaEventCreateWithFlags(&e, cudaEventBlockingSync | cudaEventDisableTiming));
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(count_workers() == 0);
    for (value = 1; value <= 3; value++) {
        atomic_store(&waits, 0);
        OK(cudaLaunchHostFunc(s, until_the_host_sleeps, NULL));
        OK(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, s));
        OK(cudaEventRecord(e, s));
        atomic_store(&waits, 1);
        if (value == 1)
            OK(cudaStreamSynchronize(s));
        else if (value == 2)
            OK(cudaEventSynchronize(e));
        else
            OK(cudaDeviceSynchronize());
        CHECK(*word == value);
    }
    CHECK(count_workers() == workers);
    return CONFORM_END();
}
