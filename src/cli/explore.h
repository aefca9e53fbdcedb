/* Inside of `weir explore`: runs of the program in processes of their own (explore_run.c), and the
 * few decisions of a failed one that matter (explore_min.c), and other processes that do the same
 * (explore_ranks.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CLI_EXPLORE_H
#define WEIR_CLI_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/tally.h"

#define EXPLORE_SPEC 64 /* bytes of a schedule with a name */

enum explore_kind {
    EXPLORE_OK,
    EXPLORE_STATUS, /* exit status other than 0 */
    EXPLORE_SIGNAL,
    EXPLORE_HANG,
    EXPLORE_OUTPUT, /* not the first run's */
    EXPLORE_MEMORY, /* the same */
    EXPLORE_FOUND,  /* by the checker */
};

struct explore_result {
    enum explore_kind kind;
    int code;        /* status or signal */
    uint64_t output; /* what it wrote to stdout, as a number */
    uint64_t memory; /* what it left in memory, as a number; 0: unknown */
};

/* What does not change between runs. */
struct explore_setup {
    int argc; /* from argv[first] on: options of weir run, and the program */
    char **argv;
    int first;
    double hang_s;
    bool check, same_output, same_memory;
    bool has_first; /* the first run's are known: */
    uint64_t first_output, first_memory;
};

struct explore_child {
    pid_t pid; /* 0: none */
    int out, err, sum;
    struct cli_tally tally; /* of the checker */
    uint64_t started_ns;
    bool killed;
};

/* Starts the program under a schedule. log: a file for the decisions, or NULL. False after a
 * message. */
bool weir_explore_child_start(const struct explore_setup *s, const char *spec, const char *log,
                              struct explore_child *c);
/* True when it has ended: *out is filled in. Else it may go on, unless it is over time. The caller
 * calls weir_explore_child_close then. */
bool weir_explore_child_ended(const struct explore_setup *s, struct explore_child *c,
                              struct explore_result *out);
void weir_explore_child_kill(struct explore_child *c);
/* weir run refused its command line. */
bool weir_explore_child_is_refused(const struct explore_child *c, const struct explore_result *r);
/* The last lines of what it wrote, each behind `lead`. */
void weir_explore_child_print(const struct explore_child *c, const char *lead, int lines);
void weir_explore_child_close(struct explore_child *c);

/* Start, wait, close. False after a message. */
bool weir_explore_once(const struct explore_setup *s, const char *spec, const char *log,
                       struct explore_result *out);

static inline bool weir_explore_same_failure(const struct explore_result *a,
                                             const struct explore_result *b)
{
    return a->kind == b->kind && a->code == b->code;
}
/* In words; into out, which is returned. */
char *weir_explore_result_text(const struct explore_result *r, char *out, size_t room);

/* Which of how many processes of one launcher this is; 0 of 1 without. */
void weir_explore_ranks_find(int *rank, int *ranks);
/* Returns when all of them have come here, where that is possible. */
void weir_explore_ranks_meet(void);

/* Tells what of the schedule made the run fail. */
void weir_explore_minimise(const struct explore_setup *s, const char *spec,
                           const struct explore_result *failure);
/* The command that repeats a run. */
void weir_explore_print_again(const struct explore_setup *s, const char *spec);

#endif
