/* What a real GPU answered to the same tests: tests/ptx/h200, a line a row, made once by -r FILE on
 * a GPU (-t gpu) and compared by -c FILE everywhere else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TESTS_PTX_ANSWERS_H
#define WEIR_TESTS_PTX_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/harness.h"

/* The results of one row: those that the ISA defines, a NaN that may be any as one and the same. */
struct answer {
    uint64_t hash;
    size_t bytes;
    struct text text; /* instead of the hash, where results may differ within a bound */
};

/* False: the file cannot be opened. Without a call no row is compared. */
bool answers_open(const char *path, bool record);
bool answers_recording(void);
void answer_add(struct answer *a, const void *bytes, size_t n);
/* What the file has for the row; NULL: nothing, or rows are being recorded. */
const char *answers_find(const char *row);
/* Ends the row: writes it, or compares it. False: the GPU answered otherwise. A row that the file
 * does not have is counted. */
bool answer_end(struct answer *a, const char *row);
/* Compared rows that are the same, and those that have no answer. */
void answers_report(void);

#endif
