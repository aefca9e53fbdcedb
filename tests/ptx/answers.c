/* Answers are kept as lines NAME<tab>BYTES:HASH, or NAME<tab>TEXT; ! before it: known to differ
 * (docs/ptx-fidelity.md says why), and a failure once it does not. # begins a remark.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ptx/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *record;
static char *known; /* the file's text; lines end in 0 */
static size_t known_bytes;
static unsigned same, other, missing;

static char *read_all(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n;

    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0) {
        rewind(f);
        text = malloc((size_t)n + 1);
        *bytes = text ? fread(text, 1, (size_t)n, f) : 0;
        if (text)
            text[*bytes] = 0;
    }
    fclose(f);
    return text;
}

bool answers_open(const char *path, bool recording)
{
    if (recording) {
        record = fopen(path, "w");
        return record != NULL;
    }
    known = read_all(path, &known_bytes);
    for (size_t i = 0; known && i < known_bytes; i++)
        if (known[i] == '\n')
            known[i] = 0;
    return known != NULL;
}

bool answers_recording(void)
{
    return record != NULL;
}

void answer_add(struct answer *a, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    if (a->bytes == 0)
        a->hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        a->hash = (a->hash ^ p[i]) * UINT64_C(1099511628211);
    a->bytes += n;
}

const char *answers_find(const char *row)
{
    size_t n = strlen(row);

    for (const char *line = known; line && line < known + known_bytes; line += strlen(line) + 1)
        if (*line != '#' && strncmp(line, row, n) == 0 && line[n] == '\t')
            return line + n + 1;
    return NULL;
}

bool answer_end(struct answer *a, const char *row)
{
    const char *text = answers_find(row);
    bool right = true;

    if (!a->text.s && a->bytes)
        text_add(&a->text, "%zu:%016llx", a->bytes, (unsigned long long)a->hash);
    if (record)
        fprintf(record, "%s\t%s\n", row, a->text.s ? a->text.s : "none");
    else if (text && strcmp(text, "none") != 0)
        right = a->text.s &&
                (*text == '!' ? strcmp(text + 1, a->text.s) != 0 : strcmp(text, a->text.s) == 0);
    else if (known)
        missing++;
    same += known && text && right && *text != '!';
    other += known && text && right && *text == '!';
    text_free(&a->text);
    *a = (struct answer){0};
    return right;
}

void answers_report(void)
{
    if (known)
        printf("%u rows as an H200 answered, %u known to differ, %u without an answer\n", same,
               other, missing);
    if (record)
        fclose(record);
}
