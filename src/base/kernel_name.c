/* See kernel_name.h. Of the C++ ABI's mangling only what names are made of: lengths with names, and
 * the N and E around scopes. No library of C++ is asked: this also runs while the program hangs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/kernel_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind template arguments, which begin at the I at `p`; NULL when they do not end. Names in them
 * are skipped by their lengths, everything else that opens ends with an E, too. */
static const char *skip_arguments(const char *p)
{
    int depth = 0;

    do {
        if (is_digit(*p)) {
            size_t n = 0;

            while (is_digit(*p))
                n = n * 10 + (size_t)(*p++ - '0');
            if (n > strlen(p))
                return NULL;
            p += n;
            continue;
        }
        if (*p == 'L' && p[1] && !is_digit(p[1]) && p[1] != '_') {
            p = strchr(p, 'E'); /* a literal */
            if (!p)
                return NULL;
            p++;
            continue;
        }
        if (*p == 'I' || *p == 'N' || *p == 'J' || *p == 'X')
            depth++;
        else if (*p == 'E')
            depth--;
        else if (!*p)
            return NULL;
        p++;
    } while (depth > 0);
    return p;
}

/* One more component of a name, of `length` letters. */
static size_t add(char *out, size_t room, size_t used, const char *at, size_t length)
{
    int n = snprintf(out + used, room - used, "%s%.*s", used ? "::" : "",
                     (int)WEIR_MIN(length, room), at);

    return WEIR_MIN(used + (size_t)(n > 0 ? n : 0), room - 1);
}

/* With all scopes, or the last component alone. */
static char *name_of(const char *mangled, char *out, size_t room, bool scopes)
{
    const char *p = mangled;
    size_t used = 0;

    out[0] = '\0';
    if (strncmp(p, "_Z", 2) != 0)
        goto as_it_is;
    p += 2;
    p += *p == 'L'; /* static */
    if (*p == 'N') {
        p++;
        while (*p == 'K' || *p == 'V')
            p++;
    }
    for (;;) {
        size_t n = 0;

        p += *p == 'L';
        if (!is_digit(*p))
            break;
        while (is_digit(*p))
            n = n * 10 + (size_t)(*p++ - '0');
        if (n == 0 || n > strlen(p))
            goto as_it_is;
        used = add(out, room, scopes ? used : 0, p, n);
        p += n;
        if (*p == 'I' && mangled[2] == 'N' && (p = skip_arguments(p)) == NULL)
            break;
        if (mangled[2] != 'N')
            break;
    }
    if (used)
        return out;

as_it_is:
    snprintf(out, room, "%s", mangled);
    return out;
}

char *weir_kernel_plain_name(const char *mangled, char *out, size_t room)
{
    return name_of(mangled, out, room, false);
}

char *weir_kernel_scoped_name(const char *mangled, char *out, size_t room)
{
    return name_of(mangled, out, room, true);
}

/* Is that all, but for the end of a scope, or the number of a name that a function has twice? */
static bool is_rest(const char *p)
{
    p += *p == 'E';
    if (*p == '_') {
        p += 1 + (p[1] == '_');
        while (is_digit(*p))
            p++;
        p += *p == '_';
    }
    return !*p;
}

/* Are the digits at `p`, in a mangled name, no length of a name: a literal's value, or a reference
 * to something of before? */
static bool is_no_length(const char *p, const char *behind)
{
    return *p == '0' || (p[-2] == 'L' && !is_digit(p[-1])) ||
           ((p[-1] == 'S' || p[-1] == 'T') && *behind == '_');
}

char *weir_kernel_variable_name(const char *mangled, char *out, size_t room)
{
    const char *p = mangled + 2, *end;

    snprintf(out, room, "%s", mangled);
    if (strncmp(mangled, "_Z", 2) != 0)
        return out;
    while (*p) {
        size_t n = 0;

        if (!is_digit(*p)) {
            p++;
            continue;
        }
        for (end = p; is_digit(*end) && n < strlen(p); end++)
            n = n * 10 + (size_t)(*end - '0');
        if (n > strlen(end) || is_no_length(p, end)) {
            p = end;
            continue;
        }
        if (is_rest(end + n)) {
            snprintf(out, room, "%.*s", (int)WEIR_MIN(n, room - 1), end);
            return out;
        }
        p = end + n;
    }
    return out;
}
