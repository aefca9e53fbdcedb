/* Which findings are not to be told.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "check/check_int.h"
#include "trace/symbols.h"

static bool fits(const char *pattern, const char *text)
{
    return text && *text && fnmatch(pattern, text, 0) == 0;
}

/* A file by its path from the start folder, its whole path, or its name alone. */
static bool fits_file(const char *pattern, const char *file)
{
    const char *name = strrchr(file, '/');

    return fits(pattern, file) || fits(pattern, weir_check_path(file)) ||
           (name && fits(pattern, name + 1));
}

/* Some place of the stack is in that function, or that file. */
static bool site_fits(struct weir_check_places *p, const struct weir_check_site *s,
                      const char *function, const char *file)
{
    uint32_t count = s->stack ? s->stack->count : s->address ? 1 : 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct weir_trace_place *place =
            weir_check_place(p, s->stack ? s->stack->frames[i].address : s->address);

        if (place && ((function && fits(function, place->function)) ||
                      (file && *place->file && fits_file(file, place->file))))
            return true;
    }
    return false;
}

static bool inside_fits(const struct weir_check_inside *in, const char *file)
{
    for (uint32_t i = 0; in && i < in->count; i++)
        if (in->at[i].line && in->at[i].file && fits_file(file, in->at[i].file))
            return true;
    return false;
}

static bool kernel_fits(const struct weir_check_side *s, const char *pattern)
{
    char name[256];

    return s->used && s->op.name &&
           (fits(pattern, s->op.name) ||
            fits(pattern, weir_trace_demangle(s->op.name, name, sizeof name)));
}

static bool call_fits(const struct weir_check_side *s, const char *pattern)
{
    char call[80];

    return s->used && s->op.site.call && fits(pattern, weir_check_call_name(s->op.site.call, call));
}

static bool silences(const struct weir_suppression *s, struct weir_check_places *p,
                     const struct weir_check_finding *f)
{
    const struct weir_check_site *a = &f->a.op.site, *b = &f->b.op.site, *m = &f->block.site;
    char word[80];

    if (s->kind && !fits(s->kind, weir_check_word(f, word, sizeof word)))
        return false;
    if (s->kernel && !kernel_fits(&f->a, s->kernel) && !kernel_fits(&f->b, s->kernel))
        return false;
    if (s->call && !call_fits(&f->a, s->call) && !call_fits(&f->b, s->call))
        return false;
    if (s->function && !site_fits(p, a, s->function, NULL) && !site_fits(p, b, s->function, NULL) &&
        !site_fits(p, m, s->function, NULL))
        return false;
    return !s->file || site_fits(p, a, NULL, s->file) || site_fits(p, b, NULL, s->file) ||
           site_fits(p, m, NULL, s->file) || inside_fits(f->inside, s->file);
}

struct weir_suppression *weir_check_suppressed(struct weir_check_places *p,
                                               const struct weir_check_finding *f)
{
    struct weir_suppressions *all = &weir_checker.settings.suppressions;

    for (size_t i = 0; i < all->lines.count; i++) {
        if (silences(&all->lines.items[i], p, f))
            return &all->lines.items[i];
    }
    return NULL;
}

void weir_check_text_suppression(struct weir_text *t, struct weir_check_places *p,
                                 const struct weir_check_finding *f)
{
    const struct weir_check_side *kernel = f->a.op.name ? &f->a : f->b.op.name ? &f->b : NULL;
    const struct weir_trace_place *place = weir_check_place(p, f->a.op.site.address);
    char text[256];

    weir_text_add(t, "kind=%s", weir_check_word(f, text, sizeof text));
    if (kernel && !strpbrk(weir_trace_demangle(kernel->op.name, text, sizeof text), " \t"))
        weir_text_add(t, " kernel=%s", text);
    else if (f->a.op.site.call && !strpbrk(f->a.op.site.call, " \t"))
        weir_text_add(t, " call=%s", weir_check_call_name(f->a.op.site.call, text));
    if (place && *place->function && !strpbrk(place->function, " \t[*?"))
        weir_text_add(t, " function=%s", place->function);
    else if (place && *place->file && !strpbrk(place->file, " \t"))
        weir_text_add(t, " file=%s", weir_check_path(place->file));
}
