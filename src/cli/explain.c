/* weir explain: an error, a rule or a text in words. What is said stands in api/explain; this file
 * finds out what is meant.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/explain_data.h"

static const char help[] =
    "usage: weir explain NAME|NUMBER|RULE|FUNCTION|TEXT...\n"
    "       weir explain --list\n"
    "\n"
    "What an error of CUDA means, its usual causes in asynchronous programs, and what to run\n"
    "next. NAME is cudaErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS or illegaladdress; NUMBER\n"
    "is 700; RULE is one of docs/rules, such as ORD-021, or a finding of weir check or weir\n"
    "advise, such as lifetime; FUNCTION is one of the API, such as cudaFree: what it does to the\n"
    "thread that calls it; TEXT is a message as a program printed it (the words need no quotes).\n"
    "Messages that look like CUDA's and are not are told apart. --list prints all errors.\n"
    "\n"
    "Exit status: 0 explained, 1 not known (near names are printed), 3 known, and not an error of "
    "CUDA's own,\n"
    "2 for a wrong command line.\n";

enum { NOT_KNOWN = 1, NOT_CUDAS = 3 };

enum { NONE, STICKY };

static const struct error {
    const char *name, *text;
    int code, driver_code, flags;
} errors[] = {
    {"cudaSuccess", "no error", 0, 0, NONE},
#define WEIR_ERR(id, name, code, cu_code, flags, text) {#name, text, code, cu_code, flags},
#include "errors.def"
#undef WEIR_ERR
};

static const struct result {
    const char *name;
    int code;
} results[] = {
#define WEIR_CU_RESULT(name, code) {#name, code},
#include "driver_results.def"
#undef WEIR_CU_RESULT
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- printing ---- */

void weir_explain_print_rules(const char *ids)
{
    while (*ids && *ids != '\n') {
        struct weir_explain_text title, text;
        size_t n = strcspn(ids, " \n");
        char id[16];

        snprintf(id, sizeof id, "%.*s", (int)n, ids);
        if (n && weir_explain_rule(id, &title, &text))
            printf("  %s  %.*s\n", id, (int)title.size, title.at);
        ids += n + (ids[n] == ' ');
    }
}

static void print_body(struct weir_explain_text body)
{
    struct weir_explain_text line;
    char part = 0;

    while (weir_explain_line(&body, &line)) {
        char c = line.size > 1 && line.at[1] == ' ' ? *line.at : 0;

        if ((c == '-' || c == '>' || c == ':') && c != part) {
            puts(c == '-' ? "\nusual causes" : c == '>' ? "\nnext" : "\nrules (weir explain ID)");
            part = c;
        }
        if (c == ':')
            weir_explain_print_rules(line.at + 2);
        else if (c == '>')
            printf("  %.*s\n", (int)line.size - 2, line.at + 2);
        else
            printf("%s%.*s\n", part ? "  " : "", (int)line.size, line.at);
    }
}

/* Does it stay? Of those that tell about the whole process their own text says it. */
static void print_fate(const struct error *e)
{
    static const int own[] = {0, 3, 4, 34, 35, 46, 100, 600};

    for (size_t i = 0; i < COUNT(own); i++) {
        if (own[i] == e->code)
            return;
    }
    if (e->flags == STICKY)
        puts("The context has failed, and that stays: the call that finds out returns this, then "
             "nearly every call of the process,\nin every thread and on every device in use. "
             "cudaGetLastError clears the thread's last error only; cudaDeviceReset\nsucceeds, and "
             "after it everything is cudaErrorDevicesUnavailable (46): begin a new process.\n");
    else
        puts(
            "It does not stay: the context is well, and later calls go on. The thread's last error "
            "keeps it until cudaGetLastError\nreads it, also when good calls come in between.\n");
}

static const struct error *find_code(int code)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        if (errors[i].code == code)
            return &errors[i];
    }
    return NULL;
}

static const struct result *find_result(int code)
{
    for (size_t i = 0; i < COUNT(results); i++) {
        if (results[i].code == code)
            return &results[i];
    }
    return NULL;
}

/* The numbers of the runtime up to CUDA 10.0 that mean nothing today, or something else: programs
 * of that time, and their texts, are still about. */
static const struct old {
    int then, now;
} olds[] = {
    {4, 719},  {6, 702},  {7, 701},  {8, 98},   {10, 101}, {11, 1},   {30, 999},
    {33, 400}, {34, 600}, {38, 100}, {39, 214}, {47, 200}, {48, 209}, {50, 704},
    {51, 705}, {54, 216}, {59, 710}, {60, 711}, {61, 712}, {62, 713}, {63, 304},
    {64, 217}, {71, 801}, {72, 714}, {73, 715}, {74, 716}, {75, 717}, {76, 718},
    {77, 700}, {78, 218}, {80, 220}, {81, 221}, {82, 720},
};

static const struct old *find_old(int code)
{
    for (size_t i = 0; i < COUNT(olds); i++) {
        if (olds[i].then == code)
            return &olds[i];
    }
    return NULL;
}

static int explain_code(int code);

static int explain_old(int code)
{
    const struct old *o = find_old(code);

    if (!o) {
        printf("%d is no error of CUDA\n", code);
        return NOT_KNOWN;
    }
    printf(
        "Up to CUDA 10.0 the number %d was this error of the runtime; since then it is none.\n\n",
        code);
    return explain_code(o->now);
}

static int explain_code(int code)
{
    struct weir_explain_text body = weir_explain_error(code);
    const struct error *e = find_code(code);
    const struct result *r = find_result(code);
    const struct old *o = find_old(code);

    if (e == NULL && r == NULL) {
        return explain_old(code);
    }
    printf("%s%s%s (%d)", e ? e->name : "", e && r ? ", " : "", r ? r->name : "", code);
    puts(e ? "" : "; the driver's alone");
    if (e) {
        printf("\"%s\"\n", e->text);
        if (e->driver_code != code && r == NULL)
            puts("The runtime's alone: the driver has no such code.");
    }
    puts("");
    if (e)
        print_fate(e);
    print_body(body);
    if (o)
        printf("\nUp to CUDA 10.0 the number %d was the runtime's %s (%d).\n", code,
               find_code(o->now)->name, o->now);
    return 0;
}

static int explain_rule(const char *id)
{
    struct weir_explain_text title, text;

    if (!weir_explain_rule(id, &title, &text)) {
        printf("%s is no rule; docs/rules has them all\n", id);
        return NOT_KNOWN;
    }
    printf("%s %.*s\n%.*s", id, (int)title.size, title.at, (int)text.size, text.at);
    return 0;
}

/* ---- what is meant? ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Names without what all have in front, and without underscores: they differ in nothing else. */
static const char *skip_prefix(const char *name)
{
    static const char *const prefixes[] = {"cudaerror", "cuda_error_", "cudaerror_"};

    for (size_t i = COUNT(prefixes); i-- > 0;) {
        size_t n = strlen(prefixes[i]);

        if (strncmp(name, prefixes[i], n) == 0 && name[n])
            return name + n;
    }
    return name;
}

static void lower(char *to, size_t room, const char *from, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size && from[i] && n + 1 < room; i++)
        to[n++] = (char)tolower((unsigned char)from[i]);
    to[n] = '\0';
}

static void plain_name(char *to, size_t room, const char *name)
{
    char small[256];
    size_t n = 0;

    lower(small, sizeof small, name, strlen(name));
    for (const char *p = skip_prefix(small); *p && n + 1 < room; p++) {
        if (*p != '_')
            to[n++] = *p;
    }
    to[n] = '\0';
}

/* The code of a name, with its prefix or without, in any letters; -1. */
static int code_of_name(const char *name)
{
    char wanted[256], have[256];

    plain_name(wanted, sizeof wanted, name);
    for (size_t i = 0; i < COUNT(errors); i++) {
        plain_name(have, sizeof have, errors[i].name);
        if (strcmp(have, wanted) == 0)
            return errors[i].code;
    }
    for (size_t i = 0; i < COUNT(results); i++) {
        plain_name(have, sizeof have, results[i].name);
        if (strcmp(have, wanted) == 0)
            return results[i].code;
    }
    return -1;
}

/* The first word of the text that begins as the names do and is one; -1. */
static int code_of_named(const char *text)
{
    for (const char *p = text; *p; p++) {
        char word[256];
        size_t n = 0;
        int code;

        if ((p > text && is_word(p[-1])) ||
            (strncmp(p, "cudaerror", 9) != 0 && strncmp(p, "cuda_error", 10) != 0))
            continue;
        while (is_word(p[n]))
            n++;
        lower(word, sizeof word, p, n);
        code = n > 10 ? code_of_name(word) : -1;
        if (code >= 0)
            return code;
    }
    return -1;
}

/* The longest of CUDA's texts that is in this one; -1. Short ones are everybody's words: they count
 * when nothing else is there, or CUDA is named. */
static int code_of_text(const char *text)
{
    bool of_cuda = strstr(text, "cuda") != NULL;
    size_t longest = 0;
    int code = -1;

    for (size_t i = 1; i < COUNT(errors); i++) {
        char known[256];
        size_t n;

        lower(known, sizeof known, errors[i].text, strlen(errors[i].text));
        n = strlen(known);
        if (n <= longest || strstr(text, known) == NULL ||
            (n < 16 && !of_cuda && strlen(text) != n))
            continue;
        longest = n;
        code = errors[i].code;
    }
    return code;
}

/* "CUDA error 700", "error code [700]", "(700)": a number that is one, in a text about CUDA; -1. */
static int code_of_number(const char *text)
{
    const char *p = text;
    char *end;

    if (strstr(text, "cuda") == NULL && strstr(text, "error") == NULL &&
        strstr(text, "call to cu") == NULL)
        return -1;
    for (; *p; p++) {
        long n;

        if (!isdigit((unsigned char)*p) || (p > text && (is_word(p[-1]) || p[-1] == '.')))
            continue;
        n = strtol(p, &end, 10);
        if (!is_word(*end) && *end != '.' && n > 0 && n < 1000 &&
            (find_code((int)n) || find_result((int)n) || find_old((int)n)))
            return (int)n;
        p = end - 1;
    }
    return -1;
}

/* ---- near names ---- */

/* Letters to change, add or leave out between two names. */
static size_t distance(const char *a, const char *b)
{
    size_t row[128], la = strlen(a), lb = strlen(b);

    if (la >= COUNT(row) || lb >= COUNT(row))
        return COUNT(row);
    for (size_t k = 0; k <= lb; k++)
        row[k] = k;
    for (size_t i = 1; i <= la; i++) {
        size_t before = row[0];

        row[0] = i;
        for (size_t k = 1; k <= lb; k++) {
            size_t old = row[k], best = before + (a[i - 1] != b[k - 1]);

            if (row[k] + 1 < best)
                best = row[k] + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            row[k] = best;
            before = old;
        }
    }
    return row[lb];
}

/* How many of the words of `text` (longer ones only) the other has, in hundredths of them. */
static unsigned words_in(const char *text, const char *other)
{
    unsigned words = 0, found = 0;
    char small[256], word[64];

    lower(small, sizeof small, other, strlen(other));
    for (const char *p = text; *p;) {
        size_t n = 0;

        while (is_word(p[n]))
            n++;
        if (n > 3 && n < sizeof word) {
            memcpy(word, p, n);
            word[n] = '\0';
            words++;
            found += strstr(small, word) != NULL;
        }
        p += n ? n : 1;
    }
    return words ? 100 * found / words : 0;
}

static int suggest(const char *text)
{
    char wanted[256], have[256];
    const char *name;
    int printed = 0;

    plain_name(wanted, sizeof wanted, text);
    printf("nothing is known of \"%s\"\n", text);
    for (size_t i = 0; i < COUNT(errors) && printed < 5; i++) {
        size_t near = strlen(wanted) / 4 + 1;

        plain_name(have, sizeof have, errors[i].name);
        if (distance(wanted, have) <= near || (strlen(wanted) >= 5 && strstr(have, wanted)) ||
            words_in(text, errors[i].text) >= 60)
            printf("%s  %s (%d): %s\n", printed++ ? "" : "near:\n", errors[i].name, errors[i].code,
                   errors[i].text);
    }
    for (size_t i = 0; (name = weir_explain_function_name(i)) != NULL && printed < 5; i++) {
        lower(have, sizeof have, name, strlen(name));
        if (distance(wanted, have) <= 2)
            printf("%s  %s\n", printed++ ? "" : "near:\n", name);
    }
    return NOT_KNOWN;
}

static bool is_rule_id(const char *t)
{
    size_t letters = strspn(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return letters >= 2 && t[letters] == '-' && strspn(t + letters + 1, "0123456789") == 3 &&
           t[letters + 4] == '\0';
}

static int explain(const char *given)
{
    char text[2048], upper[64];
    struct weir_explain_text other;
    size_t n = strlen(given);
    int code;

    lower(text, sizeof text, given, n);
    for (size_t i = 0; i < sizeof upper; i++) {
        upper[i] = (char)toupper((unsigned char)given[i]);
        if (given[i] == '\0')
            break;
    }
    upper[sizeof upper - 1] = '\0';
    if (is_rule_id(upper))
        return explain_rule(upper);
    if (n > 2 && n < 8 && strncmp(text, "0x", 2) == 0 &&
        strspn(text + 2, "0123456789abcdef") == n - 2)
        return explain_code((int)strtol(text, NULL, 16));
    if (weir_explain_finding(text))
        return 0;
    if (n && strspn(text, "0123456789") == n)
        return explain_code(n < 6 ? atoi(text) : 99999);
    if (weir_explain_function(given))
        return 0;
    code = code_of_name(given);
    if (code < 0)
        code = code_of_named(text);
    if (code < 0)
        code = code_of_text(text);
    if (code >= 0)
        return explain_code(code);
    other = weir_explain_other(text);
    if (other.at) {
        print_body(other);
        return NOT_CUDAS;
    }
    code = code_of_number(text);
    return code >= 0 ? explain_code(code) : suggest(given);
}

static int list(void)
{
    for (size_t i = 0; i < COUNT(errors); i++)
        printf("%4d  %-46s %s%s\n", errors[i].code, errors[i].name, errors[i].text,
               errors[i].flags == STICKY ? "; stays" : "");
    for (size_t i = 0; i < COUNT(results); i++) {
        if (find_code(results[i].code) == NULL)
            printf("%4d  %-46s the driver's alone\n", results[i].code, results[i].name);
    }
    return 0;
}

int weir_cli_explain(int argc, char **argv)
{
    char text[2048];
    size_t n = 0;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    text[0] = '\0';
    for (int i = 1; i < argc && n < sizeof text - 1; i++) {
        int more = snprintf(text + n, sizeof text - n, "%s%s", i > 1 ? " " : "", argv[i]);

        n += more > 0 ? (size_t)more : 0;
    }
    if (text[strspn(text, " \t\n")] == '\0')
        return weir_cli_usage_error("explain", "what?");
    return explain(text);
}
