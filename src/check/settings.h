/* What was asked of the checker: by the options of weir check, through the environment.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CHECK_SETTINGS_H
#define WEIR_CHECK_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* ---- a project's policy: --forbid ---- */

enum weir_policy {
#define POLICY(name, word, text) WEIR_POLICY_##name,
#include "check/policies.def"
#undef POLICY
    WEIR_POLICIES
};

struct weir_policy_text {
    const char *word, *text;
};
extern const struct weir_policy_text weir_policy_texts[WEIR_POLICIES];

/* "default-stream,device-sync": a bit each. *bad gets the first word that is none (to be freed by
 * weir_free), else NULL. */
uint32_t weir_policies_parse(const char *list, char **bad);
/* Those that forbid the call as such. */
uint32_t weir_policies_of_call(const char *call);

/* ---- suppressions ---- */

/* A line of such a file: all that it names must hold, each for one of the finding's sides. NULL:
 * anything. Patterns of the shell's kind. */
struct weir_suppression {
    char *line; /* as it was written */
    char *kind, *function, *file, *kernel, *call;
    uint64_t count;
    unsigned number; /* of the line */
};

struct weir_suppressions {
    WEIR_VEC(struct weir_suppression) lines;
};

/* False: the file cannot be read, or a line is wrong; problem says what, as a sentence. */
bool weir_suppressions_read(struct weir_suppressions *s, const char *path, char *problem,
                            size_t room);
void weir_suppressions_finish(struct weir_suppressions *s);

/* ---- all ---- */

#define WEIR_CHECK_STATUS 99 /* the exit status when there is a hazard, unless it is said */

struct weir_check_settings {
    int status;               /* the process's when there is a hazard */
    uint32_t forbidden;       /* bits of enum weir_policy */
    const char *json, *sarif; /* files; NULL: none */
    bool github, leaks, notes, print_suppressions, init, kernel_races, late_async;
    bool without_legacy, without_free; /* orders that do not count */
    bool main_process;                 /* weir check has become this one */
    char folder[1024];                 /* the program was started in; "" unknown */
    struct weir_suppressions suppressions;
};

/* From WEIR_CHECK_*; complains on stderr. */
void weir_check_settings_read(struct weir_check_settings *s);

#endif
