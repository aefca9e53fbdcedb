/* Taking over one object: finds the CUDA runtime inside it and makes each of its functions jump to
 * ours.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TAKEOVER_TAKE_H
#define WEIR_TAKEOVER_TAKE_H

#include <link.h>
#include <stdbool.h>

#include "takeover/dynamic.h"

struct weir_take {
    struct weir_dynamic weir; /* libweir.so: weir_api_NAME for each NAME, weir_api12_NAME */
    bool have_weir;
    bool said_stripped, said_version; /* once each */
};

/* Called when the object is mapped, before its constructors. An object without a CUDA runtime costs
 * a few system calls. A program that cannot be taken over ends here, with a message and exit status
 * 125; a library only gives the message. */
void *weir_take_object(struct weir_take *t, const struct link_map *map);
/* For what weir_take_object returned (NULL is nothing), when the object is closed: nobody runs its
 * code any more. */
void weir_take_release(void *islands);

void weir_take_say_once(struct weir_take *t, const char *a, const char *b, const char *c);

#endif
