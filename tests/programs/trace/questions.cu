/* What weir advise must find, and what it must not, where it takes a program to tell: for each kind a
 * bad form and a good one.
 *   questions KIND bad|good
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "../ok.h"

enum { ROWS = 64, THREADS = 32, SLOW = 400000, SHORT = 4000 };

/* Every thread works on one number for so many steps: one block, so that others fit beside it. */
__global__ void work(const unsigned *in, unsigned *out, int steps)
{
    unsigned x = in[threadIdx.x];
    for (int s = 0; s < steps; s++)
        x = 1664525u * x + 1013904223u;
    out[threadIdx.x] = x;
}
__global__ void other(const unsigned *in, unsigned *out, int steps)
{
    unsigned x = in[threadIdx.x];
    for (int s = 0; s < steps; s++)
        x = 22695477u * x + 1;
    out[threadIdx.x] = x;
}

/* Launched by one question alone, so that its code comes late. */
__global__ void seldom(unsigned *to)
{
    to[threadIdx.x] = threadIdx.x;
}

static unsigned *in, *out, *host;
static cudaStream_t s[3];
static cudaEvent_t order, timed[2];

static void launch(int row, cudaStream_t at, int steps)
{
    work<<<1, THREADS, 0, at>>>(in + row * THREADS, out + row * THREADS, steps);
    OK(cudaGetLastError());
}
/* Reads what the launch of that row wrote. */
static void use(int row, cudaStream_t at, int steps)
{
    other<<<1, THREADS, 0, at>>>(out + row * THREADS, in + (row + ROWS) * THREADS, steps);
    OK(cudaGetLastError());
}
static void copy_out(int row, cudaStream_t at)
{
    OK(cudaMemcpyAsync(host + row * THREADS, out + row * THREADS, 4 * THREADS, cudaMemcpyDeviceToHost, at));
}
static void finish(void) { OK(cudaDeviceSynchronize()); }

/* What comes behind in that stream begins when the host lets it: so what is asserted does not depend on who is faster. */
static std::atomic<bool> released;
static void await_release(void *)
{
    while (!released) {
    }
}
static void hold(cudaStream_t at) { OK(cudaLaunchHostFunc(at, await_release, NULL)); }

static void late_record(bool good)
{
    for (int i = 0; i < 4; i++) {
        launch(2 * i, s[0], SHORT);
        if (good)
            OK(cudaEventRecord(order, s[0]));
        launch(2 * i + 1, s[0], SLOW);
        if (!good)
            OK(cudaEventRecord(order, s[0]));
        OK(cudaStreamWaitEvent(s[1], order, 0));
        use(2 * i, s[1], SLOW);
    }
    finish();
}
static void wrong_record(bool good)
{
    for (int i = 0; i < 4; i++) {
        launch(2 * i, s[0], SHORT);
        OK(cudaEventRecord(order, s[0]));
        if (good)
            OK(cudaStreamWaitEvent(s[1], order, 0));
        launch(2 * i + 1, s[0], SLOW);
        OK(cudaEventRecord(order, s[0]));
        if (!good)
            OK(cudaStreamWaitEvent(s[1], order, 0));
        use(2 * i, s[1], SLOW);
    }
    finish();
}
static void host_wait(bool good)
{
    for (int i = 0; i < 6; i++) {
        launch(2 * i, s[0], SLOW);
        if (good) {
            OK(cudaEventRecord(order, s[0]));
            OK(cudaStreamWaitEvent(s[1], order, 0));
        } else {
            OK(cudaStreamSynchronize(s[0]));
        }
        use(2 * i, s[1], SHORT);
        launch(2 * i + 1, s[2], SLOW);
    }
    finish();
}
static void too_many(bool good)
{
    cudaStream_t many[16];
    for (cudaStream_t &one : many)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    for (int i = 0; i < 32; i++)
        launch(good ? 2 * (i % 2) : 0, many[good ? i % 2 : i % 16], SHORT);
    finish();
}
static void graph_in_turn(bool good)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec[2];
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
    launch(0, s[0], SLOW);
    OK(cudaStreamEndCapture(s[0], &graph));
    for (cudaGraphExec_t &one : exec)
        OK(cudaGraphInstantiate(&one, graph, 0));
    hold(s[0]);
    for (int i = 0; i < 6; i++)
        OK(cudaGraphLaunch(exec[good ? i % 2 : 0], s[i % 2]));
    released = true;
    finish();
}
static void queue_full(bool good)
{
    for (int i = 0; i < (good ? 500 : 1500); i++)
        launch(0, s[0], 16 * SHORT);
    launch(1, s[1], SLOW);
    finish();
}
static void unused_event(bool good)
{
    for (int i = 0; i < 4; i++) {
        launch(i, s[0], SHORT);
        OK(cudaEventRecord(order, s[0]));
    }
    if (good)
        OK(cudaEventSynchronize(order));
    finish();
}
static void busy_polling(bool good)
{
    hold(s[0]);
    OK(cudaEventRecord(order, s[0]));
    for (int i = 0; !good && i < 1000; i++)
        if (cudaEventQuery(order) != cudaErrorNotReady)
            exit(1);
    released = true;
    OK(cudaEventSynchronize(order));
    finish();
}
static void timing_mistake(bool good)
{
    float ms;
    launch(0, s[0], SHORT);
    launch(1, s[1], SHORT);
    finish();
    OK(cudaEventRecord(timed[0], s[0]));
    launch(0, s[0], SLOW);
    OK(cudaEventRecord(timed[1], s[good ? 0 : 1]));
    finish();
    OK(cudaEventElapsedTime(&ms, timed[0], timed[1]));
}
static void managed_thrashing(bool good)
{
    enum { BYTES = 64 << 20 };
    unsigned *m;
    OK(cudaMallocManaged(&m, BYTES));
    memset(m, 0, BYTES);
    for (int i = 0; i < 6; i++) {
        if (!good || !i)
            memset(m, i, BYTES);
        work<<<1, THREADS, 0, s[0]>>>(m, m, SHORT);
        OK(cudaGetLastError());
        OK(cudaStreamSynchronize(s[0]));
    }
    OK(cudaFree(m));
}
static void peer_access(bool good)
{
    char *a, *b;
    OK(cudaMalloc(&a, 32 << 20));
    if (good)
        OK(cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&b, 32 << 20));
    OK(cudaSetDevice(0));
    for (int i = 0; i < 4; i++)
        OK(cudaMemcpyPeerAsync(b, 1, a, 0, 32 << 20, s[0]));
    finish();
}
static void setting(bool)
{
    for (int i = 0; i < 8; i++)
        launch(i, s[i % 2], SLOW);
    finish();
}
static void fills(bool good)
{
    for (int i = 0; i < 8; i++) {
        work<<<good ? 1 : 4096, THREADS, 0, s[i % 2]>>>(in + i * THREADS, out + i * THREADS, good ? SLOW : SHORT);
        OK(cudaGetLastError());
    }
    finish();
}
/* An urgent copy behind one that is not; or kernels, which priority is for. */
static void priority(bool good)
{
    enum { BYTES = 32 << 20 };
    int least, most;
    cudaStream_t low, high;
    char *device, *pinned;
    OK(cudaDeviceGetStreamPriorityRange(&least, &most));
    OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, good ? least : most));
    OK(cudaMalloc(&device, 2 * BYTES));
    OK(cudaMallocHost(&pinned, BYTES));
    hold(low);
    for (int i = 0; i < 4; i++) {
        OK(cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyHostToDevice, low));
        OK(cudaMemcpyAsync(device + BYTES, pinned, BYTES / 4, cudaMemcpyHostToDevice, high));
        use(i, high, SHORT);
    }
    released = true;
    finish();
}
static void module_load(bool good)
{
    for (int i = 0; i < 40; i++)
        launch(i, s[0], SHORT);
    finish();
    if (!good)
        seldom<<<1, THREADS, 0, s[0]>>>(out);
    OK(cudaGetLastError());
    launch(0, s[0], SLOW);
    finish();
}
/* Twice as many streams as hardware queues, two kernels in each. */
static void queues(bool good)
{
    enum { STREAMS = 16 };
    cudaStream_t many[STREAMS];
    for (cudaStream_t &one : many)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    for (int i = 0; i < 2 * STREAMS; i++)
        launch(good ? i % STREAMS : i / 2, many[good ? i % STREAMS : i / 2], SLOW);
    finish();
}
/* More than half of the machine's memory; none of it is touched. */
static void pinned_memory(bool good)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = good ? page : (size_t)sysconf(_SC_PHYS_PAGES) / 5 * 3 * page;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    OK(cudaHostRegister(p, bytes, cudaHostRegisterDefault));
    launch(0, s[0], SLOW);
    finish();
}
/* A library of the test's own: its launches are in the default stream, or in the one it is given. */
static void library(bool good)
{
    void *lib = dlopen(getenv("TEST_LIBRARY"), RTLD_NOW);
    void (*run)(cudaStream_t) = lib ? (void (*)(cudaStream_t))dlsym(lib, "library_run") : NULL;
    cudaStream_t blocking;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    OK(cudaStreamCreate(&blocking));
    for (int i = 0; i < 6; i++) {
        launch(i, blocking, SLOW);
        run(good ? s[0] : 0);
    }
    finish();
}

static const struct {
    const char *name;
    void (*run)(bool good);
} kinds[] = {
    {"late-record", late_record},           {"wrong-record", wrong_record},
    {"host-wait", host_wait},               {"too-many-streams", too_many},
    {"graph-in-turn", graph_in_turn},       {"queue-full", queue_full},
    {"unused-event", unused_event},         {"busy-polling", busy_polling},
    {"timing-mistake", timing_mistake},     {"managed-thrashing", managed_thrashing},
    {"peer-access", peer_access},           {"serialising-setting", setting},
    {"library-default-stream", library},    {"kernel-fills-device", fills},
    {"priority-without-effect", priority},  {"module-load", module_load},
    {"queue-order", queues},                {"pinned-memory", pinned_memory},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    OK(cudaMalloc(&in, 8 * ROWS * THREADS));
    OK(cudaMalloc(&out, 4 * ROWS * THREADS));
    OK(cudaMallocHost(&host, 4 * ROWS * THREADS));
    OK(cudaMemset(in, 1, 8 * ROWS * THREADS));
    OK(cudaMemset(out, 1, 4 * ROWS * THREADS));
    for (cudaStream_t &one : s)
        OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&order, cudaEventDisableTiming));
    for (cudaEvent_t &one : timed)
        OK(cudaEventCreate(&one));
    /* Loads the code, and shows where each row begins. */
    for (int i = 0; i <= ROWS / 4; i++) {
        launch(i, s[0], 1);
        use(i, s[0], 1);
    }
    finish();
    for (const auto &k : kinds) {
        if (!strcmp(k.name, argv[1])) {
            k.run(!strcmp(argv[2], "good"));
            return 0;
        }
    }
    return 2;
}
