/* Two things that clang writes into the PTX of separately compiled units and that no device linker
 * can use. Kernels of other units that the host launches are declared as functions, for an array
 * that is nobody's; both are taken out. And a static variable that the host also uses gets a name
 * of the unit's own, but code that was made before the host's use still says the old name; it is
 * made one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static char *find_name(char *text, const char *name)
{
    const size_t n = strlen(name);
    for (char *p = text; (p = strstr(p, name)); p += n)
        if ((p == text || !in_name(p[-1])) && !in_name(p[n]))
            return p;
    return NULL;
}

static void cut(char *from, const char *to)
{
    memmove(from, to, strlen(to) + 1);
}

/* The declaration of a function of this name, when nothing else says the name. */
static void cut_declaration(char *text, const char *name)
{
    char *at = find_name(text, name);
    if (!at || find_name(at + 1, name))
        return;
    char *begin = at;
    while (begin > text && begin[-1] != '\n')
        begin--;
    const char *end = strchr(at, ';');
    if (!strncmp(begin, ".extern .func", 13) && end)
        cut(begin, end + 1);
}

static bool cut_used(char *text)
{
    static const char array[] = " __clang_gpu_used_external[";
    char *at = strstr(text, array);
    if (!at)
        return true;
    while (at > text && at[-1] != '\n')
        at--;
    const char *end = strchr(at, '\n');
    char *line = weir_strdup(at);
    if (!line || !end) {
        weir_free(line);
        return end == NULL;
    }
    line[end - at] = 0;
    cut(at, end + 1);
    char *name = strchr(line, '{');
    for (name = name ? name + 1 : line + strlen(line); *name;) {
        const size_t n = strcspn(name, ",} ");
        const bool last = !name[n];
        name[n] = 0;
        if (n)
            cut_declaration(text, name);
        name += n + !last;
    }
    weir_free(line);
    return true;
}

/* All of `from` become `to`; takes and gives text from weir_alloc, NULL when out of memory. */
static char *rename_all(char *text, const char *from, const char *to)
{
    const size_t n = strlen(from), m = strlen(to);
    size_t count = 0, room;
    for (char *p = text; (p = find_name(p, from)); p += n)
        count++;
    room = strlen(text) + count * m + 1;
    char *out = weir_alloc(room), *o = out;
    for (char *p = text; out && *p;) {
        char *at = find_name(p, from);
        const size_t plain = at ? (size_t)(at - p) : strlen(p);
        memcpy(o, p, plain);
        o += plain;
        p += plain;
        if (at) {
            memcpy(o, to, m);
            o += m;
            p += n;
        }
    }
    if (out)
        *o = 0;
    weir_free(text);
    return out;
}

/* NAME__static__HASH is defined here: an .extern NAME is the same. */
static char *join_statics(char *text)
{
    static const char mark[] = "__static__";
    for (size_t at = 0; text;) {
        char *p = strstr(text + at, mark);
        if (!p)
            break;
        char *begin = p, *end = p;
        while (begin > text && in_name(begin[-1]))
            begin--;
        while (in_name(*end))
            end++;
        at = (size_t)(end - text);
        char full[1024], name[1024];
        if ((size_t)(end - begin) >= sizeof full)
            continue;
        snprintf(full, sizeof full, "%.*s", (int)(end - begin), begin);
        snprintf(name, sizeof name, "%.*s", (int)(p - begin), begin);
        char *use = find_name(text, name), *line = use;
        while (line && line > text && line[-1] != '\n')
            line--;
        const char *next = line ? strchr(line, '\n') : NULL;
        if (!next || strncmp(line, ".extern ", 8))
            continue;
        cut(line, next + 1);
        text = rename_all(text, name, full);
        at = 0; /* each name only once: its declaration is gone */
    }
    return text;
}

char *cc_ptx_mend(char *text)
{
    if (!cut_used(text)) {
        weir_free(text);
        text = NULL;
    }
    text = text ? join_statics(text) : NULL;
    if (!text)
        cc_error("out of memory");
    return text;
}
