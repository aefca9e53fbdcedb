/* Tests of what Weir writes: a child in which CUDA is first used, and its words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_TOLD_H
#define WEIR_TESTS_TOLD_H

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

/* Forks. 0 in the child, whose standard error (and output, if wanted) comes out of *out here. */
static inline pid_t told_fork(bool output_too, int *out)
{
    int ends[2] = {-1, -1};
    pid_t pid;

    CHECK(pipe(ends) == 0);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (output_too)
            dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
    } else {
        *out = ends[0];
    }
    close(ends[1]);
    return pid;
}

/* All of it, to the child's end; closes fd. */
static inline void told_read(int fd, char *text, size_t room)
{
    size_t n = 0;
    ssize_t got;

    while (n < room - 1 && (got = read(fd, text + n, room - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(fd);
}

/* Runs `run` in a child with variable=value, and the statistics on: it must succeed and say so. */
static inline bool told_run(const char *variable, const char *value, void (*run)(void),
                            bool output_too, const char *said, char *text, size_t room)
{
    int out = -1, status = 0;
    pid_t pid = told_fork(output_too, &out);

    if (pid == 0) {
        setenv(variable, value, 1);
        setenv("WEIR_STATS", "1", 1);
        conform_failures = 0;
        run();
        exit(conform_failures != 0);
    }
    told_read(out, text, room);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && strstr(text, said) != NULL;
}

#endif
