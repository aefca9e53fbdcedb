/* `weir run --fidelity`: which instructions of a launched kernel give the PTX manual's result
 * exactly, and which only stay within its bound for approximate instructions. Those that cannot be
 * compiled are refused at the launch, and are named too. Works on the parsed text, so it says the
 * same for kernels from the cache.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
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

struct tally {
    char name[48];
    unsigned count;
};

struct survey {
    WEIR_VEC(struct tally) approximate, refused;
    unsigned exact;
};

static bool survey_add(struct survey *s, const struct weir_ptx_inst *i)
{
    struct tally t = {{0}, 1};
    const char *why = NULL;
    bool refused = !weir_cg_form_supported(i, &why);
    size_t count = refused ? s->refused.count : s->approximate.count;
    struct tally *list = refused ? s->refused.items : s->approximate.items;
    char *place;

    if (!refused && !is_approximate(i)) {
        s->exact++;
        return true;
    }
    weir_ptx_inst_name(i, t.name, sizeof t.name);
    place = strstr(t.name, " (line");
    if (place)
        *place = 0;
    for (size_t n = 0; n < count; n++) {
        if (strcmp(list[n].name, t.name) == 0) {
            list[n].count++;
            return true;
        }
    }
    return refused ? weir_vec_push(&s->refused, t) : weir_vec_push(&s->approximate, t);
}

static void write_list(char *out, size_t bytes, const char *title, const struct tally *list,
                       size_t count)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t n = 0; n < count && used < bytes - 80; n++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s x%u", n ? ", " : title,
                                 list[n].name, list[n].count);
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
    write_list(approximate, sizeof approximate,
               ", within the manual's bound: ", s.approximate.items, s.approximate.count);
    write_list(refused, sizeof refused, ", refused: ", s.refused.items, s.refused.count);
    weir_log(WEIR_LOG_WARN, "fidelity: kernel %s: %u instructions exact%s%s%s", k->function->name,
             s.exact, approximate, refused, whole ? "" : " (list cut: no memory)");
    weir_vec_finish(&s.refused);
    weir_vec_finish(&s.approximate);
}
