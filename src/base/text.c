/* Texts in files for other programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdbool.h>

int weir_text_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    /* What the second byte may be: no longer forms, no surrogates, nothing above U+10FFFF. */
    unsigned low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80;
    unsigned high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
    int n = *s < 0x80                 ? 1
            : *s >= 0xc2 && *s < 0xe0 ? 2
            : *s >= 0xe0 && *s < 0xf0 ? 3
            : *s >= 0xf0 && *s < 0xf5 ? 4
                                      : 0;

    if (n > 1 && (s[1] < low || s[1] > high))
        return 0;
    for (int i = 2; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return n;
}

static void put(FILE *to, const char *s, bool in_page)
{
    fputc('"', to);
    while (*s) {
        int n = weir_text_utf8_length(s);
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20 || (c == '<' && in_page))
            fprintf(to, "\\u%04x", c);
        else if (n == 0)
            fputs("\\ufffd", to);
        else
            fwrite(s, 1, (size_t)n, to);
        s += n ? n : 1;
    }
    fputc('"', to);
}

void weir_text_put_json(FILE *to, const char *s)
{
    put(to, s, false);
}

void weir_text_put_json_member(FILE *to, const char *name, const char *value)
{
    put(to, name, false);
    fputs(": ", to);
    put(to, value, false);
}

void weir_text_put_json_in_page(FILE *to, const char *s)
{
    put(to, s, true);
}
