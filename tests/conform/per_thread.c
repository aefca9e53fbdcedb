/* Built with per-thread default streams (oracle ptds): stream 0 is the thread's own; it waits for
 * the legacy stream and not for other blocking streams.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

static unsigned char *pinned, *device;

static cudaError_t sync_h2d_pageable(void *p)
{
    unsigned char value = 1;

    (void)p;
    return cudaMemcpy(device, &value, 1, cudaMemcpyHostToDevice);
}

static cudaError_t sync_d2h(void *p)
{
    unsigned char value;

    (void)p;
    return cudaMemcpy(&value, device, 1, cudaMemcpyDeviceToHost);
}

static void check_held(cudaStream_t held, bool zero_runs)
{
    struct hold h;

    *pinned = 0;
    hold_stream(&h, held);
    OK(cudaMemsetAsync(pinned, 1, 1, 0));
    CHECK(wait_for_value(pinned, 1, zero_runs ? 2000 : 20) == zero_runs);
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    CHECK(*pinned == 1);
}

int main(void)
{
    unsigned long long own, zero, legacy;
    cudaStream_t blocking;
    struct hold h;

    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    OK(cudaStreamGetId(0, &zero));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    CHECK(zero == own && zero != legacy);
    OK(cudaStreamCreate(&blocking));
    OK(cudaMallocHost((void **)&pinned, 64));
    OK(cudaMalloc((void **)&device, 64));
    check_held(cudaStreamPerThread, false);
    check_held(cudaStreamLegacy, false);
    check_held(blocking, true);
    /* synchronous copies of another thread: its own stream waits for the legacy one only */
    hold_stream(&h, blocking);
    CHECK(!blocks_until_released(&h, sync_h2d_pageable, NULL, 2000));
    hold_stream(&h, cudaStreamLegacy);
    CHECK(!blocks_until_released(&h, sync_h2d_pageable, NULL, 2000)); /* captured at the call */
    OK(cudaDeviceSynchronize());
    hold_stream(&h, cudaStreamLegacy);
    CHECK(blocks_until_released(&h, sync_d2h, NULL, 20));
    OK(cudaDeviceSynchronize());
    return CONFORM_END();
}
