/* Numbers and quoted texts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "view/view.h"

/* Length of the UTF-8 sequence at s, 0 when it is none. */
static int utf8_length(const unsigned char *s)
{
    int n = *s < 0x80                 ? 1
            : *s >= 0xc2 && *s < 0xe0 ? 2
            : *s >= 0xe0 && *s < 0xf0 ? 3
            : *s >= 0xf0 && *s < 0xf5 ? 4
                                      : 0;

    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return n;
}

void weir_view_put_json(FILE *to, const char *s)
{
    fputc('"', to);
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        int n = utf8_length(p);

        if (*p == '"' || *p == '\\')
            fprintf(to, "\\%c", *p);
        else if (*p < 0x20 || *p == '<' || n == 0) /* '<': these texts stand in pages, too */
            fprintf(to, "\\u%04x", *p);
        else
            fwrite(p, 1, (size_t)n, to);
        p += n ? n : 1;
    }
    fputc('"', to);
}

void weir_view_put_csv(FILE *to, const char *s)
{
    if (!strpbrk(s, ",\"\n\r")) {
        fputs(s, to);
        return;
    }
    fputc('"', to);
    for (; *s; s++) {
        if (*s == '"')
            fputc('"', to);
        fputc(*s, to);
    }
    fputc('"', to);
}

void weir_view_put_xml(FILE *to, const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        int n = utf8_length(p);

        if (*p == '&')
            fputs("&amp;", to);
        else if (*p == '<')
            fputs("&lt;", to);
        else if (*p == '>')
            fputs("&gt;", to);
        else if (*p == '"')
            fputs("&quot;", to);
        else if (n == 0 || *p < 0x20)
            fputc('?', to);
        else
            fwrite(p, 1, (size_t)n, to);
        p += n ? n : 1;
    }
}

static char *scaled(double v, const char *const *units, size_t count, double step, char out[32])
{
    size_t u = 0;

    while (u + 1 < count && (v >= step || v <= -step)) {
        v /= step;
        u++;
    }
    snprintf(out, 32,
             v >= 100 || v <= -100 || (u == 0 && v == (double)(long long)v) ? "%.0f %s"
             : v >= 10 || v <= -10                                          ? "%.1f %s"
                                                                            : "%.2f %s",
             v, units[u]);
    return out;
}

char *weir_view_time(double ns, char out[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};

    return scaled(ns, units, WEIR_ARRAY_SIZE(units), 1000, out);
}

char *weir_view_size(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    return scaled(bytes, units, WEIR_ARRAY_SIZE(units), 1024, out);
}
