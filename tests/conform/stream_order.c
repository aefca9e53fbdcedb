/* Default stream rules (ORD-003 to ORD-008): hold stream i, submit to stream j; does it run before
 * the release? Expected as on hardware: legacy and blocking streams wait for each other,
 * non-blocking ones for nobody, blocking ones not among themselves. Copies and memsets as probes;
 * events and queries beside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

enum { LEGACY, PER_THREAD, BLOCKING1, BLOCKING2, NONBLOCKING, KINDS };
static const char *const names[KINDS] = {"legacy", "per-thread", "blocking1", "blocking2",
                                         "non-blocking"};

static cudaStream_t streams[KINDS];
static unsigned char *pinned;

static bool runs_while_held(int held, int probe)
{
    if (held == probe)
        return false;
    if (held == NONBLOCKING || probe == NONBLOCKING)
        return true;
    return held != LEGACY && probe != LEGACY;
}

static void check_pair(int held, int probe, int value)
{
    bool expected = runs_while_held(held, probe), ran;
    cudaEvent_t event;
    struct hold h;

    OK(cudaEventCreateWithFlags(&event, value & 1 ? cudaEventDisableTiming : cudaEventDefault));
    hold_stream(&h, streams[held]);
    OK(cudaMemsetAsync(pinned, value, 1, streams[probe]));
    OK(cudaEventRecord(event, streams[probe]));
    ran = wait_for_value(pinned, (unsigned char)value, expected ? 2000 : 20);
    if (ran != expected) {
        fprintf(stderr, "held %s: work in %s %s\n", names[held], names[probe],
                ran ? "runs" : "waits");
        conform_failures++;
    }
    if (!expected)
        EXPECT(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT(cudaStreamQuery(streams[held]), cudaErrorNotReady);
    EXPECT(cudaGetLastError(), cudaSuccess); /* not ready is no error to remember */
    hold_release(&h);
    OK(cudaEventSynchronize(event));
    CHECK(*pinned == value);
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(event));
}

/* Chains over the legacy stream, as in the oracle's order_sequences. */
static void check_sequences(void)
{
    cudaEvent_t event;
    struct hold h;

    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    /* Held B1, an event record in legacy, then B2: the record is enough to make B2 wait (ORD-007).
     */
    *pinned = 0;
    hold_stream(&h, streams[BLOCKING1]);
    OK(cudaEventRecord(event, cudaStreamLegacy));
    OK(cudaMemsetAsync(pinned, 7, 1, streams[BLOCKING2]));
    CHECK(!wait_for_value(pinned, 7, 20));
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    CHECK(*pinned == 7);
    /* Without legacy work B2 runs. */
    hold_stream(&h, streams[BLOCKING1]);
    OK(cudaMemsetAsync(pinned, 8, 1, streams[BLOCKING2]));
    CHECK(wait_for_value(pinned, 8, 2000));
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    /* Held N, legacy waits for its event, B2 waits for legacy. */
    hold_stream(&h, streams[NONBLOCKING]);
    OK(cudaEventRecord(event, streams[NONBLOCKING]));
    OK(cudaStreamWaitEvent(cudaStreamLegacy, event, 0));
    OK(cudaMemsetAsync(pinned, 9, 1, streams[BLOCKING2]));
    CHECK(!wait_for_value(pinned, 9, 20));
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    CHECK(*pinned == 9);
    OK(cudaEventDestroy(event));
}

int main(void)
{
    OK(cudaStreamCreate(&streams[BLOCKING1]));
    OK(cudaStreamCreateWithFlags(&streams[BLOCKING2], cudaStreamDefault));
    OK(cudaStreamCreateWithFlags(&streams[NONBLOCKING], cudaStreamNonBlocking));
    streams[LEGACY] = cudaStreamLegacy;
    streams[PER_THREAD] = cudaStreamPerThread;
    OK(cudaMallocHost((void **)&pinned, 4096));
    *pinned = 0;
    for (int held = 0; held < KINDS; held++) {
        for (int probe = 0; probe < KINDS; probe++)
            check_pair(held, probe, 1 + held * KINDS + probe);
    }
    check_sequences();
    return CONFORM_END();
}
