/* Reports about errors after which the context is lost: a process for each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

/* An illegal access is reported by calls that have nothing to do with it. The stream's
 * synchronisation returns it; every later call does, in whatever stream and on whatever object; the
 * thread's last error is cleared by reading it, the context's is not. A reset succeeds, after which
 * the device is not to be had: oracle sticky_illegal.*. */
static void p53(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), s2 = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(0), made;
    unsigned *d, host = 0;
    void *p;

    OK(cudaMalloc((void **)&d, 4));
    launch_illegal((unsigned *)64, s);
    OK(cudaGetLastError()); /* the launch itself was good */
    EXPECT(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    EXPECT(cudaEventCreate(&made), cudaErrorIllegalAddress);
    EXPECT(cudaStreamQuery(s2), cudaErrorIllegalAddress);
    EXPECT(cudaMemcpy(&host, d, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    EXPECT(cudaEventRecord(e, s2), cudaErrorIllegalAddress);
    EXPECT(cudaFree(d), cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
    OK(cudaGetLastError());
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    EXPECT(cudaMalloc(&p, 4), cudaErrorDevicesUnavailable);
}

/* With CUDA_LAUNCH_BLOCKING=1 the launch waits for its kernel: the error is that launch's, and what
 * a good kernel wrote is there. Captured launches do not wait. */
static void p53_blocking(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    unsigned *pinned;
    cudaGraph_t g;

    OK(cudaMallocHost((void **)&pinned, 4));
    *pinned = 0;
    launch_fill(pinned, 1, 5, s);
    CHECK(*pinned == 5);
    OK(cudaStreamQuery(s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    launch_fill(pinned, 1, 6, s);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGetLastError());
    CHECK(*pinned == 5);
    launch_illegal((unsigned *)64, s);
    EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
}

static const struct report reports[] = {{"P53", p53}, {"P53-blocking", p53_blocking}, {NULL, NULL}};
REPORT_GROUP(fault);
