/* Inline PTX as nvcc takes it. nvcc lets a special register stand in an asm template with one
 * percent sign
 * ("mov.u64 %0, %globaltimer;"); clang wants two and refuses one. Programs that do so are
 * preprocessed first, and in that text each such sign is doubled. A quick look at the sources
 * decides, since most programs need no extra pass; the same look tells of other words.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* "%name" with at least two letters: no operand (%0), no operand with a modifier (%h0), no %%. */
static bool is_register(const char *percent)
{
    return isalpha((unsigned char)percent[1]) &&
           (isalpha((unsigned char)percent[2]) || percent[2] == '_');
}

/* ---- The quick look: is there an asm, and a name behind a single percent sign? ---- */

#define MAX_FILES 200

struct look {
    const struct cc *cc;
    WEIR_VEC(char *) seen;
    const char *word; /* NULL: a register with one percent sign */
    bool found;
};

static void look_at(struct look *l, const char *path);

static void look_at_include(struct look *l, const char *from, const char *name, size_t length)
{
    char path[PATH_MAX];
    const char *slash = strrchr(from, '/');
    const size_t folder = slash ? (size_t)(slash - from) + 1 : 0;
    FILE *f = NULL;
    if (snprintf(path, sizeof path, "%.*s%.*s", (int)folder, from, (int)length, name) < PATH_MAX)
        f = fopen(path, "rb");
    for (size_t i = 0; !f && i < l->cc->all.v.count; i++) {
        const char *arg = l->cc->all.v.items[i];
        if (!strncmp(arg, "-I", 2) &&
            snprintf(path, sizeof path, "%s/%.*s", arg + 2, (int)length, name) < PATH_MAX)
            f = fopen(path, "rb");
    }
    if (!f)
        return; /* a system's header */
    fclose(f);
    look_at(l, path);
}

static void look_at_text(struct look *l, const char *path, const char *text)
{
    if (l->word)
        l->found |= strstr(text, l->word) != NULL;
    else if (strstr(text, "asm"))
        for (const char *p = text; !l->found && (p = strchr(p, '%')); p++) {
            if (p[1] == '%')
                p++;
            else
                l->found = is_register(p);
        }
    for (const char *p = text; !l->found && (p = strchr(p, '#'));) {
        p++;
        p += strspn(p, " \t");
        if (strncmp(p, "include", 7))
            continue;
        p += 7;
        p += strspn(p, " \t");
        if (*p != '"' && *p != '<')
            continue;
        const size_t n = strcspn(p + 1, "\">\n");
        look_at_include(l, path, p + 1, n);
    }
}

static void look_at(struct look *l, const char *path)
{
    for (size_t i = 0; i < l->seen.count; i++)
        if (!strcmp(l->seen.items[i], path))
            return;
    char *copy = l->seen.count < MAX_FILES ? weir_strdup(path) : NULL;
    if (!copy || !weir_vec_push(&l->seen, copy)) {
        weir_free(copy);
        l->found = true; /* too many to tell: let the exact pass look */
        return;
    }
    size_t bytes;
    char *text = cc_read_file(path, &bytes);
    if (text)
        look_at_text(l, path, text);
    weir_free(text);
}

static bool look(const struct cc *cc, const char *path, const char *word)
{
    struct look l = {.cc = cc, .word = word};
    look_at(&l, path);
    for (size_t i = 0; i + 1 < cc->all.v.count; i++)
        if (!l.found && !strcmp(cc->all.v.items[i], "-include"))
            look_at_include(&l, "", cc->all.v.items[i + 1], strlen(cc->all.v.items[i + 1]));
    for (size_t i = 0; i < l.seen.count; i++)
        weir_free(l.seen.items[i]);
    weir_vec_finish(&l.seen);
    return l.found;
}

bool cc_asm_may_need_fix(const struct cc *cc, const char *path)
{
    return look(cc, path, NULL);
}

bool cc_file_mentions(const struct cc *cc, const char *path, const char *word)
{
    return look(cc, path, word);
}

/* ---- The exact pass, over preprocessed text ---- */

/* Behind the literal or character constant that begins at p. */
static const char *skip_literal(const char *p)
{
    const char quote = *p++;
    while (*p && *p != quote)
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

/* R"tag( ... )tag": p stands at the quote. */
static const char *skip_raw_literal(const char *p)
{
    char close[32];
    const size_t n = strcspn(p + 1, "(");
    if (n > 16)
        return skip_literal(p);
    snprintf(close, sizeof close, ")%.*s\"", (int)n, p + 1);
    const char *end = strstr(p, close);
    return end ? end + strlen(close) : p + strlen(p);
}

/* After `asm`: the end of its template when operands follow it, else NULL (then a percent sign
 * means itself). `p` becomes the place behind the opening parenthesis. */
static const char *template_end(const char **p)
{
    const char *s = *p;
    for (;;) {
        s += strspn(s, " \t\n");
        const char *word = s;
        while (is_word(*s))
            s++;
        if (s == word)
            break;
    }
    if (*s != '(')
        return NULL;
    *p = ++s;
    for (int depth = 1; *s && depth > 0;) {
        if (*s == '"')
            s = skip_literal(s);
        else if (*s == ':' && depth == 1)
            return s;
        else
            depth += (*s == '(') - (*s == ')'), s++;
    }
    return NULL;
}

struct out {
    char *text;
    size_t bytes;
};

static void put(struct out *o, const char *from, const char *to)
{
    memcpy(o->text + o->bytes, from, (size_t)(to - from));
    o->bytes += (size_t)(to - from);
}

static void put_template(struct out *o, const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        const bool pair = *p == '%' && p[1] == '%';
        if (*p == '%' && !pair && is_register(p))
            o->text[o->bytes++] = '%';
        o->text[o->bytes++] = *p;
        if (pair)
            o->text[o->bytes++] = *++p;
    }
}

static bool is_asm(const char *word, size_t n)
{
    return (n == 3 && !memcmp(word, "asm", 3)) || (n == 5 && !memcmp(word, "__asm", 5)) ||
           (n == 7 && !memcmp(word, "__asm__", 7));
}

char *cc_asm_fix(const char *text, size_t bytes, size_t *out_bytes)
{
    struct out o = {weir_alloc(2 * bytes + 1), 0};
    if (!o.text)
        return NULL;
    for (const char *p = text; *p;) {
        const char *begin = p;
        if (*p == '"' || *p == '\'') {
            p = skip_literal(p);
        } else if (is_word(*p)) {
            while (is_word(*p) || (*p == '\'' && isdigit((unsigned char)*begin)))
                p++;
            const size_t n = (size_t)(p - begin);
            if (*p == '"' && begin[n - 1] == 'R')
                p = skip_raw_literal(p);
            const char *end = is_asm(begin, n) ? template_end(&p) : NULL;
            if (end) {
                put(&o, begin, p);
                put_template(&o, p, end);
                p = begin = end;
            }
        } else {
            p++;
        }
        put(&o, begin, p);
    }
    o.text[o.bytes] = 0;
    *out_bytes = o.bytes;
    return o.text;
}
