// An event that another process records: foreign stream|host. What one stream of this process writes another stream (or the
// program) reads, in an order that goes by way of the other process: right, and nothing here knows of it.
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ok.h"

enum { N = 1024 };

__global__ void add(int *to, const int *from)
{
    to[threadIdx.x] = from[threadIdx.x] + 1;
}

static void send(int fd, const cudaIpcEventHandle_t *handle)
{
    if (write(fd, handle, sizeof *handle) != (ssize_t)sizeof *handle)
        exit(41);
}

static cudaEvent_t receive(int fd)
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t e;

    if (read(fd, &handle, sizeof handle) != (ssize_t)sizeof handle)
        exit(42);
    OK(cudaIpcOpenEventHandle(&e, handle));
    return e;
}

static void record_and_send(cudaStream_t s, int fd)
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t e;

    OK(cudaEventCreateWithFlags(&e, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaEventRecord(e, s));
    OK(cudaIpcGetEventHandle(&handle, e));
    send(fd, &handle);
}

/* Goes on behind what it is told of. */
static void other(int in, int out)
{
    cudaStream_t s;
    char end;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    OK(cudaStreamWaitEvent(s, receive(in), 0));
    record_and_send(s, out);
    OK(cudaStreamSynchronize(s));
    if (read(in, &end, 1) != 0) /* its event lives until then */
        exit(43);
}

int main(int argc, char **argv)
{
    bool host = argc > 1 && !strcmp(argv[1], "host");
    int there[2], back[2], *a, *b;
    cudaStream_t s1, s2;
    cudaEvent_t answer;
    pid_t child;

    if (pipe(there) != 0 || pipe(back) != 0)
        return 44;
    child = fork();
    if (child == 0) {
        close(there[1]);
        other(there[0], back[1]);
        return 0;
    }
    OK(cudaMallocHost(&a, N * sizeof *a));
    OK(cudaMalloc(&b, N * sizeof *b));
    memset(a, 0, N * sizeof *a);
    OK(cudaMemset(b, 0, N * sizeof *b));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    add<<<1, N, 0, s1>>>(a, b);
    record_and_send(s1, there[1]);
    answer = receive(back[0]);
    if (host) {
        OK(cudaEventSynchronize(answer));
        if (a[5] != 1)
            return 45;
    } else {
        OK(cudaStreamWaitEvent(s2, answer, 0));
        add<<<1, N, 0, s2>>>(b, a);
    }
    OK(cudaDeviceSynchronize());
    close(there[1]);
    waitpid(child, NULL, 0);
    printf("done\n");
    return 0;
}
