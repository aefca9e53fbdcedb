/* A library's or program's lines may be in a file of their own: where such files are put.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_TRACE_DEBUG_FILE_H
#define WEIR_TRACE_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Opens the file for the build id (count bytes; 0: it has none), else for the name and the checksum
 * (0: not to be looked at) that `file` has for it, NULL: none. The descriptor and in *path, to be
 * freed by free(3), its path; -1: there is none. Asks no server. Thread: any. */
int weir_trace_debug_file_open(const char *file, const unsigned char *id, size_t count,
                               const char *name, uint32_t checksum, char **path);

#endif
