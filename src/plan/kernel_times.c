/* libweir-kernel-times.so: preloaded into a program on a machine with a GPU (weir plan --calibrate
 * -- PROGRAM), it stands before the driver's launches and measures each kernel by itself. Every
 * launch goes between two events behind a kernel that spins, so that the device does not wait for
 * the host in between, and is waited for: kernels do not run beside each other. What two events
 * cost around an empty kernel is taken off. Kernels of graphs: kernel_times_graph.c. When the
 * program ends a line for each kernel and number of blocks goes to the file that WEIR_KERNEL_TIMES
 * names, as a device profile has them. Knows nothing of the rest of Weir but these kernels, and is
 * linked to nothing but the C library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/kernel_times.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/measure_ptx.h"

#define SPIN_NS   100000u     /* longer than it takes to submit what is measured */
#define STUCK_NS  5000000000u /* a kernel that takes longer waits for another */
#define LEAST_US  1.1         /* an empty kernel's time: profiles/h200.profile, kernel-us */
#define CONTEXTS  16
#define KERNELS   4096
#define NAME_MAX_ 2000 /* what a line of a profile holds */

enum { NOT_READY = 600, RELAXED = 2 };

/* As CUlaunchConfig. */
struct config {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned count;
};

struct weir_times_driver weir_times_driver;

#define REQUIRED 12

static const struct {
    const char *name;
    void *to;
} driver_names[] = {
#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, &weir_times_driver.name                                                             \
    }
    FUNCTION(cuCtxGetCurrent),     FUNCTION(cuEventCreate),
    FUNCTION(cuEventRecord),       FUNCTION(cuEventQuery),
    FUNCTION(cuEventElapsedTime),  FUNCTION(cuEventDestroy_v2),
    FUNCTION(cuModuleLoadData),    FUNCTION(cuModuleGetFunction),
    FUNCTION(cuStreamIsCapturing), FUNCTION(cuThreadExchangeStreamCaptureMode),
    FUNCTION(cuLaunchKernel),      FUNCTION(cuFuncGetName),
    FUNCTION(cuKernelGetName),     FUNCTION(cuFuncLoad),
#undef FUNCTION
};

/* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct weir_times_context contexts[CONTEXTS];
static size_t context_count, kernel_count;
static struct weir_times_kernel kernels[KERNELS];
static uint64_t unknown;
static bool opened, off;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the libraries behind this one ---- */

typedef void *(*dlsym_function)(void *, const char *);

static dlsym_function real_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static _Atomic(dlsym_function) found;
    void *f = NULL;

    for (size_t i = 0; !found && !f && i < sizeof versions / sizeof *versions; i++)
        f = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (f)
        found = (dlsym_function)f;
    return found;
}

void *weir_times_of_driver(const char *name)
{
    static void *_Atomic library;

    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library && real_dlsym() ? real_dlsym()(library, name) : NULL;
}

static void open_driver_locked(void)
{
    opened = true;
    for (size_t i = 0; i < sizeof driver_names / sizeof *driver_names; i++) {
        void *f = weir_times_of_driver(driver_names[i].name);

        memcpy(driver_names[i].to, &f, sizeof f);
        if (!f && i < REQUIRED) {
            fprintf(stderr, "weir plan: the driver has no %s: no kernel is measured\n",
                    driver_names[i].name);
            off = true;
        }
    }
}

/* ---- one launch ---- */

enum kind { KERNEL, KERNEL_EX, COOPERATIVE, KINDS };

struct launch {
    enum kind kind;
    bool per_thread; /* stream 0 is the thread's own */
    void *function;
    struct config c;
    const struct config *ex;
    void **parameters, **extra;
};

static const char *const launch_names[KINDS] = {"cuLaunchKernel", "cuLaunchKernelEx",
                                                "cuLaunchCooperativeKernel"};

static int go(const struct launch *l)
{
    static void *_Atomic real[KINDS][2];
    void *f = real[l->kind][l->per_thread];
    const struct config *c = &l->c;
    char name[40];

    if (!f) {
        snprintf(name, sizeof name, "%s%s", launch_names[l->kind], l->per_thread ? "_ptsz" : "");
        f = weir_times_of_driver(name);
        real[l->kind][l->per_thread] = f;
    }
    if (!f)
        return WEIR_TIMES_NOT_FOUND;
    if (l->kind == KERNEL_EX)
        return ((int (*)(const struct config *, void *, void **, void **))f)(
            l->ex, l->function, l->parameters, l->extra);
    if (l->kind == COOPERATIVE)
        return ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void *, void **))f)(
            l->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
            c->shared, c->stream, l->parameters);
    return ((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **))f)(l->function, c->grid[0], c->grid[1], c->grid[2],
                                                  c->block[0], c->block[1], c->block[2], c->shared,
                                                  c->stream, l->parameters, l->extra);
}

static bool spin(const struct weir_times_context *x, void *stream)
{
    uint64_t ns = SPIN_NS;
    void *args[] = {&ns};

    return weir_times_driver.cuLaunchKernel(x->spin, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL) == 0;
}

/* False: it does not end. */
bool weir_times_wait_for(void *event)
{
    uint64_t from = now_ns();

    while (weir_times_driver.cuEventQuery(event) == NOT_READY) {
        if (now_ns() - from > STUCK_NS) {
            fputs("weir plan: a kernel waits for something else: from here on none is measured\n",
                  stderr);
            off = true;
            return false;
        }
        sched_yield();
    }
    return true;
}

/* Launches; what the launch returned. *us: between the events, < 0 when that is not known. *late:
 * the host took longer than the spinning. */
static int between_events(const struct weir_times_context *x, const struct launch *l, void *stream,
                          double *us, bool *late)
{
    void *events[2] = {NULL, NULL};
    bool ready = weir_times_driver.cuEventCreate(&events[0], 0) == 0 &&
                 weir_times_driver.cuEventCreate(&events[1], 0) == 0;
    uint64_t from = now_ns();
    float ms = -1;
    int err;

    ready = ready && spin(x, stream) && weir_times_driver.cuEventRecord(events[0], stream) == 0;
    err = go(l);
    if (ready && err == 0 && weir_times_driver.cuEventRecord(events[1], stream) == 0) {
        *late = now_ns() - from > SPIN_NS;
        if (!weir_times_wait_for(events[1]))
            return err; /* (the events stay: the device is not through with them) */
        if (weir_times_driver.cuEventElapsedTime(&ms, events[0], events[1]) != 0)
            ms = -1;
    }
    *us = (double)ms * 1e3;
    for (int i = 0; i < 2; i++) {
        if (events[i])
            weir_times_driver.cuEventDestroy_v2(events[i]);
    }
    return err;
}

int weir_times_by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

static bool prepare(struct weir_times_context *x)
{
    struct launch nop = {.kind = KERNEL, .c = {{1, 1, 1}, {1, 1, 1}, 0, (void *)2, NULL, 0}};
    double us[WEIR_TIMES_BASE];
    bool late;
    void *module;

    if (weir_times_driver.cuModuleLoadData(&module, WEIR_MEASURE_PTX) != 0 ||
        weir_times_driver.cuModuleGetFunction(&x->nop, module, WEIR_MEASURE_NOP) != 0 ||
        weir_times_driver.cuModuleGetFunction(&x->spin, module, WEIR_MEASURE_SPIN) != 0)
        return false;
    nop.function = x->nop;
    /* (The first two load what they need. 2: the thread's own stream, whatever the program uses.)
     */
    for (int i = -2; i < WEIR_TIMES_BASE; i++) {
        if (between_events(x, &nop, nop.c.stream, &us[i < 0 ? 0 : i], &late) != 0 ||
            us[i < 0 ? 0 : i] < 0)
            return false;
    }
    qsort(us, WEIR_TIMES_BASE, sizeof *us, weir_times_by_size);
    x->base_us = us[WEIR_TIMES_BASE / 2];
    return true;
}

struct weir_times_context *weir_times_context_locked(void)
{
    void *handle = NULL;

    if (weir_times_driver.cuCtxGetCurrent(&handle) != 0 || !handle)
        return NULL;
    for (size_t i = 0; i < context_count; i++) {
        if (contexts[i].handle == handle)
            return contexts[i].spin ? &contexts[i] : NULL;
    }
    if (context_count == CONTEXTS)
        return NULL;
    contexts[context_count] = (struct weir_times_context){.handle = handle, .graph_us = -1};
    if (!prepare(&contexts[context_count])) {
        fputs("weir plan: the measuring kernels do not run: no kernel of this context is "
              "measured\n",
              stderr);
        contexts[context_count].spin = NULL;
    }
    context_count++;
    return contexts[context_count - 1].spin ? &contexts[context_count - 1] : NULL;
}

struct weir_times_kernel *weir_times_kernel_locked(void *function, void *kernel, uint64_t blocks)
{
    const char *name = NULL;
    void *first = function ? function : kernel;

    if (!first || ((!function || weir_times_driver.cuFuncGetName(&name, function) != 0) &&
                   (!weir_times_driver.cuKernelGetName ||
                    weir_times_driver.cuKernelGetName(&name, kernel ? kernel : function) != 0)))
        return NULL;
    if (!name || strlen(name) > NAME_MAX_)
        return NULL;
    for (size_t i = 0; i < kernel_count; i++) {
        if (kernels[i].blocks == blocks && strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    }
    if (kernel_count == KERNELS)
        return NULL;
    kernels[kernel_count].name = strdup(name);
    kernels[kernel_count].blocks = blocks;
    return kernels[kernel_count].name ? &kernels[kernel_count++] : NULL;
}

void weir_times_add_locked(struct weir_times_kernel *k, double us, double base_us)
{
    k->measured++;
    k->us += (us > base_us ? us - base_us : 0) + LEAST_US;
}

static int measure_locked(const struct launch *l)
{
    void *stream = l->per_thread && !l->c.stream ? (void *)2 : l->c.stream;
    const struct weir_times_context *x;
    struct weir_times_kernel *k;
    double us = -1;
    bool late = false;
    int err, status = 0;

    if (weir_times_driver.cuStreamIsCapturing(stream, &status) != 0 || status)
        return go(l); /* (measured when the graph runs) */
    x = weir_times_context_locked();
    k = x ? weir_times_kernel_locked(l->function, NULL,
                                     (uint64_t)l->c.grid[0] * l->c.grid[1] * l->c.grid[2])
          : NULL;
    if (!k) {
        unknown++;
        return go(l);
    }
    if (weir_times_driver.cuFuncLoad)
        (void)weir_times_driver.cuFuncLoad(l->function);
    err = between_events(x, l, stream, &us, &late);
    if (us >= 0 && late)
        k->late++;
    else if (us >= 0)
        weir_times_add_locked(k, us, x->base_us);
    return err;
}

bool weir_times_begin(int *mode)
{
    pthread_mutex_lock(&lock);
    if (!opened)
        open_driver_locked();
    if (off) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    /* A capture of another thread does not forbid this one to ask its events. */
    *mode = RELAXED;
    (void)weir_times_driver.cuThreadExchangeStreamCaptureMode(mode);
    return true;
}

void weir_times_end(int mode)
{
    (void)weir_times_driver.cuThreadExchangeStreamCaptureMode(&mode);
    pthread_mutex_unlock(&lock);
}

static int measure(const struct launch *l)
{
    int mode, err;

    if (!weir_times_begin(&mode))
        return go(l);
    err = measure_locked(l);
    weir_times_end(mode);
    return err;
}

/* ---- in the place of the driver's ---- */

#define LAUNCHES(suffix, thread)                                                                   \
    WEIR_TIMES_PUBLIC int cuLaunchKernel##suffix(                                                  \
        void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,     \
        unsigned shared, void *stream, void **parameters, void **extra)                            \
    {                                                                                              \
        return measure(                                                                            \
            &(struct launch){.kind = KERNEL,                                                       \
                             .per_thread = thread,                                                 \
                             .function = f,                                                        \
                             .c = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0},           \
                             .parameters = parameters,                                             \
                             .extra = extra});                                                     \
    }                                                                                              \
    WEIR_TIMES_PUBLIC int cuLaunchKernelEx##suffix(const struct config *config, void *f,           \
                                                   void **parameters, void **extra)                \
    {                                                                                              \
        struct launch l = {.kind = KERNEL_EX,                                                      \
                           .per_thread = thread,                                                   \
                           .function = f,                                                          \
                           .ex = config,                                                           \
                           .parameters = parameters,                                               \
                           .extra = extra};                                                        \
                                                                                                   \
        if (!config)                                                                               \
            return go(&l);                                                                         \
        l.c = *config;                                                                             \
        return measure(&l);                                                                        \
    }                                                                                              \
    WEIR_TIMES_PUBLIC int cuLaunchCooperativeKernel##suffix(                                       \
        void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,     \
        unsigned shared, void *stream, void **parameters)                                          \
    {                                                                                              \
        return measure(                                                                            \
            &(struct launch){.kind = COOPERATIVE,                                                  \
                             .per_thread = thread,                                                 \
                             .function = f,                                                        \
                             .c = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0},           \
                             .parameters = parameters});                                           \
    }

LAUNCHES(, false)
LAUNCHES(_ptsz, true)

WEIR_TIMES_PUBLIC int cuGetProcAddress(const char *name, void **f, int version, uint64_t flags);
WEIR_TIMES_PUBLIC int cuGetProcAddress_v2(const char *name, void **f, int version, uint64_t flags,
                                          void *status);

/* Ours for a name of the driver's, or NULL. */
static void *ours(const char *name, int version, bool per_thread)
{
    if (!name)
        return NULL;
    if (strcmp(name, "cuGetProcAddress") == 0)
        return version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
    if (strcmp(name, "cuGetProcAddress_v2") == 0)
        return (void *)cuGetProcAddress_v2;
    if (strcmp(name, "cuLaunchKernel_ptsz") == 0 || strcmp(name, "cuLaunchKernel") == 0)
        return per_thread || name[14] ? (void *)cuLaunchKernel_ptsz : (void *)cuLaunchKernel;
    if (strcmp(name, "cuLaunchKernelEx_ptsz") == 0 || strcmp(name, "cuLaunchKernelEx") == 0)
        return per_thread || name[16] ? (void *)cuLaunchKernelEx_ptsz : (void *)cuLaunchKernelEx;
    if (strcmp(name, "cuLaunchCooperativeKernel_ptsz") == 0 ||
        strcmp(name, "cuLaunchCooperativeKernel") == 0)
        return per_thread || name[25] ? (void *)cuLaunchCooperativeKernel_ptsz
                                      : (void *)cuLaunchCooperativeKernel;
    return weir_times_graph_ours(name, version, per_thread);
}

int cuGetProcAddress(const char *name, void **f, int version, uint64_t flags)
{
    int (*real)(const char *, void **, int, uint64_t) =
        (int (*)(const char *, void **, int, uint64_t))weir_times_of_driver("cuGetProcAddress");
    int err = real ? real(name, f, version, flags) : WEIR_TIMES_NOT_FOUND;
    void *mine =
        err == 0 && f && *f ? ours(name, version, flags & WEIR_TIMES_PER_THREAD_FLAG) : NULL;

    if (mine)
        *f = mine;
    return err;
}

int cuGetProcAddress_v2(const char *name, void **f, int version, uint64_t flags, void *status)
{
    int (*real)(const char *, void **, int, uint64_t, void *) = (int (*)(
        const char *, void **, int, uint64_t, void *))weir_times_of_driver("cuGetProcAddress_v2");
    int err = real ? real(name, f, version, flags, status) : WEIR_TIMES_NOT_FOUND;
    void *mine =
        err == 0 && f && *f ? ours(name, version, flags & WEIR_TIMES_PER_THREAD_FLAG) : NULL;

    if (mine)
        *f = mine;
    return err;
}

/* Calls that are not for these go on by a jump: RTLD_NEXT looks at who called. */
WEIR_TIMES_PUBLIC void *dlsym(void *library, const char *name);
void *dlsym(void *library, const char *name)
{
    void *mine = ours(name, 0, false);

    if (!mine || library == RTLD_NEXT)
        return real_dlsym()(library, name);
    return real_dlsym()(library, name) ? mine : NULL;
}

/* ---- the table ---- */

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("WEIR_KERNEL_TIMES");
    FILE *to = path && opened ? fopen(path, "a") : NULL;
    uint64_t left;

    if (!to)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < kernel_count; i++) {
        const struct weir_times_kernel *k = &kernels[i];

        if (k->measured)
            fprintf(to, "kernel %s %.3f %llu # mean of %llu\n", k->name,
                    k->us / (double)k->measured, (unsigned long long)k->blocks,
                    (unsigned long long)k->measured);
        else if (k->late)
            fprintf(to, "# kernel %s: %llu launches of %llu blocks, none measured\n", k->name,
                    (unsigned long long)k->late, (unsigned long long)k->blocks);
    }
    left = weir_times_graphs_left_locked();
    if (left)
        fprintf(to, "# the kernels of %llu launches of graphs were not measured\n",
                (unsigned long long)left);
    if (unknown)
        fprintf(to, "# %llu launches of kernels without a name were not measured\n",
                (unsigned long long)unknown);
    fclose(to);
    pthread_mutex_unlock(&lock);
}
