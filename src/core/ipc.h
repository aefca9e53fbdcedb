/* Memory and events between processes (cudaIpc*). A handle names the exporting process and a
 * descriptor of it; the importer opens that through /proc, so that the exporter must still be
 * there, and be of the same user.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CORE_IPC_H
#define WEIR_CORE_IPC_H

#include "core/stream.h"

#define WEIR_IPC_HANDLE_BYTES 64

/* Errors: INVALID_VALUE. Thread: any, as for all below. */
enum weir_err weir_ipc_memory_handle(const void *ptr, void *handle) WEIR_MUST_CHECK;
/* The same memory opened again is the same address. Errors: INVALID_VALUE (no handle, the process
 * has ended), DEVICE_UNINITIALIZED (one of this process). */
enum weir_err weir_ipc_memory_open(struct weir_context *ctx, const void *handle,
                                   void **ptr) WEIR_MUST_CHECK;
/* As often as it was opened. Waits for the device. Errors: INVALID_VALUE. */
enum weir_err weir_ipc_memory_close(void *ptr) WEIR_MUST_CHECK;

/* Errors: INVALID_RESOURCE_HANDLE (made without cudaEventInterprocess). */
enum weir_err weir_ipc_event_handle(struct weir_event *e, void *handle) WEIR_MUST_CHECK;
enum weir_err weir_ipc_event_open(struct weir_context *ctx, const void *handle,
                                  struct weir_event **out) WEIR_MUST_CHECK;

/* ---- events of several processes (event.c, submit.c) ---- */

/* The page that all processes of an event see: records are numbered, and complete in any order. */
struct weir_shared_event {
    _Atomic uint64_t recorded, completed; /* numbers of the newest ones */
    _Atomic uint32_t word;                /* futex word, of all processes: changes with completed */
};

/* Gives a new event its page. Errors: OPERATING_SYSTEM. */
enum weir_err weir_ipc_event_make(struct weir_event *e) WEIR_MUST_CHECK;
/* The event is destroyed. Its page stays: records of it may still be on their way. */
void weir_ipc_event_drop(struct weir_event *e);
/* A record of this number is complete. */
void weir_ipc_event_complete(struct weir_shared_event *page, uint64_t number);

static inline bool weir_ipc_event_reached(const struct weir_shared_event *page, uint64_t number)
{
    return atomic_load_explicit(&page->completed, memory_order_acquire) >= number;
}

/* Blocks until the record of this number is complete. */
void weir_ipc_event_wait(struct weir_shared_event *page, uint64_t number);
/* Later work in s waits for it. */
enum weir_err weir_ipc_event_wait_in(struct weir_shared_event *page, uint64_t number,
                                     struct weir_stream *s) WEIR_MUST_CHECK;

#endif
