/* What goes on for long: threads that begin, make, use and give back objects of all kinds at
 * random, and end. After the first rounds nothing grows: no memory, no thread, no open file, no
 * mapping. Usage: soak [ROUNDS [SEED]]; as long as DEEP_SECONDS says (deep.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <malloc.h>

#include "conform.h"
#include "deep.h"
#include "kernels.h"

enum {
    THREADS = 3,
    ACTIONS = 12, /* of a thread in a round */
    BYTES = 1 << 16,
    WARM = 60, /* rounds until all that stays is there */
    HEAP_SLACK = 512 << 10,
    MEMORY_SLACK = 96 << 20, /* pools' pages of 32 MiB, which are there or not by chance */
    THREAD_SLACK = 16,       /* the engines have some more while others sleep */
    MAPPING_SLACK = 200,
};

struct worker {
    pthread_t thread;
    uint64_t random;
    cudaStream_t stream;
};

static _Atomic bool failed;

/* As OK, from any thread. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        cudaError_t do_err = (call);                                                               \
        if (do_err != cudaSuccess) {                                                               \
            atomic_store(&failed, true);                                                           \
            fprintf(stderr, "%s:%d: %s gives %s\n", __FILE__, __LINE__, #call,                     \
                    cudaGetErrorName(do_err));                                                     \
        }                                                                                          \
    } while (0)

static unsigned pick(struct worker *w, unsigned n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (unsigned)(w->random >> 20) % n;
}

/* ---- actions: each gives back what it made ---- */

static void copies(struct worker *w)
{
    static _Thread_local char pageable[BYTES];
    char *device;

    DO(cudaMalloc((void **)&device, BYTES));
    DO(cudaMemcpyAsync(device, pageable, BYTES, cudaMemcpyHostToDevice, w->stream));
    DO(cudaMemsetAsync(device, (int)pick(w, 256), pick(w, BYTES), w->stream));
    DO(cudaMemcpyAsync(pageable, device, BYTES, cudaMemcpyDeviceToHost, w->stream));
    DO(cudaFree(device));
}

static void called(void *arg)
{
    (void)arg;
}

static void pinned(struct worker *w)
{
    char *host, *own = malloc(BYTES);

    DO(cudaMallocHost((void **)&host, BYTES));
    DO(cudaHostRegister(own, BYTES, cudaHostRegisterDefault));
    DO(cudaMemcpyAsync(host, own, BYTES, cudaMemcpyHostToHost, w->stream));
    DO(cudaLaunchHostFunc(w->stream, called, NULL));
    DO(cudaStreamSynchronize(w->stream));
    DO(cudaHostUnregister(own));
    DO(cudaFreeHost(host));
    free(own);
}

static void managed(struct worker *w)
{
    char *p;

    DO(cudaMallocManaged((void **)&p, BYTES, cudaMemAttachGlobal));
    p[0] = 1;
    DO(cudaMemPrefetchAsync(p, BYTES, (struct cudaMemLocation){cudaMemLocationTypeDevice, 0}, 0,
                            w->stream));
    DO(cudaMemsetAsync(p, 7, BYTES, w->stream));
    DO(cudaStreamSynchronize(w->stream));
    if (p[BYTES - 1] != 7)
        atomic_store(&failed, true);
    DO(cudaFree(p));
}

static void pool(struct worker *w)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    cudaMemPool_t own;
    void *p, *q;
    int fd = -1;

    DO(cudaMallocAsync(&p, BYTES, w->stream));
    DO(cudaMemsetAsync(p, 1, BYTES, w->stream));
    DO(cudaFreeAsync(p, w->stream));
    DO(cudaMemPoolCreate(&own, &props));
    DO(cudaMallocFromPoolAsync(&q, BYTES, own, w->stream));
    if (pick(w, 2)) {
        DO(cudaMemPoolExportToShareableHandle(&fd, own, cudaMemHandleTypePosixFileDescriptor, 0));
        close(fd);
    }
    DO(cudaFreeAsync(q, w->stream));
    DO(cudaMemPoolDestroy(own));
}

static void events(struct worker *w)
{
    cudaEvent_t from, to;
    cudaStream_t other;
    float ms;

    DO(cudaEventCreate(&from));
    DO(cudaEventCreateWithFlags(&to, pick(w, 2) ? cudaEventBlockingSync : 0));
    DO(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -(int)pick(w, 3)));
    DO(cudaEventRecord(from, w->stream));
    DO(cudaStreamWaitEvent(other, from, 0));
    DO(cudaLaunchHostFunc(other, called, NULL));
    DO(cudaEventRecord(to, other));
    if (pick(w, 2)) {
        DO(cudaEventSynchronize(to));
        DO(cudaEventElapsedTime(&ms, from, to));
    }
    DO(cudaStreamDestroy(other)); /* perhaps with work left */
    DO(cudaEventDestroy(from));
    DO(cudaEventDestroy(to));
}

/* A module of its own, its kernel at work, and a launch that is refused. */
static void code(struct worker *w)
{
    cudaLibrary_t lib;
    cudaKernel_t store;
    unsigned *p, value = pick(w, 1000), got = 0;
    void *args[] = {&p, &value};

    DO(cudaMalloc((void **)&p, 64));
    DO(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    DO(cudaLibraryGetKernel(&store, lib, "store"));
    DO(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, w->stream));
    DO(cudaMemcpyAsync(&got, p, 4, cudaMemcpyDeviceToHost, w->stream));
    DO(cudaStreamSynchronize(w->stream));
    if (got != value)
        atomic_store(&failed, true);
    if (cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){5000, 1, 1}, args, 0, w->stream) ==
        cudaSuccess)
        atomic_store(&failed, true);
    (void)cudaGetLastError();
    DO(cudaLibraryUnload(lib));
    DO(cudaFree(p));
}

static void graph(struct worker *w)
{
    cudaUserObject_t object;
    cudaGraphExec_t x;
    cudaGraph_t g, clone;
    char *p;

    DO(cudaMalloc((void **)&p, BYTES));
    DO(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeRelaxed));
    DO(cudaMemsetAsync(p, 3, BYTES, w->stream));
    DO(cudaLaunchHostFunc(w->stream, called, NULL));
    DO(cudaStreamEndCapture(w->stream, &g));
    DO(cudaUserObjectCreate(&object, p, called, 1, cudaUserObjectNoDestructorSync));
    DO(cudaGraphRetainUserObject(g, object, 1, cudaGraphUserObjectMove));
    DO(cudaGraphClone(&clone, g));
    DO(cudaGraphInstantiate(&x, g, 0));
    for (unsigned i = pick(w, 3); i < 3; i++)
        DO(cudaGraphLaunch(x, w->stream));
    if (pick(w, 2)) {
        cudaGraphExecUpdateResultInfo info;

        DO(cudaGraphExecUpdate(x, clone, &info));
    }
    DO(cudaGraphDestroy(g));
    DO(cudaGraphDestroy(clone));
    DO(cudaGraphExecDestroy(x)); /* perhaps while it runs */
    DO(cudaStreamSynchronize(w->stream));
    DO(cudaFree(p));
}

static void texture(struct worker *w)
{
    struct cudaChannelFormatDesc texel = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    static const float row[64];
    cudaTextureObject_t t;
    cudaArray_t a;

    DO(cudaMallocArray(&a, &texel, 16, 4, 0));
    DO(cudaMemcpy2DToArrayAsync(a, 0, 0, row, 64, 64, 4, cudaMemcpyHostToDevice, w->stream));
    resource.res.array.array = a;
    DO(cudaCreateTextureObject(&t, &resource, &how, NULL));
    DO(cudaDestroyTextureObject(t));
    DO(cudaFreeArray(a));
}

static void (*const actions[])(struct worker *) = {copies, pinned, managed, pool,
                                                   events, code,   graph,   texture};

static void *work(void *arg)
{
    struct worker *w = arg;

    DO(cudaStreamCreateWithFlags(&w->stream, pick(w, 2) ? cudaStreamNonBlocking : 0));
    for (int i = 0; i < ACTIONS; i++)
        actions[pick(w, sizeof actions / sizeof *actions)](w);
    DO(cudaMemsetAsync(NULL, 0, 0, cudaStreamPerThread));
    DO(cudaStreamDestroy(w->stream));
    return NULL;
}

/* ---- what there is ---- */

struct amount {
    long heap /* in use */, memory, threads, files, mappings;
};

static long entries(const char *folder)
{
    DIR *d = opendir(folder);
    long n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static struct amount measure(void)
{
    struct amount a = {.heap = (long)mallinfo2().uordblks,
                       .threads = entries("/proc/self/task"),
                       .files = entries("/proc/self/fd")};
    FILE *f = fopen("/proc/self/statm", "r");
    int c;

    if (f && fscanf(f, "%*d %ld", &a.memory) == 1)
        a.memory *= sysconf(_SC_PAGESIZE);
    if (f)
        fclose(f);
    f = fopen("/proc/self/maps", "r");
    while (f && (c = fgetc(f)) != EOF)
        a.mappings += c == '\n';
    if (f)
        fclose(f);
    return a;
}

static void run_round(uint64_t seed)
{
    struct worker w[THREADS];

    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.random = seed * 0x9e3779b97f4a7c15u + (uint64_t)i * 977 + 1};
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    OK(cudaDeviceSynchronize());
}

/* Without what the default pool keeps. Threads that have been joined may still stand in /proc for a
 * moment. */
static struct amount settled(long threads)
{
    cudaMemPool_t pool_of_device;
    struct amount a;

    OK(cudaDeviceSynchronize());
    OK(cudaDeviceGetDefaultMemPool(&pool_of_device, 0));
    OK(cudaMemPoolTrimTo(pool_of_device, 0));
    a = measure();
    for (int i = 0; i < 2000 && threads && a.threads > threads + THREAD_SLACK; i++) {
        sleep_ms(5);
        a = measure();
    }
    return a;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 400, n = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct amount before, after;

    for (; n < WARM; n++)
        run_round(seed + (uint64_t)n);
    before = settled(0);
    while (!failed && deep_goes_on(n < WARM + rounds))
        run_round(seed + (uint64_t)n++);
    after = settled(before.threads);
    printf(
        "%ld rounds: heap %ld -> %ld KiB, memory %ld -> %ld KiB, threads %ld -> %ld, files %ld -> "
        "%ld, mappings %ld -> %ld\n",
        n, before.heap >> 10, after.heap >> 10, before.memory >> 10, after.memory >> 10,
        before.threads, after.threads, before.files, after.files, before.mappings, after.mappings);
    CHECK(!failed);
    CHECK(after.threads <= before.threads + THREAD_SLACK);
    CHECK(after.files <= before.files);
    if (!getenv("SOAK_MEMORY_FREE")) { /* sanitizers keep what was freed */
        CHECK(after.heap <= before.heap + HEAP_SLACK);
        CHECK(after.memory <= before.memory + MEMORY_SLACK);
        CHECK(after.mappings <= before.mappings + MAPPING_SLACK);
    }
    return CONFORM_END();
}
