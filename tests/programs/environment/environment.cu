/* What programs do beside CUDA: threads, children, exceptions, OpenMP, ends of all kinds, their own
 * signal handlers. The argument says which; the exit status is 0 unless the mode says otherwise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "../ok.h"

extern char **environ;

__global__ void fill(int *p, int n, int value)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n)
        p[i] = value + i;
}

__global__ void spin(long long cycles, volatile int *out)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
    *out = 77;
}

__global__ void raise_fault(int *p)
{
    *p = 1;
}

/* Bad elements of n. */
static int work(int n, int value, cudaStream_t s)
{
    int *d, bad = 0;
    std::vector<int> h(n);

    OK(cudaMalloc(&d, n * sizeof(int)));
    fill<<<(n + 255) / 256, 256, 0, s>>>(d, n, value);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(h.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (int i = 0; i < n; i++)
        bad += h[i] != value + i;
    OK(cudaFree(d));
    return bad;
}

/* ---- threads ---- */

static int threads(int count)
{
    std::vector<std::thread> all;
    std::vector<int> bad(count);

    for (int t = 0; t < count; t++)
        all.emplace_back([t, &bad] {
            cudaStream_t s;
            OK(cudaStreamCreateWithFlags(&s, t % 2 ? cudaStreamNonBlocking : 0));
            for (int i = 0; i < 10; i++)
                bad[t] += work(1000 + t, 100 * t + i, t % 3 ? s : cudaStreamPerThread);
            OK(cudaStreamDestroy(s));
        });
    int sum = 0;
    for (int t = 0; t < count; t++) {
        all[t].join();
        sum += bad[t];
    }
    printf("%d threads: %d bad\n", count, sum);
    return sum;
}

static int openmp()
{
    int bad = 0, used = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(8) reduction(+ : bad) schedule(dynamic)
    for (int i = 0; i < 64; i++) {
        cudaStream_t s;
        OK(cudaStreamCreate(&s));
        bad += work(500 + i, i, s);
#pragma omp critical
        used++;
        OK(cudaStreamDestroy(s));
    }
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        for (int i = 0; i < 16; i++) {
#pragma omp task
            {
                int b = work(100, i, cudaStreamPerThread);
#pragma omp atomic
                bad += b;
            }
        }
    }
#endif
    printf("openmp: %d pieces, %d bad\n", used, bad);
    return bad;
}

/* ---- children ---- */

/* What a child that was forked after CUDA was used gets: errors, and it ends. */
static int forked_after()
{
    int status, *d;
    pid_t child;

    OK(cudaMalloc(&d, 100));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        void *p;
        cudaError_t a = cudaMalloc(&p, 4), b = cudaDeviceSynchronize();
        fill<<<1, 1>>>(d, 1, 1);
        cudaError_t c = cudaGetLastError();
        printf("child: %s, %s, %s\n", cudaGetErrorName(a), cudaGetErrorName(b),
               cudaGetErrorName(c));
        exit(9); /* its exit handlers and destructors run, too */
    }
    waitpid(child, &status, 0);
    printf("forked after: status %d, parent %d bad\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           work(1000, 3, 0));
    OK(cudaFree(d));
    return 0;
}

/* Before: both can use it. */
static int forked_before()
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int bad = work(1000, 4, 0);
        printf("child: %d bad\n", bad);
        exit(8);
    }
    waitpid(child, &status, 0);
    printf("forked before: status %d, parent %d bad\n",
           WIFEXITED(status) ? WEXITSTATUS(status) : -1, work(1000, 5, 0));
    return 0;
}

/* Children that are programs of their own, while this one has work pending. */
static int spawned(char *self)
{
    volatile int *flag;
    int sum = 0;

    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    spin<<<1, 1>>>(2000000, flag);
    fflush(stdout);
    for (int i = 0; i < 4; i++) {
        char *argv[] = {self, (char *)"simple", NULL};
        pid_t child;
        int status = -1;

        if (posix_spawn(&child, self, NULL, NULL, argv, environ) != 0)
            return 1;
        waitpid(child, &status, 0);
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    FILE *p = popen((std::string(self) + " simple").c_str(), "r");
    char line[100] = "";
    if (!p || !fgets(line, sizeof line, p) || pclose(p) != 0)
        sum += 1000;
    OK(cudaDeviceSynchronize());
    printf("spawned: %d, popen %s", sum, line);
    return *flag != 77;
}

/* ---- exceptions ---- */

struct stream_owner {
    cudaStream_t s;
    stream_owner() { OK(cudaStreamCreate(&s)); }
    ~stream_owner()
    {
        OK(cudaStreamSynchronize(s));
        OK(cudaStreamDestroy(s));
    }
};

static __attribute__((noinline)) void thrower(int depth, volatile int *flag)
{
    stream_owner owner;

    spin<<<1, 1, 0, owner.s>>>(100000, flag);
    if (depth == 0)
        throw std::runtime_error("thrown with work pending");
    thrower(depth - 1, flag);
}

static void CUDART_CB host_function(void *arg)
{
    try {
        throw 5;
    } catch (int n) {
        *(int *)arg = n;
    }
}

static int exceptions()
{
    volatile int *flag;
    int caught = 0, inside = 0;

    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    for (int i = 0; i < 20; i++) {
        try {
            thrower(i % 5, flag);
        } catch (const std::exception &e) {
            caught += strcmp(e.what(), "thrown with work pending") == 0;
        }
    }
    OK(cudaLaunchHostFunc(0, host_function, &inside));
    OK(cudaDeviceSynchronize());
    std::thread([&caught] { /* and out of a thread that has used CUDA */
                            try {
                                work(10, 1, 0);
                                throw 1;
                            } catch (int) {
                                caught++;
                            }
    })
        .join();
    printf("exceptions: %d caught, %d inside a host function\n", caught, inside);
    return 0;
}

/* ---- ends ---- */

struct late {
    ~late() /* after main, before the library: work is still possible */
    {
        if (enabled)
            printf("destructor: %d bad\n", work(100, 1, 0));
    }
    bool enabled = false;
} late;

static int ends(const char *how)
{
    volatile int *flag;

    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    for (int i = 0; i < 10; i++)
        spin<<<1, 1>>>(200000, flag);
    printf("ends: %s\n", how);
    fflush(stdout);
    if (!strcmp(how, "exit")) {
        late.enabled = true;
        exit(5);
    }
    if (!strcmp(how, "_exit"))
        _exit(6);
    if (!strcmp(how, "quick_exit"))
        quick_exit(7);
    if (!strcmp(how, "thread"))
        std::thread([] { exit(8); }).join();
    if (!strcmp(how, "uncaught"))
        throw std::runtime_error("nobody catches");
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGTERM);
    return 9; /* "return" */
}

/* ---- signals ---- */

static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void handler(int, siginfo_t *, void *)
{
    faults = faults + 1;
    siglongjmp(back, 1);
}

/* Its own SIGSEGV handler, installed before or after CUDA's first use, catches its own faults and
 * none of a kernel's. */
static int signals(bool before)
{
    struct sigaction a = {}, old = {};
    char *closed = (char *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    a.sa_sigaction = handler;
    a.sa_flags = SA_SIGINFO;
    if (before)
        sigaction(SIGSEGV, &a, NULL);
    int bad = work(1000, 1, 0);
    if (!before)
        sigaction(SIGSEGV, &a, NULL);
    for (int i = 0; i < 3; i++) {
        if (!sigsetjmp(back, 1))
            *closed = 1;
        bad += work(1000, i, 0);
    }
    sigaction(SIGSEGV, NULL, &old);
    raise_fault<<<1, 1>>>((int *)closed); /* host memory that no kernel may touch */
    cudaError_t e = cudaDeviceSynchronize();
    printf("signals: %d faults, %d bad, still mine %d, kernel: %s\n", (int)faults, bad,
           old.sa_sigaction == handler, cudaGetErrorName(e));
    return 0;
}

int main(int argc, char **argv)
{
    std::string mode = argc > 1 ? argv[1] : "";

    if (mode == "simple") {
        printf("simple: %d bad\n", work(1000, 7, 0));
        return 0;
    }
    if (mode == "chdir") { /* everything that was found by a relative name must be found still */
        if (chdir(argc > 2 ? argv[2] : "/") != 0)
            return 1;
        printf("chdir: %d bad\n", work(1000, 7, 0));
        return 0;
    }
    if (mode == "host-bug") { /* for AddressSanitizer: to be reported as ever */
        int *p = (int *)malloc(100 * sizeof(int));
        work(100, 1, 0);
        printf("host bug\n");
        fflush(stdout);
        free(p);
        return ((volatile int *)p)[5] == 12345;
    }
    if (mode == "threads")
        return threads(argc > 2 ? atoi(argv[2]) : 64);
    if (mode == "openmp")
        return openmp();
    if (mode == "fork-after")
        return forked_after();
    if (mode == "fork-before")
        return forked_before();
    if (mode == "spawn")
        return spawned(argv[0]);
    if (mode == "exceptions")
        return exceptions();
    if (mode == "signals")
        return signals(argc > 2);
    if (mode == "end")
        return ends(argv[2]);
    printf("no mode %s\n", mode.c_str());
    return 1;
}
