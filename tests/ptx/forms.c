/* Every typed form that public programs have (forms.ptx), and others of the ISA: parses, and
 * compiles (kernels named f) or is refused by name (n); each opcode has such a kernel. Files
 * without such kernels must parse.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/forms.h"
#include "codegen/jit.h"
#include "ptx/ptx.h"

static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;

    if (f && fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);

        rewind(f);
        text = malloc((size_t)n + 1);
        *bytes = text ? fread(text, 1, (size_t)n, f) : 0;
        fclose(f);
    }
    return text;
}

/* The form that the kernel is about: what stands before its last instruction. */
static void form_of(const struct weir_ptx_function *f, char *out, size_t bytes)
{
    const struct weir_ptx_inst *i = &f->insts[f->inst_count > 1 ? f->inst_count - 2 : 0];

    snprintf(out, bytes, "%s%s", weir_ptx_opcode_name((enum weir_ptx_opcode)i->opcode), i->suffix);
}

static bool is_right(const struct weir_jit_api *jit, const struct weir_ptx_function *f,
                     enum weir_jit_tier tier)
{
    struct weir_jit_request q = {.kernel = f, .block = {64, 1, 1}, .tier = tier};
    struct weir_jit_result r;
    char form[128], message[256] = "";
    bool wanted = f->name[0] == 'f', ok;
    enum weir_err err = jit->compile(&q, &r),
                  checked = weir_cg_forms_check(f, message, sizeof message);

    form_of(f, form, sizeof form);
    ok = err == WEIR_OK ? wanted : !wanted && err == WEIR_ERR_NOT_SUPPORTED;
    if (!ok)
        printf("FAIL %s: %s\n", form, err == WEIR_OK ? "compiles" : r.message);
    if (!wanted && (!strstr(r.message, form) || checked != WEIR_OK || !strstr(message, form))) {
        printf("FAIL %s: not named: '%s', '%s'\n", form, r.message, message);
        ok = false;
    }
    if (err == WEIR_OK)
        jit->release(&r);
    return ok;
}

struct tally {
    size_t compiled, refused, wrong;
    bool seen[WEIR_PTX_OP_COUNT]; /* opcodes that some kernel has */
};

/* Parses the file and, where its kernels say what is to become of them, compiles. */
static bool look_at(const struct weir_jit_api *jit, const char *path, struct tally *t)
{
    struct weir_ptx_module *m;
    struct weir_ptx_error e;
    size_t bytes = 0;
    char *text = read_file(path, &bytes);

    if (!text || weir_ptx_parse(text, bytes, &m, &e) != WEIR_OK) {
        printf("%s:%d:%d: %s\n", path, text ? e.line : 0, text ? e.column : 0,
               text ? e.message : "cannot be read");
        free(text);
        return false;
    }
    for (size_t k = 0; k < m->function_count; k++) {
        const struct weir_ptx_function *f = m->functions[k];

        if (!f->is_entry || (f->name[0] != 'f' && f->name[0] != 'n'))
            continue;
        t->compiled += f->name[0] == 'f';
        t->refused += f->name[0] == 'n';
        t->wrong += !is_right(jit, f, WEIR_JIT_QUICK);
        for (size_t n = 0; n < f->inst_count; n++)
            t->seen[f->insts[n].opcode] = true;
    }
    weir_ptx_module_destroy(m);
    free(text);
    return true;
}

int main(int argc, char **argv)
{
    const struct weir_jit_api *jit = weir_jit_entry();
    struct tally t = {0};
    bool ok = argc > 1;

    for (int k = 1; k < argc; k++)
        ok &= look_at(jit, argv[k], &t);
    for (int op = 0; op < WEIR_PTX_OP_COUNT; op++)
        if (!t.seen[op]) {
            printf("FAIL no kernel has %s\n", weir_ptx_opcode_name((enum weir_ptx_opcode)op));
            t.wrong++;
        }
    printf("%zu forms compile, %zu are refused by name, %zu wrong\n", t.compiled, t.refused,
           t.wrong);
    return !ok || t.wrong || t.compiled < 300;
}
