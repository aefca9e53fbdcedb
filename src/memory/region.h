/* Regions: ranges of the window in which a pool places allocations itself. A region's pages are
 * opened and closed in steps, and what lies in it is known to weir_mem_find as soon as it is
 * published. The pool decides where; nothing here searches for room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MEMORY_REGION_H
#define WEIR_MEMORY_REGION_H

#include "memory/memory.h"

#define WEIR_REGION_UNIT 512 /* allocations begin at multiples of this */

struct weir_mem_region;

struct weir_mem_region_config {
    int device;
    size_t bytes; /* address space; rounded up to 64 KiB */
    int fd;       /* its pages are those of this file from file_offset on; -1: its own */
    uint64_t file_offset;
    bool charged; /* opened bytes count against the device's memory */
};

/* Errors: MEMORY_ALLOCATION. Thread: any. */
enum weir_err weir_mem_region_create(const struct weir_mem_region_config *config,
                                     struct weir_mem_region **out) WEIR_MUST_CHECK;
/* All pages are closed (weir_mem_region_close) and nothing is published. */
void weir_mem_region_destroy(struct weir_mem_region *r);

uintptr_t weir_mem_region_base(const struct weir_mem_region *r);
size_t weir_mem_region_bytes(const struct weir_mem_region *r);

/* Opens closed pages; they read as zero, or as the file says. Multiples of 64 KiB. Errors:
 * MEMORY_ALLOCATION. One thread at a time for a region, as for the calls below. */
enum weir_err weir_mem_region_open(struct weir_mem_region *r, size_t offset,
                                   size_t bytes) WEIR_MUST_CHECK;
/* Gives opened pages back, their contents are lost (`punch`: the file's, too). */
void weir_mem_region_close(struct weir_mem_region *r, size_t offset, size_t bytes, bool punch);

/* Maps pages of another file, of any offset, where pages are closed. False: the system refuses. */
bool weir_mem_region_map(struct weir_mem_region *r, size_t offset, size_t bytes, int fd,
                         uint64_t file_offset);

/* Counts bytes against a device's memory, and gives them back. False: it has not as much left. */
bool weir_mem_charge(int device, size_t bytes);
void weir_mem_discharge(int device, size_t bytes);

/* From here on weir_mem_find knows [offset, offset + bytes) as an allocation of kind DEVICE, with
 * `block` as the owner's own word. */
void weir_mem_region_publish(struct weir_mem_region *r, size_t offset, size_t bytes, void *block);
/* And from here on no longer. */
void weir_mem_region_retire(struct weir_mem_region *r, size_t offset);

/* Devices whose kernels may touch it, a bit each: its own one at first. Thread: any. */
void weir_mem_region_set_access(struct weir_mem_region *r, uint64_t devices);

#endif
