/* At the process's end: background jobs learn of it before the loader ends the libraries, also when
 * no compilation has opened the compiler library yet. This program's destructor runs as the first
 * of those.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "codegen/compile.h"

#define WAIT_MS 20000

static atomic_bool running;

/* Runs on while main returns, and as long as nothing says that this is the end. */
static void wait_for_end(struct weir_cg_job *job)
{
    (void)job;
    atomic_store(&running, true);
    for (int ms = 0; ms < WAIT_MS && !weir_cg_background_over(); ms++)
        usleep(1000);
}

static void nothing(struct weir_cg_job *job)
{
    (void)job;
}

WEIR_DESTRUCTOR static void look(void)
{
    static struct weir_cg_job late = {.run = nothing};
    bool over = weir_cg_background_over(), opened = weir_cg_jit_if_open() != NULL;

    if (!over || opened || weir_cg_job_submit(&late, false) == WEIR_OK) {
        fprintf(stderr, "at the end: over %d, opened %d, or a job is taken\n", over, opened);
        _exit(1);
    }
}

int main(void)
{
    static struct weir_cg_job job = {.run = wait_for_end};

    if (weir_cg_background_over() || weir_cg_job_submit(&job, false) != WEIR_OK) {
        fprintf(stderr, "no job is taken\n");
        _exit(1);
    }
    for (int ms = 0; ms < WAIT_MS && !atomic_load(&running); ms++)
        usleep(1000);
    return 0;
}
