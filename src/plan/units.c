/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/units.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* How many characters the number at s has; 0: none. At most 15 digits count. */
static size_t read_number(const char *s, size_t n, double *value)
{
    size_t i = 0, digits = 0;
    double unit = 1;

    *value = 0;
    for (; i < n && s[i] >= '0' && s[i] <= '9' && digits < 15; i++, digits++)
        *value = *value * 10 + (s[i] - '0');
    if (i + 1 < n && s[i] == '.' && s[i + 1] >= '0' && s[i + 1] <= '9') {
        for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++)
            *value += (s[i] - '0') * (unit /= 10);
    }
    return digits ? i : 0;
}

struct unit {
    const char *name;
    double factor;
};

/* *out is changed when all of it is such a value alone. */
static bool read_with_unit(const char *s, size_t n, const struct unit *units, size_t count,
                           double most, double *out)
{
    double value;
    size_t used = read_number(s, n, &value);

    for (size_t i = 0; used && i < count; i++) {
        if (strlen(units[i].name) == n - used && memcmp(units[i].name, s + used, n - used) == 0 &&
            value * units[i].factor <= most) {
            *out = value * units[i].factor;
            return true;
        }
    }
    return false;
}

bool weir_plan_read_time(const char *s, size_t n, double *ns)
{
    static const struct unit units[] = {{"", 1e6}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}};

    return read_with_unit(s, n, units, WEIR_ARRAY_SIZE(units), 1e15, ns);
}

bool weir_plan_read_bytes(const char *s, size_t n, double *bytes)
{
    static const struct unit units[] = {
        {"B", 1},         {"K", 1024}, {"M", 1048576}, {"G", 1073741824}, {"KiB", 1024},
        {"MiB", 1048576}, {"KB", 1e3}, {"MB", 1e6},    {"GB", 1e9},       {"GiB", 1073741824},
    };

    return read_with_unit(s, n, units, WEIR_ARRAY_SIZE(units), 1e15, bytes);
}

bool weir_plan_read_share(const char *s, size_t n, double *share)
{
    static const struct unit units[] = {{"", 1}, {"%", 0.01}};

    return read_with_unit(s, n, units, WEIR_ARRAY_SIZE(units), 1, share);
}

bool weir_plan_read_factor(const char *s, double *factor)
{
    static const struct unit plain[] = {{"", 1}};

    return read_with_unit(s, strlen(s), plain, 1, 1e6, factor) && *factor > 0;
}

static size_t read_count(const char *s, uint32_t max, uint32_t *out)
{
    size_t n = 0;
    uint64_t value = 0;

    for (; s[n] >= '0' && s[n] <= '9' && value <= max; n++)
        value = value * 10 + (uint64_t)(s[n] - '0');
    *out = (uint32_t)value;
    return value >= 1 && value <= max ? n : 0;
}

bool weir_plan_read_range(const char *s, uint32_t max, uint32_t *from, uint32_t *to)
{
    size_t n = read_count(s, max, from), more;

    *to = *from;
    if (!n || !s[n])
        return n > 0;
    if (s[n] != '.' || s[n + 1] != '.')
        return false;
    more = read_count(s + n + 2, max, to);
    return more && !s[n + 2 + more] && *from <= *to;
}

char *weir_plan_time_text(double ns, char out[32])
{
    if (ns >= 1e9)
        snprintf(out, 32, "%.3f s", ns * 1e-9);
    else if (ns >= 1e6 || ns <= 0)
        snprintf(out, 32, "%.3f ms", ns * 1e-6);
    else if (ns >= 1e3)
        snprintf(out, 32, "%.2f us", ns * 1e-3);
    else
        snprintf(out, 32, "%.0f ns", ns);
    return out;
}

char *weir_plan_bytes_text(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;

    for (; bytes >= 1024 && i + 1 < WEIR_ARRAY_SIZE(units); i++)
        bytes /= 1024;
    snprintf(out, 32, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
    return out;
}
