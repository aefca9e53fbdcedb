/* Inside src/trace: the file, and chunks of it to write into.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_FILE_H
#define WEIR_TRACE_FILE_H

#include <stdbool.h>

/* Before the first chunk: where the file is to be; "": in memory. */
void weir_trace_file_name(const char *path);
/* Where the process itself can read it, in *out; false: there is none. */
bool weir_trace_file_own_path(char out[32]);
/* Cut behind the last chunk that was handed out; there are no more. */
void weir_trace_file_end(void);

/* The next chunk, mapped and zero. Of two that one thread takes the later stands behind. NULL: none
 * can be had, and recording has been turned off. */
char *weir_trace_chunk_take(void);
/* From so many processors on there is a thread that has chunks ready. */
extern int weir_trace_keeper_cpus;
/* Nobody writes into it any more: it is sealed and no longer mapped, now or in a moment. */
void weir_trace_chunk_give(char *chunk);

#endif
