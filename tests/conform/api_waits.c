/* The column HOST of the API's table against reality: what is said to wait for a stream, an event,
 * a copy or the device does so while a stream is held, and what is said to come back comes back.
 * All calls that wait have a row here, and of the others as many kinds as there are arguments for.
 * Rules: ORD-040, ORD-043, ORD-044, ORD-060 to ORD-064, ORD-069, ORD-072 to ORD-075, ORD-080 to
 * ORD-083. Oracle: blocks_vs_*, sync_vs_*, memcpyasync_*.
 * SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#define SIZE ((size_t)4096)

enum host {
    NOTHING,
    SUBMITS,
    QUERIES,
    ASYNC_COPY,
    COPY,
    MEMSET,
    STREAM,
    EVENT,
    DEVICE,
    FREES,
    ALLOCATES,
    DESTROYS,
    LOADS,
    GROWS,
    NOT_THERE
};
enum { DONE, TODO };

/* The table. */
static const struct row {
    const char *name;
    enum host host;
} rows[] = {
#define HOST_DONE(name, host) {"cuda" #name, host},
#define HOST_TODO(name, host) {"cuda" #name, NOT_THERE},
#define WEIR_API(chapter, status, guard, variant, host, name, params, args)                        \
    HOST_##status(name, host)
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
#include "runtime.def"
};

/* ---- what the calls are about ---- */

static cudaStream_t held, idle;
static cudaEvent_t pending, other;
static unsigned char *device, *device2, *pinned, *managed, *pageable;
static cudaArray_t array;
static void *spare; /* made anew for each call that takes it away */
static cudaMemPool_t pool;

static struct cudaMemcpy3DParms box(void *to, const void *from, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p = {.srcPtr = {(void *)from, 64, 64, 4},
                                  .dstPtr = {to, 64, 64, 4},
                                  .extent = {64, 4, 2},
                                  .kind = kind};

    return p;
}

static struct cudaMemcpy3DPeerParms peer_box(void *to, const void *from)
{
    struct cudaMemcpy3DPeerParms p = {
        .srcPtr = {(void *)from, 64, 64, 4}, .dstPtr = {to, 64, 64, 4}, .extent = {64, 4, 2}};

    return p;
}

#define CALL(name, expression)                                                                     \
    static cudaError_t name(void *p)                                                               \
    {                                                                                              \
        (void)p;                                                                                   \
        return expression;                                                                         \
    }

#define UP   cudaMemcpyHostToDevice
#define DOWN cudaMemcpyDeviceToHost
#define SIDE cudaMemcpyDeviceToDevice

static size_t size_sink;
static unsigned flags_sink;
static struct cudaMemcpy3DParms box3;
static struct cudaMemcpy3DPeerParms peer3;

static void nothing(void *p)
{
    (void)p;
}

static void nothing_back(cudaStream_t s, cudaError_t e, void *p)
{
    (void)s, (void)e, (void)p;
}

CALL(stream_synchronize, cudaStreamSynchronize(held))
CALL(event_synchronize, cudaEventSynchronize(pending))
CALL(device_synchronize, cudaDeviceSynchronize())
CALL(device_reset, cudaDeviceReset())
CALL(free_device, cudaFree(spare))
CALL(free_null, cudaFree(NULL))
CALL(free_host, cudaFreeHost(spare))
CALL(free_array, cudaFreeArray(spare))
CALL(free_mipmap, cudaFreeMipmappedArray(spare))
CALL(unregister, cudaHostUnregister(spare))
CALL(stream_query, cudaStreamQuery(held))
CALL(event_query, cudaEventQuery(pending))
CALL(elapsed, cudaEventElapsedTime((float *)&flags_sink, other, pending))

CALL(copy_up, cudaMemcpy(device, pinned, 64, UP))
CALL(copy_down, cudaMemcpy(pageable, device, 64, DOWN))
CALL(copy_side, cudaMemcpy(device, device2, 64, SIDE))
CALL(copy_host, cudaMemcpy(pageable, pinned, 64, cudaMemcpyHostToHost))
CALL(copy_none, cudaMemcpy(device, pinned, 0, UP))
CALL(copy_2d, cudaMemcpy2D(pageable, 64, device, 64, 32, 4, DOWN))
CALL(copy_3d, (box3 = box(pageable, device, DOWN), cudaMemcpy3D(&box3)))
CALL(copy_peer, cudaMemcpyPeer(device, 0, device2, 0, 64))
CALL(copy_3d_peer, (peer3 = peer_box(device, device2), cudaMemcpy3DPeer(&peer3)))
CALL(copy_to_array, cudaMemcpyToArray(array, 0, 0, pinned, 32, UP))
CALL(copy_from_array, cudaMemcpyFromArray(pageable, array, 0, 0, 32, DOWN))
CALL(copy_2d_to_array, cudaMemcpy2DToArray(array, 0, 0, pinned, 32, 32, 2, UP))
CALL(copy_2d_from_array, cudaMemcpy2DFromArray(pageable, 32, array, 0, 0, 32, 2, DOWN))
CALL(copy_arrays, cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 2, 16, 2, SIDE))
CALL(copy_array_to_array, cudaMemcpyArrayToArray(array, 0, 0, array, 0, 2, 16, SIDE))
CALL(set_device, cudaMemset(device, 1, 64))
CALL(set_pinned, cudaMemset(pinned, 1, 64))
CALL(set_managed, cudaMemset(managed, 1, 64))
CALL(set_2d, cudaMemset2D(pinned, 64, 1, 32, 4))
CALL(set_2d_device, cudaMemset2D(device, 64, 1, 32, 4))
CALL(set_3d,
     cudaMemset3D((struct cudaPitchedPtr){pinned, 64, 64, 4}, 1, (struct cudaExtent){32, 4, 2}))

CALL(async_up, cudaMemcpyAsync(device, pinned, 64, UP, held))
CALL(async_up_pageable, cudaMemcpyAsync(device, pageable, 64, UP, held))
CALL(async_down, cudaMemcpyAsync(pinned, device, 64, DOWN, held))
CALL(async_down_pageable, cudaMemcpyAsync(pageable, device, 64, DOWN, held))
CALL(async_side, cudaMemcpyAsync(device, device2, 64, SIDE, held))
CALL(async_host, cudaMemcpyAsync(pinned + 64, pinned, 64, cudaMemcpyHostToHost, held))
CALL(async_2d, cudaMemcpy2DAsync(pinned, 64, device, 64, 32, 4, DOWN, held))
CALL(async_2d_pageable, cudaMemcpy2DAsync(pageable, 64, device, 64, 32, 4, DOWN, held))
CALL(async_3d, (box3 = box(pinned, device, DOWN), cudaMemcpy3DAsync(&box3, held)))
CALL(async_3d_pageable, (box3 = box(pageable, device, DOWN), cudaMemcpy3DAsync(&box3, held)))
CALL(async_peer, cudaMemcpyPeerAsync(device, 0, device2, 0, 64, held))
CALL(async_3d_peer, (peer3 = peer_box(device, device2), cudaMemcpy3DPeerAsync(&peer3, held)))
CALL(async_to_array, cudaMemcpyToArrayAsync(array, 0, 0, pinned, 32, UP, held))
CALL(async_from_array, cudaMemcpyFromArrayAsync(pageable, array, 0, 0, 32, DOWN, held))
CALL(async_2d_to_array, cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, 32, 32, 2, UP, held))
CALL(async_2d_from_array, cudaMemcpy2DFromArrayAsync(pageable, 32, array, 0, 0, 32, 2, DOWN, held))

CALL(set_async, cudaMemsetAsync(pinned, 1, 64, held))
CALL(set_async_2d, cudaMemset2DAsync(pinned, 64, 1, 32, 4, held))
CALL(set_async_3d, cudaMemset3DAsync((struct cudaPitchedPtr){pinned, 64, 64, 4}, 1,
                                     (struct cudaExtent){32, 4, 2}, held))
CALL(record, cudaEventRecord(other, held))
CALL(record_flags, cudaEventRecordWithFlags(other, held, 0))
CALL(wait_event, cudaStreamWaitEvent(idle, pending, 0))
CALL(host_func, cudaLaunchHostFunc(held, nothing, NULL))
CALL(callback, cudaStreamAddCallback(held, nothing_back, NULL, 0))
CALL(malloc_async, cudaMallocAsync(&spare, 64, held) || cudaFreeAsync(spare, held)
                       ? cudaErrorUnknown
                       : cudaSuccess)
CALL(malloc_from, cudaMallocFromPoolAsync(&spare, 64, pool, held) || cudaFreeAsync(spare, held)
                      ? cudaErrorUnknown
                      : cudaSuccess)
CALL(free_pool, cudaFree(spare))
CALL(prefetch,
     cudaMemPrefetchAsync(managed, SIZE, (struct cudaMemLocation){cudaMemLocationTypeDevice, 0}, 0,
                          held))
CALL(attach, cudaStreamAttachMemAsync(held, managed, 0, cudaMemAttachGlobal))

CALL(malloc_device, cudaMalloc(&spare, SIZE))
CALL(malloc_pitch, cudaMallocPitch(&spare, &size_sink, 64, 4))
CALL(malloc_host, cudaMallocHost(&spare, SIZE))
CALL(host_alloc, cudaHostAlloc(&spare, SIZE, cudaHostAllocMapped))
CALL(host_register, cudaHostRegister(pageable, SIZE, 0))
CALL(malloc_managed, cudaMallocManaged(&spare, SIZE, cudaMemAttachGlobal))
CALL(stream_create, cudaStreamCreate((cudaStream_t *)&spare))
CALL(event_create, cudaEventCreate((cudaEvent_t *)&spare))
CALL(pool_trim, cudaMemPoolTrimTo(pool, 0))
CALL(stream_destroy, cudaStreamDestroy(spare))
CALL(event_destroy, cudaEventDestroy(spare))
CALL(mem_info, cudaMemGetInfo(&size_sink, &size_sink))
CALL(limit_printf, cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20))
CALL(limit_stack, cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10))

/* ---- what stands in `spare` before ---- */

static void with_device(void)
{
    OK(cudaMalloc(&spare, SIZE));
}

static void with_pinned(void)
{
    OK(cudaMallocHost(&spare, SIZE));
}

static void with_array(void)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);

    OK(cudaMallocArray((cudaArray_t *)&spare, &d, 64, 4, 0));
}

static void with_mipmap(void)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};

    OK(cudaMallocMipmappedArray((cudaMipmappedArray_t *)&spare, &d, (struct cudaExtent){64, 4, 0},
                                3, 0));
}

static void with_registered(void)
{
    spare = pageable;
    OK(cudaHostRegister(spare, SIZE, 0));
}

static void with_pool_memory(void)
{
    OK(cudaMallocAsync(&spare, SIZE, idle));
    OK(cudaStreamSynchronize(idle));
}

static void with_busy_stream(void)
{
    OK(cudaStreamCreateWithFlags((cudaStream_t *)&spare, cudaStreamNonBlocking));
    OK(cudaStreamWaitEvent(spare, pending, 0));
    OK(cudaMemsetAsync(pinned, 1, 64, spare));
}

static void with_pending_event(void)
{
    OK(cudaEventCreate((cudaEvent_t *)&spare));
    OK(cudaEventRecord(spare, held));
}

/* ---- and after ---- */

static void drop_device(void)
{
    OK(cudaFree(spare));
}

static void drop_pinned(void)
{
    OK(cudaFreeHost(spare));
}

static void drop_registered(void)
{
    OK(cudaHostUnregister(pageable));
}

static void drop_stream(void)
{
    OK(cudaStreamDestroy(spare));
}

static void drop_event(void)
{
    OK(cudaEventDestroy(spare));
}

/* LEGACY: the legacy stream is held, else a non-blocking one. WAITS: until the hold is released. */
enum { WAITS = 1, LEGACY = 2, NOT_READY = 4, IN_HOLD = 8 };

static const struct check {
    const char *name;
    cudaError_t (*call)(void *);
    enum host host;
    unsigned flags;
    void (*before)(void), (*after)(void);
} checks[] = {
    {"cudaStreamSynchronize", stream_synchronize, STREAM, WAITS, NULL, NULL},
    {"cudaEventSynchronize", event_synchronize, EVENT, WAITS, NULL, NULL},
    {"cudaDeviceSynchronize", device_synchronize, DEVICE, WAITS, NULL, NULL},
    {"cudaFree", free_device, FREES, WAITS, with_device, NULL},
    {"cudaFree", free_null, FREES, 0, NULL, NULL},
    {"cudaFree", free_pool, FREES, 0, with_pool_memory, NULL},
    {"cudaFreeHost", free_host, FREES, WAITS, with_pinned, NULL},
    {"cudaFreeArray", free_array, FREES, WAITS, with_array, NULL},
    {"cudaFreeMipmappedArray", free_mipmap, FREES, WAITS, with_mipmap, NULL},
    {"cudaHostUnregister", unregister, FREES, WAITS, with_registered, NULL},
    {"cudaStreamQuery", stream_query, QUERIES, NOT_READY, NULL, NULL},
    {"cudaEventQuery", event_query, QUERIES, NOT_READY, NULL, NULL},
    {"cudaEventElapsedTime", elapsed, QUERIES, NOT_READY, NULL, NULL},
    {"cudaMemcpy", copy_up, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy", copy_up, COPY, 0, NULL, NULL},
    {"cudaMemcpy", copy_down, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy", copy_side, COPY, LEGACY, NULL, NULL},
    {"cudaMemcpy", copy_host, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy", copy_none, COPY, LEGACY, NULL, NULL},
    {"cudaMemcpy2D", copy_2d, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy3D", copy_3d, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpyPeer", copy_peer, COPY, LEGACY, NULL, NULL},
    {"cudaMemcpy3DPeer", copy_3d_peer, COPY, LEGACY, NULL, NULL},
    {"cudaMemcpyToArray", copy_to_array, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpyFromArray", copy_from_array, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy2DToArray", copy_2d_to_array, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy2DFromArray", copy_2d_from_array, COPY, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpy2DArrayToArray", copy_arrays, COPY, LEGACY, NULL, NULL},
    {"cudaMemcpyArrayToArray", copy_array_to_array, COPY, LEGACY, NULL, NULL},
    {"cudaMemset", set_device, MEMSET, LEGACY, NULL, NULL},
    {"cudaMemset", set_pinned, MEMSET, WAITS | LEGACY, NULL, NULL},
    {"cudaMemset", set_managed, MEMSET, WAITS | LEGACY, NULL, NULL},
    {"cudaMemset2D", set_2d, MEMSET, WAITS | LEGACY, NULL, NULL},
    {"cudaMemset2D", set_2d_device, MEMSET, LEGACY, NULL, NULL},
    {"cudaMemset3D", set_3d, MEMSET, WAITS | LEGACY, NULL, NULL},
    {"cudaMemcpyAsync", async_up, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyAsync", async_up_pageable, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyAsync", async_down, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyAsync", async_down_pageable, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemcpyAsync", async_side, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyAsync", async_host, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemcpy2DAsync", async_2d, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpy2DAsync", async_2d_pageable, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemcpy3DAsync", async_3d, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpy3DAsync", async_3d_pageable, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemcpyPeerAsync", async_peer, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpy3DPeerAsync", async_3d_peer, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyToArrayAsync", async_to_array, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpyFromArrayAsync", async_from_array, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemcpy2DToArrayAsync", async_2d_to_array, ASYNC_COPY, 0, NULL, NULL},
    {"cudaMemcpy2DFromArrayAsync", async_2d_from_array, ASYNC_COPY, WAITS, NULL, NULL},
    {"cudaMemsetAsync", set_async, SUBMITS, 0, NULL, NULL},
    {"cudaMemset2DAsync", set_async_2d, SUBMITS, 0, NULL, NULL},
    {"cudaMemset3DAsync", set_async_3d, SUBMITS, 0, NULL, NULL},
    {"cudaEventRecord", record, SUBMITS, 0, NULL, NULL},
    {"cudaEventRecordWithFlags", record_flags, SUBMITS, 0, NULL, NULL},
    {"cudaStreamWaitEvent", wait_event, SUBMITS, 0, NULL, NULL},
    {"cudaLaunchHostFunc", host_func, SUBMITS, 0, NULL, NULL},
    {"cudaStreamAddCallback", callback, SUBMITS, 0, NULL, NULL},
    {"cudaMallocAsync", malloc_async, SUBMITS, 0, NULL, NULL},
    {"cudaMallocFromPoolAsync", malloc_from, SUBMITS, 0, NULL, NULL},
    {"cudaMemPrefetchAsync", prefetch, SUBMITS, 0, NULL, NULL},
    {"cudaStreamAttachMemAsync", attach, SUBMITS, 0, NULL, NULL},
    {"cudaMalloc", malloc_device, ALLOCATES, 0, NULL, drop_device},
    {"cudaMallocPitch", malloc_pitch, ALLOCATES, 0, NULL, drop_device},
    {"cudaMallocHost", malloc_host, ALLOCATES, 0, NULL, drop_pinned},
    {"cudaHostAlloc", host_alloc, ALLOCATES, 0, NULL, drop_pinned},
    {"cudaHostRegister", host_register, ALLOCATES, 0, NULL, drop_registered},
    {"cudaMallocManaged", malloc_managed, ALLOCATES, 0, NULL, drop_device},
    {"cudaStreamCreate", stream_create, ALLOCATES, 0, NULL, drop_stream},
    {"cudaEventCreate", event_create, ALLOCATES, 0, NULL, drop_event},
    {"cudaMemPoolTrimTo", pool_trim, ALLOCATES, 0, NULL, NULL},
    {"cudaStreamDestroy", stream_destroy, DESTROYS, IN_HOLD, with_busy_stream, NULL},
    {"cudaEventDestroy", event_destroy, DESTROYS, IN_HOLD, with_pending_event, NULL},
    {"cudaMemGetInfo", mem_info, NOTHING, 0, NULL, NULL},
    {"cudaDeviceSetLimit", limit_printf, GROWS, 0, NULL, NULL},
    {"cudaDeviceSetLimit", limit_stack, GROWS, WAITS, NULL, NULL},
    {"cudaDeviceReset", device_reset, DEVICE, WAITS, NULL, NULL}, /* the last one */
};

static enum host host_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].host;
    }
    return NOT_THERE;
}

/* Holds until it is told, however long the call takes that has to come back before. */
static void hold_long(void *arg)
{
    struct hold *h = arg;

    atomic_store(&h->entered, 1);
    for (int i = 0; i < 60000 && !atomic_load(&h->release); i++)
        sleep_ms(1);
    atomic_store(&h->left, 1);
}

static void run_check(const struct check *c)
{
    cudaStream_t s = c->flags & LEGACY ? cudaStreamLegacy : held;
    struct blocking_call b = {.call = c->call};
    struct hold h = {0};
    pthread_t t;
    bool waits;

    if (c->before && !(c->flags & IN_HOLD))
        c->before();
    OK(cudaLaunchHostFunc(s, hold_long, &h));
    while (!atomic_load(&h.entered))
        sleep_ms(1);
    if (s == held)
        OK(cudaEventRecord(pending, held));
    if (c->flags & IN_HOLD)
        c->before();
    pthread_create(&t, NULL, blocking_thread, &b);
    for (int i = 0; i < (c->flags & WAITS ? 15 : 30000) && !atomic_load(&b.done); i++)
        sleep_ms(1);
    waits = !atomic_load(&b.done);
    hold_release(&h);
    pthread_join(t, NULL);
    if (waits != !!(c->flags & WAITS) ||
        b.err != (c->flags & NOT_READY ? cudaErrorNotReady : cudaSuccess)) {
        fprintf(stderr, "%s (row %d) %s, and gives %s\n", c->name, (int)(c - checks),
                waits ? "waits" : "comes back", cudaGetErrorName(b.err));
        conform_failures++;
    }
    if (c->call == device_reset)
        return;
    OK(cudaDeviceSynchronize());
    if (c->after)
        c->after();
}

int main(void)
{
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool waits = rows[i].host == STREAM || rows[i].host == EVENT || rows[i].host == DEVICE ||
                     rows[i].host == FREES || rows[i].host == QUERIES || rows[i].host == MEMSET;
        bool found = false;

        for (size_t k = 0; k < sizeof checks / sizeof *checks; k++)
            found |= strcmp(checks[k].name, rows[i].name) == 0;
        if (waits && !found) {
            fprintf(stderr, "%s has no row here\n", rows[i].name);
            conform_failures++;
        }
    }
    OK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
    OK(cudaEventCreate(&pending));
    OK(cudaEventCreate(&other));
    OK(cudaEventRecord(other, idle));
    OK(cudaMalloc((void **)&device, SIZE));
    OK(cudaMalloc((void **)&device2, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    OK(cudaMallocManaged((void **)&managed, SIZE, cudaMemAttachGlobal));
    OK(cudaMallocArray(&array, &d, 64, 4, 0));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    if (posix_memalign((void **)&pageable, SIZE, SIZE) != 0)
        return 1;
    memset(pageable, 0, SIZE);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (host_of(checks[i].name) == checks[i].host)
            run_check(&checks[i]);
        else {
            fprintf(stderr, "%s: the table says otherwise\n", checks[i].name);
            conform_failures++;
        }
    }
    return CONFORM_END();
}
