/* Calls by the place that they are made from: what stands in a loop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "advise/groups.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

/* Sites of one line, or where lines are not known of one function, are one place: compilers unroll
 * loops. */
static bool find_places(const struct weir_trace_file *f, uint32_t *place_of)
{
    struct weir_strmap first = {0};
    bool ok = true;

    for (uint32_t i = 0; i < f->sites_count && ok; i++) {
        const char *text = f->sites[i].text, *plus = strstr(text, "+0x");
        size_t n = plus ? (size_t)(plus - text) : strlen(text);
        uintptr_t known = n > 1 ? (uintptr_t)weir_strmap_get(&first, text, n) : 0;

        place_of[i] = known ? (uint32_t)known - 1 : i;
        if (!known && n > 1)
            ok = weir_strmap_put(&first, text, n, (void *)((uintptr_t)i + 1));
    }
    weir_strmap_finish(&first);
    return ok;
}

bool weir_advise_is_at(const struct weir_advise_context *c, const struct weir_advise_groups *g,
                       uint32_t call, const struct weir_advise_group *at)
{
    const struct weir_trace_call *k = &c->f->calls[call];

    return k->site != WEIR_TRACE_NONE && g->place_of[k->site] == at->place &&
           k->name == c->f->calls[at->first].name;
}

/* Calls that `want` says yes to, by place; places with fewer than `least` are left out. (Of several
 * functions called at one place the first one counts.) */
bool weir_advise_group_calls(const struct weir_advise_context *c,
                             bool (*want)(const struct weir_advise_context *c, uint32_t call),
                             uint32_t least, struct weir_advise_groups *out)
{
    const struct weir_trace_file *f = c->f;
    struct weir_advise_group *all = weir_calloc(f->sites_count + 1, sizeof *all);

    *out = (struct weir_advise_groups){
        .items = all, .place_of = weir_calloc(f->sites_count + 1, sizeof *out->place_of)};
    if (!all || !out->place_of || !find_places(f, out->place_of))
        return false;
    for (uint32_t i = 0; i < f->calls_count; i++) {
        uint32_t site = f->calls[i].site, place;

        if (site == WEIR_TRACE_NONE || !want(c, i))
            continue;
        place = out->place_of[site];
        if (!all[place].count)
            all[place] = (struct weir_advise_group){.place = place, .first = i};
        if (!weir_advise_is_at(c, out, i, &all[place]))
            continue;
        all[place].count++;
        all[place].last = i;
    }
    for (size_t i = 0; i < f->sites_count; i++) {
        if (all[i].count >= least)
            all[out->count++] = all[i];
    }
    return true;
}

void weir_advise_groups_finish(struct weir_advise_groups *g)
{
    weir_free(g->items);
    weir_free(g->place_of);
}
