/* Places and texts of findings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "check/check_int.h"
#include "trace/symbols.h"

struct weir_check_places {
    struct weir_map known; /* address -> struct weir_trace_place */
    struct weir_trace_finder *finder;
};

struct weir_check_places *weir_check_places_create(void)
{
    struct weir_check_places *p = weir_calloc(1, sizeof *p);

    if (p)
        p->finder = weir_trace_finder_create();
    return p;
}

void weir_check_places_destroy(struct weir_check_places *p)
{
    uint64_t key;
    size_t pos = 0;
    void *value;

    if (!p)
        return;
    while (weir_map_next(&p->known, &pos, &key, &value))
        weir_free(value);
    weir_map_finish(&p->known);
    weir_trace_finder_destroy(p->finder);
    weir_free(p);
}

const struct weir_trace_place *weir_check_place(struct weir_check_places *p, const void *address)
{
    struct weir_trace_place *place;

    if (!p || !address)
        return NULL;
    place = weir_map_get(&p->known, (uintptr_t)address);
    if (place)
        return place;
    place = weir_calloc(1, sizeof *place);
    if (!place)
        return NULL;
    weir_trace_finder_place(p->finder, address, place);
    if (!weir_map_put(&p->known, (uintptr_t)address, place)) {
        weir_free(place);
        return NULL;
    }
    return place;
}

bool weir_check_place_is_own(const void *address)
{
    static const char anchor;
    Dl_info here, info;

    if (!dladdr(address, &info) || !info.dli_fname)
        return true;
    if (dladdr(&anchor, &here) && here.dli_fbase == info.dli_fbase)
        return false;
    return !strstr(info.dli_fname, "/libc.so") && !strstr(info.dli_fname, "/libpthread");
}

const char *weir_check_path(const char *file)
{
    const char *folder = weir_checker.settings.folder;
    size_t n = strlen(folder);

    if (n > 1 && strncmp(file, folder, n) == 0 && file[n] == '/')
        return file + n + 1;
    return strncmp(file, "./", 2) == 0 ? file + 2 : file;
}

/* ---- texts ---- */

void weir_text_add(struct weir_text *t, const char *format, ...)
{
    size_t room = sizeof t->data - t->length;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->data + t->length, room, format, args);
    va_end(args);
    if (n > 0)
        t->length += WEIR_MIN((size_t)n, room - 1);
}

const char *weir_check_call_name(const char *call, char out[80])
{
    static const char *const ends[] = {"_ptsz", "_ptds", " of CUDA 12"};
    size_t n;

    snprintf(out, 80, "%s", call ? call : "a call");
    n = strlen(out);
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(ends); i++) {
        size_t end = strlen(ends[i]);

        if (n > end && strcmp(out + n - end, ends[i]) == 0)
            out[n -= end] = '\0';
    }
    return out;
}

static void add_place(struct weir_text *t, struct weir_check_places *p,
                      const struct weir_check_site *site)
{
    const struct weir_trace_place *place = weir_check_place(p, site->address);

    weir_text_add(t, "%s", place ? place->text : "an unknown place");
}

/* One {...}; the length of what it stood for in the format, 0: none. */
static size_t add_word(struct weir_text *t, struct weir_check_places *p,
                       const struct weir_check_say *say, const char *word)
{
    char call[80];

    if (word[1] >= '1' && word[1] <= '3' && word[2] == '}') {
        add_place(t, p, &say->sites[word[1] - '1']);
        return 3;
    }
    if (word[1] == 'c' && word[2] >= '1' && word[2] <= '3' && word[3] == '}') {
        weir_text_add(t, "%s", weir_check_call_name(say->sites[word[2] - '1'].call, call));
        return 4;
    }
    if (strncmp(word, "{t}", 3) == 0) {
        weir_text_add(t, "%s", say->text ? say->text : "");
        return 3;
    }
    if (strncmp(word, "{n}", 3) == 0) {
        weir_text_add(t, "%llu", (unsigned long long)say->number);
        return 3;
    }
    return 0;
}

void weir_check_text_say(struct weir_text *t, struct weir_check_places *p,
                         const struct weir_check_say *say)
{
    const char *format = say->format ? say->format : "";

    while (*format) {
        size_t n = strcspn(format, "{");

        weir_text_add(t, "%.*s", (int)n, format);
        format += n;
        if (*format) {
            n = add_word(t, p, say, format);
            if (!n)
                weir_text_add(t, "{");
            format += n ? n : 1;
        }
    }
}

void weir_check_text_side(struct weir_text *t, const struct weir_check_side *s)
{
    static const char *const accesses[] = {"reads", "updates atomically", "writes"};
    char name[256];

    weir_text_add(t, "%s", s->what ? s->what : weir_op_kind_text(s->op.kind));
    if (s->op.name)
        weir_text_add(t, " %s", weir_trace_demangle(s->op.name, name, sizeof name));
    if (!s->no_access)
        weir_text_add(t, " %s", accesses[s->access]);
}

bool weir_check_text_stream(struct weir_text *t, const struct weir_check_side *s)
{
    if (!s->stream.id && s->stream.cls != WEIR_STREAM_LEGACY)
        return false;
    if (s->what && !s->op.lane)
        return false;
    if (s->stream.cls == WEIR_STREAM_LEGACY)
        weir_text_add(t, "the legacy default stream of device %d", s->stream.device);
    else if (s->stream.cls == WEIR_STREAM_PER_THREAD)
        weir_text_add(t, "thread %u's default stream", s->stream.thread);
    else
        weir_text_add(t, "%s stream %llu",
                      s->stream.cls == WEIR_STREAM_BLOCKING ? "blocking" : "non-blocking",
                      (unsigned long long)s->stream.id);
    return true;
}

const char *weir_check_word(const struct weir_check_finding *f, char *out, size_t room)
{
    snprintf(out, room, "%s%s%s", weir_check_kinds[f->kind].word, f->policy ? "-" : "",
             f->policy ? f->policy : "");
    return out;
}

void weir_check_text_message(struct weir_text *t, struct weir_check_places *p,
                             const struct weir_check_finding *f)
{
    if (f->what.format)
        weir_check_text_say(t, p, &f->what);
    else
        weir_text_add(t, "%s", weir_check_kinds[f->kind].text);
    if (f->a.used && f->b.used) {
        weir_text_add(t, ": ");
        weir_check_text_side(t, &f->a);
        weir_text_add(t, " and ");
        weir_check_text_side(t, &f->b);
    }
    if (f->why.format) {
        weir_text_add(t, ": ");
        weir_check_text_say(t, p, &f->why);
    }
}
