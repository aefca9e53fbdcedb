/* What copies do to the caller (oracle memcpyasync_*, sync_vs_*): with the stream held,
 * asynchronous pinned copies return; a pageable source up to 2 MiB is captured at the call; a
 * pageable destination blocks; synchronous copies block, memsets and device-to-device copies do
 * not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#define MAX ((size_t)4 << 20)

static unsigned char *device, *device2, *pinned, *pageable;
static cudaStream_t s;
static size_t bytes;

static cudaError_t h2d_pageable(void *p)
{
    (void)p;
    return cudaMemcpyAsync(device, pageable, bytes, cudaMemcpyHostToDevice, s);
}

static cudaError_t d2h_pageable(void *p)
{
    (void)p;
    return cudaMemcpyAsync(pageable, device, bytes, cudaMemcpyDeviceToHost, s);
}

static cudaError_t h2d_pinned(void *p)
{
    (void)p;
    return cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, s);
}

static cudaError_t d2h_pinned(void *p)
{
    (void)p;
    return cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, s);
}

static cudaError_t sync_h2d(void *p)
{
    return cudaMemcpy(device, p, bytes, cudaMemcpyHostToDevice);
}

static cudaError_t sync_d2d(void *p)
{
    (void)p;
    return cudaMemcpy(device, device2, bytes, cudaMemcpyDeviceToDevice);
}

static cudaError_t sync_memset(void *p)
{
    (void)p;
    return cudaMemset(device, 1, bytes);
}

static cudaError_t free_something(void *p)
{
    return cudaFree(p);
}

static cudaError_t malloc_something(void *p)
{
    return cudaMalloc(p, 4096);
}

static void check(const char *what, cudaError_t (*call)(void *), void *arg, cudaStream_t held,
                  size_t n, bool expected)
{
    struct hold h;
    bool blocks;

    bytes = n;
    hold_stream(&h, held);
    blocks = blocks_until_released(&h, call, arg, expected ? 30 : 2000);
    OK(cudaDeviceSynchronize());
    if (blocks != expected) {
        fprintf(stderr, "%s of %zu bytes %s\n", what, n, blocks ? "blocks" : "returns");
        conform_failures++;
    }
}

/* The bytes that count are those at the call (pageable) or at the copy (pinned). */
static void check_capture(unsigned char *source, bool captured)
{
    unsigned char seen[64];
    struct hold h;

    memset(source, 1, 64);
    hold_stream(&h, s);
    OK(cudaMemcpyAsync(device, source, 64, cudaMemcpyHostToDevice, s));
    memset(source, 2, 64);
    hold_release(&h);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(seen, device, 64, cudaMemcpyDeviceToHost));
    CHECK(seen[0] == (captured ? 1 : 2) && seen[63] == seen[0]);
}

int main(void)
{
    void *other, *fresh = NULL;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc((void **)&device, MAX));
    OK(cudaMalloc((void **)&device2, MAX));
    OK(cudaMallocHost((void **)&pinned, MAX));
    pageable = malloc(MAX);
    memset(pageable, 3, MAX);
    check("H2D pageable", h2d_pageable, NULL, s, 4, false);
    check("H2D pageable", h2d_pageable, NULL, s, (size_t)2 << 20, false);
    check("H2D pageable", h2d_pageable, NULL, s, ((size_t)2 << 20) + 1, true);
    check("D2H pageable", d2h_pageable, NULL, s, 4, true);
    check("H2D pinned", h2d_pinned, NULL, s, MAX, false);
    check("D2H pinned", d2h_pinned, NULL, s, MAX, false);
    check("cudaMemcpy H2D pageable", sync_h2d, pageable, s, 4, true);
    check("cudaMemcpy H2D pinned", sync_h2d, pinned, s, 4, true);
    check("cudaMemcpy D2D", sync_d2d, NULL, s, 4, false);
    check("cudaMemset", sync_memset, NULL, s, 4, false);
    OK(cudaMalloc(&other, 4096));
    check("cudaFree", free_something, other, s, 0, true);
    check("cudaFree(NULL)", free_something, NULL, s, 0, false);
    check("cudaMalloc", malloc_something, &fresh, s, 0, false);
    CHECK(fresh);
    check_capture(pageable, true);
    check_capture(pinned, false);
    return CONFORM_END();
}
