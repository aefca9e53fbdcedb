/* Several devices (oracle multi_*): handles act on their own device, events are bound to theirs,
 * waits go across, a copy between devices in a legacy stream is ordered with the blocking streams
 * of both (ORD-012), frees wait for the owner. Needs two devices: WEIR_DEVICES=2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static unsigned char *mem[2], *pinned;
static cudaStream_t blocking[2], nonblocking[2];

static void check_handles(void)
{
    unsigned char seen = 0;
    cudaEvent_t e0, e1;
    float ms;
    int device;

    OK(cudaSetDevice(0));
    OK(cudaStreamGetDevice(blocking[1], &device));
    CHECK(device == 1);
    /* current device 0, stream and memory of 1 */
    OK(cudaMemsetAsync(mem[1], 5, 16, blocking[1]));
    EXPECT(cudaMemsetAsync(mem[0], 5, 16, blocking[1]), cudaErrorInvalidValue);
    EXPECT(cudaMemset(mem[1], 5, 16), cudaErrorInvalidValue);
    OK(cudaMemcpyAsync(&seen, mem[1], 1, cudaMemcpyDeviceToHost, blocking[1]));
    CHECK(seen == 5);
    OK(cudaEventCreate(&e0));
    OK(cudaSetDevice(1));
    OK(cudaEventCreate(&e1));
    EXPECT(cudaEventRecord(e0, blocking[1]), cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventRecord(e0, 0), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(e0, blocking[0]));
    OK(cudaEventRecord(e1, blocking[1]));
    OK(cudaEventSynchronize(e0));
    OK(cudaEventSynchronize(e1));
    EXPECT(cudaEventElapsedTime(&ms, e0, e1), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(e0));
    OK(cudaEventDestroy(e1));
    OK(cudaSetDevice(0));
    cudaGetLastError();
}

static void check_waits_across(void)
{
    cudaEvent_t e;
    struct hold h;

    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    *pinned = 0;
    hold_stream(&h, nonblocking[0]);
    OK(cudaEventRecord(e, nonblocking[0]));
    OK(cudaStreamWaitEvent(nonblocking[1], e, 0));
    OK(cudaMemsetAsync(pinned, 1, 1, nonblocking[1]));
    CHECK(!wait_for_value(pinned, 1, 20));
    EXPECT(cudaStreamQuery(nonblocking[1]), cudaErrorNotReady);
    hold_release(&h);
    OK(cudaStreamSynchronize(nonblocking[1]));
    CHECK(*pinned == 1);
    OK(cudaEventDestroy(e));
}

/* A held stream, then a copy from 0 to 1 in the legacy stream of the current device: does it run?
 */
static void check_copy_order(cudaStream_t held, bool expected, int current)
{
    unsigned char value = 0;
    cudaEvent_t done;
    struct hold h;

    OK(cudaSetDevice(0));
    OK(cudaMemset(mem[0], 7, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    OK(cudaMemset(mem[1], 0, 64));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(current));
    hold_stream(&h, held);
    OK(cudaMemcpyPeerAsync(mem[1], 1, mem[0], 0, 64, 0));
    OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    OK(cudaEventRecord(done, 0));
    for (int i = 0; i < (expected ? 2000 : 15) && cudaEventQuery(done) == cudaErrorNotReady; i++)
        sleep_ms(1);
    EXPECT(cudaEventQuery(done), expected ? cudaSuccess : cudaErrorNotReady);
    if (!expected) {
        /* later work of both devices' blocking streams waits for the copy */
        *pinned = 0;
        OK(cudaMemsetAsync(pinned, 1, 1, held == blocking[0] ? blocking[1] : blocking[0]));
        CHECK(!wait_for_value(pinned, 1, 15));
    }
    hold_release(&h);
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        OK(cudaDeviceSynchronize());
    }
    OK(cudaEventDestroy(done));
    OK(cudaMemcpy(&value, mem[1], 1, cudaMemcpyDeviceToHost));
    CHECK(value == 7);
}

static cudaError_t synchronize(void *device)
{
    cudaError_t err = cudaSetDevice((int)(long)device);

    return err != cudaSuccess ? err : cudaDeviceSynchronize();
}

static void check_device_sync(void)
{
    struct hold h;

    hold_stream(&h, nonblocking[0]);
    CHECK(!blocks_until_released(&h, synchronize, (void *)1L, 2000));
    hold_stream(&h, nonblocking[0]);
    CHECK(blocks_until_released(&h, synchronize, (void *)0L, 20));
}

static void check_peer_access(void)
{
    int can = 0;

    OK(cudaSetDevice(0));
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    CHECK(can == 0);
    EXPECT(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    OK(cudaMemset(mem[1], 3, 16));
    OK(cudaDeviceSynchronize());
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    EXPECT(cudaDeviceEnablePeerAccess(9, 0), cudaErrorInvalidDevice);
    EXPECT(cudaMemcpyPeer(mem[1], 1, mem[0], 9, 4), cudaErrorInvalidDevice);
    EXPECT(cudaMemcpyPeer(mem[1], 1, pinned - 0, 0, 4), cudaSuccess);
    cudaGetLastError();
}

static void check_reset(void)
{
    cudaStream_t old = nonblocking[1];
    struct cudaPointerAttributes attr;
    void *p;

    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    EXPECT(cudaFree(mem[1]), cudaErrorInvalidValue);
    EXPECT(cudaStreamQuery(old), cudaErrorContextIsDestroyed);
    OK(cudaPointerGetAttributes(&attr, mem[1]));
    CHECK(attr.type == cudaMemoryTypeUnregistered);
    OK(cudaMalloc(&p, 4096));
    OK(cudaMemset(p, 1, 4096));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(p));
    /* the other device has noticed nothing */
    OK(cudaSetDevice(0));
    OK(cudaMemset(mem[0], 1, 64));
    OK(cudaStreamSynchronize(blocking[0]));
    OK(cudaDeviceSynchronize());
}

int main(void)
{
    int count = 0;

    OK(cudaGetDeviceCount(&count));
    if (count < 2) {
        printf("needs two devices\n");
        return 77;
    }
    for (int d = 1; d >= 0; d--) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc((void **)&mem[d], 4096));
        OK(cudaStreamCreate(&blocking[d]));
        OK(cudaStreamCreateWithFlags(&nonblocking[d], cudaStreamNonBlocking));
    }
    OK(cudaMallocHost((void **)&pinned, 4096));
    check_handles();
    check_waits_across();
    for (int current = 0; current < 2; current++) {
        check_copy_order(blocking[0], false, current);
        check_copy_order(blocking[1], false, current);
        check_copy_order(nonblocking[0], true, current);
    }
    OK(cudaSetDevice(0));
    check_device_sync();
    check_peer_access();
    check_reset();
    return CONFORM_END();
}
