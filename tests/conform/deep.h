/* How long a test that has no end goes on: `make deep DEEP_SECONDS=n`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CONFORM_DEEP_H
#define WEIR_CONFORM_DEEP_H

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* For DEEP_SECONDS since the first call, if they are given; else as long as `more` says. Thread:
 * one. */
static inline bool deep_goes_on(bool more)
{
    static time_t begun;
    const char *seconds = getenv("DEEP_SECONDS");

    if (!begun)
        begun = time(NULL);
    return seconds && atol(seconds) > 0 ? time(NULL) - begun < atol(seconds) : more;
}

#endif
