/* Programs that hang, each in a child: with WEIR_HANG the child ends with status 124 and says what
 * waits for what and where the cycle is; without it `weir where` says the same of the running child
 * (docs/faults.md). WEIR_CLI in the environment: the `weir` to ask with.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "conform.h"
#include "kernels.h"
#include "told.h"

#define TEXT 65536

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cudaStream_t a, b;

static void take_mutex(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* A host function waits for a mutex, whose owner waits for the stream. */
static void host_mutex(void)
{
    pthread_mutex_lock(&mutex);
    OK(cudaLaunchHostFunc(a, take_mutex, NULL));
    cudaStreamSynchronize(a);
}

static cudaKernel_t load(const char *name)
{
    cudaLibrary_t lib;
    cudaKernel_t k;

    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&k, lib, name));
    return k;
}

static void spin_on(void *flag)
{
    void *args[] = {&flag};

    OK(cudaLaunchKernel((const void *)load("spin"), (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a));
}

/* A kernel polls what a later operation of its stream would write. */
static void spin_before_memset(void)
{
    void *flag;

    OK(cudaMalloc(&flag, 4));
    OK(cudaMemset(flag, 0, 4));
    OK(cudaDeviceSynchronize());
    spin_on(flag);
    OK(cudaMemsetAsync(flag, 1, 4, a));
    cudaDeviceSynchronize();
}

/* The same by way of an event: the write is in another stream, which waits for the first. */
static void spin_before_event(void)
{
    cudaEvent_t e;
    void *flag;

    OK(cudaEventCreate(&e));
    OK(cudaMallocHost(&flag, 4));
    memset(flag, 0, 4);
    spin_on(flag);
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(flag, 1, 4, b));
    cudaStreamSynchronize(b);
}

/* A copy between pinned buffers waits for its stream. */
static void host_copy(void)
{
    char *flag;

    OK(cudaMallocHost((void **)&flag, 64));
    memset(flag, 0, 64);
    spin_on(flag);
    OK(cudaMemcpyAsync(flag + 32, flag + 16, 4, cudaMemcpyDefault, a));
}

/* The stream's queue fills up behind a kernel that waits for the program. */
static void queue_full(void)
{
    cudaKernel_t k = load("empty");
    void *flag;

    OK(cudaMallocHost(&flag, 4));
    memset(flag, 0, 4);
    spin_on(flag);
    for (int i = 0; i < 1100; i++)
        OK(cudaLaunchKernel((const void *)k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, a));
}

static void turn(cudaKernel_t k, unsigned long long times)
{
    void *args[] = {&times};

    OK(cudaLaunchKernel((const void *)k, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, a));
}

/* Short kernels, which one thread runs in a row, and behind them the same kernel for ever. */
static void short_ones_first(void)
{
    cudaKernel_t k = load("turn");

    for (int i = 0; i < 400; i++) {
        turn(k, 1);
        OK(cudaStreamSynchronize(a));
    }
    for (int i = 0; i < 3; i++)
        turn(k, 1);
    turn(k, 1ull << 62);
    turn(k, 1);
    cudaStreamSynchronize(a);
}

static void never(void *arg)
{
    (void)arg;
    for (;;)
        sleep_ms(1000);
}

/* No cycle: a host function that does not end, and a thread that asks again and again. */
static void polls(void)
{
    OK(cudaLaunchHostFunc(b, never, NULL));
    while (cudaStreamQuery(b) == cudaErrorNotReady)
        sleep_ms(1);
}

static void graph_host(void)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    OK(cudaLaunchHostFunc(a, take_mutex, NULL));
    OK(cudaStreamEndCapture(a, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    pthread_mutex_lock(&mutex);
    OK(cudaGraphLaunch(x, a));
    cudaStreamSynchronize(a);
}

static void *waits(void *arg)
{
    cudaStreamSynchronize(arg);
    return NULL;
}

/* Threads of the program in the cycle: the mutex's owner waits for a thread that synchronises. */
static void join_thread(void)
{
    pthread_t t;

    pthread_mutex_lock(&mutex);
    OK(cudaLaunchHostFunc(a, take_mutex, NULL));
    pthread_create(&t, NULL, waits, a);
    pthread_join(t, NULL);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
    const char *said[8]; /* behind a '!': not said */
} scenarios[] = {
    {"host_mutex",
     host_mutex,
     {"stream 42: 1 operation left", "#1 host function 0x", "is in cudaStreamSynchronize",
      "waits for #1 of stream 42", "a cycle:", "waits for a mutex, held by"}},
    {"spin_before_memset",
     spin_before_memset,
     {"#1 kernel spin, runs since", "it polls memory", "in cudaDeviceSynchronize",
      "a cycle:", "may be written by #2 of stream 42 (memset of 4 bytes", "!as a short one"}},
    {"spin_before_event",
     spin_before_event,
     {"stream 42: 2 operations left", "(ORD-021)", "a cycle:", "event wait",
      "what it polls may be written by #2 of stream 43 (memset", "!as a short one"}},
    {"host_copy",
     host_copy,
     {"#1 kernel spin, runs since", "is in cudaMemcpyAsync, since ",
      "(it copies from host to host; ORD-070)", "!pageable"}},
    {"queue_full",
     queue_full,
     {"#1 kernel spin, runs since", "    the pinned memory at 0x",
      "the program's threads may write", "is in cudaLaunchKernel, since ",
      "(the stream's queue is full; ORD-085)", "no cycle found"}},
    {"short_ones_first",
     short_ones_first,
     {"stream 42: 2 operations left", "#404 kernel turn, runs", "waits for #405 of stream 42",
      "no cycle found"}},
    {"polls", polls, {"stream 43: 1 operation left", "host function 0x", "no cycle found"}},
    {"graph_host",
     graph_host,
     {"graph launch, runs: 1 of 1 nodes have not ended", "a host node runs", "a cycle:"}},
    {"join_thread", join_thread, {"a cycle:", "waits for a mutex, held by", "the end of"}},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* What it says goes to *out. */
static pid_t start(const struct scenario *s, const char *hang, int *out)
{
    pid_t pid = told_fork(false, out);

    if (pid == 0) {
        if (hang)
            setenv("WEIR_HANG", hang, 1);
        OK(cudaStreamCreate(&a));
        OK(cudaStreamCreate(&b));
        s->run();
        _exit(9);
    }
    return pid;
}

static bool says_all(const struct scenario *s, const char *text, bool tell)
{
    bool ok = true;

    for (int i = 0; i < 8 && s->said[i]; i++) {
        bool wanted = s->said[i][0] != '!';

        if (wanted == (strstr(text, s->said[i] + !wanted) != NULL))
            continue;
        ok = false;
        if (tell)
            fprintf(stderr, "%s: not as it should be: %s\n", s->name, s->said[i]);
    }
    return ok;
}

static void check_hang(void)
{
    static char text[TEXT];
    pid_t pids[SCENARIOS];
    int outs[SCENARIOS], status;

    for (size_t i = 0; i < SCENARIOS; i++)
        pids[i] = start(&scenarios[i], "2", &outs[i]);
    for (size_t i = 0; i < SCENARIOS; i++) {
        bool ok;

        told_read(outs[i], text, TEXT);
        waitpid(pids[i], &status, 0);
        ok = WIFEXITED(status) && WEXITSTATUS(status) == 124 &&
             says_all(&scenarios[i], text, true) &&
             strstr(text, "weir: nothing has advanced for 2 seconds in process ");
        CHECK(ok);
        if (!ok)
            fprintf(stderr, "%s: status %d, said:\n%s\n", scenarios[i].name, status, text);
    }
}

/* What `weir where` prints of a process. */
static void ask(pid_t pid, char *text)
{
    char command[4096];
    FILE *f;
    size_t n;

    snprintf(command, sizeof command, "%s where %d 2>&1", getenv("WEIR_CLI"), (int)pid);
    f = popen(command, "r");
    n = f ? fread(text, 1, TEXT - 1, f) : 0;
    text[n] = 0;
    if (f)
        pclose(f);
}

static void check_where(void)
{
    static char text[TEXT];
    pid_t pids[SCENARIOS];
    int outs[SCENARIOS], status;

    if (!getenv("WEIR_CLI"))
        return;
    for (size_t i = 0; i < SCENARIOS; i++)
        pids[i] = start(&scenarios[i], NULL, &outs[i]);
    for (size_t i = 0; i < SCENARIOS; i++) {
        bool ok = false;

        for (int k = 0; k < 300 && !ok; k++) {
            ask(pids[i], text);
            ok = says_all(&scenarios[i], text, false);
            if (!ok)
                sleep_ms(100);
        }
        CHECK(ok);
        if (!ok) {
            says_all(&scenarios[i], text, true);
            fprintf(stderr, "%s: said:\n%s\n", scenarios[i].name, text);
        }
        kill(pids[i], SIGKILL);
        waitpid(pids[i], &status, 0);
        close(outs[i]);
    }
    ask(pids[0], text); /* it is gone */
    CHECK(strstr(text, "there is no process"));
    ask(getpid(), text); /* uses no device */
    CHECK(strstr(text, "does not answer"));
}

int main(void)
{
    if (access("/proc/self/syscall", R_OK) != 0) {
        fprintf(stderr, "skipped: the kernel does not tell what a thread sleeps on\n");
        return 77;
    }
    check_hang();
    check_where();
    return CONFORM_END();
}
