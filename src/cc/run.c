/* Command lines: building them, and running them as child processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

extern char **environ;

void cc_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("weir cc: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

void cc_args_add(struct cc_args *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : weir_alloc((size_t)n + 1);
    if (!text) {
        a->failed = true;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    if (!weir_vec_push(&a->v, text)) {
        weir_free(text);
        a->failed = true;
    }
}

void cc_args_copy(struct cc_args *a, const struct cc_args *from)
{
    for (size_t i = 0; i < from->v.count; i++)
        cc_args_add(a, "%s", from->v.items[i]);
    a->failed |= from->failed;
}

void cc_args_finish(struct cc_args *a)
{
    for (size_t i = 0; i < a->v.count; i++)
        weir_free(a->v.items[i]);
    weir_vec_finish(&a->v);
}

/* As a shell would read it back: quoted when needed. */
static void print_command(const struct cc_args *a)
{
    for (size_t i = 0; i < a->v.count; i++) {
        const char *s = a->v.items[i];
        const bool plain = *s && !strpbrk(s, " \t\n\"'\\$`*?[]<>|&;()#~{}");
        fprintf(stderr, i ? " " : "#$ ");
        if (plain) {
            fputs(s, stderr);
            continue;
        }
        fputc('\'', stderr);
        for (; *s; s++)
            fprintf(stderr, *s == '\'' ? "'\\''" : "%c", *s);
        fputc('\'', stderr);
    }
    fputc('\n', stderr);
}

/* All that comes out of `fd`, zero-terminated, from weir_alloc; NULL when there is no memory. */
static char *read_all(int fd)
{
    WEIR_VEC(char) text = {0};
    for (;;) {
        if (!weir_vec_reserve(&text, text.count + 4096)) {
            weir_vec_finish(&text);
            return NULL;
        }
        const ssize_t n = read(fd, text.items + text.count, text.cap - text.count - 1);
        if (n > 0)
            text.count += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    text.items[text.count] = 0;
    return text.items;
}

/* messages: the command's standard error, NULL when it is ours. */
static bool run(const struct cc *cc, struct cc_args *a, char **messages)
{
    if (a->failed || !weir_vec_push(&a->v, NULL)) {
        cc_error("out of memory");
        return false;
    }
    a->v.count--;
    if (cc->verbose || cc->dry_run)
        print_command(a);
    if (cc->dry_run)
        return true;
    pid_t child;
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (messages && !pipe2(ends, O_CLOEXEC))
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int e = posix_spawn(&child, a->v.items[0], &actions, NULL, a->v.items, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (ends[1] >= 0)
        close(ends[1]);
    if (ends[0] >= 0) {
        *messages = e ? NULL : read_all(ends[0]);
        close(ends[0]);
    }
    if (e) {
        cc_error("can not run %s: %s", a->v.items[0], strerror(e));
        return false;
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (WIFSIGNALED(status))
        cc_error("%s was ended by signal %d", a->v.items[0], WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool cc_run(const struct cc *cc, struct cc_args *a)
{
    return run(cc, a, NULL);
}

bool cc_run_compiler(const struct cc *cc, struct cc_args *a)
{
    char *messages = NULL;
    const bool ok = run(cc, a, &messages);
    if (messages)
        cc_print_messages(cc, messages);
    weir_free(messages);
    return ok;
}
