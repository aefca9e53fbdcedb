/* weir explain of what Weir's own commands say: kinds of findings of weir check and weir advise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "advise/advise.h"
#include "cli/explain_data.h"

static const struct kind {
    const char *word, *level, *text;
} kinds[] = {
#define HAZARD                        "hazard"
#define NOTE                          "note"
#define KIND(name, word, level, text) {word, level, text},
#include "check/kinds.def"
#undef KIND
#undef HAZARD
#undef NOTE
};

/* What --forbid finds has its policy behind the kind's word. */
static const struct kind policies[] = {
#define POLICY(name, word, text) {"forbidden-" word, "hazard", text},
#include "check/policies.def"
#undef POLICY
};

/* Is the text the word alone, or has it the word with `before` in front, and no letter behind? */
static bool says(const char *text, const char *before, const char *word)
{
    char wanted[96];
    const char *at;
    size_t n;

    if (strcmp(text, word) == 0)
        return true;
    snprintf(wanted, sizeof wanted, "%s%s", before, word);
    n = strlen(wanted);
    at = strstr(text, wanted);
    return at && strchr(" :,\n", at[n]);
}

static const struct kind *find(const struct kind *of, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        char before[16];

        snprintf(before, sizeof before, "%s: ", of[i].level);
        if (says(text, before, of[i].word))
            return &of[i];
    }
    return NULL;
}

static bool explain_check(const char *text)
{
    const struct kind *k = find(kinds, sizeof kinds / sizeof *kinds, text);
    const struct kind *p = find(policies, sizeof policies / sizeof *policies, text);

    if (!k && !p)
        return false;
    if (p)
        printf("%s: a %s of weir check\n\nThe project forbids, with --forbid: %s.\n", p->word,
               p->level, p->text);
    else
        printf("%s: a %s of weir check\n\n%s.\n", k->word, k->level, k->text);
    puts(
        "\nnext\n  read why, and the change, in its report; docs/check.md has all kinds and how it "
        "decides");
    if (k && strcmp(k->word, "deadlock") == 0)
        puts("  weir run --hang 30 ./app, or weir where PID: who waits for whom");
    return true;
}

bool weir_explain_finding(const char *text)
{
    const char *word, *question;

    if (explain_check(text))
        return true;
    for (size_t i = 0; (question = weir_advise_question(i, &word)) != NULL; i++) {
        if (!says(text, "  ", word))
            continue;
        printf(
            "%s: a finding of weir advise\n\nIt asks: %s\n\nnext\n  read where, and the change, in "
            "its report; docs/advise.md has all findings and how they are priced\n",
            word, question);
        return true;
    }
    return false;
}
