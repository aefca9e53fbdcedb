/* Reports about stream-ordered memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

static cudaMemPool_t make_pool(void)
{
    struct cudaMemPoolProps p = {.allocType = cudaMemAllocationTypePinned,
                                 .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    cudaMemPool_t pool = NULL;

    OK(cudaMemPoolCreate(&pool, &p));
    return pool;
}

static uint64_t attribute(cudaMemPool_t pool, enum cudaMemPoolAttr a)
{
    uint64_t v = 0;

    OK(cudaMemPoolGetAttribute(pool, a, &v));
    return v;
}

#define MIB ((uint64_t)1 << 20)

/* cudaMallocAsync is slow: the pool's release threshold is 0 at first, so each synchronisation
 * gives the memory back to the system. Oracle pool_stats.*. */
static void p57(void)
{
    const uint64_t thresholds[] = {0, 32 * MIB, UINT64_MAX}, kept[] = {0, 32 * MIB, 64 * MIB};
    cudaStream_t s = make_stream(cudaStreamNonBlocking);

    for (int t = 0; t < 3; t++) {
        cudaMemPool_t pool = make_pool();

        OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, (void *)&thresholds[t]));
        for (int i = 0; i < 20; i++) {
            void *p[2];

            for (int k = 0; k < 2; k++)
                OK(cudaMallocFromPoolAsync(&p[k], 32 * MIB, pool, s));
            launch_fill(p[1], 1024, 1, s);
            CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 64 * MIB);
            CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 64 * MIB);
            for (int k = 0; k < 2; k++)
                OK(cudaFreeAsync(p[k], s));
            OK(cudaStreamSynchronize(s));
            CHECK(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
            CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == kept[t]);
        }
        CHECK(attribute(pool, cudaMemPoolAttrUsedMemHigh) == 64 * MIB);
        CHECK(attribute(pool, cudaMemPoolAttrReservedMemHigh) == 64 * MIB);
        OK(cudaMemPoolTrimTo(pool, 0));
        CHECK(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
        OK(cudaMemPoolDestroy(pool));
    }
    OK(cudaStreamDestroy(s));
}

struct reuse {
    int follow, opportunistic;
    bool path; /* from the free to the allocation, by an event */
    bool done; /* the free has been carried out */
    bool same; /* so it is that very memory again */
};

static void check_reuse(const struct reuse *r)
{
    cudaStream_t a = make_stream(cudaStreamNonBlocking), d = make_stream(cudaStreamNonBlocking);
    cudaEvent_t e = make_event(cudaEventDisableTiming);
    cudaMemPool_t pool = make_pool();
    int off = 0;
    void *p, *q;
    struct hold h;

    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, (void *)&r->follow));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic,
                               (void *)&r->opportunistic));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &off));
    OK(cudaMallocFromPoolAsync(&p, 4096, pool, a));
    hold_stream(&h, a);
    OK(cudaFreeAsync(p, a));
    OK(cudaEventRecord(e, a));
    if (r->path)
        OK(cudaStreamWaitEvent(d, e, 0));
    if (r->done) {
        hold_release(&h);
        while (cudaEventQuery(e) == cudaErrorNotReady) /* orders nothing by itself */
            sleep_ms(1);
    }
    OK(cudaMallocFromPoolAsync(&q, 4096, pool, d));
    CHECK((p == q) == r->same);
    /* The allocation waits for the free only where the program said so itself. */
    if (!r->done && r->path)
        EXPECT(cudaStreamQuery(d), cudaErrorNotReady);
    else
        OK(cudaStreamSynchronize(d));
    if (!r->done)
        hold_release(&h);
    OK(cudaFreeAsync(q, d));
    OK(cudaStreamSynchronize(d));
    OK(cudaStreamSynchronize(a));
    OK(cudaMemPoolDestroy(pool));
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(d));
}

/* Memory that several streams use, freed in one of them: the free follows that stream alone. With a
 * stream that waits for all users the memory is theirs until they are done, whatever is allocated
 * meanwhile; and the pool takes freed memory again by its policies. Oracle pool_reuse.*. */
static void p62(void)
{
    static const struct reuse cases[] = {
        {1, 0, true, false, true}, {0, 0, true, false, false}, {1, 1, false, false, false},
        {0, 1, false, true, true}, {0, 0, false, true, false},
    };
    enum { N = 1 << 16, USERS = 3 };
    cudaStream_t users[USERS], helper = make_stream(cudaStreamNonBlocking);
    unsigned *p, *q, *bad;
    struct spinning k;
    cudaEvent_t made, e[USERS];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_reuse(&cases[i]);

    made = make_event(cudaEventDisableTiming);
    OK(cudaMalloc((void **)&bad, 4));
    OK(cudaMemset(bad, 0, 4));
    OK(cudaMallocAsync((void **)&p, N * 4, helper));
    launch_fill(p, N, 3, helper);
    OK(cudaEventRecord(made, helper));
    for (int i = 0; i < USERS; i++) {
        users[i] = make_stream(cudaStreamNonBlocking);
        e[i] = make_event(cudaEventDisableTiming);
        OK(cudaStreamWaitEvent(users[i], made, 0));
        if (i == USERS - 1)
            spin_begin(&k, users[i]); /* the last one is slow */
        launch_compare(p, N, 3, bad, users[i]);
        OK(cudaEventRecord(e[i], users[i]));
        OK(cudaStreamWaitEvent(helper, e[i], 0));
    }
    OK(cudaFreeAsync(p, helper));
    OK(cudaMallocAsync((void **)&q, N * 4, users[0])); /* not ordered behind the free */
    CHECK(p != q);
    launch_fill(q, N, 4, users[0]);
    OK(cudaStreamSynchronize(users[0]));
    spin_end(&k);
    OK(cudaDeviceSynchronize());
    CHECK(read_unsigned(bad) == 0);
    OK(cudaFreeAsync(q, users[0]));
    spin_drop(&k);
    for (int i = 0; i < USERS; i++) {
        OK(cudaEventDestroy(e[i]));
        OK(cudaStreamDestroy(users[i]));
    }
    OK(cudaEventDestroy(made));
    OK(cudaStreamDestroy(helper));
    OK(cudaFree(bad));
}

static cudaError_t free_it(void *p)
{
    return cudaFree(p);
}

/* A program let cudaFree wait for its kernels. Of ordinary memory it does, as measured (no
 * promise); of a pool's memory it does not, and what was freed is not handed out while the kernel
 * runs. ORD-080; oracle block_matrix.*. */
static void p20(void)
{
    cudaStream_t s = make_stream(cudaStreamNonBlocking);
    unsigned *p, *q;
    struct hold h;

    OK(cudaMalloc((void **)&p, 4096));
    hold_stream(&h, s);
    launch_fill(p, 1024, 5, s);
    CHECK(blocks_until_released(&h, free_it, p, 100));

    OK(cudaMallocAsync((void **)&p, 4096, s));
    OK(cudaStreamSynchronize(s));
    hold_stream(&h, s);
    launch_fill(p, 1024, 5, s);
    OK(cudaFree(p)); /* comes back, though the kernel has not run */
    EXPECT(cudaStreamQuery(s), cudaErrorNotReady);
    OK(cudaMalloc((void **)&q, 4096));
    CHECK(q != p);
    OK(cudaMemset(q, 0, 4096));
    hold_release(&h);
    OK(cudaDeviceSynchronize());
    CHECK(read_unsigned(q) == 0);
    OK(cudaFree(q));

    OK(cudaMallocAsync((void **)&p, 4096, s)); /* as it should be done */
    launch_fill(p, 1024, 5, s);
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaStreamDestroy(s));
}

static const struct report reports[] = {{"P57", p57}, {"P62", p62}, {"P20", p20}, {NULL, NULL}};
REPORT_GROUP(pools);
