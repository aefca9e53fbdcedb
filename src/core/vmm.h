/* Virtual memory management (cuMemAddressReserve, cuMemCreate, cuMemMap): addresses and memory
 * apart. Memory is an anonymous file, a range of addresses a region of the window; mapping puts
 * pieces of the one into the other. What lies side by side and may be touched is one allocation to
 * everybody else, however many pieces it is made of.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_VMM_H
#define WEIR_CORE_VMM_H

#include "core/context.h"

/* Sizes, offsets and addresses are multiples of it. */
#define WEIR_VMM_GRANULARITY ((size_t)2 << 20)

struct weir_vmm_memory;

/* What cuMemGetAllocationPropertiesFromHandle tells. */
struct weir_vmm_props {
    int device;
    bool exportable;
};

/* Addresses for a device's memory. Errors: INVALID_VALUE, MEMORY_ALLOCATION. Thread: any, as for
 * all below. */
enum weir_err weir_vmm_reserve(int device, size_t bytes, size_t align,
                               uintptr_t *out) WEIR_MUST_CHECK;
/* Errors: INVALID_VALUE (not what was reserved, or something is mapped there). */
enum weir_err weir_vmm_unreserve(uintptr_t at, size_t bytes) WEIR_MUST_CHECK;

/* Counts against the device's memory. Errors: INVALID_VALUE, MEMORY_ALLOCATION. */
enum weir_err weir_vmm_create(size_t bytes, const struct weir_vmm_props *props,
                              uint64_t *handle) WEIR_MUST_CHECK;
/* Another process's memory, by a descriptor that stays the caller's. */
enum weir_err weir_vmm_import(int fd, int device, uint64_t *handle) WEIR_MUST_CHECK;
/* A descriptor of the caller's. Errors: INVALID_VALUE (made without leave to export it). */
enum weir_err weir_vmm_export(uint64_t handle, int *fd) WEIR_MUST_CHECK;
/* The memory lives until nothing is mapped from it. */
enum weir_err weir_vmm_release(uint64_t handle) WEIR_MUST_CHECK;
/* The handle of what is mapped at the address, to be released once more. */
enum weir_err weir_vmm_retain(uintptr_t at, uint64_t *handle) WEIR_MUST_CHECK;
enum weir_err weir_vmm_props_of(uint64_t handle, struct weir_vmm_props *out) WEIR_MUST_CHECK;

/* Nobody may touch it before weir_vmm_set_access. Errors: INVALID_VALUE, NOT_SUPPORTED (memory of
 * another device than the addresses were reserved for). */
enum weir_err weir_vmm_map(uintptr_t at, size_t bytes, size_t offset,
                           uint64_t handle) WEIR_MUST_CHECK;
/* Whole mappings, one or more side by side. */
enum weir_err weir_vmm_unmap(uintptr_t at, size_t bytes) WEIR_MUST_CHECK;
/* The same; devices: a bit each. */
enum weir_err weir_vmm_set_access(uintptr_t at, size_t bytes, uint64_t devices,
                                  bool on) WEIR_MUST_CHECK;
enum weir_err weir_vmm_get_access(uintptr_t at, int device, bool *on) WEIR_MUST_CHECK;

#endif
