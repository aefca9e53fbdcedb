/* What the processes of one `weir check` have found, in memory that outlives them: the launcher's.
 * A process writes there at once what it finds, and in the end that it has reported it; so what one
 * that was killed had found is not lost, and the launcher's exit status is the same however its
 * processes have ended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_TALLY_H
#define WEIR_CHECK_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_TALLY_VARIABLE "WEIR_CHECK_TALLY" /* a file's name */
#define WEIR_TALLY_SLOTS    64 /* processes with hazards; further ones share the last */
#define WEIR_TALLY_DRAFT    ((size_t)256 << 10)

/* One process, or one of its programs if it becomes another. All atomic: written by the process,
 * read by the launcher when that is over. */
struct weir_tally_slot {
    _Atomic uint32_t pid;   /* 0: free */
    _Atomic uint32_t found; /* hazards so far; those to be suppressed as well */
    _Atomic uint32_t reported;
    _Atomic uint32_t hazards; /* of the report, or of the draft */
    _Atomic uint32_t draft_bytes;
};

struct weir_tally {
    struct weir_tally_slot slots[WEIR_TALLY_SLOTS];
    char drafts[WEIR_TALLY_SLOTS][WEIR_TALLY_DRAFT]; /* texts of reports that may never come */
};

/* ---- in the program (tally.c); nothing without a launcher ---- */

void weir_tally_open(void);
/* One hazard more. Thread: one at a time. */
void weir_tally_found(void);
/* The report is written. */
void weir_tally_reported(size_t hazards);
/* Where the draft goes; NULL: nowhere. To be followed by its length. Thread: one at a time. */
char *weir_tally_draft(void);
void weir_tally_drafted(size_t bytes, size_t hazards);
/* In a child: what it finds is its own. */
void weir_tally_forked(void);

#endif
