/* Reads device profiles. A line is `KEY VALUE`, `attribute NUMBER VALUE` (cudaDeviceAttr's
 * numbers), `cost NAME VALUE` (weir plan; the names are in profile.h), `kernel NAME US [BLOCKS]` or
 * `like PROFILE`, which takes over all that the other one says; # begins a comment, which names the
 * value's source.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

#define LIKE_DEPTH  4          /* profiles like others like others */
#define FILE_MAX    (1u << 20) /* bytes of a user's file */
#define LINE_MAX_   4096       /* names of kernels are long */
#define KERNELS_MAX 4096

/* Made by the build from profiles/: names and texts, ending with a NULL name
 * (src/core/CMakeLists.txt). */
struct built_in {
    const char *name, *text, *end;
};
extern const struct built_in weir_profile_built_in[];

const char *weir_profile_name(size_t n)
{
    size_t i = 0;

    while (i < n && weir_profile_built_in[i].name)
        i++;
    return weir_profile_built_in[i].name;
}

bool weir_profile_attribute(const struct weir_profile *p, int id, int *value)
{
    if (id < 0 || id >= WEIR_PROFILE_ATTRIBUTES || !p->has[id])
        return false;
    *value = p->attributes[id];
    return true;
}

static enum weir_err read_text(const char *name, const char *text, const char *end, int depth,
                               struct weir_profile *out);

static enum weir_err load(const char *name, int depth, struct weir_profile *out)
{
    for (const struct built_in *b = weir_profile_built_in; b->name; b++) {
        if (strcmp(b->name, name) == 0)
            return read_text(name, b->text, b->end, depth, out);
    }
    return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "there is no device profile \"%s\"", name);
}

static bool read_number(const char *text, long long *value)
{
    char *end;

    *value = strtoll(text, &end, 10);
    end += strspn(end, " \t");
    return end != text && *end == '\0';
}

static bool set_attribute(struct weir_profile *out, const char *text)
{
    char *end;
    long id = strtol(text, &end, 10);
    long long value;

    if (end == text || id <= 0 || id >= WEIR_PROFILE_ATTRIBUTES || !read_number(end, &value) ||
        value < INT32_MIN || value > INT32_MAX)
        return false;
    out->attributes[id] = (int32_t)value;
    out->has[id] = true;
    return true;
}

static bool set_unit(int *unit, const char *text)
{
    long long value;

    if (!read_number(text, &value) || value < 1 || value > 65536)
        return false;
    *unit = (int)value;
    return true;
}

static bool set_bytes(size_t *out, const char *text)
{
    long long value;

    if (!read_number(text, &value) || value < 0)
        return false;
    *out = (size_t)value;
    return true;
}

static const char *const cost_names[] = {
#define COST_NAME(id, name) name,
    WEIR_PROFILE_COSTS(COST_NAME)
#undef COST_NAME
};

const char *weir_profile_cost_name(enum weir_profile_cost cost)
{
    return cost_names[cost];
}

/* Digits, and more behind a point, whatever the program's locale says. */
static bool read_decimal(const char *text, double *value)
{
    double unit = 1;
    bool any = false;

    *value = 0;
    for (text += strspn(text, " \t"); *text >= '0' && *text <= '9' && *value < 1e9; text++) {
        *value = *value * 10 + (*text - '0');
        any = true;
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++)
            *value += (*text - '0') * (unit /= 10);
    }
    return any && !*text;
}

static bool set_cost(struct weir_profile *out, const char *text)
{
    size_t n = strcspn(text, " \t");
    double value;

    if (!read_decimal(text + n, &value))
        return false;
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(cost_names); i++) {
        if (strlen(cost_names[i]) == n && strncmp(cost_names[i], text, n) == 0) {
            out->costs[i] = value;
            return true;
        }
    }
    return false;
}

/* "NAME US" or "NAME US BLOCKS". */
static bool set_kernel(struct weir_profile *out, char *text)
{
    char *us = text + strcspn(text, " \t"), *blocks;
    struct weir_profile_kernel k = {0}, *grown;
    long long count = 0;

    if (!*us || out->kernel_count == KERNELS_MAX)
        return false;
    *us++ = '\0';
    us += strspn(us, " \t");
    blocks = us + strcspn(us, " \t");
    if (*blocks)
        *blocks++ = '\0';
    if (!read_decimal(us, &k.us) || k.us <= 0 ||
        (*blocks && (!read_number(blocks, &count) || count < 1)))
        return false;
    k.blocks = (uint64_t)count;
    grown = weir_realloc(out->kernels, (out->kernel_count + 1) * sizeof *grown);
    if (grown)
        out->kernels = grown;
    k.name = grown ? weir_strdup(text) : NULL;
    if (!k.name)
        return false;
    out->kernels[out->kernel_count++] = k;
    return true;
}

static enum weir_err read_line(const char *name, int number, char *line, int depth,
                               struct weir_profile *out)
{
    char *value;
    size_t n;
    bool good = false;

    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    for (n = strlen(line); n && strchr(" \t\r", line[n - 1]); n--)
        line[n - 1] = '\0';
    if (!*line)
        return WEIR_OK;
    value = line + strcspn(line, " \t");
    if (*value) {
        *value++ = '\0';
        value += strspn(value, " \t");
    }
    if (strcmp(line, "like") == 0)
        return depth < LIKE_DEPTH ? load(value, depth + 1, out)
                                  : WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                                              "device profile %s:%d: too many likes", name, number);
    if (strcmp(line, "name") == 0)
        good = *value && (size_t)snprintf(out->device_name, sizeof out->device_name, "%s", value) <
                             sizeof out->device_name;
    else if (strcmp(line, "memory") == 0)
        good = set_bytes(&out->memory_bytes, value);
    else if (strcmp(line, "persisting-l2") == 0)
        good = set_bytes(&out->persisting_l2_bytes, value);
    else if (strcmp(line, "register-unit") == 0)
        good = set_unit(&out->register_unit, value);
    else if (strcmp(line, "warp-register-unit") == 0)
        good = set_unit(&out->warp_register_unit, value);
    else if (strcmp(line, "shared-unit") == 0)
        good = set_unit(&out->shared_unit, value);
    else if (strcmp(line, "attribute") == 0)
        good = set_attribute(out, value);
    else if (strcmp(line, "cost") == 0)
        good = set_cost(out, value);
    else if (strcmp(line, "kernel") == 0)
        good = set_kernel(out, value);
    return good ? WEIR_OK
                : WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device profile %s:%d cannot be read: %s %s",
                            name, number, line, value);
}

static enum weir_err read_text(const char *name, const char *text, const char *end, int depth,
                               struct weir_profile *out)
{
    char line[LINE_MAX_];

    for (int number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((stop ? stop : end) - text);
        enum weir_err err;

        snprintf(line, sizeof line, "%.*s", (int)WEIR_MIN(n, sizeof line - 1), text);
        err = read_line(name, number, line, depth, out);
        if (err != WEIR_OK)
            return err;
        text += n + 1;
    }
    return WEIR_OK;
}

static enum weir_err load_file(const char *path, struct weir_profile *out)
{
    FILE *f = fopen(path, "r");
    enum weir_err err;
    char *text;
    size_t n;

    if (!f)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "there is no device profile \"%s\"", path);
    text = weir_alloc(FILE_MAX);
    n = text ? fread(text, 1, FILE_MAX, f) : 0;
    fclose(f);
    err = text ? read_text(path, text, text + n, 0, out)
               : WEIR_FAIL(WEIR_ERR_MEMORY_ALLOCATION, "device profile");
    weir_free(text);
    return err;
}

/* What core divides by or cannot do without. */
static enum weir_err check(const char *name, struct weir_profile *p)
{
    static const int needed[] = {
        WEIR_ATTR_MAX_THREADS_PER_BLOCK,
        WEIR_ATTR_MAX_SHARED_PER_BLOCK,
        WEIR_ATTR_WARP_SIZE,
        WEIR_ATTR_MAX_REGISTERS_PER_BLOCK,
        WEIR_ATTR_MAX_THREADS_PER_SM,
        WEIR_ATTR_MAJOR,
        WEIR_ATTR_MINOR,
        WEIR_ATTR_MAX_SHARED_PER_SM,
        WEIR_ATTR_MAX_REGISTERS_PER_SM,
        WEIR_ATTR_MAX_SHARED_OPTIN,
        WEIR_ATTR_MAX_BLOCKS_PER_SM,
    };

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(needed); i++) {
        if (!p->has[needed[i]] || p->attributes[needed[i]] < 0)
            return WEIR_FAIL(WEIR_ERR_INVALID_VALUE, "device profile %s says no attribute %d", name,
                             needed[i]);
    }
    if (!*p->device_name || !p->register_unit || !p->warp_register_unit || !p->shared_unit ||
        p->attributes[WEIR_ATTR_WARP_SIZE] != 32)
        return WEIR_FAIL(WEIR_ERR_INVALID_VALUE,
                         "device profile %s needs a name, the allocation units, and warps of 32",
                         name);
    p->major = p->attributes[WEIR_ATTR_MAJOR];
    p->minor = p->attributes[WEIR_ATTR_MINOR];
    p->sm_count = p->has[WEIR_ATTR_SM_COUNT] ? p->attributes[WEIR_ATTR_SM_COUNT] : 0;
    return WEIR_OK;
}

static enum weir_err finish_load(const char *name, enum weir_err err, struct weir_profile *out)
{
    if (err == WEIR_OK)
        err = check(name, out);
    if (err != WEIR_OK)
        weir_profile_finish(out);
    snprintf(out->name, sizeof out->name, "%s", name);
    return err;
}

enum weir_err weir_profile_parse(const char *name, const char *text, size_t bytes,
                                 struct weir_profile *out)
{
    memset(out, 0, sizeof *out);
    return finish_load(name, read_text(name, text, text + bytes, 0, out), out);
}

enum weir_err weir_profile_load(const char *name, struct weir_profile *out)
{
    memset(out, 0, sizeof *out);
    return finish_load(name, strpbrk(name, "/.") ? load_file(name, out) : load(name, 0, out), out);
}

void weir_profile_finish(struct weir_profile *p)
{
    for (size_t i = 0; i < p->kernel_count; i++)
        weir_free(p->kernels[i].name);
    weir_free(p->kernels);
    p->kernels = NULL;
    p->kernel_count = 0;
}
