/* Events in all their states (ORD-020 ff.): never recorded counts as complete; a record is a
 * snapshot; a wait keeps the record that was the last when it was called; a pending event cannot be
 * timed; destroying does not wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static unsigned char *pinned;
static cudaStream_t a, b;

static void check_states(unsigned flags)
{
    cudaEvent_t e;
    struct hold h;

    OK(cudaEventCreateWithFlags(&e, flags));
    OK(cudaEventQuery(e));
    OK(cudaEventSynchronize(e));
    hold_stream(&h, a);
    OK(cudaEventRecord(e, a));
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    OK(cudaEventRecord(e, b)); /* recorded again, in an idle stream */
    OK(cudaEventSynchronize(e));
    OK(cudaEventQuery(e));
    OK(cudaEventRecord(e, a));
    EXPECT(cudaEventQuery(e), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaEventSynchronize(e));
    OK(cudaEventQuery(e));
    OK(cudaEventDestroy(e));
    EXPECT(cudaEventQuery(e), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventDestroy(e), cudaErrorInvalidResourceHandle);
}

static void check_waits(void)
{
    cudaEvent_t e;
    struct hold h;

    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    /* a wait on an event that was never recorded is nothing */
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(pinned, 1, 1, b));
    CHECK(wait_for_value(pinned, 1, 2000));
    /* the wait keeps its record although the event is recorded again */
    hold_stream(&h, a);
    OK(cudaEventRecord(e, a));
    OK(cudaStreamWaitEvent(b, e, 0));
    OK(cudaMemsetAsync(pinned, 2, 1, b));
    OK(cudaEventRecord(e, cudaStreamPerThread));
    OK(cudaEventSynchronize(e));
    CHECK(!wait_for_value(pinned, 2, 20));
    EXPECT(cudaStreamQuery(b), cudaErrorNotReady);
    /* destroying the event changes nothing */
    OK(cudaEventDestroy(e));
    CHECK(!wait_for_value(pinned, 2, 10));
    hold_release(&h);
    OK(cudaStreamSynchronize(b));
    CHECK(*pinned == 2);
    OK(cudaDeviceSynchronize());
}

static void check_elapsed(void)
{
    cudaEvent_t start, end, untimed;
    float ms = -7, back;
    struct hold h;

    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    EXPECT(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(start, a));
    hold_stream(&h, a);
    OK(cudaEventRecord(end, a));
    EXPECT(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
    CHECK(ms == -7);
    sleep_ms(20);
    hold_release(&h);
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    CHECK(ms >= 19 && ms < 2000);
    OK(cudaEventElapsedTime(&back, end, start));
    CHECK(back == -ms);
    OK(cudaEventElapsedTime(&back, end, end));
    CHECK(back == 0);
    OK(cudaEventRecord(untimed, a));
    EXPECT(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventElapsedTime(NULL, start, end), cudaErrorInvalidValue);
    EXPECT(cudaEventElapsedTime(&ms, NULL, end), cudaErrorInvalidResourceHandle);
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(untimed));
}

static void check_arguments(void)
{
    static const unsigned good[] = {0, 1, 2, 3, 6, 7}, bad[] = {4, 5, 8, 16, 255};
    cudaEvent_t e;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OK(cudaEventCreateWithFlags(&e, good[i]));
        OK(cudaEventDestroy(e));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(cudaEventCreateWithFlags(&e, bad[i]), cudaErrorInvalidValue);
    EXPECT(cudaEventCreate(NULL), cudaErrorInvalidValue);
    EXPECT(cudaEventRecord(NULL, a), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventQuery(NULL), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventSynchronize(NULL), cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamWaitEvent(a, NULL, 0), cudaErrorInvalidResourceHandle);
    OK(cudaEventCreate(&e));
    EXPECT(cudaStreamWaitEvent(a, e, 1), cudaErrorIllegalState);
    EXPECT(cudaStreamWaitEvent(a, e, 2), cudaErrorInvalidValue);
    EXPECT(cudaEventRecordWithFlags(e, a, 1), cudaErrorIllegalState);
    EXPECT(cudaEventRecordWithFlags(e, a, 2), cudaErrorInvalidValue);
    OK(cudaEventDestroy(e));
    cudaGetLastError();
}

int main(void)
{
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&pinned, 4096));
    *pinned = 0;
    for (unsigned flags = 0; flags < 4; flags++)
        check_states(flags);
    check_waits();
    check_elapsed();
    check_arguments();
    return CONFORM_END();
}
