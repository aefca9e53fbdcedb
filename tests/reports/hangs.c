/* Reports about programs that stood still. None may here: report.c ends what does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static pthread_mutex_t user_lock = PTHREAD_MUTEX_INITIALIZER;
static int under_lock;

static void take_user_lock(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&user_lock);
    under_lock++;
    pthread_mutex_unlock(&user_lock);
}

/* A callback wants the interpreter's lock while another thread holds it inside a CUDA call. Weir
 * holds no lock of its own while a host function runs, so that only a thread which keeps the lock
 * while it waits for the stream hangs by its own doing. */
static void p23(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    int wanted = 0;

    under_lock = 0;
    for (int keep = 0; keep < 2; keep++) {
        for (int i = 0; i < 50; i++) {
            void *p = NULL;
            cudaError_t e;

            pthread_mutex_lock(&user_lock);
            if (!keep)
                pthread_mutex_unlock(&user_lock);
            OK(cudaLaunchHostFunc(s, take_user_lock, NULL));
            wanted++;
            e = cudaStreamQuery(s);
            CHECK(e == cudaErrorNotReady || (!keep && e == cudaSuccess));
            OK(cudaMalloc(&p, 256));
            if (keep)
                pthread_mutex_unlock(&user_lock);
            OK(cudaStreamSynchronize(s));
            OK(cudaFree(p));
        }
    }
    CHECK(under_lock == wanted);
    OK(cudaStreamDestroy(s));
}

static void *copy_flag(void *arg)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    unsigned *pinned;

    OK(cudaMallocHost((void **)&pinned, 4));
    *pinned = 1;
    OK(cudaMemcpyAsync(arg, pinned, 4, cudaMemcpyHostToDevice, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(s));
    return NULL;
}

/* A kernel that waits for a flag, and another one that is launched for the first time meanwhile:
 * loading it must not wait for the first. (reports.sh sets CUDA_MODULE_LOADING both ways.) */
static void p26(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), other = make_stream(cudaStreamNonBlocking);
    unsigned *d;
    pthread_t t;

    OK(cudaMalloc((void **)&d, 12));
    OK(cudaMemset(d, 0, 12));
    OK(cudaDeviceSynchronize());
    launch_spin(d, d + 1, 1, s);
    launch_first_use(d + 2, other);
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(other));
    EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
    pthread_create(&t, NULL, copy_flag, d);
    OK(cudaStreamSynchronize(s));
    pthread_join(t, NULL);
    CHECK(read_unsigned(d + 2) == 77);
    OK(cudaFree(d));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(other));
}

struct beside {
    cudaStream_t busy;
    unsigned *pinned, *device;
};

static void *calls_beside(void *arg)
{
    struct beside *b = arg;
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    unsigned *p;

    OK(cudaMallocAsync((void **)&p, 4096, s));
    OK(cudaMemcpyAsync(p, b->pinned, 4096, cudaMemcpyHostToDevice, s));
    launch_add(p, 1024, 1, s);
    OK(cudaGetLastError());
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(b->busy, e, 0));
    OK(cudaStreamWaitEvent(s, e, 0));
    EXPECT(cudaStreamQuery(b->busy), cudaErrorNotReady);
    OK(cudaMemcpyAsync(b->device, p, 4096, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
    return NULL;
}

/* Calls that are said to be asynchronous, and the making of a stream, stand still while a kernel
 * waits for the host. All of them come back here before the kernel is told to end. */
static void p28(void)
{
    struct beside b = {.busy = make_stream(cudaStreamNonBlocking)};
    struct spinning k;
    pthread_t t;

    OK(cudaMallocHost((void **)&b.pinned, 4096));
    for (int i = 0; i < 1024; i++)
        b.pinned[i] = 6;
    OK(cudaMalloc((void **)&b.device, 4096));
    spin_begin(&k, b.busy);
    pthread_create(&t, NULL, calls_beside, &b);
    pthread_join(t, NULL);
    EXPECT(cudaStreamQuery(b.busy), cudaErrorNotReady);
    spin_end(&k);
    OK(cudaStreamSynchronize(b.busy));
    CHECK(read_unsigned(b.device) == 7 && read_unsigned(b.device + 1023) == 7);
    spin_drop(&k);
    OK(cudaFreeHost(b.pinned));
    OK(cudaFree(b.device));
    OK(cudaStreamDestroy(b.busy));
}

static const struct report reports[] = {{"P23", p23}, {"P26", p26}, {"P28", p28}, {NULL, NULL}};
REPORT_GROUP(hangs);
