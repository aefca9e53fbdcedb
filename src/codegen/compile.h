/* The compiler library (libweir-jit.so, opened at the first miss) and the threads that run it.
 * Compilations have threads of their own because LLVM wants a deep stack, and because a caller may
 * be an engine that has better things to do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CODEGEN_COMPILE_H
#define WEIR_CODEGEN_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "codegen/hash128.h"
#include "codegen/jit.h"

/* Opens the library once per process. Errors: JIT_COMPILER_NOT_FOUND (the message says where it was
 * looked for). Thread: any. */
enum weir_err weir_cg_jit_open(const struct weir_jit_api **out) WEIR_MUST_CHECK;
/* The table if the library is open already, else NULL: never opens it. */
const struct weir_jit_api *weir_cg_jit_if_open(void);
/* Adds what identifies the library's build (its build id) without opening it. */
void weir_cg_jit_hash(struct weir_hash128 *h);

struct weir_cg_job {
    struct weir_list link;
    void (*run)(struct weir_cg_job *job); /* on a compile thread, no lock held */
    const void *owner;                    /* the module: for weir_cg_jobs_drop */
};

/* Queues the job; urgent ones have threads of their own, background ones run where processors are
 * left. The job's memory is the caller's until run has returned or it was dropped. Errors:
 * OPERATING_SYSTEM, MEMORY_ALLOCATION (no thread). */
enum weir_err weir_cg_job_submit(struct weir_cg_job *job, bool urgent) WEIR_MUST_CHECK;
/* True once the process ends: what a background job has not begun it leaves, and it opens no
 * library. */
bool weir_cg_background_over(void);
/* Drops the owner's queued jobs; returns how many. Those that run go on. */
size_t weir_cg_jobs_drop(const void *owner);
/* Waits until no job is queued or running (tests, benchmarks). */
void weir_cg_jobs_drain(void);

#endif
