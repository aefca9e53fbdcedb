/* WEIR_TRACE=FILE: every call goes into the trace (trace/record.h), and NVTX's ranges as well.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/api.h"
#include "trace/nvtx.h"
#include "trace/record.h"

static _Atomic uint32_t names[WEIR_API_ID_COUNT];
static const struct weir_api_entry *table;
static const struct weir_api_hook *next;

static void enter(enum weir_api_id id, const void *site)
{
    if (next)
        next->enter(id, site);
    if (id != WEIR_API_ID___cudaPopCallConfiguration && weir_trace_enabled())
        weir_trace_enter(site);
}

static void leave(enum weir_api_id id, int err)
{
    /* (A kernel's stub fetches its configuration: no call of the program's.) */
    if (id != WEIR_API_ID___cudaPopCallConfiguration && weir_trace_enabled())
        weir_trace_leave(table[id].name, &names[id], err);
    if (next && next->leave)
        next->leave(id, err);
}

static const struct weir_api_hook trace_hook = {enter, leave};

/* The process that `weir run` became writes FILE; its children that use CUDA write FILE.PID. */
static char *path_of(const char *file)
{
    const char *owner = getenv("WEIR_TRACE_PID");
    size_t room = strlen(file) + 24;
    char *path = weir_alloc(room);

    if (path && owner && *owner && atol(owner) != (long)getpid())
        snprintf(path, room, "%s.%ld", file, (long)getpid());
    else if (path)
        snprintf(path, room, "%s", file);
    return path;
}

/* Before the program's first call, so that calls of constructors show as well. */
WEIR_CONSTRUCTOR static void start_tracing(void)
{
    const char *file = getenv("WEIR_TRACE"), *clock = getenv("WEIR_CLOCK");
    bool modelled = clock && strcmp(clock, "model") == 0;
    char *path;
    size_t count;

    /* Modelled time is made of the trace: without a file it stays in memory. */
    if ((!file || !*file) && modelled)
        path = weir_strdup("");
    else if (!file || !*file)
        return;
    else
        path = path_of(file);
    if (!path)
        return;
    table = weir_api_table(&count);
    next = weir_api_set_hook(&trace_hook);
    weir_trace_start(path, modelled);
}

/* After core has drained the devices. */
WEIR_DESTRUCTOR_LAST static void stop_tracing(void)
{
    weir_trace_stop();
}

WEIR_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    return weir_trace_nvtx_init(export_table);
}
