/* The default stream's traps. A kernel waits at a gate in some stream until the host opens it; meanwhile another kernel is
 * launched elsewhere, and the program looks whether it got through. Nothing here depends on speed.
 *
 * The legacy default stream (stream 0) waits for all blocking streams of the device and they wait for it; streams made
 * with cudaStreamNonBlocking take no part; the per-thread default stream is a blocking stream of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

__global__ void wait_at(const volatile int *gate)
{
    while (!*gate)
        ;
}

__global__ void mark(int *counter)
{
    atomicAdd(counter, 1);
}

static volatile int *gate;
static int *device_gate, *counter, expected_marks, failures;

/* Is a kernel in `second` held back by one that still runs in `first`? */
static void look(const char *what, cudaStream_t first, cudaStream_t second, bool must_wait)
{
    *gate = 0;
    wait_at<<<1, 1, 0, first>>>(device_gate);
    CHECK(cudaGetLastError());
    mark<<<1, 1, 0, second>>>(counter);
    CHECK(cudaGetLastError());
    expected_marks++;

    cudaError_t state = cudaErrorNotReady;
    for (int tries = 0; tries < (must_wait ? 30 : 2000) && state == cudaErrorNotReady; tries++) {
        sleep_ms(1);
        state = cudaStreamQuery(second);
    }
    if (state != cudaErrorNotReady)
        CHECK(state);
    const bool waited = state == cudaErrorNotReady, ok = waited == must_wait;
    printf("%-58s %-8s %s\n", what, waited ? "waits" : "runs", ok ? "" : "UNEXPECTED");
    failures += !ok;

    *gate = 1;
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    CHECK(cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer((void **)&device_gate, (void *)gate, 0));
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));

    /* Load both kernels first: loading may synchronise, which at a closed gate would never end. */
    *gate = 1;
    wait_at<<<1, 1>>>(device_gate);
    mark<<<1, 1>>>(counter);
    expected_marks = 1;
    CHECK(cudaDeviceSynchronize());

    cudaStream_t blocking, other, non_blocking;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaStreamCreateWithFlags(&non_blocking, cudaStreamNonBlocking));

    look("legacy default stream behind a blocking stream", blocking, cudaStreamLegacy, true);
    look("blocking stream behind the legacy default stream", cudaStreamLegacy, blocking, true);
    look("legacy default stream beside a non-blocking stream", non_blocking, cudaStreamLegacy, false);
    look("non-blocking stream beside the legacy default stream", cudaStreamLegacy, non_blocking, false);
    look("blocking stream beside another blocking stream", blocking, other, false);
    look("per-thread default stream beside a blocking stream", blocking, cudaStreamPerThread, false);
    look("per-thread default stream behind the legacy one", cudaStreamLegacy, cudaStreamPerThread, true);
    look("legacy default stream behind the per-thread one", cudaStreamPerThread, cudaStreamLegacy, true);

    int marks;
    CHECK(cudaMemcpy(&marks, counter, sizeof marks, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(non_blocking));
    CHECK(cudaFree(counter));
    CHECK(cudaFreeHost((void *)gate));
    const bool ok = !failures && marks == expected_marks;
    printf("RESULT %s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
