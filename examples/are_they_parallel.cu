/* Do two kernels really run at the same time? No tool needed: both append their number and %globaltimer to one log, and
 * each waits before an entry until the other has written as many. In two streams the numbers alternate and the kernels'
 * times overlap. In one stream the second kernel can not begin before the first is through: nobody waits there, and the
 * log shows one change.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <vector>

#include "common.h"

struct entry {
    unsigned long long ns;
    unsigned who;
};

static const int entries_each = 400;
static const unsigned long long patience_ns = 2000000000ull; /* then the other is not running: stop waiting */

struct shared {
    unsigned used;        /* entries in the log */
    unsigned written[3];  /* by kernel 1 and 2 */
    unsigned gave_up;
};

__device__ unsigned long long device_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void append(entry *log, shared *s, unsigned who, int count, bool take_turns)
{
    volatile unsigned *other = &s->written[3 - who], *gave_up = &s->gave_up;
    for (int i = 0; i < count; i++) {
        const unsigned long long began = device_ns();
        while (take_turns && *other < (unsigned)i && !*gave_up)
            if (device_ns() - began > patience_ns)
                *gave_up = 1;
        entry *e = &log[atomicAdd(&s->used, 1u)];
        e->ns = device_ns();
        e->who = who;
        __threadfence(); /* the entry first, then the news of it */
        atomicAdd(&s->written[who], 1u);
    }
}

struct finding {
    int changes;
    double overlap_ms, span_ms;
    bool whole;
};

static finding run(entry *log, shared *s, cudaStream_t a, cudaStream_t b)
{
    const int total = 2 * entries_each;
    CHECK(cudaMemset(s, 0, sizeof *s));
    CHECK(cudaDeviceSynchronize());
    append<<<1, 1, 0, a>>>(log, s, 1, entries_each, a != b);
    append<<<1, 1, 0, b>>>(log, s, 2, entries_each, a != b);
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
    shared *s;
    CHECK(cudaMalloc(&log, 2 * entries_each * sizeof *log));
    CHECK(cudaMalloc(&s, sizeof *s));
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));

    run(log, s, a, a); /* loads the kernel */
    const finding one = run(log, s, a, a), two = run(log, s, a, b);
    printf("%-12s %8s %12s %10s\n", "", "changes", "overlap ms", "span ms");
    printf("%-12s %8d %12.3f %10.3f\n", "one stream", one.changes, one.overlap_ms, one.span_ms);
    printf("%-12s %8d %12.3f %10.3f\n", "two streams", two.changes, two.overlap_ms, two.span_ms);

    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaFree(log));
    CHECK(cudaFree(s));
    /* That the writers took turns this often is the proof; how long both ran depends on how soon the second launch came. */
    const bool parallel = two.changes >= entries_each && two.overlap_ms > 0;
    const bool ordered = one.changes == 1 && one.overlap_ms == 0;
    const bool ok = one.whole && two.whole && parallel && ordered;
    printf("RESULT %s parallel=%s\n", ok ? "PASS" : "FAIL", parallel ? "yes" : "no");
    return !ok;
}
