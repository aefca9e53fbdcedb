/* The driver API's calls that the tests need; prototypes by hand, from its documentation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES     ((size_t)1 << 30)
#define ATTACH_GLOBAL   1u
#define JIT_ERROR_LOG   5
#define JIT_ERROR_BYTES 6
#define PARAM_END       ((void *)0)
#define PARAM_POINTER   ((void *)1)
#define PARAM_SIZE      ((void *)2)

struct gpu_program {
    void *module;
};

static struct {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*alloc_managed)(unsigned long long *, size_t, unsigned);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*unload)(void *);
    int (*get_function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*synchronize)(void);
    int (*error_name)(int, const char **);
} cu;

static char *arena;
static size_t arena_used;

static bool symbol(void *library, const char *name, void *out)
{
    void *p = dlsym(library, name);

    memcpy(out, &p, sizeof p);
    return p != NULL;
}

static bool check(int rc, const char *what, char *message, size_t bytes)
{
    const char *name = "?";

    if (rc == 0)
        return true;
    cu.error_name(rc, &name);
    snprintf(message, bytes, "%s: %s", what, name);
    return false;
}

bool gpu_open(char *message, size_t bytes)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    unsigned long long p;
    int device;

    if (arena)
        return true;
    if (!library || !symbol(library, "cuInit", &cu.init) ||
        !symbol(library, "cuDeviceGet", &cu.device_get) ||
        !symbol(library, "cuDevicePrimaryCtxRetain", &cu.retain) ||
        !symbol(library, "cuCtxSetCurrent", &cu.set_current) ||
        !symbol(library, "cuMemAllocManaged", &cu.alloc_managed) ||
        !symbol(library, "cuModuleLoadDataEx", &cu.load) ||
        !symbol(library, "cuModuleUnload", &cu.unload) ||
        !symbol(library, "cuModuleGetFunction", &cu.get_function) ||
        !symbol(library, "cuLaunchKernel", &cu.launch) ||
        !symbol(library, "cuCtxSynchronize", &cu.synchronize) ||
        !symbol(library, "cuGetErrorName", &cu.error_name)) {
        snprintf(message, bytes, "no CUDA driver");
        return false;
    }
    if (!check(cu.init(0), "cuInit", message, bytes) ||
        !check(cu.device_get(&device, 0), "cuDeviceGet", message, bytes) ||
        !check(cu.retain(&context, device), "cuDevicePrimaryCtxRetain", message, bytes) ||
        !check(cu.set_current(context), "cuCtxSetCurrent", message, bytes) ||
        !check(cu.alloc_managed(&p, ARENA_BYTES, ATTACH_GLOBAL), "cuMemAllocManaged", message,
               bytes))
        return false;
    arena = (char *)(uintptr_t)p;
    return true;
}

void *gpu_alloc(size_t bytes)
{
    char *p = arena + arena_used;

    if (bytes > ARENA_BYTES - arena_used - 256) {
        fprintf(stderr, "the test's memory is full\n");
        exit(1);
    }
    arena_used += (bytes + 255) & ~(size_t)255;
    memset(p, 0, bytes);
    return p;
}

void gpu_reset(void)
{
    arena_used = 0;
}

struct gpu_program *gpu_program_create(const char *ptx, char *message, size_t bytes)
{
    char log[2000] = "";
    int options[2] = {JIT_ERROR_LOG, JIT_ERROR_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)sizeof log};
    struct gpu_program *p = calloc(1, sizeof *p);

    if (!p || cu.load(&p->module, ptx, 2, options, values) != 0) {
        snprintf(message, bytes, "ptxas: %s", log);
        free(p);
        return NULL;
    }
    return p;
}

void gpu_program_destroy(struct gpu_program *p)
{
    if (p)
        cu.unload(p->module);
    free(p);
}

enum outcome gpu_program_run(struct gpu_program *p, const struct launch *l, char *message,
                             size_t bytes)
{
    size_t size = l->param_bytes;
    void *extra[] = {PARAM_POINTER, (void *)(uintptr_t)l->params, PARAM_SIZE, &size, PARAM_END};
    void *function;

    if (!check(cu.get_function(&function, p->module, l->kernel), "cuModuleGetFunction", message,
               bytes) ||
        !check(cu.launch(function, l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y,
                         l->block.z, l->dynamic_shared, NULL, NULL, size ? extra : NULL),
               "cuLaunchKernel", message, bytes) ||
        !check(cu.synchronize(), "cuCtxSynchronize", message, bytes))
        return OUTCOME_ERROR;
    return OUTCOME_OK;
}
