/* What the program itself reads and writes, right and wrong, by name: what weir check must say of
 * each is in host.sh. None depends on luck: the verdict follows from the documented order alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../ok.h"
#include "kernels.h"

enum { N = 5000, BYTES = N * sizeof(int) };

/* Data, then the flag that says so. */
__global__ void tell(int *data, volatile int *flag)
{
    *data = 7;
    __threadfence_system();
    *flag = 1;
}

__global__ void told(int *to, const int *data, volatile int *flag)
{
    while (!*flag)
        ;
    __threadfence_system();
    *to = *data;
}

/* What no argument points to. */
__managed__ int variable[N];

__global__ void through(int *const *p, int value)
{
    (*p)[threadIdx.x] = value;
}

__global__ void set_variable(int value)
{
    variable[threadIdx.x] = value;
}

static int *device, *host, *managed, **pointer;
static cudaStream_t s1, s2;
static cudaEvent_t e;
static volatile int sink;
static sem_t sem;

static unsigned blocks(int n)
{
    return (unsigned)(n + 255) / 256;
}

static void down(void)
{
    OK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, s1));
}

static void up(void)
{
    OK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, s1));
}

static void wait(bool waits)
{
    if (waits)
        OK(cudaStreamSynchronize(s1));
}

static __attribute__((noinline)) void read_all(void)
{
    for (int i = 0; i < N; i++)
        sink = host[i];
}

static void write_all(int value)
{
    for (int i = 0; i < N; i++)
        host[i] = value;
}

/* ---- events ---- */

static void polled(bool behind)
{
    if (!behind)
        OK(cudaEventRecord(e, s1));
    down();
    if (behind)
        OK(cudaEventRecord(e, s1));
    while (cudaEventQuery(e) == cudaErrorNotReady)
        ;
    read_all();
}

/* Which record is waited for by whom: the second one is behind a copy, and nobody waits for it. */
static sem_t first, second, arrives;

static void CUDART_CB holds(void *arg)
{
    sem_wait((sem_t *)arg);
}

static void *waits_for_first(void *arg)
{
    (void)arg;
    sem_post(&arrives);
    OK(cudaEventSynchronize(e));
    sem_post(&arrives);
    return NULL;
}

/* A thread waits for an event, which is recorded anew meanwhile. That the wait was there first is
 * known when it is over before the second record can be; else it is done again. */
static bool recorded_anew(bool waits)
{
    cudaEvent_t released;
    struct timespec until;
    pthread_t t;
    bool was_first;

    OK(cudaEventCreateWithFlags(&released, cudaEventDisableTiming));
    OK(cudaLaunchHostFunc(s2, holds, &first));
    OK(cudaEventRecord(e, s2));
    pthread_create(&t, NULL, waits_for_first, NULL);
    sem_wait(&arrives);
    usleep(20000);
    OK(cudaLaunchHostFunc(s1, holds, &second));
    OK(cudaEventRecord(released, s1));
    down();
    OK(cudaEventRecord(e, s1));
    sem_post(&first);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    was_first = sem_timedwait(&arrives, &until) == 0;
    sem_post(&second);
    if (!was_first)
        sem_wait(&arrives);
    pthread_join(t, NULL);
    OK(cudaEventSynchronize(waits || !was_first ? e : released));
    if (was_first)
        read_all();
    OK(cudaEventDestroy(released));
    return was_first;
}

static void wait_and_record(bool waits)
{
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    sem_init(&arrives, 0, 0);
    while (!recorded_anew(waits))
        ;
}

/* ---- host functions and nodes ---- */

static void CUDART_CB reads(void *arg)
{
    (void)arg;
    read_all();
}

static void CUDART_CB writes(void *arg)
{
    (void)arg;
    write_all(3);
}

static void CUDART_CB signals(void *arg)
{
    (void)arg;
    sem_post(&sem);
}

static void CUDART_CB waits_for_us(void *arg)
{
    (void)arg;
    sem_wait(&sem);
}

static void host_func_behind(cudaStream_t s)
{
    down();
    OK(cudaLaunchHostFunc(s, reads, NULL));
}

static void host_func_before(void)
{
    OK(cudaLaunchHostFunc(s1, writes, NULL));
    up();
}

static void host_func_signals(void)
{
    down();
    OK(cudaLaunchHostFunc(s1, signals, NULL));
    sem_wait(&sem);
    read_all();
}

static void host_func_waits(void)
{
    OK(cudaLaunchHostFunc(s1, waits_for_us, NULL));
    up();
    write_all(4);
    sem_post(&sem);
}

static void replay(bool waits, cudaHostFn_t fn)
{
    cudaGraph_t g;
    cudaGraphExec_t x;

    OK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    if (fn == writes)
        OK(cudaLaunchHostFunc(s1, fn, NULL));
    up();
    if (fn == reads) {
        down();
        OK(cudaLaunchHostFunc(s1, fn, NULL));
    }
    OK(cudaStreamEndCapture(s1, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    for (int it = 0; it < 3; it++) {
        if (!fn)
            write_all(it);
        OK(cudaGraphLaunch(x, s1));
        wait(waits);
    }
    OK(cudaStreamSynchronize(s1));
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

/* ---- kernels ---- */

static void kernel_tells(void)
{
    volatile int *flag = host + N - 1;

    tell<<<1, 1, 0, s1>>>(host, host + N - 1);
    while (!*flag)
        ;
    sink = host[0];
}

static void kernel_is_told(void)
{
    volatile int *flag = host + N - 1;

    told<<<1, 1, 0, s1>>>(device, host, host + N - 1);
    host[0] = 5;
    __sync_synchronize();
    *flag = 1;
}

/* ---- bytes ---- */

static void neighbours(int overlap)
{
    OK(cudaMemcpyAsync(host, device, BYTES / 2, cudaMemcpyDeviceToHost, s1));
    for (int i = N / 2 - overlap; i < N / 2 + 100; i++)
        host[i] = i;
}

/* Threads beside each other on pages of which a copy uses every second int row. */
static void *hammers(void *arg)
{
    int first = (int)(size_t)arg;

    for (int k = 0; k < 300; k++)
        for (int row = 0; row < 16; row++)
            host[row * 256 + 128 + first] += 1;
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    memset(host, 0, BYTES);
    OK(cudaMemcpy2DAsync(host, 1024, device, 512, 512, 16, cudaMemcpyDeviceToHost, s1));
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, hammers, (void *)(size_t)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++)
        for (int row = 0; row < 16; row++)
            if (host[row * 256 + 128 + i] != 300)
                printf("lost: %d\n", host[row * 256 + 128 + i]);
}

/* System calls and the C library's: all of them must do what they do elsewhere. */
static __attribute__((noinline)) void io(bool ordered)
{
    int fd[2];
    struct iovec v[2] = {{host, 3000}, {host + 1000, 2000}};
    FILE *f = tmpfile();

    down();
    wait(ordered);
    if (pipe(fd) != 0 || write(fd[1], host, 5000) != 5000 || readv(fd[0], v, 2) != 5000)
        printf("pipe\n");
    if (!f || fwrite(host, 1, BYTES, f) != BYTES || fseek(f, 0, SEEK_SET) != 0 ||
        fread(host, 1, BYTES, f) != BYTES)
        printf("file\n");
}

/* A read that waits, into bytes beside those of a copy that is submitted meanwhile. */
static void *feeds(void *arg)
{
    char bytes[64];

    usleep(20000);
    down();
    memset(bytes, 5, sizeof bytes);
    if (write(*(int *)arg, bytes, sizeof bytes) != sizeof bytes)
        printf("feed\n");
    return NULL;
}

static void io_beside(void)
{
    char *end = (char *)host + BYTES; /* the page has room behind the copy's bytes */
    int fd[2];
    pthread_t t;

    if (pipe(fd) != 0)
        exit(4);
    pthread_create(&t, NULL, feeds, &fd[1]);
    if (read(fd[0], end, 64) != 64 || end[63] != 5)
        printf("read\n");
    pthread_join(t, NULL);
}

/* The kernel writes as many ints as it has threads. */
static void managed_through(bool waits, int at)
{
    OK(cudaMemcpy(pointer, &managed, sizeof managed, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    through<<<1, 64, 0, s1>>>(pointer, 1);
    wait(waits);
    managed[at] = 4;
}

static void managed_variable(bool waits, int at)
{
    OK(cudaDeviceSynchronize());
    set_variable<<<1, 64, 0, s1>>>(1);
    wait(waits);
    sink = variable[at];
}

/* Waits until the kernel that uses registered memory has ended, in a way that proves nothing: its
 * pages are closed then. */
static void until_closed(void)
{
    char line[256];
    unsigned long begin, end, at = (unsigned long)(host + 1024);
    bool closed = false;

    for (int i = 0; i < 2000 && !closed; i++) {
        FILE *f = fopen("/proc/self/maps", "r");
        char mode[5];

        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "%lx-%lx %4s", &begin, &end, mode) == 3 && at >= begin && at < end)
                closed = mode[0] == '-';
        if (f)
            fclose(f);
        usleep(5000);
    }
}

/* Registered memory that the system gets back while a copy that waits for `sem` is to use it. */
static void given_back(const char *how, bool waits)
{
    const size_t big = 4 << 20;
    char *p = (char *)mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!strcmp(how, "heap"))
        p = (char *)malloc(big);
    OK(cudaHostRegister(p, big, cudaHostRegisterDefault));
    OK(cudaLaunchHostFunc(s1, waits_for_us, NULL));
    OK(cudaMemcpyAsync(device, p + 8192, BYTES, cudaMemcpyHostToDevice, s1));
    if (waits) {
        sem_post(&sem);
        OK(cudaStreamSynchronize(s1));
    }
    if (!strcmp(how, "munmap"))
        munmap(p, big);
    else if (!strcmp(how, "madvise"))
        madvise(p + 4096, big / 2, MADV_DONTNEED);
    else if (!strcmp(how, "mmap"))
        p = (char *)mmap(p, big, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    else if (!strcmp(how, "mremap"))
        p = (char *)mremap(p, big, 4096, 0);
    else
        free(p);
    if (!waits)
        sem_post(&sem);
    cudaStreamSynchronize(s1);
    (void)cudaGetLastError();
    cudaHostUnregister(p);
}

/* Registered memory that the C library gets back: a copy from it is under way, or has ended, and it
 * is registered still or not. */
static void freed_block(const char *how, bool waits)
{
    const size_t big = !strcmp(how, "small") ? 8192 : 1 << 20;
    char *p = (char *)malloc(big);

    OK(cudaHostRegister(p, big, cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(device, p + big / 2, 1024, cudaMemcpyHostToDevice, s1));
    if (waits)
        OK(cudaStreamSynchronize(s1));
    if (waits && strcmp(how, "registered"))
        OK(cudaHostUnregister(p));
    if (!strcmp(how, "realloc"))
        p = (char *)realloc(p, 16 * big);
    free(p);
    (void)cudaStreamSynchronize(s1);
    (void)cudaGetLastError();
}

/* A child has pages of its own, all of them open. */
static void forks(void)
{
    int status = 0;
    pid_t child;

    down();
    child = fork();
    if (!child) {
        write_all(6);
        _exit(host[0] == 6 && host[N - 1] == 6 ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status)
        printf("child: %d\n", status);
    OK(cudaStreamSynchronize(s1));
    if (host[N - 1] != 0)
        printf("the child's write is the parent's\n");
}

static __attribute__((noinline)) void run(const char *form)
{
    bool waits = !strncmp(form, "waits-", 6);

    if (waits)
        form += 6;
    if (!strcmp(form, "reuse")) {
        up();
        wait(waits);
        write_all(1);
    } else if (!strcmp(form, "early")) {
        down();
        wait(waits);
        read_all();
    } else if (!strcmp(form, "first-reuse")) {
        up();
        host[0] = 1;
    } else if (!strcmp(form, "first-early")) {
        down();
        sink = host[0];
    } else if (!strcmp(form, "unregistered")) {
        down();
        OK(cudaHostUnregister(host));
        host[N - 1] = 1;
        OK(cudaHostRegister(host, BYTES, cudaHostRegisterDefault));
    } else if (!strncmp(form, "given-back-", 11)) {
        given_back(form + 11, waits);
    } else if (!strncmp(form, "freed-", 6)) {
        freed_block(form + 6, waits);
    } else if (!strcmp(form, "forks")) {
        forks();
    } else if (!strcmp(form, "memset")) {
        up();
        wait(waits);
        memset(host, 1, BYTES);
        sink = 1; /* no tail call: the frame is there */
    } else if (!strcmp(form, "io")) {
        io(waits);
    } else if (!strcmp(form, "io-beside")) {
        io_beside();
    } else if (!strcmp(form, "mapped")) {
        fill<<<blocks(N), 256, 0, s1>>>(host, 1, N);
        wait(waits);
        sink = host[N - 1];
    } else if (!strcmp(form, "managed")) {
        fill<<<blocks(N), 256, 0, s1>>>(managed, 1, N);
        wait(waits);
        managed[17] = 4;
    } else if (!strcmp(form, "mapped-ended")) {
        fill<<<blocks(N), 256, 0, s1>>>(host, 1, N);
        wait(waits);
        if (!waits)
            until_closed();
        sink = host[N / 2];
    } else if (!strcmp(form, "managed-through")) {
        managed_through(waits, 63);
    } else if (!strcmp(form, "managed-through-beside")) {
        managed_through(waits, 64);
    } else if (!strcmp(form, "managed-variable")) {
        managed_variable(waits, 63);
    } else if (!strcmp(form, "managed-variable-beside")) {
        managed_variable(waits, 64);
    } else if (!strcmp(form, "both-read")) {
        copy<<<blocks(N), 256, 0, s1>>>(device, host, N);
        read_all();
    } else if (!strcmp(form, "neighbours")) {
        neighbours(0);
    } else if (!strcmp(form, "neighbours-overlap")) {
        neighbours(1);
    } else if (!strcmp(form, "threads")) {
        threads();
    } else if (!strcmp(form, "event")) {
        polled(true);
    } else if (!strcmp(form, "event-early")) {
        polled(false);
    } else if (!strcmp(form, "recorded-anew")) {
        wait_and_record(waits);
    } else if (!strcmp(form, "host-func")) {
        host_func_behind(s1);
    } else if (!strcmp(form, "host-func-elsewhere")) {
        host_func_behind(s2);
    } else if (!strcmp(form, "host-func-before")) {
        host_func_before();
    } else if (!strcmp(form, "host-func-signals")) {
        host_func_signals();
    } else if (!strcmp(form, "host-func-waits")) {
        host_func_waits();
    } else if (!strcmp(form, "replay")) {
        replay(waits, NULL);
    } else if (!strcmp(form, "replay-reads")) {
        replay(false, reads);
    } else if (!strcmp(form, "replay-writes")) {
        replay(false, writes);
    } else if (!strcmp(form, "kernel-tells")) {
        kernel_tells();
    } else if (!strcmp(form, "kernel-told")) {
        kernel_is_told();
    } else if (!strcmp(form, "destroyed")) {
        cudaStream_t s;

        OK(cudaStreamCreate(&s));
        OK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamDestroy(s));
        read_all();
    } else {
        exit(3);
    }
}

/* Memory of the program's own: all of a block that malloc has asked the system for, or some in the
 * middle of an array. */
static void *registered(const char *how)
{
    static int array[3 * N];
    const size_t big = 1 << 20;
    void *p;

    if (!strcmp(how, "inner")) {
        OK(cudaHostRegister(array + N, BYTES + 64, cudaHostRegisterDefault));
        return array + N;
    }
    p = malloc(big);
    OK(cudaHostRegister(p, big, cudaHostRegisterDefault));
    return p;
}

/* host.cu FORM [registered | inner] */
int main(int argc, char **argv)
{
    OK(cudaMalloc((void **)&device, BYTES));
    if (argc > 2)
        host = (int *)registered(argv[2]);
    else
        OK(cudaMallocHost((void **)&host, BYTES + 64));
    OK(cudaMallocManaged((void **)&managed, BYTES));
    OK(cudaMalloc((void **)&pointer, sizeof *pointer));
    OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaMemset(device, 0, BYTES));
    OK(cudaDeviceSynchronize());
    memset(host, 0, BYTES);
    sem_init(&sem, 0, 0);
    run(argc > 1 ? argv[1] : "");
    OK(cudaDeviceSynchronize());
    if (argc > 2)
        OK(cudaHostUnregister(host));
    else
        OK(cudaFreeHost(host));
    printf("done\n");
    return 0;
}
