/* WEIR_LOG=debug: every call with its result, as it returns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/log.h"
#include "base/thread.h"
#include "runtime/api.h"

static const struct weir_api_hook *next;

static void enter(enum weir_api_id id, const void *site)
{
    if (next)
        next->enter(id, site);
}

static void leave(enum weir_api_id id, int err)
{
    const struct weir_api_entry *table;
    size_t count;

    if (next && next->leave)
        next->leave(id, err);
    table = weir_api_table(&count);
    if (err == WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "[%u] %s", weir_thread_id(), table[id].name);
    else
        weir_log(WEIR_LOG_DEBUG, "[%u] %s: %s: %s", weir_thread_id(), table[id].name,
                 weir_err_name(err), weir_err_message());
}

static const struct weir_api_hook log_hook = {enter, leave};

/* Before the program's first call, so that calls of constructors show as well. */
WEIR_CONSTRUCTOR static void start_logging(void)
{
    if (weir_log_level() >= WEIR_LOG_DEBUG)
        next = weir_api_set_hook(&log_hook);
}
