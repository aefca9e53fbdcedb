/* weir where: asks a running program what its streams and threads wait for (core/watch.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/watch.h"

static const char help[] =
    "usage: weir where PID\n"
    "\n"
    "Prints what every stream and host thread of a running program waits for, and where the cycle "
    "is if there\n"
    "is one. The program must run under `weir run` as the same user, and have used a device. It is "
    "not stopped\n"
    "and need not do anything: a thread of Weir's answers.\n"
    "\n"
    "Streams: the oldest operation that is left, and what it waits for by the rule (docs/rules). "
    "Threads: the\n"
    "CUDA call that each is in, since when, and for which operation. Host functions: whether they "
    "run, and\n"
    "whose mutex they wait for. Kernels: whether they poll memory, and which pending operation may "
    "write there.\n"
    "\n"
    "Exit status: 0, or 1 after a message.\n";

static int connect_to(int pid)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, WEIR_WATCH_SOCKET, pid);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int parent_of(int pid)
{
    char name[64];
    int parent = 0;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%d/status", pid);
    f = fopen(name, "re");
    while (f && fgets(name, sizeof name, f) && sscanf(name, "PPid: %d", &parent) != 1)
        continue;
    if (f)
        fclose(f);
    return parent;
}

/* Of `weir check` the program is a child. */
static int connect_to_child_of(int pid)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    int fd = -1;

    while (dir && fd < 0 && (e = readdir(dir))) {
        int child = atoi(e->d_name);

        if (child > 0 && parent_of(child) == pid)
            fd = connect_to(child);
    }
    if (dir)
        closedir(dir);
    return fd;
}

static int say_why(int pid)
{
    if (kill(pid, 0) != 0 && errno == ESRCH)
        fprintf(stderr, "weir where: there is no process %d\n", pid);
    else
        fprintf(stderr,
                "weir where: process %d does not answer: it does not run under `weir run` as this "
                "user, or has not used a device\n",
                pid);
    return 1;
}

int weir_cli_where(int argc, char **argv)
{
    char text[4096], *end;
    size_t total = 0;
    ssize_t n;
    long pid;
    int fd;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc != 2)
        return weir_cli_usage_error("where", "takes one process id");
    pid = strtol(argv[1], &end, 10);
    if (!*argv[1] || *end || pid <= 0 || pid > 1 << 30)
        return weir_cli_usage_error("where", "\"%s\" is no process id", argv[1]);
    fd = connect_to((int)pid);
    if (fd < 0)
        fd = connect_to_child_of((int)pid);
    if (fd < 0)
        return say_why((int)pid);
    while ((n = read(fd, text, sizeof text)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) {
            total += (size_t)n;
            fwrite(text, 1, (size_t)n, stdout);
        }
    }
    close(fd);
    return total ? 0 : say_why((int)pid);
}
