/* Do two kernels really run at the same time? No tool needed: both append their number and %globaltimer to one log, an
 * entry every few microseconds. In one stream the log must show one change from the first kernel to the second; in two
 * streams the numbers alternate, and the kernels' times overlap.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <vector>

#include "common.h"

struct entry {
    unsigned long long ns;
    unsigned who;
};

static const int entries_each = 400;
static const unsigned long long pace_ns = 20000;

__device__ unsigned long long device_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void append(entry *log, unsigned *used, const volatile int *stop, unsigned who, int count,
                       unsigned long long pace)
{
    unsigned long long due = device_ns();
    for (int i = 0; i < count; i++, due += pace) {
        unsigned long long ns = device_ns();
        while (ns < due && !*stop)
            ns = device_ns();
        entry *e = &log[atomicAdd(used, 1u)];
        e->ns = ns;
        e->who = who;
    }
}

struct finding {
    int changes;
    double overlap_ms, span_ms;
    bool whole;
};

static finding run(entry *log, unsigned *used, int *stop, cudaStream_t a, cudaStream_t b)
{
    const int total = 2 * entries_each;
    CHECK(cudaMemset(used, 0, sizeof *used));
    CHECK(cudaDeviceSynchronize());
    append<<<1, 1, 0, a>>>(log, used, stop, 1, entries_each, pace_ns);
    append<<<1, 1, 0, b>>>(log, used, stop, 2, entries_each, pace_ns);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    std::vector<entry> host(total);
    CHECK(cudaMemcpy(host.data(), log, total * sizeof(entry), cudaMemcpyDeviceToHost));
    finding f = {0, 0, 0, true};
    unsigned long long begin[3] = {~0ull, ~0ull, ~0ull}, end[3] = {0, 0, 0};
    int count[3] = {0, 0, 0};
    for (int i = 0; i < total; i++) {
        const unsigned who = host[i].who <= 2 ? host[i].who : 0;
        f.changes += i > 0 && host[i].who != host[i - 1].who;
        count[who]++;
        begin[who] = std::min(begin[who], host[i].ns);
        end[who] = std::max(end[who], host[i].ns);
    }
    f.whole = count[1] == entries_each && count[2] == entries_each;
    const unsigned long long from = std::max(begin[1], begin[2]), to = std::min(end[1], end[2]);
    f.overlap_ms = to > from ? 1e-6 * (double)(to - from) : 0;
    f.span_ms = 1e-6 * (double)(std::max(end[1], end[2]) - std::min(begin[1], begin[2]));
    return f;
}

int main()
{
    entry *log;
    unsigned *used;
    int *stop;
    CHECK(cudaMalloc(&log, 2 * entries_each * sizeof *log));
    CHECK(cudaMalloc(&used, sizeof *used));
    CHECK(cudaMalloc(&stop, sizeof *stop));
    CHECK(cudaMemset(stop, 0, sizeof *stop));
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));

    run(log, used, stop, a, a); /* loads the kernel */
    const finding one = run(log, used, stop, a, a), two = run(log, used, stop, a, b);
    printf("%-12s %8s %12s %10s\n", "", "changes", "overlap ms", "span ms");
    printf("%-12s %8d %12.3f %10.3f\n", "one stream", one.changes, one.overlap_ms, one.span_ms);
    printf("%-12s %8d %12.3f %10.3f\n", "two streams", two.changes, two.overlap_ms, two.span_ms);

    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaFree(log));
    CHECK(cudaFree(used));
    CHECK(cudaFree(stop));
    const bool parallel = two.changes > 2 && two.overlap_ms > 0.25 * two.span_ms;
    const bool ordered = one.changes == 1 && one.overlap_ms == 0;
    const bool ok = one.whole && two.whole && parallel && ordered;
    printf("RESULT %s parallel=%s\n", ok ? "PASS" : "FAIL", parallel ? "yes" : "no");
    return !ok;
}
