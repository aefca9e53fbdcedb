/* __managed__ variables. clang's CUDA mode has none: a variable marked so is a device variable in
 * the section "weir_managed" of the host's LLVM text (host_defines.h), and the host would use the
 * shadow that only names it. Here the text is rewritten as nvcc does with its source: every use in
 * a function goes through a pointer, which __cudaInitModule sets at the first use and which
 * __cudaRegisterManagedVar has told the runtime. In the PTX the variable gets .attribute(.managed).
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cc/cc_int.h"

struct text {
    WEIR_VEC(char) v;
    bool failed;
};

static void put(struct text *t, const char *from, size_t bytes)
{
    if (!weir_vec_reserve(&t->v, t->v.count + bytes + 1)) {
        t->failed = true;
        return;
    }
    memcpy(t->v.items + t->v.count, from, bytes);
    t->v.count += bytes;
    t->v.items[t->v.count] = 0;
}

static void put_format(struct text *t, const char *fmt, ...) WEIR_PRINTF(2, 3);
static void put_format(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !weir_vec_reserve(&t->v, t->v.count + (size_t)n + 1)) {
        t->failed = true;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(t->v.items + t->v.count, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->v.count += (size_t)n;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '-';
}

/* Bytes of the name that begins at p (@name, %name, @"na me"). */
static size_t name_length(const char *p)
{
    size_t n = 1;
    if (p[1] == '"') {
        const char *end = strchr(p + 2, '"');
        return end ? (size_t)(end - p) + 1 : strlen(p);
    }
    while (in_name(p[n]))
        n++;
    return n;
}

/* The first place in `line` where the whole name stands, NULL when there is none. */
static char *find_name(char *line, const char *name)
{
    const size_t n = strlen(name);
    for (char *p = line; (p = strstr(p, name)); p += n)
        if ((name[n - 1] == '"' || !in_name(p[n])) && (p == line || !in_name(p[-1])))
            return p;
    return NULL;
}

/* ---- The variables ---- */

struct rewrite {
    struct cc_args vars; /* @name as it stands in the text */
    struct text out, entry;
    unsigned values; /* made so far, for their names */
};

static const char mark[] = ", section \"weir_managed\"";

static char *line_copy(const char *line)
{
    const size_t n = strcspn(line, "\n");
    char *copy = weir_alloc(n + 1);
    if (copy) {
        memcpy(copy, line, n);
        copy[n] = 0;
    }
    return copy;
}

/* Names of variables of other units are told at once; of those that are defined here the
 * registration tells the device's name. */
static void find_variables(struct rewrite *r, const char *text, struct cc_args *names)
{
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        char *copy = *line == '@' ? line_copy(line) : NULL;
        r->out.failed |= *line == '@' && !copy;
        if (copy && strstr(copy, mark)) {
            const size_t length = name_length(copy), quoted = copy[1] == '"';
            cc_args_add(&r->vars, "%.*s", (int)length, copy);
            if (strstr(copy, " external "))
                cc_args_add(names, "%.*s", (int)(length - 1 - 2 * quoted), copy + 1 + quoted);
        }
        weir_free(copy);
        line += n + (line[n] == '\n');
    }
}

/* The variable becomes a pointer of the same name and linkage, as nvcc has it: so a unit of nvcc
 * can refer to it. */
static void put_pointer(struct rewrite *r, const char *line)
{
    const char *kind = strstr(line, "global ");
    put_format(&r->out, "%.*sglobal ptr%s%s, align 8\n", (int)(kind ? kind - line : 0), line,
               strstr(line, " external ") ? "" : " null",
               strstr(line, ", comdat") ? ", comdat" : "");
}

/* ---- Uses ---- */

/* The constant expression whose parenthesis encloses `at`: *begin at its first word, *open at the
 * parenthesis. False when it is none (a call's arguments, or no parenthesis at all). */
static bool enclosing(char *line, char *at, char **begin, char **open)
{
    static const char *const words[] = {"getelementptr", "ptrtoint", "addrspacecast",
                                        "bitcast",       "inttoptr", "trunc"};
    int depth = 0;
    char *p = at;
    for (; p > line; p--)
        if (p[-1] == ')')
            depth++;
        else if (p[-1] == '(' && depth-- == 0)
            break;
    if (p == line)
        return false;
    *open = p - 1;
    /* "getelementptr inbounds nuw (": back over words to the operation */
    for (char *w = *open; w > line;) {
        while (w > line && w[-1] == ' ')
            w--;
        char *end = w;
        while (w > line && islower((unsigned char)w[-1]))
            w--;
        if (w == end)
            return false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if ((size_t)(end - w) == strlen(words[i]) && !memcmp(w, words[i], (size_t)(end - w))) {
                *begin = w;
                return true;
            }
    }
    return false;
}

static char *closing(char *open)
{
    int depth = 0;
    for (char *p = open; *p; p++)
        if (*p == '(')
            depth++;
        else if (*p == ')' && --depth == 0)
            return p;
    return NULL;
}

/* Replaces `length` bytes at `at` inside *line; returns where the new text stands. */
static char *replace(char **line, char *at, size_t length, const char *with)
{
    const size_t before = (size_t)(at - *line), n = strlen(with), rest = strlen(at + length);
    char *next = weir_alloc(before + n + rest + 1);
    if (!next)
        return NULL;
    memcpy(next, *line, before);
    memcpy(next + before, with, n);
    memcpy(next + before + n, at + length, rest + 1);
    weir_free(*line);
    *line = next;
    return next + before;
}

/* The value at `at` is no constant any more, so neither is what is computed from it: constant
 * expressions around it become instructions in `before`. */
static bool unfold(struct rewrite *r, char **line, char *at, struct text *before)
{
    char *begin, *open;
    while (at && enclosing(*line, at, &begin, &open)) {
        char name[32], *close = closing(open);
        if (!close)
            return false;
        snprintf(name, sizeof name, "%%weir.c%u", r->values++);
        put_format(before, "  %s = %.*s%.*s\n", name, (int)(open - begin), begin,
                   (int)(close - open - 1), open + 1);
        at = replace(line, begin, (size_t)(close - begin) + 1, name);
    }
    return at != NULL;
}

/* One line of a function: each variable in it becomes a pointer that is asked for just before; for
 * a phi, whose operands belong to other blocks, at the function's entry. */
static bool rewrite_line(struct rewrite *r, char **line, struct text *body)
{
    struct text before = {0};
    const bool phi = strstr(*line, " = phi ") != NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < r->vars.v.count; i++)
        for (char *at; ok && (at = find_name(*line, r->vars.v.items[i]));) {
            char name[32];
            struct text *to = phi ? &r->entry : &before;
            snprintf(name, sizeof name, "%%weir.m%u", r->values++);
            put_format(to, "  %s = call ptr @__weir_managed(ptr %s)\n", name, r->vars.v.items[i]);
            at = replace(line, at, strlen(r->vars.v.items[i]), name);
            ok = at && unfold(r, line, at, to);
        }
    if (before.v.count)
        put(body, before.v.items, before.v.count);
    ok = ok && !before.failed;
    weir_vec_finish(&before.v);
    return ok;
}

static char *name_of_string(const char *text, const char *global, size_t n)
{
    char key[64];
    snprintf(key, sizeof key, "\n%.*s = ", (int)n, global);
    const char *at = strstr(text, key), *begin = at ? strstr(at, " c\"") : NULL;
    const char *end = begin ? strstr(begin, "\\00\"") : NULL;
    char *name = end ? weir_alloc((size_t)(end - begin)) : NULL;
    if (name)
        snprintf(name, (size_t)(end - begin), "%.*s", (int)(end - begin - 3), begin + 3);
    return name;
}

/* __cudaRegisterVar(handle, shadow, name, name, ...) becomes the managed form. */
static bool rewrite_registration(struct rewrite *r, const char *text, char **line,
                                 struct cc_args *names)
{
    static const char plain[] = "@__cudaRegisterVar", managed[] = "@__cudaRegisterManagedVar";
    for (size_t i = 0; i < r->vars.v.count; i++) {
        char *at = strstr(*line, plain) ? find_name(*line, r->vars.v.items[i]) : NULL;
        if (!at)
            continue;
        char *string = strchr(at + 1, '@');
        char *name = string ? name_of_string(text, string, name_length(string)) : NULL;
        if (!name)
            return false;
        cc_args_add(names, "%s", name);
        weir_free(name);
        at = strstr(*line, plain);
        return replace(line, at, strlen(plain), managed) != NULL;
    }
    return true;
}

/* ---- The text ---- */

static const char getter[] = "\ndefine internal ptr @__weir_managed(ptr %slot) {\n"
                             "entry:\n"
                             "  %now = load ptr, ptr %slot, align 8\n"
                             "  %none = icmp eq ptr %now, null\n"
                             "  br i1 %none, label %first, label %done\n"
                             "first:\n"
                             "  %handle = load ptr, ptr @__weir_managed_handle, align 8\n"
                             "  %ready = call i8 @__cudaInitModule(ptr %handle)\n"
                             "  %set = load ptr, ptr %slot, align 8\n"
                             "  br label %done\n"
                             "done:\n"
                             "  %value = phi ptr [ %now, %entry ], [ %set, %first ]\n"
                             "  ret ptr %value\n"
                             "}\n"
                             "declare i8 @__cudaInitModule(ptr)\n";
static const char registering[] = /* clang declares it wherever it registers anything */
    "declare void @__cudaRegisterManagedVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)\n";

/* A static initialiser may not hold a managed variable's address, as with nvcc. */
static bool check_global(const struct rewrite *r, char *line)
{
    const size_t own = name_length(line);
    if (!strncmp(line, "@llvm.", 6) || !strncmp(line, "@__clang_gpu_used", 17))
        return true;
    for (size_t i = 0; i < r->vars.v.count; i++)
        if (find_name(line + own, r->vars.v.items[i])) {
            cc_error("the address of the managed variable %s is not a constant: %.*s can not be "
                     "initialised with it before main",
                     r->vars.v.items[i] + 1, (int)own - 1, line + 1);
            return false;
        }
    return true;
}

/* From the line behind "define ... {" to the one before "}"; returns that one, NULL on failure.
 * handle: the parameter of the function that registers everything, NULL in others. */
static const char *rewrite_body(struct rewrite *r, const char *text, const char *line,
                                const char *handle, struct cc_args *names)
{
    struct text body = {0};
    bool ok = true;
    r->entry.v.count = 0;
    if (*line && !isspace((unsigned char)*line) && *line != '}') { /* the entry's label */
        const size_t n = strcspn(line, "\n") + 1;
        put(&r->out, line, n);
        line += n;
    }
    if (handle)
        put_format(&r->entry, "  store ptr %.*s, ptr @__weir_managed_handle, align 8\n",
                   (int)name_length(handle), handle);
    while (ok && *line && *line != '}') {
        char *copy = line_copy(line);
        ok = copy &&
             (handle ? rewrite_registration(r, text, &copy, names) : rewrite_line(r, &copy, &body));
        if (ok)
            put_format(&body, "%s\n", copy);
        weir_free(copy);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (r->entry.v.count)
        put(&r->out, r->entry.v.items, r->entry.v.count);
    if (body.v.count)
        put(&r->out, body.v.items, body.v.count);
    ok = ok && !body.failed && !r->entry.failed;
    weir_vec_finish(&body.v);
    return ok ? line : NULL;
}

static bool rewrite_text(struct rewrite *r, const char *text, struct cc_args *names)
{
    const char *line = text;
    bool ok = true;
    while (ok && line && *line) {
        const size_t n = strcspn(line, "\n") + 1;
        bool managed = false;
        if (*line == '@') {
            char *copy = line_copy(line);
            managed = copy && strstr(copy, mark);
            ok = copy && check_global(r, copy);
            if (managed)
                put_pointer(r, copy);
            weir_free(copy);
        }
        if (!managed)
            put(&r->out, line, n - (line[n - 1] == 0));
        if (strncmp(line, "define ", 7)) {
            line += n - (line[n - 1] == 0);
            continue;
        }
        const char *name = memchr(line, '@', n);
        const bool registers = name && !strncmp(name, "@__cuda_register_globals(", 25);
        line = rewrite_body(r, text, line + n, registers ? strchr(name, '%') : NULL, names);
    }
    return ok && line;
}

char *cc_managed_host(const char *text, struct cc_args *names)
{
    struct rewrite r = {0};
    /* Units that are linked together register with one handle. */
    const bool linked = strstr(text, "@__cudaRegisterLinkedBinary") != NULL;
    find_variables(&r, text, names);
    bool ok = rewrite_text(&r, text, names);
    if (r.vars.v.count) {
        put_format(&r.out, "@__weir_managed_handle = %s global ptr null, align 8\n",
                   linked ? "weak hidden" : "internal");
        put(&r.out, getter, sizeof getter - 1);
        if (!strstr(text, "@__cudaRegisterManagedVar("))
            put(&r.out, registering, sizeof registering - 1);
    }
    ok = ok && !r.out.failed && !r.vars.failed && r.out.v.items;
    cc_args_finish(&r.vars);
    weir_vec_finish(&r.entry.v);
    if (ok)
        return r.out.v.items;
    weir_vec_finish(&r.out.v);
    cc_error("managed variables: the host code could not be rewritten");
    return NULL;
}

/* Does this PTX statement declare one of the names? */
static bool declares(const char *line, size_t bytes, const struct cc_args *names)
{
    for (size_t i = 0; i < names->v.count; i++) {
        const char *name = names->v.items[i];
        const size_t n = strlen(name);
        for (const char *p = line; (p = memmem(p, bytes - (size_t)(p - line), name, n)); p += n)
            if (p[-1] == ' ' && (p[n] == ';' || p[n] == '[' || p[n] == ' '))
                return true;
            else if ((size_t)(p + n - line) >= bytes)
                break;
    }
    return false;
}

char *cc_managed_ptx(const char *text, const struct cc_args *names)
{
    static const char space[] = ".global ", attribute[] = ".attribute(.managed) ";
    struct text out = {0};
    while (*text) {
        const size_t n = strcspn(text, "\n"), all = n + (text[n] == '\n');
        const char *at = *text == '.' ? memmem(text, n, space, sizeof space - 1) : NULL;
        const char *equals = memchr(text, '=', n);
        if (at && declares(at, (size_t)((equals ? equals : text + n) - at), names)) {
            const size_t before = (size_t)(at - text) + sizeof space - 1;
            put(&out, text, before);
            put(&out, attribute, sizeof attribute - 1);
            put(&out, text + before, all - before);
        } else {
            put(&out, text, all);
        }
        text += all;
    }
    if (!out.failed && out.v.items)
        return out.v.items;
    weir_vec_finish(&out.v);
    cc_error("out of memory");
    return NULL;
}
