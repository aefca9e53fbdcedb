/* Registry of device code, and loading. Registration runs in the program's constructors, for every
 * translation unit: it copies a name and adds to a map, no more.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/module_code.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "check/check.h"
#include "core/linked.h"
#include "core/pages.h"
#include "core/stream.h"
#include "core/trace.h"
#include "memory/memory.h"

/* All guarded by lock (rank MODULES). */
struct registry {
    struct weir_lock lock;
    struct weir_list modules;
    bool ready;
    struct weir_map stubs;     /* stub or handle -> weir_function */
    struct weir_map symbols;   /* host variable -> weir_variable */
    struct weir_map libraries; /* handle -> weir_module */
    _Atomic uint64_t epoch;    /* changes when something is removed: threads' caches are stale */
};

static struct registry registry = {.lock = WEIR_LOCK_INIT(MODULES), .epoch = 1};

static void lock_registry(void)
{
    weir_lock_acquire(&registry.lock);
    if (!registry.ready) {
        weir_list_init(&registry.modules);
        registry.ready = true;
    }
}

static void unlock_registry(void)
{
    weir_lock_release(&registry.lock);
}

/* ---- registration ---- */

static struct weir_module *module_new(const void *data)
{
    struct weir_module *m = weir_calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->data = data;
    weir_list_init(&m->functions);
    weir_list_init(&m->variables);
    return m;
}

struct weir_module *weir_module_register(const void *wrapper)
{
    struct weir_module *m = module_new(wrapper);

    if (!m)
        return NULL;
    m->open_error = weir_fatbin_from_wrapper(wrapper, &m->fatbin);
    lock_registry();
    weir_list_append(&registry.modules, &m->link);
    unlock_registry();
    return m;
}

static struct weir_function *function_new_locked(struct weir_module *m, const void *stub,
                                                 const char *name)
{
    struct weir_function *f = weir_calloc(1, sizeof *f);
    const void *key;

    if (!f)
        return NULL;
    f->module = m;
    f->stub = stub;
    f->name = weir_strdup(name);
    key = stub ? stub : f;
    f->older = weir_map_get(&registry.stubs, (uintptr_t)key);
    if (!f->name || !weir_map_put(&registry.stubs, (uintptr_t)key, f)) {
        weir_free(f->name);
        weir_free(f);
        return NULL;
    }
    weir_list_append(&m->functions, &f->link);
    return f;
}

void weir_module_add_function(struct weir_module *m, const void *stub, const char *name)
{
    struct weir_function *f;

    lock_registry();
    f = function_new_locked(m, stub, name);
    unlock_registry();
    if (!f)
        weir_log(WEIR_LOG_ERROR, "out of memory while registering kernel %s", name);
}

void weir_module_add_variable(struct weir_module *m, const void *host, void **managed,
                              const char *name, size_t bytes, bool constant)
{
    struct weir_variable *v = weir_calloc(1, sizeof *v);
    bool ok = false;

    if (v) {
        *v = (struct weir_variable){.module = m,
                                    .host = host,
                                    .managed = managed,
                                    .name = weir_strdup(name),
                                    .bytes = bytes,
                                    .constant = constant};
        weir_list_init(&v->link);
        lock_registry();
        v->older = host ? weir_map_get(&registry.symbols, (uintptr_t)host) : NULL;
        ok = v->name && (!host || weir_map_put(&registry.symbols, (uintptr_t)host, v));
        if (ok)
            weir_list_append(&m->variables, &v->link);
        unlock_registry();
    }
    if (!ok) {
        if (v)
            weir_free(v->name);
        weir_free(v);
        weir_log(WEIR_LOG_ERROR, "out of memory while registering variable %s", name);
    }
}

/* ---- loading ---- */

struct placing {
    struct weir_module *module;
    struct weir_module_image *image;
    int device;
};

/* Another device or context has the module's managed variables, which are the same memory for all.
 */
static bool is_loaded_elsewhere(const struct weir_module *m, const struct weir_module_image *image)
{
    for (int i = 0; i < WEIR_MAX_CONTEXTS; i++) {
        if (m->images[i] && m->images[i] != image && m->images[i]->cg)
            return true;
    }
    return false;
}

static enum weir_err place_variable(void *arg, const struct weir_cg_variable *v, void **address,
                                    bool *keep)
{
    struct placing *p = arg;
    uint64_t key = weir_hash_bytes(v->name, strlen(v->name), 0) | 1;
    enum weir_mem_kind kind = v->managed ? WEIR_MEM_KIND_MANAGED : WEIR_MEM_KIND_DEVICE;
    enum weir_err err;

    /* A managed variable has one address on all devices. */
    if (v->managed && (*address = weir_map_get(&p->module->managed, key)) != NULL) {
        *keep = is_loaded_elsewhere(p->module, p->image);
        if (!*keep && !v->init)
            memset(*address, 0, v->bytes); /* loaded again after all devices were reset */
        return WEIR_OK;
    }
    err = weir_mem_alloc(kind, p->device, WEIR_MAX(v->bytes, 1), 1, p->module, address);
    if (err != WEIR_OK)
        return err;
    if (v->managed)
        weir_pages_watch(*address);
    if (weir_check_enabled())
        weir_check_written(*address, v->bytes);
    if (v->managed ? !weir_map_put(&p->module->managed, key, *address)
                   : !weir_vec_push(&p->image->allocations, *address)) {
        (void)!weir_mem_free(kind, *address); /* just allocated: cannot fail */
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "variable %s", v->name);
    }
    return WEIR_OK;
}

static enum weir_err load_image(struct weir_module *m, struct weir_context *ctx,
                                struct weir_module_image *image)
{
    struct placing placing = {m, image, ctx->ordinal};
    uint64_t start = weir_trace_enabled() ? weir_clock_ns() : 0;
    enum weir_err err = weir_module_code(m, ctx, &image->cg);

    if (err == WEIR_OK)
        err = weir_cg_module_place(image->cg, place_variable, &placing);
    if (WEIR_UNLIKELY(start))
        weir_trace_load(WEIR_TRACE_LOAD_MODULE, "", start, weir_clock_ns());
    if (err != WEIR_OK) {
        weir_log(WEIR_LOG_ERROR, "cannot load device code: %s: %s%s%s", weir_err_name(err),
                 weir_err_message(), m->without_ptx ? "; " : "",
                 m->without_ptx ? m->without_ptx : "");
        weir_cg_module_destroy(image->cg);
        image->cg = NULL;
    }
    return err;
}

/* The registry is locked while a module loads: a second user of the same module has to wait anyway.
 * Loading takes milliseconds (parse); compiling happens elsewhere. */
static enum weir_err image_locked(struct weir_module *m, struct weir_context *ctx,
                                  struct weir_module_image **out)
{
    struct weir_module_image *image = m->images[ctx->index];

    if (!image) {
        image = weir_calloc(1, sizeof *image);
        if (!image)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a module");
        image->error = load_image(m, ctx, image);
        m->images[ctx->index] = image;
        if (image->error != WEIR_OK)
            return image->error;
    }
    *out = image;
    return image->error == WEIR_OK
               ? WEIR_OK
               : WEIR_FAIL(image->error, "device code that could not be loaded");
}

/* kernel: f's; NULL: found by name. */
static enum weir_err make_function_image(struct weir_function *f, struct weir_cg_module *cg,
                                         struct weir_cg_kernel *kernel,
                                         struct weir_function_image **out)
{
    struct weir_function_image *image = weir_calloc(1, sizeof *image);

    if (!image)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "kernel %s", f->name);
    image->cg = cg;
    image->kernel = kernel ? kernel : weir_cg_kernel_find(cg, f->name);
    if (!image->kernel) {
        weir_free(image);
        return weir_module_fail_missing(f->module, WEIR_ERR_INVALID_DEVICE_FUNCTION, f->name,
                                        "no such kernel in its module's PTX");
    }
    weir_cg_kernel_info(image->kernel, &image->info);
    if (atomic_load(&f->module->max_registers))
        image->info.registers =
            WEIR_MIN(image->info.registers, atomic_load(&f->module->max_registers));
    image->param_offsets = weir_calloc(image->info.param_count + 1u, 2 * sizeof(size_t));
    if (!image->param_offsets) {
        weir_free(image);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "kernel %s", f->name);
    }
    image->param_bytes = image->param_offsets + image->info.param_count;
    for (uint32_t i = 0; i < image->info.param_count; i++)
        weir_cg_kernel_param(image->kernel, i, &image->param_offsets[i], &image->param_bytes[i]);
    atomic_store(&image->max_dynamic_shared, 49152 - (int)image->info.static_shared_bytes);
    atomic_store(&image->carveout, -1);
    *out = image;
    return WEIR_OK;
}

/* kernel: as in make_function_image, of f's module, which is loaded. */
static enum weir_err load_function_locked(struct weir_function *f, struct weir_context *ctx,
                                          struct weir_cg_kernel *kernel,
                                          struct weir_function_image **out)
{
    _Atomic(struct weir_function_image *) *images =
        atomic_load_explicit(&f->images, memory_order_relaxed);
    struct weir_module_image *mi;
    enum weir_err err;

    if (!images) {
        images = weir_calloc(WEIR_MAX_CONTEXTS, sizeof *images);
        if (!images)
            return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "kernel %s", f->name);
        atomic_store_explicit(&f->images, images, memory_order_release);
    }
    *out = atomic_load_explicit(&images[ctx->index], memory_order_relaxed);
    if (*out)
        return WEIR_OK;
    err = image_locked(f->module, ctx, &mi);
    if (err == WEIR_OK)
        err = make_function_image(f, mi->cg, kernel, out);
    if (err == WEIR_OK)
        atomic_store_explicit(&images[ctx->index], *out, memory_order_release);
    return err;
}

static enum weir_err load_function(struct weir_function *f, struct weir_context *ctx,
                                   struct weir_function_image **out)
{
    enum weir_err err;

    lock_registry();
    err = load_function_locked(f, ctx, NULL, out);
    unlock_registry();
    return err;
}

/* The function that stands for k: the one that the program has by this name, if that is k. */
static enum weir_err function_of_kernel_locked(struct weir_module *m, struct weir_context *ctx,
                                               struct weir_cg_module *cg, struct weir_cg_kernel *k,
                                               struct weir_function **out)
{
    const char *name = weir_cg_kernel_name(k);
    struct weir_function_image *image;
    enum weir_err err;

    *out = NULL;
    if (weir_cg_kernel_find(cg, name) == k) {
        WEIR_LIST_FOR_EACH(node, &m->functions)
        {
            struct weir_function *f = WEIR_LIST_ENTRY(node, struct weir_function, link);

            if (strcmp(f->name, name) == 0)
                *out = f;
        }
    }
    if (!*out)
        *out = function_new_locked(m, NULL, name);
    if (!*out)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "kernel %s", name);
    err = load_function_locked(*out, ctx, k, &image);
    if (err == WEIR_OK)
        (void)weir_cg_kernel_keep(k, *out);
    return err;
}

enum weir_err weir_function_of_address(struct weir_module *m, struct weir_context *ctx,
                                       struct weir_cg_module *cg, uint64_t address,
                                       struct weir_function **out,
                                       struct weir_function_image **image)
{
    struct weir_cg_kernel *k = weir_cg_kernel_of_address(cg, address);
    enum weir_err err = WEIR_OK;

    if (!k)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE_FUNCTION, "%#" PRIx64 " is no kernel", address);
    *out = weir_cg_kernel_keep(k, NULL);
    if (WEIR_UNLIKELY(!*out)) {
        lock_registry();
        err = function_of_kernel_locked(m, ctx, cg, k, out);
        unlock_registry();
    }
    if (err == WEIR_OK)
        *image = atomic_load_explicit(
            &atomic_load_explicit(&(*out)->images, memory_order_acquire)[ctx->index],
            memory_order_acquire);
    return err;
}

enum weir_err weir_function_image(struct weir_function *f, struct weir_context *ctx,
                                  struct weir_function_image **out)
{
    _Atomic(struct weir_function_image *) *images =
        atomic_load_explicit(&f->images, memory_order_acquire);

    if (WEIR_LIKELY(images)) {
        *out = atomic_load_explicit(&images[ctx->index], memory_order_acquire);
        if (WEIR_LIKELY(*out))
            return WEIR_OK;
    }
    if (WEIR_UNLIKELY(weir_core.config.strict.lazy_loading)) {
        enum weir_err err = weir_context_wait_before(WEIR_CALL_LAZY_LOAD, ctx->ordinal);

        if (err != WEIR_OK)
            return err;
    }
    return load_function(f, ctx, out);
}

/* ---- look-up ---- */

/* The calling thread's entry for this stub, emptied when something was unregistered meanwhile.
 * NULL: no memory. */
static struct weir_function_cache_entry *cache_entry(const void *stub)
{
    struct weir_thread_more *t = weir_thread_get_more();
    uint64_t epoch = atomic_load_explicit(&registry.epoch, memory_order_acquire);

    if (WEIR_UNLIKELY(!t))
        return NULL;
    if (WEIR_UNLIKELY(t->function_cache_epoch != epoch)) {
        memset(t->function_cache, 0, sizeof t->function_cache);
        t->function_cache_epoch = epoch;
    }
    return &t->function_cache[((uintptr_t)stub >> 4) % WEIR_FUNCTION_CACHE];
}

enum weir_err weir_function_find(const void *stub, struct weir_function **out)
{
    struct weir_function_cache_entry *entry = cache_entry(stub);

    if (WEIR_LIKELY(entry && entry->stub == stub && stub)) {
        *out = entry->function;
        return WEIR_OK;
    }
    if (!stub)
        return WEIR_FAIL(WEIR_ERR_INVALID_DEVICE_FUNCTION, "a kernel that is NULL");
    lock_registry();
    *out = weir_map_get(&registry.stubs, (uintptr_t)stub);
    unlock_registry();
    if (!*out)
        return WEIR_FAIL(WEIR_ERR_INVALID_RESOURCE_HANDLE, "%p is no kernel of this program", stub);
    if (entry)
        *entry = (struct weir_function_cache_entry){stub, *out};
    return WEIR_OK;
}

enum weir_err weir_function_handle(struct weir_function *f)
{
    bool ok;

    lock_registry();
    ok = weir_map_put(&registry.stubs, (uintptr_t)f, f);
    unlock_registry();
    return ok ? WEIR_OK : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "handle of kernel %s", f->name);
}

static enum weir_err variable_address(struct weir_module *m, const char *name,
                                      struct weir_context *ctx, void **address, size_t *bytes)
{
    struct weir_module_image *image;
    enum weir_err err;

    lock_registry();
    err = image_locked(m, ctx, &image);
    unlock_registry();
    return err == WEIR_OK ? weir_cg_module_variable(image->cg, name, address, bytes) : err;
}

enum weir_err weir_symbol_address(const void *host, struct weir_context *ctx, void **address,
                                  size_t *bytes)
{
    struct weir_variable *v = NULL;

    if (host) {
        lock_registry();
        v = weir_map_get(&registry.symbols, (uintptr_t)host);
        unlock_registry();
    }
    if (!v)
        return WEIR_FAIL(WEIR_ERR_INVALID_SYMBOL, "%p is no device variable of this program", host);
    return variable_address(v->module, v->name, ctx, address, bytes);
}

enum weir_err weir_module_init_managed(struct weir_module *m, int device)
{
    struct weir_context *ctx;
    enum weir_err err = weir_context_get(device, &ctx);

    if (err != WEIR_OK)
        return err;
    WEIR_LIST_FOR_EACH(node, &m->variables)
    {
        struct weir_variable *v = WEIR_LIST_ENTRY(node, struct weir_variable, link);
        size_t bytes;
        void *address;

        if (!v->managed)
            continue;
        err = variable_address(m, v->name, ctx, &address, &bytes);
        if (err != WEIR_OK)
            return err;
        *v->managed = address;
        /* From now on the program's address of the variable is this one, too
         * (cudaGetSymbolAddress(x) of a __managed__). */
        lock_registry();
        if (!weir_map_put(&registry.symbols, (uintptr_t)address, v))
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "managed variable %s", v->name);
        unlock_registry();
        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

/* ---- unloading ---- */

static void drop_image_locked(struct weir_module *m, int context)
{
    struct weir_module_image *image = m->images[context];

    WEIR_LIST_FOR_EACH(node, &m->functions)
    {
        struct weir_function *f = WEIR_LIST_ENTRY(node, struct weir_function, link);
        _Atomic(struct weir_function_image *) *images = atomic_load(&f->images);
        struct weir_function_image *fi = images ? atomic_exchange(&images[context], NULL) : NULL;

        if (fi)
            weir_free(fi->param_offsets);
        weir_free(fi);
    }
    if (!image)
        return;
    for (size_t i = 0; i < image->allocations.count; i++)
        (void)!weir_mem_free(WEIR_MEM_KIND_DEVICE,
                             image->allocations.items[i]); /* gone already after a reset */
    weir_vec_finish(&image->allocations);
    weir_cg_module_destroy(image->cg);
    weir_free(image);
    m->images[context] = NULL;
}

/* Several modules may register one host address: a template's stub or an inline variable, of which
 * the program's loader keeps one for all libraries. The newest answers; when it goes, the one
 * before it does again. */
static void forget_stub_locked(struct weir_function *f)
{
    struct weir_function *at = weir_map_get(&registry.stubs, (uintptr_t)f->stub);

    if (at == f && !f->older)
        weir_map_remove(&registry.stubs, (uintptr_t)f->stub);
    else if (at == f) /* replaces: needs no memory */
        (void)!weir_map_put(&registry.stubs, (uintptr_t)f->stub, f->older);
    while (at && at->older != f)
        at = at->older;
    if (at)
        at->older = f->older;
}

static void forget_symbol_locked(struct weir_variable *v)
{
    struct weir_variable *at = weir_map_get(&registry.symbols, (uintptr_t)v->host);

    if (at == v && !v->older)
        weir_map_remove(&registry.symbols, (uintptr_t)v->host);
    else if (at == v)
        (void)!weir_map_put(&registry.symbols, (uintptr_t)v->host, v->older);
    while (at && at->older != v)
        at = at->older;
    if (at)
        at->older = v->older;
}

static void drop_module_locked(struct weir_module *m)
{
    size_t pos = 0;
    uint64_t key;
    void *address;

    atomic_fetch_add(&registry.epoch, 1);
    for (int i = 0; i < atomic_load(&weir_core.context_count); i++)
        drop_image_locked(m, i);
    WEIR_LIST_FOR_EACH_SAFE(node, next, &m->functions)
    {
        struct weir_function *f = WEIR_LIST_ENTRY(node, struct weir_function, link);

        weir_map_remove(&registry.stubs, (uintptr_t)f);
        if (f->stub)
            forget_stub_locked(f);
        weir_free((void *)atomic_load(&f->images));
        weir_free(f->name);
        weir_free(f);
    }
    WEIR_LIST_FOR_EACH_SAFE(node, next, &m->variables)
    {
        struct weir_variable *v = WEIR_LIST_ENTRY(node, struct weir_variable, link);

        if (v->host)
            forget_symbol_locked(v);
        weir_free(v->name);
        weir_free(v);
    }
    while (weir_map_next(&m->managed, &pos, &key, &address)) {
        weir_map_remove(&registry.symbols, (uintptr_t)address);
        (void)!weir_mem_free(WEIR_MEM_KIND_MANAGED, address);
    }
    weir_map_finish(&m->managed);
    weir_list_remove(&m->link);
    weir_free(m->ptx);
    weir_free(m->without_ptx);
    weir_free(m->owned);
    weir_free(m);
}

/* Kernels of the module may be running: the code must outlive them. drain: not for ever; false then
 * when they did not end in time. */
static bool wait_for_users(struct weir_module *m, bool drain)
{
    bool ended = true;

    for (int i = 0; i < atomic_load(&weir_core.context_count); i++) {
        struct weir_context *ctx = &weir_core.contexts[i];

        if (!m->images[i] || weir_context_error(ctx) != WEIR_OK)
            continue;
        if (drain)
            ended = weir_wait_drain(ctx) && ended;
        else
            (void)!weir_wait_device(ctx);
    }
    return ended;
}

void weir_module_unregister(struct weir_module *m)
{
    /* In a forked child the locks' state is unknown. At exit (the usual caller) pending work ends
     * here, before the program's older exit handlers; kernels stay, because destructors of static
     * objects that come after this may launch them: which comes first is the host compiler's
     * choice. */
    if (atomic_load(&weir_core.state) == WEIR_CORE_READY) {
        if (!wait_for_users(m, true) || atomic_load(&weir_core.exiting))
            return; /* (a kernel that never ends: its code stays) */
    } else if (atomic_load(&weir_core.state) != WEIR_CORE_NEW)
        return;
    lock_registry();
    drop_module_locked(m);
    unlock_registry();
}

void weir_module_unload_context(struct weir_context *ctx)
{
    lock_registry();
    atomic_fetch_add(&registry.epoch, 1);
    WEIR_LIST_FOR_EACH_SAFE(node, next, &registry.modules)
    {
        struct weir_module *m = WEIR_LIST_ENTRY(node, struct weir_module, link);

        if (m->home == ctx) {
            weir_map_remove(&registry.libraries, (uintptr_t)m);
            drop_module_locked(m);
        } else {
            drop_image_locked(m, ctx->index);
        }
    }
    unlock_registry();
}

/* ---- libraries ---- */

#define ELF_MAGIC     0x464c457fu
#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u

/* The program may free what it loads from: a container is read again for each context. */
static enum weir_err open_copy(struct weir_module *m, const void *code, size_t bytes)
{
    m->owned = weir_alloc(bytes);
    if (!m->owned)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "%zu bytes of device code", bytes);
    memcpy(m->owned, code, bytes);
    return WEIR_OK;
}

static enum weir_err open_fatbin(struct weir_module *m, const void *code, size_t max_bytes)
{
    enum weir_err err = weir_fatbin_open(code, max_bytes, &m->fatbin);

    if (err == WEIR_OK)
        err = open_copy(m, code, m->fatbin.bytes);
    return err == WEIR_OK ? weir_fatbin_open(m->owned, m->fatbin.bytes, &m->fatbin) : err;
}

static enum weir_err open_linked(struct weir_module *m, const void *code, size_t max_bytes)
{
    int max_registers = 0;
    enum weir_err err = weir_linked_header(code, max_bytes, &m->linked_bytes, &max_registers);

    atomic_store(&m->max_registers, max_registers);
    return err == WEIR_OK ? open_copy(m, code, m->linked_bytes) : err;
}

static enum weir_err open_code(struct weir_module *m, const void *code, size_t max_bytes)
{
    uint32_t magic = 0;
    size_t n;

    if (max_bytes >= sizeof magic)
        memcpy(&magic, code,
               sizeof magic); /* PTX text has 4 bytes at least, its terminator included */
    if (magic == WRAPPER_MAGIC)
        return weir_fatbin_from_wrapper(code, &m->fatbin);
    if (magic == FATBIN_MAGIC)
        return open_fatbin(m, code, max_bytes);
    if (weir_linked_is(code, max_bytes))
        return open_linked(m, code, max_bytes);
    if (magic == ELF_MAGIC)
        return WEIR_FAIL(WEIR_ERR_NO_KERNEL_IMAGE_FOR_DEVICE,
                         "a cubin, which only a GPU can run; load its PTX instead");
    n = max_bytes == SIZE_MAX ? strlen(code) : strnlen(code, max_bytes);
    m->ptx = weir_alloc(n + 1);
    if (!m->ptx)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "PTX text");
    memcpy(m->ptx, code, n);
    m->ptx[n] = 0;
    m->ptx_bytes = n;
    return WEIR_OK;
}

enum weir_err weir_library_load(const void *code, size_t max_bytes, struct weir_context *ctx,
                                bool home, struct weir_module **out)
{
    struct weir_module *m = module_new(code);
    struct weir_module_image *image;
    enum weir_err err;

    if (!m)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a library");
    m->library = true;
    m->home = home ? ctx : NULL;
    weir_list_init(&m->link);
    err = open_code(m, code, max_bytes);
    lock_registry();
    if (err == WEIR_OK)
        err = image_locked(m, ctx, &image);
    for (size_t i = 0; err == WEIR_OK; i++) {
        const char *name = weir_cg_kernel_at(image->cg, i);

        if (!name)
            break;
        if (!function_new_locked(m, NULL, name))
            err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "kernels of a library");
    }
    if (err == WEIR_OK && !weir_map_put(&registry.libraries, (uintptr_t)m, m))
        err = WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "a library");
    if (err == WEIR_OK)
        weir_list_append(&registry.modules, &m->link);
    else
        drop_module_locked(m);
    unlock_registry();
    *out = m;
    return err;
}

struct weir_module *weir_library_check(const void *handle)
{
    struct weir_module *m;

    lock_registry();
    m = handle ? weir_map_get(&registry.libraries, (uintptr_t)handle) : NULL;
    unlock_registry();
    return m;
}

enum weir_err weir_library_unload(struct weir_module *m)
{
    (void)wait_for_users(m, false);
    lock_registry();
    weir_map_remove(&registry.libraries, (uintptr_t)m);
    drop_module_locked(m);
    unlock_registry();
    return WEIR_OK;
}

enum weir_err weir_library_kernel(struct weir_module *m, const char *name,
                                  struct weir_function **out)
{
    *out = NULL;
    lock_registry();
    WEIR_LIST_FOR_EACH(node, &m->functions)
    {
        struct weir_function *f = WEIR_LIST_ENTRY(node, struct weir_function, link);

        if (strcmp(f->name, name) == 0)
            *out = f;
    }
    unlock_registry();
    return *out ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_SYMBOL_NOT_FOUND, "no kernel %s in the library", name);
}

unsigned weir_library_kernels(struct weir_module *m, void **out, unsigned max)
{
    unsigned n = 0;

    lock_registry();
    WEIR_LIST_FOR_EACH(node, &m->functions)
    {
        if (n < max)
            out[n] = WEIR_LIST_ENTRY(node, struct weir_function, link);
        n++;
    }
    unlock_registry();
    return n;
}

enum weir_err weir_library_symbol(struct weir_module *m, const char *name, struct weir_context *ctx,
                                  void **address, size_t *bytes)
{
    enum weir_err err = variable_address(m, name, ctx, address, bytes);

    return err == WEIR_ERR_INVALID_SYMBOL
               ? WEIR_FAIL(WEIR_ERR_SYMBOL_NOT_FOUND, "no variable %s in the library", name)
               : err;
}
