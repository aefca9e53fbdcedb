/* Compiler attributes, in one place so that the other layers stay plain C17.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_BASE_COMPILER_H
#define WEIR_BASE_COMPILER_H

#include <stddef.h>

#define WEIR_MUST_CHECK      __attribute__((warn_unused_result))
#define WEIR_EXPORT          __attribute__((visibility("default")))
#define WEIR_NORETURN        __attribute__((noreturn))
#define WEIR_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define WEIR_UNUSED          __attribute__((unused))
#define WEIR_ALIGNED(n)      __attribute__((aligned(n)))
#define WEIR_NOINLINE        __attribute__((noinline))
#define WEIR_ALWAYS_INLINE   inline __attribute__((always_inline))
#define WEIR_CONSTRUCTOR     __attribute__((constructor))     /* runs when the library is loaded */
#define WEIR_DESTRUCTOR      __attribute__((destructor))      /* at exit, or at dlclose */
#define WEIR_DESTRUCTOR_LAST __attribute__((destructor(200))) /* after those above */
#define WEIR_LIKELY(x)       __builtin_expect(!!(x), 1)
#define WEIR_UNLIKELY(x)     __builtin_expect(!!(x), 0)
#define WEIR_TLS             _Thread_local __attribute__((tls_model("initial-exec")))

/* True when the result does not fit; *out gets the wrapped value. */
#define WEIR_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow((a), (b), (out))
#define WEIR_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow((a), (b), (out))

#define WEIR_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define WEIR_ARRAY_SIZE(a)                   (sizeof(a) / sizeof((a)[0]))
#define WEIR_ALIGN_UP(x, a)                  (((x) + ((a)-1)) & ~((a)-1)) /* a is a power of two */
#define WEIR_MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define WEIR_MAX(a, b)                       ((a) > (b) ? (a) : (b))

static inline void weir_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
