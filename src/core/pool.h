/* Stream-ordered allocation (cudaMallocAsync, cudaFreeAsync) from pools. A free is a point in its
 * stream; from there on the same stream may use the memory again, another one when it is ordered
 * behind that point by an event, or when the point is reached, as the pool's attributes say (oracle
 * pool_reuse). A pool grows and shrinks in steps of 32 MiB (oracle pool_stats). How room is found:
 * pool_arena.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_POOL_H
#define WEIR_CORE_POOL_H

#include "core/stream.h"
#include "memory/memory.h"

struct weir_pool;

/* cudaMemPoolAttr's and CUmemPool_attribute's numbers. */
enum weir_pool_attribute {
    WEIR_POOL_FOLLOW_EVENTS = 1,
    WEIR_POOL_OPPORTUNISTIC,
    WEIR_POOL_INTERNAL, /* kept, and without effect: as measured, it never was used */
    WEIR_POOL_THRESHOLD,
    WEIR_POOL_RESERVED,
    WEIR_POOL_RESERVED_HIGH,
    WEIR_POOL_USED,
    WEIR_POOL_USED_HIGH,
};

enum weir_pool_access {
    WEIR_POOL_ACCESS_NONE,
    WEIR_POOL_ACCESS_READ,
    WEIR_POOL_ACCESS_READWRITE = 3
};

#define WEIR_POOL_HANDLE_FD 1u /* cudaMemHandleTypePosixFileDescriptor */

struct weir_pool_config {
    int device;
    size_t max_bytes; /* 0: the device's memory */
    uint32_t handles; /* WEIR_POOL_HANDLE_FD: other processes may import it */
};

/* ---- pools ---- */

/* Errors: INVALID_VALUE (no such device), MEMORY_ALLOCATION. Thread: any, as for all below. */
enum weir_err weir_pool_create(const struct weir_pool_config *config,
                               struct weir_pool **out) WEIR_MUST_CHECK;
/* Its allocations stay good until they are freed. Where it is the device's current pool the default
 * one takes its place. Errors: INVALID_VALUE for a default pool. */
enum weir_err weir_pool_destroy(struct weir_pool *p) WEIR_MUST_CHECK;
/* The live pool behind a handle, any bit pattern. Errors: INVALID_VALUE. */
enum weir_err weir_pool_get(const void *handle, struct weir_pool **out) WEIR_MUST_CHECK;
int weir_pool_device(const struct weir_pool *p);
/* The device's own pool, made at the first use. */
enum weir_err weir_pool_default(int device, struct weir_pool **out) WEIR_MUST_CHECK;
/* The one that cudaMallocAsync uses. Setting errors: INVALID_VALUE for another device's pool, or an
 * imported one. */
enum weir_err weir_pool_current(int device, struct weir_pool **out) WEIR_MUST_CHECK;
enum weir_err weir_pool_set_current(int device, struct weir_pool *p) WEIR_MUST_CHECK;

/* Errors: INVALID_VALUE (unknown, read only, a high mark set to anything but 0). */
enum weir_err weir_pool_attribute(struct weir_pool *p, enum weir_pool_attribute attr,
                                  uint64_t *value) WEIR_MUST_CHECK;
enum weir_err weir_pool_set_attribute(struct weir_pool *p, enum weir_pool_attribute attr,
                                      uint64_t value) WEIR_MUST_CHECK;
/* Gives back what is free until `keep` bytes are left. Never waits. */
void weir_pool_trim(struct weir_pool *p, size_t keep);

/* Errors (oracle multi_pool): INVALID_VALUE, INVALID_DEVICE, NOT_SUPPORTED (read only). */
enum weir_err weir_pool_set_access(struct weir_pool *p, int device,
                                   enum weir_pool_access access) WEIR_MUST_CHECK;
enum weir_pool_access weir_pool_get_access(struct weir_pool *p, int device);

/* ---- allocations ---- */

/* Errors: MEMORY_ALLOCATION, INVALID_VALUE (an imported pool). Order: whoever used the memory
 * before is ordered before what s does from now on. */
enum weir_err weir_pool_alloc(struct weir_pool *p, struct weir_stream *s, size_t bytes,
                              void **out) WEIR_MUST_CHECK;
/* Frees at its place in s, memory of cudaMalloc too. Errors: INVALID_VALUE (not an allocation's
 * base, freed before), NOT_SUPPORTED (managed). */
enum weir_err weir_pool_free(struct weir_stream *s, void *ptr) WEIR_MUST_CHECK;
/* cudaFree of a pool's allocation: at once; the caller says that nothing uses it any more. */
enum weir_err weir_pool_free_now(const struct weir_mem_info *info) WEIR_MUST_CHECK;
/* The pool of an allocation, NULL when it is no pool's. */
struct weir_pool *weir_pool_of(const struct weir_mem_info *info);

/* True between cudaFreeAsync of cudaMalloc's memory and its place in the stream: programs may not
 * use it any more. Fast when there is none. */
bool weir_pool_is_freed(uintptr_t base);
/* The free is done (submit.c). */
void weir_pool_finish_free(void *ptr);

/* ---- synchronisations: memory is given back there, and only there (oracle pool_stats) ---- */

/* Frees that no host synchronisation has covered yet, of the whole process. */
extern _Atomic size_t weir_pool_pending;

void weir_pool_synced_slow(struct weir_stream *s, const struct weir_model_point *point,
                           struct weir_context *ctx);

/* s waits for a point of another stream, by an event. */
void weir_pool_follow(struct weir_stream *s, const struct weir_model_point *point);

/* The host has waited for s, for a point, or (both NULL) for the whole context. No lock held. */
static inline void weir_pool_synced(struct weir_stream *s, const struct weir_model_point *point,
                                    struct weir_context *ctx)
{
    if (WEIR_UNLIKELY(atomic_load_explicit(&weir_pool_pending, memory_order_relaxed)))
        weir_pool_synced_slow(s, point, ctx);
}

/* Frees all memory of the device's pools; its created pools are gone (cudaDeviceReset). */
void weir_pool_reset_device(int device);

/* ---- other processes (pool_ipc.c) ---- */

#define WEIR_POOL_EXPORT_BYTES 64

/* *fd is the caller's to close. Errors: INVALID_VALUE (made without WEIR_POOL_HANDLE_FD). */
enum weir_err weir_pool_export(struct weir_pool *p, int *fd) WEIR_MUST_CHECK;
/* The pool behind another process's descriptor, which stays the caller's. Errors: INVALID_VALUE. */
enum weir_err weir_pool_import(int fd, struct weir_pool **out) WEIR_MUST_CHECK;
/* An allocation as data for another process; `data` has WEIR_POOL_EXPORT_BYTES. */
enum weir_err weir_pool_export_pointer(void *ptr, void *data) WEIR_MUST_CHECK;
enum weir_err weir_pool_import_pointer(struct weir_pool *p, const void *data,
                                       void **ptr) WEIR_MUST_CHECK;

#endif
