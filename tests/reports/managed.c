/* Reports about managed memory, and where CUDA 12 and 13 differ.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static int last_location(const void *p, enum cudaMemRangeAttribute a)
{
    int v = -77;

    OK(cudaMemRangeGetAttribute(&v, sizeof v, a, p, 4096));
    return v;
}

/* Prefetches do not compile with CUDA 13: a location took the place of the number, and flags came
 * along. Which are 0; and a device that there is not is refused as such. (The number's form, -1 for
 * the host, belongs to libcudart.so.12: tests/conform/cuda12.c.) */
static void p64(void)
{
    const struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 0},
                                 host = {.type = cudaMemLocationTypeHost, .id = 0},
                                 node = {.type = cudaMemLocationTypeHostNuma, .id = 0},
                                 missing = {.type = cudaMemLocationTypeDevice, .id = 77};
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    unsigned *m;

    OK(cudaMallocManaged((void **)&m, 4096, cudaMemAttachGlobal));
    m[0] = 5;
    OK(cudaMemPrefetchAsync(m, 4096, device, 0, s));
    OK(cudaStreamSynchronize(s));
    CHECK(last_location(m, cudaMemRangeAttributeLastPrefetchLocation) == 0);
    OK(cudaMemPrefetchAsync(m, 4096, host, 0, s));
    OK(cudaStreamSynchronize(s));
    CHECK(last_location(m, cudaMemRangeAttributeLastPrefetchLocation) == cudaCpuDeviceId);
    CHECK(last_location(m, cudaMemRangeAttributeLastPrefetchLocationType) ==
          cudaMemLocationTypeHost);
    OK(cudaMemPrefetchAsync(m, 4096, node, 0, s));
    EXPECT(cudaMemPrefetchAsync(m, 4096, device, 1, s), cudaErrorInvalidValue);
    EXPECT(cudaMemPrefetchAsync(m, 4096, missing, 0, s), cudaErrorInvalidDevice);
    cudaGetLastError();
    OK(cudaMemAdvise(m, 4096, cudaMemAdviseSetPreferredLocation, device));
    CHECK(last_location(m, cudaMemRangeAttributePreferredLocation) == 0);
    OK(cudaStreamSynchronize(s));
    CHECK(m[0] == 5);
    OK(cudaFree(m));
    OK(cudaStreamDestroy(s));
}

/* The host touches a managed buffer while a kernel uses another: a crash where
 * concurrentManagedAccess is 0. Here it is 1, and all of it is allowed. */
static void p65(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking), idle = make_stream(cudaStreamNonBlocking);
    unsigned *a, *b;
    struct spinning k;
    int concurrent = 0;

    OK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    CHECK(concurrent == 1);
    OK(cudaMallocManaged((void **)&a, 4096, cudaMemAttachGlobal));
    OK(cudaMallocManaged((void **)&b, 4096, cudaMemAttachGlobal));
    b[0] = 4;
    spin_begin(&k, s);
    launch_fill(a, 1024, 5, s);
    b[0]++;
    OK(cudaStreamAttachMemAsync(idle, b, 0, cudaMemAttachHost));
    OK(cudaStreamSynchronize(idle));
    b[0]++;
    OK(cudaStreamAttachMemAsync(idle, b, 0, cudaMemAttachSingle));
    OK(cudaStreamSynchronize(idle));
    b[0]++;
    launch_add(b, 1, 10, idle);
    OK(cudaStreamSynchronize(idle));
    CHECK(b[0] == 17);
    spin_end(&k);
    OK(cudaStreamSynchronize(s));
    CHECK(a[0] == 5 && a[1023] == 5);
    spin_drop(&k);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(idle));
}

static const struct report reports[] = {{"P64", p64}, {"P65", p65}, {NULL, NULL}};
REPORT_GROUP(managed);
