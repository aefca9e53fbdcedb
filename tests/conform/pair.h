/* A test of two processes, which share a pair of sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PAIR_H
#define WEIR_TESTS_PAIR_H

#include <sys/socket.h>
#include <sys/wait.h>

#include "conform.h"

/* Forks before CUDA is used: `child` runs in the new process, `parent` here, each with its end. Not
 * 0: one of them failed. */
static inline int pair_run(int (*parent)(int other), int (*child)(int other))
{
    int pair[2], status = 0, own;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    pid = fork();
    if (pid == 0)
        exit(child(pair[1]));
    own = parent(pair[0]);
    waitpid(pid, &status, 0);
    return own || status;
}

#endif
