/* Host functions and callbacks (oracle hostfunc_basic, hostfunc_inside): in stream order, on one
 * thread of Weir's, API calls inside are refused except those that only look at tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static int order[8], count;
static pthread_t threads[8];

static void note(void *arg)
{
    threads[count] = pthread_self();
    order[count++] = (int)(long)arg;
}

static cudaStream_t seen_stream;
static cudaError_t seen_status;

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *arg)
{
    seen_stream = stream;
    seen_status = status;
    note(arg);
}

static cudaError_t inside[6];

static void call_inside(void *arg)
{
    struct cudaDeviceProp prop;
    void *p;
    int n;

    (void)arg;
    inside[0] = cudaMalloc(&p, 4);
    inside[1] = cudaGetDevice(&n);
    inside[2] = cudaStreamQuery(cudaStreamLegacy);
    inside[3] = cudaDeviceSynchronize();
    inside[4] = cudaGetDeviceProperties(&prop, 0);
    cudaGetLastError();
    inside[5] = cudaGetLastError();
}

static void check_order(void)
{
    unsigned char *pinned;
    cudaStream_t s, other;
    cudaEvent_t e;

    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaLaunchHostFunc(s, note, (void *)1L));
    OK(cudaMemsetAsync(pinned, 5, 64, s));
    OK(cudaStreamAddCallback(s, callback, (void *)2L, 0));
    OK(cudaLaunchHostFunc(s, note, (void *)3L));
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(other, e, 0));
    OK(cudaLaunchHostFunc(other, note, (void *)4L));
    OK(cudaStreamSynchronize(other));
    CHECK(count == 4 && order[0] == 1 && order[1] == 2 && order[2] == 3 && order[3] == 4);
    CHECK(seen_stream == s && seen_status == cudaSuccess && pinned[63] == 5);
    CHECK(!pthread_equal(threads[0], pthread_self()));
    for (int i = 1; i < 4; i++)
        CHECK(pthread_equal(threads[0], threads[i]));
    count = 0;
    OK(cudaStreamAddCallback(0, callback, (void *)5L, 0));
    OK(cudaDeviceSynchronize());
    CHECK(seen_stream == 0 && count == 1);
    EXPECT(cudaLaunchHostFunc(s, NULL, NULL), cudaErrorInvalidValue);
    EXPECT(cudaStreamAddCallback(s, NULL, NULL, 0), cudaErrorInvalidValue);
    EXPECT(cudaStreamAddCallback(s, callback, NULL, 1), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(other));
}

static void check_inside(void)
{
    OK(cudaLaunchHostFunc(0, call_inside, NULL));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++)
        EXPECT(inside[i], cudaErrorNotPermitted);
    EXPECT(inside[4], cudaSuccess);
    EXPECT(inside[5], cudaSuccess);
    cudaGetLastError();
}

/* Destroying a busy stream neither waits nor cancels (ORD-009). */
static void check_destroy_busy(void)
{
    struct hold h;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    count = 0;
    hold_stream(&h, s);
    OK(cudaLaunchHostFunc(s, note, (void *)6L));
    OK(cudaStreamDestroy(s));
    EXPECT(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
    CHECK(count == 0);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    CHECK(count == 1 && order[0] == 6);
    cudaGetLastError();
}

int main(void)
{
    check_order();
    check_inside();
    check_destroy_busy();
    return CONFORM_END();
}
