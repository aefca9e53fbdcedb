/* System calls and the few string functions of libweir-audit.so, which is linked to nothing: a C
 * library of its own in the auditors' namespace would be loaded and relocated again in every
 * process under `weir run`. Functions return what the kernel returns: -errno on failure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_SYS_H
#define WEIR_TAKEOVER_SYS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

long weir_sys_call(long number, long a, long b, long c, long d, long e, long f);

static inline long sys_open(const char *path)
{
    return weir_sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static inline long sys_close(long fd)
{
    return weir_sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long sys_pread(long fd, void *to, size_t bytes, uint64_t at)
{
    return weir_sys_call(SYS_pread64, fd, (long)to, (long)bytes, (long)at, 0, 0);
}

static inline long sys_write(int fd, const void *data, size_t bytes)
{
    return weir_sys_call(SYS_write, fd, (long)data, (long)bytes, 0, 0, 0);
}

static inline long sys_mmap(void *at, size_t bytes, int prot, int flags, long fd, uint64_t offset)
{
    return weir_sys_call(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, (long)offset);
}

static inline long sys_munmap(void *at, size_t bytes)
{
    return weir_sys_call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

static inline long sys_mprotect(void *at, size_t bytes, int prot)
{
    return weir_sys_call(SYS_mprotect, (long)at, (long)bytes, prot, 0, 0, 0);
}

static inline bool sys_failed(long result)
{
    return result < 0 && result >= -4095;
}

_Noreturn static inline void sys_exit(int status)
{
    for (;;)
        weir_sys_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

bool weir_str_equal(const char *a, const char *b);
bool weir_str_begins(const char *s, const char *prefix);
size_t weir_str_length(const char *s);
const char *weir_str_basename(const char *path);

/* One line on stderr: "weir: " and the parts up to NULL. */
void weir_say(const char *const *parts);
#define WEIR_SAY(...) weir_say((const char *const[]){__VA_ARGS__, NULL})

#endif
