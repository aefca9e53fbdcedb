/* See settings.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

/* ---- policies ---- */

const struct weir_policy_text weir_policy_texts[WEIR_POLICIES] = {
#define POLICY(name, word, text) {word, text},
#include "check/policies.def"
#undef POLICY
};

uint32_t weir_policies_parse(const char *list, char **bad)
{
    uint32_t set = 0;

    *bad = NULL;
    while (*list) {
        size_t n = strcspn(list, ",");
        unsigned i = 0;

        while (i < WEIR_POLICIES && !(strlen(weir_policy_texts[i].word) == n &&
                                      memcmp(weir_policy_texts[i].word, list, n) == 0))
            i++;
        if (i == WEIR_POLICIES && n) {
            *bad = weir_alloc(n + 1);
            if (*bad) {
                memcpy(*bad, list, n);
                (*bad)[n] = '\0';
            }
            return 0;
        }
        set |= n ? 1u << i : 0;
        list += n + (list[n] == ',');
    }
    return set;
}

static bool has(const char *call, const char *part)
{
    return strstr(call, part) != NULL;
}

uint32_t weir_policies_of_call(const char *call)
{
    uint32_t set = 0;

    if (has(call, "DeviceSynchronize") || has(call, "CtxSynchronize"))
        set |= 1u << WEIR_POLICY_DEVICE_SYNC;
    if (has(call, "StreamSynchronize"))
        set |= 1u << WEIR_POLICY_STREAM_SYNC;
    if ((strncmp(call, "cudaMemcpy", 10) == 0 || strncmp(call, "cuMemcpy", 8) == 0 ||
         strncmp(call, "cudaMemset", 10) == 0 || strncmp(call, "cuMemset", 8) == 0) &&
        !has(call, "Async"))
        set |= 1u << WEIR_POLICY_SYNC_COPY;
    if ((has(call, "Malloc") || has(call, "MemAlloc") || has(call, "HostAlloc") ||
         has(call, "Free") || has(call, "HostRegister") || has(call, "HostUnregister")) &&
        !has(call, "Async") && !has(call, "Pool") && !has(call, "Graph"))
        set |= 1u << WEIR_POLICY_ALLOC;
    if (has(call, "MallocManaged") || has(call, "MemAllocManaged"))
        set |= 1u << WEIR_POLICY_MANAGED;
    if (has(call, "LaunchHostFunc") || has(call, "StreamAddCallback"))
        set |= 1u << WEIR_POLICY_HOST_FUNC;
    return set;
}

/* ---- suppressions ---- */

static bool set_field(struct weir_suppression *s, char *name, const char *value)
{
    const struct {
        const char *name;
        char **to;
    } fields[] = {{"kind", &s->kind},
                  {"function", &s->function},
                  {"file", &s->file},
                  {"kernel", &s->kernel},
                  {"call", &s->call}};

    for (size_t i = 0; i < WEIR_ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            weir_free(*fields[i].to);
            *fields[i].to = weir_strdup(value);
            return *fields[i].to != NULL;
        }
    }
    return false;
}

static void drop(struct weir_suppression *s)
{
    weir_free(s->line);
    weir_free(s->kind);
    weir_free(s->function);
    weir_free(s->file);
    weir_free(s->kernel);
    weir_free(s->call);
}

/* "kind=race kernel=fill*", values without spaces. */
static bool parse_line(char *line, struct weir_suppression *out)
{
    char *save = NULL;
    bool ok = (out->line = weir_strdup(line)) != NULL;

    for (char *word = strtok_r(line, " \t", &save); ok && word;
         word = strtok_r(NULL, " \t", &save)) {
        char *value = strchr(word, '=');

        if (value)
            *value++ = '\0';
        ok = value && *value && set_field(out, word, value);
    }
    if (!ok)
        drop(out);
    return ok;
}

static bool add_line(struct weir_suppressions *s, char *line, unsigned number, char *problem,
                     size_t room)
{
    struct weir_suppression one = {.number = number};
    char *end = line + strcspn(line, "#\r\n");

    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    line += strspn(line, " \t");
    if (!*line)
        return true;
    if (!parse_line(line, &one)) {
        snprintf(problem, room,
                 "line %u is no suppression: words such as kind=race, function=, file=, kernel= "
                 "and call= are",
                 number);
        return false;
    }
    if (!weir_vec_push(&s->lines, one)) {
        drop(&one);
        snprintf(problem, room, "no memory");
        return false;
    }
    return true;
}

bool weir_suppressions_read(struct weir_suppressions *s, const char *path, char *problem,
                            size_t room)
{
    FILE *f = fopen(path, "re");
    char line[2048];
    bool ok = true;

    if (!f) {
        snprintf(problem, room, "it cannot be read");
        return false;
    }
    for (unsigned number = 1; ok && fgets(line, sizeof line, f); number++)
        ok = add_line(s, line, number, problem, room);
    fclose(f);
    return ok;
}

void weir_suppressions_finish(struct weir_suppressions *s)
{
    for (size_t i = 0; i < s->lines.count; i++)
        drop(&s->lines.items[i]);
    weir_vec_finish(&s->lines);
}

/* ---- all ---- */

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static bool is_on(const char *name)
{
    const char *value = value_of(name);

    return value && strcmp(value, "0") != 0;
}

static void read_forbidden(struct weir_check_settings *s)
{
    const char *list = value_of("WEIR_CHECK_FORBID");
    char *bad = NULL;

    if (list)
        s->forbidden = weir_policies_parse(list, &bad);
    if (bad)
        weir_log(WEIR_LOG_ERROR, "check: nothing to forbid is called \"%s\"; nothing is forbidden",
                 bad);
    weir_free(bad);
}

void weir_check_settings_read(struct weir_check_settings *s)
{
    const char *format = value_of("WEIR_CHECK_FORMAT"), *file = value_of("WEIR_CHECK_SUPPRESS");
    const char *process = value_of("WEIR_CHECK_PROCESS"), *without = value_of("WEIR_CHECK_WITHOUT");
    const char *status = value_of("WEIR_CHECK_STATUS");
    char problem[256];

    memset(s, 0, sizeof *s);
    s->status = status ? atoi(status) : WEIR_CHECK_STATUS;
    read_forbidden(s);
    s->json = value_of("WEIR_CHECK_JSON");
    s->sarif = value_of("WEIR_CHECK_SARIF");
    s->github = format && strcmp(format, "github") == 0;
    s->leaks = is_on("WEIR_CHECK_LEAKS");
    s->init = is_on("WEIR_CHECK_INIT");
    s->kernel_races = is_on("WEIR_CHECK_KERNEL_RACES");
    s->late_async = is_on("WEIR_CHECK_LATE_ASYNC");
    s->notes = is_on("WEIR_CHECK_NOTES");
    s->print_suppressions = is_on("WEIR_CHECK_PRINT_SUPPRESSIONS");
    s->without_legacy = without && strstr(without, "legacy");
    s->without_free = without && strstr(without, "free");
    s->main_process = process && strtol(process, NULL, 10) == (long)getpid();
    if (!getcwd(s->folder, sizeof s->folder))
        s->folder[0] = '\0';
    if (file && !weir_suppressions_read(&s->suppressions, file, problem, sizeof problem)) {
        weir_log(WEIR_LOG_ERROR, "check: %s: %s; nothing is suppressed", file, problem);
        weir_suppressions_finish(&s->suppressions);
    }
}
