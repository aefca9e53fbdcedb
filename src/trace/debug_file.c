/* libdw's own search asks servers last (debuginfod), for which it loads libraries for networks into
 * the program even when no server is known. Their clean-up at the program's end does not wait for
 * a thread that looks for lines meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/debug_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define POLYNOMIAL   0xedb88320u /* of gdb's "separate debug files" */

static uint32_t checksum_of(int fd)
{
    uint32_t table[256], sum = ~0u;
    unsigned char data[1 << 12];
    ssize_t n;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? POLYNOMIAL : 0);
    }
    while ((n = read(fd, data, sizeof data)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            sum = table[(sum ^ data[i]) & 0xff] ^ sum >> 8;
    }
    lseek(fd, 0, SEEK_SET);
    return ~sum;
}

static int open_one(const char *full, uint32_t checksum, char **path)
{
    int fd = open(full, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    if ((checksum && checksum_of(fd) != checksum) || !(*path = strdup(full))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int by_id(const unsigned char *id, size_t count, char **path)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof full, DEBUG_FOLDER "/.build-id/%02x/", id[0]);

    if (count < 2 || count > 64)
        return -1;
    for (size_t i = 1; i < count; i++)
        n += snprintf(full + n, sizeof full - (size_t)n, "%02x", id[i]);
    snprintf(full + n, sizeof full - (size_t)n, ".debug");
    return open_one(full, 0, path);
}

static int by_name(const char *file, const char *name, uint32_t checksum, char **path)
{
    static const char *const forms[] = {"%.*s%s", "%.*s.debug/%s", DEBUG_FOLDER "%.*s%s"};
    char real[PATH_MAX], full[PATH_MAX];
    const char *slash;
    int fd = -1;

    if (name[0] == '/')
        return open_one(name, checksum, path);
    if (!realpath(file, real))
        return -1;
    slash = strrchr(real, '/');
    for (size_t i = 0; slash && fd < 0 && i < sizeof forms / sizeof forms[0]; i++) {
        if (snprintf(full, sizeof full, forms[i], (int)(slash + 1 - real), real, name) <
                (int)sizeof full &&
            strcmp(full, real) != 0)
            fd = open_one(full, checksum, path);
    }
    return fd;
}

int weir_trace_debug_file_open(const char *file, const unsigned char *id, size_t count,
                               const char *name, uint32_t checksum, char **path)
{
    int fd = count ? by_id(id, count, path) : -1;

    return fd < 0 && name && *name ? by_name(file, name, checksum, path) : fd;
}
