/* Pools of buffers. Pinned ones are kept by size class, because pinning costs what thousands of
 * copies do; a buffer given back "after" a stream's work waits with an event of its own. Device
 * buffers come from a memory pool of the runtime's, which orders their reuse by streams itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "pipe_int.h"

enum { CLASSES = 128, LEAST = 4096 };

enum buffer_state { BUFFER_FREE, BUFFER_OUT, BUFFER_PENDING };

struct buffer {
    void *memory;
    size_t bytes;
    enum buffer_state state;
    cudaEvent_t event; /* made at the first put_after */
    struct buffer *next_in_class, *next;
};

/* All guarded by lock. */
struct weir_pipe_pinned {
    pthread_mutex_t lock;
    size_t limit, held, out;
    struct buffer *all, *free[CLASSES];
};

/* 4 KiB, 6, 8, 12, 16 ... : at most a third is wasted. */
static unsigned class_of(size_t bytes, size_t *size)
{
    unsigned class = 0;
    size_t power = LEAST;

    while (power < bytes && power + power / 2 < bytes && power < SIZE_MAX / 4) {
        power *= 2;
        class += 2;
    }
    *size = power < bytes ? power + power / 2 : power;
    return class + (power < bytes);
}

enum weir_pipe_status weir_pipe_pinned_create(size_t limit, weir_pipe_pinned **out)
{
    weir_pipe_pinned *pool;

    if (!out)
        return WEIR_PIPE_INVALID;
    *out = pool = calloc(1, sizeof(*pool));
    if (!pool)
        return WEIR_PIPE_MEMORY;
    pthread_mutex_init(&pool->lock, NULL);
    pool->limit = limit;
    return WEIR_PIPE_OK;
}

static void buffer_free(struct buffer *buffer)
{
    if (buffer->event) {
        if (buffer->state == BUFFER_PENDING)
            cudaEventSynchronize(buffer->event);
        cudaEventDestroy(buffer->event);
    }
    cudaFreeHost(buffer->memory);
    free(buffer);
}

void weir_pipe_pinned_destroy(weir_pipe_pinned *pool)
{
    if (!pool)
        return;
    while (pool->all) {
        struct buffer *buffer = pool->all;
        pool->all = buffer->next;
        buffer_free(buffer);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bool is_ready(struct buffer *buffer)
{
    if (buffer->state == BUFFER_PENDING && cudaEventQuery(buffer->event) != cudaErrorNotReady)
        buffer->state = BUFFER_FREE;
    return buffer->state == BUFFER_FREE;
}

static struct buffer *take_locked(weir_pipe_pinned *pool, unsigned class)
{
    for (struct buffer **at = &pool->free[class]; *at; at = &(*at)->next_in_class)
        if (is_ready(*at)) {
            struct buffer *buffer = *at;
            *at = buffer->next_in_class;
            return buffer;
        }
    return NULL;
}

/* Nobody's buffers of other sizes make room before the limit refuses. */
static void trim_locked(weir_pipe_pinned *pool)
{
    for (struct buffer **at = &pool->all; *at;) {
        struct buffer *buffer = *at, **in_class;
        size_t size;
        if (buffer->state == BUFFER_OUT || !is_ready(buffer)) {
            at = &buffer->next;
            continue;
        }
        in_class = &pool->free[class_of(buffer->bytes, &size)];
        while (*in_class != buffer)
            in_class = &(*in_class)->next_in_class;
        *in_class = buffer->next_in_class;
        *at = buffer->next;
        pool->held -= buffer->bytes;
        buffer_free(buffer);
    }
}

static enum weir_pipe_status make_locked(weir_pipe_pinned *pool, size_t size, struct buffer **out)
{
    struct buffer *buffer;

    if (pool->limit && pool->held + size > pool->limit)
        trim_locked(pool);
    if (pool->limit && (size > pool->limit || pool->held > pool->limit - size))
        return WEIR_PIPE_FULL;
    buffer = calloc(1, sizeof(*buffer));
    if (!buffer)
        return WEIR_PIPE_MEMORY;
    if (cudaHostAlloc(&buffer->memory, size, cudaHostAllocPortable) != cudaSuccess) {
        cudaGetLastError();
        free(buffer);
        return WEIR_PIPE_CUDA;
    }
    buffer->bytes = size;
    buffer->next = pool->all;
    pool->all = buffer;
    pool->held += size;
    *out = buffer;
    return WEIR_PIPE_OK;
}

enum weir_pipe_status weir_pipe_pinned_get(weir_pipe_pinned *pool, size_t bytes, void **memory)
{
    enum weir_pipe_status status = WEIR_PIPE_OK;
    struct buffer *buffer;
    unsigned class;
    size_t size;

    if (!pool || !memory || !bytes || bytes > SIZE_MAX / 4)
        return WEIR_PIPE_INVALID;
    *memory = NULL;
    class = class_of(bytes, &size);
    pthread_mutex_lock(&pool->lock);
    buffer = take_locked(pool, class);
    if (!buffer)
        status = make_locked(pool, size, &buffer);
    if (status == WEIR_PIPE_OK) {
        buffer->state = BUFFER_OUT;
        pool->out += buffer->bytes;
        *memory = buffer->memory;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static enum weir_pipe_status record_locked(struct buffer *buffer, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;

    if (!buffer->event)
        e = cudaEventCreateWithFlags(&buffer->event, cudaEventDisableTiming);
    if (e == cudaSuccess)
        e = cudaEventRecord(buffer->event, stream);
    if (e == cudaErrorInvalidResourceHandle && buffer->event) { /* it was of another device */
        cudaGetLastError();
        cudaEventDestroy(buffer->event);
        buffer->event = NULL;
        e = cudaEventCreateWithFlags(&buffer->event, cudaEventDisableTiming);
        if (e == cudaSuccess)
            e = cudaEventRecord(buffer->event, stream);
    }
    if (e == cudaSuccess)
        return WEIR_PIPE_OK;
    cudaGetLastError();
    return WEIR_PIPE_CUDA;
}

static enum weir_pipe_status put(weir_pipe_pinned *pool, void *memory, bool after,
                                 cudaStream_t stream)
{
    enum weir_pipe_status status = WEIR_PIPE_OK;
    struct buffer *buffer;
    size_t size;

    if (!pool)
        return WEIR_PIPE_INVALID;
    pthread_mutex_lock(&pool->lock);
    for (buffer = pool->all; buffer && buffer->memory != memory; buffer = buffer->next)
        ;
    if (!buffer || buffer->state != BUFFER_OUT)
        status = WEIR_PIPE_INVALID;
    else if (after)
        status = record_locked(buffer, stream);
    if (status == WEIR_PIPE_OK) {
        struct buffer **class = &pool->free[class_of(buffer->bytes, &size)];
        buffer->state = after ? BUFFER_PENDING : BUFFER_FREE;
        buffer->next_in_class = *class;
        *class = buffer;
        pool->out -= buffer->bytes;
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

enum weir_pipe_status weir_pipe_pinned_put(weir_pipe_pinned *pool, void *memory)
{
    return put(pool, memory, false, NULL);
}

enum weir_pipe_status weir_pipe_pinned_put_after(weir_pipe_pinned *pool, void *memory,
                                                 cudaStream_t stream)
{
    return put(pool, memory, true, stream);
}

void weir_pipe_pinned_trim(weir_pipe_pinned *pool)
{
    pthread_mutex_lock(&pool->lock);
    trim_locked(pool);
    pthread_mutex_unlock(&pool->lock);
}

void weir_pipe_pinned_bytes(weir_pipe_pinned *pool, size_t *held, size_t *out)
{
    pthread_mutex_lock(&pool->lock);
    if (held)
        *held = pool->held;
    if (out)
        *out = pool->out;
    pthread_mutex_unlock(&pool->lock);
}

/* The runtime's pool has locks of its own. */
struct weir_pipe_device_pool {
    cudaMemPool_t pool;
};

static enum weir_pipe_status from_cuda(cudaError_t e)
{
    if (e == cudaSuccess)
        return WEIR_PIPE_OK;
    cudaGetLastError();
    return WEIR_PIPE_CUDA;
}

enum weir_pipe_status weir_pipe_device_pool_create(int device, size_t keep,
                                                   weir_pipe_device_pool **out)
{
    struct cudaMemPoolProps props;
    weir_pipe_device_pool *pool;
    uint64_t threshold = keep;
    cudaError_t e;

    if (!out)
        return WEIR_PIPE_INVALID;
    *out = NULL;
    pool = calloc(1, sizeof(*pool));
    if (!pool)
        return WEIR_PIPE_MEMORY;
    memset(&props, 0, sizeof(props));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    e = cudaMemPoolCreate(&pool->pool, &props);
    if (e == cudaSuccess) {
        e = cudaMemPoolSetAttribute(pool->pool, cudaMemPoolAttrReleaseThreshold, &threshold);
        if (e != cudaSuccess)
            cudaMemPoolDestroy(pool->pool);
    }
    if (e == cudaSuccess)
        *out = pool;
    else
        free(pool);
    return from_cuda(e);
}

void weir_pipe_device_pool_destroy(weir_pipe_device_pool *pool)
{
    if (!pool)
        return;
    cudaMemPoolDestroy(pool->pool);
    free(pool);
}

enum weir_pipe_status weir_pipe_device_pool_get(weir_pipe_device_pool *pool, size_t bytes,
                                                cudaStream_t stream, void **buffer)
{
    if (!pool || !buffer || !bytes)
        return WEIR_PIPE_INVALID;
    *buffer = NULL;
    return from_cuda(cudaMallocFromPoolAsync(buffer, bytes, pool->pool, stream));
}

enum weir_pipe_status weir_pipe_device_pool_put(weir_pipe_device_pool *pool, void *buffer,
                                                cudaStream_t stream)
{
    if (!pool || !buffer)
        return WEIR_PIPE_INVALID;
    return from_cuda(cudaFreeAsync(buffer, stream));
}

enum weir_pipe_status weir_pipe_device_pool_trim(weir_pipe_device_pool *pool, size_t keep)
{
    return pool ? from_cuda(cudaMemPoolTrimTo(pool->pool, keep)) : WEIR_PIPE_INVALID;
}

void weir_pipe_device_pool_bytes(weir_pipe_device_pool *pool, size_t *held, size_t *out)
{
    uint64_t value = 0;
    if (held) {
        cudaMemPoolGetAttribute(pool->pool, cudaMemPoolAttrReservedMemCurrent, &value);
        *held = (size_t)value;
    }
    if (out) {
        value = 0;
        cudaMemPoolGetAttribute(pool->pool, cudaMemPoolAttrUsedMemCurrent, &value);
        *out = (size_t)value;
    }
}
