/* Runs thread blocks, a chunk at a time, on a stack of Weir's own. The cost per block is a handful
 * of loads and stores: the stack switch, which is also where a fault leaves to, is done once a
 * chunk.
 * SPDX-License-Identifier: Apache-2.0 */
#include "device/device_int.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "memory/memory.h"

#define MXCSR_DEFAULT  0x1f80u
#define SLOT_BYTES_MIN ((size_t)32 << 10)
#define LOOK_EVERY                                                                                 \
    64u /* blocks between looks at the clock, at least; also after 1, 2, 4, 8 ...                  \
         */
#define LOOK_EVERY_BUSY 8u /* while a worker is idle */

enum weir_err weir_runner_init(struct runner *r, struct weir_device *dev)
{
    *r = (struct runner){.dev = dev, .sm = -1};
    return weir_stack_create(&r->stack, RUNNER_STACK_BYTES);
}

void weir_runner_finish(struct runner *r)
{
    weir_slot_destroy(r->slot);
    weir_stack_destroy(&r->stack);
}

struct slot *weir_slot_create(void)
{
    struct slot *s = weir_calloc(1, sizeof *s);

    if (s)
        weir_list_init(&s->link);
    return s;
}

void weir_slot_destroy(struct slot *s)
{
    if (!s)
        return;
    if (s->memory && weir_mem_free(WEIR_MEM_KIND_INTERNAL, s->memory) != WEIR_OK)
        s->memory = NULL; /* the window has ended before the device: nothing to give back */
    weir_free(s->members);
    weir_free(s);
}

enum weir_err weir_slot_fit(struct slot *s, const struct weir_kernel_work *k, int device)
{
    /* a better tier may have come while the kernel runs */
    const struct weir_kernel_code *code = s->code = weir_kernel_code_newest(k->code);
    size_t threads = (size_t)k->launch.block[0] * k->launch.block[1] * k->launch.block[2];
    size_t shared_each = WEIR_ALIGN_UP((size_t)k->shared_bytes, (size_t)128);
    size_t state_each = WEIR_ALIGN_UP((size_t)code->state_bytes, (size_t)64);
    size_t local_each = code->local_bytes_per_thread * threads;
    enum weir_err fits = weir_cluster_fit(s, k);
    size_t count = WEIR_MAX(s->member_count, 1u);
    size_t state = count * shared_each;
    size_t local = WEIR_ALIGN_UP(state + count * state_each, (size_t)WEIR_LOCAL_ALIGN);
    size_t bytes = local + count * WEIR_ALIGN_UP(local_each, (size_t)WEIR_LOCAL_ALIGN);

    if (WEIR_UNLIKELY(fits != WEIR_OK))
        return fits;

    if (WEIR_UNLIKELY(!s->memory || bytes > s->memory_bytes)) {
        size_t rounded = SLOT_BYTES_MIN;
        void *memory;
        enum weir_err err;

        while (rounded < bytes)
            rounded *= 2;
        err = weir_mem_alloc(WEIR_MEM_KIND_INTERNAL, device, rounded, 0, NULL, &memory);
        if (err != WEIR_OK)
            return err;
        if (s->memory && weir_mem_free(WEIR_MEM_KIND_INTERNAL, s->memory) != WEIR_OK)
            return WEIR_FAIL(WEIR_ERR_UNKNOWN, "a block's memory was not the window's");
        s->memory = memory;
        s->memory_bytes = rounded;
    }
    s->block.shared = s->memory;
    s->block.state = s->memory + state;
    s->block.local = s->memory + local;
    if (WEIR_UNLIKELY(s->member_count > 0))
        weir_cluster_place(s, k, shared_each, state_each,
                           WEIR_ALIGN_UP(local_each, (size_t)WEIR_LOCAL_ALIGN));
    return WEIR_OK;
}

/* Should the runner stop after the block that it has just run? Not the per-block path: only when
 * there is reason to ask. */
static bool chunk_is_old(struct runner *r)
{
    return weir_clock_ns() - r->now > 2 * (uint64_t)CHUNK_NS;
}

static void block_position(struct weir_block *b, const struct weir_launch *l, uint64_t index)
{
    uint64_t rows;

    if (index == 0) { /* most short kernels: no division */
        b->ctaid[0] = b->ctaid[1] = b->ctaid[2] = 0;
        return;
    }
    rows = index / l->grid[0];
    b->ctaid[0] = (uint32_t)(index % l->grid[0]);
    b->ctaid[1] = (uint32_t)(rows % l->grid[1]);
    b->ctaid[2] = (uint32_t)(rows / l->grid[1]);
}

static inline void block_advance(struct weir_block *b, const struct weir_launch *l)
{
    if (WEIR_LIKELY(++b->ctaid[0] < l->grid[0]))
        return;
    b->ctaid[0] = 0;
    if (++b->ctaid[1] < l->grid[1])
        return;
    b->ctaid[1] = 0;
    b->ctaid[2]++;
}

void weir_device_block_trigger(struct weir_block *b)
{
    struct weir_kernel_work *k = WEIR_CONTAINER_OF((struct weir_launch *)(uintptr_t)b->launch,
                                                   struct weir_kernel_work, launch);

    if (b->triggered)
        return;
    b->triggered = 1;
    /* Acquire and release: the last one has seen all that came before the others' triggers. */
    if (atomic_fetch_add_explicit(&k->triggers, 1, memory_order_acq_rel) + 1 ==
            k->block_count * k->cluster_blocks &&
        k->triggered)
        k->triggered(k);
}

/* On the runner's stack. A fault, or weir_device_block_fail, leaves from within run(). */
static void blocks_body(void *arg)
{
    struct runner *r = arg;
    struct weir_kernel_work *k = r->kernel;
    struct compute *c = &r->dev->compute;
    struct weir_block *b = &r->slot->block;
    const struct weir_launch *launch = &k->launch;
    const struct weir_kernel_code *code = r->slot->code;
    const weir_block_fn run = code->run;
    const uint64_t end = r->end;
    const int priority = r->priority;
    uint32_t count = 0;

    weir_fp_control_set(code->mxcsr ? code->mxcsr : MXCSR_DEFAULT);
    for (uint64_t index = r->index;;) {
        uint32_t how = WEIR_LIKELY(r->slot->member_count == 0) ? run(b) : weir_cluster_run(r);

        if (WEIR_UNLIKELY(how != WEIR_BLOCK_DONE)) {
            r->outcome = how == WEIR_BLOCK_PARKED ? RUN_PARKED : RUN_FAILED;
            return;
        }
        if (WEIR_UNLIKELY(code->triggers) && r->slot->member_count == 0)
            weir_device_block_trigger(b); /* a block that ends has let them, too */
        r->index = ++index;
        if (index == end) {
            r->outcome = RUN_FINISHED;
            return;
        }
        count++;
        b->resume = b->triggered = 0;
        if (WEIR_LIKELY(r->slot->member_count == 0))
            block_advance(b, launch);
        else
            weir_cluster_start(r->slot, k, index);
        if (WEIR_UNLIKELY(atomic_load_explicit(&k->error, memory_order_relaxed) != WEIR_OK)) {
            r->outcome = RUN_CANCELLED;
            return;
        }
        if (WEIR_UNLIKELY(!r->may_yield))
            continue;
        if (WEIR_UNLIKELY(atomic_load_explicit(&c->best_priority, memory_order_relaxed) <
                          priority) ||
            WEIR_UNLIKELY(r->stop && atomic_load_explicit(r->stop, memory_order_relaxed)) ||
            (WEIR_UNLIKELY((count & (count - 1)) == 0 || count % LOOK_EVERY == 0 ||
                           (count % LOOK_EVERY_BUSY == 0 &&
                            atomic_load_explicit(&c->sleepers, memory_order_relaxed) > 0)) &&
             chunk_is_old(r))) {
            r->outcome = RUN_YIELDED;
            return;
        }
    }
}

/* What a block that ended by a fault or by failing has to say. */
static void failure_note(struct runner *r, bool left)
{
    struct weir_block *b = &r->slot->block;

    if (r->slot->member_count > 0)
        weir_cluster_note(r->slot);
    if (left && r->fault_err) {
        b->error = r->fault_err;
        b->error_address = weir_mem_program_view(r->fault_address);
        b->error_pc = r->fault_pc;
    }
    if (!b->error)
        b->error = WEIR_ERR_LAUNCH_FAILURE;
    r->failure = (enum weir_err)b->error;
}

static void take_counts(struct weir_kernel_work *k, struct weir_block *b)
{
    atomic_fetch_add_explicit(&k->instructions, b->instructions, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->bytes, b->bytes, memory_order_relaxed);
    b->instructions = b->bytes = 0;
}

void weir_runner_blocks(struct runner *r, bool resume)
{
    struct weir_block *b = &r->slot->block;
    struct weir_kernel_work *k = r->kernel;
    bool left;

    b->launch = &k->launch;
    b->shared_bytes = k->shared_bytes;
    if (WEIR_UNLIKELY(!r->shown_smid)) /* a device's launches all have its number of SMs */
        r->shown_smid = 1 + (k->launch.sm_count ? r->smid % k->launch.sm_count : r->smid);
    b->smid = r->shown_smid - 1;
    b->error = b->error_line = b->error_lane = 0;
    b->error_address = b->error_pc = 0;
    b->escape = b->engine = r;
    if (!resume) {
        b->resume = b->triggered = 0;
        block_position(b, &k->launch, r->index);
    }
    if (WEIR_UNLIKELY(r->slot->member_count > 0))
        weir_cluster_enter(r, resume);
    left = !weir_runner_guarded(r, blocks_body, r);
    if (WEIR_UNLIKELY(b->instructions))
        take_counts(k, b);
    if (left)
        r->outcome = RUN_FAILED;
    if (r->outcome == RUN_FAILED)
        failure_note(r, left);
}

bool weir_runner_guarded(struct runner *r, void (*run)(void *arg), void *arg)
{
    uint32_t left;

    r->fault_err = WEIR_OK;
    r->fault_address = r->fault_pc = 0;
    r->guarded = true;
    left = weir_stack_call(&r->stack, run, arg);
    r->guarded = false;
    return left == 0;
}

void weir_kernel_note_failure(struct weir_kernel_work *k, const struct weir_block *b)
{
    k->error_noted = true;
    k->error_line = b->error_line;
    k->error_address = b->error_address;
    k->error_pc = b->error_pc;
    k->error_warp = b->warp;
    k->error_lane = b->error_lane;
    k->error_shared = (uintptr_t)b->shared;
    for (int i = 0; i < 3; i++)
        k->error_block[i] = b->ctaid[i];
}

void weir_device_block_fail(struct weir_block *block, uint32_t err, uint32_t line)
{
    struct runner *r = block->escape;

    block->error = err;
    block->error_line = line;
    weir_stack_leave(&r->stack, 1);
}
