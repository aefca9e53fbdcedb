/* The words of a command line before anyone looks at them: response files (@FILE, --options-file),
 * and the environment's NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS, which build systems set.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

#define MAX_DEPTH 8 /* of response files that name response files */

static bool add_word(struct cc_args *to, const char *word, int depth);

/* One word of a shell-like text: blanks end it, quotes and backslashes protect. Returns what
 * follows. `word` has room for the whole text. */
static const char *take_word(const char *p, char *word)
{
    char quote = 0;
    for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
        if (quote ? *p == quote : *p == '"' || *p == '\'')
            quote = quote ? 0 : *p;
        else if (*p == '\\' && p[1] && quote != '\'')
            *word++ = *++p;
        else
            *word++ = *p;
    }
    *word = 0;
    return p;
}

static bool add_text(struct cc_args *to, const char *text, int depth)
{
    char *word = weir_alloc(strlen(text) + 1);
    bool ok = word != NULL;
    while (ok) {
        while (isspace((unsigned char)*text))
            text++;
        if (!*text)
            break;
        text = take_word(text, word);
        ok = add_word(to, word, depth);
    }
    weir_free(word);
    return ok;
}

static bool add_file(struct cc_args *to, const char *path, int depth)
{
    size_t bytes;
    if (depth >= MAX_DEPTH) {
        cc_error("response files name each other: %s", path);
        return false;
    }
    char *text = cc_read_file(path, &bytes);
    const bool ok = text && add_text(to, text, depth + 1);
    weir_free(text);
    return ok;
}

/* Several files may stand behind --options-file, with commas between. */
static bool add_files(struct cc_args *to, const char *list, int depth)
{
    char path[PATH_MAX];
    bool ok = true;
    while (ok && *list) {
        const size_t n = strcspn(list, ",");
        if (n >= sizeof path) {
            cc_error("the name of an options file is too long");
            return false;
        }
        memcpy(path, list, n);
        path[n] = 0;
        ok = add_file(to, path, depth);
        list += n + (list[n] == ',');
    }
    return ok;
}

/* Behind --options-file or -optf at the end of `to`: its value is the next word. */
static bool waits_for_file(const struct cc_args *to)
{
    const char *last = to->v.count ? to->v.items[to->v.count - 1] : "";
    return !strcmp(last, "--options-file") || !strcmp(last, "-optf");
}

static bool add_word(struct cc_args *to, const char *word, int depth)
{
    static const char *const files[] = {"--options-file=", "-optf="};
    if (waits_for_file(to)) {
        weir_free(to->v.items[--to->v.count]);
        return add_files(to, word, depth);
    }
    for (size_t i = 0; i < 2; i++)
        if (!strncmp(word, files[i], strlen(files[i])))
            return add_files(to, word + strlen(files[i]), depth);
    if (word[0] == '@' && word[1])
        return add_file(to, word + 1, depth);
    cc_args_add(to, "%s", word);
    return !to->failed;
}

bool cc_args_expand(struct cc_args *to, int argc, char **argv)
{
    const char *before = getenv("NVCC_PREPEND_FLAGS"), *after = getenv("NVCC_APPEND_FLAGS");
    bool ok = !before || add_text(to, before, 0);
    for (int i = 1; ok && i < argc; i++)
        ok = add_word(to, argv[i], 0);
    return ok && (!after || add_text(to, after, 0));
}
