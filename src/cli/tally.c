/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tally.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/tally.h"

bool weir_cli_tally_begin(struct cli_tally *t)
{
    void *p = MAP_FAILED;

    t->words = NULL;
    t->fd = memfd_create("weir-check", MFD_CLOEXEC);
    if (t->fd >= 0 && ftruncate(t->fd, sizeof *t->words) == 0)
        p = mmap(NULL, sizeof *t->words, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (p == MAP_FAILED) {
        weir_cli_tally_end(t);
        return false;
    }
    t->words = p;
    return true;
}

bool weir_cli_tally_tell(const struct cli_tally *t)
{
    char name[64];

    snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)getppid(), t->fd);
    return setenv(WEIR_TALLY_VARIABLE, name, 1) == 0;
}

/* One that goes on may still report. */
static bool is_over(pid_t pid, pid_t gone)
{
    return pid == gone || (kill(pid, 0) != 0 && errno == ESRCH);
}

unsigned long weir_cli_tally_sum(const struct cli_tally *t, pid_t gone, bool says)
{
    unsigned long all = 0;

    for (size_t i = 0; t->words && i < WEIR_TALLY_SLOTS; i++) {
        struct weir_tally_slot *s = &t->words->slots[i];
        uint32_t pid = atomic_load(&s->pid), draft = atomic_load(&s->draft_bytes);

        if (!pid)
            break;
        if (atomic_load(&s->reported)) {
            all += atomic_load(&s->hazards);
            continue;
        }
        if (!is_over((pid_t)pid, gone))
            continue;
        /* What is not in the draft may be one that is suppressed. */
        all += draft ? atomic_load(&s->hazards) : atomic_load(&s->found);
        if (says)
            fprintf(stderr,
                    "%.*sweir: check: process %u ended before it could report: %u found until "
                    "then, %u of them told above\n",
                    (int)draft, t->words->drafts[i], pid, atomic_load(&s->found),
                    draft ? atomic_load(&s->hazards) : 0);
    }
    return all;
}

void weir_cli_tally_end(struct cli_tally *t)
{
    if (t->words)
        munmap(t->words, sizeof *t->words);
    if (t->fd >= 0)
        close(t->fd);
    *t = (struct cli_tally){.fd = -1};
}
