/* Names of compiled code for Linux's perf: /tmp/perf-PID.map, a line for each function (tools/perf
 * in the kernel's source, Documentation/jit-interface.txt). Lines are appended, also for code that
 * takes the place of other code; perf takes what it finds last.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel_name.h"
#include "base/log.h"
#include "codegen/codegen_int.h"

struct lines {
    char text[8192];
    size_t length;
    const char *kernel, *tier;
};

static void add_line(const struct weir_image_place *p, void *arg)
{
    struct lines *l = arg;
    bool entry = strcmp(p->name, WEIR_CG_ENTRY) == 0;
    size_t room = sizeof l->text - l->length;
    int n = snprintf(l->text + l->length, room, "%" PRIxPTR " %zx %s%s%s [%s]\n", p->begin,
                     p->bytes, l->kernel, entry ? "" : ":", entry ? "" : p->name, l->tier);

    if (n > 0 && (size_t)n < room)
        l->length += (size_t)n;
}

void weir_cg_perf_add(const struct weir_image *image, const char *kernel, enum weir_jit_tier tier)
{
    char path[64], name[256];
    struct lines l = {.length = 0,
                      .kernel = weir_kernel_plain_name(kernel, name, sizeof name),
                      .tier = tier == WEIR_JIT_BEST ? "best" : "quick"};
    int fd;

    weir_image_each(image, add_line, &l);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, l.text, l.length) != (ssize_t)l.length)
        weir_log(WEIR_LOG_WARN, "perf: cannot write %s", path);
    if (fd >= 0)
        close(fd);
}
