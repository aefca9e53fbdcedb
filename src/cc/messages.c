/* What a person reads when a file does not compile. clang's messages name the user's file and line;
 * its notes also lead through Weir's headers and its own (a dozen candidates for every wrong call
 * of min), which say nothing to anybody else, and are left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cc/cc_int.h"

static bool begins(const char *line, const char *with)
{
    return *with && !strncmp(line, with, strlen(with));
}

/* Our headers (also by the path through a link), clang's, the C++ library's, and what clang makes
 * up.
 */
static bool is_internal(const struct cc *cc, const char *line, size_t bytes)
{
    return begins(line, cc->paths.cc_include) || begins(line, cc->paths.cuda_include) ||
           begins(line, "<built-in>") || memmem(line, bytes, "/include/c++/", 13) ||
           memmem(line, bytes, "/include/__clang_cuda", 21) ||
           memmem(line, bytes, "/include/weir/cc/", 17);
}

enum severity { NONE, NOTE, WARNING, ERROR };

/* "file:12:5: note: ..." begins a message; its further lines begin otherwise. */
static enum severity severity_of(const char *line, size_t bytes)
{
    static const struct {
        const char *text;
        enum severity severity;
    } marks[] = {{": note: ", NOTE},
                 {": warning: ", WARNING},
                 {": error: ", ERROR},
                 {": fatal error: ", ERROR}};
    if (isspace((unsigned char)*line))
        return NONE;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(line, bytes, marks[i].text, strlen(marks[i].text)))
            return marks[i].severity;
    return NONE;
}

/* "In file included from" lines wait for the message that they belong to. A message that begins
 * nowhere ("2 errors generated.", a linker's) is shown. */
void cc_print_messages(const struct cc *cc, char *text)
{
    const char *waiting = NULL;
    bool shown = true;
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n"), all = n + (line[n] == '\n');
        const enum severity severity = severity_of(line, n);
        if (begins(line, "In file included from ")) {
            if (!waiting)
                waiting = line;
            line += all;
            continue;
        }
        if (severity != NONE) {
            shown = severity == ERROR || !is_internal(cc, line, n);
            if (shown && waiting && !is_internal(cc, line, n))
                fwrite(waiting, 1, (size_t)(line - waiting), stderr);
        } else if (!isspace((unsigned char)*line))
            shown = true;
        waiting = NULL;
        if (shown)
            fwrite(line, 1, all, stderr);
        line += all;
    }
    if (strstr(text, "'omp.h' file not found"))
        cc_error("OpenMP needs clang's own header and library (Debian: apt install libomp-19-dev)");
}
