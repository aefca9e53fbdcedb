/* What the processes that a launcher starts have found (check/tally.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CLI_TALLY_H
#define WEIR_CLI_TALLY_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_tally {
    int fd;                   /* of a file in memory */
    struct weir_tally *words; /* NULL: there is none */
};

bool weir_cli_tally_begin(struct cli_tally *t);
/* In the child that becomes the program: tells it. The launcher lives until then: the program may
 * close what it inherits. */
bool weir_cli_tally_tell(const struct cli_tally *t);
/* All hazards that were reported, or (told on stderr if says) that processes could not report;
 * `gone`: the process that has ended, of which that is known. */
unsigned long weir_cli_tally_sum(const struct cli_tally *t, pid_t gone, bool says);
void weir_cli_tally_end(struct cli_tally *t);

#endif
