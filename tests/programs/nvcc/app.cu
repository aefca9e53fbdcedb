/* A CUDA program as people write them, in a file: constructor, kernels, threads, children, signals. With -DLIBRARY it is a
 * library with a CUDA runtime of its own inside.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <setjmp.h>

#ifdef LIBRARY
#define NAME "library"
#else
#define NAME "program"
#endif

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t err_ = (call);                                                                 \
        if (err_ != cudaSuccess) {                                                                 \
            printf("%s: %s at line %d: %s\n", NAME, #call, __LINE__, cudaGetErrorString(err_));      \
            fflush(stdout);                                                                        \
            _exit(40);                                                                             \
        }                                                                                          \
    } while (0)

static __constant__ int factor[2] = {3, 0};
static __device__ int counter;

static __global__ void scale(int *p, int n, int add)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n) {
        p[i] = p[i] * factor[0] + add;
        if (i % 100 == 0)
            atomicAdd(&counter, 1);
    }
}

/* What needs no kernel works in a constructor: the runtime is taken over already. */
static __attribute__((constructor)) void construct(void)
{
    int in[4] = {1, 2, 3, 4}, out[4] = {0}, count = 0;
    void *p;

    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaMalloc(&p, sizeof in));
    CHECK(cudaMemcpy(p, in, sizeof in, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(out, p, sizeof in, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(p));
    printf("%s: constructor: %d device, %d %d\n", NAME, count, out[0], out[3]);
    fflush(stdout);
}

static int work(int n, int add)
{
    int *host = (int *)malloc(n * sizeof(int)), *p, bad = 0;
    cudaStream_t s;

    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc((void **)&p, n * sizeof(int)));
    CHECK(cudaMemcpyAsync(p, host, n * sizeof(int), cudaMemcpyHostToDevice, s));
    scale<<<(n + 127) / 128, 128, 0, s>>>(p, n, add);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, p, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < n; i++)
        bad += host[i] != i * 3 + add;
    CHECK(cudaFree(p));
    CHECK(cudaStreamDestroy(s));
    free(host);
    return bad;
}

extern "C" __attribute__((visibility("default"))) int library_work(void);

#ifdef LIBRARY
extern "C" int library_work(void)
{
    int bad = work(5000, 11);

    printf("%s: %d bad\n", NAME, bad);
    fflush(stdout);
    return bad;
}
#else
static void *thread(void *arg)
{
    return (void *)(intptr_t)work(3000, (int)(intptr_t)arg);
}

static sigjmp_buf back;
static char altstack[65536];
static void *fault_at;

static void handler(int signo, siginfo_t *si, void *context)
{
    char here;

    printf("handler: signal %d, right address %d, on the alternate stack %d, context %d\n", signo, si->si_addr == fault_at,
           &here >= altstack && &here < altstack + sizeof altstack, context != NULL);
    fflush(stdout);
    siglongjmp(back, 1);
}

/* Its own handler and stack, around work on the device. */
static void own_handler(void)
{
    stack_t ss = {};
    struct sigaction a = {}, got = {};

    ss.ss_sp = altstack;
    ss.ss_size = sizeof altstack;
    sigaltstack(&ss, NULL);
    a.sa_sigaction = handler;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &a, NULL);
    work(1000, 1);
    sigaction(SIGSEGV, NULL, &got);
    printf("handler: still installed %d\n", got.sa_sigaction == handler);
    fault_at = (void *)4096;
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)fault_at = 1;
    printf("handler: work after the fault: %d bad\n", work(1000, 2));
    fflush(stdout);
}

/* A kernel's wild store is an error of the program, not a signal, handler or not. */
static __global__ void wild(int *p)
{
    *p = 1;
}

static void illegal_address(void)
{
    int on_host = 5;

    wild<<<1, 1>>>(&on_host);
    printf("illegal: %s, host value %d\n", cudaGetErrorName(cudaDeviceSynchronize()), on_host);
    fflush(stdout);
}

static void child(char *self)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/proc/self/exe", self, "exit", "9", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("child: status %d\n", WEXITSTATUS(status));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t threads[4];
    int total = 0;

    if (strcmp(what, "exit") == 0) {
        printf("exit: %d bad\n", work(100, 3));
        return atoi(argv[2]);
    }
    if (strcmp(what, "abort") == 0) {
        work(100, 3);
        abort();
    }
    if (strcmp(what, "segv") == 0) {
        work(100, 3);
        *(volatile int *)4096 = 1;
    }
    if (strcmp(what, "open") == 0) {
        void *h = dlopen(argv[2], RTLD_NOW);
        int (*f)(void) = h ? (int (*)(void))dlsym(h, "library_work") : NULL;

        if (f == NULL) {
            puts(dlerror());
            return 1;
        }
        total += f();
    }
#ifdef LINKED
    total += library_work();
#endif
    total += work(1 << 16, 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)i);
    for (int i = 0; i < 4; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        total += (int)(intptr_t)bad;
    }
    printf("%s: %d bad\n", NAME, total);
    fflush(stdout);
    if (strcmp(what, "all") == 0) {
        own_handler();
        child(argv[0]);
        illegal_address(); /* last: the device stays failed */
    }
    return total ? 1 : 0;
}
#endif
