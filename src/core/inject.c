/* See inject.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/inject.h"

#include <inttypes.h>

#include "base/log.h"
#include "core/core.h"

_Atomic bool weir_inject_on, weir_inject_kernels;

static struct weir_inject_rules rules; /* immutable after start, but for the counters */

enum weir_err weir_inject_start(const char *spec)
{
    enum weir_err err = weir_inject_parse(spec, &rules);

    if (err != WEIR_OK)
        return err;
    for (int i = 0; i < rules.count; i++) {
        if (rules.items[i].kind == WEIR_INJECT_KERNEL)
            atomic_store(&weir_inject_kernels, true);
        if (rules.items[i].kind == WEIR_INJECT_DEVICE &&
            rules.items[i].device >= weir_core.config.devices)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\": there is no such device (--devices)",
                             rules.items[i].text);
    }
    atomic_store(&weir_inject_on, true);
    return WEIR_OK;
}

/* Each rule counts what it names; the first that fires decides. */
static enum weir_err ask(enum weir_inject_kind kind, const char *name,
                         bool (*names)(const struct weir_inject_rule *, const char *))
{
    const struct weir_inject_rule *fired = NULL;

    for (int i = 0; i < rules.count; i++) {
        struct weir_inject_rule *r = &rules.items[i];

        if (r->kind == kind && names(r, name) && weir_inject_fires(r) && !fired)
            fired = r;
    }
    if (!fired)
        return WEIR_OK;
    return WEIR_FAIL(fired->err, "on demand: %s", fired->text);
}

enum weir_err weir_inject_call(const char *call)
{
    enum weir_err err = ask(WEIR_INJECT_CALL, call, weir_inject_names_call);

    if (err != WEIR_OK && weir_err_is_sticky((int)err))
        weir_context_fail(&weir_core.contexts[weir_thread.context], err);
    return err;
}

enum weir_err weir_inject_kernel(const char *mangled)
{
    if (WEIR_LIKELY(!atomic_load_explicit(&weir_inject_kernels, memory_order_relaxed)))
        return WEIR_OK;
    return ask(WEIR_INJECT_KERNEL, mangled, weir_inject_names_kernel);
}

static void fail_device(struct weir_inject_rule *r)
{
    struct weir_context *ctx = &weir_core.contexts[r->device];

    weir_context_fail(ctx, r->err); /* first: who comes second finds it done */
    if (atomic_exchange(&r->failed, 1))
        return;
    weir_log(WEIR_LOG_INFO, "on demand: %s", r->text);
    for (int i = 0; i < weir_core.device_count; i++) {
        ctx = &weir_core.contexts[i];
        if (atomic_load_explicit(&ctx->active, memory_order_acquire))
            weir_device_stop_kernels(ctx->engines, r->err);
    }
}

uint64_t weir_inject_devices(uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;

    if (!weir_inject_enabled())
        return next;
    for (int i = 0; i < rules.count; i++) {
        struct weir_inject_rule *r = &rules.items[i];
        uint64_t at = weir_core.start_ns + r->at_ns;

        if (r->kind != WEIR_INJECT_DEVICE || atomic_load(&r->failed))
            continue;
        if (at <= now_ns)
            fail_device(r);
        else
            next = WEIR_MIN(next, at - now_ns);
    }
    return next;
}

void weir_inject_end(void)
{
    static const char *const what[] = {
        [WEIR_INJECT_CALL] = "calls", [WEIR_INJECT_KERNEL] = "launches"};

    if (!weir_inject_enabled())
        return;
    for (int i = 0; i < rules.count; i++) {
        struct weir_inject_rule *r = &rules.items[i];
        uint64_t seen = atomic_load(&r->seen);

        if (atomic_load(&r->failed) || (r->has_rate && seen))
            continue;
        if (r->kind == WEIR_INJECT_DEVICE)
            weir_log(WEIR_LOG_WARN, "--inject \"%s\": the program ended before", r->text);
        else
            weir_log(WEIR_LOG_WARN, "--inject \"%s\": none failed of %" PRIu64 " %s", r->text, seen,
                     what[r->kind]);
    }
}

void weir_inject_print(FILE *f)
{
    static const char *const what[] = {"calls", "launches"};

    if (!weir_inject_enabled())
        return;
    fprintf(f, "faults on demand:\n");
    for (int i = 0; i < rules.count; i++) {
        struct weir_inject_rule *r = &rules.items[i];

        if (r->kind == WEIR_INJECT_DEVICE)
            fprintf(f, "  %-60s %s\n", r->text, atomic_load(&r->failed) ? "failed" : "not yet");
        else
            fprintf(f, "  %-60s %8" PRIu64 " %s, %" PRIu64 " failed\n", r->text,
                    atomic_load(&r->seen), what[r->kind], atomic_load(&r->failed));
    }
}
