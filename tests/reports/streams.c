/* Reports about streams that did not overlap, or were not where they were thought to be. Durations
 * prove nothing here: what is asserted is what runs while something else is held.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

enum { STREAMS = 4, N = 1 << 15 };

struct lane {
    cudaStream_t s;
    unsigned *in, *out, *device;
};

static void make_lanes(struct lane *l, unsigned flags)
{
    for (int i = 0; i < STREAMS; i++) {
        l[i].s = make_stream(flags);
        OK(cudaMallocHost((void **)&l[i].in, N * 4));
        OK(cudaMallocHost((void **)&l[i].out, N * 4));
        OK(cudaMalloc((void **)&l[i].device, N * 4));
        for (unsigned k = 0; k < N; k++) {
            l[i].in[k] = k + (unsigned)i;
            l[i].out[k] = 0;
        }
    }
}

static void drop_lanes(struct lane *l, unsigned added)
{
    unsigned wrong = 0;

    OK(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        for (unsigned k = 0; k < N; k++)
            wrong += l[i].out[k] != k + (unsigned)i + added;
        OK(cudaFreeHost(l[i].in));
        OK(cudaFreeHost(l[i].out));
        OK(cudaFree(l[i].device));
        OK(cudaStreamDestroy(l[i].s));
    }
    CHECK(wrong == 0);
}

static void lane_up(struct lane *l)
{
    OK(cudaMemcpyAsync(l->device, l->in, N * 4, cudaMemcpyHostToDevice, l->s));
}

static void lane_down(struct lane *l)
{
    OK(cudaMemcpyAsync(l->out, l->device, N * 4, cudaMemcpyDeviceToHost, l->s));
}

/* Four streams, each with a copy, three kernels and a copy, ran one after the other: a helper
 * waited for each stream before the next was given work. While one stream is held the others are
 * through (ORD-002); with the hidden wait they have nothing to do. */
static void p01(void)
{
    struct lane l[STREAMS];
    struct hold h;

    for (int hidden = 0; hidden < 2; hidden++) {
        make_lanes(l, cudaStreamNonBlocking);
        if (!hidden)
            hold_stream(&h, l[0].s);
        for (int i = 0; i < STREAMS; i++) {
            lane_up(&l[i]);
            for (int k = 0; k < 3; k++)
                launch_add(l[i].device, N, 1, l[i].s);
            lane_down(&l[i]);
            if (hidden)
                OK(cudaStreamSynchronize(l[i].s));
        }
        for (int i = 1; i < STREAMS; i++)
            OK(cudaStreamSynchronize(l[i].s));
        if (!hidden) {
            CHECK(l[0].out[5] == 0);
            EXPECT(cudaStreamQuery(l[0].s), cudaErrorNotReady);
            hold_release(&h);
        }
        drop_lanes(l, 3);
    }
}

/* Kernels of two microseconds never run side by side: the host is not ahead of them. The results
 * are the same in streams and in a graph with two branches. ORD-002, GRA-001. */
static void p02(void)
{
    enum { ROUNDS = 200 };
    cudaStream_t s[2] = {make_stream(cudaStreamNonBlocking), make_stream(cudaStreamNonBlocking)};
    cudaEvent_t fork = make_event(cudaEventDisableTiming),
                join = make_event(cudaEventDisableTiming);
    cudaGraphExec_t x;
    cudaGraph_t g;
    unsigned *d;

    OK(cudaMalloc((void **)&d, 8));
    OK(cudaMemset(d, 0, 8));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < ROUNDS; i++)
        launch_add(d + i % 2, 1, 1, s[i % 2]);
    OK(cudaDeviceSynchronize());
    CHECK(read_unsigned(d) == ROUNDS / 2 && read_unsigned(d + 1) == ROUNDS / 2);
    OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, s[0]));
    OK(cudaStreamWaitEvent(s[1], fork, 0));
    for (int i = 0; i < ROUNDS; i++)
        launch_add(d + i % 2, 1, 1, s[i % 2]);
    OK(cudaEventRecord(join, s[1]));
    OK(cudaStreamWaitEvent(s[0], join, 0));
    OK(cudaStreamEndCapture(s[0], &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s[0]));
    OK(cudaStreamSynchronize(s[0]));
    CHECK(read_unsigned(d) == ROUNDS && read_unsigned(d + 1) == ROUNDS);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(d));
    for (int i = 0; i < 2; i++)
        OK(cudaStreamDestroy(s[i]));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
}

/* A launch without a stream makes others wait: between two streams of cudaStreamCreate it is a
 * wall, between non-blocking ones none, and in the thread's own default stream none either. ORD-003
 * to ORD-006. */
static void p03(void)
{
    unsigned *list;

    OK(cudaMallocHost((void **)&list, 64));
    for (int form = 0; form < 3; form++) {
        unsigned flags = form == 1 ? cudaStreamNonBlocking : cudaStreamDefault;
        cudaStream_t a = make_stream(flags), b = make_stream(flags),
                     none = form == 2 ? cudaStreamPerThread : cudaStreamLegacy;
        struct spinning k;

        memset(list, 0, 64);
        spin_begin(&k, a);
        launch_append(list, 1, a);
        launch_append(list, 2, none);
        if (form != 0) {
            OK(cudaStreamSynchronize(none));
            CHECK(list[0] == 1 && list[1] == 2);
        }
        launch_append(list, 3, b);
        if (form == 0) {
            sleep_ms(20);
            EXPECT(cudaStreamQuery(b), cudaErrorNotReady);
            CHECK(list[0] == 0);
        } else {
            OK(cudaStreamSynchronize(b));
            CHECK(list[0] == 2 && list[2] == 3);
        }
        spin_end(&k);
        OK(cudaDeviceSynchronize());
        CHECK(list[0] == 3);
        if (form == 0)
            CHECK(list[1] == 1 && list[2] == 2 && list[3] == 3);
        spin_drop(&k);
        OK(cudaStreamDestroy(a));
        OK(cudaStreamDestroy(b));
    }
    OK(cudaFreeHost(list));
}

/* Only the two directions overlap, kernels and copies do not, whatever the order in which the work
 * was given. Results first: depth first and breadth first give the same, and neither a copy up nor
 * one down waits for the kernel of another stream. */
static void p05(void)
{
    struct lane l[STREAMS];
    struct spinning k;

    for (int breadth = 0; breadth < 2; breadth++) {
        make_lanes(l, cudaStreamNonBlocking);
        spin_begin(&k, l[0].s);
        for (int i = 0; i < (breadth ? 4 : 1) * STREAMS; i++) {
            struct lane *at = &l[i % STREAMS];
            int step = i / STREAMS;

            if (!breadth || step == 0)
                lane_up(at);
            if (!breadth || step == 1)
                launch_add(at->device, N, 1, at->s);
            if (!breadth || step == 2)
                launch_add(at->device, N, 1, at->s);
            if (!breadth || step == 3)
                lane_down(at);
        }
        for (int i = 1; i < STREAMS; i++)
            OK(cudaStreamSynchronize(l[i].s)); /* beside the kernel of the first */
        EXPECT(cudaStreamQuery(l[0].s), cudaErrorNotReady);
        spin_end(&k);
        OK(cudaStreamSynchronize(l[0].s));
        spin_drop(&k);
        drop_lanes(l, 2);
    }
}

/* Which calls for memory stop a pipeline? Whichever they are, the results are the same. ORD-080,
 * ORD-081; which of them wait: tests/conform/api_waits.c. */
static void p07(void)
{
    for (int form = 0; form < 4; form++) {
        cudaStream_t s[2] = {make_stream(cudaStreamNonBlocking),
                             make_stream(cudaStreamNonBlocking)};
        unsigned *d;

        OK(cudaMalloc((void **)&d, 8));
        OK(cudaMemset(d, 0, 8));
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < 20; i++) {
            void *p = NULL;

            launch_add(d, 1, 1, s[0]);
            launch_add(d + 1, 1, 1, s[1]);
            if (form == 1) {
                OK(cudaMalloc(&p, 4096));
                OK(cudaFree(p));
            } else if (form == 2) {
                OK(cudaMallocHost(&p, 4096));
                OK(cudaFreeHost(p));
            } else if (form == 3) {
                OK(cudaMallocAsync(&p, 4096, s[0]));
                OK(cudaFreeAsync(p, s[0]));
            }
        }
        OK(cudaDeviceSynchronize());
        CHECK(read_unsigned(d) == 20 && read_unsigned(d + 1) == 20);
        OK(cudaFree(d));
        for (int i = 0; i < 2; i++)
            OK(cudaStreamDestroy(s[i]));
    }
}

/* A small copy waits behind a huge one of another stream, also when that is cut into chunks: a
 * direction takes one copy at a time. The other direction is free, and so is everybody when the
 * huge one's stream is held. */
static void p09(void)
{
    enum { BIG = 1 << 22 };
    cudaStream_t a = make_stream(cudaStreamNonBlocking), b = make_stream(cudaStreamNonBlocking),
                 c = make_stream(cudaStreamNonBlocking);
    unsigned char *pinned, *d;
    int engines = 0;
    struct hold h;

    OK(cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, 0));
    CHECK(engines >= 2); /* one for each direction */
    OK(cudaMallocHost((void **)&pinned, 2 * BIG));
    OK(cudaMalloc((void **)&d, 2 * BIG));
    memset(pinned, 3, 2 * BIG);
    OK(cudaMemset(d, 4, 2 * BIG));
    OK(cudaDeviceSynchronize());
    hold_stream(&h, a);
    for (int i = 0; i < 32; i++)
        OK(cudaMemcpyAsync(d + i * (BIG / 32), pinned, BIG / 32, cudaMemcpyHostToDevice, a));
    OK(cudaMemcpyAsync(d + BIG, pinned, 4096, cudaMemcpyHostToDevice, b));
    OK(cudaMemcpyAsync(pinned + BIG, d + BIG + 8192, 4096, cudaMemcpyDeviceToHost, c));
    OK(cudaStreamSynchronize(b));
    OK(cudaStreamSynchronize(c));
    EXPECT(cudaStreamQuery(a), cudaErrorNotReady);
    CHECK(pinned[BIG] == 4 && pinned[BIG + 4095] == 4);
    hold_release(&h);
    OK(cudaStreamSynchronize(a));
    OK(cudaMemcpy(pinned, d + BIG - 2048, 4096, cudaMemcpyDeviceToHost));
    CHECK(pinned[0] == 3 && pinned[4095] == 3);
    OK(cudaFree(d));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaStreamDestroy(c));
}

/* Sixteen streams, and CUDA_DEVICE_MAX_CONNECTIONS, which counts only before the first call
 * (reports.sh runs this with 1, 8 and 32). Two kernels in each stream keep their order, and with
 * stream 0 held all the others are through. ORD-001, ORD-002. */
static void p10(void)
{
    enum { MANY = 16 };
    cudaStream_t s[MANY];
    unsigned *lists;
    struct spinning k;

    OK(cudaFree(NULL));
    CHECK(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1) == 0); /* too late to matter */
    OK(cudaMallocHost((void **)&lists, MANY * 16));
    memset(lists, 0, MANY * 16);
    for (int i = 0; i < MANY; i++)
        s[i] = make_stream(cudaStreamNonBlocking);
    spin_begin(&k, s[0]);
    for (int i = 0; i < MANY; i++) {
        launch_append(lists + 4 * i, 1, s[i]);
        launch_append(lists + 4 * i, 2, s[i]);
    }
    for (int i = 1; i < MANY; i++) {
        OK(cudaStreamSynchronize(s[i]));
        CHECK(lists[4 * i] == 2 && lists[4 * i + 1] == 1 && lists[4 * i + 2] == 2);
    }
    CHECK(lists[0] == 0);
    spin_end(&k);
    OK(cudaStreamSynchronize(s[0]));
    CHECK(lists[0] == 2 && lists[1] == 1 && lists[2] == 2);
    spin_drop(&k);
    for (int i = 0; i < MANY; i++)
        OK(cudaStreamDestroy(s[i]));
    OK(cudaFreeHost(lists));
}

struct own {
    unsigned long long id;
    cudaError_t query;
};

static void *own_default_stream(void *arg)
{
    struct own *o = arg;

    OK(cudaStreamGetId(cudaStreamPerThread, &o->id));
    o->query = cudaStreamQuery(cudaStreamPerThread);
    return NULL;
}

/* An allocator took "the same" handle for the same stream, and gave one thread's block to another:
 * cudaStreamPerThread is one value, and a stream of each thread. ORD-006; oracle stream_ids.*. */
static void p17(void)
{
    unsigned long long mine = 0;
    struct own o = {0, cudaErrorUnknown};
    struct spinning k;
    pthread_t t;

    spin_begin(&k, cudaStreamPerThread);
    OK(cudaStreamGetId(cudaStreamPerThread, &mine));
    pthread_create(&t, NULL, own_default_stream, &o);
    pthread_join(t, NULL);
    CHECK(o.id != mine);
    CHECK(o.query == cudaSuccess);
    EXPECT(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    spin_end(&k);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    spin_drop(&k);
}

/* Priorities 2 and 3, and strict service expected. Smaller numbers come first, 0 is least, what
 * lies outside is cut off without an error, and no result depends on it: a kernel of high priority
 * runs beside one that is under way, and does not let those behind it pass. Oracle stream_create.*.
 */
static void p50(void)
{
    const int asked[] = {3, 0, -1, -99};
    int least = 9, greatest = 9, got[4];
    cudaStream_t s[4];
    struct spinning k;
    unsigned *list;

    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    for (int i = 0; i < 4; i++) {
        OK(cudaStreamCreateWithPriority(&s[i], cudaStreamNonBlocking, asked[i]));
        OK(cudaStreamGetPriority(s[i], &got[i]));
    }
    CHECK(got[0] == 0 && got[1] == 0 && got[2] == -1 && got[3] == greatest);
    OK(cudaMallocHost((void **)&list, 256));
    memset(list, 0, 256);
    spin_begin(&k, s[1]);
    for (unsigned i = 0; i < 20; i++)
        launch_append(list, 1, s[1]);
    launch_append(list, 2, s[3]);
    OK(cudaStreamSynchronize(s[3]));
    CHECK(list[0] == 1 && list[1] == 2);
    spin_end(&k);
    OK(cudaStreamSynchronize(s[1]));
    CHECK(list[0] == 21 && list[21] == 1);
    spin_drop(&k);
    for (int i = 0; i < 4; i++)
        OK(cudaStreamDestroy(s[i]));
    OK(cudaFreeHost(list));
}

static const struct report reports[] = {
    {"P01", p01}, {"P02", p02}, {"P03", p03}, {"P05", p05}, {"P07", p07},
    {"P09", p09}, {"P10", p10}, {"P17", p17}, {"P50", p50}, {NULL, NULL},
};
REPORT_GROUP(streams);
