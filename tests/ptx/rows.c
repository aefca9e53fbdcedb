/* Every typed form of public programs (forms.ptx) is in a test that compares values.
 *   t_ptx_rows [-v] FORMS.ptx LIST...
 * A list is what a test writes by -f: the forms of the instructions that it runs; or its PTX
 * (NAME.ptx). -v prints each form with the lists that have it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "support/ptx_text.h"

#define LISTS_MAX 16
#define FORM_MAX  128

static struct list {
    const char *name;
    char **forms; /* in order */
    size_t count, room;
} lists[LISTS_MAX];

static void add(struct list *l, const char *form)
{
    if (l->count == l->room) {
        l->room = l->room * 2 + 256;
        l->forms = realloc(l->forms, l->room * sizeof *l->forms);
    }
    if (!l->forms || !(l->forms[l->count++] = strdup(form)))
        abort();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has(const struct list *l, const char *form)
{
    return bsearch(&form, l->forms, l->count, sizeof *l->forms, by_text) != NULL;
}

static void form_of(const struct weir_ptx_inst *i, char out[FORM_MAX])
{
    snprintf(out, FORM_MAX, "%s%s", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode),
             i->suffix);
}

static struct weir_ptx_module *parse(const char *path)
{
    struct weir_ptx_module *m = NULL;
    struct weir_ptx_error e;
    size_t bytes;
    char *text = ptx_text_read_file(path, &bytes);

    if (!text || weir_ptx_parse(text, bytes, &m, &e) != WEIR_OK)
        printf("%s cannot be read: %s\n", path, text ? e.message : "no such file");
    free(text);
    return m;
}

static bool read_ptx(struct list *l, const char *path)
{
    struct weir_ptx_module *m = parse(path);
    char form[FORM_MAX];

    for (size_t k = 0; m && k < m->function_count; k++)
        for (size_t n = 0; n < m->functions[k]->inst_count; n++) {
            form_of(&m->functions[k]->insts[n], form);
            add(l, form);
        }
    if (m)
        weir_ptx_module_destroy(m);
    return m != NULL;
}

static bool read_list(struct list *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    FILE *f;
    char line[FORM_MAX];
    bool ok = true;

    l->name = slash ? slash + 1 : path;
    if (strstr(path, ".ptx")) {
        ok = read_ptx(l, path);
    } else if ((f = fopen(path, "r")) != NULL) {
        while (fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            add(l, line);
        }
        fclose(f);
    } else {
        printf("%s cannot be read\n", path);
        ok = false;
    }
    qsort(l->forms, l->count, sizeof *l->forms, by_text);
    return ok && l->count > 0;
}

/* False: no list has the form. */
static bool is_tested(const char *form, int count, bool verbose)
{
    bool found = false;

    if (verbose)
        printf("%s\t", form);
    for (int n = 0; n < count; n++)
        if (has(&lists[n], form)) {
            if (verbose)
                printf("%s%s", found ? ", " : "", lists[n].name);
            found = true;
        }
    if (verbose)
        printf("\n");
    if (!found)
        printf("FAIL %s: no test compares its values\n", form);
    return found;
}

int main(int argc, char **argv)
{
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    struct weir_ptx_module *m;
    size_t tested = 0, rows = 0;
    int first = 1 + verbose, count = 0;
    char form[FORM_MAX];

    for (int k = first + 1; k < argc && count < LISTS_MAX; k++)
        if (!read_list(&lists[count++], argv[k]))
            return 2;
    m = first < argc ? parse(argv[first]) : NULL;
    for (size_t k = 0; m && k < m->function_count; k++) {
        const struct weir_ptx_function *f = m->functions[k];

        if (!f->is_entry || f->name[0] != 'f')
            continue;
        form_of(&f->insts[f->inst_count > 1 ? f->inst_count - 2 : 0], form);
        tested += is_tested(form, count, verbose);
        rows++;
    }
    if (m)
        weir_ptx_module_destroy(m);
    printf("%zu of %zu forms are compared by values\n", tested, rows);
    return rows < 500 || tested != rows;
}
