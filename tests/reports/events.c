/* Reports about events and times.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

typedef int (*driver_elapsed_fn)(float *ms, cudaEvent_t start, cudaEvent_t end);

/* "Invalid handle" of cudaEventElapsedTime, and three causes that nobody can tell apart; and a test
 * that took a wait for a never recorded event to block for ever. Each cause by itself, with the
 * driver's call beside the runtime's: their numbers are the same. ORD-023; oracle event_elapsed.*.
 */
static void p44(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t a = make_event(0), b = make_event(0), never = make_event(0), gone = make_event(0),
                untimed = make_event(cudaEventDisableTiming), pending = make_event(0);
    const struct {
        cudaEvent_t start, end;
        cudaError_t wanted;
    } pairs[] = {
        {a, b, cudaSuccess},
        {a, never, cudaErrorInvalidResourceHandle},
        {never, b, cudaErrorInvalidResourceHandle},
        {a, untimed, cudaErrorInvalidResourceHandle},
        {untimed, untimed, cudaErrorInvalidResourceHandle},
        {a, pending, cudaErrorNotReady},
        {NULL, b, cudaErrorInvalidResourceHandle},
        {a, NULL, cudaErrorInvalidResourceHandle},
    };
    enum cudaDriverEntryPointQueryResult found;
    driver_elapsed_fn driver_elapsed = NULL;
    struct hold h;
    float ms = -7;

    OK(cudaGetDriverEntryPointByVersion("cuEventElapsedTime", (void **)&driver_elapsed, 13000,
                                        cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess && driver_elapsed);
    OK(cudaEventRecord(a, s));
    OK(cudaEventRecord(untimed, s));
    OK(cudaEventRecord(b, s));
    OK(cudaStreamSynchronize(s));
    hold_stream(&h, s);
    OK(cudaEventRecord(pending, s));
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        ms = -7;
        EXPECT(cudaEventElapsedTime(&ms, pairs[i].start, pairs[i].end), pairs[i].wanted);
        CHECK(pairs[i].wanted == cudaSuccess ? ms >= 0 : ms == -7);
        if (driver_elapsed)
            CHECK(driver_elapsed(&ms, pairs[i].start, pairs[i].end) == (int)pairs[i].wanted);
    }
    hold_release(&h);
    OK(cudaStreamWaitEvent(s, never, 0));
    OK(cudaEventSynchronize(never));
    OK(cudaStreamSynchronize(s));
    cudaGetLastError();
    OK(cudaEventDestroy(gone));
    CHECK(cudaEventElapsedTime(&ms, a, gone) != cudaSuccess); /* a GPU crashes here */
    cudaGetLastError();
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(never));
    OK(cudaEventDestroy(untimed));
    OK(cudaEventDestroy(pending));
    OK(cudaStreamDestroy(s));
}

/* "Device not ready", taken for a fault of the device, and found later in another check of the last
 * error. 600 is a status: it is not the last error, and nothing fails after it. Oracle
 * event_elapsed.end_pending, last_error.*. */
static void p45(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t a = make_event(0), b = make_event(0);
    unsigned *d;
    struct hold h;
    float ms = -1;

    OK(cudaMalloc((void **)&d, 4));
    OK(cudaEventRecord(a, s));
    hold_stream(&h, s);
    OK(cudaEventRecord(b, s));
    EXPECT(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
    for (int i = 0; i < 100; i++) {
        EXPECT(cudaEventQuery(b), cudaErrorNotReady);
        EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
    }
    EXPECT(cudaPeekAtLastError(), cudaSuccess);
    launch_fill(d, 1, 5, s);
    OK(cudaGetLastError());
    hold_release(&h);
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    CHECK(ms > 0);
    OK(cudaStreamSynchronize(s));
    CHECK(read_unsigned(d) == 5);
    OK(cudaFree(d));
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaStreamDestroy(s));
}

static const struct report reports[] = {{"P44", p44}, {"P45", p45}, {NULL, NULL}};
REPORT_GROUP(events);
