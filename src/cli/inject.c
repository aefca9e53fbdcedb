/* The rules of --inject, looked at before the program starts: their form (core/inject.h), and
 * whether the functions that they name can fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#if WEIR_HAVE_CORE
#include "core/inject.h"
#include "core/strict.h"

bool weir_cli_strict_managed(void)
{
    struct weir_strict strict;

    return weir_strict_read(&strict) == WEIR_OK && strict.managed;
}

const char *weir_cli_strict_problem(const char *list)
{
    struct weir_strict strict;

    return weir_strict_parse(list, &strict) == WEIR_OK ? NULL : weir_err_message();
}

enum { TODO, DONE, VALUE };

static const struct function {
    const char *name;
    char status;
} functions[] = {
#define WEIR_API(chapter, status, guard, variant, host, name, ...) {"cuda" #name, status},
#define WEIR_API_VALUE(chapter, status, variant, ret, name, ...)   {"cuda" #name, VALUE},
#define WEIR_API_INTERNAL(status, guard, variant, name, ...)       {"__cuda" #name, status},
#define WEIR_API_REGISTER(...)
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, ...) {"cu" #symbol, DONE},
#define WEIR_DRV_TODO(chapter, variant, host, since, name, symbol)        {"cu" #symbol, TODO},
#include "driver.def"
#undef WEIR_DRV
#undef WEIR_DRV_TODO
};

static const char *name_problem(const struct weir_inject_rule *r)
{
    const char *problem = "there is no such function";

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (!weir_inject_names_call(r, functions[i].name))
            continue;
        if (functions[i].status == DONE)
            return NULL;
        problem = functions[i].status == VALUE ? "this function returns no error"
                                               : "this function is not supported";
    }
    return problem;
}

const char *weir_cli_inject_device_problem(const char *spec, int devices)
{
    static struct weir_inject_rules rules;
    static char text[WEIR_INJECT_TEXT + 64];

    if (weir_inject_parse(spec, &rules) != WEIR_OK)
        return NULL; /* told where it is read */
    for (int i = 0; i < rules.count; i++) {
        if (rules.items[i].kind != WEIR_INJECT_DEVICE || rules.items[i].device < devices)
            continue;
        snprintf(text, sizeof text, "\"%s\": there is no such device (--devices)",
                 rules.items[i].text);
        return text;
    }
    return NULL;
}

const char *weir_cli_inject_problem(const char *spec)
{
    static struct weir_inject_rules rules;
    static char text[WEIR_INJECT_TEXT + 64];

    if (weir_inject_parse(spec, &rules) != WEIR_OK)
        return weir_err_message();
    for (int i = 0; i < rules.count; i++) {
        const struct weir_inject_rule *r = &rules.items[i];
        const char *problem = r->kind == WEIR_INJECT_CALL ? name_problem(r) : NULL;

        if (problem) {
            snprintf(text, sizeof text, "\"%s\": %s", r->text, problem);
            return text;
        }
    }
    return NULL;
}
#else
const char *weir_cli_strict_problem(const char *list)
{
    (void)list;
    return "this build has no runtime";
}

const char *weir_cli_inject_device_problem(const char *spec, int devices)
{
    (void)spec;
    (void)devices;
    return NULL;
}

const char *weir_cli_inject_problem(const char *spec)
{
    (void)spec;
    return "this build has no runtime";
}
#endif
