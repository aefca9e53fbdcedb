/* weir explain of a function: what it does to the thread that calls it, from the tables of the API.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/explain_data.h"

static const struct function {
    const char *name, *host;
} functions[] = {
#define WEIR_API(chapter, status, guard, variant, host, name, ...) {"cuda" #name, #host},
#define WEIR_API_VALUE(...)
#define WEIR_API_INTERNAL(...)
#define WEIR_API_REGISTER(...)
#include "runtime.def"
#undef WEIR_API
#undef WEIR_API_VALUE
#undef WEIR_API_INTERNAL
#undef WEIR_API_REGISTER
#define WEIR_DRV(chapter, guard, variant, host, since, name, symbol, ...) {"cu" #symbol, #host},
#define WEIR_DRV_TODO(chapter, variant, host, since, name, symbol)        {"cu" #symbol, #host},
#include "driver.def"
#undef WEIR_DRV
#undef WEIR_DRV_TODO
};

static const struct host {
    const char *name, *brief, *text, *rules, *probes;
} hosts[] = {
#define WEIR_HOST(name, brief, text, rules, probes) {#name, brief, text, rules, probes},
#define WEIR_WHY(name, text)                        {#name, NULL, text, NULL, NULL},
#include "host.def"
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The row of cuMemFree is that of cuMemFree_v2, which headers make of it. */
static const struct function *find_function(const char *name)
{
    const struct function *newest = NULL;
    size_t n = strlen(name);

    for (size_t i = 0; i < COUNT(functions); i++) {
        const char *f = functions[i].name;

        if (strncmp(f, name, n) != 0 || (f[n] != '\0' && strncmp(f + n, "_v", 2) != 0))
            continue;
        if (newest == NULL || strcmp(f, newest->name) > 0)
            newest = &functions[i];
    }
    return newest;
}

const char *weir_explain_function_name(size_t i)
{
    return i < COUNT(functions) ? functions[i].name : NULL;
}

bool weir_explain_function(const char *name)
{
    const struct function *f = find_function(name);

    if (f == NULL)
        return false;
    for (size_t i = 0; i < COUNT(hosts); i++) {
        if (strcmp(hosts[i].name, f->host) != 0)
            continue;
        if (hosts[i].brief == NULL) {
            printf("%s: not supported by Weir: %s\n", f->name, hosts[i].text);
            return true;
        }
        printf("%s: %s\n\nto the thread that calls it: %s\n", f->name,
               *hosts[i].brief ? hosts[i].brief : "waits for nothing", hosts[i].text);
        if (*hosts[i].rules) {
            puts("\nrules (weir explain ID)");
            weir_explain_print_rules(hosts[i].rules);
        }
        printf("\nmeasured (cases of the oracle): %s\n", hosts[i].probes);
        return true;
    }
    return false;
}
