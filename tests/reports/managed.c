/* Reports about managed memory, and where CUDA 12 and 13 differ.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

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
 * concurrentManagedAccess is 0. Here it is 1, and all of it is allowed (but see p65_kept). */
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

static sigjmp_buf fault_return;

static void on_fault(int signo)
{
    (void)signo;
    siglongjmp(fault_return, 1);
}

/* Does an access of the host's fault? */
static bool faults(volatile unsigned *p, bool writes)
{
    if (sigsetjmp(fault_return, 1))
        return true;
    if (writes)
        *p = *p + 1;
    else
        (void)*p;
    return false;
}

/* What the system reads into memory that is closed. */
static bool is_refused(void *p)
{
    int fd = open("/dev/zero", O_RDONLY);
    ssize_t n = read(fd, p, 4);
    bool refused = n < 0 && errno == EFAULT;

    CHECK(n == 4 || refused);
    close(fd);
    return refused;
}

static void attach(unsigned *p, unsigned flags, cudaStream_t s)
{
    OK(cudaStreamAttachMemAsync(s, p, 0, flags));
    OK(cudaStreamSynchronize(s));
}

/* P65 where the attribute is 0 (weir run --strict managed): ORD-092. */
static void p65_kept(void)
{
    const struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 0};
    cudaStream_t s = make_stream(cudaStreamNonBlocking), idle = make_stream(cudaStreamNonBlocking);
    struct sigaction act = {.sa_handler = on_fault}, old;
    unsigned *a, *b;
    struct cudaDeviceProp prop;
    struct spinning k;
    int concurrent = 1;

    OK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    OK(cudaGetDeviceProperties(&prop, 0));
    CHECK(concurrent == 0 && prop.concurrentManagedAccess == 0 && prop.managedMemory == 1);
    CHECK(sigaction(SIGSEGV, &act, &old) == 0);
    OK(cudaMallocManaged((void **)&a, 4096, cudaMemAttachGlobal));
    OK(cudaMallocManaged((void **)&b, 4096, cudaMemAttachHost));
    EXPECT(cudaMemPrefetchAsync(a, 4096, device, 0, s), cudaErrorInvalidDevice);
    EXPECT(cudaMemAdvise(a, 4096, cudaMemAdviseSetPreferredLocation, device),
           cudaErrorInvalidDevice);
    cudaGetLastError();
    b[0] = 4;
    spin_begin(&k, s);
    CHECK(faults(a, false));
    CHECK(!faults(b, true)); /* the host's from the beginning: 5 */
    attach(b, cudaMemAttachGlobal, idle);
    CHECK(faults(b, false) && faults(b, true) && is_refused(b));
    attach(b, cudaMemAttachHost, idle);
    CHECK(!faults(b, true)); /* 6 */
    attach(b, cudaMemAttachSingle, idle);
    CHECK(!faults(b, true)); /* 7 */
    launch_add(b, 1, 10, idle);
    CHECK(faults(b, false));
    OK(cudaStreamSynchronize(idle));
    CHECK(!faults(b, false) && b[0] == 17 && !is_refused(b + 1));
    launch_fill(a, 1024, 5, s);
    spin_end(&k);
    while (cudaStreamQuery(idle) != cudaSuccess)
        continue;
    CHECK(faults(a, false)); /* whether the kernel has ended or not: nobody has waited */
    OK(cudaStreamSynchronize(s));
    CHECK(!faults(a, false) && a[0] == 5 && a[1023] == 5);
    launch_fill(a, 1024, 6, s);
    while (cudaStreamQuery(s) != cudaSuccess)
        continue;
    CHECK(!faults(a, true) && a[0] == 7 && b[0] == 17);
    spin_drop(&k);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(idle));
    CHECK(sigaction(SIGSEGV, &old, NULL) == 0);
}

static const struct report reports[] = {{"P64", p64}, {"P65", p65}, {NULL, NULL}};
REPORT_GROUP(managed);
static const struct report strict_reports[] = {{"P65-kept", p65_kept}, {NULL, NULL}};
const struct report_group report_strict = {"strict", strict_reports, &conform_failures};
