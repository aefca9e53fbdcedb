/* Whole modules of compilers, for what no list of forms has: parses each file, says which of its
 * instructions are refused, and compiles every kernel for the tiers that are asked for. What the
 * forms let through must compile, what they refuse must be refused by its name.
 *   t_ptx_sweep [-t quick|best]... FILE.ptx...
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/forms.h"
#include "codegen/jit.h"
#include "ptx/ptx.h"
#include "support/ptx_text.h"

struct sweep {
    const struct weir_jit_api *jit;
    bool tiers[2];
    size_t files, kernels, compiled, refused, wrong;
    char forms[400][96]; /* refused ones */
    size_t form_count;
};

static void note(struct sweep *s, const char *file, const struct weir_ptx_inst *i, const char *why)
{
    char form[96];

    snprintf(form, sizeof form, "%s%s (%s)", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode),
             i->suffix, why ? why : "");
    for (size_t n = 0; n < s->form_count; n++)
        if (strcmp(s->forms[n], form) == 0)
            return;
    if (s->form_count < sizeof s->forms / sizeof s->forms[0])
        strcpy(s->forms[s->form_count++], form);
    printf("refused: %s: line %d: %s\n", file, i->line, form);
}

static void look_at_forms(struct sweep *s, const char *file, const struct weir_ptx_module *m)
{
    for (size_t k = 0; k < m->function_count; k++)
        for (size_t n = 0; n < m->functions[k]->inst_count; n++) {
            const char *why = NULL;

            if (!weir_cg_form_supported(&m->functions[k]->insts[n], &why))
                note(s, file, &m->functions[k]->insts[n], why);
        }
}

static void compile(struct sweep *s, const char *file, const struct weir_ptx_function *f,
                    enum weir_jit_tier tier)
{
    struct weir_jit_request q = {.kernel = f, .block = {64, 1, 1}, .tier = tier};
    struct weir_jit_result r;
    char message[256] = "";
    enum weir_err checked = weir_cg_forms_check(f, message, sizeof message),
                  err = s->jit->compile(&q, &r);

    if (err == WEIR_OK)
        s->jit->release(&r);
    if (checked == WEIR_OK && !message[0] && err == WEIR_OK) {
        s->compiled++;
    } else if (checked == WEIR_OK && message[0] && err == WEIR_ERR_NOT_SUPPORTED) {
        s->refused++;
    } else {
        printf("FAIL %s: %s: '%s', the forms say '%s'\n", file, f->name,
               err == WEIR_OK ? "compiles" : r.message, message);
        s->wrong++;
    }
}

static void look_at(struct sweep *s, const char *file)
{
    struct weir_ptx_module *m;
    struct weir_ptx_error e;
    size_t bytes = 0;
    char *text = ptx_text_read_file(file, &bytes);

    s->files++;
    if (!text || weir_ptx_parse(text, bytes, &m, &e) != WEIR_OK) {
        printf("FAIL %s:%d:%d: %s\n", file, text ? e.line : 0, text ? e.column : 0,
               text ? e.message : "cannot be read");
        s->wrong++;
        free(text);
        return;
    }
    look_at_forms(s, file, m);
    for (size_t k = 0; k < m->function_count; k++) {
        if (!m->functions[k]->is_entry)
            continue;
        s->kernels++;
        for (int t = 0; t < 2; t++)
            if (s->tiers[t])
                compile(s, file, m->functions[k], (enum weir_jit_tier)t);
    }
    weir_ptx_module_destroy(m);
    free(text);
}

int main(int argc, char **argv)
{
    static struct sweep s;

    s.jit = weir_jit_entry();
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "-t") == 0 && k + 1 < argc)
            s.tiers[strcmp(argv[++k], "best") == 0] = true;
        else
            look_at(&s, argv[k]);
    }
    printf("%zu files, %zu kernels: %zu compiled, %zu refused for %zu forms, %zu wrong\n", s.files,
           s.kernels, s.compiled, s.refused, s.form_count, s.wrong);
    return s.wrong || !s.files;
}
