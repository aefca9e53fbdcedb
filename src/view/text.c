/* Numbers and quoted texts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"
#include "view/view.h"

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
    while (*s) {
        int n = weir_text_utf8_length(s);

        if (*s == '&')
            fputs("&amp;", to);
        else if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '>')
            fputs("&gt;", to);
        else if (*s == '"')
            fputs("&quot;", to);
        else if (n == 0 || (unsigned char)*s < 0x20)
            fputc('?', to);
        else
            fwrite(s, 1, (size_t)n, to);
        s += n ? n : 1;
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
