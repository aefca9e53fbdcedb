/* Which registers hold a value that some lane may still read, at the start and end of each block.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/lower/lower.h"

struct local_sets {
    struct low *l;
    uint64_t *use, *def;
    bool guarded;
};

static void note(void *ctx, int32_t reg, enum low_visit what)
{
    struct local_sets *s = ctx;
    if (what == LOW_DEF) {
        if (!s->guarded)
            low_bit_set(s->def, (uint32_t)reg);
        else if (!low_bit(s->def, (uint32_t)reg))
            low_bit_set(s->use,
                        (uint32_t)reg); /* a guarded write keeps the old value of the others */
    } else if (!low_bit(s->def, (uint32_t)reg)) {
        low_bit_set(s->use, (uint32_t)reg);
    }
}

void low_liveness(struct low *l)
{
    size_t words = l->reg_words, n = l->blocks.count;
    uint64_t *sets = low_alloc(l, n * words * 4 * sizeof *sets);
    for (size_t k = 0; k < n; k++) {
        struct low_block *b = &l->blocks.items[k];
        b->live_in = sets + (4 * k) * words;
        b->live_out = sets + (4 * k + 1) * words;
        struct local_sets s = {l, sets + (4 * k + 2) * words, sets + (4 * k + 3) * words, false};
        for (uint32_t i = b->first; i < b->end; i++) {
            s.guarded = low_guard_of(l, &l->insts.items[i]) >= 0;
            low_inst_visit(l, &l->insts.items[i], note, &s);
        }
        memcpy(b->live_in, s.use, words * sizeof *sets);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) {
            struct low_block *b = &l->blocks.items[k];
            uint64_t *use = sets + (4 * k + 2) * words, *def = sets + (4 * k + 3) * words;
            for (size_t w = 0; w < words; w++) {
                uint64_t out = 0;
                for (uint32_t s = 0; s < b->succ_count; s++)
                    out |= l->blocks.items[b->succ[s]].live_in[w];
                uint64_t in = use[w] | (out & ~def[w]);
                changed |= in != b->live_in[w];
                b->live_out[w] = out;
                b->live_in[w] = in;
            }
        }
    }
}
