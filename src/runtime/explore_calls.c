/* WEIR_SCHEDULE=SPEC (weir run --schedule): the device advances at the program's calls only, as the
 * schedule says (core/explore.h). WEIR_SCHEDULE_LOG=FILE: what it decided. WEIR_SCHEDULE_SUM=FILE:
 * what it left in memory, as a number.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/log.h"
#include "core/explore.h"
#include "runtime/api.h"

static const struct weir_api_entry *table;
static const struct weir_api_hook *next;

/* (A kernel's stub fetches its configuration and handle: no calls of the program's.) */
static bool is_call(enum weir_api_id id)
{
    return id != WEIR_API_ID___cudaPopCallConfiguration && id != WEIR_API_ID___cudaGetKernel;
}

static void enter(enum weir_api_id id, const void *site)
{
    if (is_call(id))
        weir_explore_enter(table[id].name, site);
    if (next)
        next->enter(id, site);
}

static void leave(enum weir_api_id id, int err)
{
    if (next && next->leave)
        next->leave(id, err);
    if (is_call(id))
        weir_explore_leave(err == WEIR_ERR_NOT_READY);
}

static const struct weir_api_hook explore_hook = {enter, leave};

/* Before the program's first call. */
WEIR_CONSTRUCTOR static void start_exploring(void)
{
    const char *spec = getenv("WEIR_SCHEDULE"), *sum = getenv("WEIR_SCHEDULE_SUM");
    size_t count;

    if (!spec || !*spec)
        return;
    if (weir_explore_start(spec, getenv("WEIR_SCHEDULE_LOG")) != WEIR_OK) {
        weir_log(WEIR_LOG_ERROR, "WEIR_SCHEDULE: %s; ignored", weir_err_message());
        return;
    }
    if (sum && *sum)
        weir_explore_sum_start(sum);
    table = weir_api_table(&count);
    next = weir_api_set_hook(&explore_hook);
}
