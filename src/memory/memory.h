/* The memory that programs ask CUDA for: device, pinned, registered, managed. One reserved window
 * of addresses holds all that Weir allocates (DESIGN 4); generic PTX addresses are host addresses,
 * so a look-up answers "whose is this address".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MEMORY_MEMORY_H
#define WEIR_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum weir_mem_kind {
    WEIR_MEM_KIND_DEVICE = 1, /* cudaMalloc, module globals, pools */
    WEIR_MEM_KIND_PINNED,     /* cudaMallocHost, cudaHostAlloc: in the window */
    WEIR_MEM_KIND_REGISTERED, /* cudaHostRegister: the program's own pages, outside the window */
    WEIR_MEM_KIND_MANAGED,
    WEIR_MEM_KIND_INTERNAL, /* blocks' shared and local memory, parameter buffers: kernels may touch
                               it, programs not */
};

struct weir_mem_info {
    enum weir_mem_kind kind;
    int device;     /* that it belongs to; pinned: current device at allocation */
    uint32_t flags; /* cudaHostAlloc* / cudaHostRegister* / cudaMemAttach* bits as given */
    uintptr_t base; /* first byte of the allocation */
    size_t bytes;   /* as asked for */
    uint64_t id;    /* unique, never reused (CU_POINTER_ATTRIBUTE_BUFFER_ID) */
    void *owner;    /* context, module ... or NULL */
    /* of a pool's allocations only (region.h) */
    void *block;     /* the pool's word */
    uint64_t access; /* devices whose kernels may touch it */
};

struct weir_mem_config {
    int device_count;
    size_t device_bytes; /* capacity of each device; allocations beyond it fail with
                            MEMORY_ALLOCATION */
    size_t window_bytes; /* 0 = default: enough for all devices and pinned memory, address space
                            only */
    bool twin;           /* host-visible memory is mapped twice (below) */
};

/* Reserves the window. Once per process, before anything below. Errors: MEMORY_ALLOCATION. */
enum weir_err weir_mem_init(const struct weir_mem_config *config) WEIR_MUST_CHECK;
/* Releases everything (tests; at process exit it is not called). No kernel may be running. */
void weir_mem_finish(void);

/* The window's bounds, constant after init; compiled kernels hold them as constants. */
extern uintptr_t weir_mem_window_base;
extern size_t weir_mem_window_bytes;

/* The part of the window that kernels of a device may touch without asking: with two devices the
 * other one's memory is not in it, otherwise all of it. */
void weir_mem_window_of(int device, uintptr_t *base, size_t *bytes);

/* With weir_mem_config.twin pinned and managed memory lie in one range of the window, and a second
 * time `shift` further on, inside the window as well: engines use the twin, so that the pages that
 * the program knows can be closed (check/guard.h). bytes 0: there is no twin. Constant after init.
 * Look-ups (weir_mem_find) take twin addresses for those that they stand for. */
struct weir_mem_twin {
    uintptr_t base;
    size_t bytes;
    size_t shift;
};
extern struct weir_mem_twin weir_mem_twin;

static inline bool weir_mem_has_twin(uintptr_t address)
{
    return address - weir_mem_twin.base < weir_mem_twin.bytes;
}
/* Where engines reach what the program knows by this address; any other address is itself. */
static inline void *weir_mem_engine_view(const void *p)
{
    uintptr_t a = (uintptr_t)p;

    return (void *)(a + (weir_mem_has_twin(a) ? weir_mem_twin.shift : 0));
}
/* The other way round. */
static inline uintptr_t weir_mem_program_view(uintptr_t address)
{
    uintptr_t there = address - weir_mem_twin.shift;

    return weir_mem_has_twin(there) ? there : address;
}

/* The program's own memory has no twin: engines read and write it past the protection of its pages
 * (force.c), several times as slowly. start: once, before the others; false: the system does not
 * let us. The others: false: not all of it is there. Thread: any, no lock. */
bool weir_mem_force_start(void);
bool weir_mem_force_read(void *to, uintptr_t from, size_t bytes);
bool weir_mem_force_write(uintptr_t to, const void *from, size_t bytes);
/* Which whole pages of a range may be closed to the program: private ones that can be written, none
 * of a stack, none that other data shares. False: none. */
bool weir_mem_closable(uintptr_t base, size_t bytes, uintptr_t *begin, uintptr_t *end);

/* Allocates zero-on-demand pages (never touched here) aligned to 256 bytes, separated from
 * neighbours by unmapped gaps while few enough mappings exist. bytes 0 is the caller's to refuse.
 * `flags` and `owner` are kept for look-ups. Thread: any. Takes MEMORY lock. Errors:
 * MEMORY_ALLOCATION (over the device's capacity, or no address space). */
enum weir_err weir_mem_alloc(enum weir_mem_kind kind, int device, size_t bytes, uint32_t flags,
                             void *owner, void **out) WEIR_MUST_CHECK;
/* Frees by exact base address. The pages become inaccessible before this returns (when some
 * thousand allocations live, those beyond only lose their contents), and the address is not reused
 * soon. The caller has waited for the device as the rules say. Errors: INVALID_VALUE (not the base
 * of an allocation, or of another kind than `kind`). */
enum weir_err weir_mem_free(enum weir_mem_kind kind, void *ptr) WEIR_MUST_CHECK;

/* Frees all device and pinned memory of `device` (cudaDeviceReset), module variables included. The
 * device is idle and the program makes no other memory calls. */
void weir_mem_free_device(int device);

/* The same for what was allocated with this `owner`, managed memory included unless it is NULL
 * (cuCtxDestroy, cudaDeviceReset). */
void weir_mem_free_owned(int device, const void *owner);

/* Registers the program's own range. Errors: HOST_MEMORY_ALREADY_REGISTERED when it overlaps a
 * registered range, INVALID_VALUE for null, zero, or ranges that are not mapped. */
enum weir_err weir_mem_register(void *ptr, size_t bytes, int device,
                                uint32_t flags) WEIR_MUST_CHECK;
/* Errors: HOST_MEMORY_NOT_REGISTERED. */
enum weir_err weir_mem_unregister(void *ptr) WEIR_MUST_CHECK;

/* What does the address belong to? False: nothing of ours (pageable host memory, or an error).
 * O(log n), takes no lock: readers run beside writers (the registry is published as immutable
 * snapshots or a radix tree with hazard-free reclamation). Async-signal-safe (the fault handler
 * asks). Thread: any. */
bool weir_mem_find(const void *ptr, struct weir_mem_info *info);

/* True when [ptr, ptr + bytes) lies inside one allocation or registered range that kernels of
 * `device` may touch. The slow path of compiled kernels' address checks. */
bool weir_mem_kernel_may_touch(const void *ptr, size_t bytes, int device);
/* Kernels of `device` may (or no longer may) touch device memory of `peer`:
 * cudaDeviceEnablePeerAccess. Thread: any. */
void weir_mem_peer_allow(int device, int peer, bool on);

struct weir_mem_stats {
    size_t device_used, device_peak,
        device_capacity;             /* bytes, as handed out (rounded to the allocation unit) */
    size_t pinned_used, pinned_peak; /* process-wide */
    size_t managed_used, managed_peak;
    uint64_t alloc_count, free_count;
};
void weir_mem_stats(int device, struct weir_mem_stats *out);

/* Calls visit for each allocation of the window that lives and is no pool's. Thread: any; what
 * others allocate or free meanwhile may be missed. */
void weir_mem_each(void (*visit)(const struct weir_mem_info *info, void *arg), void *arg);

/* From start on, the contents of each allocation (device, pinned, managed; no pool's) that is freed
 * go into a number; end adds those that live and gives it. The same contents give the same. Reads
 * all of the memory. */
void weir_mem_sum_start(void);
bool weir_mem_is_summing(void);
uint64_t weir_mem_sum_end(void);
/* Adds what these bytes hold now; key: whose they are. */
struct weir_mem_rows {
    uintptr_t base;
    size_t width, height, depth, pitch, slice;
};
void weir_mem_sum_rows(const struct weir_mem_rows *r, uint64_t key);

/* cudaMallocPitch's pitch: width rounded up to 512 bytes (oracle memcpy_2d3d). */
size_t weir_mem_pitch(size_t width_bytes);

#endif
