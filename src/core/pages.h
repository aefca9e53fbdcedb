/* Where the pages of managed memory would be on a GPU, for `weir run --stats`: which of them moved,
 * when and why. Here it has one address and one copy, so that nothing moves; what is looked at is
 * who touches what. An anonymous file stands behind each allocation; when a kernel begins and ends,
 * the process lets go of the pages (their contents stay in the file), and the system tells which of
 * them were touched since: by the host before the kernel, by the kernel during it. Nothing is
 * closed, so that no access can fail. A host that touches pages while a kernel runs is taken for
 * the kernel, and copies are taken for the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_PAGES_H
#define WEIR_CORE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct weir_location;

/* Is anything watched? Only with WEIR_STATS. */
extern _Atomic bool weir_pages_watching;

/* The managed allocation at ptr was just made, nothing was written to it yet. Thread: any, as for
 * all below; no lock held. */
void weir_pages_watch(const void *ptr);
/* It is about to be freed. */
void weir_pages_forget(uint64_t id);

/* A kernel, or a launch of a graph (without a name), begins on or has ended on the device. */
void weir_pages_kernel_begin(int device);
void weir_pages_kernel_end(int device, const char *name);
/* A kernel of a graph has ended. */
void weir_pages_node_end(int device, const char *name);

/* A prefetch of a range of managed memory. */
void weir_pages_prefetch(const void *ptr, size_t bytes, struct weir_location to);

/* At exit, devices idle. Nothing when nothing was watched. */
void weir_pages_print(FILE *f);

#endif
