/* Reports about errors: whose are they, and how long do they stay? Those that end the context run
 * in a process of their own (the group "fault").
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static void *other_thread(void *out)
{
    *(cudaError_t *)out = cudaGetLastError();
    return NULL;
}

/* A harmless error that was dealt with is blamed on the next launch: success does not clear a
 * thread's last error, reading it does, peeking does not, and each thread has its own. A status
 * such as 600 never gets there. Oracle last_error.*. */
static void p54(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaError_t elsewhere = cudaErrorUnknown;
    cudaEvent_t e = make_event(0);
    pthread_t t;
    unsigned *d;
    struct hold h;
    void *p;

    OK(cudaMalloc((void **)&d, 4));
    EXPECT(
        cudaFuncSetAttribute(kernel_fill(), cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
        cudaErrorInvalidValue);
    launch_fill(d, 1, 5, s); /* all is well with this one */
    pthread_create(&t, NULL, other_thread, &elsewhere);
    pthread_join(t, NULL);
    CHECK(elsewhere == cudaSuccess);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT(cudaGetLastError(), cudaSuccess);
    OK(cudaStreamSynchronize(s));
    CHECK(read_unsigned(d) == 5);

    EXPECT(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
    EXPECT(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    OK(cudaStreamQuery(s));
    EXPECT(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaGetLastError());

    hold_stream(&h, s);
    OK(cudaEventRecord(e, s));
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    OK(cudaGetLastError());
    hold_release(&h);
    OK(cudaFree(d));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
}

static const struct report reports[] = {{"P54", p54}, {NULL, NULL}};
REPORT_GROUP(errors);
