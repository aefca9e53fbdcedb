/* See explain_data.h. The files are put in by the assembler (CMakeLists.txt), each with a zero
 * behind it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/explain_data.h"

#include <stdlib.h>
#include <string.h>

extern const char weir_explain_errors[], weir_explain_others[], weir_explain_ord[],
    weir_explain_graph[];

bool weir_explain_line(struct weir_explain_text *rest, struct weir_explain_text *line)
{
    const char *end;

    if (rest->size == 0)
        return false;
    end = memchr(rest->at, '\n', rest->size);
    line->at = rest->at;
    line->size = end ? (size_t)(end - rest->at) : rest->size;
    rest->at += line->size + (end != NULL);
    rest->size -= line->size + (end != NULL);
    return true;
}

/* Takes the next entry of a file off `rest`: its key and what stands up to the next one. */
static bool next_entry(struct weir_explain_text *rest, struct weir_explain_text *key,
                       struct weir_explain_text *body)
{
    struct weir_explain_text line;

    do {
        if (!weir_explain_line(rest, &line))
            return false;
    } while (line.size < 2 || strncmp(line.at, "@ ", 2) != 0);
    key->at = line.at + 2;
    key->size = line.size - 2;
    *body = *rest;
    for (struct weir_explain_text look = *rest; weir_explain_line(&look, &line);) {
        if (line.size >= 2 && strncmp(line.at, "@ ", 2) == 0)
            break;
        *rest = look;
    }
    body->size = (size_t)(rest->at - body->at);
    return true;
}

struct weir_explain_text weir_explain_error(int code)
{
    struct weir_explain_text rest = {weir_explain_errors, strlen(weir_explain_errors)}, key, body;

    while (next_entry(&rest, &key, &body)) {
        if (atoi(key.at) == code)
            return body;
    }
    return (struct weir_explain_text){NULL, 0};
}

/* Is `part` in the text? */
static bool contains(const char *text, const char *part, size_t size)
{
    for (; *text; text++) {
        if (strncmp(text, part, size) == 0)
            return true;
    }
    return size == 0;
}

/* One pattern: words between '&', all of them in the text. */
static bool matches(const char *text, struct weir_explain_text pattern)
{
    while (pattern.size) {
        const char *end = memchr(pattern.at, '&', pattern.size), *word = pattern.at;
        size_t size = end ? (size_t)(end - word) : pattern.size;

        pattern.at += size + (end != NULL);
        pattern.size -= size + (end != NULL);
        while (size && *word == ' ') {
            word++;
            size--;
        }
        while (size && word[size - 1] == ' ')
            size--;
        if (!contains(text, word, size))
            return false;
    }
    return true;
}

struct weir_explain_text weir_explain_other(const char *text)
{
    struct weir_explain_text rest = {weir_explain_others, strlen(weir_explain_others)}, key, body;

    while (next_entry(&rest, &key, &body)) {
        while (key.size) {
            const char *end = memchr(key.at, '|', key.size);
            struct weir_explain_text one = {key.at, end ? (size_t)(end - key.at) : key.size};

            if (matches(text, one))
                return body;
            key.at += one.size + (end != NULL);
            key.size -= one.size + (end != NULL);
        }
    }
    return (struct weir_explain_text){NULL, 0};
}

static bool find_rule(const char *file, const char *id, struct weir_explain_text *title,
                      struct weir_explain_text *text)
{
    struct weir_explain_text rest = {file, strlen(file)}, line;
    size_t n = strlen(id);

    while (weir_explain_line(&rest, &line)) {
        if (line.size < n + 5 || strncmp(line.at, "### ", 4) != 0 ||
            strncmp(line.at + 4, id, n) != 0 || line.at[4 + n] != ' ')
            continue;
        title->at = line.at + 5 + n;
        title->size = line.size - 5 - n;
        *text = rest;
        text->size = 0;
        while (weir_explain_line(&rest, &line) && !(line.size && *line.at == '#'))
            text->size = (size_t)(rest.at - text->at);
        return true;
    }
    return false;
}

bool weir_explain_rule(const char *id, struct weir_explain_text *title,
                       struct weir_explain_text *text)
{
    return find_rule(weir_explain_ord, id, title, text) ||
           find_rule(weir_explain_graph, id, title, text);
}
