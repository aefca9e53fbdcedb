/* SPDX-License-Identifier: Apache-2.0 */
#include "check/tally.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"

static struct weir_tally *tally;    /* NULL: no launcher */
static struct weir_tally_slot *own; /* NULL: nothing was found yet */

void weir_tally_open(void)
{
    const char *name = getenv(WEIR_TALLY_VARIABLE);
    int fd = name && *name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    struct stat st;
    void *p;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof *tally) {
        p = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        tally = p == MAP_FAILED ? NULL : p;
    }
    close(fd);
}

static struct weir_tally_slot *slot(void)
{
    for (size_t i = 0; tally && !own && i < WEIR_TALLY_SLOTS; i++) {
        uint32_t none = 0;

        if (atomic_compare_exchange_strong(&tally->slots[i].pid, &none, (uint32_t)getpid()) ||
            i + 1 == WEIR_TALLY_SLOTS)
            own = &tally->slots[i];
    }
    return own;
}

void weir_tally_found(void)
{
    if (slot())
        atomic_fetch_add(&own->found, 1);
}

void weir_tally_reported(size_t hazards)
{
    if ((!hazards && !own) || !slot())
        return;
    if (own == &tally->slots[WEIR_TALLY_SLOTS - 1])
        atomic_fetch_add(&own->hazards, (uint32_t)hazards);
    else
        atomic_store(&own->hazards, (uint32_t)hazards);
    atomic_store(&own->reported, 1);
}

char *weir_tally_draft(void)
{
    if (!own || own == &tally->slots[WEIR_TALLY_SLOTS - 1])
        return NULL;
    atomic_store(&own->draft_bytes, 0);
    return tally->drafts[own - tally->slots];
}

void weir_tally_drafted(size_t bytes, size_t hazards)
{
    atomic_store(&own->hazards, (uint32_t)hazards);
    atomic_store(&own->draft_bytes, (uint32_t)WEIR_MIN(bytes, WEIR_TALLY_DRAFT));
}

void weir_tally_forked(void)
{
    own = NULL;
}
