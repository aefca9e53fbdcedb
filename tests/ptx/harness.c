/* The compiler-library target: parse, compile at one tier, load, run the blocks in turn on this
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/clock.h"
#include "codegen/compile.h"
#include "codegen/image.h"
#include "device/kernel.h"
#include "ptx/gpu.h"
#include "ptx/ptx.h"
#include "support/ptx_interp.h"

#define WINDOW_BYTES ((size_t)1 << 30)
#define ROUNDS_MAX   2000000u /* calls of parked blocks before a launch counts as hung */
#define CODES_MAX    64

const char *const target_names[TARGET_COUNT] = {"quick", "best", "gpu", "parse", "interp"};

struct code {
    const struct weir_ptx_function *function;
    uint32_t block[3];
    struct weir_jit_meta meta;
    struct weir_image *image;
    weir_block_fn run;
};

struct program {
    enum target target;
    const char *text; /* the caller's */
    struct gpu_program *gpu;
    struct weir_interp *interp;
    struct weir_ptx_module *ptx;
    void **module_data;
    struct code codes[CODES_MAX];
    size_t code_count;
};

static const struct weir_jit_api *jit;
static bool narrow;
static char *window;
static size_t window_used;
static uint64_t compile_ns, compile_instructions;
static FILE *forms;

/* ---- small things ---- */

void text_add(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    for (;;) {
        va_start(ap, fmt);
        n = vsnprintf(t->s ? t->s + t->n : NULL, t->cap - t->n, fmt, ap);
        va_end(ap);
        if (n < 0)
            abort();
        if ((size_t)n < t->cap - t->n)
            break;
        t->cap = (t->cap + (size_t)n + 64) * 2;
        t->s = realloc(t->s, t->cap);
        if (!t->s)
            abort();
    }
    t->n += (size_t)n;
}

void text_free(struct text *t)
{
    free(t->s);
    memset(t, 0, sizeof *t);
}

uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed_name(struct rng *r, const char *name)
{
    r->state = 42;
    for (; *name; name++)
        r->state = r->state * 1099511628211u + (unsigned char)*name;
}

void program_costs(uint64_t *ns, uint64_t *instructions)
{
    *ns = compile_ns;
    *instructions = compile_instructions;
}

/* ---- targets and memory ---- */

enum target target_named(const char *name)
{
    int t = 0;

    while (t < TARGET_COUNT && strcmp(name, target_names[t]) != 0)
        t++;
    return (enum target)t;
}

bool target_open(enum target t, char *message, size_t bytes)
{
    if (t == TARGET_GPU)
        return gpu_open(message, bytes);
    if (!window) {
        void *p = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED) {
            snprintf(message, bytes, "no memory");
            return false;
        }
        window = p;
    }
    if (t != TARGET_PARSE && t != TARGET_INTERP && weir_cg_jit_open(&jit) != WEIR_OK) {
        snprintf(message, bytes, "%s", weir_err_message());
        return false;
    }
    return true;
}

void *memory_alloc(enum target t, size_t bytes)
{
    size_t rounded = (bytes + 255) & ~(size_t)255;
    void *p;

    if (t == TARGET_GPU)
        return gpu_alloc(bytes);
    if (rounded > WINDOW_BYTES - window_used) {
        fprintf(stderr, "the test's window is full\n");
        exit(1);
    }
    p = window + window_used;
    window_used += rounded;
    return p;
}

void memory_reset(enum target t)
{
    if (t == TARGET_GPU) {
        gpu_reset();
        return;
    }
    if (window_used)
        madvise(window, (window_used + 4095) & ~(size_t)4095,
                MADV_DONTNEED); /* reads as zeros again */
    window_used = 0;
}

void target_narrow(bool is_narrow)
{
    narrow = is_narrow;
}

/* ---- programs ---- */

static bool place_variables(struct program *p)
{
    p->module_data = calloc(p->ptx->var_count + 1, sizeof *p->module_data);
    if (!p->module_data)
        return false;
    for (size_t i = 0; i < p->ptx->var_count; i++) {
        const struct weir_ptx_var *v = p->ptx->vars[i];

        if ((v->space != WEIR_PTX_GLOBAL && v->space != WEIR_PTX_CONST) || v->bytes == 0)
            continue;
        p->module_data[i] = memory_alloc(p->target, (size_t)v->bytes);
        if (v->init)
            memcpy(p->module_data[i], v->init, (size_t)v->bytes);
    }
    for (size_t i = 0; i < p->ptx->var_count; i++) {
        const struct weir_ptx_var *v = p->ptx->vars[i];

        for (size_t n = 0; p->module_data[i] && n < v->reloc_count; n++) {
            const struct weir_ptx_reloc *r = &v->relocs[n];
            uint64_t value = r->var ? (uint64_t)(uintptr_t)p->module_data[r->var->index]
                                    : WEIR_JIT_FUNCTION_ADDRESS(r->function->index);

            value += (uint64_t)r->addend;
            memcpy((char *)p->module_data[i] + r->offset, &value, sizeof value);
        }
    }
    return true;
}

/* Functions have other addresses here, so the interpreter places the variables itself. */
static bool interp_open(struct program *p)
{
    return weir_interp_create(p->ptx, NULL, &p->interp) == WEIR_OK &&
           weir_interp_allow(p->interp, window, WINDOW_BYTES) == WEIR_OK;
}

bool program_forms_to(const char *path)
{
    forms = fopen(path, "w");
    return forms != NULL;
}

static void write_forms(const struct weir_ptx_module *m)
{
    for (size_t k = 0; k < m->function_count; k++)
        for (size_t n = 0; n < m->functions[k]->inst_count; n++) {
            const struct weir_ptx_inst *i = &m->functions[k]->insts[n];

            fprintf(forms, "%s%s\n", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode),
                    i->suffix);
        }
}

struct program *program_create(enum target t, const char *ptx, char *message, size_t bytes)
{
    struct program *p = calloc(1, sizeof *p);
    struct weir_ptx_error error = {0};

    if (!p)
        return NULL;
    p->target = t;
    p->text = ptx;
    if (t == TARGET_GPU) {
        p->gpu = gpu_program_create(ptx, message, bytes);
        if (!p->gpu) {
            free(p);
            return NULL;
        }
        return p;
    }
    if (weir_ptx_parse(ptx, strlen(ptx), &p->ptx, &error) != WEIR_OK) {
        snprintf(message, bytes, "PTX line %d:%d: %s", error.line, error.column, error.message);
        free(p);
        return NULL;
    }
    if (forms)
        write_forms(p->ptx);
    if (t == TARGET_INTERP ? !interp_open(p) : !place_variables(p)) {
        program_destroy(p);
        return NULL;
    }
    return p;
}

bool program_restart(struct program *p)
{
    if (p->target == TARGET_GPU) {
        char message[400];

        gpu_program_destroy(p->gpu);
        p->gpu = gpu_program_create(p->text, message, sizeof message);
        return p->gpu != NULL;
    }
    if (p->target == TARGET_INTERP) {
        weir_interp_destroy(p->interp);
        p->interp = NULL;
        return interp_open(p);
    }
    free(p->module_data);
    p->module_data = NULL;
    return place_variables(p);
}

void program_destroy(struct program *p)
{
    if (!p)
        return;
    gpu_program_destroy(p->gpu);
    weir_interp_destroy(p->interp);
    for (size_t i = 0; i < p->code_count; i++)
        weir_image_unload(p->codes[i].image);
    if (p->ptx)
        weir_ptx_module_destroy(p->ptx);
    free(p->module_data);
    free(p);
}

static enum outcome compile(struct program *p, const struct launch *l, const struct code **out,
                            char *message, size_t bytes)
{
    const struct weir_ptx_function *f = weir_ptx_find_function(p->ptx, l->kernel);
    uint32_t shape[3] = {l->block.x, l->block.y, l->block.z};
    struct weir_jit_request request = {
        .kernel = f, .tier = p->target == TARGET_QUICK ? WEIR_JIT_QUICK : WEIR_JIT_BEST};
    const char *least =
        getenv("WEIR_PTX_LEAST_CPU"); /* code for the least processor that is supported */
    struct weir_jit_result result = {0};
    struct code *c;
    enum weir_err err;
    uint64_t start = weir_clock_ns();
    void *entry;

    if (!f) {
        snprintf(message, bytes, "no kernel %s", l->kernel);
        return OUTCOME_ERROR;
    }
    for (size_t i = 0; i < p->code_count; i++) {
        if (p->codes[i].function == f && memcmp(p->codes[i].block, shape, sizeof shape) == 0) {
            *out = &p->codes[i];
            return OUTCOME_OK;
        }
    }
    if (p->code_count == CODES_MAX)
        weir_image_unload(p->codes[--p->code_count].image);
    if (least && *least == '1') {
        request.cpu = "haswell";
        request.features = "+sse4.2,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe";
    }
    c = &p->codes[p->code_count];
    memcpy(request.block, shape, sizeof shape);
    if (narrow) {
        request.cpu = "haswell";
        request.features = "+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+popcnt,+movbe";
    }
    err = jit->compile(&request, &result);
    compile_ns += weir_clock_ns() - start;
    compile_instructions += f->inst_count;
    if (err) {
        snprintf(message, bytes, "%s: %s", weir_err_name((int)err), result.message);
        jit->release(&result);
        return err == WEIR_ERR_NOT_SUPPORTED ? OUTCOME_UNSUPPORTED : OUTCOME_ERROR;
    }
    err = weir_image_load(result.object, result.object_bytes, &c->image);
    c->meta = result.meta;
    jit->release(&result);
    entry = err ? NULL : weir_image_function(c->image, "weir_kernel");
    if (!entry) {
        snprintf(message, bytes, "%s", err ? weir_err_message() : "no weir_kernel in the object");
        return OUTCOME_ERROR;
    }
    memcpy(&c->run, &entry, sizeof entry);
    c->function = f;
    memcpy(c->block, shape, sizeof shape);
    p->code_count++;
    *out = c;
    return OUTCOME_OK;
}

/* ---- running blocks ---- */

static sigjmp_buf escape;
static volatile sig_atomic_t in_block;

WEIR_NORETURN static void service_fail(struct weir_block *block, uint32_t err, uint32_t line)
{
    block->error = err;
    block->error_line = line;
    siglongjmp(escape, 1);
}

static void service_check(struct weir_block *block, uint64_t addr, uint32_t bytes, uint32_t kind)
{
    (void)kind;
    if (addr >= (uint64_t)(uintptr_t)window &&
        addr - (uint64_t)(uintptr_t)window <= WINDOW_BYTES - bytes)
        return;
    block->error_address = addr;
    service_fail(block, WEIR_ERR_ILLEGAL_ADDRESS, 0);
}

static void service_vprintf(struct weir_block *block, uint32_t mask, const uint64_t *formats,
                            const uint64_t *args, int32_t *results)
{
    (void)formats;
    (void)args;
    (void)mask;
    (void)results;
    service_fail(block, WEIR_ERR_NOT_SUPPORTED,
                 0); /* printf is tested with the front's own services */
}

static void service_malloc(struct weir_block *block, uint32_t mask, const uint64_t *bytes,
                           uint64_t *results)
{
    (void)block;
    for (int lane = 0; lane < 32; lane++) {
        if (mask >> lane & 1)
            results[lane] = (uint64_t)(uintptr_t)memory_alloc(TARGET_BEST, (size_t)bytes[lane]);
    }
}

static void service_free(struct weir_block *block, uint32_t mask, const uint64_t *ptrs)
{
    (void)block;
    (void)mask;
    (void)ptrs; /* the arena goes as a whole */
}

WEIR_NORETURN static void service_assert(struct weir_block *block, uint32_t mask,
                                         const uint64_t *message, const uint64_t *file,
                                         const uint32_t *line, const uint64_t *function)
{
    (void)mask;
    (void)message;
    (void)file;
    (void)line;
    (void)function;
    service_fail(block, WEIR_ERR_ASSERT, 0);
}

static void service_nanosleep(struct weir_block *block, uint32_t ns)
{
    (void)block;
    (void)ns;
}

static const struct weir_kernel_services services = {
    .check_address = service_check,
    .fail = service_fail,
    .vprintf = service_vprintf,
    .malloc = service_malloc,
    .free = service_free,
    .assert_fail = service_assert,
    .globaltimer = weir_clock_ns,
    .nanosleep = service_nanosleep,
};

static void on_fault(int signo)
{
    if (in_block)
        siglongjmp(escape, 2);
    signal(signo, SIG_DFL);
    raise(signo);
}

static unsigned set_mxcsr(unsigned value)
{
#if defined(__x86_64__)
    unsigned old = _mm_getcsr();

    _mm_setcsr(value);
    return old;
#else
    return value;
#endif
}

/* One call of the block's function. */
static uint32_t step(const struct code *c, struct weir_block *block)
{
    unsigned old = set_mxcsr(c->meta.mxcsr ? c->meta.mxcsr : 0x1f80);
    uint32_t end;

    switch (sigsetjmp(escape, 1)) {
    case 0:
        in_block = 1;
        end = c->run(block);
        break;
    case 1:
        end = WEIR_BLOCK_FAILED;
        break;
    default:
        block->error = WEIR_ERR_ILLEGAL_ADDRESS;
        end = WEIR_BLOCK_FAILED;
        break;
    }
    in_block = 0;
    set_mxcsr(old);
    return end;
}

static enum outcome failed(const struct weir_block *block, char *message, size_t bytes)
{
    const char *name = weir_err_name((int)block->error);

    snprintf(message, bytes, "block %u,%u,%u ended with %s (line %u, address %llx)",
             block->ctaid[0], block->ctaid[1], block->ctaid[2], name ? name : "?",
             block->error_line, (unsigned long long)block->error_address);
    return block->error == WEIR_ERR_ILLEGAL_ADDRESS ? OUTCOME_FAULT : OUTCOME_TRAP;
}

/* Every block has memory of its own, so that any may park; all are called in turn until none is
 * left. */
static enum outcome run_blocks(const struct code *c, const struct weir_launch *launch,
                               char *message, size_t bytes)
{
    size_t count = (size_t)launch->grid[0] * launch->grid[1] * launch->grid[2], left = count;
    size_t threads = (size_t)launch->block[0] * launch->block[1] * launch->block[2];
    struct weir_block *blocks = calloc(count, sizeof *blocks);
    bool *done = calloc(count, sizeof *done);
    enum outcome outcome = OUTCOME_OK;

    if (!blocks || !done)
        abort();
    for (size_t i = 0; i < count; i++) {
        struct weir_block *b = &blocks[i];

        b->launch = launch;
        b->ctaid[0] = (uint32_t)(i % launch->grid[0]);
        b->ctaid[1] = (uint32_t)(i / launch->grid[0] % launch->grid[1]);
        b->ctaid[2] = (uint32_t)(i / launch->grid[0] / launch->grid[1]);
        b->shared_bytes = c->meta.static_shared_bytes + launch->dynamic_shared_bytes;
        b->shared = memory_alloc(TARGET_BEST, b->shared_bytes + 128);
        b->local = memory_alloc(TARGET_BEST, c->meta.local_bytes_per_thread * threads + 128);
        b->state = aligned_alloc(64, (c->meta.state_bytes + 127) & ~63u);
        memset(b->shared, 0xa5, b->shared_bytes); /* undefined contents */
        memset(b->state, 0x5a, c->meta.state_bytes);
    }
    for (unsigned round = 0; left && outcome == OUTCOME_OK; round++) {
        for (size_t i = 0; i < count && outcome == OUTCOME_OK; i++) {
            if (done[i])
                continue;
            switch (step(c, &blocks[i])) {
            case WEIR_BLOCK_DONE:
                done[i] = true;
                left--;
                break;
            case WEIR_BLOCK_PARKED:
                break;
            default:
                outcome = failed(&blocks[i], message, bytes);
                break;
            }
        }
        if (round == ROUNDS_MAX / (count + 1)) {
            snprintf(message, bytes, "%zu of %zu blocks never ended", left, count);
            outcome = OUTCOME_HANG;
        }
    }
    for (size_t i = 0; i < count; i++)
        free(blocks[i].state);
    free(blocks);
    free(done);
    return outcome;
}

static enum outcome interpret(struct program *p, const struct launch *l, char *message,
                              size_t bytes)
{
    struct weir_interp_launch launch = {
        .grid = {l->grid.x, l->grid.y, l->grid.z},
        .block = {l->block.x, l->block.y, l->block.z},
        .params = l->params,
        .dynamic_shared_bytes = l->dynamic_shared,
    };
    const struct weir_ptx_function *f = weir_ptx_find_function(p->ptx, l->kernel);
    enum weir_err err;

    if (!f) {
        snprintf(message, bytes, "no kernel %s", l->kernel);
        return OUTCOME_ERROR;
    }
    err = weir_interp_launch(p->interp, f, &launch);
    if (err)
        snprintf(message, bytes, "%s", weir_err_message());
    switch (err) {
    case WEIR_OK:
        return OUTCOME_OK;
    case WEIR_ERR_NOT_SUPPORTED:
        return OUTCOME_UNSUPPORTED;
    case WEIR_ERR_ILLEGAL_ADDRESS:
        return OUTCOME_FAULT;
    case WEIR_ERR_LAUNCH_TIMEOUT:
        return OUTCOME_HANG;
    default:
        return OUTCOME_TRAP;
    }
}

enum outcome program_run(struct program *p, const struct launch *l, char *message, size_t bytes)
{
    struct weir_launch launch = {
        .grid = {l->grid.x, l->grid.y, l->grid.z},
        .block = {l->block.x, l->block.y, l->block.z},
        .params = l->params,
        .param_bytes = (uint32_t)l->param_bytes,
        .dynamic_shared_bytes = l->dynamic_shared,
        .services = &services,
        .module_data = p->module_data,
        .window_base = (uint64_t)(uintptr_t)window,
        .window_bytes = WINDOW_BYTES,
        .grid_id = 1,
        .sm_count = 4,
    };
    const struct code *c;
    enum outcome outcome;

    message[0] = 0;
    if (p->gpu)
        return gpu_program_run(p->gpu, l, message, bytes);
    if (p->interp)
        return interpret(p, l, message, bytes);
    if (p->target == TARGET_PARSE) {
        snprintf(message, bytes, "parsed only");
        return OUTCOME_UNSUPPORTED;
    }
    outcome = compile(p, l, &c, message, bytes);
    if (outcome != OUTCOME_OK)
        return outcome;
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    signal(SIGFPE, on_fault);
    signal(SIGILL, on_fault);
    return run_blocks(c, &launch, message, bytes);
}
