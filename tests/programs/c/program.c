/* A C program on the runtime's library, without nvcc and without weir cc: it makes its fat binary
 * itself, registers it as a compiler's constructor does, and launches. `program CASE`; the exit
 * status is the case's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatbin/fatbin.h"
#include "../ok.h"

#define N 1000

/* What compilers call; no header declares it. */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry triple(.param .u64 data, .param .u32 count, .param .u32 add)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<10>;\n"
    "  .reg .b64 %rd<4>;\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r5, [count];\n"
    "  setp.ge.u32 %p1, %r4, %r5;\n"
    "  @%p1 bra $done;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  cvta.to.global.u64 %rd1, %rd1;\n"
    "  mul.wide.u32 %rd2, %r4, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2;\n"
    "  ld.global.u32 %r6, [%rd3];\n"
    "  ld.param.u32 %r7, [add];\n"
    "  mad.lo.s32 %r8, %r6, 3, %r7;\n"
    "  st.global.u32 [%rd3], %r8;\n"
    "$done:\n"
    "  ret;\n"
    "}\n";

static char triple; /* its address stands for the kernel, as a host stub's does */

static struct {
    int magic, version;
    const void *container, *rest;
} wrapper = {0x466243b1, 1, NULL, NULL};

static void **handle;

static void register_kernels(enum weir_fatbin_packing packing)
{
    struct weir_fatbin_input input = {ptx, sizeof ptx - 1, 70, "program.c"};
    unsigned char *container;
    size_t bytes;

    if (weir_fatbin_build(&input, 1, packing, &container, &bytes) != WEIR_OK)
        exit(41);
    wrapper.container = container;
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &triple, (char *)"triple", "triple", -1, NULL, NULL, NULL, NULL,
                           NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

/* The number of wrong values. */
static int work(unsigned add)
{
    unsigned values[N], n = N;
    struct dim3 grid = {(N + 127) / 128, 1, 1}, block = {128, 1, 1};
    cudaStream_t s;
    void *p;
    void *args[] = {&p, &n, &add};
    int bad = 0;

    for (unsigned i = 0; i < N; i++)
        values[i] = i;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&p, sizeof values));
    OK(cudaMemcpyAsync(p, values, sizeof values, cudaMemcpyHostToDevice, s));
    OK(cudaLaunchKernel(&triple, grid, block, args, 0, s));
    OK(cudaMemcpyAsync(values, p, sizeof values, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    for (unsigned i = 0; i < N; i++)
        bad += values[i] != i * 3 + add;
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
    return bad;
}

static void *thread(void *arg)
{
    for (int i = 0; i < 10; i++)
        *(int *)arg += work((unsigned)i);
    return NULL;
}

static int threads(void)
{
    pthread_t t[8];
    int bad[8] = {0}, total = 0;

    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, thread, &bad[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], NULL);
        total += bad[i];
    }
    return total;
}

static sigjmp_buf back;
static char altstack[65536];
static volatile int seen;

static void on_fault(int signo, siginfo_t *si, void *context)
{
    const char *here = __builtin_frame_address(0); /* not a variable's: ASan moves those */

    seen = signo == SIGSEGV && si->si_addr == (void *)8192 && context != NULL && here >= altstack &&
           here < altstack + sizeof altstack;
    siglongjmp(back, 1);
}

static int own_handler(volatile int before)
{
    stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    volatile int bad = before ? work(1) : 0;

    sigaltstack(&ss, NULL);
    sigaction(SIGSEGV, &a, NULL);
    bad += work(2);
    for (int i = 0; i < 3; i++) {
        seen = 0;
        if (sigsetjmp(back, 1) == 0)
            *(volatile int *)8192 = 1;
        bad += !seen;
        bad += work(3);
    }
    return bad;
}

/* All signals blocked before the first use of CUDA, as servers do. A wild store in a kernel is an
 * error all the same. */
static int blocked(void)
{
    struct dim3 one = {1, 1, 1};
    unsigned n = 1, add = 0, on_host = 7;
    void *p = &on_host;
    void *args[] = {&p, &n, &add};
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    OK(cudaLaunchKernel(&triple, one, one, args, 0, NULL));
    return cudaDeviceSynchronize() != cudaErrorIllegalAddress || on_host != 7;
}

static int fork_before(char *self)
{
    pid_t pid = fork();
    int status;

    (void)self;
    if (pid == 0)
        _exit(work(4) ? 1 : 6);
    waitpid(pid, &status, 0);
    return work(5) + (WEXITSTATUS(status) != 6);
}

static int fork_exec(char *self)
{
    int bad = work(5), status;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/proc/self/exe", self, "status", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    return bad + work(6) + (WEXITSTATUS(status) != 23);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "plain";
    int bad;

    register_kernels(strcmp(what, "lz4") == 0    ? WEIR_FATBIN_LZ4
                     : strcmp(what, "zstd") == 0 ? WEIR_FATBIN_ZSTD
                                                 : WEIR_FATBIN_PLAIN);
    if (strcmp(what, "threads") == 0)
        bad = threads();
    else if (strcmp(what, "handler") == 0)
        bad = own_handler(1);
    else if (strcmp(what, "handler-first") == 0)
        bad = own_handler(0);
    else if (strcmp(what, "blocked") == 0)
        bad = blocked();
    else if (strcmp(what, "fork") == 0)
        bad = fork_before(argv[0]);
    else if (strcmp(what, "exec") == 0)
        bad = fork_exec(argv[0]);
    else
        bad = work(7);
    if (strcmp(what, "abort") == 0)
        abort();
    if (strcmp(what, "segv") == 0)
        *(volatile int *)8192 = 1;
    if (strcmp(what, "status") == 0 && !bad)
        return 23;
    __cudaUnregisterFatBinary(handle);
    printf("%s: %d bad\n", what, bad);
    return bad != 0;
}
