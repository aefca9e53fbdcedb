/* Between the files of libweir-kernel-times.so. Handles of the driver are plain pointers here: no
 * header of CUDA's is needed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_PLAN_KERNEL_TIMES_H
#define WEIR_PLAN_KERNEL_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_TIMES_PUBLIC __attribute__((visibility("default")))
#define WEIR_TIMES_BASE   15 /* empty kernels */

enum { WEIR_TIMES_PER_THREAD_FLAG = 2, WEIR_TIMES_NOT_FOUND = 500 };

/* Of the driver, by name; those of the last lines may be missing. Filled before anything else. */
struct weir_times_driver {
    int (*cuCtxGetCurrent)(void **);
    int (*cuEventCreate)(void **, unsigned);
    int (*cuEventRecord)(void *, void *);
    int (*cuEventQuery)(void *);
    int (*cuEventElapsedTime)(float *, void *, void *);
    int (*cuEventDestroy_v2)(void *);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuStreamIsCapturing)(void *, int *);
    int (*cuThreadExchangeStreamCaptureMode)(int *);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
    int (*cuFuncGetName)(const char **, void *);
    int (*cuKernelGetName)(const char **, void *);
    int (*cuFuncLoad)(void *);
};
extern struct weir_times_driver weir_times_driver;

struct weir_times_context {
    void *handle, *nop, *spin;
    double base_us, graph_us; /* between the events around an empty kernel; in a graph, < 0: not
                                 measured yet */
};

struct weir_times_kernel {
    char *name;
    uint64_t blocks, measured, late;
    double us; /* all of them */
};

/* A symbol of the driver's own, or NULL. Thread: any. */
void *weir_times_of_driver(const char *name);
/* Takes the lock of all that is below. False: nothing is measured, and no lock is held. mode: for
 * the end. */
bool weir_times_begin(int *mode);
void weir_times_end(int mode);

/* NULL: kernels of this context cannot be measured. */
struct weir_times_context *weir_times_context_locked(void);
/* By name and blocks; function or kernel may be NULL. NULL: it has no name, or there are too many.
 */
struct weir_times_kernel *weir_times_kernel_locked(void *function, void *kernel, uint64_t blocks);
/* us: between events; base_us: of these around an empty kernel. */
void weir_times_add_locked(struct weir_times_kernel *k, double us, double base_us);
/* False: it does not end, and from here on nothing is measured. */
bool weir_times_wait_for(void *event);
int weir_times_by_size(const void *x, const void *y);

/* kernel_times_graph.c: ours for a name of the driver's, or NULL. version: as cuGetProcAddress is
 * asked; 0: by the symbol. */
void *weir_times_graph_ours(const char *name, int version, bool per_thread);
/* Launches of graphs whose kernels were not measured. */
uint64_t weir_times_graphs_left_locked(void);

#endif
