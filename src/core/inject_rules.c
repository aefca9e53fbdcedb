/* The text of --inject:
 *     RULES   = RULE { ';' RULE }
 *     RULE    = TARGET [':' WHICH] '=' ERROR ['@' TIME] {',' OPTION}
 *     TARGET  = a function of the runtime or driver API | 'kernel:' {SCOPE '::'} NAME ['*']
 *             | 'device:' NUMBER
 *     WHICH   = N | N '-' M | N '+' | P '%'      (devices have none; without: every one)
 *     ERROR   = a name of cudaError_t | its number | a word below
 *     TIME    = NUMBER ('s' | 'ms')              (devices alone)
 *     OPTION  = 'seed=' NUMBER                   (with P '%')
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/inject.h"
#include "base/kernel_name.h"

#define CODE_MAX 1000

static const struct {
    const char *word;
    enum weir_err err;
} words[] = {
    {"illegal-address", WEIR_ERR_ILLEGAL_ADDRESS},
    {"misaligned-address", WEIR_ERR_MISALIGNED_ADDRESS},
    {"illegal-instruction", WEIR_ERR_ILLEGAL_INSTRUCTION},
    {"stack-error", WEIR_ERR_HARDWARE_STACK_ERROR},
    {"launch-failure", WEIR_ERR_LAUNCH_FAILURE},
    {"trap", WEIR_ERR_LAUNCH_FAILURE},
    {"assert", WEIR_ERR_ASSERT},
    {"timeout", WEIR_ERR_LAUNCH_TIMEOUT},
    {"ecc", WEIR_ERR_ECC_UNCORRECTABLE},
    {"lost", WEIR_ERR_LAUNCH_FAILURE},
};

static bool is(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* Unsigned decimal at *p; moves it. */
static bool take_number(const char **p, uint64_t *out)
{
    char *end;

    if (**p < '0' || **p > '9')
        return false;
    *out = strtoull(*p, &end, 10);
    *p = end;
    return true;
}

static enum weir_err bad(const struct weir_inject_rule *r, const char *what)
{
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "\"%s\": %s", r->text, what);
}

static enum weir_err parse_which(struct weir_inject_rule *r, const char *p)
{
    const char *begin = p;
    char *end;

    if (!take_number(&p, &r->first))
        return bad(r, "which ones? N, N-M, N+ or P%");
    r->last = r->first;
    if (*p == '%' || *p == '.') {
        r->rate = strtod(begin, &end) / 100;
        r->has_rate = true;
        r->first = 1;
        r->last = UINT64_MAX;
        if (*end != '%' || end[1] || !(r->rate > 0 && r->rate <= 1))
            return bad(r, "a rate is more than 0% and at most 100%");
        return WEIR_OK;
    }
    if (*p == '-') {
        p++;
        if (!take_number(&p, &r->last) || *p)
            return bad(r, "a range is N-M");
    } else if (*p == '+' && !p[1]) {
        r->last = UINT64_MAX;
    } else if (*p) {
        return bad(r, "which ones? N, N-M, N+ or P%");
    }
    if (r->first == 0 || r->last < r->first)
        return bad(r, "they are counted from 1 upwards");
    return WEIR_OK;
}

static enum weir_err parse_device(struct weir_inject_rule *r, const char *p)
{
    uint64_t device;

    if (!take_number(&p, &device) || *p || device > 63)
        return bad(r, "a device is a number from 0 to 63, and has no count");
    r->kind = WEIR_INJECT_DEVICE;
    r->device = (int)device;
    return WEIR_OK;
}

static bool is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.:");

    return n && (!text[n] || (text[n] == '*' && !text[n + 1]));
}

/* The ':' in front of WHICH: not one of a name's scopes. */
static char *find_which(char *p)
{
    while ((p = strchr(p, ':')) != NULL && p[1] == ':')
        p += 2;
    return p;
}

/* What stands before the '=', a copy that may be cut. */
static enum weir_err parse_target(struct weir_inject_rule *r, char *p)
{
    char *which;

    if (strncmp(p, "device:", 7) == 0)
        return parse_device(r, p + 7);
    r->kind = WEIR_INJECT_CALL;
    if (strncmp(p, "kernel:", 7) == 0) {
        r->kind = WEIR_INJECT_KERNEL;
        p += 7;
    }
    which = find_which(p);
    if (which)
        *which++ = 0;
    if (strlen(p) >= sizeof r->name || (strcmp(p, "*") != 0 && !is_name(p)))
        return bad(r, "no name of a function or kernel in front of the '='");
    if (r->kind == WEIR_INJECT_CALL && (strncmp(p, "cu", 2) != 0 || strchr(p, '*')))
        return bad(r, "the target is cudaNAME, cuNAME, kernel:NAME or device:N");
    strcpy(r->name, p);
    return which ? parse_which(r, which) : WEIR_OK;
}

static enum weir_err find_error(const char *text, size_t n)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(words); i++)
        if (is(text, n, words[i].word))
            return words[i].err;
    for (int code = 1; code < CODE_MAX; code++) {
        const char *name = weir_err_name(code);
        char number[8];

        snprintf(number, sizeof number, "%d", code);
        if (name && (is(text, n, name) || is(text, n, number)))
            return (enum weir_err)code;
    }
    return WEIR_OK;
}

static enum weir_err parse_time(struct weir_inject_rule *r, const char *p, size_t n)
{
    char *end;
    double value = strtod(p, &end), unit = 0;
    size_t left = n - (size_t)(end - p);

    if (is(end, left, "s"))
        unit = 1e9;
    else if (is(end, left, "ms"))
        unit = 1e6;
    if (r->kind != WEIR_INJECT_DEVICE)
        return bad(r, "only a device fails at a time");
    if (end == p || unit == 0 || !(value >= 0 && value < 1e6))
        return bad(r, "a time is such as 2s or 500ms");
    r->at_ns = (uint64_t)(value * unit);
    return WEIR_OK;
}

static enum weir_err parse_option(struct weir_inject_rule *r, const char *p, size_t n)
{
    const char *number = p + 5;

    if (n < 6 || strncmp(p, "seed=", 5) != 0 || !take_number(&number, &r->seed) || number != p + n)
        return bad(r, "behind the error only seed=NUMBER is known");
    return r->has_rate ? WEIR_OK : bad(r, "a seed is for rates (P%)");
}

/* What stands behind the '='. */
static enum weir_err parse_what(struct weir_inject_rule *r, const char *p)
{
    size_t n = strcspn(p, ",@");
    enum weir_err err = WEIR_OK;

    r->err = find_error(p, n);
    if (r->err == WEIR_OK || r->err == WEIR_ERR_NOT_READY)
        return bad(r, "the error is a name such as cudaErrorMemoryAllocation or illegal-address");
    if (r->kind != WEIR_INJECT_CALL && !weir_err_is_sticky((int)r->err))
        return bad(r, "kernels and devices fail by errors that stay, such as illegal-address");
    p += n;
    if (*p == '@') {
        n = strcspn(++p, ",");
        err = parse_time(r, p, n);
        p += n;
    }
    while (err == WEIR_OK && *p == ',') {
        n = strcspn(++p, ",");
        err = parse_option(r, p, n);
        p += n;
    }
    return err;
}

static enum weir_err parse_rule(struct weir_inject_rule *r, const char *text, size_t n)
{
    char target[WEIR_INJECT_TEXT], *equals;
    enum weir_err err;

    memset(r, 0, sizeof *r);
    r->first = 1;
    r->last = UINT64_MAX;
    snprintf(r->text, sizeof r->text, "%.*s", (int)n, text);
    if (n >= sizeof r->text)
        return bad(r, "too long");
    memcpy(target, r->text, sizeof target);
    equals = strchr(target, '=');
    if (!equals)
        return bad(r, "no '=' and error");
    *equals++ = 0;
    err = parse_target(r, target);
    return err == WEIR_OK ? parse_what(r, equals) : err;
}

enum weir_err weir_inject_parse(const char *spec, struct weir_inject_rules *out)
{
    out->count = 0;
    while (*spec) {
        size_t n;
        enum weir_err err;

        spec += strspn(spec, "; \n");
        n = strcspn(spec, ";\n");
        if (!n)
            continue;
        if (out->count == WEIR_INJECT_RULES)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "more than %d rules", WEIR_INJECT_RULES);
        err = parse_rule(&out->items[out->count], spec, n);
        if (err != WEIR_OK)
            return err;
        out->count++;
        spec += n;
    }
    return out->count ? WEIR_OK : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "no rule");
}

/* ---- who is meant ---- */

bool weir_inject_names_call(const struct weir_inject_rule *r, const char *call)
{
    size_t n = strlen(r->name);

    call += strspn(call, "_"); /* __cudaLaunchKernel */
    if (strncmp(call, r->name, n) != 0)
        return false;
    call += n;
    return !*call || *call == ' ' || strncmp(call, "_v", 2) == 0 ||
           strncmp(call, "_ptsz", 5) == 0 || strncmp(call, "_ptds", 5) == 0;
}

static bool fits(const struct weir_inject_rule *r, const char *name)
{
    size_t n = strlen(r->name);

    return r->name[n - 1] == '*' ? strncmp(name, r->name, n - 1) == 0 : strcmp(name, r->name) == 0;
}

bool weir_inject_names_kernel(const struct weir_inject_rule *r, const char *mangled)
{
    char name[256];
    const char *from = name;

    if (!strstr(r->name, "::"))
        return fits(r, weir_kernel_plain_name(mangled, name, sizeof name)) ||
               strcmp(mangled, r->name) == 0;
    weir_kernel_scoped_name(mangled, name, sizeof name);
    while (!fits(r, from)) { /* outer scopes may be left out */
        from = strstr(from, "::");
        if (!from)
            return false;
        from += 2;
    }
    return true;
}

/* A number for the n-th, from 0 to 1, that depends on nothing else (splitmix64's steps). */
static double random_of(uint64_t seed, uint64_t n)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + n * UINT64_C(0xbf58476d1ce4e5b9);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

bool weir_inject_fires(struct weir_inject_rule *r)
{
    uint64_t n = atomic_fetch_add_explicit(&r->seen, 1, memory_order_relaxed) + 1;

    if (n < r->first || n > r->last || (r->has_rate && random_of(r->seed, n) >= r->rate))
        return false;
    atomic_fetch_add_explicit(&r->failed, 1, memory_order_relaxed);
    return true;
}
