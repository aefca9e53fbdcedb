/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/codegen_lower_harness.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/alloc.h"

double harness_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- services ---- */

struct escape {
    jmp_buf out;
};

static void leave(struct weir_block *b)
{
    struct escape *e = b->escape;
    longjmp(e->out, 1);
}

static void check_address(struct weir_block *b, uint64_t addr, uint32_t bytes, uint32_t kind)
{
    (void)bytes;
    (void)kind;
    b->error = WEIR_ERR_ILLEGAL_ADDRESS;
    b->error_address = addr;
    leave(b);
}

static WEIR_NORETURN void fail(struct weir_block *b, uint32_t err, uint32_t line)
{
    b->error = err;
    b->error_line = line;
    leave(b);
    abort();
}

static void print(struct weir_block *b, uint32_t mask, const uint64_t *formats,
                  const uint64_t *args, int32_t *results)
{
    (void)b;
    for (int k = 0; k < 32; k++)
        if (mask >> k & 1) {
            const int32_t *a = (const int32_t *)(uintptr_t)args[k];
            results[k] = a ? printf((const char *)(uintptr_t)formats[k], a[0], a[1], a[2]) : 0;
        }
}

static void dev_malloc(struct weir_block *b, uint32_t mask, const uint64_t *bytes,
                       uint64_t *results)
{
    (void)b;
    (void)bytes;
    for (int k = 0; k < 32; k++)
        if (mask >> k & 1)
            results[k] = 0;
}

static void dev_free(struct weir_block *b, uint32_t mask, const uint64_t *ptrs)
{
    (void)b;
    (void)mask;
    (void)ptrs;
}

static WEIR_NORETURN void assert_fail(struct weir_block *b, uint32_t mask, const uint64_t *message,
                                      const uint64_t *file, const uint32_t *line,
                                      const uint64_t *function)
{
    (void)mask;
    (void)message;
    (void)file;
    (void)function;
    b->error = 710;
    b->error_line = line[__builtin_ctz(mask)];
    leave(b);
    abort();
}

static uint64_t timer(void)
{
    return (uint64_t)(harness_now_ms() * 1e6);
}

static void sleep_some(struct weir_block *b, uint32_t ns)
{
    (void)b;
    (void)ns;
}

static const struct weir_kernel_services services = {.check_address = check_address,
                                                     .fail = fail,
                                                     .vprintf = print,
                                                     .malloc = dev_malloc,
                                                     .free = dev_free,
                                                     .assert_fail = assert_fail,
                                                     .globaltimer = timer,
                                                     .nanosleep = sleep_some};

/* ---- modules ---- */

void *harness_alloc(struct harness *h, size_t bytes)
{
    size_t at = WEIR_ALIGN_UP(h->used, (size_t)256);
    if (at + bytes > h->window_bytes)
        return NULL;
    h->used = at + bytes;
    return h->window + at;
}

static bool place_variables(struct harness *h)
{
    for (size_t k = 0; k < h->module->var_count; k++) {
        const struct weir_ptx_var *v = h->module->vars[k];
        if (v->space == WEIR_PTX_SHARED || k >= 256)
            continue;
        h->variables[k] = harness_alloc(h, v->bytes + 16);
        if (!h->variables[k])
            return false;
        if (v->init)
            memcpy(h->variables[k], v->init, v->bytes);
    }
    for (size_t k = 0; k < h->module->var_count; k++) {
        const struct weir_ptx_var *v = h->module->vars[k];
        for (size_t r = 0; r < v->reloc_count; r++) {
            const struct weir_ptx_reloc *x = &v->relocs[r];
            uint64_t a =
                x->var ? (uint64_t)(uintptr_t)h->variables[x->var->index] + (uint64_t)x->addend : 0;
            memcpy((char *)h->variables[k] + x->offset, &a, x->bytes);
        }
    }
    return true;
}

bool harness_start(struct harness *h, size_t window_bytes, const char *ptx, size_t bytes)
{
    struct weir_ptx_error e = {0};
    h->window_bytes = window_bytes;
    h->window = mmap(NULL, window_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->window == MAP_FAILED)
        return false;
    if (!h->threads)
        h->threads = 1;
    if (weir_ptx_parse(ptx, bytes, &h->module, &e) != WEIR_OK) {
        snprintf(h->message, sizeof h->message, "line %d: %s", e.line, e.message);
        return false;
    }
    return place_variables(h);
}

void harness_stop(struct harness *h)
{
    if (h->module)
        weir_ptx_module_destroy(h->module);
    munmap(h->window, h->window_bytes);
    h->module = NULL;
}

bool harness_compile(struct harness *h, const char *name, const uint32_t block[3],
                     struct harness_kernel *k)
{
    memset(k, 0, sizeof *k);
    k->f = weir_ptx_find_function(h->module, name);
    if (!k->f) {
        snprintf(h->message, sizeof h->message, "no kernel %s", name);
        return false;
    }
    memcpy(k->block, block, sizeof k->block);
    struct weir_jit_request q = {.kernel = k->f,
                                 .block = {block[0], block[1], block[2]},
                                 .tier = h->tier,
                                 .cpu = h->cpu,
                                 .features = h->features};
    double t = harness_now_ms();
    enum weir_err e = weir_jit_entry()->compile(&q, &k->result);
    h->compile_ms = harness_now_ms() - t;
    if (e != WEIR_OK) {
        snprintf(h->message, sizeof h->message, "%s: %s", name, k->result.message);
        return false;
    }
    const char *keep = getenv("HARNESS_KEEP");
    if (keep) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.o", keep, name);
        FILE *f = fopen(path, "wb");
        if (f) {
            fwrite(k->result.object, 1, k->result.object_bytes, f);
            fclose(f);
        }
    }
    h->object_bytes = k->result.object_bytes;
    e = weir_image_load(k->result.object, k->result.object_bytes, &k->image);
    if (e != WEIR_OK) {
        snprintf(h->message, sizeof h->message, "%s: image: %s", name, weir_err_message());
        return false;
    }
    k->fn = (weir_block_fn)(uintptr_t)weir_image_function(k->image, "weir_kernel");
    return k->fn != NULL;
}

void harness_free_kernel(struct harness_kernel *k)
{
    weir_image_unload(k->image);
    weir_jit_entry()->release(&k->result);
}

/* ---- running ---- */

struct job {
    struct harness *h;
    struct harness_kernel *k;
    struct weir_launch launch;
    atomic_uint next;
    atomic_int failed;
    uint32_t blocks;
    char *area[16];
    size_t shared, state, local;
};

static bool run_block(struct job *j, struct weir_block *b)
{
    struct escape e;
    b->escape = &e;
    b->resume = 0;
    if (setjmp(e.out) != 0)
        return false;
    uint32_t end;
    unsigned parks = 0;
    do
        end = j->k->fn(b);
    while (end == WEIR_BLOCK_PARKED && ++parks < 100000000);
    return end == WEIR_BLOCK_DONE;
}

static void note_failure(struct job *j, const struct weir_block *b)
{
    if (atomic_exchange(&j->failed, 1))
        return;
    j->h->error = b->error;
    j->h->error_address = b->error_address;
    j->h->error_line = b->error_line;
}

struct worker {
    struct job *j;
    int id;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct job *j = w->j;
    struct weir_block b = {
        .launch = &j->launch, .shared_bytes = (uint32_t)j->shared, .smid = (uint32_t)w->id};
    b.shared = j->area[w->id];
    b.state = b.shared + WEIR_ALIGN_UP(j->shared, (size_t)4096);
    b.local = b.state + WEIR_ALIGN_UP(j->state + 64, (size_t)4096);
#if defined(__x86_64__)
    uint32_t csr = _mm_getcsr();
    _mm_setcsr(j->k->result.meta.mxcsr ? j->k->result.meta.mxcsr : 0x1f80);
#endif
    for (uint32_t n; !atomic_load(&j->failed) && (n = atomic_fetch_add(&j->next, 1)) < j->blocks;) {
        b.ctaid[0] = n % j->launch.grid[0];
        b.ctaid[1] = n / j->launch.grid[0] % j->launch.grid[1];
        b.ctaid[2] = n / j->launch.grid[0] / j->launch.grid[1];
        if (!run_block(j, &b))
            note_failure(j, &b);
    }
#if defined(__x86_64__)
    _mm_setcsr(csr);
#endif
    return NULL;
}

bool harness_run(struct harness *h, struct harness_kernel *k, const uint32_t grid[3],
                 uint32_t dynamic_shared, const void *params, size_t param_bytes)
{
    struct job j = {.h = h, .k = k, .blocks = grid[0] * grid[1] * grid[2]};
    const struct weir_jit_meta *m = &k->result.meta;
    size_t used = h->used;
    void *copy = calloc(1, param_bytes + 64);
    if (param_bytes)
        memcpy(copy, params, param_bytes);
    j.launch = (struct weir_launch){.grid = {grid[0], grid[1], grid[2]},
                                    .block = {k->block[0], k->block[1], k->block[2]},
                                    .params = copy,
                                    .param_bytes = (uint32_t)param_bytes,
                                    .dynamic_shared_bytes = dynamic_shared,
                                    .services = &services,
                                    .module_data = h->variables,
                                    .window_base = (uint64_t)(uintptr_t)h->window,
                                    .window_bytes = h->window_bytes,
                                    .grid_id = 1,
                                    .sm_count = (uint32_t)h->threads};
    j.shared = m->static_shared_bytes + dynamic_shared + (dynamic_shared ? 16 : 0);
    j.state = m->state_bytes;
    j.local = (size_t)m->local_bytes_per_thread *
              WEIR_ALIGN_UP(k->block[0] * k->block[1] * k->block[2], 32u);
    pthread_t t[16];
    struct worker w[16];
    for (int n = 0; n < h->threads; n++) {
        j.area[n] =
            harness_alloc(h, WEIR_ALIGN_UP(j.shared, (size_t)4096) +
                                 WEIR_ALIGN_UP(j.state + 64, (size_t)4096) + j.local + 4096);
        if (!j.area[n])
            return false;
        w[n] = (struct worker){&j, n};
    }
    double start = harness_now_ms();
    for (int n = 1; n < h->threads; n++)
        pthread_create(&t[n], NULL, work, &w[n]);
    work(&w[0]);
    for (int n = 1; n < h->threads; n++)
        pthread_join(t[n], NULL);
    h->run_ms = harness_now_ms() - start;
    h->used = used;
    free(copy);
    return !j.failed;
}

bool harness_launch(struct harness *h, const char *name, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t dynamic_shared, const void *params,
                    size_t param_bytes)
{
    struct harness_kernel k;
    bool ok = harness_compile(h, name, block, &k);
    if (ok && !harness_run(h, &k, grid, dynamic_shared, params, param_bytes)) {
        snprintf(h->message, sizeof h->message, "%s: error %u at line %u", name, h->error,
                 h->error_line);
        ok = false;
    }
    harness_free_kernel(&k);
    return ok;
}
