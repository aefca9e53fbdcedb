/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stackswitch.h"

#include <sys/mman.h>
#include <ucontext.h>

#include "base/sanitize.h"

#if !defined(__x86_64__)
#error "stackswitch: this processor needs stackswitch_ARCH.S and the context part below"
#endif

#define GUARD_BYTES ((size_t)256 << 10) /* large frames must not step over it */
#define PAGE_BYTES  ((size_t)4096)

uint32_t weir_stack_switch(struct weir_stack *s, void *top, void (*run)(void *arg), void *arg);
WEIR_NORETURN void weir_stack_switch_back(struct weir_stack *s, uint32_t value);

#if defined(WEIR_BUILT_ASAN)
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack_save, const void **bottom_old,
                                     size_t *size_old);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
#endif
#if defined(WEIR_BUILT_TSAN)
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

enum weir_err weir_stack_create(struct weir_stack *s, size_t bytes)
{
    char *map;

    *s = (struct weir_stack){0};
    bytes = WEIR_ALIGN_UP(bytes, PAGE_BYTES);
    map = mmap(NULL, GUARD_BYTES + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               -1, 0);
    if (map == MAP_FAILED)
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no addresses for a stack");
    if (mprotect(map + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, GUARD_BYTES + bytes);
        return WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "no memory for a stack");
    }
    s->map = map;
    s->map_bytes = GUARD_BYTES + bytes;
    s->low = map + GUARD_BYTES;
    s->bytes = bytes;
    return WEIR_OK;
}

void weir_stack_destroy(struct weir_stack *s)
{
    if (!s->map)
        return;
#if defined(WEIR_BUILT_TSAN)
    if (s->fiber)
        __tsan_destroy_fiber(s->fiber);
#endif
    munmap(s->map, s->map_bytes);
    *s = (struct weir_stack){0};
}

bool weir_stack_is_guard(const struct weir_stack *s, uintptr_t addr)
{
    return addr - (uintptr_t)s->map < (uintptr_t)(s->low - s->map);
}

#if defined(WEIR_BUILT_ASAN)

/* What run needs to tell ASan when it arrives on the stack and when it leaves. */
struct asan_entry {
    void (*run)(void *arg);
    void *arg;
    const void *bottom;
    size_t bytes;
};

static void asan_run(void *arg)
{
    struct asan_entry *e = arg;

    __sanitizer_finish_switch_fiber(NULL, &e->bottom, &e->bytes);
    e->run(e->arg);
    __sanitizer_start_switch_fiber(NULL, e->bottom,
                                   e->bytes); /* NULL: this fiber's fake frames end here */
}

uint32_t weir_stack_call(struct weir_stack *s, void (*run)(void *arg), void *arg)
{
    struct asan_entry e = {.run = run, .arg = arg};
    void *fake = NULL;
    uint32_t value;

    __sanitizer_start_switch_fiber(&fake, s->low, s->bytes);
    value = weir_stack_switch(s, s->low + s->bytes, asan_run, &e);
    if (value) {
        /* The stack was left in the middle: say so now, and clear what the dropped frames had
         * marked. */
        __sanitizer_start_switch_fiber(NULL, e.bottom, e.bytes);
        __asan_unpoison_memory_region(s->low, s->bytes);
    }
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    return value;
}

#elif defined(WEIR_BUILT_TSAN)

uint32_t weir_stack_call(struct weir_stack *s, void (*run)(void *arg), void *arg)
{
    void *self = __tsan_get_current_fiber();
    uint32_t value;

    if (!s->fiber)
        s->fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(s->fiber, 0);
    value = weir_stack_switch(s, s->low + s->bytes, run, arg);
    __tsan_switch_to_fiber(self, 0);
    if (value) { /* its shadow stack still holds the dropped frames */
        __tsan_destroy_fiber(s->fiber);
        s->fiber = NULL;
    }
    return value;
}

#else

uint32_t weir_stack_call(struct weir_stack *s, void (*run)(void *arg), void *arg)
{
    return weir_stack_switch(s, s->low + s->bytes, run, arg);
}

#endif

void weir_stack_leave(struct weir_stack *s, uint32_t value)
{
    weir_stack_switch_back(s, value);
}

void weir_stack_leave_context(struct weir_stack *s, void *ucontext, uint32_t value)
{
    greg_t *regs = ((ucontext_t *)ucontext)->uc_mcontext.gregs;

    /* switch_back takes everything else from the caller's stack. */
    regs[REG_RDI] = (greg_t)(uintptr_t)s;
    regs[REG_RSI] = (greg_t)value;
    regs[REG_RIP] = (greg_t)(uintptr_t)weir_stack_switch_back;
    regs[REG_EFL] &= ~(greg_t)0x500; /* no single-stepping, string operations upwards */
}

uint32_t weir_fp_control_get(void)
{
    return __builtin_ia32_stmxcsr();
}

void weir_fp_control_set(uint32_t value)
{
    __builtin_ia32_ldmxcsr(value);
}
