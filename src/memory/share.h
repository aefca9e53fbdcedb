/* Device memory that other processes may map (cudaIpcGetMemHandle): an allocation's pages move into
 * an anonymous file, at their address, while kernels and copies go on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MEMORY_SHARE_H
#define WEIR_MEMORY_SHARE_H

#include "memory/memory.h"

/* The file behind the allocation that ptr lies in, made at the first call; it stays the memory
 * layer's, until the allocation is freed. *bytes: the allocation's, from the file's beginning.
 * Errors: INVALID_VALUE (no device memory, or a pool's), NOT_SUPPORTED (one of many thousand small
 * allocations), OPERATING_SYSTEM. Thread: any. */
enum weir_err weir_mem_share(const void *ptr, int *fd, size_t *bytes) WEIR_MUST_CHECK;

/* For the fault handler: true when the address lies in memory that is or was being moved, so that
 * the access is to be tried again. Async-signal-safe; may wait for the move. */
bool weir_mem_share_fault(const void *ptr);

/* Puts an anonymous file behind a managed allocation that was just made and is still all zero: its
 * pages may then be let go of (MADV_DONTNEED) and keep what is in them. False: it stays as it was
 * (one of many thousand allocations, or the system refuses). */
bool weir_mem_file_back(const struct weir_mem_info *info);

/* Maps `bytes` of another process's file as device memory of `device`, and undoes that. Errors:
 * MEMORY_ALLOCATION. */
enum weir_err weir_mem_attach(int fd, size_t bytes, int device, void **out) WEIR_MUST_CHECK;
void weir_mem_detach(void *ptr);

#endif
