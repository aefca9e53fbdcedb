/* Stream-ordered allocation: whose turn it is with freed memory, what is counted, what is given
 * back when. Oracle pool_stats, pool_reuse, pool_errors, multi_pool. The random part checks that no
 * two live allocations overlap and that memory in use keeps its contents, whatever was freed in
 * other streams.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#define STEP  ((size_t)32 << 20)
#define LARGE ((size_t)20 << 20)

static cudaMemPool_t new_pool(size_t max)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .maxSize = max};
    cudaMemPool_t p = NULL;

    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&p, &props));
    return p;
}

static uint64_t number(cudaMemPool_t p, enum cudaMemPoolAttr attr)
{
    uint64_t v = 0;

    OK(cudaMemPoolGetAttribute(p, attr, &v));
    return v;
}

static void set_policy(cudaMemPool_t p, int follow, int opportunistic)
{
    uint64_t keep = UINT64_MAX;

    OK(cudaMemPoolSetAttribute(p, cudaMemPoolReuseFollowEventDependencies, &follow));
    OK(cudaMemPoolSetAttribute(p, cudaMemPoolReuseAllowOpportunistic, &opportunistic));
    OK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrReleaseThreshold, &keep));
}

static void test_counts(cudaStream_t s)
{
    cudaMemPool_t p = new_pool(0);
    void *a, *b;
    uint64_t zero = 0, five = 5;

    OK(cudaMallocFromPoolAsync(&a, 1000, p, s));
    CHECK(number(p, cudaMemPoolAttrUsedMemCurrent) == 1000);
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == STEP);
    OK(cudaMallocFromPoolAsync(&b, STEP, p, s)); /* grows where the first step ends */
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == 2 * STEP);
    OK(cudaFreeAsync(b, s));
    CHECK(number(p, cudaMemPoolAttrUsedMemCurrent) == 1000);
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == 2 * STEP);
    OK(cudaStreamSynchronize(s));
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == STEP);
    OK(cudaFreeAsync(a, s));
    OK(cudaMemPoolTrimTo(p, 1));
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == STEP);
    OK(cudaMemPoolTrimTo(p, 0));
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == 0);
    CHECK(number(p, cudaMemPoolAttrReservedMemHigh) == 2 * STEP);
    CHECK(number(p, cudaMemPoolAttrUsedMemHigh) == 1000 + STEP);
    EXPECT(cudaMemPoolSetAttribute(p, cudaMemPoolAttrUsedMemHigh, &five), cudaErrorInvalidValue);
    OK(cudaMemPoolSetAttribute(p, cudaMemPoolAttrUsedMemHigh, &zero));
    CHECK(number(p, cudaMemPoolAttrUsedMemHigh) == 0);
    OK(cudaMemPoolDestroy(p));
    EXPECT(cudaMemPoolDestroy(p), cudaErrorInvalidValue);
    p = new_pool(2 * STEP);
    OK(cudaMallocFromPoolAsync(&a, STEP + STEP / 2, p, s));
    EXPECT(cudaMallocFromPoolAsync(&b, STEP + STEP / 2, p, s), cudaErrorMemoryAllocation);
    OK(cudaMemPoolDestroy(p)); /* its allocation lives on */
    OK(cudaMemsetAsync(a, 1, STEP, s));
    OK(cudaFreeAsync(a, s));
    OK(cudaStreamSynchronize(s));
}

/* A block freed in the held stream s, then one wanted in t. */
static bool reused(cudaStream_t s, cudaStream_t t, int follow, int opportunistic, bool event,
                   bool done)
{
    cudaMemPool_t p = new_pool(0);
    struct hold h;
    cudaEvent_t e;
    void *a, *b;

    set_policy(p, follow, opportunistic);
    OK(cudaEventCreate(&e));
    OK(cudaMallocFromPoolAsync(&a, LARGE, p, s));
    hold_stream(&h, s);
    OK(cudaFreeAsync(a, s));
    if (event) {
        OK(cudaEventRecord(e, s));
        OK(cudaStreamWaitEvent(t, e, 0));
    }
    if (done) {
        hold_release(&h);
        while (cudaStreamQuery(s) == cudaErrorNotReady)
            sleep_ms(1);
    }
    OK(cudaMallocFromPoolAsync(&b, LARGE, p, t));
    if (!done)
        hold_release(&h);
    OK(cudaFreeAsync(b, t));
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(e));
    OK(cudaMemPoolDestroy(p));
    return a == b;
}

static void test_reuse(cudaStream_t s, cudaStream_t t)
{
    CHECK(!reused(s, t, 1, 1, false, false));
    CHECK(reused(s, t, 1, 1, true, false));
    CHECK(reused(s, t, 1, 1, false, true));
    CHECK(!reused(s, t, 0, 0, false, true));
    CHECK(reused(s, t, 1, 0, true, false));
    CHECK(!reused(s, t, 0, 0, true, false));
    CHECK(reused(s, t, 0, 1, false, true));
    CHECK(reused(s, s, 0, 0, false, false));
}

static void test_misuse(cudaStream_t s)
{
    cudaMemPool_t p;
    void *a, *b;
    char host[16];

    OK(cudaDeviceGetDefaultMemPool(&p, 0));
    EXPECT(cudaMemPoolDestroy(p), cudaErrorInvalidValue);
    OK(cudaMallocAsync(&a, 4096, s));
    EXPECT(cudaFreeAsync((char *)a + 512, s), cudaErrorInvalidValue);
    OK(cudaFreeAsync(a, s));
    EXPECT(cudaFreeAsync(a, s), cudaErrorInvalidValue);
    EXPECT(cudaMemsetAsync(a, 0, 16, s), cudaErrorInvalidValue);
    EXPECT(cudaFree(a), cudaErrorInvalidValue);
    OK(cudaMallocAsync(&a, 4096, s));
    OK(cudaFree(a));
    EXPECT(cudaFreeAsync(host, s), cudaErrorInvalidValue);
    OK(cudaMalloc(&b, 64));
    OK(cudaFreeAsync(b, s));
    OK(cudaStreamSynchronize(s));
    EXPECT(cudaFree(b), cudaErrorInvalidValue);
    EXPECT(cudaMallocFromPoolAsync(&a, 64, (cudaMemPool_t)(void *)host, s), cudaErrorInvalidValue);
}

static void test_current(cudaStream_t s)
{
    cudaMemPool_t own, p = new_pool(0), q;
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    void *a;

    OK(cudaDeviceGetDefaultMemPool(&own, 0));
    OK(cudaDeviceSetMemPool(0, p));
    OK(cudaMemGetMemPool(&q, &here, cudaMemAllocationTypePinned));
    CHECK(q == p);
    OK(cudaMallocAsync(&a, 64, s));
    CHECK(number(p, cudaMemPoolAttrUsedMemCurrent) == 64);
    OK(cudaFreeAsync(a, s));
    OK(cudaMemPoolDestroy(p));
    OK(cudaDeviceGetMemPool(&q, 0));
    CHECK(q == own);
}

/* ---- random ---- */

#define STREAMS 3
#define LIVE    40
#define ROUNDS  4000

struct piece {
    unsigned char *p;
    size_t bytes;
    unsigned char value;
    int stream;
};

static uint32_t seed = 12345;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Each allocation is filled in its stream; before the free its ends are read back in the same
 * stream. */
static void test_random(cudaStream_t *streams)
{
    static struct piece live[LIVE];
    cudaMemPool_t p = new_pool(0);
    unsigned char *ends;

    OK(cudaMallocHost((void **)&ends, 2 * ROUNDS));
    for (int round = 0; round < ROUNDS; round++) {
        int at = (int)draw(LIVE);
        struct piece *x = &live[at];
        cudaStream_t s;

        if (x->p) {
            s = streams[x->stream];
            OK(cudaMemcpyAsync(&ends[2 * round], x->p, 1, cudaMemcpyDeviceToHost, s));
            OK(cudaMemcpyAsync(&ends[2 * round + 1], x->p + x->bytes - 1, 1, cudaMemcpyDeviceToHost,
                               s));
            OK(cudaFreeAsync(x->p, s));
            if (draw(4) == 0) {
                OK(cudaStreamSynchronize(s));
                CHECK(ends[2 * round] == x->value && ends[2 * round + 1] == x->value);
            }
            x->p = NULL;
            continue;
        }
        x->stream = (int)draw(STREAMS);
        x->bytes = 1 + draw(draw(8) ? 20000 : 3000000);
        x->value = (unsigned char)(1 + draw(255));
        s = streams[x->stream];
        OK(cudaMallocFromPoolAsync((void **)&x->p, x->bytes, p, s));
        for (int i = 0; i < LIVE; i++)
            CHECK(i == at || !live[i].p || x->p + x->bytes <= live[i].p ||
                  live[i].p + live[i].bytes <= x->p);
        OK(cudaMemsetAsync(x->p, x->value, x->bytes, s));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < LIVE; i++) {
        unsigned char value = 0;

        if (!live[i].p)
            continue;
        OK(cudaMemcpy(&value, live[i].p + live[i].bytes / 2, 1, cudaMemcpyDeviceToHost));
        CHECK(value == live[i].value);
        OK(cudaFreeAsync(live[i].p, streams[0]));
    }
    OK(cudaDeviceSynchronize());
    CHECK(number(p, cudaMemPoolAttrUsedMemCurrent) == 0);
    CHECK(number(p, cudaMemPoolAttrReservedMemCurrent) == 0);
    OK(cudaMemPoolDestroy(p));
    OK(cudaFreeHost(ends));
}

int main(void)
{
    cudaStream_t streams[STREAMS];

    for (int i = 0; i < STREAMS; i++)
        OK(cudaStreamCreateWithFlags(&streams[i],
                                     i < 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    test_counts(streams[0]);
    test_reuse(streams[0], streams[1]);
    test_misuse(streams[0]);
    test_current(streams[2]);
    test_random(streams);
    return CONFORM_END();
}
