/* Kernels: what is known of one, and its code for a block shape: from memory, from the disk cache,
 * or compiled now. A variant (kernel and shape) goes EMPTY -> BUSY -> READY or FAILED; who makes it
 * BUSY does the work, all others sleep on the state word. A better tier replaces `code` later; the
 * older code stays, because blocks may be running it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/loader.h"
#include "base/log.h"
#include "base/thread.h"
#include "check/check.h"
#include "codegen/codegen_int.h"
#include "codegen/cpu.h"
#include "ptx/reads.h"

/* Kernels up to this many PTX instructions are compiled well at once; larger ones start with the
 * quick tier. */
#define DIRECT_BEST_MAX 50
/* More shapes than this of one kernel get the quick tier only: a program that changes its shape all
 * the time would keep the compile threads busy for code that is run once. */
#define SHAPES_MAX 64

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static struct weir_cg_settings settings;

#define V3          "x86-64-v3"
#define V3_FEATURES "+sse4.2,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe"

static void read_cpu(void)
{
    const char *cpu = getenv("WEIR_JIT_CPU");

    settings.v3 = cpu && strcmp(cpu, V3) == 0;
    if (cpu && !settings.v3)
        weir_log_unsupported("WEIR_JIT_CPU", "%.40s (only " V3 " can be asked for)", cpu);
}

static void read_settings(void)
{
    const char *tier = getenv("WEIR_JIT_TIER"), *check = getenv("WEIR_CHECK");
    const char *races = getenv("WEIR_CHECK_KERNEL_RACES");
    const char *clock = getenv("WEIR_CLOCK"); /* modelled time is made of what kernels count */
    struct weir_hash128 h;
    uint32_t abi[2] = {WEIR_KERNEL_ABI, WEIR_JIT_ABI};

    if (tier && strcmp(tier, "quick") == 0)
        settings.tiers = WEIR_CG_TIERS_QUICK;
    else if (tier && strcmp(tier, "best") == 0)
        settings.tiers = WEIR_CG_TIERS_BEST;
    settings.checks = check != NULL || weir_check_enabled(); /* weir run --strict managed */
    settings.touch = check && strcmp(check, "1") == 0;
    settings.races = settings.touch && races && strcmp(races, "1") == 0;
    settings.fidelity = getenv("WEIR_FIDELITY") != NULL;
    settings.perf = getenv("WEIR_PERF") != NULL;
    settings.gdb = getenv("WEIR_GDB") != NULL;
    settings.modelled = clock && strcmp(clock, "model") == 0;
    settings.counts = getenv("WEIR_COUNT") != NULL || settings.modelled;
    weir_cache_init_from_environment(&settings.cache);
    settings.missing = weir_cpu_missing();
    read_cpu();
    weir_hash128_init(&h);
    weir_hash128_add_field(&h, WEIR_VERSION, sizeof WEIR_VERSION);
    weir_hash128_add_field(&h, WEIR_LLVM_VERSION, sizeof WEIR_LLVM_VERSION);
    weir_hash128_add_field(&h, abi, sizeof abi);
    weir_cg_jit_hash(&h);
    weir_cpu_hash(&h);
    weir_hash128_add_field(&h, &settings.touch, sizeof settings.touch);
    if (settings.checks && !settings.touch) /* --light */
        weir_hash128_add_field(&h, "twin", sizeof "twin");
    if (settings.v3)
        weir_hash128_add_field(&h, V3, sizeof V3);
    if (settings.races) /* other code, kept apart */
        weir_hash128_add_field(&h, "races", sizeof "races");
    if (settings.counts)
        weir_hash128_add_field(&h, "counts", sizeof "counts");
    if (settings.gdb) /* the same code, but with lines */
        weir_hash128_add_field(&h, "lines", sizeof "lines");
    if (settings.modelled)
        weir_hash128_add_field(&h, "modelled", sizeof "modelled");
    weir_hash128_finish(&h, settings.platform);
}

struct weir_cg_settings *weir_cg_settings(void)
{
    pthread_once(&settings_once, read_settings);
    return &settings;
}

/* ---- what is known of a kernel ---- */

static bool is_undefined(const struct weir_ptx_function *f)
{
    return f && f->is_extern && !weir_ptx_is_builtin(f);
}

static void find_unresolved(void *ctx, const struct weir_ptx_operand *o, bool is_dest)
{
    struct weir_cg_kernel *k = ctx;

    (void)is_dest;
    if ((o->kind == WEIR_PTX_OPERAND_VAR || o->kind == WEIR_PTX_OPERAND_ADDRESS) && o->var &&
        !o->var->function && o->var->is_extern &&
        (o->var->space == WEIR_PTX_GLOBAL || o->var->space == WEIR_PTX_CONST))
        k->unresolved = o->var->name;
    if (o->kind == WEIR_PTX_OPERAND_FUNCTION && is_undefined(o->function))
        k->unresolved = o->function->name;
}

void weir_cg_kernel_init(struct weir_cg_kernel *k, struct weir_cg_module *m,
                         const struct weir_ptx_function *f)
{
    struct weir_ptx_reach reach;

    k->module = m;
    k->function = f;
    weir_lock_init(&k->lock, WEIR_RANK_COMPILE);
    k->inst_count = f->inst_count;
    if (!weir_ptx_reach_compute(f, &reach))
        return; /* the count only chooses the tier */
    k->inst_count = 0;
    for (size_t i = 0; i < reach.functions.count; i++) {
        const struct weir_ptx_function *g = reach.functions.items[i];

        k->inst_count += g->inst_count;
        for (size_t n = 0; n < g->inst_count; n++) {
            weir_ptx_inst_visit(&g->insts[n], find_unresolved, k);
            if (g->insts[n].call && is_undefined(g->insts[n].call->callee))
                k->unresolved = g->insts[n].call->callee->name;
        }
    }
    weir_ptx_reach_finish(&reach);
}

void weir_cg_kernel_finish(struct weir_cg_kernel *k)
{
    size_t pos = 0;
    uint64_t key;
    void *value;

    while (weir_map_next(&k->variants, &pos, &key, &value)) {
        struct weir_cg_variant *v = value;

        for (int t = WEIR_JIT_QUICK; t <= WEIR_JIT_BEST; t++) {
            weir_gdb_remove(v->tiers[t].gdb);
            weir_image_unload(v->tiers[t].image);
        }
        weir_free(v);
    }
    weir_map_finish(&k->variants);
}

static size_t shared_end(const struct weir_ptx_function *f)
{
    size_t end = 0;

    for (size_t i = 0; i < f->var_count; i++) {
        const struct weir_ptx_var *v = f->vars[i];

        if (v->space == WEIR_PTX_SHARED && !v->is_extern)
            end = WEIR_MAX(end, (size_t)(v->offset + v->bytes));
    }
    return end;
}

/* Of module scope, as the compiler places them for this kernel. */
static size_t module_shared(const struct weir_ptx_function *f)
{
    uint64_t *offsets = weir_calloc(f->module->var_count + 1, sizeof *offsets);
    uint64_t bytes = f->module->shared_bytes; /* more than it can be, if memory is short */

    if (offsets && !weir_ptx_shared_layout(f, offsets, &bytes))
        bytes = f->module->shared_bytes;
    weir_free(offsets);
    return (size_t)bytes;
}

/* Each function has a part of its own. */
static size_t add_shared(size_t bytes, const struct weir_ptx_function *f)
{
    size_t more = shared_end(f);

    return more ? WEIR_ALIGN_UP(bytes, (size_t)16) + more : bytes;
}

static int max_threads(const struct weir_ptx_function *f)
{
    const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint64_t product = 1;

    if (!n[0])
        return 1024;
    for (int d = 0; d < 3; d++)
        product *= n[d] ? WEIR_MIN(n[d], 1024u) : 1;
    return (int)WEIR_MIN(product, (uint64_t)1024);
}

static void compute_info_locked(struct weir_cg_kernel *k)
{
    const struct weir_ptx_function *f = k->function;
    const struct weir_ptx_module *ptx = k->module->ptx;
    struct weir_cg_kernel_info *info = &k->info;
    struct weir_ptx_reach reach;

    info->static_shared_bytes = add_shared(module_shared(f), f);
    info->local_bytes = (size_t)f->local_bytes;
    info->registers = weir_cg_pressure(f);
    if (weir_ptx_reach_compute(f, &reach)) {
        for (size_t i = 1; i < reach.functions.count; i++) {
            info->local_bytes += (size_t)reach.functions.items[i]->local_bytes;
            info->static_shared_bytes =
                add_shared(info->static_shared_bytes, reach.functions.items[i]);
        }
        weir_ptx_reach_finish(&reach);
    }
    for (size_t i = 0; i < ptx->var_count; i++) {
        if (ptx->vars[i]->space == WEIR_PTX_CONST)
            info->const_bytes += (size_t)ptx->vars[i]->bytes;
    }
    info->param_bytes = f->param_bytes;
    info->param_count = (uint32_t)f->param_count;
    info->reads = weir_cg_settings()->checks ? weir_ptx_reads(f) : 0;
    info->reaches_more = weir_cg_settings()->touch && weir_ptx_reaches_more(f);
    info->max_threads = max_threads(f);
    info->ptx_version = ptx->version;
    info->sm = ptx->target_sm;
    info->unresolved = k->unresolved;
    memcpy(info->cluster, f->reqnctapercluster, sizeof info->cluster);
    info->max_cluster = f->maxclusterrank;
    info->explicit_cluster = f->explicit_cluster || f->reqnctapercluster[0];
    k->info_done = true;
    if (!k->refusal[0] && weir_cg_forms_check(f, k->refusal, sizeof k->refusal) != WEIR_OK)
        k->refusal[0] = 0; /* no memory: the compiler says it, later */
    if (k->refusal[0])
        atomic_store_explicit(&k->unsupported, k->refusal, memory_order_release);
}

void weir_cg_kernel_info(const struct weir_cg_kernel *kernel, struct weir_cg_kernel_info *out)
{
    struct weir_cg_kernel *k =
        (struct weir_cg_kernel *)kernel; /* only what is computed once, under the lock */

    weir_lock_acquire(&k->lock);
    if (!k->info_done)
        compute_info_locked(k);
    *out = k->info;
    weir_lock_release(&k->lock);
}

const char *weir_cg_kernel_unsupported(const struct weir_cg_kernel *k)
{
    const char *why = atomic_load_explicit(&k->unsupported, memory_order_acquire);

    if (why && weir_cg_settings()->fidelity &&
        !atomic_exchange(&((struct weir_cg_kernel *)k)->reported, true))
        weir_cg_fidelity_report(k);
    return why;
}

bool weir_cg_kernel_param(const struct weir_cg_kernel *k, size_t n, size_t *offset, size_t *bytes)
{
    if (n >= k->function->param_count)
        return false;
    *offset = (size_t)k->function->params[n]->offset;
    *bytes = (size_t)k->function->params[n]->bytes;
    return true;
}

/* ---- code ---- */

static void variant_key(const struct weir_cg_variant *v, enum weir_jit_tier tier,
                        struct weir_cache_key *out)
{
    const struct weir_cg_kernel *k = v->kernel;
    uint32_t t = (uint32_t)tier;
    struct weir_hash128 h;

    weir_hash128_init(&h);
    weir_hash128_add(&h, weir_cg_settings()->platform, sizeof settings.platform);
    weir_hash128_add(&h, k->module->text_hash, sizeof k->module->text_hash);
    weir_hash128_add_field(&h, k->function->name, strlen(k->function->name));
    /* Linked units may each have a private kernel of this name. */
    weir_hash128_add(&h, &k->function->index, sizeof k->function->index);
    weir_hash128_add(&h, v->block, sizeof v->block);
    weir_hash128_add(&h, &t, sizeof t);
    weir_hash128_finish(&h, out->word);
}

/* Makes the object runnable and, when it is the best so far, the one that callers get. */
static enum weir_err install(struct weir_cg_variant *v, enum weir_jit_tier tier,
                             const struct weir_jit_meta *meta, const void *object, size_t bytes)
{
    struct weir_cg_tier_code *t = &v->tiers[tier];
    struct weir_image *image;
    void *entry;
    enum weir_err err;

    if (meta->kernel_abi != WEIR_KERNEL_ABI)
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "code for kernel interface %u",
                         meta->kernel_abi);
    err = weir_image_load(object, bytes, &image);
    if (err)
        return err;
    entry = weir_image_function(image, WEIR_CG_ENTRY);
    if (!entry) {
        weir_image_unload(image);
        return WEIR_FAIL(WEIR_ERR_INVALID_KERNEL_IMAGE, "compiled object without " WEIR_CG_ENTRY);
    }
    if (weir_cg_settings()->gdb)
        t->gdb = weir_gdb_add(image, object, bytes);
    if (weir_cg_settings()->perf)
        weir_cg_perf_add(image, v->kernel->function->name, tier);
    t->image = image;
    memcpy(&t->code.run, &entry, sizeof entry);
    t->code.name = v->kernel->function->name;
    t->code.state_bytes = meta->state_bytes;
    t->code.local_bytes_per_thread = meta->local_bytes_per_thread;
    t->code.static_shared_bytes = meta->static_shared_bytes;
    t->code.mxcsr = meta->mxcsr;
    t->code.may_park = meta->may_park;
    t->code.triggers = meta->triggers;
    t->code.launches = meta->launches;
    t->code.reads_clock = meta->reads_clock;
    t->code.cooperative = meta->cooperative;
    t->code.clusters = meta->clusters;
    t->code.module_data = v->kernel->module->data;
    if (tier == WEIR_JIT_BEST) /* also for launches that run the quick code */
        atomic_store_explicit(&v->tiers[WEIR_JIT_QUICK].code.better, &t->code,
                              memory_order_release);
    atomic_store_explicit(&v->code, &t->code, memory_order_release);
    return WEIR_OK;
}

static bool install_cached(struct weir_cg_variant *v, enum weir_jit_tier tier)
{
    struct weir_cache *cache = &weir_cg_settings()->cache;
    struct weir_cache_entry entry;
    struct weir_cache_key key;
    enum weir_err err;

    if (!cache->dir[0])
        return false;
    variant_key(v, tier, &key);
    if (!weir_cache_get(cache, &key, &entry))
        return false;
    err = install(v, tier, &entry.meta, entry.object, entry.object_bytes);
    weir_free(entry.object);
    if (err && err != WEIR_ERR_MEMORY_ALLOCATION)
        weir_cache_remove(cache, &key);
    return err == WEIR_OK;
}

/* Ends the BUSY state. After this the variant may be used, and with FAILED asked for again, at
 * once. */
static void finish(struct weir_cg_variant *v, enum weir_err status)
{
    v->status = status;
    snprintf(v->message, sizeof v->message, "%s", status ? weir_err_message() : "");
    atomic_store_explicit(&v->state, status ? WEIR_CG_FAILED : WEIR_CG_READY, memory_order_release);
    weir_futex_wake(&v->state, INT32_MAX);
}

static enum weir_err refuse(struct weir_cg_variant *v, enum weir_err err, const char *message)
{
    struct weir_cg_kernel *k = v->kernel;

    if (err == WEIR_ERR_NOT_SUPPORTED) {
        weir_lock_acquire(&k->lock);
        if (!k->refusal[0])
            snprintf(k->refusal, sizeof k->refusal, "%s", message);
        atomic_store_explicit(&k->unsupported, k->refusal, memory_order_release);
        weir_lock_release(&k->lock);
        weir_log_unsupported(message, "in kernel %s", k->function->name);
    }
    return WEIR_FAIL(err, "kernel %.100s: %.150s", k->function->name, message);
}

/* Compiles, installs; `stored` is called in between, when callers can already have the code. */
static enum weir_err compile(struct weir_cg_variant *v, enum weir_jit_tier tier, bool first)
{
    struct weir_cache *cache = &weir_cg_settings()->cache;
    struct weir_jit_request request = {
        .kernel = v->kernel->function,
        .block = {v->block[0], v->block[1], v->block[2]},
        .tier = tier,
        .lines = weir_cg_settings()->gdb ? WEIR_JIT_LINES_SOURCE : WEIR_JIT_LINES_NONE,
        .twin = weir_cg_settings()->checks,
        .touch = weir_cg_settings()->touch,
        .races = weir_cg_settings()->races,
        .counts = weir_cg_settings()->counts,
        .modelled = weir_cg_settings()->modelled,
        .cpu = weir_cg_settings()->v3 ? V3 : NULL,
        .features = weir_cg_settings()->v3 ? V3_FEATURES : NULL,
    };
    struct weir_jit_result result = {0};
    const struct weir_jit_api *jit;
    struct weir_cache_key key;
    enum weir_err err = weir_cg_jit_open(&jit);

    if (err) {
        if (first)
            finish(v, err);
        return err;
    }
    err = jit->compile(&request, &result);
    if (err)
        err = refuse(v, err, result.message);
    else
        err = install(v, tier, &result.meta, result.object, result.object_bytes);
    if (first)
        finish(v, err);
    if (!err && cache->dir[0]) {
        variant_key(v, tier, &key);
        weir_cache_put(cache, &key, &result.meta, result.object, result.object_bytes);
    }
    jit->release(&result);
    return err;
}

/* The module lives until the job's run gives its reference back, or the job is dropped. */
static enum weir_err submit(struct weir_cg_variant *v, struct weir_cg_job *job,
                            void (*run)(struct weir_cg_job *job), bool urgent)
{
    struct weir_cg_module *m = v->kernel->module;
    enum weir_err err;

    job->run = run;
    job->owner = m;
    weir_cg_module_ref(m);
    err = weir_cg_job_submit(job, urgent);
    if (err)
        weir_cg_module_unref(m, 1);
    return err;
}

static void run_better(struct weir_cg_job *job)
{
    struct weir_cg_variant *v = WEIR_CONTAINER_OF(job, struct weir_cg_variant, better);
    struct weir_cg_module *m = v->kernel->module;
    struct weir_cache_key key;

    /* on failure the quick code stays */
    if (!weir_cg_background_over() && compile(v, WEIR_JIT_BEST, false) == WEIR_OK &&
        weir_cg_settings()->cache.dir[0]) {
        variant_key(v, WEIR_JIT_QUICK, &key);
        weir_cache_remove(&weir_cg_settings()->cache, &key);
    }
    weir_cg_module_unref(m, 1);
}

static void want_better(struct weir_cg_variant *v)
{
    if (v->last_quick || weir_cg_settings()->tiers != WEIR_CG_TIERS_AUTO)
        return;
    if (submit(v, &v->better, run_better, false) != WEIR_OK)
        weir_log(WEIR_LOG_INFO, "kernel %s stays at the quick tier: %s", v->kernel->function->name,
                 weir_err_message());
}

static enum weir_jit_tier first_tier(const struct weir_cg_variant *v)
{
    switch (weir_cg_settings()->tiers) {
    case WEIR_CG_TIERS_QUICK:
        return WEIR_JIT_QUICK;
    case WEIR_CG_TIERS_BEST:
        return WEIR_JIT_BEST;
    default:
        return v->last_quick || v->kernel->inst_count > DIRECT_BEST_MAX ? WEIR_JIT_QUICK
                                                                        : WEIR_JIT_BEST;
    }
}

static void run_first(struct weir_cg_job *job)
{
    struct weir_cg_variant *v = WEIR_CONTAINER_OF(job, struct weir_cg_variant, first);
    struct weir_cg_module *m = v->kernel->module;
    enum weir_jit_tier tier = first_tier(v);

    if (compile(v, tier, true) == WEIR_OK && tier == WEIR_JIT_QUICK)
        want_better(v);
    weir_cg_module_unref(m, 1);
}

/* The caller has made the state BUSY. The disk cache is read here (some 100 us); a compilation goes
 * to its own thread. */
static void fill(struct weir_cg_variant *v)
{
    const struct weir_cg_settings *s = weir_cg_settings();
    const struct weir_cg_kernel *k = v->kernel;
    enum weir_err err = WEIR_OK;

    if (s->missing) {
        weir_log_unsupported("this processor", "kernels need %s", s->missing);
        finish(v, WEIR_FAIL(WEIR_ERR_NOT_SUPPORTED, "this processor has no %s", s->missing));
        return;
    }
    if (k->unresolved) {
        finish(v, WEIR_FAIL(WEIR_ERR_INVALID_PTX, "undefined symbol %s", k->unresolved));
        return;
    }
    if (s->tiers != WEIR_CG_TIERS_QUICK && install_cached(v, WEIR_JIT_BEST)) {
        finish(v, WEIR_OK);
        return;
    }
    if (s->tiers != WEIR_CG_TIERS_BEST && install_cached(v, WEIR_JIT_QUICK)) {
        finish(v, WEIR_OK);
        want_better(v);
        return;
    }
    err = submit(v, &v->first, run_first, true);
    if (err)
        finish(v, err);
}

static uint64_t shape_key(const uint32_t block[3])
{
    return ((uint64_t)block[0] << 40 | (uint64_t)block[1] << 20 | block[2]) + 1;
}

/* The variant, and whether the caller is the one who must fill it. NULL when out of memory. */
static struct weir_cg_variant *find_variant(struct weir_cg_kernel *k, const uint32_t block[3],
                                            bool *must_fill)
{
    struct weir_cg_variant *v;
    uint32_t state;

    weir_lock_acquire(&k->lock);
    v = weir_map_get(&k->variants, shape_key(block));
    if (!v) {
        v = weir_calloc(1, sizeof *v);
        if (v) {
            v->kernel = k;
            memcpy(v->block, block, sizeof v->block);
            v->last_quick = k->variants.count >= SHAPES_MAX;
        }
        if (v && !weir_map_put(&k->variants, shape_key(block), v)) {
            weir_free(v);
            v = NULL;
        }
    }
    if (v) {
        state = atomic_load_explicit(&v->state, memory_order_acquire);
        *must_fill =
            state == WEIR_CG_EMPTY ||
            (state == WEIR_CG_FAILED && v->status == WEIR_ERR_MEMORY_ALLOCATION); /* may work now */
        if (*must_fill)
            atomic_store_explicit(&v->state, WEIR_CG_BUSY, memory_order_relaxed);
    }
    weir_lock_release(&k->lock);
    return v;
}

struct weir_cg_variant *weir_cg_kernel_variant(struct weir_cg_kernel *k, const uint32_t block[3])
{
    struct weir_cg_variant *v;

    weir_lock_acquire(&k->lock);
    v = weir_map_get(&k->variants, shape_key(block));
    weir_lock_release(&k->lock);
    return v;
}

static bool same_shape(const uint32_t a[3], const uint32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool is_valid_shape(const uint32_t b[3])
{
    return b[0] && b[1] && b[2] && b[0] <= 1024 && b[1] <= 1024 && b[2] <= 64 &&
           b[0] * b[1] * b[2] <= 1024;
}

const struct weir_kernel_code *weir_cg_kernel_code_peek(struct weir_cg_kernel *k,
                                                        const uint32_t block[3])
{
    struct weir_cg_variant *v = atomic_load_explicit(&k->recent, memory_order_acquire);

    return v && same_shape(v->block, block) ? atomic_load_explicit(&v->code, memory_order_acquire)
                                            : NULL;
}

enum weir_err weir_cg_kernel_code(struct weir_cg_kernel *k, const uint32_t block[3],
                                  const struct weir_kernel_code **out)
{
    struct weir_cg_variant *v;
    bool must_fill = false;
    uint32_t state;

    *out = weir_cg_kernel_code_peek(k, block);
    if (*out)
        return WEIR_OK;
    if (!is_valid_shape(block))
        return WEIR_FAIL(WEIR_ERR_INVALID_CONFIGURATION, "block of %u x %u x %u threads", block[0],
                         block[1], block[2]);
    v = find_variant(k, block, &must_fill);
    if (!v)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a kernel's code");
    weir_lock_check_none_held();
    if (weir_cg_settings()->fidelity && !atomic_exchange(&k->reported, true))
        weir_cg_fidelity_report(k);
    if (must_fill)
        fill(v);
    while ((state = atomic_load_explicit(&v->state, memory_order_acquire)) == WEIR_CG_BUSY)
        weir_loader_wait(&v->state, WEIR_CG_BUSY, UINT64_MAX);
    if (state == WEIR_CG_FAILED)
        return WEIR_FAIL(v->status, "%s", v->message);
    *out = atomic_load_explicit(&v->code, memory_order_acquire);
    atomic_store_explicit(&k->recent, v, memory_order_release);
    return WEIR_OK;
}
