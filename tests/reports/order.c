/* Reports of wrong results for want of a wait: the right forms are right each time. What is wrong
 * in the others is for `weir check` to say.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

enum { ROUNDS = 20 };

/* A synchronous copy from malloc's memory, a kernel in a non-blocking stream behind it, and now and
 * then old data: the call may come back when the source is staged, and the rest belongs to the
 * legacy stream. Each of these repairs it. ORD-061, ORD-062, ORD-005. */
static void p12(void)
{
    enum { LEGACY_WAIT, SAME_STREAM, BLOCKING, PINNED, FORMS };
    const size_t bytes = 2 << 20, n = bytes / 4;
    unsigned *pageable = malloc(bytes), *pinned, *d, *bad;
    cudaStream_t s = make_stream(cudaStreamNonBlocking), blocking = make_stream(cudaStreamDefault);

    OK(cudaMallocHost((void **)&pinned, bytes));
    OK(cudaMalloc((void **)&d, bytes));
    OK(cudaMalloc((void **)&bad, 4));
    OK(cudaMemset(bad, 0, 4));
    for (int form = 0; form < FORMS; form++) {
        unsigned *source = form == PINNED ? pinned : pageable;
        cudaStream_t in = form == BLOCKING ? blocking : s;

        for (unsigned i = 0; i < ROUNDS; i++) {
            size_t part = i % 2 ? n : 16384;

            for (size_t k = 0; k < part; k++)
                source[k] = i;
            if (form == SAME_STREAM)
                OK(cudaMemcpyAsync(d, source, part * 4, cudaMemcpyHostToDevice, in));
            else
                OK(cudaMemcpy(d, source, part * 4, cudaMemcpyHostToDevice));
            if (form == LEGACY_WAIT)
                OK(cudaStreamSynchronize(0));
            launch_compare(d, part, i, bad, in);
            OK(cudaStreamSynchronize(in)); /* before the target is written again */
        }
    }
    CHECK(read_unsigned(bad) == 0);
    free(pageable);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
    OK(cudaFree(bad));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(blocking));
}

/* The faulty form, with copies as late as the rules allow (weir run --late-dma): the kernel sees
 * what was there before, and a wait for the legacy stream repairs it. */
static void p12_late(void)
{
    enum { N = 16384 };
    unsigned *source = malloc(N * 4), *d, *bad;
    cudaStream_t s = make_stream(cudaStreamNonBlocking);

    OK(cudaMalloc((void **)&d, N * 4));
    OK(cudaMalloc((void **)&bad, 8));
    OK(cudaMemset(d, 0, N * 4));
    OK(cudaMemset(bad, 0, 8));
    OK(cudaDeviceSynchronize());
    for (int repaired = 0; repaired < 2; repaired++) {
        for (int i = 0; i < N; i++)
            source[i] = 7 + (unsigned)repaired;
        OK(cudaMemcpy(d, source, N * 4, cudaMemcpyHostToDevice));
        if (repaired)
            OK(cudaStreamSynchronize(0));
        launch_compare(d, N, 7 + (unsigned)repaired, bad + repaired, s);
        OK(cudaDeviceSynchronize());
    }
    CHECK(read_unsigned(bad) == N);
    CHECK(read_unsigned(bad + 1) == 0);
    free(source);
    OK(cudaFree(d));
    OK(cudaFree(bad));
    OK(cudaStreamDestroy(s));
}

static const struct report late_reports[] = {{"P12-late", p12_late}, {NULL, NULL}};
const struct report_group report_late = {"late", late_reports, &conform_failures};

/* The host reads pinned memory behind an asynchronous copy and sees the step before: an event
 * behind the copy tells when it may. One recorded in front of the copy tells nothing: it is
 * complete while the copy is not. A copy into pageable memory is done when the call comes back, as
 * measured. ORD-020, ORD-044, ORD-069. */
static void p13(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming), early = make_event(cudaEventDisableTiming);
    unsigned *pinned, *d, pageable = 0;
    struct hold h;

    OK(cudaMallocHost((void **)&pinned, 4));
    OK(cudaMalloc((void **)&d, 4));
    *pinned = 1000;
    for (unsigned i = 0; i < ROUNDS; i++) {
        launch_fill(d, 1, i, s);
        OK(cudaMemcpyAsync(pinned, d, 4, cudaMemcpyDeviceToHost, s));
        OK(cudaEventRecord(e, s));
        OK(cudaEventSynchronize(e));
        CHECK(*pinned == i);
        launch_fill(d, 1, i + 500, s);
        OK(cudaMemcpyAsync(&pageable, d, 4, cudaMemcpyDeviceToHost, s));
        CHECK(pageable == i + 500);
    }
    OK(cudaEventRecord(early, s));
    hold_stream(&h, s);
    OK(cudaMemcpyAsync(pinned, d, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaEventSynchronize(early));
    CHECK(*pinned == ROUNDS - 1); /* still the old one */
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    CHECK(*pinned == ROUNDS - 1 + 500);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(d));
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(early));
    OK(cudaStreamDestroy(s));
}

/* A cache hands a block to its next user while a side stream still copies it out. Waiting for an
 * event of the side stream repairs it; so does freeing in order. ORD-021, ORD-028. */
static void p15(void)
{
    enum { N = 1 << 16 };
    cudaStream_t main_stream = make_stream(cudaStreamNonBlocking),
                 side = make_stream(cudaStreamNonBlocking);
    cudaEvent_t written = make_event(cudaEventDisableTiming),
                copied = make_event(cudaEventDisableTiming);
    unsigned *pinned, wrong = 0;
    struct hold h;

    OK(cudaMallocHost((void **)&pinned, N * 4));
    for (int async = 0; async < 2; async++) {
        unsigned *x, *again;

        if (async)
            OK(cudaMallocAsync((void **)&x, N * 4, main_stream));
        else
            OK(cudaMalloc((void **)&x, N * 4));
        launch_fill(x, N, 7, main_stream);
        OK(cudaEventRecord(written, main_stream));
        OK(cudaStreamWaitEvent(side, written, 0));
        hold_stream(&h, side); /* the copy is slow */
        OK(cudaMemcpyAsync(pinned, x, N * 4, cudaMemcpyDeviceToHost, side));
        OK(cudaEventRecord(copied, side));
        OK(cudaStreamWaitEvent(main_stream, copied, 0));
        again = x;
        if (async) {
            OK(cudaFreeAsync(x, main_stream));
            OK(cudaMallocAsync((void **)&again, N * 4, main_stream));
            CHECK(again == x);
        }
        launch_fill(again, N, 0x7fc00000, main_stream); /* NaN */
        EXPECT(cudaStreamQuery(main_stream), cudaErrorNotReady);
        hold_release(&h);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < N; i++)
            wrong += pinned[i] != 7;
        if (async)
            OK(cudaFreeAsync(again, main_stream));
        else
            OK(cudaFree(x));
    }
    CHECK(wrong == 0);
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(main_stream));
    OK(cudaStreamDestroy(side));
    OK(cudaEventDestroy(written));
    OK(cudaEventDestroy(copied));
}

/* One event for a barrier over several streams orders the last one only: each record takes the
 * place of the one before, and all calls succeed. With an event for each it is a barrier. ORD-022.
 */
static void p18(void)
{
    cudaStream_t s1 = make_stream(cudaStreamNonBlocking), s2 = make_stream(cudaStreamNonBlocking),
                 s3 = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming), e2 = make_event(cudaEventDisableTiming);
    struct hold h;

    hold_stream(&h, s1);
    OK(cudaEventRecord(e, s1));
    OK(cudaEventRecord(e, s2));
    OK(cudaStreamWaitEvent(s3, e, 0));
    OK(cudaStreamSynchronize(s3)); /* s1 is held: the first record is lost */
    OK(cudaEventRecord(e, s1));
    OK(cudaEventRecord(e2, s2));
    OK(cudaStreamWaitEvent(s3, e, 0));
    OK(cudaStreamWaitEvent(s3, e2, 0));
    EXPECT(cudaStreamQuery(s3), cudaErrorNotReady);
    OK(cudaStreamSynchronize(s2));
    EXPECT(cudaStreamQuery(s3), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaStreamSynchronize(s3));
    OK(cudaStreamDestroy(s1));
    OK(cudaStreamDestroy(s2));
    OK(cudaStreamDestroy(s3));
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(e2));
}

static const struct report reports[] = {
    {"P12", p12}, {"P13", p13}, {"P15", p15}, {"P18", p18}, {NULL, NULL}};
REPORT_GROUP(order);
