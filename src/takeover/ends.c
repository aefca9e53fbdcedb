/* Part of libweir-io.so: calls by which the process ends, or becomes another program. See ends.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/ends.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

#define EXPORT WEIR_EXPORT

typedef int exec_fn(const char *, char *const *, char *const *);

static _Atomic(int (*)(int)) told; /* NULL: nobody is told */

/* The next library's functions, looked up before there are threads: that takes the loader's lock.
 */
static struct {
    void (*end)(int);
    exec_fn *execve, *execvpe;
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
} next;

static void look_up(void *known, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    memcpy(known, &f, sizeof f);
}

__attribute__((constructor)) static void find_ends(void)
{
    look_up(&next.end, "_exit");
    look_up(&next.execve, "execve");
    look_up(&next.execvpe, "execvpe");
    look_up(&next.fexecve, "fexecve");
    look_up(&next.execveat, "execveat");
}

EXPORT void weir_ends_claim(int (*ends)(int status))
{
    atomic_store(&told, ends);
}

static int tell(int status)
{
    int (*f)(int) = atomic_load(&told);

    return f ? f(status) : status;
}

static WEIR_NORETURN void end(int status)
{
    status = tell(status);
    if (next.end)
        next.end(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORT WEIR_NORETURN void _exit(int status)
{
    end(status);
}

EXPORT WEIR_NORETURN void _Exit(int status)
{
    end(status);
}

/* ---- another program ---- */

static bool can_run(const char *path)
{
    return access(path, X_OK) == 0;
}

/* Along PATH, as execvpe does. */
static bool can_find(const char *name)
{
    const char *path = getenv("PATH");
    char full[PATH_MAX];

    if (strchr(name, '/'))
        return can_run(name);
    for (path = path ? path : "/bin:/usr/bin"; *path; path += strcspn(path, ":"), path += !!*path) {
        int n = (int)strcspn(path, ":");

        if (snprintf(full, sizeof full, "%.*s%s%s", n, path, n ? "/" : "", name) <
                (int)sizeof full &&
            can_run(full))
            return true;
    }
    return false;
}

/* One that is not there leaves this one as it is. */
static int become(exec_fn *f, bool can, const char *path, char *const *args, char *const *env)
{
    if (!f) {
        errno = ENOSYS;
        return -1;
    }
    if (can)
        (void)tell(0);
    return f(path, args, env);
}

EXPORT int execve(const char *path, char *const args[], char *const env[])
{
    return become(next.execve, can_run(path), path, args, env);
}

EXPORT int execv(const char *path, char *const args[])
{
    return become(next.execve, can_run(path), path, args, environ);
}

EXPORT int execvpe(const char *name, char *const args[], char *const env[])
{
    return become(next.execvpe, can_find(name), name, args, env);
}

EXPORT int execvp(const char *name, char *const args[])
{
    return become(next.execvpe, can_find(name), name, args, environ);
}

EXPORT int fexecve(int fd, char *const args[], char *const env[])
{
    if (next.fexecve)
        (void)tell(0);
    return next.fexecve ? next.fexecve(fd, args, env) : (errno = ENOSYS, -1);
}

EXPORT int execveat(int dir, const char *path, char *const args[], char *const env[], int flags)
{
    if (next.execveat && ((flags & AT_EMPTY_PATH) || faccessat(dir, path, X_OK, 0) == 0))
        (void)tell(0);
    return next.execveat ? next.execveat(dir, path, args, env, flags) : (errno = ENOSYS, -1);
}

#define ARGS_MAX 1024 /* of a list */

/* False: too many. */
static bool take_args(char **args, const char *first, va_list *list)
{
    args[0] = (char *)(uintptr_t)first;
    for (size_t i = 0; args[i]; i++) {
        if (i + 1 == ARGS_MAX)
            return false;
        args[i + 1] = va_arg(*list, char *);
    }
    return true;
}

/* execl, execlp, execle; env: what the environment is, when the list is read. */
#define LIST(name, f, can, env)                                                                    \
    EXPORT int name(const char *path, const char *first, ...)                                      \
    {                                                                                              \
        char *args[ARGS_MAX];                                                                      \
        va_list list;                                                                              \
        int r = -1;                                                                                \
                                                                                                   \
        va_start(list, first);                                                                     \
        if (take_args(args, first, &list))                                                         \
            r = become(f, can(path), path, args, env);                                             \
        else                                                                                       \
            errno = E2BIG;                                                                         \
        va_end(list);                                                                              \
        return r;                                                                                  \
    }
LIST(execl, next.execve, can_run, environ)
LIST(execlp, next.execvpe, can_find, environ)
LIST(execle, next.execve, can_run, va_arg(list, char *const *))
