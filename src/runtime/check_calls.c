/* In a program with ThreadSanitizer, that is told what the calls order.
 * WEIR_CHECK=1 or light: the program's calls are told to the checker, and when it ends the findings
 * are written and make its exit status (WEIR_CHECK_STATUS, default 99).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tsan.h"
#include "check/check.h"
#include "core/strict.h"
#include "runtime/api.h"

static const struct weir_api_entry *table;
static const struct weir_api_hook *next;

static void enter(enum weir_api_id id, const void *site)
{
    if (next)
        next->enter(id, site);
    if (id != WEIR_API_ID___cudaPopCallConfiguration && weir_check_enabled())
        weir_check_enter(table[id].name, site);
}

static void leave(enum weir_api_id id, int err)
{
    if (next && next->leave)
        next->leave(id, err);
}

static const struct weir_api_hook check_hook = {enter, leave};

/* Nobody else has a hook: that of every call is as short as it can be. */
static void enter_alone(enum weir_api_id id, const void *site)
{
    if (WEIR_LIKELY(id != WEIR_API_ID___cudaPopCallConfiguration))
        weir_check_enter(table[id].name, site);
}

static const struct weir_api_hook alone_hook = {enter_alone, NULL};

/* What a call does inside is nothing that ThreadSanitizer is to see. */
static void enter_unseen(enum weir_api_id id, const void *site)
{
    enter(id, site);
    weir_tsan_ignore_begin();
}

static void leave_unseen(enum weir_api_id id, int err)
{
    weir_tsan_ignore_end();
    leave(id, err);
}

static const struct weir_api_hook unseen_hook = {enter_unseen, leave_unseen};

/* Before the program's first call. */
WEIR_CONSTRUCTOR static void start_checking(void)
{
    const char *on = getenv("WEIR_CHECK");
    bool tells = weir_check_tell_start(), judges;
    struct weir_strict strict;
    size_t count;

    if (tells)
        next = weir_api_set_hook(&unseen_hook);
    if (weir_strict_read(&strict) != WEIR_OK) /* which core complains of */
        strict.managed = false;
    judges = on && (strcmp(on, "1") == 0 || strcmp(on, "light") == 0);
    if (!judges && !strict.managed)
        return;
    table = weir_api_table(&count);
    weir_check_start(judges && *on == '1');
    if (strict.managed)
        weir_check_keep_managed(!judges);
    if (tells)
        return;
    next = weir_api_set_hook(&alone_hook);
    if (next)
        (void)weir_api_set_hook(&check_hook);
}

/* After core has drained the devices. */
WEIR_DESTRUCTOR_LAST static void stop_checking(void)
{
    if (weir_check_finish() == 0)
        return;
    fflush(NULL);
    _exit(weir_check_status());
}
