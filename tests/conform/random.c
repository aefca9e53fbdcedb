/* Random programs: threads that submit to their own and shared streams of two devices, with events,
 * pools, managed and pageable memory, host functions, graphs and streams destroyed with work left,
 * against a model that runs all in sequence; every byte of every buffer is compared between rounds,
 * and now and then by the threads in between. Usage: random [OPERATIONS [SEED [THREADS]]]. Rules:
 * ORD-001, ORD-004, ORD-006, ORD-010, ORD-021.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "conform.h"
#include "deep.h"
#include "kernels.h"
#include "random_program.h"

static struct rp_program program;
static cudaEvent_t events[RP_DEVICES_MAX][RP_OPS];
static unsigned *flags; /* pinned: SPIN's, by operation */
static cudaMemPool_t pools[RP_DEVICES_MAX];
static cudaKernel_t store, count, spin;
static cudaStream_t streams[RP_THREADS_MAX][RP_SLOTS], capturing[RP_THREADS_MAX][RP_DEVICES_MAX];
static pthread_barrier_t begin, end;
/* A device that has a capturing stream must not be waited for (CAP-011). */
static pthread_mutex_t capture_lock = PTHREAD_MUTEX_INITIALIZER;
static bool over;
static _Atomic bool failed;
#define FAILED(...) (atomic_store(&failed, true), fprintf(stderr, __VA_ARGS__))

/* As OK, from any thread. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        cudaError_t do_err = (call);                                                               \
        if (do_err != cudaSuccess)                                                                 \
            FAILED("%s:%d: %s gives %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(do_err));   \
    } while (0)

/* ---- streams ---- */

static cudaStream_t make_stream(int slot)
{
    cudaStream_t s = NULL;
    int least, greatest;

    DO(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    DO(cudaStreamCreateWithPriority(&s,
                                    slot == RP_BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking,
                                    slot == RP_URGENT ? greatest : least));
    return s;
}

static void make_streams(int thread)
{
    for (int slot = 0; slot <= RP_OWN_LAST; slot++)
        streams[thread][slot] = make_stream(slot);
    streams[thread][RP_LEGACY] = cudaStreamLegacy;
    streams[thread][RP_PER_THREAD] = cudaStreamPerThread;
    capturing[thread][0] = make_stream(RP_NONBLOCKING);
    if (program.devices > 1) {
        DO(cudaSetDevice(1));
        streams[thread][RP_OTHER] = make_stream(thread & 1 ? RP_NONBLOCKING : RP_BLOCKING);
        capturing[thread][1] = make_stream(RP_NONBLOCKING);
        DO(cudaSetDevice(0));
    }
}

/* ---- order ---- */

static void wait_on_host(const struct rp_op *before, unsigned how)
{
    cudaEvent_t e = events[before->device][before - program.ops];

    if (how & 1) {
        DO(cudaEventSynchronize(e));
        return;
    }
    for (;;) {
        cudaError_t err = cudaEventQuery(e);

        if (err == cudaSuccess)
            return;
        if (err != cudaErrorNotReady) {
            DO(err);
            return;
        }
        sched_yield();
    }
}

/* o comes after all that it names. */
static void keep_order(const struct rp_op *o, cudaStream_t s)
{
    unsigned how = o->how;

    for (int i = 0; i < o->dep_count; i++, how = how >> 3 | how << 13) {
        struct rp_op *before = &program.ops[o->deps[i]];

        while (!atomic_load_explicit(&before->submitted, memory_order_acquire))
            sched_yield();
        if (rp_is_host(before) || (!o->waits && before->stream == o->stream))
            continue;
        if (o->waits || how % 16 == 0)
            wait_on_host(before, how >> 4);
        else
            DO(cudaStreamWaitEvent(s, events[before->device][before - program.ops], 0));
    }
}

/* ---- operations ---- */

static void host_func(void *arg)
{
    const struct rp_op *o = arg;
    unsigned char *at = program.buffers[o->to].ptr + o->offset;

    for (unsigned i = 0; i < o->bytes; i++)
        at[i] = (unsigned char)(at[i] * 3 + o->value);
}

static void launch(cudaKernel_t kernel, void *at, unsigned value, unsigned threads, cudaStream_t s)
{
    void *args[] = {&at, &value};

    DO(cudaLaunchKernel((void *)kernel, (dim3){1, 1, 1}, (dim3){threads, 1, 1}, args, 0, s));
}

static void run_graph(const struct rp_op *o, unsigned char *at, cudaStream_t s)
{
    cudaStream_t c = capturing[o->thread][o->device];
    cudaGraph_t g = NULL;
    cudaGraphExec_t x = NULL;

    pthread_mutex_lock(&capture_lock);
    DO(cudaStreamBeginCapture(c, cudaStreamCaptureModeThreadLocal));
    DO(cudaMemsetAsync(at, (int)o->value & 0xff, o->bytes, c));
    launch(count, at, 0, 1, c);
    DO(cudaStreamEndCapture(c, &g));
    pthread_mutex_unlock(&capture_lock);
    DO(cudaGraphInstantiate(&x, g, 0));
    DO(cudaGraphLaunch(x, s));
    DO(cudaGraphExecDestroy(x));
    DO(cudaGraphDestroy(g));
}

static void run_spin(const struct rp_op *o, cudaStream_t s)
{
    unsigned *flag = &flags[o - program.ops];

    *flag = 0;
    launch(spin, flag, 0, 1, s);
    for (unsigned i = 0; i < o->how % 8; i++)
        sched_yield();
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void copy(const struct rp_op *o, unsigned char *at, cudaStream_t s)
{
    const struct rp_buffer *from = &program.buffers[o->from], *to = &program.buffers[o->to];

    if (from->memory == RP_DEVICE && to->memory == RP_DEVICE && o->how & 1)
        DO(cudaMemcpyPeerAsync(at, to->device, from->ptr + o->from_offset, from->device, o->bytes,
                               s));
    else
        DO(cudaMemcpyAsync(at, from->ptr + o->from_offset, o->bytes, cudaMemcpyDefault, s));
}

static void allocate(const struct rp_op *o, cudaStream_t s)
{
    struct rp_buffer *b = &program.buffers[o->to];
    void *p = NULL;

    if (o->how & 1)
        DO(cudaMallocAsync(&p, RP_BYTES, s));
    else
        DO(cudaMallocFromPoolAsync(&p, RP_BYTES, pools[o->device], s));
    b->ptr = p;
    if (p)
        DO(cudaMemsetAsync(p, (int)o->value & 0xff, RP_BYTES, s));
}

static void submit(struct rp_op *o, cudaStream_t s)
{
    unsigned char *base = o->to < 0 ? NULL : program.buffers[o->to].ptr;
    unsigned char *at = base ? base + o->offset : NULL;

    switch (o->kind) {
    case RP_FILL:
        DO(cudaMemsetAsync(at, (int)o->value & 0xff, o->bytes, s));
        break;
    case RP_FILL_2D:
        DO(cudaMemset2DAsync(at, 8, (int)o->value & 0xff, 8, o->bytes / 8, s));
        break;
    case RP_COPY:
        copy(o, at, s);
        break;
    case RP_STORE:
        launch(store, at, o->value, 1, s);
        break;
    case RP_COUNT:
        launch(count, at, 0, o->value, s);
        break;
    case RP_HOST_FUNC:
        DO(cudaLaunchHostFunc(s, host_func, o));
        break;
    case RP_GRAPH:
        run_graph(o, at, s);
        break;
    case RP_SPIN:
        run_spin(o, s);
        break;
    case RP_ALLOC:
        allocate(o, s);
        break;
    case RP_FREE:
        DO(cudaFreeAsync(base, s));
        break;
    default:
        break;
    }
    if (o->event)
        DO(cudaEventRecord(events[o->device][o - program.ops], s));
}

static void check(const struct rp_op *o)
{
    const unsigned char *at = program.buffers[o->to].ptr + o->offset;

    if (rp_hash(at, o->bytes) != o->expected)
        FAILED("operation %d: a thread sees other bytes in buffer %d\n", (int)(o - program.ops),
               o->to);
}

static void ask(const struct rp_op *o, cudaStream_t s)
{
    cudaError_t err = cudaSuccess;
    int least, greatest;
    size_t a, b;

    switch (o->how % 5) {
    case 0:
        err = cudaStreamQuery(s);
        break;
    case 1:
        err = cudaEventQuery(events[o->device][o->how % RP_OPS]);
        break;
    case 2:
        DO(cudaMemPoolTrimTo(pools[o->device], o->how));
        break;
    case 3:
        DO(cudaMemGetInfo(&a, &b));
        break;
    default:
        DO(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    }
    if (err != cudaErrorNotReady)
        DO(err);
}

static void on_host(struct rp_op *o, cudaStream_t s)
{
    switch (o->kind) {
    case RP_WRITE:
        host_func(o);
        break;
    case RP_CHECK:
        check(o);
        break;
    case RP_SYNC:
        if (o->how % 8) {
            DO(cudaStreamSynchronize(s));
            break;
        }
        pthread_mutex_lock(&capture_lock);
        DO(cudaDeviceSynchronize());
        pthread_mutex_unlock(&capture_lock);
        break;
    case RP_ASK:
        ask(o, s);
        break;
    default: /* RENEW */
        DO(cudaStreamDestroy(s));
        streams[o->thread][o->slot] = make_stream(o->slot);
    }
}

static void run(struct rp_op *o)
{
    cudaStream_t s = streams[o->thread][o->slot];

    if (o->device)
        DO(cudaSetDevice(o->device));
    keep_order(o, s);
    if (rp_is_host(o))
        on_host(o, s);
    else
        submit(o, s);
    atomic_store_explicit(&o->submitted, true, memory_order_release);
    if (o->device)
        DO(cudaSetDevice(0));
}

static void *thread_run(void *arg)
{
    int self = (int)(intptr_t)arg;

    make_streams(self);
    for (;;) {
        pthread_barrier_wait(&begin);
        if (over)
            return NULL;
        for (int i = 0; i < program.op_count; i++)
            if (program.ops[i].thread == self)
                run(&program.ops[i]);
        pthread_barrier_wait(&end);
    }
}

/* ---- comparing ---- */

static void explain(int buffer, unsigned at)
{
    for (int i = 0; i < program.op_count; i++) {
        const struct rp_op *o = &program.ops[i];

        if (o->to == buffer && at - o->offset < o->bytes)
            fprintf(stderr, "  %d: %s, thread %d, slot %d, device %d, from %d, value %u\n", i,
                    rp_kind_name(o->kind), o->thread, o->slot, o->device, o->from, o->value);
    }
}

static void compare(long done)
{
    unsigned char now[RP_BYTES];

    for (int d = program.devices - 1; d >= 0; d--) {
        DO(cudaSetDevice(d));
        DO(cudaDeviceSynchronize());
    }
    for (int i = 0; i < program.buffer_count; i++) {
        const struct rp_buffer *b = &program.buffers[i];
        unsigned at = 0;

        if (!b->live)
            continue;
        DO(cudaMemcpy(now, b->ptr, RP_BYTES, cudaMemcpyDefault));
        if (memcmp(now, b->want, RP_BYTES) == 0)
            continue;
        while (now[at] == b->want[at])
            at++;
        FAILED("after operation %ld: buffer %d (memory %d, device %d) has %u at %u, should %u\n",
               done, i, (int)b->memory, b->device, now[at], at, b->want[at]);
        explain(i, at);
    }
}

/* ---- start and end ---- */

static void make_buffers(void)
{
    for (int i = 0; i < program.buffer_count; i++) {
        struct rp_buffer *b = &program.buffers[i];
        void *p = NULL;

        DO(cudaSetDevice(b->device));
        if (b->memory == RP_DEVICE)
            DO(cudaMalloc(&p, RP_BYTES));
        else if (b->memory == RP_PINNED)
            DO(cudaMallocHost(&p, RP_BYTES));
        else if (b->memory == RP_MANAGED)
            DO(cudaMallocManaged(&p, RP_BYTES, cudaMemAttachGlobal));
        else if (b->memory == RP_PAGEABLE)
            p = malloc(RP_BYTES);
        b->ptr = p;
        if (p)
            DO(cudaMemcpy(p, b->want, RP_BYTES, cudaMemcpyDefault));
    }
    DO(cudaMallocHost((void **)&flags, sizeof *flags * RP_OPS));
}

static void make_devices(void)
{
    static const unsigned ways[] = {cudaEventDefault, cudaEventDisableTiming,
                                    cudaEventBlockingSync | cudaEventDisableTiming};

    for (int d = program.devices - 1; d >= 0; d--) {
        struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                         .location = {cudaMemLocationTypeDevice, d}};

        DO(cudaSetDevice(d));
        DO(cudaMemPoolCreate(&pools[d], &props));
        for (int i = 0; i < RP_OPS; i++)
            DO(cudaEventCreateWithFlags(&events[d][i], ways[i % 3]));
    }
}

static void make_kernels(void)
{
    cudaLibrary_t lib;

    DO(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    DO(cudaLibraryGetKernel(&store, lib, "store"));
    DO(cudaLibraryGetKernel(&count, lib, "count"));
    DO(cudaLibraryGetKernel(&spin, lib, "spin"));
}

int main(int argc, char **argv)
{
    long operations = argc > 1 ? atol(argv[1]) : 6000, done = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    int threads = argc > 3 ? atoi(argv[3]) : 4, devices = 0;
    pthread_t id[RP_THREADS_MAX];
    cudaStream_t shared;

    if (threads < 1 || threads > RP_THREADS_MAX)
        return 2;
    DO(cudaGetDeviceCount(&devices));
    rp_init(&program, seed, threads, devices < RP_DEVICES_MAX ? devices : RP_DEVICES_MAX);
    make_devices();
    make_kernels();
    make_buffers();
    DO(cudaSetDevice(0));
    shared = make_stream(RP_NONBLOCKING);
    pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        streams[i][RP_SHARED] = shared;
        pthread_create(&id[i], NULL, thread_run, (void *)(intptr_t)i);
    }
    while (deep_goes_on(done < operations) && !atomic_load(&failed)) {
        long left = operations - done;

        rp_round(&program, left > 0 && left < RP_OPS ? (int)left : RP_OPS);
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        done += program.op_count;
        compare(done);
    }
    over = true;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
    if (atomic_load(&failed))
        fprintf(stderr, "random %ld %llu %d: failed in the round that ended with operation %ld\n",
                operations, (unsigned long long)seed, threads, done);
    return atomic_load(&failed);
}
