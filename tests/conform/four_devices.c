/* Four devices: peer access is of one direction of one pair each; copies go round through all of
 * them, ordered by events; attributes of pairs. Rules: ORD-011, ORD-021. Needs four devices.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"
#include "kernels.h"

enum { DEVICES = 4, WORDS = 1000, ROUNDS = 25 };

static unsigned *memory[DEVICES];
static cudaKernel_t store;

static void store_at(int device, unsigned *at, unsigned value)
{
    void *args[] = {&at, &value};

    OK(cudaSetDevice(device));
    OK(cudaLaunchKernel((void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, 0));
}

static void pairs(void)
{
    for (int a = 0; a < DEVICES; a++) {
        for (int b = 0; b < DEVICES; b++) {
            int can = -1, value = -1;

            OK(cudaDeviceCanAccessPeer(&can, a, b));
            CHECK(can == (a != b));
            if (a == b)
                continue;
            OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, a, b));
            CHECK(value == 1);
            OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, a, b));
            CHECK(value >= 0);
        }
    }
    EXPECT(cudaDeviceGetP2PAttribute(&(int){0}, cudaDevP2PAttrAccessSupported, 0, DEVICES),
           cudaErrorInvalidDevice);
    EXPECT(cudaDeviceCanAccessPeer(&(int){0}, DEVICES, 0), cudaErrorInvalidDevice);
}

/* Each direction of each pair is on its own. */
static void access_by_direction(void)
{
    for (int a = 0; a < DEVICES; a++) {
        OK(cudaSetDevice(a));
        for (int b = 0; b < DEVICES; b++) {
            if (a == b)
                continue;
            EXPECT(cudaDeviceDisablePeerAccess(b), cudaErrorPeerAccessNotEnabled);
            EXPECT(cudaDeviceEnablePeerAccess(b, 1), cudaErrorInvalidValue);
            OK(cudaDeviceEnablePeerAccess(b, 0));
            EXPECT(cudaDeviceEnablePeerAccess(b, 0), cudaErrorPeerAccessAlreadyEnabled);
        }
    }
    for (int a = 0; a < DEVICES; a++) {
        OK(cudaSetDevice(a));
        for (int b = 0; b < DEVICES; b++)
            if (a != b)
                OK(cudaDeviceDisablePeerAccess(b));
    }
    cudaGetLastError();
}

/* A kernel reaches the memory of the device that was enabled, and of no other. */
static void kernels_reach_what_was_enabled(void)
{
    unsigned value = 0;

    OK(cudaSetDevice(3));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    store_at(3, memory[1], 31);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&value, memory[1], sizeof value, cudaMemcpyDefault));
    CHECK(value == 31);
    store_at(3, memory[2], 32);
    EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

/* A block of words goes round; what it leaves behind is cleared. */
static void round_trip(void)
{
    unsigned from[WORDS], to[WORDS];
    cudaStream_t s[DEVICES];
    cudaEvent_t e[DEVICES];

    for (int d = 0; d < DEVICES; d++) {
        OK(cudaSetDevice(d));
        OK(cudaStreamCreateWithFlags(&s[d], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&e[d], cudaEventDisableTiming));
    }
    for (unsigned i = 0; i < WORDS; i++)
        from[i] = i * 2654435761u;
    OK(cudaMemcpy(memory[0], from, sizeof from, cudaMemcpyDefault));
    for (int i = 0; i < ROUNDS; i++) {
        int d = i % DEVICES, next = (d + 1) % DEVICES;

        OK(cudaSetDevice(d));
        if (i > 0)
            OK(cudaStreamWaitEvent(s[d], e[(d + DEVICES - 1) % DEVICES], 0));
        OK(cudaMemcpyPeerAsync(memory[next], next, memory[d], d, sizeof from, s[d]));
        OK(cudaMemsetAsync(memory[d], 0, sizeof from, s[d]));
        OK(cudaEventRecord(e[d], s[d]));
    }
    OK(cudaEventSynchronize(e[(ROUNDS - 1) % DEVICES]));
    OK(cudaMemcpy(to, memory[ROUNDS % DEVICES], sizeof to, cudaMemcpyDefault));
    CHECK(memcmp(from, to, sizeof to) == 0);
    OK(cudaMemcpy(to, memory[(ROUNDS - 1) % DEVICES], sizeof to, cudaMemcpyDefault));
    CHECK(to[0] == 0 && to[WORDS - 1] == 0);
}

int main(void)
{
    cudaLibrary_t lib;
    int count = 0;

    OK(cudaGetDeviceCount(&count));
    if (count != DEVICES) {
        printf("skipped: needs four devices\n");
        return 77;
    }
    OK(cudaLibraryLoadData(&lib, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&store, lib, "store"));
    for (int d = 0; d < DEVICES; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMalloc((void **)&memory[d], WORDS * sizeof(unsigned)));
    }
    pairs();
    access_by_direction();
    round_trip();
    kernels_reach_what_was_enabled();
    return CONFORM_END();
}
