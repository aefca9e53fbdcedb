/* See sys.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "takeover/sys.h"

#if defined(__x86_64__)
long weir_sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
long weir_sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#endif

bool weir_str_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

bool weir_str_begins(const char *s, const char *prefix)
{
    while (*prefix) {
        if (*s++ != *prefix++)
            return false;
    }
    return true;
}

size_t weir_str_length(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

const char *weir_str_basename(const char *path)
{
    const char *base = path;

    for (; *path; path++) {
        if (*path == '/')
            base = path + 1;
    }
    return base;
}

void weir_say(const char *const *parts)
{
    char line[1024] = "weir: ";
    size_t n = 6;

    for (; *parts; parts++) {
        for (const char *s = *parts; *s && n < sizeof line - 1; s++)
            line[n++] = *s;
    }
    line[n++] = '\n';
    sys_write(2, line, n);
}
