/* weir plan --calibrate: this machine's GPU as a device profile, and what a program's kernels take
 * on it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "plan/calibrate.h"

extern char **environ;

/* The library that measures stands before all others in the program. False after a message. */
static bool set_environment(const char *times)
{
    const char *old = getenv("LD_PRELOAD");
    char dir[PATH_MAX], *list;
    size_t room;
    bool ok;

    if (!weir_cli_libdir(dir))
        return false;
    room = strlen(dir) + (old ? strlen(old) : 0) + 32;
    list = malloc(room);
    if (list)
        snprintf(list, room, "%s/libweir-kernel-times.so%s%s", dir, old ? ":" : "", old ? old : "");
    ok = list && setenv("LD_PRELOAD", list, 1) == 0 && setenv("WEIR_KERNEL_TIMES", times, 1) == 0;
    free(list);
    if (!ok)
        perror("weir plan");
    return ok;
}

/* Runs the program; 0, or the exit status after a message. */
static int run(char **program)
{
    pid_t child;
    int status, err = posix_spawnp(&child, program[0], NULL, NULL, program, environ);

    if (err) {
        fprintf(stderr, "weir plan: %s: %s\n", program[0], strerror(err));
        return err == ENOENT ? WEIR_EXIT_NOT_FOUND : WEIR_EXIT_CANNOT_RUN;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "weir plan: %s was ended by signal %d: nothing is written\n", program[0],
                WTERMSIG(status));
    else if (WEXITSTATUS(status))
        fprintf(stderr, "weir plan: %s ended with %d: nothing is written\n", program[0],
                WEXITSTATUS(status));
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Why not. */
static void tell_lines(FILE *from)
{
    char line[4096];

    rewind(from);
    while (fgets(line, sizeof line, from))
        fprintf(stderr, "weir plan: %s", line + (strncmp(line, "# ", 2) == 0 ? 2 : 0));
}

/* The lines of the program's kernels to `to`. The exit status. */
static int measure_kernels(FILE *to, char **program)
{
    char path[] = "/tmp/weir-kernels-XXXXXX", line[4096];
    int fd = mkstemp(path), status = 1;
    size_t kernels = 0;
    FILE *from;

    if (fd < 0) {
        perror("weir plan");
        return 1;
    }
    close(fd);
    if (set_environment(path))
        status = run(program);
    from = status == 0 ? fopen(path, "r") : NULL;
    while (from && fgets(line, sizeof line, from)) {
        kernels += strncmp(line, "kernel ", 7) == 0;
        fputs(line, to);
    }
    if (from && !kernels) {
        fprintf(stderr, "weir plan: no kernel of %s was measured\n", program[0]);
        tell_lines(from);
        status = 1;
    }
    if (from)
        fclose(from);
    unlink(path);
    return status;
}

/* A text in memory: "" when nothing is written. */
struct text {
    FILE *to;
    char *bytes;
    size_t count;
};

static bool text_begin(struct text *t)
{
    t->to = open_memstream(&t->bytes, &t->count);
    if (!t->to)
        perror("weir plan");
    return t->to != NULL;
}

static bool text_end(struct text *t)
{
    if (fclose(t->to) == 0)
        return true;
    perror("weir plan");
    return false;
}

static int measure_device(FILE *to)
{
    char message[200];

    if (weir_plan_calibrate(to, message))
        return 0;
    fprintf(stderr, "weir plan: %s\n", message);
    return 1;
}

static int put(const char *out, const struct text *device, const struct text *kernels)
{
    FILE *to = weir_cli_open_output("plan", out);

    if (!to)
        return 1;
    fwrite(device->bytes, 1, device->count, to);
    fwrite(kernels->bytes, 1, kernels->count, to);
    return weir_cli_close_output("plan", to, true);
}

int weir_cli_calibrate(const char *out, char **program)
{
    struct text device = {0}, kernels = {0};
    int status = 1;

    if (program && !out)
        return weir_cli_usage_error("plan", "--calibrate with a program needs -o PROFILE");
    /* The program first: when it fails, that is known at once. */
    if (text_begin(&kernels)) {
        status = program ? measure_kernels(kernels.to, program) : 0;
        status = text_end(&kernels) ? status : 1;
    }
    if (status == 0 && text_begin(&device)) {
        status = measure_device(device.to);
        status = text_end(&device) ? status : 1;
    } else if (status == 0) {
        status = 1;
    }
    if (status == 0)
        status = put(out, &device, &kernels);
    free(device.bytes);
    free(kernels.bytes);
    return status;
}
