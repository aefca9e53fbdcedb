/* `weir run --fidelity`: which instructions of a launched kernel give the PTX manual's result
 * exactly, and which only stay within its bound for approximate instructions. Those that cannot be
 * compiled are refused at the launch, and are named too. A line for each kernel; at the end, the
 * forms of instructions of all of them. Works on the parsed text, so it says the same for kernels
 * from the cache.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/vec.h"
#include "codegen/codegen_int.h"
#include "codegen/forms.h"

/* Approximate on hardware too: only a bound is promised, and Weir's bits differ from a GPU's. */
static bool is_approximate(const struct weir_ptx_inst *i)
{
    switch (i->opcode) {
    case WEIR_PTX_OP_sin:
    case WEIR_PTX_OP_cos:
    case WEIR_PTX_OP_ex2:
    case WEIR_PTX_OP_lg2:
    case WEIR_PTX_OP_tanh:
    case WEIR_PTX_OP_rsqrt:
        return true;
    case WEIR_PTX_OP_div:
    case WEIR_PTX_OP_rcp:
    case WEIR_PTX_OP_sqrt:
        return weir_ptx_type_is_float(i->type[0]) &&
               (i->approx || i->full || i->sub == WEIR_PTX_SUB_APPROX ||
                i->sub == WEIR_PTX_SUB_FULL);
    case WEIR_PTX_OP_tex: /* how filtering rounds is the hardware's; whole coordinates are exact */
        return strncmp(i->suffix + strlen(i->suffix) - 4, ".f32", 4) == 0;
    case WEIR_PTX_OP_mma: /* the order of sums and their rounding are the hardware's */
        return strstr(i->suffix, ".s32") == NULL;
    case WEIR_PTX_OP_wmma:
        return strncmp(i->suffix, ".mma", 4) == 0 && strstr(i->suffix, ".s32") == NULL;
    default:
        return false;
    }
}

/* What an instruction gives. */
enum outcome { OUTCOME_EXACT, OUTCOME_BOUND, OUTCOME_REFUSED, OUTCOMES };

struct tally {
    char name[64];
    unsigned count;
};

struct survey {
    WEIR_VEC(struct tally) forms[OUTCOMES];
    unsigned instructions[OUTCOMES];
};

static bool add_form(struct survey *s, enum outcome o, const char *name, unsigned count)
{
    struct tally t = {.count = count};

    s->instructions[o] += count;
    for (size_t n = 0; n < s->forms[o].count; n++) {
        if (strcmp(s->forms[o].items[n].name, name) == 0) {
            s->forms[o].items[n].count += count;
            return true;
        }
    }
    snprintf(t.name, sizeof t.name, "%s", name);
    return weir_vec_push(&s->forms[o], t);
}

static bool survey_add(struct survey *s, const struct weir_ptx_inst *i)
{
    const char *why = NULL;
    char name[64], *place;
    enum outcome o = !weir_cg_form_supported(i, &why) ? OUTCOME_REFUSED
                     : is_approximate(i)              ? OUTCOME_BOUND
                                                      : OUTCOME_EXACT;

    weir_ptx_inst_name(i, name, sizeof name);
    place = strstr(name, " (line");
    if (place)
        *place = 0;
    return add_form(s, o, name, 1);
}

static void survey_finish(struct survey *s)
{
    for (int o = 0; o < OUTCOMES; o++)
        weir_vec_finish(&s->forms[o]);
}

static void write_list(char *out, size_t bytes, const char *title, const struct survey *s,
                       enum outcome o)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t n = 0; n < s->forms[o].count && used < bytes - 80; n++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s x%u", n ? ", " : title,
                                 s->forms[o].items[n].name, s->forms[o].items[n].count);
}

/* ---- all kernels ---- */

static struct {
    struct weir_lock lock;
    /* guarded by lock */
    struct survey all;
    unsigned kernels;
    pid_t pid; /* a child after fork says nothing of its parent's */
} program = {.lock = WEIR_LOCK_INIT(LEAF)};

static bool program_add(const struct survey *s)
{
    bool whole = true;

    weir_lock_acquire(&program.lock);
    program.pid = getpid();
    program.kernels++;
    for (int o = 0; o < OUTCOMES; o++)
        for (size_t n = 0; n < s->forms[o].count; n++)
            whole = add_form(&program.all, (enum outcome)o, s->forms[o].items[n].name,
                             s->forms[o].items[n].count) &&
                    whole;
    weir_lock_release(&program.lock);
    return whole;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tally *)a)->name, ((const struct tally *)b)->name);
}

/* Lines of a length that terminals take. */
static void say_forms(const char *title, const struct survey *s, enum outcome o)
{
    char line[160];
    size_t used = 0;

    weir_log(WEIR_LOG_WARN, "fidelity: %s: %zu forms, %u instructions", title, s->forms[o].count,
             s->instructions[o]);
    if (s->forms[o].count)
        qsort(s->forms[o].items, s->forms[o].count, sizeof *s->forms[o].items, by_name);
    for (size_t n = 0; n < s->forms[o].count; n++) {
        const struct tally *t = &s->forms[o].items[n];

        used += (size_t)snprintf(line + used, sizeof line - used, "  %s x%u", t->name, t->count);
        if (used > 70 || n + 1 == s->forms[o].count) {
            weir_log(WEIR_LOG_WARN, "fidelity:  %s", line);
            used = 0;
        }
    }
}

WEIR_DESTRUCTOR_LAST static void say_program(void)
{
    if (program.kernels == 0 || program.pid != getpid())
        return;
    weir_lock_acquire(&program.lock);
    weir_log(WEIR_LOG_WARN, "fidelity: the program's %u kernels:", program.kernels);
    say_forms("exact", &program.all, OUTCOME_EXACT);
    say_forms("within the manual's bound", &program.all, OUTCOME_BOUND);
    say_forms("refused", &program.all, OUTCOME_REFUSED);
    survey_finish(&program.all);
    program.kernels = 0;
    weir_lock_release(&program.lock);
}

void weir_cg_fidelity_report(const struct weir_cg_kernel *k)
{
    struct weir_ptx_reach reach;
    struct survey s = {0};
    char approximate[600], refused[300];
    bool whole = true;

    if (!weir_ptx_reach_compute(k->function, &reach))
        return;
    for (size_t f = 0; f < reach.functions.count; f++) {
        const struct weir_ptx_function *fn = reach.functions.items[f];

        for (size_t i = 0; i < fn->inst_count; i++)
            whole = survey_add(&s, &fn->insts[i]) && whole;
    }
    weir_ptx_reach_finish(&reach);
    whole = program_add(&s) && whole;
    write_list(approximate, sizeof approximate, ", within the manual's bound: ", &s, OUTCOME_BOUND);
    write_list(refused, sizeof refused, ", refused: ", &s, OUTCOME_REFUSED);
    weir_log(WEIR_LOG_WARN, "fidelity: kernel %s: %u instructions exact%s%s%s", k->function->name,
             s.instructions[OUTCOME_EXACT], approximate, refused,
             whole ? "" : " (list cut: no memory)");
    survey_finish(&s);
}
